# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot as one table: names, order, transmissions, live numbers, and its maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import (
    Finding,
    RobotDescription,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.errors import shortened, UnknownNameError
from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    FIELDS,
    quantity_of,
    require_arguments,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.known_names import find_drive_place
from transmission_bridge.transmissions.linear import LinearTransmission, SimpleTransmission
from transmission_bridge.transmissions.linkage.tree import linkage_joints
from transmission_bridge.transmissions.robot.affine_map import AffineMap
from transmission_bridge.transmissions.robot.units import ActuatorUnits
from transmission_bridge.transmissions.transmission import as_values
from transmission_bridge.transmissions.tunable import BY_ROLE, Tunable
from transmission_bridge.types import Array, Index, Mask

_IDENTITY = SimpleTransmission(1.0)


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
    joints, actuators = (
        {name: index for index, name in enumerate(names)}
        for names in (joint_names, actuator_names)
    )
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


def pass_joints(
    robot: RobotDescription,
) -> tuple[tuple[Binding, ...], dict[str, str], tuple[Finding, ...]]:
    """
    Return an identity for each scalar joint without a transmission (and without ``<mimic>``).

    It leads to an actuator with the joint's own name. A joint with a rejected transmission is left
    out: an identity would invent a ratio. Joints that a rejected transmission may refer to are
    withheld also (joints of its block, or of ROS 1), as are all joints of an unexpanded xacro
    file.

    :returns: The identities; the withheld joints with the name of the rejected transmission;
        findings.
    """
    mentioned = {member.name for spec in robot.transmissions for member in spec.joints}
    mentioned.update(name for rejected in robot.rejected for name in rejected.joints)
    # The joints of a linkage move with its motors, even if the linkage is rejected.
    mentioned.update(*(linkage_joints(robot, spec) for spec in robot.transmissions))
    taken = {member.name for spec in robot.transmissions for member in spec.actuators}
    taken.update(name for rejected in robot.rejected for name in rejected.actuators)
    findings = []
    passed = []
    for joint in robot.joints if not robot.is_unexpanded else ():
        if joint.name in mentioned or not joint.is_scalar or joint.mimic is not None:
            continue
        if joint.name not in taken:
            passed.append(joint.name)
        else:
            text = f"joint '{joint.name}' has no transmission and cannot be passed through, "
            text += 'because an actuator of a transmission has its name'
            findings.append(Finding.about(joint, 'warning', text))
    withheld, reasons = _list_withheld(robot, passed)
    passed = [name for name in passed if name not in withheld]
    names = {spec.name for spec in robot.transmissions}
    names.update(rejected.name for rejected in robot.rejected)
    built = []
    for joint in map(robot.joint, passed):
        unique = joint.name
        while unique in names:
            unique += "'"
        line, path = joint.line, joint.path
        end = (TransmissionEnd(joint.name, line=line, path=path),)
        spec = TransmissionSpec(unique, '', 'ros2_control', end, end, line=line, path=path)
        built.append(Binding(spec, _IDENTITY))
    return tuple(built), withheld, (*findings, *reasons, *_list_unread_numbers(robot, passed))


def _list_unread_numbers(robot: RobotDescription, names: list[str]) -> Iterator[Finding]:
    """Yield the numbers of drives in blocks with joints that pass through 1:1."""
    for block in robot.blocks:
        passed = [x for x in block.components if x.kind == 'joint' and x.name in names]
        joints = f'the hardware of {shortened([component.name for component in passed])}'
        owners = [(f"joint '{component.name}'", component.parameters) for component in passed]
        for owner, parameters in (*owners, *([(joints, block.parameters)] if passed else ())):
            for parameter in parameters:
                if expected := find_drive_place(parameter.name, parameter.value):
                    yield Finding(
                        'warning',
                        f'unread <param name="{parameter.name}"> of {owner}, which passes '
                        'through 1:1',
                        parameter.line,
                        parameter.path,
                        expected,
                        repr(parameter.value),
                        block.name,
                        fatal_if_strict=True,
                    )


def _list_withheld(
    robot: RobotDescription, passed: list[str]
) -> tuple[dict[str, str], list[Finding]]:
    """Return the withheld joints, and a finding for each transmission that causes it."""
    withheld: dict[str, str] = {}
    findings = []
    for rejected in robot.rejected:
        if not rejected.unknown_joints:
            continue
        owner, candidates = 'the URDF', set(passed)
        if rejected.dialect == 'ros2_control':
            owner = f"<ros2_control> '{rejected.block}'"
            blocks = [block for block in robot.blocks if block.name == rejected.block]
            parts = (part for block in blocks for part in block.components)
            candidates = {part.name for part in parts if part.kind == 'joint'}
        names = [name for name in passed if name in candidates and name not in withheld]
        if not names:
            continue
        withheld.update(dict.fromkeys(names, rejected.name))
        many = len(names) > 1
        findings.append(
            Finding(
                'error',
                f'joint{"s" * many} {", ".join(map(repr, names))} {"are" if many else "is"} not '
                f"passed through, because transmission '{rejected.name}' may refer to "
                f'{"any of them" if many else "it"}',
                line=rejected.line,
                path=rejected.path,
                expected=f'joints of {owner} in the transmission',
                found=', '.join(repr(name) for name in rejected.unknown_joints if name) or 'none',
                subject=rejected.name,
                fatal_if_strict=True,
            )
        )
    return withheld, findings


_FLAG = 'Whether the sensors are at the joints: values pass by role, unmapped.'


class Robot:
    """
    Joints, actuators, and the transmissions between them. Immutable.

    ``bindings`` hold each transmission with the indices of its joints and actuators.
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
        #: Built at first use: a part of a robot needs few of them.
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
        return {
            name: tunables[0]
            for name, tunables in self.named_tunables.items()
            if len(tunables) == 1
        }

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

    def part(self, joint_names: Sequence[str]) -> Robot:
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
        bindings = [
            binding for binding in self.bindings if not set(wanted).isdisjoint(binding.all_joints)
        ]
        moved = (index for binding in bindings for index in binding.all_joints)
        joints = tuple(names[index] for index in dict.fromkeys([*wanted, *moved]))
        used = sorted({index for binding in bindings for index in binding.actuators})
        actuators = tuple(self.actuator_names[index] for index in used)
        return Robot(joints, actuators, place_members(joints, actuators, bindings))

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
        quantity = quantity_of(interface, direction)
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
        return [
            binding
            for binding in self._mechanisms
            if not (forward and interface in binding.by_role)
        ]

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
        given = as_values('values', values, affine.n_in)
        where = {
            name: as_values(name, array, affine.n_out if name == 'guess' else affine.n_in)
            for name, array in (('at', at), ('rate', rate), ('guess', guess))
            if array is not None
        }
        if mechanisms:
            require_arguments(interface, direction, mechanisms[0].spec.name, at=at, rate=rate)
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
        position = as_values('actuator_position', actuator_position, len(self.actuator_names))
        jacobian = np.zeros(
            (*position.shape[:-1], len(self.joint_names), len(self.actuator_names))
        )
        for binding in self.bindings:
            actuators, joints, _ = binding.member_indices(ACTUATOR_TO_JOINT)
            block = binding.transmission.jacobian(position[..., actuators])
            jacobian[..., joints[:, np.newaxis], actuators] = block
        return jacobian
