# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reads a robot description from where the user said."""

from __future__ import annotations

import sys

from transmission_bridge.description.source import MAX_BYTES, read_file
from transmission_bridge.tools.command import UsageError

__all__ = ['STANDARD_INPUT', 'read_robot_file']

#: The file name that stands for standard input.
STANDARD_INPUT = '-'


def read_robot_file(name: str) -> bytes:
    """
    Return what is in a file, or comes through a pipe.

    :returns: As much as a description may have, and one byte more where it is longer.
    :raises UsageError: If it cannot be read.
    """
    try:
        if name == STANDARD_INPUT and sys.stdin is not None:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        return read_file(name)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{name}': {reason}") from None
