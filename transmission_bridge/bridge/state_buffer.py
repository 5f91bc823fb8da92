# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The newest numbers of one or several drivers, merged by actuator name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
import math

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import find_places, MOST_UNKNOWN, Places, PlanCache, Stamp
from transmission_bridge.bridge.options import AUTO, BridgeOptions, split_topic
from transmission_bridge.bridge.turns import TurnCounter
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

# -- The newest numbers of one or several drivers ------------------------------------------------


_NOBODY = -1

#: Where the timeout of a driver is found: seconds at least, and how many of its periods.
_LEAST_TIMEOUT, _PERIODS = 1.0, 5.0

_NAMES_HINT = "give the driver's names by actuator_names: [{}]"

#: Names of a driver in this advice, at most.
_MOST_NAMES = 32


def all_finite(values: Array) -> bool:
    """Return whether every number is finite, at half of the price of ``.all()``."""
    return 0 not in np.isfinite(values).tobytes()


class _Source:
    """One driver: its number, its newest stamp and time of receipt, its layouts, its period."""

    def __init__(
        self, number: int, index: Mapping[str, int], timeout: float, scales: Array | None
    ) -> None:
        self.number = number
        self.index = index
        self.timeout = timeout
        self.period = 0.0
        self.stamp: Stamp | None = None
        self.heard = -np.inf
        self.use(scales)

    def use(self, scales: Array | None) -> None:
        """Take its numbers by other units from now on."""
        self.layout: Layout | None = None
        self.plan: Places | None = None
        self.plans = PlanCache(lambda layout: find_places(layout, self.index, scales))


class StateBuffer:
    """
    The newest number of every actuator and interface in SI, NaN where it is not known.

    A number becomes unknown when the driver that gave it leaves its interface out; numbers of
    other drivers stay. With a timeout, a number that is not given again in time is unknown until
    it is. Time going backwards forgets everything: with a timeout at once, without one at the next
    message.

    :param names: The actuators.
    :param options: The choices of the user; ``state_timeout`` is 0: never; -1: of each driver the
        larger of 1 s and five periods.
    :param driver_names: Driver's name to URDF name, where they differ; ``None`` where names
        are not translated. An entry ``source:name`` is for one source, which then has no other
        actuators.
    :param units: Units of the numbers that drivers give; ``None``: all are SI.
    :param turns: Counts the turns of single-turn encoders; ``None``: there are none.
    :param stamp_hold: Seconds of only older stamps after which the published stamp goes back; 0,
        for recordings: at once.
    :param lost: Actuators of refused transmissions, with the reason; ``driver_names`` may contain
        them.
    :ivar turns: What counts turns, as given.
    :ivar version: Increases with every change of the numbers.
    :ivar given: Whether position, velocity, effort were ever given.
    :ivar names_hint: How to give a driver's names, for errors, ``{}`` standing for the entries;
        empty where names are not translated.
    :ivar unknown_names: Counts of names, shortened, that the robot does not have; limited in
        number, because senders may be hostile.
    :ivar not_finite: How many numbers from drivers were NaN or infinite, rows position, velocity,
        effort, shape ``(3, n_actuators)``.
    :ivar contests: How often a driver gave a number again that another one had taken over.
    :raises UnknownNameError: If ``driver_names`` name an actuator that is neither in ``names`` nor
        lost.
    :raises ParameterError: If they give an actuator the name of another one that keeps it.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        options: BridgeOptions,
        *,
        driver_names: Mapping[str, str] | None = None,
        units: DriverUnits | None = None,
        turns: TurnCounter | None = None,
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
        self.turns = turns
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
        # Number of the driver that gave the value: only that driver may withdraw it.
        self._givers: Index = np.full(self._values.shape, _NOBODY, dtype=np.intp)
        # Number of the driver that had given it before.
        self._rivals: Index = np.full(self._values.shape, _NOBODY, dtype=np.intp)
        self._watch(0)
        self._heard: Array = np.full(self._values.shape, -np.inf)
        self._timeouts: Array = np.full(self._values.shape, self._timeout)
        # Until then no number becomes too old.
        self._fresh_until = math.inf
        # Actuators of drivers that were silent and came back.
        self._came_back: Mask | None = None
        self._sources: dict[str, _Source] = {}
        self._only: _Source | None = None
        self._contested = False
        self.given = [False] * len(FIELDS)
        if self.turns is not None:
            self.turns.reset()
        self._published: Stamp = (0, 0)
        self._older_since: float | None = None

    def use(self, units: DriverUnits) -> None:
        """Replace the units; what drivers said stays."""
        assert self._units is not None  # else these are numbers of joints
        one = np.ones_like(self._values)
        before, after = self._units.in_si(one), units.in_si(one)
        if np.array_equal(before, after):
            return
        self._values *= after / before
        self._units = units
        for source in self._sources.values():
            source.use(units.scales)
        self.version += 1

    def names_of_driver(self, source: str = '') -> dict[str, str]:
        """
        Return the URDF name of each name that a driver may use.

        :param source: The driver, by default one that has no names of its own.
        """
        return {name: self._names[place] for name, place in self._index_of(source).items()}

    def update(
        self, source: str, layout: Layout, data: JointStateRecord, stamp: Stamp, now: float
    ) -> None:
        """
        Use a message; see :meth:`StatePath.update`.

        :raises MessageError: If it is refused, as one that names no actuator of the robot is
            (``foreign``); then nothing but :attr:`unknown_names` has changed.
        """
        known = self._sources.get(source) or self._add(source)
        # First, because it may refuse the message.
        plan = known.plan if layout is known.layout else known.plans.get(layout)
        assert plan is not None
        if plan.unknown:
            self._count_unknown(plan.unknown)
        if not plan.count:
            raise MessageError('foreign', self._foreign(source, layout.names))
        if now < self._latest and self.note_time(now):
            known = self._add(source)
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
        if not all_finite(self._watched):
            self._count_not_finite(layout, plan)
            np.copyto(values, np.nan, where=np.isinf(values))
        if self.turns is not None and layout.lengths[0]:
            sent = stamp[0] + stamp[1] * 1e-9 if any(stamp) else np.nan
            self.turns(values[0], places, self._timeouts[0], now, sent)
        known.stamp, known.heard = stamp, now

    def note_time(self, now: float) -> bool:
        """Forget everything if time went backwards; return whether it did."""
        went_back = now < self._latest
        if went_back:
            self.reset()
            if self.turns is not None:
                self.turns.forget()
        self._latest = now
        return went_back

    def _record_period(self, source: _Source, now: float) -> None:
        """Find out whether a driver was silent, and its period."""
        gap = now - source.heard
        if gap > source.timeout and gap != math.inf:
            came_back = (self._givers == source.number).any(axis=0)
            if self._came_back is not None:
                came_back |= self._came_back
            self._came_back = came_back
            self._fresh_until = -math.inf
        if not self._is_auto or gap == math.inf:
            return
        # The first gap counts whole; later ones are averaged.
        source.period = gap if not source.period else 0.9 * source.period + 0.1 * gap
        timeout = max(_LEAST_TIMEOUT, _PERIODS * source.period)
        if timeout != source.timeout:
            source.timeout = timeout
            self._timeouts[self._givers == source.number] = timeout
            self._fresh_until = -math.inf

    def _record_giver(self, source: _Source, layout: Layout, plan: Places) -> None:
        """
        Record which numbers a driver gives, and forget those that it no longer gives.

        Needed when its layout changes, and with every message once two drivers have given the same
        number.
        """
        source.layout, source.plan = (layout, plan) if layout.is_kept else (None, None)
        self._fresh_until = -math.inf
        is_counted = False
        for row, length in enumerate(layout.lengths):
            givers = self._givers[row, plan.places]
            mine = givers == source.number
            if length:
                others = ~(mine | (givers == _NOBODY))
                # One interface is enough to find the rivals.
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
        self._watch(max((row + 1 for row, given in enumerate(self.given) if given), default=0))

    def _watch(self, n_rows: int) -> None:
        """Look for NaN and inf in the first rows only: rows that are never given are NaN."""
        self._watched: Array = self._values[:n_rows].reshape(-1)

    def take_absolute(self, positions: Array, now: float) -> None:
        """Use absolute positions; see :meth:`TurnCounter.take_absolute`."""
        if self.turns is not None:
            self.version += 1
            self.turns.take_absolute(positions, self._values[0], self._timeouts[0], now)

    def reopen_turns(self, joints: Array) -> bool:
        """Open turns by the positions of joints; see :meth:`TurnCounter.reopen`."""
        return self.turns is not None and self.turns.reopen(joints, self._values[0])

    def settle_turns(self, positions: Mapping[int, float]) -> None:
        """Take positions, by place, for those of actuators whose turn is open."""
        if self.turns is not None:
            self.version += 1
            self.turns.settle(positions)
            for place, position in positions.items():
                self._values[0, place] = position

    def open_turns(self, now: float) -> Mask | None:
        """Return the actuators in a turn that is not known; see :meth:`TurnCounter.open_at`."""
        return None if self.turns is None else self.turns.open_at(self._timeouts[0], now)

    def values(self, now: float) -> Array:
        """Return rows position, velocity, effort, ``(3, n_actuators)``; must not be changed."""
        if now < self._latest and self._timeout != math.inf:
            self.version += 1
            return np.full_like(self._values, np.nan)
        if now > self._fresh_until:
            self._drop_old(now)
        return self._values

    def _drop_old(self, now: float) -> None:
        """Forget the numbers that are too old, and find out until when the others are not."""
        self.version += 1
        too_old = self._too_old(now)
        self._values[too_old] = np.nan
        fresh = ~too_old & np.isfinite(self._heard)
        until = self._heard[fresh] + self._timeouts[fresh]
        self._fresh_until = float(until.min(initial=math.inf))

    def silent(self, now: float) -> Mask | None:
        """Return the actuators of drivers that are silent for longer than their timeout."""
        silent = None
        for source in self._sources.values():
            if now - source.heard > source.timeout:
                mine = (self._givers == source.number).any(axis=0)
                silent = mine if silent is None else silent | mine
        return silent

    def take_returned(self) -> Mask | None:
        """Return the actuators of drivers that came back from silence since the last call."""
        returned, self._came_back = self._came_back, None
        return returned

    def timeout_of(self, source: str) -> float:
        """Return the seconds after which a driver is too silent; infinite: never."""
        known = self._sources.get(source)
        return self._timeout if known is None else known.timeout

    def ages(self, now: float) -> Array:
        """
        Return the seconds since each number was given, rows as :meth:`values`.

        Infinite for one that never was. After time went backwards, ages are negative until the
        next message.
        """
        ages: Array = now - self._heard
        return ages

    def stale(self, now: float) -> Mask:
        """
        Return which actuators have timed out, shape ``(n_actuators,)``.

        An actuator has timed out when all its numbers have, or one that a driver used to give
        while other drivers still give the rest.
        """
        if self._timeout == math.inf:
            return np.zeros(len(self._names), dtype=bool)
        too_old = self._too_old(now)
        lost: Mask = (too_old & (self._givers != _NOBODY)).any(axis=0)
        return lost | too_old.all(axis=0)

    def _too_old(self, now: float) -> Mask:
        return (self.ages(now) > self._timeouts) | (now < self._latest)

    def newest(self) -> Array:
        """Return when each actuator was given last [s], minus infinity: never."""
        newest: Array = self._heard.max(axis=0)
        return newest

    def given_by(self, source: str) -> Array:
        """Return the numbers that a driver gave, in the order of the robot."""
        known = self._sources.get(source)
        given: Array = self._values[self._givers == (_NOBODY if known is None else known.number)]
        return given

    def givers(self) -> tuple[str, ...]:
        """Return the driver of each actuator, empty where none has given a number."""
        names = ['', *self._sources]
        return tuple(names[number + 1] for number in self._givers.max(axis=0))

    def rivals(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return, by pair of drivers, the actuators of which both gave the same number."""
        names = tuple(self._sources)
        found: dict[tuple[str, str], dict[str, None]] = {}
        for row, place in np.argwhere(self._rivals != _NOBODY):
            first, second = sorted((self._givers[row, place], self._rivals[row, place]))
            # A driver that withdrew its number is not a rival.
            if first not in (second, _NOBODY):
                actuators = found.setdefault((names[first], names[second]), {})
                actuators[self._names[place]] = None
        return {drivers: tuple(actuators) for drivers, actuators in found.items()}

    def knows(self, source: str, name: str) -> bool:
        """Return whether a driver's name is that of an actuator."""
        return name in self._index_of(source)

    def stamp(self, now: float) -> Stamp | None:
        """
        Return the stamp to publish now, ``None`` before the first message.

        It is the newest stamp among the drivers' newest messages, without drivers that timed out.

        It goes back only when time does: the time of receipt (there is no stamp then until the
        next message), or the time of the drivers, if only older stamps have come for
        ``stamp_hold`` (a driver was restarted, a recording is played again). A single message from
        the past changes nothing.
        """
        newest = self._newest(now)
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
        """Forget the drivers' stamps, because the clock was set, until they send new ones."""
        self._published, self._older_since = (0, 0), None
        for source in self._sources.values():
            source.stamp = None

    def _newest(self, now: float) -> Stamp | None:
        only = self._only
        if only is not None:
            return only.stamp if now - only.heard <= only.timeout else None
        stamps = [
            source.stamp
            for source in self._sources.values()
            if source.stamp is not None and now - source.heard <= source.timeout
        ]
        return max(stamps, default=None)

    def _add(self, source: str) -> _Source:
        added = self._sources[source] = _Source(
            len(self._sources),
            self._index_of(source),
            self._timeout,
            None if self._units is None else self._units.scales,
        )
        self._only = added if len(self._sources) == 1 else None
        return added

    def _index_of(self, source: str) -> dict[str, int]:
        return self._indexes.get(source, self._indexes[''])

    def _count_not_finite(self, layout: Layout, plan: Places) -> None:
        for row, length in enumerate(layout.lengths):
            if length:
                self.not_finite[row, plan.places] += ~np.isfinite(self._values[row, plan.places])

    def _foreign(self, source: str, names: tuple[str, ...]) -> str:
        lost = [f'{shown(name)} ({self._lost[name]})' for name in names if name in self._lost]
        if lost:
            return f'none of the names is bridged: {shortened(lost, show=str)}'
        known = self.names_of_driver(source)
        sentence = (
            f'none of the names is known: expected some of {shortened(tuple(known))}, '
            f'found {shortened(names) or "none"}'
        )
        if not self.names_hint or not names:
            return sentence
        place = f'{source}:' if source in self._indexes else ''
        # Which of several is which is for the user to say: a guess could move another joint.
        urdf_name = next(iter(known.values())) if len(known) == len(names) == 1 else '?'
        entries = [f'{place}{name}={urdf_name}' for name in names]
        return f'{sentence}; {self.names_hint.format(shortened(entries, _MOST_NAMES))}'

    def _count_unknown(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name in self.unknown_names or len(self.unknown_names) < MOST_UNKNOWN:
                self.unknown_names[name] += 1


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

    A renamed actuator has only the driver's name: its own may be another's there.

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
                expected=f"a driver's name for {driver_name} as well",
                found=repr(f'{driver_name}={name}'),
            )
    own = {} if alone else {n: place for n, place in index.items() if n not in renamed}
    return own | {
        driver_name: index[name] for driver_name, name in driver_names.items() if name in index
    }
