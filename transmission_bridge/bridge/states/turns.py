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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.options.options import BridgeOptions, split_pairs, WRAP_PERIOD
from transmission_bridge.bridge.robot_plan import compute_motor_bounds
from transmission_bridge.errors import (
    make_option_error,
    MessageError,
    shortened,
    shown,
    UnknownNameError,
)
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Index, Mask

#: More turns than an encoder makes; their sum still resolves 1e-7 of a turn.
MOST_TURNS = 1e9

#: Tolerance of joint limits, as a share of the joint's motion during one period.
_MARGIN = 0.0025

#: Largest number of candidates: turns, or combinations of the turns of two actuators.
_MOST = 4096

#: Points at which a ratio that varies is evaluated.
_POINTS = 400

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

#: Largest speed of a joint relative to its velocity limit, if the ratio is constant or varies.
_HASTE, _HASTE_VARYING = 1.2, 2.0


def list_wrap_periods(robot: RobotTransmissions, options: BridgeOptions) -> dict[str, float]:
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
            expected = f"a positive number, {WRAP_PERIOD}, in the driver's unit of position"
            raise make_option_error('wrap_period', expected, text, f"period of '{name}'")
        if name in known:
            periods[name] = period
    return periods


def unwrap_positions(positions: Array, totals: Array, periods: Array) -> tuple[Array, Array]:
    """
    Unwrap positions that jump by a period, in place.

    ``total = reading + k * period`` with the integer ``k`` that makes it closest to the last
    total. ``k`` is computed for each reading: errors do not accumulate, and the actuator may move
    up to half a period during a gap. The first reading is used unchanged. NaN does not change the
    turns; a reading of more than :data:`MOST_TURNS` periods becomes NaN.

    :param positions: Readings, shape ``(n,)``; become totals.
    :param totals: The last known totals, same shape, NaN: none; updated.
    :param periods: Period of each position in its unit, same shape, NaN: it does not jump.
    :returns: Differences of the latest and the previous totals, NaN: one is missing; and the turns
        that were added to the readings.
    """
    # The rounding error of a larger reading could be a turn.
    positions[np.abs(positions) > MOST_TURNS * periods] = np.nan
    added = np.rint((totals - positions) / periods) * periods
    added[np.isnan(added)] = 0.0
    positions += added
    steps: Array = positions - totals
    np.copyto(totals, positions, where=~np.isnan(positions))
    return steps, added


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """
    An unknown turn of a transmission, or of several transmissions with common actuators.

    :param actuators: Actuators in an unknown turn.
    :param joints: Joints that are unknown for this reason.
    :param candidates: Positions of these joints for each candidate turn.
    :param reason: ``several`` candidates, ``none``, ``unlimited`` (limits cannot determine it),
        ``fast`` (turns cannot be counted between readings) or ``wrong`` (``wrap_period`` or
        ``position_unit`` is wrong).
    :param words: The found, and for ``wrong`` the expected, value.
    """

    actuators: tuple[str, ...]
    joints: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    reason: str
    words: str = ''

    def __str__(self) -> str:
        """Return a sentence with the candidates and the remedy."""
        command = ' '.join(f'{joint}=POSITION' for joint in self.joints)
        zero = f'"transmission_bridge zero {command}" (~/zero) with POSITION where it is now'
        settle = f'use {zero}, or actuator_absolute_positions'
        found = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        words = {
            'none': f'no turn keeps {shortened(self.joints)} within limits: check '
            f'position_unit, offset, wrap_period and <limit>, or use {zero}',
            'wrong': f'{self.words}: wrap_period or position_unit is wrong: fix it, or use {zero}',
            'fast': f'it can move {self.words} periods between two readings, expected less than '
            'one: check wrap_period, position_unit, velocity limits and the rate of the driver',
            'unlimited': f'limits do not determine it (no limits, more than {_MOST} turns, a '
            f'varying ratio, a shared motor, or more than two motors or joints): {settle}',
            'several': f'{len(found)} fit, with {shortened(found, 4, show=str)}: {settle}, or '
            '<limit>s that leave one turn',
        }
        return f'the turn of {shortened(self.actuators)} is unknown: {words[self.reason]}'


# -- What follows from the robot -----------------------------------------------------------------


class TurnGroup(NamedTuple):
    """
    Transmissions that share actuators, of which one at least is wrapped.

    :param actuators: Indices of their actuators.
    :param joints: Indices of their joints.
    :param ratios: Motion of the joints for a period of each actuator, ``(n_joints, n_actuators)``;
        ``None``: limits do not determine turns.
    """

    actuators: Index
    joints: Index
    ratios: Array | None


class TurnPlan:
    """
    What the robot and the options determine about turns; positions are in SI.

    :param resolves: Whether the first readings are in an unknown turn; otherwise turns are counted
        from them.
    :ivar periods: Period of each actuator, NaN: not wrapped; ``wraps`` is the mask.
    :ivar limits: Limits of the joints as measured, without those for commands only, shape
        ``(2, n_joints)``.
    :ivar travels: Largest motion of each joint while all wrapped actuators move by a period.
    :ivar bounds: Positions of the joints beyond which a turn was lost, shape ``(2, n_joints)``.
    :ivar speeds: Largest speed of each actuator [periods/s].
    :ivar usual: Largest step of each actuator that needs no check of the gap [periods].
    :ivar close: Largest time between an absolute position and a reading to compare [s].
    :ivar far: Largest distance of a reading from zero: a driver may count turns from its position
        at power-up.
    """

    def __init__(
        self, robot: RobotTransmissions, options: BridgeOptions, *, resolves: bool = True
    ) -> None:
        given = list_wrap_periods(robot, options)
        self.robot, self.names = robot, robot.actuator_names
        self.units = DriverUnits(robot)
        periods = np.array([given.get(name, np.nan) for name in self.names])
        self.periods: Array = self.units.in_si(periods, 0)
        self.wraps: Mask = np.isfinite(self.periods)
        self.resolves = resolves
        self.limits: Array = robot.urdf_limits[:, 0]
        # A velocity limit of zero means that it is not given.
        speeds = robot.urdf_limits[1, FIELDS.index('velocity')]
        self._velocity = np.where(speeds > 0.0, speeds, np.inf)
        types = {joint.name: joint.type for joint in robot.description.joints}
        kinds = [types.get(name) for name in robot.joint_names]
        self._is_continuous: Mask = np.array([kind == 'continuous' for kind in kinds])
        self.travels: Array = np.full(len(speeds), np.inf)
        most = compute_motor_bounds(robot)[1, FIELDS.index('velocity')]
        self.speeds: Array = _HASTE * most / self.periods
        self.far: Array = np.full(len(self.names), np.inf)
        self.groups = tuple(self._make_groups()) if self.resolves else ()
        self.bounds = self.limits + _AGREEMENT * np.array([-self.travels, self.travels])
        self.usual = _SPREAD + _AT_ONCE * self.speeds
        self.close = np.where(np.isinf(self.speeds), _AT_ONCE, _AGREEMENT / self.speeds)

    def _make_groups(self) -> Iterator[TurnGroup]:
        labels = np.arange(len(self.names))
        for binding in self.robot.bindings:
            own = labels[list(binding.actuators)]
            labels[np.isin(labels, own)] = own[0]
        for label in np.unique(labels[self.wraps]):
            yield self._make_group(np.flatnonzero(labels == label))

    def _make_group(self, own: Index) -> TurnGroup:
        """Return the transmissions of these actuators, and note their speeds and travels."""
        bindings = [each for each in self.robot.bindings if each.actuators[0] in own]
        joints = np.unique([joint for each in bindings for joint in each.joints])
        is_constant = all(each.transmission.is_constant for each in bindings)
        rates = self._sample_rates(own, joints, is_constant)
        periods = np.where(self.wraps[own], self.periods[own], 1.0)
        shares = np.abs(np.linalg.pinv(rates)) / periods[:, np.newaxis]
        shares[shares < 1e-9 * shares.max(initial=0.0)] = 0.0
        lower, upper = self.limits[:, joints]
        haste = _HASTE if is_constant else _HASTE_VARYING
        amounts = np.array([haste * self._velocity[joints], upper - lower])[:, None, None]
        parts = np.zeros((2, *shares.shape))
        np.multiply(shares, amounts, out=parts, where=shares > 0.0)
        most = parts.sum(axis=3).max(axis=1, initial=0.0)
        # An actuator that moves no joint has no limit.
        speeds, reach = np.where(most > 0.0, most, np.inf)
        self.speeds[own] = np.minimum(self.speeds[own], speeds)
        self.far[own] = (1.0 + _AGREEMENT + reach) * self.periods[own]
        ratios = rates * np.where(self.wraps[own], periods, 0.0)
        travels = np.abs(ratios).sum(axis=2).max(axis=0, initial=0.0)
        self.travels[joints] = np.where(travels > 0.0, travels, np.inf)
        is_simple = is_constant and len(bindings) == 1 and len(own) <= min(2, len(joints))
        return TurnGroup(own, joints, ratios[0] if is_simple else None)

    def _sample_rates(self, own: Index, joints: Index, is_constant: bool) -> Array:
        """Return motions of joints for motions of actuators, ``(n, n_joints, n_actuators)``."""
        robot, points = self.robot, np.zeros((1, len(self.names)))
        if not is_constant:
            # A third of the positions of each joint are at the ends of its range.
            ends = np.where(self._is_continuous, [[-math.pi], [math.pi]], self.limits)
            lower, upper = ends[:, joints]
            dice = np.random.default_rng(0).uniform(-0.25, 1.25, (_POINTS, len(joints)))
            where = np.full((_POINTS, len(self.travels)), np.nan)
            where[:, joints] = lower + np.clip(dice, 0.0, 1.0) * (upper - lower)
            points = robot.joint_to_actuator('position', where)
        rates = robot.jacobian(points)[:, joints][:, :, own]
        found: Array = rates[np.isfinite(rates).all(axis=(1, 2))]
        return found

    def compute_candidates(self, group: TurnGroup, covered: Array, is_open: Mask) -> Array | None:
        """
        Return the turns to add to a group that keep its joints within limits.

        :param covered: Lowest and highest position of each joint in the counted turn, shape
            ``(2, n_joints)``, NaN: none.
        :param is_open: Mask of its actuators in an unknown turn.
        :returns: Shape ``(n, n_open)``, the nearest first, without those that lead to the same
            positions; ``None``: too many, or not determined by limits.
        """
        if group.ratios is None or np.isnan(covered).any():
            return None
        # A few turns lead to all different angles of a continuous joint.
        most = math.pi + 4.0 * self.travels[group.joints]
        is_continuous = self._is_continuous[group.joints]
        free = np.clip(self.limits[:, group.joints] - covered, -1e12, 1e12)
        low, high = np.where(is_continuous, [-most, most], free)
        ratios = group.ratios[:, is_open]
        inverse = np.linalg.pinv(ratios)
        center, half = inverse @ (low + high) / 2.0, np.abs(inverse) @ (high - low) / 2.0
        first, last = np.ceil(center - half - _SAME), np.floor(center + half + _SAME)
        if np.maximum(last - first + 1.0, 0.0).prod() > _MOST:
            return None
        turns: Array = np.stack(np.meshgrid(*map(np.arange, first, last + 1.0)), axis=-1)
        turns = turns.reshape(-1, len(first))
        turns = turns[np.argsort(np.square(turns).sum(axis=1), kind='stable')]
        moved = turns @ ratios.T
        fits = ((moved >= low) & (moved <= high)).all(axis=1)
        turns, moved = turns[fits], moved[fits]
        if is_continuous.any():
            away = moved - moved[:1]
            steps = np.where(is_continuous, np.exp(1j * away) / _SAME_ANGLE, away / _SAME)
            turns = turns[np.sort(np.unique(np.rint(steps), axis=0, return_index=True)[1])]
        return turns


# -- What messages change ------------------------------------------------------------------------


class Turns:
    """
    Counts the turns of the wrapped actuators of a robot, and resolves unknown turns.

    The turn of an actuator is unknown at its first reading, and after a gap in which it could have
    moved half a period. Its largest speed follows from its velocity limit and those of its joints.
    Without these limits it is one period per timeout of its driver; a driver without a timeout is
    silent while nothing moves. The turn becomes unknown if a joint is measured far beyond its
    limits, unless these limits exclude every other turn. If the readings do not fit the period, it
    stays unknown. While the turn is unknown, the position is unknown.

    Positions and readings are in SI. Every method has the present plan as an argument.

    :ivar is_open: Mask of the actuators in an unknown turn.
    :ivar totals: Readings with the counted turns, also in an unknown turn.
    """

    def __init__(self, plan: TurnPlan) -> None:
        # Positions of joints beyond their limits, and whether another turn is possible.
        self._beyond: dict[int, tuple[float, str]] = {}
        self._is_tuned = False
        self.forget_turns(plan)

    def forget_turns(self, plan: TurnPlan) -> None:
        """Forget everything, because time went backwards."""
        nothing = np.full((6, len(plan.names)), np.nan)
        self.totals, self._readings, self._times, self._sent = nothing[:4]
        self._absolute, self._absolute_at = nothing[4:]
        self._woke_at_zero: Mask = np.zeros(len(plan.names), dtype=bool)
        # Turns of the positions, in addition to the last readings.
        self._shift: Array = np.zeros(len(plan.names))
        # Without a timeout silence means rest, but not before the first reading of an activation.
        self._was_deaf: Mask = np.zeros(len(plan.names), dtype=bool)
        # Turns that were lost or found, see take_changes.
        self._changed: Mask | None = None
        # Largest possible motion between the last two readings, in periods.
        self._moves: Array = np.zeros(len(plan.names))
        # Readings that do not fit the period: reading, previous one (or zero), time between the
        # two (or NaN), and largest motion.
        self._wrong: dict[int, tuple[float, float, float, float]] = {}
        # Lowest and highest positions of the joints, in the counted turn, since it was lost.
        self._covered: Array = np.full((2, len(plan.travels)), np.nan)
        self.is_open: Mask = plan.wraps & plan.resolves

    def reset(self, plan: TurnPlan) -> None:
        """Start again after activation; turns stay known if the gap was short enough."""
        self._wrong.clear()
        self._was_deaf[:] = True

    def accept_tuning(self, before: TurnPlan, after: TurnPlan) -> None:
        """
        Use a new plan; known turns stay known unless other turns fit the new numbers.

        Readings that did not fit the period still do not fit it, unless their bounds change.
        """
        self._is_tuned = True
        old, new = (np.array([each.speeds, each.far]) for each in (before, after))
        is_same = np.isclose(old, new, rtol=1e-9, equal_nan=True).all(axis=0)
        self._wrong = {place: each for place, each in self._wrong.items() if is_same[place]}
        self._covered[:] = np.nan

    def take_changes(self) -> Mask | None:
        """Return the actuators with a turn that was lost or found since the last call."""
        changed, self._changed = self._changed, None
        return changed

    def _lose_turns(self, plan: TurnPlan, lost: Mask) -> None:
        if lost.any():
            self._changed = lost if self._changed is None else self._changed | lost
        self.is_open[lost] = True
        for group in plan.groups:
            if lost[group.actuators].any():
                self._covered[:, group.joints] = np.nan

    def _add_turns(self, plan: TurnPlan, turns: Array) -> None:
        """Add turns to the totals; NaN: not resolved."""
        is_settled = np.isfinite(turns)
        added = (turns * plan.periods)[is_settled]
        self.totals[is_settled] += added
        self._shift[is_settled] += added
        self._lose_turns(plan, is_settled)
        self.is_open[is_settled] = False

    # -- readings --------------------------------------------------------------------------------

    def count_turns(
        self,
        plan: TurnPlan,
        readings: Array,
        read: Index | slice,
        timeouts: Array,
        now: float,
        sent: float = np.nan,
    ) -> Array:
        """
        Use the readings of a message.

        :param readings: Readings of a message, and positions of other actuators, shape
            ``(n_actuators,)``.
        :param read: Indices of the readings of this message.
        :param timeouts: Timeout of each position [s], same shape; infinite: never.
        :param now: Time of receipt [s].
        :param sent: Stamp of the readings [s], by any clock; NaN: none.
        :returns: Positions of all actuators, NaN in an unknown turn.
        """
        positions = readings.copy()
        steps, added = unwrap_positions(positions, self.totals, plan.periods)
        moved = np.abs(steps) / plan.periods
        if not plan.resolves:
            return positions
        is_new = np.zeros(len(positions), dtype=bool)
        is_new[read] = True
        is_new &= plan.wraps & np.isfinite(positions)
        # After a late message the next one follows soon, but its readings are far away: also use
        # the time between the stamps.
        gap = now - self._times
        gap = np.where(gap < 0.0, gap, np.fmax(gap, sent - self._sent))
        heard = np.where(self._was_deaf & np.isinf(timeouts), _AT_ONCE, timeouts)
        reach = _compute_gap_reach(plan, heard, gap)
        self._was_deaf &= ~is_new
        unusual = is_new & ~((moved <= plan.usual) & (reach < 0.5) & ~self.is_open)
        for k in np.flatnonzero(unusual).tolist():
            self._judge_reading(plan, k, float(readings[k]), moved[k], reach[k], gap[k])
        self._times[is_new], self._sent[is_new] = now, sent
        self._readings[is_new], self._shift[is_new] = readings[is_new], added[is_new]
        if unusual.any():
            self._moves[is_new] = reach[is_new]
            positions[self.is_open] = np.nan
            self._resolve_turns(plan, positions, timeouts, now)
        return positions

    def _judge_reading(
        self, plan: TurnPlan, place: int, reading: float, moved: float, reach: float, gap: float
    ) -> None:
        """Record a reading that does not fit the period, and lose a turn that is uncertain."""
        last = self._readings[place]
        most = _SPREAD + plan.speeds[place] * (gap + _AT_ONCE)
        has_jumped = gap > 0.0 and moved > most
        if self.is_open[place] and abs(reading) > plan.far[place]:
            self._wrong.setdefault(place, (reading, 0.0, math.nan, plan.far[place]))
        # Some drivers publish zeros before their first reading.
        elif has_jumped and not (self._woke_at_zero[place] and last == 0.0):
            self._wrong.setdefault(place, (reading, last, gap, most * plan.periods[place]))
        if has_jumped or not moved + reach < 1.0:
            self._woke_at_zero[place] = reading == 0.0
            self._lose_turns(plan, np.arange(len(plan.names)) == place)

    def compute_counted_until(self, plan: TurnPlan, timeouts: Array) -> Array:
        """
        Return the time from which a reading would be in an unknown turn [s], by actuator.

        :param timeouts: See :meth:`count_turns`.
        :returns: Shape ``(n_actuators,)``; minus infinity: it is unknown now; NaN: not wrapped.
        """
        with np.errstate(divide='ignore'):
            most = 1.0 / _compute_gap_reach(plan, timeouts, np.ones(len(plan.names)))
        return np.where(self.is_open, -np.inf, np.nextafter(self._times + most, -np.inf))

    def reopen_turns(self, plan: TurnPlan, joints: Array, positions: Array) -> Mask:
        """
        Lose the turn if a joint is measured far beyond its limits and another turn is possible.

        :param joints: Positions of all joints, shape ``(n_joints,)``.
        :param positions: Positions of all actuators.
        :returns: Mask of the actuators with a turn that was lost.
        """
        is_tuned, self._is_tuned = self._is_tuned, False
        beyond = (joints < plan.bounds[0]) | (joints > plan.bounds[1])
        lost: Mask = np.zeros(len(plan.names), dtype=bool)
        if not beyond.any():
            return lost
        for group in plan.groups:
            own, far = group.actuators, group.joints[beyond[group.joints]]
            if not len(far) or not np.isfinite(positions[own]).all():
                continue
            covered = _widen(joints[group.joints], _MARGIN * plan.travels[group.joints])
            turns = plan.compute_candidates(group, covered, plan.wraps[own])
            is_possible = turns is None or len(turns) > 0
            lost[own] = plan.wraps[own] & is_possible
            if not (is_tuned and is_possible):  # else the new numbers explain another turn
                other = 'another' if is_possible else 'no other'
                self._beyond |= {joint: (joints[joint], other) for joint in far.tolist()}
        self._lose_turns(plan, lost)
        return lost

    # -- how turns are resolved ------------------------------------------------------------------

    def use_absolute_positions(
        self, plan: TurnPlan, absolute: Array, positions: Array, timeouts: Array, now: float
    ) -> Array:
        """
        Compare absolute positions of actuators with readings of nearly the same time.

        :param absolute: Shape ``(n_actuators,)``, NaN: not in this message. With
            ``ignore_absolute_encoder`` they are positions of the joints with the same role.
        :param positions: Positions of all actuators, shape ``(n_actuators,)``.
        :param timeouts: See :meth:`count_turns`.
        :param now: Time of receipt [s].
        :returns: The positions, with those of resolved turns.
        """
        is_given = np.isfinite(absolute)
        self._absolute[is_given], self._absolute_at[is_given] = absolute[is_given], now
        positions = positions.copy()
        if self.is_open.any():
            self._resolve_turns(plan, positions, timeouts, now)
        return positions

    def _resolve_turns(
        self, plan: TurnPlan, positions: Array, timeouts: Array, now: float
    ) -> None:
        """Resolve turns if possible, and write the resolved positions."""
        is_usable = self.is_open & (now - self._times <= timeouts)
        is_usable[list(self._wrong)] = False
        self._add_turns(plan, np.where(is_usable, self._compute_absolute_turns(plan), np.nan))
        base = np.where(is_usable, self.totals, positions)
        joints = plan.robot.actuator_to_joint('position', base)
        reach = _compute_gap_reach(plan, timeouts, now - self._times)
        for group in plan.groups:
            own, is_open = group.actuators, self.is_open[group.actuators]
            if not is_open.any() or np.isnan(base[own]).any():
                continue
            late = np.nanmax(reach[own], initial=0.0)
            here = _widen(joints[group.joints], (_MARGIN + late) * plan.travels[group.joints])
            low, high = self._covered[:, group.joints]
            covered = np.array([np.fmin(low, here[0]), np.fmax(high, here[1])])
            grown = np.abs(covered - self._covered[:, group.joints])
            if (grown < _MARGIN * plan.travels[group.joints]).all():
                continue
            turns = plan.compute_candidates(group, covered, is_open)
            if turns is not None and not len(turns):  # go on looking
                covered, turns = here, plan.compute_candidates(group, here, is_open)
            self._covered[:, group.joints] = covered
            if turns is not None and len(turns) == 1:
                added = np.full(len(base), np.nan)
                added[own[is_open]] = turns[0]
                self._add_turns(plan, added)
        settled = is_usable & ~self.is_open
        positions[settled] = self.totals[settled]

    def _compute_absolute_turns(self, plan: TurnPlan) -> Array:
        """Return the turns to add by absolute positions, NaN: no position for a reading."""
        robot, absolute = plan.robot, self._absolute.copy()
        apart = np.abs(self._times - self._absolute_at)
        joints = robot.actuator_to_joint('absolute_position', absolute)
        back = robot.joint_to_actuator('position', joints)
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                own = list(binding.actuators)
                absolute[own] = back[own]
                apart[own] = np.ptp([self._times[own], self._absolute_at[own]])
        away = (absolute - self.totals) / plan.periods
        belongs = (apart < plan.close) & (np.abs(away - np.rint(away)) <= _AGREEMENT)
        return np.where(belongs, np.rint(away), np.nan)

    def compute_nearest_turns(
        self, plan: TurnPlan, wanted: Mapping[str, float], oldest: Array
    ) -> Array:
        """
        Return positions of actuators in unknown turns that are closest to wanted joint positions.

        :param wanted: Joint to position [rad or m].
        :param oldest: Time before which a reading is too old [s], shape ``(n_actuators,)``.
        :returns: Shape ``(n_actuators,)``, for :meth:`settle_turns`; NaN: none.
        :raises MessageError: If only some joints of a transmission are named (``unknown_turn``).
        """
        names = plan.robot.joint_names
        joints = np.array([wanted.get(name, np.nan) for name in names])
        away = plan.robot.joint_to_actuator('position', joints) - self.totals
        is_fresh = self.is_open & (self._times >= oldest)
        for group in plan.groups:
            is_named = np.isfinite(joints[group.joints])
            if is_fresh[group.actuators].any() and is_named.any() and not is_named.all():
                own = f'turns of {shortened([names[k] for k in group.joints])} are unknown'
                raise MessageError('unknown_turn', f'{own}: zero all of them')
        turns = np.rint(away / plan.periods)
        return np.where(is_fresh, self.totals + turns * plan.periods, np.nan)

    def settle_turns(self, plan: TurnPlan, positions: Array) -> None:
        """Accept positions of :meth:`compute_nearest_turns` as positions of the actuators."""
        for place in np.flatnonzero(np.isfinite(positions)).tolist():
            self._wrong.pop(place, None)
        self._add_turns(plan, np.rint((positions - self.totals) / plan.periods))

    # -- reports ---------------------------------------------------------------------------------

    def list_open_turns(self, plan: TurnPlan) -> list[OpenTurn]:
        """Return the unknown turns of actuators that have readings."""
        joints = plan.robot.actuator_to_joint('position', self.totals)
        found = []
        for group in plan.groups:
            is_open, at = self.is_open[group.actuators], np.empty((0, len(group.joints)))
            own = group.actuators[is_open].tolist()
            words = '; '.join(self._describe_wrong(plan, k) for k in own if k in self._wrong)
            if not own or not (words or np.isfinite(self.totals[group.actuators]).all()):
                continue
            turns = plan.compute_candidates(group, self._covered[:, group.joints], is_open)
            reason = 'wrong' if words else 'unlimited'
            if turns is not None and group.ratios is not None and not words:
                reason = 'several' if len(turns) else 'none'
                at = joints[group.joints] + turns @ group.ratios[:, is_open].T
            moves = self._moves[own].max()
            if reason in ('several', 'unlimited') and 1.0 <= moves < math.inf:
                reason, words = 'fast', f'{moves:.3g}'
            names = tuple(plan.names[place] for place in own)
            joint_names = tuple(plan.robot.joint_names[joint] for joint in group.joints)
            found.append(OpenTurn(names, joint_names, tuple(map(tuple, at)), reason, words))
        return found

    def _describe_wrong(self, plan: TurnPlan, place: int) -> str:
        reading, before, gap, most = self._wrong[place]
        found, start, away, wrap = (
            f'{plan.units.of_drivers(np.array(each), 0, place):.6g}'
            for each in (reading, before, most, plan.periods[place])
        )
        when = '' if math.isnan(gap) else f' {gap:.3g} s before, modulo turns'
        return (
            f'{shown(plan.names[place])} reads {found}, expected at most {away} from {start}'
            f'{when}, by the limits and wrap_period {wrap}'
        )

    def take_joints_beyond(self, plan: TurnPlan) -> dict[str, str]:
        """Return a sentence for each joint measured beyond its limits since the last call."""
        beyond, self._beyond = self._beyond, {}
        return {
            (name := plan.robot.joint_names[joint]): f'{shown(name)} was measured at {at:.4g}, '
            'beyond its limits by more than a quarter of its motion in one wrap_period, and '
            f'{other} turn fits: check offset, wrap_period and <limit>'
            for joint, (at, other) in beyond.items()
        }

    def compute_driver_shift(self) -> Array | None:
        """
        Return what to subtract from positions for the turns of the drivers' last readings.

        :returns: Shape ``(n_actuators,)``; ``None``: zero.
        """
        return self._shift.copy() if self._shift.any() else None


def _compute_gap_reach(plan: TurnPlan, timeouts: Array, gap: Array) -> Array:
    """Return the largest possible motion in a gap [s], in periods; infinite for a gap < 0."""
    # Without a speed limit, readings within the timeout are counted.
    is_timed = np.isinf(plan.speeds) | np.isinf(timeouts)
    reach = np.where(is_timed, 1.0 / timeouts, plan.speeds) * gap
    return np.where(gap < 0.0, np.inf, reach)


def _widen(positions: Array, margin: Array) -> Array:
    """Return the lowest and the highest position that a joint has certainly covered."""
    return np.array([positions + margin, positions - margin])
