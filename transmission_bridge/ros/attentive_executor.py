# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Single-threaded executor that prioritises subscriptions and timers under load."""

from __future__ import annotations

from collections.abc import Callable, Generator
import threading
import time
from typing import Any

from rclpy.executors import TimeoutException
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from transmission_bridge.ros.rclpy_internals import no_wake_of_own, WaitHook

__all__ = ['AttentiveExecutor']

#: Seconds for which everything else may wait while messages flow.
_PATIENCE = 0.02


class AttentiveExecutor(WaitHook):
    """
    Waits for messages and timers alone while messages flow, and looks at the rest now and then.

    The default executor collects all that it waits for anew for each wait. Most of that are
    services, and the events of publishers and subscriptions: they are rare, and cost more than the
    work on a message. After a message they are left out for up to 20 ms; without messages never.

    Each callback of rclpy wakes the executor when it is done, as another thread may be waiting
    without what the callback kept from being ready. There is no other thread here: the next wait
    comes after the callback. So the waking is left out; other threads go on waking the executor.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._is_flowing = False
        self._is_all = True
        self._look_at_all = 0.0
        self._handling: int | None = None
        no_wake_of_own(self, lambda thread: thread == self._handling)

    def create_task(self, *args: Any, **kwargs: Any) -> Any:
        """See :meth:`rclpy.executors.Executor.create_task`."""
        # The next wait may have looked for tasks before: this one must wake it.
        self._handling = None
        return super().create_task(*args, **kwargs)

    def can_execute(self, entity: Any) -> bool:
        """Return whether the executor waits for an entity now."""
        return (self._is_all or isinstance(entity, (Subscription, Timer))) and super().can_execute(
            entity
        )

    def wait_once(
        self, wait: Callable[[Any], Generator[Any, None, None]], timeout: Any
    ) -> Generator[Any, None, None]:
        """
        Wait once, and yield what is ready.

        rclpy calls this anew only when all of the last wait has been handed out. So it is decided
        here, and not with each callback, what a wait is for: else the look at all could be due
        each time that something is left to hand out, and then no wait would look.
        """
        limit = getattr(timeout, 'timeout', timeout)
        is_patient = limit is None or not 0.0 <= limit < _PATIENCE
        if self._is_flowing and is_patient and time.monotonic() <= self._look_at_all:
            self._is_all = False
            try:
                yield from wait(_PATIENCE)
                return
            except TimeoutException:
                self._is_flowing = False
                if limit is not None and limit >= 0.0:
                    timeout = limit - _PATIENCE
        self._is_all = True
        self._look_at_all = time.monotonic() + _PATIENCE
        yield from wait(timeout)

    def wait_for_ready_callbacks(self, *args: Any, **kwargs: Any) -> Any:
        """Return what is ready, noting whether it is a message."""
        self._handling = None
        ready = super().wait_for_ready_callbacks(*args, **kwargs)
        entity = ready[1]
        self._is_flowing = isinstance(entity, Subscription) or (
            self._is_flowing and isinstance(entity, Timer)
        )
        self._handling = threading.get_ident()
        return ready
