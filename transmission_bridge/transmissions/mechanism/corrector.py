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

Only the solver, the paths and the builders of mechanisms call it. The C export contains the
functions; limits and orders of operations decide which samples are solved, and last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
import math
from operator import or_
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.compiled import all_of, Expression, is_known, make_switch
from transmission_bridge.transmissions.linear import inverse_pattern
from transmission_bridge.transmissions.mechanism.block_system import (
    Block,
    BlockPoseValues,
    BlockSystem,
    build_determinant,
    BY_MINORS,
    Elimination,
    GROWTH_OF_BALLS,
    make_random_block_vector,
    make_solver,
    Mechanism,
    Minors,
    WRITTEN_OUT,
)

#: The side of a formula's result is unknown if a determinant is below this share of the pose's.
UNSIGNED = 1e-8

#: Newton steps per call.
NEWTON_STEPS = 3

#: Steps below this size are rounding. Sizes of steps are in [rad] or [m], or shares of the size of
#: a coordinate if the mechanism has sizes.
LAST_STEP = 1e-11

#: A published result has a last step and, before it, residuals of its rows below these limits,
#: because the derivatives are evaluated before the last step.
POLISHED, LAST_MISS = 3e-12, 1e-10

#: The last step in shares of sizes.
POLISHED_SHARE = 1e-13

#: Each step is at most this share of the one before, unless it is rounding.
CONTRACTION = 0.3

#: Largest first step, and largest sum of all steps with the tangent's, of a valid call.
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Rows may be this much closer to dependent than at the pose; derivatives still have seven digits.
DEPENDENT = 5e-5


class Corrector(BlockSystem):
    """
    All coordinates of a mechanism from the given ones.

    Linkages that differ in lengths share it for a direction, as do mechanisms of one structure. It
    keeps no state but compiled functions.

    :param mechanism: The mechanism.
    :param with_ball_joints: Whether coordinates whose loss affects no others are solved for.
    :raises TransmissionError: If the given coordinates do not determine the wanted ones.
    """

    def __init__(self, mechanism: Mechanism, with_ball_joints: bool = True) -> None:
        super().__init__(mechanism, with_ball_joints)
        #: The function of a sample. Inputs: given positions, velocities and efforts, state, held
        #: coordinates and numbers. Outputs: coordinates solved for, given coordinates and the
        #: derivatives of the former by the latter, which together are the next state; velocities;
        #: efforts; sizes of the derivatives; and flags. The flags are: the steps contract; the
        #: side is the pose's side; the last step is rounding; the elimination is exact; the
        #: squared distance of rows from dependent ones; and for each ball 0, 1 (its steps
        #: contract) or 2 (its angles are solved).
        self.function = self._compile_function()

    @cached_property
    def exact_function(self) -> Any:
        """
        The same function, by rotations if the elimination is inexact.

        If the steps contract but the last step is not rounding, a second call polishes the result.
        """
        exact = self.function
        given: list[Any] = exact.mx_in()
        # An unknown start leads to an unknown result.
        begins = self.has_state(given[3])
        if max(self._n, *(len(block.rows) for block in self.blocks), 0) > BY_MINORS:
            first = self.function(*given)
            switch = make_switch('careful', given, self._compile_function(is_careful=True)(*given))
            is_inexact = ca.logic_and(begins, ca.logic_not(first[4][3]))
            exact = ca.Function('exact', given, switch(is_inexact, *given, *first))
        if self.is_explicit:
            return exact
        results = exact(*given)
        contracts, _, is_polished, _, _, *balls = ca.vertsplit(results[4])
        is_done = all_of((is_polished, *(ball != 1.0 for ball in balls)))
        again = make_switch('again', given, exact(*given))
        is_near = ca.logic_and(contracts, ca.logic_not(is_done))
        further = [*given[:3], results[0], *given[4:]]
        return ca.Function('near', given, again(is_near, *further, *results))

    def has_state(self, state: Expression) -> Expression:
        """Return whether a state is known, apart from angles of balls."""
        if self.is_explicit:
            return 1.0
        return all_of(
            is_known(state[k]) for k in [*self.core_columns, *range(self._r, self._r + self._n)]
        )

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

    # -- the compiled function -------------------------------------------------------------------

    def _compile_function(self, is_careful: bool = False) -> Any:
        """Return the function of a sample; ``is_careful``: by rotations, if not by minors."""
        mechanism, n, r = self.mechanism, self._n, self._r
        limit = BY_MINORS if is_careful else WRITTEN_OUT
        kinds = [ca.MX if len(block.rows) > limit else ca.SX for block in self.blocks]
        is_symbolic = mechanism.rows.is_a('SXFunction') and n <= limit and ca.MX not in kinds
        kind: Any = ca.SX if is_symbolic else ca.MX
        x, v, tau = (kind.sym(name, n) for name in ('x', 'v', 'tau'))
        state = kind.sym('state', self.n_state)
        held = kind.sym('held', len(mechanism.held))
        numbers = kind.sym('numbers', self._ends[-1])
        # Angles of balls that are not solved for stay at the pose; no other coordinate depends on
        # them.
        z: Expression = kind(ca.DM(mechanism.pose))
        z[self.given], z[list(mechanism.held)] = x, held
        slopes: list[Expression] = [kind(1, n)] * z.numel()
        for k, column in enumerate(self.given):
            slopes[column] = kind(ca.DM(np.eye(n)[k : k + 1]))
        balls: list[Expression] = []
        inverse_by_rows = None
        if self.is_explicit:
            conditions, regularity, inverse_by_rows = self._evaluate_formula(z, slopes, numbers)
        else:
            conditions, regularity, balls = self._solve_blocks(kinds, z, slopes, state, numbers)
        gains: Expression = ca.vertcat(*(slopes[self.wanted[k]] for k in self._gains_order))
        gains = ca.sparsify(gains) if kind is ca.SX else gains
        inverse, determinant, is_exact = _build_inverse(gains.sparsity(), n > limit)(gains)
        conditions['exact'].append(is_exact)
        if inverse_by_rows is not None:
            inverse = inverse_by_rows[:, self._gains_order]
        _, sizes, values = self.split_numbers(numbers)
        if self._has_determinant:
            share = determinant * values[len(self.inverse_blocks)]
            if self.is_explicit:
                # Times the determinants of the blocks, it is the one of the given coordinates.
                conditions['side'].append(_is_positive(share * regularity))
            else:
                conditions['side'].append(share > 0.0)
        weighed, back = gains, inverse
        if mechanism.has_sizes:
            into, out = sizes[self.given], sizes[[self.wanted[k] for k in self._gains_order]]
            weighed = gains * ca.mtimes(1.0 / out, into.T)
            back = inverse * ca.mtimes(1.0 / into, out.T)
        # The rows of the derivatives are in the order of the pivots.
        inverse = inverse[:, np.argsort(self._gains_order).tolist()]
        inverse = ca.project(inverse, self._compute_inverse_pattern())
        whole = ca.vertcat(*(slopes[column] for column in self.unknown)) if r else kind(0, n)
        flags = [all_of(each) if each else kind(1.0) for each in conditions.values()]
        outputs = [
            ca.densify(ca.vertcat(*(z[k] for k in self.unknown), x, ca.vec(ca.densify(whole)))),
            ca.densify(ca.mtimes(whole, v)) if r else kind.zeros(0, 1),
            ca.densify(ca.mtimes(inverse.T, tau)),
            ca.densify(ca.vertcat(ca.norm_fro(weighed), ca.norm_fro(back))),
            ca.densify(ca.vertcat(*flags, regularity, *balls)),
        ]
        inputs = [x, v, tau, state, held, numbers]
        return ca.Function('way', inputs, outputs, {'cse': True})

    def _evaluate_formula(
        self, z: Expression, slopes: list[Expression], numbers: Expression
    ) -> tuple[dict[str, list[Expression]], Expression, Expression]:
        """
        Evaluate the formula; the derivatives follow from the rows, without its clamps and roots.

        Close to a dead centre, rounding determines the sign of a determinant, but the position is
        known.
        """
        mechanism = self.mechanism
        p, _, values = self.split_numbers(numbers)
        z[self.wanted] = mechanism.formula(z[self.given], p)
        miss, *_, jacobian = mechanism.rows(z, p)
        shares = [
            build_determinant(jacobian[rows, columns]) * value
            for (rows, columns, _), value in zip(self.inverse_blocks, values, strict=False)
        ]
        is_exact, pose_values = [], self.list_pose_values(values)
        for block, pose_value in zip(self.blocks, pose_values, strict=True):
            (rows, columns, _), others = block, self.list_others(block)
            solve = make_solver(jacobian[rows, columns])
            aside = ca.mtimes(jacobian[rows, others], ca.vertcat(*(slopes[k] for k in others)))
            solved = -solve(aside)
            solved = ca.sparsify(solved) if isinstance(solved, ca.SX) else solved
            for k, column in enumerate(columns):
                slopes[column] = solved[k, :]
            if len(rows) <= WRITTEN_OUT:
                determinant = build_determinant(jacobian[rows, columns])
                shares.append(determinant * math.prod(pose_value.pivots))
            if isinstance(solve, Minors | Elimination):
                is_exact.append(solve.is_exact())
        conditions = {
            'core': [is_known(z[column]) for column in self.wanted],
            'side': [_is_positive(share) for share in shares],
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
        return conditions, math.prod(shares[len(self.inverse_blocks) :]), inverse

    def _solve_blocks(
        self,
        kinds: Sequence[Any],
        z: Expression,
        slopes: list[Expression],
        state: Expression,
        numbers: Expression,
    ) -> tuple[dict[str, list[Expression]], Expression, list[Expression]]:
        """Solve block by block, from the last solution and its tangent."""
        r, n = self._r, self._n
        begin, at = state[:r], state[r : r + n]
        tangent = ca.reshape(state[r + n :], r, n)
        if r:
            z[self.unknown] = begin + ca.mtimes(tangent, z[self.given] - at)
        names = ('core', 'side', 'polished', 'exact')
        conditions: dict[str, list[Expression]] = {name: [] for name in names}
        balls: list[Expression] = []
        regularity = type(state)(math.inf)
        before, *after = build_conditions(self)
        missed, is_upright = before(z, numbers)
        conditions['side'].append(is_upright)
        conditions['polished'].append(missed <= self.mechanism.tolerance**2)
        for number, (kind, watched) in enumerate(zip(kinds, after, strict=True)):
            block = self.blocks[number]
            others = self.list_others(block)
            into = ca.vertcat(type(state)(0, n), *(slopes[column] for column in others))
            function = build_newton_function(self, kind, number, watched, into.sparsity())
            solution, slope, fine, side, is_polished, missed, is_exact, distance = function(
                z, begin[self._state_columns(block)], numbers, into
            )
            z[block.places] = solution
            for k, column in enumerate(block.places):
                slopes[column] = slope[k, :]
            conditions['exact'].append(is_exact)
            conditions['polished'].append(missed <= self.mechanism.tolerance**2)
            if block.is_ball_joint:
                ball: Expression = all_of((fine, side)) * (1.0 + is_polished)
                for before_it, other in zip(self.ball_columns, list(balls), strict=False):
                    if not set(others).isdisjoint(self.unknown[k] for k in before_it):
                        ball = ca.fmin(ball, other)
                balls.append(ball)
                for k, column in enumerate(block.places):
                    slopes[column] = ca.if_else(ball > 0.0, slope[k, :], type(state).zeros(1, n))
            else:
                conditions['core'].append(fine)
                conditions['side'].append(side)
                conditions['polished'].append(is_polished)
                regularity = ca.fmin(regularity, distance)
        return conditions, regularity, balls

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
        p = self.split_numbers(numbers)[0]
        bent, jacobian = mechanism.make_bend()(z, rate, p), mechanism.rows(z, p)[-1]
        accelerations: dict[int, Expression] = {}
        for block in self.blocks:
            rows, columns, _ = block
            right = bent[rows]
            for column in self.list_others(block):
                if column in accelerations:
                    right = right + jacobian[rows, [column]] * accelerations[column]
            solve = make_solver(ca.densify(jacobian[rows, columns]))
            accelerations |= zip(columns, ca.vertsplit(-solve(right)), strict=True)
        outputs = [ca.vertcat(*(accelerations[column] for column in self.unknown))]
        return ca.Function('bend', [z, rate, numbers], [ca.densify(output) for output in outputs])


def _is_positive(share: Expression) -> Expression:
    """Return whether a determinant has the sign of the pose, or an uncertain one."""
    return ca.logic_or(share > 0.0, ca.logic_not(ca.fabs(share) > UNSIGNED))


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


# -- the Newton steps of a block ------------------------------------------------------------------


def build_conditions(system: BlockSystem) -> list[Any]:
    """
    Return functions for the other conditions, before the first block and for each block.

    They map all coordinates and the numbers to the squared residual of redundant rows, and to
    whether all signs equal those at the pose. Each row is checked as soon as its last
    coordinate is solved.
    """
    mechanism = system.mechanism
    (z, numbers), (rows, jacobian, *_) = system.symbolic_rows
    p, _, values = system.split_numbers(numbers)
    positive: list[Expression] = ca.vertsplit(mechanism.signs(z, p))
    positive += [
        build_determinant(jacobian[condition.rows, condition.places]) * value
        for condition, value in zip(system.inverse_blocks, values, strict=False)
    ]
    stages = [{*system.given, *mechanism.held}]
    stages += [{*block.places} for block in system.blocks]
    solved: list[set[int]] = [*accumulate(stages, or_)]

    def find_stage(row: Expression) -> int:
        """Return the first stage at which all coordinates of a row are solved, -1 if none is."""
        needed = set(ca.jacobian(row, z).sparsity().get_col())
        return next((stage for stage, known in enumerate(solved) if needed <= known), -1)

    left = [(find_stage(rows[k]), rows[k]) for k in mechanism.checked]
    right = [(find_stage(condition), condition > 0.0) for condition in positive]
    result = []
    for stage in range(len(stages)):
        missed: Expression = ca.vertcat(*(row for at, row in left if at == stage))
        sides = [condition for at, condition in right if at == stage]
        outputs = [ca.SX(ca.sumsqr(missed)), all_of(sides) if sides else ca.SX(1.0)]
        result.append(ca.Function('watched', [z, numbers], outputs))
    return result


def build_newton_function(
    system: BlockSystem, kind: Any, number: int, conditions: Any, pattern: Any
) -> Any:
    """
    Return a function that corrects a prediction of a block; ``pattern`` is of its last input.

    Inputs: all coordinates, those of the block predicted along the tangent; those of the block at
    the last solution; the numbers; the derivatives of the coordinates that it depends on. Outputs:
    its coordinates, their derivatives, whether the Newton steps contract, whether they are on the
    pose's side, whether the last step is rounding, the squared residual of the other conditions,
    whether the elimination is exact, and the squared distance of the rows from dependent ones,
    relative to the pose.
    """
    mechanism, (_, n, *_) = system.mechanism, system.counts
    rows, columns, is_ball = block = system.blocks[number]
    is_signed = len(rows) <= WRITTEN_OUT
    first, middle, last = _compile_rows(system, block, conditions, is_signed and kind is ca.MX)
    z: Expression = kind.sym('z', len(mechanism.names))
    numbers: Expression = kind.sym('numbers', system.counts[-1])
    begin, slopes = kind.sym('begin', len(columns)), kind.sym('slopes', pattern)
    _, sizes, values = system.split_numbers(numbers)
    at_pose = system.list_pose_values(values)[number]
    unit: Expression = 1.0 / sizes[columns] if mechanism.has_sizes else 1.0
    coordinates: Expression = kind(z)
    before = begin
    if is_ball:
        # Unknown coordinates begin at the pose.
        start, predicted = mechanism.pose[columns], z[columns]
        before = ca.if_else(is_known(ca.sum1(begin)), begin, start)
        coordinates[columns] = ca.if_else(is_known(ca.sum1(predicted)), predicted, start)
    here = coordinates[columns]
    sizes_of_steps = []
    # The slope of the first step serves all steps except the last, which has its own slope.
    residual, slope = first(coordinates, numbers)
    solve = make_solver(slope)
    for _ in range(NEWTON_STEPS - 1):
        step = solve(residual)
        here = here - step
        sizes_of_steps.append(ca.sumsqr(step * unit))
        coordinates[columns] = here
        residual = middle(coordinates, numbers)
    # The last step is rounding, so the slope before it is the slope at the solution.
    evaluated = last(coordinates, numbers)
    residual, slope, aside, determinant, other_residual, is_upright, *derived = evaluated
    solve = make_solver(slope)
    right = [residual, ca.mtimes(aside, slopes)]
    if not isinstance(solve, Minors | Elimination):
        # The length of the solution of a random right-hand side measures how close to dependent
        # the rows are.
        right.append(kind(make_random_block_vector(len(columns))))
    solved = solve(ca.horzcat(*right))
    here, changes = here - solved[:, 0], solved[:, 1 : n + 1]
    if derived:
        changes = make_solver(derived[0])(ca.mtimes(derived[1], slopes))
    sizes_of_steps.append(ca.sumsqr(solved[:, 0] * unit))
    if is_ball:
        here = here - _count_turns(here - before, block, mechanism.winding)
    regularity, share, is_exact = _measure_regularity(solve, solved, at_pose, is_ball)
    share = determinant * math.prod(at_pose.pivots) if share is None else share
    last_step = POLISHED_SHARE if mechanism.has_sizes else POLISHED
    polished = [sizes_of_steps[-1] <= last_step**2, ca.sumsqr(residual) <= LAST_MISS**2]
    # The order of the rows and the sign at the pose determine the side. A ball joint has two
    # solutions for one orientation; the one on the pose's side is used.
    side = all_of((is_upright, share > 0.0)) if is_signed else is_upright
    outputs = [
        here,
        -ca.sparsify(changes) if kind is ca.SX else -changes,
        _is_contracting(sizes_of_steps, None if is_ball else ca.sumsqr((here - begin) * unit)),
        side,
        all_of([*polished, regularity >= DEPENDENT**2] if is_ball else polished),
        other_residual,
        is_exact,
        regularity,
    ]
    return ca.Function('block', [z, begin, numbers, slopes], outputs)


def _compile_rows(
    system: BlockSystem, block: Block, conditions: Any, with_determinant: bool
) -> list[Any]:
    """
    Return the functions of the first, of the next and of the last Newton step of a block.

    They return the residual; with the slope; and with all that follows from the solution.
    """
    rows, columns, _ = block
    symbols, written = system.symbolic_rows
    equations, jacobian, *derived = (each[rows, :] for each in written)
    others = system.list_others(block)
    first = [ca.densify(equations), ca.densify(jacobian[:, columns])]
    last = [
        *first,
        ca.densify(jacobian[:, others]) if others else ca.SX(len(columns), 0),
        build_determinant(jacobian[:, columns]) if with_determinant else ca.SX(0.0),
        *conditions(*symbols),
        *(ca.densify(each[:, part]) for each in derived for part in (columns, others)),
    ]
    outputs = {'first': first, 'next': first[:1], 'last': last}
    return [ca.Function(name, symbols, each, {'cse': True}) for name, each in outputs.items()]


def _count_turns(distance: Expression, block: Block, winding: frozenset[int]) -> Expression:
    """
    Return the full turns in a distance of the angles of a ball joint from where they began.

    The path does not matter: on the pose's side there is one solution, apart from full turns.
    """
    angles: list[Expression] = ca.vertsplit(distance)
    turns = [
        ca.floor(angle / math.tau + 0.5) if column in winding else 0.0
        for column, angle in zip(block.places, angles, strict=True)
    ]
    return math.tau * ca.vertcat(*turns)


def _is_contracting(steps: Sequence[Expression], whole: Expression | None) -> Expression:
    """
    Return whether Newton steps converge to the solution that belongs to their begin.

    :param steps: Squared sizes of the steps.
    :param whole: Squared distance from the last solution; ``None`` if it does not matter.
    """
    one, two, three = steps
    conditions = [three <= ca.fmax(CONTRACTION**2 * two, LAST_STEP**2)]
    if whole is not None:
        conditions += [
            one <= FIRST_STEP**2,
            two <= ca.fmax(CONTRACTION**2 * one, LAST_STEP**2),
            whole <= WHOLE_STEP**2,
        ]
    return all_of(conditions)


def _measure_regularity(
    solve: Any, solved: Expression, at_pose: BlockPoseValues, is_ball: bool
) -> tuple[Expression, Expression | None, Expression]:
    """
    Return the squared distance from dependent rows, relative to the pose, and two more values.

    These are the determinant relative to the pose, ``None`` if it is not known from the solution;
    and whether the elimination is exact.
    """
    if not isinstance(solve, Minors | Elimination):
        distance = 1.0 / (at_pose.inverse_size * ca.sumsqr(solved[:, -1]))
        return distance, None, type(solved)(1.0)
    shares = [pivot * at for pivot, at in zip(solve.pivots, at_pose.pivots, strict=True)]
    is_exact = solve.is_exact()
    regularity: Expression
    if isinstance(solve, Minors):
        regularity = 1.0 / (at_pose.inverse_size * solve.inverse_square)
    else:
        regularity = ca.mmin(ca.vertcat(*(share**2 for share in shares)))
    if is_ball:  # a ball joint without a solution is solved from other angles
        leads = is_known(ca.sum1(solved[:, 0]))
        is_exact = ca.logic_or(solve.is_exact(GROWTH_OF_BALLS), ca.logic_not(leads))
    return regularity, math.prod(shares), is_exact
