# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The units in which commands print the numbers of joints and actuators, from the description.

All commands use it: ``check``, ``map``, the page, the files of servo drivers and of ``compile``.
Programs read the units in JSON, so their texts are fixed. Units of drivers are not here: the table
of a robot has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.description import collect_limits, RobotDescription
from transmission_bridge.transmissions import Binding

#: Unit of an actuator: descriptions do not distinguish motors and cylinders.
UNKNOWN_UNIT = 'rad or m'


def report_joint_unit(robot: RobotDescription, name: str) -> str:
    """Return ``rad`` or ``m``, or :data:`UNKNOWN_UNIT` for a joint outside the URDF."""
    for joint in robot.joints:
        if joint.name == name and joint.is_scalar:
            return 'm' if joint.type == 'prismatic' else 'rad'
    return UNKNOWN_UNIT


def list_position_limits(
    robot: RobotDescription, names: Sequence[str]
) -> dict[str, tuple[float, float, str]]:
    """Return lower and upper position limit of joints, infinite if absent, and their unit."""
    limits = collect_limits(robot, names)[:, 0].T.tolist()
    return {
        name: (lower, upper, report_joint_unit(robot, name))
        for name, (lower, upper) in zip(names, limits, strict=True)
    }


def report_actuator_unit(robot: RobotDescription, binding: Binding) -> str:
    """
    Return ``rad`` if the actuators of a transmission are certainly rotary, else both units.

    They are rotary if the mechanism defines it (screw), or if all joints are rotary and the ratio
    is constant. On a prismatic joint or a crank, a motor and a cylinder have the same description.
    """
    if binding.transmission.actuators_turn:
        return 'rad'
    if not binding.spec.type:  # it passes through to its joint
        return report_joint_unit(robot, binding.spec.joints[0].name)
    units = {report_joint_unit(robot, member.name) for member in binding.spec.joints}
    return 'rad' if binding.transmission.is_constant and units == {'rad'} else UNKNOWN_UNIT


def list_report_units(unit: str) -> tuple[str, str, str]:
    """Return the units of position, velocity and effort, as in FIELDS, for a unit of position."""
    if unit == UNKNOWN_UNIT:
        return unit, 'rad/s or m/s', 'N m or N'
    return unit, f'{unit}/s', 'N m' if unit == 'rad' else 'N'
