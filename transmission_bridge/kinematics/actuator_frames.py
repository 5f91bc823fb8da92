# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Positions and motions of a device's frames as functions of actuator positions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.actuator_map import ActuatorMap
from transmission_bridge.kinematics.joint_device import JointDevice
from transmission_bridge.kinematics.spatial import Array
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['ActuatorFrames']


class ActuatorFrames:
    """
    The part of an actuator device that knows no limits and no forces.

    :param device: The device in joint coordinates.
    :param transmissions: The robot's transmissions.
    :raises UnknownNameError: If a joint of the device is moved by no transmission and does not
        pass through.
    """

    def __init__(self, device: JointDevice, transmissions: RobotTransmissions) -> None:
        self._device = device
        self._map = ActuatorMap(transmissions, device.joint_names)

    @property
    def device(self) -> JointDevice:
        """The device in joint coordinates."""
        return self._device

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of the coordinates."""
        return self._map.actuator_names

    @property
    def companions(self) -> tuple[str, ...]:
        """Joints that the device's transmissions move besides those of the device."""
        return self._map.companions

    @property
    def is_constant(self) -> bool:
        """Whether every ratio is the same at any position."""
        return self._map.is_constant

    def joint_positions(self, a: npt.ArrayLike) -> Array:
        """
        Return the configuration of the joint device, ``q = f(a)``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Joint positions [rad or m], shape ``(..., n)``.
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        return self._map.joint_positions(self._values('a', a))[..., : self._device.dof]

    def actuator_positions(self, q: npt.ArrayLike, guess: npt.ArrayLike | None = None) -> Array:
        """
        Return the actuator positions of a configuration, with companions at zero.

        :param q: Joint positions [rad or m], shape ``(..., n)``.
        :param guess: Actuator positions near which solutions are sought, shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [rad or m]; NaN where there is no solution.
        :raises ShapeError: If ``q`` is not ``(..., n)`` or ``guess`` not ``(..., m)``.
        """
        values = np.asarray(q, dtype=np.float64)
        if values.shape[-1:] != (self._device.dof,):
            raise ShapeError('q', expected=f'(..., {self._device.dof})', found=values.shape)
        rest = np.zeros((*values.shape[:-1], len(self.companions)))
        near = None if guess is None else self._values('guess', guess)
        return self._map.actuator_positions(np.concatenate([values, rest], axis=-1), near)

    def joint_jacobian(self, a: npt.ArrayLike) -> Array:
        """
        Return ``∂q/∂a`` of the device's joints.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., n, m)``, unit of a joint per unit of an actuator.
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        return self._map.jacobian(self._values('a', a))[..., : self._device.dof, :]

    def base_t_end(self, a: npt.ArrayLike) -> Array:
        """
        Return the pose of the end in the base.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        return self._device.base_t_end(self.joint_positions(a))

    def base_t_frame(self, frame: str, a: npt.ArrayLike) -> Array:
        """
        Return the pose of a frame in the base.

        :param frame: Name of a link.
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        :raises UnknownNameError: If there is no such link.
        """
        return self._device.base_t_frame(frame, self.joint_positions(a))

    def base_j_end(self, a: npt.ArrayLike) -> Array:
        """
        Return the Jacobian of the end by actuator coordinates, ``J_q ∂q/∂a``.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 6, m)``: rows 0–2 linear velocity of the end's origin, 3–5 angular
            velocity, in the base's axes [m or rad, per unit of an actuator].
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        """
        return self.base_j_frame(self._device.end, a)

    def base_j_frame(self, frame: str, a: npt.ArrayLike) -> Array:
        """
        Return the Jacobian of a frame by actuator coordinates.

        :param frame: Name of a link.
        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., 6, m)``, rows as in :meth:`base_j_end`.
        :raises ShapeError: If ``a`` is not ``(..., m)``.
        :raises UnknownNameError: If there is no such link.
        """
        by_joints = self._device.base_j_frame(frame, self.joint_positions(a))
        return by_joints @ self.joint_jacobian(a)

    def _values(self, argument: str, values: npt.ArrayLike) -> Array:
        """Return one number per actuator as float64."""
        array = np.asarray(values, dtype=np.float64)
        size = len(self.actuator_names)
        if array.shape[-1:] != (size,):
            raise ShapeError(argument, expected=f'(..., {size})', found=array.shape)
        return array
