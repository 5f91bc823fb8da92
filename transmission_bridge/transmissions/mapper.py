# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The maps between actuators and joints: of a whole robot, or of the part that moves some joints.

Everything linear is one affine map for each interface; what has to be called is called afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import (
    ShapeError,
    TransmissionError,
    UnknownNameError,
)
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    FIELDS,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.stream import Step, Stream
from transmission_bridge.transmissions.transmission import as_values
from transmission_bridge.types import Array, Index


class Mapper:
    """
    Every interface in both directions, compiled.

    :param joint_names: The joints, in their order.
    :param actuator_names: The actuators, likewise.
    :param bindings: What connects them.
    :param by_role: Names of transmissions with the interfaces that pass by role, unmapped.
    """

    def __init__(
        self,
        joint_names: tuple[str, ...],
        actuator_names: tuple[str, ...],
        bindings: tuple[Binding, ...],
        by_role: frozenset[tuple[str, str]],
    ) -> None:
        self.joint_names = joint_names
        self.actuator_names = actuator_names
        #: Each transmission with the places of its joints and actuators.
        self.bindings = bindings
        #: Transmissions with the interfaces that pass from actuator to joint by role, unmapped.
        self.by_role = by_role
        #: Compiled when they are first asked for: a part of a robot needs few of them.
        self._maps: dict[tuple[Direction, str], InterfaceMap] = {}

    @property
    def is_constant(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return all(binding.transmission.is_constant for binding in self.bindings)

    def map_of(self, interface: str, direction: Direction) -> InterfaceMap:
        """
        Return the compiled map of an interface.

        :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
        """
        found = self._maps.get((direction, interface))
        if found is None:
            found = _compile(self, interface, direction)
            self._maps[direction, interface] = found
        return found

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
        """
        Map values from one space to the other; see :meth:`Transmission.map`.

        The Jacobian varies where that of any transmission does.
        """
        affine, steps = self.map_of(interface, direction)
        given = as_values('values', values, affine.n_in)
        place, speed, near = (
            None if each is None else as_values(name, each, length)
            for name, each, length in (
                ('at', at, affine.n_in),
                ('rate', rate, affine.n_in),
                ('guess', guess, affine.n_out),
            )
        )
        quantity = quantity_of(interface, direction)
        _require(quantity, interface, steps, {'at': place, 'rate': speed})
        # Infinity less infinity is unknown, which the result says.
        with np.errstate(invalid='ignore'):
            mapped = affine(given)
            for step in steps:
                own = None if near is None else near[..., step.results]
                found = step.call(interface, direction, given, place, speed, own, report)
                mapped[..., step.outputs] = found[..., step.selected]
        return mapped

    def jacobian(
        self, actuator_position: npt.ArrayLike, *, report: MapReport | None = None
    ) -> Array:
        """
        Return ``J = dq/da``.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :param report: Collects the exceptions of plugins.
        :returns: Shape ``(..., n_joints, n_actuators)``;
            zero where a joint does not depend on an actuator, NaN where a plugin raises or gives
            another shape.
        :raises ShapeError: If the last axis has another length.
        """
        position = as_values('actuator_position', actuator_position, len(self.actuator_names))
        jacobian = np.zeros(
            (*position.shape[:-1], len(self.joint_names), len(self.actuator_names))
        )
        for binding in self.bindings:
            rows = np.array(binding.moved)[:, np.newaxis]
            columns = np.array(binding.actuators)
            shape = (*position.shape[:-1], len(rows), len(columns))
            try:
                found = binding.transmission.jacobian(position[..., columns])
                block = as_values('jacobian', found, len(columns))
                if block.shape != shape:
                    raise ShapeError('jacobian', expected=str(shape), found=block.shape)
                jacobian[..., rows, columns] = block
            except (Exception, SystemExit):  # whatever a third party raises
                jacobian[..., rows, columns] = np.nan
                if report is not None:
                    report.of(binding.spec.name).add_exception()
        return jacobian

    def stream(self, direction: Direction) -> Stream:
        """Return what maps position, velocity and effort of one instant after the other."""
        maps = [self.map_of(interface, direction) for interface in FIELDS]
        return Stream(direction, [each.affine for each in maps], maps[0].steps)

    @cached_property
    def couplings(self) -> tuple[tuple[Binding, Mapper], ...]:
        """Each transmission, and the maps between its joints and actuators alone."""
        owned = (replace(each, owned=(True,) * len(each.actuators)) for each in self.bindings)
        return tuple(
            (each, self._restricted(each.moved, each.actuators, [each])) for each in owned
        )

    def part(self, joint_names: Sequence[str]) -> Mapper:
        """
        Return the maps of what moves these joints.

        A transmission that moves one of them is taken whole: all its actuators count, and its
        other joints are companions, which stand behind the joints asked for. Actuators stand in
        the order that they have here. Of several transmissions that read an actuator the one that
        commands it gives its position, or else the first of those here.

        :raises UnknownNameError: If a joint is moved by no transmission.
        """
        known = self.joint_names
        for name in joint_names:
            if name not in known:
                raise UnknownNameError('joint', name, known)
        wanted = [known.index(name) for name in joint_names]
        bindings = [each for each in self.bindings if not set(wanted).isdisjoint(each.moved)]
        moved = dict.fromkeys(place for each in bindings for place in each.moved)
        joints = [*wanted, *(place for place in moved if place not in wanted)]
        actuators = sorted({place for each in bindings for place in each.actuators})
        owners: dict[int, int] = {}
        for number, each in enumerate(bindings):
            for place, is_owned in zip(each.actuators, each.owned, strict=True):
                if is_owned or place not in owners:
                    owners[place] = number
        owned = [
            replace(each, owned=tuple(owners[place] == number for place in each.actuators))
            for number, each in enumerate(bindings)
        ]
        return self._restricted(joints, actuators, owned)

    def _restricted(
        self, joints: Sequence[int], actuators: Sequence[int], bindings: Sequence[Binding]
    ) -> Mapper:
        """Return the maps of some joints and actuators, in this order."""
        return Mapper(
            tuple(self.joint_names[place] for place in joints),
            tuple(self.actuator_names[place] for place in actuators),
            tuple(
                replace(
                    each,
                    joints=tuple(map(joints.index, each.joints)),
                    passive=tuple(map(joints.index, each.passive)),
                    actuators=tuple(map(actuators.index, each.actuators)),
                )
                for each in bindings
            ),
            self.by_role,
        )


class InterfaceMap(NamedTuple):
    """
    One interface in one direction, compiled.

    :param affine: Everything linear; rows of the steps are overwritten.
    :param steps: Transmissions that have to be called.
    """

    affine: AffineMap
    steps: tuple[Step, ...]


def _require(
    quantity: Quantity, interface: str, steps: Sequence[Step], given: Mapping[str, Array | None]
) -> None:
    """Refuse a caller's mistake here, so that whatever a plugin raises is the plugin's."""
    needed = {Quantity.VELOCITY: 1, Quantity.EFFORT: 1, Quantity.ACCELERATION: 2}.get(quantity, 0)
    for name, values in list(given.items())[: needed if steps else 0]:
        if values is None:
            raise TransmissionError(
                f'{interface} cannot be mapped without {name}=, as the Jacobian varies',
                transmission=steps[0].name,
                parameter=name,
                expected='positions' if name == 'at' else 'velocities',
                found='None',
            )


def _compile(maps: Mapper, interface: str, direction: Direction) -> InterfaceMap:
    """
    Compile one interface in one direction.

    :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
    """
    quantity = quantity_of(interface, direction)
    forward = direction == ACTUATOR_TO_JOINT
    shape = (len(maps.joint_names), len(maps.actuator_names))
    matrix = np.zeros(shape if forward else shape[::-1])
    before = np.zeros(matrix.shape[1])
    after = np.zeros(matrix.shape[0])
    steps = []
    for binding in maps.bindings:
        inputs, outputs, selected = _places(binding, direction)
        if forward and (binding.spec.name, interface) in maps.by_role:
            # Passive joints have no role.
            matrix[outputs[: len(inputs)], inputs] = 1.0
            after[outputs[len(inputs) :]] = np.nan
        elif isinstance(binding.transmission, LinearTransmission):
            coefficients, bias_in, bias_out = binding.transmission.coefficients(
                direction, quantity
            )
            matrix[np.ix_(outputs, inputs)] = coefficients[selected]
            if bias_in is not None:
                before[inputs] = bias_in
            if bias_out is not None:
                after[outputs] = bias_out[selected]
        else:
            guesses = np.array(binding.moved if forward else binding.actuators, dtype=np.intp)
            steps.append(
                Step(
                    binding.spec.name,
                    binding.transmission,
                    inputs,
                    outputs,
                    selected,
                    guesses,
                )
            )
    return InterfaceMap(AffineMap(matrix, before=before, after=after), tuple(steps))


def _places(binding: Binding, direction: Direction) -> tuple[Index, Index, Index]:
    """Return input places, output places, and which of the outputs the robot takes."""
    joints = np.array(binding.joints, dtype=np.intp)
    actuators = np.array(binding.actuators, dtype=np.intp)
    if direction == ACTUATOR_TO_JOINT:
        moved = np.array(binding.moved, dtype=np.intp)
        return actuators, moved, np.arange(len(moved))
    selected = np.flatnonzero(binding.owned)
    return joints, actuators[selected], selected
