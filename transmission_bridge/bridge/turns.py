# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Turns of single-turn encoders: counting them, and finding out in which turn an actuator is.

Everything here is in the driver's numbers and before the map: ``total = reading + k * period``
with an integer ``k``. Counting needs no more than that the actuator moves less than half a period
between two readings. Which turn it is in is open at first, and again where it could have moved
further: then the turns are possible that bring the joints of its transmission within their limits,
and the one of them counts that everything else about the robot agrees with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
import math

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.options import WRAP_PERIOD
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import MessageError, ParameterError, shortened, UnknownNameError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.types import Array, Index, Mask

__all__ = ['MOST_TURNS', 'OpenTurn', 'TurnCounter', 'Unwrapper', 'wrap_periods']

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
    """

    def __init__(self, places: npt.ArrayLike, periods: npt.ArrayLike) -> None:
        self._places = np.array(places, dtype=np.intp)
        self._periods: Array = np.array(periods, dtype=np.float64)
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
        readings[np.abs(readings) > MOST_TURNS * self._periods] = np.nan
        turns: Array = np.round((self.totals - readings) / self._periods)
        turns[np.isnan(turns)] = 0.0
        totals = readings + turns * self._periods
        positions[self._places] = totals
        np.copyto(self.totals, totals, where=~np.isnan(totals))
        return turns


# -- Which turns are possible --------------------------------------------------------------------


#: How far a joint may be measured beyond its limits, as a share of what it moves in one period.
_MARGIN = 0.0025

#: Turns, of coupled actuators combinations of them, that are compared.
_MOST = 4096

#: Positions of each joint at which a mechanism whose ratio varies is looked at, and the most of
#: its joints together.
_GRID, _MOST_POINTS = 5, 700

#: Share of a period by which an absolute position may differ from a reading.
_AGREEMENT = 0.25

#: Share of a period by which actuators that are more than the joints may disagree.
_SPREAD = 0.1

#: Seconds for which an absolute position that came before the first reading counts.
_LONGEST = 1.0

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
        limits) or ``many`` (too many to look at).
    """

    actuators: tuple[str, ...]
    joints: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    reason: str

    def __str__(self) -> str:
        """Return a sentence with the candidates and with what settles it."""
        what = f'the turn of {shortened(self.actuators)} is unknown'
        if self.reason == 'none':
            return (
                f'{what}: no turn brings {shortened(self.joints)} within the limits of the URDF: '
                'check offset, wrap_period and <limit>, or say by ~/zero where the joints are'
            )
        settle = (
            'settle it by ~/zero, or publish actuator_absolute_positions, or give <limit>s that '
            'leave one turn'
        )
        if self.reason == 'unlimited':
            return f'{what}: {shortened(self.joints)} may be anywhere, without limits: {settle}'
        if self.reason == 'many':
            return f'{what}: more than {_MOST} turns fit the limits: {settle}'
        found = [
            ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joints, at, strict=True))
            for at in self.candidates
        ]
        return f'{what}: {len(found)} fit, with {shortened(found, 4, show=str)}: {settle}'


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
        self._velocity = np.array([each.velocity or math.inf for each in limits])
        self._is_constant = all(each.transmission.is_constant for each in bindings)
        self._points = self._sample_points()
        self._ratios = self._travels(self._points)
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
        """
        Return how far each joint moves in one period of each actuator, by the ratio at points.

        From differences of positions, so that it is in the units of the driver.

        :returns: Shape ``(n_points, n_joints, n_own)``.
        """
        travels = np.empty((len(points), len(self.joints), len(self.actuators)))
        step = 0.5 if self._is_constant else 1e-4
        for place, scale in enumerate(self._scales):
            ahead, back = points.copy(), points.copy()
            ahead[:, place] += step * scale
            back[:, place] -= step * scale
            moved = self._positions(ahead) - self._positions(back)
            travels[:, :, place] = moved / (2.0 * step)
        return travels[np.isfinite(travels).all(axis=(1, 2))]

    def speeds(self) -> Array:
        """
        Return how many periods a second each actuator moves at most, shape ``(n_own,)``.

        What the joints move at their velocity limits; infinite where these do not tell.
        """
        fastest = np.zeros(len(self.actuators))
        if not len(self._ratios):
            return np.full(len(self.actuators), np.inf)
        for ratios in self._ratios:
            shares = np.abs(np.linalg.pinv(ratios))
            shares[shares < 1e-9 * shares.max(initial=0.0)] = 0.0
            with np.errstate(invalid='ignore'):
                parts = np.where(shares > 0.0, shares * self._velocity, 0.0)
            fastest = np.maximum(fastest, parts.sum(axis=1))
        # An actuator that moves no joint is not held back by any.
        moves = np.abs(self._ratios).max(axis=(0, 1)) > 0.0
        haste = _HASTE if self._is_constant else _HASTE_NONLINEAR
        return np.where(moves, haste * fastest, np.inf)

    # -- the turns that are left -----------------------------------------------------------------

    def look(self, base: Array, is_open: Mask, low: Array, high: Array, *, exact: bool) -> bool:
        """
        Find the turns that are possible; :attr:`shifts` are those that are left.

        :param base: Positions of the actuators, shape ``(n_own,)``, right but for whole periods
            of those that are open.
        :param is_open: Which are, likewise.
        :param low: Least turn of each that is possible for other reasons.
        :param high: Greatest one.
        :param exact: Whether these are the turns, by absolute positions.
        :returns: Whether it is settled: one is left, or all that are left are the same.
        """
        if self._looked is not None:
            moved = np.abs(base - self._looked) / self._scales
            if moved.max(initial=0.0) < _MARGIN:
                return False
        self._looked = base.copy()
        if self.shifts is None or not len(self.shifts):
            self.shifts = self._turns_within(base, is_open, low, high)
        if self.shifts is None:
            return False
        positions, is_inside = self._judge(base, self.shifts, is_open, exact=exact)
        self.shifts, self.found = self.shifts[is_inside], positions[is_inside]
        self.reason = 'several' if len(self.shifts) else 'none'
        if not len(self.shifts) or not self._are_same(self.found):
            return False
        # The readings are what a driver is used to.
        nearest = np.argmin(np.square(self.shifts).sum(axis=1))
        self.shifts, self.found = self.shifts[[nearest]], self.found[[nearest]]
        return True

    def _turns_within(self, base: Array, is_open: Mask, low: Array, high: Array) -> Array | None:
        """Return all turns in a box that holds every possible one, ``None`` if that is endless."""
        bounds = self._box(base, is_open)
        is_given = low == high
        low = np.where(is_given, low, np.maximum(np.ceil(bounds[0] - 1e-9), low))[is_open]
        high = np.where(is_given, high, np.minimum(np.floor(bounds[1] + 1e-9), high))[is_open]
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
        box = np.array([np.full(len(base), -np.inf), np.full(len(base), np.inf)])
        if not len(self._ratios):
            return box
        if not self._is_constant:
            turns = (self._points - base) / self._scales
            span = turns.max(axis=0) - turns.min(axis=0)
            box[0] = turns.min(axis=0) - 0.25 * span - 1.0
            box[1] = turns.max(axis=0) + 0.25 * span + 1.0
            return box
        (ratios,) = self._ratios
        here = self._positions(base[np.newaxis])[0]
        margin = self._margin(is_open)
        low, high = self.lower - margin - here, self.upper + margin - here
        # Turns of a continuous joint that differ are met within a few of its actuators'.
        reach = math.pi + 4.0 * np.abs(ratios[:, is_open]).sum(axis=1)
        low, high = np.where(self._turns, -reach, low), np.where(self._turns, reach, high)
        rows = ratios[:, is_open]
        if len(self.actuators) > len(self.joints):
            # Actuators that are more than the joints have to agree with each other.
            steps = np.concatenate([np.zeros((1, len(base))), np.diag(self._scales)])
            apart = self._disagreement(base + steps)
            rows = np.concatenate([rows, (apart[1:] - apart[0]).T[:, is_open]])
            low = np.concatenate([low, -_SPREAD - apart[0]])
            high = np.concatenate([high, _SPREAD - apart[0]])
        shares = np.linalg.pinv(rows)
        shares[np.abs(shares) < 1e-9 * np.abs(shares).max(initial=0.0)] = 0.0
        with np.errstate(invalid='ignore'):
            ends = shares[..., np.newaxis] * np.stack([low, high], axis=-1)
        ends[shares == 0.0] = 0.0
        box[0, is_open] = ends.min(axis=-1).sum(axis=-1)
        box[1, is_open] = ends.max(axis=-1).sum(axis=-1)
        if np.linalg.matrix_rank(rows) < int(is_open.sum()):
            box[:, is_open] = [[-np.inf], [np.inf]]
        return box

    def _margin(self, is_open: Mask) -> Array:
        return _MARGIN * np.abs(self._ratios[:, :, is_open]).sum(axis=2).max(axis=0, initial=0.0)

    def _disagreement(self, actuators: Array) -> Array:
        """Return how many periods actuators are from where their joints would put them."""
        back = self.inverse(self._positions(actuators))
        return (actuators - back) / self._scales

    def _judge(
        self, base: Array, shifts: Array, is_open: Mask, *, exact: bool
    ) -> tuple[Array, Mask]:
        """Return the joints' positions in each turn, and which are within the limits."""
        actuators = base + shifts * self._scales
        positions = self._positions(actuators)
        margin = self._margin(is_open) * (_AGREEMENT / _MARGIN if exact else 1.0)
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
    moved so far that its last position does not tell: at its joints' velocity limits, or, where
    there are none, in a time longer than its driver's timeout (with no timeout its driver is one
    that is silent while nothing moves). As long as it is, its position is unknown.

    :param robot: The maps; replaced by :meth:`use`.
    :param periods: Period by actuator, in the units of its driver.
    :param unknown_turn: ``resolve``, or ``first``: the first reading counts as it is, and a turn
        is never open.
    :ivar is_open: Actuators whose turn is open, shape ``(n_actuators,)``; ``None``: no one's.
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
        #: Each group, and which of the wrapped actuators are its own.
        self._parts: list[tuple[_Group, Index]] = []
        self._given: Index | slice | None = None
        self._is_given: Mask = np.zeros(len(periods), dtype=bool)
        self._gives_all = False
        self._robot: RobotTransmissions | None = None
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
        self._open: Mask = np.full(count, self._resolves)
        self._low: Array = np.full(count, -np.inf)
        self._high: Array = np.full(count, np.inf)
        #: Periods a second, by the last two readings.
        self._rates: Array = np.zeros(count)
        self._absolute: Array = np.full(count, np.nan)
        self._absolute_at = -np.inf
        for group, _ in self._parts:
            group.forget()
        self._note_open()

    def reset(self) -> None:
        """Begin again, as after activation; what the gap leaves certain is still known."""
        if not self._resolves:
            self._unwrap.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps; turns that are known stay."""
        if robot is self._robot:
            return
        self._robot = robot
        self._parts = []
        self._speeds: Array = np.full(len(self._places), np.inf)
        if not self._resolves:
            return
        for group in _groups(robot, self._scales, self._wraps):
            own = np.flatnonzero(np.isin(self._places, group.actuators))
            self._parts.append((group, own))
            of_group = dict(zip(group.actuators.tolist(), group.speeds(), strict=True))
            self._speeds[own] = [of_group[place] for place in self._places[own].tolist()]
        self._certain_for = -np.inf

    def _note_open(self) -> None:
        self.is_open: Mask | None = None
        if self._open.any():
            self.is_open = np.zeros(len(self._names), dtype=bool)
            self.is_open[self._places[self._open]] = True

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
        before = self._unwrap.totals.copy()
        turns = self._unwrap(positions)
        if (
            self._gives_all
            and self.is_open is None
            and 0.0 <= now - self._all_at <= self._certain_for
            and math.isfinite(positions[self._places].sum())
        ):
            # Nobody can have gone round since: nearly every message of a driver.
            self._counts, self._all_at = turns, now
            return
        self._note_times()
        is_new = self._is_given & np.isfinite(positions[self._places])
        if not is_new.any():
            return
        self._counts[is_new] = turns[is_new]
        lost = is_new & ~self._is_certain(before, timeouts[self._places], now)
        self._times[is_new] = now
        if is_new.all() or now < self._all_at:
            self._all_at = now if is_new.all() else -np.inf
        self._certain_for = self._quick(timeouts[self._places])
        if lost.any():
            self._open |= lost
            self._note_open()
        if self.is_open is not None:
            positions[self._places[self._open]] = np.nan
            self._resolve(positions, lost, timeouts, now)
            for place in np.flatnonzero(is_new & self._open):
                self.waited[self._names[self._places[place]]] += 1

    def _note_times(self) -> None:
        """Bring the time of each last reading up to date."""
        np.maximum(self._times, self._all_at, out=self._times)

    def _quick(self, timeouts: Array) -> float:
        """Return the seconds in which no actuator can move by half a period."""
        with np.errstate(divide='ignore'):
            seconds = np.where(np.isfinite(self._speeds), 0.5 / self._speeds, timeouts)
        seconds[np.isinf(timeouts)] = np.inf
        return float(seconds.min(initial=np.inf))

    def _is_certain(self, before: Array, timeouts: Array, now: float) -> Mask:
        """
        Return whose last position tells the turn; of the others, between which turns they are.

        :param before: The positions before these readings.
        """
        reach = self._reach(timeouts, now)
        with np.errstate(invalid='ignore', divide='ignore'):
            moved = (self._unwrap.totals - before) / self._periods
            certain: Mask = np.abs(moved) + reach < 1.0
            tells = ~self._open & np.isfinite(moved) & np.isfinite(reach)
            low, high = np.ceil(-reach - moved), np.floor(reach - moved)
            rates = np.abs(moved) / (now - self._times)
        self._rates = np.where(np.isfinite(rates), rates, 0.0)
        lost = ~certain
        self._low[lost] = np.where(tells, low, -np.inf)[lost]
        self._high[lost] = np.where(tells, high, np.inf)[lost]
        return certain

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

    def _resolve(self, positions: Array, lost: Mask, timeouts: Array, now: float) -> None:
        """Settle what can be settled, and write it to the positions."""
        settled = False
        for group, own in self._parts:
            if lost[own].any():
                group.forget()
            is_open = self._open[own]
            if not is_open.any():
                continue
            base = positions[group.actuators].copy()
            whole: Mask = np.zeros(len(base), dtype=bool)
            spots = np.searchsorted(group.actuators, self._places[own])
            whole[spots] = is_open
            is_fresh = now - self._times[own] <= timeouts[self._places[own]]
            totals = np.where(is_fresh, self._unwrap.totals[own], np.nan)
            base[spots[is_open]] = totals[is_open]
            if not np.isfinite(base).all() or not self._find(group, own, base, whole, now):
                continue
            assert group.shifts is not None
            self._settle(own[is_open], group.shifts[0][spots[is_open]])
            positions[self._places[own[is_open]]] = self._unwrap.totals[own[is_open]]
            group.forget()
            settled = True
        if settled:
            self._note_open()

    def _find(self, group: _Group, own: Index, base: Array, is_open: Mask, now: float) -> bool:
        spots = np.searchsorted(group.actuators, self._places[own])
        low, high = np.full(len(base), -np.inf), np.full(len(base), np.inf)
        low[spots], high[spots] = self._low[own], self._high[own]
        away = (self._absolute[own] - base[spots]) / self._periods[own]
        off = np.abs(away - np.round(away)) + self._rates[own] * (now - self._times[own])
        agrees = (off <= _AGREEMENT) & (now - self._absolute_at <= _LONGEST)
        self._absolute[own] = np.nan  # it is of this moment
        if agrees.any():
            # More certain than how far it can have moved.
            picks = spots[agrees]
            low[picks] = high[picks] = np.round(away[agrees])
        exact = bool((agrees | ~is_open[spots]).all())
        if group.look(base, is_open, low, high, exact=exact):
            return True
        if group.reason == 'none' and not agrees.any() and np.isfinite(self._low[own]).any():
            # Somebody has moved it faster than its limit.
            self._low[own], self._high[own] = -np.inf, np.inf
            group.forget()
            low[:], high[:] = -np.inf, np.inf
            return group.look(base, is_open, low, high, exact=False)
        return False

    def _settle(self, places: Index, shifts: Array) -> None:
        self._unwrap.totals[places] += shifts * self._periods[places]
        self._counts[places] += shifts
        self._open[places] = False

    # -- what settles a turn ---------------------------------------------------------------------

    def take_absolute(
        self, absolute: Array, positions: Array, timeouts: Array, now: float
    ) -> None:
        """
        Use absolute positions of actuators.

        :param absolute: Shape ``(n_actuators,)``, NaN where there is none; of transmissions that
            ignore the map (``ignore_absolute_encoder``) those of the joints by role.
        :param positions: As in :meth:`__call__`; what is settled by it is written there.
        :param timeouts: As in :meth:`__call__`.
        :param now: Time of receipt [s].
        """
        if self.is_open is None:
            return
        robot = self._robot
        assert robot is not None
        joints = robot.actuator_to_joint('absolute_position', absolute)
        back = robot.joint_to_actuator('position', joints)
        meant = absolute.copy()
        for binding in robot.bindings:
            if binding.spec.name in robot.ignore_absolute_encoder:
                places = list(binding.actuators)
                meant[places] = back[places]
        known = meant[self._places]
        np.copyto(self._absolute, known, where=np.isfinite(known))
        self._absolute_at = now
        self._note_times()
        for group, own in self._parts:
            if np.isfinite(known[own]).any():
                group.forget()
        self._resolve(positions, np.zeros(len(self._places), dtype=bool), timeouts, now)

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
        for group, own in self._parts:
            names = group.joint_names
            is_open = own[self._open[own] & (self._times[own] >= oldest)]
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
            spots = np.searchsorted(group.actuators, self._places[is_open])
            totals = self._unwrap.totals[is_open]
            shifts = np.round((meant[spots] - totals) / self._periods[is_open])
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
        self._note_open()

    # -- what others need to know ----------------------------------------------------------------

    def open_turns(self) -> list[OpenTurn]:
        """Return what is not known of which there are readings."""
        found = []
        for group, own in self._parts:
            is_open = own[self._open[own]]
            if not len(is_open) or not group.reason:
                continue
            found.append(
                OpenTurn(
                    tuple(self._names[place] for place in self._places[is_open]),
                    group.joint_names,
                    group.candidates(),
                    group.reason,
                )
            )
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
