# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Turns of single-turn encoders: how they are counted, and how an unknown turn is resolved.

Positions belong to the actuators, before the map: ``total = reading + k * period`` with an
integer ``k``. Turns can be counted if the actuator moves less than half a period between two
readings. At start-up, and after a gap in which it could have moved further, its turn is unknown.
Candidates are the turns that keep the joints of its transmission within limits. If one candidate
remains, it is used. If no turn explains the readings, the period is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.options import BridgeOptions, split_pairs, WRAP_PERIOD
from transmission_bridge.bridge.robot_plan import find_motor_bounds
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


def find_wrap_periods(robot: RobotTransmissions, options: BridgeOptions) -> dict[str, float]:
    """
    Return checked periods by actuator, in the units of the drivers.

    Actuators of rejected transmissions are left out.

    :raises UnknownNameError: If the robot has no such actuator.
    :raises ParameterError: If a period is not a number in its range.
    """
    periods = {}
    known, lost = robot.actuator_names, robot.lost_actuators
    for name, text in split_pairs('wrap_period', options.wrap_period).items():
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
    Unwraps positions that jump by a period.

    ``total = reading + k * period`` with the integer ``k`` that makes it closest to the last
    total. ``k`` is computed for each reading: errors do not accumulate, and the actuator may move
    up to half a period during a gap. The first reading is used unchanged. A reading of more than
    :data:`MOST_TURNS` periods becomes NaN and does not change the turns.

    :param periods: Period of each position in its unit, NaN: it does not jump.
    :ivar totals: The last known positions, NaN: none.
    :ivar steps: Differences of the latest and the previous totals, NaN: one is missing.
    """

    def __init__(self, periods: npt.ArrayLike) -> None:
        self._periods: Array = np.array(periods, dtype=np.float64)
        self.reset()

    def reset(self) -> None:
        """Forget the turns."""
        self.totals: Array = np.full(len(self._periods), np.nan)

    def __call__(self, positions: Array) -> None:
        """Unwrap positions in place; NaN stays NaN and does not change the turns."""
        # The rounding error of a larger reading could be a turn.
        positions[np.abs(positions) > MOST_TURNS * self._periods] = np.nan
        added = np.rint((self.totals - positions) / self._periods) * self._periods
        added[np.isnan(added)] = 0.0
        positions += added
        self.steps: Array = positions - self.totals
        self.totals = np.where(np.isnan(positions), self.totals, positions)


# -- Candidate turns of a group of transmissions -------------------------------------------------


#: Tolerance of joint limits, as a share of the joint's motion during one period.
_MARGIN = 0.0025

#: Largest number of candidates (combinations of turns, if actuators are coupled), and of wrapped
#: actuators that are resolved together.
_MOST, _MOST_TOGETHER = 4096, 2

#: Samples for each joint if the ratio is constant and if it varies; most samples of a mechanism.
_ENDS, _GRID, _MOST_POINTS = 2, 5, 700

#: Share of a period. It limits the difference between an absolute position and a reading, the
#: motion between the two, and how far a joint may be beyond its limits before its turn is lost.
_AGREEMENT = 0.25

#: Share of a period that an actuator may move beyond its velocity limit.
_SPREAD = 0.1

#: Largest delay of a message, and largest time between an absolute position and a reading if the
#: speed has no limit [s].
_AT_ONCE = 0.05

#: Tolerances of equal positions: angles of continuous joints, because periods are given rounded,
#: and other positions, because of rounding errors.
_SAME_ANGLE, _SAME = 1e-3, 1e-9

#: Largest speed of a joint relative to its velocity limit, with a constant ratio, and with a
#: ratio that is sampled on a grid.
_HASTE, _HASTE_NONLINEAR = 1.2, 2.0


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """
    An unknown turn of a transmission, or of several transmissions with common actuators.

    :param actuators: Actuators in an unknown turn.
    :param joints: Joints that are unknown for this reason.
    :param candidates: Positions of these joints for each candidate turn.
    :param reason: ``several`` candidates, ``none``, ``unlimited`` (limits leave too many
        candidates), ``fast`` (turns cannot be counted between readings) or ``wrong``
        (``wrap_period`` or ``position_unit`` is wrong).
    :param words: The found, and for ``wrong`` the expected, value.
    """

    actuators: tuple[str, ...]
    joints: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    reason: str
    words: str = ''

    def __str__(self) -> str:
        """Return a sentence with the candidates and the remedy."""
        settle = 'use ~/zero, actuator_absolute_positions, or <limit>s that leave one turn'
        found = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        words = {
            'none': f'no turn keeps {shortened(self.joints)} within limits: check '
            'position_unit, offset, wrap_period and <limit>, or call ~/zero in a known pose',
            'wrong': f'{self.words}: wrap_period or position_unit is wrong: fix it, or use ~/zero',
            'fast': f'it can move {self.words} periods between two readings, expected less than '
            'one: check wrap_period, position_unit, velocity limits and the rate of the driver',
            'unlimited': f'no limits, more than {_MOST} turns, redundant actuators, or more than '
            f'{_MOST_TOGETHER} wrapped actuators: {settle}',
            'several': f'{len(found)} fit, with {shortened(found, 4, show=str)}: {settle}',
        }
        return f'the turn of {shortened(self.actuators)} is unknown: {words[self.reason]}'


class _TurnGroup:
    """
    Transmissions that share actuators, so that their turns are resolved together.

    :param actuators: Indices of all actuators of the transmissions.
    :param periods: Periods of all actuators of the robot, NaN: not wrapped.
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
        # Limits of measured positions, without ros2_control's min and max for commands.
        names = self.joint_names = tuple(robot.joint_names[joint] for joint in self.joints)
        limits = [effective_limits(replace(robot.robot, blocks=()), name) for name in names]
        self.lower = np.array([each.lower for each in limits])
        self.upper = np.array([each.upper for each in limits])
        types = {joint.name: joint.type for joint in robot.robot.joints}
        self._turns: Mask = np.array([types.get(name) == 'continuous' for name in names])
        self._shares, self.travels = self._sample_ratios()
        # A velocity limit of zero means that it is not given.
        velocity = np.array([each.velocity or math.inf for each in limits])
        haste = _HASTE if self._is_constant else _HASTE_NONLINEAR
        self.speeds = haste * self.find_most_periods(velocity)
        self.forget_candidates()

    def forget_candidates(self) -> None:
        """Forget the candidates."""
        self._shifts: Array = np.empty((0, len(self._scales)))
        self.found: Array = np.empty((0, len(self.joints)))
        self.reason = ''
        self._looked: Array = np.full(len(self._scales), np.nan)

    # -- the mechanism ---------------------------------------------------------------------------

    def map_joints(self, joints: Array) -> Array:
        """Map positions of these joints, ``(n, n_joints)``, to positions of all actuators."""
        whole = np.full((len(joints), len(self._robot.joint_names)), np.nan)
        whole[:, self.joints] = joints
        return self._robot.joint_to_actuator('position', whole)

    def _sample_points(self, center: Array | float, reach: Array | float) -> Array:
        """
        Return positions of all actuators over the range of the joints, ``(n, n_actuators)``.

        :param center: Position of each joint; used for continuous joints.
        :param reach: Half of the sampled range of continuous joints.
        """
        lower = np.where(self._turns, center - reach, self.lower)
        upper = np.where(self._turns, center + reach, self.upper)
        count = _ENDS if self._is_constant else _GRID
        if not np.isfinite([lower, upper]).all() or count ** len(lower) > _MOST_POINTS:
            return np.empty((0, len(self._scales)))
        points = self.map_joints(_combine_axes(np.linspace(lower, upper, count).T))
        return points[np.isfinite(points[:, self.actuators]).all(axis=1)]

    def _sample_ratios(self) -> tuple[Array, Array]:
        """
        Return sampled ratios between actuators, in periods, and joints.

        :returns: Motion of each actuator for unit motion of a joint, ``(n, n_own, n_joints)``, and
            largest motion of each joint while all actuators move by a period, ``(n_joints,)``;
            infinite: unknown.
        """
        rest = np.zeros((1, len(self._scales)))
        points = rest if self._is_constant else self._sample_points(0.0, math.pi)
        ratios = self._robot.jacobian(points)[:, self.joints][:, :, self.actuators]
        ratios = ratios[np.isfinite(ratios).all(axis=(1, 2))] * self._scales[self.actuators]
        shares = np.abs(np.linalg.pinv(ratios))
        if self._is_constant:
            # Unlike pinv, this is exact for more actuators than joints.
            joints = np.eye(len(self.joints))
            moved = np.abs(self.map_joints(joints) - self.map_joints(0.0 * joints)) / self._scales
            shares = moved.T[np.newaxis, self.actuators]
        shares[shares < 1e-9 * shares.max(initial=0.0)] = 0.0
        most = np.abs(ratios).max(axis=0, initial=0.0)[:, self._wraps[self.actuators]].sum(axis=1)
        return shares, np.where(most > 0.0, most, np.inf)

    def find_most_periods(self, amounts: Array) -> Array:
        """
        Return the largest motion of each actuator in periods, shape ``(n_own,)``.

        :param amounts: Largest motion of each joint; infinite: unknown.
        """
        with np.errstate(invalid='ignore'):
            parts = np.where(self._shares > 0.0, self._shares * amounts, 0.0)
        most = parts.sum(axis=2).max(axis=0, initial=0.0)
        # No joint limits the motion of an actuator that moves no joint.
        return np.where(most > 0.0, most, np.inf)

    # -- the remaining candidates ----------------------------------------------------------------

    def find_candidates(self, positions: Array, is_open: Mask, late: float = 0.0) -> Array:
        """
        Update the candidate turns.

        :param positions: Positions of all actuators, shape ``(n_actuators,)``, correct up to whole
            periods of actuators in an unknown turn.
        :param is_open: Mask of the actuators in an unknown turn, same shape.
        :param late: Largest possible motion since the oldest of these readings, in periods.
        :returns: Periods to add, same shape, NaN: not resolved, because several different
            candidates remain.
        """
        base, nothing = np.full((2, len(positions)), np.nan)
        base[self.actuators] = positions[self.actuators]
        moved = np.abs(base - self._looked) / self._scales
        if np.isnan(base[self.actuators]).any() or (moved[self.actuators] < _MARGIN).all():
            return nothing
        if late < _MARGIN:
            self._looked = base
        if not len(self._shifts):
            self._shifts = self._list_shifts(base, is_open)
        turned = base + self._shifts * self._scales
        joints = self._robot.actuator_to_joint('position', turned)[:, self.joints]
        margin = (_MARGIN + late) * self.travels
        fits = ((joints >= self.lower - margin) & (joints <= self.upper + margin)).all(axis=1)
        self.reason = 'several' if fits.any() else 'none' if len(fits) else 'unlimited'
        away = joints[fits] - joints[fits][:1]
        # Drop duplicates that differ by whole turns.
        steps = np.where(self._turns, np.exp(1j * away) / _SAME_ANGLE, away / _SAME)
        distinct = np.sort(np.unique(np.rint(steps), axis=0, return_index=True)[1])
        self._shifts, self.found = self._shifts[fits], joints[fits][distinct]
        if len(self.found) != 1:
            return nothing
        # Of equal candidates, use the one closest to the readings of the driver.
        nearest: Array = self._shifts[np.argmin(np.square(self._shifts).sum(axis=1))]
        return np.where(is_open & np.isfinite(base), nearest, np.nan)

    def _list_shifts(self, base: Array, is_open: Mask) -> Array:
        """Return a superset of the candidates, ``(n, n_actuators)``; empty: too many."""
        here = np.nan_to_num(self._robot.actuator_to_joint('position', base)[self.joints])
        # A few turns of its actuators lead to all different angles of a continuous joint.
        points = self._sample_points(here, math.pi + 4.0 * self.travels)
        own = [place for place in self.actuators if is_open[place]]
        turns = ((points - base) / self._scales)[:, own]
        low, high = turns.min(axis=0, initial=np.inf), turns.max(axis=0, initial=-np.inf)
        pad = 0.25 * (high - low) + 1.0
        low, high = np.ceil(low - pad), np.floor(high + pad)
        if not len(points) or self._has_too_many or (high - low + 1.0).prod() > _MOST:
            return self._shifts
        combinations = _combine_axes(list(map(np.arange, low, high + 1.0)))
        shifts = np.zeros((len(combinations), len(base)))
        shifts[:, own] = combinations
        return shifts


def _combine_axes(axes: Sequence[Array] | Array) -> Array:
    """Return the Cartesian product of the axes, ``(n, n_axes)``."""
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))


def _group_transmissions(robot: RobotTransmissions, periods: Array) -> Iterator[_TurnGroup]:
    """Yield the groups of transmissions with common actuators that have a wrapped actuator."""
    labels = np.arange(len(periods))
    for binding in robot.bindings:
        own = labels[list(binding.actuators)]
        labels[np.isin(labels, own)] = own[0]
    for label in np.unique(labels[np.isfinite(periods)]):
        yield _TurnGroup(robot, np.flatnonzero(labels == label).tolist(), periods)


# -- The turns of a robot ------------------------------------------------------------------------


class TurnCounter:
    """
    Counts the turns of the wrapped actuators of a robot, and resolves unknown turns.

    The turn of an actuator is unknown at its first reading, and after a gap in which it could have
    moved half a period. Its largest speed follows from its velocity limit and those of its joints.
    Without these limits it is one period per timeout of its driver; a driver without a timeout is
    silent while nothing moves. The turn becomes unknown if a joint is measured far beyond its
    limits and another turn fits. If the readings do not fit the period, it stays unknown. While
    the turn is unknown, the position is unknown.

    Positions and readings are in SI.

    :ivar periods: Period of each actuator in SI, NaN: not wrapped.
    :ivar waited: Number of readings that were not used because of an unknown turn, by actuator.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        periods = find_wrap_periods(robot, options)
        self._names = robot.actuator_names
        self._units = DriverUnits(robot)
        given = np.array([periods.get(name, np.nan) for name in self._names])
        self.periods: Array = self._units.in_si(given, 0)
        self._wraps: Mask = np.isfinite(self.periods)
        self._unwrap = Unwrapper(self.periods)
        self._resolves = options.unknown_turn == 'resolve'
        self.waited = dict.fromkeys(periods, 0)
        # Expected and found values of actuators if readings do not fit the period.
        self._wrong: dict[int, str] = {}
        self._beyond: dict[str, str] = {}
        self.replace_maps(robot)
        self.forget_turns()

    def forget_turns(self) -> None:
        """Forget everything, because time went backwards."""
        count = len(self._names)
        self._unwrap.reset()
        self._times: Array = np.full(count, np.nan)
        self._sent: Array = np.full(count, np.nan)
        # The last readings of the drivers.
        self._readings: Array = np.full(count, np.nan)
        self._woke_at_zero: Mask = np.zeros(count, dtype=bool)
        self._absolute: Array = np.full(count, np.nan)
        self._absolute_at: Array = np.full(count, np.nan)
        # Largest possible motion between the last two readings, in periods.
        self._moves: Array = np.zeros(count)
        self._open: Mask = self._wraps & self._resolves
        self._lose_turns(self._open)

    def reset(self) -> None:
        """Start again after activation; turns stay known if the gap was short enough."""
        self._wrong.clear()
        if not self._resolves:
            self._unwrap.reset()

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps; known turns stay known unless other turns fit the new numbers."""
        self._robot, self._is_tuned = robot, True
        self._wrong.clear()
        limits = find_motor_bounds(robot)[1, FIELDS.index('velocity')]
        # Largest speed in periods per second, and largest distance of a reading from zero: a
        # driver may count turns from its position at power-up.
        self._speeds: Array = _HASTE * limits / self.periods
        self._far: Array = np.full(len(self._names), np.inf)
        self._lower = np.full(len(robot.joint_names), -np.inf)
        self._upper = -self._lower
        self._groups = list(_group_transmissions(robot, self.periods)) if self._resolves else []
        for group in self._groups:
            own = group.actuators
            self._speeds[own] = np.minimum(self._speeds[own], group.speeds)
            travels = group.find_most_periods(group.upper - group.lower)
            self._far[own] = (1.0 + _AGREEMENT + travels) * self.periods[own]
            self._lower[group.joints] = group.lower - _AGREEMENT * group.travels
            self._upper[group.joints] = group.upper + _AGREEMENT * group.travels
        # Largest step in periods that needs no check of the gap.
        self._usual = _SPREAD + _AT_ONCE * self._speeds
        # Largest time between an absolute position and a reading to compare [s].
        self._close = np.where(np.isinf(self._speeds), _AT_ONCE, _AGREEMENT / self._speeds)

    def _lose_turns(self, lost: Mask) -> None:
        self._open[lost] = True
        for group in self._groups:
            if lost[group.actuators].any():
                group.forget_candidates()

    def _add_turns(self, turns: Array) -> None:
        """Add turns to the totals; NaN: not resolved."""
        is_settled = np.isfinite(turns)
        self._unwrap.totals[is_settled] += (turns * self.periods)[is_settled]
        self._lose_turns(is_settled)
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

        :param positions: Positions of all actuators, shape ``(n_actuators,)``, changed in place:
            readings become positions, NaN in an unknown turn.
        :param given: Indices of the readings of this message.
        :param timeouts: Timeout of each position [s], same shape; infinite: never.
        :param now: Time of receipt [s].
        :param sent: Stamp of the readings [s], by any clock; NaN: none.
        """
        readings = positions.copy()
        self._unwrap(positions)
        if not self._resolves:
            return
        is_new = np.zeros(len(positions), dtype=bool)
        is_new[given] = True
        is_new &= self._wraps & np.isfinite(positions)
        # After a late message the next one follows soon, but its readings are far away: also use
        # the time between the stamps.
        gap = now - self._times
        gap = np.where(gap < 0.0, gap, np.fmax(gap, sent - self._sent))
        reach = self._find_reach(timeouts, gap)
        moved = np.abs(self._unwrap.steps) / self.periods
        unusual = is_new & ~((moved <= self._usual) & (reach < 0.5) & ~self._open)
        for k in np.flatnonzero(unusual).tolist():
            self._judge_reading(k, float(readings[k]), moved[k], reach[k], gap[k])
        self._times[is_new], self._sent[is_new] = now, sent
        self._readings[is_new] = readings[is_new]
        if unusual.any():
            self._moves[is_new] = reach[is_new]
            positions[self._open] = np.nan
            self._resolve_turns(positions, timeouts, now)
            for number in np.flatnonzero(is_new & self._open):
                self.waited[self._names[number]] += 1

    def _find_reach(self, timeouts: Array, gap: Array) -> Array:
        """Return the largest possible motion in a gap [s], in periods; infinite for a gap < 0."""
        # Without a speed limit, readings within the timeout are counted.
        is_timed = np.isinf(self._speeds) | np.isinf(timeouts)
        reach = np.where(is_timed, 1.0 / timeouts, self._speeds) * gap
        return np.where(gap < 0.0, np.inf, reach)

    def _judge_reading(
        self, place: int, reading: float, moved: float, reach: float, gap: float
    ) -> None:
        """Record a reading that does not fit the period, and lose a turn that is uncertain."""
        period = self.periods[place]
        far, last = self._far[place], self._readings[place]
        most = period * (_SPREAD + self._speeds[place] * (gap + _AT_ONCE))
        has_jumped = gap > 0.0 and moved * period > most
        expected = ''
        if self._open[place] and abs(reading) > far:
            expected = f'expected at most {self._format_for_driver(far, place)} from 0'
        # Some drivers publish zeros before their first reading.
        elif has_jumped and not (self._woke_at_zero[place] and last == 0.0):
            before, away = (self._format_for_driver(each, place) for each in (last, most))
            expected = f'{gap:.3g} s after {before}, expected at most {away} away, modulo turns'
        if expected:
            found, wrap = (self._format_for_driver(each, place) for each in (reading, period))
            words = f'{shown(self._names[place])} reads {found}, {expected}, by the limits'
            self._wrong.setdefault(place, f'{words} and wrap_period {wrap}')
        if has_jumped or not moved + reach < 1.0:
            self._woke_at_zero[place] = reading == 0.0
            self._lose_turns(np.arange(len(self._names)) == place)

    def _format_for_driver(self, position: float, place: int) -> str:
        return f'{self._units.of_drivers(np.array(position), 0, place):.6g}'

    def find_open_actuators(self, timeouts: Array, now: float) -> Mask | None:
        """
        Return the actuators in a turn that is unknown, or would be unknown at a reading now.

        :param timeouts: See :meth:`__call__`.
        :param now: Time [s].
        :returns: Mask, shape ``(n_actuators,)``; ``None``: no actuator.
        """
        unknown: Mask = self._open | (self._find_reach(timeouts, now - self._times) >= 1.0)
        return unknown if unknown.any() else None

    def reopen_turns(self, joints: Array, positions: Array) -> bool:
        """
        Lose the turn if a joint is measured far beyond its limits and another turn fits.

        :param joints: Positions of all joints, shape ``(n_joints,)``.
        :param positions: Positions of all actuators; become NaN if the turn is lost.
        :returns: Whether a turn was lost.
        """
        is_tuned, self._is_tuned = self._is_tuned, False
        beyond = (joints < self._lower) | (joints > self._upper)
        if not beyond.any():
            return False
        lost: Mask = np.zeros(len(self._names), dtype=bool)
        for group in self._groups:
            own, far = group.actuators, [joint for joint in group.joints if beyond[joint]]
            if not far or not np.isfinite(positions[own]).all():
                continue
            group.find_candidates(positions, self._wraps)
            lost[own] = self._wraps[own] & (group.reason != 'none')
            if is_tuned and group.reason != 'none':
                continue  # the new numbers explain another turn
            for joint in far:
                name = self._robot.joint_names[joint]
                self._beyond[name] = (
                    f'{shown(name)} was measured at {joints[joint]:.4g}, beyond its limits by '
                    'more than a quarter of its motion in one wrap_period, and '
                    f'{"no other" if group.reason == "none" else "another"} turn fits: '
                    'check offset, wrap_period and <limit>'
                )
        self._lose_turns(lost)
        positions[lost] = np.nan
        return bool(lost.any())

    def take_joints_beyond(self) -> dict[str, str]:
        """Return a sentence for each joint measured beyond its limits since the last call."""
        beyond, self._beyond = self._beyond, {}
        return beyond

    # -- how turns are resolved ------------------------------------------------------------------

    def use_absolute_positions(
        self, absolute: Array, positions: Array, timeouts: Array, now: float
    ) -> None:
        """
        Compare absolute positions of actuators with readings of nearly the same time.

        :param absolute: Shape ``(n_actuators,)``, NaN: not in this message. With
            ``ignore_absolute_encoder`` they are positions of the joints with the same role.
        :param positions: See :meth:`__call__`; receives resolved positions.
        :param timeouts: See :meth:`__call__`.
        :param now: Time of receipt [s].
        """
        is_given = np.isfinite(absolute)
        self._absolute[is_given], self._absolute_at[is_given] = absolute[is_given], now
        if self._open.any():
            self._resolve_turns(positions, timeouts, now)

    def _resolve_turns(self, positions: Array, timeouts: Array, now: float) -> None:
        """Resolve turns if possible, and write the resolved positions."""
        is_usable = self._open & (now - self._times <= timeouts)
        is_usable[list(self._wrong)] = False
        self._add_turns(np.where(is_usable, self._find_absolute_turns(), np.nan))
        reach = self._find_reach(timeouts, now - self._times)
        base = np.where(is_usable, self._unwrap.totals, positions)
        for group in self._groups:
            if self._open[group.actuators].any():
                late = np.nanmax(reach[group.actuators], initial=0.0)
                self._add_turns(group.find_candidates(base, self._open, late))
        settled = is_usable & ~self._open
        positions[settled] = self._unwrap.totals[settled]

    def _find_absolute_turns(self) -> Array:
        """Return the turns to add by absolute positions, NaN: no position for a reading."""
        robot, absolute = self._robot, self._absolute.copy()
        apart = np.abs(self._times - self._absolute_at)
        joints = robot.actuator_to_joint('absolute_position', absolute)
        back = robot.joint_to_actuator('position', joints)
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                own = list(binding.actuators)
                absolute[own] = back[own]
                apart[own] = np.ptp([self._times[own], self._absolute_at[own]])
        away = (absolute - self._unwrap.totals) / self.periods
        belongs = (apart < self._close) & (np.abs(away - np.rint(away)) <= _AGREEMENT)
        return np.where(belongs, np.rint(away), np.nan)

    def find_nearest_turns(self, wanted: Mapping[str, float], oldest: float) -> dict[int, float]:
        """
        Return positions of actuators in unknown turns that are closest to wanted joint positions.

        :param wanted: Joint to position [rad or m].
        :param oldest: Readings before this time are too old [s].
        :returns: Position by index of the actuator, for :meth:`settle_turns`.
        :raises MessageError: If only some joints of a transmission are named (``unknown_turn``).
        """
        joints = np.array([wanted.get(name, np.nan) for name in self._robot.joint_names])
        away = self._robot.joint_to_actuator('position', joints) - self._unwrap.totals
        positions = self._unwrap.totals + np.rint(away / self.periods) * self.periods
        is_fresh = self._open & (self._times >= oldest)
        found: dict[int, float] = {}
        for group in self._groups:
            own = [place for place in group.actuators if is_fresh[place]]
            named = [name in wanted for name in group.joint_names]
            if own and any(named) and not all(named):
                raise MessageError(
                    'unknown_turn',
                    f'turns of {shortened(group.joint_names)} are unknown: zero all of them',
                )
            if all(named):
                found |= {place: positions[place] for place in own}
        return found

    def settle_turns(self, positions: Mapping[int, float]) -> None:
        """Accept positions of :meth:`find_nearest_turns` as positions of the actuators."""
        turns = np.full(len(self._names), np.nan)
        for place, position in positions.items():
            turns[place] = np.rint((position - self._unwrap.totals[place]) / self.periods[place])
            self._wrong.pop(place, None)
        self._add_turns(turns)

    # -- reports ---------------------------------------------------------------------------------

    def list_open_turns(self) -> list[OpenTurn]:
        """Return the unknown turns of actuators that have readings."""
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
    def driver_shift(self) -> Array | None:
        """
        To subtract from positions for the turns of the drivers' last readings.

        :returns: Shape ``(n_actuators,)``; ``None``: zero.
        """
        shift = np.rint((self._unwrap.totals - self._readings) / self.periods) * self.periods
        shift[np.isnan(shift)] = 0.0
        return shift if shift.any() else None
