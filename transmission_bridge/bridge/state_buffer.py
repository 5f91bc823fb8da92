# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The latest numbers of one or several drivers, merged by actuator name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
import math

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import Entries, find_entries, MOST_UNKNOWN, PlanCache, Stamp
from transmission_bridge.bridge.options import AUTO, BridgeOptions, split_topic
from transmission_bridge.bridge.turns import TurnPlan, Turns
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    shown,
    UnknownNameError,
)
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Index, Mask

# -- The latest numbers of one or several drivers ------------------------------------------------


_NOBODY = -1

#: Automatic timeout of a driver: smallest value [s], and number of periods.
_LEAST_TIMEOUT, _PERIODS = 1.0, 5.0

_NAMES_HINT = (
    "check that the topic and the description are of this robot, or give the driver's names by "
    'actuator_names: [{}]'
)

#: Largest number of names in this hint.
_MOST_NAMES = 32


def are_finite(values: Array) -> bool:
    """Return whether every number is finite, in half the time of ``.all()``."""
    return 0 not in np.isfinite(values).tobytes()


class _DriverRecord:
    """One driver: its number, latest stamp and time of receipt, layouts, period."""

    def __init__(
        self, number: int, index: Mapping[str, int], timeout: float, scales: Array | None
    ) -> None:
        self.number = number
        self.index = index
        self.timeout = timeout
        self.period = 0.0
        self.stamp: Stamp | None = None
        self.heard = -np.inf
        self.replace_units(scales)

    def replace_units(self, scales: Array | None) -> None:
        """Replace the units for the next messages."""
        self.layout: Layout | None = None
        self.plan: Entries | None = None
        self.plans = PlanCache(lambda layout: find_entries(layout, self.index, scales))


class StateBuffer:
    """
    The latest number of every actuator and interface in SI, NaN: unknown.

    A number becomes unknown if its driver omits its interface, or after the timeout; numbers of
    other drivers stay. If time goes backwards, everything is forgotten: with a timeout at once,
    without one at the next message.

    :param names: The actuators.
    :param options: ``state_timeout`` is used; 0: never; -1: for each driver the larger of 1 s and
        five periods.
    :param driver_names: Driver's name to URDF name, if they differ; ``None``: names are not
        translated. An entry ``source:name`` is for one source, which has no other actuators.
    :param units: Units of the drivers; ``None``: SI.
    :param turn_plan: Single-turn encoders; ``None``: there are none.
    :param stamp_hold: See :class:`StatePath`.
    :param lost: Actuators of rejected transmissions, with the reason; ``driver_names`` may contain
        them.
    :ivar turns: Turns of the encoders, if there are any.
    :ivar version: Increases with every change of the numbers.
    :ivar given: Whether position, velocity, effort were ever received.
    :ivar names_hint: Advice for errors about names, with ``{}`` for the entries; empty if names
        are not translated.
    :ivar unknown_names: Counts of unknown names, shortened; their number is limited, because
        senders may be hostile.
    :ivar not_finite: Counts of NaN and infinite numbers from drivers, rows position, velocity,
        effort, shape ``(3, n_actuators)``.
    :ivar contests: Count of numbers that two drivers published in turn.
    :raises UnknownNameError: If ``driver_names`` name an actuator that is neither in ``names`` nor
        lost.
    :raises ParameterError: If an actuator gets the name that another one keeps.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        options: BridgeOptions,
        *,
        driver_names: Mapping[str, str] | None = None,
        units: DriverUnits | None = None,
        turn_plan: TurnPlan | None = None,
        stamp_hold: float = 0.0,
        lost: Mapping[str, str] | None = None,
    ) -> None:
        self._names = names
        self._indexes = _driver_indexes(names, driver_names or {}, lost or {})
        self._lost = dict(lost or {})
        for driver_name, name in (driver_names or {}).items():
            if name in self._lost:
                self._lost.setdefault(split_topic(driver_name)[1], self._lost[name])
        self.names_hint = '' if driver_names is None else _NAMES_HINT
        self._units = units
        self.turn_plan = turn_plan
        if turn_plan is not None:
            self.turns = Turns(turn_plan)
        self.version = 0
        timeout = options.state_timeout
        self._is_auto = timeout == AUTO
        self._timeout = _LEAST_TIMEOUT if self._is_auto else timeout or math.inf
        self._stamp_hold = stamp_hold
        self.unknown_names: Counter[str] = Counter()
        self.not_finite = np.zeros((len(FIELDS), len(names)), dtype=np.int64)
        self.contests = 0
        self._latest = -np.inf
        self.reset()

    def reset(self) -> None:
        """Forget all messages."""
        self.version += 1
        self._values: Array = np.full((len(FIELDS), len(self._names)), np.nan)
        # Number of the driver of each value: only that driver may withdraw it.
        self._givers: Index = np.full(self._values.shape, _NOBODY, dtype=np.intp)
        # Number of the previous driver of each value.
        self._rivals: Index = np.full(self._values.shape, _NOBODY, dtype=np.intp)
        self._watch_rows(0)
        self._heard: Array = np.full(self._values.shape, -np.inf)
        self._timeouts: Array = np.full(self._values.shape, self._timeout)
        # Before this time no number becomes too old.
        self._fresh_until = math.inf
        # Actuators of drivers that resumed after silence.
        self._came_back: Mask | None = None
        self._sources: dict[str, _DriverRecord] = {}
        self._only: _DriverRecord | None = None
        self._contested = False
        self.given = [False] * len(FIELDS)
        if self.turn_plan is not None:
            self.turns.reset(self.turn_plan)
        self._published: Stamp = (0, 0)
        self._older_since: float | None = None

    def replace_units(self, units: DriverUnits) -> None:
        """Replace the units, and convert the known numbers."""
        assert self._units is not None  # otherwise these are numbers of joints
        one = np.ones_like(self._values)
        before, after = self._units.in_si(one), units.in_si(one)
        if np.array_equal(before, after):
            return
        self._values *= after / before
        self._units = units
        for source in self._sources.values():
            source.replace_units(units.scales)
        self.version += 1

    def find_driver_names(self, source: str = '') -> dict[str, str]:
        """
        Return the URDF name of each name that a driver may use.

        :param source: The driver; by default one without names of its own.
        """
        return {name: self._names[place] for name, place in self._find_index(source).items()}

    def merge_message(
        self, source: str, layout: Layout, data: JointStateRecord, stamp: Stamp, now: float
    ) -> None:
        """
        Use a message; see :meth:`StatePath.merge_message`.

        :raises MessageError: If it is rejected, for example if it names no actuator of the robot
            (``foreign``). State is unchanged, except for :attr:`unknown_names`.
        """
        known = self._sources.get(source) or self._add_driver(source)
        # First, because it may reject the message.
        plan = known.plan if layout is known.layout else known.plans.find_plan(layout)
        assert plan is not None
        for name in plan.unknown:
            if name in self.unknown_names or len(self.unknown_names) < MOST_UNKNOWN:
                self.unknown_names[name] += 1
        if not plan.count:
            raise MessageError('foreign', self._describe_foreign(source, layout.names))
        if now < self._latest and self.record_time(now):
            known = self._add_driver(source)
        self._latest = now
        self.version += 1
        if self._is_auto or now - known.heard > known.timeout:
            self._record_period(known, now)
        if layout is not known.layout or self._contested:
            self._record_giver(known, layout, plan)
        places, picks, values, rows = plan.places, plan.picks, self._values, data.rows
        scales = plan.scales
        if rows is not None:
            given = rows if picks is None else rows[:, picks]
            values[:, places] = given if scales is None else given * scales
            self._heard[:, places] = now
        else:
            for row, numbers in enumerate((data.position, data.velocity, data.effort)):
                if len(numbers):
                    given = numbers if picks is None else numbers[picks]
                    values[row, places] = given if scales is None else given * scales[row]
                    self._heard[row, places] = now
        if not are_finite(self._watched):
            for row, length in enumerate(layout.lengths):
                if length:
                    self.not_finite[row, places] += ~np.isfinite(values[row, places])
            np.copyto(values, np.nan, where=np.isinf(values))
        if self.turn_plan is not None and layout.lengths[0]:
            sent = stamp[0] + stamp[1] * 1e-9 if any(stamp) else np.nan
            self.turns.count_turns(self.turn_plan, values[0], places, self._timeouts[0], now, sent)
        known.stamp, known.heard = stamp, now

    def record_time(self, now: float) -> bool:
        """Forget everything if time went backwards; return whether it went backwards."""
        went_back = now < self._latest
        if went_back:
            self.reset()
            if self.turn_plan is not None:
                self.turns.forget_turns(self.turn_plan)
        self._latest = now
        return went_back

    def _record_period(self, source: _DriverRecord, now: float) -> None:
        """Detect whether a driver resumes after silence, and measure its period."""
        gap = now - source.heard
        if gap > source.timeout and gap != math.inf:
            came_back = (self._givers == source.number).any(axis=0)
            if self._came_back is not None:
                came_back |= self._came_back
            self._came_back = came_back
            self._fresh_until = -math.inf
        if not self._is_auto or gap == math.inf:
            return
        # The first gap is the period; later gaps are averaged.
        source.period = gap if not source.period else 0.9 * source.period + 0.1 * gap
        timeout = max(_LEAST_TIMEOUT, _PERIODS * source.period)
        if timeout != source.timeout:
            source.timeout = timeout
            self._timeouts[self._givers == source.number] = timeout
            self._fresh_until = -math.inf

    def _record_giver(self, source: _DriverRecord, layout: Layout, plan: Entries) -> None:
        """
        Record the numbers that a driver publishes, and forget those that it omits.

        Needed if its layout changes, and for every message after two drivers have published the
        same number.
        """
        source.layout, source.plan = (layout, plan) if layout.is_kept else (None, None)
        self._fresh_until = -math.inf
        is_counted = False
        for row, length in enumerate(layout.lengths):
            givers = self._givers[row, plan.places]
            mine = givers == source.number
            if length:
                others = ~(mine | (givers == _NOBODY))
                # Count once per message.
                if not is_counted and others.any():
                    self._contested = is_counted = True
                    rivals = self._rivals[row, plan.places]
                    self.contests += int((others & (rivals == source.number)).any())
                    self._rivals[row, plan.places] = np.where(others, givers, rivals)
                self._givers[row, plan.places] = source.number
                self._timeouts[row, plan.places] = source.timeout
                self.given[row] = True
            else:
                values = self._values[row, plan.places]
                self._values[row, plan.places] = np.where(mine, np.nan, values)
                self._givers[row, plan.places] = np.where(mine, _NOBODY, givers)
        self._watch_rows(max((n for n, given in enumerate(self.given, 1) if given), default=0))

    def _watch_rows(self, n_rows: int) -> None:
        """Check only the first rows for NaN and inf: rows that are never received are NaN."""
        self._watched: Array = self._values[:n_rows].reshape(-1)

    # -- turns of single-turn encoders, see the methods of Turns ---------------------------------

    def replace_turn_plan(self, plan: TurnPlan) -> None:
        """Replace the plan of turns after its numbers were tuned."""
        self.turn_plan = plan
        self.turns.accept_tuning()

    def use_absolute_positions(self, positions: Array, now: float) -> None:
        """Use absolute positions; see :meth:`Turns.use_absolute_positions`."""
        plan = self.turn_plan
        if plan is not None:
            self.version += 1
            row, timeouts = self._values[0], self._timeouts[0]
            self.turns.use_absolute_positions(plan, positions, row, timeouts, now)

    def reopen_turns(self, joints: Array) -> bool:
        """Lose turns by the positions of joints; see :meth:`Turns.reopen_turns`."""
        plan = self.turn_plan
        return plan is not None and self.turns.reopen_turns(plan, joints, self._values[0])

    def find_nearest_turns(self, wanted: Mapping[str, float], oldest: float) -> Array:
        """See :meth:`Turns.find_nearest_turns`."""
        if self.turn_plan is None:
            return np.full(len(self._names), np.nan)
        return self.turns.find_nearest_turns(self.turn_plan, wanted, oldest)

    def settle_turns(self, positions: Array) -> None:
        """Accept positions of actuators in unknown turns, NaN: none."""
        if self.turn_plan is not None:
            self.version += 1
            self.turns.settle_turns(self.turn_plan, positions)
            np.copyto(self._values[0], positions, where=np.isfinite(positions))

    def find_open_actuators(self, now: float) -> Mask | None:
        """Return actuators in unknown turns; see :meth:`Turns.find_open_actuators`."""
        plan = self.turn_plan
        return (
            None if plan is None else self.turns.find_open_actuators(plan, self._timeouts[0], now)
        )

    def find_driver_shift(self) -> Array | None:
        """See :meth:`Turns.find_driver_shift`."""
        plan = self.turn_plan
        return None if plan is None else self.turns.find_driver_shift(plan)

    def read_values(self, now: float) -> Array:
        """Return rows position, velocity, effort, ``(3, n_actuators)``; must not be changed."""
        if now < self._latest and self._timeout != math.inf:
            self.version += 1
            return np.full_like(self._values, np.nan)
        if now > self._fresh_until:
            self._drop_old_numbers(now)
        return self._values

    def _drop_old_numbers(self, now: float) -> None:
        """Forget the numbers that are too old, and find when the next one becomes too old."""
        self.version += 1
        too_old = self._find_old_numbers(now)
        self._values[too_old] = np.nan
        fresh = ~too_old & np.isfinite(self._heard)
        until = self._heard[fresh] + self._timeouts[fresh]
        self._fresh_until = float(until.min(initial=math.inf))

    def find_silent_actuators(self, now: float) -> Mask | None:
        """Return the mask of the actuators of drivers that are silent beyond their timeout."""
        silent = None
        for source in self._sources.values():
            if now - source.heard > source.timeout:
                mine = (self._givers == source.number).any(axis=0)
                silent = mine if silent is None else silent | mine
        return silent

    def take_returned_actuators(self) -> Mask | None:
        """Return the mask of the actuators of drivers that resumed since the last call."""
        returned, self._came_back = self._came_back, None
        return returned

    def find_driver_timeout(self, source: str) -> float:
        """Return the timeout of a driver [s]; infinite: never."""
        known = self._sources.get(source)
        return self._timeout if known is None else known.timeout

    def find_ages(self, now: float) -> Array:
        """
        Return the age of each number [s], rows as in :meth:`read_values`; infinite: none.

        After time went backwards, ages are negative until the next message.
        """
        ages: Array = now - self._heard
        return ages

    def find_stale_actuators(self, now: float) -> Mask:
        """
        Return the mask of the actuators that have timed out, shape ``(n_actuators,)``.

        An actuator has timed out if all its numbers have, or one that a driver published before.
        """
        if self._timeout == math.inf:
            return np.zeros(len(self._names), dtype=bool)
        too_old = self._find_old_numbers(now)
        lost: Mask = (too_old & (self._givers != _NOBODY)).any(axis=0)
        return lost | too_old.all(axis=0)

    def _find_old_numbers(self, now: float) -> Mask:
        return (self.find_ages(now) > self._timeouts) | (now < self._latest)

    def find_receipt_times(self) -> Array:
        """Return the last time of receipt of each actuator [s], minus infinity: never."""
        newest: Array = self._heard.max(axis=0)
        return newest

    def find_given_values(self, source: str) -> Array:
        """Return the numbers of a driver, in the order of the robot."""
        known = self._sources.get(source)
        given: Array = self._values[self._givers == (_NOBODY if known is None else known.number)]
        return given

    def list_givers(self) -> tuple[str, ...]:
        """Return the driver of each actuator, or an empty string."""
        names = ['', *self._sources]
        return tuple(names[number + 1] for number in self._givers.max(axis=0))

    def list_rivals(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the actuators that two drivers published in turn, by pair of drivers."""
        names = tuple(self._sources)
        found: dict[tuple[str, str], dict[str, None]] = {}
        for row, place in np.argwhere(self._rivals != _NOBODY):
            first, second = sorted((self._givers[row, place], self._rivals[row, place]))
            # A driver that withdrew its number is not a rival.
            if first not in (second, _NOBODY):
                actuators = found.setdefault((names[first], names[second]), {})
                actuators[self._names[place]] = None
        return {drivers: tuple(actuators) for drivers, actuators in found.items()}

    def knows_name(self, source: str, name: str) -> bool:
        """Return whether a driver's name stands for an actuator."""
        return name in self._find_index(source)

    def find_stamp(self, now: float) -> Stamp | None:
        """
        Return the stamp to publish now, ``None`` before the first message.

        It is the largest of the drivers' latest stamps, without drivers that timed out.

        A single older message does not change it. It goes back after ``stamp_hold`` with only
        older stamps, for example after a restart of a driver, or if the time of receipt goes
        backwards. In the latter case it is ``None`` until the next message.
        """
        newest = self._find_latest_stamp(now)
        if newest is None or now < self._latest:
            return None
        if newest < self._published:
            if self._older_since is None:
                self._older_since = now
            if now - self._older_since < self._stamp_hold:
                return self._published
        self._published, self._older_since = newest, None
        return newest

    def forget_stamps(self) -> None:
        """Forget the drivers' stamps after the clock was set."""
        self._published, self._older_since = (0, 0), None
        for source in self._sources.values():
            source.stamp = None

    def _find_latest_stamp(self, now: float) -> Stamp | None:
        only = self._only
        if only is not None:
            return only.stamp if now - only.heard <= only.timeout else None
        stamps = [
            source.stamp
            for source in self._sources.values()
            if source.stamp is not None and now - source.heard <= source.timeout
        ]
        return max(stamps, default=None)

    def _add_driver(self, source: str) -> _DriverRecord:
        added = self._sources[source] = _DriverRecord(
            len(self._sources),
            self._find_index(source),
            self._timeout,
            None if self._units is None else self._units.scales,
        )
        self._only = added if len(self._sources) == 1 else None
        return added

    def _find_index(self, source: str) -> dict[str, int]:
        return self._indexes.get(source, self._indexes[''])

    def _describe_foreign(self, source: str, names: tuple[str, ...]) -> str:
        lost = [f'{shown(name)} ({self._lost[name]})' for name in names if name in self._lost]
        if lost:
            return f'no name is bridged: {shortened(lost, show=str)}'
        known = self.find_driver_names(source)
        sentence = (
            f'no name is known: expected some of {shortened(tuple(known))}, '
            f'found {shortened(names) or "none"}'
        )
        if not self.names_hint or not names:
            return sentence
        place = f'{source}:' if source in self._indexes else ''
        # The user has to assign several names: a guess could move the wrong joint.
        urdf_name = next(iter(known.values())) if len(known) == len(names) == 1 else '?'
        entries = [f'{place}{name}={urdf_name}' for name in names]
        return f'{sentence}; {self.names_hint.format(shortened(entries, _MOST_NAMES))}'


def _driver_indexes(
    names: tuple[str, ...], driver_names: Mapping[str, str], lost: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Return the indices of names by source; ``''``: sources without names of their own."""
    entries: dict[str, dict[str, str]] = {'': {}}
    for driver_name, name in driver_names.items():
        source, own = split_topic(driver_name)
        entries.setdefault(source, {})[own] = name
    return {
        source: _driver_index(names, own, lost, bool(source)) for source, own in entries.items()
    }


def _driver_index(
    names: tuple[str, ...],
    driver_names: Mapping[str, str],
    lost: Mapping[str, str],
    alone: bool,
) -> dict[str, int]:
    """
    Return the index of every name that a driver may use.

    A renamed actuator has only the driver's name, because its URDF name may mean another actuator
    of the driver.

    :param alone: Whether the driver has no other actuators.
    """
    index = {name: place for place, name in enumerate(names)}
    renamed = set(driver_names.values())
    for driver_name, name in driver_names.items():
        if name not in index and name not in lost:
            known = (*names, *lost)
            raise UnknownNameError('actuator', name, known, parameter='actuator_names')
        if not alone and driver_name in index and driver_name not in renamed:
            raise ParameterError(
                'actuator_names cannot be accepted: two actuators would have one name',
                parameter='actuator_names',
                expected=f"also a driver's name for {driver_name}",
                found=repr(f'{driver_name}={name}'),
            )
    own = {} if alone else {n: place for n, place in index.items() if n not in renamed}
    return own | {
        driver_name: index[name] for driver_name, name in driver_names.items() if name in index
    }
