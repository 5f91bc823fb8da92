# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The contract of every transmission, built in or third-party.

A transmission is a map from actuator positions to joint positions, ``q = f(a)``, with the Jacobian
``J = df/da``. Every interface follows by the chain rule and by conservation of power:

==================== ===================================== =====================================
interface            actuator to joint                     joint to actuator
==================== ===================================== =====================================
position             ``q = f(a)``                          ``a = f^-1(q)``
absolute_position    ``q = f(a)``                          never: it is a measurement
velocity             ``q' = J a'``                         ``a' = J^-1 q'``
acceleration         ``q'' = J a'' + J' a'``               ``a'' = J^-1 (q'' - J' a')``
effort torque force  ``tau_q = J^-T tau_a``                ``tau_a = J^T tau_q``
==================== ===================================== =====================================

Inverses are pseudo-inverses where the numbers of actuators and joints differ. Positions are in
[rad] or [m] (REP 103), efforts in [N m] or [N].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    interfaces_of,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.spec_reader import SpecReader

#: Version of this contract. A plugin states the one it was written for as ``api_version``.
API_VERSION = 2

#: What follows from what a type states, and is the same for every type.
DERIVED = ('map', 'map_state', 'actuator_to_joint', 'joint_to_actuator', 'jacobian', 'supports')


class Transmission(ABC):
    """
    A map between actuator and joint space.

    Instances are immutable. A plugin subclasses
    :class:`~transmission_bridge.transmissions.linear.LinearTransmission`,
    :class:`~transmission_bridge.transmissions.equation_transmission.EquationTransmission` or
    :class:`~transmission_bridge.transmissions.position_dependent.PositionDependentTransmission`,
    states a matrix, an equation or a function, sets ``api_version = 2`` and defines
    :meth:`from_spec`. The maps follow, and are not overridden.

    Arrays have shape ``(..., n_actuators)`` or ``(..., n_joints)`` with any leading batch axes, in
    role order. An unknown value is NaN and touches only the outputs that depend on it.
    """

    #: The version of this contract that the plugin was written for; every plugin states it.
    api_version: ClassVar[int]

    #: Whether the Jacobian is the same everywhere; ``at`` and ``rate`` are then ignored.
    is_constant: ClassVar[bool] = False

    #: Whether the mechanism itself says that its actuators turn, so that their unit is [rad].
    actuators_turn: bool = False

    #: What :attr:`actuator_reduction`, :attr:`joint_reduction` and :attr:`joint_offset` are.
    _actuator_reduction: tuple[float, ...] = ()
    _joint_reduction: tuple[float, ...] = ()
    _joint_offset: tuple[float, ...] = ()

    #: Joints that actuators move and nobody commands. :meth:`map` to joints gives them after the
    #: others, and takes nothing from them.
    passive_joints: tuple[str, ...] = ()

    @classmethod
    def from_spec(cls, reader: SpecReader) -> Transmission:
        """
        Build the transmission from what its description says; every plugin defines it.

        Every number asked of the reader becomes a live parameter, everything in the description
        that is not asked for is reported to the user as unused.

        :param reader: Access to the description, members in role order.
        :raises TransmissionError: If the description does not fit, or the class is none to be
            described.
        """
        raise reader.error(f'{cls.__name__} does not define from_spec')

    @property
    @abstractmethod
    def n_actuators(self) -> int:
        """Number of actuators."""

    @property
    @abstractmethod
    def n_joints(self) -> int:
        """Number of joints."""

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Reductions on the actuators' side, in role order; ones where the type has none."""
        return self._actuator_reduction or (1.0,) * self.n_actuators

    @property
    def joint_reduction(self) -> tuple[float, ...]:
        """Reductions on the joints' side, in role order; ones where the type has none."""
        return self._joint_reduction or (1.0,) * self.n_joints

    @property
    def joint_offset(self) -> tuple[float, ...]:
        """Offsets in joint coordinates [rad or m], in role order; zeros where there are none."""
        return self._joint_offset or (0.0,) * self.n_joints

    def supports(self, interface: str, direction: Direction) -> bool:
        """
        Tell whether an interface is mapped in a direction.

        :param interface: ``position``, ``velocity``, ``acceleration``, ``effort``, ``torque``,
            ``force`` or ``absolute_position``.
        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        """
        return interface in interfaces_of(direction)

    @abstractmethod
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
        :param interface: Which quantity ``values`` are, see :meth:`supports`.
        :param values: Shape ``(..., n)`` with ``n`` the actuators or joints of the input's space.
        :param at: Positions in the input's space, same shape; needed by velocity, acceleration and
            effort where the Jacobian varies, else ignored.
        :param rate: Velocities in the input's space, same shape; needed by acceleration where the
            Jacobian varies, else ignored.
        :param guess: Positions in the output's space to start an iterative solution from, else a
            fixed table.
        :param report: Collects what became NaN, and why.
        :returns: Values in the other space, shape ``(..., m)``.
        :raises ShapeError: If an array has another shape.
        :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
        :raises TransmissionError: If ``at`` or ``rate`` is needed and missing.
        """

    def actuator_to_joint(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """Map actuator values to joint values; see :meth:`map`."""
        return self.map(ACTUATOR_TO_JOINT, interface, values, **options)

    def joint_to_actuator(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """Map joint values to actuator values; see :meth:`map`."""
        return self.map(JOINT_TO_ACTUATOR, interface, values, **options)

    def map_state(
        self,
        direction: Direction,
        position: npt.ArrayLike,
        velocity: npt.ArrayLike,
        effort: npt.ArrayLike,
        *,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> tuple[Array, Array, Array]:
        """
        Map position, velocity and effort of one instant together.

        As three calls with ``at=position``; a mechanism that has to find its position first finds
        it once.

        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        :param position: Shape ``(..., n)``; ``velocity`` and ``effort`` are of the same shape.
        :param guess: Where to start an iterative solution, in the output's space.
        :param report: Collects what became NaN, and why, once for each position.
        :returns: Position, velocity and effort in the other space.
        :raises ShapeError: If an array has another shape.
        :raises UnsupportedInterfaceError: If one of the three is not mapped.
        """
        mapped = self.map(direction, 'position', position, guess=guess, report=report)
        return (
            mapped,
            self.map(direction, 'velocity', velocity, at=position, guess=mapped),
            self.map(direction, 'effort', effort, at=position, guess=mapped),
        )

    def facts(self) -> tuple[str, ...]:
        """Return what the type has found out about the mechanism, in sentences for ``check``."""
        return ()

    def doubts(self) -> tuple[str, ...]:
        """Return why the description may not be what is meant; each becomes a warning."""
        return ()

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """
        Return ``J = df/da``, NaN where it does not exist.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :returns: Shape ``(..., n_joints, n_actuators)``.
        :raises ShapeError: If the last axis has another length.
        """
        position = as_values('actuator_position', actuator_position, self.n_actuators)
        return slope_of(self, ACTUATOR_TO_JOINT, position)


def slope_of(transmission: Transmission, direction: Direction, x: Array) -> Array:
    """
    Return the derivative of a position map by the velocity map.

    :param direction: From ``x`` to ``y``.
    :param x: Positions, shape ``(..., n_x)``.
    :returns: ``dy/dx``, shape ``(..., n_y, n_x)``.
    """
    units = (np.broadcast_to(unit, x.shape).copy() for unit in np.eye(x.shape[-1]))
    return np.stack([transmission.map(direction, 'velocity', unit, at=x) for unit in units], -1)


def overridden(cls: type) -> list[str]:
    """Return which of :data:`DERIVED` a class takes from outside of this package."""
    package = __name__.partition('.')[0] + '.'
    return [
        name
        for name in DERIVED
        if not next(each for each in cls.__mro__ if name in vars(each)).__module__.startswith(
            package
        )
    ]


def as_real(name: str, values: npt.ArrayLike) -> Array:
    """
    Return ``values`` as float64.

    :raises TransmissionError: If they are complex: numpy would drop their imaginary part.
    """
    array = np.asarray(values)
    if array.dtype.kind == 'c':
        raise TransmissionError(
            f'{name} cannot be used',
            parameter=name,
            expected='real numbers',
            found='complex ones',
        )
    return array.astype(np.float64, copy=False)


def as_values(name: str, values: npt.ArrayLike, length: int) -> Array:
    """
    Return ``values`` as float64, its last axis checked.

    :raises ShapeError: If the last axis is not ``length`` long, or there is none.
    :raises TransmissionError: If they are complex.
    """
    array = as_real(name, values)
    if array.ndim == 0 or array.shape[-1] != length:
        raise ShapeError(name, expected=f'(..., {length})', found=array.shape)
    return array
