# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reads a robot description from where the user said."""

from __future__ import annotations

import sys

from transmission_bridge.description.source import MAX_BYTES
from transmission_bridge.tools.command import UsageError

__all__ = ['STANDARD_INPUT', 'read_robot_file']

#: The file name that stands for standard input.
STANDARD_INPUT = '-'

# One more than a description may have is enough to see that it is too long; some files never end.
_ENOUGH = MAX_BYTES + 1


def read_robot_file(name: str) -> bytes:
    """
    Return what is in a file.

    :raises UsageError: If it cannot be read.
    """
    try:
        if name == STANDARD_INPUT and sys.stdin is not None:
            return sys.stdin.buffer.read(_ENOUGH)
        with open(name, 'rb') as file:
            return file.read(_ENOUGH)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{name}': {reason}") from None
