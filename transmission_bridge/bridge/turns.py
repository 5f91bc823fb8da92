# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Turns of single-turn encoders: counting them, and finding out in which turn an actuator is.

Everything here is in the driver's numbers and before the map: ``total = reading + k * period``
with an integer ``k``. Counting needs no more than that the actuator moves less than half a period
between two readings. At first, and where it could have moved further, its turn is open. Possible
are the turns that bring the joints of its transmission within their limits; if one of them is
left, it is used. Readings that no turn explains say that the period is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.limits import motor_bounds
from transmission_bridge.bridge.options import BridgeOptions, pairs, WRAP_PERIOD
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    shown,
    UnknownNameError,
)
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Index, Mask

#: More turns than an encoder makes; their sum still resolves 1e-7 of a turn.
MOST_TURNS = 1e9


def wrap_periods(robot: RobotTransmissions, options: BridgeOptions) -> dict[str, float]:
    """
    Return checked periods by actuator, in the units of the drivers.

    Actuators of refused transmissions are left out.

    :raises UnknownNameError: If there is no such actuator.
    :raises ParameterError: If a period is not a number in its range.
    """
    periods = {}
    known, lost = robot.actuator_names, robot.lost_actuators
    for name, text in pairs('wrap_period', options.wrap_period).items():
        if name not in known and name not in lost:
            raise UnknownNameError('actuator', name, (*known, *lost), parameter='wrap_period')
        try:
            period = float(text)
        except ValueError:
            period = math.nan
        if period not in WRAP_PERIOD:
            raise ParameterError(
                f"wrap_period of '{name}' cannot be accepted",
                parameter='wrap_period',
                expected=f"a positive number, {WRAP_PERIOD}, in the driver's unit of position",
                found=repr(text),
            )
        if name in known:
            periods[name] = period
    return periods


# -- Counting ------------------------------------------------------------------------------------


class Unwrapper:
    """
    Continues positions that jump by a period.

    ``total = reading + k * period`` with the integer ``k`` that brings it nearest to the last
    total. As ``k`` is chosen anew for each reading, errors do not accumulate, and the actuator may
    move up to half a period during a gap. The first reading is used unchanged. A reading of more
    than :data:`MOST_TURNS` periods becomes NaN; the turns are kept.

    :param periods: Period of each position in its unit, NaN where it does not jump.
    :ivar totals: The last known positions, NaN where there is none.
    :ivar steps: From the totals before to the newest readings, NaN where either is missing.
    """

    def __init__(self, periods: npt.ArrayLike) -> None:
        self._periods: Array = np.array(periods, dtype=np.float64)
        self.reset()

    def reset(self) -> None:
        """Forget the turns."""
        self.totals: Array = np.full(len(self._periods), np.nan)

    def __call__(self, positions: Array) -> None:
        """Unwrap positions in place; NaN stays NaN and keeps the turns."""
        # Rounding would be as large as a turn there, and the turns would be lost.
        positions[np.abs(positions) > MOST_TURNS * self._periods] = np.nan
        added = np.rint((self.totals - positions) / self._periods) * self._periods
        added[np.isnan(added)] = 0.0
        positions += added
        self.steps: Array = positions - self.totals
        self.totals = np.where(np.isnan(positions), self.totals, positions)


# -- Which turns are possible --------------------------------------------------------------------


#: How far a joint may be measured beyond its limits, as a share of what it moves in one period.
_MARGIN = 0.0025

#: Turns, of coupled actuators combinations of them, that are compared, and how many actuators
#: that wrap are resolved together.
_MOST, _MOST_TOGETHER = 4096, 2

#: Positions of each joint at which a mechanism is looked at whose ratio is constant, or varies,
#: and the most of its joints together.
_ENDS, _GRID, _MOST_POINTS = 2, 5, 700

#: Share of a period by which an absolute position may differ from a reading, by which the
#: actuator may move between the two, and what a joint moves in which tells that its turn is lost.
_AGREEMENT = 0.25

#: Share of a period by which an actuator may be moved faster than by its limit.
_SPREAD = 0.1

#: Seconds between measurements of one moment: for an absolute position and a reading where
#: nothing limits the speed, and by which messages may come late.
_AT_ONCE = 0.05

#: Difference of two angles of a continuous joint that are the same: a period is given rounded.
#: Other positions are the same if they differ by rounding.
_SAME_ANGLE, _SAME = 1e-3, 1e-9

#: How much faster than at its velocity limit a joint may move, and the same of mechanisms whose
#: ratio is looked at on a grid.
_HASTE, _HASTE_NONLINEAR = 1.2, 2.0


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """
    A transmission, or several with common actuators, of which the turn is not known.

    :param actuators: Those whose turn is open.
    :param joints: The joints that are unknown for it.
    :param candidates: Positions of these joints in each turn that is possible; empty: none is.
    :param reason: Why there is no choice: ``several``, ``none``, ``unlimited`` (limits leave too
        many to look at, or do not count), ``fast`` (turns cannot be counted between readings) or
        ``wrong`` (``wrap_period`` or ``position_unit`` is).
    :param words: What was found, and of what is wrong what was expected.
    """

    actuators: tuple[str, ...]
    joints: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    reason: str
    words: str = ''

    def __str__(self) -> str:
        """Return a sentence with the candidates and with what settles it."""
        settle = 'use ~/zero, actuator_absolute_positions, or <limit>s that leave one turn'
        found = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        words = {
            'none': f'no turn brings {shortened(self.joints)} within the limits: check '
            'position_unit, offset, wrap_period and <limit>, or call ~/zero in a known pose',
            'wrong': f'{self.words}: wrap_period or position_unit is wrong: correct it, or ~/zero',
            'fast': f'it can move {self.words} periods between two readings, expected less than '
            'one: check wrap_period, position_unit, limits of velocity and the rate of the driver',
            'unlimited': f'no limits, more than {_MOST} turns, redundant actuators, or more than '
            f'{_MOST_TOGETHER} that wrap: {settle}',
            'several': f'{len(found)} fit, with {shortened(found, 4, show=str)}: {settle}',
        }
        return f'the turn of {shortened(self.actuators)} is unknown: {words[self.reason]}'


class _Group:
    """
    Transmissions that share actuators: a turn of one decides about the joints of all.

    :param robot: The maps.
    :param actuators: All actuators of the transmissions.
    :param periods: Of all actuators of the robot, NaN where one does not wrap.
    """

    def __init__(self, robot: RobotTransmissions, actuators: list[int], periods: Array) -> None:
        bindings = [each for each in robot.bindings if each.actuators[0] in actuators]
        self._robot, self.actuators = robot, actuators
        self.joints = sorted({joint for each in bindings for joint in each.joints})
        self._wraps: Mask = np.isfinite(periods)
        self._scales = np.where(self._wraps, periods, 1.0)
        n_wrapped = np.count_nonzero(self._wraps[actuators])
        self._has_too_many = n_wrapped > _MOST_TOGETHER or len(actuators) > len(self.joints)
        self._is_constant = all(each.transmission.is_constant for each in bindings)
        # Where joints are, not where they may be commanded: without ros2_control's min and max.
        names = self.joint_names = tuple(robot.joint_names[joint] for joint in self.joints)
        limits = [effective_limits(replace(robot.robot, blocks=()), name) for name in names]
        self.lower = np.array([each.lower for each in limits])
        self.upper = np.array([each.upper for each in limits])
        types = {joint.name: joint.type for joint in robot.robot.joints}
        self._turns: Mask = np.array([types.get(name) == 'continuous' for name in names])
        self._shares, self.travels = self._sample_ratios()
        # A limit of zero is one that nobody filled in.
        velocity = np.array([each.velocity or math.inf for each in limits])
        haste = _HASTE if self._is_constant else _HASTE_NONLINEAR
        self.speeds = haste * self.most_periods(velocity)
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._shifts: Array = np.empty((0, len(self._scales)))
        self.found: Array = np.empty((0, len(self.joints)))
        self.reason = ''
        self._looked: Array = np.full(len(self._scales), np.nan)

    # -- the mechanism ---------------------------------------------------------------------------

    def inverse(self, joints: Array) -> Array:
        """Map positions of these joints, ``(n, n_joints)``, to those of all actuators."""
        whole = np.full((len(joints), len(self._robot.joint_names)), np.nan)
        whole[:, self.joints] = joints
        return self._robot.joint_to_actuator('position', whole)

    def _sample_points(self, center: Array | float, reach: Array | float) -> Array:
        """
        Return positions of all actuators over the range of the joints, ``(n, n_actuators)``.

        :param center: Position of each joint, of which those of continuous ones count.
        :param reach: How far to both sides of it these are looked at.
        """
        lower = np.where(self._turns, center - reach, self.lower)
        upper = np.where(self._turns, center + reach, self.upper)
        count = _ENDS if self._is_constant else _GRID
        if not np.isfinite([lower, upper]).all() or count ** len(lower) > _MOST_POINTS:
            return np.empty((0, len(self._scales)))
        points = self.inverse(_combinations(np.linspace(lower, upper, count).T))
        return points[np.isfinite(points[:, self.actuators]).all(axis=1)]

    def _sample_ratios(self) -> tuple[Array, Array]:
        """
        Return how actuators, in periods, and joints move each other.

        :returns: How far each actuator moves while a joint moves by one, ``(n, n_own, n_joints)``,
            and how far joints move at most while all of them move by a period, ``(n_joints,)``;
            infinite where that cannot be told.
        """
        rest = np.zeros((1, len(self._scales)))
        points = rest if self._is_constant else self._sample_points(0.0, math.pi)
        ratios = self._robot.jacobian(points)[:, self.joints][:, :, self.actuators]
        ratios = ratios[np.isfinite(ratios).all(axis=(1, 2))] * self._scales[self.actuators]
        shares = np.abs(np.linalg.pinv(ratios))
        if self._is_constant:
            # It is right also of more actuators than joints.
            joints = np.eye(len(self.joints))
            moved = np.abs(self.inverse(joints) - self.inverse(0.0 * joints)) / self._scales
            shares = moved.T[np.newaxis, self.actuators]
        shares[shares < 1e-9 * shares.max(initial=0.0)] = 0.0
        most = np.abs(ratios).max(axis=0, initial=0.0)[:, self._wraps[self.actuators]].sum(axis=1)
        return shares, np.where(most > 0.0, most, np.inf)

    def most_periods(self, amounts: Array) -> Array:
        """
        Return how many periods each actuator moves at most, shape ``(n_own,)``.

        :param amounts: Of what the joints move meanwhile; infinite where these do not tell.
        """
        with np.errstate(invalid='ignore'):
            parts = np.where(self._shares > 0.0, self._shares * amounts, 0.0)
        most = parts.sum(axis=2).max(axis=0, initial=0.0)
        # An actuator that moves no joint is not held back by any.
        return np.where(most > 0.0, most, np.inf)

    # -- the turns that are left -----------------------------------------------------------------

    def look(self, positions: Array, is_open: Mask, late: float = 0.0) -> Array:
        """
        Find the turns that are possible.

        :param positions: Of all actuators, shape ``(n_actuators,)``, right but for whole periods
            of those that are open.
        :param is_open: Which are, likewise.
        :param late: Periods that they can have moved since the oldest of these readings.
        :returns: The periods to add, likewise, NaN where none are settled: more than one turn is
            left, and they are not the same.
        """
        base, nothing = np.full((2, len(positions)), np.nan)
        base[self.actuators] = positions[self.actuators]
        moved = np.abs(base - self._looked) / self._scales
        if np.isnan(base[self.actuators]).any() or (moved[self.actuators] < _MARGIN).all():
            return nothing
        if late < _MARGIN:
            self._looked = base
        if not len(self._shifts):
            self._shifts = self._all_shifts(base, is_open)
        turned = base + self._shifts * self._scales
        joints = self._robot.actuator_to_joint('position', turned)[:, self.joints]
        margin = (_MARGIN + late) * self.travels
        fits = ((joints >= self.lower - margin) & (joints <= self.upper + margin)).all(axis=1)
        self.reason = 'several' if fits.any() else 'none' if len(fits) else 'unlimited'
        self._shifts, self.found = self._shifts[fits], self._distinct(joints[fits])
        if len(self.found) != 1:
            return nothing
        # The readings are what a driver is used to.
        nearest: Array = self._shifts[np.argmin(np.square(self._shifts).sum(axis=1))]
        return np.where(is_open & np.isfinite(base), nearest, np.nan)

    def _all_shifts(self, base: Array, is_open: Mask) -> Array:
        """Return turns that hold every possible one, ``(n, n_actuators)``; none: too many."""
        here = np.nan_to_num(self._robot.actuator_to_joint('position', base)[self.joints])
        # Turns of a continuous joint that differ are met within a few of its actuators'.
        points = self._sample_points(here, math.pi + 4.0 * self.travels)
        own = [place for place in self.actuators if is_open[place]]
        turns = ((points - base) / self._scales)[:, own]
        low, high = turns.min(axis=0, initial=np.inf), turns.max(axis=0, initial=-np.inf)
        pad = 0.25 * (high - low) + 1.0
        low, high = np.ceil(low - pad), np.floor(high + pad)
        if not len(points) or self._has_too_many or (high - low + 1.0).prod() > _MOST:
            return self._shifts
        combinations = _combinations(list(map(np.arange, low, high + 1.0)))
        shifts = np.zeros((len(combinations), len(base)))
        shifts[:, own] = combinations
        return shifts

    def _distinct(self, positions: Array) -> Array:
        """Return positions without those that are the same but for whole turns."""
        away = positions - positions[:1]
        steps = np.where(self._turns, np.exp(1j * away) / _SAME_ANGLE, away / _SAME)
        return positions[np.sort(np.unique(np.rint(steps), axis=0, return_index=True)[1])]


def _combinations(axes: Sequence[Array] | Array) -> Array:
    """Return all combinations of a number of each axis, ``(n, n_axes)``."""
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))


def _groups(robot: RobotTransmissions, periods: Array) -> Iterator[_Group]:
    """Yield the transmissions with a wrapped actuator, those with common actuators together."""
    labels = np.arange(len(periods))
    for binding in robot.bindings:
        own = labels[list(binding.actuators)]
        labels[np.isin(labels, own)] = own[0]
    for label in np.unique(labels[np.isfinite(periods)]):
        yield _Group(robot, np.flatnonzero(labels == label).tolist(), periods)


# -- The turns of a robot ------------------------------------------------------------------------


class TurnCounter:
    """
    Counts the turns of the wrapped actuators of a robot, and finds them where they are open.

    The turn of an actuator is open at its first reading, and after a gap in which it could have
    moved so far that its last position does not tell: at its own velocity limit and those of its
    joints, or, where there are none, at a period in its driver's timeout (with no timeout its
    driver is one that is silent while nothing moves). It is open again where a joint is
    measured far beyond its limits and another turn fits, and for good where the readings do not
    fit the period. As long as it is open, its position is unknown.

    Positions and readings are in SI.

    :param robot: The maps; replaced by :meth:`use`.
    :param options: The choices of the user.
    :ivar waited: Readings that were not used because the turn was open, by actuator.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        periods = wrap_periods(robot, options)
        self._names = robot.actuator_names
        self._units = DriverUnits(robot)
        given = np.array([periods.get(name, np.nan) for name in self._names])
        self._periods: Array = self._units.in_si(given, 0)
        self._wraps: Mask = np.isfinite(self._periods)
        self._unwrap = Unwrapper(self._periods)
        self._resolves = options.unknown_turn == 'resolve'
        self.waited = dict.fromkeys(periods, 0)
        #: Of actuators whose readings do not fit the period: what was expected and found.
        self._wrong: dict[int, str] = {}
        self._beyond: dict[str, str] = {}
        self.use(robot)
        self.forget()

    def forget(self) -> None:
        """Forget everything, because time went backwards."""
        count = len(self._names)
        self._unwrap.reset()
        self._times: Array = np.full(count, np.nan)
        self._sent: Array = np.full(count, np.nan)
        #: What the drivers said last.
        self._readings: Array = np.full(count, np.nan)
        self._woke_at_zero: Mask = np.zeros(count, dtype=bool)
        self._absolute: Array = np.full(count, np.nan)
        self._absolute_at: Array = np.full(count, np.nan)
        #: Periods that each could move between its last two readings.
        self._moves: Array = np.zeros(count)
        self._open: Mask = self._wraps & self._resolves
        self._lose(self._open)

    def reset(self) -> None:
        """Begin again, as after activation; what the gap leaves certain is still known."""
        self._wrong.clear()
        if not self._resolves:
            self._unwrap.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps; turns that are known stay."""
        self._robot = robot
        self._wrong.clear()
        limits = motor_bounds(robot)[1, FIELDS.index('velocity')]
        #: The most periods a second, and those that a reading is from zero: a driver may count on
        #: from where it woke up.
        self._speeds: Array = _HASTE * limits / self._periods
        self._far: Array = np.full(len(self._names), np.inf)
        self._lower = np.full(len(robot.joint_names), -np.inf)
        self._upper = -self._lower
        self._groups = list(_groups(robot, self._periods)) if self._resolves else []
        for group in self._groups:
            own = group.actuators
            self._speeds[own] = np.minimum(self._speeds[own], group.speeds)
            travels = group.most_periods(group.upper - group.lower)
            self._far[own] = (1.0 + _AGREEMENT + travels) * self._periods[own]
            self._lower[group.joints] = group.lower - _AGREEMENT * group.travels
            self._upper[group.joints] = group.upper + _AGREEMENT * group.travels
        #: A step, in periods, of which nothing need be said.
        self._usual = _SPREAD + _AT_ONCE * self._speeds
        #: Seconds between an absolute position and a reading that belong together.
        self._close = np.where(np.isinf(self._speeds), _AT_ONCE, _AGREEMENT / self._speeds)

    def _lose(self, lost: Mask) -> None:
        self._open[lost] = True
        for group in self._groups:
            if lost[group.actuators].any():
                group.forget()

    def _add(self, turns: Array) -> None:
        """Settle turns: those to add, NaN where none is settled."""
        is_settled = np.isfinite(turns)
        self._unwrap.totals[is_settled] += (turns * self._periods)[is_settled]
        self._lose(is_settled)
        self._open[is_settled] = False

    # -- readings --------------------------------------------------------------------------------

    def __call__(
        self,
        positions: Array,
        given: Index | slice,
        timeouts: Array,
        now: float,
        sent: float = np.nan,
    ) -> None:
        """
        Use the readings of a message.

        :param positions: Of all actuators, shape ``(n_actuators,)``, changed in place: readings
            become positions, NaN where the turn is open.
        :param given: Which of them are readings of this message.
        :param timeouts: Seconds after which each is too old, likewise; infinite: never.
        :param now: Time of receipt [s].
        :param sent: Time of the readings by their stamp [s], by any clock; NaN: none.
        """
        readings = positions.copy()
        self._unwrap(positions)
        if not self._resolves:
            return
        is_new = np.zeros(len(positions), dtype=bool)
        is_new[given] = True
        is_new &= self._wraps & np.isfinite(positions)
        # A message that comes late is followed by one soon after, of readings far from its own.
        gap = now - self._times
        gap = np.where(gap < 0.0, gap, np.fmax(gap, sent - self._sent))
        reach = self._reach(timeouts, gap)
        moved = np.abs(self._unwrap.steps) / self._periods
        unusual = is_new & ~((moved <= self._usual) & (reach < 0.5) & ~self._open)
        for place in np.flatnonzero(unusual).tolist():
            self._judge(place, float(readings[place]), moved[place], reach[place], gap[place])
        self._times[is_new], self._sent[is_new] = now, sent
        self._readings[is_new] = readings[is_new]
        if unusual.any():
            self._moves[is_new] = reach[is_new]
            positions[self._open] = np.nan
            self._resolve(positions, timeouts, now)
            for number in np.flatnonzero(is_new & self._open):
                self.waited[self._names[number]] += 1

    def _reach(self, timeouts: Array, gap: Array) -> Array:
        """Return how many periods each can have moved in a gap [s]; time does not go back."""
        # Where nothing limits the speed, what comes in time is counted on.
        is_timed = np.isinf(self._speeds) | np.isinf(timeouts)
        reach = np.where(is_timed, 1.0 / timeouts, self._speeds) * gap
        return np.where(gap < 0.0, np.inf, reach)

    def _judge(self, place: int, reading: float, moved: float, reach: float, gap: float) -> None:
        """Note that a reading does not fit the period, and open a turn that can be lost."""
        period = self._periods[place]
        far, last = self._far[place], self._readings[place]
        most = period * (_SPREAD + self._speeds[place] * (gap + _AT_ONCE))
        has_jumped = gap > 0.0 and moved * period > most
        expected = ''
        if self._open[place] and abs(reading) > far:
            expected = f'expected at most {self._of_driver(far, place)} from 0'
        # Some drivers give zeros until they have read.
        elif has_jumped and not (self._woke_at_zero[place] and last == 0.0):
            before, away = (self._of_driver(each, place) for each in (last, most))
            expected = f'{gap:.3g} s after {before}, expected at most {away} away but for turns'
        if expected:
            found, wrap = (self._of_driver(each, place) for each in (reading, period))
            words = f'{shown(self._names[place])} reads {found}, {expected}, by the limits'
            self._wrong.setdefault(place, f'{words} and wrap_period {wrap}')
        if has_jumped or not moved + reach < 1.0:
            self._woke_at_zero[place] = reading == 0.0
            self._lose(np.arange(len(self._names)) == place)

    def _of_driver(self, position: float, place: int) -> str:
        return f'{self._units.of_drivers(np.array(position), 0, place):.6g}'

    def open_at(self, timeouts: Array, now: float) -> Mask | None:
        """
        Return which actuators are in a turn that is not known, or would be at a reading now.

        :param timeouts: As in :meth:`__call__`.
        :param now: Time [s].
        :returns: Shape ``(n_actuators,)``; ``None``: none.
        """
        unknown: Mask = self._open | (self._reach(timeouts, now - self._times) >= 1.0)
        return unknown if unknown.any() else None

    def reopen(self, joints: Array, positions: Array) -> bool:
        """
        Open turns where a joint is measured far beyond its limits and another turn fits.

        :param joints: Positions of all joints, shape ``(n_joints,)``.
        :param positions: Of all actuators; becomes NaN where a turn is opened.
        :returns: Whether one was.
        """
        beyond = (joints < self._lower) | (joints > self._upper)
        if not beyond.any():
            return False
        lost: Mask = np.zeros(len(self._names), dtype=bool)
        for group in self._groups:
            own, far = group.actuators, [joint for joint in group.joints if beyond[joint]]
            if not far or not np.isfinite(positions[own]).all():
                continue
            group.look(positions, self._wraps)
            lost[own] = self._wraps[own] & (group.reason != 'none')
            for joint in far:
                name = self._robot.joint_names[joint]
                self._beyond[name] = (
                    f'{shown(name)} was measured at {joints[joint]:.4g}, beyond its limits by '
                    'more than a quarter of what it moves in one wrap_period, and '
                    f'{"no other" if group.reason == "none" else "another"} turn fits: '
                    'check offset, wrap_period and <limit>'
                )
        self._lose(lost)
        positions[lost] = np.nan
        return bool(lost.any())

    def take_beyond(self) -> dict[str, str]:
        """Return a sentence for each joint that was measured beyond its limits since last time."""
        beyond, self._beyond = self._beyond, {}
        return beyond

    # -- what settles a turn ---------------------------------------------------------------------

    def take_absolute(
        self, absolute: Array, positions: Array, timeouts: Array, now: float
    ) -> None:
        """
        Use absolute positions of actuators, with readings of nearly the same time.

        :param absolute: Shape ``(n_actuators,)``, NaN where this message has none; of
            transmissions that ignore the map (``ignore_absolute_encoder``) those of the joints by
            role.
        :param positions: As in :meth:`__call__`; what is settled by it is written there.
        :param timeouts: As in :meth:`__call__`.
        :param now: Time of receipt [s].
        """
        is_given = np.isfinite(absolute)
        self._absolute[is_given], self._absolute_at[is_given] = absolute[is_given], now
        if self._open.any():
            self._resolve(positions, timeouts, now)

    def _resolve(self, positions: Array, timeouts: Array, now: float) -> None:
        """Settle what can be settled, and write it to the positions."""
        is_usable = self._open & (now - self._times <= timeouts)
        is_usable[list(self._wrong)] = False
        self._add(np.where(is_usable, self._turns_by_absolute(), np.nan))
        reach = self._reach(timeouts, now - self._times)
        base = np.where(is_usable, self._unwrap.totals, positions)
        for group in self._groups:
            if self._open[group.actuators].any():
                late = np.nanmax(reach[group.actuators], initial=0.0)
                self._add(group.look(base, self._open, late))
        settled = is_usable & ~self._open
        positions[settled] = self._unwrap.totals[settled]

    def _turns_by_absolute(self) -> Array:
        """Return the turns to add by absolute positions, NaN where none belongs to a reading."""
        robot, absolute = self._robot, self._absolute.copy()
        apart = np.abs(self._times - self._absolute_at)
        joints = robot.actuator_to_joint('absolute_position', absolute)
        back = robot.joint_to_actuator('position', joints)
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                own = list(binding.actuators)
                absolute[own] = back[own]
                apart[own] = np.ptp([self._times[own], self._absolute_at[own]])
        away = (absolute - self._unwrap.totals) / self._periods
        belongs = (apart < self._close) & (np.abs(away - np.rint(away)) <= _AGREEMENT)
        return np.where(belongs, np.rint(away), np.nan)

    def nearest(self, wanted: Mapping[str, float], *, oldest: float) -> dict[int, float]:
        """
        Return the positions of actuators whose turn is open that come nearest to wanted joints.

        :param wanted: Joint to position [rad or m].
        :param oldest: Time before which a reading is too old [s].
        :returns: Position by place, for :meth:`settle`.
        :raises MessageError: If only some joints of a transmission are named (``unknown_turn``).
        """
        joints = np.array([wanted.get(name, np.nan) for name in self._robot.joint_names])
        away = self._robot.joint_to_actuator('position', joints) - self._unwrap.totals
        positions = self._unwrap.totals + np.rint(away / self._periods) * self._periods
        is_fresh = self._open & (self._times >= oldest)
        found: dict[int, float] = {}
        for group in self._groups:
            own = [place for place in group.actuators if is_fresh[place]]
            named = [name in wanted for name in group.joint_names]
            if own and any(named) and not all(named):
                raise MessageError(
                    'unknown_turn',
                    f'turns of {shortened(group.joint_names)} are unknown: zero_joints needs all',
                )
            if all(named):
                found |= {place: positions[place] for place in own}
        return found

    def settle(self, positions: Mapping[int, float]) -> None:
        """Take positions of :meth:`nearest` for those that the actuators have."""
        turns = np.full(len(self._names), np.nan)
        for place, position in positions.items():
            turns[place] = np.rint((position - self._unwrap.totals[place]) / self._periods[place])
            self._wrong.pop(place, None)
        self._add(turns)

    # -- what others need to know ----------------------------------------------------------------

    def open_turns(self) -> list[OpenTurn]:
        """Return what is not known of which there are readings."""
        found = []
        for group in self._groups:
            is_open = [place for place in group.actuators if self._open[place]]
            words = '; '.join(self._wrong[place] for place in is_open if place in self._wrong)
            reason = 'wrong' if words else group.reason
            moves = self._moves[is_open].max(initial=0.0)
            if reason in ('several', 'unlimited') and 1.0 <= moves < math.inf:
                reason, words = 'fast', f'{moves:.3g}'
            if is_open and reason:
                names = tuple(self._names[place] for place in is_open)
                candidates = tuple(map(tuple, group.found.tolist()))
                found.append(OpenTurn(names, group.joint_names, candidates, reason, words))
        return found

    @property
    def shift(self) -> Array | None:
        """
        What to take from a position to have it in the turns of the driver's last reading.

        :returns: Shape ``(n_actuators,)``; ``None``: nothing.
        """
        shift = np.rint((self._unwrap.totals - self._readings) / self._periods) * self._periods
        shift[np.isnan(shift)] = 0.0
        return shift if shift.any() else None
