# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linear transmissions: the classical three by their laws, and the class that plugins use."""

from __future__ import annotations

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


class Matrix(LinearTransmission):
    """A linear transmission of any matrix."""

    api_version = 2

    @classmethod
    def from_spec(cls, reader):
        """Build an identity, as nothing else is described."""
        return cls(np.eye(len(reader.spec.joints)))


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
