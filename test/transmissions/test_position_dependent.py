# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The contract for mechanisms: one position map and its Jacobian."""

from __future__ import annotations

import warnings

import base_checks
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge import conformance
from transmission_bridge.errors import ShapeError, TransmissionError, UnsupportedInterfaceError
from transmission_bridge.transmissions import (
    Domain,
    MapReport,
    PositionDependentTransmission,
    Transmission,
)


def vectors(*components) -> np.ndarray:
    """Return numbers and arrays, one per row, as one vector per sample."""
    return np.stack(np.broadcast_arrays(*components), axis=-1)


def matrices(*rows) -> np.ndarray:
    """Return rows of numbers and arrays as one matrix per sample."""
    entries = np.broadcast_arrays(*(entry for row in rows for entry in row))
    return np.stack(entries, axis=-1).reshape(*entries[0].shape, len(rows), len(rows[0]))


class Mechanism(PositionDependentTransmission):
    """Base of the mechanisms below."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader) -> Transmission:
        """Not used here."""
        raise NotImplementedError


class Sine(Mechanism):
    """``a = sin(q)``, which turns back at a quarter turn; the other direction is solved."""

    def __init__(self, lower: float = -1.5, upper: float = 1.5) -> None:
        super().__init__(Domain('joint', (lower,), (upper,)))

    def evaluate(self, x):
        """Return ``a`` and ``da/dq``."""
        return np.sin(x), np.cos(x)[..., np.newaxis]


class SineWithRate(Sine):
    """The same with its second derivative given."""

    def slope_rate(self, x, rate):
        """Return ``d/dt da/dq``."""
        return (-np.sin(x) * rate)[..., np.newaxis]


class SineWithInverse(SineWithRate):
    """The same with its inverse given."""

    def inverse(self, y):
        """Return ``q``."""
        return np.arcsin(y)


class Shear(Mechanism):
    """Two actuators, two joints: ``q = (a1 + a2^3 / 3, a2 + sin(a1) / 2)``, singular at a line."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (-2.0, -2.0), (2.0, 2.0)))

    def evaluate(self, x):
        """Return ``q`` and ``dq/da``, with determinant ``1 - b^2 cos(a) / 2``."""
        a, b = x.T
        return (
            vectors(a + b * b * b / 3.0, b + 0.5 * np.sin(a)),
            matrices((1.0, b * b), (0.5 * np.cos(a), 1.0)),
        )


class TwoTendons(Mechanism):
    """Two antagonistic tendons on one joint: more actuators than joints."""

    def __init__(self) -> None:
        super().__init__(Domain('joint', (-1.0,), (1.0,)))

    def evaluate(self, x):
        """Return ``a`` and ``da/dq``."""
        q = x[..., 0]
        return (
            vectors(np.sin(q) + 0.2 * q, -np.sin(q) + 0.1 * q * q),
            matrices((np.cos(q) + 0.2,), (0.2 * q - np.cos(q),)),
        )


class Finger(Mechanism):
    """One motor bends two joints: fewer actuators than joints."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (0.0,), (2.0,)))

    def evaluate(self, x):
        """Return ``q`` and ``dq/da``."""
        a = x[..., 0]
        return vectors(a, 0.5 * a + 0.1 * a * a), matrices((1.0,), (0.5 + 0.2 * a,))


class Three(Mechanism):
    """Three actuators, three joints, by a rotation that depends on position."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (-1.0,) * 3, (1.0,) * 3))

    def evaluate(self, x):
        """Return ``q`` and ``dq/da``."""
        a, b, c = x.T
        return (
            vectors(a + 0.1 * b * c, b + 0.2 * a * a, c - 0.1 * a * b),
            matrices((1.0, 0.1 * c, 0.1 * b), (0.4 * a, 1.0, 0.0), (-0.1 * b, -0.1 * a, 1.0)),
        )


MECHANISMS = [Sine, SineWithRate, SineWithInverse, TwoTendons, Finger, Three]


@pytest.mark.parametrize('check', base_checks.ALL)
@pytest.mark.parametrize('mechanism', MECHANISMS)
def test_conformance_of_any_shape(mechanism, check: str) -> None:
    """The base derives every interface for square, wide and tall Jacobians of any size."""
    base_checks.check(conformance.subject_of(mechanism(), count=2000), check)


def test_a_singular_line_within_the_domain_splits_it() -> None:
    """Beyond a singular line positions belong to another branch and are counted so."""
    report = MapReport()
    a = np.array([[0.1, 0.2], [0.0, 1.9]])
    q = Shear().actuator_to_joint('position', a, report=report)
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[1]).all()
    assert report.counts == {('', 'branch'): 1}


def test_a_guess_that_leads_to_another_branch_is_not_followed() -> None:
    """What lies beyond the singular line is no answer while there is one on the branch."""
    report = MapReport()
    a = np.array([0.0, 1.9])
    q = np.array([a[1] ** 3 / 3.0, a[1]])
    found = Shear().joint_to_actuator('position', q, guess=a, report=report)
    assert np.allclose(found, Shear().joint_to_actuator('position', q), rtol=0.0, atol=1e-12)
    assert np.allclose(Shear().actuator_to_joint('position', found), q, rtol=0.0, atol=1e-12)
    assert not report.counts


def test_outside_the_domain_is_nan_and_counted_by_sample() -> None:
    """Each unreachable sample is counted once, whatever interface asks for it."""
    report = MapReport()
    t = Sine()
    q = np.array([[0.5], [1.6], [np.nan], [-9.0]])
    assert np.isnan(t.joint_to_actuator('position', q, report=report)[1:]).all()
    assert report.counts == {('', 'domain'): 2}
    t.joint_to_actuator('velocity', np.ones((4, 1)), at=q, report=report)
    assert report.counts == {('', 'domain'): 4}
    a = np.array([[0.5], [1.2], [np.sin(1.55)]])
    assert np.isnan(t.actuator_to_joint('position', a, report=report)).tolist() == [
        [False],
        [True],
        [True],
    ]
    assert report.counts == {('', 'domain'): 6}
    for interface in ('velocity', 'acceleration', 'effort'):
        result = t.actuator_to_joint(interface, np.ones((3, 1)), at=a, rate=np.ones((3, 1)))
        assert np.isnan(result).tolist() == [[False], [True], [True]]
    assert np.isnan(t.jacobian(a)[1:]).all()


def test_no_convergence_is_nan_and_counted() -> None:
    """A position near those that are reached, but not reached, ends in a count, not in a loop."""
    report = MapReport()
    result = Shear().joint_to_actuator('position', [[6.0, -2.6]] * 3, report=report)
    assert np.isnan(result).all()
    assert sum(report.counts.values()) == 3
    assert report.counts.keys() <= {('', why) for why in ('no_convergence', 'branch', 'domain')}


def test_what_is_on_the_branch_is_found_without_a_guess() -> None:
    """Also where a singular line splits the domain, the table of starts leads to the solution."""
    t, report = Shear(), MapReport()
    a = np.random.default_rng(0).uniform(-2.0, 2.0, size=(20_000, 2))
    q = t.actuator_to_joint('position', a)
    q = q[np.isfinite(q).all(axis=-1)]
    found = t.joint_to_actuator('position', q, report=report)
    lost = np.isnan(found).any(axis=-1)
    assert np.count_nonzero(lost) == sum(report.counts.values())
    assert lost.mean() < 0.01
    assert np.abs(t.evaluate(found[~lost])[0] - q[~lost]).max() <= 1e-12


def test_a_guess_is_the_start_and_leaves_no_trace() -> None:
    """The same call gives the same answer whatever was asked before; a guess may be NaN."""
    t = Shear()
    q = t.actuator_to_joint('position', [0.3, -0.4])
    first = t.joint_to_actuator('position', q)
    for guess in ([0.3, -0.4], [0.0, 0.0], [np.nan, 0.0], [50.0, 0.0]):
        assert np.allclose(
            t.joint_to_actuator('position', q, guess=guess), [0.3, -0.4], rtol=0, atol=1e-13
        )
    assert np.array_equal(t.joint_to_actuator('position', q), first)


@given(
    st.lists(
        st.tuples(st.floats(-1.4, 1.4), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)),
        min_size=1,
        max_size=5,
    )
)
def test_the_default_rate_of_the_jacobian(samples) -> None:
    """Accelerations by the numerical rate agree with those by the closed one, as documented."""
    q, rate, values = (np.array(column)[:, np.newaxis] for column in zip(*samples, strict=True))
    numerical = Sine().joint_to_actuator('acceleration', values, at=q, rate=rate)
    closed = SineWithRate().joint_to_actuator('acceleration', values, at=q, rate=rate)
    allowed = 1e-12 * (np.abs(values) + rate * rate)
    assert (np.abs(numerical - closed) <= allowed).all()


def test_a_state_is_located_and_counted_once() -> None:
    """Position, velocity and effort of one instant are one sample in the report."""
    t, ones = Sine(), np.ones(1)
    for value, reasons in ((0.5, {}), (1.6, {('', 'domain'): 1}), (np.nan, {})):
        report = MapReport()
        state = t.map_state('joint_to_actuator', np.array([value]), ones, ones, report=report)
        assert all(np.isfinite(each).all() == (value == 0.5) for each in state)
        assert report.counts == reasons
        report.counts.clear()
        state = t.map_state('actuator_to_joint', np.array([value]), ones, ones, report=report)
        assert report.counts == reasons
    top = np.array([0.5 * np.pi])
    t = Sine(-0.5 * np.pi, 0.5 * np.pi)
    a, velocity, effort = t.map_state('joint_to_actuator', top, ones, ones, report=report)
    assert (a[0], abs(velocity[0]) < 1e-15, np.isnan(effort[0])) == (1.0, True, True)
    with pytest.raises(ShapeError, match='effort'):
        t.map_state('joint_to_actuator', top, ones, np.ones(2))
    with pytest.raises(ShapeError, match='guess'):
        t.map_state('actuator_to_joint', top, ones, ones, guess=np.ones(2))


def test_results_are_the_caller_s_to_change() -> None:
    """What is returned is new and writable, also where it is NaN or the guess itself."""
    t = Shear()
    q = t.actuator_to_joint('position', [0.3, -0.4])
    guess = t.joint_to_actuator('position', q)
    for target in (q, q * np.nan, q + 50.0):
        result = t.joint_to_actuator('position', target, guess=guess)
        assert not np.shares_memory(result, guess)
        result[...] = 0.0


def test_no_warning_leaves_the_stream() -> None:
    """Overflow, NaN and division by zero inside a mechanism stay inside."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for value in (np.nan, np.inf, -np.inf, 1e308, 5e-324):
            for interface in ('position', 'velocity', 'acceleration', 'effort'):
                for t in (Sine(), Shear(), Three()):
                    n = t.n_joints
                    array = np.full((2, n), value)
                    t.actuator_to_joint(interface, array, at=array, rate=array)
                    t.joint_to_actuator(interface, array, at=array, rate=array)


def test_arrays_of_different_batches_are_refused() -> None:
    """``at`` and ``rate`` are as long as the values, ``guess`` as the result."""
    t = Sine()
    with pytest.raises(ShapeError, match='at: expected shape'):
        t.joint_to_actuator('velocity', np.ones((3, 1)), at=np.ones((2, 1)))
    with pytest.raises(ShapeError, match='rate'):
        t.joint_to_actuator('acceleration', np.ones((3, 1)), at=np.ones((3, 1)), rate=[1.0])
    with pytest.raises(ShapeError, match='guess'):
        t.actuator_to_joint('position', np.ones((3, 1)), guess=np.ones((2, 1)))
    with pytest.raises(UnsupportedInterfaceError):
        t.joint_to_actuator('absolute_position', [0.0])


@pytest.mark.parametrize(
    ('method', 'answer'),
    [
        ('evaluate', lambda x: (np.sin(x), np.cos(x))),
        ('evaluate', lambda x: (np.sin(x)[:1], np.cos(x)[..., np.newaxis])),
        ('evaluate', lambda x: (np.sin(x), np.ones((len(x), 2, 1)))),
        ('inverse', lambda y: np.arcsin(y)[:, 0]),
        ('slope_rate', lambda x, rate: np.sin(x) * rate),
    ],
)
def test_answers_that_do_not_fit_are_refused(method, answer) -> None:
    """A wrong shape is found when the transmission is built, not in the stream."""

    class Odd(SineWithInverse):
        """Answers in another shape."""

    setattr(Odd, method, lambda self, *arguments: answer(*arguments))
    with pytest.raises(
        TransmissionError, match=rf'Odd\.{method} returns a wrong shape for positions'
    ):
        Odd()


def test_a_plugin_without_its_function_cannot_be_built() -> None:
    """A class that does not say how it maps is refused by name."""

    class Nothing(Mechanism):
        """Gives nothing."""

    with pytest.raises(TransmissionError, match='evaluate'):
        Nothing(Domain('actuator', (0.0,), (1.0,)))


def test_a_mechanism_that_reaches_nothing_is_refused() -> None:
    """Dimensions that never close are an error when the transmission is built."""

    class Apart(Sine):
        """Never closes."""

        def evaluate(self, x):
            """Return NaN."""
            return np.sqrt(-1.0 - x * x), np.ones((len(x), 1, 1))

    with pytest.raises(TransmissionError, match='no position of the domain can be reached'):
        Apart()


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [((0.0,), (0.0,)), ((1.0,), (0.0,)), ((0.0,), (np.inf,)), ((np.nan,), (1.0,)), ((), ()),
     ((0.0, 0.0), (1.0,))],
)  # fmt: skip
def test_a_domain_is_a_box(lower, upper) -> None:
    """A range that is empty, endless or incomplete is refused."""
    with pytest.raises(TransmissionError):
        Domain('joint', lower, upper)
