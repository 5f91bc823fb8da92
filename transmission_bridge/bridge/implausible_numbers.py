# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a transmission accepts, but that are probably mistyped or in other units."""

from __future__ import annotations

from collections.abc import Collection, Iterator
import math

import numpy as np

from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.description.specs import Finding, TransmissionEnd
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.types import Array

#: Magnitudes that gears have.
_RATIOS = (1e-4, 1e5)
#: Condition of a matrix above which positions lose six digits on the way back.
_CONDITION = 1e6
#: Limits of ``3.1416`` or ``3.15`` are meant as half a turn.
_HALF_TURN = 1.01 * math.pi


def implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably a mistake.

    A reduction or a ratio of rotations beyond 1e-4 to 1e5, an offset of more than a turn where the
    limits of the joint are within half a turn (degrees?), a constant matrix with a condition above
    1e6.
    """
    turning = {
        joint.name for joint in robot.robot.joints if joint.type in ('revolute', 'continuous')
    }
    # The robot's, which is NaN where a plugin raises.
    whole = robot.si_mapper.jacobian(np.zeros(len(robot.actuator_names)))
    findings: list[Finding] = []
    for binding in robot.bindings:
        extreme = list(_reductions(robot, binding))
        matrix = whole[np.ix_(binding.joints, binding.actuators)]
        if binding.transmission.is_constant and np.isfinite(matrix).all():
            if not extreme and all(member.name in turning for member in binding.spec.joints):
                extreme += _ratios(binding, matrix)
            # Extreme ratios alone make a large condition.
            extreme = extreme or list(_condition(binding, matrix))
        findings += [*extreme, *_offsets(robot, binding, turning)]
    return tuple(findings)


def _reductions(robot: RobotTransmissions, binding: Binding) -> Iterator[Finding]:
    for member, value in _numbers(robot, binding, 'mechanical_reduction'):
        if not _RATIOS[0] <= abs(value) <= _RATIOS[1]:
            yield _extreme(binding, member, f"the reduction of '{member.name}'", value)


def _ratios(binding: Binding, matrix: Array) -> Iterator[Finding]:
    for member, gain in zip(binding.spec.actuators, np.abs(matrix).max(axis=0), strict=True):
        # An actuator that moves no joint has no ratio.
        if gain > 0.0 and not _RATIOS[0] <= 1.0 / gain <= _RATIOS[1]:
            what = f"the ratio of actuator '{member.name}' to the joint that it moves most"
            yield _extreme(binding, member, what, 1.0 / gain)


def _extreme(binding: Binding, member: TransmissionEnd, what: str, value: float) -> Finding:
    return _finding(
        binding,
        member,
        f'{what} is implausible; check it',
        expected=f'a magnitude from {_RATIOS[0]:g} to {_RATIOS[1]:g}',
        found=f'{value:g}',
    )


def _offsets(
    robot: RobotTransmissions, binding: Binding, turning: Collection[str]
) -> Iterator[Finding]:
    for member, offset in _numbers(robot, binding, 'offset'):
        if member.name not in turning or abs(offset) <= 2.0 * math.pi:
            continue
        limits = effective_limits(robot.robot, member.name)
        if max(-limits.lower, limits.upper) <= _HALF_TURN:
            yield _finding(
                binding,
                member,
                f"the offset of joint '{member.name}' is more than a turn, but its limits are "
                'within half a turn; check whether it is in degrees',
                expected='radians',
                found=f'{offset:g}',
            )


def _condition(binding: Binding, matrix: Array) -> Iterator[Finding]:
    condition = float(np.linalg.cond(matrix))
    if condition > _CONDITION:
        yield _finding(
            binding,
            None,
            f"the matrix of transmission '{binding.spec.name}' is nearly singular, so that small "
            'errors become large; check its ratios',
            expected=f'a condition of at most {_CONDITION:g}',
            found=f'{condition:.3g}',
        )


def _numbers(
    robot: RobotTransmissions, binding: Binding, name: str
) -> Iterator[tuple[TransmissionEnd, float]]:
    """Yield the joint or actuator and the value of each number of this name that is read."""
    sides = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}
    members: dict[tuple[str, ...], TransmissionEnd] = {
        (side, member.name): member for side, ends in sides.items() for member in ends
    }
    for tunable in robot.tunables[binding.spec.name]:
        member = members.get(tunable.path[:2])
        if member is not None and tunable.path[2:] == (name,):
            yield member, tunable.value


def _finding(
    binding: Binding, member: TransmissionEnd | None, message: str, *, expected: str, found: str
) -> Finding:
    place = member or binding.spec
    return Finding(
        'warning',
        message,
        line=place.line,
        path=place.path,
        expected=expected,
        found=found,
        subject=binding.spec.name,
    )
