# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Checks of the base classes: shapes, batches, NaN, the ends of the domain, streams."""

from __future__ import annotations

from collections.abc import Callable
import warnings

import numpy as np
import numpy.typing as npt
from zoo.mechanisms import single

from transmission_bridge import conformance
from transmission_bridge.errors import ShapeError, TransmissionError, UnsupportedInterfaceError
from transmission_bridge.transmissions.conformance.checks import make_inputs
from transmission_bridge.transmissions.conformance.samples import (
    opposite_direction,
    slope_of,
    Subject,
)
from transmission_bridge.transmissions.equation_mechanism import points_of
from transmission_bridge.transmissions.interfaces import (
    Direction,
    DIRECTIONS,
    FIELDS,
    INTERFACES,
    interfaces_of,
    Quantity,
)
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot_map import RobotMap
from transmission_bridge.transmissions.transmission import Transmission

#: A batch and a loop over it agree to this times the condition number; to the last bit where the
#: Jacobian is constant.
BATCH = 1e-12

#: Samples that are mapped one by one.
LOOP_COUNT = 64

#: By how much the medians of a domain may differ.
MEDIAN = 1.2


def check_interfaces(subject: Subject) -> None:
    """What is supported gives new float64 arrays of the right shape, the rest is refused."""
    t = subject.transmission
    for direction, interface in maps_of(subject, supported=True):
        given = make_inputs(subject.take_first(3), direction, interface)
        result = subject.map(direction, interface, **given)
        expected = (3, subject.input_positions(opposite_direction(direction)).shape[1])
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
        given = make_inputs(subject.take_first(3), direction, interface)
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
        if INTERFACES[interface] is Quantity.POSITION:
            continue
        given = make_inputs(subject.take_first(3), direction, interface)
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
    values = subject.input_positions(direction)[:1]
    try:
        subject.map(direction, interface, values, at=values, rate=values)
    except error:
        return
    raise AssertionError(f"'{interface}' {direction} is not supported, and mapped")


def check_batch_equals_loop(subject: Subject) -> None:
    """A batch, a batch of batches and one sample after the other give the same."""
    part = subject.take_first(LOOP_COUNT)
    for direction, interface in maps_of(subject, supported=True):
        given = make_inputs(part, direction, interface)
        batch = part.map(direction, interface, **given)
        loop = np.array(
            [
                part.map(direction, interface, **{name: v[i] for name, v in given.items()})
                for i in range(len(batch))
            ]
        )
        half = len(batch) // 2
        nested = part.map(
            direction,
            interface,
            **{name: v[: 2 * half].reshape(2, half, -1) for name, v in given.items()},
        ).reshape(2 * half, -1)
        allowed = 0.0 if part.transmission.is_constant else BATCH
        scale = allowed * part.condition[:, np.newaxis] * (np.abs(batch).max() + np.abs(batch))
        assert (np.abs(batch - loop) <= scale).all(), f'{interface} {direction}: loop differs'
        assert (np.abs(batch[: 2 * half] - nested) <= scale[: 2 * half]).all(), (
            f'{interface} {direction}: nested batch differs'
        )


def check_slope(subject: Subject) -> None:
    """``jacobian`` is what the velocity map says, or the inverse of that."""
    t, along = subject.transmission, subject.along
    found = t.jacobian(subject.input_positions(DIRECTIONS[0]))
    expected = subject.slope if along == DIRECTIONS[0] else np.linalg.pinv(subject.slope, rcond=0)
    # If the position was solved for, its rounding error is multiplied by the curvature.
    allowed = 1e-12 * subject.condition**2 * np.abs(expected).max(axis=(-2, -1))
    assert (np.abs(found - expected).max(axis=(-2, -1)) <= allowed).all(), 'another jacobian()'


def check_guess(subject: Subject) -> None:
    """A guess near the solution leads to the same solution, one sample after the other."""
    part = subject.take_first(LOOP_COUNT)
    for direction in DIRECTIONS:
        at = part.input_positions(direction)
        expected = part.map(direction, 'position', at)
        nearby = expected + 1e-3 * (np.roll(expected, 1, axis=0) - expected)
        allowed = BATCH * part.condition[:, np.newaxis] * np.abs(expected).max()
        found = [
            part.map(direction, 'position', each, guess=guess)
            for each, guess in zip(at, nearby, strict=True)
        ]
        assert (np.abs(np.array(found) - expected) <= allowed).all(), (
            f'a guess changes positions {direction}'
        )


def check_stream(subject: Subject) -> None:
    """A live stream, which compiles equations, gives sample by sample what the maps give."""
    part = subject.take_first(LOOP_COUNT)
    for direction in DIRECTIONS:
        if not all(part.transmission.supports(each, direction) for each in FIELDS):
            continue
        at = part.input_positions(direction)
        drawn = make_inputs(part, direction, 'velocity')
        given = np.stack([at, drawn['values'], drawn['rate']], axis=1)
        expected = np.stack(
            [
                part.map(direction, interface, given[:, row], at=at)
                for row, interface in enumerate(FIELDS)
            ],
            axis=1,
        )
        report = MapReport()
        stream = RobotMap(single(part.transmission), direction)
        # The first begins at another position, the second where it is.
        rounds = [[stream.map_state(each, report).copy() for _ in range(2)] for each in given]
        allowed = BATCH * part.condition[:, np.newaxis, np.newaxis]
        allowed = allowed * np.abs(expected).max(axis=(0, 2), keepdims=True)
        for result in np.array(rounds).swapaxes(0, 1):
            assert (np.abs(result - expected) <= allowed).all(), (
                f'a live stream {direction} gives something else; lost: {dict(report.counts)}'
            )


def check_no_mutation(subject: Subject) -> None:
    """Arguments are neither changed nor part of the result, and nothing is kept between calls."""
    part = subject.take_first(LOOP_COUNT)
    for direction, interface in maps_of(subject, supported=True):
        given = {name: v.copy() for name, v in make_inputs(part, direction, interface).items()}
        before = {name: value.copy() for name, value in given.items()}
        first = part.map(direction, interface, **given)
        for name, value in given.items():
            assert np.array_equal(value, before[name]), f'{interface} {direction} changes {name}'
            assert not np.shares_memory(first, value), f'{interface} {direction} returns {name}'
        kept = first.copy()
        part.map(direction, interface, **{name: value[::-1] for name, value in given.items()})
        assert np.array_equal(first, kept, equal_nan=True), (
            f'{interface} {direction}: a later call changes an earlier result'
        )
        again = part.map(direction, interface, **given)
        assert np.array_equal(again, kept, equal_nan=True), (
            f'{interface} {direction}: the same call gives another result'
        )


def check_nan_locality(subject: Subject) -> None:
    """NaN reaches every output that depends on it, in its own sample, and no other."""
    part = subject.take_first(LOOP_COUNT)
    for direction, interface in maps_of(subject, supported=True):
        given = make_inputs(part, direction, interface)
        reference = part.map(direction, interface, **given)
        depends = _dependence(part, direction, INTERFACES[interface])
        for place in range(given['values'].shape[1]):
            values = given['values'].copy()
            values[1, place] = np.nan
            result = part.map(direction, interface, **{**given, 'values': values})
            others = np.arange(len(result)) != 1
            assert np.array_equal(result[others], reference[others]), (
                f'{interface} {direction}: NaN reaches other samples'
            )
            assert np.isnan(result[1][depends[:, place]]).all(), (
                f'{interface} {direction}: an unknown input gives a number'
            )
            if part.transmission.is_constant:
                free = ~depends[:, place]
                assert np.array_equal(result[1][free], reference[1][free]), (
                    f'{interface} {direction}: NaN reaches outputs that do not depend on it'
                )


def check_outside(subject: Subject) -> None:
    """Positions outside the domain are NaN and counted, whatever they are; nothing is raised."""
    if subject.transmission.is_constant or subject.domain is None:
        return
    transmission = subject.transmission
    inside = subject.x[:1]
    far = np.array(subject.domain.upper) + subject.domain.span
    positions = np.concatenate([inside, [far], [far * 1e300], far[np.newaxis] * -np.inf])
    report = MapReport()
    result = transmission.map(subject.along, 'position', positions, report=report)
    assert np.isfinite(result[0]).all(), 'a position inside the domain is not mapped'
    assert np.isnan(result[1:]).all(), 'a position outside the domain is mapped'
    counted = {reason: count for (_, reason), count in report.counts.items()}
    assert counted.get('domain') == 2, f'two positions are outside the domain, counted {counted}'
    for value in (1e6, 1e300, np.inf, np.nan):
        given = np.full(subject.y.shape[1], value)
        answer = transmission.map(opposite_direction(subject.along), 'position', given)
        assert np.isnan(answer).all(), f'the position {value} is mapped to {answer}'
    for direction, place in (
        (subject.along, far),
        (opposite_direction(subject.along), np.full_like(subject.y[0], 1e6)),
    ):
        for interface in ('velocity', 'acceleration', 'effort'):
            if transmission.supports(interface, direction):
                ones = np.ones_like(place)
                answer = subject.map(direction, interface, ones, at=place, rate=ones)
                assert np.isnan(answer).all(), f'{interface} is mapped outside the domain'


def check_max_gain(subject: Subject) -> None:
    """What ``max_gain`` refuses is refused, in that interface and direction only, no position."""
    transmission = subject.transmission
    if not isinstance(transmission, MechanismTransmission):
        return
    grid = transmission.domain.grid(points_of(subject.x.shape[1]))
    reached = transmission.map(subject.along, 'position', grid)
    slope = slope_of(transmission, subject.along, grid)
    exists = np.isfinite(slope).all(axis=(-2, -1)) & np.isfinite(reached).all(axis=-1)
    width = np.ptp(reached[exists], axis=0)
    # In shares of the ranges, so that units and reductions do not matter.
    scale = transmission.domain.span / np.where(width > 0.0, width, 1.0)[:, np.newaxis]
    typical, own = (_sizes_of(each * scale) for each in (slope[exists], subject.slope))
    steep, flat = own[0] / np.median(typical[0]), np.median(typical[1]) / own[1]
    for max_gain in (1.0, 5.0):
        limited = transmission.with_max_gain(max_gain)
        for direction in DIRECTIONS:
            at = subject.input_positions(direction)
            position = limited.map(direction, 'position', at)
            assert np.array_equal(position, transmission.map(direction, 'position', at)), (
                f'max_gain changes positions {direction}'
            )
            for interface in ('velocity', 'effort'):
                if not transmission.supports(interface, direction):
                    continue
                mapped = limited.map(direction, interface, np.ones_like(at), at=at)
                lost = np.asarray(np.isnan(mapped).any(axis=-1))
                along = direction == subject.along
                factor = steep if along == (interface == 'velocity') else flat
                assert lost[factor > MEDIAN * max_gain].all(), (
                    f'{interface} {direction} is multiplied by more than max_gain allows'
                )
                assert not lost[factor < max_gain / MEDIAN].any(), (
                    f'{interface} {direction} is lost where max_gain allows it'
                )


def _sizes_of(
    matrices: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the size of matrices, and the reciprocal size of their inverses."""
    values = np.linalg.svd(matrices, compute_uv=False)
    with np.errstate(divide='ignore'):
        return np.linalg.norm(values, axis=-1), 1.0 / np.linalg.norm(1.0 / values, axis=-1)


def _dependence(
    subject: Subject, direction: Direction, quantity: Quantity
) -> npt.NDArray[np.bool_]:
    """Return which output of sample 1 depends on which input, by the velocity map."""
    n_in = subject.input_positions(direction).shape[1]
    at = subject.input_positions(direction)[1]
    other = subject.input_positions(opposite_direction(direction))[1]
    if quantity is Quantity.EFFORT:
        # tau_out = B^T tau_in with B the velocity map of the other direction.
        columns = [
            subject.map(opposite_direction(direction), 'velocity', unit, at=other)
            for unit in np.eye(len(other))
        ]
        return np.asarray(np.array(columns) != 0.0)
    columns = [subject.map(direction, 'velocity', unit, at=at) for unit in np.eye(n_in)]
    return np.asarray(np.array(columns).T != 0.0)


#: The checks of this module, and those of the suite, by name.
BASE: dict[str, Callable[[Subject], None]] = {
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
    'max_gain': check_max_gain,
}

#: These, and what the suite checks of a type.
ALL = {**conformance.CHECKS, **BASE}


def check(subject: Subject, name: str) -> None:
    """Run one check of :data:`ALL`; a warning while it runs is a failure as well."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        ALL[name](subject)


def failures(transmission: Transmission, **options: int) -> dict[str, str]:
    """Run every check and return what failed, by name."""
    subject, found = conformance.subject_of(transmission, **options), {}
    for name in ALL:
        try:
            check(subject, name)
        except Exception as error:
            found[name] = f'{type(error).__name__}: {error}'
    return found
