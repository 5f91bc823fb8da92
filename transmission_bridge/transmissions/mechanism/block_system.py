# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A mechanism as blocks of equations, their values at its pose, and the elimination of a block.

The corrector, the only subclass, compiles them, also for C. Constants and orders of operations
decide which samples count as solved, and last bits; names and structure inside the room are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.errors import counted, TransmissionError
from transmission_bridge.transmissions.compiled import Expression
from transmission_bridge.types import Array


@dataclass(frozen=True, eq=False)
class Mechanism:
    """
    One direction of a closed mechanism; loops and equations both have this form.

    ``EquationMechanism`` and ``LinkageStructure`` make it, and nothing changes it. Coordinates
    ``z`` are bare: without reductions and offsets of the robot. Some are given, some are held, and
    the others solve ``r(z, p) = 0``.

    :param names: Names of the coordinates.
    :param given: Indices of the given coordinates.
    :param wanted: Indices of the coordinates with velocities, efforts and gains.
    :param rows: Function ``(z, p) -> r, R``. ``R`` is the slope of ``r`` by ``z``, given because
        loops have a short one. A third output is the slope for derivatives, if it is another one.
    :param signs: Function ``(z, p) -> s``, positive on the side of the pose.
    :param kept: Indices of the rows that are solved; other rows are checked.
    :param checked: Indices of the rows whose residual is checked.
    :param held: Indices of coordinates that stay at the pose.
    :param formula: Function ``(given, p) -> wanted``; ``None`` if it is solved for.
    :param make_bend: Returns the function ``(z, z', p) -> r''`` along a motion at constant rates.
    :param pose: A closed, regular position, shape ``(n,)``.
    :param p: The numbers of the rows at this pose.
    :param has_sizes: Whether steps and gains are shares of sizes of the coordinates, which are
        among the numbers; else they are in [rad] or [m].
    :param ball_angles: Indices of the angles of ball joints, whose loss affects no others.
    :param winding: Indices of coordinates in which a full turn changes nothing.
    :param is_unique: Whether these rows, solved for these coordinates, have one solution on the
        side of the pose.
    :param tolerance: Largest residual of a row that is checked.
    :param what: The given coordinates in words, for messages.
    """

    names: tuple[str, ...]
    given: tuple[int, ...]
    wanted: tuple[int, ...]
    rows: Any
    signs: Any
    kept: tuple[int, ...]
    make_bend: Callable[[], Any]
    pose: Array
    p: Array | Sequence[float]
    has_sizes: bool
    is_unique: Callable[[list[int], list[int]], bool]
    what: str
    checked: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    formula: Any = None
    ball_angles: frozenset[int] = frozenset()
    winding: frozenset[int] = frozenset()
    tolerance: float = math.inf


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
    """Return the determinant; of more than three rows the largest is moved up before each step."""
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


class Block(NamedTuple):
    """
    Rows that are solved together: their indices, and the indices of the coordinates solved for.

    ``is_ball_joint``: all of these coordinates are angles of balls.
    """

    rows: list[int]
    places: list[int]
    is_ball_joint: bool


def evaluate_block_slope(mechanism: Mechanism, z: Array, p: Array | Sequence[float]) -> Array:
    """Return the derivatives of all rows by all coordinates at a position."""
    return np.asarray(mechanism.rows(z, p)[1].full())


def sort_into_blocks(mechanism: Mechanism, places: Sequence[int]) -> list[Block]:
    """Return the blocks for some coordinates, in an order in which they can be solved."""
    if not places:
        return []
    kept = list(mechanism.kept)
    seen = np.zeros((len(kept), len(places)), dtype=bool)
    if mechanism.has_sizes:
        # Other numbers have the same functions, and may not have these zeros.
        whole = ca.DM(mechanism.rows.sparsity_out(1), 1.0).full()
        seen |= whole[np.ix_(kept, places)] != 0.0
    random = np.random.default_rng(2)
    for _ in range(0 if mechanism.has_sizes else 3):
        z = mechanism.pose + random.uniform(-0.3, 0.3, len(mechanism.pose))
        seen |= ~(
            np.abs(evaluate_block_slope(mechanism, z, mechanism.p)[np.ix_(kept, places)]) <= 1e-13
        )
    pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
    if ca.sprank(ca.DM(pattern, 1.0)) < len(places):
        loose = [mechanism.names[places[k]] for k in range(len(places)) if not seen[:, k].any()]
        raise TransmissionError(
            f'{mechanism.what} do not determine the mechanism',
            expected='as many of them as freedoms, in each independent mechanism',
            found=', '.join(loose) or 'too few in one mechanism, too many in another',
        )
    _, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
    blocks = []
    for row_end, column_end in zip(pairwise(row_ends), pairwise(column_ends), strict=True):
        rows = [kept[k] for k in row_order[slice(*row_end)]]
        columns = [places[k] for k in column_order[slice(*column_end)]]
        if rows:
            blocks.append(Block(rows, columns, mechanism.ball_angles.issuperset(columns)))
    return blocks


def sort_block_rows(block: Block, slope: Array) -> Block:
    """Return a block with its rows in the order of their pivots."""
    order = compute_pivot_order(slope[np.ix_(block.rows, block.places)])
    return block._replace(rows=[block.rows[k] for k in order])


class BlockPoseValues(NamedTuple):
    """Values of a block at the pose: reciprocal pivots, and the reciprocal size of its inverse."""

    pivots: list[Any]
    inverse_size: Any


class BlockSystem:
    """
    A mechanism as blocks of equations; complete after construction, except for caches.

    :param mechanism: The mechanism.
    :param with_ball_joints: Whether coordinates whose loss affects no others are solved for.
    :raises TransmissionError: If the given coordinates do not determine the wanted ones.
    """

    def __init__(self, mechanism: Mechanism, with_ball_joints: bool = True) -> None:
        self.mechanism = mechanism
        self.given, self.wanted = list(mechanism.given), list(mechanism.wanted)
        held = set(mechanism.held)
        #: Indices of the coordinates that are solved for.
        self.unknown = [
            k for k in range(len(mechanism.names)) if k not in self.given and k not in held
        ]
        if len(self.unknown) != len(mechanism.kept):
            raise TransmissionError(
                f'{mechanism.what} do not determine the mechanism',
                expected=f'{counted(len(mechanism.kept), "coordinate")} to solve for',
                found=f'{len(self.unknown)}',
            )
        blocks = sort_into_blocks(mechanism, self.unknown)
        # If an angle of a ball is wanted, all angles of balls become part of the core.
        if any({*block.places} & {*self.wanted} for block in blocks if block.is_ball_joint):
            blocks = [block._replace(is_ball_joint=False) for block in blocks]
        blocks = [block for block in blocks if with_ball_joints or not block.is_ball_joint]
        self.unknown = sorted(place for block in blocks for place in block.places)
        #: The rows that are solved.
        self.rows = sorted(row for block in blocks for row in block.rows)
        self._n, self._r = n, r = len(self.given), len(self.unknown)
        #: Whether a formula is evaluated; it needs no state, the solution from which a call
        #: starts.
        self.is_explicit = mechanism.formula is not None
        #: Length of a state: coordinates solved for, given ones, and the derivatives of the former
        #: by the latter, column by column.
        self.n_state = 0 if self.is_explicit else r + n + r * n
        self._has_determinant = len(self.wanted) == n <= WRITTEN_OUT
        # The rows of each block are in the order of their pivots at the pose.
        slope = evaluate_block_slope(mechanism, mechanism.pose, mechanism.p)
        self.blocks = [sort_block_rows(block, slope) for block in blocks]
        self.inverse_blocks = [sort_block_rows(block, slope) for block in self._sort_inverse()]
        self._gains_order = compute_pivot_order(self._compute_slopes(slope)[self.wanted])
        #: Order of the rows of a formula, to find its inverse derivatives.
        self._given_order = compute_pivot_order(slope[:, self.given])
        #: Indices in the state of the coordinates of each block of a ball joint.
        self.ball_columns = [
            self._state_columns(block) for block in self.blocks if block.is_ball_joint
        ]
        n_values = len(self.measure_pose(mechanism.pose, mechanism.p))
        n_sizes = len(mechanism.names) * mechanism.has_sizes
        self._ends = np.cumsum([0, len(mechanism.p), n_sizes, n_values]).tolist()
        #: Counts of coordinates solved for, given and held, and of numbers: those of the rows, the
        #: sizes of the coordinates, and the values at the pose.
        self.counts = self._r, self._n, len(mechanism.held), self._ends[-1]
        #: Indices in a state of the coordinates that are solved for, except angles of balls.
        self.core_columns = [
            k for k in range(self._r) if all(k not in columns for columns in self.ball_columns)
        ]

    @property
    def is_unique(self) -> bool:
        """Whether a position has one solution on the pose's side, apart from full turns."""
        return all(
            is_ball_joint or self.mechanism.is_unique(rows, places)
            for rows, places, is_ball_joint in self.blocks
        )

    def _state_columns(self, block: Block) -> list[int]:
        return [self.unknown.index(place) for place in block.places]

    def _sort_inverse(self) -> list[Block]:
        """
        Return the blocks of the other direction, whose dead centres the signs exclude.

        The sign of the derivatives' determinant covers all blocks together: two blocks beyond
        their dead centres would cancel.
        """
        loose = {*self.wanted, *self.mechanism.held}
        columns = [k for k in range(len(self.mechanism.names)) if k not in loose]
        if len(self.wanted) != self._n:
            return []
        try:
            blocks = sort_into_blocks(self.mechanism, columns)
        except TransmissionError:  # the other direction reports it
            return []
        core = [block for block in blocks if not block.is_ball_joint]
        return [block for block in core if len(core) > 1 and len(block.rows) <= WRITTEN_OUT]

    def list_others(self, block: Block) -> list[int]:
        """Return the other coordinates, given or solved for, that the rows of a block contain."""
        rows = self.mechanism.rows
        patterns = [rows.sparsity_out(k) for k in range(1, rows.n_out())]
        solved = {*self.given, *self.unknown}.difference(block.places)
        return [
            column
            for column in sorted(solved)
            if any(pattern.has_nz(row, column) for pattern in patterns for row in block.rows)
        ]

    @cached_property
    def symbolic_rows(self) -> tuple[Any, Any]:
        """Symbols of all coordinates and of the numbers, and the rows of these."""
        symbols = ca.SX.sym('z', len(self.mechanism.names)), ca.SX.sym('numbers', self._ends[-1])
        p = self.split_numbers(symbols[1])[0]
        return symbols, self.mechanism.rows(symbols[0], p)

    # -- values at the pose ----------------------------------------------------------------------

    @np.errstate(divide='ignore')  # rows may be dependent at the pose
    def measure_pose(self, pose: Array, p: Array | Sequence[float]) -> list[float]:
        """
        Return the values at a pose that the functions compare a sample with.

        These are reciprocals: of the determinants of the blocks of the other direction and of the
        gains; and for each block of its pivots, and of the squared size of its inverse or, for
        more rows than minors, of the solution of a random right-hand side. ``list_pose_values``
        splits them in this order.
        """
        slope = evaluate_block_slope(self.mechanism, pose, p)
        values = [np.linalg.det(slope[np.ix_(*block[:2])]) for block in self.inverse_blocks]
        if self._has_determinant:
            gains = self._compute_slopes(slope)[self.wanted][self._gains_order]
            values.append(np.linalg.det(gains))
        for rows, places, _ in self.blocks:
            matrix = slope[np.ix_(rows, places)]
            if len(rows) <= WRITTEN_OUT:
                values += map(float, make_solver(ca.SX(ca.DM(matrix))).pivots)
            if len(rows) <= BY_MINORS:
                values.append((np.linalg.svd(matrix, compute_uv=False) ** -2.0).sum())
            else:
                far = np.linalg.lstsq(matrix, make_random_block_vector(len(rows)), rcond=None)[0]
                values.append(far @ far)
        return [1.0 / math.copysign(max(abs(value), 1e-12), value) for value in map(float, values)]

    def collect_numbers(self, pose: Array, p: Array | Sequence[float], size: Array) -> list[float]:
        """Return the numbers of the function at a pose, with the sizes of the coordinates."""
        sizes = size.tolist() if self.mechanism.has_sizes else []
        return [*p, *sizes, *self.measure_pose(pose, p)]

    def evaluate_slopes(self, pose: Array, p: Array | Sequence[float]) -> Array:
        """Return the derivatives of all coordinates by the given ones at a pose."""
        return self._compute_slopes(evaluate_block_slope(self.mechanism, pose, p))

    def _compute_slopes(self, slope: Array) -> Array:
        whole = np.zeros((len(self.mechanism.names), self._n))
        whole[self.given] = np.eye(self._n)
        if self.unknown:
            slope = slope[self.rows]
            solved = np.linalg.lstsq(slope[:, self.unknown], -slope[:, self.given], rcond=None)[0]
            whole[self.unknown] = solved
        return whole

    def suits(self, pose: Array, p: Array | Sequence[float]) -> bool:
        """Return whether the orders of elimination are exact at another pose or with other p."""
        slope = evaluate_block_slope(self.mechanism, pose, p)
        matrices = [slope[np.ix_(*matrix[:2])] for matrix in (*self.blocks, *self.inverse_blocks)]
        if self._has_determinant:
            matrices.append(self._compute_slopes(slope)[self.wanted][self._gains_order])
            matrices += [slope[np.ix_(self._given_order, self.given)]] * self.is_explicit
        written = (matrix for matrix in matrices if BY_MINORS < len(matrix) <= WRITTEN_OUT)
        return all(float(Elimination(ca.SX(ca.DM(x))).is_exact()) == 1.0 for x in written)

    def split_numbers(self, numbers: Expression) -> tuple[Expression, Expression, list[Any]]:
        """Return the numbers of the rows, the sizes of the coordinates, and the pose's values."""
        p, sizes, values = (numbers[low:high] for low, high in pairwise(self._ends))
        return p, sizes, ca.vertsplit(values) if values.numel() else []

    def list_units(self, numbers: Expression) -> Expression:
        """Return one by the size of each given coordinate; one without sizes."""
        sizes = self.split_numbers(numbers)[1]
        return 1.0 / sizes[self.given] if self.mechanism.has_sizes else 1.0

    def list_pose_values(self, values: Sequence[Expression]) -> list[BlockPoseValues]:
        """Return the values at the pose of each block."""
        rest, result = list(values[len(self.inverse_blocks) + self._has_determinant :]), []
        for rows, _, _ in self.blocks:
            n = len(rows)
            pivots, rest = (rest[:n], rest[n:]) if n <= WRITTEN_OUT else ([], rest)
            if n <= BY_MINORS:
                pivots, rest = pivots[:1], [*pivots[1:], *rest]
            result.append(BlockPoseValues(pivots, rest[0]))
            rest = rest[1:]
        return result


def make_random_block_vector(n: int) -> Array:
    """
    Return a right-hand side to measure how close to dependent rows are.

    It is the same in each call: values at the pose are compared with values of a sample.
    """
    return np.random.default_rng(5).normal(size=n)
