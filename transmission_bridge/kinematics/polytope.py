# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Limits seen through a matrix: tight boxes and half-spaces of small polytopes.

With ``q = J a`` (``n`` joints, ``m`` actuators) joint limits ``l <= q <= u`` leave a polytope of
actuator values; joint efforts within ``|τ_q| <= e`` reach the zonotope ``τ_a = Jᵀ τ_q``. ``J`` has
full rank, entries of limits may be infinite.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from transmission_bridge.kinematics.spatial import Array

__all__ = ['effort_box', 'effort_half_spaces', 'half_spaces', 'tight_box']

#: Half-spaces: rows of ``A`` and entries of ``b`` in ``A x <= b``.
HalfSpaces = tuple[Array, Array]

EPS = float(np.finfo(np.float64).eps)


def tight_box(jacobian: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the least box around ``{a : lower <= J a <= upper}``.

    By duality, the greatest ``a_i`` is the least of what any ``m`` independent joints alone would
    allow, ``a = J_B^-1 q_B``. With more actuators than joints a direction that moves no joint is
    without bound.

    :param jacobian: ``J``, shape ``(n, m)``, full rank.
    :param lower: Shape ``(n,)``, infinite where open.
    :param upper: Shape ``(n,)``, infinite where open.
    :returns: Least and greatest ``a``, each of shape ``(m,)``; units of ``a``.
    """
    n, m = jacobian.shape
    least, greatest = np.full(m, -np.inf), np.full(m, np.inf)
    if m > n:
        inverse = _without_noise(_float(np.linalg.pinv(jacobian)), jacobian)
        low, high = _image(inverse, lower, upper)
        # Only an actuator that the joints determine is bounded by them.
        is_free = np.abs(inverse @ jacobian - np.eye(m)).max(axis=1) > 1e-9
        low[is_free], high[is_free] = -np.inf, np.inf
        return low, high
    for rows in combinations(range(n), m):
        chosen = jacobian[list(rows)]
        if np.linalg.matrix_rank(chosen) < m:
            continue
        inverse = _without_noise(_float(np.linalg.inv(chosen)), chosen)
        low, high = _image(inverse, lower[list(rows)], upper[list(rows)])
        least, greatest = np.maximum(least, low), np.minimum(greatest, high)
    return least, greatest


def effort_box(jacobian: Array, effort: Array) -> Array:
    """
    Return the greatest magnitudes of ``Jᵀ τ`` over ``|τ| <= effort``, ``Σ_j |J_ji| e_j``.

    :param jacobian: ``J``, shape ``(n, m)``.
    :param effort: ``e``, shape ``(n,)``, infinite where open; same unit as ``τ``.
    :returns: Shape ``(m,)``, unit of ``Jᵀ τ``.
    """
    return _image(np.abs(jacobian.T), np.zeros(len(effort)), effort)[1]


def half_spaces(jacobian: Array, lower: Array, upper: Array) -> HalfSpaces:
    """
    Return ``{a : lower <= J a <= upper}`` as half-spaces ``A a <= b``.

    :param jacobian: ``J``, shape ``(n, m)``.
    :param lower: Shape ``(n,)``, infinite where open.
    :param upper: Shape ``(n,)``, infinite where open.
    :returns: ``A`` of shape ``(k, m)`` and ``b`` of shape ``(k,)``, one row per finite bound.
    """
    matrix, bound = np.vstack([jacobian, -jacobian]), np.concatenate([upper, -lower])
    is_finite = np.isfinite(bound)
    return matrix[is_finite], bound[is_finite]


def effort_half_spaces(jacobian: Array, effort: Array) -> HalfSpaces:
    """
    Return ``{Jᵀ τ : |τ| <= effort}`` as half-spaces ``A τ_a <= b``.

    With as many actuators as joints the rows are those of ``J^-T``; with more, pairs of opposite
    rows with bound zero keep ``τ_a`` in the range of ``Jᵀ``; with fewer, the facets are spanned by
    ``m - 1`` of the joints each.

    :param jacobian: ``J``, shape ``(n, m)``, full rank.
    :param effort: ``e``, shape ``(n,)``, infinite where open; same unit as ``τ``.
    :returns: ``A`` of shape ``(k, m)`` and ``b`` of shape ``(k,)``.
    """
    n, m = jacobian.shape
    if m >= n:
        rows, bound = half_spaces(np.linalg.pinv(jacobian.T), -effort, effort)
        kernel = np.linalg.svd(jacobian)[2][n:]
        return np.vstack([rows, kernel, -kernel]), np.append(bound, np.zeros(2 * len(kernel)))
    normals: list[Array] = []
    bounds: list[float] = []
    for chosen in combinations(range(n), m - 1):
        _, values, directions = np.linalg.svd(jacobian[list(chosen)].reshape(m - 1, m))
        if values.size and values[-1] <= 1e-12 * values[0]:
            continue  # parallel joints span no facet
        normal = directions[-1]
        reach = np.abs(jacobian @ normal)
        reach[reach <= 1e-12 * np.linalg.norm(jacobian, axis=1)] = 0.0
        bound_of_facet = float(_image(reach[np.newaxis], np.zeros(n), effort)[1][0])
        if np.isfinite(bound_of_facet):
            normals += [normal, -normal]
            bounds += [bound_of_facet] * 2
    return np.array(normals).reshape(len(bounds), m), np.array(bounds)


def _image(matrix: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the least box around ``{matrix x : lower <= x <= upper}``."""
    with np.errstate(invalid='ignore'):
        at_lower, at_upper = matrix * lower, matrix * upper
    for values in (at_lower, at_upper):
        values[matrix == 0.0] = 0.0  # zero times infinity: no dependence
    is_rising = matrix > 0.0
    least = np.where(is_rising, at_lower, at_upper).sum(axis=1)
    return least, np.where(is_rising, at_upper, at_lower).sum(axis=1)


def _float(values: npt.ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _without_noise(inverse: Array, matrix: Array) -> Array:
    """Return the inverse with entries that rounding alone explains set to zero."""
    size = np.abs(inverse)
    noise = 8.0 * EPS * (size @ np.abs(matrix) @ size)
    return np.where(size <= noise, 0.0, inverse)
