# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a mechanism of a linkage as one compiled function, including the full solver.

A sample close to the last solution needs one call of :class:`~.near.Near`. If the result is not
certain, a switch runs the full solver: along the straight path from the last solution, with steps
that are halved if necessary, then from the nearest entries of a table. The last certain assembly
is always kept: if a position may have several assemblies, the table is used for the first sample
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.expressions import (
    all_of,
    is_any_known,
    is_known,
    known_if,
    make_switch,
)
from transmission_bridge.transmissions.mechanism.near import DEPENDENT, Near
from transmission_bridge.transmissions.status import (
    NO_CONVERGENCE,
    OTHER_BRANCH,
    OUT_OF_DOMAIN,
    SINGULAR,
)
from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: A position is certain if the distance of rows from dependent ones is above this share of the
#: distance at the start.
CERTAIN = 1e-6

#: Steps of a path in nested folds, and the smallest step as a share of the path.
FOLDS, SMALLEST = (8, 8), 2.0**-12

#: A path that ends beyond this share, and not at a dead centre, ends at dependent rows.
ALMOST = 1.0 - 2.0**-9

#: Table entries by the number of given joints, default number, and number of entries to try.
ENTRIES, MOST_ENTRIES, TRIED = {1: 40, 2: 270, 3: 500}, 151, 4

#: Largest number of guesses for the angles of balls, and the value that means all were found.
GUESSES, ALL_FOUND = 28, 1000.0

#: Position of unused entries [rad or m].
NOWHERE = 1e6

#: After ``PATIENCE`` consecutive samples without a result, the full solver runs only once in
#: ``REST`` samples, or if the position changed by more than ``ELSEWHERE`` [rad or m].
PATIENCE, REST, ELSEWHERE = 8, 32, 0.02


class Step:
    """
    A direction of a mechanism: it maps position, velocity and effort of one state.

    The numbers are reductions and offsets of the actuators, both ends of the range of the driven
    joints, the largest sizes of the derivatives, of their inverse and of passive joints, the width
    of the table, the size of the derivatives close to a dead centre, the held joints, and the
    lengths of the loops. A warm start is a state of :class:`~.near.Near`, the number of
    consecutive samples without a result, the last reason, and the position of the last run of the
    full solver.

    ``published`` are the indices of joints that are outputs after the commanded ones (forward
    only).
    """

    def __init__(self, near: Near, is_forward: bool, published: Sequence[int]) -> None:
        self.near, self.is_forward = near, is_forward
        #: Indices of the output joints, the wanted ones first.
        self.places = [*near.wanted, *(published if is_forward else ())]
        self._known = [*near.unknown, *near.given, *near.structure.held]
        r, n, n_held, n_loops = near.state_counts
        self._counts = [n, n, n, n, 1, 1, 1, n, 1, n_held, n_loops]
        self._n_state = r + n + r * n
        self._pushed = [
            *range(n),
            *(n + near.given.index(k) if k in near.given else 2 * n for k in self.places[n:]),
        ]
        #: Length of a warm start.
        self.n_start = self._n_state + 2 + n
        self.n_entries = ENTRIES.get(n, MOST_ENTRIES)
        self._names = ('position', 'velocity', 'effort', 'start', 'numbers')
        self._sizes = (n, n, n, self.n_start, sum(self._counts))

    def make_table(self, joints: Sequence[Array]) -> Array:
        """Return a table of positions of all joints, the start first."""
        r, n, *_ = self.near.state_counts
        table = np.zeros((self.n_entries, r + n))
        table[:, r:] = NOWHERE
        taken = np.array(joints[: self.n_entries])[:, [*self.near.unknown, *self.near.given]]
        table[: len(taken)] = np.nan_to_num(taken)
        return table.reshape(-1)

    # -- for Python ------------------------------------------------------------------------------

    def joints_of_state(self, state: Array, held: Array) -> Array:
        """Return all joints of a state, NaN if they are not solved for."""
        z: Array = np.full(len(self.near.structure.names), math.nan)
        z[self._known] = np.concatenate([state[: len(self._known) - len(held)], held])
        return z

    def slopes_of_state(self, state: Array) -> Array:
        """Return the derivatives of all joints by the given ones, shape ``(n_joints, n)``."""
        r, n, *_ = self.near.state_counts
        result = np.zeros((len(self.near.structure.names), n))
        result[self.near.given] = np.eye(n)
        result[self.near.unknown] = state[r + n : self._n_state].reshape(n, r).T
        return result

    # -- a sample --------------------------------------------------------------------------------

    @cached_property
    def function(self) -> Any:
        """The function of a sample."""
        given = [ca.MX.sym(n, size) for n, size in zip(self._names, self._sizes, strict=True)]
        table = ca.MX.sym('table', self.n_entries * sum(self.near.state_counts[:2]))
        # The careful elimination handles inexact results before the full solver runs.
        *found, more = self._careful_sample(*given)
        switch = make_switch('search', [*given, table], self._search_sample(given, table))
        return ca.Function('step', [*given, table], switch(more, *given, table, *found))

    @property
    def sample_function(self) -> Any:
        """The same close to the last solution, without a table; also whether to run the solver."""
        return self._build_sample(self.near.function)

    @cached_property
    def _careful_sample(self) -> Any:
        return self._build_sample(self.near.exact_near)

    def _split_inputs(self, start: Expression, numbers: Expression) -> tuple[list[Any], list[Any]]:
        counts = np.cumsum([0, *self._counts]).tolist()
        ends = np.cumsum([0, self._n_state, 1, 1, self.near.state_counts[1]]).tolist()
        return (
            [start[low:high] for low, high in pairwise(ends)],
            [numbers[low:high] for low, high in pairwise(counts)],
        )

    def _scale_inputs(self, numbers: Sequence[Any], *rows: Any) -> list[Any]:
        """Return position, velocity and effort of the given joints."""
        scale, offset, *_ = numbers
        if not self.is_forward:
            return list(rows)
        return [rows[0] / scale + offset, rows[1] / scale, rows[2] * scale]

    def _build_sample(self, core: Any) -> Any:
        """Return the function of a sample near its start, and whether to run the full solver."""
        kind: Any = ca.SX if core.is_a('SXFunction') else ca.MX
        given = [kind.sym(name, size) for name, size in zip(self._names, self._sizes, strict=True)]
        (state, *_), own = self._split_inputs(*given[3:])
        found = core(*self._scale_inputs(own, *given[:3]), state, *own[-2:])
        return ca.Function('sample', given, self._output_function(*given, *found))

    @cached_property
    def _output_function(self) -> Any:
        """The function from inputs and results of the core to the outputs of a sample."""
        kind, near = ca.SX, self.near.function
        given = [kind.sym(name, size) for name, size in zip(self._names, self._sizes, strict=True)]
        results = [kind.sym('found', near.sparsity_out(k)) for k in range(near.n_out())]
        position, velocity, effort, start, numbers = given
        following, rates, efforts, sizes, said = results
        r, n, n_held, _ = self.near.state_counts
        begin, own = self._split_inputs(start, numbers)
        state, failed, reason, sought = begin
        failed = ca.if_else(is_known(failed), failed, 0.0)
        reason = ca.if_else(is_known(reason), reason, float(NO_CONVERGENCE))
        scale, offset, lower, upper, most, most_inverse, most_passive, _, _, held, _ = own
        at, rate, force = self._scale_inputs(own, position, velocity, effort)
        contracts, side, polished, exact, lever, *balls = ca.vertsplit(said)
        take = [self._known.index(place) for place in self.places]
        found = ca.vertcat(following[: r + n], held)[take]
        driven = at if self.is_forward else found
        inside = all_of(
            ca.logic_and(driven[k] >= lower[k], driven[k] <= upper[k]) for k in range(n)
        )
        known = all_of(is_known(position[k]) for k in range(n))
        asked = ca.logic_and(known, inside) if self.is_forward else known
        good = all_of((asked, contracts, side, polished, exact, lever > CERTAIN**2))
        failing = ca.logic_and(asked, ca.logic_not(all_of((good, *(b >= 2.0 for b in balls)))))
        moved = ca.logic_not(ca.mmax(ca.fabs(at - sought)) <= ELSEWHERE)
        often = ca.logic_or(failed < PATIENCE, ca.fmod(failed, REST) == 0.0)
        more = ca.logic_and(failing, ca.logic_or(often, moved))
        # Written as "not <=" because a comparison with NaN is false.
        if not self.is_forward:
            most, most_inverse = most_inverse, most
        is_near = lever < DEPENDENT**2
        slow = ca.logic_or(ca.logic_not(sizes[0] <= most), is_near)
        weak = ca.logic_or(ca.logic_not(sizes[1] <= most_inverse), is_near)
        moving = ca.vertcat(rates, rate, kind.zeros(n_held, 1))[take]
        slopes, is_long = ca.reshape(following[r + n :], r, n), kind(0.0)
        for k, place in enumerate(take[n:], n):
            if place in self.near.tells:
                is_short = ca.sumsqr(slopes[place, :]) <= most_passive**2
                moving[k] = known_if(is_short, moving[k])
                is_long = ca.logic_or(is_long, ca.logic_not(is_short))
        # After the wanted joints: a driven joint has its motor's effort, a passive joint has none.
        pushed = ca.vertcat(efforts, force, 0.0)[self._pushed]
        kept = kind(following)
        for ball, columns in zip(balls, self.near.balls_at, strict=True):
            for k in (k for k, place in enumerate(take) if place in columns):
                found[k], moving[k] = (known_if(ball >= 2.0, each[k]) for each in (found, moving))
            # Lost angles keep their last values.
            for column in columns:
                kept[column] = ca.if_else(ball >= 2.0, following[column], state[column])
        if not self.is_forward:
            found, moving, pushed = (found - offset) * scale, moving * scale, pushed / scale
        lost = ca.logic_or(
            ca.logic_and(ca.logic_or(slow, is_long), is_any_known(velocity)),
            ca.logic_and(weak, is_any_known(effort)),
        )
        status = ca.if_else(
            good,
            ca.if_else(inside, SINGULAR * lost, float(OUT_OF_DOMAIN)),
            ca.if_else(asked, reason, OUT_OF_DOMAIN * known),
        )
        answered = ca.logic_and(good, inside)
        outputs = [
            known_if(answered, found),
            known_if(ca.logic_and(answered, ca.logic_not(slow)), moving),
            known_if(ca.logic_and(answered, ca.logic_not(weak)), pushed),
            ca.vertcat(
                ca.if_else(answered, kept, state),
                ca.if_else(asked, ca.if_else(failing, failed + 1.0, 0.0), failed),
                ca.if_else(good, float(NO_CONVERGENCE), reason),
                ca.if_else(more, at, sought),
            ),
            status,
            more,
        ]
        densified = [ca.densify(each) for each in outputs]
        return ca.Function('judged', [*given, *results], densified, {'cse': True})

    # -- the search ------------------------------------------------------------------------------

    @cached_property
    def path_function(self) -> Any:
        """
        The straight path from a state to a position, as far as it leads.

        It maps state, position, held joints and lengths to the state, whether the position was
        reached (1.0), and otherwise the reason.
        """
        core, (r, n, n_held, n_loops) = self.near.exact_near, self.near.state_counts
        sizes = (self._n_state, n, n, 1, 1, 1, 1, n_held, n_loops)
        ends = np.cumsum([0, *sizes]).tolist()
        whole = ca.MX.sym('whole', ends[-1])
        state, x, begin, done, size, has_failed, _, held, lengths = (
            whole[low:high] for low, high in pairwise(ends)
        )
        target, zero = ca.fmin(done + size, 1.0), ca.MX.zeros(n)
        there = target * x + (1.0 - target) * begin
        following, *_, said = core(there, zero, zero, state, held, lengths)
        contracts, side, polished, exact, lever, *_ = ca.vertsplit(said)
        closed = all_of((contracts, polished, exact, lever > CERTAIN**2))
        good = ca.logic_and(closed, side)
        done = ca.if_else(good, target, done)
        # A step size that just failed is not repeated at once.
        longer = ca.fmin(ca.if_else(has_failed, size, 2.0 * size), 1.0 - done)
        why = ca.if_else(closed, OTHER_BRANCH, NO_CONVERGENCE)
        after: list[Any] = [
            ca.if_else(good, following, state),
            *(x, begin, done, ca.if_else(good, longer, 0.5 * size), ca.logic_not(good), why),
            *(held, lengths),
        ]
        function = ca.Function('go', [whole], [ca.vertcat(*after)])
        stay = ca.Function('stay', [whole], [whole])
        goes_on = ca.logic_and(whole[ends[3]] < 1.0, whole[ends[4]] >= SMALLEST)
        for count in FOLDS:
            switch = ca.Function.if_else('on', function, stay)
            function = ca.Function('on', [whole], [switch(goes_on, whole)]).fold(count)
        state, x, held, lengths = given = _input_symbols(self._n_state, n, n_held, n_loops)
        # A path cannot begin at an unknown state.
        begins = [state, x, state[r : r + n], 0.0, self._has_state(state), 0.0, NO_CONVERGENCE]
        after = function(ca.vertcat(*begins, held, lengths))
        return ca.Function('way', given, [after[: self._n_state], after[ends[3]], after[ends[6]]])

    def _has_state(self, state: Any) -> Any:
        r, n, *_ = self.near.state_counts
        return all_of(is_known(state[k]) for k in [*self.near.tells, *range(r, r + n)])

    @cached_property
    def enter_function(self) -> Any:
        """``(joints, held joints, lengths) -> as path_function``: from zero slopes."""
        r, n, n_held, n_loops = self.near.state_counts
        entry, held, lengths = given = _input_symbols(r + n, n_held, n_loops)
        state = ca.vertcat(entry, ca.MX.zeros(r * n))
        return ca.Function('entered', given, self.path_function(state, entry[r:], held, lengths))

    @cached_property
    def _table_function(self) -> Any:
        """
        The path to a position from the nearest entries of the table, finally from the start.

        The inputs are position, table, its width, held joints and lengths.
        """
        r, n, n_held, n_loops = self.near.state_counts
        x, table, width, held, lengths = given = _input_symbols(
            n, (r + n) * self.n_entries, n, n_held, n_loops
        )
        entries, apart = self._table_distances(x, table, width)
        is_far = ca.logic_not(ca.mmin(apart) <= 1.0 + n)
        tried = _input_symbols(r + n, n, n_held, n_loops)
        state, _, _ = self.enter_function(tried[0], *tried[2:])
        switch = make_switch('try', tried, self.path_function(state, *tried[1:]))
        why = ca.if_else(is_far, OUT_OF_DOMAIN, NO_CONVERGENCE)
        found = [ca.MX.zeros(self._n_state), ca.MX(0.0), why]
        for number in range(TRIED + 1):
            at = ca.if_else(apart <= ca.mmin(apart), 1.0, 0.0)
            entry = ca.mtimes(entries, at) if number < TRIED else entries[:, 0]
            apart += at * NOWHERE
            goes_on = ca.logic_and(found[1] < 1.0, ca.logic_not(is_far))
            found = switch(goes_on, entry, x, held, lengths, *found)
        return ca.Function('reached', given, found)

    def _table_distances(self, at: Any, table: Any, width: Any) -> tuple[Any, Any]:
        """Return the entries of a table, and their distances from a position."""
        r, n, *_ = self.near.state_counts
        entries = ca.reshape(table, r + n, self.n_entries)
        apart = ca.fabs(entries[r:, :] - ca.repmat(at, 1, self.n_entries))
        apart = ca.sum1(apart / ca.repmat(width, 1, self.n_entries)).T
        # No two distances are equal, so the nearest entry is unique.
        return entries, apart + ca.DM(np.arange(self.n_entries) * 1e-9)

    def _search_sample(self, given: Sequence[Any], table: Any) -> list[Any]:
        """
        Return the outputs of a sample after the full solver, which starts from the last solution.

        If several assemblies are on one side, the table may contain another assembly than the last
        sample. It is then used for the first sample only; later samples follow a straight path.
        """
        r, n, *_ = self.near.state_counts
        *rows, start, numbers = given
        (last, failed, _, sought), own = self._split_inputs(start, numbers)
        at, *_ = self._scale_inputs(own, *rows)
        *_, width, steep, held, lengths = own
        begin = [at, table, width, held, lengths]
        inside = _input_symbols(*(each.numel() for each in begin))
        switch = make_switch('table', inside, self._table_function(*inside))
        found = self.path_function(last, at, held, lengths)
        may_jump = 1.0 if self.near.is_unique else ca.logic_not(self._has_state(last))
        state, done, why = switch(ca.logic_and(found[1] < 1.0, may_jump), *begin, *found)
        slopes = ca.reshape(state[r + n :], r * n, 1)
        is_steep = ca.logic_not(ca.mmax(ca.fabs(ca.vertcat(slopes, 0.0))) <= steep)
        is_dead = ca.logic_and(why == NO_CONVERGENCE, is_steep)
        is_change = ca.logic_and(why == NO_CONVERGENCE, ca.fmax(found[1], done) > ALMOST)
        why = ca.if_else(is_change, NO_CONVERGENCE + SINGULAR, why)
        why = ca.if_else(is_dead, OUT_OF_DOMAIN, why)
        if self.near.balls_at:
            entries, apart = self._table_distances(at, table, width)
            entry = ca.mtimes(entries[:r, :], ca.if_else(apart <= ca.mmin(apart), 1.0, 0.0))
            before = ca.if_else(self._has_state(last), last[:r], entry)
            state, _ = self.find_balls(state, entry, before, held, lengths)
        state = ca.if_else(done >= 1.0, state, last)
        start = ca.vertcat(state, failed, why, sought)
        *moved, after, status, _ = self._careful_sample(*rows, start, numbers)
        # A position beyond the range is not used as a warm start.
        begin = ca.if_else(is_known(moved[0][0]), after[: self._n_state], last)
        return [*moved, ca.vertcat(begin, after[self._n_state :]), status]

    @cached_property
    def find_balls(self) -> Any:
        """
        ``(state, others, before, held, lengths) -> (state, all found)``: angles of balls.

        Guesses are the joints ``others`` plus random angles. On the start's side there is one
        solution, apart from full turns; the turn closest to the joints ``before`` is used. Angles
        without a solution keep the values of ``before``.
        """
        r, n, n_held, n_loops = self.near.state_counts
        balls_at = self.near.balls_at
        sizes = (self._n_state, len(balls_at), 1, r, n_held, n_loops)
        ends = np.cumsum([0, *sizes]).tolist()
        whole = ca.MX.sym('whole', ends[-1])
        state, _, count, other, held, lengths = (whole[low:high] for low, high in pairwise(ends))
        zero = ca.MX.zeros(n)
        begin, *_, said = self.near.exact_near(state[r : r + n], zero, zero, state, held, lengths)
        begin, balls = ca.MX(begin), said[5:]
        guesses = np.random.default_rng(3).uniform(-math.pi, math.pi, (r, GUESSES))
        guesses[:, 0] = 0.0
        guess = ca.mtimes(ca.DM(guesses), ca.DM(np.arange(GUESSES)) == count) + other
        # Up to two calls are used per guess.
        is_anew = ca.fmod(count, 2.0) == 0.0
        for k, columns in enumerate(balls_at):
            is_lost = ca.logic_and(balls[k] == 0.0, is_anew)
            begin[columns] = ca.if_else(is_lost, guess[columns], begin[columns])
        count = ca.if_else(ca.mmin(balls) >= 2.0, ALL_FOUND, count + 1.0)
        after = ca.vertcat(begin, balls, count, other, held, lengths)
        go = ca.Function('go', [whole], [after])
        stay = ca.Function('stay', [whole], [whole])
        switch = ca.Function.if_else('on', go, stay)
        goes_on = ca.Function('on', [whole], [switch(whole[ends[2]] < GUESSES, whole)])
        last, others, before, *rest = given = _input_symbols(self._n_state, r, r, n_held, n_loops)
        begins = ca.vertcat(last, ca.MX.zeros(len(balls_at) + 1), others, *rest)
        result = goes_on.fold(GUESSES)(begins)
        found = ca.MX(result[: self._n_state])
        unwound = found[:r] - self._full_turns(ca.reshape(found[:r] - before, r, 1))
        for k, columns in enumerate(balls_at, ends[1]):
            found[columns] = ca.if_else(result[k] >= 2.0, unwound[columns], before[columns])
        return ca.Function('sought', given, [found, result[ends[2]] == ALL_FOUND])

    def _full_turns(self, apart: Any) -> Any:
        """Return the full turns in differences of the joints that are solved for."""
        near = self.near
        wound = {*near.structure.closures.stretched, *near.structure.slides}
        turn = ca.DM([math.tau * (k not in wound) for k in near.unknown])
        whole = ca.floor(apart / math.tau + 0.5)
        return turn.reshape(apart.shape) * ca.if_else(is_known(whole), whole, 0.0)


def _input_symbols(*sizes: int) -> list[Any]:
    return [ca.MX.sym('given', size) for size in sizes]
