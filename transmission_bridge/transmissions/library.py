# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The maps of a robot in a shared library that ``transmission_bridge compile`` wrote.

They replace the functions of CasADi, which is then not needed. A library fits one description: a
hash of the transmissions and joints is compared. Numbers of parameter files are set when the
transmissions are built.
"""

from __future__ import annotations

from collections.abc import Mapping
import ctypes
from dataclasses import asdict
import hashlib
import json
import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import RobotDescription, TransmissionSpec
from transmission_bridge.errors import TransmissionError, UnsupportedInterfaceError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    interfaces_of,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.status import count_status
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.types import Array

#: Version of the structures in C.
ABI = 1

#: Status bits of mechanisms; a further one marks partial inputs.
_REASONS = 15

_POINTER = ctypes.c_void_p


class _Table(ctypes.Structure):
    """``struct transmission_bridge_library`` of C."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int) for name in ('abi', 'actuators', 'joints', 'transmissions')),
        ('numbers', ctypes.c_int),
        *((name, ctypes.c_size_t) for name in ('size', 'status_at', 'values_at')),
        ('description', ctypes.c_char_p),
        ('init', ctypes.CFUNCTYPE(None, _POINTER)),
        ('set', ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, ctypes.c_double)),
        ('to_joint', ctypes.CFUNCTYPE(ctypes.c_uint32, _POINTER, _POINTER, _POINTER)),
        (
            'to_actuator',
            ctypes.CFUNCTYPE(ctypes.c_uint32, _POINTER, _POINTER, _POINTER, _POINTER),
        ),
        ('reason_text', ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)),
    ]


class Library:
    """
    A loaded library.

    :param path: The file.
    :raises TransmissionError: If it cannot be loaded, or is no such library.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(path)
            self.table = _Table.in_dll(self._library, 'transmission_bridge_library')
        except (OSError, ValueError) as error:
            raise self.error(
                'a shared library of transmission_bridge compile', str(error)
            ) from None
        if self.table.abi != ABI:
            raise self.error(f'version {ABI} of its functions', str(self.table.abi))
        self.description: dict[str, Any] = json.loads(self.table.description)

    def error(self, expected: str, found: str) -> TransmissionError:
        """Return an error that names the command to run."""
        return TransmissionError(
            f"'{self.path}' does not fit this robot: run 'transmission_bridge compile' with its "
            'description, and build the result',
            parameter='compiled_map',
            expected=expected,
            found=found,
        )

    @property
    def transmissions(self) -> Mapping[str, Mapping[str, Any]]:
        """What is known of each transmission."""
        found: dict[str, dict[str, Any]] = self.description['transmissions']
        return found

    def require_robot(self, robot: Robot, description: RobotDescription) -> None:
        """
        Check the names of a robot and their order, and its transmissions.

        :raises TransmissionError: If they are others.
        """
        passed = (each.spec for each in robot.bindings if each.is_identity)
        for spec in (*description.transmissions, *passed):
            self.require_transmission(spec, description)
        for side, names in (('actuators', robot.actuator_names), ('joints', robot.joint_names)):
            if list(names) != self.description[side]:
                raise self.error(', '.join(self.description[side]), ', '.join(names))

    def require_transmission(self, spec: TransmissionSpec, robot: RobotDescription) -> None:
        """
        Check that a transmission is the one that was compiled.

        :raises TransmissionError: If it is another one.
        """
        known = self.transmissions.get(spec.name)
        if known is None or known['hash'] != hash_transmission(spec, robot):
            found = f"'{spec.name}' is {'new' if known is None else 'another one'}"
            raise self.error('the transmissions and joints that were compiled', found)


class LibraryState:
    """
    A state of a library. Threads must not share it.

    :param library: The library.
    :param values: Live numbers by their full names; the others are those of the description.
    :raises TransmissionError: If a number is rejected.
    """

    def __init__(self, library: Library, values: Mapping[str, float]) -> None:
        self._table = table = library.table
        self._memory = np.zeros(table.size // 8 + 1)
        self._pointer = self._memory.ctypes.data
        self._values = {
            which: values[name]
            for which, name in enumerate(library.description['numbers'])
            if name in values
        }
        begin = table.status_at // 4
        #: Status bits of each transmission.
        self.status = self._memory.view(np.uint32)[begin : begin + table.transmissions]
        self.forget_solutions()
        for which, value in self._values.items():
            if reason := table.set(self._pointer, which, value):
                raise TransmissionError(
                    f'{library.description["numbers"][which]} is rejected by the compiled map',
                    expected=table.reason_text(reason).decode(),
                    found=f'{value:g}',
                )

    def forget_solutions(self) -> None:
        """Discard the last solutions."""
        self._table.init(self._pointer)
        for which, value in self._values.items():
            self._table.set(self._pointer, which, value)

    def map_rows(
        self, direction: Direction, values: Array, measured: Array, mapped: Array
    ) -> bool:
        """
        Map rows position, velocity and effort into ``mapped``; all arrays are C-contiguous.

        :param measured: Positions of joints, for commands.
        :returns: Whether any status is set.
        """
        if direction == ACTUATOR_TO_JOINT:
            bits = self._table.to_joint(self._pointer, values.ctypes.data, mapped.ctypes.data)
        else:
            bits = self._table.to_actuator(
                self._pointer, values.ctypes.data, measured.ctypes.data, mapped.ctypes.data
            )
        return bool(bits & _REASONS)


class LibraryMap:
    """A stream of a robot as :class:`~.robot_map.RobotMap`, computed by a library."""

    def __init__(self, library: Library, robot: Robot, direction: Direction) -> None:
        values = {name: each.value for name, each in robot.parameters.items()}
        self._state, self._direction = LibraryState(library, values), direction
        self._names = [each.spec.name for each in robot.bindings]
        sizes = len(robot.joint_names), len(robot.actuator_names)
        self._mapped: Array = np.empty((3, sizes[direction != ACTUATOR_TO_JOINT]))
        self.forget_solutions = self._state.forget_solutions

    def map_state(self, values: Array, report: MapReport) -> Array:
        """Map one state; see :meth:`~.robot_map.RobotMap.map_state`."""
        return self.map_command(values, values[0], report)

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """Map a command; see :meth:`~.robot_map.RobotMap.map_command`."""
        given, known = np.ascontiguousarray(values), np.ascontiguousarray(measured)
        if self._state.map_rows(self._direction, given, known, self._mapped):
            for name, bits in zip(self._names, self._state.status.tolist(), strict=True):
                count_status(bits & _REASONS, report.for_transmission(name))
        return self._mapped


class LibraryTransmission(Transmission):
    """
    A mechanism of a library.

    Its numbers are reductions and offsets of the description, and dimensions that were compiled
    and can be tuned. Accelerations cannot be mapped.
    """

    api_version: ClassVar[int] = 2
    #: The library of a subclass.
    library: ClassVar[Library]

    def __init__(self, name: str, numbers: Mapping[str, float]) -> None:
        known = self.library.transmissions[name]
        self._place = list(self.library.transmissions).index(name)
        self._joints, self._actuators = known['joints'], known['actuators']
        self.passive_joints = tuple(known['passive_joints'])
        self.actuators_turn = known['actuators_turn']
        if known['domain']:
            self.domain = Domain(*known['domain'])
        self._state = LibraryState(self.library, numbers)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> LibraryTransmission:
        """Build from a description that was compiled."""
        spec, robot = reader.spec, reader.robot
        assert robot is not None
        cls.library.require_transmission(spec, robot)
        known = cls.library.transmissions[spec.name]
        for parameter in spec.parameters:
            reader.elements(parameter.name)
        for side in ('joint', 'actuator'):
            for place, member in enumerate(getattr(spec, f'{side}s')):
                for parameter in member.parameters:
                    reader.text(parameter.name, default='', **{side: place})
        for method, arguments in known['reads'].items():
            getattr(reader, method)(*arguments)
        for path, value, description in known['numbers']:
            reader.declare(tuple(path), value, description)
        numbers = {'.'.join((spec.name, *each.path)): each.value for each in reader.tunables}
        return cls(spec.name, numbers)

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return len(self._actuators)

    @property
    def n_joints(self) -> int:
        """Number of joints that can be commanded."""
        return len(self._joints) - len(self.passive_joints)

    def supports(self, interface: str, direction: Direction) -> bool:
        """Return whether an interface can be mapped: all but accelerations."""
        return interface != 'acceleration' and interface in interfaces_of(direction)

    def map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """Map values; see :class:`Transmission`. ``guess`` has no effect."""
        quantity = quantity_of(interface, direction)
        if quantity is Quantity.ACCELERATION:
            known = tuple(each for each in interfaces_of(direction) if each != interface)
            raise UnsupportedInterfaceError(interface, direction, known)
        inputs, outputs = self._actuators, self._joints
        if direction != ACTUATOR_TO_JOINT:
            inputs, outputs = self._joints[: self.n_joints], self._actuators
        value = as_values('values', values, len(inputs))
        row = {Quantity.VELOCITY: 1, Quantity.EFFORT: 2}.get(quantity, 0)
        where = value if row == 0 else as_values('at', math.nan if at is None else at, len(inputs))
        table = self.library.table
        sizes = table.actuators, table.joints
        n_in, n_out = sizes if direction == ACTUATOR_TO_JOINT else sizes[::-1]
        result = np.empty((*value.shape[:-1], len(outputs)))
        rows, mapped = np.full((3, n_in), math.nan), np.empty((3, n_out))
        for sample in np.ndindex(value.shape[:-1]):
            # An effort of a command is mapped at the measured position.
            rows[0, inputs], rows[row, inputs] = where[sample], value[sample]
            self._state.forget_solutions()
            self._state.map_rows(direction, rows, rows[0], mapped)
            result[sample] = mapped[row, outputs]
            count_status(int(self._state.status[self._place]) & _REASONS, report or MapReport())
        return result


class LibraryRegistry(Registry):
    """The installed types, with mechanisms of a library in place of their own."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._types = {
            each['type'] for each in library.transmissions.values() if each.get('joints')
        }
        self._own = type('LibraryTransmission', (LibraryTransmission,), {'library': library})

    def load(self, type_name: str) -> type[Transmission]:
        """Return the class for a type string; see :class:`Registry`."""
        return self._own if type_name in self._types else super().load(type_name)


def hash_transmission(spec: TransmissionSpec, robot: RobotDescription) -> str:
    """Return a hash of a transmission and the joints, without reductions and offsets."""

    def keep(value: Any) -> Any:
        if isinstance(value, dict):
            left = {'line', 'path', 'given', 'mechanical_reduction', 'offset'}
            return {name: keep(each) for name, each in value.items() if name not in left}
        return [keep(each) for each in value] if isinstance(value, tuple | list) else value

    document = [keep(asdict(spec)), [keep(asdict(joint)) for joint in robot.joints]]
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:32]
