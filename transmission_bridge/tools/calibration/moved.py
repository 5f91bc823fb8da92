# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A transmission that is moved by hand: the farthest positions, approaches to stops, and directions.

The farthest position towards a stop is never beyond it. It is taken as the stop if approaches came
near it: motions towards it by :data:`TOWARDS`, and back by :data:`BACK`. Where a motion begins is
no approach, and in a step that asks for one stop a hand may turn back elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.tools.calibration.numbers import (
    compute_signs,
    list_zeros,
    Move,
    NumberMap,
    Zero,
)
from transmission_bridge.transmissions import Binding, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

#: Names of the stops of a joint by side: against and along its positive direction.
SIDES = {-1: 'lower', 1: 'upper'}

#: Largest difference between stops and limits of a turning joint [rad], and of a sliding joint as
#: a share of the way between its limits. The offset is then within half of it.
TOLERANCE, SLIDING_TOLERANCE = math.radians(1.0), 0.01

#: Motion of a joint without limits instead of the way between them [rad or m].
TURN = 2.0 * math.pi

#: As shares of the way between the limits: the motions towards a stop and back that are an
#: approach, and how far approaches to the same stop may be apart. The former is less than the
#: latter, and less than what shows a direction: both may be the begin of an approach.
TOWARDS, BACK, _NEAR = 0.03, 0.1, 0.04


def compute_spread_factor(count: int) -> float:
    """Return how far the stop may be from the farthest approach, in spreads (95 %)."""
    return math.inf if count < 2 else 20.0 ** (1.0 / (count - 1)) - 1.0


@dataclass(frozen=True)
class Stop:
    """
    The farthest position towards a stop of a joint.

    :param actuators: Positions of the actuators there [rad or m at the motor].
    :param count: Number of approaches that came near it.
    :param spread: Distance of the nearest approach from it [rad or m at the joint].
    """

    actuators: Array
    count: int
    spread: float

    @property
    def uncertainty(self) -> float:
        """How far the stop may be beyond it [rad or m], with 95 % confidence."""
        return self.spread * compute_spread_factor(self.count) if self.count > 1 else math.inf


class Range(NamedTuple):
    """Position limits of a joint [rad or m], infinite if absent."""

    lower: float
    upper: float


@dataclass(eq=False)
class JointTrack:
    """
    The motion of one joint.

    :param name: The joint.
    :param limits: Its limits.
    :param turns: Whether it turns; otherwise it slides.
    :ivar sides: The stops that it is moved to, as the user says.
    :ivar asked: The side whose approaches count, 0 for none; ``None`` for both.
    :ivar last: The last position, up to a constant [rad or m].
    :ivar resolution: The smallest step, which is not below the encoder's resolution.
    """

    name: str
    limits: Range
    turns: bool
    sides: tuple[int, ...] = (-1, 1)
    asked: int | None = None
    last: float = math.nan
    resolution: float = math.inf
    #: By side, positive towards it: the farthest position with its actuators; the lowest one since
    #: the last approach, and the highest one since the motion towards it; and all approaches.
    _farthest: dict[int, tuple[float, Array]] = field(default_factory=dict)
    _lowest: dict[int, float] = field(default_factory=dict)
    _highest: dict[int, float] = field(default_factory=dict)
    _approaches: list[tuple[int, float]] = field(default_factory=list)

    @property
    def span(self) -> float:
        """The way between the limits [rad or m]; a turn without limits."""
        way = self.limits.upper - self.limits.lower
        return way if math.isfinite(way) and way > 0.0 else TURN

    @property
    def middle(self) -> float:
        """The middle of the limits [rad or m]; zero without limits."""
        middle = 0.5 * (self.limits.lower + self.limits.upper)
        return middle if math.isfinite(middle) else 0.0

    @property
    def has_limits(self) -> bool:
        """Whether the description limits it on both sides."""
        return math.isfinite(self.limits.upper - self.limits.lower)

    @property
    def tolerance(self) -> float:
        """Largest accepted difference between the ways between stops and limits."""
        return TOLERANCE if self.turns else SLIDING_TOLERANCE * self.span

    def forget(self) -> None:
        """Forget all motion."""
        self._farthest, self._lowest, self._highest, self._approaches = {}, {}, {}, []

    def add_reading(self, position: float, actuators: Array) -> None:
        """Store a position of the joint, up to a constant, and of the actuators."""
        if position != self.last and not math.isnan(self.last):
            self.resolution = min(self.resolution, abs(position - self.last))
        self.last = position
        for side in SIDES:
            here = side * position
            if side not in self._farthest or here > self._farthest[side][0]:
                self._farthest[side] = here, actuators
            self._lowest[side] = min(here, self._lowest.get(side, here))
            if here - self._lowest[side] > TOWARDS * self.span:
                self._highest[side] = max(here, self._highest.get(side, here))
            if self._highest.get(side, -math.inf) - here > BACK * self.span:
                reached, self._lowest[side] = self._highest.pop(side), here
                if self.asked in (None, side):
                    self._approaches.append((side, reached))

    def find_stop(self, side: int) -> Stop | None:
        """Return the stop at the lower (-1) or the upper (1) side, ``None`` before an approach."""
        if not self._farthest:
            return None
        farthest, actuators = self._farthest[side]
        missed = [farthest - reached for towards, reached in self._approaches if towards == side]
        near = [way for way in missed if way <= _NEAR * self.span]
        return Stop(actuators, len(near), max(near)) if near else None

    def measure_back(self, side: int) -> float:
        """Return the motion back since that towards a stop [rad or m]; NaN: there was none."""
        return self._highest.get(side, math.nan) - side * self.last

    def count_approaches(self, side: int) -> int:
        """Return how many approaches came near the farthest position of a side."""
        stop = self.find_stop(side)
        return 0 if stop is None else stop.count

    @property
    def seen(self) -> tuple[float, float]:
        """Lowest and highest position, up to a constant [rad or m]; NaN: none."""
        if not self._farthest:
            return math.nan, math.nan
        return -self._farthest[-1][0], self._farthest[1][0]

    def format_way(self, way: float) -> str:
        """Return a distance in degrees or millimetres."""
        return f'{math.degrees(way):.1f} deg' if self.turns else f'{1e3 * way:.1f} mm'


#: Least motion towards positive, as a share of the way between the limits.
LEAST = 0.04

#: Way back, as a share of the way between the limits, after which a motion shows no direction.
_REVERSED = 0.03

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
        #: A joint that is moved towards positive, from where, and its largest way from there.
        self._begun: tuple[int, Array] | None = None
        self._farthest = 0.0

    @property
    def joined_names(self) -> str:
        """The names of its joints."""
        return ' and '.join(track.name for track in self.tracks)

    def forget(self) -> None:
        """Forget all motion and all poses, but not the directions."""
        self.poses, self._begun = [], None
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
        self._track_joints(actuators)
        if self._begun is not None:
            self._farthest = max(self._farthest, self._measure_way(self._begun[1]))
        return is_late or bool(jumps.any())

    def _track_joints(self, actuators: Array) -> None:
        for track, position in zip(self.tracks, self._slopes @ actuators, strict=True):
            if math.isfinite(position):
                track.add_reading(float(position), actuators)

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
        """Return the motion of its one joint by a turn of its one encoder; infinite otherwise."""
        if self.is_free or len(self.periods) != 1 or len(self.zeros) != 1:
            return math.inf
        turn = float(self._slopes[0, 0] * self.periods[0])
        return math.inf if math.isnan(turn) else turn

    def map_positions(self, values: Mapping[ParameterPath, float], actuators: Array) -> Array:
        """Return the positions of the joints with new values of some numbers."""
        joints: Array = self.maps.map_positions({**self.signs, **values}, actuators[np.newaxis])[0]
        turn = self.compute_turn()
        if math.isfinite(turn):
            joints = joints - np.round((joints - self.middle) / turn) * turn
        return joints

    # -- what the user does ----------------------------------------------------------------------

    def begin_move(self, joint: int) -> None:
        """Begin a motion of a joint towards positive where the arm is now."""
        self._begun, self._farthest = (joint, self.now.copy()), 0.0

    def cancel_move(self) -> None:
        """Forget the begin of a motion."""
        self._begun = None

    def measure_move(self, joint: int) -> tuple[float, bool]:
        """
        Return how far a joint was moved since :meth:`begin_move` [rad or m], NaN: not begun.

        :returns: Also whether it came back, so that the motion shows no direction.
        """
        if self._begun is None or self._begun[0] != joint:
            return math.nan, False
        way = self._measure_way(self._begun[1])
        return way, self._farthest - way > _REVERSED * self.tracks[joint].span

    def _measure_way(self, before: Array) -> float:
        """Return how far the joint that moved most has moved [rad or m]."""
        # With wrong signs another joint than the moved one seems to move.
        return float(np.abs(self._slopes @ (self.now - before)).max())

    def start_again(self) -> None:
        """Forget everything, the directions included."""
        self.forget()
        self.moves, self.has_directions, self.problem = {}, False, ''

    def end_move(self) -> str:
        """
        End a motion towards positive, which gives the direction.

        :returns: What is wrong, or empty.
        """
        if self._begun is None:
            return ''
        joint, before = self._begun
        self._begun = None
        if not self._measure_way(before) >= LEAST * self.tracks[joint].span:
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
            # The motion may end at a stop.
            self._track_joints(before)
            self._track_joints(self.now)
        return self.problem
