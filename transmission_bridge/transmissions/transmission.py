# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The contract of every transmission, built in or third-party.

A transmission is a map from actuator positions to joint positions, ``q = f(a)``, with the Jacobian
``J = df/da``. Every interface follows from the chain rule and conservation of power:

==================== ===================================== =====================================
interface            actuator to joint                     joint to actuator
==================== ===================================== =====================================
position             ``q = f(a)``                          ``a = f^-1(q)``
absolute_position    ``q = f(a)``                          never: it is a measurement
velocity             ``q' = J a'``                         ``a' = J^-1 q'``
acceleration         ``q'' = J a'' + J' a'``               ``a'' = J^-1 (q'' - J' a')``
effort torque force  ``tau_q = J^-T tau_a``                ``tau_a = J^T tau_q``
==================== ===================================== =====================================

Inverses are pseudo-inverses if the numbers of actuators and joints differ. Positions are in [rad]
or [m] (REP 103), efforts in [N m] or [N].

Plugins of others subclass the three base classes and call the public names of these classes, so
names, arguments and shapes are fixed. The table of a robot and its program call the maps.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    find_quantity,
    JOINT_TO_ACTUATOR,
    Quantity,
    require_map_arguments,
)
from transmission_bridge.transmissions.domain import Domain, MapReport
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.spec_reader import SpecReader

#: Version of this contract. A plugin states the implemented version as ``api_version``, and the
#: registry rejects any other. A change raises it if a plugin for the former contract would fail or
#: map wrongly: of a method, attribute or shape of the base classes or of ``SpecReader``.
API_VERSION = 1

#: Names that no class outside of this package may define: methods of this class and of
#: ``MechanismTransmission`` that follow from the matrix, equation or table of a type; and
#: ``evaluate``, a function of numbers in place of an equation, which could not be compiled.
DERIVED = (
    'map', 'actuator_to_joint', 'joint_to_actuator', 'jacobian', 'parts',
    '_build_parts', '_map_values', 'evaluate',
)  # fmt: skip

#: Numbers between the coordinates of the robot and bare ones, with their neutral values. The names
#: are attributes of a transmission; types with a varying ratio unpack them in this order.
GEARS = {'actuator_reduction': 1.0, 'joint_reduction': 1.0, 'joint_offset': 0.0}


class _ImmutableMeta(ABCMeta):
    """The class of classes whose instances are complete after the outermost constructor."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Build an instance."""
        new = super().__call__(*args, **options)
        vars(new)['_is_built'] = True
        return new


class Transmission(metaclass=_ImmutableMeta):
    """
    A map between actuator and joint space.

    Instances are immutable. A plugin subclasses
    :class:`~transmission_bridge.transmissions.linear.LinearTransmission`,
    :class:`~transmission_bridge.transmissions.equation_transmission.EquationTransmission` or
    :class:`~transmission_bridge.transmissions.tabulated.TabulatedTransmission`, states a matrix,
    an equation or a table, sets ``api_version = 1`` and defines :meth:`from_spec`. The maps are
    derived; classes outside of this package must not override them (:data:`DERIVED`).

    Arrays have shape ``(..., n_actuators)`` or ``(..., n_joints)`` with any leading batch axes, in
    role order. An unknown value is NaN and touches only outputs that depend on it.
    """

    #: The version of this contract that the plugin implements; every plugin states it.
    api_version: ClassVar[int]

    #: Whether the Jacobian is constant; ``at`` and ``rate`` are then ignored.
    is_constant: ClassVar[bool] = False

    #: The positions that are mapped; ``None`` for all.
    domain: Domain | None = None

    #: Whether the type requires rotary actuators: their unit is then [rad].
    actuators_turn: bool = False

    #: A pair of counts: of actuators, then of joints without passive ones.
    members: tuple[int, int]

    #: Reductions on the actuators' side, in role order; ones if the type has none.
    actuator_reduction: tuple[float, ...]

    #: Reductions on the joints' side, in role order; ones if the type has none.
    joint_reduction: tuple[float, ...]

    #: Offsets in joint coordinates [rad or m], in role order; zeros if the type has none.
    joint_offset: tuple[float, ...]

    #: Joints that actuators move but that cannot be commanded. :meth:`map` to joints returns them
    #: after the other joints; the inverse map has no inputs for them.
    passive_joints: tuple[str, ...] = ()

    @classmethod
    def from_spec(cls, reader: SpecReader) -> Transmission:
        """
        Build the transmission from its description; every plugin defines this method.

        Every number requested from the reader becomes a live parameter; everything else in the
        description is reported to the user as unused.

        :param reader: Access to the description, members in role order.
        :returns: The transmission.
        :raises TransmissionError: If the description does not fit, or the class cannot be built
            from a description.
        """
        raise reader.error(f'{cls.__name__} does not define from_spec')

    def __setattr__(self, name: str, value: object) -> None:
        """
        Set an attribute in the constructor.

        Private attributes may also be set later, but only by the class itself and only for caches
        that do not change results.

        :raises AttributeError: If it is public and the instance is built.
        """
        if not name.startswith('_') and '_is_built' in vars(self):
            raise AttributeError(f'{type(self).__name__} is immutable, {name} cannot be changed')
        super().__setattr__(name, value)

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return self.members[0]

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return self.members[1]

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
        Map values from one space to the other.

        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        :param interface: The quantity of ``values``: ``position``, ``velocity``, ``acceleration``,
            ``effort``, ``torque``, ``force`` or ``absolute_position``.
        :param values: Shape ``(..., n)`` with ``n`` the actuators or joints of the input's space.
        :param at: Positions in the input's space, same shape; required for velocity, acceleration
            and effort if the Jacobian varies, else ignored.
        :param rate: Velocities in the input's space, same shape; required for acceleration if the
            Jacobian varies, else ignored.
        :param guess: Initial guess of an iterative solution: positions in the output's space. By
            default it is taken from a fixed table.
        :param report: Collects the reasons of NaN results.
        :returns: Values in the other space, shape ``(..., m)``.
        :raises ShapeError: If an array has another shape.
        :raises UnsupportedInterfaceError: If the interface cannot be mapped in this direction.
        :raises TransmissionError: If ``at`` or ``rate`` is required and missing.
        """
        quantity = find_quantity(interface, direction)
        given = as_map_values('values', values, self.members[direction != ACTUATOR_TO_JOINT])
        if not self.is_constant:
            require_map_arguments(interface, direction, at=at, rate=rate)
        options = {'at': at, 'rate': rate, 'guess': guess, 'report': report}
        return self._map_values(direction, quantity, given, **options)

    @abstractmethod
    def _map_values(
        self, direction: Direction, quantity: Quantity, values: Array, **options: Any
    ) -> Array:
        """Map checked values; ``options`` are the keywords of :meth:`map`."""

    def actuator_to_joint(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """Map actuator values to joint values; see :meth:`map`."""
        return self.map(ACTUATOR_TO_JOINT, interface, values, **options)

    def joint_to_actuator(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """Map joint values to actuator values; see :meth:`map`."""
        return self.map(JOINT_TO_ACTUATOR, interface, values, **options)

    def facts(self) -> tuple[str, ...]:
        """Return facts about the mechanism in sentences, for ``check``."""
        return ()

    def doubts(self) -> tuple[str, ...]:
        """Return doubts about the description in sentences; each becomes a warning."""
        return ()

    def select_joints(self, joints: list[int]) -> Transmission | None:
        """
        Return the map of some joints alone, ``None`` if they do not determine the actuators.

        A varying ratio with fewer actuators than joints needs it for commands to these joints.

        :param joints: Their indices.
        """
        return None

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """
        Return ``J = df/da``, NaN if it does not exist.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :returns: Shape ``(..., n_joints, n_actuators)``.
        :raises ShapeError: If the last axis has another length.
        """
        position = as_map_values('actuator_position', actuator_position, self.n_actuators)
        return compute_slope(self, ACTUATOR_TO_JOINT, position)

    def __repr__(self) -> str:
        """Return the class with its numbers, reductions and offsets."""
        names = ('p', 'actuator_reduction', 'joint_reduction', 'joint_offset')
        numbers = (f'{name}={getattr(self, name)}' for name in names if hasattr(self, name))
        return f'{type(self).__name__}({", ".join(numbers)})'


def compute_slope(transmission: Transmission, direction: Direction, x: Array) -> Array:
    """Return ``dy/dx``, shape ``(..., n_y, n_x)``, at ``x`` from the velocity map."""
    basis = (np.broadcast_to(row, x.shape).copy() for row in np.eye(x.shape[-1]))
    return np.stack([transmission.map(direction, 'velocity', each, at=x) for each in basis], -1)


def list_overrides(cls: type) -> list[str]:
    """Return which of :data:`DERIVED` a class defines outside of this package."""
    package = __name__.partition('.')[0] + '.'
    foreign = [base for base in cls.__mro__ if not base.__module__.startswith(package)]
    return [name for name in DERIVED if any(name in vars(base) for base in foreign)]


def as_real(name: str, values: npt.ArrayLike) -> Array:
    """
    Return ``values`` as float64.

    :raises TransmissionError: If they are complex: numpy would discard their imaginary part.
    """
    array = np.asarray(values)
    if array.dtype.kind == 'c':
        raise TransmissionError(
            f'{name} is invalid',
            parameter=name,
            expected='real numbers',
            found='complex numbers',
        )
    return array.astype(np.float64, copy=False)


def as_map_values(name: str, values: npt.ArrayLike, length: int) -> Array:
    """
    Return ``values`` as float64 with a last axis of this length.

    :raises ShapeError: If the last axis has another length, or there are no axes.
    :raises TransmissionError: If they are complex.
    """
    array = as_real(name, values)
    if array.ndim == 0 or array.shape[-1] != length:
        raise ShapeError(name, expected=f'(..., {length})', found=array.shape)
    return array
