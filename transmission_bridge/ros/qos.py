# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every topic, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import copy
from typing import Any

from rclpy.exceptions import ParameterException
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from transmission_bridge.errors import ParameterError

__all__ = ['COMMAND_INPUT', 'DESCRIPTION', 'OUTPUT', 'STATE_INPUT', 'overridable', 'overriding']

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


@contextmanager
def overriding(topic: str) -> Iterator[None]:
    """
    Make an endpoint inside of this, so that an override which cannot be accepted says where.

    :raises ParameterError: For what rclpy raises: RuntimeError, or ParameterException.
    """
    try:
        yield
    except (RuntimeError, ParameterException) as error:
        raise ParameterError(
            f"topic '{topic}' cannot be made as its qos_overrides ask for: {error}",
            parameter=f'qos_overrides.{topic}',
        ) from error
