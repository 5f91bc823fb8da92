# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every topic, in one place."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

__all__ = ['COMMAND_INPUT', 'DESCRIPTION', 'OUTPUT', 'STATE_INPUT']

#: Best effort connects to every driver, whatever it offers.
STATE_INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)

#: A command must arrive.
COMMAND_INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

#: Reliable publishers connect to every subscriber, whatever it asks for.
OUTPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

#: As robot_state_publisher publishes it.
DESCRIPTION = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
