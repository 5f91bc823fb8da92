# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every topic, in one place."""

from __future__ import annotations

import copy
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

__all__ = ['COMMAND_INPUT', 'DESCRIPTION', 'OUTPUT', 'STATE_INPUT', 'overridable']

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


def overridable(profile: QoSProfile) -> dict[str, Any]:
    """
    Return the arguments of an endpoint whose quality of service parameters may override.

    With a copy of the profile: rclpy writes the overrides of one topic into what it is given, and
    so they would reach every topic made from the same profile afterwards.
    """
    return {
        'qos_profile': copy.copy(profile),
        'qos_overriding_options': QoSOverridingOptions.with_default_policies(),
    }
