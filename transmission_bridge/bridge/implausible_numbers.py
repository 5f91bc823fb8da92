# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Accepted numbers of transmissions that are probably typing errors or in other units."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import TypeAlias

import numpy as np

from transmission_bridge.description import (
    effective_limits,
    Finding,
    JointSpec,
    ParameterSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.document import MECHANICAL_REDUCTION, OFFSET
from transmission_bridge.errors import in_other_unit
from transmission_bridge.transmissions import Binding, RobotTransmissions, Tunable
from transmission_bridge.types import Array

#: The element that contains a number.
Place: TypeAlias = JointSpec | ParameterSpec | TransmissionEnd | TransmissionSpec

#: Usual magnitudes of gear ratios.
_RATIOS = (1e-4, 1e5)
#: Condition of a matrix above which positions lose six digits in the inverse direction.
_CONDITION = 1e6

#: Units of the joints with one position.
_UNITS = {'revolute': 'rad', 'continuous': 'rad', 'prismatic': 'm'}
#: Larger dimensions, and larger offsets of joints with small limits, are probably in other units
#: (``3.1416`` and ``3.15`` mean half a turn).
_LARGE = {'rad': 2.0 * math.pi, 'm': 4.0}
_SMALL = {'rad': 1.01 * math.pi, 'm': 4.0}
#: Limits in degrees or millimetres are integers or half integers in these ranges. Joints of real
#: robots reach three turns in each direction and 60 rad/s; powers of ten often mean no limit.
_TYPICAL = {'rad': (19.0, 720.0), 'm': (20.0, 1e4), 'rad/s': (60.0, 720.0), 'm/s': (20.0, 1e4)}


def warn_of_implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably an error.

    These are reductions and ratios of rotations outside 1e-4 to 1e5, constant matrices with a
    condition above 1e6, and numbers that are probably degrees or millimetres: limits of revolute
    and prismatic joints, dimensions of more than a turn or 4 m, and offsets of that size if the
    limits of the joint are smaller.
    """
    # The robot's Jacobian is NaN if a mechanism has none at zero.
    whole = robot.jacobian(np.zeros(len(robot.actuator_names)))
    findings: list[Finding] = []
    for binding in robot.bindings:
        matrix = whole[np.ix_(binding.joints, binding.actuators)]
        findings += _warn_of_extreme_ratios(robot, binding, matrix)
    return (*findings, *_warn_of_other_units(robot))


def _warn_of_extreme_ratios(
    robot: RobotTransmissions, binding: Binding, matrix: Array
) -> Iterator[Finding]:
    """Yield the extreme reductions; if there are none, the extreme ratios, or the condition."""
    spec, types = binding.spec, {each.name: each.type for each in robot.description.joints}
    reductions = [
        (place, f"the reduction of '{place.name}'", tunable.value)
        for tunable, place in _list_numbers(robot, spec)
        if tunable.path[2:] == (MECHANICAL_REDUCTION,)
    ]
    is_constant = binding.transmission.is_constant and np.isfinite(matrix).all()
    turns = all(_UNITS.get(types.get(each.name, '')) == 'rad' for each in spec.joints)
    gains = zip(spec.actuators, np.abs(matrix).max(axis=0), strict=True)
    ratios = [
        (end, f"the largest ratio of actuator '{end.name}' to a joint", 1.0 / gain)
        for end, gain in (gains if is_constant and turns else ())
        if gain > 0.0  # an actuator that moves no joint has no ratio
    ]
    for numbers in (reductions, ratios):
        extreme = [each for each in numbers if not _RATIOS[0] <= abs(each[2]) <= _RATIOS[1]]
        for place, what, value in extreme:
            expected = f'a magnitude from {_RATIOS[0]:g} to {_RATIOS[1]:g}'
            message = f'{what} is implausible; check it'
            yield _make_warning(place, spec.name, message, expected, f'{value:g}')
        if extreme:  # they alone lead to extreme ratios, and these to a large condition
            return
    condition = float(np.linalg.cond(matrix)) if is_constant else 0.0
    if condition > _CONDITION:
        message = f"the matrix of transmission '{spec.name}' is nearly singular and amplifies"
        message += ' small errors; check its ratios'
        expected = f'a condition of at most {_CONDITION:g}'
        yield _make_warning(spec, spec.name, message, expected, f'{condition:.3g}')


def _warn_of_other_units(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each number that is too large for its kind and unit."""
    units = {each.name: _UNITS[each.type] for each in robot.description.joints if each.is_scalar}
    limits = {name: effective_limits(robot.description, name) for name in units}
    numbers: list[tuple[Place, str, str, float, str]] = []
    for joint in robot.description.joints:
        name, unit = joint.name, units.get(joint.name, '')
        if name in robot.joint_names and joint.type in ('revolute', 'prismatic'):
            end = max(limits[name].lower, limits[name].upper, key=abs)
            speed = limits[name].velocity
            for kind, value, of in (('position', end, unit), ('velocity', speed, f'{unit}/s')):
                least, most = _TYPICAL[of]
                is_typical = least < abs(value) <= most and (2.0 * value).is_integer()
                if is_typical and not math.log10(abs(value)).is_integer():
                    numbers.append((joint, name, f"the {kind} limit of '{name}'", value, of))
    for spec in (binding.spec for binding in robot.bindings):
        for tunable, place in _list_numbers(robot, spec):
            what, unit, name = f"the number '{'.'.join(tunable.path)}'", tunable.unit, place.name
            if tunable.path == ('actuators', name, OFFSET):
                # The actuator of a linkage turns a joint; its offset is a position of this joint.
                name = next((x.value for x in place.parameters if x.name == 'joint'), name)
            if place is not spec and tunable.path[-1] == OFFSET and name in units:
                what, unit = f"the offset of joint '{name}'", units[name]
                if not max(-limits[name].lower, limits[name].upper) <= _SMALL[unit]:
                    continue
            # The description does not have the distances of a loop at the start.
            is_derived = tunable.path[0] == 'loops' and tunable.value == tunable.default
            if abs(tunable.value) > _LARGE.get(unit, math.inf) and not is_derived:
                own = [each for each in place.parameters if each.name in tunable.path]
                numbers.append(((*own, place)[0], spec.name, what, tunable.value, unit))
    for element, subject, what, value, unit in numbers:
        other = 'degrees' if unit.startswith('rad') else 'millimetres'
        message, found = f'{what} is probably in {other}; check it', in_other_unit(value, unit)
        yield _make_warning(element, subject, message, unit, found)


def _list_numbers(
    robot: RobotTransmissions, spec: TransmissionSpec
) -> Iterator[tuple[Tunable, TransmissionEnd | TransmissionSpec]]:
    """Yield each number that is read, and the joint, actuator or transmission that contains it."""
    places: dict[tuple[str, ...], TransmissionEnd] = {}
    places |= {('joints', each.name): each for each in spec.joints}
    places |= {('actuators', each.name): each for each in spec.actuators}
    for tunable in robot.tunables.get(spec.name, ()):
        yield tunable, places.get(tunable.path[:2], spec)


def _make_warning(place: Place, subject: str, message: str, expected: str, found: str) -> Finding:
    return Finding('warning', message, place.line, place.path, expected, found, subject)
