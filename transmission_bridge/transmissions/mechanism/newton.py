# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The Newton steps of a block of equations as a compiled function, and when they are valid."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import casadi as ca

from transmission_bridge.transmissions.compiled import all_of, Expression, is_known
from transmission_bridge.transmissions.mechanism.block_system import (
    Block,
    BlockSystem,
    build_determinant,
    Elimination,
    GROWTH_OF_BALLS,
    make_random_vector,
    make_solver,
    Minors,
    PoseValues,
    WRITTEN_OUT,
)

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
CONTRACTION, ROUNDING = 0.3, 1e-11

#: Largest first step, and largest sum of all steps with the tangent's, of a valid call.
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Rows may be this much closer to dependent than at the pose; derivatives still have seven digits.
DEPENDENT = 5e-5


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
    left: list[tuple[Expression, set[int]]] = [
        (rows[k], _list_coordinates(rows[k], z)) for k in mechanism.checked
    ]
    right = [(condition, _list_coordinates(condition, z)) for condition in positive]
    solved, result = {*system.given, *mechanism.held}, []
    for places in ([], *(block.places for block in system.blocks)):
        solved.update(places)
        missed: Expression = ca.vertcat(
            *(condition for condition, joints in left if joints <= solved)
        )
        sides: list[Expression] = [
            condition > 0.0 for condition, joints in right if joints <= solved
        ]
        left, right = (
            [condition for condition in rest if not condition[1] <= solved]
            for rest in (left, right)
        )
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
    coordinates: list[Expression] = ca.vertsplit(z)
    before = begin
    if is_ball:
        # Unknown coordinates begin at the pose.
        start, predicted = mechanism.pose[columns], z[columns]
        before = ca.if_else(is_known(ca.sum1(begin)), begin, start)
        predicted = ca.if_else(is_known(ca.sum1(predicted)), predicted, start)
        for k, column in enumerate(columns):
            coordinates[column] = predicted[k]
    here = ca.vertcat(*(coordinates[column] for column in columns))
    sizes_of_steps = []
    # The slope of the first step serves all steps except the last, which has its own slope.
    residual, slope = first(ca.vertcat(*coordinates), numbers)
    solve = make_solver(slope)
    for _ in range(NEWTON_STEPS - 1):
        step = solve(residual)
        here = here - step
        sizes_of_steps.append(ca.sumsqr(step * unit))
        for k, column in enumerate(columns):
            coordinates[column] = here[k]
        residual = middle(ca.vertcat(*coordinates), numbers)
    # The last step is rounding, so the slope before it is the slope at the solution.
    evaluated = last(ca.vertcat(*coordinates), numbers)
    residual, slope, aside, determinant, other_residual, is_upright, *derived = evaluated
    solve = make_solver(slope)
    right = [residual, ca.mtimes(aside, slopes)]
    if not isinstance(solve, Minors | Elimination):
        # The length of the solution of a random right-hand side measures how close to dependent
        # the rows are.
        right.append(kind(make_random_vector(len(columns))))
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
    contracts = three <= ca.fmax(CONTRACTION**2 * two, LAST_STEP**2)
    if whole is None:
        return contracts
    return all_of(
        (
            contracts,
            one <= FIRST_STEP**2,
            two <= ca.fmax(CONTRACTION**2 * one, ROUNDING**2),
            whole <= WHOLE_STEP**2,
        )
    )


def _measure_regularity(
    solve: Any, solved: Expression, at_pose: PoseValues, is_ball: bool
) -> tuple[Expression, Expression | None, Expression]:
    """
    Return the squared distance from dependent rows, relative to the pose, and two more values.

    These are the determinant relative to the pose, ``None`` if it is not known from the solution;
    and whether the elimination is exact.
    """
    if not isinstance(solve, Minors | Elimination):
        distance = 1.0 / (at_pose.inverse_size * ca.sumsqr(solved[:, -1]))
        return distance, None, type(solved)(1.0)
    shares = [
        pivot * reciprocal for pivot, reciprocal in zip(solve.pivots, at_pose.pivots, strict=True)
    ]
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


def _list_coordinates(row: Expression, z: Expression) -> set[int]:
    """Return the coordinates that a row depends on."""
    return set(ca.jacobian(row, z).sparsity().get_col())
