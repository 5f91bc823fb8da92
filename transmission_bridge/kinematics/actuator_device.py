# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A joint device in actuator coordinates: frames, forces and limits.

With ``q = f(a)`` and ``J = ∂q/∂a`` (``n`` joints, ``m`` actuators): positions satisfy
``l <= f(a) <= u``, rates ``|J ȧ| <= v``, both a polytope of actuator values. Efforts with
``|τ_q| <= e`` map to the zonotope ``τ_a = Jᵀ τ_q``. Boxes are the smallest around them. ``J`` has
full rank; limits may be infinite.

Users call :class:`ActuatorDevice`, and the page for users has examples of it; the report of limits
calls :func:`bound_actuators` and :func:`effort_box`. A device holds no configuration, and nothing
changes it after its construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import ShapeError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.kinematics.device import (
    DeviceLimits,
    JointDevice,
    limits_from_description,
)
from transmission_bridge.kinematics.joint import LinkId
from transmission_bridge.kinematics.tree import joint_from_spec
from transmission_bridge.spatial import apply_matrix
from transmission_bridge.transmissions import as_map_values, RobotTransmissions
from transmission_bridge.transmissions.robot import image_box, RobotTable
from transmission_bridge.types import Array

#: Tolerance for the positions of passive joints [rad or m].
CLOSED = 1e-6


class ActuatorDevice:
    """
    A :class:`~transmission_bridge.kinematics.device.JointDevice` in actuator coordinates.

    A configuration ``a`` holds one number per actuator, in the order of :attr:`actuator_names`
    [rad or m], shape ``(..., m)`` with any leading batch axes. Values are SI at the motors. The
    actuators belong to transmissions that move a joint of the device, or to joints that pass
    through. With ``q = f(a)`` and the chain rule, ``J_a = J_q ∂q/∂a``. By conservation of power,
    efforts map with the transpose. Frames and Jacobians are as in the joint device, after RobWork.

    A transmission may also move joints that are not in the device, its companions. Their limits in
    the description apply. If a map needs their position or effort, zero is used, as for all joints
    that are not in the device. Passive joints of a linkage may also be in the device; limits are
    those of the joints that can be commanded.

    If the ratio depends on position, the properties for limits are NaN; use the ``…_at`` methods.

    :param device: The device in joint coordinates; an attribute.
    :param transmissions: The robot's transmissions.
    :ivar actuator_names: Names of the actuators, in the order of the coordinates.
    :ivar companions: Names of joints that the device's transmissions move but that are not in the
        device.
    :ivar is_constant: Whether every ratio is the same at any position.
    :raises UnknownNameError: If a joint of the device has no transmission and does not pass
        through; in queries, if a link does not exist.
    :raises ShapeError: If an array has another shape.
    """

    def __init__(self, device: JointDevice, transmissions: RobotTransmissions) -> None:
        self.device = device
        moving = [joint.name for joint in device.joints if joint.n_dofs]
        self._map = transmissions.part(moving)
        self.actuator_names, self.is_constant = self._map.actuator_names, self._map.is_constant
        self.companions = self._map.joint_names[len(moving) :]
        robot = transmissions.description
        others = [joint_from_spec(robot.joint(name)) for name in self.companions]
        # Limits of the device's joints, then the described limits of its companions.
        described = limits_from_description(robot, others)
        self._limits = DeviceLimits(
            *map(np.append, vars(device.limits).values(), vars(described).values())
        )

    @classmethod
    def from_description(
        cls,
        robot: RobotDescription,
        *,
        base: str,
        end: str,
        joints: Sequence[str] | None = None,
        name: str | None = None,
        transmissions: RobotTransmissions | None = None,
    ) -> ActuatorDevice:
        """
        Return the device between two links of a robot, in actuator coordinates.

        :param robot: The robot.
        :param base: Name of the base link.
        :param end: Name of the end link.
        :param joints: Names of the joints, as in :meth:`JointDevice.from_description`.
        :param name: The device's name, the robot's by default.
        :param transmissions: The robot's transmissions, for example tuned ones; by default those
            of the description.
        :returns: The device.
        """
        device = JointDevice.from_description(robot, base=base, end=end, joints=joints, name=name)
        return cls(device, transmissions or RobotTransmissions(robot))

    def joint_positions(self, a: npt.ArrayLike) -> Array:
        """
        Return the configuration of the joint device, ``q = f(a)``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Joint positions [rad or m], shape ``(..., n)``.
        """
        q = self._map.map(ACTUATOR_TO_JOINT, 'position', self._read_actuator_values('a', a))
        return q[..., : self.device.dof]

    def actuator_positions(self, q: npt.ArrayLike, guess: npt.ArrayLike | None = None) -> Array:
        """
        Return the actuator positions of a configuration, with companions at zero.

        If the configuration has a passive joint at a position that does not follow from the other
        joints, the result is NaN.

        :param q: Joint positions [rad or m], shape ``(..., n)``.
        :param guess: Initial guess of the actuator positions, shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [rad or m]; NaN if there is no solution.
        :raises ShapeError: If ``q`` or ``guess`` has another shape.
        """
        values = as_map_values('q', q, self.device.dof)
        rest = np.zeros((*values.shape[:-1], len(self.companions)))
        near = None if guess is None else self._read_actuator_values('guess', guess)
        q_all = np.concatenate([values, rest], axis=-1)
        a = self._map.map(JOINT_TO_ACTUATOR, 'position', q_all, guess=near)
        for binding in self._map.bindings:
            actuators = list(binding.actuators)
            passive = [joint for joint in binding.passive if joint < self.device.dof]
            if passive:
                apart = np.abs(self.joint_positions(a) - values)[..., passive]
                is_open = ~(apart <= CLOSED).all(axis=-1)
                a[..., actuators] = np.where(is_open[..., np.newaxis], np.nan, a[..., actuators])
        return a

    def joint_jacobian(self, a: npt.ArrayLike) -> Array:
        """
        Return ``∂q/∂a`` of the device's joints.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., n, m)``, unit of a joint per unit of an actuator.
        """
        return self._map.jacobian(self._read_actuator_values('a', a))[..., : self.device.dof, :]

    def base_t_end(self, a: npt.ArrayLike) -> Array:
        """
        Return the pose of the end in the base.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        return self.device.base_t_end(self.joint_positions(a))

    def base_t_frame(self, frame: LinkId, a: npt.ArrayLike) -> Array:
        """
        Return the pose of a frame in the base.

        :param frame: Name of a link.
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        return self.device.base_t_frame(frame, self.joint_positions(a))

    def base_j_end(self, a: npt.ArrayLike) -> Array:
        """
        Return the Jacobian of the end by actuator coordinates, ``J_q ∂q/∂a``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 6, m)``: rows 0–2 linear velocity of the end's origin, 3–5 angular
            velocity, in the base's axes [m or rad, per unit of an actuator].
        """
        return self.base_j_frame(self.device.end, a)

    def base_j_frame(self, frame: LinkId, a: npt.ArrayLike) -> Array:
        """
        Return the Jacobian of a frame by actuator coordinates.

        :param frame: Name of a link.
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 6, m)``, rows as in :meth:`base_j_end`.
        """
        return self.device.base_j_frame(frame, self.joint_positions(a)) @ self.joint_jacobian(a)

    def actuator_efforts(self, wrench: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """
        Return the actuator efforts that hold a wrench at the end, ``τ_a = J_aᵀ w``.

        Then ``w · twist = τ_a · ȧ`` for every motion (virtual work).

        :param wrench: ``[f; m]`` that the end applies to its surroundings, at the end's origin in
            the base's axes, shape ``(..., 6)`` [N; N m].
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [N m or N].
        :raises ShapeError: If ``wrench`` or ``a`` has another shape.
        """
        transposed = np.swapaxes(self.base_j_end(a), -1, -2)
        return apply_matrix(transposed, as_map_values('wrench', wrench, 6))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """
        Smallest and largest actuator positions [rad or m], each ``(m,)``.

        The bounds are the smallest box around all positions within the joints' bounds, infinite if
        unbounded. A reversed joint swaps its bounds, also if only one is given. The bounds of a
        coupled mechanism are NaN if its ratio depends on position.
        """
        return compute_actuator_position_bounds(self._map, self._limits.lower, self._limits.upper)

    @property
    def velocity_limits(self) -> Array:
        """Largest actuator speeds [rad/s or m/s], ``(m,)``; NaN if ratios vary."""
        return self._compute_limits('velocity')

    @property
    def acceleration_limits(self) -> Array:
        """Largest actuator accelerations [rad/s² or m/s²], ``(m,)``; NaN if ratios vary."""
        return self._compute_limits('acceleration')

    @property
    def effort_limits(self) -> Array:
        """Largest actuator efforts [N m or N], ``(m,)``; NaN if ratios vary."""
        return self._compute_limits('effort')

    def velocity_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the largest actuator speeds at a position, the smallest box around ``|J ȧ| <= v``.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [rad/s or m/s], infinite if unlimited, NaN if unreachable.
        """
        return self._compute_limits('velocity', a)

    def acceleration_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the largest actuator accelerations at a position, from standstill.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [rad/s² or m/s²], infinite if unlimited, NaN if unreachable.
        """
        return self._compute_limits('acceleration', a)

    def effort_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the largest actuator efforts at a position, the smallest box around ``Jᵀ τ_q``.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [N m or N], infinite if unlimited, NaN if unreachable.
        """
        return self._compute_limits('effort', a)

    def __repr__(self) -> str:
        return f'ActuatorDevice({self.device!r}, actuators={self.actuator_names!r})'

    def _read_actuator_values(self, argument: str, values: npt.ArrayLike) -> Array:
        return as_map_values(argument, values, len(self.actuator_names))

    def _compute_limits(self, kind: str, a: npt.ArrayLike | None = None) -> Array:
        """Return the largest values at one configuration, NaN if they depend on an unknown one."""
        unknown = np.full(len(self.actuator_names), np.nan)
        values = self._read_actuator_values('a', unknown if a is None else a)
        if values.ndim != 1:
            raise ShapeError('a', expected=f'({len(self.actuator_names)},)', found=values.shape)
        limits = getattr(self._limits, kind)
        return compute_limits_at(self._map, limits, values, is_effort=kind == 'effort')


# -- Boxes around the values of actuators --------------------------------------------------------


def bound_actuators(jacobian: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the smallest box ``(..., m)`` twice around ``{a : lower <= J a <= upper}``.

    By duality, the largest ``a_i`` is the minimum over all sets of ``m`` independent joints of the
    largest value that the set alone allows, ``a = J_B^-1 q_B``. With more actuators than joints, a
    direction that moves no joint is unbounded.

    :param jacobian: ``J``, shape ``(..., n, m)``.
    :param lower: Smallest motion of each joint [rad or m, or per second], shape ``(n,)``.
    :param upper: Largest motion of each joint, shape ``(n,)``.
    """
    *batch, n, m = jacobian.shape
    least, greatest = np.full((*batch, m), -np.inf), np.full((*batch, m), np.inf)
    for rows in map(list, combinations(range(n), min(n, m))):
        chosen = jacobian[..., rows, :]
        is_lost = np.linalg.matrix_rank(chosen) < len(rows)
        chosen = np.where(is_lost[..., np.newaxis, np.newaxis], np.eye(len(rows), m), chosen)
        inverse = np.linalg.inv(chosen) if len(rows) == m else np.linalg.pinv(chosen)
        size = np.abs(inverse)
        # Remove entries within rounding errors.
        rounding = 8.0 * np.finfo(float).eps * (size @ np.abs(chosen) @ size)
        inverse = np.where(size <= rounding, 0.0, inverse)
        low, high = image_box(inverse, lower[rows], upper[rows])
        # Joints bound only the actuators that they determine.
        is_free = np.abs(inverse @ chosen - np.eye(m)).max(axis=-1) > 1e-9
        is_free |= is_lost[..., np.newaxis]
        low[is_free], high[is_free] = -np.inf, np.inf
        least, greatest = np.maximum(least, low), np.minimum(greatest, high)
    return least, greatest


def effort_box(jacobian: Array, effort: Array) -> Array:
    """
    Return the largest ``|Jᵀ τ|`` over ``|τ| <= effort``: ``Σ_j |J_ji| e_j``, shape ``(..., m)``.

    :param jacobian: ``J``, shape ``(..., n, m)``.
    :param effort: Largest effort of each joint [N m or N], shape ``(n,)``.
    """
    return image_box(np.abs(jacobian.swapaxes(-1, -2)), np.zeros(len(effort)), effort)[1]


def compute_actuator_position_bounds(
    robot: RobotTable, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """
    Return the smallest box ``(m,), (m,)`` around the actuator positions within joint bounds.

    It is exact for transmissions with a constant Jacobian, and for single joints with any ratio.
    The bounds of coupled position-dependent mechanisms are NaN, because they are not a polytope.
    """
    size = len(robot.actuator_names)
    least, greatest = np.full(size, -np.inf), np.full(size, np.inf)
    for binding in robot.bindings:
        joints, actuators = list(binding.joints), list(binding.actuators)
        bounds = np.array([lower[joints], upper[joints]])
        low = high = np.full(len(actuators), np.nan)
        if binding.transmission.is_constant:
            zero = np.zeros(len(actuators))
            bounds = bounds - binding.map(ACTUATOR_TO_JOINT, 'position', zero)
            low, high = bound_actuators(binding.transmission.jacobian(zero), *bounds)
        elif len(actuators) == len(joints) == 1:
            # The sign of the ratio is constant even if the ratio varies.
            is_given = np.isfinite(bounds[:, 0])
            a = binding.map(JOINT_TO_ACTUATOR, 'position', bounds)
            slope = binding.transmission.jacobian(a)[:, 0, 0]
            if np.isfinite(slope[is_given]).all():  # the mechanism reaches the bounds
                is_greatest = (slope > 0.0) == [False, True]
                low = a[is_given & ~is_greatest].max(axis=0, initial=-np.inf)
                high = a[is_given & is_greatest].min(axis=0, initial=np.inf)
        least[actuators] = np.maximum(least[actuators], low)
        greatest[actuators] = np.minimum(greatest[actuators], high)
    return least, greatest


def compute_limits_at(robot: RobotTable, limits: Array, a: Array, *, is_effort: bool) -> Array:
    """
    Return the largest actuator speeds ``(m,)`` at ``a`` with ``|J ȧ| <= limits``.

    The same equation holds for accelerations at standstill. Efforts are the largest ``|Jᵀ τ|`` for
    ``|τ| <= limits``. Limits of passive joints do not apply to commands.
    """
    greatest = np.full(len(robot.actuator_names), 0.0 if is_effort else np.inf)
    for binding in robot.bindings:
        actuators, joints = list(binding.actuators), list(binding.joints)
        jacobian, most = binding.transmission.jacobian(a[actuators])[: len(joints)], limits[joints]
        if not np.isfinite(jacobian).all():
            greatest[actuators] = np.nan
        elif is_effort:
            greatest[actuators] += effort_box(jacobian, most)
        else:
            high = bound_actuators(jacobian, -most, most)[1]
            greatest[actuators] = np.minimum(greatest[actuators], high)
    return greatest
