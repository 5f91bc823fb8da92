# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Serial servos by rustypot; extra ``servos``.

Users name the class in ``<hardware><plugin>`` by its entry point, and spell its parameters and the
names of its status. Only the thread of its driver calls and changes it, in the order of
:class:`Driver`: :meth:`~SerialServos.configure` sets all that the other methods read. Registers
and modes come from the tables of rustypot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import cycle
import math
from time import monotonic, sleep
from typing import Any

import numpy as np

from transmission_bridge.drivers.driver import Command, Driver, DriverError, Hardware
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array, Index

#: How to install rustypot, even if the distribution manages the system's Python (PEP 668).
_INSTALL = (
    'rustypot is not installed: python3 -m pip install --user --break-system-packages '
    "'rustypot>=1.11,<2' (in a virtual environment without the two options)"
)

#: Failed reads in a row after which each servo is asked alone.
_MISSES = 3

#: Period of asking absent servos, and the timeout then, because the others wait [s].
_ASK, _SHORT = 1.0, 0.02

#: Registers of position, velocity and effort: the first that the servo has.
_STATES = (('present_position',), ('present_velocity',), ('present_load', 'present_current'))

#: Registers of status, their names and scales.
_STATUS = {
    'present_temperature': ('temperature [C]', 1.0),
    'present_voltage': ('voltage [V]', 0.1),
    'present_input_voltage': ('voltage [V]', 0.1),
    'present_current': ('current [register]', 1.0),
    'status': ('errors', 1.0),
    'hardware_error_status': ('errors', 1.0),
}

#: SI per unit of the velocity register, by control table [rad/s].
_VELOCITY = {
    'STS3215': 2.0 * math.pi / 4096.0,
    'XL330': 0.229 * 2.0 * math.pi / 60.0,
    'XL430': 0.229 * 2.0 * math.pi / 60.0,
}

#: Operating modes that follow a goal position.
_FOLLOWS = {'position', 'extended_position', 'current_based_position'}

#: Number of requests that are not repeated in the next cycle, and length of the answer on torque.
_TRIES, _OF_TORQUE, _WORDS = 3, 3, ('off', 'on')

#: Bit of the register ``phase``: the position register counts turns.
_COUNTS_TURNS = 0x10


class SerialServos(Driver):
    """
    Feetech STS or Dynamixel X servos on one port, commanded by positions.

    ``<hardware>``: ``port``; ``model``, for example ``STS3215`` or ``XL330-M288``; ``baud_rate``
    (default: of the factory); ``timeout`` of an answer [s] (0.05); ``torque``: ``on`` while active
    (the default), ``hold`` to leave it on after that, or ``off`` for a leader that is moved by
    hand, has positions only, and follows no commands. Actuators: ``id``; ``model`` if it differs,
    with equal registers.

    Positions and velocities are SI, or in the units of the ``<actuator>``; a ``velocity_unit``
    declares the unit of the register. Load or current is read with an ``effort_unit`` only.

    A servo follows goals beyond one turn if it counts turns itself: a Dynamixel in a mode with
    more turns, or an STS with bit 4 of ``phase`` and without limits of its angle.
    """

    single_turn = True
    #: The controller of rustypot, from configure to cleanup.
    _bus: Any = None
    #: Whether it was active before: then a servo that does not answer may join later.
    _is_reopened = False

    def configure(self, hardware: Hardware) -> None:
        """Open the port, and find every servo; after an outage, those that still answer."""
        try:
            import rustypot
        except ModuleNotFoundError:
            raise DriverError(_INSTALL) from None
        self._port = hardware.read_text('port')
        self._timeout = self._pause = hardware.read_number('timeout', 0.05)
        self._torque = hardware.read_text('torque', 'on')
        if self._torque not in ('on', 'off', 'hold'):
            raise DriverError(f'torque: expected on, off or hold, found {self._torque!r}')
        self._names = [actuator.name for actuator in hardware.actuators]
        self._ids = [int(number) for number in hardware.read_numbers('id')]
        if len(set(self._ids)) < len(self._ids):
            raise DriverError(f'two actuators have one id: {self._ids}')
        tables = []
        for actuator in hardware.actuators:
            model = actuator.parameters.get('model') or hardware.read_text('model')
            definition = rustypot.find_model(model)
            if definition is None or definition[1].name not in _VELOCITY:
                raise DriverError(f'{model!r} is no model of Feetech STS or Dynamixel X')
            tables.append(definition[1])
        self._find_registers(tables)
        # Units of the actuators per number in a register; NaN: not read.
        declared = [actuator.parameters for actuator in hardware.actuators]
        velocity = np.array([_VELOCITY[table.name] for table in tables]) / hardware.scales[1]
        velocity[['velocity_unit' in parameters for parameters in declared]] = 1.0
        effort = np.where(['effort_unit' in parameters for parameters in declared], 1.0, np.nan)
        position = 2.0 * math.pi / self._turn / hardware.scales[0]
        self._units: Array = np.array([position, velocity, effort])
        table = tables[0]
        rate = int(hardware.read_number('baud_rate', table.factory_baudrate))
        make = getattr(rustypot, f'{table.name.capitalize()}PyController')
        try:
            self._bus = make(self._port, rate, self._timeout)
        except (OSError, ValueError) as error:
            raise DriverError(f'{self._port}: {error}') from None
        everyone = range(len(self._ids))
        # Indices of the servos that answer; read() takes servos out and adds them again.
        self._live = self._ask_alone(everyone)
        missing = sorted(set(everyone) - set(self._live))
        if missing and not (self._live and self._is_reopened):
            raise DriverError(f'no answer at {rate} baud of {self._list_servos(missing)}')
        if not self._is_reopened:  # modes of absent servos stay known
            self._is_bounded = np.ones(len(self._ids), dtype=bool)
        self._read_modes(table)
        self._status_registers: Iterator[Any] = cycle(filter(None, map(table.register, _STATUS)))
        self._status: dict[str, Array] = {}

    def activate(self) -> None:
        """Make the present positions the goals, and switch the torque on."""
        self._misses, self._asked = 0, monotonic()
        self._hold(self._live)
        self._is_reopened = True

    def read(self) -> Array:
        """Read all servos in one request; NaN: a servo does not answer."""
        absent = [index for index in range(len(self._ids)) if index not in self._live]
        if absent and monotonic() > self._asked + _ASK:
            # Those that answer again hold their present position.
            self._set_timeout(_SHORT)
            back = self._ask_alone(absent, tries=1)
            self._set_timeout(self._timeout)
            self._asked = monotonic()
            if back:
                self._hold(back)
                self._live = sorted([*self._live, *back])
        try:
            blocks = self._read_states(self._live)
        except DriverError:
            self._misses += 1
            if self._misses >= _MISSES:
                self._misses, self._asked = 0, monotonic()
                # If none answers, the bus is the cause.
                self._live = self._ask_alone(self._live) or self._live
            raise
        self._misses = 0
        rows = np.full((len(FIELDS), len(self._ids)), np.nan)
        for index, block in zip(self._live, blocks, strict=True):
            rows[:, index] = [self._decode(block, each, self._first) for each in self._registers]
        rows *= self._units
        # The states of a leader are commands for its follower, which needs positions alone.
        return rows[:1] if self._torque == 'off' else rows

    def write(self, command: Command) -> None:
        """Send the goals that the servos can reach, in one message without answers."""
        goals = command.position / self._units[0]
        others = np.nan_to_num(command.velocity) + np.nan_to_num(command.effort)
        unfit = np.flatnonzero(np.isnan(goals) & (others != 0.0))
        if self._torque == 'off' and (len(unfit) or not np.isnan(goals).all()):
            raise DriverError('torque is off: commands are not followed')
        ticks = np.rint(goals)
        beyond = self._is_bounded & ((ticks < 0.0) | (ticks >= self._turn))
        sent = np.flatnonzero(~np.isnan(ticks) & ~beyond).tolist()
        if sent:
            ids = [self._ids[index] for index in sent]
            self._bus.sync_write_register(ids, 'goal_position', list(map(int, ticks[sent])))
        if beyond.any():
            servos = self._list_servos(np.flatnonzero(beyond))
            raise DriverError(f'goal beyond the turn that the servo can reach: {servos}')
        if len(unfit):
            raise DriverError(f'follows positions only: {self._list_servos(unfit)}')

    def status(self) -> Mapping[str, Array]:
        """Return temperatures, voltages, currents and error bits; each call reads one of them."""
        register = next(self._status_registers)
        name, scale = _STATUS[register.name]
        numbers = np.full(len(self._ids), np.nan)
        blocks = self._read_blocks(self._live, register.addr, register.size)
        numbers[self._live] = [self._decode(block, register, register.addr) for block in blocks]
        self._status[name] = numbers * scale
        return self._status

    def deactivate(self) -> None:
        """Switch the torque off, unless it holds."""
        if self._torque != 'hold':
            self._switch_torque(self._live, 0)

    def cleanup(self) -> None:
        """Close the port."""
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.close()

    # -- registers -------------------------------------------------------------------------------

    def _find_registers(self, tables: list[Any]) -> None:
        """Find the block of registers with the state of a servo."""

        def find(table: Any) -> list[Any]:
            return [next(filter(None, map(table.register, names))) for names in _STATES]

        self._registers, self._turn = find(tables[0]), tables[0].resolution
        places = [(register.addr, register.size) for register in self._registers]
        for table in tables:
            if [(register.addr, register.size) for register in find(table)] != places:
                names = ' and '.join(sorted({register.name for register in tables}))
                raise DriverError(f'{names} have different registers: one block for each')
        self._order = tables[0].word_order
        self._torque_at = tables[0].register('torque_enable').addr
        self._first, self._length = find_register_span(self._registers)

    def _read_modes(self, table: Any) -> None:
        """Read which servos follow goals within one turn only."""
        names = ('operating_mode', 'phase', 'min_position_limit', 'max_position_limit')
        registers = [table.register(name) for name in names[: 4 if table.register('phase') else 1]]
        first, length = find_register_span(registers)
        modes = {number: name for name, number in table.operating_modes.items()}
        blocks = self._read_blocks(self._live, first, length, tries=_TRIES)
        for index, block in zip(self._live, blocks, strict=True):
            numbers = [self._decode(block, register, first) for register in registers]
            mode = modes.get(numbers[0], 'unknown')
            if mode not in _FOLLOWS and self._torque != 'off':
                raise DriverError(f'{self._list_servos([index])} is in mode {mode}, not position')
            if len(numbers) > 1:
                self._is_bounded[index] = numbers[2:] != [0, 0] or not numbers[1] & _COUNTS_TURNS
            else:
                self._is_bounded[index] = mode == 'position'

    def _decode(self, block: bytes, register: Any, first: int) -> int:
        """Return the number of a register in a block that begins at an address."""
        raw = block[register.addr - first :][: register.size]
        signed = register.encoding == 'twos_complement'
        number = int.from_bytes(raw, self._order, signed=signed)
        if register.encoding == 'sign_magnitude' and number >> register.sign_bit & 1:
            number = -(number & ((1 << register.sign_bit) - 1))
        return number

    # -- the bus ---------------------------------------------------------------------------------

    def _read_states(self, servos: list[int], tries: int = 1) -> list[bytes]:
        return self._read_blocks(servos, self._first, self._length, tries)

    def _read_blocks(
        self, servos: list[int], first: int, length: int, tries: int = 1
    ) -> list[bytes]:
        """
        Read the same registers of servos in one request.

        A late answer would be taken for the answer to the next request. Therefore a pause follows
        a failure, and requests for states, status, torque and modes have answers of different
        lengths.
        """
        ids, problem = [self._ids[index] for index in servos], ''
        for _ in range(tries):
            try:
                blocks = [*map(bytes, self._bus.sync_read_raw_data(ids, first, length))]
                if all(len(block) == length for block in blocks):
                    return blocks
                problem = 'an answer of another request'
            except RuntimeError as error:
                problem = str(error)
            sleep(self._pause)
        raise DriverError(f'{self._port}: {problem}')

    def _ask_alone(self, servos: Iterable[int], tries: int = 2) -> list[int]:
        """Return the servos that answer; an absent one would cost the others every answer."""
        answering = []
        for index in servos:
            with suppress(DriverError):
                self._read_states([index], tries)
                answering.append(index)
        return answering

    def _set_timeout(self, timeout: float) -> None:
        self._pause = timeout
        self._bus.set_timeout(timeout)

    def _hold(self, servos: list[int]) -> None:
        if self._torque != 'off':
            ids = [self._ids[index] for index in servos]
            # Goals first: with the torque on, a servo moves to its goal.
            blocks = self._read_states(servos, _TRIES)
            ticks = [self._decode(block, self._registers[0], self._first) for block in blocks]
            self._bus.sync_write_register(ids, 'goal_position', ticks)
        self._switch_torque(servos, int(self._torque != 'off'))

    def _switch_torque(self, servos: list[int], on: int) -> None:
        """Switch the torque of these servos on, or of all servos off."""
        ids = [self._ids[index] for index in servos] if on else self._ids
        for _ in range(_TRIES):
            # To all in one message without answers, then checked.
            self._bus.sync_write_register(ids, 'torque_enable', [on] * len(ids))
            with suppress(DriverError):
                blocks = self._read_blocks(servos, self._torque_at, _OF_TORQUE)
                if all(block[0] == on for block in blocks):
                    return
        raise DriverError(f'{self._port}: it is not known whether the torque is {_WORDS[on]}')

    def _list_servos(self, servos: Iterable[int] | Index) -> str:
        return ', '.join(f'{self._names[index]} (id {self._ids[index]})' for index in servos)


def find_register_span(registers: list[Any]) -> tuple[int, int]:
    """Return address and length of the block with these registers."""
    first = min(register.addr for register in registers)
    return first, max(register.addr + register.size for register in registers) - first
