# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From nested parameter values, as users write them, to transmissions that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from numbers import Real
from typing import Any

from transmission_bridge.description.specs import Finding
from transmission_bridge.errors import ParameterError, TransmissionError
from transmission_bridge.transmissions.binding import Built
from transmission_bridge.transmissions.builder import build
from transmission_bridge.transmissions.tunable import ParameterPath

__all__ = ['IGNORE_ABSOLUTE_ENCODER', 'flatten', 'ignored_encoders', 'rebuilt']

#: The one parameter that every transmission has and that is not a number.
IGNORE_ABSOLUTE_ENCODER = 'ignore_absolute_encoder'


def flatten(
    item: Built, nested: Mapping[str, Any]
) -> tuple[dict[ParameterPath, float], bool | None]:
    """
    Return the numbers by path, and ``ignore_absolute_encoder`` if it was given.

    :param item: The transmission that the values are for.
    :param nested: For example ``{'joints': {'roll': {'offset': 0.1}}}``.
    :raises ParameterError: If a path is no parameter of it, or a value has the wrong type or
        cannot be accepted.
    """
    if not isinstance(nested, Mapping):
        raise ParameterError(
            'parameters cannot be read',
            transmission=item.spec.name,
            expected='a mapping of parameter names',
            found=repr(nested),
        )
    known = {tunable.path: tunable for tunable in item.tunables}
    numbers: dict[ParameterPath, float] = {}
    ignore: bool | None = None
    for path, value in _leaves((), nested):
        name = '.'.join(path)
        if path == (IGNORE_ABSOLUTE_ENCODER,):
            ignore = _flag(item, value)
        elif path not in known:
            names = ', '.join('.'.join(other) for other in known)
            raise ParameterError(
                f"unknown parameter '{name}'",
                transmission=item.spec.name,
                parameter=name,
                expected=f'one of {names}, {IGNORE_ABSOLUTE_ENCODER}',
                found=repr(value),
            )
        else:
            number = _number(item, name, value)
            numbers[path] = known[path].check(number, transmission=item.spec.name)
    return numbers, ignore


def _number(item: Built, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(
            f'{name} has the wrong type',
            transmission=item.spec.name,
            parameter=name,
            expected='a number',
            found=repr(value),
        )
    try:
        return float(value)
    except OverflowError:  # an integer beyond double precision, refused as not finite
        return math.inf


def _flag(item: Built, value: object) -> bool:
    expected = ''
    if not isinstance(value, bool):
        expected = 'true or false'
    elif value and item.transmission.n_joints != item.transmission.n_actuators:
        expected = 'false, as it has different numbers of joints and actuators'
    if expected:
        raise ParameterError(
            f'{IGNORE_ABSOLUTE_ENCODER} cannot be accepted',
            transmission=item.spec.name,
            parameter=IGNORE_ABSOLUTE_ENCODER,
            expected=expected,
            found=repr(value),
        )
    return bool(value)


def _leaves(
    prefix: ParameterPath, nested: Mapping[str, Any]
) -> Iterator[tuple[ParameterPath, object]]:
    for key, value in nested.items():
        path = (*prefix, str(key))
        if isinstance(value, Mapping):
            yield from _leaves(path, value)
        else:
            yield path, value


def rebuilt(item: Built, numbers: Mapping[ParameterPath, float]) -> Built:
    """
    Return the transmission with these numbers in place of its present ones.

    :raises ParameterError: If the transmission refuses them.
    """
    values = {tunable.path: tunable.value for tunable in item.tunables}
    if all(values[path] == number for path, number in numbers.items()):
        return item
    try:
        return build(type(item.transmission), item.spec, {**values, **numbers})[0]
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


def ignored_encoders(built: tuple[Built, ...]) -> tuple[frozenset[str], list[Finding]]:
    """Take over ``<ignoreTransmissionAbsoluteEncoder>`` where the roles can be paired."""
    ignored = set()
    findings = []
    for item in built:
        if not item.spec.ignore_absolute_encoder:
            continue
        if item.transmission.n_joints == item.transmission.n_actuators:
            ignored.add(item.spec.name)
        else:
            findings.append(
                Finding(
                    'warning',
                    'ignoreTransmissionAbsoluteEncoder has no meaning with different numbers of '
                    'joints and actuators; absolute positions are mapped',
                    line=item.spec.line,
                    path=item.spec.path,
                    subject=item.spec.name,
                )
            )
    return frozenset(ignored), findings
