# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A joint device seen from the motors: frames, forces, losses and limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics import actuator_limits
from transmission_bridge.kinematics.actuator_frames import ActuatorFrames
from transmission_bridge.kinematics.device_limits import DeviceLimits, limits_from_description
from transmission_bridge.kinematics.joint_device import JointDevice
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.spatial import Array
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['ActuatorDevice', 'LimitKind']

LimitKind = Literal['position', 'velocity', 'acceleration', 'effort']


class ActuatorDevice(ActuatorFrames):
    """
    A :class:`~transmission_bridge.kinematics.joint_device.JointDevice` in actuator coordinates.

    A configuration ``a`` holds one number per actuator, in the order of :attr:`actuator_names`
    [rad or m], shape ``(..., m)`` with any leading batch axes. The actuators are those of every
    transmission that moves a joint of the device, and those of joints that pass through. With
    ``q = f(a)`` and the chain rule ``J_a = J_q ∂q/∂a``; by conservation of power efforts map with
    the transpose. Frames and Jacobians are those of the joint device, after RobWork.

    A transmission may also move joints that the device does not have, its companions. They count
    with the limits of the description; where a map needs their position or effort it is zero, as
    for all joints that are not in the device.

    Limits where the ratio depends on position are NaN in the properties, which know no position,
    and are found by the ``…_at`` methods.

    :param device: The device in joint coordinates.
    :param transmissions: The robot's transmissions.
    :raises UnknownNameError: If a joint of the device is moved by no transmission and does not
        pass through.
    """

    def __init__(self, device: JointDevice, transmissions: RobotTransmissions) -> None:
        super().__init__(device, transmissions)
        self._limits = _with_companions(device, transmissions.robot, self.companions)

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
        :param transmissions: The robot's transmissions, where they have been tuned; loaded from
            the description by default.
        :returns: The device.
        :raises UnknownNameError: If a link or joint does not exist, or a joint is moved by no
            transmission and does not pass through.
        :raises JointError: As :meth:`JointDevice.from_description`.
        :raises DescriptionError: As :meth:`JointDevice.from_description`.
        """
        device = JointDevice.from_description(robot, base=base, end=end, joints=joints, name=name)
        return cls(device, transmissions or RobotTransmissions(robot))

    def actuator_efforts(self, wrench: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """
        Return the actuator efforts that hold a wrench at the end, ``τ_a = J_aᵀ w``.

        Then ``w · twist = τ_a · ȧ`` for every motion (virtual work).

        :param wrench: ``[f; m]`` that the end applies to its surroundings, at the end's origin in
            the base's axes, shape ``(..., 6)`` [N; N m].
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [N m or N].
        :raises ShapeError: If a shape is another.
        """
        force = np.asarray(wrench, dtype=np.float64)
        if force.shape[-1:] != (6,):
            raise ShapeError('wrench', expected='(..., 6)', found=force.shape)
        transposed = np.swapaxes(self.base_j_end(a), -1, -2)
        return (transposed @ force[..., np.newaxis])[..., 0]

    def end_wrench(self, efforts: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """
        Return the wrench at the end that actuator efforts hold, ``w = (J_aᵀ)⁺ τ_a``.

        The inverse of :meth:`actuator_efforts` as far as there is one: of the wrenches that fit it
        is the least (its numbers in N and N m), and efforts that no wrench asks for are left out.

        :param efforts: Actuator efforts [N m or N], shape ``(..., m)``.
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: ``[f; m]`` at the end's origin in the base's axes, shape ``(..., 6)`` [N; N m].
        :raises ShapeError: If a shape is another.
        """
        values = self._values('efforts', efforts)
        inverse = _pseudo_inverse(np.swapaxes(self.base_j_end(a), -1, -2))
        return (inverse @ values[..., np.newaxis])[..., 0]

    def reflected_damping(self, a: npt.ArrayLike) -> Array:
        """
        Return the joints' viscous damping as actuators feel it, ``D_a = (∂q/∂a)ᵀ D_q ∂q/∂a``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., m, m)`` [effort per velocity]; a coupled transmission couples.
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        damping = np.array([joint.damping() for joint in self._device.joints])
        jacobian = self.joint_jacobian(a)
        damped: Array = damping[:, np.newaxis] * jacobian
        reflected: Array = np.swapaxes(jacobian, -1, -2) @ damped
        return reflected

    def reflected_friction(self, a: npt.ArrayLike) -> Array:
        """
        Return the most that the joints' static friction asks of each actuator, ``|∂q/∂a|ᵀ f_q``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [N m or N].
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        friction = np.array([joint.static_friction() for joint in self._device.joints])
        jacobian = np.abs(self.joint_jacobian(a))
        reflected: Array = np.swapaxes(jacobian, -1, -2) @ friction
        return reflected

    @property
    def bounds(self) -> tuple[Array, Array]:
        """
        Least and greatest actuator positions [rad or m], each ``(m,)``.

        The least box around all positions that the joints' bounds allow; infinite where open. A
        reversed joint swaps its bounds, also when only one is given. NaN for a coupled mechanism
        whose ratio depends on position.
        """
        return actuator_limits.position_bounds(self._map, self._limits.lower, self._limits.upper)

    @property
    def velocity_limits(self) -> Array:
        """Greatest actuator speeds [rad/s or m/s], ``(m,)``; NaN where ratios vary."""
        return self.velocity_limits_at(self._anywhere())

    @property
    def acceleration_limits(self) -> Array:
        """Greatest actuator accelerations [rad/s² or m/s²], ``(m,)``; NaN where ratios vary."""
        return self.acceleration_limits_at(self._anywhere())

    @property
    def effort_limits(self) -> Array:
        """Greatest actuator efforts [N m or N], ``(m,)``; NaN where ratios vary."""
        return self.effort_limits_at(self._anywhere())

    def velocity_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the greatest actuator speeds at a position, the least box around ``|J ȧ| <= v``.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [rad/s or m/s], infinite where open, NaN where unreachable.
        :raises ShapeError: If ``a`` is not ``(m,)``.
        """
        return actuator_limits.rate_limits(self._map, self._limits.velocity, self._one(a))

    def acceleration_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the greatest actuator accelerations at a position, from standstill.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [rad/s² or m/s²], infinite where open, NaN where unreachable.
        :raises ShapeError: If ``a`` is not ``(m,)``.
        """
        return actuator_limits.rate_limits(self._map, self._limits.acceleration, self._one(a))

    def effort_limits_at(self, a: npt.ArrayLike) -> Array:
        """
        Return the greatest actuator efforts at a position, the least box around ``Jᵀ τ_q``.

        :param a: Actuator positions [rad or m], shape ``(m,)``.
        :returns: Shape ``(m,)`` [N m or N], infinite where open, NaN where unreachable.
        :raises ShapeError: If ``a`` is not ``(m,)``.
        """
        return actuator_limits.effort_limits(self._map, self._limits.effort, self._one(a))

    def half_spaces(self, kind: LimitKind, a: npt.ArrayLike | None = None) -> tuple[Array, Array]:
        """
        Return exactly what the joints' limits allow, as half-spaces ``A x <= b``.

        A coupled transmission allows a polytope, of which the limits elsewhere in this class are
        the least box.

        :param kind: What ``x`` is: actuator ``position``, ``velocity``, ``acceleration`` (from
            standstill) or ``effort``.
        :param a: Actuator positions [rad or m], shape ``(m,)``; needed where ratios vary, else
            ignored.
        :returns: ``A`` of shape ``(k, m)`` and ``b`` of shape ``(k,)``; no rows for what is open.
        :raises ShapeError: If ``a`` is not ``(m,)``.
        :raises JointError: If ratios vary, and ``kind`` is ``position``, or ``a`` is not given or
            out of reach; or ``kind`` is none of the four.
        """
        limits = self._limits
        if kind not in ('position', 'velocity', 'acceleration', 'effort'):
            raise JointError(self.device.name, f'{kind!r} is not a kind of limit')
        if not self.is_constant and (kind == 'position' or a is None):
            raise JointError(
                self.device.name, f'{kind} limits are no polytope where ratios depend on position'
            )
        at = self._one(np.zeros(len(self.actuator_names)) if a is None else a)
        if not np.isfinite(self._map.jacobian(at)).all():
            raise JointError(self.device.name, 'a transmission does not reach this position')
        if kind == 'position':
            return actuator_limits.position_region(self._map, limits.lower, limits.upper)
        if kind == 'effort':
            return actuator_limits.effort_region(self._map, limits.effort, at)
        return actuator_limits.rate_region(self._map, getattr(limits, kind), at)

    def __repr__(self) -> str:
        """Return the joint device and the actuators."""
        return f'ActuatorDevice({self.device!r}, actuators={self.actuator_names!r})'

    def _one(self, a: npt.ArrayLike) -> Array:
        """Return one configuration; limits have no batches."""
        values = self._values('a', a)
        if values.ndim != 1:
            raise ShapeError('a', expected=f'({len(self.actuator_names)},)', found=values.shape)
        return values

    def _anywhere(self) -> Array:
        """Return unknown positions: a constant ratio does not ask, a varying one becomes NaN."""
        return np.full(len(self.actuator_names), np.nan)


def _pseudo_inverse(matrix: Array) -> Array:
    """Return the pseudo-inverse of each matrix of a batch, NaN where one is not finite."""
    is_known = np.isfinite(matrix).all(axis=(-2, -1), keepdims=True)
    # Singular values that rounding alone explains must not become huge.
    inverse = np.linalg.pinv(np.where(is_known, matrix, 0.0), rcond=1e-10)
    result: Array = np.where(is_known, inverse, np.nan)
    return result


def _with_companions(
    device: JointDevice, robot: RobotDescription, companions: Sequence[str]
) -> DeviceLimits:
    """Return the device's limits, then those of the companions as described."""
    others = limits_from_description(robot, companions)
    return DeviceLimits(
        lower=np.append(device.bounds[0], others.lower),
        upper=np.append(device.bounds[1], others.upper),
        velocity=np.append(device.velocity_limits, others.velocity),
        acceleration=np.append(device.acceleration_limits, others.acceleration),
        effort=np.append(device.effort_limits, others.effort),
    )
