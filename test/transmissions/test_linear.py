# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Matrices: the class that plugins use, couplings and their spellings, screws, sparsity."""

from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
from zoo.elements import maps, params, transmission

from transmission_bridge.errors import ParameterError, ShapeError, TransmissionError
from transmission_bridge.interfaces import DIRECTIONS, Quantity
from transmission_bridge.transmissions import LinearTransmission, Ratio
from transmission_bridge.transmissions.linear import (
    CoupledTransmission,
    inverse_pattern,
    ScrewTransmission,
)
from transmission_bridge.transmissions.tunable import LiveNumber


class Matrix(LinearTransmission):
    """A linear transmission of any matrix."""

    api_version = 1


@pytest.mark.parametrize(('matrix', 'more', 'error'), [
    ([[np.nan]], {}, TransmissionError),
    ([[1.0 + 1.0j]], {}, TransmissionError),
    ([[1.0]], {'joint_offset': [np.nan]}, TransmissionError),
    ([[0.0]], {}, TransmissionError),
    ([[1.0, 2.0], [2.0, 4.0]], {}, TransmissionError),
    ([1.0, 2.0], {}, ShapeError),
    (np.zeros((0, 2)), {}, ShapeError),
    ([[1.0]], {'joint_offset': [0.0, 0.0]}, ShapeError),
    ([[1.0, 0.0], [0.0, 1.0]], {'inverse': [[1.0]]}, ShapeError),
])  # fmt: skip
def test_a_matrix_that_is_no_transmission_is_refused(matrix, more, error):
    """Numbers that are not finite or real, lost rank, and shapes that do not fit are refused."""
    with pytest.raises(error):
        Matrix(matrix, **more)


def test_a_matrix_is_copied_and_cannot_be_changed():
    """What a transmission was built from may be changed without effect, and it itself cannot."""
    matrix, offset = np.array([[2.0]]), np.array([1.0])
    t = Matrix(matrix, offset)
    matrix[...], offset[...] = 7.0, 7.0
    assert t.actuator_to_joint('position', [3.0]) == [7.0]
    assert t.joint_offset == (1.0,)
    with pytest.raises(AttributeError, match='Matrix is immutable, joint_offset'):
        t.joint_offset = (2.0,)
    coefficients, _, bias = t.coefficients('actuator_to_joint', Quantity.POSITION)
    for array in (coefficients, bias):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0


@pytest.mark.parametrize('shape', [(1, 1), (2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize('is_closed', [True, False])
def test_coefficients_are_products_of_the_declared_factors(shape, is_closed):
    """A pseudo-inverse weighs the longer side by its ratios: these are no factors of it."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=shape)
    inverse = np.linalg.pinv(matrix) if is_closed else None
    paths = [(side, k) for side, n in zip(('joint', 'actuator'), shape, strict=True)
             for k in range(n)]  # fmt: skip
    values = {path: random.uniform(0.5, 2.0) for path in paths} | {('lead',): 0.7}
    kinds = [(d, q) for d in DIRECTIONS for q in Quantity if q is not Quantity.ACCELERATION]

    def build(numbers):
        live = {path: LiveNumber(number, path) for path, number in numbers.items()}
        joints, actuators = (
            [Ratio((3.0, live[path])) for path in paths if path[0] == side]
            for side in ('joint', 'actuator')
        )
        joints[0] = Ratio(joints[0].times, over=[live[('lead',)]])
        return Matrix(matrix, inverse=inverse, joint_ratio=joints, actuator_ratio=actuators)

    base = build(values)
    rows = [row for kind in kinds for row in base.list_factors(*kind)]
    declared = {path for row in rows for factors in row for path, _ in factors}
    n_joints, n_actuators = shape
    expected = set(paths) | {('lead',)}
    if not is_closed and n_joints != n_actuators:
        shorter = 'joint' if n_joints < n_actuators else 'actuator'
        expected = {path for path in paths if path[0] == shorter}
        expected |= {('lead',)} if shorter == 'joint' else set()
    assert declared == expected
    for path in declared:
        changed = build(values | {path: 1.7 * values[path]})
        for kind in kinds:
            factors = base.list_factors(*kind)
            powers = np.array([[dict(each).get(path, 0) for each in row] for row in factors])
            before, after = (each.coefficients(*kind)[0] for each in (base, changed))
            assert np.allclose(after, before * 1.7**powers, rtol=1e-13)


# -- couplings -----------------------------------------------------------------------------------


def coupled(**parameters):
    """Return a robot of one coupled transmission of two joints and two actuators."""
    more = params(**parameters)
    return maps(('j1', 'j2'), transmission('t', 'Coupled', ('j1', 'j2'), ('a1', 'a2'), more))


ROWS = {'joint1': '1.5 3.2', 'joint2': '3.1, 1.4'}
ENTRIES = {
    'joint1_output1': 1.5, 'joint1_output2': 3.2, 'joint2_output1': 3.1, 'joint2_output2': 1.4,
}  # fmt: skip


@pytest.mark.parametrize('spelling', [ROWS, {'matrix': '1.5 3.2; 3.1 1.4;'}, ENTRIES])
def test_three_spellings_are_one_matrix(spelling):
    """Rows, a whole matrix and the design draft's entries say the same, by hand."""
    robot = coupled(**spelling)
    assert not [finding for finding in robot.findings if finding.severity != 'info']
    q = robot.actuator_to_joint('position', [2.0, -1.0])
    assert np.allclose(q, [1.5 * 2.0 - 3.2, 3.1 * 2.0 - 1.4], rtol=1e-15, atol=0)
    determinant = 1.5 * 1.4 - 3.2 * 3.1
    expected = np.array([1.4 * 1.0 - 3.2 * 2.0, -3.1 * 1.0 + 1.5 * 2.0]) / determinant
    assert np.allclose(robot.joint_to_actuator('position', [1.0, 2.0]), expected, rtol=1e-14)
    tau = robot.joint_to_actuator('effort', [1.0, 2.0])
    assert np.allclose(tau, [1.5 + 3.1 * 2.0, 3.2 + 1.4 * 2.0], rtol=1e-15)


@pytest.mark.parametrize(('parameters', 'message'), [
    ({}, 'row of joint1 is missing'),
    ({'joint1': '1 2'}, 'row of joint2 is missing'),
    ({'joint1': '1 2', 'joint2': '1'}, 'does not fit'),
    ({'matrix': '1 2; 3 4; 5 6'}, 'does not fit'),
    ({'matrix': '1 2; 3 x'}, 'parameter matrix is not a number'),
    ({'matrix': '1 1; 1 1.0000000000000002'}, 'not have full rank'),
])  # fmt: skip
def test_a_matrix_that_cannot_be_used_is_a_finding(parameters, message):
    """A missing row, another shape, a word, a lost rank: an error that costs the transmission."""
    robot = coupled(**parameters)
    (finding,) = [finding for finding in robot.findings if finding.severity == 'error']
    assert message in str(finding)
    assert robot.transmissions == {}


def test_an_entry_is_tuned_by_itself():
    """One entry changes, a change that loses rank is refused, and nothing else moves."""
    other = coupled(**ROWS).with_parameters({'t.matrix.joint2.actuator1': 0.0})
    assert other.actuator_to_joint('velocity', [1.0, 1.0]).tolist() == [1.5 + 3.2, 1.4]
    with pytest.raises(ParameterError, match='full rank'):
        other.with_parameters({'t.matrix.joint1.actuator1': 0.0})
    # The zero is structural now: actuator 2 does not depend on joint 1 any more.
    assert np.isnan(other.joint_to_actuator('position', [np.nan, 1.0])).tolist() == [True, False]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(1.0, 100.0))
def test_more_or_fewer_actuators_than_joints(n_joints, n_actuators, seed, reduction):
    """What can come back comes back, and least squares and least motion hold for the rest."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n_joints, n_actuators))
    condition = np.linalg.cond(matrix)
    assume(condition < 1e4)
    t = CoupledTransmission(matrix, (reduction,) * n_actuators, (0.3,) * n_joints)
    a, q = random.normal(size=n_actuators), random.normal(size=n_joints)
    forward = t.actuator_to_joint('position', a)
    assert np.allclose(forward, matrix @ a / reduction + 0.3, rtol=1e-13, atol=1e-13)
    back = t.joint_to_actuator('position', q)
    least = np.linalg.lstsq(matrix / reduction, q - 0.3, rcond=None)[0]
    assert np.abs(back - least).max() <= 1e-13 * condition * (1.0 + np.abs(least).max())


# -- screws --------------------------------------------------------------------------------------


@given(st.floats(1e-4, 0.1), st.sampled_from([1.0, -1.0]), st.floats(0.5, 100.0), st.floats(-1, 1))
def test_a_turn_of_the_screw_is_its_lead(size, hand, reduction, offset):
    """One turn of the screw moves by the lead, and the thrust is the torque's work over it."""
    lead = hand * size
    t = ScrewTransmission(lead, reduction, offset)
    turn = 2.0 * np.pi * reduction
    moved = t.actuator_to_joint('position', [turn]) - t.actuator_to_joint('position', [0.0])
    assert moved[0] == pytest.approx(lead, rel=1e-12, abs=1e-15)
    assert t.actuator_to_joint('effort', [0.7])[0] * lead == pytest.approx(0.7 * turn, rel=1e-14)
    assert t.joint_to_actuator('velocity', [lead])[0] == pytest.approx(turn, rel=1e-14)


# -- sparsity ------------------------------------------------------------------------------------


@st.composite
def sparse_matrices(draw):
    """Draw a sparse matrix of full rank with entries of many magnitudes."""
    n_rows = draw(st.integers(1, 6))
    n_columns = n_rows if draw(st.booleans()) else draw(st.integers(1, 6))
    pattern = draw(arrays(bool, (n_rows, n_columns)))
    if n_rows == n_columns:
        pattern[np.arange(n_rows), draw(st.permutations(range(n_rows)))] = True
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed).uniform(0.5, 2.0, size=pattern.shape)
    matrix = np.where(pattern, numbers, 0.0)
    assume(np.linalg.matrix_rank(matrix) == min(matrix.shape))
    assume(np.linalg.cond(matrix) < 1e6)
    return matrix


@settings(max_examples=100)
@given(sparse_matrices())
def test_zeros_of_an_inverse_are_those_of_its_structure(matrix):
    """What the pattern leaves out is zero in the inverse; with other numbers, nothing else is."""
    pattern, computed = inverse_pattern(matrix), np.linalg.pinv(matrix)
    scale = np.abs(computed).max() * np.linalg.cond(matrix)
    assert (np.abs(computed[~pattern]) <= 1e-14 * scale).all()
    if matrix.shape[0] != matrix.shape[1]:
        # Of a pseudo-inverse, only joints and actuators that nothing connects leave zeros.
        assert pattern[(matrix != 0.0).T].all()
        return
    # Generic numbers: an entry that the structure allows does not vanish for all of them.
    seen = np.zeros_like(pattern)
    for seed in range(3):
        random = np.random.default_rng(seed).uniform(0.5, 2.0, size=matrix.shape)
        generic = np.where(matrix != 0.0, random, 0.0)
        if np.linalg.cond(generic) < 1e8:
            seen |= np.abs(np.linalg.inv(generic)) > 1e-9
    assert (seen <= pattern).all()
