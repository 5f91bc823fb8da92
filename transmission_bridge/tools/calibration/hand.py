# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Calibration by hand: what is known of each joint while the arm is moved, and what follows.

A joint is moved towards positive once, which gives the signs of reductions, and then to its stops
or into a known pose. A stop is where the motion of a joint turns back. It can be missed on the
inner side only. So if both stops are as far apart as the limits, within ``d``, the offset is
within ``d / 2``. That is the check of :func:`judge_transmission`. If the ratio of a mechanism
varies, an error of the zero has the least effect on the joint at one stop, and the largest
elsewhere: ``d`` is smaller by the quotient of these effects. If there is no such check (one
stop, or an unknown reduction), each stop is approached twice or more, and the spread ``r`` of
``n`` approaches gives the uncertainty: if a hand misses a stop by any amount up to some largest
one with equal probability, the stop is beyond the farthest approach by less than
``r (20**(1 / (n - 1)) - 1)`` in 95 % of the cases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.bridge.states import unwrap_positions
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.tools.calibration.numbers import (
    compute_signs,
    Fit,
    fit_numbers,
    guess_zeros,
    Known,
    list_reductions,
    list_zeros,
    Move,
    NumberMap,
    Zero,
)
from transmission_bridge.transmissions import Binding, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

Row = tuple[Array, Array, Array]

#: Largest difference between stops and limits of a turning joint [rad], and of a sliding joint as
#: a share of the way between its limits. The offset is then within half of it.
TOLERANCE, SLIDING_TOLERANCE = math.radians(1.0), 0.01

#: Names of the ends of a joint.
ENDS = {-1: 'lower', 1: 'upper'}

#: As shares of the way between the limits: a motion back that ends an approach to a stop, and how
#: far approaches to the same stop may be apart. Without limits, the way is :data:`_TURN`.
_BACK, _NEAR = 0.03, 0.04
_TURN = 2.0 * math.pi

#: Share of its range by which a mechanism is extended, because trial numbers may be wrong.
_WIDER = 0.15

#: Share of the best determined combination of numbers below which one is not determined by hand.
_LEAST_RANK = 0.02

#: Least motion towards positive, as a share of the way between the limits.
LEAST = 0.04

#: Motion between two readings above which something is wrong: as a share of the period of an
#: encoder, because its turn may be wrong, and of the way between the limits of a joint.
_FAST = 0.25

#: Seconds between two readings above which an encoder of one turn may have made another one.
_GAP = 0.5

#: Seconds for which an arm has to be still for a pose, and its largest motion meanwhile, as a
#: share of the way between the limits.
_STILL_FOR, _STILL = 0.3, 0.005


def compute_spread_factor(count: int) -> float:
    """Return how far the stop may be from the farthest approach, in spreads (95 %)."""
    return math.inf if count < 2 else 20.0 ** (1.0 / (count - 1)) - 1.0


@dataclass(frozen=True)
class Stop:
    """
    The farthest position towards an end of a joint.

    :param actuators: Positions of the actuators there [rad or m at the motor].
    :param count: Number of approaches.
    :param spread: Distance of the nearest and the farthest approach [rad or m at the joint].
    """

    actuators: Array
    count: int
    spread: float

    @property
    def uncertainty(self) -> float:
        """How far the stop may be beyond it [rad or m], with 95 % confidence."""
        return self.spread * compute_spread_factor(self.count) if self.count > 1 else math.inf


class _Ends(NamedTuple):
    """Position limits of a joint [rad or m], infinite if absent."""

    lower: float
    upper: float


@dataclass
class JointTrack:
    """
    Where the motion of one joint turned back.

    :param name: The joint.
    :param limits: Its limits.
    :param turns: Whether it turns; otherwise it slides.
    :ivar ends: The ends that it is moved to, -1 and 1, as the user says.
    """

    name: str
    limits: _Ends
    turns: bool
    ends: tuple[int, ...] = (-1, 1)
    #: Position and actuators where the motion turned back, by side: -1 lower, 1 upper.
    _turned: dict[int, list[tuple[float, Array]]] = field(default_factory=lambda: {-1: [], 1: []})
    _ends: list[tuple[float, Array]] = field(default_factory=list)
    _way = 0
    #: The last position, and the smallest step, which is not below the encoder's resolution.
    _last = math.nan
    resolution = math.inf

    @property
    def span(self) -> float:
        """The way between the limits [rad or m]; a turn without limits."""
        way = self.limits.upper - self.limits.lower
        return way if math.isfinite(way) and way > 0.0 else _TURN

    @property
    def middle(self) -> float:
        """The middle of the limits [rad or m]; zero without limits."""
        middle = 0.5 * (self.limits.lower + self.limits.upper)
        return middle if math.isfinite(middle) else 0.0

    @property
    def has_stops(self) -> bool:
        """Whether the description limits it on both sides."""
        return math.isfinite(self.limits.upper - self.limits.lower)

    @property
    def tolerance(self) -> float:
        """Largest accepted difference between the ways between stops and limits."""
        return TOLERANCE if self.turns else SLIDING_TOLERANCE * self.span

    def forget(self) -> None:
        """Forget all motion."""
        self._turned, self._ends, self._way = {-1: [], 1: []}, [], 0

    def store(self, position: float, actuators: Array) -> None:
        """Store a position of the joint, up to a constant, and of the actuators."""
        here, back = (position, actuators), _BACK * self.span
        if position != self._last and not math.isnan(self._last):
            self.resolution = min(self.resolution, abs(position - self._last))
        self._last = position
        if not self._ends:
            self._ends = [here, here]  # the lowest and the highest since the last turn
        low, high = self._ends
        self._ends = [here if position < low[0] else low, here if position > high[0] else high]
        low, high = self._ends
        for side, end in ((1, high), (-1, low)):
            if side * (end[0] - position) > back and self._way != -side:
                if self._way:  # where a motion begins is no stop
                    self._turned[side].append(end)
                self._way, self._ends = -side, [here, here]
                return

    def find_stop(self, side: int) -> Stop | None:
        """
        Return the stop at the lower (-1) or the upper (1) end.

        Where the joint is now counts if it came from the other side.
        """
        now = [self._ends[side > 0]] if self._ends and self._way == side else []
        found = [*self._turned[side], *now]
        if not found:
            return None
        farthest = max(found, key=lambda each: side * each[0])
        near = [each for each in found if abs(each[0] - farthest[0]) <= _NEAR * self.span]
        return Stop(farthest[1], len(near), max(abs(each[0] - farthest[0]) for each in near))

    def count_approaches(self, side: int) -> int:
        """Return how often the motion turned back at the farthest position of an end."""
        found = [side * each[0] for each in self._turned[side]]
        return sum(max(found) - each <= _NEAR * self.span for each in found)

    @property
    def seen(self) -> tuple[float, float, float]:
        """Lowest, highest and present position, up to a constant [rad or m]; NaN: none."""
        found = [each[0] for side in self._turned.values() for each in side]
        found += [each[0] for each in self._ends]
        return min(found, default=math.nan), max(found, default=math.nan), self._last

    @property
    def travel(self) -> float:
        """Distance of the farthest positions [rad or m]."""
        low, high, _ = self.seen
        return high - low if self._ends else 0.0


@dataclass(frozen=True)
class Outcome:
    """
    What is known of a transmission.

    :param values: New numbers by path.
    :param uncertainty: Largest error of each joint [rad or m], 95 %, by name.
    :param contradiction: Largest difference between known and mapped positions [rad or m].
    :param refusal: Why there are no numbers, or what is missing; empty otherwise.
    :param notes: Sentences about the numbers.
    :param is_guess: Whether the numbers are a guess.
    :param joint: The joint whose stops are refused, empty otherwise.
    """

    transmission: str
    values: Mapping[ParameterPath, float]
    uncertainty: Mapping[str, float]
    contradiction: float = 0.0
    refusal: str = ''
    notes: tuple[str, ...] = ()
    is_guess: bool = False
    joint: str = ''

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.transmission,
            'numbers': {'.'.join(path): value for path, value in self.values.items()},
            'uncertainty': {
                name: away if math.isfinite(away) else None
                for name, away in self.uncertainty.items()
            },
            'contradiction': self.contradiction,
            'refusal': self.refusal or None,
            'notes': list(self.notes),
            'guess': self.is_guess,
        }


class HandTransmission:
    """
    A transmission that is moved by hand.

    :param binding: The transmission.
    :param robot: Its robot.
    :param is_free: Whether reductions are unknown.
    :param periods: Periods of its encoders [rad or m at the motor], NaN: they do not wrap.
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
                _Ends(*robot.joint_limits[:, 0, place].tolist()),
                types.get(member.name) != 'prismatic',
            )
            for member, place in zip(binding.spec.joints, binding.joints, strict=True)
        ]
        self.middle = np.array([track.middle for track in self.tracks])
        self.signs: dict[ParameterPath, float] = {}
        self.zeros = self._list_zeros()
        self.problem = ''
        self.is_guess = False
        self.has_directions = False
        self.is_from_file = False
        self.moves: dict[int, Move] = {}
        self.poses: list[Row] = []
        self.now = np.full(len(binding.actuators), np.nan)
        self._slopes = self.maps.slopes({}, self.middle)
        self._recent: list[tuple[float, Array]] = []

    def forget(self) -> None:
        """Forget all motion and all poses, but not the directions."""
        self.poses = []
        for track in self.tracks:
            track.forget()

    def store(self, actuators: Array, time: float) -> bool:
        """
        Store positions of the actuators [rad or m at the motor] at a time [s].

        :returns: Whether a joint jumped, or may have made a turn meanwhile.
        """
        last = self._recent[-1][0] if self._recent else time
        is_late = time - last > _GAP and bool(np.isfinite(self.periods).any())
        jumps = np.abs(self._slopes @ (actuators - self.now)) > [
            _FAST * track.span for track in self.tracks
        ]
        self.now = actuators
        recent = [each for each in self._recent if each[0] >= time - _STILL_FOR]
        self._recent = [*recent, (time, actuators)]
        if np.isfinite(actuators).all():
            for track, position in zip(self.tracks, self._slopes @ actuators, strict=True):
                if math.isfinite(position):
                    track.store(float(position), actuators)
        return is_late or bool(jumps.any())

    @property
    def knowledge(self) -> object:
        """Return a value that changes when something becomes known."""
        stops = [track.find_stop(side) for track in self.tracks for side in track.ends]
        return (
            self.problem, len(self.moves), str(self.signs), len(self.poses),
            [(stop.count, np.round(stop.actuators, 2).tolist()) if stop else 0 for stop in stops],
        )  # fmt: skip

    @property
    def is_still(self) -> bool:
        """Whether the arm has been still for a moment."""
        if not self._recent:
            return False
        motion = np.ptp([self._slopes @ each for _, each in self._recent], axis=0)
        spans = np.array([track.span for track in self.tracks])
        long = self._recent[-1][0] - self._recent[0][0] >= 0.5 * _STILL_FOR
        return bool(long and (motion <= _STILL * spans).all())

    def _list_zeros(self) -> tuple[Zero, ...]:
        maps = NumberMap(self.binding, self.maps.robot, self.signs)
        return list_zeros(maps, self.middle, np.array([0.5 * track.span for track in self.tracks]))

    def compute_turn(self) -> float:
        """Return the motion of its one joint per turn of its one encoder; infinite otherwise."""
        if self.is_free or len(self.periods) != 1 or len(self.zeros) != 1:
            return math.inf
        if math.isnan(self.periods[0]):
            return math.inf
        return abs(float(self._slopes[0, 0] * self.periods[0]))

    def map_now(
        self, values: Mapping[ParameterPath, float], actuators: Array | None = None
    ) -> Array:
        """Return present positions of the joints, or others, with values of some numbers."""
        at = self.now if actuators is None else actuators
        found: Array = self.maps.map_positions({**self.signs, **values}, at[np.newaxis])[0]
        turn = self.compute_turn()
        if not math.isfinite(turn):
            return found
        return np.asarray(found - np.round((found - self.middle) / turn) * turn)

    def measure_stops(self, outcome: Outcome) -> dict[str, tuple[float, float]]:
        """
        Return the range between the stops of each joint [rad or m], by name.

        Only after a pose, because the offset is then known without stops, and from two approaches
        or more to each stop. The range is smaller by the uncertainties at both ends.
        """
        found = {}
        for place, track in enumerate(self.tracks if self.poses and not outcome.refusal else ()):
            ends = []
            for side in ENDS:
                stop = track.find_stop(side)
                if stop is not None and track.count_approaches(side) > 1:
                    at = float(self.map_now(outcome.values, stop.actuators)[place])
                    ends.append(at - side * (stop.uncertainty + outcome.uncertainty[track.name]))
            if len(ends) == len(ENDS) and ends[0] < ends[1]:
                # Rounded to the inside.
                found[track.name] = math.ceil(ends[0] * 1e4) / 1e4, math.floor(ends[1] * 1e4) / 1e4
        return found

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
        found = compute_signs(self.maps, [*self.moves.values()], self.middle)
        self.has_directions = found.values is not None
        self.problem = found.problem if len(self.moves) == len(self.tracks) else ''
        if found.values is not None and found.values != self.signs:
            self.signs = dict(found.values)
            self._slopes = self.maps.slopes(self.signs, self.middle)
            self.zeros = self._list_zeros()
            self.forget()
        return self.problem


def judge_transmission(
    hand: HandTransmission,
    *,
    is_confirmed: bool = False,
    is_guess: bool = False,
) -> Outcome:
    """
    Return the numbers that follow from the motion by hand, or why there are none.

    :param is_confirmed: Whether the user confirmed that the limits of the joints are the stops.
    :param is_guess: Whether to take the present position as the middle of the limits.
    """
    try:
        rows = _collect_rows(hand, is_confirmed=is_confirmed, is_guess=is_guess)
        known = Known.join(rows)
        maps = NumberMap(hand.binding, hand.maps.robot, hand.signs, hand.zeros)
        maps = maps.widened(_WIDER)
        start = guess_zeros(maps, maps.zeros, known, hand.middle)
        free = [zero.path for zero in hand.zeros]
        free += list_reductions(hand.binding) if hand.is_free else ()
        span = min(track.span for track in hand.tracks)
        fit = fit_numbers(maps, known, free, start, _LEAST_RANK, span)
        if fit.missing:
            raise _Refusal(_name_missing(hand, fit))
        moved = _move_numbers(maps, known, fit)
        factors = _compute_factors(known, moved)
        _check_contradictions(hand, fit, factors)
    except _Refusal as refusal:
        return Outcome(hand.name, {}, {}, refusal=str(refusal), joint=refusal.joint)
    notes = []
    if flipped := [path[1] for path in hand.signs]:
        notes.append(f'the sign of the reduction of {" and ".join(flipped)} changes')
    return Outcome(
        hand.name,
        {**hand.signs, **fit.values, **_remove_turns(hand, fit)},
        _compute_uncertainty(hand, moved, fit, factors),
        fit.contradiction,
        notes=tuple(notes),
        is_guess=is_guess or hand.is_guess,
    )


class _Refusal(Exception):
    """
    Why there are no numbers, or which motion is missing.

    :param joint: The joint whose stops are refused.
    """

    def __init__(self, text: str, joint: str = '') -> None:
        super().__init__(text)
        self.joint = joint


def _collect_rows(hand: HandTransmission, *, is_confirmed: bool, is_guess: bool) -> list[Row]:
    """Return the known positions: poses, and stops if they are confirmed."""
    if hand.problem:
        raise _Refusal(hand.problem)
    if not hand.zeros:
        raise _Refusal(f'{hand.binding.spec.type} has no number for the zero of each actuator')
    if not hand.has_directions:
        missing = [t.name for n, t in enumerate(hand.tracks) if n not in hand.moves]
        raise _Refusal(f'move {" and ".join(missing)} towards positive first')
    rows = [*hand.poses]
    if is_guess and not rows:
        return [_guess_middle(hand)]
    if not rows and not is_confirmed:
        raise _Refusal('no pose yet, and the limits are not confirmed as stops')
    for place in range(len(hand.tracks) if is_confirmed else 0):
        rows += _list_stops(hand, place)
    return rows


def _list_stops(hand: HandTransmission, place: int) -> list[Row]:
    """Return a row for each stop of a joint."""
    track, is_posed = hand.tracks[place], bool(hand.poses)
    if not track.has_stops:
        if is_posed:
            return []
        raise _Refusal(f'{track.name} has no limits, so no stops: it needs a pose')
    if track.turns and track.travel > max(_TURN, track.span + track.tolerance):
        turns, most = track.travel / _TURN, track.span / _TURN
        raise _Refusal(
            f'{track.name} was turned by {turns:.2f} turns, its limits allow {most:.2f}'
        )
    found = {side: track.find_stop(side) for side in track.ends}
    stops = {side: stop for side, stop in found.items() if stop is not None}
    if not is_posed and len(stops) < len(track.ends):
        ends = ' and '.join(name for side, name in ENDS.items() if side in track.ends)
        raise _Refusal(f'move {track.name} to its {ends} stop')
    is_checked = len(stops) == 2 and not hand.is_free
    rows = []
    for side, stop in stops.items():
        if not is_checked and stop.count < 2:
            raise _Refusal(f'move {track.name} to its {ENDS[side]} stop once more')
        joints, slack = np.full(len(hand.tracks), np.nan), np.zeros(len(hand.tracks))
        joints[place] = track.limits.lower if side < 0 else track.limits.upper
        slack[place] = 0.0 if is_checked else stop.uncertainty
        rows.append((stop.actuators, joints, slack))
    return rows


def _guess_middle(hand: HandTransmission) -> Row:
    for track in hand.tracks:
        if not track.has_stops:
            raise _Refusal(f'{track.name} has no limits, so no middle')
    if not np.isfinite(hand.now).all():
        raise _Refusal('no reading yet')
    return hand.now, hand.middle, np.array([0.5 * track.span for track in hand.tracks])


def _remove_turns(hand: HandTransmission, fit: Fit) -> dict[ParameterPath, float]:
    """Return the zero without whole turns of an encoder that counts one turn only."""
    turn = hand.compute_turn()
    if not math.isfinite(turn):
        return {}
    zero = hand.zeros[0]
    if zero.place is not None:
        turn = hand.periods[0] / zero.factor
    return {zero.path: math.remainder(fit.values[zero.path], abs(turn))}


def _name_missing(hand: HandTransmission, fit: Fit) -> str:
    names = ', '.join('.'.join(path) for path in fit.missing)
    joints = ' and '.join(track.name for track in hand.tracks)
    more = 'use --stops' if hand.is_from_file else f'add another pose or stop of {joints}'
    return f'these positions do not determine {names}: {more}'


def _move_numbers(maps: NumberMap, known: Known, fit: Fit) -> Array:
    """
    Return how far errors of the known positions move each joint [rad or m].

    :returns: At the known positions and at the mean of their actuators, shape
        ``(rows + 1, n_joints)``.
    """
    places = np.vstack([known.actuators, known.actuators.mean(axis=0)])
    mapped: Array = maps.map_positions(fit.values, places)
    away = np.zeros_like(mapped)
    for values in fit.errors:
        # Without those that leave the domain.
        away += np.nan_to_num(np.abs(maps.map_positions(values, places) - mapped))
    return away


def _compute_factors(known: Known, moved: Array) -> Array:
    """Return by how much farther a joint may be off than a known position of it shows."""
    shown = np.where(np.isfinite(known.joints) & (moved[:-1] > 0.0), moved[:-1], np.inf)
    factors: Array = np.maximum(moved.max(axis=0) / shown.min(axis=0), 1.0)
    return factors


def _check_contradictions(hand: HandTransmission, fit: Fit, factors: Array) -> None:
    """Refuse known positions that contradict each other."""
    for place, track in enumerate(hand.tracks):
        rest = fit.residuals[:, place]
        rest = rest[np.isfinite(rest)]
        if len(rest) < 2 or np.abs(rest).max() * factors[place] <= 0.5 * track.tolerance:
            continue
        away = format_way(float(np.ptp(rest)), track)
        if not hand.poses and len(rest) == 2:
            # The upper stop comes last: what is known minus what is mapped.
            which = 'closer together' if rest[1] > rest[0] else 'farther apart'
            raise _Refusal(
                f'the stops of {track.name} are {away} {which} than its limits: move it to both '
                'ends again; otherwise its limits are not the stops, or its reduction is wrong',
                track.name,
            )
        advice = 'its limits are not its stops' if hand.is_from_file else 'repeat them'
        raise _Refusal(f'the known positions of {track.name} differ by {away}: {advice}')


def format_way(way: float, track: JointTrack) -> str:
    """Return a distance in degrees or millimetres."""
    return f'{math.degrees(way):.1f} deg' if track.turns else f'{1e3 * way:.1f} mm'


def _compute_uncertainty(
    hand: HandTransmission, moved: Array, fit: Fit, factors: Array
) -> dict[str, float]:
    """Return how far each joint may be off [rad or m]."""
    rest = np.nan_to_num(np.abs(fit.residuals)).max(axis=0)
    away = np.maximum(moved.max(axis=0), rest * factors)
    resolution = [t.resolution if math.isfinite(t.resolution) else 0.0 for t in hand.tracks]
    names = [track.name for track in hand.tracks]
    return dict(zip(names, (away + resolution).tolist(), strict=True))


# -- The arm --------------------------------------------------------------------------------------


class HandCalibration:
    """
    An arm that is moved by hand.

    :param robot: Its maps.
    :param periods: Periods of single-turn encoders by actuator, in SI at the motor.
    :param is_free: Whether reductions are unknown.
    :param only: The transmissions to calibrate, all by default.
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
            HandTransmission(
                binding,
                robot,
                is_free=is_free,
                periods=self._periods[list(binding.actuators)],
            )
            for binding in robot.bindings
            if not binding.is_identity and binding.spec.name in (only or robot.transmissions)
        ]
        self.is_guess = False
        self.is_confirmed = False
        self.trouble = ''
        self._totals = np.full(len(self._periods), np.nan)
        #: A joint that is moved towards positive, from where, and its largest way from there.
        self._begun: tuple[HandTransmission, int, Array] | None = None
        self._farthest = 0.0

    @property
    def joints(self) -> list[tuple[HandTransmission, int]]:
        """Each joint as its transmission and its place there."""
        return [(each, n) for each in self.transmissions for n in range(len(each.tracks))]

    def store(self, positions: Array, time: float) -> None:
        """
        Store a message of the drivers.

        :param positions: Positions of all actuators [rad or m at the motor], NaN: not in it.
        :param time: Time of receipt [s].
        """
        with np.errstate(invalid='ignore'):
            steps, _ = unwrap_positions(positions, self._totals, self._periods)
            fast = np.abs(steps) > _FAST * self._periods
        for each in self.transmissions:
            own = list(each.binding.actuators)
            if np.isfinite(positions[own]).any():
                jumped = each.store(self._totals[own].copy(), time)
                if self._begun is not None and self._begun[0] is each:
                    self._farthest = max(self._farthest, each.measure_way(self._begun[2]))
                if jumped or fast[own].any():
                    each.forget()
                    if self._begun is not None and self._begun[0] is each:
                        self._begun = None
                    joints = ' and '.join(track.name for track in each.tracks)
                    self.trouble = (
                        f'{joints} moved too fast for the readings, or they stopped: the stops '
                        'are forgotten'
                    )
                    if np.isnan(each.periods).any():
                        self.trouble += '. An encoder of one turn needs its wrap_period'

    # -- what the user does --------------------------------------------------------------------

    def begin_move(self, hand: HandTransmission, joint: int) -> None:
        """Begin a motion of a joint towards positive where the arm is now."""
        self._begun, self._farthest = (hand, joint, hand.now.copy()), 0.0

    def measure_move(self, hand: HandTransmission, joint: int) -> tuple[float, bool]:
        """
        Return how far a joint was moved since :meth:`begin_move` [rad or m], NaN: not begun.

        :returns: Also whether it came back, so that the motion shows no direction.
        """
        if self._begun is None or self._begun[:2] != (hand, joint):
            return math.nan, False
        way = hand.measure_way(self._begun[2])
        return way, self._farthest - way > _BACK * hand.tracks[joint].span

    def end_move(self) -> None:
        """End a motion towards positive, which gives the direction."""
        if self._begun is not None:
            hand, joint, before = self._begun
            self.trouble, self._begun = hand.end_move(joint, before), None

    def start_again(self, hand: HandTransmission) -> None:
        """Forget what is known of a transmission, its directions included."""
        hand.forget()
        hand.moves, hand.has_directions, hand.problem, self._begun = {}, False, '', None

    def mark_pose(self, positions: Mapping[str, float]) -> None:
        """Take the arm as in a pose [rad or m by joint]; joints that are missing are at zero."""
        known = [each for each in self.transmissions if np.isfinite(each.now).all()]
        moving = [each.name for each in known if not each.is_still]
        self.trouble = f'{moving[0]} moves: hold the arm still, and repeat' if moving else ''
        for each in [] if moving else known:
            joints = np.array([positions.get(track.name, 0.0) for track in each.tracks])
            each.poses = [*each.poses, (each.now.copy(), joints, np.zeros(len(joints)))]

    def judge(self, transmission: HandTransmission) -> Outcome:
        """Return what is known of a transmission."""
        return judge_transmission(
            transmission,
            is_confirmed=self.is_confirmed,
            is_guess=self.is_guess,
        )


def name_values(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return numbers by the full names of their parameters, without prefix."""
    return {
        '.'.join((each.transmission, *path)): value
        for each in outcomes
        for path, value in each.values.items()
    }
