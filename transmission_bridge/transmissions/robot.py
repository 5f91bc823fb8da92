# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot: names, transmissions, live numbers, and the maps between its actuators and joints.

Everything linear is one affine map for each interface; what has to be called is called afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError, UnknownNameError
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.transmission import as_values
from transmission_bridge.transmissions.tunable import BY_ROLE, Tunable
from transmission_bridge.transmissions.units import ActuatorUnits
from transmission_bridge.types import Array, Index, Mask

_FLAG = 'Whether the sensors are at the joints: values pass by role, unmapped.'

#: What a map needs besides its values where the Jacobian varies.
_NEEDED = {
    Quantity.VELOCITY: {'at': 'positions'},
    Quantity.EFFORT: {'at': 'positions'},
    Quantity.ACCELERATION: {'at': 'positions', 'rate': 'velocities'},
}


class Robot:
    """
    Joints, actuators, and the transmissions between them. Immutable.

    :param joint_names: The joints, in their order.
    :param actuator_names: The actuators, likewise.
    :param bindings: Each transmission with the places of its joints and actuators.
    """

    def __init__(
        self,
        joint_names: tuple[str, ...],
        actuator_names: tuple[str, ...],
        bindings: tuple[Binding, ...],
    ) -> None:
        self.joint_names = joint_names
        self.actuator_names = actuator_names
        #: Each transmission with the places of its joints and actuators.
        self.bindings = bindings
        #: Made when they are first asked for: a part of a robot needs few of them.
        self._affine: dict[tuple[Direction, str], AffineMap] = {}
        self._mechanisms = tuple(
            each for each in bindings if not isinstance(each.transmission, LinearTransmission)
        )

    # -- live numbers ----------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> dict[str, Tunable]:
        """
        The live numbers and flags by their full names, ``wrist.joints.roll.offset``.

        Without those that share a name, as those of members with dots in their names may.
        """
        return {name: found[0] for name, found in self.named.items() if len(found) == 1}

    @cached_property
    def named(self) -> dict[str, list[Tunable]]:
        """All live numbers and flags by full names, several where they share one."""
        found: dict[str, list[Tunable]] = {}
        for binding in self.bindings:
            flags = (
                Tunable((flag,), value, value, _FLAG, transmission=binding.spec.name)
                for flag, interface in (() if binding.is_identity else BY_ROLE.items())
                for value in [interface in binding.by_role]
            )
            for each in (*binding.tunables, *flags):
                found.setdefault(each.name, []).append(each)
        return found

    @property
    def units(self) -> dict[str, ActuatorUnits]:
        """Units of the drivers, by actuator; one that is missing is SI."""
        return {name: units for each in self.bindings for name, units in each.units.items()}

    # -- who moves whom --------------------------------------------------------------------------

    @cached_property
    def moves(self) -> Mask:
        """Which actuators a command to a joint reaches, shape ``(n_joints, n_actuators)``."""
        moves = np.zeros((len(self.joint_names), len(self.actuator_names)), dtype=bool)
        for binding in self.bindings:
            moves[np.ix_(binding.joints, binding.actuators)] |= binding.owned
        return moves

    def actuators_of(self, joints: Mask) -> Mask:
        """
        Return the actuators that commands to some of these joints reach.

        :param joints: Shape ``(..., n_joints)``.
        :returns: Shape ``(..., n_actuators)``.
        """
        actuators: Mask = (joints[..., np.newaxis] & self.moves).any(axis=-2)
        return actuators

    def joints_of(self, actuators: Mask | Index) -> Mask:
        """Return the joints by whose commands some of these actuators are reached."""
        joints: Mask = self.moves[:, actuators].any(axis=1)
        return joints

    def part(self, joint_names: Sequence[str]) -> Robot:
        """
        Return what moves these joints.

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
        return Robot(
            tuple(known[place] for place in joints),
            tuple(self.actuator_names[place] for place in actuators),
            tuple(
                replace(
                    each,
                    joints=tuple(map(joints.index, each.joints)),
                    passive=tuple(map(joints.index, each.passive)),
                    actuators=tuple(map(actuators.index, each.actuators)),
                    owned=tuple(owners[place] == number for place in each.actuators),
                )
                for number, each in enumerate(bindings)
            ),
        )

    # -- the maps --------------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return all(binding.transmission.is_constant for binding in self.bindings)

    def affine(self, direction: Direction, interface: str) -> AffineMap:
        """
        Return everything linear of an interface; outputs of mechanisms are to be overwritten.

        :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
        """
        if (direction, interface) not in self._affine:
            self._affine[direction, interface] = self._linear(direction, interface)
        return self._affine[direction, interface]

    def _linear(self, direction: Direction, interface: str) -> AffineMap:
        quantity = quantity_of(interface, direction)
        forward = direction == ACTUATOR_TO_JOINT
        shape = (len(self.joint_names), len(self.actuator_names))
        matrix = np.zeros(shape if forward else shape[::-1])
        before, after = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
        for binding in self.bindings:
            transmission = binding.transmission
            inputs, outputs, selected = binding.places(direction)
            if forward and interface in binding.by_role:
                # Passive joints have no role.
                matrix[outputs[: len(inputs)], inputs] = 1.0
                after[outputs[len(inputs) :]] = np.nan
            elif isinstance(transmission, LinearTransmission):
                coefficients, *biases = transmission.coefficients(direction, quantity)
                matrix[np.ix_(outputs[selected], inputs)] = coefficients[selected]
                if biases[0] is not None:
                    before[inputs] = biases[0]
                if biases[1] is not None:
                    after[outputs[selected]] = biases[1][selected]
        return AffineMap(matrix, before=before, after=after)

    def mechanisms(self, direction: Direction, interface: str = 'position') -> list[Binding]:
        """Return the transmissions that have to be called."""
        forward = direction == ACTUATOR_TO_JOINT
        return [each for each in self._mechanisms if not (forward and interface in each.by_role)]

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
        affine = self.affine(direction, interface)
        mechanisms = self.mechanisms(direction, interface)
        given = as_values('values', values, affine.n_in)
        where = {
            name: as_values(name, each, affine.n_in)
            for name, each in (('at', at), ('rate', rate))
            if each is not None
        }
        near = None if guess is None else as_values('guess', guess, affine.n_out)
        # A caller's mistake is refused here, so that whatever a plugin raises is the plugin's.
        for name, expected in _NEEDED.get(quantity_of(interface, direction), {}).items():
            if mechanisms and name not in where:
                raise TransmissionError(
                    f'{interface} cannot be mapped without {name}=, as the Jacobian varies',
                    transmission=mechanisms[0].spec.name,
                    parameter=name,
                    expected=expected,
                    found='None',
                )
        # Infinity less infinity is unknown, which the result says.
        with np.errstate(invalid='ignore'):
            mapped = affine(given)
            for binding in mechanisms:
                inputs, outputs, selected = binding.places(direction)
                own = {name: each[..., inputs] for name, each in where.items()}
                if near is not None:
                    own['guess'] = near[..., outputs]
                found = binding.map(direction, interface, given[..., inputs], report, **own)
                mapped[..., outputs[selected]] = found[..., selected]
        return mapped

    def jacobian(
        self, actuator_position: npt.ArrayLike, *, report: MapReport | None = None
    ) -> Array:
        """
        Return ``J = dq/da``.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :param report: Collects the exceptions of plugins.
        :returns: Shape ``(..., n_joints, n_actuators)``;
            zero where a joint does not depend on an actuator, NaN where a plugin raises.
        :raises ShapeError: If the last axis has another length.
        """
        position = as_values('actuator_position', actuator_position, len(self.actuator_names))
        jacobian = np.zeros(
            (*position.shape[:-1], len(self.joint_names), len(self.actuator_names))
        )
        for binding in self.bindings:
            actuators, joints, _ = binding.places(ACTUATOR_TO_JOINT)
            block = binding.jacobian(position[..., actuators], report)
            jacobian[..., joints[:, np.newaxis], actuators] = block
        return jacobian
