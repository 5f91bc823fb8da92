# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linear transmissions: the classical three by their laws, and the class that plugins use."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions import (
    DifferentialTransmission,
    FourBarLinkageTransmission,
    LinearTransmission,
    SimpleTransmission,
)
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of, Quantity

EPS = np.finfo(float).eps
RATIOS = st.floats(1e-3, 1e4) | st.floats(-1e4, -1e-3)
OFFSETS = st.just(0.0) | st.floats(-1e3, 1e3)
# Away from subnormal numbers, which have no relative precision.
NUMBERS = st.just(0.0) | st.floats(1e-60, 1e6) | st.floats(-1e6, -1e-60)
SPECIALS = st.sampled_from([np.nan, np.inf, -np.inf])


class Matrix(LinearTransmission):
    """A linear transmission of any matrix."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build an identity, as nothing else is described."""
        return cls(np.eye(len(reader.spec.joints)))


#: Which input each output depends on, by hand: rows are outputs.
FULL = [[1, 1], [1, 1]]
DEPENDS = {
    (SimpleTransmission, 'rate', 'actuator_to_joint'): [[1]],
    (SimpleTransmission, 'rate', 'joint_to_actuator'): [[1]],
    (SimpleTransmission, 'effort', 'actuator_to_joint'): [[1]],
    (SimpleTransmission, 'effort', 'joint_to_actuator'): [[1]],
    (DifferentialTransmission, 'rate', 'actuator_to_joint'): FULL,
    (DifferentialTransmission, 'rate', 'joint_to_actuator'): FULL,
    (DifferentialTransmission, 'effort', 'actuator_to_joint'): FULL,
    (DifferentialTransmission, 'effort', 'joint_to_actuator'): FULL,
    (FourBarLinkageTransmission, 'rate', 'actuator_to_joint'): [[1, 0], [1, 1]],
    (FourBarLinkageTransmission, 'rate', 'joint_to_actuator'): [[1, 0], [1, 1]],
    (FourBarLinkageTransmission, 'effort', 'actuator_to_joint'): [[1, 1], [0, 1]],
    (FourBarLinkageTransmission, 'effort', 'joint_to_actuator'): [[1, 1], [0, 1]],
}
MAPS = [(direction, name) for direction in DIRECTIONS for name in interfaces_of(direction)]


@st.composite
def transmissions(draw):
    """Draw one of the classical three."""
    cls = draw(
        st.sampled_from([SimpleTransmission, DifferentialTransmission, FourBarLinkageTransmission])
    )
    if cls is SimpleTransmission:
        return cls(draw(RATIOS), draw(OFFSETS))
    ar, jr, off = (draw(st.tuples(each, each)) for each in (RATIOS, RATIOS, OFFSETS))
    return cls(ar, jr, off)


def vectors(transmission, elements=NUMBERS):
    """Return a strategy for one sample; the classical three have as many joints as actuators."""
    n = transmission.n_joints
    return st.lists(elements, min_size=n, max_size=n).map(lambda values: np.array(values))


def back_of(direction):
    """Return the other direction."""
    return DIRECTIONS[1 - DIRECTIONS.index(direction)]


@given(transmissions(), st.data())
def test_there_and_back(transmission, data):
    """A value mapped there and back is itself, to a few roundings of the terms on the way."""
    x = data.draw(vectors(transmission))
    for direction in DIRECTIONS:
        for interface in interfaces_of('joint_to_actuator'):
            there = getattr(transmission, direction)(interface, x)
            back = getattr(transmission, back_of(direction))(interface, there)
            kind = 'effort' if interface in ('effort', 'torque', 'force') else 'velocity'
            n = transmission.n_joints
            # The maps' own coefficients, from unit velocities and efforts.
            gain = abs(getattr(transmission, direction)(kind, np.eye(n)).T)
            gain_back = abs(getattr(transmission, back_of(direction))(kind, np.eye(n)).T)
            offset = abs(np.array(transmission.joint_offset)) * (interface == 'position')
            if direction == 'actuator_to_joint':
                terms = gain_back @ (gain @ abs(x) + 2 * offset)
            else:
                terms = gain_back @ (gain @ (abs(x) + offset)) + offset
            assert (abs(back - x) <= 8 * EPS * terms).all()


@given(transmissions(), st.data())
def test_power_is_conserved(transmission, data):
    """Effort times velocity is the same on both sides, whichever way both are mapped."""
    rate, effort = data.draw(vectors(transmission)), data.draw(vectors(transmission))
    for direction in DIRECTIONS:
        function = getattr(transmission, direction)
        there_rate, there_effort = function('velocity', rate), function('effort', effort)
        n = transmission.n_joints
        # The sum over all products of terms, not of rounded sums, in which terms may cancel.
        terms = (abs(function('effort', np.eye(n))).T @ abs(effort)) @ (
            abs(function('velocity', np.eye(n))).T @ abs(rate)
        ) + abs(rate) @ abs(effort)
        assert abs(there_rate @ there_effort - rate @ effort) <= 16 * EPS * terms


@given(transmissions(), st.data())
def test_unknown_values_touch_what_depends_on_them(transmission, data):
    """NaN and inf reach exactly the outputs that depend on them by the formulas."""
    x = data.draw(vectors(transmission, NUMBERS | SPECIALS))
    for direction, interface in MAPS:
        kind = 'effort' if interface in ('effort', 'torque', 'force') else 'rate'
        depends = np.array(DEPENDS[type(transmission), kind, direction], dtype=bool)
        function = getattr(transmission, direction)
        with np.errstate(invalid='ignore'):
            result = function(interface, x)
        known = np.isfinite(x)
        is_finite = ~(depends & ~known).any(axis=1)
        assert (np.isfinite(result) == is_finite).all()
        filled = function(interface, np.where(known, x, 12.5))
        assert (result[is_finite] == filled[is_finite]).all()


@given(transmissions(), st.lists(st.integers(0, 3), max_size=3), st.data())
def test_a_batch_equals_a_loop(transmission, leading, data):
    """Every batch shape gives what its samples give one by one, to the last bit."""
    n = transmission.n_joints
    size = int(np.prod(leading)) * n
    flat = data.draw(st.lists(NUMBERS | SPECIALS, min_size=size, max_size=size))
    x = np.array(flat, dtype=float).reshape(*leading, n)
    for direction, interface in MAPS:
        function = getattr(transmission, direction)
        with np.errstate(invalid='ignore'):
            batch = function(interface, x)
            loop = [function(interface, row) for row in x.reshape(-1, n)]
        assert batch.shape == x.shape
        assert batch.dtype == np.float64
        expected = np.array(loop, dtype=float).reshape(x.shape)
        assert np.array_equal(batch, expected, equal_nan=True)


@given(transmissions(), st.data())
def test_jacobian_is_the_velocity_map(transmission, data):
    """The Jacobian is constant, and its product with a velocity is the velocity map."""
    n = transmission.n_joints
    jacobian = transmission.jacobian(data.draw(vectors(transmission)))
    assert (transmission.actuator_to_joint('velocity', np.eye(n)) == jacobian.T).all()
    batch = transmission.jacobian(np.zeros((2, 0, 3, n)))
    assert batch.shape == (2, 0, 3, n, n)
    jacobian[...] = 0.0
    assert transmission.jacobian(np.zeros(n)).any()


@given(transmissions(), st.data())
def test_acceleration_maps_as_velocity_and_position_with_offset(transmission, data):
    """Acceleration has velocity's map; position is it with the offset on the joints' side."""
    x = data.draw(vectors(transmission))
    offset = np.array(transmission.joint_offset)
    for direction in DIRECTIONS:
        function = getattr(transmission, direction)
        assert (function('acceleration', x) == function('velocity', x)).all()
    forward, back = transmission.actuator_to_joint, transmission.joint_to_actuator
    assert (forward('position', x) == forward('velocity', x) + offset).all()
    assert (forward('absolute_position', x) == forward('position', x)).all()
    assert (back('position', x) == back('velocity', x - offset)).all()


@given(transmissions(), st.data())
def test_arguments_stay_and_instances_pickle(transmission, data):
    """Arguments are not changed or kept; a pickled copy computes the same and reads the same."""
    x = data.draw(vectors(transmission))
    copy = pickle.loads(pickle.dumps(transmission))
    assert repr(copy) == repr(transmission)
    for name in ('actuator_reduction', 'joint_reduction', 'joint_offset'):
        assert getattr(copy, name) == getattr(transmission, name)
    for direction, interface in MAPS:
        before = x.copy()
        result = getattr(transmission, direction)(interface, x)
        assert (x == before).all()
        assert not np.shares_memory(x, result)
        assert (result == getattr(copy, direction)(interface, x)).all()


def test_integers_and_lists_are_numbers():
    """Integers and lists are taken as the floats that they are."""
    transmission = DifferentialTransmission((50, -50), (2, -2), (0.5, -0.5))
    expected = transmission.actuator_to_joint('position', np.array([100.0, 20.0]))
    for given_values in ([100, 20], (100, 20.0), np.array([100, 20]), np.float32([100, 20])):
        result = transmission.actuator_to_joint('position', given_values)
        assert result.dtype == np.float64
        assert (result == expected).all()


@pytest.mark.parametrize('shape', [(), (1,), (3,), (2, 3), (0,), (2, 0)])
def test_another_last_axis_is_refused(shape):
    """An array whose last axis is not the number of members is refused, with both shapes."""
    transmission = DifferentialTransmission((1.0, 1.0), (1.0, 1.0))
    for function in (
        lambda x: transmission.actuator_to_joint('position', x),
        lambda x: transmission.joint_to_actuator('effort', x),
        transmission.jacobian,
    ):
        with pytest.raises(ShapeError) as caught:
            function(np.zeros(shape))
        assert caught.value.found == shape
        assert '2' in caught.value.expected


@pytest.mark.parametrize(
    ('arguments', 'error'),
    [
        (([[np.nan]],), TransmissionError),
        (([[np.inf]],), TransmissionError),
        (([[1.0]], [np.nan]), TransmissionError),
        (([[0.0]],), TransmissionError),
        (([[1.0, 2.0], [2.0, 4.0]],), TransmissionError),
        (([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],), TransmissionError),
        (([1.0, 2.0],), ShapeError),
        ((np.zeros((0, 2)),), ShapeError),
        (([[1.0]], [0.0, 0.0]), ShapeError),
    ],
)
def test_a_matrix_that_is_no_transmission_is_refused(arguments, error):
    """Numbers that are not finite, lost rank, and shapes that do not fit are refused."""
    with pytest.raises(error):
        Matrix(*arguments)


def test_an_inverse_of_another_shape_is_refused():
    """An inverse given in closed form has to have the transposed shape."""
    with pytest.raises(ShapeError):
        Matrix([[1.0, 0.0], [0.0, 1.0]], inverse=[[1.0]])


@pytest.mark.parametrize('cls', [DifferentialTransmission, FourBarLinkageTransmission])
@pytest.mark.parametrize('count', [0, 1, 3])
def test_another_number_of_ratios_is_refused(cls, count):
    """A pair takes two of each number, and the error says how many it was given."""
    two, other = (1.0, 1.0), (1.0,) * count
    for arguments in ((other, two, two), (two, other, two)):
        with pytest.raises(TransmissionError) as caught:
            cls(*arguments)
        assert caught.value.expected == 'finite numbers other than zero, 2 in all'
        assert caught.value.found.startswith(str(count))
    with pytest.raises(ShapeError, match=r'^joint_offset: expected shape \(2,\)'):
        cls(two, two, other)


def test_a_matrix_is_copied_and_cannot_be_changed():
    """What a transmission was built from may be changed afterwards without effect."""
    matrix, offset = np.array([[2.0]]), np.array([1.0])
    transmission = Matrix(matrix, offset)
    matrix[...], offset[...] = 7.0, 7.0
    assert transmission.actuator_to_joint('position', [3.0]) == [7.0]
    assert transmission.joint_offset == (1.0,)
    coefficients, _, bias = transmission.coefficients('actuator_to_joint', Quantity.POSITION)
    for array in (coefficients, bias):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0


@pytest.mark.parametrize('shape', [(3, 2), (2, 3), (4, 1), (1, 3)])
def test_different_numbers_of_joints_and_actuators(shape):
    """With another number of joints than actuators, what fits the smaller side comes back."""
    matrix = np.random.default_rng(1).normal(size=shape)
    offset = np.arange(shape[0]) / 4
    transmission = Matrix(matrix, offset)
    assert (transmission.n_joints, transmission.n_actuators) == shape
    # Start on the smaller side: nothing is lost on the way to the larger one.
    direction = DIRECTIONS[0] if shape[1] <= shape[0] else DIRECTIONS[1]
    x = np.random.default_rng(2).normal(size=(5, min(shape)))
    for interface in ('position', 'velocity', 'acceleration', 'effort'):
        there = getattr(transmission, direction)(interface, x)
        back = getattr(transmission, back_of(direction))(interface, there)
        assert abs(back - x).max() < 1e-13
    rate = np.random.default_rng(3).normal(size=shape[1])
    effort = np.random.default_rng(4).normal(size=shape[0])
    assert transmission.actuator_to_joint('velocity', rate) @ effort == pytest.approx(
        rate @ transmission.joint_to_actuator('effort', effort), rel=1e-13
    )
