# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints as their actuators see them, transmission by transmission."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.kinematics.actuator_limits import (
    effort_limits,
    position_bounds,
    rate_limits,
)
from transmission_bridge.kinematics.actuator_map import ActuatorMap
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding

__all__ = ['ActuatorLimits', 'actuator_limits']


@dataclass(frozen=True, slots=True)
class ActuatorLimits:
    """
    What the limits of its joints allow an actuator, each by itself.

    Infinite where nothing limits; NaN where it depends on position, or the limits of a joint
    contradict each other.

    :param lower: Least position [rad or m].
    :param upper: Greatest position [rad or m].
    :param velocity: Greatest speed [rad/s or m/s].
    :param effort: Greatest effort [N m or N].
    """

    name: str
    lower: float
    upper: float
    velocity: float
    effort: float

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """The four of them."""
        return self.lower, self.upper, self.velocity, self.effort

    @property
    def says_something(self) -> bool:
        """Whether anything is limited."""
        return not all(map(math.isinf, self.numbers))

    def as_json(self) -> dict[str, Any]:
        """Return an object: numbers, ``null`` where open, ``varies`` where NaN."""
        names = ('lower', 'upper', 'velocity', 'effort')
        return {
            'name': self.name,
            **{
                name: 'varies' if math.isnan(value) else None if math.isinf(value) else value
                for name, value in zip(names, self.numbers, strict=True)
            },
        }


def actuator_limits(robot: RobotTransmissions, binding: Binding) -> tuple[ActuatorLimits, ...]:
    """
    Return the limits of the actuators of a transmission, in role order.

    The limits of the joints are those of
    :func:`~transmission_bridge.description.effective_limits.effective_limits`; for a coupled
    transmission the numbers are the least box around what they allow together.
    """
    names = [member.name for member in binding.spec.joints]
    actuator_map = ActuatorMap(robot, names)
    joints = [effective_limits(robot.robot, name) for name in (*names, *actuator_map.companions)]
    lower, upper, velocity, effort = (
        np.array([getattr(joint, field) for joint in joints])
        for field in ('lower', 'upper', 'velocity', 'effort')
    )
    size = len(actuator_map.actuator_names)
    # A constant ratio does not ask where it is, a varying one answers NaN.
    anywhere = np.full(size, np.nan)
    with np.errstate(all='ignore'):
        if np.all(lower <= upper):
            least, greatest = position_bounds(actuator_map, lower, upper)
        else:
            least, greatest = anywhere, anywhere
        speed = rate_limits(actuator_map, velocity, anywhere)
        force = effort_limits(actuator_map, effort, anywhere)
    columns = {name: place for place, name in enumerate(actuator_map.actuator_names)}
    return tuple(
        ActuatorLimits(
            member.name,
            *(float(values[columns[member.name]]) for values in (least, greatest, speed, force)),
        )
        for member in binding.spec.actuators
    )
