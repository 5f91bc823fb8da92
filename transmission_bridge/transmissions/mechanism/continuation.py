# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Numerical continuation of a mechanism along a straight path, as compiled functions.

A path begins at a state and leads to a position. Its steps are halved if necessary, so that it
stays on its branch. A search follows paths from the nearest entries of a table. Equations and
linkages follow the same paths over their range when they are built, to fill the table.

The solver and these builders call it. Random numbers have fixed seeds, and the functions become C,
so a constant here decides which solution users receive, in Python and in C.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
import math
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.compiled import all_of, CasadiCall, is_known, make_switch
from transmission_bridge.transmissions.domain import NO_CONVERGENCE, OTHER_BRANCH, OUT_OF_DOMAIN
from transmission_bridge.transmissions.mechanism.corrector import Corrector
from transmission_bridge.types import Array

#: A position is certain if the distance of rows from dependent ones is above this share of the
#: distance at the start.
CERTAIN = 1e-6

#: Steps of a path in nested folds, the smallest step as a share of the path, and the number of
#: table entries to try.
FOLDS, SMALLEST, TRIED = (8, 8), 2.0**-12, 4

#: The same steps and tries with sizes: few rows, which lead farther.
FOLDS_OF_SIZES, TRIED_OF_SIZES = (8, 5), 2

#: Table entries by the number of given coordinates, and for more of them.
ENTRIES, MOST_ENTRIES = {1: 34, 2: 170, 3: 344}, 151

#: Largest number of guesses for the angles of balls, and the value that means all were found.
GUESSES, ALL_FOUND = 28, 1000.0

#: Position of unused entries [rad or m].
NOWHERE = 1e6

#: Targets of the table: grid points along each given coordinate, by their number, and the number
#: of random targets for more coordinates.
TABLE_POINTS, TARGETS = {1: 33, 2: 13, 3: 7}, 150

#: A state that moves by less than this share of the range is no new state.
MOVED = 1e-3

#: Positions with a smaller difference, as a share of the range, are equal.
SAME = 1e-6


class Continuation:
    """
    Paths of a mechanism, and its table of positions where paths begin.

    Functions are compiled at first use and then kept; nothing else changes.

    :param corrector: The function of a sample near a solution.
    """

    def __init__(self, corrector: Corrector) -> None:
        self.corrector = corrector
        self._folds, self._tried = FOLDS, TRIED
        if corrector.mechanism.has_sizes:
            self._folds, self._tried = FOLDS_OF_SIZES, TRIED_OF_SIZES
        self.n_entries = (
            0 if corrector.is_explicit else ENTRIES.get(len(corrector.given), MOST_ENTRIES)
        )
        # In the order of the mechanism, so that both directions can share a table.
        self._in_table = sorted([*corrector.unknown, *corrector.given])
        #: Number of numbers in a table.
        self.n_table = self.n_entries * len(self._in_table)

    def make_table(self, joints: Array) -> Array:
        """Return a table of positions, coordinate by coordinate; the first entry is the start."""
        taken = joints[:, self._in_table]
        table = np.full((self.n_entries, len(self._in_table)), NOWHERE)
        table[: len(taken)] = np.nan_to_num(taken)
        return table.T.reshape(-1)

    def list_entries(self, table: Array) -> Array:
        """Return the used entries of a table: coordinates solved for, then given ones."""
        entries = table.reshape(len(self._in_table), -1).T
        order = [self._in_table.index(k) for k in (*self.corrector.unknown, *self.corrector.given)]
        used: Array = entries[entries[:, order[-1]] != NOWHERE][:, order]
        return used

    @cached_property
    def _certain_function(self) -> Any:
        """``(position, state, held, constants) -> (state, is certain, reason if not)``."""
        _, n, n_held, n_own = self.corrector.counts
        x, state, held, constants = given = input_symbols(n, self.corrector.n_state, n_held, n_own)
        zero = ca.MX.zeros(n)
        following, *_, flags = self.corrector.exact_function(x, zero, zero, state, held, constants)
        contracts, side, polished, exact, regularity, *_ = ca.vertsplit(flags)
        closed = all_of((contracts, polished, exact, regularity > CERTAIN**2))
        why = ca.if_else(closed, OTHER_BRANCH, NO_CONVERGENCE)
        return ca.Function('certain', given, [following, ca.logic_and(closed, side), why])

    @cached_property
    def path_function(self) -> Any:
        """
        The straight path from a state to a position, as far as it leads.

        It maps state, position, held coordinates and constants to the state, whether the
        position was reached (1.0), and otherwise the reason.
        """
        r, n, n_held, n_own = self.corrector.counts
        sizes = (self.corrector.n_state, n, n, 1, 1, 1, 1, n_held, n_own)
        ends = np.cumsum([0, *sizes]).tolist()
        whole = ca.MX.sym('whole', ends[-1])
        state, x, begin, done, size, has_failed, _, held, constants = (
            whole[low:high] for low, high in pairwise(ends)
        )
        target = ca.fmin(done + size, 1.0)
        there = target * x + (1.0 - target) * begin
        following, good, why = self._certain_function(there, state, held, constants)
        done = ca.if_else(good, target, done)
        # A step size that just failed is not repeated at once.
        longer = ca.fmin(ca.if_else(has_failed, size, 2.0 * size), 1.0 - done)
        after: list[Any] = [
            ca.if_else(good, following, state),
            *(x, begin, done, ca.if_else(good, longer, 0.5 * size), ca.logic_not(good), why),
            *(held, constants),
        ]
        goes_on = ca.logic_and(whole[ends[3]] < 1.0, whole[ends[4]] >= SMALLEST)
        function = _repeat_while(goes_on, whole, ca.vertcat(*after), self._folds)
        state, x, held, constants = given = input_symbols(self.corrector.n_state, n, n_held, n_own)
        # A path cannot begin at an unknown state.
        size, failure = self.corrector.has_state(state), (0.0, NO_CONVERGENCE)
        inputs = state, x, state[r : r + n], 0.0, size, *failure, held, constants
        result = function(ca.vertcat(*inputs))
        outputs = [result[: self.corrector.n_state], result[ends[3]], result[ends[6]]]
        return ca.Function('way', given, outputs)

    @cached_property
    def enter_function(self) -> Any:
        """``(coordinates, held, constants) -> (state, is certain)``: from zero slopes."""
        r, n, n_held, n_own = self.corrector.counts
        entry, held, constants = given = input_symbols(r + n, n_held, n_own)
        state = ca.vertcat(entry, ca.MX.zeros(r * n))
        following, good, _ = self._certain_function(entry[r:], state, held, constants)
        return ca.Function('entered', given, [ca.if_else(good, following, state), good])

    @cached_property
    def nearest_function(self) -> Any:
        """
        The entries of a table that are nearest to a position, finally the start.

        The inputs are whether to look, position, table and its width; the outputs are the entries
        and the distance of the nearest one as a share of the width.
        """
        corrector, count = self.corrector, self.n_entries
        n = len(corrector.given)
        x, table, width = given = input_symbols(n, count * len(self._in_table), n)
        joints = ca.reshape(table, count, len(self._in_table))
        # No two distances are equal, so the nearest entry is unique.
        apart = ca.MX(ca.DM(np.arange(count) * 1e-9))
        for k, column in enumerate(corrector.given):
            apart += ca.fabs(joints[:, self._in_table.index(column)] - x[k]) / width[k]
        nearest, entries = ca.mmin(apart), []
        for _ in range(self._tried):
            at = apart <= ca.mmin(apart)
            entries.append(ca.mtimes(ca.reshape(at, 1, count), joints))
            apart += at * NOWHERE
        entries.append(joints[0, :])
        order = [self._in_table.index(column) for column in (*corrector.unknown, *corrector.given)]
        chosen = ca.vec(ca.vertcat(*entries)[:, order].T)
        look = ca.Function('nearest', given, [chosen, nearest])
        skipped = [ca.SX.sym('skipped', symbol.shape) for symbol in given]
        skip = ca.Function('skip', skipped, [ca.SX.zeros(chosen.shape), 0.0])
        return ca.Function.if_else('look', look, skip)

    @cached_property
    def table_function(self) -> Any:
        """
        The path to a position from the nearest entries of the table, finally from the start.

        The inputs are position, entries, the distance of the nearest one, held ones and constants.
        """
        r, n, n_held, n_own = self.corrector.counts
        x, entries, apart, held, constants = given = input_symbols(
            n, (r + n) * (self._tried + 1), 1, n_held, n_own
        )
        is_far = ca.logic_not(apart <= 1.0 + n)
        tried = input_symbols(r + n, n, n_held, n_own)
        state, _ = self.enter_function(tried[0], *tried[2:])
        switch = make_switch('try', tried, self.path_function(state, *tried[1:]))
        why = ca.if_else(is_far, OUT_OF_DOMAIN, NO_CONVERGENCE)
        reached = [ca.MX.zeros(self.corrector.n_state), ca.MX(0.0), why]
        for entry in ca.vertsplit(entries, r + n):
            goes_on = ca.logic_and(reached[1] < 1.0, ca.logic_not(is_far))
            reached = switch(goes_on, entry, x, held, constants, *reached)
        return ca.Function('reached', given, reached)

    @cached_property
    def ball_joint_function(self) -> Any:
        """
        ``(state, others, before, held, constants) -> (state, all found)``: angles of balls.

        Guesses are the joints ``others`` plus random angles. On the start's side there is one
        solution, apart from full turns; the turn closest to the joints ``before`` is used. Angles
        without a solution keep the values of ``before``.
        """
        corrector, ball_columns = self.corrector, self.corrector.ball_columns
        r, n, n_held, n_own = corrector.counts
        sizes = (corrector.n_state, len(ball_columns), 1, r, n_held, n_own)
        ends = np.cumsum([0, *sizes]).tolist()
        whole = ca.MX.sym('whole', ends[-1])
        state, _, count, other, held, constants = (whole[low:high] for low, high in pairwise(ends))
        zero = ca.MX.zeros(n)
        given = state[r : r + n], zero, zero, state, held, constants
        begin, *_, flags = corrector.exact_function(*given)
        begin, balls = ca.MX(begin), flags[5:]
        guesses = np.random.default_rng(3).uniform(-math.pi, math.pi, (r, GUESSES))
        guesses[:, 0] = 0.0
        guess = ca.mtimes(ca.DM(guesses), ca.DM(np.arange(GUESSES)) == count) + other
        # Up to two calls are used per guess.
        is_anew = ca.fmod(count, 2.0) == 0.0
        for k, columns in enumerate(ball_columns):
            is_lost = ca.logic_and(balls[k] == 0.0, is_anew)
            begin[columns] = ca.if_else(is_lost, guess[columns], begin[columns])
        count = ca.if_else(ca.mmin(balls) >= 2.0, ALL_FOUND, count + 1.0)
        after = ca.vertcat(begin, balls, count, other, held, constants)
        function = _repeat_while(whole[ends[2]] < GUESSES, whole, after, (GUESSES,))
        last, others, before, *rest = symbols = input_symbols(
            corrector.n_state, r, r, n_held, n_own
        )
        result = function(ca.vertcat(last, ca.MX.zeros(len(ball_columns) + 1), others, *rest))
        found = ca.MX(result[: corrector.n_state])
        turn = [math.tau * (k in corrector.mechanism.winding) for k in corrector.unknown]
        turns = ca.floor(ca.reshape(found[:r] - before, r, 1) / math.tau + 0.5)
        unwound = found[:r] - ca.DM(turn) * ca.if_else(is_known(turns), turns, 0.0)
        for k, columns in enumerate(ball_columns, ends[1]):
            found[columns] = ca.if_else(result[k] >= 2.0, unwound[columns], before[columns])
        return ca.Function('sought', symbols, [found, result[ends[2]] == ALL_FOUND])

    # -- for Python ------------------------------------------------------------------------------

    def enter_states(
        self, positions: Iterable[Array], fixed: tuple[Array, Sequence[float]]
    ) -> list[Array]:
        """
        Return the states at positions, as far as these are regular.

        :param positions: Values of all coordinates.
        :param fixed: Positions of held coordinates, and the numbers of the rows.
        """
        enter, states = CasadiCall(self.enter_function), []
        for z in positions:
            state, done = enter(z[[*self.corrector.unknown, *self.corrector.given]], *fixed)
            if done[0] == 1.0:
                states.append(state.copy())
        return states

    def grow_states(
        self, fixed: tuple[Array, Sequence[float]], pose: Array, lower: Array, upper: Array
    ) -> list[Array]:
        """
        Return states from target to target, each as far as a straight path leads.

        The next target is always the one closest to a known state, reached from this state. There
        are none at a bad pose.

        :param lower: Lower ends of the given coordinates.
        :param upper: Upper ends of the given coordinates.
        """
        n, first, width = len(lower), len(self.corrector.unknown), upper - lower
        going = CasadiCall(self.path_function)
        if n in TABLE_POINTS:
            axes = [np.linspace(0.0, 1.0, TABLE_POINTS[n])] * n
            targets = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
            farthest = 1.01 / (TABLE_POINTS[n] - 1)
        else:
            targets, farthest = np.random.default_rng(4).uniform(size=(TARGETS, n)), 1.0
        states = self.enter_states([pose], fixed)
        if not states:
            return []
        shares = [(states[0][first : first + n] - lower) / width]
        apart, left = np.abs(targets - shares[0]).max(axis=1), np.zeros(len(targets))
        while (apart + left).min() <= farthest:
            k = int(np.argmin(apart + left))
            left[k] = math.inf
            nearest = int(np.argmin(np.abs(np.array(shares) - targets[k]).max(axis=1)))
            target = lower + targets[k] * width
            state = going(states[nearest], target, *fixed)[0].copy()
            share = (state[first : first + n] - lower) / width
            apart = np.minimum(apart, np.abs(targets - share).max(axis=1))
            if np.abs(share - shares[nearest]).max() > MOVED:
                states.append(state)
                shares.append(share)
        return states

    def are_consistent(self, fixed: tuple[Array, Sequence[float]], states: list[Array]) -> bool:
        """Return whether straight paths to each state from its neighbours end at this state."""
        first, n = self.corrector.counts[:2]
        going, solutions = CasadiCall(self.path_function), np.array(states)[:, : first + n]
        width = np.ptp(solutions, axis=0)
        for state in solutions:
            position = state[first:]
            apart = (np.abs(solutions[:, first:] - position) / width[first:]).max(axis=1)
            for k in np.argsort(apart)[1 : 2 * n + 1].tolist():
                end, done, _ = going(states[k], position, *fixed)
                differs = np.abs(end[:first] - state[:first]) > SAME * width[:first]
                if done[0] == 1.0 and differs.any():
                    return False
        return True


def _repeat_while(condition: Any, whole: Any, after: Any, folds: tuple[int, ...]) -> Any:
    """Return a function that replaces ``whole`` by ``after`` while a condition of it holds."""
    function = ca.Function('go', [whole], [after])
    stay = ca.Function('stay', [whole], [whole])
    for count in folds:
        switch = ca.Function.if_else('on', function, stay)
        function = ca.Function('on', [whole], [switch(condition, whole)]).fold(count)
    return function


def input_symbols(*sizes: int) -> list[Any]:
    """Return symbols of vectors."""
    return [ca.MX.sym('given', size) for size in sizes]
