# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""How far a long command has come: a bar where rich is installed, a number where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import time

from transmission_bridge.tools.console import Stream

__all__ = ['progress']

#: Seconds between two numbers.
_PERIOD = 0.2


@contextmanager
def progress(stream: Stream, what: str) -> Iterator[Callable[[float], None]]:
    """
    Show progress to a person, and nothing to a file or program.

    :param stream: Where to.
    :param what: What is going on.
    :returns: A function to be called with numbers from 0 to 1.
    """
    if not stream.is_terminal:
        yield lambda done: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield from _plain(stream, what)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def _plain(stream: Stream, what: str) -> Iterator[Callable[[float], None]]:
    due = 0.0

    def show(done: float) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _PERIOD
            stream.write(f'\r{what} {100 * done:3.0f} %')
            stream.flush()

    yield show
    stream.write('\r' + ' ' * (len(what) + 6) + '\r')
    stream.flush()
