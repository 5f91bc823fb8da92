# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Compiled functions for both directions of a mechanism, from its equations.

``x`` is the space of the domain and ``y`` the other space; ``G = dy/dx``. A direction with an
explicit expression is evaluated. The other direction is solved by Newton's method: a few full
steps from the warm start; if these fail, damped steps from the nearest table entry, which are
evaluated only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
import math
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.expressions import (
    all_of,
    is_all_known,
    is_any_known,
    is_known,
    known_if,
    make_switch,
)
from transmission_bridge.transmissions.status import (
    NO_CONVERGENCE,
    OTHER_BRANCH,
    OUT_OF_DOMAIN,
    SINGULAR,
)
from transmission_bridge.types import Mask

Expression: TypeAlias = Any

#: Full Newton steps from the warm start: enough at 8 rad/s and 1 kHz. A sample that needs more
#: repeats them from there.
STEPS = 2

#: Damped steps from the table. Newton's method needs four or five; a least-squares solution of
#: inconsistent equations gains one binary digit per step.
DAMPED_STEPS = 60

#: Number of table entries to start from.
TRIES = 2

#: Steps below these shares of the range: rounding, and the last step.
ROUNDING, LAST_STEP = 1e-12, 1e-9

#: Damped steps below this share may be accepted by the next step instead of the residual.
END_GAME = 1e-3

#: The sign of a determinant is certain if the largest or typical singular value is at most this
#: factor times the smallest; otherwise rounding determines it. Larger gains are never allowed.
SURE = 1e8

#: Shares of a range. Closer to the end of the domain, a position without a solution is the end;
#: closer than rounding, it is the end without a search (its error would be the root of rounding).
AT_END, ON_END = 1e-10, 1e-15


@dataclass(frozen=True)
class Forms:
    """
    The functions of a mechanism in CasADi; ``p`` are its numbers.

    :param value: ``(x, p) -> (y, G)``; ``None`` if there is only a closure.
    :param inverse: ``(y, p) -> x``; ``None`` if it is solved for.
    :param closure: ``(x, y, p) -> (g, dg/dx, dg/dy)``.
    :param bend: ``(x, y, x', p) -> G' x'``.
    :param pattern: Which entries of ``G`` may be nonzero.
    :param errors: Errors of numpy functions since the last check.
    """

    value: Any
    inverse: Any
    closure: Any
    bend: Any
    pattern: Mask
    errors: list[BaseException] = field(default_factory=list)


class Watch(NamedTuple):
    """
    The bounds and typical values that a sample is checked against.

    :param lower: Lower ends of the domain, with tolerance.
    :param upper: Upper ends of the domain, with tolerance.
    :param span: Width of the domain.
    :param lowest: Smallest possible ``y``.
    :param highest: Largest possible ``y``.
    :param y_span: Range of ``y``.
    :param ends: ``x`` and ``y`` of the two ends of the domain if these have one side only, with
        one coordinate on each side; else NaN.
    :param limits: Sign of the determinant on the branch; typical smallest size of ``G``; its
        largest size for a multiplication, its smallest size for a division; for a closure alone,
        the sign of the determinant of ``dg/dy``.
    :param x_near: For a closure alone, the largest step in ``x``.
    :param y_near: For a closure alone, the largest step in ``y``.
    """

    lower: Any
    upper: Any
    span: Any
    lowest: Any
    highest: Any
    y_span: Any
    ends: Any
    limits: Any
    x_near: Any
    y_near: Any

    @classmethod
    def unpack(cls, vector: Expression, n_x: int, n_y: int) -> Watch:
        """Return the watch from a vector of symbols."""
        counts = (n_x, n_x, n_x, n_y, n_y, n_y, 4, 5, n_x, n_y)
        ends = np.cumsum([0, *counts]).tolist()
        return cls(*(vector[low:high] for low, high in pairwise(ends)))


class Solved(NamedTuple):
    """The unknown, ``G``, whether steps shrink, and whether they converged."""

    unknown: Expression
    slope: Expression
    is_nearing: Expression
    is_met: Expression


class System:
    """The compiled functions of mechanisms of one structure; their numbers are inputs."""

    def __init__(self, forms: Forms, n_numbers: int) -> None:
        self.forms, self.n_numbers = forms, n_numbers
        shape: tuple[int, int] = forms.pattern.shape
        self.n_y, self.n_x = shape
        self.pattern = forms.pattern
        self.is_implicit = forms.value is None
        self.is_square = self.n_x == self.n_y
        functions = (forms.value, forms.inverse, forms.closure)
        is_symbolic = all(each is None or each.is_a('SXFunction') for each in functions)
        self._kind: Any = ca.SX if is_symbolic else ca.MX
        self.n_watch = 4 * self.n_x + 4 * self.n_y + 9
        self._made: dict[tuple[bool, int], Any] = {}

    @property
    def unknown_bounds(self) -> dict[int, float]:
        """Bounds that do not hold for other numbers ``p``: the range of ``y`` and both ends."""
        first = 3 * self.n_x
        ranges = {first + k: -math.inf for k in range(self.n_y)}
        ranges |= {first + self.n_y + k: math.inf for k in range(self.n_y)}
        return ranges | {first + 3 * self.n_y + k: math.nan for k in range(4)}

    def is_solved(self, along: bool) -> bool:
        """Return whether a direction is solved for."""
        return self.is_implicit if along else self.forms.inverse is None

    def n_start(self, along: bool) -> int:
        """Return the length of the warm start of a direction."""
        n_in, n_out = (self.n_x, self.n_y) if along else (self.n_y, self.n_x)
        return n_in + n_out + n_in * n_out if self.is_solved(along) else 0

    def compile_step(self, along: bool, entries: int) -> Any:
        """
        Return the compiled function of one sample.

        It maps position, velocity, effort, warm start, numbers (a :class:`Watch`, then ``p``) and
        a table to position, velocity, effort, next warm start and status. ``along`` is the
        direction from ``x`` to ``y``. ``entries`` is the number of table entries, each ``x``,
        ``y`` and ``G`` column by column.
        """
        return self._get_cached((along, entries), lambda: self._build_step(along, entries))

    def compile_near(self, along: bool) -> Any:
        """
        Return the compiled function of one sample close to the last solution.

        As :meth:`compile_step`, without a table; also returns whether to run the full solver.
        """
        return self._get_cached((along, 0), lambda: self._build_near(along))

    def _get_cached(self, key: tuple[bool, int], make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # -- one direction ---------------------------------------------------------------------------

    def _make_symbols(
        self, along: bool, kind: Any
    ) -> tuple[list[Expression], Expression, Expression]:
        """Return position, velocity and effort, the warm start, and the numbers."""
        n_in = self.n_x if along else self.n_y
        inputs = [kind.sym(name, n_in) for name in ('position', 'velocity', 'effort')]
        start = kind.sym('start', self.n_start(along))
        return inputs, start, kind.sym('numbers', self.n_watch + self.n_numbers)

    def _unpack(self, numbers: Expression) -> tuple[Watch, Expression]:
        return Watch.unpack(numbers[: self.n_watch], self.n_x, self.n_y), numbers[self.n_watch :]

    def _build_step(self, along: bool, entries: int) -> Any:
        inputs, start, numbers = self._make_symbols(along, ca.MX)
        rows = self.n_x * (1 + self.n_y) + self.n_y
        table = ca.MX.sym('table', rows * entries)
        given = [*inputs, start, numbers, table]
        near = self.compile_near(along)
        result = near(*inputs, start, numbers)
        if self.is_solved(along):
            # A sample that converges iterates from there; otherwise the table provides a start.
            sought = self._search_table(along, given, ca.reshape(table, rows, entries))
            begin = ca.MX.sym('begin', start.numel())
            more = near(*inputs, begin, numbers)
            more = make_switch('look', given, sought)(more[5], *given, *more)
            further = make_switch('look_further', [*given, begin], more)
            result = further(result[5], *given, result[3], *result)
        return ca.Function('step', given, result[:5])

    def _build_near(self, along: bool) -> Any:
        inputs, start, numbers = self._make_symbols(along, self._kind)
        watch, p = self._unpack(numbers)
        given, n_out = inputs[0], self.n_y if along else self.n_x
        found = Solved(None, None, 0.0, 1.0)
        if self.is_solved(along):
            begin, at = start[:n_out], start[n_out : n_out + given.numel()]
            tangent = ca.reshape(start[n_out + given.numel() :], n_out, given.numel())
            ahead = begin + ca.mtimes(tangent, given - at)
            found = self._iterate_newton(along, given, ahead, watch, p)
            if self.is_implicit:
                is_near = self._is_same_assembly(along, given, found.unknown, at, begin, watch, p)
                found = found._replace(
                    is_nearing=all_of((found.is_nearing, is_near)),
                    is_met=all_of((found.is_met, is_near)),
                )
        result = self._build_outputs(along, inputs, start, watch, p, found)
        return ca.Function('near', [*inputs, start, numbers], result, _cse_options(self._kind))

    def _build_residual(
        self, along: bool, given: Expression, unknown: Expression, p: Expression
    ) -> Any:
        """Return the residual of the closure or of the value, and its derivative."""
        if self.forms.closure is not None:
            x, y = (given, unknown) if along else (unknown, given)
            miss, by_x, by_y = self.forms.closure(x, y, p)
            return miss, by_y if along else by_x
        value, slope = self.forms.value(unknown, p)
        return value - given, slope

    def _iterate_newton(
        self, along: bool, given: Expression, start: Expression, watch: Watch, p: Expression
    ) -> Solved:
        """Solve by full steps."""
        span = watch.y_span if along else watch.span
        unknown, squares = start, []
        for _ in range(STEPS):
            step = solve_linear(*self._build_residual(along, given, unknown, p)[::-1])
            squares.append(ca.sumsqr(step / span))  # its norm_inf ignores NaN
            unknown = unknown - step
        # Steps of inconsistent least-squares equations shrink by half.
        share = 0.25 if self.is_square else 0.9
        shrink = all_of(
            after <= ca.fmax(share * before, ROUNDING**2) for before, after in pairwise(squares)
        )
        is_met = all_of((shrink, squares[-1] <= LAST_STEP**2))
        if (self.n_x, self.n_y) == (1, 1) and not along:
            for end in (0, 1):
                is_there = ca.fabs(given - watch.ends[2 + end]) <= ON_END * watch.y_span
                unknown = ca.if_else(is_there, watch.ends[end], unknown)
                is_met = ca.if_else(is_there, 2.0, is_met)
        slope, is_value = self._slope_at(along, given, unknown, watch, p)
        return Solved(unknown, slope, shrink, is_met * is_value)

    def _slope_at(
        self, along: bool, given: Expression, unknown: Expression, watch: Watch, p: Expression
    ) -> tuple[Expression, Expression]:
        """Return ``G`` at a solution of the closure, and whether it also solves the equation."""
        x, y = (given, unknown) if along else (unknown, given)
        if self.forms.closure is None:
            return self.forms.value(x, p)[1], 1.0
        _, by_x, by_y = self.forms.closure(x, y, p)
        slope = -solve_linear(by_y, by_x)
        if self.is_implicit:
            return slope, 1.0
        # A closure can have more solutions than the equation.
        value = self.forms.value(x, p)[0]
        return slope, ca.sumsqr((value - y) / watch.y_span) <= LAST_STEP**2

    def _build_outputs(
        self,
        along: bool,
        inputs: Sequence[Expression],
        start: Expression,
        watch: Watch,
        p: Expression,
        found: Solved,
        is_last: bool = False,
    ) -> list[Expression]:
        """
        Return the results of a sample with a known position.

        ``is_last``: no further solver runs if there is no result.
        """
        given, velocity, effort = inputs
        is_solved = self.is_solved(along)
        if is_solved:
            x, y = (given, found.unknown) if along else (found.unknown, given)
            slope = found.slope
        elif along:
            x, (y, slope) = given, self.forms.value(given, p)
        else:
            x, y = self.forms.inverse(given, p), given
            slope = self.forms.value(x, p)[1]
        result = y if along else x
        inverse = _pseudo_inverse(slope)
        largest, smallest = _gain_bounds(slope * ca.mtimes(1.0 / watch.y_span, watch.span.T))
        branch, typical, most, least, _ = ca.vertsplit(watch.limits)
        is_sure = ca.fmax(largest, typical) <= SURE * smallest
        is_on_branch: Expression = 1.0
        if self.is_square:
            is_on_branch = _determinant_of(slope) * branch > 0.0
        is_inside = _is_within_box(x, watch.lower, watch.upper)
        is_met = ca.logic_and(found.is_met > 0.0, is_all_known(result))
        if is_solved:
            # At a dead centre, rounding determines the solution and its side; at the end of the
            # domain there is only one side.
            is_end = found.is_met > 1.0
            is_met = all_of((is_met, ca.logic_or(is_sure, is_end)))
            is_on_branch = ca.logic_or(is_on_branch, is_end)
        else:
            is_on_branch = ca.logic_or(is_on_branch, ca.logic_not(is_sure))
            is_inside = all_of((is_inside, is_met))
            is_met = 1.0
        is_good = all_of((is_met, is_on_branch, is_inside))
        is_given = is_all_known(given)
        may_reach: Expression = 1.0
        if is_solved:
            ends = (watch.lower, watch.upper) if along else (watch.lowest, watch.highest)
            may_reach = _is_within_box(given, *ends)
        has_speed, has_force = largest <= most, all_of((is_sure, smallest >= least))
        if not along:
            has_speed, has_force = has_force, has_speed
        forwards, back = (slope, inverse) if along else (inverse, slope)
        outputs = [
            known_if(is_good, result),
            known_if(all_of((is_good, has_speed)), ca.mtimes(forwards, velocity)),
            known_if(all_of((is_good, has_force)), ca.mtimes(back.T, effort)),
        ]
        following = start
        if is_solved:
            following = ca.vertcat(result, given, ca.vec(ca.densify(forwards)))
        reason = ca.if_else(is_on_branch, OUT_OF_DOMAIN, OTHER_BRANCH)
        reason = ca.if_else(is_met, reason, NO_CONVERGENCE)
        if along or not is_solved:
            reason = ca.if_else(all_of((is_inside, is_met)), OTHER_BRANCH, OUT_OF_DOMAIN)
        reason = ca.if_else(may_reach, reason, OUT_OF_DOMAIN)
        is_lost = ca.logic_or(
            ca.logic_and(ca.logic_not(has_speed), is_any_known(velocity)),
            ca.logic_and(ca.logic_not(has_force), is_any_known(effort)),
        )
        status = ca.if_else(is_good, ca.if_else(is_lost, SINGULAR, 0.0), reason)
        retry = all_of((is_given, may_reach, ca.logic_not(is_good)))
        is_nearer = is_good if is_last else ca.logic_or(is_good, found.is_nearing)
        # After a position outside the domain, the next sample starts without a warm start.
        last = known_if(ca.logic_not(ca.logic_and(is_given, status == OUT_OF_DOMAIN)), start)
        next_start = ca.if_else(ca.logic_and(is_given, is_nearer), following, last)
        return [
            *map(ca.densify, outputs),
            next_start,
            ca.if_else(is_given, status, 0.0),
            retry,
        ]

    # -- from the table --------------------------------------------------------------------------

    def _search_table(self, along: bool, given: Sequence[Expression], table: Expression) -> Any:
        """Return the results of a sample from the table; ``given`` are arguments of ``step``."""
        position, numbers = given[0], given[4]
        entries = self._nearest_entries(along, position, table, self._unpack(numbers)[0], TRIES)
        begins = [_extrapolate_entry(each, position) if along else each[0] for each in entries]
        attempt = self._build_attempt(along, given, table)
        result: Any = [ca.MX.nan(*attempt.size_out(k)) for k in range(attempt.n_out())]
        for begin in begins:
            is_lost = ca.logic_not(is_known(ca.sum1(result[0])))
            result = attempt(is_lost, *given, begin, *result)
        return result

    def _build_attempt(self, along: bool, given: Sequence[Expression], table: Expression) -> Any:
        """Return a switched function of damped steps from an initial guess."""
        *inputs, start, numbers, _ = given
        position = inputs[0]
        watch, p = self._unpack(numbers)
        begin = ca.MX.sym('begin', self.n_y if along else self.n_x)
        unknown, size = self._solve_damped(along, position, begin, numbers)
        is_met = size <= LAST_STEP
        if self.is_implicit:
            is_met = all_of((is_met, self._is_in_table(along, position, unknown, table, watch, p)))
        kind = self._kind
        own, began, held = self._make_symbols(along, kind)
        solution, is_one = kind.sym('solution', unknown.numel()), kind.sym('met')
        own_watch, own_p = self._unpack(held)
        slope, is_value = self._slope_at(along, own[0], solution, own_watch, own_p)
        found = Solved(solution, slope, 0.0, is_one * is_value)
        result = self._build_outputs(along, own, began, own_watch, own_p, found, is_last=True)
        arguments = [*own, began, held, solution, is_one]
        finish = ca.Function('finish', arguments, result, _cse_options(kind))
        result = finish(*inputs, start, numbers, unknown, is_met)
        if (self.n_x, self.n_y) == (1, 1) and not along:
            # At the end of the domain the mechanism has only one side.
            for end in (0, 1):
                is_there = ca.fabs(position - watch.ends[2 + end]) <= AT_END * watch.y_span
                is_there = ca.logic_and(is_there, ca.logic_not(is_known(result[0])))
                there = finish(*inputs, start, numbers, watch.ends[end], 2.0)
                result = [
                    ca.if_else(is_there, one, other)
                    for one, other in zip(there, result, strict=True)
                ]
        return make_switch('attempt', [*given, begin], result)

    def _nearest_entries(
        self, along: bool, given: Expression, table: Expression, watch: Watch, count: int = 1
    ) -> list[tuple[Expression, Expression, Expression]]:
        """Return ``x``, ``y`` and ``G`` of the nearest entries, the nearest first."""
        n_x, n_y, n = self.n_x, self.n_y, table.shape[1]
        rows = table[:n_x, :] if along else table[n_x : n_x + n_y, :]
        span = watch.span if along else watch.y_span
        apart = ca.sum1(ca.fabs(rows - ca.repmat(given, 1, n)) / ca.repmat(span, 1, n))
        # Of equally close entries, use the first.
        apart = apart + ca.DM(np.arange(n)[np.newaxis] * 1e-12)
        entries = []
        for _ in range(count):
            is_nearest = apart <= ca.mmin(apart)
            entry = ca.mtimes(table, is_nearest.T)
            slope = ca.reshape(entry[n_x + n_y :], n_y, n_x)
            entries.append((entry[:n_x], entry[n_x : n_x + n_y], slope))
            apart = ca.if_else(is_nearest, math.inf, apart)
        return entries

    def _solve_damped(
        self, along: bool, given: Expression, begin: Expression, numbers: Expression
    ) -> tuple[Expression, Expression]:
        """
        Solve by damped steps: a step that does not reduce the residual is halved.

        Return the unknown, and the size of its last step in shares of the range.
        """
        kind, n = self._kind, begin.numel()
        n_given = given.numel()
        state = kind.sym('state', 2 * n + 3 + n_given + numbers.numel())
        unknown, step = state[:n], state[n : 2 * n]
        miss, size, damping = (state[2 * n + k] for k in range(3))
        here, held = state[2 * n + 3 : 2 * n + 3 + n_given], state[2 * n + 3 + n_given :]
        watch, p = self._unpack(held)
        span = watch.y_span if along else watch.span

        def take_step(at: Expression) -> tuple[Expression, Expression, Expression]:
            if self.is_implicit:
                off, slope = self._build_residual(along, here, at, p)
            else:
                value, slope = self.forms.value(at, p)
                off = value - here
            change = -solve_linear(slope, off)
            return change, ca.sumsqr(off), ca.norm_2(change / span)

        ahead = unknown + damping * step
        next_step, next_miss, next_size = take_step(ahead)
        is_better = ca.logic_or(next_miss < miss, ca.logic_and(next_size < size, size <= END_GAME))
        is_taken = ca.logic_and(is_better, is_known(next_size))
        kept = [
            ca.if_else(is_taken, one, other)
            for one, other in (
                (ahead, unknown),
                (next_step, step),
                (next_miss, miss),
                (next_size, size),
                (ca.fmin(1.0, 2.0 * damping), 0.5 * damping),
            )
        ]
        options = _cse_options(kind)
        body = ca.Function('damped', [state], [ca.vertcat(*kept, here, held)], options)
        begins = ca.Function(
            'begins', [state], [ca.vertcat(unknown, *take_step(unknown), 1.0, here, held)], options
        )
        first = ca.vertcat(begin, ca.MX.zeros(n + 3), given, numbers)
        last = body.fold(DAMPED_STEPS)(begins(first))
        unknown, step, size = last[:n], last[n : 2 * n], last[2 * n + 1]
        return unknown + ca.if_else(size <= 1e-13, step, 0.0), size

    # -- a closure alone -------------------------------------------------------------------------

    def _is_same_assembly(
        self,
        along: bool,
        given: Expression,
        found: Expression,
        at: Expression,
        begin: Expression,
        watch: Watch,
        p: Expression,
    ) -> Expression:
        """Return whether a solution is so close to another one that both have one assembly."""
        here, there = ((given, found), (at, begin)) if along else ((found, given), (begin, at))
        sides = (_determinant_of(self.forms.closure(*each, p)[2]) for each in (here, there))
        return all_of(
            (
                math.prod(sides) > 0.0,
                _is_within_box(here[0] - there[0], -watch.x_near, watch.x_near),
                _is_within_box(here[1] - there[1], -watch.y_near, watch.y_near),
            )
        )

    def _is_in_table(
        self,
        along: bool,
        given: Expression,
        found: Expression,
        table: Expression,
        watch: Watch,
        p: Expression,
    ) -> Expression:
        """Return whether the nearest entry of the table leads to a solution."""
        x, y = (given, found) if along else (found, given)
        (entry,) = self._nearest_entries(True, x, table, watch)
        side = _determinant_of(self.forms.closure(x, y, p)[2])
        return all_of(
            (
                side * watch.limits[4] > 0.0,
                _is_within_box(x - entry[0], -watch.x_near, watch.x_near),
                _is_within_box(y - _extrapolate_entry(entry, x), -watch.y_near, watch.y_near),
            )
        )

    # -- functions for the table -----------------------------------------------------------------

    @cached_property
    def dense_value(self) -> Any:
        """``(x, p) -> (y, G)`` with dense outputs, for arrays."""
        x, p = (ca.MX.sym(name, n) for name, n in (('x', self.n_x), ('p', self.n_numbers)))
        return ca.Function('value', [x, p], [ca.densify(each) for each in self.forms.value(x, p)])

    @cached_property
    def closure_follower(self) -> Any:
        """``(x, y, numbers) -> (y, G, det(dg/dy), whether closed)``: follow a closure."""
        kind = self._kind
        x, y = kind.sym('x', self.n_x), kind.sym('y', self.n_y)
        numbers = kind.sym('numbers', self.n_watch + self.n_numbers)
        watch, p = self._unpack(numbers)
        found = self._iterate_newton(True, x, y, watch, p)
        found = self._iterate_newton(True, x, found.unknown, watch, p)
        side = _determinant_of(self.forms.closure(x, found.unknown, p)[2])
        outputs = [found.unknown, ca.densify(found.slope), side, found.is_met]
        return ca.Function('follow', [x, y, numbers], outputs, _cse_options(kind))

    @cached_property
    def closure_solver(self) -> Any:
        """``(x, y, numbers) -> y``: solve a closure by damped steps."""
        x, y = ca.MX.sym('x', self.n_x), ca.MX.sym('y', self.n_y)
        numbers = ca.MX.sym('numbers', self.n_watch + self.n_numbers)
        return ca.Function('seek', [x, y, numbers], [self._solve_damped(True, x, y, numbers)[0]])


# -- expressions ---------------------------------------------------------------------------------


def _cse_options(kind: Any) -> dict[str, Any]:
    return {'cse': True} if kind is ca.SX else {}


def _extrapolate_entry(
    entry: tuple[Expression, Expression, Expression], x: Expression
) -> Expression:
    """Return ``y`` extrapolated from an entry of the table."""
    return entry[1] + ca.mtimes(entry[2], x - entry[0])


def _is_within_box(vector: Expression, lower: Expression, upper: Expression) -> Expression:
    return all_of(
        ca.logic_and(vector[k] >= lower[k], vector[k] <= upper[k]) for k in range(vector.numel())
    )


def _gain_bounds(matrix: Expression) -> tuple[Expression, Expression]:
    """
    Return the largest and smallest gain of a matrix.

    For up to two unknowns these are the singular values; for more, the norm of the matrix and the
    reciprocal norm of its inverse.
    """
    n_rows, n = matrix.shape
    if (n_rows, n) != (2, 2):
        return ca.norm_fro(matrix), 1.0 / ca.norm_fro(_pseudo_inverse(matrix))
    (a, b), (c, d) = ([matrix[i, j] for j in (0, 1)] for i in (0, 1))
    largest = 0.5 * (ca.hypot(a + d, b - c) + ca.hypot(a - d, b + c))
    # The smallest normal number replaces a largest value of zero.
    return largest, ca.fabs(a * d - b * c) / ca.fmax(largest, np.finfo(np.float64).tiny)


def _determinant_of(matrix: Expression) -> Expression:
    if isinstance(matrix, ca.SX):
        return ca.det(matrix)
    # CasADi's determinant of MX fails if it is zero.
    entries = ca.SX.sym('entries', *matrix.shape)
    return ca.Function('determinant', [entries], [ca.det(entries)])(matrix)


def solve_linear(matrix: Expression, right: Expression) -> Expression:
    """Return ``M^-1 B``, expanded for one and two unknowns; the pseudo-inverse if not square."""
    n_rows, n = matrix.shape
    if n_rows != n:
        return ca.mtimes(_pseudo_inverse(matrix), right)
    if n == 1:
        return right / matrix
    if n == 2:
        (a, b), (c, d) = ([matrix[i, j] for j in (0, 1)] for i in (0, 1))
        above, below = right[0, :], right[1, :]
        return ca.vertcat(d * above - b * below, a * below - c * above) / (a * d - b * c)
    return ca.solve(matrix, right, *(() if isinstance(matrix, ca.SX) else ('qr', {'eps': 0.0})))


def _pseudo_inverse(matrix: Expression) -> Expression:
    """Return ``M^-1``; the pseudo-inverse if not square."""
    n_rows, n = matrix.shape
    if n_rows > n:
        return solve_linear(ca.mtimes(matrix.T, matrix), matrix.T)
    if n_rows < n:
        return solve_linear(ca.mtimes(matrix, matrix.T), matrix).T
    return solve_linear(matrix, ca.densify(type(matrix).eye(n)))
