# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a linkage close to a solution: a function from the given joints to all joints.

The rows are solved block by block: each block contains the joints of earlier blocks and its own. A
call starts at the last solution, extrapolates along its tangent, and performs three Newton steps
in each block. The result is valid only if the steps contract, the last step is within rounding,
redundant rows hold, the solved rows are far from dependent, and all signs equal those at the
start.

The function eliminates rows in the order that is best at the start, and reports if this order is
bad. In this case a second function with the same arguments factorises by rotations (QR).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.expressions import all_of, is_known, make_switch
from transmission_bridge.transmissions.linkage.structure import Structure
from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Newton steps per call.
STEPS = 3

#: Steps below this size are rounding.
LAST_STEP = 1e-11

#: A published result has a last step and, before it, residuals of its rows below these limits,
#: because the derivatives are evaluated before the last step.
POLISHED, LAST_MISS = 3e-12, 1e-10

#: Each step is at most this share of the one before, unless it is rounding.
CONTRACTION, ROUNDING = 0.3, 1e-11

#: Largest first step, and largest sum of all steps with the tangent's, of a valid call [rad or m].
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Blocks up to this size are expanded; larger ones are factorised by a call.
WRITTEN_OUT = 12

#: Largest growth of the factors of a fast elimination, relative to the matrix: it multiplies the
#: rounding error. Angles of passive balls are only displayed, so more growth is allowed.
GROWTH, GROWTH_OF_BALLS = 2e3, 1e5

#: Rows may be this much closer to dependent than at the start; derivatives still have seven
#: digits.
DEPENDENT = 5e-5


class _Block(NamedTuple):
    """
    Rows that are solved together: their indices, and the indices of the joints solved for.

    ``is_ball``: all of these joints are angles of balls.
    """

    rows: list[int]
    places: list[int]
    is_ball: bool


class Near:
    """
    All joints of a linkage from given joints.

    :param structure: The linkage.
    :param given: Indices of the given joints.
    :param wanted: Indices of the joints for efforts and gains, as many as the given ones.
    :param tolerance: Largest residual of rows that are not kept.
    :param what: The given joints in words, for messages.
    :param with_balls: Whether angles of passive balls are solved for.
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
        #: Indices of the joints that are solved for.
        self.unknown = [
            k for k in range(len(structure.names)) if k not in self.given and k not in held
        ]
        self._n, self._r = len(self.given), len(self.unknown)
        if self._r != len(structure.kept):
            raise TransmissionError(
                f'{what} do not determine the linkage',
                expected=f'{len(structure.kept)} joints to solve for',
                found=f'{self._r}',
            )
        blocks = self._sort_into_blocks(self.unknown, what)
        # If a joint of a ball is commanded, all angles of balls become part of the core.
        if any({*each.places} & {*self.wanted} for each in blocks if each.is_ball):
            blocks = [each._replace(is_ball=False) for each in blocks]
        self._blocks = [each for each in blocks if with_balls or not each.is_ball]
        self.unknown = sorted(place for each in self._blocks for place in each.places)
        #: The rows that are solved.
        self.rows = sorted(row for each in self._blocks for row in each.rows)
        self._r = len(self.unknown)
        #: Indices in the state of the joints of each block of balls.
        self.balls_at = [self._state_columns(each) for each in self._blocks if each.is_ball]
        #: The function of a sample. Inputs: given positions, velocities and efforts, state, held
        #: joints and lengths. Outputs: next state, velocities, efforts, sizes of the derivatives,
        #: and flags. A state holds the joints solved for, the given joints, and the derivatives of
        #: the former by the latter. The flags are: the steps contract; the side is the start's
        #: side; the last step is rounding; the elimination is exact; the distance of rows from
        #: dependent ones; and for each ball 0, 1 (its steps contract) or 2 (its angles are
        #: solved).
        self.function = self._compile_function()
        #: Indices in a state of the joints that are solved for, except joints of balls.
        self.tells = [
            k for k in range(self._r) if all(k not in columns for columns in self.balls_at)
        ]

    @cached_property
    def exact_near(self) -> Any:
        """
        The same function, by rotations if the elimination is inexact.

        If the steps contract but the last step is not rounding, a second call polishes the result.
        """
        names = ('x', 'v', 'tau', 'state', 'held', 'lengths')
        given: list[Any] = [
            ca.MX.sym(name, self.function.sparsity_in(k)) for k, name in enumerate(names)
        ]
        first = self.function(*given)
        switch = make_switch('careful', given, self._compile_function(is_careful=True)(*given))
        # An unknown start leads to an unknown result.
        begins = all_of(
            is_known(given[3][k]) for k in [*self.tells, *range(self._r, self._r + self._n)]
        )
        is_inexact = ca.logic_and(begins, ca.logic_not(first[4][3]))
        exact = ca.Function('exact', given, switch(is_inexact, *given, *first))
        found = exact(*given)
        contracts, _, is_polished, _, _, *balls = ca.vertsplit(found[4])
        is_done = all_of((is_polished, *(ball != 1.0 for ball in balls)))
        again = make_switch('again', given, exact(*given))
        is_near = ca.logic_and(contracts, ca.logic_not(is_done))
        further = [*given[:3], found[0], *given[4:]]
        return ca.Function('near', given, again(is_near, *further, *found))

    @property
    def is_unique(self) -> bool:
        """
        Return whether a position has one solution on the start's side, apart from full turns.

        A block has two solutions, one on each side, if it is a single row, which is linear in sine
        and cosine of its joint, or a loop in a plane.
        """
        for rows, places, is_ball in self._blocks:
            loops = {self.structure.closures.owners[row] for row in rows}
            paths = [self.structure.paths[loop] for loop in loops]
            is_simple = len(rows) == 1 or (len(paths) == 1 and paths[0].is_planar)
            counts = [path.count_joints(place) for path in paths for place in places]
            if not is_ball and (max(counts) > 1 or not is_simple):
                return False
        return True

    def _state_columns(self, block: _Block) -> list[int]:
        return [self.unknown.index(place) for place in block.places]

    def _sort_into_blocks(self, places: Sequence[int], what: str) -> list[_Block]:
        """Return the blocks for some joints, in an order in which they can be solved."""
        structure = self.structure
        if not places:
            return []
        jacobian = structure.closures.slope[list(structure.kept), list(places)]
        function = ca.Function('j', [structure.closures.z, structure.closures.lengths], [jacobian])
        random = np.random.default_rng(2)
        seen = np.zeros(jacobian.shape, dtype=bool)
        for _ in range(3):
            z = structure.start + random.uniform(-0.3, 0.3, len(structure.start))
            seen |= np.abs(function(z, structure.lengths).full()) > 1e-13
        pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
        if ca.sprank(ca.DM(pattern, 1.0)) < len(places):
            loose = [
                structure.names[places[k]] for k in range(len(places)) if not seen[:, k].any()
            ]
            raise TransmissionError(
                f'{what} do not determine the linkage',
                expected='as many of them as freedoms, in each independent mechanism',
                found=', '.join(loose) or 'too few in one mechanism, too many in another',
            )
        _, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
        blocks = []
        for row_end, column_end in zip(pairwise(row_ends), pairwise(column_ends), strict=True):
            rows = [structure.kept[k] for k in row_order[slice(*row_end)]]
            own = [places[k] for k in column_order[slice(*column_end)]]
            if rows:
                blocks.append(_Block(rows, own, structure.balls.issuperset(own)))
        return blocks

    # -- the compiled function -------------------------------------------------------------------

    @property
    def state_counts(self) -> tuple[int, int, int, int]:
        """Numbers of joints solved for, given joints, held joints, and loops."""
        structure = self.structure
        return self._r, self._n, len(structure.held), len(structure.lengths)

    def _compile_function(self, is_careful: bool = False) -> Any:
        """Return the function of a sample; ``is_careful``: all blocks are solved by rotations."""
        structure, n, r = self.structure, self._n, self._r
        kinds = [
            ca.MX if is_careful or len(each.rows) > WRITTEN_OUT else ca.SX for each in self._blocks
        ]
        is_large = is_careful or n > WRITTEN_OUT
        kind: Any = ca.MX if is_large or ca.MX in kinds else ca.SX
        x, v, tau = (kind.sym(name, n) for name in ('x', 'v', 'tau'))
        state = kind.sym('state', r + n + r * n)
        held = kind.sym('held', len(structure.held))
        lengths = kind.sym('length', structure.closures.lengths.numel())
        y0, x0 = state[:r], state[r : r + n]
        tangent = ca.reshape(state[r + n :], r, n)
        ahead = y0 + ca.mtimes(tangent, x - x0) if r else kind.zeros(0, 1)
        # Angles of balls that are not solved for stay at the start; no other joint depends on
        # them.
        z: list[Expression] = [kind(each) for each in structure.start.tolist()]
        slopes: list[Expression] = [kind(1, n)] * len(z)
        for places, values in ((self.given, x), (structure.held, held), (self.unknown, ahead)):
            for k, place in enumerate(places):
                z[place] = values[k]
        for k, place in enumerate(self.given):
            slopes[place] = kind(ca.DM(np.eye(n)[k : k + 1]))
        said: dict[str, list[Expression]] = {'core': [], 'side': [], 'polished': [], 'exact': []}
        balls: list[Expression] = []
        lever = kind(math.inf)
        before, *after = self._build_conditions()
        missed, is_upright = before(ca.vertcat(*z), lengths)
        said['side'].append(is_upright)
        said['polished'].append(missed <= self._tolerance**2)
        for own_kind, watched, block in zip(kinds, after, self._blocks, strict=True):
            own = block.places
            function, others = self._build_block(own_kind, block, watched)
            found, slope, fine, side, is_polished, missed, is_exact, own_lever = function(
                ca.vertcat(*z),
                y0[self._state_columns(block)],
                lengths,
                ca.vertcat(*(slopes[place] for place in others)) if others else kind(0, n),
            )
            for k, place in enumerate(own):
                z[place], slopes[place] = found[k], slope[k, :]
            said['exact'].append(is_exact)
            said['polished'].append(missed <= self._tolerance**2)
            if block.is_ball:
                ball: Expression = all_of((fine, side)) * (1.0 + is_polished)
                for before_it, other in zip(self.balls_at, list(balls), strict=False):
                    if not set(others).isdisjoint(self.unknown[k] for k in before_it):
                        ball = ca.fmin(ball, other)
                balls.append(ball)
                for k, place in enumerate(own):
                    slopes[place] = ca.if_else(ball > 0.0, slope[k, :], kind.zeros(1, n))
            else:
                said['core'].append(fine)
                said['side'].append(side)
                said['polished'].append(is_polished)
                lever = ca.fmin(lever, own_lever)
        order, sign = self._gain_pivots()
        gains: Expression = ca.vertcat(*(slopes[self.wanted[k]] for k in order))
        inverse, determinant, is_exact = _build_inverse(n, is_large)(gains)
        said['exact'].append(is_exact)
        if n <= WRITTEN_OUT:
            said['side'].append(sign * determinant > 0.0)
        # The rows of the derivatives are in the order of the pivots.
        inverse = inverse[:, np.argsort(order).tolist()]
        whole = ca.vertcat(*(slopes[place] for place in self.unknown)) if r else kind(0, n)
        y: list[Expression] = [z[place] for place in self.unknown]
        outputs = [
            ca.densify(ca.vertcat(*y, x, ca.vec(whole))),
            ca.densify(ca.mtimes(whole, v)) if r else kind.zeros(0, 1),
            ca.densify(ca.mtimes(inverse.T, tau)),
            ca.densify(ca.vertcat(ca.norm_fro(gains), ca.norm_fro(inverse))),
            ca.densify(
                ca.vertcat(
                    *(all_of(each) if each else kind(1.0) for each in said.values()), lever, *balls
                )
            ),
        ]
        return ca.Function('way', [x, v, tau, state, held, lengths], outputs, {'cse': True})

    def _build_conditions(self) -> list[Any]:
        """
        Return functions for the other conditions, before the first block and for each block.

        They map all joints and the lengths to the squared residual of redundant rows, and to
        whether all signs equal those at the start. Each row is checked as soon as its last joint
        is solved.
        """
        closures = self.structure.closures
        known = {*self.given, *self.structure.held}
        zero = [
            closures.rows[k] for k in range(closures.rows.numel()) if k not in self.structure.kept
        ]
        positive: list[Expression] = []
        if closures.upright.numel():
            positive += ca.vertsplit(closures.upright)
        positive += self._inverse_dead_centres()
        left: list[tuple[Expression, set[int]]] = [
            (each, _row_joints(each, closures.z)) for each in zero
        ]
        right = [(each, _row_joints(each, closures.z)) for each in positive]
        result = []
        for places in ([], *(each.places for each in self._blocks)):
            known.update(places)
            rows: Expression = ca.vertcat(*(each for each, joints in left if joints <= known))
            sides: list[Expression] = [each > 0.0 for each, joints in right if joints <= known]
            left, right = (
                [each for each in rest if not each[1] <= known] for rest in (left, right)
            )
            outputs = [ca.SX(ca.sumsqr(rows)), all_of(sides) if sides else ca.SX(1.0)]
            arguments = [closures.z, closures.lengths]
            result.append(ca.Function('watched', arguments, outputs))
        return result

    def _build_block(self, kind: Any, block: _Block, watched: Any) -> tuple[Any, list[int]]:
        """
        Return a function that solves a block, and the indices of the joints that it depends on.

        Inputs: all joints, its own extrapolated by the tangent; its own at the last solution; the
        lengths; the derivatives of the joints that it depends on. Outputs: its joints, their
        derivatives, whether the steps contract, whether they are on the start's side, whether the
        last step is rounding, the squared residual of the other conditions, whether the
        elimination is exact, and the squared distance of the rows from dependent ones, relative to
        the start.
        """
        closures, n = self.structure.closures, self._n
        arguments = [closures.z, closures.lengths]
        kept, own, is_of_ball = block
        jacobian = closures.slope[kept, :]
        order, sign = _find_pivots(self._evaluate_at_start(jacobian[:, own]))
        known = {*self.given, *self.unknown}.difference(own)
        others = [place for place in sorted(known) if jacobian[:, place].nnz()]
        equations, jacobian = closures.rows[kept][order], jacobian[order, :]
        first = [ca.densify(equations), ca.densify(jacobian[:, own])]
        begins = ca.Function('begins', arguments, first, {'cse': True})
        goes_on = ca.Function('goes_on', arguments, first[:1], {'cse': True})
        is_signed = len(own) <= WRITTEN_OUT
        last = ca.Function(
            'last',
            arguments,
            [
                *first,
                ca.densify(jacobian[:, others]) if others else ca.SX(len(own), 0),
                _safe_det(jacobian[:, own]) if is_signed and kind is ca.MX else ca.SX(0.0),
                *watched(closures.z, closures.lengths),
            ],
            {'cse': True},
        )
        z: Expression = kind.sym('z', closures.z.numel())
        lengths: Expression = kind.sym('length', closures.lengths.numel())
        begin, slopes = kind.sym('begin', len(own)), kind.sym('slopes', len(others), n)
        joints: list[Expression] = ca.vertsplit(z)
        if is_of_ball:
            # Unknown joints begin at the start.
            start = self.structure.start[own]
            knows, knew = is_known(ca.sum1(z[own])), is_known(ca.sum1(begin))
            for k, place in enumerate(own):
                joints[place] = ca.if_else(knows, z[place], start[k])
            before = ca.if_else(knew, begin, start)
        here = ca.vertcat(*(joints[place] for place in own))
        sizes = []
        # The slope of the first step serves all steps except the last, which has its own slope.
        miss, slope = begins(ca.vertcat(*joints), lengths)
        solve = _make_solver(slope)
        for _ in range(STEPS - 1):
            change = solve(miss)
            here = here - change
            sizes.append(ca.sumsqr(change))
            for k, place in enumerate(own):
                joints[place] = here[k]
            miss = goes_on(ca.vertcat(*joints), lengths)
        # The last step is rounding, so the slope before it is the slope at the solution.
        miss, slope, aside, determinant, missed, is_upright = last(ca.vertcat(*joints), lengths)
        solve = _make_solver(slope)
        right = [miss, ca.mtimes(aside, slopes)]
        first_slope = self._evaluate_at_start(jacobian[:, own])
        if not isinstance(solve, _Elimination):
            # The length of the solution of a random right-hand side measures how close to
            # dependent the rows are.
            some = np.random.default_rng(5).normal(size=len(own))
            far = np.linalg.lstsq(first_slope, some, rcond=None)[0]
            right.append(kind(some))
        solved = solve(ca.horzcat(*right))
        here = here - solved[:, 0]
        sizes.append(ca.sumsqr(solved[:, 0]))
        one, two, three = sizes
        fine = three <= ca.fmax(CONTRACTION**2 * two, LAST_STEP**2)
        if is_of_ball:
            # The path does not matter: on the start's side there is one solution, apart from full
            # turns.
            turns = [
                0.0 if place in closures.stretched else ca.floor(apart / math.tau + 0.5)
                for place, apart in zip(own, ca.vertsplit(here - before), strict=True)
            ]
            here = here - math.tau * ca.vertcat(*turns)
        else:
            fine = all_of(
                (
                    fine,
                    one <= FIRST_STEP**2,
                    two <= ca.fmax(CONTRACTION**2 * one, ROUNDING**2),
                    ca.sumsqr(here - begin) <= WHOLE_STEP**2,
                )
            )
        is_polished = ca.logic_and(three <= POLISHED**2, ca.sumsqr(miss) <= LAST_MISS**2)
        is_exact = kind(1.0)
        if not isinstance(solve, _Elimination):
            lever = float(far @ far) / ca.sumsqr(solved[:, -1])
        else:
            at_start = _Elimination(ca.SX(ca.DM(first_slope))).pivots
            lever = ca.mmin(
                ca.vertcat(
                    *(
                        (pivot * (1.0 / max(abs(float(home)), 1e-12))) ** 2
                        for pivot, home in zip(solve.pivots, at_start, strict=True)
                    )
                )
            )
            is_exact, determinant = solve.is_exact(), solve.determinant
            if is_of_ball:  # a ball without a solution is solved from other angles
                leads = is_known(ca.sum1(solved[:, 0]))
                is_exact = ca.logic_or(solve.is_exact(GROWTH_OF_BALLS), ca.logic_not(leads))
        if is_of_ball:
            is_polished = ca.logic_and(is_polished, lever >= DEPENDENT**2)
        # The order of the rows and the sign at the start determine the side. A ball has two
        # solutions for one orientation; the one on the start's side is used.
        side = all_of((is_upright, sign * determinant > 0.0)) if is_signed else is_upright
        function = ca.Function(
            'block',
            [z, begin, lengths, slopes],
            [here, -solved[:, 1 : n + 1], fine, side, is_polished, missed, is_exact, lever],
        )
        return function, others

    def _inverse_dead_centres(self) -> list[Expression]:
        """
        Return signs of the dead centres of the other direction, positive on the start's side.

        The sign of the derivatives' determinant covers all blocks together: two blocks beyond
        their dead centres would cancel.
        """
        structure, closures = self.structure, self.structure.closures
        loose = {*self.wanted, *structure.held}
        places = [k for k in range(len(structure.names)) if k not in loose]
        try:
            blocks = self._sort_into_blocks(places, self.what)
        except TransmissionError:  # the other direction reports it
            return []
        core = [each for each in blocks if not each.is_ball]
        if len(core) < 2:
            return []
        result = []
        for rows, own, _ in core:
            if len(rows) > WRITTEN_OUT:
                continue
            jacobian = closures.slope[rows, own]
            order, sign = _find_pivots(self._evaluate_at_start(jacobian))
            result.append(sign * _safe_det(jacobian[order, :]))
        return result

    def _gain_pivots(self) -> tuple[list[int], float]:
        """Return an order of the wanted joints, and the sign of their derivatives' determinant."""
        home = self._evaluate_at_start(self.structure.closures.slope)[self.rows]
        whole = np.zeros((len(self.structure.names), self._n))
        whole[self.given] = np.eye(self._n)
        if self._r:
            solved = np.linalg.lstsq(home[:, self.unknown], -home[:, self.given], rcond=None)[0]
            whole[self.unknown] = solved
        return _find_pivots(whole[self.wanted])

    def _evaluate_at_start(self, matrix: Expression) -> Array:
        """Return the value of a matrix of the joints at the start."""
        closures = self.structure.closures
        function = ca.Function('start', [closures.z, closures.lengths], [matrix])
        return np.asarray(function(self.structure.start, self.structure.lengths).full())


def _row_joints(row: Expression, z: Expression) -> set[int]:
    """Return the joints that a row depends on."""
    return set(ca.jacobian(row, z).sparsity().get_col())


def _find_pivots(matrix: Array) -> tuple[list[int], float]:
    """Return an order of the rows without small pivots, and the determinant's sign in it."""
    rest, order = matrix.copy(), []
    left = list(range(len(matrix)))
    for column in range(len(matrix)):
        pivot = max(left, key=lambda row: abs(rest[row, column]))
        order.append(pivot)
        left.remove(pivot)
        if rest[pivot, column] != 0.0:
            for row in left:
                rest[row] -= rest[row, column] / rest[pivot, column] * rest[pivot]
    return order, float(np.sign(np.linalg.det(matrix[order])))


class _Elimination:
    """Solutions of ``M x = b`` by elimination of symbols in the order of the rows."""

    def __init__(self, matrix: Expression) -> None:
        self._matrix = matrix
        n = matrix.shape[0]
        rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
        self._shares: dict[tuple[int, int], Expression] = {}
        self.determinant = rows[0][0]
        for k in range(n - 1):
            for i in range(k + 1, n):
                if rows[i][k].is_zero():
                    continue
                share = rows[i][k] * (1.0 / rows[k][k])
                self._shares[i, k] = share
                for j in range(k + 1, n):
                    rows[i][j] = rows[i][j] - share * rows[k][j]
            self.determinant = self.determinant * rows[k + 1][k + 1]
        self._rows = rows

    @property
    def pivots(self) -> list[Expression]:
        """The pivots."""
        return [row[k] for k, row in enumerate(self._rows)]

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
        if n == 1:
            return ca.SX(1.0)
        lower = n + ca.sumsqr(ca.vertcat(*self._shares.values(), 0.0))
        upper = ca.sumsqr(ca.vertcat(*(self._rows[i][j] for i in range(n) for j in range(i, n))))
        return lower * upper <= growth**2 * ca.sumsqr(self._matrix)


def _build_inverse(n: int, by_rotations: bool) -> Any:
    """Return a function of a matrix: its inverse, its determinant, and whether these are exact."""
    kind: Any = ca.MX if by_rotations else ca.SX
    matrix = kind.sym('matrix', n, n)
    solve = _make_solver(matrix)
    inverse, is_exact = solve(kind.eye(n)), kind(1.0)
    if isinstance(solve, _Elimination):
        determinant, is_exact = solve.determinant, solve.is_exact()
    elif n <= WRITTEN_OUT:
        entries = ca.SX.sym('entries', n, n)
        determinant = ca.Function('determinant', [entries], [_safe_det(entries)])(matrix)
    else:
        determinant = kind(0.0)
    return ca.Function('inverse', [matrix], [inverse, determinant, is_exact])


def _make_solver(matrix: Expression) -> Any:
    """Return a solver of ``M x = b``: elimination for symbols, else a call."""
    if isinstance(matrix, ca.SX):
        return _Elimination(matrix)
    if matrix.shape[0] == 1:
        return lambda right: right / matrix
    # For a singular matrix it returns NaN instead of the result of the previous call.
    return lambda right: ca.solve(matrix, right, 'qr', {'eps': 0.0})


def _safe_det(matrix: Expression) -> Expression:
    """Return the determinant, from one of two elimination orders without a zero pivot."""
    n = matrix.shape[0]
    backwards = list(range(n))[::-1]
    one, other = (
        _Elimination(each).determinant for each in (matrix, matrix[backwards, backwards])
    )
    return ca.if_else(ca.fabs(one) <= math.inf, one, other) if n > 1 else one
