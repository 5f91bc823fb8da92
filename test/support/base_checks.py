# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Checks of the base classes: shapes, batches, NaN, the ends of the domain, streams."""

from __future__ import annotations

from contextlib import contextmanager
import warnings

import numpy as np
from zoo.mechanisms import single

from transmission_bridge import conformance
from transmission_bridge.errors import ShapeError, TransmissionError, UnsupportedInterfaceError
from transmission_bridge.interfaces import (
    DIRECTIONS,
    FIELDS,
    INTERFACES,
    list_mapped_interfaces,
    Quantity,
)
from transmission_bridge.transmissions.conformance.suite import (
    make_conformance_inputs,
    opposite_direction,
)
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.robot.program import RobotMap

#: A solution agrees with another one from another guess to this times the condition number.
SOLUTION = 1e-12

#: Samples that are mapped one by one.
LOOP_COUNT = 64


def calls_of(part):
    """Yield direction, interface and arguments of every supported map, and how to name them."""
    for direction in DIRECTIONS:
        for interface in list_mapped_interfaces(direction):
            given = make_conformance_inputs(part, direction, interface)
            yield direction, interface, given, f'{interface} {direction}'


@contextmanager
def demand(error, message):
    """Demand an error of the block."""
    try:
        yield
    except error:
        return
    raise AssertionError(message)


def check_interfaces(subject):
    """What is supported gives new float64 arrays of the right shape, the rest is refused."""
    part = subject.take_first(3)
    for direction, interface, given, name in calls_of(part):
        result = part.map(direction, interface, **given)
        expected = part.input_positions(opposite_direction(direction)).shape
        assert result.shape == expected, f'{name}: shape {result.shape}, not {expected}'
        assert result.dtype == np.float64, f'{name}: {result.dtype}, not float64'
        lists = {name: value.tolist() for name, value in given.items()}
        from_lists = part.map(direction, interface, **lists)
        assert np.array_equal(result, from_lists, equal_nan=True), f'{name}: lists differ'
        by_name = getattr(part.transmission, direction)(interface, **given)
        assert np.array_equal(result, by_name, equal_nan=True), f'{name} is not what map() gives'
    for direction in DIRECTIONS:
        values = part.input_positions(direction)
        for interface in {*list_mapped_interfaces(DIRECTIONS[0]), 'current', ''}:
            if interface not in list_mapped_interfaces(direction):
                message = f"'{interface}' {direction} is not supported, and mapped"
                with demand(UnsupportedInterfaceError, message):
                    part.map(direction, interface, values, at=values, rate=values)


def check_shape_errors(subject):
    """An array with another last axis is refused, whichever argument it is."""
    part = subject.take_first(3)
    for direction, interface, given, label in calls_of(part):
        needed = {'values'} if part.transmission.is_constant else set(given)
        for name in needed - ({'rate'} if interface != 'acceleration' else set()):
            for wrong in (given[name][:, :-1], np.hstack([given[name]] * 2), np.array(1.0)):
                with demand(ShapeError, f'{label}: {name} of shape {wrong.shape}'):
                    part.map(direction, interface, **{**given, name: wrong})
    with demand(ShapeError, 'jacobian() takes a position of another length'):
        part.transmission.jacobian(np.zeros(part.transmission.n_actuators + 1))


def check_missing_position(subject):
    """Where the Jacobian varies, a map that needs the position is refused without it."""
    part = subject.take_first(3)
    for direction, interface, given, label in calls_of(part):
        if part.transmission.is_constant or INTERFACES[interface] is Quantity.POSITION:
            continue
        for name in ('at', 'rate') if interface == 'acceleration' else ('at',):
            rest = {key: value for key, value in given.items() if key != name}
            with demand(TransmissionError, f'{label} is mapped without {name}'):
                part.map(direction, interface, **rest)


def check_batch_equals_loop(subject):
    """A batch, a batch of batches and one sample after the other give the same bits."""
    part = subject.take_first(LOOP_COUNT)
    half = len(part.x) // 2
    for direction, interface, given, label in calls_of(part):
        batch = part.map(direction, interface, **given)
        rows = [{name: v[i] for name, v in given.items()} for i in range(len(batch))]
        loop = np.array([part.map(direction, interface, **row) for row in rows])
        deep = {name: v[: 2 * half].reshape(2, half, -1) for name, v in given.items()}
        nested = part.map(direction, interface, **deep).reshape(2 * half, -1)
        assert np.array_equal(batch, loop, equal_nan=True), f'{label}: loop differs'
        is_same = np.array_equal(batch[: 2 * half], nested, equal_nan=True)
        assert is_same, f'{label}: nested batch differs'


def check_slope(subject):
    """``jacobian`` is what the velocity map says, or the inverse of that."""
    found = subject.transmission.jacobian(subject.input_positions(DIRECTIONS[0]))
    is_along = subject.along == DIRECTIONS[0]
    expected = subject.slope if is_along else np.linalg.pinv(subject.slope, rcond=0)
    # If the position was solved for, its rounding error is multiplied by the curvature.
    allowed = 1e-12 * subject.condition**2 * np.abs(expected).max(axis=(-2, -1))
    assert (np.abs(found - expected).max(axis=(-2, -1)) <= allowed).all(), 'another jacobian()'


def check_guess(subject):
    """A guess near the solution leads to the same solution, one sample after the other."""
    part = subject.take_first(LOOP_COUNT)
    for direction in DIRECTIONS:
        at = part.input_positions(direction)
        expected = part.map(direction, 'position', at)
        nearby = expected + 1e-3 * (np.roll(expected, 1, axis=0) - expected)
        allowed = SOLUTION * part.condition[:, np.newaxis] * np.abs(expected).max()
        found = [
            part.map(direction, 'position', each, guess=guess)
            for each, guess in zip(at, nearby, strict=True)
        ]
        error = np.abs(np.array(found) - expected)
        assert (error <= allowed).all(), f'a guess changes positions {direction}'


def check_stream(subject):
    """A live stream, which compiles equations, gives sample by sample what the maps give."""
    part = subject.take_first(LOOP_COUNT)
    for direction in DIRECTIONS:
        at = part.input_positions(direction)
        drawn = make_conformance_inputs(part, direction, 'velocity')
        given = np.stack([at, drawn['values'], drawn['rate']], axis=1)
        mapped = [
            part.map(direction, interface, given[:, row], at=at)
            for row, interface in enumerate(FIELDS)
        ]
        expected = np.stack(mapped, axis=1)
        report = MapReport()
        stream = RobotMap(single(part.transmission), direction)
        # The first begins at another position, the second where it is.
        rounds = [[stream.map_state(each, report).copy() for _ in range(2)] for each in given]
        allowed = SOLUTION * part.condition[:, np.newaxis, np.newaxis]
        allowed = allowed * np.abs(expected).max(axis=(0, 2), keepdims=True)
        for result in np.array(rounds).swapaxes(0, 1):
            assert (np.abs(result - expected) <= allowed).all(), (
                f'a live stream {direction} gives something else; lost: {dict(report.counts)}'
            )


def check_no_mutation(subject):
    """Arguments are neither changed nor part of the result, which later calls do not change."""
    part = subject.take_first(LOOP_COUNT)
    for direction, interface, given, label in calls_of(part):
        before = {name: value.copy() for name, value in given.items()}
        first = part.map(direction, interface, **given)
        for name, value in given.items():
            assert np.array_equal(value, before[name]), f'{label} changes {name}'
            assert not np.shares_memory(first, value), f'{label} returns {name}'
        kept = first.copy()
        part.map(direction, interface, **{name: value[::-1] for name, value in given.items()})
        assert np.array_equal(first, kept, equal_nan=True), f'{label}: a later call changes it'


def check_nan_locality(subject):
    """NaN reaches every output that depends on it, in its own sample, and no other."""
    part = subject.take_first(LOOP_COUNT)
    others = np.arange(len(part.x)) != 1
    for direction, interface, given, label in calls_of(part):
        reference = part.map(direction, interface, **given)
        depends = find_dependence(part, direction, INTERFACES[interface])
        for place in range(given['values'].shape[1]):
            values = given['values'].copy()
            values[1, place] = np.nan
            result = part.map(direction, interface, **{**given, 'values': values})
            is_kept = np.array_equal(result[others], reference[others])
            assert is_kept, f'{label}: NaN reaches other samples'
            is_unknown = np.isnan(result[1][depends[:, place]]).all()
            assert is_unknown, f'{label}: an unknown input gives a number'
            free = ~depends[:, place] if part.transmission.is_constant else []
            is_kept = np.array_equal(result[1][free], reference[1][free])
            assert is_kept, f'{label}: NaN reaches outputs that do not depend on it'


def find_dependence(part, direction, quantity):
    """Return which output of sample 1 depends on which input, by the velocity map."""
    if quantity is Quantity.EFFORT:
        # tau_out = B^T tau_in with B the velocity map of the other direction.
        return find_dependence(part, opposite_direction(direction), Quantity.VELOCITY).T
    at = part.input_positions(direction)[1]
    columns = [part.map(direction, 'velocity', unit, at=at) for unit in np.eye(len(at))]
    return np.array(columns).T != 0.0


def check_outside(subject):
    """Positions outside the domain are NaN and counted, whatever they are; nothing is raised."""
    if subject.domain is None:
        return
    along, back = subject.along, opposite_direction(subject.along)
    far = np.array(subject.domain.upper) + subject.domain.span
    positions = np.concatenate([subject.x[:1], [far], [far * 1e300], [far * -np.inf]])
    report = MapReport()
    result = subject.map(along, 'position', positions, report=report)
    assert np.isfinite(result[0]).all(), 'a position inside the domain is not mapped'
    assert np.isnan(result[1:]).all(), 'a position outside the domain is mapped'
    counted = {reason: count for (_, reason), count in report.counts.items()}
    assert counted.get('domain') == 2, f'two positions are outside the domain, counted {counted}'
    for value in (1e6, 1e300, np.inf, np.nan):
        answer = subject.map(back, 'position', np.full_like(subject.y[0], value))
        assert np.isnan(answer).all(), f'the position {value} is mapped to {answer}'
    for direction, place in ((along, far), (back, np.full_like(subject.y[0], 1e6))):
        for interface in ('velocity', 'acceleration', 'effort'):
            ones = np.ones_like(place)
            answer = subject.map(direction, interface, ones, at=place, rate=ones)
            assert np.isnan(answer).all(), f'{interface} is mapped outside the domain'


#: The checks of this module by name.
BASE = {
    'interfaces': check_interfaces,
    'shape_errors': check_shape_errors,
    'missing_position': check_missing_position,
    'batch_equals_loop': check_batch_equals_loop,
    'guess': check_guess,
    'slope': check_slope,
    'stream': check_stream,
    'no_mutation': check_no_mutation,
    'nan_locality': check_nan_locality,
    'outside': check_outside,
}


def failures(transmission, **options):
    """Run every check, of the suite as well, and return what failed; so does a warning."""
    subject, found = conformance.make_subject(transmission, **options), {}
    for name, check in {**conformance.CHECKS, **BASE}.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('error')
                check(subject)
        except Exception as error:
            found[name] = f'{type(error).__name__}: {error}'
    return found
