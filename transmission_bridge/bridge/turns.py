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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
import math

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.limits import motor_bounds
from transmission_bridge.bridge.options import WRAP_PERIOD
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    shown,
    UnknownNameError,
)
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.transmissions.units import convert
from transmission_bridge.types import Array, Index, Mask

#: More turns than an encoder makes; their sum still resolves 1e-7 of a turn.
MOST_TURNS = 1e9


def wrap_periods(
    entries: Mapping[str, str], known: tuple[str, ...], lost: Collection[str] = ()
) -> dict[str, float]:
    """
    Return checked periods by actuator.

    :param entries: Actuator to period, as text.
    :param known: The actuators of the robot.
    :param lost: Actuators of refused transmissions, which are left out.
    :raises UnknownNameError: If there is no such actuator.
    :raises ParameterError: If a period is not a number in its range.
    """
    periods = {}
    for name, text in entries.items():
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

    :param places: Indices of the actuators.
    :param periods: Their periods in the unit of the positions, same length.
    :ivar totals: The last known positions, NaN where there is none.
    :ivar steps: From the totals before to the newest readings, NaN where either is missing.
    """

    def __init__(self, places: npt.ArrayLike, periods: npt.ArrayLike) -> None:
        self._places = np.array(places, dtype=np.intp)
        self._periods: Array = np.array(periods, dtype=np.float64)
        self._most = MOST_TURNS * self._periods
        self.reset()

    def reset(self) -> None:
        """Forget the turns."""
        self.totals: Array = np.full(len(self._places), np.nan)

    def __call__(self, positions: Array) -> Array:
        """
        Unwrap the positions of all actuators, in place; NaN stays NaN and keeps the turns.

        :returns: The turns that were added to each reading, shape ``(n,)``.
        """
        readings = positions[self._places]
        # Rounding would be as large as a turn there, and the turns would be lost.
        readings[np.abs(readings) > self._most] = np.nan
        turns: Array = np.rint((self.totals - readings) / self._periods)
        missing = np.isnan(turns)
        turns[missing] = 0.0
        totals = readings + turns * self._periods
        positions[self._places] = totals
        self.steps: Array = totals - self.totals
        if b'\1' in missing.tobytes():  # quicker than any()
            totals = np.where(np.isnan(totals), self.totals, totals)
        self.totals = totals
        return turns


# -- Which turns are possible --------------------------------------------------------------------


#: How far a joint may be measured beyond its limits, as a share of what it moves in one period.
_MARGIN = 0.0025

#: Turns, of coupled actuators combinations of them, that are compared.
_MOST = 4096

#: Positions of each joint at which a mechanism whose ratio varies is looked at, and the most of
#: its joints together.
_GRID, _MOST_POINTS = 5, 700

#: Share of a period by which an absolute position may differ from a reading, by which the
#: actuator may move between the two, and what a joint moves in which tells that its turn is lost.
_AGREEMENT = 0.25

#: Share of a period by which actuators that are more than the joints may disagree, and by which
#: an actuator may be moved faster than by its limit.
_SPREAD = 0.1

#: Seconds between measurements of one moment: for an absolute position and a reading where
#: nothing limits the speed, and by which messages may come late.
_AT_ONCE = 0.05

#: Difference of two angles of a continuous joint that are the same: a period is given rounded.
_SAME_ANGLE = 1e-3

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
    :param reason: Why there is no choice: ``several``, ``none``, ``unlimited`` (a joint has no
        limits), ``many`` (too many to look at), ``fast`` (turns cannot be counted between
        readings) or ``wrong`` (``wrap_period`` or ``position_unit`` is).
    :param words: What was found, and of what is wrong what was expected.
    """

    actuators: tuple[str, ...]
    joints: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    reason: str
    words: str = ''

    def __str__(self) -> str:
        """Return a sentence with the candidates and with what settles it."""
        settle = (
            'settle it by ~/zero, or publish actuator_absolute_positions, or give <limit>s that '
            'leave one turn'
        )
        joints = shortened(self.joints)
        found = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        words = {
            'none': f'no turn brings {joints} within the limits of the URDF: check offset, '
            'wrap_period and <limit>, or say by ~/zero where the joints are',
            'wrong': f'{self.words}: wrap_period or position_unit is wrong; ~/zero or the next '
            'activation has the readings believed again',
            'fast': f'it can move {self.words} periods between two readings, expected less than '
            'one: check wrap_period, position_unit, limits of velocity and the rate of the driver',
            'unlimited': f'{joints} may be anywhere, without limits: {settle}',
            'many': f'more than {_MOST} turns fit the limits: {settle}',
            'several': f'{len(found)} fit, with {shortened(found, 4, show=str)}: {settle}',
        }
        return f'the turn of {shortened(self.actuators)} is unknown: {words[self.reason]}'


class _Group:
    """
    Transmissions that share actuators: a turn of one decides about the joints of all.

    :param robot: The maps.
    :param bindings: The transmissions; none: a joint that passes through.
    :param actuators: Their actuators.
    :param joints: Their joints.
    :param scales: Per actuator, its period where it wraps, else one.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        bindings: Sequence[Binding],
        actuators: Index,
        joints: Index,
        scales: Array,
    ) -> None:
        self._robot = robot
        self.actuators, self.joints = actuators, joints
        self._scales = scales[actuators]
        # Where joints are, not where they may be commanded: without ros2_control's min and max.
        described = replace(robot.robot, blocks=())
        names = self.joint_names = tuple(robot.joint_names[joint] for joint in joints)
        limits = [effective_limits(described, name) for name in names]
        self.lower = np.array([each.lower for each in limits])
        self.upper = np.array([each.upper for each in limits])
        types = {joint.name: joint.type for joint in robot.robot.joints}
        self._turns: Mask = np.array([types.get(name) == 'continuous' for name in names])
        # A limit of zero is one that nobody filled in.
        self.velocity = np.array([each.velocity or math.inf for each in limits])
        self._is_constant = all(each.transmission.is_constant for each in bindings)
        self.haste = _HASTE if self._is_constant else _HASTE_NONLINEAR
        self._points = self._sample_points()
        self._ratios = self._travels(self._points)
        self._shares = self._inverse_ratios()
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.shifts: Array | None = None
        self.found: Array = np.empty((0, len(self.joints)))
        self.reason = ''
        self._looked: Array | None = None

    # -- the mechanism ---------------------------------------------------------------------------

    def _positions(self, actuators: Array) -> Array:
        """Map positions of these actuators, ``(n, n_own)``, to the joints ``(n, n_joints)``."""
        whole = np.full((len(actuators), len(self._robot.actuator_names)), np.nan)
        whole[:, self.actuators] = actuators
        return self._robot.actuator_to_joint('position', whole)[:, self.joints]

    def inverse(self, joints: Array) -> Array:
        """Map positions of these joints, ``(n, n_joints)``, to the actuators ``(n, n_own)``."""
        whole = np.full((len(joints), len(self._robot.joint_names)), np.nan)
        whole[:, self.joints] = joints
        return self._robot.joint_to_actuator('position', whole)[:, self.actuators]

    def _sample_points(self) -> Array:
        """Return positions of the actuators over the range of the joints, ``(n, n_own)``."""
        if self._is_constant:
            return np.zeros((1, len(self.actuators)))
        lower = np.where(self._turns, -math.pi, self.lower)
        upper = np.where(self._turns, math.pi, self.upper)
        if not np.isfinite([lower, upper]).all() or _GRID ** len(lower) > _MOST_POINTS:
            return np.empty((0, len(self.actuators)))
        axes = [np.linspace(low, high, _GRID) for low, high in zip(lower, upper, strict=True)]
        points = self.inverse(np.array(list(itertools.product(*axes))))
        return points[np.isfinite(points).all(axis=1)]

    def _travels(self, points: Array) -> Array:
        """Return how far joints move in one period of each actuator at points, from the ratios."""
        whole = np.full((len(points), len(self._robot.actuator_names)), np.nan)
        whole[:, self.actuators] = points
        ratios = self._robot.jacobian(whole)[:, self.joints[:, np.newaxis], self.actuators]
        return ratios[np.isfinite(ratios).all(axis=(1, 2))] * self._scales

    def _inverse_ratios(self) -> Array:
        """Return how many periods each actuator moves while a joint moves by one, likewise."""
        if self._is_constant:
            count = len(self.joints)
            moved = self.inverse(np.eye(count)) - self.inverse(np.zeros((1, count)))
            shares: Array = (moved / self._scales).T[np.newaxis]
        else:
            shares = np.linalg.pinv(self._ratios)
        shares[np.abs(shares) < 1e-9 * np.abs(shares).max(initial=0.0)] = 0.0
        return shares

    def most_periods(self, amounts: Array) -> Array:
        """
        Return how many periods each actuator moves at most, shape ``(n_own,)``.

        :param amounts: Of what the joints move meanwhile; infinite where these do not tell.
        """
        with np.errstate(invalid='ignore'):
            parts = np.where(self._shares != 0.0, np.abs(self._shares) * amounts, 0.0)
        most = parts.sum(axis=2).max(axis=0, initial=0.0)
        # An actuator that moves no joint is not held back by any.
        moves = np.abs(self._ratios).max(axis=(0, 1), initial=0.0) > 0.0
        return np.where(moves, most, np.inf)

    # -- the turns that are left -----------------------------------------------------------------

    def look(self, base: Array, is_open: Mask, told: Array) -> bool:
        """
        Find the turns that are possible; :attr:`shifts` are those that are left.

        :param base: Positions of the actuators, shape ``(n_own,)``, right but for whole periods
            of those that are open.
        :param is_open: Which are, likewise.
        :param told: Turns by absolute positions, likewise, NaN where there is none.
        :returns: Whether it is settled: one is left, or all that are left are the same.
        """
        if self._looked is not None:
            moved = np.abs(base - self._looked) / self._scales
            if moved.max(initial=0.0) < _MARGIN:
                return False
        self._looked = base.copy()
        if self.shifts is None or not len(self.shifts):
            self.shifts = self._turns_within(base, is_open, told)
        if self.shifts is None:
            return False
        positions, is_inside = self._judge(base, self.shifts, is_open, told)
        self.shifts, self.found = self.shifts[is_inside], positions[is_inside]
        self.reason = 'several' if len(self.shifts) else 'none'
        if not len(self.shifts) or not self._are_same(self.found):
            return False
        # The readings are what a driver is used to.
        nearest = np.argmin(np.square(self.shifts).sum(axis=1))
        self.shifts, self.found = self.shifts[[nearest]], self.found[[nearest]]
        return True

    def _turns_within(self, base: Array, is_open: Mask, told: Array) -> Array | None:
        """Return all turns in a box that holds every possible one, ``None`` if that is endless."""
        low, high = self._box(base, is_open)
        low = np.where(np.isnan(told), np.ceil(low - 1e-9), told)[is_open]
        high = np.where(np.isnan(told), np.floor(high + 1e-9), told)[is_open]
        self.found = np.empty((0, len(self.joints)))
        if not np.isfinite([low, high]).all():
            self.reason = 'unlimited'
            return None
        counts = np.maximum(high - low + 1.0, 0.0)
        if counts.prod() > _MOST:
            self.reason = 'many'
            return None
        axes = [first + np.arange(count) for first, count in zip(low, counts, strict=True)]
        shifts = np.zeros((int(counts.prod()), len(is_open)))
        grid = np.meshgrid(*axes, indexing='ij')
        shifts[:, is_open] = np.stack(grid, axis=-1).reshape(-1, int(is_open.sum()))
        return shifts

    def _box(self, base: Array, is_open: Mask) -> Array:
        """Return least and greatest turn of each actuator, ``(2, n_own)``, from the limits."""
        if not self._is_constant:
            turns = (self._points - base) / self._scales
            low, high = turns.min(axis=0, initial=np.inf), turns.max(axis=0, initial=-np.inf)
            pad = 0.25 * (high - low) + 1.0
            return np.stack([low - pad, high + pad])
        shares = self._shares[0]
        zero, here = self._positions(np.stack([np.zeros(len(base)), base]))
        # Turns of a continuous joint that differ are met within a few of its actuators'.
        reach = math.pi + 4.0 * np.abs(self._ratios[0][:, is_open]).sum(axis=1)
        low = np.where(self._turns, here - reach, self.lower) - zero
        high = np.where(self._turns, here + reach, self.upper) - zero
        with np.errstate(invalid='ignore'):
            ends = shares[..., np.newaxis] * np.stack([low, high], axis=-1)
        ends[shares == 0.0] = 0.0
        low, high = ends.min(axis=-1).sum(axis=-1), ends.max(axis=-1).sum(axis=-1)
        return np.stack([low - 0.5, high + 0.5]) - base / self._scales

    def margin(self, is_open: Mask, share: float) -> Array:
        """Return what the joints move in this share of a period of all that are open."""
        if not len(self._ratios):
            return np.full(len(self.joints), np.inf)
        return share * np.abs(self._ratios[:, :, is_open]).sum(axis=2).max(axis=0)

    def _disagreement(self, actuators: Array) -> Array:
        """Return how many periods actuators are from where their joints would put them."""
        back = self.inverse(self._positions(actuators))
        return (actuators - back) / self._scales

    def _judge(self, base: Array, shifts: Array, is_open: Mask, told: Array) -> tuple[Array, Mask]:
        """Return the joints' positions in each turn, and which are within the limits."""
        actuators = base + shifts * self._scales
        positions = self._positions(actuators)
        margin = self.margin(is_open, _MARGIN if np.isnan(told[is_open]).any() else _AGREEMENT)
        with np.errstate(invalid='ignore'):
            is_inside = (positions >= self.lower - margin) & (positions <= self.upper + margin)
            is_inside |= self._turns & np.isfinite(positions)
            ok: Mask = is_inside.all(axis=1)
            if len(self.actuators) > len(self.joints):
                ok &= (np.abs(self._disagreement(actuators)) <= _SPREAD).all(axis=1)
        return positions, ok

    def candidates(self) -> tuple[tuple[float, ...], ...]:
        """Return the positions that the joints may have, those that are the same once."""
        kept: dict[tuple[float, ...], tuple[float, ...]] = {}
        for at in self.found.tolist():
            key = tuple(
                round(value % (2.0 * math.pi), 2) if turns else value
                for value, turns in zip(at, self._turns, strict=True)
            )
            kept.setdefault(key, tuple(at))
        return tuple(kept.values())

    def _are_same(self, positions: Array) -> bool:
        """Whether positions differ by whole turns of continuous joints only."""
        away = positions - positions[0]
        turns = away - 2.0 * math.pi * np.round(away / (2.0 * math.pi))
        scale = 1e-9 * (1.0 + np.abs(positions).max(initial=0.0))
        same = np.where(self._turns, np.abs(turns) <= _SAME_ANGLE, np.abs(away) <= scale)
        return bool(same.all())


def _groups(robot: RobotTransmissions, scales: Array, wraps: Mask) -> Iterator[_Group]:
    """Yield the transmissions with a wrapped actuator, those with common actuators together."""
    parts: list[list[Binding]] = []
    for binding in robot.bindings:
        touching = [
            part
            for part in parts
            if any(set(binding.actuators) & set(other.actuators) for other in part)
        ]
        parts = [part for part in parts if part not in touching]
        parts.append([binding, *itertools.chain(*touching)])
    for part in parts:
        actuators = np.array(sorted({a for each in part for a in each.actuators}), dtype=np.intp)
        joints = np.array(sorted({j for each in part for j in each.joints}), dtype=np.intp)
        if wraps[actuators].any():
            yield _Group(robot, part, actuators, joints, scales)
    for name in robot.pass_through:
        actuator = np.array([robot.actuator_names.index(name)])
        if wraps[actuator].any():
            yield _Group(robot, (), actuator, np.array([robot.joint_names.index(name)]), scales)


# -- The turns of a robot ------------------------------------------------------------------------


class TurnCounter:
    """
    Counts the turns of the wrapped actuators of a robot, and finds them where they are open.

    The turn of an actuator is open at its first reading, and after a gap in which it could have
    moved so far that its last position does not tell: at its own velocity limit and those of its
    joints, or, where there are none, in a time longer than its driver's timeout (with no timeout
    its driver is one that is silent while nothing moves). It is open again where a joint is
    measured far beyond its limits and another turn fits, and for good where the readings do not
    fit the period. As long as it is open, its position is unknown.

    :param robot: The maps; replaced by :meth:`use`.
    :param periods: Period by actuator, in the units of its driver.
    :param unknown_turn: ``resolve``, or ``first``: the first reading counts as it is, and a turn
        is never open.
    :ivar waited: Readings that were not used because the turn was open, by actuator.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        periods: Mapping[str, float],
        unknown_turn: str = 'resolve',
    ) -> None:
        self._names = robot.actuator_names
        self._places = np.array([self._names.index(name) for name in periods], dtype=np.intp)
        self._periods: Array = np.array(list(periods.values()), dtype=np.float64)
        self._unwrap = Unwrapper(self._places, self._periods)
        self._resolves = unknown_turn == 'resolve'
        self._index = {name: place for place, name in enumerate(self._names)}
        self._wraps: Mask = np.zeros(len(self._names), dtype=bool)
        self._wraps[self._places] = True
        self._scales = np.ones(len(self._names))
        self._scales[self._places] = self._periods
        self.waited = dict.fromkeys(periods, 0)
        #: Each group, which of the wrapped actuators are its own, and which they are in it.
        self._parts: list[tuple[_Group, Index, Index]] = []
        self._given: Index | slice | None = None
        self._is_given: Mask = np.zeros(len(periods), dtype=bool)
        self._gives_all = False
        self._beyond: dict[str, str] = {}
        self._robot = robot
        self.forget()
        self.use(robot)

    def forget(self) -> None:
        """Forget everything, because time went backwards."""
        count = len(self._places)
        self._unwrap.reset()
        self._times: Array = np.full(count, -np.inf)
        #: When a message gave all of them last; how long after that each is certain.
        self._all_at, self._certain_for = -np.inf, -np.inf
        #: Turns between the driver's last reading and the position.
        self._counts: Array = np.zeros(count)
        self._absolute: Array = np.full(len(self._names), np.nan)
        self._absolute_at: Array = np.full(len(self._names), -np.inf)
        #: The first readings: zero may stand for none.
        self._first: Array = np.full(count, np.nan)
        #: Of actuators whose readings do not fit the period: what was expected and found.
        self._wrong: dict[int, str] = {}
        #: Periods that each could move between its last two readings.
        self._moves: Array = np.zeros(count)
        self._open: Mask = np.zeros(count, dtype=bool)
        self._lose(np.full(count, self._resolves))

    def reset(self) -> None:
        """Begin again, as after activation; what the gap leaves certain is still known."""
        self._wrong.clear()
        if not self._resolves:
            self._unwrap.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps; turns that are known stay."""
        if self._parts and robot is self._robot:
            return
        self._robot = robot
        self._parts = []
        self._wrong.clear()
        self._lower = np.full(len(robot.joint_names), -np.inf)
        self._upper = -self._lower
        if not self._resolves:
            return
        scale = None if robot.scales is None else robot.scales[0]
        limits = convert(motor_bounds(robot)[1, FIELDS.index('velocity')], scale, to_si=False)
        #: The most periods a second, and those that a reading is from zero: a driver may count on
        #: from where it woke up.
        self._speeds: Array = _HASTE * limits[self._places] / self._periods
        self._far: Array = np.full(len(self._places), np.inf)
        for group in _groups(robot, self._scales, self._wraps):
            own = np.flatnonzero(np.isin(self._places, group.actuators))
            spots = np.searchsorted(group.actuators, self._places[own])
            self._parts.append((group, own, spots))
            speeds = group.haste * group.most_periods(group.velocity)[spots]
            self._speeds[own] = np.minimum(self._speeds[own], speeds)
            travels = group.most_periods(group.upper - group.lower)[spots]
            self._far[own] = 1.0 + _AGREEMENT + travels
            margin = group.margin(self._wraps[group.actuators], _AGREEMENT)
            self._lower[group.joints] = group.lower - margin
            self._upper[group.joints] = group.upper + margin
        is_limited = np.isfinite(self._speeds)
        #: Seconds between an absolute position and a reading that belong together.
        self._close = np.where(is_limited, _AGREEMENT / self._speeds, _AT_ONCE)
        #: The most of a usual step.
        self._usual = self._periods * (_SPREAD + self._speeds * _AT_ONCE)
        self._certain_for = -np.inf

    def _lose(self, lost: Mask) -> None:
        self._open |= lost
        for group, own, _ in self._parts:
            if lost[own].any():
                group.forget()
        self._any_open = bool(self._open.any())

    # -- readings --------------------------------------------------------------------------------

    def __call__(
        self, positions: Array, given: Index | slice, timeouts: Array, now: float
    ) -> None:
        """
        Use the readings of a message.

        :param positions: Of all actuators, shape ``(n_actuators,)``, changed in place: readings
            become positions, NaN where the turn is open.
        :param given: Which of them are readings of this message.
        :param timeouts: Seconds after which each is too old, likewise; infinite: never.
        :param now: Time of receipt [s].
        """
        if not self._resolves:
            self._unwrap(positions)
            return
        if given is not self._given:
            is_given = np.zeros(len(positions), dtype=bool)
            is_given[given] = True
            self._given, self._is_given = given, is_given[self._places]
            self._gives_all = bool(self._is_given.all())
        turns = self._unwrap(positions)
        if (
            self._gives_all
            and not self._any_open
            and 0.0 <= now - self._all_at <= self._certain_for
            and b'\0' not in (np.abs(self._unwrap.steps) <= self._usual).tobytes()
        ):
            # Nobody can have gone round since: nearly every message of a driver.
            self._counts, self._all_at = turns, now
            return
        self._note_times()
        is_new = self._is_given & np.isfinite(positions[self._places])
        if not is_new.any():
            return
        lost = self._find_wrong(is_new, turns, now)
        self._counts[is_new] = turns[is_new]
        own_timeouts = timeouts[self._places]
        reach = self._reach(own_timeouts, now)
        in_time = np.isfinite(reach) & (now - self._times <= own_timeouts)
        self._moves = np.where(in_time, reach, 0.0)
        with np.errstate(invalid='ignore'):
            moved = self._unwrap.steps / self._periods
            lost |= is_new & ~(np.abs(moved) + reach < 1.0)
        self._times[is_new] = now
        if is_new.all() or now < self._all_at:
            self._all_at = now if is_new.all() else -np.inf
        # In that time nobody can move by half a period.
        seconds = np.where(np.isfinite(self._speeds), 0.5 / self._speeds, own_timeouts)
        self._certain_for = seconds[np.isfinite(own_timeouts)].min(initial=np.inf)
        if lost.any():
            self._lose(lost)
        if self._any_open:
            positions[self._places[self._open]] = np.nan
            self._resolve(positions, timeouts, now)
            for place in np.flatnonzero(is_new & self._open):
                self.waited[self._names[self._places[place]]] += 1

    def _find_wrong(self, is_new: Mask, turns: Array, now: float) -> Mask:
        """Note the readings that do not fit the period; return which turns they open."""
        gap, steps = now - self._times, self._unwrap.steps / self._periods
        totals = self._unwrap.totals / self._periods
        readings, before = totals - turns, totals - steps - self._counts
        self._first = np.where(is_new & np.isnan(self._first), readings, self._first)
        with np.errstate(invalid='ignore'):
            most = _SPREAD + self._speeds * (gap + _AT_ONCE)
            has_jumped = is_new & (gap > 0.0) & (np.abs(steps) > most)
            is_far = is_new & self._open & (np.abs(readings) > self._far)
            # Some drivers give zeros until they have read.
            is_blank = has_jumped & (np.abs(self._first) + np.abs(before) < 1e-9)
        for number in np.flatnonzero(has_jumped & ~is_blank | is_far).tolist():
            period = self._periods[number]
            read, last, jump, far = period * np.array(
                [readings[number], before[number], most[number], self._far[number]]
            )
            words = (
                f'reads {read:.6g}, expected at most {far:.6g} from 0'
                if is_far[number]
                else f'reads {read:.6g}, {gap[number]:.3g} s after {last:.6g}, expected at most '
                f'{jump:.6g} from it but for whole turns'
            )
            words = f'{shown(self._names[self._places[number]])} {words}, by the limits and '
            words += f'wrap_period {period:.6g}'
            self._wrong.setdefault(number, words)
        return has_jumped

    def _note_times(self) -> None:
        """Bring the time of each last reading up to date."""
        np.maximum(self._times, self._all_at, out=self._times)

    def _reach(self, timeouts: Array, now: float) -> Array:
        """Return how many periods each can have moved since its last reading."""
        gap = now - self._times
        with np.errstate(invalid='ignore'):
            reach: Array = self._speeds * gap
        # Where nothing limits the speed, what comes in time is counted on.
        reach[np.isinf(self._speeds) & (gap <= timeouts)] = 0.0
        reach[np.isinf(timeouts)] = 0.0
        reach[~((gap >= 0.0) & np.isfinite(gap))] = np.inf
        return reach

    def open_at(self, timeouts: Array, now: float) -> Mask | None:
        """
        Return which actuators are in a turn that is not known, or would be at a reading now.

        :param timeouts: As in :meth:`__call__`.
        :param now: Time [s].
        :returns: Shape ``(n_actuators,)``; ``None``: none.
        """
        if not self._resolves:
            return None
        self._note_times()
        unknown = self._open | (self._reach(timeouts[self._places], now) >= 1.0)
        if not unknown.any():
            return None
        mask: Mask = np.zeros(len(self._names), dtype=bool)
        mask[self._places[unknown]] = True
        return mask

    def reopen(self, joints: Array, positions: Array) -> bool:
        """
        Open turns where a joint is measured far beyond its limits and another turn fits.

        :param joints: Positions of all joints, shape ``(n_joints,)``.
        :param positions: Of all actuators; becomes NaN where a turn is opened.
        :returns: Whether one was.
        """
        beyond = (joints < self._lower) | (joints > self._upper)
        if b'\1' not in beyond.tobytes():
            return False
        lost: Mask = np.zeros(len(self._places), dtype=bool)
        for group, own, _ in self._parts:
            base = positions[group.actuators]
            if not beyond[group.joints].any() or not np.isfinite(base).all():
                continue
            if group.reason != 'none':
                group.forget()
            group.look(base, self._wraps[group.actuators], np.full(len(base), np.nan))
            lost[own] = group.reason != 'none'
            for joint in group.joints[beyond[group.joints]]:
                name = self._robot.joint_names[joint]
                self._beyond[name] = (
                    f'{shown(name)} was measured at {joints[joint]:.4g}, beyond its limits by '
                    'more than a quarter of what it moves in one wrap_period, and '
                    f'{"no other" if group.reason == "none" else "another"} turn fits: '
                    'check offset, wrap_period and <limit>'
                )
        if lost.any():
            self._lose(lost)
            positions[self._places[lost]] = np.nan
        return bool(lost.any())

    def take_beyond(self) -> dict[str, str]:
        """Return a sentence for each joint that was measured beyond its limits since last time."""
        beyond, self._beyond = self._beyond, {}
        return beyond

    def _resolve(self, positions: Array, timeouts: Array, now: float) -> None:
        """Settle what can be settled, and write it to the positions."""
        absolute = self._absolutes()
        for group, own, spots in self._parts:
            is_open = self._open[own]
            if not is_open.any() or not self._wrong.keys().isdisjoint(own.tolist()):
                continue
            base = positions[group.actuators].copy()
            is_fresh = now - self._times[own] <= timeouts[self._places[own]]
            totals = np.where(is_fresh, self._unwrap.totals[own], np.nan)
            base[spots[is_open]] = totals[is_open]
            if np.isfinite(base).all() and self._find(group, own, spots, base, absolute[:, own]):
                assert group.shifts is not None
                self._settle(own[is_open], group.shifts[0][spots[is_open]])
                positions[self._places[own[is_open]]] = self._unwrap.totals[own[is_open]]
                group.forget()
        self._any_open = bool(self._open.any())

    def _find(self, group: _Group, own: Index, spots: Index, base: Array, absolute: Array) -> bool:
        is_open, told = np.zeros(len(base), dtype=bool), np.full(len(base), np.nan)
        is_open[spots] = self._open[own]
        away = (absolute[0] - base[spots]) / self._periods[own]
        times = self._times[own]
        agrees = np.abs(away - np.rint(away)) <= _AGREEMENT
        agrees &= np.maximum(times - absolute[1], absolute[2] - times) < self._close[own]
        if agrees.any():
            told[spots[agrees]] = np.rint(away[agrees])
            group.forget()
        return group.look(base, is_open, told)

    def _settle(self, places: Index, shifts: Array) -> None:
        self._unwrap.totals[places] += shifts * self._periods[places]
        self._counts[places] += shifts
        self._open[places] = False

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
        if self._any_open:
            self._note_times()
            self._resolve(positions, timeouts, now)

    def _absolutes(self) -> Array:
        """Return absolute positions, and the oldest and newest time of what each is from."""
        robot = self._robot
        found = np.stack([self._absolute, self._absolute_at, self._absolute_at])
        joints = robot.actuator_to_joint('absolute_position', self._absolute)
        back = robot.joint_to_actuator('position', joints)
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                places = list(binding.actuators)
                found[0, places], times = back[places], self._absolute_at[places]
                found[1, places], found[2, places] = times.min(), times.max()
        return found[:, self._places]

    def nearest(self, wanted: Mapping[str, float], *, oldest: float) -> dict[int, float]:
        """
        Return the positions of actuators whose turn is open that come nearest to wanted joints.

        :param wanted: Joint to position [rad or m].
        :param oldest: Time before which a reading is too old [s].
        :returns: Position by place, for :meth:`settle`.
        :raises MessageError: If only some joints of a transmission are named (``unknown_turn``).
        """
        self._note_times()
        found: dict[int, float] = {}
        for group, own, spots in self._parts:
            names = group.joint_names
            is_fresh = self._open[own] & (self._times[own] >= oldest)
            is_open = own[is_fresh]
            missing = [name for name in names if name not in wanted]
            if not len(is_open) or len(missing) == len(names):
                continue
            if missing:
                open_names = [self._names[self._places[place]] for place in is_open]
                raise MessageError(
                    'unknown_turn',
                    f'the turn of {shortened(open_names)} is unknown, and depends on '
                    f'{shortened(missing)} too: name {"it" if len(missing) == 1 else "them"} as '
                    'well in zero_joints',
                )
            meant = group.inverse(np.array([[wanted[name] for name in names]]))[0]
            totals = self._unwrap.totals[is_open]
            shifts = np.round((meant[spots[is_fresh]] - totals) / self._periods[is_open])
            positions = totals + np.nan_to_num(shifts) * self._periods[is_open]
            found |= dict(zip(self._places[is_open].tolist(), positions.tolist(), strict=True))
        return found

    def settle(self, positions: Mapping[int, float]) -> None:
        """Take positions of :meth:`nearest` for those that the actuators have."""
        for number, place in enumerate(self._places.tolist()):
            if place in positions and self._open[number]:
                away = positions[place] - self._unwrap.totals[number]
                picks = np.array([number])
                self._settle(picks, np.round(away / self._periods[picks]))
                self._wrong.pop(number, None)
        self._any_open = bool(self._open.any())

    # -- what others need to know ----------------------------------------------------------------

    def open_turns(self) -> list[OpenTurn]:
        """Return what is not known of which there are readings."""
        found = []
        for group, own, _ in self._parts:
            is_open = own[self._open[own]]
            wrong = [self._wrong[number] for number in is_open.tolist() if number in self._wrong]
            reason, words = group.reason, f'{self._moves[own].max():.3g}'
            if wrong:
                reason, words = 'wrong', '; '.join(wrong)
            elif reason not in ('', 'none') and (self._moves[own] >= 1.0).any():
                reason = 'fast'
            if len(is_open) and reason:
                names = tuple(self._names[place] for place in self._places[is_open])
                found.append(OpenTurn(names, group.joint_names, group.candidates(), reason, words))
        return found

    @property
    def shift(self) -> Array | None:
        """
        What to take from a position to have it in the turns of the driver's last reading.

        :returns: Shape ``(n_actuators,)``; ``None``: nothing.
        """
        if not self._resolves or not self._counts.any():
            return None
        shift = np.zeros(len(self._names))
        shift[self._places] = self._counts * self._periods
        return shift

    def in_turns_of_driver(self, command: JointStateRecord) -> JointStateRecord:
        """Return a command to actuators in the turns of their drivers' last readings."""
        if not len(command.position) or self.shift is None:
            return command
        return JointStateRecord(
            command.stamp,
            command.frame_id,
            command.names,
            self.array_in_turns_of_driver(command.names, command.position),
            command.velocity,
            command.effort,
        )

    def array_in_turns_of_driver(self, actuators: Sequence[str], positions: Array) -> Array:
        """Return positions of actuators likewise."""
        shift = self.shift
        if shift is None:
            return positions
        away: Array = shift[[self._index[name] for name in actuators]]
        return positions - away

    def trajectory_in_turns_of_driver(self, trajectory: TrajectoryRecord) -> TrajectoryRecord:
        """Return a trajectory of actuators likewise."""
        shift = self.shift
        if shift is None:
            return trajectory
        away = shift[[self._index[name] for name in trajectory.names]]
        points = tuple(
            replace(point, positions=point.positions - away) if len(point.positions) else point
            for point in trajectory.points
        )
        return replace(trajectory, points=points)
