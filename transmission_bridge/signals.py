# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Signals that end a process: a request to stop for nodes, an exception for commands.

rclpy's handlers first invalidate the context, so a node can no longer publish (ros2/rclpy#1287
and #532, all versions). Python handlers run between byte codes, which is too late for a node: the
events executor waits in C++. So the interpreter's C handler writes to a pipe, and a thread that
sleeps on the pipe forwards the request.

Nodes use :func:`stop_at_signals`, the command line :func:`end_by_signal`, and the demo
:func:`handle_signals` while its bridge starts. The handlers belong to the process: they can be set
in the main thread only, and the end of a block restores them. After a request to stop it ignores
the signals instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import os
import signal
import sys
import threading
from typing import Any

#: Signals that ask a process to end; an ignored SIGHUP does not. Python turns SIGINT into
#: ``KeyboardInterrupt``, so :func:`end_by_signal` handles the other two.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, Any], object]

#: Time until an exception is raised again that a callback has ignored [s].
_AGAIN = 0.01


class StopRequest:
    """
    A request to stop, from any thread; calling the object returns whether it was made.

    It is made once and cannot be withdrawn.
    """

    def __init__(self) -> None:
        self._requested = False
        #: The listener of the present block, until it is called.
        self._listener: Callable[[], object] | None = None
        self._lock = threading.RLock()

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._requested

    def request_stop(self) -> None:
        """Request a stop. A second request has no effect."""
        with self._lock:
            self._requested = True
            listener, self._listener = self._listener, None
            if listener is not None:
                listener()

    @contextmanager
    def notify_in_block(self, listener: Callable[[], object]) -> Iterator[None]:
        """
        Call ``listener`` once if the request is made before or during the block.

        Only one block at a time: a block within another takes the place of its listener for good.

        :param listener: Called in the thread of the request, under the lock of this object, so it
            must not wait for another thread that makes a request or ends the block.
        """
        with self._lock:
            self._listener = listener
            if self._requested:
                self.request_stop()
        try:
            yield
        finally:
            with self._lock:
                self._listener = None


@contextmanager
def handle_signals(handlers: Mapping[int, Handler]) -> Iterator[dict[int, Any]]:
    """
    Handle signals in the block, except an ignored SIGHUP.

    Yield the handlers from before, by number. The end of the block sets the handlers in this
    dictionary, and the block may replace them.

    :raises ValueError: If called outside the main thread.
    """
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup
    numbers = [number for number in handlers if number != signal.SIGHUP or not is_ignored]
    restored = {number: signal.signal(number, handlers[number]) for number in numbers}
    try:
        yield restored
    finally:
        for number, handler in restored.items():
            signal.signal(number, handler)


@contextmanager
def stop_at_signals() -> Iterator[StopRequest]:
    """
    Turn signals into a :class:`StopRequest` during the block.

    SIGHUP (of a lost terminal) stays ignored if it was ignored before (``nohup``). After the
    block the previous handlers are restored, unless a signal came. Then the process is ending,
    and further signals are ignored, because they would cause a traceback.

    :raises ValueError: If called outside the main thread, in which Python does not handle signals.
    """
    stop = StopRequest()

    def forward_signals(reader: int) -> None:
        """Forward signals until the other end of the pipe is closed."""
        while received := os.read(reader, 64):
            if any(number in SIGNALS for number in received):
                stop.request_stop()

    # Python installs its C handler only together with a Python handler, which does nothing here.
    with handle_signals(dict.fromkeys(SIGNALS, lambda *_: None)) as restored:
        reader, writer = os.pipe()
        # The C handler must never block in a full pipe.
        os.set_blocking(writer, False)
        watcher = threading.Thread(target=forward_signals, args=[reader], daemon=True)
        watcher.start()
        previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            yield stop
        finally:
            if stop():
                restored.update(dict.fromkeys(restored, signal.SIG_IGN))
            signal.set_wakeup_fd(previous)
            os.close(writer)
            watcher.join()
            os.close(reader)


class _Ended(KeyboardInterrupt):
    """A signal asked the process to end."""


@contextmanager
def end_by_signal() -> Iterator[None]:
    """
    Raise ``KeyboardInterrupt`` at SIGTERM and SIGHUP; if uncaught, end the process by the signal.

    A signal within a callback of the interpreter (of a weak reference, or ``__del__``), which
    ignores all exceptions, counts after it: ``sys.unraisablehook`` notes the exception, and the
    real-time timer raises it again by SIGALRM. The block must use none of these three. An ignored
    SIGHUP (``nohup``) stays ignored.

    Outside the main thread this does nothing, and neither if SIGALRM already has a handler: then
    the block is within another one, or the program uses the signal.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return
    ignored: list[KeyboardInterrupt] = []
    report_unraisable = sys.unraisablehook

    def end_process(number: int, _: object) -> None:
        for each in (signal.SIGTERM, signal.SIGHUP):  # do not interrupt the clean-up
            signal.signal(each, signal.SIG_IGN)
        raise _Ended(number)

    def raise_again(*_: object) -> None:
        raise ignored[-1]

    def note_ignored(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            report_unraisable(unraisable)
            return
        ignored.append(unraisable.exc_value)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    ends: dict[int, Handler] = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), end_process)
    with handle_signals(ends | {signal.SIGALRM: raise_again}):
        sys.unraisablehook = note_ignored
        try:
            yield
        except _Ended as ended:
            signal.signal(ended.args[0], signal.SIG_DFL)
            signal.raise_signal(ended.args[0])
            raise
        finally:
            sys.unraisablehook = report_unraisable
            signal.setitimer(signal.ITIMER_REAL, 0.0)
