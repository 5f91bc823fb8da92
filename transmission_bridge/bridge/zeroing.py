# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Zeroing: offsets such that the present actuator positions mean wanted joint positions.

An offset is added in joint coordinates, ``q = f(a) + offset``, so that
``new = old + (wanted - present)`` for each joint, including coupled ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from transmission_bridge.errors import closest, MessageError, shown, TransmissionBridgeError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Mask

__all__ = ['OffsetChange', 'joints_with_offset', 'wanted_positions', 'zero_offsets']

#: Difference of the mapped from the wanted position, relative to one plus the numbers involved,
#: at most.
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """The offset of one joint, before and after."""

    transmission: str
    path: ParameterPath
    joint: str
    old: float
    new: float

    def __str__(self) -> str:
        """Return the change in words, with all digits."""
        return f'{self.joint}: offset {self.old!r} -> {self.new!r}'


def joints_with_offset(robot: RobotTransmissions) -> tuple[str, ...]:
    """Return the joints whose offset can be set, in the order of the robot."""
    found = {joint for joint, _, _, _ in _offsets(robot)}
    return tuple(name for name in robot.joint_names if name in found)


def wanted_positions(
    robot: RobotTransmissions, names: tuple[str, ...], positions: tuple[float, ...]
) -> dict[str, float]:
    """
    Return the wanted position of each joint.

    :param names: The joints, empty: all that have an offset.
    :param positions: Their positions [rad or m], empty: zeros.
    :raises MessageError: If a joint is repeated (``duplicate_name``), the numbers of joints and
        positions differ (``size``), or no joint has an offset (``no_offset``).
    """
    names = names or joints_with_offset(robot)
    if not names:
        raise MessageError('no_offset', 'no joint has an offset')
    if len(set(names)) < len(names):
        raise MessageError('duplicate_name', 'zero_joints names a joint more than once')
    if positions and len(positions) != len(names):
        raise MessageError(
            'size', f'zero_positions has {len(positions)} values for {len(names)} joints'
        )
    return dict(zip(names, positions or (0.0,) * len(names), strict=True))


def zero_offsets(
    robot: RobotTransmissions,
    wanted: Mapping[str, float],
    actuators: Array,
    *,
    held: Mask,
    max_velocity: float,
) -> tuple[OffsetChange, ...]:
    """
    Return the new offsets.

    :param wanted: Joint to position [rad or m].
    :param actuators: Present positions, velocities, efforts of the actuators, shape
        ``(3, n_actuators)``, NaN where unknown or stale.
    :param held: Which joints hold a position command, shape ``(n_joints,)``.
    :param max_velocity: Speed above which a joint is moving [rad/s or m/s]. Where the velocity of
        a joint is unknown, that of its actuators is compared, if it is known.
    :raises MessageError: If a joint does not exist (``unknown_joint``) or has no offset
        (``no_offset``); if it, or a joint coupled to it, holds a position command, which would
        mean another position afterwards (``held``), or is moving (``moving``); if its position is
        unknown (``unknown``); or if its offset is not additive (``not_additive``).
    """
    places = {
        joint: (transmission, path, old) for joint, transmission, path, old in _offsets(robot)
    }
    position = robot.actuator_to_joint('position', actuators[0])
    velocity = robot.actuator_to_joint('velocity', actuators[1], at=actuators[0])
    changes = []
    for joint, target in wanted.items():
        if joint not in robot.joint_names:
            lost = robot.lost_joints
            raise MessageError(
                'unknown_joint',
                f'the robot has no joint {shown(joint)}{closest(joint, robot.joint_names)}'
                if joint not in lost
                else f'{shown(joint)} is not bridged, {lost[joint]}',
            )
        if joint not in places:
            raise MessageError('no_offset', f'{joint} has no offset')
        transmission, path, old = places[joint]
        _check_at_rest(robot, transmission, joint, held, velocity, actuators[1], max_velocity)
        present = float(position[robot.joint_names.index(joint)])
        if not math.isfinite(present):
            raise MessageError(
                'unknown', f'the position of {joint} is unknown: no fresh actuator state'
            )
        changes.append(OffsetChange(transmission, path, joint, old, old + (target - present)))
    _check_result(robot, wanted, changes, actuators[0], position)
    return tuple(changes)


def _offsets(robot: RobotTransmissions) -> list[tuple[str, str, ParameterPath, float]]:
    """Return joint, transmission, path and value of every offset."""
    return [
        (tunable.path[1], transmission, tunable.path, tunable.value)
        for transmission, tunables in robot.tunables.items()
        for tunable in tunables
        if len(tunable.path) == 3 and tunable.path[0] == 'joints' and tunable.path[2] == 'offset'
    ]


def _check_at_rest(
    robot: RobotTransmissions,
    transmission: str,
    joint: str,
    held: Mask,
    velocity: Array,
    actuator_velocity: Array,
    max_velocity: float,
) -> None:
    (binding,) = (each for each in robot.bindings if each.spec.name == transmission)
    for place in binding.joints:
        name = robot.joint_names[place]
        about = name if name == joint else f'{name}, coupled to {joint},'
        if held[place]:
            raise MessageError(
                'held',
                f'{about} holds a position command, which would change its meaning by zeroing',
            )
        if abs(velocity[place]) > max_velocity:
            raise MessageError(
                'moving',
                f'{about} is moving at {velocity[place]:g}, more than zero_max_velocity '
                f'({max_velocity:g})',
            )
        if math.isnan(velocity[place]):
            for actuator in binding.actuators:
                if abs(actuator_velocity[actuator]) > max_velocity:
                    raise MessageError(
                        'moving',
                        f'the velocity of {about} is unknown, and its actuator '
                        f'{robot.actuator_names[actuator]} is moving at '
                        f'{actuator_velocity[actuator]:g}, more than zero_max_velocity '
                        f'({max_velocity:g})',
                    )


def _check_result(
    robot: RobotTransmissions,
    wanted: Mapping[str, float],
    changes: list[OffsetChange],
    actuator_position: Array,
    before: Array,
) -> None:
    """Map with the new offsets: the offset of a plugin may not be additive."""
    offsets = {
        f'{change.transmission}.joints.{change.joint}.offset': change.new for change in changes
    }
    try:
        after = robot.with_parameters(offsets).actuator_to_joint('position', actuator_position)
    except TransmissionBridgeError as error:
        raise MessageError('refused', str(error)) from error
    for change in changes:
        place = robot.joint_names.index(change.joint)
        target = wanted[change.joint]
        scale = 1.0 + sum(map(abs, (target, before[place], change.old, change.new)))
        if not abs(after[place] - target) <= _TOLERANCE * scale:
            raise MessageError(
                'not_additive',
                f'with the offset {change.new!r}, {change.transmission} does not map '
                f'{change.joint} to {target!r}',
            )
