# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot as one table: names, order, transmissions, live numbers, and its maps.

A :class:`Binding` is a row: a transmission with its live numbers and the indices of its members.
The builder makes rows, :func:`order_members` adds the indices, and all rooms read them. Orders of
joints and actuators are those of users' arrays and messages, so they are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import RobotDescription, TransmissionSpec
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    FIELDS,
    find_quantity,
    require_map_arguments,
)
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.robot.affine_map import AffineMap
from transmission_bridge.transmissions.robot.units import ActuatorUnits
from transmission_bridge.transmissions.transmission import as_map_values, Transmission
from transmission_bridge.transmissions.tunable import BY_ROLE, Tunable
from transmission_bridge.types import Array, Index, Mask


@dataclass(frozen=True, slots=True)
class Binding:
    """
    A transmission and the indices of its members in the robot's arrays, both in role order.

    It is immutable; rows of the builder have no indices yet. ``tunables`` are its live numbers.
    ``units`` are the driver units by actuator name, if it sets any. ``by_role`` are the interfaces
    that pass from actuator to joint by role, unmapped. ``owned`` states for each actuator whether
    commands to it come from this transmission: several transmissions may read an actuator, only
    one commands it. ``passive`` are the joints that it moves but that cannot be commanded.
    """

    spec: TransmissionSpec
    transmission: Transmission
    tunables: tuple[Tunable, ...] = ()
    units: Mapping[str, ActuatorUnits] = field(default_factory=dict)
    by_role: frozenset[str] = frozenset()
    joints: tuple[int, ...] = ()
    actuators: tuple[int, ...] = ()
    owned: tuple[bool, ...] = ()
    passive: tuple[int, ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether it passes a joint without a transmission through."""
        return not self.spec.type

    @property
    def all_joints(self) -> tuple[int, ...]:
        """Indices of all joints that it moves: in role order, then the passive joints."""
        return (*self.joints, *self.passive)

    def member_indices(self, direction: Direction) -> tuple[Index, Index, Index]:
        """Return the indices of its inputs and outputs, and which outputs the robot uses."""
        inputs, outputs, selected = self.joints, self.actuators, np.flatnonzero(self.owned)
        if direction == ACTUATOR_TO_JOINT:
            inputs, outputs = self.actuators, self.all_joints
            selected = np.arange(len(outputs))
        return np.array(inputs, dtype=np.intp), np.array(outputs, dtype=np.intp), selected

    def map(
        self,
        direction: Direction,
        interface: str,
        values: Array,
        report: MapReport | None = None,
        **where: Any,
    ) -> Array:
        """Map values of its members; ``where`` holds ``at``, ``rate`` and ``guess``."""
        part = (report or MapReport()).for_transmission(self.spec.name)
        return self.transmission.map(direction, interface, values, report=part, **where)


def order_members(
    robot: RobotDescription, bindings: tuple[Binding, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Binding, ...]]:
    """
    Return the names of joints and actuators in order, and the transmissions with their indices.

    Joints have the order of the URDF's ``<joint>`` elements (in a fragment without any: the order
    of the transmissions); actuators have the order of the transmissions.
    """
    driven = [member.name for item in bindings for member in item.spec.joints]
    driven += [name for item in bindings for name in item.transmission.passive_joints]
    in_urdf = [joint.name for joint in robot.joints if joint.name in driven]
    joints = tuple(dict.fromkeys([*in_urdf, *driven]))
    names = (member.name for item in bindings for member in item.spec.actuators)
    actuators = tuple(dict.fromkeys(names))
    return joints, actuators, place_members(joints, actuators, bindings)


def place_members(
    joint_names: Sequence[str], actuator_names: Sequence[str], bindings: Sequence[Binding]
) -> tuple[Binding, ...]:
    """Return the transmissions with the indices of their members among these names."""
    joints = {name: index for index, name in enumerate(joint_names)}
    actuators = {name: index for index, name in enumerate(actuator_names)}
    owners: dict[str, str] = {}
    # Transmissions that may command own their actuators first; read-only ones own the rest.
    for item in sorted(bindings, key=lambda item: not item.spec.can_command):
        for member in item.spec.actuators:
            owners.setdefault(member.name, item.spec.name)
    return tuple(
        replace(
            item,
            joints=tuple(joints[member.name] for member in item.spec.joints),
            actuators=tuple(actuators[member.name] for member in item.spec.actuators),
            owned=tuple(owners[member.name] == item.spec.name for member in item.spec.actuators),
            passive=tuple(joints[name] for name in item.transmission.passive_joints),
        )
        for item in bindings
    )


#: Description of a flag, for users.
_FLAG = 'Whether the sensors are at the joints: values pass by role, unmapped.'


class RobotTable:
    """
    Joints, actuators, and the transmissions between them. Immutable, except for caches.

    ``bindings`` hold each transmission with the indices of its joints and actuators. Only the
    constructor of a subclass, ``RobotTransmissions``, replaces them, to add units.
    """

    def __init__(
        self,
        joint_names: tuple[str, ...],
        actuator_names: tuple[str, ...],
        bindings: tuple[Binding, ...],
    ) -> None:
        self.joint_names = joint_names
        self.actuator_names = actuator_names
        #: Each transmission with the indices of its joints and actuators.
        self.bindings = bindings
        #: Cache of :meth:`affine`, built at first use: a part of a robot needs few of them.
        self._affine: dict[tuple[Direction, str], AffineMap] = {}
        self._mechanisms = tuple(
            binding
            for binding in bindings
            if not isinstance(binding.transmission, LinearTransmission)
        )

    # -- live numbers ----------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> dict[str, Tunable]:
        """
        The live numbers and flags by their full names, ``wrist.joints.roll.offset``.

        Ambiguous names are left out; names of members that contain dots can be ambiguous.
        """
        return {name: same[0] for name, same in self.named_tunables.items() if len(same) == 1}

    @cached_property
    def named_tunables(self) -> dict[str, list[Tunable]]:
        """All live numbers and flags by full names; several if a name is ambiguous."""
        named: dict[str, list[Tunable]] = {}
        for binding in self.bindings:
            flags = (
                Tunable((flag,), value, value, _FLAG, transmission=binding.spec.name)
                for flag, interface in (() if binding.is_identity else BY_ROLE.items())
                for value in [interface in binding.by_role]
            )
            for tunable in (*binding.tunables, *flags):
                named.setdefault(tunable.name, []).append(tunable)
        return named

    @property
    def units(self) -> dict[str, ActuatorUnits]:
        """Units of the drivers, by actuator; SI if an actuator is not listed."""
        return {name: units for binding in self.bindings for name, units in binding.units.items()}

    # -- commanded actuators ---------------------------------------------------------------------

    @cached_property
    def reached_actuators(self) -> Mask:
        """Which actuators a command to a joint moves, shape ``(n_joints, n_actuators)``."""
        moves = np.zeros((len(self.joint_names), len(self.actuator_names)), dtype=bool)
        for binding in self.bindings:
            moves[np.ix_(binding.joints, binding.actuators)] |= binding.owned
        return moves

    def actuators_of(self, joints: Mask) -> Mask:
        """Return the actuators ``(..., n_actuators)`` that commands to joints move."""
        actuators: Mask = (joints[..., np.newaxis] & self.reached_actuators).any(axis=-2)
        return actuators

    def joints_of(self, actuators: Mask | Index) -> Mask:
        """Return the joints with commands that move some of these actuators."""
        joints: Mask = self.reached_actuators[:, actuators].any(axis=1)
        return joints

    def part(self, joint_names: Sequence[str]) -> RobotTable:
        """
        Return the part of the robot that moves these joints.

        A transmission that moves one of them is included with all its actuators; its other joints
        are companions, after the requested joints. Actuators keep their order. If several
        transmissions read an actuator, the one that commands it owns it, else the first one.

        :raises UnknownNameError: If no transmission moves a joint.
        """
        names = self.joint_names
        for name in joint_names:
            if name not in names:
                raise UnknownNameError('joint', name, names)
        wanted = [names.index(name) for name in joint_names]
        bindings = [x for x in self.bindings if not set(wanted).isdisjoint(x.all_joints)]
        moved = (index for binding in bindings for index in binding.all_joints)
        joints = tuple(names[index] for index in dict.fromkeys([*wanted, *moved]))
        used = sorted({index for binding in bindings for index in binding.actuators})
        actuators = tuple(self.actuator_names[index] for index in used)
        return RobotTable(joints, actuators, place_members(joints, actuators, bindings))

    # -- the maps --------------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        """Whether the Jacobian is constant."""
        return all(binding.transmission.is_constant for binding in self.bindings)

    def affine(self, direction: Direction, interface: str) -> AffineMap:
        """
        Return the linear part of an interface; outputs of mechanisms must be overwritten.

        :raises UnsupportedInterfaceError: If the interface cannot be mapped in this direction.
        """
        if (direction, interface) in self._affine:
            return self._affine[direction, interface]
        quantity = find_quantity(interface, direction)
        forward = direction == ACTUATOR_TO_JOINT
        shape = (len(self.joint_names), len(self.actuator_names))
        matrix = np.zeros(shape if forward else shape[::-1])
        before, after = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
        for binding in self.bindings:
            transmission = binding.transmission
            inputs, outputs, selected = binding.member_indices(direction)
            if forward and interface in binding.by_role:
                # Passive joints have no role.
                matrix[outputs[: len(inputs)], inputs] = 1.0
                after[outputs[len(inputs) :]] = np.nan
            elif isinstance(transmission, LinearTransmission):
                block, before[inputs], bias = transmission.coefficients(direction, quantity)
                matrix[np.ix_(outputs[selected], inputs)] = block[selected]
                after[outputs[selected]] = bias[selected]
        mapped = AffineMap.from_matrix(matrix, before, after)
        return self._affine.setdefault((direction, interface), mapped)

    def stack_fields(self, direction: Direction) -> AffineMap:
        """Return the linear part of position, velocity and effort, one after the other."""
        # Velocities have the coefficients of positions.
        return AffineMap.from_maps([self.affine(direction, name) for name in FIELDS], shared=[1])

    def mechanisms(self, direction: Direction, interface: str = 'position') -> list[Binding]:
        """Return the transmissions that are not linear and must be called."""
        forward = direction == ACTUATOR_TO_JOINT
        return [x for x in self._mechanisms if not (forward and interface in x.by_role)]

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

        The Jacobian of the robot varies if it varies for any transmission.
        """
        affine = self.affine(direction, interface)
        mechanisms = self.mechanisms(direction, interface)
        given = as_map_values('values', values, affine.n_in)
        where = {
            name: as_map_values(name, array, affine.n_out if name == 'guess' else affine.n_in)
            for name, array in (('at', at), ('rate', rate), ('guess', guess))
            if array is not None
        }
        if mechanisms:
            require_map_arguments(interface, direction, mechanisms[0].spec.name, at=at, rate=rate)
        # Infinity minus infinity is unknown: NaN without a warning.
        with np.errstate(invalid='ignore'):
            mapped = affine(given)
            for binding in mechanisms:
                inputs, outputs, selected = binding.member_indices(direction)
                places = {'at': inputs, 'rate': inputs, 'guess': outputs}
                at_members = {name: array[..., places[name]] for name, array in where.items()}
                part = binding.map(direction, interface, given[..., inputs], report, **at_members)
                mapped[..., outputs[selected]] = part[..., selected]
        return mapped

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """
        Return ``J = dq/da``, shape ``(..., n_joints, n_actuators)``.

        An entry is zero if a joint does not depend on an actuator, NaN if it does not exist.

        :raises ShapeError: If the last axis has another length.
        """
        position = as_map_values('actuator_position', actuator_position, len(self.actuator_names))
        jacobian = np.zeros(
            (*position.shape[:-1], len(self.joint_names), len(self.actuator_names))
        )
        for binding in self.bindings:
            actuators, joints, _ = binding.member_indices(ACTUATOR_TO_JOINT)
            block = binding.transmission.jacobian(position[..., actuators])
            jacobian[..., joints[:, np.newaxis], actuators] = block
        return jacobian
