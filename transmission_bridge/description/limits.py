# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The effective limits of joints: the URDF's, narrowed by their ros2_control command interfaces.

The rules come from ros2_control's component parser and ``joint_limits``. If a description
contradicts itself, the safer limit is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
import math

import numpy as np

from transmission_bridge.description.specs import ComponentSpec, RobotDescription
from transmission_bridge.types import Array

_ROWS = ('position', 'velocity', 'effort', 'acceleration')

#: Two bounds of an interface, ``None`` if absent.
_Bounds = tuple[str, float | None, float | None]


def compute_limits(robot: RobotDescription, names: Sequence[str]) -> Array:
    """
    Return the limits of joints as one array.

    - ``<limit>`` sets the bounds of revolute and prismatic joints, and the magnitudes of velocity
      and effort.
    - Command interfaces of every ``<ros2_control>`` block narrow them. Position: the largest
      ``min`` and the smallest ``max``. Velocity and effort: the smaller of ``|min|`` and
      ``|max|`` in both directions. Acceleration: ``|min|`` limits deceleration and ``|max|``
      limits acceleration; if one is missing, the other limits both.
    - ``<limits enable="false">`` of the joint disables all of its limits; in an interface it
      disables the interface's ``min`` and ``max``.

    :param robot: The description.
    :param names: Names of joints. A joint outside the URDF is limited by blocks only.
    :returns: Lower and upper bounds, shape ``(2, 4, n_joints)``, rows position, velocity, effort
        and acceleration (lower: deceleration) [rad or m, per second, N m or N]; infinite: no
        bound. If the description contradicts itself, ``lower > upper``, and no position is
        allowed.
    """
    joints = {joint.name: joint for joint in robot.joints}
    components: dict[str, list[ComponentSpec]] = defaultdict(list)
    for component in (component for block in robot.blocks for component in block.components):
        if component.kind == 'joint':
            components[component.name].append(component)
    limits = np.full((2, len(_ROWS), len(names)), math.inf)
    limits[0] = -math.inf
    for column, name in enumerate(names):
        if not all(component.limits_enabled for component in components[name]):
            continue
        bounds: list[_Bounds] = []
        joint = joints.get(name)
        if joint is not None and joint.limits is not None:
            if joint.type in ('revolute', 'prismatic'):
                bounds.append(('position', joint.limits.lower, joint.limits.upper))
            bounds.append(('velocity', None, joint.limits.velocity))
            bounds.append(('effort', None, joint.limits.effort))
        bounds += [
            (interface.name, interface.min, interface.max)
            for component in components[name]
            for interface in component.command_interfaces
            if interface.limits_enabled
        ]
        for row, low, high in bounds:
            given = [bound for bound in (low, high) if bound is not None]
            if row in _ROWS and given:
                ends = -math.inf if low is None else low, math.inf if high is None else high
                if row == 'acceleration':
                    ends = -abs(given[0]), abs(given[-1])
                elif row != 'position':
                    least = min(map(abs, given))
                    ends = -least, least
                both = limits[:, _ROWS.index(row), column]
                both[:] = max(both[0], ends[0]), min(both[1], ends[1])
    return limits
