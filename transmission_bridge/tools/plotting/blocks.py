# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a diagram says of each transmission, and how much room that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transmission_bridge.tools.console import printable
from transmission_bridge.tools.plotting.curves import Curves, curves_of
from transmission_bridge.tools.units import joint_unit, tunable_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import Tunable

__all__ = ['Block', 'Member', 'blocks_of', 'shortened']

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
