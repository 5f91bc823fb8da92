# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a transmission accepts, but that are probably mistyped or in other units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import TypeAlias

import numpy as np

from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.description.specs import (
    Finding,
    JointSpec,
    ParameterSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.values import MECHANICAL_REDUCTION, OFFSET
from transmission_bridge.errors import in_other_unit
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

#: Where a number stands.
Place: TypeAlias = JointSpec | ParameterSpec | TransmissionEnd | TransmissionSpec

#: Magnitudes that gears have.
_RATIOS = (1e-4, 1e5)
#: Condition of a matrix above which positions lose six digits on the way back.
_CONDITION = 1e6
#: Dimensions above this are probably in other units, and offsets of joints with small limits
#: (``3.1416`` and ``3.15`` are meant as half a turn).
_LARGE = {'rad': 2.0 * math.pi, 'm': 4.0}
_SMALL = {'rad': 1.01 * math.pi, 'm': 4.0}
#: Limits of joints in degrees or millimetres are whole or half numbers between these. Joints of
#: real robots make up to three turns each way and 60 rad/s; powers of ten often mean no limit.
_TYPICAL = {'rad': (19.0, 720.0), 'm': (20.0, 1e4), 'rad/s': (60.0, 720.0), 'm/s': (20.0, 1e4)}


def implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably a mistake.

    A reduction or a ratio of rotations beyond 1e-4 to 1e5, a constant matrix with a condition
    above 1e6, and numbers that are probably degrees or millimetres: limits of revolute and
    prismatic joints, dimensions of more than a turn or 4 m, offsets of that size if the limits of
    the joint are smaller.
    """
    units = {
        joint.name: 'm' if joint.type == 'prismatic' else 'rad'
        for joint in robot.robot.joints
        if joint.is_scalar
    }
    # The robot's, which is NaN where a plugin raises.
    whole = robot.jacobian(np.zeros(len(robot.actuator_names)))
    findings: list[Finding] = []
    for binding in robot.bindings:
        extreme = list(_reductions(robot, binding))
        matrix = whole[np.ix_(binding.joints, binding.actuators)]
        if binding.transmission.is_constant and np.isfinite(matrix).all():
            turns = [units.get(member.name) == 'rad' for member in binding.spec.joints]
            if not extreme and all(turns):
                extreme += _ratios(binding, matrix)
            # Extreme ratios alone make a large condition.
            extreme = extreme or list(_condition(binding, matrix))
        findings += [*extreme, *_dimensions(robot, binding, units)]
    bridged = [joint for joint in robot.robot.joints if joint.name in robot.joint_names]
    return (*findings, *(finding for joint in bridged for finding in _limits(robot, joint)))


def _limits(robot: RobotTransmissions, joint: JointSpec) -> Iterator[Finding]:
    unit = {'revolute': 'rad', 'prismatic': 'm'}.get(joint.type, '')
    limits = effective_limits(robot.robot, joint.name)
    ends = max(limits.lower, limits.upper, key=abs)
    for what, value, of in (('position', ends, unit), ('velocity', limits.velocity, f'{unit}/s')):
        least, most = _TYPICAL.get(of, (math.inf, math.inf))
        is_typical = least < abs(value) <= most and (2.0 * value).is_integer()
        if is_typical and not math.log10(abs(value)).is_integer():
            text = f"the {what} limit of '{joint.name}'"
            yield _in_other_unit(joint, joint.name, text, value, of)


def _reductions(robot: RobotTransmissions, binding: Binding) -> Iterator[Finding]:
    for tunable, member in _numbers(robot, binding):
        if member is None or tunable.path[2:] != (MECHANICAL_REDUCTION,):
            continue
        if not _RATIOS[0] <= abs(tunable.value) <= _RATIOS[1]:
            yield _extreme(binding, member, f"the reduction of '{member.name}'", tunable.value)


def _ratios(binding: Binding, matrix: Array) -> Iterator[Finding]:
    for member, gain in zip(binding.spec.actuators, np.abs(matrix).max(axis=0), strict=True):
        # An actuator that moves no joint has no ratio.
        if gain > 0.0 and not _RATIOS[0] <= 1.0 / gain <= _RATIOS[1]:
            what = f"the ratio of actuator '{member.name}' to the joint that it moves most"
            yield _extreme(binding, member, what, 1.0 / gain)


def _extreme(binding: Binding, member: TransmissionEnd, what: str, value: float) -> Finding:
    expected = f'a magnitude from {_RATIOS[0]:g} to {_RATIOS[1]:g}'
    message = f'{what} is implausible; check it'
    return _finding(member, binding.spec.name, message, expected, f'{value:g}')


def _dimensions(
    robot: RobotTransmissions, binding: Binding, units: Mapping[str, str]
) -> Iterator[Finding]:
    for tunable, member in _numbers(robot, binding):
        unit, what = tunable.unit, f"the number '{'.'.join(tunable.path)}'"
        name = '' if member is None else member.name
        if tunable.path == ('joints', name, OFFSET) and name in units:
            unit, what = units[name], f"the offset of joint '{name}'"
            limits = effective_limits(robot.robot, name)
            if not max(-limits.lower, limits.upper) <= _SMALL[unit]:
                continue
        if abs(tunable.value) > _LARGE.get(unit, math.inf):
            end = member or binding.spec
            own = [each for each in end.parameters if each.name in tunable.path]
            yield _in_other_unit((*own, end)[0], binding.spec.name, what, tunable.value, unit)


def _in_other_unit(place: Place, subject: str, what: str, value: float, unit: str) -> Finding:
    other = 'degrees' if unit.startswith('rad') else 'millimetres'
    message = f'{what} is probably in {other}; check it'
    return _finding(place, subject, message, unit, in_other_unit(value, unit))


def _condition(binding: Binding, matrix: Array) -> Iterator[Finding]:
    condition = float(np.linalg.cond(matrix))
    if condition > _CONDITION:
        name = binding.spec.name
        yield _finding(
            binding.spec,
            name,
            f"the matrix of transmission '{name}' is nearly singular, so that small errors become "
            'large; check its ratios',
            f'a condition of at most {_CONDITION:g}',
            f'{condition:.3g}',
        )


def _numbers(
    robot: RobotTransmissions, binding: Binding
) -> Iterator[tuple[Tunable, TransmissionEnd | None]]:
    """Yield each number that is read, and the joint or actuator at which it stands."""
    sides = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}
    members: dict[tuple[str, ...], TransmissionEnd] = {
        (side, member.name): member for side, ends in sides.items() for member in ends
    }
    for tunable in robot.tunables.get(binding.spec.name, ()):
        yield tunable, members.get(tunable.path[:2])


def _finding(place: Place, subject: str, message: str, expected: str, found: str) -> Finding:
    return Finding(
        'warning',
        message,
        line=place.line,
        path=place.path,
        expected=expected,
        found=found,
        subject=subject,
    )
