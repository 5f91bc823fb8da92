# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A mechanism close to a solution: a function from the given coordinates to all coordinates.

A formula is evaluated. Otherwise the rows are solved block by block: each block contains the
coordinates of earlier blocks and its own. A call starts at the last solution, extrapolates along
its tangent, and performs three Newton steps in each block. The result is valid only if the steps
contract, the last step is within rounding, redundant rows hold, the solved rows are far from
dependent, and all signs equal those at the pose.

The function eliminates rows in the order that is best at the pose, and reports if this order is
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

from transmission_bridge.errors import counted, TransmissionError
from transmission_bridge.transmissions.expressions import all_of, is_known, make_switch
from transmission_bridge.transmissions.mechanism.elimination import (
    build_determinant,
    BY_MINORS,
    compute_pivot_order,
    Elimination,
    evaluate_pivots,
    GROWTH_OF_BALLS,
    make_solver,
    Minors,
    WRITTEN_OUT,
)
from transmission_bridge.transmissions.mechanism.mechanism import Mechanism
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Newton steps per call.
STEPS = 3

#: Steps below this size are rounding. Sizes of steps are in [rad] or [m], or shares of the size of
#: a coordinate if the mechanism has sizes.
LAST_STEP = 1e-11

#: A published result has a last step and, before it, residuals of its rows below these limits,
#: because the derivatives are evaluated before the last step.
POLISHED, LAST_MISS = 3e-12, 1e-10

#: The last step in shares of sizes.
POLISHED_SHARE = 1e-13

#: Each step is at most this share of the one before, unless it is rounding.
CONTRACTION, ROUNDING = 0.3, 1e-11

#: Largest first step, and largest sum of all steps with the tangent's, of a valid call.
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Rows may be this much closer to dependent than at the pose; derivatives still have seven digits.
DEPENDENT = 5e-5

#: The side of a formula's result is unknown if a determinant is below this share of the pose's.
UNSIGNED = 1e-8


class _Block(NamedTuple):
    """
    Rows that are solved together: their indices, and the indices of the coordinates solved for.

    ``is_late``: all of these coordinates are angles of balls.
    """

    rows: list[int]
    places: list[int]
    is_late: bool


class _Values(NamedTuple):
    """Values of a block at the pose: reciprocal pivots, and the reciprocal size of its inverse."""

    pivots: list[Any]
    far: Any


class Near:
    """
    All coordinates of a mechanism from the given ones.

    :param mechanism: The mechanism.
    :param with_late: Whether coordinates whose loss affects no others are solved for.
    :raises TransmissionError: If the given coordinates do not determine the wanted ones.
    """

    def __init__(self, mechanism: Mechanism, with_late: bool = True) -> None:
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
        blocks = self._sort_into_blocks(self.unknown)
        # If an angle of a ball is wanted, all angles of balls become part of the core.
        if any({*each.places} & {*self.wanted} for each in blocks if each.is_late):
            blocks = [each._replace(is_late=False) for each in blocks]
        blocks = [each for each in blocks if with_late or not each.is_late]
        self.unknown = sorted(place for each in blocks for place in each.places)
        #: The rows that are solved.
        self.rows = sorted(row for each in blocks for row in each.rows)
        self._n, self._r = n, r = len(self.given), len(self.unknown)
        #: Whether a formula is evaluated; it needs no state.
        self.is_explicit = mechanism.formula is not None
        #: Length of a state.
        self.n_state = 0 if self.is_explicit else r + n + r * n
        self._has_determinant = len(self.wanted) == n <= WRITTEN_OUT
        # The rows of each block are in the order of their pivots at the pose.
        home = self._evaluate_slope(mechanism.pose, mechanism.p)
        self._blocks = [_sort_rows(each, home) for each in blocks]
        self._inverse_blocks = [_sort_rows(each, home) for each in self._sort_inverse()]
        self._gains_order = compute_pivot_order(self._compute_slopes(home)[self.wanted])
        #: Order of the rows of a formula, to find its inverse derivatives.
        self._given_order = compute_pivot_order(home[:, self.given])
        #: Indices in the state of the coordinates of each block of balls.
        self.late_at = [self._state_columns(each) for each in self._blocks if each.is_late]
        n_values = len(self.measure_pose(mechanism.pose, mechanism.p))
        n_sizes = len(mechanism.names) * mechanism.has_sizes
        self._ends = np.cumsum([0, len(mechanism.p), n_sizes, n_values]).tolist()
        #: Counts of coordinates solved for, given and held, and of numbers: those of the rows, the
        #: sizes of the coordinates, and the values at the pose.
        self.counts = self._r, self._n, len(mechanism.held), self._ends[-1]
        #: The function of a sample. Inputs: given positions, velocities and efforts, state, held
        #: coordinates and numbers. Outputs: coordinates solved for, given coordinates and the
        #: derivatives of the former by the latter, which together are the next state; velocities;
        #: efforts; sizes of the derivatives; and flags. The flags are: the steps contract; the
        #: side is the pose's side; the last step is rounding; the elimination is exact; the
        #: squared distance of rows from dependent ones; and for each ball 0, 1 (its steps
        #: contract) or 2 (its angles are solved).
        self.function = self._compile_function()
        #: Indices in a state of the coordinates that are solved for, except angles of balls.
        self.tells = [
            k for k in range(self._r) if all(k not in columns for columns in self.late_at)
        ]

    @cached_property
    def exact_near(self) -> Any:
        """
        The same function, by rotations if the elimination is inexact.

        If the steps contract but the last step is not rounding, a second call polishes the result.
        """
        names = ('x', 'v', 'tau', 'state', 'held', 'numbers')
        given: list[Any] = [
            ca.MX.sym(name, self.function.sparsity_in(k)) for k, name in enumerate(names)
        ]
        exact = self.function
        # An unknown start leads to an unknown result.
        begins = self.has_state(given[3])
        if max(self._n, *(len(each.rows) for each in self._blocks), 0) > BY_MINORS:
            first = self.function(*given)
            switch = make_switch('careful', given, self._compile_function(is_careful=True)(*given))
            is_inexact = ca.logic_and(begins, ca.logic_not(first[4][3]))
            exact = ca.Function('exact', given, switch(is_inexact, *given, *first))
        if self.is_explicit:
            return exact
        found = exact(*given)
        contracts, _, is_polished, _, _, *balls = ca.vertsplit(found[4])
        is_done = all_of((is_polished, *(ball != 1.0 for ball in balls)))
        again = make_switch('again', given, exact(*given))
        is_near = ca.logic_and(contracts, ca.logic_not(is_done))
        further = [*given[:3], found[0], *given[4:]]
        return ca.Function('near', given, again(is_near, *further, *found))

    def has_state(self, state: Expression) -> Expression:
        """Return whether a state is known, apart from angles of balls."""
        if self.is_explicit:
            return 1.0
        return all_of(
            is_known(state[k]) for k in [*self.tells, *range(self._r, self._r + self._n)]
        )

    @property
    def is_unique(self) -> bool:
        """Whether a position has one solution on the pose's side, apart from full turns."""
        return all(
            is_late or self.mechanism.is_unique(rows, places)
            for rows, places, is_late in self._blocks
        )

    def _state_columns(self, block: _Block) -> list[int]:
        return [self.unknown.index(place) for place in block.places]

    def _evaluate_slope(self, z: Array, p: Array | Sequence[float]) -> Array:
        return np.asarray(self.mechanism.rows(z, p)[1].full())

    def _sort_into_blocks(self, places: Sequence[int]) -> list[_Block]:
        """Return the blocks for some coordinates, in an order in which they can be solved."""
        mechanism = self.mechanism
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
            seen |= ~(np.abs(self._evaluate_slope(z, mechanism.p)[np.ix_(kept, places)]) <= 1e-13)
        pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
        if ca.sprank(ca.DM(pattern, 1.0)) < len(places):
            loose = [
                mechanism.names[places[k]] for k in range(len(places)) if not seen[:, k].any()
            ]
            raise TransmissionError(
                f'{mechanism.what} do not determine the mechanism',
                expected='as many of them as freedoms, in each independent mechanism',
                found=', '.join(loose) or 'too few in one mechanism, too many in another',
            )
        _, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
        blocks = []
        for row_end, column_end in zip(pairwise(row_ends), pairwise(column_ends), strict=True):
            rows = [kept[k] for k in row_order[slice(*row_end)]]
            own = [places[k] for k in column_order[slice(*column_end)]]
            if rows:
                blocks.append(_Block(rows, own, mechanism.late.issuperset(own)))
        return blocks

    # -- values at the pose ----------------------------------------------------------------------

    @np.errstate(divide='ignore')  # rows may be dependent at the pose
    def measure_pose(self, pose: Array, p: Array | Sequence[float]) -> list[float]:
        """
        Return the values at a pose that the functions compare a sample with.

        These are reciprocals: of the determinants of the blocks of the other direction and of the
        gains; and for each block of its pivots, and of the squared size of its inverse or, for
        more rows than minors, of the solution of a random right-hand side.
        """
        home = self._evaluate_slope(pose, p)
        found = [np.linalg.det(home[np.ix_(*each[:2])]) for each in self._inverse_blocks]
        if self._has_determinant:
            found.append(np.linalg.det(self._compute_slopes(home)[self.wanted][self._gains_order]))
        for rows, places, _ in self._blocks:
            matrix = home[np.ix_(rows, places)]
            if len(rows) <= WRITTEN_OUT:
                found += evaluate_pivots(matrix)
            if len(rows) <= BY_MINORS:
                found.append((np.linalg.svd(matrix, compute_uv=False) ** -2.0).sum())
            else:
                far = np.linalg.lstsq(matrix, _some_vector(len(rows)), rcond=None)[0]
                found.append(far @ far)
        return [1.0 / math.copysign(max(abs(each), 1e-12), each) for each in map(float, found)]

    def collect_numbers(self, pose: Array, p: Array | Sequence[float], size: Array) -> list[float]:
        """Return the numbers of the function at a pose, with the sizes of the coordinates."""
        sizes = size.tolist() if self.mechanism.has_sizes else []
        return [*p, *sizes, *self.measure_pose(pose, p)]

    def evaluate_slopes(self, pose: Array, p: Array | Sequence[float]) -> Array:
        """Return the derivatives of all coordinates by the given ones at a pose."""
        return self._compute_slopes(self._evaluate_slope(pose, p))

    def _compute_inverse_pattern(self) -> Any:
        """
        Return which given coordinates may depend on which wanted ones: ``-R_x^-1 R_u``.

        The inverse of computed derivatives has rounding errors in place of zeros.
        """
        jacobian = ca.DM(self.mechanism.rows.sparsity_out(1), 1.0).full()[self.rows]
        by_given, by_wanted = jacobian[:, self.given], jacobian[:, self.wanted]
        is_plain = self.unknown == self.wanted and len(self.wanted) == self._n
        if not is_plain or ca.sprank(ca.sparsify(ca.DM(by_given))) < self._n:
            return ca.Sparsity.dense(self._n, len(self.wanted))
        pattern = inverse_pattern(by_given).astype(float) @ by_wanted
        return ca.sparsify(ca.DM(pattern)).sparsity()

    def _compute_slopes(self, home: Array) -> Array:
        whole = np.zeros((len(self.mechanism.names), self._n))
        whole[self.given] = np.eye(self._n)
        if self.unknown:
            home = home[self.rows]
            solved = np.linalg.lstsq(home[:, self.unknown], -home[:, self.given], rcond=None)[0]
            whole[self.unknown] = solved
        return whole

    def _sort_inverse(self) -> list[_Block]:
        """
        Return the blocks of the other direction, whose dead centres the signs exclude.

        The sign of the derivatives' determinant covers all blocks together: two blocks beyond
        their dead centres would cancel.
        """
        loose = {*self.wanted, *self.mechanism.held}
        places = [k for k in range(len(self.mechanism.names)) if k not in loose]
        if len(self.wanted) != self._n:
            return []
        try:
            core = [each for each in self._sort_into_blocks(places) if not each.is_late]
        except TransmissionError:  # the other direction reports it
            return []
        return [each for each in core if len(core) > 1 and len(each.rows) <= WRITTEN_OUT]

    def suits(self, pose: Array, p: Array | Sequence[float]) -> bool:
        """Return whether the orders of elimination are exact at another pose or with other p."""
        home = self._evaluate_slope(pose, p)
        found = [home[np.ix_(*each[:2])] for each in (*self._blocks, *self._inverse_blocks)]
        if self._has_determinant:
            found.append(self._compute_slopes(home)[self.wanted][self._gains_order])
            found += [home[np.ix_(self._given_order, self.given)]] * self.is_explicit
        written = (ca.SX(ca.DM(each)) for each in found if BY_MINORS < len(each) <= WRITTEN_OUT)
        return all(float(Elimination(each).is_exact()) == 1.0 for each in written)

    # -- the compiled function -------------------------------------------------------------------

    def _split_numbers(self, numbers: Expression) -> tuple[Expression, Expression, list[Any]]:
        """Return the numbers of the rows, the sizes of the coordinates, and the pose's values."""
        p, sizes, values = (numbers[low:high] for low, high in pairwise(self._ends))
        return p, sizes, ca.vertsplit(values) if values.numel() else []

    def list_units(self, numbers: Expression) -> Expression:
        """Return one by the size of each given coordinate; one without sizes."""
        sizes = self._split_numbers(numbers)[1]
        return 1.0 / sizes[self.given] if self.mechanism.has_sizes else 1.0

    def _compile_function(self, is_careful: bool = False) -> Any:
        """Return the function of a sample; ``is_careful``: by rotations, if not by minors."""
        mechanism, n, r = self.mechanism, self._n, self._r
        limit = BY_MINORS if is_careful else WRITTEN_OUT
        kinds = [ca.MX if len(each.rows) > limit else ca.SX for each in self._blocks]
        is_symbolic = mechanism.rows.is_a('SXFunction') and n <= limit and ca.MX not in kinds
        kind: Any = ca.SX if is_symbolic else ca.MX
        x, v, tau = (kind.sym(name, n) for name in ('x', 'v', 'tau'))
        state = kind.sym('state', self.n_state)
        held = kind.sym('held', len(mechanism.held))
        numbers = kind.sym('numbers', self._ends[-1])
        # Angles of balls that are not solved for stay at the pose; no other coordinate depends on
        # them.
        z: list[Expression] = [kind(each) for each in mechanism.pose.tolist()]
        slopes: list[Expression] = [kind(1, n)] * len(z)
        for places, given in ((self.given, x), (mechanism.held, held)):
            for k, place in enumerate(places):
                z[place] = given[k]
        for k, place in enumerate(self.given):
            slopes[place] = kind(ca.DM(np.eye(n)[k : k + 1]))
        solve = self._evaluate_formula if self.is_explicit else self._solve_blocks
        said, lever, balls, inverse_by_rows = solve(kinds, z, slopes, state, numbers)
        gains: Expression = ca.vertcat(*(slopes[self.wanted[k]] for k in self._gains_order))
        gains = ca.sparsify(gains) if kind is ca.SX else gains
        inverse, determinant, is_exact = _build_inverse(gains.sparsity(), n > limit)(gains)
        said['exact'].append(is_exact)
        if inverse_by_rows is not None:
            inverse = inverse_by_rows[:, self._gains_order]
        _, sizes, values = self._split_numbers(numbers)
        if self._has_determinant:
            share = determinant * values[len(self._inverse_blocks)]
            if self.is_explicit:
                # Times the determinants of the blocks, it is the one of the given coordinates.
                said['side'].append(_is_positive(share * lever))
            else:
                said['side'].append(share > 0.0)
        weighed, back = gains, inverse
        if mechanism.has_sizes:
            into, out = sizes[self.given], sizes[[self.wanted[k] for k in self._gains_order]]
            weighed = gains * ca.mtimes(1.0 / out, into.T)
            back = inverse * ca.mtimes(1.0 / into, out.T)
        # The rows of the derivatives are in the order of the pivots.
        inverse = inverse[:, np.argsort(self._gains_order).tolist()]
        inverse = ca.project(inverse, self._compute_inverse_pattern())
        whole = ca.vertcat(*(slopes[place] for place in self.unknown)) if r else kind(0, n)
        y: list[Expression] = [z[place] for place in self.unknown]
        outputs = [
            ca.densify(ca.vertcat(*y, x, ca.vec(ca.densify(whole)))),
            ca.densify(ca.mtimes(whole, v)) if r else kind.zeros(0, 1),
            ca.densify(ca.mtimes(inverse.T, tau)),
            ca.densify(ca.vertcat(ca.norm_fro(weighed), ca.norm_fro(back))),
            ca.densify(
                ca.vertcat(
                    *(all_of(each) if each else kind(1.0) for each in said.values()), lever, *balls
                )
            ),
        ]
        inputs = [x, v, tau, state, held, numbers]
        return ca.Function('way', inputs, outputs, {'cse': True})

    def _evaluate_formula(
        self,
        kinds: Sequence[Any],
        z: list[Expression],
        slopes: list[Expression],
        state: Expression,
        numbers: Expression,
    ) -> tuple[dict[str, list[Expression]], Expression, list[Expression], Expression]:
        """
        Evaluate the formula; the derivatives follow from the rows, without its clamps and roots.

        Close to a dead centre, rounding determines the sign of a determinant, but the position is
        known.
        """
        mechanism = self.mechanism
        p, _, values = self._split_numbers(numbers)
        found = mechanism.formula(ca.vertcat(*(z[place] for place in self.given)), p)
        for k, place in enumerate(self.wanted):
            z[place] = found[k]
        miss, *_, jacobian = mechanism.rows(ca.vertcat(*z), p)
        shares = [
            build_determinant(jacobian[rows, places]) * value
            for (rows, places, _), value in zip(self._inverse_blocks, values, strict=False)
        ]
        is_exact, homes = [], self._values_of_blocks(values)
        for block, home in zip(self._blocks, homes, strict=True):
            (rows, places, _), others = block, self._list_others(block)
            solve = make_solver(jacobian[rows, places])
            aside = ca.mtimes(jacobian[rows, others], ca.vertcat(*(slopes[k] for k in others)))
            solved = -solve(aside)
            solved = ca.sparsify(solved) if isinstance(solved, ca.SX) else solved
            for k, place in enumerate(places):
                slopes[place] = solved[k, :]
            if len(rows) <= WRITTEN_OUT:
                shares.append(build_determinant(jacobian[rows, places]) * math.prod(home.pivots))
            if isinstance(solve, Minors | Elimination):
                is_exact.append(solve.is_exact())
        said = {
            'core': [is_known(z[place]) for place in self.wanted],
            'side': [_is_positive(each) for each in shares],
            'polished': [ca.sumsqr(miss[list(mechanism.checked)]) <= mechanism.tolerance**2],
            'exact': is_exact,
        }
        inverse = None
        if self._has_determinant and self.unknown == self.wanted:
            # At a dead centre only the derivatives of one direction exist.
            jacobian = jacobian[self._given_order, :]
            solve = make_solver(jacobian[:, self.given])
            inverse = -solve(jacobian[:, self.wanted])
            if isinstance(solve, Elimination):
                is_exact.append(solve.is_exact())
        return said, math.prod(shares[len(self._inverse_blocks) :]), [], inverse

    def _solve_blocks(
        self,
        kinds: Sequence[Any],
        z: list[Expression],
        slopes: list[Expression],
        state: Expression,
        numbers: Expression,
    ) -> tuple[dict[str, list[Expression]], Expression, list[Expression], Expression]:
        """Solve block by block, from the last solution and its tangent."""
        r, n = self._r, self._n
        begin, at = state[:r], state[r : r + n]
        tangent = ca.reshape(state[r + n :], r, n)
        x = ca.vertcat(*(z[place] for place in self.given))
        ahead = begin + ca.mtimes(tangent, x - at) if r else begin
        for k, place in enumerate(self.unknown):
            z[place] = ahead[k]
        said: dict[str, list[Expression]] = {'core': [], 'side': [], 'polished': [], 'exact': []}
        balls: list[Expression] = []
        lever = type(state)(math.inf)
        before, *after = self._build_conditions()
        missed, is_upright = before(ca.vertcat(*z), numbers)
        said['side'].append(is_upright)
        said['polished'].append(missed <= self.mechanism.tolerance**2)
        for number, (kind, watched) in enumerate(zip(kinds, after, strict=True)):
            block = self._blocks[number]
            others = self._list_others(block)
            into = ca.vertcat(type(state)(0, n), *(slopes[place] for place in others))
            function = self._build_block(kind, number, watched, into.sparsity())
            found, slope, fine, side, is_polished, missed, is_exact, own_lever = function(
                ca.vertcat(*z), begin[self._state_columns(block)], numbers, into
            )
            for k, place in enumerate(block.places):
                z[place], slopes[place] = found[k], slope[k, :]
            said['exact'].append(is_exact)
            said['polished'].append(missed <= self.mechanism.tolerance**2)
            if block.is_late:
                ball: Expression = all_of((fine, side)) * (1.0 + is_polished)
                for before_it, other in zip(self.late_at, list(balls), strict=False):
                    if not set(others).isdisjoint(self.unknown[k] for k in before_it):
                        ball = ca.fmin(ball, other)
                balls.append(ball)
                for k, place in enumerate(block.places):
                    slopes[place] = ca.if_else(ball > 0.0, slope[k, :], type(state).zeros(1, n))
            else:
                said['core'].append(fine)
                said['side'].append(side)
                said['polished'].append(is_polished)
                lever = ca.fmin(lever, own_lever)
        return said, lever, balls, None

    def _values_of_blocks(self, values: Sequence[Expression]) -> list[_Values]:
        """Return the values at the pose of each block."""
        rest, found = list(values[len(self._inverse_blocks) + self._has_determinant :]), []
        for rows, _, _ in self._blocks:
            n = len(rows)
            pivots, rest = (rest[:n], rest[n:]) if n <= WRITTEN_OUT else ([], rest)
            if n <= BY_MINORS:
                pivots, rest = pivots[:1], [*pivots[1:], *rest]
            found.append(_Values(pivots, rest[0]))
            rest = rest[1:]
        return found

    def _list_others(self, block: _Block) -> list[int]:
        """Return the other coordinates, given or solved for, that the rows of a block contain."""
        rows = self.mechanism.rows
        patterns = [rows.sparsity_out(k) for k in range(1, rows.n_out())]
        known = {*self.given, *self.unknown}.difference(block.places)
        return [
            place
            for place in sorted(known)
            if any(each.has_nz(row, place) for each in patterns for row in block.rows)
        ]

    @cached_property
    def _written_out(self) -> tuple[Any, Any]:
        """Symbols of all coordinates and of the numbers, and the rows of these."""
        symbols = ca.SX.sym('z', len(self.mechanism.names)), ca.SX.sym('numbers', self._ends[-1])
        p = self._split_numbers(symbols[1])[0]
        return symbols, self.mechanism.rows(symbols[0], p)

    def _build_conditions(self) -> list[Any]:
        """
        Return functions for the other conditions, before the first block and for each block.

        They map all coordinates and the numbers to the squared residual of redundant rows, and to
        whether all signs equal those at the pose. Each row is checked as soon as its last
        coordinate is solved.
        """
        mechanism = self.mechanism
        (z, numbers), (rows, jacobian, *_) = self._written_out
        p, _, values = self._split_numbers(numbers)
        positive: list[Expression] = ca.vertsplit(mechanism.signs(z, p))
        positive += [
            build_determinant(jacobian[each.rows, each.places]) * value
            for each, value in zip(self._inverse_blocks, values, strict=False)
        ]
        left: list[tuple[Expression, set[int]]] = [
            (rows[k], _list_coordinates(rows[k], z)) for k in mechanism.checked
        ]
        right = [(each, _list_coordinates(each, z)) for each in positive]
        known, result = {*self.given, *mechanism.held}, []
        for places in ([], *(each.places for each in self._blocks)):
            known.update(places)
            missed: Expression = ca.vertcat(*(each for each, joints in left if joints <= known))
            sides: list[Expression] = [each > 0.0 for each, joints in right if joints <= known]
            left, right = (
                [each for each in rest if not each[1] <= known] for rest in (left, right)
            )
            outputs = [ca.SX(ca.sumsqr(missed)), all_of(sides) if sides else ca.SX(1.0)]
            result.append(ca.Function('watched', [z, numbers], outputs))
        return result

    def _build_block(self, kind: Any, number: int, watched: Any, pattern: Any) -> Any:
        """
        Return a function that solves a block; ``pattern`` is the one of the last input.

        Inputs: all coordinates, its own extrapolated by the tangent; its own at the last solution;
        the numbers; the derivatives of the coordinates that it depends on. Outputs: its
        coordinates, their derivatives, whether the steps contract, whether they are on the pose's
        side, whether the last step is rounding, the squared residual of the other conditions,
        whether the elimination is exact, and the squared distance of the rows from dependent ones,
        relative to the pose.
        """
        mechanism, n = self.mechanism, self._n
        kept, own, is_late = self._blocks[number]
        symbols, written = self._written_out
        equations, jacobian, *derived = (each[kept, :] for each in written)
        others = self._list_others(self._blocks[number])
        is_signed = len(own) <= WRITTEN_OUT
        first = [ca.densify(equations), ca.densify(jacobian[:, own])]
        begins = ca.Function('begins', symbols, first, {'cse': True})
        goes_on = ca.Function('goes_on', symbols, first[:1], {'cse': True})
        last = ca.Function(
            'last',
            symbols,
            [
                *first,
                ca.densify(jacobian[:, others]) if others else ca.SX(len(own), 0),
                build_determinant(jacobian[:, own]) if is_signed and kind is ca.MX else ca.SX(0.0),
                *watched(*symbols),
                *(ca.densify(each[:, places]) for each in derived for places in (own, others)),
            ],
            {'cse': True},
        )
        z: Expression = kind.sym('z', len(mechanism.names))
        numbers: Expression = kind.sym('numbers', self._ends[-1])
        begin, slopes = kind.sym('begin', len(own)), kind.sym('slopes', pattern)
        _, sizes, values = self._split_numbers(numbers)
        home = self._values_of_blocks(values)[number]
        unit: Expression = 1.0 / sizes[own] if mechanism.has_sizes else 1.0
        joints: list[Expression] = ca.vertsplit(z)
        if is_late:
            # Unknown coordinates begin at the pose.
            start = mechanism.pose[own]
            knows, knew = is_known(ca.sum1(z[own])), is_known(ca.sum1(begin))
            for k, place in enumerate(own):
                joints[place] = ca.if_else(knows, z[place], start[k])
            before = ca.if_else(knew, begin, start)
        here = ca.vertcat(*(joints[place] for place in own))
        steps = []
        # The slope of the first step serves all steps except the last, which has its own slope.
        miss, slope = begins(ca.vertcat(*joints), numbers)
        solve = make_solver(slope)
        for _ in range(STEPS - 1):
            change = solve(miss)
            here = here - change
            steps.append(ca.sumsqr(change * unit))
            for k, place in enumerate(own):
                joints[place] = here[k]
            miss = goes_on(ca.vertcat(*joints), numbers)
        # The last step is rounding, so the slope before it is the slope at the solution.
        found = last(ca.vertcat(*joints), numbers)
        miss, slope, aside, determinant, missed, is_upright, *derived = found
        solve = make_solver(slope)
        right = [miss, ca.mtimes(aside, slopes)]
        by_rotations = not isinstance(solve, Minors | Elimination)
        if by_rotations:
            # The length of the solution of a random right-hand side measures how close to
            # dependent the rows are.
            right.append(kind(_some_vector(len(own))))
        solved = solve(ca.horzcat(*right))
        here, changes = here - solved[:, 0], solved[:, 1 : n + 1]
        if derived:
            changes = make_solver(derived[0])(ca.mtimes(derived[1], slopes))
        one, two, three = (*steps, ca.sumsqr(solved[:, 0] * unit))
        fine = three <= ca.fmax(CONTRACTION**2 * two, LAST_STEP**2)
        if is_late:
            # The path does not matter: on the pose's side there is one solution, apart from full
            # turns.
            turns = [
                ca.floor(apart / math.tau + 0.5) if place in mechanism.winding else 0.0
                for place, apart in zip(own, ca.vertsplit(here - before), strict=True)
            ]
            here = here - math.tau * ca.vertcat(*turns)
        else:
            fine = all_of(
                (
                    fine,
                    one <= FIRST_STEP**2,
                    two <= ca.fmax(CONTRACTION**2 * one, ROUNDING**2),
                    ca.sumsqr((here - begin) * unit) <= WHOLE_STEP**2,
                )
            )
        last_step = POLISHED_SHARE if mechanism.has_sizes else POLISHED
        is_polished = ca.logic_and(three <= last_step**2, ca.sumsqr(miss) <= LAST_MISS**2)
        is_exact, share = kind(1.0), determinant * math.prod(home.pivots)
        if by_rotations:
            lever = 1.0 / (home.far * ca.sumsqr(solved[:, -1]))
        else:
            shares = [one * other for one, other in zip(solve.pivots, home.pivots, strict=True)]
            is_exact, share = solve.is_exact(), math.prod(shares)
            if isinstance(solve, Minors):
                lever = 1.0 / (home.far * solve.inverse_square)
            else:
                lever = ca.mmin(ca.vertcat(*(each**2 for each in shares)))
            if is_late:  # a ball without a solution is solved from other angles
                leads = is_known(ca.sum1(solved[:, 0]))
                is_exact = ca.logic_or(solve.is_exact(GROWTH_OF_BALLS), ca.logic_not(leads))
        if is_late:
            is_polished = ca.logic_and(is_polished, lever >= DEPENDENT**2)
        # The order of the rows and the sign at the pose determine the side. A ball has two
        # solutions for one orientation; the one on the pose's side is used.
        side = all_of((is_upright, share > 0.0)) if is_signed else is_upright
        changes = ca.sparsify(changes) if kind is ca.SX else changes
        return ca.Function(
            'block',
            [z, begin, numbers, slopes],
            [here, -changes, fine, side, is_polished, missed, is_exact, lever],
        )

    # -- accelerations ---------------------------------------------------------------------------

    @cached_property
    def bend_function(self) -> Any:
        """
        ``(z, z', numbers) -> b``: accelerations of the coordinates that are solved for.

        The given coordinates move at constant rates: ``b = -R_y^-1 r''``, block by block.
        """
        mechanism = self.mechanism
        z, rate = (ca.MX.sym(name, len(mechanism.names)) for name in ('z', 'rate'))
        numbers = ca.MX.sym('numbers', self._ends[-1])
        p = self._split_numbers(numbers)[0]
        bent, jacobian = mechanism.make_bend()(z, rate, p), mechanism.rows(z, p)[-1]
        found: dict[int, Expression] = {}
        for block in self._blocks:
            rows, places, _ = block
            right = bent[rows]
            for place in self._list_others(block):
                if place in found:
                    right = right + jacobian[rows, [place]] * found[place]
            solve = make_solver(ca.densify(jacobian[rows, places]))
            found |= zip(places, ca.vertsplit(-solve(right)), strict=True)
        outputs = [ca.vertcat(*(found[place] for place in self.unknown))]
        return ca.Function('bend', [z, rate, numbers], [ca.densify(each) for each in outputs])


def _sort_rows(block: _Block, home: Array) -> _Block:
    """Return a block with its rows in the order of their pivots."""
    order = compute_pivot_order(home[np.ix_(block.rows, block.places)])
    return block._replace(rows=[block.rows[k] for k in order])


def _is_positive(share: Expression) -> Expression:
    """Return whether a determinant has the sign of the pose, or an uncertain one."""
    return ca.logic_or(share > 0.0, ca.logic_not(ca.fabs(share) > UNSIGNED))


def _list_coordinates(row: Expression, z: Expression) -> set[int]:
    """Return the coordinates that a row depends on."""
    return set(ca.jacobian(row, z).sparsity().get_col())


def _some_vector(n: int) -> Array:
    """Return a right-hand side to measure how close to dependent rows are."""
    return np.random.default_rng(5).normal(size=n)


def _build_inverse(pattern: Any, by_rotations: bool) -> Any:
    """
    Return a function of a matrix: its inverse, its determinant, and whether these are exact.

    A matrix that is not square has a pseudo-inverse, and determinant zero.
    """
    kind: Any = ca.MX if by_rotations else ca.SX
    (n_rows, n), matrix = pattern.shape, kind.sym('matrix', pattern)
    small, is_tall = matrix, n_rows > n
    if is_tall:
        small = ca.mtimes(matrix.T, matrix)
    elif n_rows < n:
        small = ca.mtimes(matrix, matrix.T)
    solve = make_solver(small)
    inverse, is_exact, determinant = solve(kind.eye(min(n_rows, n))), kind(1.0), kind(0.0)
    if n_rows != n:
        inverse = ca.mtimes(inverse, matrix.T) if is_tall else ca.mtimes(matrix.T, inverse)
    elif isinstance(solve, Minors | Elimination):
        determinant, is_exact = math.prod(solve.pivots), solve.is_exact()
    elif n <= WRITTEN_OUT:
        entries = ca.SX.sym('entries', n, n)
        determinant = ca.Function('determinant', [entries], [build_determinant(entries)])(matrix)
    inverse = inverse if by_rotations else ca.sparsify(inverse)
    return ca.Function('inverse', [matrix], [inverse, determinant, is_exact])
