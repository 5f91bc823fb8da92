# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Units of what a robot's transmissions map, and of their numbers."""

from __future__ import annotations

import re

from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions.tunable import Tunable

__all__ = ['UNKNOWN_UNIT', 'joint_unit', 'tunable_unit']

#: Of an actuator: a description does not tell a motor from a cylinder.
UNKNOWN_UNIT = 'rad or m'


def joint_unit(robot: RobotDescription, name: str) -> str:
    """Return ``rad`` or ``m``, or :data:`UNKNOWN_UNIT` for a joint that the URDF lacks."""
    for joint in robot.joints:
        if joint.name == name and joint.is_scalar:
            return 'm' if joint.type == 'prismatic' else 'rad'
    return UNKNOWN_UNIT


def tunable_unit(tunable: Tunable) -> str:
    """Return the unit that a number's description ends with in brackets, empty if none."""
    found = re.search(r'\[([^]]*)\]\W*$', tunable.description)
    return found[1] if found else ''
