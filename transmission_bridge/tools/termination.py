# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM as an interrupt, for commands that have to clean up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
import threading

__all__ = ['terminate_as_interrupt']


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt within the block, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
