# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The contract of all types with a varying ratio: their maps, states, guesses and domains."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from zoo import mechanisms as m
from zoo.mechanisms import Shear, Sine, single

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions import Domain, MapReport
from transmission_bridge.transmissions.interfaces import DIRECTIONS
from transmission_bridge.transmissions.robot_map import RobotMap


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
    assert np.abs(m.evaluate(t, found[~lost])[0] - q[~lost]).max() <= 1e-12


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


def test_a_state_is_located_and_counted_once() -> None:
    """Position, velocity and effort of one instant are one sample in the report."""

    def map_state(t, direction, value):
        report = MapReport()
        rows = np.array([[value], [1.0], [1.0]])
        state = RobotMap(single(t), direction).map_state(rows, report)[:, 0].copy()
        return state, dict(report.counts)

    for value, reasons in ((0.5, {}), (1.6, {('t', 'domain'): 1}), (np.nan, {})):
        for direction in DIRECTIONS:
            state, counts = map_state(Sine(), direction, value)
            assert np.isfinite(state).tolist() == [value == 0.5] * 3
            assert counts == reasons
    t = Sine(-0.5 * np.pi, 0.5 * np.pi)
    state, counts = map_state(t, 'joint_to_actuator', 0.5 * np.pi)
    assert (state[0], abs(state[1]) < 1e-15, np.isnan(state[2])) == (1.0, True, True)
    assert counts == {('t', 'singular'): 1}


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


def test_a_mechanism_that_does_not_move_cannot_be_built() -> None:
    """One that reaches nothing, or that is a dead centre everywhere, is an error."""

    class Apart(Sine):
        """Never closes."""

        @staticmethod
        def actuator_position(q, p):
            """Return NaN."""
            return ca.sqrt(-1.0 - q * q)

    class Tied(Shear):
        """Two joints that only move together; rounding alone tells them apart."""

        @staticmethod
        def joint_position(a, p):
            """Return one sum twice."""
            return a[0] + a[1], 0.3 * a[0] + (0.1 + 0.2) * a[1]

    with pytest.raises(TransmissionError, match='no position of the domain can be reached'):
        Apart()
    with pytest.raises(TransmissionError, match='every position of the domain is a dead centre'):
        Tied()


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [((0.0,), (0.0,)), ((1.0,), (0.0,)), ((0.0,), (np.inf,)), ((np.nan,), (1.0,)), ((), ()),
     ((0.0, 0.0), (1.0,))],
)  # fmt: skip
def test_a_domain_is_a_box(lower, upper) -> None:
    """A range that is empty, endless or incomplete is refused."""
    with pytest.raises(TransmissionError):
        Domain('joint', lower, upper)
