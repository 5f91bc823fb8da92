# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A list of joints under one name, with limits per coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.device_limits import limits_from_description
from transmission_bridge.kinematics.joint import Joint
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.model_joints import joint_from_spec
from transmission_bridge.kinematics.spatial import Array

__all__ = ['LimitedDevice']

DeviceT = TypeVar('DeviceT', bound='LimitedDevice')


class LimitedDevice:
    """
    Joints in a chosen order, with limits and properties; the part of a device without frames.

    Every ``with_…`` returns a new device.

    :param robot: The robot.
    :param joints: Names of the joints, in the order of the coordinates.
    :param name: The device's name.
    :raises UnknownNameError: If a joint does not exist.
    :raises JointError: If a joint is named twice or has not exactly one coordinate.
    :raises DescriptionError: If the axis of a joint has no direction.
    """

    def __init__(self, robot: RobotDescription, joints: Sequence[str], name: str) -> None:
        self._name = name
        self._joint_names = tuple(joints)
        self._joints = _device_joints(robot, self._joint_names)
        self._limits = limits_from_description(robot, self._joint_names)
        self._properties: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The device's name."""
        return self._name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the coordinates."""
        return self._joint_names

    @property
    def joints(self) -> tuple[Joint, ...]:
        """
        The joints as the description has them, in the order of the coordinates.

        Their offsets are those of the device, so that each reads its own part of ``q``.
        """
        return self._joints

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return len(self._joint_names)

    @property
    def properties(self) -> Mapping[str, Any]:
        """What the user attached to the device, by name; read only (getPropertyMap)."""
        return MappingProxyType(self._properties)

    def with_properties(self: DeviceT, **properties: Any) -> DeviceT:
        """
        Return the device with more properties; the package itself gives them no meaning.

        :param properties: Values by name; a name that exists is replaced.
        :returns: A new device.
        """
        return self._replaced(_properties={**self._properties, **properties})

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Least and greatest positions [rad or m], each ``(n,)``, infinite where open."""
        return self._limits.lower, self._limits.upper

    def with_bounds(self: DeviceT, lower: npt.ArrayLike, upper: npt.ArrayLike) -> DeviceT:
        """
        Return the device with other position bounds (setBounds).

        :param lower: Least positions [rad or m], shape ``(n,)``.
        :param upper: Greatest positions [rad or m], shape ``(n,)``.
        :returns: A new device; its joints stay as described.
        :raises ShapeError: If a shape is another.
        :raises JointError: If not ``lower <= upper`` everywhere.
        """
        return self._with_limits(lower=lower, upper=upper)

    @property
    def velocity_limits(self) -> Array:
        """Greatest speeds [rad/s or m/s], ``(n,)``, infinite where open."""
        return self._limits.velocity

    def with_velocity_limits(self: DeviceT, limits: npt.ArrayLike) -> DeviceT:
        """
        Return the device with other velocity limits (setVelocityLimits).

        :param limits: Greatest speeds [rad/s or m/s], shape ``(n,)``.
        :returns: A new device.
        :raises ShapeError: If the shape is another.
        :raises JointError: If one is negative or not a number.
        """
        return self._with_limits(velocity=limits)

    @property
    def acceleration_limits(self) -> Array:
        """
        Greatest accelerations [rad/s² or m/s²], ``(n,)``, infinite where open.

        The smaller magnitude of ``min`` and ``max`` of the ``acceleration`` command interface, for
        speeding up and slowing down alike.
        """
        return self._limits.acceleration

    def with_acceleration_limits(self: DeviceT, limits: npt.ArrayLike) -> DeviceT:
        """
        Return the device with other acceleration limits (setAccelerationLimits).

        :param limits: Greatest accelerations [rad/s² or m/s²], shape ``(n,)``.
        :returns: A new device.
        :raises ShapeError: If the shape is another.
        :raises JointError: If one is negative or not a number.
        """
        return self._with_limits(acceleration=limits)

    @property
    def effort_limits(self) -> Array:
        """Greatest efforts [N m or N], ``(n,)``, infinite where open."""
        return self._limits.effort

    def with_effort_limits(self: DeviceT, limits: npt.ArrayLike) -> DeviceT:
        """
        Return the device with other effort limits.

        :param limits: Greatest efforts [N m or N], shape ``(n,)``.
        :returns: A new device.
        :raises ShapeError: If the shape is another.
        :raises JointError: If one is negative or not a number.
        """
        return self._with_limits(effort=limits)

    def _with_limits(self: DeviceT, **values: npt.ArrayLike) -> DeviceT:
        for name, value in values.items():
            if np.shape(value) != (self.dof,):
                raise ShapeError(name, expected=f'({self.dof},)', found=np.shape(value))
        changed: dict[str, Any] = values
        limits = replace(self._limits, **changed)
        limits.check(self._name, values.keys())
        return self._replaced(_limits=limits)

    def _replaced(self: DeviceT, **attributes: Any) -> DeviceT:
        device = copy.copy(self)
        device.__dict__.update(attributes)
        return device


def _device_joints(robot: RobotDescription, names: Sequence[str]) -> tuple[Joint, ...]:
    joints: list[Joint] = []
    for place, name in enumerate(names):
        spec = robot.joint(name)
        if not spec.is_scalar:
            raise JointError(name, f'a {spec.type} joint has not exactly one coordinate')
        if name in names[:place]:
            raise JointError(name, 'is named twice')
        joint = joint_from_spec(spec)
        joints.append(
            joint.with_serialization(index=place, position_offset=place, dof_offset=place)
        )
    return tuple(joints)
