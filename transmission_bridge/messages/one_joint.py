# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One joint and its actuator: numbers, commands and messages through one transmission.

Users call these functions, as ``tb.apply_position``; nothing else in the package does. Names and
kinds follow Beam Bots, and the page for users lists them, so names and fields are fixed. No
function changes its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
import math
from typing import Any, TypeAlias

import numpy as np

from transmission_bridge.errors import MessageError, shortened, TransmissionError
from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    FIELDS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.messages.records import (
    fill_joint_state_message,
    fill_trajectory_message,
    JointStateRecord,
    POINT_FIELDS,
    record_from_joint_state,
    trajectory_from_message,
    TrajectoryRecord,
    Waypoint,
)
from transmission_bridge.transmissions import SimpleTransmission, Transmission
from transmission_bridge.types import Array

# -- Numbers -------------------------------------------------------------------------------------
#
# ``apply`` maps from the joint to the actuator, ``unapply`` from the actuator to the joint, as in
# Beam Bots (``BB.Transmission``). With the reduction ``n``, negative if reversed, and the joint
# offset ``off``:
#
# ========= ===================== ======================
# number    apply                 unapply
# ========= ===================== ======================
# position  ``a = n (j - off)``   ``j = a / n + off``
# rate      ``a = n j``           ``j = a / n``
# effort    ``a = j / n``         ``j = n a``
# ========= ===================== ======================
#
# Any transmission of one actuator and one joint can be used. If its ratio depends on position,
# rates and efforts need the position ``at``, in the space of the given number.

#: A transmission, or the arguments of :func:`simple_transmission` by name.
OneJoint: TypeAlias = Transmission | Mapping[str, Any]


def simple_transmission(
    reduction: float = 1.0,
    offset: float = 0.0,
    *,
    reversed: bool = False,  # noqa: A002 - the word that users of Beam Bots write
) -> SimpleTransmission:
    """
    Return a simple transmission with a reduction, an offset and a sense of rotation.

    :param reduction: Turns of the actuator per turn of the joint.
    :param offset: Joint position [rad or m] at actuator position zero.
    :param reversed: Whether the actuator turns in the opposite direction; same as a negative
        reduction.
    :returns: A simple transmission of ratio ``reduction``, or ``-reduction`` if reversed.
    :raises TransmissionError: If the reduction is zero or a number is not finite.
    """
    return SimpleTransmission(-reduction if reversed else reduction, offset)


def _as_transmission(given: OneJoint) -> Transmission:
    if not isinstance(given, Mapping):
        return given
    unknown = given.keys() - {'reduction', 'offset', 'reversed'}
    if unknown:
        raise TransmissionError(
            'a mapping is no transmission of one joint',
            expected='reduction, offset or reversed',
            found=', '.join(map(str, sorted(unknown, key=str))),
        )
    return simple_transmission(**given)


def apply_position(value: float, transmission: OneJoint) -> float:
    """
    Return the actuator position of a joint position.

    :param value: Joint position [rad or m].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :returns: Actuator position [rad or m].
    :raises TransmissionError: If the transmission has more actuators or joints.
    """
    return _map_number(JOINT_TO_ACTUATOR, 'position', value, transmission, None)


def unapply_position(value: float, transmission: OneJoint) -> float:
    """
    Return the joint position of an actuator position.

    :param value: Actuator position [rad or m].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :returns: Joint position [rad or m].
    :raises TransmissionError: If the transmission has more actuators or joints.
    """
    return _map_number(ACTUATOR_TO_JOINT, 'position', value, transmission, None)


def apply_rate(value: float, transmission: OneJoint, *, at: float | None = None) -> float:
    """
    Map a joint velocity, or an acceleration at standstill, to the actuator.

    :param value: Joint rate [rad or m, per second or per second squared].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :param at: Joint position [rad or m]; needed if the ratio depends on it, else ignored.
    :returns: Actuator rate, in the actuator's unit.
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map_number(JOINT_TO_ACTUATOR, 'velocity', value, transmission, at)


def unapply_rate(value: float, transmission: OneJoint, *, at: float | None = None) -> float:
    """
    Map an actuator velocity, or an acceleration at standstill, to the joint.

    :param value: Actuator rate [rad or m, per second or per second squared].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :param at: Actuator position [rad or m]; needed if the ratio depends on it, else ignored.
    :returns: Joint rate, in the joint's unit.
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map_number(ACTUATOR_TO_JOINT, 'velocity', value, transmission, at)


def apply_effort(value: float, transmission: OneJoint, *, at: float | None = None) -> float:
    """
    Return the actuator effort of a joint effort.

    :param value: Joint effort [N m or N].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :param at: Joint position [rad or m]; needed if the ratio depends on it, else ignored.
    :returns: Actuator effort [N m or N].
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map_number(JOINT_TO_ACTUATOR, 'effort', value, transmission, at)


def unapply_effort(value: float, transmission: OneJoint, *, at: float | None = None) -> float:
    """
    Return the joint effort of an actuator effort.

    :param value: Actuator effort [N m or N].
    :param transmission: One actuator, one joint; or a mapping, see :data:`OneJoint`.
    :param at: Actuator position [rad or m]; needed if the ratio depends on it, else ignored.
    :returns: Joint effort [N m or N].
    :raises TransmissionError: If the transmission has more actuators or joints, or ``at`` is
        needed and missing.
    """
    return _map_number(ACTUATOR_TO_JOINT, 'effort', value, transmission, at)


def _map_number(
    direction: Direction,
    interface: str,
    value: float,
    transmission: OneJoint,
    at: float | None,
    rate: float | None = None,
) -> float:
    transmission = _as_transmission(transmission)
    size = (transmission.n_actuators, transmission.n_joints)
    if size != (1, 1):
        raise TransmissionError(
            'a single value needs a transmission of one actuator and one joint',
            expected='1 and 1',
            found=f'{size[0]} and {size[1]}',
        )
    where, moving = (None if number is None else [number] for number in (at, rate))
    return float(transmission.map(direction, interface, [value], at=where, rate=moving)[0])


# -- Commands to one joint, and feedback of its actuator, as plain data --------------------------
#
# Beam Bots has the same kinds (``BB.Message.Actuator``). Numbers are SI; ``None``: the
# driver decides. Times may be of any type; no function here reads them.


@dataclass(frozen=True, slots=True)
class PositionCommand:
    """
    Go to a position.

    :param position: Target [rad or m].
    :param velocity: Velocity hint [rad/s or m/s].
    :param duration: Duration hint.
    :param command_id: Identifier for feedback.
    """

    position: float
    velocity: float | None = None
    duration: Any = None
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class VelocityCommand:
    """
    Move at a velocity.

    :param velocity: Target [rad/s or m/s].
    :param duration: Duration; ``None``: until stopped.
    :param command_id: Identifier for feedback.
    """

    velocity: float
    duration: Any = None
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class EffortCommand:
    """
    Apply an effort.

    :param effort: Target [N m or N].
    :param duration: Duration; ``None``: until stopped.
    :param command_id: Identifier for feedback.
    """

    effort: float
    duration: Any = None
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class JointWaypoint:
    """
    A point of a trajectory.

    :param position: [rad or m].
    :param time_from_start: Time since the start of the trajectory.
    :param velocity: [rad/s or m/s].
    :param acceleration: [rad/s² or m/s²].
    """

    position: float
    time_from_start: Any
    velocity: float | None = None
    acceleration: float | None = None


@dataclass(frozen=True, slots=True)
class TrajectoryCommand:
    """
    Follow waypoints.

    :param waypoints: In order of time.
    :param repeat: Number of repetitions.
    :param command_id: Identifier for feedback.
    """

    waypoints: tuple[JointWaypoint, ...]
    repeat: Any = 1
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class HoldCommand:
    """
    Hold the present position.

    :param command_id: Identifier for feedback.
    """

    command_id: Any = None


@dataclass(frozen=True, slots=True)
class StopCommand:
    """
    Stop moving.

    :param mode: ``immediate`` or ``decelerate``.
    :param command_id: Identifier for feedback.
    """

    mode: str = 'immediate'
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class BeginMotion:
    """
    An actuator starts to move.

    :param initial_position: [rad or m].
    :param target_position: [rad or m].
    :param expected_arrival: Time of arrival.
    :param peak_velocity: Largest speed of the motion, a magnitude [rad/s or m/s].
    :param acceleration: Acceleration of a trapezoidal profile, a magnitude [rad/s² or m/s²].
    :param command_type: Kind of the command that caused it.
    :param command_id: Identifier of the command that caused it.
    """

    initial_position: float
    target_position: float
    expected_arrival: Any = None
    peak_velocity: float | None = None
    acceleration: float | None = None
    command_type: str | None = None
    command_id: Any = None


# -- Messages: commands to the actuator, feedback to the joint -----------------------------------
#
# Omitted numbers stay omitted: an omitted rate never becomes zero, which would mean "do not move".
# As in Beam Bots (``BB.Transmission``), messages without numbers of the joint (hold, stop) are
# returned unchanged, and so are all messages without a transmission. A JointState or
# JointTrajectory of ROS is mapped in both directions. As commands, other ROS messages and feedback
# are rejected, because unmapped results would look like mapped ones.


_ONE_NUMBER = (PositionCommand, VelocityCommand, EffortCommand)

#: The numbers of a command, in the order of the arrays of a ROS waypoint.
_NUMBERS = ('position', 'velocity', 'acceleration', 'effort')


def apply_to_command(
    command: Any, transmission: OneJoint | None, *, at: float | None = None
) -> Any:
    """
    Map a command to a joint to a command to its actuator.

    Position with its velocity hint, velocity, effort and trajectory are mapped, and JointState and
    JointTrajectory, as ROS messages or records, with the same names. Hold, stop and objects of
    other libraries are returned unchanged.

    :param command: In joint space [rad, m, N m, N].
    :param transmission: One actuator, one joint; ``None`` leaves the command unchanged.
    :param at: Joint position [rad or m] for commands without a position; needed if the ratio
        depends on position, else ignored.
    :returns: A command of the same kind in actuator space, or the same object.
    :raises MessageError: If a message has several joints (``several_joints``) or more values than
        joints (``ragged``), or is a begin-motion or another ROS message (``other_type``).
    :raises TransmissionError: If the transmission has more actuators or joints, or a position or
        velocity is needed and missing.
    """
    if transmission is None:
        return command
    transmission = _as_transmission(transmission)
    if isinstance(command, TrajectoryCommand):
        points = tuple(_map_numbers(point, transmission, at) for point in command.waypoints)
        return replace(command, waypoints=points)
    if isinstance(command, _ONE_NUMBER):
        return _map_numbers(command, transmission, at)
    return _map_message(command, JOINT_TO_ACTUATOR, transmission, at)


def unapply_to_feedback(
    feedback: Any, transmission: OneJoint | None, *, at: float | None = None
) -> Any:
    """
    Map the feedback of an actuator to its joint.

    Begin-motion is mapped; its peak velocity and acceleration stay magnitudes. JointState and
    JointTrajectory are mapped, as ROS messages or records, with the same names. Everything else,
    commands among them, is returned unchanged.

    :param feedback: In actuator space [rad, m, N m, N].
    :param transmission: One actuator, one joint; ``None`` leaves the feedback unchanged.
    :param at: Actuator position [rad or m] for feedback without a position, and for the magnitudes
        of a begin-motion; needed if the ratio depends on position, else ignored.
    :returns: Feedback of the same kind in joint space, or the same object.
    :raises MessageError: If a message has several joints (``several_joints``) or more values than
        joints (``ragged``).
    :raises TransmissionError: If the transmission has more actuators or joints, or a position is
        needed and missing.
    """
    if transmission is None or isinstance(feedback, (*_ONE_NUMBER, TrajectoryCommand)):
        return feedback
    transmission = _as_transmission(transmission)
    if isinstance(feedback, BeginMotion):
        peak, acceleration = (
            None if rate is None else abs(unapply_rate(rate, transmission, at=at))
            for rate in (feedback.peak_velocity, feedback.acceleration)
        )
        return replace(
            feedback,
            initial_position=unapply_position(feedback.initial_position, transmission),
            target_position=unapply_position(feedback.target_position, transmission),
            peak_velocity=peak,
            acceleration=acceleration,
        )
    return _map_message(feedback, ACTUATOR_TO_JOINT, transmission, at)


def _map_numbers(command: Any, transmission: Transmission, at: float | None) -> Any:
    """Map every number of a command, at its own position if it has one."""
    given = {name: getattr(command, name, None) for name in _NUMBERS}
    at, rate = getattr(command, 'position', at), given['velocity']
    mapped = {
        name: _map_number(JOINT_TO_ACTUATOR, name, value, transmission, at, rate)
        for name, value in given.items()
        if value is not None
    }
    return replace(command, **mapped)


def _map_message(
    message: Any, direction: Direction, transmission: Transmission, at: float | None
) -> Any:
    """Map a JointState or JointTrajectory; return objects without numbers unchanged."""
    if isinstance(message, BeginMotion):
        raise MessageError('other_type', 'expected a command, found feedback: BeginMotion')
    names, record = set(getattr(message, 'get_fields_and_field_types', dict)()), message
    if names >= {'name', 'position', 'velocity', 'effort'}:
        record = record_from_joint_state(message)
    elif names >= {'joint_names', 'points'}:
        record = trajectory_from_message(message)
    elif names and direction == JOINT_TO_ACTUATOR:
        raise MessageError(
            'other_type',
            f'{type(message).__name__} cannot be mapped: give a JointState or JointTrajectory',
        )
    mapped: JointStateRecord | TrajectoryRecord
    if isinstance(record, JointStateRecord):
        arrays = dict(zip(FIELDS, record.arrays, strict=True))
        rows = _map_arrays(record.names, arrays, direction, transmission, at)
        mapped = JointStateRecord(record.stamp, record.frame_id, record.names, *rows)
    elif isinstance(record, TrajectoryRecord):
        points = []
        for point in record.points:
            numbers = (getattr(point, field) for field in POINT_FIELDS)
            arrays = dict(zip(_NUMBERS, numbers, strict=True))
            rows = _map_arrays(record.names, arrays, direction, transmission, None)
            points.append(Waypoint(point.time, *rows))
        mapped = replace(record, points=tuple(points))
    else:
        return message
    if record is message:
        return mapped
    result = type(message)()
    if isinstance(mapped, TrajectoryRecord):
        fill_trajectory_message(result, mapped, lambda: type(message.points[0])())
    else:
        fill_joint_state_message(result, mapped)
    return result


def _map_arrays(
    names: tuple[str, ...],
    arrays: Mapping[str, Array],
    direction: Direction,
    transmission: Transmission,
    at: float | None,
) -> list[Array]:
    """Map arrays of at most one number each, by interface."""
    lengths = tuple(map(len, arrays.values()))
    if len(names) > 1:
        raise MessageError(
            'several_joints', f'one transmission cannot map several joints: {shortened(names)}'
        )
    if max(lengths) > len(names):
        raise MessageError('ragged', f'more values than names: {lengths}')
    first = {name: float(values[0]) for name, values in arrays.items() if len(values)}
    position, rate = first.get('position', math.nan), first.get('velocity')
    at = at if math.isnan(position) else position
    return [
        np.array([_map_number(direction, name, v, transmission, at, rate) for v in values], float)
        for name, values in arrays.items()
    ]
