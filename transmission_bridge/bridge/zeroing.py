# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Zeroing: offsets for which present actuator positions map to wanted positions of joints.

Services of the node and ``tune`` in tools call these functions. They return changes and write
nothing; a service sets the offsets in the same callback, so that no message is between. It adds
advice to errors with the reason ``held``; sentences and other reasons may change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.errors import (
    closest,
    counted,
    MessageError,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.transmissions import Binding, RobotTransmissions, Tunable
from transmission_bridge.types import Array, Mask


def check_zero_at_rest(
    robot: RobotTransmissions,
    joints: Collection[str],
    actuators: Array,
    *,
    held: Mask,
    max_velocity: float,
) -> None:
    """
    Check that no joint, and no joint coupled to it, holds a position command or moves.

    The first joint that does is named; a command comes before a motion. Speeds are compared with
    the limit itself, without a tolerance, because they are measured.

    :param joints: Names, checked in this order.
    :param actuators: Present positions, velocities, efforts of the actuators in SI, shape
        ``(3, n_actuators)``, NaN if unknown or stale.
    :param held: Mask of the joints that hold a position command, shape ``(n_joints,)``.
    :param max_velocity: Speed above which a joint is moving [rad/s or m/s]. If the velocity of a
        joint is unknown, the velocities of its actuators are compared.
    :raises MessageError: If one holds a position command (``held``) or is moving (``moving``).
    """
    velocity = robot.actuator_to_joint('velocity', actuators[1], at=actuators[0])
    names = robot.joint_names
    bindings = {names[k]: binding for binding in robot.bindings for k in binding.joints}
    for wanted, index in [(name, index) for name in joints for index in bindings[name].joints]:
        name = names[index]
        about = name if name == wanted else f'{name}, coupled to {wanted},'
        if held[index]:
            why = 'is holding a position command; changing its numbers would move it'
            raise MessageError('held', f'{about} {why}')
        speeds = [(about, velocity[index])]
        if math.isnan(velocity[index]):
            about = f'the velocity of {about} is unknown, and its actuator'
            speeds = [
                (f'{about} {robot.actuator_names[actuator]}', actuators[1, actuator])
                for actuator in bindings[wanted].actuators
            ]
        for what, speed in speeds:
            if not abs(speed) <= max_velocity:  # NaN is not at rest
                how = f'is moving at {speed:g}, more than zero_max_velocity ({max_velocity:g})'
                if math.isnan(speed):
                    how = 'may be moving: its speed is unknown'
                raise MessageError('moving', f'{what} {how}')


#: Largest difference between the mapped and the wanted position, relative to one plus the numbers
#: involved; the second value is for solved positions.
_TOLERANCE, _SOLVED = 1e-12, 1e-9

#: Distance from the wanted position up to which an unknown turn is settled without an offset, for
#: turning [rad] and sliding joints [m], and as a share of the motion during one period.
_NEAR, _NEAR_SLIDING, _NEAR_SHARE = 0.02, 0.002, 0.25


class ZeroOffsetChange(NamedTuple):
    """
    The offset of a joint or an actuator, and its new value.

    :param tunable: The offset with its present value; its name is that of the parameter, without
        prefix.
    """

    tunable: Tunable
    new: float

    def __str__(self) -> str:
        """Return the change in words, with all digits."""
        return f'{self.tunable.path[1]}: offset {self.tunable.value!r} -> {self.new!r}'


def list_zeroable_joints(robot: RobotTransmissions) -> tuple[str, ...]:
    """Return the joints that have an offset, or offsets of actuators, in the robot's order."""
    offsets, solved = _find_offsets(robot)
    return tuple(name for name in robot.joint_names if name in offsets or name in solved)


def list_zero_positions(
    robot: RobotTransmissions, names: tuple[str, ...], positions: tuple[float, ...]
) -> dict[str, float]:
    """
    Return the wanted position of each joint.

    :param names: The joints, empty: all that have an offset.
    :param positions: Their positions [rad or m], empty: zeros.
    :raises MessageError: If a joint is repeated (``duplicate_name``), the numbers of joints and
        positions differ (``size``), or no joint has an offset (``no_offset``).
    """
    names = names or list_zeroable_joints(robot)
    if not names:
        raise MessageError('no_offset', 'no joint has an offset')
    if len(set(names)) < len(names):
        raise MessageError('duplicate_name', 'zero_joints names a joint more than once')
    if positions and len(positions) != len(names):
        values, joints = counted(len(positions), 'value'), counted(len(names), 'joint')
        raise MessageError('size', f'zero_positions has {values} for {joints}')
    return dict(zip(names, positions or (0.0,) * len(names), strict=True))


def list_joints_at_zero(
    robot: RobotTransmissions,
    wanted: Mapping[str, float],
    positions: Array,
    is_open: Mask,
    travels: Array,
) -> tuple[str, ...]:
    """
    Return the joints that are where they are wanted once their turns are settled.

    All wanted joints of a transmission, or none.

    :param wanted: Joint to position [rad or m].
    :param positions: Positions of the actuators in the turns that come nearest.
    :param is_open: Mask of the actuators whose turns were unknown.
    :param travels: Largest motion of each joint during one period, shape ``(n_joints,)``.
    """
    slides = {joint.name for joint in robot.description.joints if joint.type == 'prismatic'}
    most = [_NEAR_SLIDING if name in slides else _NEAR for name in robot.joint_names]
    goal = np.array([wanted.get(name, math.nan) for name in robot.joint_names])
    away = np.abs(robot.actuator_to_joint('position', positions) - goal)
    is_near = away <= np.minimum(most, _NEAR_SHARE * travels)
    settled: list[int] = []
    for binding in robot.bindings:
        joints = [joint for joint in binding.joints if robot.joint_names[joint] in wanted]
        if is_open[list(binding.actuators)].any() and is_near[joints].all():
            settled += joints
    return tuple(robot.joint_names[joint] for joint in settled)


def compute_zero_offsets(
    robot: RobotTransmissions,
    wanted: Mapping[str, float],
    actuators: Array,
    *,
    held: Mask,
    max_velocity: float,
    settled: Collection[str] = (),
) -> tuple[ZeroOffsetChange, ...]:
    """
    Return the changes of offsets.

    :param wanted: Joint to position [rad or m].
    :param actuators: Present positions, velocities, efforts of the actuators in SI, shape
        ``(3, n_actuators)``, NaN if unknown or stale.
    :param held: Mask of the joints that hold a position command, shape ``(n_joints,)``.
    :param max_velocity: Speed above which a joint is moving [rad/s or m/s]. If the velocity of a
        joint is unknown, the velocities of its actuators are compared.
    :param settled: Joints that keep their offset, see :func:`list_joints_at_zero`.
    :raises MessageError: If a joint does not exist (``unknown_joint``) or has no offset
        (``no_offset``); if the joint, or a joint coupled to it, holds a position command
        (``held``) or is moving (``moving``); if its position is unknown (``unknown``); if the
        wanted position cannot be reached (``unreachable``); or if its offset is not additive
        (``not_additive``).
    """
    offsets, solved = _find_offsets(robot)
    position = robot.actuator_to_joint('position', actuators[0])
    for joint in wanted:
        if joint not in robot.joint_names:
            why = f'the robot has no joint {shown(joint)}{closest(joint, robot.joint_names)}'
            if joint in robot.lost_joints:
                why = f'{shown(joint)} is not bridged, {robot.lost_joints[joint]}'
            raise MessageError('unknown_joint', why)
        if joint not in {*solved, *offsets, *settled}:
            advice, number = '', robot.joint_names.index(joint)
            for binding in robot.bindings:
                if number in binding.passive:
                    names = ', '.join(member.name for member in binding.spec.joints)
                    advice = f": it follows the commanded joints of '{binding.spec.name}', {names}"
            raise MessageError('no_offset', f'{joint} has no offset{advice}')
    changes, named = [], wanted
    for joint, target in wanted.items():
        if joint in solved or joint in settled:
            continue
        present = float(position[robot.joint_names.index(joint)])
        if not math.isfinite(present):
            raise _new_unknown_error(joint)
        offset = offsets[joint]
        changes.append(ZeroOffsetChange(offset, offset.value + (target - present)))
    wanted = {joint: target for joint, target in wanted.items() if joint not in settled}
    concerned = {solved[joint].spec.name: solved[joint] for joint in wanted if joint in solved}
    for binding in concerned.values():
        changes += _solve_actuator_offsets(robot, binding, wanted, actuators[0], position)
    check_zero_at_rest(robot, named, actuators, held=held, max_velocity=max_velocity)
    _check_result(robot, wanted, solved, changes, actuators[0], position)
    return tuple(changes)


def _new_unknown_error(name: str) -> MessageError:
    return MessageError('unknown', f'the position of {name} is unknown: no fresh actuator state')


def list_zero_offsets(robot: RobotTransmissions, side: str) -> list[Tunable]:
    """
    Return every offset.

    :param side: ``joints`` or ``actuators``.
    """
    tunables = chain.from_iterable(robot.tunables.values())
    return [tunable for tunable in tunables if tunable.path[::2] == (side, 'offset')]


def _find_offsets(
    robot: RobotTransmissions,
) -> tuple[dict[str, Tunable], dict[str, Binding]]:
    """Return offsets by joint, and transmissions with offsets of actuators only, by joint."""
    offsets = list_zero_offsets(robot, 'joints')
    names = {offset.transmission for offset in list_zero_offsets(robot, 'actuators')}
    names -= {offset.transmission for offset in offsets}
    solved = {
        member.name: binding
        for binding in robot.bindings
        if binding.spec.name in names
        for member in binding.spec.joints
    }
    return {offset.path[1]: offset for offset in offsets}, solved


def _solve_actuator_offsets(
    robot: RobotTransmissions,
    binding: Binding,
    wanted: Mapping[str, float],
    actuator_position: Array,
    joint_position: Array,
) -> list[ZeroOffsetChange]:
    """
    Return the changes of offsets of the actuators that the wanted joints depend on.

    Other joints keep their positions.

    :param actuator_position: Positions of all actuators [rad or m].
    :param joint_position: Positions of all joints.
    :raises MessageError: If a position is unknown or cannot be reached.
    """
    transmission, name = binding.transmission, binding.spec.name
    joints = [member.name for member in binding.spec.joints]
    is_wanted = np.array([joint in wanted for joint in joints])
    goal = joint_position[list(binding.joints)].copy()
    goal[is_wanted] = [wanted[joint] for joint in joints if joint in wanted]
    there = transmission.joint_to_actuator('position', goal)
    reached = transmission.actuator_to_joint('position', there)[: len(joints)]
    unknown = [joints[k] for k in np.flatnonzero(np.isnan(goal))]
    lost = [joints[k] for k in np.flatnonzero(np.isnan(reached) & is_wanted)]
    if lost and unknown:
        raise MessageError(
            'unknown',
            f'the position of {unknown[0]}, which moves with {lost[0]}, is unknown: no fresh '
            f"actuator state, or a state that '{name}' cannot have with its present offsets; in "
            'the latter case, name it also in zero_joints',
        )
    if lost:
        goals = ', '.join(f'{joints[k]} at {where:g}' for k, where in enumerate(goal.tolist()))
        raise MessageError(
            'unreachable',
            f"'{name}' cannot have {goals}: outside the range of its actuators, or on another "
            'assembly branch; set zero_positions to the present positions of the joints',
        )
    # An actuator that depends on no wanted joint stays known without the wanted joints.
    without = transmission.joint_to_actuator('position', np.where(is_wanted, math.nan, goal))
    offsets = list_zero_offsets(robot, 'actuators')
    by_motor = {offset.path[1]: offset for offset in offsets if offset.transmission == name}
    changes = []
    for number, member in enumerate(binding.spec.actuators):
        if not math.isnan(without[number]) or math.isnan(there[number]):
            continue
        present = float(actuator_position[binding.actuators[number]])
        if not math.isfinite(present):
            raise _new_unknown_error(member.name)
        offset = by_motor[member.name]
        moved = (float(there[number]) - present) / transmission.actuator_reduction[number]
        changes.append(ZeroOffsetChange(offset, offset.value + moved))
    return changes


def _check_result(
    robot: RobotTransmissions,
    wanted: Mapping[str, float],
    solved: Mapping[str, Binding],
    changes: list[ZeroOffsetChange],
    actuator_position: Array,
    before: Array,
) -> None:
    """Check the map with the new offsets, because the offset of a plugin may not be additive."""
    offsets = {change.tunable.name: change.new for change in changes}
    try:
        after = robot.with_parameters(offsets).actuator_to_joint('position', actuator_position)
    except TransmissionBridgeError as error:
        raise MessageError('refused', str(error)) from error
    by_joint = {one.tunable.path[1]: one for one in changes if one.tunable.path[0] == 'joints'}
    for joint, target in wanted.items():
        number = robot.joint_names.index(joint)
        if joint in solved:
            name, scale = solved[joint].spec.name, _SOLVED / _TOLERANCE
            about = ', '.join(str(one) for one in changes if one.tunable.transmission == name)
        else:
            change = by_joint[joint]
            name, about = change.tunable.transmission, f'the offset {change.new!r}'
            scale = 1.0 + sum(map(abs, (target, before[number], change.tunable.value, change.new)))
        if not abs(after[number] - target) <= _TOLERANCE * scale:
            raise MessageError(
                'not_additive', f'with {about}, {name} does not map {joint} to {target!r}'
            )


def compute_absolute_zeros(
    robot: RobotTransmissions, names: tuple[str, ...], absolute: Array
) -> dict[str, float]:
    """
    Return the positions of joints measured by their absolute encoders.

    The encoder has to measure the joint. A mapped absolute position contains the same offset, so
    no offset can remove the difference.

    :param names: The joints, empty: all with an offset, an encoder that measures the joint, and a
        reading.
    :param absolute: Absolute positions of the joints [rad or m], shape ``(n_joints,)``, NaN:
        unknown.
    :raises MessageError: If a joint, or every joint, has no absolute position (``no_absolute``),
        or if the absolute position is mapped (``mapped_absolute``).
    """
    positions = dict(zip(robot.joint_names, absolute.tolist(), strict=True))
    measured = {name: value for name, value in positions.items() if math.isfinite(value)}
    offsets, solved = _find_offsets(robot)
    owners = {name: offset.transmission for name, offset in offsets.items()}
    owners |= {name: binding.spec.name for name, binding in solved.items()}
    of_joints = {name for name, owner in owners.items() if owner in robot.ignore_absolute_encoder}
    for name in names:
        if name in owners and name not in of_joints:
            raise MessageError(
                'mapped_absolute',
                f'the absolute position of {name} is mapped with the same offset as its position, '
                'so no offset can make them equal: let the driver count from its absolute '
                'encoder, or, if the encoder measures the joint, set ignore_absolute_encoder of '
                f"transmission '{owners[name]}'",
            )
        if name in of_joints and name not in measured:
            raise MessageError('no_absolute', f'no fresh absolute position of {name}')
    chosen = names or [name for name in measured if name in of_joints]
    if not chosen:
        raise MessageError(
            'no_absolute',
            'no joint with an offset has a fresh absolute position of its own '
            '(ignore_absolute_encoder)',
        )
    # Joints without an offset are rejected by name when the offsets are computed.
    return {name: measured.get(name, 0.0) for name in chosen}
