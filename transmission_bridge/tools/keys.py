# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Keys of a terminal, read without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import select
from typing import Any


@contextmanager
def open_keys(file: Any) -> Iterator[Callable[[], str]]:
    """
    Yield a function that returns the keys pressed since its last call, without waiting.

    In this context the terminal does not echo keys or wait for Enter; Ctrl-C still works.

    :param file: Standard input; if it is not a terminal there are no keys.
    """
    try:
        import termios
        import tty

        number = file.fileno()
        before = termios.tcgetattr(number)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield lambda: ''
        return

    def read_keys() -> str:
        pressed = b''
        while select.select([number], [], [], 0.0)[0] and (some := os.read(number, 1024)):
            pressed += some
        return pressed.decode(errors='ignore')

    try:
        tty.setcbreak(number)
        yield read_keys
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
