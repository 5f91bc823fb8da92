# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
An arm that is moved by hand: the farthest positions, approaches to stops, directions, and poses.

A joint is moved towards positive once, which gives the signs of reductions, and then to its stops
or into a known pose. The drivers are listened to, and nothing is commanded. Readings, the guide,
and ``calibrate`` for positions in a file write the data here, in one thread; ``outcome`` reads it.

The farthest position towards a stop is never beyond it. It is taken as the stop if approaches came
near it: motions towards it by :data:`TOWARDS`, and back by :data:`BACK`. Where a motion begins is
no approach, and in a step that asks for one stop a hand may turn back elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
import math
import time
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.states import unwrap_positions
from transmission_bridge.errors import shortened, UnknownNameError
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import BridgeClient, COMMANDS, Received
from transmission_bridge.tools.calibration.numbers import (
    CalibrationMap,
    compute_hand_signs,
    list_fitted_zeros,
    ZeroNumber,
)
from transmission_bridge.tools.units import report_joint_unit
from transmission_bridge.transmissions import Binding, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

#: Names of the stops of a joint by side: against and along its positive direction. The order is
#: the one of :class:`StopRange`.
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


def compute_stop_spread_factor(count: int) -> float:
    """Return how far the stop may be from the farthest approach, in spreads (95 %)."""
    return math.inf if count < 2 else 20.0 ** (1.0 / (count - 1)) - 1.0


@dataclass(frozen=True)
class JointStop:
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
        return self.spread * compute_stop_spread_factor(self.count) if self.count > 1 else math.inf


class StopRange(NamedTuple):
    """Position limits of a joint [rad or m], infinite if absent."""

    lower: float
    upper: float


@dataclass(eq=False)
class HandJointTrack:
    """
    The motion of one joint: how far it went on both sides, and where it turned back.

    :param name: The joint.
    :param limits: Its limits.
    :param turns: Whether it turns; otherwise it slides.
    :ivar sides: The stops that it is moved to; the guide writes what the user says.
    :ivar asked: The side whose approaches count, 0 for none; ``None`` for both. Written by
        the guide.
    :ivar last: The last position, up to a constant [rad or m].
    :ivar resolution: The smallest step, which is not below the encoder's resolution.
    """

    name: str
    limits: StopRange
    turns: bool
    sides: tuple[int, ...] = (-1, 1)
    asked: int | None = None
    last: float = math.nan
    resolution: float = math.inf

    def __post_init__(self) -> None:
        """Start without motion."""
        self.forget()

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
        #: By side, positive towards it: the farthest position with its actuators; the lowest one
        #: since the last approach, and the highest one since the motion towards it.
        self._farthest: dict[int, tuple[float, Array]] = {}
        self._lowest: dict[int, float] = {}
        self._highest: dict[int, float] = {}
        #: The side and the position of each approach.
        self._approaches: list[tuple[int, float]] = []

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

    def find_stop(self, side: int) -> JointStop | None:
        """Return the stop at the lower (-1) or the upper (1) side, ``None`` before an approach."""
        if not self._farthest:
            return None
        farthest, actuators = self._farthest[side]
        missed = [farthest - reached for towards, reached in self._approaches if towards == side]
        near = [way for way in missed if way <= _NEAR * self.span]
        return JointStop(actuators, len(near), max(near)) if near else None

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


class HandMovedTransmission:
    """
    A transmission that is moved by hand, and what is known of it.

    For positions from a file ``calibrate`` writes ``is_free``, ``has_directions``,
    ``is_from_file``, ``problem``, ``is_guess`` and ``poses`` instead of a motion.

    :param binding: The transmission.
    :param robot: Its robot.
    :param is_free: Whether reductions are unknown.
    :param periods: Periods of its encoders [rad or m at the motor], NaN: they do not wrap.
    :ivar tracks: Its joints.
    :ivar signs: Reductions with another sign than in the description.
    :ivar zeros: The numbers that shift the zeros of its encoders.
    :ivar problem: Why there can be no numbers, empty otherwise.
    :ivar trouble: Why its stops were forgotten, empty if they were not; the guide clears it when
        the user presses a button.
    :ivar moves: Motion of the actuators [rad or m at the motor] by the place of each joint that
        was moved towards positive.
    :ivar has_directions: Whether the signs of the reductions are known.
    :ivar is_guess: Whether its known positions are a guess.
    :ivar is_from_file: Whether they are from the file of a driver.
    :ivar poses: Known positions: actuators, joints, and how far a joint may be from there. The
        guide forgets those that contradict each other.
    :ivar now: The present positions of the actuators [rad or m at the motor].
    """

    def __init__(
        self, binding: Binding, robot: RobotTransmissions, *, is_free: bool, periods: Array
    ) -> None:
        self.periods = periods
        self.binding, self.name, self.is_free = binding, binding.spec.name, is_free
        self.maps = CalibrationMap(binding, robot.description)
        self.tracks = [
            HandJointTrack(
                member.name,
                StopRange(*robot.joint_limits[:, 0, joint].tolist()),
                report_joint_unit(robot.description, member.name) != 'm',
            )
            for member, joint in zip(binding.spec.joints, binding.joints, strict=True)
        ]
        self.middle = np.array([track.middle for track in self.tracks])
        self._spans = np.array([track.span for track in self.tracks])
        self.signs: Mapping[ParameterPath, float] = {}
        self.zeros = self._list_zeros()
        self.problem = self.trouble = ''
        self.is_guess = self.has_directions = self.is_from_file = False
        self.moves: dict[int, Array] = {}
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

    def _list_zeros(self) -> tuple[ZeroNumber, ...]:
        maps = CalibrationMap(self.binding, self.maps.robot, self.signs)
        return list_fitted_zeros(maps, self.middle, 0.5 * self._spans)

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
        self.moves[joint] = self.now - before
        if len(self.moves) < len(self.tracks):
            return ''
        signs, self.problem = compute_hand_signs(self.maps, self.moves, self.middle)
        self.has_directions = signs is not None
        if signs is not None and signs != self.signs:
            self.signs = signs
            self._slopes = self.maps.slopes(self.signs, self.middle)
            self.zeros = self._list_zeros()
            self.forget()
            # The motion may end at a stop.
            self._track_joints(before)
            self._track_joints(self.now)
        return self.problem


#: Seconds without a state after which the drivers are silent, and after a command in which the
#: arm is commanded.
_SILENT, _COMMANDED = 1.0, 2.0


def select_bindings(robot: RobotTransmissions, only: Collection[str]) -> list[Binding]:
    """
    Return the transmissions with these names, all without names.

    :raises UnknownNameError: If the robot lacks one of them.
    """
    for name in only:
        if name not in robot.transmissions:
            raise UnknownNameError('transmission', name, tuple(robot.transmissions))
    named = [binding for binding in robot.bindings if not binding.is_identity]
    return [binding for binding in named if binding.spec.name in (only or robot.transmissions)]


class HandCalibration:
    """
    All transmissions of an arm that is moved by hand.

    :param robot: Its maps.
    :param periods: Periods of single-turn encoders by actuator, in the units of their drivers.
    :param is_free: Whether reductions are unknown.
    :param only: The transmissions to calibrate, all by default.
    :ivar scales: Position at the motor [rad or m] per unit of its driver, of all actuators.
    :ivar joints: Each joint as its transmission and its place there.
    :ivar is_confirmed: Whether the user confirmed that the limits of the joints are the stops;
        ``None`` before an answer. ``calibrate`` and the guide write it.
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
        self.scales = dict.fromkeys(robot.actuator_names, 1.0)
        self.scales |= {name: each.position.scale for name, each in robot.units.items()}
        scaled = [periods.get(name, np.nan) * scale for name, scale in self.scales.items()]
        self._periods = np.abs(scaled)
        self.transmissions = [
            HandMovedTransmission(
                binding, robot, is_free=is_free, periods=self._periods[list(binding.actuators)]
            )
            for binding in select_bindings(robot, only)
        ]
        self.joints = [
            (moved, joint) for moved in self.transmissions for joint in range(len(moved.tracks))
        ]
        self.is_confirmed: bool | None = None
        #: The last positions of all actuators without jumps of encoders, see :meth:`add_reading`.
        self._totals = np.full(len(self._periods), np.nan)

    def add_reading(self, positions: Array, time: float) -> None:
        """
        Store a message of the drivers.

        :param positions: Positions of all actuators [rad or m at the motor], NaN: not in it.
            Jumps of encoders are removed in place.
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
            if has_jumped or is_fast[actuators].any():
                moved.forget()
                moved.trouble = (
                    f'{moved.joined_names} moved too fast for the readings, or they stopped: the '
                    'stops are forgotten'
                )
                if np.isnan(moved.periods).any():
                    moved.trouble += '. An encoder of one turn needs its wrap_period'

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


class HandDriverFeed:
    """
    Fills a :class:`HandCalibration` from the topics of drivers.

    It never publishes. The client calls :attr:`receivers` in the thread that handles callbacks.

    :param client: The node that listens.
    :param hand: The arm.
    :param topics: Topics of the drivers' states, and the URDF name of each name in them.
    :ivar receivers: What has to be called for a message, by topic.
    """

    def __init__(
        self, client: BridgeClient, hand: HandCalibration, topics: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._client, self._hand = client, hand
        self._last_state = self._last_command = -np.inf
        namespaces = dict.fromkeys(['', *(topic.rpartition('/')[0] for topic in topics)])
        self._commands = [f'{each}/{COMMANDS}' if each else COMMANDS for each in namespaces]
        self.receivers: dict[str, Received] = {
            topic: partial(self._store_state, names) for topic, names in topics.items()
        }
        self.receivers |= dict.fromkeys(self._commands, self._store_command)

    def _store_state(
        self, names: Mapping[str, str], message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        sent: dict[str | None, float] = {}
        if len(message.position) == len(message.names):
            sent = dict(zip(map(names.get, message.names), message.position.tolist(), strict=True))
        scales = self._hand.scales.items()
        positions = np.array([sent.get(name, np.nan) * scale for name, scale in scales])
        if np.isfinite(positions).any():
            self._last_state = now
            self._hand.add_reading(positions, now)

    def _store_command(self, message: JointStateRecord, layout: Layout, now: float) -> None:
        self._last_command = now

    def describe_obstacle(self) -> str:
        """Return why the arm must not be calibrated now, empty if it may."""
        now = time.monotonic()
        node, bridge = self._client.node, self._client.bridge
        publishers = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for topic in map(node.resolve_topic_name, self._commands)
            for info in node.get_publishers_info_by_topic(topic)
        ]
        strangers = tuple(dict.fromkeys(each for each in publishers if each != bridge))
        if strangers:
            return f'{shortened(strangers)} publishes {COMMANDS}: end it first'
        if now - self._last_command < _COMMANDED:
            return f'{bridge} commands the arm: end what commands joints first'
        if now - self._last_state > _SILENT:
            others = self._client.list_other_topics()
            seen = f'; other topics with joint states: {", ".join(others)}' if others else ''
            return f'no positions of actuators arrive (--actuators, --actuator-names){seen}'
        return ''
