# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Checks of a type: formalities, derivatives, inverses, conservation of power.

Tests of plugins call it, so the public names, the names of checks and the names of tests are
fixed. Tolerances decide which plugins pass: a stricter one breaks tests of others. Sentences are
free. Positions are random with fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import inspect
import pickle
from typing import Any, ClassVar
import warnings

import numpy as np
import numpy.typing as npt

from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    INTERFACES,
    JOINT_TO_ACTUATOR,
    list_mapped_interfaces,
    Quantity,
)
from transmission_bridge.transmissions.domain import Domain, MapReport
from transmission_bridge.transmissions.mechanism_transmission import (
    LARGEST_MAX_GAIN,
    MechanismTransmission,
)
from transmission_bridge.transmissions.transmission import (
    API_VERSION,
    compute_slope,
    list_overrides,
    Transmission,
)
from transmission_bridge.types import Array

#: Positions per check.
COUNT = 10_000

#: Positions with a larger condition number are not used.
CONDITION = 1e3


def opposite_direction(direction: Direction) -> Direction:
    """Return the other direction."""
    return JOINT_TO_ACTUATOR if direction == ACTUATOR_TO_JOINT else ACTUATOR_TO_JOINT


@dataclass(frozen=True)
class Subject:
    """
    A transmission and the positions at which it is checked.

    ``x`` is the space in which positions are drawn, ``y`` the other space. Checks share a subject
    and do not change its arrays.

    :param transmission: The transmission; if its Jacobian varies, with the largest ``max_gain``.
    :param along: The direction from ``x`` to ``y``.
    :param x: Positions, shape ``(n, n_x)``.
    :param y: The mapped positions, ``(n, n_y)``.
    :param slope: ``dy/dx``, ``(n, n_y, n_x)``, from the velocity map.
    :param condition: Condition number of each position, ``(n,)``: the largest singular value of
        ``slope`` over the smallest; if the Jacobian varies, the median over all positions is also
        included.
    :param domain: The domain of the drawn positions, ``None`` if it is unlimited.
    """

    transmission: Transmission
    along: Direction
    x: Array
    y: Array
    slope: Array
    condition: Array
    domain: Domain | None

    def input_positions(self, direction: Direction) -> Array:
        """Return the positions in the input space of a direction."""
        return self.x if direction == self.along else self.y

    def take_first(self, count: int) -> Subject:
        """Return the subject with its first positions only."""
        names = ('x', 'y', 'slope', 'condition')
        return replace(self, **{name: getattr(self, name)[:count] for name in names})

    def map(
        self, direction: Direction, interface: str, values: npt.ArrayLike, **options: Any
    ) -> Array:
        """Map values; see :meth:`Transmission.map`."""
        return self.transmission.map(direction, interface, values, **options)


def make_subject(transmission: Transmission, *, count: int = COUNT) -> Subject:
    """
    Draw positions, uniform over the domain (standard normal if the Jacobian is constant).

    If the Jacobian varies, the transmission is checked with the largest ``max_gain``, so the
    checks cover all positions that it maps.

    :param count: Number of positions to draw; unreachable ones and those beyond :data:`CONDITION`
        are left out.
    :returns: The positions, with the derivatives there.
    :raises ValueError: If fewer than a tenth of the positions can be used.
    """
    random, domain = np.random.default_rng(0), None
    if isinstance(transmission, MechanismTransmission):
        transmission = transmission.with_max_gain(LARGEST_MAX_GAIN)
        domain = transmission.domain
    if domain is None:
        along: Direction = ACTUATOR_TO_JOINT
        x = random.normal(size=(count, transmission.n_actuators))
    else:
        along = JOINT_TO_ACTUATOR if domain.space == 'joint' else ACTUATOR_TO_JOINT
        x = random.uniform(domain.lower, domain.upper, size=(count, len(domain.lower)))
    y = transmission.map(along, 'position', x)
    reachable = np.asarray(np.isfinite(y).all(axis=-1))
    x, y = x[reachable], y[reachable]
    slope = compute_slope(transmission, along, x)
    exists = np.asarray(np.isfinite(slope).all(axis=(-2, -1)))
    values = np.linalg.svd(np.where(exists[:, None, None], slope, 0.0), compute_uv=False)
    typical = np.nan if transmission.is_constant else np.median(values[exists])
    largest = np.fmax(values[:, 0], typical)
    smallest = np.fmin(values[:, -1], typical)
    with np.errstate(divide='ignore', invalid='ignore'):
        condition = largest / smallest
    usable = exists if transmission.is_constant else exists & (condition <= CONDITION)
    if np.count_nonzero(usable) < 0.1 * count:
        raise ValueError(
            f'of {count} positions in {domain} only {np.count_nonzero(usable)} can be used'
        )
    return Subject(
        transmission, along, x[usable], y[usable], slope[usable], condition[usable], domain
    )


#: Round trips hold to this times the condition number, relative to the largest value.
ROUND_TRIP = 1e-12

#: Interfaces that round trips check; torques and forces are efforts.
ROUND_TRIPS = ('position', 'velocity', 'acceleration', 'effort')

#: Powers agree to this times the sum of the absolute terms.
POWER = 1e-12

#: Jacobians agree with central differences to this value, relative to their largest entry.
JACOBIAN = 1e-6

#: Accelerations agree with central differences of velocities to this value.
ACCELERATION = 1e-5

#: Number of samples for the comparison with a copy.
COPY_COUNT = 64


def check_api_version(subject: Subject) -> None:
    """The class states the contract version that it implements."""
    version = getattr(type(subject.transmission), 'api_version', None)
    assert version == API_VERSION, f'api_version is {version!r}, expected {API_VERSION}'


def check_docstring(subject: Subject) -> None:
    """The class has a docstring; its first line describes the type in one sentence."""
    first = (inspect.getdoc(type(subject.transmission)) or '').partition('\n')[0]
    own = type(subject.transmission).__doc__
    assert own, 'the class has no docstring'
    assert first.endswith('.'), f'the first line of the docstring is not a sentence: {first!r}'


def check_contract(subject: Subject) -> None:
    """The maps belong to the base class, and there is a number for each member."""
    t = subject.transmission
    names = list_overrides(type(t))
    assert not names, f'{", ".join(names)} must not be overridden: the base class derives them'
    assert t.n_actuators > 0, 'there are no actuators'
    n, m = t.n_actuators, t.n_joints
    for values, count in ((t.joint_reduction, m), (t.joint_offset, m), (t.actuator_reduction, n)):
        assert len(values) == count, f'reductions or offsets {values} are not {count}'


def make_conformance_inputs(
    subject: Subject, direction: Direction, interface: str
) -> dict[str, Array]:
    """Return repeatable values for an interface, with ``at`` and ``rate``."""
    at = subject.input_positions(direction)
    if INTERFACES[interface] is Quantity.POSITION:
        return {'values': at}
    values, rate = np.random.default_rng(1).normal(size=(2, *at.shape))
    return {'values': values, 'at': at, 'rate': rate}


def check_round_trip(subject: Subject) -> None:
    """A forward map followed by its inverse returns the values, if the output is not smaller."""
    for direction in DIRECTIONS:
        opposite = opposite_direction(direction)
        here, other = map(subject.input_positions, (direction, opposite))
        for interface in ROUND_TRIPS if here.shape[1] <= other.shape[1] else ():
            quantity = INTERFACES[interface]
            given = make_conformance_inputs(subject, direction, interface)
            there = subject.map(direction, interface, **given)
            if quantity is Quantity.POSITION:
                back = subject.map(opposite, interface, there)
            else:
                rate = given['rate']
                moving = subject.map(direction, 'velocity', rate, at=given['at'])
                back = subject.map(opposite, interface, there, at=other, rate=moving)
            if quantity is Quantity.ACCELERATION and not subject.transmission.is_constant:
                # The bias J' a' is part of the round trip and of its rounding errors.
                still = subject.map(direction, interface, 0.0 * rate, at=given['at'], rate=rate)
                factor, scale = 10.0, np.abs(there).sum(-1) + np.abs(still).sum(-1)
                gain = float(np.median(np.linalg.svd(subject.slope, compute_uv=False)))
                gain = gain if direction == subject.along else 1.0 / gain
                scale = scale * subject.condition / gain
                scale += np.abs(given['values']).sum(-1)
            else:
                factor, scale = 1.0, np.full(len(back), np.abs(given['values']).max())
            _require_small(
                np.abs(back - given['values']).max(axis=-1),
                factor * ROUND_TRIP * subject.condition * scale,
                f'{interface} {direction.replace("_", " ")} and back differs from the input',
                here,
            )


def check_solved_everywhere(subject: Subject) -> None:
    """Every reachable position of the domain is found by the inverse map."""
    report, x, y = MapReport(), subject.x, subject.y
    if subject.domain is not None and x.shape[1] == y.shape[1] == 1:
        # Also the ends: random positions rarely include them, and they are often dead centres.
        ends = np.array([subject.domain.lower, subject.domain.upper])
        x = np.append(ends, x, axis=0)
        y = np.append(subject.map(subject.along, 'position', ends), y, axis=0)
    solved = subject.map(opposite_direction(subject.along), 'position', y, report=report)
    lost = np.asarray(np.isnan(solved).any(axis=-1) & np.isfinite(y).all(axis=-1))
    assert not lost.any(), (
        f'{np.count_nonzero(lost)} of {len(lost)} positions are not found by the inverse map: '
        f'{ {reason: count for (_, reason), count in report.counts.items()} }, '
        f'the first at {x[lost][0].tolist()}'
    )


def check_jacobian(subject: Subject) -> None:
    """The velocity map is the derivative of the position map."""
    span = np.ptp(subject.x, axis=0) if subject.domain is None else subject.domain.span
    steps = np.multiply.outer((2e-5, 1e-5), span)
    differences, halved = np.empty((2, *subject.slope.shape))
    for result, widths in zip((differences, halved), steps, strict=True):
        for column, step in enumerate(np.diag(widths)):
            ahead = subject.map(subject.along, 'position', subject.x + step)
            behind = subject.map(subject.along, 'position', subject.x - step)
            result[:, :, column] = (ahead - behind) / (2.0 * step[column])
    largest = np.abs(subject.slope).max(axis=(-2, -1)) + np.median(np.abs(subject.slope))
    # Differences are conclusive only if two steps agree and stay in the domain.
    doubt = np.abs(halved - differences).max(axis=(-2, -1))
    is_conclusive = doubt <= JACOBIAN * largest
    assert is_conclusive.mean() > 0.9, 'the position map has no neighbours to compare with'
    _require_small(
        np.abs(subject.slope - halved).max(axis=(-2, -1))[is_conclusive],
        (JACOBIAN * largest)[is_conclusive],
        'the velocity map is not the derivative of the position map',
        subject.x[is_conclusive],
    )


def check_acceleration(subject: Subject) -> None:
    """The acceleration map is the derivative of the velocity map along a motion."""
    given = make_conformance_inputs(subject, subject.along, 'acceleration')
    x, rate = given['at'], given['rate']
    span = np.ptp(x, axis=0) if subject.domain is None else subject.domain.span
    step = 1e-5 / np.abs(rate / span).max(axis=-1, keepdims=True)
    ahead = subject.map(subject.along, 'velocity', rate, at=x + step * rate)
    behind = subject.map(subject.along, 'velocity', rate, at=x - step * rate)
    bias = (ahead - behind) / (2.0 * step)
    velocity_part = subject.map(subject.along, 'velocity', given['values'], at=x)
    expected = velocity_part + bias
    result = subject.map(subject.along, 'acceleration', **given)
    is_mapped = np.isfinite(expected).all(axis=-1) & np.isfinite(result).all(axis=-1)
    assert is_mapped.mean() > 0.9, 'the velocity map has no neighbours to compare with'
    speed = np.abs(rate / span).max(axis=-1)
    scale = np.abs(velocity_part).max(-1) + np.abs(bias).max(-1)
    scale = scale + speed * np.abs(subject.map(subject.along, 'velocity', rate, at=x)).max(-1)
    # The second derivative of a table jumps at its points; few steps cross a point.
    error = np.abs(result - expected).max(axis=-1)
    within = error[is_mapped] <= ACCELERATION * scale[is_mapped]
    assert within.mean() > 0.99, (
        'the acceleration map is not the derivative of the velocity map: '
        f'{np.count_nonzero(~within)} of {len(within)} differ, the first at '
        f'{x[is_mapped][~within][0].tolist()}'
    )


def check_power(subject: Subject) -> None:
    """Power is the same on both sides, in both directions."""
    for direction in DIRECTIONS:
        opposite = opposite_direction(direction)
        at, other = map(subject.input_positions, (direction, opposite))
        random = np.random.default_rng(2)
        rate, effort = random.normal(size=(2, *at.shape))
        if at.shape[1] > other.shape[1]:
            # Efforts outside the range of the smaller side are not mapped.
            effort = subject.map(opposite, 'effort', random.normal(size=other.shape), at=other)
        there_rate = subject.map(direction, 'velocity', rate, at=at)
        there_effort = subject.map(direction, 'effort', effort, at=at)
        here_terms, there_terms = rate * effort, there_rate * there_effort
        error = np.abs(here_terms.sum(axis=-1) - there_terms.sum(axis=-1))
        scale = np.abs(here_terms).sum(axis=-1) + np.abs(there_terms).sum(axis=-1)
        _require_small(error, POWER * scale, f'power is not conserved {direction}', at)


def _require_small(error: Array, allowed: Array, message: str, positions: Array) -> None:
    bad = ~(error <= allowed)  # NaN is bad
    if bad.any():
        with np.errstate(all='ignore'):
            worst = int(np.nanargmax(np.where(bad, np.nan_to_num(error / allowed, nan=np.inf), 0)))
        raise AssertionError(
            f'{message}: {np.count_nonzero(bad)} of {len(bad)} positions, the worst by '
            f'{error[worst]:.3g} (allowed {allowed[worst]:.3g}) at {positions[worst].tolist()}'
        )


def check_repeatable(subject: Subject) -> None:
    """Calls do not depend on earlier calls, and a pickled copy maps identically."""
    part, copy = subject.take_first(COPY_COUNT), pickle.loads(pickle.dumps(subject.transmission))
    for direction in DIRECTIONS:
        for interface in list_mapped_interfaces(direction):
            given = make_conformance_inputs(part, direction, interface)
            first = part.map(direction, interface, **given)
            part.map(direction, interface, **{name: value[::-1] for name, value in given.items()})
            again = part.map(direction, interface, **given)
            assert np.array_equal(first, again, equal_nan=True), (
                f'{interface} {direction}: the same call gives another result'
            )
            assert np.array_equal(copy.map(direction, interface, **given), first), (
                f'{interface} {direction}: the copy differs'
            )


#: Every check by name, in the order in which they run: the Jacobian before the checks that use it.
#: A check gets a :class:`Subject` and raises ``AssertionError``; its docstring becomes the test's.
CHECKS = {
    'api_version': check_api_version,
    'docstring': check_docstring,
    'contract': check_contract,
    'jacobian': check_jacobian,
    'round_trip': check_round_trip,
    'solved_everywhere': check_solved_everywhere,
    'acceleration': check_acceleration,
    'power': check_power,
    'repeatable': check_repeatable,
}


def check(subject: Subject, name: str) -> None:
    """
    Run one check; a warning of numpy or Python is also a failure.

    :param subject: See :func:`make_subject`.
    :param name: One of :data:`CHECKS`.
    :raises AssertionError: If the transmission does not pass.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        CHECKS[name](subject)


def failures(transmission: Transmission, *, count: int = COUNT) -> dict[str, str]:
    """
    Run every check and return the failures by name; empty if the transmission conforms.

    :param transmission: The transmission.
    :param count: Positions per check.
    :returns: The error message of each failed check.
    """
    subject = make_subject(transmission, count=count)
    messages = {}
    for name in CHECKS:
        try:
            check(subject, name)
        except Exception as error:  # an exception in a check is its failure
            messages[name] = f'{type(error).__name__}: {error}'
    return messages


class TransmissionConformance:
    """
    Every check as a test of pytest; this module does not import pytest.

    ::

        from transmission_bridge.conformance import TransmissionConformance

        class TestMyTransmission(TransmissionConformance):
            def make(self):
                return MyTransmission(length=0.2)

    The tests are ``test_<name>`` for each name of :data:`CHECKS`.
    """

    #: Positions per check.
    count: ClassVar[int] = COUNT

    def make(self) -> Transmission:
        """Return a new transmission to check."""
        raise NotImplementedError('a conformance test defines make()')


def _make_test(name: str) -> Callable[[TransmissionConformance], None]:
    def test(self: TransmissionConformance) -> None:
        check(make_subject(self.make(), count=self.count), name)

    test.__name__ = f'test_{name}'
    test.__qualname__ = f'TransmissionConformance.test_{name}'
    test.__doc__ = CHECKS[name].__doc__
    return test


for _name in CHECKS:
    setattr(TransmissionConformance, f'test_{_name}', _make_test(_name))
