# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Ratios of a transmission at positions, and gains of joints as gains of their motors.

Users call :func:`actuator_gains`; the tools for cards, plots and limits use the ratios. Everything
is computed at the given positions and in SI; units of drivers are not applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, shortened, TransmissionError, UnknownNameError
from transmission_bridge.transmissions import RobotTransmissions, Transmission
from transmission_bridge.types import Array

#: Relative rounding of an inverse.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class GainRatios:
    """
    The ratios at one position or several; NaN where they do not exist.

    Stiffness, damping and inertia are forms of motion: ``ȧᵀ M_a ȧ = q̇ᵀ M_q q̇``, ``q̇ = J ȧ``.

    :param jacobian: ``J = ∂q/∂a``, shape ``(..., n, m)``.
    """

    jacobian: Array

    @property
    def inverse(self) -> Array:
        """``J^-1``, motion of each actuator per unit of each joint, shape ``(..., m, n)``."""
        inverse = np.full(np.swapaxes(self.jacobian, -2, -1).shape, np.nan)
        is_known = np.isfinite(self.jacobian).all(axis=(-2, -1))
        exact = np.linalg.pinv(self.jacobian[is_known])
        size = np.abs(exact)
        most = size.max(axis=(-2, -1), keepdims=True, initial=0.0)
        inverse[is_known] = np.where(size <= _ROUNDING * most, 0.0, exact)
        return inverse

    @property
    def per_joint(self) -> Array:
        """As :attr:`inverse`, same shape, but ``1 / J`` if one actuator moves several joints."""
        n, m = self.jacobian.shape[-2:]
        if m != 1 or n == 1:
            return self.inverse
        jacobian = np.swapaxes(self.jacobian, -2, -1)
        with np.errstate(divide='ignore'):
            return np.where(jacobian == 0.0, np.nan, 1.0 / jacobian)

    def map_to_joints(self, matrix: Array) -> Array:
        """
        Return ``J^-T M J^-1``, shape ``(..., n, n)``: inertia, damping or stiffness at the joints.

        :param matrix: ``M`` at the actuators [kg m², N m s/rad, N m/rad], ``(..., m, m)``.
        """
        inverse = self.inverse
        return np.asarray(np.swapaxes(inverse, -2, -1) @ matrix @ inverse)

    def map_to_actuators(self, matrix: Array) -> Array:
        """
        Return ``Jᵀ M J``, shape ``(..., m, m)``: inertia, damping or stiffness at the actuators.

        :param matrix: ``M`` at the joints [kg m², N m s/rad, N m/rad], ``(..., n, n)``.
        """
        return np.asarray(np.swapaxes(self.jacobian, -2, -1) @ matrix @ self.jacobian)


def compute_gain_ratios(transmission: Transmission, a: Array) -> GainRatios:
    """
    Return the ratios of the commanded joints where the bridge maps velocities.

    They are NaN near a dead centre, where a gain exceeds ``max_gain`` times its median over ``a``.

    :param transmission: The transmission.
    :param a: Positions of the actuators [rad or m], shape ``(k, m)``.
    """
    jacobian = transmission.jacobian(a)[:, : transmission.n_joints]
    is_known = np.isfinite(jacobian).all(axis=(-2, -1))
    if is_known.any():
        smallest = np.linalg.svd(jacobian[is_known], compute_uv=False)[:, -1]
        most = getattr(transmission, 'max_gain', np.inf)
        is_known[is_known] = smallest * most > np.median(smallest)
    jacobian[~is_known] = np.nan
    return GainRatios(jacobian)


def compute_lost_gain_share(matrix: Array) -> Array:
    """
    Return the share beside the diagonal, ``‖M − diag M‖ / ‖M‖`` (Frobenius norm).

    :param matrix: Shape ``(..., n, n)``.
    :returns: Shape ``(...)``, without unit, zero for a zero matrix.
    """
    diagonal = np.eye(matrix.shape[-1]) * matrix
    beside, whole = (np.linalg.norm(part, axis=(-2, -1)) for part in (matrix - diagonal, matrix))
    return np.asarray(np.where(whole == 0.0, 0.0, beside / np.where(whole == 0.0, 1.0, whole)))


#: By name, others zero; or an array of the commanded joints or of all joints, in the robot's
#: order.
JointValues: TypeAlias = Mapping[str, float] | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class ActuatorGains:
    """
    Gains of motors that have the same effect as the requested gains of the joints.

    ``τ_a = proportional (a_d − a) − derivative ȧ + τ_a0`` replaces
    ``τ_q = K_q (q_d − q) − D_q q̇ + τ_q0`` near the set point. Most drivers accept one number per
    motor: :meth:`diagonal`.

    :param actuator_names: The motors, in the order of rows and columns.
    :param joint_names: The joints that are commanded through them.
    :param proportional: ``K_a``, shape ``(m, m)``, SI at the motors [N m/rad, N/m].
    :param derivative: ``D_a``, shape ``(m, m)``, SI at the motors [N m s/rad, N s/m].
    :param geometric: ``(∂Jᵀ/∂a) τ``, the term of ``K_a`` due to the load, shape ``(m, m)``; zero
        without a load or if the ratio is constant.
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
        The lost share of proportional and derivative if drivers accept one number per motor.

        The share is ``‖K_a − diag K_a‖ / ‖K_a‖`` (Frobenius norm, SI), 0 for a diagonal matrix.
        """
        shares = compute_lost_gain_share(np.stack([self.proportional, self.derivative]))
        return float(shares[0]), float(shares[1])

    def diagonal(self) -> ActuatorGains:
        """Return the gains without off-diagonal entries, for drivers with one number per motor."""
        proportional, derivative = (
            np.diag(np.diag(matrix)) for matrix in (self.proportional, self.derivative)
        )
        return replace(self, proportional=proportional, derivative=derivative)

    @property
    def joint_proportional(self) -> Array:
        """
        Stiffness of the joints with these gains, ``J^-T (K_a − (∂Jᵀ/∂a) τ) J^-1``.

        Shape ``(n, n)`` [N m/rad, N/m]. Each diagonal entry is the stiffness of one joint if the
        others stand still. For :meth:`diagonal` gains it shows the remaining part of the requested
        gains. If the numbers of motors and joints differ, the pseudo-inverse is used.
        """
        return GainRatios(self.jacobian).map_to_joints(self.proportional - self.geometric)

    @property
    def joint_derivative(self) -> Array:
        """
        Damping of the joints with these gains, ``J^-T D_a J^-1``.

        Shape ``(n, n)`` [N m s/rad, N s/m].
        """
        return GainRatios(self.jacobian).map_to_joints(self.derivative)


def actuator_gains(
    robot: RobotTransmissions,
    position: JointValues,
    *,
    proportional: JointValues,
    derivative: JointValues = MappingProxyType({}),
    load: JointValues | None = None,
) -> ActuatorGains:
    """
    Return the gains of the motors for given gains of the joints.

    ``K_a = Jᵀ K_q J + (∂Jᵀ/∂a) τ`` and ``D_a = Jᵀ D_q J`` at the set point. The names come from
    ros2_control's interfaces (``hardware_interface_type_values.hpp``). The stiffness equation is
    from Chen and Kao (2000), *Conservative congruence transformation for joint and Cartesian
    stiffness matrices of robotic hands and fingers*. Without the second term, a load that the
    motors hold makes a joint softer or stiffer than requested if its ratio depends on position.

    Values of joints are given by name, others zero, or as an array in the order of
    :attr:`RobotTransmissions.joint_names`: of all joints, shape ``(n,)``, or of the commanded
    joints, :attr:`ActuatorGains.joint_names`. The two differ for linkages: positions of passive
    joints follow from the commanded joints and are ignored.

    :param robot: The maps.
    :param position: Set point [rad or m].
    :param proportional: ``K_q`` [N m/rad, N/m], or a matrix of the same joints.
    :param derivative: ``D_q`` [N m s/rad, N s/m], or a matrix; zero by default.
    :param load: ``τ``, the efforts that the load exerts on the joints at the set point [N m or N];
        the motors hold ``−Jᵀ τ``. ``None`` leaves the second term out.
    :returns: The gains of the motors [N m/rad, N m s/rad or N/m, N s/m].
    :raises ShapeError: If an array has another shape.
    :raises UnknownNameError: If the robot does not have a named joint.
    :raises TransmissionError: If a gain is not finite, if the transmissions do not reach the set
        point, or if there is a load and they do not map accelerations.
    """
    names = robot.joint_names
    passive = {joint for binding in robot.bindings for joint in binding.passive}
    commanded = [joint for joint in range(len(names)) if joint not in passive]
    q = _fill_joints('position', position, names, commanded, 1)
    a = robot.joint_to_actuator('position', q)
    jacobian = robot.jacobian(a)
    if not np.isfinite(jacobian).all():
        raise TransmissionError('the transmissions do not reach this set point')
    geometric = np.zeros((len(a), len(a)))
    if load is not None and not robot.is_constant:
        # The acceleration of the joints at constant motor velocity, ``J̇ ȧ``, is quadratic in
        # ``ȧ``. Each second derivative of ``τᵀ q(a)`` is therefore a quarter of the difference
        # between the values at ``e_j + e_k`` and ``e_j − e_k``.
        unit = np.eye(len(a))
        rates = np.array([unit[:, np.newaxis] + unit, unit[:, np.newaxis] - unit])
        at, still = np.broadcast_to(a, rates.shape), np.zeros(rates.shape)
        bent = robot.actuator_to_joint('acceleration', still, at=at, rate=rates)
        bent = bent @ _fill_joints('load', load, names, commanded, 1)
        if not np.isfinite(bent).all():
            raise TransmissionError(
                'a transmission does not map accelerations here, so the effect of the load on its '
                'stiffness is unknown'
            )
        geometric = 0.25 * (bent[0] - bent[1])
    matrices = []
    for name, gains in (('proportional', proportional), ('derivative', derivative)):
        array = _fill_joints(name, gains, names, commanded, 2)
        if not np.isfinite(array).all():
            found = str(array.tolist())
            raise TransmissionError(
                f'{name} is not finite', parameter=name, expected='numbers', found=found
            )
        matrix = np.diag(array) if array.ndim == 1 else array
        matrices.append(GainRatios(jacobian).map_to_actuators(matrix))
    stiffness, damping = matrices
    return ActuatorGains(
        robot.actuator_names,
        tuple(names[joint] for joint in commanded),
        stiffness + geometric,
        damping,
        geometric,
        jacobian[commanded],
    )


def _fill_joints(
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
        of = shortened([names[joint_index] for joint_index in commanded])
        raise ShapeError(argument, expected=f'{size} of {of}{with_passive}', found=array.shape)
    whole = np.zeros((n,) * array.ndim)
    whole[np.ix_(*[places] * array.ndim)] = array
    return whole
