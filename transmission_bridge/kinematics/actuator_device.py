# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A joint device in actuator coordinates: frames, forces, losses and limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import ShapeError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.kinematics.device import JointDevice
from transmission_bridge.kinematics.joint import LinkId
from transmission_bridge.kinematics.limits import (
    compute_limits_at,
    compute_position_bounds,
    DeviceLimits,
    limits_from_description,
)
from transmission_bridge.kinematics.tree import joint_from_spec
from transmission_bridge.spatial import apply_matrix
from transmission_bridge.transmissions import as_values, RobotTransmissions
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
        limits = (device.limits, limits_from_description(robot, others))
        self._limits = DeviceLimits(
            *map(np.append, *(vars(device_limits).values() for device_limits in limits))
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
        values = as_values('q', q, self.device.dof)
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
        return apply_matrix(transposed, as_values('wrench', wrench, 6))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """
        Smallest and largest actuator positions [rad or m], each ``(m,)``.

        The bounds are the smallest box around all positions within the joints' bounds, infinite if
        unbounded. A reversed joint swaps its bounds, also if only one is given. The bounds of a
        coupled mechanism are NaN if its ratio depends on position.
        """
        return compute_position_bounds(self._map, self._limits.lower, self._limits.upper)

    @property
    def velocity_limits(self) -> Array:
        """Largest actuator speeds [rad/s or m/s], ``(m,)``; NaN if ratios vary."""
        return self.velocity_limits_at(self._unknown_positions())

    @property
    def acceleration_limits(self) -> Array:
        """Largest actuator accelerations [rad/s² or m/s²], ``(m,)``; NaN if ratios vary."""
        return self.acceleration_limits_at(self._unknown_positions())

    @property
    def effort_limits(self) -> Array:
        """Largest actuator efforts [N m or N], ``(m,)``; NaN if ratios vary."""
        return self.effort_limits_at(self._unknown_positions())

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
        return as_values(argument, values, len(self.actuator_names))

    def _compute_limits(self, kind: str, a: npt.ArrayLike) -> Array:
        """Return the largest values at one configuration; limits have no batches."""
        values = self._read_actuator_values('a', a)
        if values.ndim != 1:
            raise ShapeError('a', expected=f'({len(self.actuator_names)},)', found=values.shape)
        limits = getattr(self._limits, kind)
        return compute_limits_at(self._map, limits, values, is_effort=kind == 'effort')

    def _unknown_positions(self) -> Array:
        """Return unknown positions: limits become NaN if the ratio varies."""
        return np.full(len(self.actuator_names), np.nan)
