# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Accepted numbers of transmissions that are probably typing errors or in other units."""

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

#: The element that contains a number.
Place: TypeAlias = JointSpec | ParameterSpec | TransmissionEnd | TransmissionSpec

#: Usual magnitudes of gear ratios.
_RATIOS = (1e-4, 1e5)
#: Condition of a matrix above which positions lose six digits in the inverse direction.
_CONDITION = 1e6
#: Larger dimensions, and larger offsets of joints with small limits, are probably in other units
#: (``3.1416`` and ``3.15`` mean half a turn).
_LARGE = {'rad': 2.0 * math.pi, 'm': 4.0}
_SMALL = {'rad': 1.01 * math.pi, 'm': 4.0}
#: Limits in degrees or millimetres are integers or half integers in these ranges. Joints of real
#: robots reach three turns in each direction and 60 rad/s; powers of ten often mean no limit.
_TYPICAL = {'rad': (19.0, 720.0), 'm': (20.0, 1e4), 'rad/s': (60.0, 720.0), 'm/s': (20.0, 1e4)}


def find_implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably an error.

    These are reductions and ratios of rotations outside 1e-4 to 1e5, constant matrices with a
    condition above 1e6, and numbers that are probably degrees or millimetres: limits of revolute
    and prismatic joints, dimensions of more than a turn or 4 m, and offsets of that size if the
    limits of the joint are smaller.
    """
    units = {
        joint.name: 'm' if joint.type == 'prismatic' else 'rad'
        for joint in robot.robot.joints
        if joint.is_scalar
    }
    # The robot's Jacobian is NaN if a plugin raises an error.
    whole = robot.jacobian(np.zeros(len(robot.actuator_names)))
    findings: list[Finding] = []
    for binding in robot.bindings:
        extreme = list(_find_extreme_reductions(robot, binding))
        matrix = whole[np.ix_(binding.joints, binding.actuators)]
        if binding.transmission.is_constant and np.isfinite(matrix).all():
            turns = [units.get(member.name) == 'rad' for member in binding.spec.joints]
            if not extreme and all(turns):
                extreme += _find_extreme_ratios(binding, matrix)
            # Extreme ratios alone lead to a large condition.
            extreme = extreme or list(_find_singular_matrix(binding, matrix))
        findings += [*extreme, *_find_large_dimensions(robot, binding, units)]
    bridged = [joint for joint in robot.robot.joints if joint.name in robot.joint_names]
    findings += [found for joint in bridged for found in _find_limits_in_degrees(robot, joint)]
    return tuple(findings)


def _find_limits_in_degrees(robot: RobotTransmissions, joint: JointSpec) -> Iterator[Finding]:
    unit = {'revolute': 'rad', 'prismatic': 'm'}.get(joint.type, '')
    limits = effective_limits(robot.robot, joint.name)
    ends = max(limits.lower, limits.upper, key=abs)
    for what, value, of in (('position', ends, unit), ('velocity', limits.velocity, f'{unit}/s')):
        least, most = _TYPICAL.get(of, (math.inf, math.inf))
        is_typical = least < abs(value) <= most and (2.0 * value).is_integer()
        if is_typical and not math.log10(abs(value)).is_integer():
            text = f"the {what} limit of '{joint.name}'"
            yield _make_unit_finding(joint, joint.name, text, value, of)


def _find_extreme_reductions(robot: RobotTransmissions, binding: Binding) -> Iterator[Finding]:
    for tunable, member in _list_tunables(robot, binding):
        if member is None or tunable.path[2:] != (MECHANICAL_REDUCTION,):
            continue
        if not _RATIOS[0] <= abs(tunable.value) <= _RATIOS[1]:
            what = f"the reduction of '{member.name}'"
            yield _report_ratio(binding, member, what, tunable.value)


def _find_extreme_ratios(binding: Binding, matrix: Array) -> Iterator[Finding]:
    for member, gain in zip(binding.spec.actuators, np.abs(matrix).max(axis=0), strict=True):
        # An actuator that moves no joint has no ratio.
        if gain > 0.0 and not _RATIOS[0] <= 1.0 / gain <= _RATIOS[1]:
            what = f"the largest ratio of actuator '{member.name}' to a joint"
            yield _report_ratio(binding, member, what, 1.0 / gain)


def _report_ratio(binding: Binding, member: TransmissionEnd, what: str, value: float) -> Finding:
    expected = f'a magnitude from {_RATIOS[0]:g} to {_RATIOS[1]:g}'
    message = f'{what} is implausible; check it'
    return _make_warning(member, binding.spec.name, message, expected, f'{value:g}')


def _find_large_dimensions(
    robot: RobotTransmissions, binding: Binding, units: Mapping[str, str]
) -> Iterator[Finding]:
    for tunable, member in _list_tunables(robot, binding):
        unit, what = tunable.unit, f"the number '{'.'.join(tunable.path)}'"
        if tunable.path[0] == 'loops' and tunable.value == tunable.default:
            continue  # a distance at the start, which the description does not have
        name = '' if member is None else member.name
        if member is not None and tunable.path == ('actuators', name, OFFSET):
            # The actuator of a linkage turns a joint, and its offset is a position of this joint.
            name = next((x.value for x in member.parameters if x.name == 'joint'), name)
        if tunable.path[-1] == OFFSET and member is not None and name in units:
            unit, what = units[name], f"the offset of joint '{name}'"
            limits = effective_limits(robot.robot, name)
            if not max(-limits.lower, limits.upper) <= _SMALL[unit]:
                continue
        if abs(tunable.value) > _LARGE.get(unit, math.inf):
            end = member or binding.spec
            own = [each for each in end.parameters if each.name in tunable.path]
            yield _make_unit_finding((*own, end)[0], binding.spec.name, what, tunable.value, unit)


def _make_unit_finding(place: Place, subject: str, what: str, value: float, unit: str) -> Finding:
    other = 'degrees' if unit.startswith('rad') else 'millimetres'
    message = f'{what} is probably in {other}; check it'
    return _make_warning(place, subject, message, unit, in_other_unit(value, unit))


def _find_singular_matrix(binding: Binding, matrix: Array) -> Iterator[Finding]:
    condition = float(np.linalg.cond(matrix))
    if condition > _CONDITION:
        name = binding.spec.name
        yield _make_warning(
            binding.spec,
            name,
            f"the matrix of transmission '{name}' is nearly singular and amplifies small errors; "
            'check its ratios',
            f'a condition of at most {_CONDITION:g}',
            f'{condition:.3g}',
        )


def _list_tunables(
    robot: RobotTransmissions, binding: Binding
) -> Iterator[tuple[Tunable, TransmissionEnd | None]]:
    """Yield each number that is read, and the joint or actuator that contains it."""
    sides = {'joints': binding.spec.joints, 'actuators': binding.spec.actuators}
    members: dict[tuple[str, ...], TransmissionEnd] = {
        (side, member.name): member for side, ends in sides.items() for member in ends
    }
    for tunable in robot.tunables.get(binding.spec.name, ()):
        yield tunable, members.get(tunable.path[:2])


def _make_warning(place: Place, subject: str, message: str, expected: str, found: str) -> Finding:
    return Finding(
        'warning',
        message,
        line=place.line,
        path=place.path,
        expected=expected,
        found=found,
        subject=subject,
    )
