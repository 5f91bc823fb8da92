# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One direction of a mechanism as one compiled function, including the full solver.

A sample close to the last solution needs one call of :class:`~.corrector.Corrector`. If the result
is not certain, a switch runs the full solver: along the straight path from the last solution, with
steps that are halved if necessary, then from the nearest entries of a table. The last certain
assembly is always kept: if a position may have several assemblies, the table is used for the first
sample only.

Parts of a mechanism and the program of a robot call the functions, and the C export writes them:
inputs, outputs, the layout of a warm start and the order of :class:`Numbers` are fixed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.compiled import (
    all_of,
    Expression,
    is_any_known,
    is_known,
    known_if,
    make_switch,
)
from transmission_bridge.transmissions.domain import (
    NO_CONVERGENCE,
    OTHER_BRANCH,
    OUT_OF_DOMAIN,
    SINGULAR,
)
from transmission_bridge.transmissions.mechanism.continuation import (
    CERTAIN,
    Continuation,
    input_symbols,
)
from transmission_bridge.transmissions.mechanism.corrector import Corrector, DEPENDENT
from transmission_bridge.types import Array

#: A path that ends beyond this share, and not at a dead centre, ends at dependent rows.
ALMOST = 1.0 - 2.0**-9

#: Distances from an end of the range, as shares of it: a position without a solution is this end,
#: without a search if the distance is rounding.
AT_END, ON_END = 1e-10, 1e-15

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
    :param of_corrector: Numbers of :class:`~.corrector.Corrector`.
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
    of_corrector: Any


class Solver:
    """
    A direction of a mechanism: it maps position, velocity and effort of one state.

    Bare coordinates of actuators are ``a / n + off`` with a reduction ``n`` and an offset, those
    of joints ``n (q - off)``. A warm start is a state of :class:`~.corrector.Corrector`, the
    number of consecutive samples without a result, the last reason, and the position of the last
    run of the full solver; the caller keeps it and passes it on. A formula has no warm start and
    no table. Functions are compiled at first use, and nothing else changes.

    ``published`` are the indices of coordinates that are outputs after the wanted ones (forward
    only).
    """

    def __init__(
        self, corrector: Corrector, is_forward: bool, published: Sequence[int] = ()
    ) -> None:
        self.corrector, self.is_forward = corrector, is_forward
        #: Indices of the output coordinates, the wanted ones first.
        self.places = [*corrector.wanted, *(published if is_forward else ())]
        #: Coordinates in the order of a state, then the held ones.
        self._known = [*corrector.unknown, *corrector.given, *corrector.mechanism.held]
        _, n, n_held, n_own = corrector.counts
        w = len(corrector.wanted)
        #: Whether ends of the range are among the numbers.
        self.has_ends = corrector.mechanism.has_sizes and n == w == 1 and not corrector.is_explicit
        #: Length of each of :class:`Numbers`, in its order.
        self._counts = [n, n, w, w, n, n, w, w, 1, 3, n, 1, 4 * self.has_ends, n_held, n_own]
        #: For each output the index of its effort: wanted efforts, given ones, and a zero.
        self._pushed = [*range(w)]
        for k in self.places[w:]:
            self._pushed.append(w + corrector.given.index(k) if k in corrector.given else w + n)
        #: Length of a warm start.
        self.n_start = 0 if corrector.is_explicit else self.corrector.n_state + 2 + n
        #: The paths of the full solver, and its table.
        self.continuation = Continuation(corrector)
        names = ('position', 'velocity', 'effort', 'start', 'numbers')
        sizes = (n, n, n, self.n_start, sum(self._counts))
        self._inputs = [*zip(names, sizes, strict=True)]

    # -- for Python ------------------------------------------------------------------------------

    def joints_of_state(self, state: Array, held: Array) -> Array:
        """Return all coordinates of a state, NaN if they are not solved for."""
        z: Array = np.full(len(self.corrector.mechanism.names), math.nan)
        z[self._known] = np.concatenate([state[: len(self._known) - len(held)], held])
        return z

    def slopes_of_state(self, state: Array) -> Array:
        """Return the derivatives of all coordinates by the given ones, shape ``(n_joints, n)``."""
        r, n, *_ = self.corrector.counts
        result = np.zeros((len(self.corrector.mechanism.names), n))
        result[self.corrector.given] = np.eye(n)
        result[self.corrector.unknown] = state[r + n : self.corrector.n_state].reshape(n, r).T
        return result

    # -- a sample --------------------------------------------------------------------------------

    @cached_property
    def function(self) -> Any:
        """The function of a sample."""
        given = [ca.MX.sym(*given) for given in self._inputs]
        table = ca.MX.sym('table', self.continuation.n_table)
        # The careful elimination handles inexact results before the full solver runs.
        *outputs, more = self.careful_function(*given)
        if not self.corrector.is_explicit:
            _, parameters = self._split_inputs(*given[3:])
            at, *_ = self._scale_inputs(parameters, *given[:3])
            entries, apart = self.continuation.nearest_function(more, at, table, parameters.width)
            inside = [*given, *input_symbols(entries.numel(), 1)]
            switch = make_switch('search', inside, self._search_sample(given, *inside[5:]))
            outputs = switch(more, *given, entries, apart, *outputs)
        return ca.Function('step', [*given, table], outputs)

    @cached_property
    def sample_function(self) -> Any:
        """The same close to the last solution, without a table; also whether to run the solver."""
        return self._build_sample(self.corrector.function)

    @cached_property
    def expanded_function(self) -> Any:
        """The same written out as one expression, if it has operations on numbers alone."""
        try:
            return self.sample_function.expand()
        except RuntimeError:
            return self.sample_function

    @cached_property
    def careful_function(self) -> Any:
        """The same with a careful elimination, and a second call if the first is not rounding."""
        return self._build_sample(self.corrector.exact_function)

    def _split_inputs(self, start: Expression, numbers: Expression) -> tuple[list[Any], Numbers]:
        ends = np.cumsum([0, self.corrector.n_state, 1, 1, self.corrector.counts[1]]).tolist()
        parts = [start[low:high] for low, high in pairwise(ends)] if self.n_start else [start]
        return parts, self.split_numbers(numbers)

    def split_numbers(self, numbers: Any) -> Numbers:
        """Return the numbers of a direction by name."""
        ends = np.cumsum([0, *self._counts]).tolist()
        return Numbers(*(numbers[low:high] for low, high in pairwise(ends)))

    def _scale_inputs(self, parameters: Numbers, *rows: Any) -> list[Any]:
        """Return bare positions, velocities and efforts of the given coordinates."""
        (at, rate, force), ratio = rows, parameters.ratios
        if self.is_forward:
            return [at / ratio + parameters.offsets, rate / ratio, force * ratio]
        return [ratio * (at - parameters.offsets), rate * ratio, force / ratio]

    def _build_sample(self, core: Any) -> Any:
        """Return the function of a sample near its start, and whether to run the full solver."""
        given = [ca.MX.sym(*given) for given in self._inputs]
        (state, *_), parameters = self._split_inputs(*given[3:])
        scaled = self._scale_inputs(parameters, *given[:3])
        results = core(*scaled, state, parameters.held, parameters.of_corrector)
        return ca.Function('sample', given, self._output_function(*given, *results))

    @cached_property
    def _output_function(self) -> Any:
        """The function from inputs and results of the core to the outputs of a sample."""
        kind, corrector = ca.SX, self.corrector.function
        given = [kind.sym(*given) for given in self._inputs]
        results = [kind.sym('found', corrector.sparsity_out(k)) for k in range(corrector.n_out())]
        position, velocity, effort, start, numbers = given
        following, rates, efforts, sizes, flags = results
        (r, n, n_held, _) = self.corrector.counts
        _, parameters = self._split_inputs(start, numbers)
        at, rate, force = self._scale_inputs(parameters, position, velocity, effort)
        contracts, side, polished, exact, regularity, *balls = ca.vertsplit(flags)
        take = [self._known.index(row) for row in self.places]
        located = ca.vertcat(following[: r + n], parameters.held)[take]
        known = all_of(is_known(position[k]) for k in range(n))
        asked = ca.logic_and(known, _is_within(at, parameters.lower, parameters.upper))
        is_solved = all_of((asked, contracts, side, polished))
        is_near = ca.logic_not(exact)
        if not self.corrector.is_explicit:
            is_solved = all_of((is_solved, exact, regularity > CERTAIN**2))
            is_near = regularity < DEPENDENT**2
        unsolved = ca.logic_and(asked, ca.logic_not(is_solved))
        located, is_end, is_on_end = self._find_ends(parameters, at, unsolved, located)
        good = ca.logic_or(is_solved, is_end)
        lower, upper = parameters.wanted_lower, parameters.wanted_upper
        inside = ca.logic_and(asked, _is_within(located, lower, upper))
        slow, weak = self._limit_gains(parameters, sizes, is_near, is_end)
        moving = ca.vertcat(rates, rate, kind.zeros(n_held, 1))[take]
        moving, is_long = self._limit_passive(parameters, following, moving, take)
        # After the wanted coordinates: a driven joint has its motor's effort, a passive one none.
        pushed = ca.vertcat(ca.if_else(is_end, 0.0, efforts), force, 0.0)[self._pushed]
        for ball, columns in zip(balls, self.corrector.ball_columns, strict=True):
            for k in (k for k, row in enumerate(take) if row in columns):
                located[k] = known_if(ball >= 2.0, located[k])
                moving[k] = known_if(ball >= 2.0, moving[k])
        lost = ca.logic_or(
            ca.logic_and(ca.logic_or(slow, is_long), is_any_known(velocity)),
            ca.logic_and(weak, is_any_known(effort)),
        )
        if self.corrector.is_explicit:
            is_closed = all_of((contracts, polished, inside))
            reason = ca.if_else(is_closed, float(OTHER_BRANCH), float(OUT_OF_DOMAIN))
            # The full function eliminates with care.
            after, more = start, ca.logic_and(asked, ca.logic_not(exact))
        else:
            judged = asked, is_solved, is_on_end, inside, *balls
            after, reason, more = self._update_start(start, numbers, at, following, *judged)
            after[-n - 1] = ca.if_else(good, float(NO_CONVERGENCE), reason)
        status = ca.if_else(
            good,
            ca.if_else(inside, SINGULAR * lost, float(OUT_OF_DOMAIN)),
            ca.if_else(asked, reason, OUT_OF_DOMAIN * known),
        )
        answered = ca.logic_and(good, inside)
        moves, pushes = (ca.logic_and(answered, ca.logic_not(each)) for each in (slow, weak))
        rows = self._scale_outputs(parameters, located, moving, pushed)
        outputs = [*map(known_if, (answered, moves, pushes), rows), after, status, more]
        densified = [ca.densify(output) for output in outputs]
        return ca.Function('judged', [*given, *results], densified, {'cse': True})

    def _find_ends(
        self, parameters: Numbers, at: Expression, unsolved: Expression, located: Expression
    ) -> tuple[Expression, Expression, Expression]:
        """
        Return the outputs with dead centres at the ends of the range in place of no solution.

        Return also whether it is such an end, and whether it is one to rounding. A dead centre at
        the end of the range has one side only.
        """
        is_end, is_on_end = ca.SX(0.0), ca.SX(0.0)
        if parameters.ends.numel():
            ends = ca.vertsplit(parameters.ends)
            for end, there in zip(ends[:2], ends[2:], strict=True):
                apart = ca.fabs(at - end) * self.corrector.list_units(parameters.of_corrector)
                is_there = ca.logic_and(unsolved, apart <= AT_END)
                located = ca.if_else(is_there, there, located)
                is_end = ca.logic_or(is_end, is_there)
                is_on_end = ca.logic_or(is_on_end, apart <= ON_END)
        return located, is_end, is_on_end

    def _limit_gains(
        self, parameters: Numbers, sizes: Expression, is_near: Expression, is_end: Expression
    ) -> tuple[Expression, Expression]:
        """Return whether the gains of velocities and of efforts are too large."""
        limits = ca.vertsplit(parameters.max_gain * parameters.typical[:2])
        most, most_inverse = limits if self.is_forward else limits[::-1]
        # Written as "not <=" because a comparison with NaN is false.
        slow = ca.logic_or(ca.logic_not(sizes[0] <= most), ca.logic_or(is_near, is_end))
        weak = ca.logic_or(ca.logic_not(sizes[1] <= most_inverse), is_near)
        return slow, ca.logic_and(weak, ca.logic_not(is_end))

    def _limit_passive(
        self, parameters: Numbers, following: Expression, moving: Expression, take: Sequence[int]
    ) -> tuple[Expression, Expression]:
        """Return velocities without those of passive joints with a large gain, and if any has."""
        r, n, *_ = self.corrector.counts
        slopes, is_long = ca.reshape(following[r + n :], r, n), ca.SX(0.0)
        most, w = parameters.max_gain * parameters.typical[2], len(self.corrector.wanted)
        for k, row in enumerate(take[w:], w):
            if row in self.corrector.core_columns:
                is_short = ca.sumsqr(slopes[row, :]) <= most**2
                moving[k] = known_if(is_short, moving[k])
                is_long = ca.logic_or(is_long, ca.logic_not(is_short))
        return moving, is_long

    def _scale_outputs(self, parameters: Numbers, *rows: Expression) -> list[Expression]:
        """Return positions, velocities and efforts of the wanted side from bare ones."""
        (located, moving, pushed), w = rows, len(self.corrector.wanted)
        ratio, offset = parameters.wanted_ratios, parameters.wanted_offsets
        if not self.is_forward:
            return [(located - offset) * ratio, moving * ratio, pushed / ratio]
        located[:w], moving[:w] = located[:w] / ratio + offset, moving[:w] / ratio
        pushed[:w] = pushed[:w] * ratio
        return [located, moving, pushed]

    def _update_start(
        self,
        start: Expression,
        numbers: Expression,
        at: Expression,
        following: Expression,
        asked: Expression,
        is_solved: Expression,
        is_on_end: Expression,
        inside: Expression,
        *balls: Expression,
    ) -> tuple[Expression, Expression, Expression]:
        """Return the next warm start, the last reason, and whether to run the full solver."""
        (state, failed, reason, sought), parameters = self._split_inputs(start, numbers)
        failed = ca.if_else(is_known(failed), failed, 0.0)
        reason = ca.if_else(is_known(reason), reason, float(NO_CONVERGENCE))
        is_done = ca.logic_or(is_solved, is_on_end)
        is_whole = all_of((is_done, *(ball >= 2.0 for ball in balls)))
        failing = ca.logic_and(asked, ca.logic_not(is_whole))
        apart = ca.fabs(at - sought) * self.corrector.list_units(parameters.of_corrector)
        moved = ca.logic_not(ca.mmax(apart) <= ELSEWHERE)
        often = ca.logic_or(failed < PATIENCE, ca.fmod(failed, REST) == 0.0)
        more = ca.logic_and(failing, ca.logic_or(often, moved))
        kept = ca.SX(following)
        for ball, columns in zip(balls, self.corrector.ball_columns, strict=True):
            for column in columns:  # lost angles keep their last values
                kept[column] = ca.if_else(ball >= 2.0, following[column], state[column])
        after = ca.vertcat(
            ca.if_else(ca.logic_and(is_solved, inside), kept, state),
            ca.if_else(asked, ca.if_else(failing, failed + 1.0, 0.0), failed),
            reason,
            ca.if_else(more, at, sought),
        )
        return after, reason, more

    @cached_property
    def bend_function(self) -> Any:
        """
        Accelerations of the outputs at constant velocity of the inputs.

        Inputs: positions and velocities of the inputs, next warm start, numbers.
        """
        corrector, (r, n, n_held, _) = self.corrector, self.corrector.counts
        symbols = input_symbols(n, n, self.n_start, sum(self._counts))
        position, velocity, start, numbers = symbols
        (state, *_), parameters = self._split_inputs(start, numbers)
        at, rate, force = self._scale_inputs(parameters, position, velocity, velocity)
        following, moving, *_ = corrector.exact_function(
            at, rate, force, state, parameters.held, parameters.of_corrector
        )
        z = ca.vertcat(following[: r + n], parameters.held)
        rates = ca.vertcat(moving, rate, ca.MX.zeros(n_held, 1))
        # Coordinates that are not solved for stay at the pose.
        whole = ca.MX(corrector.mechanism.pose)
        moving = ca.MX.zeros(whole.numel())
        whole[self._known], moving[self._known] = z, rates
        bent = corrector.bend_function(whole, moving, parameters.of_corrector)
        bent = ca.vertcat(bent, ca.MX.zeros(n + n_held, 1))
        outputs = bent[[self._known.index(place) for place in self.places]]
        w = len(corrector.wanted)
        if self.is_forward:
            outputs[:w] = outputs[:w] / parameters.wanted_ratios
        else:
            outputs = outputs * parameters.wanted_ratios
        return ca.Function('bend', symbols, [outputs])

    # -- the search ------------------------------------------------------------------------------

    def _search_sample(self, given: Sequence[Any], entries: Any, apart: Any) -> list[Any]:
        """
        Return the outputs of a sample after the full solver, which starts from the last solution.

        If several assemblies are on one side, the table may contain another assembly than the last
        sample. It is then used for the first sample only; later samples follow a straight path.
        """
        r, n, *_ = self.corrector.counts
        *rows, start, numbers = given
        (last, failed, _, sought), parameters = self._split_inputs(start, numbers)
        at, *_ = self._scale_inputs(parameters, *rows)
        *_, steep, _, held, constants = parameters
        begin = [at, entries, apart, held, constants]
        inside = input_symbols(*(each.numel() for each in begin))
        switch = make_switch('table', inside, self.continuation.table_function(*inside))
        results = self.continuation.path_function(last, at, held, constants)
        # A guess is no solution yet.
        is_first = ca.logic_not(all_of((self.corrector.has_state(last), is_known(failed))))
        may_jump = 1.0 if self.corrector.is_unique else is_first
        state, done, why = switch(ca.logic_and(results[1] < 1.0, may_jump), *begin, *results)
        slopes = ca.reshape(state[r + n :], r * n, 1)
        is_steep = ca.logic_not(ca.mmax(ca.fabs(ca.vertcat(slopes, 0.0))) <= steep)
        is_dead = ca.logic_and(why == NO_CONVERGENCE, is_steep)
        is_change = ca.logic_and(why == NO_CONVERGENCE, ca.fmax(results[1], done) > ALMOST)
        why = ca.if_else(is_change, NO_CONVERGENCE + SINGULAR, why)
        why = ca.if_else(is_dead, OUT_OF_DOMAIN, why)
        if self.corrector.ball_columns:
            before = ca.if_else(self.corrector.has_state(last), last[:r], entries[:r])
            state, _ = self.continuation.ball_joint_function(
                state, entries[:r], before, held, constants
            )
        state = ca.if_else(done >= 1.0, state, last)
        start = ca.vertcat(state, failed, why, sought)
        *moved, after, status, _ = self.careful_function(*rows, start, numbers)
        # A position beyond the range is not used as a warm start.
        begin = ca.if_else(is_known(moved[0][0]), after[: self.corrector.n_state], last)
        return [*moved, ca.vertcat(begin, after[self.corrector.n_state :]), status]


def _is_within(vector: Expression, lower: Expression, upper: Expression) -> Expression:
    # Passive coordinates, after the others, have no ends.
    vector = vector[: lower.numel()]
    return all_of([*ca.vertsplit(vector >= lower), *ca.vertsplit(vector <= upper)])
