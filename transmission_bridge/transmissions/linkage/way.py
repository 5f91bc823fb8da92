# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a linkage: all joints from the given ones, by a compiled function of one sample.

The rows are solved block by block: each block holds the joints of those before it and its own. A
call begins at the last solution, goes where its tangent leads, and takes three Newton steps in
each block. What it gives counts only if the steps contract, the last one is nothing, redundant
rows hold and all is on the start's side; else the way is halved. The function has no memory:
where it begins is an argument.

The function eliminates in the order of rows that is best at the start, and says where that order
is bad. For these positions there is another function with the same arguments that factorises by
rotations; it is compiled when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
import math
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.equations import all_of, is_known
from transmission_bridge.transmissions.linkage.structure import Structure
from transmission_bridge.types import Array

__all__ = ['CALLS', 'Way']

Expression: TypeAlias = Any

#: Newton steps of a call.
STEPS = 3

#: Steps below this are rounding.
LAST_STEP = 1e-11

#: What is published has a last step below this, as the slope is that before it, and before it
#: residuals of its rows below this.
POLISHED, LAST_MISS = 3e-13, 1e-10

#: How many calls a position takes at most, each from where the last one led, and how many more
#: to find angles of balls.
POLISHING, SEEKING = 4, 24

#: Each step is at most this share of the one before, unless it is rounding.
CONTRACTION, ROUNDING = 0.3, 1e-11

#: The first step [rad or m], and all of them with the tangent's, of a call that is trusted.
FIRST_STEP, WHOLE_STEP = 0.05, 0.3

#: Calls for one sample, and what a step on the way is at least a share of it.
CALLS, SMALLEST = 120, 2.0**-8

#: Blocks up to this size are written out; larger ones are factorised by a call.
WRITTEN_OUT = 12

#: How many times larger than a matrix the factors of a quick elimination may be: it misses its
#: equations by rounding, that many times. Angles of balls that nobody commands are only shown.
GROWTH, GROWTH_OF_BALLS = 2e3, 1e5


class Way:
    """
    All joints from as many given ones.

    Not to be shared between threads: the compiled function owns the arrays that it reads.

    :param structure: The linkage.
    :param given: Places of the given joints.
    :param wanted: Places of those that efforts and gains are mapped to, as many.
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
        self._blocks = self._in_blocks(self.unknown, what)
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
        #: Of the blocks that are of balls, places of the joints and where they stand in the state.
        self._balls_at = [
            ([self.unknown[column] for column in columns], list(columns))
            for (_, columns), is_of_ball in zip(self._blocks, self.is_of_ball, strict=True)
            if is_of_ball
        ]
        #: The function of a sample: what is given, its rates and efforts, the state, held joints
        #: and lengths; to the next state, rates, efforts, sizes of the derivatives, what is said.
        self.function = self._compiled()
        self._careful: list[Any] = []
        self._allocate()

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

    def _in_blocks(self, places: Sequence[int], what: str) -> list[tuple[list[int], list[int]]]:
        """Return rows and unknowns of each block, in the order in which they can be solved."""
        structure = self.structure
        if not self._r:
            return []
        jacobian = structure.closures.slope[list(structure.kept), list(places)]
        function = ca.Function('j', [structure.closures.z, structure.closures.lengths], [jacobian])
        random = np.random.default_rng(2)
        seen = np.zeros(jacobian.shape, dtype=bool)
        for _ in range(3):
            z = structure.start + random.uniform(-0.3, 0.3, len(structure.start))
            seen |= np.abs(function(z, structure.lengths).full()) > 1e-13
        pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
        if ca.sprank(ca.DM(pattern, 1.0)) < self._r:
            loose = [structure.names[places[k]] for k in range(self._r) if not seen[:, k].any()]
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

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of joints solved for and given, of held ones, and of loops."""
        structure = self.structure
        return self._r, self._n, len(structure.held), len(structure.lengths)

    def _compiled(self, is_careful: bool = False) -> Any:
        """
        Return the function of a sample.

        :param is_careful: Whether all blocks are factorised by rotations.
        """
        structure, n, r = self.structure, self._n, self._r
        kinds = [
            ca.MX if is_careful or len(rows) > WRITTEN_OUT else ca.SX for rows, _ in self._blocks
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
        # Angles of balls that are not solved for stay at the start; nothing depends on them.
        z: list[Expression] = [kind(each) for each in structure.start.tolist()]
        slopes: list[Expression] = [kind(1, n)] * len(z)
        for places, values in ((self.given, x), (structure.held, held), (self.unknown, ahead)):
            for k, place in enumerate(places):
                z[place] = values[k]
        for k, place in enumerate(self.given):
            slopes[place] = kind(ca.DM(np.eye(n)[k : k + 1]))
        said: dict[str, list[Expression]] = {'core': [], 'side': [], 'polished': [], 'exact': []}
        balls: list[Expression] = []
        before, *after = self._watched()
        missed, is_upright = before(ca.vertcat(*z), lengths)
        said['side'].append(is_upright)
        said['polished'].append(missed <= self._tolerance**2)
        for own_kind, watched, (rows, columns), is_of_ball in zip(
            kinds, after, self._blocks, self.is_of_ball, strict=True
        ):
            own = [self.unknown[column] for column in columns]
            function, others = self._block(own_kind, rows, own, watched, is_of_ball)
            found, slope, fine, side, is_polished, missed, is_exact = function(
                ca.vertcat(*z),
                y0[columns],
                lengths,
                ca.vertcat(*(slopes[place] for place in others)) if others else kind(0, n),
            )
            for k, place in enumerate(own):
                z[place], slopes[place] = found[k], slope[k, :]
            said['exact'].append(is_exact)
            said['polished'].append(missed <= self._tolerance**2)
            if is_of_ball:
                ball: Expression = all_of((fine, side)) * (1.0 + is_polished)
                for (known, _), other in zip(self._balls_at, list(balls), strict=False):
                    if not set(others).isdisjoint(known):
                        ball = ca.fmin(ball, other)
                balls.append(ball)
            else:
                said['core'].append(fine)
                said['side'].append(side)
                said['polished'].append(is_polished)
        order, sign = self._pivots_of_gains()
        gains: Expression = ca.vertcat(*(slopes[self.wanted[k]] for k in order))
        inverse, determinant, is_exact = _inverse(n, is_large)(gains)
        said['exact'].append(is_exact)
        if n <= WRITTEN_OUT:
            said['side'].append(sign * determinant > 0.0)
        # The rows of the derivatives stand in the order of the pivots.
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
                    *(all_of(each) if each else kind(1.0) for each in said.values()), *balls
                )
            ),
        ]
        return ca.Function('way', [x, v, tau, state, held, lengths], outputs, {'cse': True})

    def _watched(self) -> list[Any]:
        """
        Return what is watched beside the rows of the blocks, before the first one and in each.

        They are functions of all joints and the lengths: to the square of what redundant rows
        miss, and whether all is on the start's side. Each row is watched where the last of its
        joints is solved for.
        """
        closures = self.structure.closures
        known = {*self.given, *self.structure.held}
        zero = [
            closures.rows[k] for k in range(closures.rows.numel()) if k not in self.structure.kept
        ]
        positive: list[Expression] = []
        if closures.upright.numel():
            positive += ca.vertsplit(closures.upright)
        positive += self._sides_of_the_other_direction()
        left: list[tuple[Expression, set[int]]] = [
            (each, _joints_of(each, closures.z)) for each in zero
        ]
        right = [(each, _joints_of(each, closures.z)) for each in positive]
        result = []
        for columns in ([], *(columns for _, columns in self._blocks)):
            known.update(self.unknown[column] for column in columns)
            rows: Expression = ca.vertcat(*(each for each, joints in left if joints <= known))
            sides: list[Expression] = [each > 0.0 for each, joints in right if joints <= known]
            left, right = (
                [each for each in rest if not each[1] <= known] for rest in (left, right)
            )
            outputs = [ca.SX(ca.sumsqr(rows)), all_of(sides) if sides else ca.SX(1.0)]
            arguments = [closures.z, closures.lengths]
            result.append(ca.Function('watched', arguments, outputs))
        return result

    def _block(
        self,
        kind: Any,
        rows: Sequence[int],
        own: Sequence[int],
        watched: Any,
        is_of_ball: bool,
    ) -> tuple[Any, list[int]]:
        """
        Return a function that solves a block, and the places of the joints that it depends on.

        It is a function of all joints, its own where the tangent leads; of its own at the last
        solution; of the lengths; and of the derivatives of the joints that it depends on. It gives
        its joints, their derivatives, whether the steps contract, whether they are on the start's
        side, whether the last one is rounding, the square of what is missed by what is watched,
        and whether the elimination is exact.
        """
        closures, n = self.structure.closures, self._n
        arguments = [closures.z, closures.lengths]
        kept = [self.rows[row] for row in rows]
        jacobian = closures.slope[kept, :]
        order, sign = _pivots(self._at_start(jacobian[:, own]))
        known = {*self.given, *self.unknown}.difference(own)
        others = [place for place in sorted(known) if jacobian[:, place].nnz()]
        equations, jacobian = closures.rows[kept][order], jacobian[order, :]
        first = [ca.densify(equations), ca.densify(jacobian[:, own])]
        begins = ca.Function('begins', arguments, first, {'cse': True})
        goes_on = ca.Function('goes_on', arguments, first[:1], {'cse': True})
        is_signed = len(rows) <= WRITTEN_OUT
        last = ca.Function(
            'last',
            arguments,
            [
                *first,
                ca.densify(jacobian[:, others]) if others else ca.SX(len(rows), 0),
                _determinant(jacobian[:, own]) if is_signed and kind is ca.MX else ca.SX(0.0),
                *watched(closures.z, closures.lengths),
            ],
            {'cse': True},
        )
        z: Expression = kind.sym('z', closures.z.numel())
        lengths: Expression = kind.sym('length', closures.lengths.numel())
        begin, slopes = kind.sym('begin', len(own)), kind.sym('slopes', len(others), n)
        joints: list[Expression] = ca.vertsplit(z)
        if is_of_ball:
            # What is not known begins at the start.
            start = self.structure.start[own]
            knows, knew = is_known(ca.sum1(z[own])), is_known(ca.sum1(begin))
            for k, place in enumerate(own):
                joints[place] = ca.if_else(knows, z[place], start[k])
            before = ca.if_else(knew, begin, start)
        here = ca.vertcat(*(joints[place] for place in own))
        sizes = []
        # The slope of the first step does for all but the last one, which has its own.
        miss, slope = begins(ca.vertcat(*joints), lengths)
        solve = _solver(slope)
        for _ in range(STEPS - 1):
            change = solve(miss)
            here = here - change
            sizes.append(ca.sumsqr(change))
            for k, place in enumerate(own):
                joints[place] = here[k]
            miss = goes_on(ca.vertcat(*joints), lengths)
        # The last step is rounding, so that the slope before it is that of the solution.
        miss, slope, aside, determinant, missed, is_upright = last(ca.vertcat(*joints), lengths)
        solve = _solver(slope)
        solved = solve(ca.horzcat(miss, ca.mtimes(aside, slopes)))
        here = here - solved[:, 0]
        sizes.append(ca.sumsqr(solved[:, 0]))
        one, two, three = sizes
        fine = three <= ca.fmax(CONTRACTION**2 * two, LAST_STEP**2)
        if is_of_ball:
            # Whatever the way there: on the start's side there is one solution, but for turns.
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
        if isinstance(solve, _Elimination):
            is_exact, determinant = solve.is_exact(), solve.determinant
            if is_of_ball:  # what has led nowhere is sought elsewhere
                leads = is_known(ca.sum1(solved[:, 0]))
                is_exact = ca.logic_or(solve.is_exact(GROWTH_OF_BALLS), ca.logic_not(leads))
        # The order of the rows and the start's sign say what is the start's side. Of the two ways
        # to turn a ball to one orientation it is that of the start.
        side = all_of((is_upright, sign * determinant > 0.0)) if is_signed else is_upright
        function = ca.Function(
            'block',
            [z, begin, lengths, slopes],
            [here, -solved[:, 1:], fine, side, is_polished, missed, is_exact],
            {'cse': True},
        )
        return function, others

    def _sides_of_the_other_direction(self) -> list[Expression]:
        """
        Return what is positive on the start's side of the dead centres of the other direction.

        The sign of the derivatives' determinant says it of all of its blocks together: two that
        are beyond theirs look as none.
        """
        structure, closures = self.structure, self.structure.closures
        loose = {*self.wanted, *structure.held}
        places = [k for k in range(len(structure.names)) if k not in loose]
        try:
            found = self._in_blocks(places, self.what)
        except TransmissionError:  # which the other direction says itself
            return []
        blocks = [(rows, [places[column] for column in columns]) for rows, columns in found]
        core = [each for each in blocks if not structure.balls.issuperset(each[1])]
        if len(core) < 2:
            return []
        result = []
        for rows, own in core:
            if len(rows) > WRITTEN_OUT:
                continue
            jacobian = closures.slope[[structure.kept[row] for row in rows], own]
            order, sign = _pivots(self._at_start(jacobian))
            result.append(sign * _determinant(jacobian[order, :]))
        return result

    def _pivots_of_gains(self) -> tuple[list[int], float]:
        """Return an order of the wanted joints, and the sign of their derivatives' determinant."""
        home = self._at_start(self.structure.closures.slope)[self.rows]
        whole = np.zeros((len(self.structure.names), self._n))
        whole[self.given] = np.eye(self._n)
        if self._r:
            solved = np.linalg.lstsq(home[:, self.unknown], -home[:, self.given], rcond=None)[0]
            whole[self.unknown] = solved
        return _pivots(whole[self.wanted])

    def _at_start(self, matrix: Expression) -> Array:
        """Return what a matrix of the joints is at the start."""
        closures = self.structure.closures
        function = ca.Function('start', [closures.z, closures.lengths], [matrix])
        return np.asarray(function(self.structure.start, self.structure.lengths).full())

    def _allocate(self) -> None:
        structure, n, r = self.structure, self._n, self._r
        self._x, self.velocity, self.force = np.zeros(n), np.zeros(n), np.zeros(n)
        #: Where the next call begins: the joints solved for, the given ones, and the tangent.
        self.state: Array = np.full(r + n + r * n, math.nan)
        self._held = structure.start[list(structure.held)].copy()
        self._lengths = structure.lengths.astype(np.float64).copy()
        self._next = np.full(r + n + r * n, math.nan)
        self.rate: Array = np.zeros(max(r, 1))
        self.effort: Array = np.zeros(n)
        #: Norms of the derivatives of the wanted joints by the given ones, and of the inverse.
        self.gains: Array = np.full(2, math.nan)
        self._said = np.zeros(4 + sum(self.is_of_ball))
        self._run = self._runner(self.function)
        self._run_carefully: Any = None
        start = structure.start[self.unknown]
        around = np.random.default_rng(3).uniform(-math.pi, math.pi, (POLISHING + SEEKING, r))
        around[0] = 0.0
        #: Where balls are sought: at the start, and anywhere.
        self._guesses: Array = start + around
        stretched = structure.closures.stretched
        self._whole_turn = np.array([0.0 if k in stretched else math.tau for k in self.unknown])
        #: How often the function was called.
        self.calls = 0
        #: Places of joints of balls that were not found by the last call.
        self.lost: list[int] = []

    def _runner(self, function: Any) -> Any:
        """Return a call of a function with the arrays of this way."""
        buffer: Any
        buffer, run = function.buffer()
        inputs = (self._x, self.velocity, self.force, self.state, self._held, self._lengths)
        results = (self._next, self.rate, self.effort, self.gains, self._said)
        for place, array in enumerate(inputs):
            assert function.numel_in(place) == array.size, (place, array.size)
            buffer.set_arg(place, array.data)
        for place, array in enumerate(results):
            assert function.numel_out(place) <= array.size, (place, array.size)
            buffer.set_res(place, array.data)
        return lambda: run() or buffer  # the buffer's memory is read and written by each run

    def fresh(self) -> Way:
        """Return the same function with a memory of its own."""
        other = copy(self)
        other._allocate()
        return other

    def moved(self, structure: Structure) -> Way:
        """Return the same function for the same linkage with rods of other lengths."""
        other = copy(self)
        other.structure = structure
        other._allocate()
        return other

    def is_same(self, other: Way) -> bool:
        """Whether another way is the same function."""
        return self.function is other.function

    # -- one call --------------------------------------------------------------------------------

    def _called(self) -> list[float]:
        """Map ``_x`` from ``state`` to ``_next``; return what is said of it."""
        self.calls += 1
        self._run()
        said = self._said.tolist()
        if said[3] != 1.0:
            if self._run_carefully is None:
                if not self._careful:
                    self._careful.append(self._compiled(is_careful=True))
                self._run_carefully = self._runner(self._careful[0])
            self._run_carefully()
            said = self._said.tolist()
        return said

    def _call(self, tries: int = 0) -> str:
        """
        Map ``_x`` from ``state`` to ``_next``; return what is wrong, or nothing.

        :param tries: How often angles of balls are sought anywhere.
        """
        begin = self.state.copy()
        for number in range(POLISHING + tries):
            core, side, polished, _, *balls = self._called()
            is_polished = polished == 1.0
            if core != 1.0 or (is_polished and not tries and 1.0 not in balls):
                break
            if all(ball == 2.0 for ball in balls) if is_polished else number >= POLISHING - 1:
                break
            # The steps contract: more of them. A ball that is not found begins where it was, or
            # where it is sought, from where two calls may lead there.
            self.state[:] = self._next
            for ball, (_, columns) in zip(balls, self._balls_at, strict=True):
                if ball == 0.0 and not tries:
                    self.state[columns] = begin[columns]
                elif ball == 0.0 and number % 2 == 0:
                    self.state[columns] = self._guesses[number, columns]
        self.state[:] = begin
        self.lost = []
        for ball, (places, columns) in zip(balls, self._balls_at, strict=True):
            if ball != 2.0:
                self.lost += places
                self._next[columns] = begin[columns]
            elif number:
                last = begin[columns]
                last = np.where(np.isnan(last), self._guesses[0, columns], last)
                turns = np.round((self._next[columns] - last) / math.tau)
                self._next[columns] -= self._whole_turn[columns] * turns
        if core != 1.0 or not is_polished:
            return 'no_convergence'
        return '' if side == 1.0 else 'branch'

    def follow(self, x: Array, calls: int = CALLS, *, seeks_balls: bool = True) -> str:
        """
        Solve for a position from :attr:`state`, halving the way where it has to be.

        :param calls: How many calls it may take.
        :param seeks_balls: Whether it takes more of them where angles of balls are lost.
        :returns: Nothing if it is solved, :attr:`state` is then there; else the reason, and
            ``state`` is as far as it came.
        """
        self._x[:] = x
        reason = self._call()
        if not reason and not (self.lost and seeks_balls):
            self.state[:] = self._next
            return ''
        reason = self._halved(x, reason, calls, not seeks_balls)
        if not reason and self.lost and seeks_balls:
            reason = self._call(SEEKING)
            self.state[:] = self._next
        return reason

    def _halved(self, x: Array, reason: str, most: int, tolerates: bool) -> str:
        begin = self.state[self._r : self._r + self._n].copy()
        if not np.isfinite(begin).all():
            return 'no_convergence'
        way = np.asarray(x) - begin
        done, step, half, last = 0.0, 0.5, self.calls + most // 2, self.calls + most
        has_failed = False
        while self.calls < last:
            target = min(done + step, 1.0)
            self._x[:] = x if target == 1.0 else begin + target * way
            reason = self._call()
            if not reason and (not self.lost or tolerates):
                self.state[:] = self._next
                done = target
                if done == 1.0:
                    return ''
                # What has just been too long is not tried again at once.
                step = min(step if has_failed else 2.0 * step, 1.0 - done)
                has_failed = False
            else:
                has_failed = True
                step *= 0.5
                if not reason and not tolerates and (step < SMALLEST or self.calls >= half):
                    # What stays lost are balls alone: the core goes on without them.
                    tolerates, step = True, 1.0 - done
                elif step < SMALLEST:
                    return reason or 'no_convergence'
        return reason or 'no_convergence'

    # -- what a call has found -------------------------------------------------------------------

    @property
    def found(self) -> tuple[list[int], list[int]]:
        """Rows and places of the joints that are solved for them, without balls that are lost."""
        rows, places = [], []
        for own_rows, columns in self._blocks:
            own = [self.unknown[column] for column in columns]
            if own[0] not in self.lost:
                rows += [self.rows[row] for row in own_rows]
                places += own
        return rows, places

    def joints(self) -> Array:
        """Return all joints at :attr:`state`."""
        z: Array = np.full(len(self.structure.names), math.nan)
        z[list(self.structure.held)] = self.structure.start[list(self.structure.held)]
        z[self.unknown] = self.state[: self._r]
        z[self.given] = self.state[self._r : self._r + self._n]
        z[self.lost] = math.nan
        return z

    def slope(self) -> Array:
        """Return the derivatives of all joints by the given ones, shape ``(n_joints, n)``."""
        result = np.zeros((len(self.structure.names), self._n))
        result[self.given] = np.eye(self._n)
        columns = self.state[self._r + self._n :].reshape(self._n, self._r).T
        result[self.unknown] = columns
        return result

    def begin(self, z: Array) -> bool:
        """
        Set :attr:`state` to a closed position, and return whether it is one.

        Angles of balls are within half a turn of the start: one may have turned on the way there.
        """
        self.state[:] = 0.0
        self.state[: self._r] = z[self.unknown]
        for _, columns in self._balls_at:
            turns = np.round((self.state[columns] - self._guesses[0, columns]) / math.tau)
            self.state[columns] -= self._whole_turn[columns] * turns
        self.state[self._r : self._r + self._n] = z[self.given]
        self._x[:] = z[self.given]
        if self._call(SEEKING):
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


def _pivots(matrix: Array) -> tuple[list[int], float]:
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
    """
    Solutions of ``M x = b`` by elimination in the order of the rows.

    :param matrix: ``M``, of symbols.
    """

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

    def __call__(self, right: Expression) -> Expression:
        """Return ``x``, one column for each of ``b``."""
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
        """Whether it is exact to rounding: the factors are not much larger than the matrix."""
        n = len(self._rows)
        if n == 1:
            return ca.SX(1.0)
        lower = n + ca.sumsqr(ca.vertcat(*self._shares.values(), 0.0))
        upper = ca.sumsqr(ca.vertcat(*(self._rows[i][j] for i in range(n) for j in range(i, n))))
        return lower * upper <= growth**2 * ca.sumsqr(self._matrix)


def _inverse(n: int, by_rotations: bool) -> Any:
    """Return a function of a matrix: its inverse, its determinant, whether these are exact."""
    kind: Any = ca.MX if by_rotations else ca.SX
    matrix = kind.sym('matrix', n, n)
    solve = _solver(matrix)
    inverse, is_exact = solve(kind.eye(n)), kind(1.0)
    if isinstance(solve, _Elimination):
        determinant, is_exact = solve.determinant, solve.is_exact()
    elif n <= WRITTEN_OUT:
        entries = ca.SX.sym('entries', n, n)
        determinant = ca.Function('determinant', [entries], [_determinant(entries)])(matrix)
    else:
        determinant = kind(0.0)
    return ca.Function('inverse', [matrix], [inverse, determinant, is_exact])


def _solver(matrix: Expression) -> Any:
    """Return what solves ``M x = b``: by elimination of symbols, else by a call."""
    if isinstance(matrix, ca.SX):
        return _Elimination(matrix)
    if matrix.shape[0] == 1:
        return lambda right: right / matrix
    # Of a singular matrix it gives NaN, instead of the answer of the call before.
    return lambda right: ca.solve(matrix, right, 'qr', {'eps': 0.0})


def _determinant(matrix: Expression) -> Expression:
    """Return the determinant, by whichever of two orders of elimination has no vanishing pivot."""
    n = matrix.shape[0]
    backwards = list(range(n))[::-1]
    one, other = (
        _Elimination(each).determinant for each in (matrix, matrix[backwards, backwards])
    )
    return ca.if_else(ca.fabs(one) <= math.inf, one, other) if n > 1 else one
