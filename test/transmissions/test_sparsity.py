# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Structural zeros of inverses."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np

from transmission_bridge.transmissions.coupled import CoupledTransmission
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


def test_rows_of_very_different_units_have_full_rank() -> None:
    """A millimetre beside a thousand revolutions is no lack of rank."""
    t = CoupledTransmission(np.diag([1e-12, 1e12]))
    assert np.array_equal(t.joint_to_actuator('position', [1.0, 1.0]), [1e12, 1e-12])
