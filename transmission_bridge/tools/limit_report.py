# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints, and of actuators from these, for each transmission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.description.effective_limits import effective_limits, EffectiveLimits
from transmission_bridge.kinematics.limits import (
    effort_box,
    effort_limits,
    position_bounds,
    rate_limits,
    tight_box,
)
from transmission_bridge.tools.units import actuator_unit, joint_unit, ratio_unit, units_of
from transmission_bridge.transmissions import (
    PositionDependentTransmission,
    RobotTransmissions,
    Transmission,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.types import Array

__all__ = ['MemberLimits', 'Range', 'Ratio', 'TransmissionLimits', 'transmission_limits']

#: Least and greatest value, the same where it does not depend on position.
Range = tuple[float, float]

_UNKNOWN = (math.nan, math.nan)

#: Samples per coordinate for a ratio that varies, by the number of coordinates; three for more.
_POINTS = (201, 21, 9, 5)


@dataclass(frozen=True, slots=True)
class MemberLimits:
    """
    The limits of a joint, or of an actuator from the limits of its joints.

    Infinite where there is no limit; NaN where it is unknown, or the limits of a joint contradict
    each other.

    :param unit: Unit of position: ``rad``, ``m``, or both where it is unknown.
    :param lower: Least position.
    :param upper: Greatest position.
    :param velocity: Greatest speed, over the allowed positions.
    :param effort: Greatest effort, over the allowed positions.
    """

    name: str
    unit: str
    lower: float
    upper: float
    velocity: Range
    effort: Range

    @property
    def says_something(self) -> bool:
        """Whether anything is limited."""
        return not all(map(math.isinf, (self.lower, self.upper, *self.velocity, *self.effort)))

    def as_json(self) -> dict[str, Any]:
        """Return an object: ``null`` where open, ``varies`` where NaN, least and greatest."""
        return {
            'name': self.name,
            'lower': _as_json((self.lower, self.lower)),
            'upper': _as_json((self.upper, self.upper)),
            'velocity': _as_json(self.velocity),
            'effort': _as_json(self.effort),
            'units': dict(
                zip(('position', 'velocity', 'effort'), units_of(self.unit), strict=True)
            ),
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """
    Motion of an actuator per motion of a joint, where it depends on position.

    :param unit: Empty for a pure number.
    :param least: Over the positions that are allowed.
    :param greatest: Over the positions that are allowed.
    """

    actuator: str
    joint: str
    unit: str
    least: float
    greatest: float

    def as_json(self) -> dict[str, Any]:
        """Return an object."""
        names = {'actuator': self.actuator, 'joint': self.joint, 'unit': self.unit}
        return {**names, 'ratio': _as_json((self.least, self.greatest))}


@dataclass(frozen=True, slots=True)
class TransmissionLimits:
    """
    The limits of the joints and actuators of a transmission, in role order.

    :param ratios: Empty where the Jacobian is constant.
    """

    joints: tuple[MemberLimits, ...]
    actuators: tuple[MemberLimits, ...]
    ratios: tuple[Ratio, ...] = ()


def transmission_limits(robot: RobotTransmissions, binding: Binding) -> TransmissionLimits:
    """
    Return the limits of a transmission's joints and actuators.

    Those of the joints are the
    :func:`~transmission_bridge.description.effective_limits.effective_limits`. Those of the
    actuators of a coupled transmission are the least box around the values that the joints allow
    together. Where the Jacobian varies they are ranges, sampled over the positions that the domain
    and the limits of the joints allow.
    """
    names = [member.name for member in binding.spec.joints]
    limits = [effective_limits(robot.robot, name) for name in names]
    ratios: tuple[Ratio, ...] = ()
    with np.errstate(all='ignore'):
        try:
            if binding.transmission.is_constant:
                actuators = _constant(robot, binding, names)
            else:
                actuators, ratios = _varying(robot, binding, limits)
        except (Exception, SystemExit):  # an error in a plugin affects its own numbers only
            actuators = tuple(
                MemberLimits(
                    member.name,
                    actuator_unit(robot.robot, binding),
                    *(math.nan, math.nan),
                    *(_UNKNOWN, _UNKNOWN),
                )
                for member in binding.spec.actuators
            )
    return TransmissionLimits(
        tuple(
            MemberLimits(
                name,
                joint_unit(robot.robot, name),
                each.lower,
                each.upper,
                (each.velocity, each.velocity),
                (each.effort, each.effort),
            )
            for name, each in zip(names, limits, strict=True)
        ),
        actuators,
        ratios,
    )


def _constant(
    robot: RobotTransmissions, binding: Binding, names: Sequence[str]
) -> tuple[MemberLimits, ...]:
    mapper = robot.mapper.part(names)
    joints = [effective_limits(robot.robot, name) for name in mapper.joint_names]
    lower, upper, velocity, effort = _columns(joints)
    anywhere = np.zeros(len(mapper.actuator_names))
    if np.all(lower <= upper):
        least, greatest = position_bounds(mapper, lower, upper)
    else:
        least = greatest = np.full(len(anywhere), np.nan)
    speed = rate_limits(mapper, velocity, anywhere)
    force = effort_limits(mapper, effort, anywhere)
    places = {name: place for place, name in enumerate(mapper.actuator_names)}
    return tuple(
        MemberLimits(
            name,
            actuator_unit(robot.robot, binding),
            float(least[places[name]]),
            float(greatest[places[name]]),
            (float(speed[places[name]]),) * 2,
            (float(force[places[name]]),) * 2,
        )
        for name in (member.name for member in binding.spec.actuators)
    )


def _varying(
    robot: RobotTransmissions, binding: Binding, limits: Sequence[EffectiveLimits]
) -> tuple[tuple[MemberLimits, ...], tuple[Ratio, ...]]:
    transmission = binding.transmission
    lower, upper, velocity, effort = _columns(limits)
    a = _allowed(transmission, lower, upper)
    jacobian = transmission.jacobian(a)
    # It is NaN at a dead centre.
    jacobian = jacobian[np.isfinite(jacobian).all(axis=(-2, -1))]
    m, n = transmission.n_actuators, transmission.n_joints
    speed = np.array([tight_box(each, -velocity, velocity)[1] for each in jacobian])
    force = np.array([effort_box(each, effort) for each in jacobian])
    ratio = np.array([np.linalg.pinv(each) for each in jacobian], dtype=np.float64)
    unit = actuator_unit(robot.robot, binding)
    joint_units = [joint_unit(robot.robot, member.name) for member in binding.spec.joints]
    actuators = tuple(
        MemberLimits(
            member.name,
            unit,
            *_range(a[:, place]),
            _range(speed.reshape(-1, m)[:, place]),
            _range(force.reshape(-1, m)[:, place]),
        )
        for place, member in enumerate(binding.spec.actuators)
    )
    ratios = tuple(
        Ratio(
            actuator.name,
            joint.name,
            ratio_unit(unit, other),
            *_range(ratio.reshape(-1, m, n)[:, place, column]),
        )
        for place, actuator in enumerate(binding.spec.actuators)
        for column, (joint, other) in enumerate(zip(binding.spec.joints, joint_units, strict=True))
    )
    return actuators, ratios


def _allowed(transmission: Transmission, lower: Array, upper: Array) -> Array:
    """Return a grid of actuator positions that joint limits and domain allow."""
    domain = (
        transmission.domain if isinstance(transmission, PositionDependentTransmission) else None
    )
    if domain is not None:
        ends = np.array([domain.lower, domain.upper])
        if domain.space == 'actuator' and transmission.n_joints == transmission.n_actuators == 1:
            ends = np.sort(transmission.actuator_to_joint('position', ends), axis=0)
        elif domain.space == 'actuator':
            a = _grid(*ends)
            q = transmission.actuator_to_joint('position', a)
            return a[((q >= lower) & (q <= upper)).all(axis=-1)]
        lower, upper = np.maximum(lower, ends[0]), np.minimum(upper, ends[1])
    if not (np.isfinite([lower, upper]).all() and (lower <= upper).all()):
        return np.empty((0, transmission.n_actuators))
    a = transmission.joint_to_actuator('position', _grid(lower, upper))
    return a[np.isfinite(a).all(axis=-1)]


def _grid(lower: Array, upper: Array) -> Array:
    points = _POINTS[len(lower) - 1] if len(lower) <= len(_POINTS) else 3
    axes = [np.linspace(low, high, points) for low, high in zip(lower, upper, strict=True)]
    grid: Array = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1)
    return grid.reshape(-1, len(axes))


def _columns(limits: Sequence[EffectiveLimits]) -> Array:
    """Return lower, upper, velocity and effort, shape ``(4, n)``."""
    rows = [(each.lower, each.upper, each.velocity, each.effort) for each in limits]
    columns: Array = np.array(rows).reshape(-1, 4).T
    return columns


def _range(samples: Array) -> Range:
    return (float(samples.min()), float(samples.max())) if len(samples) else _UNKNOWN


def _as_json(values: Range) -> Any:
    least, greatest = values
    if math.isnan(least):
        return 'varies'
    if math.isinf(least):
        return None
    return least if least == greatest else [least, greatest]
