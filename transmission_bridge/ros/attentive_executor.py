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

from transmission_bridge.ros.rclpy_internals import skip_own_wakes, WaitHook

__all__ = ['AttentiveExecutor']

#: Seconds for which everything but messages and timers may wait.
_PATIENCE = 0.02


class AttentiveExecutor(WaitHook):
    """
    Waits only for messages and timers while messages flow, and for everything now and then.

    For each wait the default executor collects all entities anew. Most of them are services, and
    events of publishers and subscriptions: they are rare, and collecting them costs more than the
    work on a message. After a message they are left out for up to 20 ms; without messages never.

    Each callback of rclpy wakes the executor when it is done, for the case that another thread
    waits without the entities that the callback had blocked. Here the same thread waits after the
    callback, so that it need not be woken; other threads still wake the executor.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._is_flowing = False
        self._is_all = True
        self._look_at_all = 0.0
        self._handling: int | None = None
        skip_own_wakes(self, lambda thread: thread == self._handling)

    def create_task(self, *args: Any, **kwargs: Any) -> Any:
        """See :meth:`rclpy.executors.Executor.create_task`."""
        # The next wait may have collected its tasks already, so that the new one must wake it.
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

        rclpy calls this again only after all callbacks of the last wait were handed out. So what
        a wait is for is decided here and not with each callback: a wait for everything could
        otherwise always be due while callbacks are left, and never happen.
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
        """Return what is ready, and remember whether it is a message."""
        self._handling = None
        ready = super().wait_for_ready_callbacks(*args, **kwargs)
        entity = ready[1]
        self._is_flowing = isinstance(entity, Subscription) or (
            self._is_flowing and isinstance(entity, Timer)
        )
        self._handling = threading.get_ident()
        return ready
