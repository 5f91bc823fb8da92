# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a linkage: all joints from the given ones, by a compiled function of one sample.

The rows are solved block by block: each block holds the joints of those before it and its own. A
call begins at the last solution, goes where its tangent leads, and takes three Newton steps in
each block. What it gives counts only if the steps contract and the last one is nothing; else the
way is halved. The function has no memory: where it begins is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
import math
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.equations import all_of
from transmission_bridge.transmissions.linkage.structure import Structure
from transmission_bridge.types import Array

__all__ = ['Way']

Expression: TypeAlias = Any

#: Newton steps of a call.
STEPS = 3

#: What is published has a last step below this, and residuals of its rows before it.
LAST_STEP, LAST_MISS = 1e-11, 1e-10

#: Where the last step is above this, the slope before it is not yet that of the solution.
POLISHED = 1e-13

#: Each step is at most this share of the one before, unless it is rounding.
CONTRACTION, ROUNDING = 0.3, 1e-11

#: The first step [rad or m], and all of them with the tangent's, of a call that is trusted.
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Calls for one sample, and what a step on the way is at least a share of it.
CALLS, SMALLEST = 48, 2.0**-8

#: Blocks up to this size are written out; larger ones are factorised by a call.
WRITTEN_OUT = 12


class Way:
    """
    All joints from as many given ones.

    Not to be shared between threads: the compiled function owns the arrays that it reads.

    :param structure: The linkage.
    :param given: Places of the given joints.
    :param wanted: Places of those that efforts and gains are mapped to, as many.
    :param lengths: Lengths of the loops.
    :param tolerance: Largest residual of rows that are not kept.
    :param what: What is given, for messages.
    :param with_balls: Whether angles of balls are solved for that nobody commands.
    :raises TransmissionError: If the given joints do not determine the wanted ones.
    """

    def __init__(
        self,
        structure: Structure,
        given: Sequence[int],
        wanted: Sequence[int],
        tolerance: float,
        what: str,
        with_balls: bool = True,
    ) -> None:
        self.structure, self.given, self.wanted = structure, list(given), list(wanted)
        self._tolerance, self.what = tolerance, what
        held = set(structure.held)
        #: Places of the joints that are solved for.
        self.unknown = [
            k for k in range(len(structure.names)) if k not in self.given and k not in held
        ]
        self._n, self._r = len(self.given), len(self.unknown)
        if self._r != len(structure.kept):
            raise TransmissionError(
                f'{what} do not determine the linkage',
                expected=f'{len(structure.kept)} joints to be solved for',
                found=f'{self._r}',
            )
        self._blocks = self._in_blocks(what)
        balls = structure.balls
        #: For each block whether it is nothing but angles of balls.
        self.is_of_ball = [
            all(self.unknown[column] in balls for column in columns) for _, columns in self._blocks
        ]
        needed = [self._block_of(each) for each in self.wanted if each not in self.given]
        if any(self.is_of_ball[each] for each in needed):
            # A commanded joint of a ball makes all that is needed for it part of the core.
            self.is_of_ball = [False] * len(self._blocks)
        #: The rows that are solved.
        self.rows = list(structure.kept)
        if not with_balls:
            self._leave_balls()
        self._compile()

    def _leave_balls(self) -> None:
        """Solve for the core alone."""
        blocks = [
            block
            for block, is_of_ball in zip(self._blocks, self.is_of_ball, strict=True)
            if not is_of_ball
        ]
        columns = sorted(column for _, own in blocks for column in own)
        rows = sorted(row for own, _ in blocks for row in own)
        self._blocks = [
            ([rows.index(row) for row in own], [columns.index(column) for column in places])
            for own, places in blocks
        ]
        self.is_of_ball = [False] * len(blocks)
        self.unknown = [self.unknown[column] for column in columns]
        self.rows = [self.rows[row] for row in rows]
        self._r = len(columns)

    def _block_of(self, place: int) -> int:
        column = self.unknown.index(place)
        return next(k for k, (_, columns) in enumerate(self._blocks) if column in columns)

    def _in_blocks(self, what: str) -> list[tuple[list[int], list[int]]]:
        """Return rows and unknowns of each block, in the order in which they can be solved."""
        structure = self.structure
        if not self._r:
            return []
        jacobian = ca.jacobian(structure.closures.rows, structure.closures.z)
        jacobian = jacobian[list(structure.kept), self.unknown]
        function = ca.Function('j', [structure.closures.z, structure.closures.lengths], [jacobian])
        random = np.random.default_rng(2)
        seen = np.zeros(jacobian.shape, dtype=bool)
        for _ in range(3):
            z = structure.start + random.uniform(-0.3, 0.3, len(structure.start))
            seen |= np.abs(function(z, structure.lengths).full()) > 1e-13
        pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
        if ca.sprank(ca.DM(pattern, 1.0)) < self._r:
            loose = [
                structure.names[self.unknown[k]] for k in range(self._r) if not seen[:, k].any()
            ]
            raise TransmissionError(
                f'{what} do not determine the linkage',
                expected='as many of them as freedoms, in each part that moves by itself',
                found=', '.join(loose) or 'too few in one part, too many in another',
            )
        _, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
        blocks = []
        for k in range(len(row_ends) - 1):
            rows = list(row_order[row_ends[k] : row_ends[k + 1]])
            columns = list(column_order[column_ends[k] : column_ends[k + 1]])
            if rows:
                blocks.append((rows, columns))
        return _ordered(blocks, seen)

    # -- the compiled function -------------------------------------------------------------------

    def _compile(self) -> None:
        structure, n, r = self.structure, self._n, self._r
        closures = structure.closures
        kept = self.rows
        known = {*self.given, *self.unknown, *structure.held}
        rest = [
            k
            for k in range(closures.rows.numel())
            if k not in structure.kept and _joints_of(closures.rows[k], closures.z) <= known
        ]
        upright_rows = [
            each
            for each in (ca.vertsplit(closures.upright) if closures.upright.numel() else [])
            if _joints_of(each, closures.z) <= known
        ]
        at = {place: k for k, place in enumerate(self.given)}
        spot = {place: k for k, place in enumerate(self.unknown)}
        written_out = all(len(rows) <= WRITTEN_OUT for rows, _ in self._blocks)
        kind: Any = ca.SX if written_out else ca.MX
        x, v, tau = (kind.sym(name, n) for name in ('x', 'v', 'tau'))
        state = kind.sym('state', r + n + r * n)
        held, lengths = (
            kind.sym('held', max(len(structure.held), 1)),
            kind.sym('length', closures.lengths.numel()),
        )
        y0, x0 = state[:r], state[r : r + n]
        tangent = ca.reshape(state[r + n :], r, n)
        ahead = y0 + ca.mtimes(tangent, x - x0) if r else kind.zeros(0, 1)
        found: list[Expression] = ca.vertsplit(ahead) if r else []

        def all_joints(values: Sequence[Expression]) -> Expression:
            whole = []
            for place in range(len(structure.names)):
                if place in at:
                    whole.append(x[at[place]])
                elif place in spot:
                    whole.append(values[spot[place]])
                elif place in structure.held:
                    whole.append(held[structure.held.index(place)])
                else:
                    # An angle of a ball, on which nothing depends that is solved here.
                    whole.append(kind(float(structure.start[place])))
            return ca.vertcat(*whole)

        slopes: list[Expression] = [kind.zeros(1, n)] * r
        core: list[Expression] = []
        polished: list[Expression] = []
        balls: list[Expression] = []
        signs: list[Expression] = []
        for number, (rows, columns) in enumerate(self._blocks):
            own = [self.unknown[column] for column in columns]
            equations = closures.rows[[kept[row] for row in rows]]
            jacobian = ca.jacobian(equations, closures.z)
            own_jacobian = jacobian[:, own]
            others = [
                place
                for place in range(len(structure.names))
                if place not in own and jacobian[:, place].nnz() and (place in at or place in spot)
            ]
            home = np.asarray(
                ca.Function('j', [closures.z, closures.lengths], [own_jacobian])(
                    structure.start, structure.lengths
                ).full()
            )
            order = _pivots(home)
            function = ca.Function(
                f'block{number}',
                [closures.z, closures.lengths],
                [
                    ca.densify(equations[order]),
                    ca.densify(own_jacobian[order, :]),
                    ca.densify(jacobian[order, others]) if others else ca.SX(len(order), 0),
                ],
                {'cse': True},
            )
            here = ca.vertcat(*(found[column] for column in columns))
            begin = ca.vertcat(*(y0[column] for column in columns))
            own_sizes = []
            for _ in range(STEPS - 1):
                miss, slope, _ = function(all_joints(found), lengths)
                step = _solve(slope, miss)
                here = here - step
                own_sizes.append(ca.sumsqr(step))
                for column, value in zip(columns, ca.vertsplit(here), strict=True):
                    found[column] = value
            # The last step is rounding, so that the slope before it is that of the solution.
            miss, slope, aside = function(all_joints(found), lengths)
            through = kind.zeros(len(rows), n)
            for k, place in enumerate(others):
                if place in at:
                    unit = kind.zeros(1, n)
                    unit[at[place]] = 1.0
                    through = through + ca.mtimes(aside[:, k], unit)
                else:
                    through = through + ca.mtimes(aside[:, k], slopes[spot[place]])
            solved = _solve(slope, ca.horzcat(miss, through))
            here = here - solved[:, 0]
            own_sizes.append(ca.sumsqr(solved[:, 0]))
            for k, column in enumerate(columns):
                found[column] = here[k]
                slopes[column] = -solved[k, 1:]
            whole = WHOLE_STEP * (3.0 if self.is_of_ball[number] else 1.0)
            first, second, third = own_sizes
            fine = [
                first <= FIRST_STEP**2,
                second <= ca.fmax(CONTRACTION**2 * first, ROUNDING**2),
                third <= ca.fmax(CONTRACTION**2 * second, LAST_STEP**2),
                third <= LAST_STEP**2,
                ca.sumsqr(miss) <= LAST_MISS**2,
                ca.sumsqr(here - begin) <= whole**2,
            ]
            polished.append(third <= POLISHED**2)
            if len(rows) <= WRITTEN_OUT:
                # The order of the rows and the start's sign say what is the start's side. Of the
                # two ways to turn a ball to one orientation it is that of the start.
                side = float(np.sign(np.linalg.det(home[order]))) * _determinant(slope)
                if self.is_of_ball[number]:
                    fine.append(side > 0.0)
                else:
                    signs.append(side)
            (balls if self.is_of_ball[number] else core).append(all_of(fine))
        y = ca.vertcat(*found) if found else kind.zeros(0, 1)
        whole_slope = ca.vertcat(*slopes) if slopes else kind.zeros(0, n)
        gains = kind.zeros(n, n)
        for row, place in enumerate(self.wanted):
            if place in at:
                gains[row, at[place]] = 1.0
            else:
                gains[row, :] = slopes[spot[place]]
        if n <= WRITTEN_OUT:
            signs.append(self._side_of_gains(gains))
        inverse = _solve(gains, kind.eye(n))
        all_rows = ca.Function(
            'rest',
            [closures.z, closures.lengths],
            [
                ca.vertcat(*(closures.rows[k] for k in rest)) if rest else ca.SX(0, 1),
                ca.vertcat(*upright_rows) if upright_rows else ca.SX(0, 1),
            ],
        )
        missed, upright = all_rows(all_joints(found), lengths)
        if rest:
            core.append(ca.sumsqr(missed) <= self._tolerance**2)
        sides = [*(ca.vertsplit(upright) if upright.numel() else []), *signs]
        said = [
            all_of(core) if core else kind(1.0),
            all_of(each > 0.0 for each in sides) if sides else kind(1.0),
            all_of(polished) if polished else kind(1.0),
            *balls,
        ]
        outputs = [
            ca.densify(ca.vertcat(y, x, ca.reshape(whole_slope, -1, 1))),
            ca.densify(ca.mtimes(whole_slope, v)) if r else kind.zeros(0, 1),
            ca.densify(ca.mtimes(inverse.T, tau)),
            ca.densify(ca.vertcat(ca.norm_fro(gains), ca.norm_fro(inverse))),
            ca.densify(ca.vertcat(*said)),
        ]
        function = ca.Function('way', [x, v, tau, state, held, lengths], outputs, {'cse': True})
        self._function = function
        self._allocate()

    def _side_of_gains(self, gains: Expression) -> Expression:
        """Return the determinant of the derivatives, positive on the side of the start."""
        structure = self.structure
        jacobian = ca.jacobian(structure.closures.rows, structure.closures.z)
        rows = ca.Function('j', [structure.closures.z, structure.closures.lengths], [jacobian])
        home = np.asarray(rows(structure.start, structure.lengths).full())[self.rows]
        whole = np.zeros((len(structure.names), self._n))
        whole[self.given] = np.eye(self._n)
        if self._r:
            solved = np.linalg.lstsq(home[:, self.unknown], -home[:, self.given], rcond=None)[0]
            whole[self.unknown] = solved
        at_start = whole[self.wanted]
        order = _pivots(at_start)
        sign = float(np.sign(np.linalg.det(at_start[order])))
        return sign * _determinant(gains[order, :])

    def _allocate(self) -> None:
        structure, function, n, r = self.structure, self._function, self._n, self._r
        self._x, self.velocity, self.force = np.zeros(n), np.zeros(n), np.zeros(n)
        #: Where the next call begins: the joints solved for, the given ones, and the tangent.
        self.state: Array = np.full(r + n + r * n, math.nan)
        self._held = np.array([*structure.start[list(structure.held)], 0.0])[
            : max(len(structure.held), 1)
        ]
        self._lengths = structure.lengths.astype(np.float64).copy()
        self._next = np.full(r + n + r * n, math.nan)
        self.rate: Array = np.zeros(max(r, 1))
        self.effort: Array = np.zeros(n)
        #: Norms of the derivatives of the wanted joints by the given ones, and of the inverse.
        self.gains: Array = np.full(2, math.nan)
        self._said = np.zeros(3 + sum(self.is_of_ball))
        buffer: Any
        buffer, self._run = function.buffer()
        self._buffer = buffer  # its memory is read and written by each run
        inputs = (self._x, self.velocity, self.force, self.state, self._held, self._lengths)
        results = (self._next, self.rate, self.effort, self.gains, self._said)
        for place, array in enumerate(inputs):
            assert function.numel_in(place) == array.size, (place, array.size)
            buffer.set_arg(place, array.data)
        for place, array in enumerate(results):
            assert function.numel_out(place) <= array.size, (place, array.size)
            buffer.set_res(place, array.data)
        self._blank = bytes(self._said.nbytes)
        self._said_memory = self._said.data.cast('B')
        #: Whether angles of balls were not found by the last call.
        self.lost_balls = False

    def fresh(self) -> Way:
        """Return the same function with a memory of its own."""
        other = copy(self)
        other._allocate()
        return other

    def is_same(self, other: Way) -> bool:
        """Whether another way is the same function."""
        return self._function is other._function

    # -- one call --------------------------------------------------------------------------------

    def _call(self) -> str:
        """Map ``_x`` from ``state`` to ``_next``; return what is wrong, or nothing."""
        self._said_memory[:] = self._blank  # a singular factorisation leaves what there was
        self._run()
        core, side, polished, *balls = self._said.tolist()
        if core == side == 1.0 and polished != 1.0:
            self.state[:] = self._next
            self._said_memory[:] = self._blank
            self._run()
            core, side, polished, *balls = self._said.tolist()
        self.lost_balls = not all(balls)
        if core != 1.0:
            return 'no_convergence'
        return '' if side == 1.0 else 'branch'

    def follow(self, x: Array, calls: int = CALLS) -> str:
        """
        Solve for a position from :attr:`state`, halving the way where it has to be.

        :param calls: How many calls it may take.
        :returns: Nothing if it is solved, :attr:`state` is then there; else the reason, and
            ``state`` is as far as it came.
        """
        self._x[:] = x
        reason = self._call()
        if not reason and not self.lost_balls:
            self.state[:] = self._next
            return ''
        return self._halved(x, reason, calls)

    def _halved(self, x: Array, reason: str, most: int) -> str:
        begin = self.state[self._r : self._r + self._n].copy()
        if not np.isfinite(begin).all():
            return 'no_convergence'
        way = np.asarray(x) - begin
        done, step, calls = 0.0, 0.5, 1
        tolerates = False
        while calls < most:
            target = min(done + step, 1.0)
            self._x[:] = x if target == 1.0 else begin + target * way
            reason = self._call()
            calls += 1
            if not reason and (not self.lost_balls or tolerates):
                self.state[:] = self._next
                done = target
                if done == 1.0:
                    return ''
                step = min(2.0 * step, 1.0 - done)
            else:
                step *= 0.5
                if step < SMALLEST:
                    if reason or tolerates:
                        return reason or 'no_convergence'
                    # What stays lost are balls alone: the core goes on without them.
                    tolerates, step = True, 1.0 - done
        return reason or 'no_convergence'

    # -- what a call has found -------------------------------------------------------------------

    def joints(self) -> Array:
        """Return all joints at :attr:`state`."""
        z: Array = np.full(len(self.structure.names), math.nan)
        z[list(self.structure.held)] = self.structure.start[list(self.structure.held)]
        z[self.unknown] = self.state[: self._r]
        z[self.given] = self.state[self._r : self._r + self._n]
        return z

    def slope(self) -> Array:
        """Return the derivatives of all joints by the given ones, shape ``(n_joints, n)``."""
        result = np.zeros((len(self.structure.names), self._n))
        result[self.given] = np.eye(self._n)
        columns = self.state[self._r + self._n :].reshape(self._n, self._r).T
        result[self.unknown] = columns
        return result

    def begin(self, z: Array) -> bool:
        """Set :attr:`state` to a closed position, and return whether it is one."""
        self.state[:] = 0.0
        self.state[: self._r] = z[self.unknown]
        self.state[self._r : self._r + self._n] = z[self.given]
        self._x[:] = z[self.given]
        if self._call():
            return False
        self.state[:] = self._next
        return True


def _ordered(
    blocks: list[tuple[list[int], list[int]]], pattern: Array
) -> list[tuple[list[int], list[int]]]:
    """Return blocks so that each depends on those before it only."""
    ordered: list[tuple[list[int], list[int]]] = []
    solved: set[int] = set()
    left = list(blocks)
    while left:
        ready = [
            block
            for block in left
            if set(np.flatnonzero(pattern[block[0]].any(axis=0)).tolist())
            <= solved | set(block[1])
        ]
        for block in ready:
            solved.update(block[1])
        ordered += ready
        left = [block for block in left if block not in ready]
    return ordered


def _joints_of(row: Expression, z: Expression) -> set[int]:
    """Return the joints that a row depends on."""
    return set(ca.jacobian(row, z).sparsity().get_col())


def _pivots(matrix: Array) -> list[int]:
    """Return an order of the rows in which none of the pivots is small."""
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


def _determinant(matrix: Expression) -> Expression:
    """Return the determinant by elimination in the order of the rows."""
    n = matrix.shape[0]
    rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
    result = rows[0][0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            share = rows[i][k] / rows[k][k]
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - share * rows[k][j]
        result = result * rows[k + 1][k + 1]
    return result


def _solve(matrix: Expression, right: Expression) -> Expression:
    """Return ``M^-1 B``; of one and two unknowns written out."""
    n = matrix.shape[0]
    if n == 0:
        return right
    if n == 1:
        return right / matrix
    if n == 2:
        a, b, c, d = (matrix[i, j] for i in (0, 1) for j in (0, 1))
        share = 1.0 / (a * d - b * c)
        return ca.vertcat(
            (d * right[0, :] - b * right[1, :]) * share,
            (a * right[1, :] - c * right[0, :]) * share,
        )
    if isinstance(matrix, ca.MX):
        return ca.solve(matrix, right, 'qr')
    return ca.solve(matrix, right)
