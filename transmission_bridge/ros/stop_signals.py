# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
SIGINT, SIGTERM and SIGHUP as a request to stop, instead of rclpy's own handlers.

rclpy's handlers invalidate the context first, after which a node can no longer publish. Python's
own come too late: they run between byte codes, and the events executor waits in C++ without any.
So the interpreter's C handler writes to a pipe, and a thread that sleeps on the pipe passes the
request on.

Imports nothing of ROS, so that it can be in force before those slow imports begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import signal
import threading

__all__ = ['SIGNALS', 'StopRequest', 'stop_signals']

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """A request to stop, made once, from any thread; calling it tells whether it was made."""

    def __init__(self) -> None:
        self._requested = False
        self._listeners: list[Callable[[], object]] = []
        self._lock = threading.RLock()

    def __call__(self) -> bool:
        """Tell whether to stop."""
        return self._requested

    def request(self) -> None:
        """Ask to stop. Asking again changes nothing."""
        with self._lock:
            if self._requested:
                return
            self._requested = True
            for listener in self._listeners:
                listener()

    @contextmanager
    def listening(self, listener: Callable[[], object]) -> Iterator[None]:
        """
        Have ``listener`` called when the request is made, in the thread that makes it.

        It is not called for a request that was made before, and not after the block.
        """
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(listener)


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """
    Turn signals into a :class:`StopRequest` for the duration of the block.

    SIGHUP, which tells of a lost terminal, is left alone where it is ignored: the process was
    started with ``nohup``.

    The handlers in force before come back afterwards, unless a signal came: then the process is on
    its way out, and further signals are ignored so that none can interrupt that with a traceback.

    :raises ValueError: If it is not the main thread that calls; Python allows no other.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError('signals can be handled in the main thread only')
    stop = StopRequest()
    reader, writer = os.pipe()
    # The C handler must never block in a full pipe.
    os.set_blocking(writer, False)
    watcher = threading.Thread(target=_watch, args=(reader, stop), name='stop', daemon=True)
    watcher.start()
    previous_writer = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # A Python handler must be there for the C handler to be; it has nothing left to do.
    previous = {
        number: signal.signal(number, lambda *_: None)
        for number in SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_IGN if stop() else handler)
        signal.set_wakeup_fd(previous_writer)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _watch(reader: int, stop: StopRequest) -> None:
    """Pass signals on until the other end of the pipe is closed."""
    while received := os.read(reader, 64):
        if any(number in SIGNALS for number in received):
            stop.request()
