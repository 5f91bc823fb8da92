# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The latest numbers of one or several drivers, and the joint states computed from them.

Messages of drivers and sensors, and services that settle turns, write the numbers. The gate,
diagnostics, services and the publisher of joint states read them, in the same thread; reading also
lets numbers time out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.inputs import MessageEntries, MOST_UNKNOWN, Stamp
from transmission_bridge.bridge.motion import POSITION, VELOCITY
from transmission_bridge.bridge.options.options import BridgeOptions, RECORDED
from transmission_bridge.bridge.states.knowledge import DriverReception, KnowledgeSpells, StatePace
from transmission_bridge.bridge.states.state_map import DriverStateIndex, StateMap
from transmission_bridge.bridge.states.turns import Turns
from transmission_bridge.errors import MessageError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array, EMPTY, Index, Mask

_NOBODY = -1


class KnownState(NamedTuple):
    """
    The known state of the robot at one moment.

    It is valid for one message: the next map may overwrite the arrays of joints.

    :param now: The time [s], as in :class:`States`.
    :param position: Joint positions, shape ``(n_joints,)``, NaN if unknown or too old.
    :param velocity: Joint velocities, same shape, NaN if unknown or too old.
    :param spells: Number of the spell for which each actuator is known, see
        :class:`KnowledgeSpells`.
    :param shift: To subtract from actuator positions for the turns of the drivers, shape
        ``(n_actuators,)``; ``None``: zero.
    """

    now: float
    position: Array
    velocity: Array
    spells: Array
    shift: Array | None = None


class States:
    """
    The latest number of every actuator and interface in SI, NaN: unknown.

    A number becomes unknown if its driver omits its interface, or after the timeout; numbers of
    other drivers stay. If time goes backwards, everything is forgotten: with a timeout at once,
    without one at the next message. A message is used atomically.

    Only indices and numbers are stored; methods that need names, units or maps receive them, from
    the plan in use. Every ``now`` is the time of receipt [s] by one clock; stamps are of the
    drivers. Joint states are computed from numbers of actuators; numbers may also be those of
    joints.

    :param index: Names of the actuators, and single-turn encoders.
    :param options: ``state_timeout`` is used; 0: never; -1: for each driver five periods, from 1 s
        to 5 s. By default numbers never time out.
    :param stamp_hold: After this time with only older stamps the published stamp goes back [s]; 0,
        for recordings: at once.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    :ivar unknown_names: Counts of unknown names, shortened; their number is limited, because
        senders may be hostile.
    :ivar not_finite: Counts of NaN and infinite numbers from drivers, rows position, velocity,
        effort, shape ``(3, count)``.
    :ivar contests: Count of numbers that two drivers published in turn.
    :ivar spells: How long each actuator has been known.
    :ivar pace: Speeds of the actuators by their positions.
    """

    def __init__(
        self,
        index: DriverStateIndex,
        options: BridgeOptions = RECORDED,
        *,
        stamp_hold: float = 0.0,
    ) -> None:
        # NaN for each actuator: it has no turn that is lost or found.
        self._shape, self._endless = (len(FIELDS), index.count), np.full(index.count, np.nan)
        self.turns = None if index.encoders is None else Turns(index.encoders)
        self.spells, self.pace = KnowledgeSpells(index.count), StatePace()
        self._state_timeout = options.state_timeout
        # In place of a driver without messages: its timeout and its look-up.
        self._stranger = DriverReception(
            _NOBODY, MessageEntries(slice(0), None, 0, (), None), options.state_timeout
        )
        self._stamp_hold = stamp_hold
        self.report = MapReport()
        self.unknown_names: Counter[str] = Counter()
        self.not_finite = np.zeros(self._shape, dtype=np.int64)
        self.contests = 0
        self._latest = -math.inf
        self.reset()

    def reset(self) -> None:
        """Forget all messages."""
        self._values: Array = np.full(self._shape, np.nan)
        # Number of the driver of each value: only that driver may withdraw it.
        self._givers: Index = np.full(self._shape, _NOBODY, dtype=np.intp)
        # Number of the previous driver of each value.
        self._rivals: Index = np.full(self._shape, _NOBODY, dtype=np.intp)
        # Without the last messages of the drivers, see _find_receipts.
        self._heard: Array = np.full(self._shape, -np.inf)
        # Before this time no number becomes too old.
        self._fresh_until = math.inf
        # Timeout of each number, see _find_timeouts.
        self._timeouts: Array | None = None
        self.pace.forget()
        self._drivers: dict[str, DriverReception] = {}
        # Whether two drivers published a number; whether _joints are the map of the numbers.
        self._is_contested = self._is_mapped = False
        self._watch_rows()
        if self.turns is not None:
            self.turns.reset()
        self.spells.begin_unheard(None if self.turns is None else self.turns.wraps)
        self.forget_stamps()

    def replace_index(self, before: DriverStateIndex, after: DriverStateIndex) -> None:
        """
        Convert the known numbers if a new index has other units, and let turns use its encoders.

        :param before: The index that the messages so far had.
        :param after: The index of the next message, with the same names.
        """
        self._is_mapped = False
        old, new = (1.0 if index.scales is None else index.scales for index in (before, after))
        if not np.array_equal(old, new):
            self._values *= np.divide(new, old)
            self.pace.forget()
        for driver in self._drivers.values():
            driver.layout = None
        if self.turns is not None and after.encoders is not None:
            self.turns.accept_tuning(after.encoders)

    # -- messages --------------------------------------------------------------------------------

    def merge_message(
        self,
        index: DriverStateIndex,
        source: str,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float = 0.0,
    ) -> None:
        """
        Use the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; its numbers are copied.
        :param stamp: Its stamp, never zero.
        :param now: Time of receipt [s].
        :raises MessageError: If it is rejected, for example if it names no actuator of the robot
            (``foreign``). State is unchanged, except for :attr:`unknown_names`.
        """
        driver = self._drivers.get(source, self._stranger)
        is_usual = layout is driver.layout and self._latest <= now <= driver.heard + driver.usual
        if not is_usual:
            driver = self._look_up_driver(index, source, layout, now)
        rows, target, entries = data.rows, driver.target, driver.entries
        if rows is None or target is None:
            self._write_numbers(entries, data)
        else:
            target[...] = rows
            if entries.scales is not None:
                target *= entries.scales
        np.isfinite(self._watched, self._is_finite)
        is_finite = 0 not in self._finite_bytes
        if not is_finite:
            for row in entries.rows:
                numbers = self._values[row, entries.places]
                self.not_finite[row, entries.places] += ~np.isfinite(numbers)
            np.copyto(self._values, np.nan, where=np.isinf(self._values))
        if self.turns is not None and layout.lengths[0]:
            sent = stamp[0] + stamp[1] * 1e-9 if any(stamp) else np.nan
            timeouts = self._find_timeouts()[POSITION]
            self._values[POSITION] = self.turns.count_turns(
                self._values[POSITION], entries.places, timeouts, now, sent
            )
            self._follow_turns()
        if not is_usual or not is_finite or driver.has_blanks:
            self._begin_spells(driver, now)
        driver.stamp, driver.heard = stamp, now
        self._latest, self._is_mapped = now, False
        if now >= self.pace.due and not (is_finite and VELOCITY in entries.rows):
            counted = self._values[0] if self.turns is None else self.turns.totals
            is_unknown = np.isnan(self._values[0])
            self.pace.record_positions(np.where(is_unknown, counted, self._values[0]), now)

    def _look_up_driver(
        self, index: DriverStateIndex, source: str, layout: Layout, now: float
    ) -> DriverReception:
        """Return the driver of a message that is its first one or not like its last one."""
        # First, because it may reject the message.
        entries = index.find_entries(source, layout)
        if not entries.count:
            self._count_unknown(entries.unknown)
            raise MessageError('foreign', index.describe_foreign(source, layout.names))
        self.record_time(now)
        driver = self._drivers.get(source)
        if driver is None:
            driver = DriverReception(len(self._drivers), entries, self._state_timeout)
            self._drivers[source] = driver
        self._end_spells(now)  # by the last layout
        gap = now - driver.heard
        if driver.timeout < gap < math.inf:
            self._fresh_until = -math.inf
        if driver.measure_period(gap):
            self._forget_timeouts()
        if layout is not driver.layout:
            self._record_giver(driver, layout, entries)
        return driver

    def _count_unknown(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self.unknown_names or len(self.unknown_names) < MOST_UNKNOWN:
                self.unknown_names[name] += 1

    def _write_numbers(self, entries: MessageEntries, data: JointStateRecord) -> None:
        """Write numbers that are not a block."""
        self._count_unknown(entries.unknown)
        places, picks, scales, rows = entries.places, entries.picks, entries.scales, data.rows
        if rows is not None:
            used = rows if picks is None else rows[:, picks]
            self._values[:, places] = used if scales is None else used * scales
            return
        for row, numbers in enumerate((data.position, data.velocity, data.effort)):
            if len(numbers):
                used = numbers if picks is None else numbers[picks]
                self._values[row, places] = used if scales is None else used * scales[row]

    def record_time(self, now: float) -> None:
        """Forget everything if time went backwards; timers call it for states without messages."""
        if now < self._latest:
            self.reset()
            if self.turns is not None:
                self.turns.forget_turns()
        self._latest = now

    def _record_giver(
        self, driver: DriverReception, layout: Layout, entries: MessageEntries
    ) -> None:
        """
        Record the numbers that a driver publishes, and forget those that it omits.

        Needed if its layout changes, and for every message after two drivers have published the
        same number.
        """
        self._forget_timeouts()
        places, values = entries.places, self._values[:, entries.places]
        givers, rivals = self._givers[:, places], self._rivals[:, places]
        gives: Mask = np.array(layout.lengths, dtype=bool)[:, np.newaxis]
        mine = givers == driver.number
        others = gives & ~mine & (givers != _NOBODY)
        if others.any():
            self._is_contested = True
            self.contests += int((others & (rivals == driver.number)).any())
            self._rivals[:, places] = np.where(others, givers, rivals)
        is_withdrawn = np.zeros(self._shape[1], dtype=bool)
        is_withdrawn[places] = (mine & ~gives)[POSITION]
        self.spells.note_blank(is_withdrawn, self._latest)
        self._values[:, places] = np.where(mine & ~gives, np.nan, values)
        self._givers[:, places] = np.where(gives, driver.number, np.where(mine, _NOBODY, givers))
        is_block = entries.picks is None and isinstance(places, slice)
        driver.entries, driver.target = entries, self._values[:, places] if is_block else None
        driver.layout = layout if layout.is_kept else None
        for other in self._drivers.values() if self._is_contested else ():
            other.layout = None
        self._watch_rows()

    def _watch_rows(self) -> None:
        """Check only the first rows for NaN and inf: rows without a driver are NaN."""
        rows = np.flatnonzero((self._givers != _NOBODY).any(axis=1))
        self._watched: Array = self._values[: rows.max(initial=-1) + 1].reshape(-1)
        # Testing the bytes takes half the time of all().
        self._finite_bytes = bytearray(len(self._watched))
        self._is_finite = np.frombuffer(self._finite_bytes, dtype=bool)

    # -- spells of knowledge ---------------------------------------------------------------------

    def _end_spells(self, now: float) -> None:
        """End the spells of actuators that are not known any more."""
        receipts, timeouts, counted = self._find_receipts(), self._find_timeouts(), self._endless
        if self.turns is not None:
            counted = self.turns.compute_counted_until(timeouts[POSITION])
        self.spells.end_spells(now, receipts, timeouts, counted)

    def _begin_spells(self, driver: DriverReception, now: float) -> None:
        """Begin the spells of actuators that a message of a driver makes known."""
        if now > self.spells.until:
            self._end_spells(now)
        is_finite = self._is_finite.reshape(-1, self._shape[1])
        is_read = np.zeros(self._shape[1], dtype=bool)
        places, rows = driver.entries.places, list(driver.entries.rows)
        if POSITION in rows:
            is_read[places] = is_finite[POSITION, places]
            is_blank = np.zeros_like(is_read)
            is_blank[places] = ~is_read[places]
            self.spells.note_blank(is_blank, now)
            driver.has_blanks = bool(is_blank.any())
        elif rows:
            is_read[places] = is_finite[rows][:, places].any(axis=0)
            is_read &= self._find_receipts()[POSITION] == -math.inf
        self.spells.begin_spells(is_read, None if self.turns is None else self.turns.is_open)

    def _follow_turns(self) -> None:
        """End and begin the spells of turns that were lost or found."""
        if self.turns is not None and (changed := self.turns.take_changes()) is not None:
            self.spells.follow_turns(changed, self.turns.is_open)

    # -- turns of single-turn encoders, see the methods of Turns ---------------------------------

    def use_absolute_positions(self, positions: Array, now: float) -> None:
        """
        Use absolute positions of actuators in unknown turns.

        :param positions: In SI, shape ``(n_actuators,)``, NaN: not in this message.
        :param now: Time of receipt [s], by the clock of :meth:`merge_message`. Only readings of
            nearly the same time are compared.
        """
        if self.turns is not None:
            self._is_mapped, timeouts = False, self._find_timeouts()[POSITION]
            self._values[POSITION] = self.turns.use_absolute_positions(
                positions, self._values[POSITION], timeouts, now
            )
            self._follow_turns()

    def compute_nearest_turns(
        self, wanted: Mapping[str, float], now: float, max_age: float = math.inf
    ) -> Array:
        """
        Return positions by recent readings; see :meth:`Turns.compute_nearest_turns`.

        :param max_age: Largest age of a reading [s].
        """
        if self.turns is None:
            return self._endless.copy()
        oldest = now - np.minimum(self._find_timeouts()[0], max_age)
        return self.turns.compute_nearest_turns(wanted, oldest)

    def settle_turns(self, positions: Array) -> None:
        """
        Accept positions of actuators in unknown turns, NaN: none.

        :param positions: From :meth:`compute_nearest_turns`, with no message between the two
            calls.
        """
        if self.turns is not None:
            # A reading may have become too old since the positions were found.
            self._is_mapped, self._fresh_until = False, -math.inf
            self.turns.settle_turns(positions)
            np.copyto(self._values[0], positions, where=np.isfinite(positions))
            self._follow_turns()

    def reopen_turns(self, joints: Array) -> bool:
        """Lose turns by the positions of joints; see :meth:`Turns.reopen_turns`."""
        if self.turns is None:
            return False
        lost = self.turns.reopen_turns(joints, self._values[POSITION])
        self._values[POSITION, lost] = np.nan
        self._follow_turns()
        return bool(lost.any())

    # -- the joints ------------------------------------------------------------------------------

    def encode_state(self, state_map: StateMap, now: float = 0.0) -> bytes | None:
        """
        Return the serialised joint states with the stamp of the latest input.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.choose_stamp(now)
        if stamp is None:
            return None
        joints = self._map_values(state_map, self.read_values(now))
        np.isfinite(joints, state_map.is_finite)
        if 0 in state_map.finite_bytes or not state_map.is_plain:
            return state_map.encode_partial_state(stamp, joints)
        state_map.rows[...] = joints
        return state_map.writer.write_message(*stamp)

    def compute_joint_motion(self, state_map: StateMap, now: float = 0.0) -> Array:
        """
        Return rows position and velocity, shape ``(2, n_joints)``, NaN if unknown or stale.

        **Overwritten** by the next call that maps.
        """
        values = self.read_values(now)
        joints = self._joints if self._is_mapped else self._map_values(state_map, values)
        return joints[:2]

    def compute_known_state(self, state_map: StateMap, now: float) -> KnownState:
        """Return the known state for a command."""
        if now < self._latest:
            self.record_time(now)
        self._latest, values = now, self.read_values(now)
        joints = self._joints if self._is_mapped else self._map_values(state_map, values)
        if now > self.spells.until:
            self._end_spells(now)
        shift = None if self.turns is None else self.turns.compute_driver_shift()
        return KnownState(now, joints[0], joints[1], self.spells.numbers, shift)

    def _map_values(self, state_map: StateMap, values: Array) -> Array:
        joints = state_map.map_state(values, self.report)
        if self.turns is not None and self.reopen_turns(joints[0]):
            joints = state_map.map_state(values, self.report)
        self._joints, self._is_mapped = joints, values is self._values
        return joints

    # -- the numbers -----------------------------------------------------------------------------

    def read_values(self, now: float) -> Array:
        """Return rows position, velocity, effort, ``(3, count)``; must not be changed."""
        if self._latest <= now <= self._fresh_until:
            return self._values
        self._is_mapped, too_old = False, self._mask_old_numbers(now)
        if now < self._latest:
            return np.where(too_old, np.nan, self._values)
        self._values[too_old] = np.nan
        fresh = ~too_old & np.isfinite(self._heard)
        until = self._heard[fresh] + self._find_timeouts()[fresh]
        self._fresh_until = float(until.min(initial=math.inf))
        return self._values

    def _mask_old_numbers(self, now: float) -> Mask:
        timeouts = self._find_timeouts()
        return (self.compute_ages(now) > timeouts) | ((now < self._latest) & np.isfinite(timeouts))

    def _find_receipts(self) -> Array:
        """Return the time of receipt of each number [s], minus infinity: never."""
        for driver in self._drivers.values():
            for row in driver.entries.rows:
                heard = self._heard[row, driver.entries.places]
                self._heard[row, driver.entries.places] = np.maximum(heard, driver.heard)
        return self._heard

    def _find_timeouts(self) -> Array:
        """Return the timeout of each number [s]."""
        if self._timeouts is None:
            # The number of nobody is the last one.
            drivers = (*self._drivers.values(), self._stranger)
            self._timeouts = np.array([driver.timeout for driver in drivers])[self._givers]
        return self._timeouts

    def _forget_timeouts(self) -> None:
        """Look anew for the timeout of each number."""
        self._timeouts, self._fresh_until, self.spells.until = None, -math.inf, -math.inf

    def find_driver_timeout(self, source: str) -> float:
        """Return the timeout of a driver [s]; infinite: never."""
        return self._drivers.get(source, self._stranger).timeout

    def compute_ages(self, now: float) -> Array:
        """
        Return the age of each number [s], rows as in :meth:`read_values`; infinite: none.

        After time went backwards, ages are negative until the next message.
        """
        ages: Array = now - self._find_receipts()
        return ages

    def mask_stale_actuators(self, now: float) -> Mask:
        """
        Return the mask of the actuators that have timed out, shape ``(n_actuators,)``.

        An actuator has timed out if all its numbers have, or one that a driver published before.
        """
        too_old = self._mask_old_numbers(now)
        lost: Mask = (too_old & (self._givers != _NOBODY)).any(axis=0)
        return lost | too_old.all(axis=0)

    def list_rivals(self, actuators: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
        """
        Return the actuators that two drivers published in turn, by pair of drivers.

        :param actuators: Names of all actuators.
        """
        names = tuple(self._drivers)
        rivals: dict[tuple[str, str], dict[str, None]] = {}
        for row, actuator in np.argwhere(self._rivals != _NOBODY):
            first, second = sorted((self._givers[row, actuator], self._rivals[row, actuator]))
            # A driver that withdrew its number is not a rival.
            if first not in (second, _NOBODY):
                rivals.setdefault((names[first], names[second]), {})[actuators[actuator]] = None
        return {drivers: tuple(shared) for drivers, shared in rivals.items()}

    # -- stamps ----------------------------------------------------------------------------------

    def forget_stamps(self) -> None:
        """Forget the drivers' stamps after the clock was set."""
        self._published: Stamp = (0, 0)
        self._older_since: float | None = None
        for driver in self._drivers.values():
            driver.stamp = None

    def choose_stamp(self, now: float) -> Stamp | None:
        """
        Return the stamp to publish now, ``None`` before the first message.

        It is the largest of the drivers' latest stamps, without drivers that timed out.

        A single older message does not change it. It goes back after ``stamp_hold`` with only
        older stamps, for example after a restart of a driver, or if the time of receipt goes
        backwards. In the latter case it is ``None`` until the next message.
        """
        drivers = self._drivers.values()
        stamps = [one.stamp for one in drivers if one.stamp and now - one.heard <= one.timeout]
        if not stamps or now < self._latest:
            return None
        newest = max(stamps)
        if newest < self._published:
            self._older_since = now if self._older_since is None else self._older_since
            if now - self._older_since < self._stamp_hold:
                return self._published
        self._published, self._older_since = newest, None
        return newest


# -- Absolute encoders and torque sensors --------------------------------------------------------


class SensorPath(States):
    """
    The latest numbers of absolute encoders or torque sensors of the actuators, and their map.

    Absolute positions are mapped like positions, torques like efforts. With
    ``ignore_absolute_encoder`` absolute positions pass to the joint of the same role.

    Channels pass the messages, services of zeroing read the numbers, and the session resets it and
    lets its time pass.

    :param interface: ``absolute_position`` or ``torque``.
    :param field: The JointState field that contains it: ``position`` or ``effort``.
    :param options: By default numbers never time out.
    :param driver_names: Driver's name to URDF name on its topic, if they differ.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        interface: str,
        field: str,
        options: BridgeOptions = RECORDED,
        *,
        driver_names: Mapping[str, str] | None = None,
    ) -> None:
        self._interface, self._row = interface, FIELDS.index(field)
        self._driver_names, self._robot = driver_names or {}, robot
        self._index = self._make_index(robot)
        super().__init__(self._index, options)

    def _make_index(self, robot: RobotTransmissions) -> DriverStateIndex:
        names, lost = robot.actuator_names, robot.lost_actuators
        return DriverStateIndex(names, self._driver_names, lost, DriverUnits(robot))

    def replace_robot(self, robot: RobotTransmissions) -> None:
        """
        Replace the robot; joints and actuators must be the same.

        The session calls it after :meth:`Bridge.replace_robot`, in the thread of the messages.
        """
        before, self._robot, self._index = self._index, robot, self._make_index(robot)
        self.replace_index(before, self._index)

    def map_sensors(
        self,
        layout: Layout,
        data: JointStateRecord,
        actuator_position: Array,
        stamp: Stamp,
        now: float = 0.0,
        source: str = '',
    ) -> JointStateRecord | None:
        """
        Use a message, and return the latest values of all sensors at the joints.

        :meth:`States.merge_message` documents the other arguments and errors.

        :param actuator_position: Latest actuator positions in SI, shape ``(n_actuators,)``, NaN:
            unknown; position-dependent transmissions need them for torques.
        :returns: The known values, in the same field; ``None`` if no value is known.
        """
        self.merge_message(self._index, source, layout, data, stamp, now)
        values = self._map_to_joints(self.read_values(now)[self._row], actuator_position)
        is_known = np.isfinite(values)
        if not is_known.any():
            return None
        names = tuple(self._robot.joint_names[joint] for joint in np.flatnonzero(is_known))
        fields = [values[is_known] if row == self._row else EMPTY for row in range(len(FIELDS))]
        return JointStateRecord(stamp, '', names, *fields)

    def find_joint_values(self, actuator_position: Array, now: float, max_age: float) -> Array:
        """
        Return the latest values at the joints, shape ``(n_joints,)``, NaN: unknown.

        :param actuator_position: See :meth:`map_sensors`.
        :param now: Time [s].
        :param max_age: Largest age of a number [s].
        """
        return self._map_to_joints(self.find_actuator_values(now, max_age), actuator_position)

    def find_actuator_values(self, now: float = 0.0, max_age: float = math.inf) -> Array:
        """Return the latest values at the actuators in SI, ``(n_actuators,)``, NaN: unknown."""
        self.record_time(now)
        values = self.read_values(now)[self._row]
        is_fresh = self.compute_ages(now)[self._row] <= max_age
        fresh: Array = np.where(is_fresh, values, np.nan)
        return fresh

    def _map_to_joints(self, values: Array, at: Array) -> Array:
        return self._robot.actuator_to_joint(self._interface, values, at=at, report=self.report)
