# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Boxes against all vertices of small polytopes."""

from itertools import combinations, product

from hypothesis import assume, given, strategies as st
import numpy as np

from transmission_bridge.kinematics import bound_actuators, effort_box

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def jacobians(draw):
    """Draw a well-conditioned matrix with zeros, as transmissions have them, and a generator."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(SEEDS))
    matrix = rng.uniform(0.2, 2.0, (n, m)) * rng.choice([-1.0, 0.0, 1.0], (n, m))
    assume(np.linalg.svd(matrix)[1][-1] > 0.1)
    return matrix, rng


def vertices(matrix, bound):
    """Return the corners of ``{x : matrix x <= bound}``, shape (k, m)."""
    m = matrix.shape[1]
    corners = []
    for rows in combinations(range(len(matrix)), m):
        chosen = matrix[list(rows)]
        if abs(np.linalg.det(chosen)) < 1e-9:
            continue
        corner = np.linalg.solve(chosen, bound[list(rows)])
        if np.all(matrix @ corner <= bound + 1e-9 * (1.0 + np.abs(bound))):
            corners.append(corner)
    return np.array(corners)


@given(jacobians())
def test_box_touches_the_polytope_on_every_side(drawn):
    """With no more actuators than joints the box is that of the polytope's corners."""
    jacobian, rng = drawn
    n, m = jacobian.shape
    assume(m <= n)
    # Bounds around an allowed point, so that the polytope is not empty.
    inside = jacobian @ rng.normal(size=m)
    lower, upper = inside - rng.uniform(0.1, 2.0, n), inside + rng.uniform(0.1, 2.0, n)
    corners = vertices(np.vstack([jacobian, -jacobian]), np.concatenate([upper, -lower]))
    least, greatest = bound_actuators(jacobian, lower, upper)
    np.testing.assert_allclose(least, corners.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(greatest, corners.max(axis=0), atol=1e-9)


@given(SEEDS)
def test_more_actuators_than_joints_leave_directions_free(seed):
    """An actuator that the joints determine is bounded, one that can move idly is not."""
    a, b = np.random.default_rng(seed).uniform(0.5, 2.0, 2)
    jacobian = np.array([[a, 0.0, 0.0], [0.0, b, -1.0]])
    least, greatest = bound_actuators(jacobian, np.array([-1.0, -2.0]), np.array([3.0, 4.0]))
    np.testing.assert_allclose([least[0], greatest[0]], [-1.0 / a, 3.0 / a], rtol=1e-12)
    np.testing.assert_array_equal(least[1:], -np.inf)
    np.testing.assert_array_equal(greatest[1:], np.inf)


def test_open_bounds_open_only_what_depends_on_them():
    """An unlimited joint frees the actuators that it moves and no others."""
    four_bar = np.array([[0.1, 0.0], [-0.05, 0.25]])
    least, greatest = bound_actuators(four_bar, np.array([-1.0, -np.inf]), np.array([2.0, np.inf]))
    np.testing.assert_allclose([least[0], greatest[0]], [-10.0, 20.0])
    assert (least[1], greatest[1]) == (-np.inf, np.inf)
    least, greatest = bound_actuators(np.array([[-2.0]]), np.array([-np.inf]), np.array([3.0]))
    assert (least[0], greatest[0]) == (-1.5, np.inf)


@given(jacobians())
def test_effort_box_is_that_of_the_corners(drawn):
    """An unlimited joint frees the actuators that feel it and no others."""
    jacobian, rng = drawn
    effort = rng.uniform(0.5, 3.0, len(jacobian))
    corners = np.array(list(product(*((-e, e) for e in effort)))) @ jacobian
    np.testing.assert_allclose(effort_box(jacobian, effort), corners.max(axis=0), rtol=1e-12)
    effort[0] = np.inf
    np.testing.assert_array_equal(np.isinf(effort_box(jacobian, effort)), jacobian[0] != 0.0)
