# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Whole messages through one transmission: commands to the actuator, feedback to the joint.

What is not given stays not given: an omitted rate never becomes zero, which would mean "do not
move". Messages without numbers of the joint (hold, stop, whatever else) come back as they are, and
so does every message where there is no transmission. After Beam Bots, ``BB.Transmission``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.motion import (
    BeginMotion,
    EffortCommand,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
    Waypoint,
)
from transmission_bridge.messages.one_joint import (
    apply_acceleration,
    apply_effort,
    apply_position,
    apply_rate,
    unapply_effort,
    unapply_position,
    unapply_rate,
)
from transmission_bridge.transmissions.transmission import Transmission

__all__ = ['apply_to_command', 'unapply_to_feedback']


def apply_to_command(
    command: Any, transmission: Transmission | None, *, at: float | None = None
) -> Any:
    """
    Return a command to a joint as one to its actuator.

    Position with its velocity hint, velocity, effort and trajectory are mapped; anything else,
    such as hold and stop, comes back unchanged.

    :param command: In joint space [rad, m, N m, N].
    :param transmission: One actuator, one joint; ``None`` leaves the command unchanged.
    :param at: Joint position [rad or m] for commands that hold none; needed where the ratio
        depends on position, else ignored.
    :returns: A command of the same kind in actuator space, or the same object.
    :raises TransmissionError: If the transmission has more actuators or joints, or a position or
        velocity is needed and missing.
    """
    return command if transmission is None else _apply(command, transmission, at)


def unapply_to_feedback(
    feedback: Any, transmission: Transmission | None, *, at: float | None = None
) -> Any:
    """
    Return what an actuator reports as what its joint does.

    Begin-motion, whose peak velocity and acceleration stay magnitudes whatever the sense of the
    transmission, and joint states are mapped; anything else comes back unchanged.

    :param feedback: In actuator space [rad, m, N m, N].
    :param transmission: One actuator, one joint; ``None`` leaves the feedback unchanged.
    :param at: Actuator position [rad or m] for feedback that holds none, and for the magnitudes of
        a begin-motion; needed where the ratio depends on position, else ignored.
    :returns: Feedback of the same kind in joint space, or the same object.
    :raises MessageError: If a joint state has several joints (``several_joints``) or more values
        than joints (``ragged``): one transmission cannot be meant for all.
    :raises TransmissionError: If the transmission has more actuators or joints, or a position is
        needed and missing.
    """
    return feedback if transmission is None else _unapply(feedback, transmission, at)


@singledispatch
def _apply(command: Any, transmission: Transmission, at: float | None) -> Any:
    return command


@_apply.register
def _(command: PositionCommand, transmission: Transmission, at: float | None) -> PositionCommand:
    velocity = command.velocity
    if velocity is not None:
        velocity = apply_rate(velocity, transmission, at=command.position)
    position = apply_position(command.position, transmission)
    return replace(command, position=position, velocity=velocity)


@_apply.register
def _(command: VelocityCommand, transmission: Transmission, at: float | None) -> VelocityCommand:
    return replace(command, velocity=apply_rate(command.velocity, transmission, at=at))


@_apply.register
def _(command: EffortCommand, transmission: Transmission, at: float | None) -> EffortCommand:
    return replace(command, effort=apply_effort(command.effort, transmission, at=at))


@_apply.register
def _(
    command: TrajectoryCommand, transmission: Transmission, at: float | None
) -> TrajectoryCommand:
    points = tuple(_apply_to_waypoint(point, transmission) for point in command.waypoints)
    return replace(command, waypoints=points)


def _apply_to_waypoint(point: Waypoint, transmission: Transmission) -> Waypoint:
    velocity, acceleration = point.velocity, point.acceleration
    if acceleration is not None:
        acceleration = apply_acceleration(
            acceleration, transmission, at=point.position, rate=velocity
        )
    if velocity is not None:
        velocity = apply_rate(velocity, transmission, at=point.position)
    position = apply_position(point.position, transmission)
    return replace(point, position=position, velocity=velocity, acceleration=acceleration)


@singledispatch
def _unapply(feedback: Any, transmission: Transmission, at: float | None) -> Any:
    return feedback


@_unapply.register
def _(feedback: BeginMotion, transmission: Transmission, at: float | None) -> BeginMotion:
    def magnitude(rate: float | None) -> float | None:
        return None if rate is None else abs(unapply_rate(rate, transmission, at=at))

    return replace(
        feedback,
        initial_position=unapply_position(feedback.initial_position, transmission),
        target_position=unapply_position(feedback.target_position, transmission),
        peak_velocity=magnitude(feedback.peak_velocity),
        acceleration=magnitude(feedback.acceleration),
    )


@_unapply.register
def _(
    feedback: JointStateRecord, transmission: Transmission, at: float | None
) -> JointStateRecord:
    if len(feedback.names) > 1:
        raise MessageError(
            'several_joints',
            f'one transmission cannot be meant for joints {shortened(feedback.names)}',
        )
    if max(feedback.lengths) > len(feedback.names):
        raise MessageError('ragged', f'more values than names: {feedback.lengths}')
    where = float(feedback.position[0]) if len(feedback.position) else at
    return replace(
        feedback,
        position=_array(unapply_position(value, transmission) for value in feedback.position),
        velocity=_array(
            unapply_rate(value, transmission, at=where) for value in feedback.velocity
        ),
        effort=_array(unapply_effort(value, transmission, at=where) for value in feedback.effort),
    )


def _array(values: Iterable[float]) -> NDArray[np.float64]:
    return np.array(list(values), dtype=np.float64)
