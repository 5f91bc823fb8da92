# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The default executor of rclpy, made to spend its time on messages while they flow."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.executors import SingleThreadedExecutor, TimeoutObject
from rclpy.subscription import Subscription
from rclpy.timer import Timer

__all__ = ['AttentiveExecutor']

#: Seconds for which everything else may wait while messages flow.
_PATIENCE = 0.02


class AttentiveExecutor(SingleThreadedExecutor):
    """
    Waits for messages and timers alone while messages flow, and looks at the rest now and then.

    The default executor collects all that it waits for anew for each wait. Most of that are
    services, and the events of publishers and subscriptions: they are rare, and cost more than the
    work on a message. After a message they are left out for up to 20 ms; without messages never.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._is_flowing = False
        self._is_all = True
        self._limit = TimeoutObject(-1.0)
        self._look_at_all = 0.0
        self._handling: int | None = None
        self._keep_callbacks_from_waking()

    def _keep_callbacks_from_waking(self) -> None:
        """
        Save a wait for each callback.

        Each wakes the executor when it is done, as another thread may be waiting without what the
        callback kept from being ready. There is no other thread here: the next wait comes after
        the callback, so that waking it only has it come back empty. Other threads go on waking it.
        """
        guard = getattr(self, '_guard', None)  # Without it, there is that wait.
        if guard is None:
            return
        wake = guard.trigger

        def trigger() -> None:
            if self._handling != threading.get_ident():
                wake()

        guard.trigger = trigger

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """See :meth:`rclpy.executors.Executor.spin_once`."""
        self._is_all = not self._is_flowing or time.monotonic() > self._look_at_all
        limit = -1.0 if timeout_sec is None else timeout_sec  # rclpy's word for no limit
        if self._is_flowing and not 0.0 <= limit < _PATIENCE:
            limit = _PATIENCE
        self._limit.timeout = limit
        try:
            # Always the same object: given another limit, rclpy forgets what else it has found
            # ready, and a flood of messages would keep services waiting for ever.
            super().spin_once(self._limit)
        finally:
            self._handling = None
        if self._is_all:
            self._look_at_all = time.monotonic() + _PATIENCE

    def can_execute(self, entity: Any) -> bool:
        """Return whether it is to be waited for now."""
        return (self._is_all or isinstance(entity, (Subscription, Timer))) and super().can_execute(
            entity
        )

    def wait_for_ready_callbacks(self, *args: Any, **kwargs: Any) -> Any:
        """Return what is ready, noting whether it is a message."""
        flowing, self._is_flowing = self._is_flowing, False
        ready = super().wait_for_ready_callbacks(*args, **kwargs)
        entity = ready[1]
        self._is_flowing = isinstance(entity, Subscription) or (
            flowing and isinstance(entity, Timer)
        )
        self._handling = threading.get_ident()
        return ready
