# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a mechanism as one compiled function, including the full solver.

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
from typing import Any, NamedTuple, TypeAlias

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

#: Steps of a path in nested folds, the smallest step as a share of the path, and the number of
#: table entries to try.
FOLDS, SMALLEST, TRIED = (8, 8), 2.0**-12, 4

#: The same steps and tries with sizes: few rows, which lead farther.
FOLDS_OF_SIZES, TRIED_OF_SIZES = (8, 5), 2

#: A path that ends beyond this share, and not at a dead centre, ends at dependent rows.
ALMOST = 1.0 - 2.0**-9

#: Table entries by the number of given coordinates, and for more of them.
ENTRIES, MOST_ENTRIES = {1: 34, 2: 170, 3: 344}, 151

#: Distances from an end of the range, as shares of it: a position without a solution is this end,
#: without a search if the distance is rounding.
AT_END, ON_END = 1e-10, 1e-15

#: Largest number of guesses for the angles of balls, and the value that means all were found.
GUESSES, ALL_FOUND = 28, 1000.0

#: Position of unused entries [rad or m].
NOWHERE = 1e6

#: After ``PATIENCE`` consecutive samples without a result, the full solver runs only once in
#: ``REST`` samples, or if the position changed by more than ``ELSEWHERE`` [rad or m].
PATIENCE, REST, ELSEWHERE = 8, 32, 0.02


class Numbers(NamedTuple):
    """
    The numbers of a direction, in their order.

    :param ratios: Reductions of the given side.
    :param offsets: Offsets of the given side.
    :param wanted_ratios: Reductions of the wanted side.
    :param wanted_offsets: Offsets of the wanted side.
    :param lower: Lower ends of the given coordinates; -inf without a limit.
    :param upper: Upper ends of the given coordinates.
    :param wanted_lower: Lower ends of the wanted coordinates.
    :param wanted_upper: Upper ends of the wanted coordinates.
    :param max_gain: Largest gain, as a multiple of the typical one.
    :param typical: Typical sizes of the derivatives, of their inverse, and of passive coordinates.
    :param width: Width of the table in the given coordinates.
    :param steep: Size of the derivatives close to a dead centre.
    :param ends: With one coordinate on each side, both ends of the range that are dead centres, of
        the given one, then of the wanted one; else NaN.
    :param held: Held coordinates.
    :param own: Numbers of :class:`~.near.Near`.
    """

    ratios: Any
    offsets: Any
    wanted_ratios: Any
    wanted_offsets: Any
    lower: Any
    upper: Any
    wanted_lower: Any
    wanted_upper: Any
    max_gain: Any
    typical: Any
    width: Any
    steep: Any
    ends: Any
    held: Any
    own: Any


class Step:
    """
    A direction of a mechanism: it maps position, velocity and effort of one state.

    Bare coordinates of actuators are ``a / n + off`` with a reduction ``n`` and an offset, those
    of joints ``n (q - off)``. A warm start is a state of :class:`~.near.Near`, the number of
    consecutive samples without a result, the last reason, and the position of the last run of the
    full solver. A formula has no warm start and no table.

    ``published`` are the indices of coordinates that are outputs after the wanted ones (forward
    only).
    """

    def __init__(self, near: Near, is_forward: bool, published: Sequence[int] = ()) -> None:
        self.near, self.is_forward = near, is_forward
        #: Indices of the output coordinates, the wanted ones first.
        self.places = [*near.wanted, *(published if is_forward else ())]
        self._known = [*near.unknown, *near.given, *near.mechanism.held]
        _, n, n_held, n_own = near.counts
        w = len(near.wanted)
        #: Whether ends of the range are among the numbers.
        self.has_ends = near.mechanism.has_sizes and n == w == 1 and not near.is_explicit
        self._counts = [n, n, w, w, n, n, w, w, 1, 3, n, 1, 4 * self.has_ends, n_held, n_own]
        self._n_state = near.n_state
        self._pushed = [
            *range(w),
            *(w + near.given.index(k) if k in near.given else w + n for k in self.places[w:]),
        ]
        self._folds, self._tried = FOLDS, TRIED
        if near.mechanism.has_sizes:
            self._folds, self._tried = FOLDS_OF_SIZES, TRIED_OF_SIZES
        #: Length of a warm start.
        self.n_start = 0 if near.is_explicit else self._n_state + 2 + n
        self.n_entries = 0 if near.is_explicit else ENTRIES.get(n, MOST_ENTRIES)
        # In the order of the mechanism, so that both directions can share a table.
        self._in_table = sorted([*near.unknown, *near.given])
        self._names = ('position', 'velocity', 'effort', 'start', 'numbers')
        self._sizes = (n, n, n, self.n_start, sum(self._counts))

    def make_table(self, joints: Array) -> Array:
        """Return a table of positions, coordinate by coordinate; the first entry is the start."""
        taken = joints[:, self._in_table]
        table = np.full((self.n_entries, len(self._in_table)), NOWHERE)
        table[: len(taken)] = np.nan_to_num(taken)
        return table.T.reshape(-1)

    # -- for Python ------------------------------------------------------------------------------

    def list_entries(self, table: Array) -> Array:
        """Return the used entries of a table: coordinates solved for, then given ones."""
        entries = table.reshape(len(self._in_table), -1).T
        order = [self._in_table.index(k) for k in (*self.near.unknown, *self.near.given)]
        used: Array = entries[entries[:, order[-1]] != NOWHERE][:, order]
        return used

    def joints_of_state(self, state: Array, held: Array) -> Array:
        """Return all coordinates of a state, NaN if they are not solved for."""
        z: Array = np.full(len(self.near.mechanism.names), math.nan)
        z[self._known] = np.concatenate([state[: len(self._known) - len(held)], held])
        return z

    def slopes_of_state(self, state: Array) -> Array:
        """Return the derivatives of all coordinates by the given ones, shape ``(n_joints, n)``."""
        r, n, *_ = self.near.counts
        result = np.zeros((len(self.near.mechanism.names), n))
        result[self.near.given] = np.eye(n)
        result[self.near.unknown] = state[r + n : self._n_state].reshape(n, r).T
        return result

    # -- a sample --------------------------------------------------------------------------------

    @cached_property
    def function(self) -> Any:
        """The function of a sample."""
        given = [ca.MX.sym(n, size) for n, size in zip(self._names, self._sizes, strict=True)]
        table = ca.MX.sym('table', self.n_entries * len(self._in_table))
        # The careful elimination handles inexact results before the full solver runs.
        *found, more = self.careful_function(*given)
        if not self.near.is_explicit:
            _, own = self._split_inputs(*given[3:])
            at, *_ = self._scale_inputs(own, *given[:3])
            entries, apart = self._nearest_function(more, at, table, own.width)
            inside = [*given, *_input_symbols(entries.numel(), 1)]
            switch = make_switch('search', inside, self._search_sample(given, *inside[5:]))
            found = switch(more, *given, entries, apart, *found)
        return ca.Function('step', [*given, table], found)

    @cached_property
    def sample_function(self) -> Any:
        """The same close to the last solution, without a table; also whether to run the solver."""
        return self._build_sample(self.near.function)

    @cached_property
    def near_function(self) -> Any:
        """The same written out as one expression, if it has operations on numbers alone."""
        try:
            return self.sample_function.expand()
        except RuntimeError:
            return self.sample_function

    @cached_property
    def careful_function(self) -> Any:
        """The same with a careful elimination, and a second call if the first is not rounding."""
        return self._build_sample(self.near.exact_near)

    def _split_inputs(self, start: Expression, numbers: Expression) -> tuple[list[Any], Numbers]:
        ends = np.cumsum([0, self._n_state, 1, 1, self.near.counts[1]]).tolist()
        parts = [start[low:high] for low, high in pairwise(ends)] if self.n_start else [start]
        return parts, self.split_numbers(numbers)

    def split_numbers(self, numbers: Any) -> Numbers:
        """Return the numbers of a direction by name."""
        ends = np.cumsum([0, *self._counts]).tolist()
        return Numbers(*(numbers[low:high] for low, high in pairwise(ends)))

    def _scale_inputs(self, own: Numbers, *rows: Any) -> list[Any]:
        """Return bare positions, velocities and efforts of the given coordinates."""
        (at, rate, force), ratio = rows, own.ratios
        if self.is_forward:
            return [at / ratio + own.offsets, rate / ratio, force * ratio]
        return [ratio * (at - own.offsets), rate * ratio, force / ratio]

    def _build_sample(self, core: Any) -> Any:
        """Return the function of a sample near its start, and whether to run the full solver."""
        given = [ca.MX.sym(n, size) for n, size in zip(self._names, self._sizes, strict=True)]
        (state, *_), own = self._split_inputs(*given[3:])
        found = core(*self._scale_inputs(own, *given[:3]), state, own.held, own.own)
        return ca.Function('sample', given, self._output_function(*given, *found))

    @cached_property
    def _output_function(self) -> Any:
        """The function from inputs and results of the core to the outputs of a sample."""
        kind, near = ca.SX, self.near.function
        given = [kind.sym(name, size) for name, size in zip(self._names, self._sizes, strict=True)]
        results = [kind.sym('found', near.sparsity_out(k)) for k in range(near.n_out())]
        position, velocity, effort, start, numbers = given
        following, rates, efforts, sizes, said = results
        (r, n, n_held, _), w = self.near.counts, len(self.near.wanted)
        begin, own = self._split_inputs(start, numbers)
        at, rate, force = self._scale_inputs(own, position, velocity, effort)
        contracts, side, polished, exact, lever, *balls = ca.vertsplit(said)
        take = [self._known.index(place) for place in self.places]
        found = ca.vertcat(following[: r + n], own.held)[take]
        known = all_of(is_known(position[k]) for k in range(n))
        asked = ca.logic_and(known, _is_within(at, own.lower, own.upper))
        good = all_of((asked, contracts, side, polished))
        # Written as "not <=" because a comparison with NaN is false.
        most, most_inverse, most_passive = ca.vertsplit(own.max_gain * own.typical)
        if not self.is_forward:
            most, most_inverse = most_inverse, most
        is_near = lever < DEPENDENT**2
        if self.near.is_explicit:
            is_near = ca.logic_not(exact)
        else:
            good = all_of((good, exact, lever > CERTAIN**2))
        is_solved, is_end, is_on_end = good, kind(0.0), kind(0.0)
        if own.ends.numel():
            # A dead centre at the end of the range has one side only.
            ends = ca.vertsplit(own.ends)
            for end, there in zip(ends[:2], ends[2:], strict=True):
                apart = ca.fabs(at - end) * self.near.list_units(own.own)
                is_there = all_of((asked, apart <= AT_END, ca.logic_not(is_solved)))
                found, is_end = ca.if_else(is_there, there, found), ca.logic_or(is_end, is_there)
                is_on_end = ca.logic_or(is_on_end, apart <= ON_END)
        good = ca.logic_or(is_solved, is_end)
        inside = ca.logic_and(asked, _is_within(found, own.wanted_lower, own.wanted_upper))
        slow = ca.logic_or(ca.logic_not(sizes[0] <= most), ca.logic_or(is_near, is_end))
        weak = ca.logic_or(ca.logic_not(sizes[1] <= most_inverse), is_near)
        weak = ca.logic_and(weak, ca.logic_not(is_end))
        moving = ca.vertcat(rates, rate, kind.zeros(n_held, 1))[take]
        slopes, is_long = ca.reshape(following[r + n :], r, n), kind(0.0)
        for k, place in enumerate(take[w:], w):
            if place in self.near.tells:
                is_short = ca.sumsqr(slopes[place, :]) <= most_passive**2
                moving[k] = known_if(is_short, moving[k])
                is_long = ca.logic_or(is_long, ca.logic_not(is_short))
        # After the wanted coordinates: a driven joint has its motor's effort, a passive one none.
        pushed = ca.vertcat(ca.if_else(is_end, 0.0, efforts), force, 0.0)[self._pushed]
        for ball, columns in zip(balls, self.near.late_at, strict=True):
            for k in (k for k, place in enumerate(take) if place in columns):
                found[k], moving[k] = (known_if(ball >= 2.0, each[k]) for each in (found, moving))
        ratio, offset = own.wanted_ratios, own.wanted_offsets
        if self.is_forward:
            found[:w], moving[:w] = found[:w] / ratio + offset, moving[:w] / ratio
            pushed[:w] = pushed[:w] * ratio
        else:
            found, moving, pushed = (found - offset) * ratio, moving * ratio, pushed / ratio
        lost = ca.logic_or(
            ca.logic_and(ca.logic_or(slow, is_long), is_any_known(velocity)),
            ca.logic_and(weak, is_any_known(effort)),
        )
        if self.near.is_explicit:
            is_closed = all_of((contracts, polished, inside))
            reason = ca.if_else(is_closed, float(OTHER_BRANCH), float(OUT_OF_DOMAIN))
            # The full function eliminates with care.
            after, more = [start], ca.logic_and(asked, ca.logic_not(exact))
        else:
            state, failed, reason, sought = begin
            failed = ca.if_else(is_known(failed), failed, 0.0)
            reason = ca.if_else(is_known(reason), reason, float(NO_CONVERGENCE))
            is_done = ca.logic_or(is_solved, is_on_end)
            is_whole = all_of((is_done, *(b >= 2.0 for b in balls)))
            failing = ca.logic_and(asked, ca.logic_not(is_whole))
            apart = ca.fabs(at - sought) * self.near.list_units(own.own)
            moved = ca.logic_not(ca.mmax(apart) <= ELSEWHERE)
            often = ca.logic_or(failed < PATIENCE, ca.fmod(failed, REST) == 0.0)
            more = ca.logic_and(failing, ca.logic_or(often, moved))
            kept = kind(following)
            for ball, columns in zip(balls, self.near.late_at, strict=True):
                for column in columns:  # lost angles keep their last values
                    kept[column] = ca.if_else(ball >= 2.0, following[column], state[column])
            after = [
                ca.if_else(ca.logic_and(is_solved, inside), kept, state),
                ca.if_else(asked, ca.if_else(failing, failed + 1.0, 0.0), failed),
                ca.if_else(good, float(NO_CONVERGENCE), reason),
                ca.if_else(more, at, sought),
            ]
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
            ca.vertcat(*after),
            status,
            more,
        ]
        densified = [ca.densify(each) for each in outputs]
        return ca.Function('judged', [*given, *results], densified, {'cse': True})

    @cached_property
    def bend_function(self) -> Any:
        """
        Accelerations of the outputs at constant velocity of the inputs.

        Inputs: positions and velocities of the inputs, next warm start, numbers.
        """
        near, (r, n, n_held, _) = self.near, self.near.counts
        position, velocity, start, numbers = given = _input_symbols(
            n, n, self.n_start, sum(self._counts)
        )
        (state, *_), own = self._split_inputs(start, numbers)
        at, rate, force = self._scale_inputs(own, position, velocity, velocity)
        following, moving, *_ = near.exact_near(at, rate, force, state, own.held, own.own)
        z = ca.vertcat(following[: r + n], own.held)
        rates = ca.vertcat(moving, rate, ca.MX.zeros(n_held, 1))
        # Coordinates that are not solved for stay at the pose.
        order = [self._known.index(k) for k in sorted(self._known)]
        whole, moving = ca.MX(near.mechanism.pose), ca.MX.zeros(len(near.mechanism.names))
        whole[sorted(self._known)], moving[sorted(self._known)] = z[order], rates[order]
        bent = ca.vertcat(near.bend_function(whole, moving, own.own), ca.MX.zeros(n + n_held, 1))
        found = bent[[self._known.index(place) for place in self.places]]
        w = len(near.wanted)
        if self.is_forward:
            found[:w] = found[:w] / own.wanted_ratios
        else:
            found = found * own.wanted_ratios
        return ca.Function('bend', given, [found])

    # -- the search ------------------------------------------------------------------------------

    @cached_property
    def _certain_function(self) -> Any:
        """``(position, state, held, constants) -> (state, is certain, reason if not)``."""
        _, n, n_held, n_own = self.near.counts
        x, state, held, constants = given = _input_symbols(n, self._n_state, n_held, n_own)
        zero = ca.MX.zeros(n)
        following, *_, said = self.near.exact_near(x, zero, zero, state, held, constants)
        contracts, side, polished, exact, lever, *_ = ca.vertsplit(said)
        closed = all_of((contracts, polished, exact, lever > CERTAIN**2))
        why = ca.if_else(closed, OTHER_BRANCH, NO_CONVERGENCE)
        return ca.Function('certain', given, [following, ca.logic_and(closed, side), why])

    @cached_property
    def path_function(self) -> Any:
        """
        The straight path from a state to a position, as far as it leads.

        It maps state, position, held coordinates and constants to the state, whether the
        position was reached (1.0), and otherwise the reason.
        """
        r, n, n_held, n_own = self.near.counts
        sizes = (self._n_state, n, n, 1, 1, 1, 1, n_held, n_own)
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
        function = ca.Function('go', [whole], [ca.vertcat(*after)])
        stay = ca.Function('stay', [whole], [whole])
        goes_on = ca.logic_and(whole[ends[3]] < 1.0, whole[ends[4]] >= SMALLEST)
        for count in self._folds:
            switch = ca.Function.if_else('on', function, stay)
            function = ca.Function('on', [whole], [switch(goes_on, whole)]).fold(count)
        state, x, held, constants = given = _input_symbols(self._n_state, n, n_held, n_own)
        # A path cannot begin at an unknown state.
        begins = [state, x, state[r : r + n], 0.0, self.near.has_state(state), 0.0, NO_CONVERGENCE]
        after = function(ca.vertcat(*begins, held, constants))
        return ca.Function('way', given, [after[: self._n_state], after[ends[3]], after[ends[6]]])

    @cached_property
    def enter_function(self) -> Any:
        """``(coordinates, held, constants) -> (state, is certain)``: from zero slopes."""
        r, n, n_held, n_own = self.near.counts
        entry, held, constants = given = _input_symbols(r + n, n_held, n_own)
        state = ca.vertcat(entry, ca.MX.zeros(r * n))
        following, good, _ = self._certain_function(entry[r:], state, held, constants)
        return ca.Function('entered', given, [ca.if_else(good, following, state), good])

    @cached_property
    def _nearest_function(self) -> Any:
        """
        The entries of a table that are nearest to a position, finally the start.

        The inputs are whether to look, position, table and its width; the outputs are the entries
        and the distance of the nearest one as a share of the width.
        """
        near, count = self.near, self.n_entries
        n = len(near.given)
        x, table, width = given = _input_symbols(n, count * len(self._in_table), n)
        joints = ca.reshape(table, count, len(self._in_table))
        # No two distances are equal, so the nearest entry is unique.
        apart = ca.MX(ca.DM(np.arange(count) * 1e-9))
        for k, place in enumerate(near.given):
            apart += ca.fabs(joints[:, self._in_table.index(place)] - x[k]) / width[k]
        nearest, entries = ca.mmin(apart), []
        for _ in range(self._tried):
            at = apart <= ca.mmin(apart)
            entries.append(ca.mtimes(ca.reshape(at, 1, count), joints))
            apart += at * NOWHERE
        entries.append(joints[0, :])
        order = [self._in_table.index(place) for place in (*near.unknown, *near.given)]
        found = ca.vec(ca.vertcat(*entries)[:, order].T)
        look = ca.Function('nearest', given, [found, nearest])
        skipped = [ca.SX.sym('skipped', each.shape) for each in given]
        skip = ca.Function('skip', skipped, [ca.SX.zeros(found.shape), 0.0])
        return ca.Function.if_else('look', look, skip)

    @cached_property
    def _table_function(self) -> Any:
        """
        The path to a position from the nearest entries of the table, finally from the start.

        The inputs are position, entries, the distance of the nearest one, held ones and constants.
        """
        r, n, n_held, n_own = self.near.counts
        x, entries, apart, held, constants = given = _input_symbols(
            n, (r + n) * (self._tried + 1), 1, n_held, n_own
        )
        is_far = ca.logic_not(apart <= 1.0 + n)
        tried = _input_symbols(r + n, n, n_held, n_own)
        state, _ = self.enter_function(tried[0], *tried[2:])
        switch = make_switch('try', tried, self.path_function(state, *tried[1:]))
        why = ca.if_else(is_far, OUT_OF_DOMAIN, NO_CONVERGENCE)
        found = [ca.MX.zeros(self._n_state), ca.MX(0.0), why]
        for entry in ca.vertsplit(entries, r + n):
            goes_on = ca.logic_and(found[1] < 1.0, ca.logic_not(is_far))
            found = switch(goes_on, entry, x, held, constants, *found)
        return ca.Function('reached', given, found)

    def _search_sample(self, given: Sequence[Any], entries: Any, apart: Any) -> list[Any]:
        """
        Return the outputs of a sample after the full solver, which starts from the last solution.

        If several assemblies are on one side, the table may contain another assembly than the last
        sample. It is then used for the first sample only; later samples follow a straight path.
        """
        r, n, *_ = self.near.counts
        *rows, start, numbers = given
        (last, failed, _, sought), own = self._split_inputs(start, numbers)
        at, *_ = self._scale_inputs(own, *rows)
        *_, steep, _, held, constants = own
        begin = [at, entries, apart, held, constants]
        inside = _input_symbols(*(each.numel() for each in begin))
        switch = make_switch('table', inside, self._table_function(*inside))
        found = self.path_function(last, at, held, constants)
        # A guess is no solution yet.
        is_first = ca.logic_not(all_of((self.near.has_state(last), is_known(failed))))
        may_jump = 1.0 if self.near.is_unique else is_first
        state, done, why = switch(ca.logic_and(found[1] < 1.0, may_jump), *begin, *found)
        slopes = ca.reshape(state[r + n :], r * n, 1)
        is_steep = ca.logic_not(ca.mmax(ca.fabs(ca.vertcat(slopes, 0.0))) <= steep)
        is_dead = ca.logic_and(why == NO_CONVERGENCE, is_steep)
        is_change = ca.logic_and(why == NO_CONVERGENCE, ca.fmax(found[1], done) > ALMOST)
        why = ca.if_else(is_change, NO_CONVERGENCE + SINGULAR, why)
        why = ca.if_else(is_dead, OUT_OF_DOMAIN, why)
        if self.near.late_at:
            before = ca.if_else(self.near.has_state(last), last[:r], entries[:r])
            state, _ = self.make_balls_function(state, entries[:r], before, held, constants)
        state = ca.if_else(done >= 1.0, state, last)
        start = ca.vertcat(state, failed, why, sought)
        *moved, after, status, _ = self.careful_function(*rows, start, numbers)
        # A position beyond the range is not used as a warm start.
        begin = ca.if_else(is_known(moved[0][0]), after[: self._n_state], last)
        return [*moved, ca.vertcat(begin, after[self._n_state :]), status]

    @cached_property
    def make_balls_function(self) -> Any:
        """
        ``(state, others, before, held, constants) -> (state, all found)``: angles of balls.

        Guesses are the joints ``others`` plus random angles. On the start's side there is one
        solution, apart from full turns; the turn closest to the joints ``before`` is used. Angles
        without a solution keep the values of ``before``.
        """
        r, n, n_held, n_own = self.near.counts
        late_at = self.near.late_at
        sizes = (self._n_state, len(late_at), 1, r, n_held, n_own)
        ends = np.cumsum([0, *sizes]).tolist()
        whole = ca.MX.sym('whole', ends[-1])
        state, _, count, other, held, constants = (whole[low:high] for low, high in pairwise(ends))
        zero = ca.MX.zeros(n)
        begin, *_, said = self.near.exact_near(
            state[r : r + n], zero, zero, state, held, constants
        )
        begin, balls = ca.MX(begin), said[5:]
        guesses = np.random.default_rng(3).uniform(-math.pi, math.pi, (r, GUESSES))
        guesses[:, 0] = 0.0
        guess = ca.mtimes(ca.DM(guesses), ca.DM(np.arange(GUESSES)) == count) + other
        # Up to two calls are used per guess.
        is_anew = ca.fmod(count, 2.0) == 0.0
        for k, columns in enumerate(late_at):
            is_lost = ca.logic_and(balls[k] == 0.0, is_anew)
            begin[columns] = ca.if_else(is_lost, guess[columns], begin[columns])
        count = ca.if_else(ca.mmin(balls) >= 2.0, ALL_FOUND, count + 1.0)
        after = ca.vertcat(begin, balls, count, other, held, constants)
        go = ca.Function('go', [whole], [after])
        stay = ca.Function('stay', [whole], [whole])
        switch = ca.Function.if_else('on', go, stay)
        goes_on = ca.Function('on', [whole], [switch(whole[ends[2]] < GUESSES, whole)])
        last, others, before, *rest = given = _input_symbols(self._n_state, r, r, n_held, n_own)
        begins = ca.vertcat(last, ca.MX.zeros(len(late_at) + 1), others, *rest)
        result = goes_on.fold(GUESSES)(begins)
        found = ca.MX(result[: self._n_state])
        unwound = found[:r] - self._full_turns(ca.reshape(found[:r] - before, r, 1))
        for k, columns in enumerate(late_at, ends[1]):
            found[columns] = ca.if_else(result[k] >= 2.0, unwound[columns], before[columns])
        return ca.Function('sought', given, [found, result[ends[2]] == ALL_FOUND])

    def _full_turns(self, apart: Any) -> Any:
        """Return the full turns in differences of the joints that are solved for."""
        near = self.near
        turn = ca.DM([math.tau * (k in near.mechanism.winding) for k in near.unknown])
        whole = ca.floor(apart / math.tau + 0.5)
        return turn.reshape(apart.shape) * ca.if_else(is_known(whole), whole, 0.0)


def _input_symbols(*sizes: int) -> list[Any]:
    return [ca.MX.sym('given', size) for size in sizes]


def _is_within(vector: Expression, lower: Expression, upper: Expression) -> Expression:
    return all_of(
        ca.logic_and(vector[k] >= lower[k], vector[k] <= upper[k]) for k in range(lower.numel())
    )
