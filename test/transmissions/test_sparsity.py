# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Structural zeros of inverses, and small matrices in batches."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np

from transmission_bridge.transmissions.coupled import CoupledTransmission
from transmission_bridge.transmissions.mechanism import (
    apply,
    inverse,
    orientation,
    singular_values,
)
from transmission_bridge.transmissions.sparsity import inverse_pattern


@st.composite
def sparse_matrices(draw, square: bool = True) -> np.ndarray:
    """Return a sparse matrix of full rank with entries of many magnitudes."""
    n_rows = draw(st.integers(1, 6))
    n_columns = n_rows if square else draw(st.integers(1, 6).filter(lambda n: n != n_rows))
    pattern = draw(arrays(bool, (n_rows, n_columns)))
    if square:
        permutation = draw(st.permutations(range(n_rows)))
        pattern[np.arange(n_rows), permutation] = True
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed).uniform(0.5, 2.0, size=pattern.shape)
    matrix = np.where(pattern, numbers, 0.0)
    assume(np.linalg.matrix_rank(matrix) == min(matrix.shape))
    assume(np.linalg.cond(matrix) < 1e6)
    return matrix


@given(sparse_matrices())
def test_zeros_of_a_square_inverse_are_those_of_its_structure(matrix: np.ndarray) -> None:
    """What the pattern leaves out is zero in the inverse; with other numbers, nothing else is."""
    pattern = inverse_pattern(matrix)
    computed = np.linalg.inv(matrix)
    scale = np.abs(computed).max() * np.linalg.cond(matrix)
    assert (np.abs(computed[~pattern]) <= 1e-14 * scale).all()
    # Generic numbers: an entry that the structure allows does not vanish for all of them.
    seen = np.zeros_like(pattern)
    for seed in range(3):
        random = np.random.default_rng(seed).uniform(0.5, 2.0, size=matrix.shape)
        generic = np.where(matrix != 0.0, random, 0.0)
        if np.linalg.cond(generic) < 1e8:
            seen |= np.abs(np.linalg.inv(generic)) > 1e-9
    assert (seen <= pattern).all()


@given(sparse_matrices(square=False))
def test_zeros_of_a_pseudo_inverse_lie_between_components(matrix: np.ndarray) -> None:
    """Joints and actuators that nothing connects have nothing to do with each other."""
    pattern = inverse_pattern(matrix)
    computed = np.linalg.pinv(matrix)
    scale = np.abs(computed).max() * np.linalg.cond(matrix)
    assert (np.abs(computed[~pattern]) <= 1e-14 * scale).all()
    assert pattern[(matrix != 0.0).T].all()


@given(sparse_matrices(), st.data())
def test_nan_touches_only_what_depends(matrix: np.ndarray, data) -> None:
    """An unknown joint makes those actuators unknown that the exact inverse connects with it."""
    t = CoupledTransmission(matrix)
    joint = data.draw(st.integers(0, len(matrix) - 1))
    q = np.ones(len(matrix))
    reference = t.joint_to_actuator('position', q)
    q[joint] = np.nan
    result = t.joint_to_actuator('position', q)
    pattern = inverse_pattern(matrix)[:, joint]
    assert np.array_equal(result[~pattern], reference[~pattern])
    exact = np.abs(np.linalg.inv(matrix)[:, joint]) > 1e-9
    assert np.isnan(result[exact]).all()


def test_a_chain_is_a_triangle_backwards() -> None:
    """In a chain of couplings each actuator depends on the joints before it, not behind."""
    matrix = np.array([[2.0, 0.0, 0.0], [3.0, 5.0, 0.0], [0.0, 7.0, 11.0]])
    assert inverse_pattern(matrix).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_rows_of_very_different_units_have_full_rank() -> None:
    """A millimetre beside a thousand revolutions is no lack of rank."""
    t = CoupledTransmission(np.diag([1e-12, 1e12]))
    assert np.array_equal(t.joint_to_actuator('position', [1.0, 1.0]), [1e12, 1e-12])


def matrices(n_rows: int, n_columns: int) -> st.SearchStrategy[np.ndarray]:
    """Return batches of well-conditioned matrices."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: np.random.default_rng(seed).normal(size=(4, n_rows, n_columns))
    )


@given(st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(lambda s: matrices(*s)))
def test_small_matrices_agree_with_linear_algebra(batch: np.ndarray) -> None:
    """Inverses, singular values, signs and products are those of numpy's linear algebra."""
    condition = np.linalg.cond(batch)
    assume((condition < 1e6).all())
    largest, smallest = singular_values(batch)
    values = np.linalg.svd(batch, compute_uv=False)
    assert np.allclose(largest, values[:, 0], rtol=1e-14, atol=0)
    assert np.allclose(smallest, values[:, -1], rtol=0, atol=1e-15 * values.max() * 4)
    expected = np.linalg.pinv(batch)
    error = np.abs(inverse(batch) - expected).max(axis=(1, 2))
    assert (error <= 1e-14 * condition * np.abs(expected).max(axis=(1, 2))).all()
    vector = np.ones((4, batch.shape[2]))
    assert np.allclose(apply(batch, vector), batch.sum(axis=2), rtol=1e-14, atol=1e-14)
    vector = np.ones((4, batch.shape[1]))
    transposed = np.swapaxes(batch, 1, 2)
    assert np.allclose(apply(transposed, vector), batch.sum(axis=1), rtol=1e-14, atol=1e-14)
    if batch.shape[1] == batch.shape[2]:
        assert np.array_equal(orientation(batch), np.sign(np.linalg.det(batch)))


@given(st.integers(1, 4), st.integers(1, 4))
def test_a_matrix_with_nan_spoils_itself_only(n_rows: int, n_columns: int) -> None:
    """One unknown matrix in a batch leaves the others as they were."""
    batch = np.random.default_rng(n_rows * 7 + n_columns).normal(size=(3, n_rows, n_columns))
    spoiled = batch.copy()
    spoiled[1, 0, 0] = np.nan
    with np.errstate(all='ignore'):
        assert np.array_equal(inverse(spoiled)[[0, 2]], inverse(batch)[[0, 2]])
        assert np.isnan(inverse(spoiled)[1]).any()
        for ours, whole in zip(singular_values(spoiled), singular_values(batch), strict=True):
            assert np.array_equal(ours[[0, 2]], whole[[0, 2]])
            assert np.isnan(ours[1])
