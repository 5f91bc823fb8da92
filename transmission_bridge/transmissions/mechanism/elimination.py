# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Solutions of ``M x = b`` in compiled functions.

Up to three rows are written out by minors, which have no zero pivots. More rows are eliminated in
a fixed order, which reports if it is inexact. Matrices of calls are factorised by rotations (QR).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Matrices up to this size are solved by minors, and larger ones up to this size by elimination.
BY_MINORS, WRITTEN_OUT = 3, 12

#: Largest growth of the factors of an elimination, relative to the matrix: it multiplies the
#: rounding error. Angles of passive balls are only displayed, so more growth is allowed.
GROWTH, GROWTH_OF_BALLS = 2e3, 1e5


class Minors:
    """Solutions of up to three equations by minors: ``x = adj(M) b / det(M)``."""

    def __init__(self, matrix: Expression) -> None:
        n = matrix.shape[0]
        self._adjugate: Expression = type(matrix).eye(1)
        if n == 2:
            (a, b), (c, d) = ([matrix[i, j] for j in (0, 1)] for i in (0, 1))
            self._adjugate = ca.vertcat(ca.horzcat(d, -b), ca.horzcat(-c, a))
        elif n == 3:
            rows = [matrix[k, :].T for k in range(3)]
            crossed = [ca.cross(rows[k - 2], rows[k - 1]) for k in range(3)]
            self._adjugate = ca.horzcat(*crossed)
        #: Numbers of which none is zero for a regular matrix; their product is the determinant.
        self.pivots: list[Expression] = [ca.dot(matrix[0, :].T, self._adjugate[:, 0])]
        #: Sum of the squares of the inverse.
        self.inverse_square: Expression = ca.sumsqr(self._adjugate) / self.pivots[0] ** 2

    def __call__(self, right: Expression) -> Expression:
        """Return ``x``, one column for each column of ``b``."""
        return ca.mtimes(self._adjugate, right) / self.pivots[0]

    def is_exact(self, growth: float = GROWTH) -> Expression:
        """Return whether it is exact to rounding."""
        return type(self._adjugate)(1.0)


class Elimination:
    """Solutions of ``M x = b`` by elimination of symbols in the order of the rows."""

    def __init__(self, matrix: Expression) -> None:
        self._matrix = matrix
        n = matrix.shape[0]
        rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
        self._shares: dict[tuple[int, int], Expression] = {}
        for k in range(n - 1):
            for i in range(k + 1, n):
                if rows[i][k].is_zero():
                    continue
                share = rows[i][k] * (1.0 / rows[k][k])
                self._shares[i, k] = share
                for j in range(k + 1, n):
                    rows[i][j] = rows[i][j] - share * rows[k][j]
        self._rows = rows
        #: The pivots; their product is the determinant.
        self.pivots: list[Expression] = [row[k] for k, row in enumerate(rows)]

    def __call__(self, right: Expression) -> Expression:
        """Return ``x``, one column for each column of ``b``."""
        n, rows = len(self._rows), self._rows
        b = [right[i, :] for i in range(n)]
        for (i, k), share in self._shares.items():
            b[i] = b[i] - share * b[k]
        for k in reversed(range(n)):
            for j in range(k + 1, n):
                b[k] = b[k] - rows[k][j] * b[j]
            b[k] = b[k] / rows[k][k]
        return ca.vertcat(*b)

    def is_exact(self, growth: float = GROWTH) -> Expression:
        """Return whether it is exact to rounding: the factors are not much larger."""
        n = len(self._rows)
        lower = n + ca.sumsqr(ca.vertcat(*self._shares.values(), 0.0))
        upper = ca.sumsqr(ca.vertcat(*(self._rows[i][j] for i in range(n) for j in range(i, n))))
        return lower * upper <= growth**2 * ca.sumsqr(self._matrix)


def make_solver(matrix: Expression) -> Any:
    """Return a solver of ``M x = b``: by minors or elimination for symbols, else a call."""
    if matrix.shape[0] <= BY_MINORS:
        return Minors(matrix)
    if isinstance(matrix, ca.SX):
        return Elimination(matrix)
    # For a singular matrix it returns NaN instead of the result of the previous call.
    return lambda right: ca.solve(matrix, right, 'qr', {'eps': 0.0})


def build_determinant(matrix: Expression) -> Expression:
    """Return the determinant; more rows than minors are sorted by size before each step."""
    n = matrix.shape[0]
    if n <= BY_MINORS:
        return Minors(matrix).pivots[0]
    rows, result = [ca.densify(matrix[k, :]) for k in range(n)], type(matrix)(1.0)
    for k in range(n):
        for i in range(k + 1, n):
            one, other = rows[k], rows[i]
            is_larger = ca.fabs(other[k]) > ca.fabs(one[k])
            rows[k] = ca.if_else(is_larger, other, one)
            rows[i] = ca.if_else(is_larger, -one, other)
        pivot = rows[k][k]
        result = result * pivot
        for i in range(k + 1, n):
            rows[i] = rows[i] - rows[k] * (rows[i][k] / ca.if_else(pivot == 0.0, 1.0, pivot))
    return result


def compute_pivot_order(matrix: Array) -> list[int]:
    """Return an order of the rows without small pivots; the given order if not square."""
    if matrix.shape[0] != matrix.shape[1]:
        return list(range(len(matrix)))
    rest, order = matrix.copy(), []
    left = list(range(len(matrix)))
    for column in range(len(matrix)):
        pivot = max(left, key=lambda row: abs(rest[row, column]))
        order.append(pivot)
        left.remove(pivot)
        if rest[pivot, column] != 0.0:
            for row in left:
                rest[row] -= rest[row, column] / rest[pivot, column] * rest[pivot]
    return order


def evaluate_pivots(matrix: Array) -> list[float]:
    """Return the pivots of a solver by minors or elimination for a matrix of numbers."""
    return [float(pivot) for pivot in make_solver(ca.SX(ca.DM(np.asarray(matrix)))).pivots]
