# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process, so that it can clean up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import signal
import threading
from types import FrameType

__all__ = ['clean_end']

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """The process was asked to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextmanager
def clean_end(*, as_interrupt: bool = False) -> Iterator[None]:
    """
    Let SIGTERM and SIGHUP unwind the stack inside, as SIGINT does, then end by them.

    Whoever sent the signal sees the process end by it. Outside the main thread this does nothing.

    :param as_interrupt: Whether they are a ``KeyboardInterrupt``, for commands that Ctrl-C ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: FrameType | None) -> None:
        for each in _SIGNALS:  # cleaning up is not to be interrupted
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if as_interrupt else _Ended(number)

    # A signal that is ignored (nohup) stays ignored.
    before = {
        number: signal.signal(number, end)
        for number in _SIGNALS
        if signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        yield
    except _Ended as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
