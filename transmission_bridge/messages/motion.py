# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands to one joint, and what its actuator reports of them, as plain data.

The kinds are those of Beam Bots (``BB.Message.Actuator``). Numbers are SI, ``None`` means not
given: the driver decides. Times are what the sender makes of them; no function here reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    'BeginMotion',
    'EffortCommand',
    'HoldCommand',
    'PositionCommand',
    'StopCommand',
    'TrajectoryCommand',
    'VelocityCommand',
    'Waypoint',
]


@dataclass(frozen=True, slots=True)
class PositionCommand:
    """
    Go to a position.

    :param position: Target [rad or m].
    :param velocity: Velocity hint [rad/s or m/s].
    :param duration: Duration hint.
    :param command_id: What answers refer to.
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
    :param duration: How long; until stopped where not given.
    :param command_id: What answers refer to.
    """

    velocity: float
    duration: Any = None
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class EffortCommand:
    """
    Push with an effort.

    :param effort: Target [N m or N].
    :param duration: How long; until stopped where not given.
    :param command_id: What answers refer to.
    """

    effort: float
    duration: Any = None
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class Waypoint:
    """
    A point of a trajectory.

    :param position: [rad or m].
    :param time_from_start: When.
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
    :param repeat: How often.
    :param command_id: What answers refer to.
    """

    waypoints: tuple[Waypoint, ...]
    repeat: Any = 1
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class HoldCommand:
    """
    Stay where you are.

    :param command_id: What answers refer to.
    """

    command_id: Any = None


@dataclass(frozen=True, slots=True)
class StopCommand:
    """
    Stop moving.

    :param mode: How, ``immediate`` or ``decelerate``.
    :param command_id: What answers refer to.
    """

    mode: str = 'immediate'
    command_id: Any = None


@dataclass(frozen=True, slots=True)
class BeginMotion:
    """
    An actuator begins to move.

    :param initial_position: [rad or m].
    :param target_position: [rad or m].
    :param expected_arrival: When it will be there.
    :param peak_velocity: Greatest speed on the way, a magnitude [rad/s or m/s].
    :param acceleration: Of a trapezoidal profile, a magnitude [rad/s² or m/s²].
    :param command_type: Kind of the command that caused it.
    :param command_id: The command that caused it.
    """

    initial_position: float
    target_position: float
    expected_arrival: Any = None
    peak_velocity: float | None = None
    acceleration: float | None = None
    command_type: str | None = None
    command_id: Any = None
