# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The contract for mechanisms: one position map and its Jacobian."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import mechanisms as m
from mechanisms import Shear, Sine
import numpy as np
import pytest

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions import Domain, MapReport


def test_a_singular_line_within_the_domain_splits_it() -> None:
    """Beyond it positions belong to another branch, are counted so, and no guess leads there."""
    report, a = MapReport(), np.array([[0.1, 0.2], [0.0, 1.9]])
    found = Shear().actuator_to_joint('position', a, report=report)
    assert np.isfinite(found).all(axis=1).tolist() == [True, False]
    assert report.counts == {('', 'branch'): 1}
    q = np.array([1.9**3 / 3.0, 1.9])
    report.counts.clear()
    found = Shear().joint_to_actuator('position', q, guess=a[1], report=report)
    assert np.allclose(found, Shear().joint_to_actuator('position', q), rtol=0.0, atol=1e-12)
    assert np.allclose(Shear().actuator_to_joint('position', found), q, rtol=0.0, atol=1e-12)
    assert not report.counts
    # A position near those that are reached, but not reached, ends in a count, not in a loop.
    assert np.isnan(Shear().joint_to_actuator('position', [[6.0, -2.6]] * 3, report=report)).all()
    assert sum(report.counts.values()) == 3
    assert report.counts.keys() <= {('', why) for why in ('no_convergence', 'branch', 'domain')}


def test_what_is_on_the_branch_is_found_without_a_guess() -> None:
    """Also where a singular line splits the domain, the table of starts leads to the solution."""
    t, report = Shear(), MapReport()
    a = np.random.default_rng(0).uniform(-2.0, 2.0, size=(3_000, 2))
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
    closed = m.SineWithInverse().joint_to_actuator('acceleration', values, at=q, rate=rate)
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


@pytest.mark.parametrize(
    ('interface', 'options', 'name'),
    [
        ('velocity', {'at': np.ones((2, 1))}, 'at: expected shape'),
        ('acceleration', {'at': np.ones((3, 1)), 'rate': [1.0]}, 'rate'),
        ('position', {'guess': np.ones((2, 1))}, 'guess'),
    ],
)
def test_arrays_of_different_batches_are_refused(interface, options, name) -> None:
    """``at`` and ``rate`` are as long as the values, ``guess`` as the result."""
    with pytest.raises(ShapeError, match=name):
        Sine().actuator_to_joint(interface, np.ones((3, 1)), **options)


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

    class Odd(m.SineWithInverse):
        """Answers in another shape."""

    setattr(Odd, method, lambda self, *arguments: answer(*arguments))
    with pytest.raises(
        TransmissionError, match=rf'Odd\.{method} returns a wrong shape for positions'
    ):
        Odd()


def test_a_class_that_does_not_map_cannot_be_built() -> None:
    """One without its function, that reaches nothing, or that is a dead centre everywhere."""

    class Nothing(m.PositionDependentTransmission):
        """Gives nothing."""

        api_version = 2

    class Apart(Sine):
        """Never closes."""

        def evaluate(self, x):
            """Return NaN."""
            return np.sqrt(-1.0 - x * x), np.ones((len(x), 1, 1))

    class Tied(Nothing):
        """Two joints that only move together; rounding alone tells them apart."""

        def evaluate(self, x):
            """Return one sum twice."""
            total = x.sum(axis=-1)
            slope = np.tile([[1.0, 1.0], [0.3, 0.1 + 0.2]], (len(x), 1, 1))
            return np.stack([total, 0.3 * total], axis=-1), slope

    with pytest.raises(TransmissionError, match='evaluate'):
        Nothing(Domain('actuator', (0.0,), (1.0,)))
    with pytest.raises(TransmissionError, match='no position of the domain can be reached'):
        Apart()
    with pytest.raises(TransmissionError, match='every position of the domain is a dead centre'):
        Tied(Domain('actuator', (0.0, 0.0), (1.0, 1.0)))


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [((0.0,), (0.0,)), ((1.0,), (0.0,)), ((0.0,), (np.inf,)), ((np.nan,), (1.0,)), ((), ()),
     ((0.0, 0.0), (1.0,))],
)  # fmt: skip
def test_a_domain_is_a_box(lower, upper) -> None:
    """A range that is empty, endless or incomplete is refused."""
    with pytest.raises(TransmissionError):
        Domain('joint', lower, upper)
