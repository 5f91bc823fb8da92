# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of each transmission: its members, its numbers, its curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.tools.cli import printable
from transmission_bridge.tools.units import joint_unit, tunable_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import PositionDependentTransmission, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

__all__ = ['Block', 'Curves', 'Member', 'blocks_of', 'curves_of', 'shortened']

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


#: Inches.
MEMBER, TEXT_LINE, INSET, MARGIN = 0.44, 0.145, 0.85, 0.14

#: Numbers of its own that a transmission shows.
MOST_NUMBERS = 6

#: Characters of a name that fit into a box.
LONGEST_NAME = 30

#: Characters of a line of numbers that fit into a box.
LONGEST_LINE = 40


@dataclass(frozen=True)
class Member:
    """A joint or an actuator: its name and its numbers."""

    name: str
    numbers: str


@dataclass(frozen=True, eq=False)
class Block:
    """
    A transmission with its actuators and joints.

    :param lines: What stands in its box below the name.
    :param curves: Of a ratio that depends on position.
    """

    name: str
    lines: tuple[str, ...]
    actuators: tuple[Member, ...]
    joints: tuple[Member, ...]
    curves: tuple[Curves, ...]

    @property
    def height(self) -> float:
        """Height in inches, the distance to the next one included."""
        members = MEMBER * max(len(self.actuators), len(self.joints))
        middle = TEXT_LINE * (1 + len(self.lines)) + 0.12
        return max(members, middle + (INSET if self.curves else 0.0)) + MARGIN


def blocks_of(robot: RobotTransmissions, names: Sequence[str]) -> tuple[Block, ...]:
    """Return the blocks of transmissions, in the order of the robot."""
    return tuple(
        _block(robot, binding) for binding in robot.bindings if binding.spec.name in names
    )


def shortened(name: str) -> str:
    """Return a name that fits into a box, its middle left out if need be."""
    text = printable(name)
    if len(text) <= LONGEST_NAME:
        return text
    return f'{text[: LONGEST_NAME // 2 - 1]}…{text[-(LONGEST_NAME // 2) :]}'


def _block(robot: RobotTransmissions, binding: Binding) -> Block:
    transmission = binding.transmission
    tunables = robot.tunables[binding.spec.name]
    actuators = zip(binding.spec.actuators, transmission.actuator_reduction, strict=True)
    joints = zip(
        binding.spec.joints, transmission.joint_reduction, transmission.joint_offset, strict=True
    )
    return Block(
        name=binding.spec.name,
        lines=(binding.spec.type.rpartition('/')[2], *_own_numbers(tunables)),
        actuators=tuple(Member(member.name, _ratio(reduction)) for member, reduction in actuators),
        joints=tuple(
            Member(
                member.name,
                _joint_numbers(reduction, offset, joint_unit(robot.robot, member.name)),
            )
            for member, reduction, offset in joints
        ),
        curves=curves_of(robot.robot, binding),
    )


def _own_numbers(tunables: Sequence[Tunable]) -> tuple[str, ...]:
    """Return the numbers that only this type has, as many to a line as fit."""
    texts = []
    for tunable in tunables:
        if tunable.path[0] in ('joints', 'actuators'):
            continue
        name = '.'.join(tunable.path).removeprefix('matrix.')
        texts.append(_with_unit(f'{name} {tunable.value:.4g}', tunable_unit(tunable)))
    lines: list[str] = []
    for text in texts[:MOST_NUMBERS]:
        if lines and len(lines[-1]) + len(text) + 2 <= LONGEST_LINE:
            lines[-1] += f', {text}'
        else:
            lines.append(text)
    if len(texts) > MOST_NUMBERS:
        lines.append(f'and {len(texts) - MOST_NUMBERS} more')
    return tuple(lines)


def _with_unit(text: str, unit: str) -> str:
    return f'{text} {unit}' if unit and unit != UNKNOWN_UNIT else text


def _ratio(reduction: float) -> str:
    return '' if reduction == 1.0 else f'reduction {reduction:.6g}'


def _joint_numbers(reduction: float, offset: float, unit: str) -> str:
    shown = '' if offset == 0.0 else _with_unit(f'offset {offset:.5g}', unit)
    return ', '.join(filter(None, (_ratio(reduction), shown)))
