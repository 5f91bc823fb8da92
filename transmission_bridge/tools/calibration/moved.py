# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission that is moved by hand: its readings, its directions, and its known positions."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np

from transmission_bridge.tools.calibration.numbers import (
    compute_signs,
    list_zeros,
    Move,
    NumberMap,
    Zero,
)
from transmission_bridge.tools.calibration.track import JointTrack, Range
from transmission_bridge.transmissions import Binding, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

#: Least motion towards positive, as a share of the way between the limits.
LEAST = 0.04

#: Motion between two readings above which something is wrong: as a share of the period of an
#: encoder, because its turn may be wrong, and of the way between the limits of a joint.
FAST = 0.25

#: Seconds between two readings above which an encoder of one turn may have made another one.
_GAP = 0.5

#: Seconds for which an arm has to be still for a pose, and its largest motion meanwhile, as a
#: share of the way between the limits.
_STILL_FOR, _STILL = 0.3, 0.005


class MovedTransmission:
    """
    A transmission that is moved by hand.

    :param binding: The transmission.
    :param robot: Its robot.
    :param is_free: Whether reductions are unknown.
    :param periods: Periods of its encoders [rad or m at the motor], NaN: they do not wrap.
    :ivar tracks: Its joints.
    :ivar signs: Reductions with another sign than in the description.
    :ivar zeros: The numbers that shift the zeros of its encoders.
    :ivar problem: Why there can be no numbers, empty otherwise.
    :ivar trouble: Why its stops were forgotten, empty if they were not.
    :ivar is_guess: Whether its known positions are a guess.
    :ivar is_from_file: Whether they are from the file of a driver.
    :ivar poses: Known positions: actuators, joints, and how far a joint may be from there.
    :ivar now: The present positions of the actuators [rad or m at the motor].
    """

    def __init__(
        self, binding: Binding, robot: RobotTransmissions, *, is_free: bool, periods: Array
    ) -> None:
        self.periods = periods
        types = {joint.name: joint.type for joint in robot.description.joints}
        self.binding, self.name, self.is_free = binding, binding.spec.name, is_free
        self.maps = NumberMap(binding, robot.description)
        self.tracks = [
            JointTrack(
                member.name,
                Range(*robot.joint_limits[:, 0, joint].tolist()),
                types.get(member.name) != 'prismatic',
            )
            for member, joint in zip(binding.spec.joints, binding.joints, strict=True)
        ]
        self.middle = np.array([track.middle for track in self.tracks])
        self._spans = np.array([track.span for track in self.tracks])
        self.signs: dict[ParameterPath, float] = {}
        self.zeros = self._list_zeros()
        self.problem = self.trouble = ''
        self.is_guess = self.has_directions = self.is_from_file = False
        self.moves: dict[int, Move] = {}
        self.poses: list[tuple[Array, Array, Array]] = []
        self.now = np.full(len(binding.actuators), np.nan)
        self._slopes = self.maps.slopes({}, self.middle)
        self._recent: list[tuple[float, Array]] = []

    @property
    def joined_names(self) -> str:
        """The names of its joints."""
        return ' and '.join(track.name for track in self.tracks)

    def forget(self) -> None:
        """Forget all motion and all poses, but not the directions."""
        self.poses = []
        for track in self.tracks:
            track.forget()

    def add_reading(self, actuators: Array, time: float) -> bool:
        """
        Store positions of the actuators [rad or m at the motor] at a time [s].

        :returns: Whether a joint jumped, or may have made a turn meanwhile.
        """
        last = self._recent[-1][0] if self._recent else time
        is_late = time - last > _GAP and bool(np.isfinite(self.periods).any())
        jumps = np.abs(self._slopes @ (actuators - self.now)) > FAST * self._spans
        self.now = actuators
        recent = [reading for reading in self._recent if reading[0] >= time - _STILL_FOR]
        self._recent = [*recent, (time, actuators)]
        if np.isfinite(actuators).all():
            for track, position in zip(self.tracks, self._slopes @ actuators, strict=True):
                if math.isfinite(position):
                    track.add_reading(float(position), actuators)
        return is_late or bool(jumps.any())

    @property
    def knowledge(self) -> object:
        """Return a value that changes when something becomes known."""
        stops = [track.find_stop(side) for track in self.tracks for side in track.sides]
        return (
            self.problem, len(self.moves), str(self.signs), len(self.poses),
            [(stop.count, np.round(stop.actuators, 2).tolist()) if stop else 0 for stop in stops],
        )  # fmt: skip

    @property
    def is_still(self) -> bool:
        """Whether the arm has been still for a moment."""
        if not self._recent:
            return False
        motion = np.ptp([self._slopes @ actuators for _, actuators in self._recent], axis=0)
        is_long = self._recent[-1][0] - self._recent[0][0] >= 0.5 * _STILL_FOR
        return bool(is_long and (motion <= _STILL * self._spans).all())

    def _list_zeros(self) -> tuple[Zero, ...]:
        maps = NumberMap(self.binding, self.maps.robot, self.signs)
        return list_zeros(maps, self.middle, 0.5 * self._spans)

    def compute_turn(self) -> float:
        """Return the motion of its one joint per turn of its one encoder; infinite otherwise."""
        if self.is_free or len(self.periods) != 1 or len(self.zeros) != 1:
            return math.inf
        turn = abs(float(self._slopes[0, 0] * self.periods[0]))
        return math.inf if math.isnan(turn) else turn

    def map_positions(self, values: Mapping[ParameterPath, float], actuators: Array) -> Array:
        """Return the positions of the joints with new values of some numbers."""
        joints: Array = self.maps.map_positions({**self.signs, **values}, actuators[np.newaxis])[0]
        turn = self.compute_turn()
        if math.isfinite(turn):
            joints = joints - np.round((joints - self.middle) / turn) * turn
        return joints

    def measure_way(self, before: Array) -> float:
        """Return how far the joint that moved most has moved [rad or m]."""
        # With wrong signs another joint than the moved one seems to move.
        return float(np.abs(self._slopes @ (self.now - before)).max())

    def end_move(self, joint: int, before: Array) -> str:
        """
        Take the motion since ``before`` as one of a joint towards positive.

        :returns: What is wrong, or empty.
        """
        if not self.measure_way(before) >= LEAST * self.tracks[joint].span:
            return f'{self.tracks[joint].name} has hardly moved: move it farther towards positive'
        self.moves[joint] = Move(joint, self.now - before)
        signs = compute_signs(self.maps, [*self.moves.values()], self.middle)
        self.has_directions = signs.values is not None
        self.problem = signs.problem if len(self.moves) == len(self.tracks) else ''
        if signs.values is not None and signs.values != self.signs:
            self.signs = dict(signs.values)
            self._slopes = self.maps.slopes(self.signs, self.middle)
            self.zeros = self._list_zeros()
            self.forget()
        return self.problem
