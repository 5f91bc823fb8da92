# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Applies parameter values of users to transmissions, and compares ratios before and after.

``RobotTransmissions.with_parameters`` retunes; the gate's guard of tuning and ``tune`` compare.
Users spell the names of parameters. A rejected value leaves the robot unchanged, because tuning
returns new rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.document import MECHANICAL_REDUCTION
from transmission_bridge.errors import (
    closest,
    ParameterError,
    shown,
    TransmissionError,
    UnknownNameError,
)
from transmission_bridge.transmissions.builder import build_transmission
from transmission_bridge.transmissions.robot.ranges import find_disjoint_ranges
from transmission_bridge.transmissions.robot.table import Binding, RobotTable
from transmission_bridge.transmissions.tunable import BY_ROLE, ParameterPath, Tunable
from transmission_bridge.types import Array

#: Magnitudes of reductions that can be set, also in C.
RATIOS = 1e-6, 1e6

#: Share of the largest ratio below which a difference is a rounding error.
_ROUNDING = 1e-9


class JacobianChange(NamedTuple):
    """Velocity of a joint per velocity of an actuator, before and after a change of numbers."""

    joint: str
    actuator: str
    before: float
    after: float


def compute_jacobian_at(binding: Binding, position: Array) -> Array:
    """
    Return ``J = dq/da`` of a transmission at the robot's position, without passive joints.

    :param position: Positions of the actuators of the robot [rad or m], NaN if unknown.
    """
    at = position[list(binding.actuators)]
    if binding.transmission.is_constant:
        at = np.nan_to_num(at)
    return np.asarray(binding.transmission.jacobian(at))[: len(binding.joints)]


def list_changed_jacobians(
    former: Binding, binding: Binding, position: Array
) -> list[JacobianChange]:
    """
    Return the known ratios ``J = dq/da`` of a transmission that differ after a change of numbers.

    :param position: Positions of the actuators of the robot [rad or m], NaN if unknown.
    """
    ratios = [compute_jacobian_at(bound, position) for bound in (former, binding)]
    noise = _ROUNDING * max(np.nan_to_num(np.abs(ratio)).max() for ratio in ratios)
    return [
        JacobianChange(joint.name, actuator.name, float(old), float(new))
        for joint, *rows in zip(binding.spec.joints, *ratios, strict=True)
        for actuator, old, new in zip(binding.spec.actuators, *rows, strict=True)
        if abs(new - old) > noise  # never for NaN
    ]


def retune_bindings(
    robot: RobotTable,
    parameters: Mapping[str, Any],
    description: RobotDescription,
    passive_joints: str,
) -> tuple[Binding, ...]:
    """
    Return the transmissions of a robot with other numbers.

    ``parameters`` are for example ``{'wrist.joints.roll.offset': 0.1}``; any part of a name may be
    a nested mapping, as in ``{'wrist': {'joints': {'roll': {'offset': 0.1}}}}``.

    :raises UnknownNameError: If a transmission does not exist.
    :raises ParameterError: If a parameter is unknown or ambiguous, or if a value is invalid.
    """
    items = {binding.spec.name: binding for binding in robot.bindings}
    numbers: dict[str, dict[ParameterPath, float]] = {}
    for keys, value in _iterate_leaves((), parameters):
        tunables = robot.named_tunables.get('.'.join(keys), [])
        if len(tunables) > 1:
            # Names in the description may contain dots: nested keys are then unambiguous.
            tunables = [each for each in tunables if (each.transmission, *each.path) == keys]
        if len(tunables) != 1:
            raise _unknown_parameter_error(robot, keys, value)
        (tunable,) = tunables
        name, path = tunable.transmission, tunable.path
        if tunable.is_flag:
            item, flag = items[name], {BY_ROLE[path[0]]}
            if not isinstance(value, bool):
                raise tunable.make_error('true or false', value)
            if value and item.transmission.n_joints != item.transmission.n_actuators:
                expected = 'false, because the numbers of joints and actuators differ'
                raise tunable.make_error(expected, value)
            by_role = item.by_role | flag if value else item.by_role - flag
            items[name] = replace(item, by_role=by_role)
        else:
            numbers.setdefault(name, {})[path] = _read_tuned_number(tunable, value)
    for name, values in numbers.items():
        items[name] = _rebuild_transmission(items[name], values, description, passive_joints)
    bindings = tuple(items.values())
    if disjoint := find_disjoint_ranges(bindings, description):
        raise next(iter(disjoint.values()))
    return bindings


def _unknown_parameter_error(robot: RobotTable, keys: ParameterPath, value: object) -> Exception:
    items = {binding.spec.name: binding for binding in robot.bindings if not binding.is_identity}
    full = '.'.join(keys)
    owners = [name for name in items if full == name or full.startswith(f'{name}.')]
    if not owners:
        return UnknownNameError('transmission', keys[0], tuple(items))
    owner = max(owners, key=len)
    name = full[len(owner) + 1 :]
    message, expected = 'parameters cannot be read', 'a mapping of parameter names'
    if name:
        names = (*('.'.join(tunable.path) for tunable in items[owner].tunables), *BY_ROLE)
        parts = name.split('.')
        paths = [name.split('.') for name in names]
        depth = max(k for k in range(len(parts)) if any(path[:k] == parts[:k] for path in paths))
        part = f': {shown(parts[depth])}' if depth else ''
        message = f'unknown parameter {shown(name)}{part}{closest(name, names)}'
        expected = f'one of {", ".join(names)}'
    return ParameterError(
        message, transmission=owner, parameter=name, expected=expected, found=repr(value)
    )


def _read_tuned_number(tunable: Tunable, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise tunable.make_error('a number', value, 'has the wrong type')
    try:
        number = float(value)
    except OverflowError:  # an integer beyond double precision is not finite
        number = math.inf
    tunable.check_value(number)
    smallest, largest = RATIOS
    is_ratio = tunable.path[-1] == MECHANICAL_REDUCTION and number != 0.0
    if is_ratio and not smallest <= abs(number) <= largest:
        # Such a ratio is a typing error.
        raise tunable.make_error(f'a magnitude in [{smallest:g}, {largest:g}]', number)
    return number


def _iterate_leaves(
    prefix: ParameterPath, nested: Mapping[str, Any]
) -> Iterator[tuple[ParameterPath, object]]:
    for key, value in nested.items():
        path = (*prefix, str(key))
        if isinstance(value, Mapping):
            yield from _iterate_leaves(path, value)
        else:
            yield path, value


def _rebuild_transmission(
    item: Binding,
    numbers: Mapping[ParameterPath, float],
    robot: RobotDescription,
    passive_joints: str,
) -> Binding:
    """Return the transmission with these numbers replaced."""
    values = {tunable.path: tunable.value for tunable in item.tunables}
    if all(values[path] == number for path, number in numbers.items()):
        return item
    try:
        built, _ = build_transmission(
            type(item.transmission), item.spec, {**values, **numbers}, robot, passive_joints
        )
    except ParameterError:
        raise
    except (Exception, SystemExit) as error:  # a plugin's bug rejects the value with a reason
        reason = error
        if not isinstance(reason, TransmissionError):
            reason = TransmissionError(f'{item.spec.type} raised {type(error).__name__}: {error}')
        raise ParameterError(
            reason.message,
            transmission=item.spec.name,
            parameter=reason.parameter,
            expected=reason.expected,
            found=reason.found,
        ) from error
    return replace(
        item, transmission=built.transmission, tunables=built.tunables, units=built.units
    )
