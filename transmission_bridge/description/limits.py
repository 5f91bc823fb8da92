# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The effective limits of a joint: the URDF's, narrowed by its ros2_control command interfaces.

The rules come from ros2_control's component parser and ``joint_limits``. If a description
contradicts itself, the safer limit is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.description.specs import (
    ComponentSpec,
    InterfaceSpec,
    JointSpec,
    RobotDescription,
)
from transmission_bridge.types import Array


@dataclass(frozen=True, slots=True)
class EffectiveLimits:
    """
    Bounds and magnitudes in joint space; a missing limit is infinite.

    If the description contradicts itself, ``lower > upper``, and no position is allowed.

    :param lower: Minimum position [rad or m].
    :param upper: Maximum position [rad or m].
    :param velocity: Maximum speed [rad/s or m/s].
    :param effort: Maximum effort [N m or N].
    :param acceleration: Maximum acceleration [rad/s² or m/s²].
    :param deceleration: Maximum deceleration [rad/s² or m/s²].
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf


def effective_limits(robot: RobotDescription, name: str) -> EffectiveLimits:
    """
    Return the limits of a joint.

    - ``<limit>`` sets the bounds of revolute and prismatic joints, and the magnitudes of velocity
      and effort.
    - Command interfaces of every ``<ros2_control>`` block narrow them. Position: the largest
      ``min`` and the smallest ``max``. Velocity and effort: the smaller of ``|min|`` and
      ``|max|`` in both directions. Acceleration: ``|min|`` limits deceleration and ``|max|``
      limits acceleration; if one is missing, the other limits both.
    - ``<limits enable="false">`` of the joint disables all of its limits; in an interface it
      disables the interface's ``min`` and ``max``.

    :param robot: The description.
    :param name: Name of the joint. A joint outside the URDF is limited by blocks only.
    """
    components = [
        component
        for block in robot.blocks
        for component in block.components
        if component.kind == 'joint' and component.name == name
    ]
    if any(not component.limits_enabled for component in components):
        return EffectiveLimits()
    urdf = next((joint for joint in robot.joints if joint.name == name), None)
    limits = EffectiveLimits() if urdf is None else _read_urdf_limits(urdf)
    position = list(_find_interfaces(components, 'position'))
    acceleration, deceleration = _read_accelerations(_find_interfaces(components, 'acceleration'))
    return EffectiveLimits(
        lower=max([limits.lower, *(i.min for i in position if i.min is not None)]),
        upper=min([limits.upper, *(i.max for i in position if i.max is not None)]),
        velocity=_narrow_magnitude(limits.velocity, _find_interfaces(components, 'velocity')),
        effort=_narrow_magnitude(limits.effort, _find_interfaces(components, 'effort')),
        acceleration=acceleration,
        deceleration=deceleration,
    )


def compute_limits(robot: RobotDescription, names: Iterable[str]) -> Array:
    """
    Return the :func:`effective_limits` of joints as one array.

    :returns: Lower and upper bounds, shape ``(2, 4, n_joints)``, rows position, velocity, effort
        and acceleration; infinite: no bound.
    """
    found = [effective_limits(robot, name) for name in names]
    upper = [(each.upper, each.velocity, each.effort, each.acceleration) for each in found]
    lower = [(each.lower, -each.velocity, -each.effort, -each.deceleration) for each in found]
    return np.array([lower, upper]).reshape(2, len(found), 4).swapaxes(1, 2).copy()


def _read_urdf_limits(joint: JointSpec) -> EffectiveLimits:
    limits = joint.limits
    if limits is None:
        return EffectiveLimits()
    bounded = joint.type in ('revolute', 'prismatic')
    return EffectiveLimits(
        lower=limits.lower if bounded and limits.lower is not None else -math.inf,
        upper=limits.upper if bounded and limits.upper is not None else math.inf,
        velocity=math.inf if limits.velocity is None else abs(limits.velocity),
        effort=math.inf if limits.effort is None else abs(limits.effort),
    )


def _find_interfaces(components: Iterable[ComponentSpec], name: str) -> Iterable[InterfaceSpec]:
    return (
        interface
        for component in components
        for interface in component.command_interfaces
        if interface.name == name and interface.limits_enabled
    )


def _narrow_magnitude(limit: float, interfaces: Iterable[InterfaceSpec]) -> float:
    for interface in interfaces:
        for bound in (interface.min, interface.max):
            if bound is not None:
                limit = min(limit, abs(bound))
    return limit


def _read_accelerations(interfaces: Iterable[InterfaceSpec]) -> tuple[float, float]:
    acceleration = deceleration = math.inf
    for interface in interfaces:
        bounds = [abs(b) for b in (interface.min, interface.max) if b is not None]
        if bounds:
            deceleration = min(deceleration, bounds[0])
            acceleration = min(acceleration, bounds[-1])
    return acceleration, deceleration
