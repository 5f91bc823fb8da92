# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Entries of an inverse that are zero by structure, for any numbers.

A computed inverse holds ``1e-17`` in place of an exact zero, and such a term would spread an
unknown value to independent outputs. The pattern of a matrix is therefore evaluated instead of its
numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.types import Array

Pattern = npt.NDArray[np.bool_]


def inverse_pattern(matrix: Array) -> Pattern:
    """
    Return which entries of the inverse or pseudo-inverse of a full-rank matrix may be nonzero.

    Square: with a matching of rows to columns through nonzero entries, ``M`` is a permutation of a
    matrix ``B`` with a full diagonal. ``B^-1`` is a polynomial in ``B`` (Cayley-Hamilton), hence
    zero from ``i`` to ``j`` if no path of nonzero entries leads from ``i`` to ``j``. The pattern
    is the same for any matching.

    Not square: rows and columns that no chain of nonzero entries connects are independent, so the
    pseudo-inverse is zero between connected components. In general it has no other structural
    zeros.
    """
    present = matrix != 0.0
    if present.shape[0] == present.shape[1]:
        column_of = _perfect_matching(present)
        # B[i, j] = M[i, column_of[j]]: row i of B is coupled with the match of row j.
        reach = _transitive_closure(present[:, column_of])
        pattern = np.empty_like(reach)
        pattern[column_of] = reach
        return pattern
    n_rows = len(present)
    graph = np.zeros((sum(present.shape),) * 2, dtype=bool)
    graph[:n_rows, n_rows:] = present
    graph[n_rows:, :n_rows] = present.T
    return _transitive_closure(graph)[n_rows:, :n_rows]


def _transitive_closure(graph: Pattern) -> Pattern:
    """Return which nodes each node reaches along edges, itself included."""
    reach = graph | np.eye(len(graph), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle, np.newaxis] & reach[middle]
    return reach


def _perfect_matching(present: Pattern) -> list[int]:
    """
    Return a different column for each row, through a nonzero entry, by augmenting paths.

    Every matrix of full rank has such a matching: one term of its determinant is not zero.
    """
    row_of: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(present[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if column not in row_of or augment(row_of[column], seen):
                row_of[column] = row
                return True
        return False

    for row in range(len(present)):
        augment(row, set())
    column_of = {row: column for column, row in row_of.items()}
    return [column_of[row] for row in range(len(present))]
