# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The contract for mechanisms: one position map and its Jacobian."""

from __future__ import annotations

from collections import Counter
import warnings

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge import conformance
from transmission_bridge.errors import ShapeError, TransmissionError, UnsupportedInterfaceError
from transmission_bridge.transmissions import (
    Domain,
    matrix_of,
    PositionDependentTransmission,
    Transmission,
    vector_of,
)


class Mechanism(PositionDependentTransmission):
    """Base of the mechanisms below."""

    api_version = 1

    @classmethod
    def from_spec(cls, reader) -> Transmission:
        """Not used here."""
        raise NotImplementedError


class Sine(Mechanism):
    """``a = sin(q)``, which turns back at a quarter turn; the other direction is solved."""

    def __init__(self, lower: float = -1.5, upper: float = 1.5) -> None:
        super().__init__(Domain('joint', (lower,), (upper,)))

    def actuator_position(self, joint_position):
        """Return ``a``."""
        return np.sin(joint_position)

    def actuator_jacobian(self, joint_position):
        """Return ``da/dq``."""
        return np.cos(joint_position)[..., np.newaxis]


class SineWithRate(Sine):
    """The same with its second derivative given."""

    def actuator_jacobian_rate(self, joint_position, joint_velocity):
        """Return ``d/dt da/dq``."""
        return (-np.sin(joint_position) * joint_velocity)[..., np.newaxis]


class Shear(Mechanism):
    """Two actuators, two joints: ``q = (a1 + a2^3 / 3, a2 + sin(a1) / 2)``, singular at a line."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (-2.0, -2.0), (2.0, 2.0)))

    def joint_position(self, actuator_position):
        """Return ``q``."""
        a, b = actuator_position[..., 0], actuator_position[..., 1]
        return vector_of(a + b * b * b / 3.0, b + 0.5 * np.sin(a))

    def joint_jacobian(self, actuator_position):
        """Return ``dq/da``, with determinant ``1 - b^2 cos(a) / 2``."""
        a, b = actuator_position[..., 0], actuator_position[..., 1]
        return matrix_of((1.0, b * b), (0.5 * np.cos(a), 1.0))


class TwoTendons(Mechanism):
    """Two antagonistic tendons on one joint: more actuators than joints."""

    def __init__(self) -> None:
        super().__init__(Domain('joint', (-1.0,), (1.0,)))

    def actuator_position(self, joint_position):
        """Return ``a``."""
        q = joint_position[..., 0]
        return vector_of(np.sin(q) + 0.2 * q, -np.sin(q) + 0.1 * q * q)

    def actuator_jacobian(self, joint_position):
        """Return ``da/dq``."""
        q = joint_position[..., 0]
        return matrix_of((np.cos(q) + 0.2,), (0.2 * q - np.cos(q),))


class Finger(Mechanism):
    """One motor bends two joints: fewer actuators than joints."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (0.0,), (2.0,)))

    def joint_position(self, actuator_position):
        """Return ``q``."""
        a = actuator_position[..., 0]
        return vector_of(a, 0.5 * a + 0.1 * a * a)

    def joint_jacobian(self, actuator_position):
        """Return ``dq/da``."""
        a = actuator_position[..., 0]
        return matrix_of((1.0,), (0.5 + 0.2 * a,))


class Three(Mechanism):
    """Three actuators, three joints, by a rotation that depends on position."""

    def __init__(self) -> None:
        super().__init__(Domain('actuator', (-1.0,) * 3, (1.0,) * 3))

    def joint_position(self, actuator_position):
        """Return ``q``."""
        a, b, c = (actuator_position[..., i] for i in range(3))
        return vector_of(a + 0.1 * b * c, b + 0.2 * a * a, c - 0.1 * a * b)

    def joint_jacobian(self, actuator_position):
        """Return ``dq/da``."""
        a, b, c = (actuator_position[..., i] for i in range(3))
        return matrix_of((1.0, 0.1 * c, 0.1 * b), (0.4 * a, 1.0, 0.0), (-0.1 * b, -0.1 * a, 1.0))


MECHANISMS = [Sine, SineWithRate, TwoTendons, Finger, Three]


@pytest.mark.parametrize('check', conformance.CHECKS)
@pytest.mark.parametrize('mechanism', MECHANISMS)
def test_conformance_of_any_shape(mechanism, check: str) -> None:
    """The base derives every interface for square, wide and tall Jacobians of any size."""
    conformance.check(conformance.subject_of(mechanism(), count=2000), check)


def test_a_singular_line_within_the_domain_splits_it() -> None:
    """Beyond a singular line positions belong to another branch and are counted so."""
    counts: Counter[str] = Counter()
    a = np.array([[0.1, 0.2], [0.0, 1.9]])
    q = Shear().actuator_to_joint('position', a, report=counts)
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[1]).all()
    assert counts == {'branch': 1}


def test_a_solution_on_another_branch_is_nan_and_counted() -> None:
    """A guess that leads beyond the singular line gives NaN, reason branch."""
    counts: Counter[str] = Counter()
    a = np.array([0.0, 1.9])
    q = np.array([a[1] ** 3 / 3.0, a[1]])
    assert np.isnan(Shear().joint_to_actuator('position', q, guess=a, report=counts)).all()
    assert counts == {'branch': 1}


def test_outside_the_domain_is_nan_and_counted_by_sample() -> None:
    """Each unreachable sample is counted once, whatever interface asks for it."""
    counts: Counter[str] = Counter()
    t = Sine()
    q = np.array([[0.5], [1.6], [np.nan], [-9.0]])
    assert np.isnan(t.joint_to_actuator('position', q, report=counts)[1:]).all()
    assert counts == {'domain': 2}
    t.joint_to_actuator('velocity', np.ones((4, 1)), at=q, report=counts)
    assert counts == {'domain': 4}
    a = np.array([[0.5], [1.2], [np.sin(1.55)]])
    assert np.isnan(t.actuator_to_joint('position', a, report=counts)).tolist() == [
        [False],
        [True],
        [True],
    ]
    assert counts == {'domain': 6}
    for interface in ('velocity', 'acceleration', 'effort'):
        result = t.actuator_to_joint(interface, np.ones((3, 1)), at=a, rate=np.ones((3, 1)))
        assert np.isnan(result).tolist() == [[False], [True], [True]]
    assert np.isnan(t.jacobian(a)[1:]).all()


def test_at_a_singularity_only_what_divides_by_it_is_nan() -> None:
    """At the turning point the actuator's velocity is zero, the joint's is unknown."""
    t = Sine(-0.5 * np.pi, 0.5 * np.pi)
    top, counts = np.array([0.5 * np.pi]), Counter()
    assert abs(t.joint_to_actuator('velocity', [3.0], at=top, report=counts)[0]) < 1e-15
    assert counts == {}
    assert np.isnan(t.joint_to_actuator('effort', [3.0], at=top, report=counts)).all()
    assert counts == {'singular': 1}
    assert np.isnan(t.actuator_to_joint('velocity', [3.0], at=[1.0], report=counts)).all()
    assert sum(counts.values()) == 2
    near = np.array([0.5 * np.pi - 1e-7])
    assert np.isfinite(t.joint_to_actuator('effort', [3.0], at=near)).all()


def test_the_condition_limit_is_the_class_s() -> None:
    """A plugin states how singular its mechanism may be."""

    class Careful(Sine):
        """The same, given up sooner."""

        condition_limit = 5.0

    assert np.isfinite(Sine().joint_to_actuator('effort', [1.0], at=[1.49])).all()
    assert np.isnan(Careful().joint_to_actuator('effort', [1.0], at=[1.49])).all()


def test_no_convergence_is_nan_and_counted() -> None:
    """A position near those that are reached, but not reached, ends in a count, not in a loop."""
    counts: Counter[str] = Counter()
    result = Shear().joint_to_actuator('position', [[6.0, -2.6]] * 3, report=counts)
    assert np.isnan(result).all()
    assert sum(counts.values()) == 3
    assert counts.keys() <= {'no_convergence', 'branch', 'domain'}


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
    for value, reasons in ((0.5, {}), (1.6, {'domain': 1}), (np.nan, {})):
        counts: Counter[str] = Counter()
        state = t.map_state('joint_to_actuator', np.array([value]), ones, ones, report=counts)
        assert all(np.isfinite(each).all() == (value == 0.5) for each in state)
        assert counts == reasons
        counts.clear()
        state = t.map_state('actuator_to_joint', np.array([value]), ones, ones, report=counts)
        assert counts == reasons
    top = np.array([0.5 * np.pi])
    t = Sine(-0.5 * np.pi, 0.5 * np.pi)
    a, velocity, effort = t.map_state('joint_to_actuator', top, ones, ones, report=counts)
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


def test_a_batch_of_any_shape_and_an_empty_one() -> None:
    """Leading axes come back, also when there is nothing in them."""
    t = Shear()
    assert t.actuator_to_joint('position', np.zeros((2, 3, 4, 2))).shape == (2, 3, 4, 2)
    assert t.actuator_to_joint('position', np.zeros((0, 2))).shape == (0, 2)
    assert t.jacobian(np.zeros((5, 0, 2))).shape == (5, 0, 2, 2)
    assert t.jacobian(np.zeros(2)).shape == (2, 2)


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


def test_velocity_without_position_is_refused_by_name() -> None:
    """The error says what is missing."""
    with pytest.raises(TransmissionError, match='cannot map velocity without at='):
        Sine().actuator_to_joint('velocity', [1.0])
    with pytest.raises(TransmissionError, match='cannot map acceleration without rate='):
        Sine().actuator_to_joint('acceleration', [1.0], at=[0.0])


def test_a_plugin_that_gives_no_map_is_refused() -> None:
    """A class without map or Jacobian is an error when it is built, not in the stream."""

    class Nothing(Mechanism):
        """Gives nothing."""

    class NoMap(Mechanism):
        """Gives a Jacobian without its map."""

        def joint_jacobian(self, actuator_position):
            """Return ones."""
            return np.ones((*actuator_position.shape, 1))

    for cls in (Nothing, NoMap):
        with pytest.raises(TransmissionError, match='gives no position map'):
            cls(Domain('actuator', (0.0,), (1.0,)))


def test_a_plugin_whose_maps_do_not_fit_is_refused() -> None:
    """A wrong shape is found when the transmission is built."""

    class Flat(Sine):
        """Forgets an axis of the Jacobian."""

        def actuator_jacobian(self, joint_position):
            """Return the wrong shape."""
            return np.cos(joint_position)

    class Wrong(Sine):
        """States its domain in the wrong space."""

        def __init__(self) -> None:
            PositionDependentTransmission.__init__(self, Domain('actuator', (-1.0,), (1.0,)))

    with pytest.raises(TransmissionError, match='jacobian map answers'):
        Flat()
    with pytest.raises(TransmissionError, match='its domain is in the other space'):
        Wrong()


def test_a_mechanism_that_reaches_nothing_is_refused() -> None:
    """Dimensions that never close are an error when the transmission is built."""

    class Apart(Sine):
        """Never closes."""

        def actuator_position(self, joint_position):
            """Return NaN."""
            return np.sqrt(-1.0 - joint_position * joint_position)

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
