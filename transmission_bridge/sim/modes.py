# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a drive is told to follow."""

from __future__ import annotations

from enum import IntEnum

__all__ = ['Mode']


class Mode(IntEnum):
    """
    The quantity that an actuator follows; ``NONE`` in a command leaves it as it is.

    The order is the precedence within one message: a velocity or effort beside a position is a
    feed-forward hint of the same command and not a mode of its own.
    """

    NONE = -1
    POSITION = 0
    VELOCITY = 1
    EFFORT = 2
