# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a driver that costs as little as possible: one template, moved and sent."""

from __future__ import annotations

import math
import struct
import time
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from transmission_bridge.messages.cdr import parse_joint_state

#: How far the positions swing [rad], and phase per message [rad].
SWING, STEP = 0.002, 0.01


class Driver:
    """
    Publishes one JointState with position, velocity and effort, all positions swinging a little.

    :param names: Names in the message.
    :param publisher: Where to.
    """

    def __init__(self, names: list[str], publisher: Any) -> None:
        message = JointState(name=names)
        message.position = [0.01 * k for k in range(len(names))]
        message.velocity = [0.02 * k for k in range(len(names))]
        message.effort = [0.03 * k for k in range(len(names))]
        self._buffer = bytearray(serialize_message(message))
        offset = parse_joint_state(bytes(self._buffer)).arrays[0].offset
        self._position = np.frombuffer(self._buffer, np.float64, len(names), offset)
        self._rest = self._position.copy()
        self._publisher = publisher
        self._count = 0

    def publish(self) -> None:
        """Send the message, moved on and stamped with the steady clock."""
        np.add(self._rest, SWING * math.sin(STEP * self._count), self._position)
        struct.pack_into('<iI', self._buffer, 4, *divmod(time.monotonic_ns(), 1_000_000_000))
        self._publisher.publish(bytes(self._buffer))
        self._count += 1

    def take_count(self) -> int:
        """Return how many were sent since the last call."""
        count, self._count = self._count, 0
        return count
