# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Gains of joints as gains of their motors, for drivers that close the loop themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, shortened, TransmissionError, UnknownNameError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: By name, others zero; or an array of the commanded joints or of all, in the robot's order.
JointValues: TypeAlias = Mapping[str, float] | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class ActuatorGains:
    """
    Gains of motors that act on the joints as the gains of the joints would.

    ``τ_a = proportional (a_d − a) − derivative ȧ + τ_a0`` in place of ``τ_q = K_q (q_d − q) − D_q
    q̇ + τ_q0``, near the set point. Most drivers take one number per motor: :meth:`diagonal`.

    :param actuator_names: The motors, in the order of rows and columns.
    :param joint_names: The joints that are commanded through them.
    :param proportional: ``K_a``, shape ``(m, m)``, SI at the motors [N m/rad, N/m].
    :param derivative: ``D_a``, shape ``(m, m)``, SI at the motors [N m s/rad, N s/m].
    :param geometric: ``(∂Jᵀ/∂a) τ``, the part of ``K_a`` that a load makes, shape ``(m, m)``; zero
        where no load was given or the ratio is constant.
    :param jacobian: ``J = ∂q/∂a`` of ``joint_names``, shape ``(n, m)``.
    """

    actuator_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    proportional: Array
    derivative: Array
    geometric: Array
    jacobian: Array

    @property
    def lost(self) -> tuple[float, float]:
        """
        What drivers lose that take one number per motor, of proportional and derivative.

        The share of what couples the motors, ``‖K_a − diag K_a‖ / ‖K_a‖`` (Frobenius, SI): 0
        where the diagonal is all there is.
        """
        return _off_diagonal_share(self.proportional), _off_diagonal_share(self.derivative)

    def diagonal(self) -> ActuatorGains:
        """Return the gains that drivers have which take one number per motor."""
        proportional, derivative = (
            np.diag(np.diag(each)) for each in (self.proportional, self.derivative)
        )
        return replace(self, proportional=proportional, derivative=derivative)

    @property
    def joint_proportional(self) -> Array:
        """
        Stiffness of the joints with these gains, ``J^-T (K_a − (∂Jᵀ/∂a) τ) J^-1``.

        Shape ``(n, n)`` [N m/rad, N/m]. Its diagonal is what each joint resists with while the
        others stand still; of :meth:`diagonal` it is what is left of the gains asked for. The
        pseudo-inverse is taken where the numbers of motors and joints differ.
        """
        return self._at_joints(self.proportional - self.geometric)

    @property
    def joint_derivative(self) -> Array:
        """
        Damping of the joints with these gains, ``J^-T D_a J^-1``.

        Shape ``(n, n)`` [N m s/rad, N s/m].
        """
        return self._at_joints(self.derivative)

    def _at_joints(self, gains: Array) -> Array:
        inverse = np.linalg.pinv(self.jacobian)
        return inverse.T @ gains @ inverse


def actuator_gains(
    robot: RobotTransmissions,
    position: JointValues,
    *,
    proportional: JointValues,
    derivative: JointValues = MappingProxyType({}),
    load: JointValues | None = None,
) -> ActuatorGains:
    """
    Return the gains of the motors for those of the joints.

    ``K_a = Jᵀ K_q J + (∂Jᵀ/∂a) τ`` and ``D_a = Jᵀ D_q J`` at the set point. The names are those
    of ros2_control's interfaces (``hardware_interface_type_values.hpp``), the law of stiffness is
    that of Chen and Kao (2000), *Conservative congruence transformation for joint and Cartesian
    stiffness matrices of robotic hands and fingers*. Without the second term a load that the
    motors hold makes a joint softer or stiffer than asked for, where its ratio depends on
    position.

    Values of joints are given by name, others zero, or as an array in the order of
    :attr:`RobotTransmissions.joint_names`: of all joints, shape ``(n,)``, or of those that are
    commanded, which are :attr:`ActuatorGains.joint_names`. The two differ in linkages, whose
    passive joints are where the commanded ones have them: their positions are ignored.

    :param robot: The maps.
    :param position: Set point [rad or m].
    :param proportional: ``K_q`` [N m/rad, N/m], or a matrix of the same joints.
    :param derivative: ``D_q`` [N m s/rad, N s/m], or a matrix; zero by default.
    :param load: ``τ``, what the load exerts on the joints at the set point, so that the motors
        hold ``−Jᵀ τ`` [N m or N]; ``None``: the second term is left out.
    :raises ShapeError: If an array has another shape.
    :raises UnknownNameError: If a value is named for a joint that the robot does not have.
    :raises TransmissionError: If a gain is not finite, or the transmissions do not reach the set
        point or, where there is a load, do not map accelerations.
    """
    names = robot.joint_names
    passive = {place for binding in robot.bindings for place in binding.passive}
    commanded = [place for place in range(len(names)) if place not in passive]
    q = _of_all('position', position, names, commanded, 1)
    a = robot.joint_to_actuator('position', q)
    jacobian = robot.jacobian(a)
    if not np.isfinite(jacobian).all():
        raise TransmissionError('the transmissions do not reach this set point')
    geometric = np.zeros((len(a), len(a)))
    if load is not None and not robot.is_constant:
        geometric = _geometric(robot, a, _of_all('load', load, names, commanded, 1))
    stiffness = jacobian.T @ _matrix('proportional', proportional, names, commanded) @ jacobian
    damping = jacobian.T @ _matrix('derivative', derivative, names, commanded) @ jacobian
    return ActuatorGains(
        robot.actuator_names,
        tuple(names[place] for place in commanded),
        stiffness + geometric,
        damping,
        geometric,
        jacobian[commanded],
    )


def _off_diagonal_share(gains: Array) -> float:
    """Return ``‖K − diag K‖ / ‖K‖`` (Frobenius), zero for zero."""
    whole = float(np.linalg.norm(gains))
    return float(np.linalg.norm(gains - np.diag(np.diag(gains)))) / whole if whole else 0.0


def _geometric(robot: RobotTransmissions, a: Array, load: Array) -> Array:
    """
    Return ``(∂Jᵀ/∂a) τ``, the second derivatives of ``τᵀ q(a)``.

    The acceleration of joints whose motors turn evenly, ``J̇ ȧ``, is quadratic in ``ȧ``: so that
    it is a quarter of the difference between those at ``e_j + e_k`` and at ``e_j − e_k``.
    """
    unit = np.eye(len(a))
    rates = np.array([unit[:, np.newaxis] + unit, unit[:, np.newaxis] - unit])
    at, still = np.broadcast_to(a, rates.shape), np.zeros(rates.shape)
    bent = robot.actuator_to_joint('acceleration', still, at=at, rate=rates) @ load
    if not np.isfinite(bent).all():
        raise TransmissionError(
            'a transmission does not map accelerations here, so that what a load does to its '
            'stiffness is unknown'
        )
    curvature: Array = 0.25 * (bent[0] - bent[1])
    return curvature


def _of_all(
    argument: str, values: JointValues, names: Sequence[str], commanded: Sequence[int], ndim: int
) -> Array:
    """Return numbers, or with ``ndim`` 2 also a matrix, of all joints: zero if not given."""
    n, m = len(names), len(commanded)
    if isinstance(values, Mapping):
        for joint in values:
            if joint not in names:
                raise UnknownNameError('joint', joint, tuple(names), parameter=argument)
        values = [values.get(joint, 0.0) for joint in names]
    array = np.asarray(values, dtype=np.float64)
    places = commanded if array.shape[:1] == (m,) else range(n)
    if array.shape not in [(len(places),) * k for k in range(1, ndim + 1)]:
        size = f'({m},){" or a matrix" if ndim == 2 else ""}'
        with_passive = f', or ({n},) with passive joints' if n > m else ''
        of = shortened([names[place] for place in commanded])
        raise ShapeError(argument, expected=f'{size} of {of}{with_passive}', found=array.shape)
    whole = np.zeros((n,) * array.ndim)
    whole[np.ix_(*[places] * array.ndim)] = array
    return whole


def _matrix(
    name: str, gains: JointValues, names: Sequence[str], commanded: Sequence[int]
) -> Array:
    array = _of_all(name, gains, names, commanded, 2)
    if not np.isfinite(array).all():
        raise TransmissionError(
            f'{name} is not finite', parameter=name, expected='numbers', found=str(array.tolist())
        )
    return np.diag(array) if array.ndim == 1 else array
