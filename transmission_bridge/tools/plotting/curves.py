# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position and ratio of a transmission over its domain, as numbers to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.tools.units import joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import PositionDependentTransmission
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.binding import Binding

__all__ = ['Curves', 'curves_of']

#: Points of a curve.
POINTS = 401


@dataclass(frozen=True, eq=False)
class Curves:
    """
    One coordinate moves through the domain, the others of its side stand in the middle.

    :param moved: Name of the joint or actuator that moves.
    :param x: Its positions, shape ``(points,)``.
    :param names: The members of the other side.
    :param positions: Their positions, shape ``(points, names)``.
    :param ratios: Their motion per motion of ``moved``, shape ``(points, names)``.
    :param limits: Bounds of ``moved``, infinite where there are none.
    :param other_limits: Bounds of each of ``names``.
    :param held: Positions of the others of the moved side, by name.
    :param unit: Unit of ``x``.
    :param other_unit: Unit of ``positions``.
    """

    moved: str
    x: Array
    names: tuple[str, ...]
    positions: Array
    ratios: Array
    limits: tuple[float, float]
    other_limits: tuple[tuple[float, float], ...]
    held: tuple[tuple[str, float], ...]
    unit: str
    other_unit: str


def curves_of(robot: RobotDescription, binding: Binding) -> tuple[Curves, ...]:
    """
    Return the curves of a transmission whose ratio depends on position.

    Joints are moved where the domain is in joint space, or there is one joint and one actuator;
    else actuators.

    :returns: One per joint or actuator that is moved; none for a constant ratio, or for a type
        that does not tell its domain.
    """
    transmission = binding.transmission
    if not isinstance(transmission, PositionDependentTransmission):
        return ()
    domain = transmission.domain
    joints = [member.name for member in binding.spec.joints]
    actuators = [member.name for member in binding.spec.actuators]
    lower, upper = np.array(domain.lower), np.array(domain.upper)
    if domain.space == 'actuator' and len(joints) == len(actuators) == 1:
        ends = transmission.actuator_to_joint('position', np.array([lower, upper]))
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        by_joint = True
    else:
        by_joint = domain.space == 'joint'
    if not np.isfinite([lower, upper]).all():
        return ()
    middle = 0.5 * (lower + upper)
    return tuple(
        _moved(robot, binding, by_joint, place, lower[place], upper[place], middle)
        for place in range(len(middle))
    )


def _moved(
    robot: RobotDescription,
    binding: Binding,
    by_joint: bool,
    place: int,
    lower: float,
    upper: float,
    middle: Array,
) -> Curves:
    transmission = binding.transmission
    joints = [member.name for member in binding.spec.joints]
    actuators = [member.name for member in binding.spec.actuators]
    ours, others = (joints, actuators) if by_joint else (actuators, joints)
    positions = np.tile(middle, (POINTS, 1))
    positions[:, place] = np.linspace(lower, upper, POINTS)
    rates = np.zeros_like(positions)
    rates[:, place] = 1.0
    mapped = transmission.joint_to_actuator if by_joint else transmission.actuator_to_joint

    def bounds(names: Sequence[str]) -> tuple[tuple[float, float], ...]:
        limits = [effective_limits(robot, name) for name in names]
        return tuple((each.lower, each.upper) for each in limits)

    def unit(names: Sequence[str]) -> str:
        units = {joint_unit(robot, name) for name in names}
        return units.pop() if len(units) == 1 else UNKNOWN_UNIT

    open_ends = ((-np.inf, np.inf),)
    return Curves(
        moved=ours[place],
        x=positions[:, place],
        names=tuple(others),
        positions=mapped('position', positions),
        ratios=mapped('velocity', rates, at=positions),
        limits=bounds(joints)[place] if by_joint else open_ends[0],
        other_limits=open_ends * len(others) if by_joint else bounds(joints),
        held=tuple(
            (name, float(middle[other])) for other, name in enumerate(ours) if other != place
        ),
        unit=unit([joints[place]]) if by_joint else UNKNOWN_UNIT,
        other_unit=UNKNOWN_UNIT if by_joint else unit(joints),
    )
