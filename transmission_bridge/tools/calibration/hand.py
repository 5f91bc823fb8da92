# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
An arm that is moved by hand.

A joint is moved towards positive once, which gives the signs of reductions, and then to its stops
or into a known pose.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math

import numpy as np

from transmission_bridge.bridge.states import unwrap_positions
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.tools.calibration.moved import FAST, MovedTransmission
from transmission_bridge.tools.calibration.outcome import judge_transmission, Outcome
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: Way back, as a share of the way between the limits, after which a motion shows no direction.
_REVERSED = 0.03


class HandCalibration:
    """
    An arm that is moved by hand.

    :param robot: Its maps.
    :param periods: Periods of single-turn encoders by actuator, in SI at the motor.
    :param is_free: Whether reductions are unknown.
    :param only: The transmissions to calibrate, all by default.
    :ivar joints: Each joint as its transmission and its place there.
    :ivar is_confirmed: Whether the user confirmed that the limits of the joints are the stops;
        ``None`` before an answer.
    :raises UnknownNameError: If the robot lacks one of them.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        periods: Mapping[str, float],
        *,
        is_free: bool = False,
        only: Collection[str] = (),
    ) -> None:
        for name in only:
            if name not in robot.transmissions:
                raise UnknownNameError('transmission', name, tuple(robot.transmissions))
        self.robot = robot
        self._periods = np.array([periods.get(name, np.nan) for name in robot.actuator_names])
        self.transmissions = [
            MovedTransmission(
                binding, robot, is_free=is_free, periods=self._periods[list(binding.actuators)]
            )
            for binding in robot.bindings
            if not binding.is_identity and binding.spec.name in (only or robot.transmissions)
        ]
        self.joints = [
            (moved, joint) for moved in self.transmissions for joint in range(len(moved.tracks))
        ]
        self.is_confirmed: bool | None = None
        self._totals = np.full(len(self._periods), np.nan)
        #: A joint that is moved towards positive, from where, and its largest way from there.
        self._begun: tuple[MovedTransmission, int, Array] | None = None
        self._farthest = 0.0

    def add_reading(self, positions: Array, time: float) -> None:
        """
        Store a message of the drivers.

        :param positions: Positions of all actuators [rad or m at the motor], NaN: not in it.
        :param time: Time of receipt [s].
        """
        with np.errstate(invalid='ignore'):
            steps, _ = unwrap_positions(positions, self._totals, self._periods)
            is_fast = np.abs(steps) > FAST * self._periods
        for moved in self.transmissions:
            actuators = list(moved.binding.actuators)
            if not np.isfinite(positions[actuators]).any():
                continue
            has_jumped = moved.add_reading(self._totals[actuators].copy(), time)
            is_begun = self._begun is not None and self._begun[0] is moved
            if self._begun is not None and is_begun:
                self._farthest = max(self._farthest, moved.measure_way(self._begun[2]))
            if has_jumped or is_fast[actuators].any():
                moved.forget()
                self._begun = None if is_begun else self._begun
                moved.trouble = (
                    f'{moved.joined_names} moved too fast for the readings, or they stopped: the '
                    'stops are forgotten'
                )
                if np.isnan(moved.periods).any():
                    moved.trouble += '. An encoder of one turn needs its wrap_period'

    # -- what the user does --------------------------------------------------------------------

    def begin_move(self, moved: MovedTransmission, joint: int) -> None:
        """Begin a motion of a joint towards positive where the arm is now."""
        self._begun, self._farthest = (moved, joint, moved.now.copy()), 0.0

    def measure_move(self, moved: MovedTransmission, joint: int) -> tuple[float, bool]:
        """
        Return how far a joint was moved since :meth:`begin_move` [rad or m], NaN: not begun.

        :returns: Also whether it came back, so that the motion shows no direction.
        """
        if self._begun is None or self._begun[:2] != (moved, joint):
            return math.nan, False
        way = moved.measure_way(self._begun[2])
        return way, self._farthest - way > _REVERSED * moved.tracks[joint].span

    def end_move(self) -> str:
        """
        End a motion towards positive, which gives the direction.

        :returns: What is wrong, or empty.
        """
        if self._begun is None:
            return ''
        moved, joint, before = self._begun
        self._begun = None
        return moved.end_move(joint, before)

    def start_again(self, moved: MovedTransmission) -> None:
        """Forget what is known of a transmission, its directions included."""
        moved.forget()
        moved.moves, moved.has_directions, moved.problem, self._begun = {}, False, '', None

    def mark_pose(self, positions: Mapping[str, float]) -> str:
        """
        Take the arm as in a pose [rad or m by joint]; joints that are missing are at zero.

        :returns: What is wrong, or empty.
        """
        heard = [moved for moved in self.transmissions if np.isfinite(moved.now).all()]
        moving = [moved.name for moved in heard if not moved.is_still]
        if moving:
            return f'{moving[0]} moves: hold the arm still, and repeat'
        for moved in heard:
            joints = np.array([positions.get(track.name, 0.0) for track in moved.tracks])
            moved.poses = [*moved.poses, (moved.now.copy(), joints, np.zeros(len(joints)))]
        return ''

    def judge(self, moved: MovedTransmission) -> Outcome:
        """Return what is known of a transmission."""
        return judge_transmission(moved, is_confirmed=bool(self.is_confirmed))
