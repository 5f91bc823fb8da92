# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of a device, one number per coordinate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.spatial import Array

__all__ = ['DeviceLimits', 'limits_from_description']

MAGNITUDES = ('velocity', 'acceleration', 'effort')


@dataclass(frozen=True, eq=False)
class DeviceLimits:
    """
    Bounds and magnitudes, infinite where there is no limit.

    :param lower: Least positions [rad or m], shape ``(n,)``.
    :param upper: Greatest positions [rad or m], shape ``(n,)``.
    :param velocity: Greatest speeds [rad/s or m/s], shape ``(n,)``.
    :param acceleration: Greatest accelerations [rad/s² or m/s²], shape ``(n,)``.
    :param effort: Greatest efforts [N m or N], shape ``(n,)``.
    :raises ShapeError: If the lengths differ.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    def __post_init__(self) -> None:
        size = np.size(self.lower)
        for name in ('lower', 'upper', *MAGNITUDES):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != (size,):
                raise ShapeError(name, expected=f'({size},)', found=values.shape)
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def check(self, name: str, kinds: Collection[str]) -> None:
        """
        Refuse limits that cannot be meant.

        A description may hold such limits: its findings say so, and frames do not depend on them.

        :param name: The device's name, for the message.
        :param kinds: Which fields to look at.
        :raises JointError: If bounds are crossed, a magnitude is negative, or a limit is not a
            number.
        """
        if {'lower', 'upper'} & set(kinds) and not np.all(self.lower <= self.upper):
            raise JointError(name, f'bounds {self.lower} and {self.upper} are not in order')
        for kind in MAGNITUDES:
            if kind in kinds and not np.all(getattr(self, kind) >= 0.0):
                raise JointError(name, f'{kind} limits {getattr(self, kind)} are not magnitudes')


def limits_from_description(robot: RobotDescription, names: Sequence[str]) -> DeviceLimits:
    """
    Return what the description says about the limits of joints.

    Bounds, speeds and efforts are those of ``<limit>``, the latter two by magnitude, as in
    ros2_control's ``joint_limits``. A continuous joint has no bounds. Accelerations come from
    ``min`` and ``max`` of the ``acceleration`` command interface in a ``<ros2_control>`` block:
    there ``|min|`` limits deceleration and ``|max|`` acceleration, and the smaller is a symmetric
    limit that keeps both. Limits that the block disables do not count. Crossed bounds stay as they
    are written.

    :param robot: The robot.
    :param names: Names of joints with one coordinate.
    :returns: Limits in the order of ``names``, infinite where the description says nothing.
    :raises UnknownNameError: If a joint does not exist.
    """
    specs = [robot.joint(name) for name in names]
    bounds = [_bounds(spec) for spec in specs]
    return DeviceLimits(
        lower=np.array([lower for lower, _ in bounds], dtype=np.float64),
        upper=np.array([upper for _, upper in bounds], dtype=np.float64),
        velocity=np.array([_magnitude(spec, 'velocity') for spec in specs]),
        acceleration=np.array([_acceleration(robot, name) for name in names], dtype=np.float64),
        effort=np.array([_magnitude(spec, 'effort') for spec in specs]),
    )


def _bounds(spec: JointSpec) -> tuple[float, float]:
    if spec.limits is None or spec.type == 'continuous':
        return -np.inf, np.inf
    lower, upper = spec.limits.lower, spec.limits.upper
    return -np.inf if lower is None else lower, np.inf if upper is None else upper


def _magnitude(spec: JointSpec, kind: str) -> float:
    value = None if spec.limits is None else getattr(spec.limits, kind)
    return float(np.inf) if value is None else abs(value)


def _acceleration(robot: RobotDescription, name: str) -> float:
    limits = [
        abs(bound)
        for block in robot.blocks
        for component in block.components
        if component.kind == 'joint' and component.name == name
        for interface in component.command_interfaces
        if interface.name == 'acceleration' and interface.limits_enabled
        for bound in (interface.min, interface.max)
        if bound is not None
    ]
    return min(limits, default=float(np.inf))
