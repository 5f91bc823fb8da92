# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Small matrices in batches: a Jacobian per sample, and what is needed of it.

One and two rows are written out: the results are then the same to the last bit for batches of any
size, and NaN needs no special care.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array

__all__ = [
    'apply',
    'apply_transposed',
    'choose',
    'component',
    'every',
    'inverse',
    'matrix_of',
    'orientation',
    'singular_values',
    'vector_of',
]


def component(array: Array, place: int) -> Array:
    """
    Return one component of vectors ``(..., n)``; of a single one as a scalar.

    Arithmetic on scalars costs a fraction of that on arrays of one element, and the formulas are
    the same. A live stream maps one sample at a time.
    """
    return array[place] if array.ndim == 1 else array[..., place]


def _entry(matrix: Array, row: int, column: int) -> Array:
    return matrix[row, column] if matrix.ndim == 2 else matrix[..., row, column]


def vector_of(*components: npt.ArrayLike) -> Array:
    """
    Stack components of shape ``(...)`` to an array ``(..., n)``.

    For plugins that write their equations component by component; numbers and arrays may be mixed.
    """
    array = _stacked(components)
    return array if array.ndim == 1 else array.T if array.ndim < 3 else np.moveaxis(array, 0, -1)


def matrix_of(*rows: tuple[npt.ArrayLike, ...]) -> Array:
    """Stack rows of entries of shape ``(...)`` to matrices ``(..., n_rows, n_columns)``."""
    array = _stacked([entry for row in rows for entry in row])
    array = array.reshape(len(rows), -1, *array.shape[1:])
    return array if array.ndim == 2 else np.moveaxis(array, (0, 1), (-2, -1))


def _stacked(components: Any) -> Array:
    if len({getattr(each, 'shape', ()) for each in components}) > 1:  # constants beside arrays
        components = np.broadcast_arrays(*components)
    return np.array(components, dtype=np.float64)


def apply(matrix: Array, vector: Array) -> Array:
    """Return ``G x``: ``(..., m, n)`` and ``(..., n)`` to ``(..., m)``."""
    n_rows, n_columns = matrix.shape[-2:]
    totals = []
    for row in range(n_rows):
        total = _entry(matrix, row, 0) * component(vector, 0)
        for column in range(1, n_columns):
            total = total + _entry(matrix, row, column) * component(vector, column)
        totals.append(total)
    return vector_of(*totals)


def apply_transposed(matrix: Array, vector: Array) -> Array:
    """Return ``G^T x``: ``(..., m, n)`` and ``(..., m)`` to ``(..., n)``."""
    return apply(np.swapaxes(matrix, -1, -2), vector)


def every(condition: npt.NDArray[np.bool_]) -> bool:
    """Return whether all are true; of one truth value without the detour of a reduction."""
    return bool(condition) if condition.ndim == 0 else bool(condition.all())


def choose(condition: npt.NDArray[np.bool_], one: Array, other: Array | float) -> Array:
    """
    Return ``one`` where the condition holds, else ``other``.

    :param condition: One truth value per sample, ``(...)``; ``one`` and ``other`` have any number
        of further axes.
    """
    if condition.ndim == 0:
        if condition:
            return one
        return np.asarray(other) if np.shape(other) else np.full(np.shape(one), other)
    axes = one.ndim - condition.ndim
    return np.where(condition.reshape(condition.shape + (1,) * axes), one, other)


def inverse(matrix: Array) -> Array:
    """
    Return the inverse, or the pseudo-inverse of matrices that are not square.

    :param matrix: Shape ``(..., m, n)``, of full rank.
    :returns: Shape ``(..., n, m)``; NaN or infinite where the rank is not full.
    """
    if matrix.shape[-2:] == (1, 1):
        return np.asarray(1.0 / matrix, dtype=np.float64)
    if matrix.shape[-2:] == (2, 2):
        a, b, c, d = (_entry(matrix, i, j) for i in (0, 1) for j in (0, 1))
        determinant = a * d - b * c
        return matrix_of((d / determinant, -b / determinant), (-c / determinant, a / determinant))
    usable, safe = _safe(matrix)
    left, values, right = np.linalg.svd(safe, full_matrices=False)
    result = np.matmul(
        np.swapaxes(right, -1, -2) / values[..., np.newaxis, :], np.swapaxes(left, -1, -2)
    )
    return np.where(usable, result, np.nan)


def singular_values(matrix: Array) -> tuple[Array, Array]:
    """
    Return the largest and the smallest singular value.

    :param matrix: Shape ``(..., m, n)``.
    :returns: Two arrays of shape ``(...)``, NaN where the matrix has one.
    """
    if matrix.shape[-2:] == (1, 1):
        size = abs(_entry(matrix, 0, 0))
        return size, size
    if matrix.shape[-2:] == (2, 2):
        a, b, c, d = (_entry(matrix, i, j) for i in (0, 1) for j in (0, 1))
        # s1 + s2 and s1 - s2 are lengths of these two vectors.
        largest = 0.5 * (np.hypot(a + d, b - c) + np.hypot(a - d, b + c))
        # The smallest normal number stands for a largest value of zero.
        return largest, abs(a * d - b * c) / np.maximum(largest, np.finfo(np.float64).tiny)
    usable, safe = _safe(matrix)
    values = np.where(usable[..., 0], np.linalg.svd(safe, compute_uv=False), np.nan)
    return values[..., 0], values[..., -1]


def orientation(matrix: Array) -> Array:
    """
    Return the sign of the determinant: it changes where a mechanism changes its branch.

    :param matrix: Shape ``(..., m, n)``.
    :returns: Shape ``(...)``: -1, 0, 1 or NaN; 1 throughout for matrices that are not square.
    """
    if matrix.shape[-2:] == (1, 1):
        return np.sign(_entry(matrix, 0, 0))
    if matrix.shape[-2:] == (2, 2):
        a, b, c, d = (_entry(matrix, i, j) for i in (0, 1) for j in (0, 1))
        return np.sign(a * d - b * c)
    usable, safe = _safe(matrix)
    square = matrix.shape[-2] == matrix.shape[-1]
    signs = np.sign(np.linalg.det(safe)) if square else np.ones(matrix.shape[:-2])
    return np.where(usable[..., 0, 0], signs, np.nan)


def _safe(matrix: Array) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which matrices are finite, ``(..., 1, 1)``, and an identity in place of the rest."""
    usable = np.asarray(np.isfinite(matrix).all(axis=(-2, -1), keepdims=True))
    return usable, np.where(usable, matrix, np.eye(*matrix.shape[-2:]))
