# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A sparse affine map over the last axis of an array: what a linear robot compiles to.

``y_i = sum_k c_ik (x_j(ik) - before_j(ik)) + after_i``, over the terms that exist and no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ['AffineMap', 'Array']

Array = npt.NDArray[np.float64]

#: Rows per step of a batch: input, output and one temporary column stay in the second-level cache.
CHUNK_ROWS = 2048


class AffineMap:
    """
    ``y = C (x - before) + after`` that gathers the terms that exist.

    A dense product would compute ``0 * NaN`` and spread one unknown value over the whole robot.
    Here a term with coefficient zero is absent. Rows with fewer terms than the longest are filled
    with a lane that holds ``-0.0``, the one number whose addition changes nothing, so that single
    cycles and batches, which visit the terms differently, agree to the last bit.

    The biases are apart from the coefficients because ``C x - C before`` would cancel badly where
    ``x`` is near ``before``.

    :param matrix: Coefficients ``C``, shape ``(n_out, n_in)``.
    :param before: Subtracted from the input, shape ``(n_in,)``, or ``None``.
    :param after: Added to the output, shape ``(n_out,)``, or ``None``.
    """

    def __init__(
        self, matrix: Array, *, before: Array | None = None, after: Array | None = None
    ) -> None:
        self.n_out, self.n_in = matrix.shape
        self._before = None if before is None or not np.any(before) else np.array(before, float)
        self._after = None if after is None or not np.any(after) else np.array(after, float)
        index, coefficient = _terms(matrix)
        self._index = tuple(index)
        self._coefficient = tuple(coefficient)
        self._fix_ups = tuple(
            (row, int(columns[row]), float(factors[row]))
            for columns, factors in zip(self._index[1:], self._coefficient[1:], strict=True)
            for row in range(self.n_out)
            if columns[row] != self.n_in
        )
        self._is_diagonal = self.n_out == self.n_in and bool(
            np.all(self._index[0] == np.arange(self.n_out))
        )

    def __call__(self, x: Array) -> Array:
        """
        Map the last axis.

        :param x: Input, shape ``(..., n_in)``, float64.
        :returns: A new array, shape ``(..., n_out)``.
        """
        if x.ndim == 1:
            return self._one(x)
        y = np.empty((*x.shape[:-1], self.n_out))
        self._batch(x, y)
        return y

    def _one(self, x: Array) -> Array:
        lanes = np.empty(self.n_in + 1)
        if self._before is None:
            lanes[:-1] = x
        else:
            np.subtract(x, self._before, out=lanes[:-1])
        lanes[-1] = -0.0
        y: Array = lanes[self._index[0]]
        y *= self._coefficient[0]
        for index, coefficient in zip(self._index[1:], self._coefficient[1:], strict=True):
            term = lanes[index]
            term *= coefficient
            y += term
        if self._after is not None:
            y += self._after
        return y

    def _batch(self, x: Array, y: Array) -> None:
        if x.ndim > 2:
            for x_part, y_part in zip(x, y, strict=True):
                self._batch(x_part, y_part)
            return
        if x.ndim == 1:
            y[:] = self._one(x)
            return
        for start in range(0, len(x), CHUNK_ROWS):
            self._chunk(x[start : start + CHUNK_ROWS], y[start : start + CHUNK_ROWS])

    def _chunk(self, x: Array, y: Array) -> None:
        if self._before is not None:
            x = x - self._before
        if self._is_diagonal:
            np.multiply(x, self._coefficient[0], out=y)
        else:
            for row, (column, factor) in enumerate(
                zip(self._index[0], self._coefficient[0], strict=True)
            ):
                if column == self.n_in:
                    y[:, row] = -0.0
                else:
                    np.multiply(x[:, column], factor, out=y[:, row])
        for row, column, factor in self._fix_ups:
            y[:, row] += x[:, column] * factor
        if self._after is not None:
            y += self._after

    def __getstate__(self) -> dict[str, Any]:
        """Pickle as a plain dictionary of arrays."""
        return self.__dict__.copy()


def _terms(matrix: Array) -> tuple[list[npt.NDArray[np.intp]], list[Array]]:
    """
    Split a matrix into layers of at most one term per row, the diagonal term first.

    Diagonal first, because a layer that is the identity permutation needs no gathering in batches.
    A row with no term, or with fewer terms than others, points at the lane behind the input.
    """
    n_out, n_in = matrix.shape
    rows = []
    for row in range(n_out):
        columns = [int(column) for column in np.flatnonzero(matrix[row])]
        if row in columns:
            columns.remove(row)
            columns.insert(0, row)
        rows.append(columns)
    depth = max((len(columns) for columns in rows), default=0) or 1
    index = [np.full(n_out, n_in, dtype=np.intp) for _ in range(depth)]
    coefficient = [np.ones(n_out) for _ in range(depth)]
    for row, columns in enumerate(rows):
        for layer, column in enumerate(columns):
            index[layer][row] = column
            coefficient[layer][row] = matrix[row, column]
    return index, coefficient
