# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The limits that hold for a joint: the URDF's, narrowed by its ros2_control command interfaces.

The rules are those of ros2_control's component parser and ``joint_limits``; where a description
contradicts itself, the safer limit is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math

from transmission_bridge.description.specs import (
    ComponentSpec,
    InterfaceSpec,
    JointSpec,
    RobotDescription,
)


@dataclass(frozen=True, slots=True)
class EffectiveLimits:
    """
    Bounds and magnitudes in joint space, infinite where there is no limit.

    ``lower > upper`` where the description contradicts itself: no position is allowed then.

    :param lower: Least position [rad or m].
    :param upper: Greatest position [rad or m].
    :param velocity: Greatest speed.
    :param effort: Greatest effort.
    :param acceleration: Greatest acceleration.
    :param deceleration: Greatest deceleration.
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

    - ``<limit>``: bounds of revolute and prismatic joints only, velocity and effort by magnitude.
    - Command interfaces of every ``<ros2_control>`` block narrow them: for position the greatest
      ``min`` and the least ``max``; for velocity and effort the smaller of ``|min|`` and ``|max|``
      as a symmetric limit; for acceleration ``|min|`` limits deceleration and ``|max|``
      acceleration, and if one is missing the other limits both.
    - ``<limits enable="false">`` of the joint disables all of its limits, that of an interface its
      own ``min`` and ``max``.

    :param robot: The description.
    :param name: Name of the joint; one that the URDF does not have is limited by blocks only.
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
    limits = EffectiveLimits() if urdf is None else _urdf_limits(urdf)
    position = list(_interfaces(components, 'position'))
    acceleration, deceleration = _accelerations(_interfaces(components, 'acceleration'))
    return EffectiveLimits(
        lower=max([limits.lower, *(i.min for i in position if i.min is not None)]),
        upper=min([limits.upper, *(i.max for i in position if i.max is not None)]),
        velocity=_magnitude(limits.velocity, _interfaces(components, 'velocity')),
        effort=_magnitude(limits.effort, _interfaces(components, 'effort')),
        acceleration=acceleration,
        deceleration=deceleration,
    )


def _urdf_limits(joint: JointSpec) -> EffectiveLimits:
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


def _interfaces(components: Iterable[ComponentSpec], name: str) -> Iterable[InterfaceSpec]:
    return (
        interface
        for component in components
        for interface in component.command_interfaces
        if interface.name == name and interface.limits_enabled
    )


def _magnitude(limit: float, interfaces: Iterable[InterfaceSpec]) -> float:
    for interface in interfaces:
        for bound in (interface.min, interface.max):
            if bound is not None:
                limit = min(limit, abs(bound))
    return limit


def _accelerations(interfaces: Iterable[InterfaceSpec]) -> tuple[float, float]:
    acceleration = deceleration = math.inf
    for interface in interfaces:
        bounds = [abs(b) for b in (interface.min, interface.max) if b is not None]
        if bounds:
            deceleration = min(deceleration, bounds[0])
            acceleration = min(acceleration, bounds[-1])
    return acceleration, deceleration
