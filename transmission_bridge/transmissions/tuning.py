# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From parameter values, as users write them, to transmissions that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from numbers import Real
from typing import Any

from transmission_bridge.description.specs import Finding, RobotDescription
from transmission_bridge.description.values import MECHANICAL_REDUCTION
from transmission_bridge.errors import ParameterError, TransmissionError, UnknownNameError
from transmission_bridge.transmissions.binding import Built
from transmission_bridge.transmissions.builder import build
from transmission_bridge.transmissions.tunable import BY_ROLE, ParameterPath, Tunable

#: Magnitudes of reductions that can be set.
RATIOS = 1e-6, 1e6


def resolved(
    items: Mapping[str, Built],
    named: Mapping[str, Sequence[Tunable]],
    parameters: Mapping[str, Any],
) -> tuple[dict[str, dict[ParameterPath, float]], dict[tuple[str, str], bool]]:
    """
    Return the numbers of each transmission by path, and which interfaces pass by role or do not.

    :param items: The transmissions by name.
    :param named: Their numbers and flags by full name.
    :param parameters: For example ``{'wrist.joints.roll.offset': 0.1}``; any part of a name may
        be a mapping of its own, as in ``{'wrist': {'joints': {'roll': {'offset': 0.1}}}}``.
    :raises UnknownNameError: If there is no such transmission.
    :raises ParameterError: If a name is no parameter, or could mean two, or if a value has the
        wrong type or cannot be accepted.
    """
    numbers: dict[str, dict[ParameterPath, float]] = {}
    by_role: dict[tuple[str, str], bool] = {}
    for keys, value in _leaves((), parameters):
        found = named.get('.'.join(keys), ())
        if len(found) > 1:
            # Names in the description may have dots in them: said in parts it is one of them.
            found = [each for each in found if (each.transmission, *each.path) == keys]
        if len(found) != 1:
            raise _unknown(items, keys, value)
        (tunable,) = found
        name, path = tunable.transmission, tunable.path
        if tunable.is_flag:
            by_role[name, BY_ROLE[path[0]]] = _flag(items[name], path[0], value)
        else:
            numbers.setdefault(name, {})[path] = _number(items[name], tunable, value)
    return numbers, by_role


def _unknown(items: Mapping[str, Built], keys: ParameterPath, value: object) -> Exception:
    full = '.'.join(keys)
    owners = [name for name in items if full == name or full.startswith(f'{name}.')]
    if not owners:
        return UnknownNameError('transmission', keys[0], tuple(items))
    owner = max(owners, key=len)
    name = full[len(owner) + 1 :]
    message, expected = 'parameters cannot be read', 'a mapping of parameter names'
    if name:
        names = ('.'.join(tunable.path) for tunable in items[owner].tunables)
        message, expected = (
            f"unknown parameter '{name}'",
            f'one of {", ".join((*names, *BY_ROLE))}',
        )
    return ParameterError(
        message, transmission=owner, parameter=name, expected=expected, found=repr(value)
    )


def _number(item: Built, tunable: Tunable, value: object) -> float:
    name = '.'.join(tunable.path)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _refused(item, name, 'a number', value, 'has the wrong type')
    try:
        number = float(value)
    except OverflowError:  # an integer beyond double precision, refused as not finite
        number = math.inf
    tunable.check(number, transmission=item.spec.name)
    smallest, largest = RATIOS
    is_ratio = tunable.path[-1] == MECHANICAL_REDUCTION and number != 0.0
    if is_ratio and not smallest <= abs(number) <= largest:
        # It can only be a slip of the hand.
        raise _refused(item, name, f'a magnitude in [{smallest:g}, {largest:g}]', number)
    return number


def _flag(item: Built, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _refused(item, name, 'true or false', value)
    if value and item.transmission.n_joints != item.transmission.n_actuators:
        expected = 'false, as it has different numbers of joints and actuators'
        raise _refused(item, name, expected, value)
    return value


def _refused(
    item: Built, name: str, expected: str, value: object, said: str = 'cannot be accepted'
) -> ParameterError:
    return ParameterError(
        f'{name} {said}',
        transmission=item.spec.name,
        parameter=name,
        expected=expected,
        found=repr(value),
    )


def _leaves(
    prefix: ParameterPath, nested: Mapping[str, Any]
) -> Iterator[tuple[ParameterPath, object]]:
    for key, value in nested.items():
        path = (*prefix, str(key))
        if isinstance(value, Mapping):
            yield from _leaves(path, value)
        else:
            yield path, value


def rebuilt(
    item: Built,
    numbers: Mapping[ParameterPath, float],
    robot: RobotDescription,
    passive_joints: str,
) -> Built:
    """
    Return the transmission with these numbers in place of its present ones.

    :param robot: The robot that it is part of.
    :param passive_joints: Which passive joints are published.
    :raises ParameterError: If the transmission refuses them.
    """
    values = {tunable.path: tunable.value for tunable in item.tunables}
    if all(values[path] == number for path, number in numbers.items()):
        return item
    try:
        return build(
            type(item.transmission), item.spec, {**values, **numbers}, robot, passive_joints
        )[0]
    except ParameterError:
        raise
    except TransmissionError as error:
        raise ParameterError(
            error.message,
            transmission=item.spec.name,
            parameter=error.parameter,
            expected=error.expected,
            found=error.found,
        ) from error
    except (Exception, SystemExit) as error:  # a plugin's bug is a refusal with a reason as well
        raise ParameterError(
            f'{item.spec.type} raised {type(error).__name__}: {error}',
            transmission=item.spec.name,
        ) from error


def passed_by_role(
    built: tuple[Built, ...],
) -> tuple[frozenset[tuple[str, str]], list[Finding]]:
    """Return the interfaces that pass by role in the description, if the roles can be paired."""
    by_role: set[tuple[str, str]] = set()
    findings = []
    for item in built:
        asked = set(item.by_role)
        if item.spec.ignore_absolute_encoder:
            asked.add('absolute_position')
        if asked and item.transmission.n_joints != item.transmission.n_actuators:
            findings.append(
                Finding(
                    'warning',
                    f'{" and ".join(sorted(asked))} cannot pass by role with different numbers of '
                    'joints and actuators, and are mapped',
                    line=item.spec.line,
                    path=item.spec.path,
                    subject=item.spec.name,
                )
            )
        else:
            by_role.update((item.spec.name, interface) for interface in asked)
    return frozenset(by_role), findings
