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

States own the turns and call what writes them, in one thread. Diagnostics and ``tune`` read
unknown turns; calibration in tools unwraps recorded positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.bridge.states.encoders import (
    AGREEMENT,
    AT_ONCE,
    MOST_CANDIDATES,
    SPREAD,
    WrappedEncoders,
)
from transmission_bridge.errors import MessageError, shortened, shown
from transmission_bridge.types import Array, Index, Mask

#: More turns than an encoder makes; their sum still resolves 1e-7 of a turn.
MOST_TURNS = 1e9

#: Tolerance of joint limits, as a share of the joint's motion during one period.
_MARGIN = 0.0025


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
    :param reason: Part of public keys of diagnostics: ``several`` candidates, ``none``,
        ``unlimited`` (limits cannot determine it), ``fast`` (turns cannot be counted between
        readings) or ``wrong`` (``wrap_period`` or ``position_unit`` is wrong).
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
        fits = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        words = {
            'none': f'no turn keeps {shortened(self.joints)} within limits: check '
            f'position_unit, offset, wrap_period and <limit>, or use {zero}',
            'wrong': f'{self.words}: wrap_period or position_unit is wrong: fix it, or use {zero}',
            'fast': f'it can move {self.words} periods between two readings, expected less than '
            'one: check wrap_period, position_unit, velocity limits and the rate of the driver',
            'unlimited': 'limits do not determine it (no limits, more than '
            f'{MOST_CANDIDATES} turns, a varying ratio, a shared motor, or more than two motors '
            f'or joints): {settle}',
            'several': f'{len(fits)} fit, with {shortened(fits, 4, show=str)}: {settle}, or '
            '<limit>s that leave one turn',
        }
        return f'the turn of {shortened(self.actuators)} is unknown: {words[self.reason]}'


class Turns:
    """
    Counts the turns of the wrapped actuators of a robot, and resolves unknown turns.

    The turn of an actuator is unknown at its first reading, and after a gap in which it could have
    moved half a period. Its largest speed follows from its velocity limit and those of its joints.
    Without these limits it is one period per timeout of its driver; a driver without a timeout is
    silent while nothing moves. The turn becomes unknown if a joint is measured far beyond its
    limits, unless these limits exclude every other turn. If the readings do not fit the period, it
    stays unknown. While the turn is unknown, the position is unknown.

    States pass each message to :meth:`count_turns`, joints to :meth:`reopen_turns` after each map,
    and the result of :meth:`take_changes` to the spells afterwards. Positions and readings are in
    SI, times [s] by the clock of times of receipt.

    :param encoders: What the robot determines; tuning replaces it.
    :ivar wraps: Mask of the wrapped actuators.
    :ivar is_open: Mask of the actuators in an unknown turn.
    :ivar totals: Readings with the counted turns, also in an unknown turn.
    """

    def __init__(self, encoders: WrappedEncoders) -> None:
        self._encoders, self.wraps = encoders, encoders.wraps
        # Positions of joints beyond their limits, and whether another turn is possible, until
        # diagnostics take them.
        self._beyond: dict[int, tuple[float, str]] = {}
        # Whether numbers changed since the last look at joints beyond their limits.
        self._is_tuned = False
        self.forget_turns()

    def forget_turns(self) -> None:
        """Forget everything, because time went backwards."""
        count = len(self._encoders.names)
        nothing = np.full((6, count), np.nan)
        # Totals and last readings, their times of receipt, and their stamps [s].
        self.totals, self._readings, self._times, self._sent = nothing[:4]
        self._absolute, self._absolute_at = nothing[4:]
        # Turns of the positions, in addition to the last readings; and the largest possible motion
        # between the last two readings, in periods.
        self._shift, self._moves = np.zeros((2, count))
        # Without a timeout silence means rest, but not before the first reading of an activation.
        self._woke_at_zero, self._was_deaf = np.zeros((2, count), dtype=bool)
        # Turns that were lost or found, see take_changes.
        self._changed: Mask | None = None
        # Readings that do not fit the period: reading, previous one (or zero), time between the
        # two (or NaN), and largest motion.
        self._wrong: dict[int, tuple[float, float, float, float]] = {}
        # Lowest and highest positions of the joints, in the counted turn, since it was lost.
        self._covered: Array = np.full((2, len(self._encoders.travels)), np.nan)
        self.is_open: Mask = self._encoders.wraps & self._encoders.resolves

    def reset(self) -> None:
        """Start again after activation; turns stay known if the gap was short enough."""
        self._wrong.clear()
        self._was_deaf[:] = True

    def accept_tuning(self, encoders: WrappedEncoders) -> None:
        """
        Use new numbers; known turns stay known unless other turns fit the new numbers.

        Readings that did not fit the period still do not fit it, unless their bounds change.
        """
        former, self._encoders, self._is_tuned = self._encoders, encoders, True
        old, new = (np.array([bounds.speeds, bounds.far]) for bounds in (former, encoders))
        is_same = np.isclose(old, new, rtol=1e-9, equal_nan=True).all(axis=0)
        self._wrong = {motor: wrong for motor, wrong in self._wrong.items() if is_same[motor]}
        self._covered[:] = np.nan

    def take_changes(self) -> Mask | None:
        """Return the turns that were lost or found since the last call, only for spells."""
        changed, self._changed = self._changed, None
        return changed

    def _lose_turns(self, lost: Mask) -> None:
        if lost.any():
            self._changed = lost if self._changed is None else self._changed | lost
        self.is_open[lost] = True
        for group in self._encoders.groups:
            if lost[group.actuators].any():
                self._covered[:, group.joints] = np.nan

    def _add_turns(self, turns: Array) -> None:
        """Add turns to the totals; NaN: not resolved."""
        is_settled = np.isfinite(turns)
        added = (turns * self._encoders.periods)[is_settled]
        self.totals[is_settled] += added
        self._shift[is_settled] += added
        self._lose_turns(is_settled)
        self.is_open[is_settled] = False

    # -- readings --------------------------------------------------------------------------------

    def count_turns(
        self,
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
        steps, added = unwrap_positions(positions, self.totals, self._encoders.periods)
        moved = np.abs(steps) / self._encoders.periods
        if not self._encoders.resolves:
            return positions
        is_new = np.zeros(len(positions), dtype=bool)
        is_new[read] = True
        is_new &= self._encoders.wraps & np.isfinite(positions)
        # After a late message the next one follows soon, but its readings are far away: also use
        # the time between the stamps.
        gap = now - self._times
        gap = np.where(gap < 0.0, gap, np.fmax(gap, sent - self._sent))
        heard = np.where(self._was_deaf & np.isinf(timeouts), AT_ONCE, timeouts)
        reach = self._encoders.compute_gap_reach(heard, gap)
        self._was_deaf &= ~is_new
        unusual = is_new & ~((moved <= self._encoders.usual) & (reach < 0.5) & ~self.is_open)
        for k in np.flatnonzero(unusual).tolist():
            self._judge_reading(k, float(readings[k]), moved[k], reach[k], gap[k])
        self._times[is_new], self._sent[is_new] = now, sent
        self._readings[is_new], self._shift[is_new] = readings[is_new], added[is_new]
        if unusual.any():
            self._moves[is_new] = reach[is_new]
            positions[self.is_open] = np.nan
            self._resolve_turns(positions, timeouts, now)
        return positions

    def _judge_reading(
        self,
        motor: int,
        reading: float,
        moved: float,
        reach: float,
        gap: float,
    ) -> None:
        """Record a reading that does not fit the period, and lose a turn that is uncertain."""
        last, far = self._readings[motor], self._encoders.far[motor]
        most = SPREAD + self._encoders.speeds[motor] * (gap + AT_ONCE)
        has_jumped = gap > 0.0 and moved > most
        if self.is_open[motor] and abs(reading) > far:
            self._wrong.setdefault(motor, (reading, 0.0, math.nan, far))
        # Some drivers publish zeros before their first reading.
        elif has_jumped and not (self._woke_at_zero[motor] and last == 0.0):
            reach_of_gap = most * self._encoders.periods[motor]
            self._wrong.setdefault(motor, (reading, last, gap, reach_of_gap))
        if has_jumped or not moved + reach < 1.0:
            self._woke_at_zero[motor] = reading == 0.0
            self._lose_turns(np.arange(len(self._encoders.names)) == motor)

    def compute_counted_until(self, timeouts: Array) -> Array:
        """
        Return the time from which a reading would be in an unknown turn [s], by actuator.

        :param timeouts: See :meth:`count_turns`.
        :returns: Shape ``(n_actuators,)``; minus infinity: it is unknown now; NaN: not wrapped.
        """
        with np.errstate(divide='ignore'):
            most = 1.0 / self._encoders.compute_gap_reach(timeouts, np.ones(len(timeouts)))
        return np.where(self.is_open, -np.inf, np.nextafter(self._times + most, -np.inf))

    def reopen_turns(self, joints: Array, positions: Array) -> Mask:
        """
        Lose the turn if a joint is measured far beyond its limits and another turn is possible.

        :param joints: Positions of all joints, shape ``(n_joints,)``.
        :param positions: Positions of all actuators.
        :returns: Mask of the actuators with a turn that was lost.
        """
        is_tuned, self._is_tuned = self._is_tuned, False
        beyond = (joints < self._encoders.bounds[0]) | (joints > self._encoders.bounds[1])
        lost: Mask = np.zeros(len(self._encoders.names), dtype=bool)
        if not beyond.any():
            return lost
        for group in self._encoders.groups:
            motors, far = group.actuators, group.joints[beyond[group.joints]]
            if not len(far) or not np.isfinite(positions[motors]).all():
                continue
            covered = _widen(joints[group.joints], _MARGIN * self._encoders.travels[group.joints])
            turns = self._encoders.compute_candidates(group, covered, self._encoders.wraps[motors])
            is_possible = turns is None or len(turns) > 0
            lost[motors] = self._encoders.wraps[motors] & is_possible
            if not (is_tuned and is_possible):  # else the new numbers explain another turn
                other = 'another' if is_possible else 'no other'
                self._beyond |= {joint: (joints[joint], other) for joint in far.tolist()}
        self._lose_turns(lost)
        return lost

    # -- how turns are resolved ------------------------------------------------------------------

    def use_absolute_positions(
        self, absolute: Array, positions: Array, timeouts: Array, now: float
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
            self._resolve_turns(positions, timeouts, now)
        return positions

    def _resolve_turns(self, positions: Array, timeouts: Array, now: float) -> None:
        """Resolve turns if possible, and write the resolved positions."""
        is_usable = self.is_open & (now - self._times <= timeouts)
        is_usable[list(self._wrong)] = False
        self._add_turns(np.where(is_usable, self._compute_absolute_turns(), np.nan))
        base = np.where(is_usable, self.totals, positions)
        joints = self._encoders.robot.actuator_to_joint('position', base)
        reach = self._encoders.compute_gap_reach(timeouts, now - self._times)
        for group in self._encoders.groups:
            motors, is_open = group.actuators, self.is_open[group.actuators]
            if not is_open.any() or np.isnan(base[motors]).any():
                continue
            late = np.nanmax(reach[motors], initial=0.0)
            travels = self._encoders.travels[group.joints]
            here = _widen(joints[group.joints], (_MARGIN + late) * travels)
            low, high = self._covered[:, group.joints]
            covered = np.array([np.fmin(low, here[0]), np.fmax(high, here[1])])
            grown = np.abs(covered - self._covered[:, group.joints])
            if (grown < _MARGIN * travels).all():
                continue
            turns = self._encoders.compute_candidates(group, covered, is_open)
            if turns is not None and not len(turns):  # go on looking
                covered, turns = here, self._encoders.compute_candidates(group, here, is_open)
            self._covered[:, group.joints] = covered
            if turns is not None and len(turns) == 1:
                added = np.full(len(base), np.nan)
                added[motors[is_open]] = turns[0]
                self._add_turns(added)
        settled = is_usable & ~self.is_open
        positions[settled] = self.totals[settled]

    def _compute_absolute_turns(self) -> Array:
        """Return the turns to add by absolute positions, NaN: no position for a reading."""
        robot, absolute = self._encoders.robot, self._absolute.copy()
        apart = np.abs(self._times - self._absolute_at)
        joints = robot.actuator_to_joint('absolute_position', absolute)
        back = robot.joint_to_actuator('position', joints)
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                motors = list(binding.actuators)
                absolute[motors] = back[motors]
                apart[motors] = np.ptp([self._times[motors], self._absolute_at[motors]])
        away = (absolute - self.totals) / self._encoders.periods
        belongs = (apart < self._encoders.close) & (np.abs(away - np.rint(away)) <= AGREEMENT)
        return np.where(belongs, np.rint(away), np.nan)

    def compute_nearest_turns(self, wanted: Mapping[str, float], oldest: Array) -> Array:
        """
        Return positions of actuators in unknown turns that are closest to wanted joint positions.

        :param wanted: Joint to position [rad or m].
        :param oldest: Time before which a reading is too old [s], shape ``(n_actuators,)``.
        :returns: Shape ``(n_actuators,)``, for :meth:`settle_turns`; NaN: none.
        :raises MessageError: If only some joints of a transmission are named (``unknown_turn``).
        """
        names = self._encoders.robot.joint_names
        joints = np.array([wanted.get(name, np.nan) for name in names])
        away = self._encoders.robot.joint_to_actuator('position', joints) - self.totals
        is_fresh = self.is_open & (self._times >= oldest)
        for group in self._encoders.groups:
            is_named = np.isfinite(joints[group.joints])
            if is_fresh[group.actuators].any() and is_named.any() and not is_named.all():
                sentence = f'turns of {shortened([names[k] for k in group.joints])} are unknown'
                raise MessageError('unknown_turn', f'{sentence}: zero all of them')
        turns = np.rint(away / self._encoders.periods)
        return np.where(is_fresh, self.totals + turns * self._encoders.periods, np.nan)

    def settle_turns(self, positions: Array) -> None:
        """Accept positions of :meth:`compute_nearest_turns` as positions of the actuators."""
        for actuator in np.flatnonzero(np.isfinite(positions)).tolist():
            self._wrong.pop(actuator, None)
        self._add_turns(np.rint((positions - self.totals) / self._encoders.periods))

    # -- reports ---------------------------------------------------------------------------------

    def list_open_turns(self) -> list[OpenTurn]:
        """Return the unknown turns of actuators that have readings."""
        joints = self._encoders.robot.actuator_to_joint('position', self.totals)
        open_turns = []
        for group in self._encoders.groups:
            is_open, at = self.is_open[group.actuators], np.empty((0, len(group.joints)))
            actuators = group.actuators[is_open].tolist()
            words = '; '.join(self._describe_wrong(k) for k in actuators if k in self._wrong)
            if not actuators or not (words or np.isfinite(self.totals[group.actuators]).all()):
                continue
            covered = self._covered[:, group.joints]
            turns = self._encoders.compute_candidates(group, covered, is_open)
            reason = 'wrong' if words else 'unlimited'
            if turns is not None and group.ratios is not None and not words:
                reason = 'several' if len(turns) else 'none'
                at = joints[group.joints] + turns @ group.ratios[:, is_open].T
            moves = self._moves[actuators].max()
            if reason in ('several', 'unlimited') and 1.0 <= moves < math.inf:
                reason, words = 'fast', f'{moves:.3g}'
            names = tuple(self._encoders.names[actuator] for actuator in actuators)
            joint_names = tuple(self._encoders.robot.joint_names[joint] for joint in group.joints)
            open_turns.append(OpenTurn(names, joint_names, tuple(map(tuple, at)), reason, words))
        return open_turns

    def _describe_wrong(self, actuator: int) -> str:
        reading, before, gap, most = self._wrong[actuator]
        end, start, away, wrap = (
            f'{self._encoders.units.of_drivers(np.array(number), 0, actuator):.6g}'
            for number in (reading, before, most, self._encoders.periods[actuator])
        )
        when = '' if math.isnan(gap) else f' {gap:.3g} s before, modulo turns'
        return (
            f'{shown(self._encoders.names[actuator])} reads {end}, expected at most {away} from '
            f'{start}{when}, by the limits and wrap_period {wrap}'
        )

    def take_joints_beyond(self) -> dict[str, str]:
        """
        Return a sentence for each joint measured beyond its limits since the last call.

        Only diagnostics call it, once a second.
        """
        beyond, self._beyond = self._beyond, {}
        names = self._encoders.robot.joint_names
        return {
            names[joint]: f'{shown(names[joint])} was measured at {at:.4g}, beyond its limits by '
            'more than a quarter of its motion in one wrap_period, and '
            f'{other} turn fits: check offset, wrap_period and <limit>'
            for joint, (at, other) in beyond.items()
        }

    def compute_driver_shift(self) -> Array | None:
        """
        Return what to subtract from positions for the turns of the drivers' last readings.

        :returns: Shape ``(n_actuators,)``; ``None``: zero.
        """
        return self._shift.copy() if self._shift.any() else None


def _widen(positions: Array, margin: Array) -> Array:
    """Return the lowest and the highest position that a joint has certainly covered."""
    return np.array([positions + margin, positions - margin])
