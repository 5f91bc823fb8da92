# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Checks of the formalities: version, documentation, shapes, what is refused."""

from __future__ import annotations

import inspect

import numpy as np

from transmission_bridge.errors import (
    ShapeError,
    TransmissionError,
    UnsupportedInterfaceError,
)
from transmission_bridge.transmissions.conformance.mapping_checks import inputs, reverse
from transmission_bridge.transmissions.conformance.samples import Subject
from transmission_bridge.transmissions.interfaces import (
    Direction,
    DIRECTIONS,
    INTERFACES,
    interfaces_of,
    Quantity,
)
from transmission_bridge.transmissions.transmission import API_VERSION

__all__ = ['FORMAL_CHECKS', 'maps_of']


def check_api_version(subject: Subject) -> None:
    """The class states the version of the contract that it was written for."""
    version = getattr(type(subject.transmission), 'api_version', None)
    assert version == API_VERSION, f'api_version is {version!r}, expected {API_VERSION}'


def check_docstring(subject: Subject) -> None:
    """The class has a documentation whose first line says what it is, in one sentence."""
    first = (inspect.getdoc(type(subject.transmission)) or '').partition('\n')[0]
    own = type(subject.transmission).__doc__
    assert own, 'the class has no docstring'
    assert first.endswith('.'), f'the first line of the docstring is no sentence: {first!r}'


def check_interfaces(subject: Subject) -> None:
    """What is supported gives new float64 arrays of the right shape, the rest is refused."""
    t = subject.transmission
    for values, n in (
        (t.joint_reduction, t.n_joints),
        (t.joint_offset, t.n_joints),
        (t.actuator_reduction, t.n_actuators),
    ):
        assert len(values) == n, f'reductions or offsets {values} are not {n}'
    assert t.n_actuators > 0, 'there are no actuators'
    for direction, interface in maps_of(subject, supported=True):
        given = inputs(subject.first(3), direction, interface)
        result = subject.map(direction, interface, **given)
        expected = (3, subject.positions(reverse(direction)).shape[1])
        assert result.shape == expected, f'{interface}: shape {result.shape}, not {expected}'
        assert result.dtype == np.float64, f'{interface}: {result.dtype}, not float64'
        lists = {name: value.tolist() for name, value in given.items()}
        from_lists = subject.map(direction, interface, **lists)
        assert np.array_equal(result, from_lists, equal_nan=True), f'{interface}: lists differ'
        by_name = getattr(t, direction)(interface, **given)
        assert np.array_equal(result, by_name, equal_nan=True), (
            f'{interface}: {direction}() is not what map() gives'
        )
    for direction, interface in maps_of(subject, supported=False):
        _demand_error(UnsupportedInterfaceError, subject, direction, interface)


def check_shape_errors(subject: Subject) -> None:
    """An array with another last axis is refused, whichever argument it is."""
    for direction, interface in maps_of(subject, supported=True):
        given = inputs(subject.first(3), direction, interface)
        needed = list(given) if not subject.transmission.is_constant else ['values']
        if interface not in ('acceleration',):
            needed = [name for name in needed if name != 'rate']
        for name in needed:
            for wrong in (given[name][:, :-1], np.hstack([given[name]] * 2), np.array(1.0)):
                try:
                    subject.map(direction, interface, **{**given, name: wrong})
                except ShapeError:
                    continue
                raise AssertionError(f'{interface} {direction}: {name} of shape {wrong.shape}')
    try:
        subject.transmission.jacobian(np.zeros(subject.transmission.n_actuators + 1))
    except ShapeError:
        return
    raise AssertionError('jacobian() takes a position of another length')


def check_missing_position(subject: Subject) -> None:
    """Where the Jacobian varies, a map that needs the position is refused without it."""
    if subject.transmission.is_constant:
        return
    for direction, interface in maps_of(subject, supported=True):
        if INTERFACES[interface] in (Quantity.POSITION, Quantity.ABSOLUTE_POSITION):
            continue
        given = inputs(subject.first(3), direction, interface)
        for name in ('at', 'rate') if interface == 'acceleration' else ('at',):
            try:
                subject.map(direction, interface, **{k: v for k, v in given.items() if k != name})
            except TransmissionError:
                continue
            raise AssertionError(f'{interface} {direction} is mapped without {name}')


def maps_of(subject: Subject, *, supported: bool) -> list[tuple[Direction, str]]:
    """Return the supported maps, or those of the contract that are not."""
    return [
        (direction, interface)
        for direction in DIRECTIONS
        for interface in (*interfaces_of(direction), *(() if supported else ('current', '')))
        if (
            interface in interfaces_of(direction)
            and subject.transmission.supports(interface, direction)
        )
        == supported
    ]


def _demand_error(
    error: type[Exception], subject: Subject, direction: Direction, interface: str
) -> None:
    values = subject.positions(direction)[:1]
    try:
        subject.map(direction, interface, values, at=values, rate=values)
    except error:
        return
    raise AssertionError(f"'{interface}' {direction} is not supported, and mapped")


#: The checks of this module by name.
FORMAL_CHECKS = {
    'api_version': check_api_version,
    'docstring': check_docstring,
    'interfaces': check_interfaces,
    'shape_errors': check_shape_errors,
    'missing_position': check_missing_position,
}
