# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Units of joints, actuators and the numbers of transmissions."""

from __future__ import annotations

from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions import Binding

#: Unit of an actuator: descriptions do not distinguish motors and cylinders.
UNKNOWN_UNIT = 'rad or m'


def joint_unit(robot: RobotDescription, name: str) -> str:
    """Return ``rad`` or ``m``, or :data:`UNKNOWN_UNIT` for a joint outside the URDF."""
    for joint in robot.joints:
        if joint.name == name and joint.is_scalar:
            return 'm' if joint.type == 'prismatic' else 'rad'
    return UNKNOWN_UNIT


def actuator_unit(robot: RobotDescription, binding: Binding) -> str:
    """
    Return ``rad`` if the actuators of a transmission are certainly rotary, else both units.

    They are rotary if the mechanism defines it (screw), or if all joints are rotary and the ratio
    is constant. On a prismatic joint or a crank, a motor and a cylinder have the same description.
    """
    if binding.transmission.actuators_turn:
        return 'rad'
    if not binding.spec.type:  # it passes through to its joint
        return joint_unit(robot, binding.spec.joints[0].name)
    units = {joint_unit(robot, member.name) for member in binding.spec.joints}
    return 'rad' if binding.transmission.is_constant and units == {'rad'} else UNKNOWN_UNIT


def units_of(unit: str) -> tuple[str, str, str]:
    """Return the units of position, velocity and effort for a unit of position."""
    if unit == UNKNOWN_UNIT:
        return unit, 'rad/s or m/s', 'N m or N'
    return unit, f'{unit}/s', 'N m' if unit == 'rad' else 'N'


def ratio_unit(above: str, below: str) -> str:
    """Return the unit of a ratio of positions, empty for a pure number."""
    if above == below != UNKNOWN_UNIT:
        return ''
    return '/'.join(f'({unit})' if ' ' in unit else unit for unit in (above, below))
