# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Units of joints, actuators and the numbers of transmissions."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.units import row_of

__all__ = [
    'UNKNOWN_UNIT',
    'actuator_unit',
    'interface_units',
    'joint_unit',
    'ratio_unit',
    'units_of',
]

#: Of an actuator: descriptions do not distinguish motors and cylinders.
UNKNOWN_UNIT = 'rad or m'


def joint_unit(robot: RobotDescription, name: str) -> str:
    """Return ``rad`` or ``m``, or :data:`UNKNOWN_UNIT` for a joint that the URDF lacks."""
    for joint in robot.joints:
        if joint.name == name and joint.is_scalar:
            return 'm' if joint.type == 'prismatic' else 'rad'
    return UNKNOWN_UNIT


def actuator_unit(robot: RobotDescription, binding: Binding) -> str:
    """
    Return ``rad`` if the actuators of a transmission are certainly rotary, else both units.

    They are if the mechanism defines it (screw), or if all joints are rotary and the ratio is
    constant. On a prismatic joint or a crank, a motor and a cylinder have the same description.
    """
    if binding.transmission.actuators_turn:
        return 'rad'
    if not binding.spec.type:  # nothing is between it and its joint
        return joint_unit(robot, binding.spec.joints[0].name)
    units = {joint_unit(robot, member.name) for member in binding.spec.joints}
    return 'rad' if binding.transmission.is_constant and units == {'rad'} else UNKNOWN_UNIT


def interface_units(
    robot: RobotTransmissions, names: Sequence[str], interface: str, side: str
) -> list[str]:
    """
    Return the unit in which the bridge maps an interface.

    :param names: Joints or actuators.
    :param side: ``joint`` or ``actuator``.
    """
    row, per_second = row_of(interface), '/s' * (interface == 'acceleration')
    if side == 'joint':
        return [units_of(joint_unit(robot.robot, name))[row] + per_second for name in names]
    return [_driver_unit(robot, name, row) + per_second for name in names]


def _driver_unit(robot: RobotTransmissions, name: str, row: int) -> str:
    units = robot.units.get(name)
    if units is not None and units.units[row].text:
        return units.units[row].text
    found = {
        actuator_unit(robot.robot, binding)
        for binding in robot.bindings
        if name in (member.name for member in binding.spec.actuators)
    }
    if units is not None and units.slides is not None:
        found = {'m' if units.slides else 'rad'}
    return units_of(found.pop() if len(found) == 1 else UNKNOWN_UNIT)[row]


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
