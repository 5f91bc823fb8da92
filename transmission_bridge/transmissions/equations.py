# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What CasADi makes of a mechanism's equation: Jacobians, their rates, and the way back.

A mechanism is written once, as ``q = f(a)``, as ``a = f^-1(q)``, as both, or as a closure
``g(a, q) = 0``, alone or beside one of them. Everything is derived from it here, twice: as
arithmetic on arrays, for batches and for the solver that looks closely, and as expressions of one
sample, of which a robot makes one compiled function.

``x`` is the space in which the domain is stated and ``y`` the other one; ``G = dy/dx``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
import math
from threading import RLock
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias
import warnings

import casadi as ca
import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.mechanism import SURE
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.types import Array

__all__ = ['Equations', 'Numbers', 'all_of', 'flat', 'is_known', 'known_if', 'shape_of']

#: A number of a mechanism, a vector of them, or a tuple of vectors.
Numbers: TypeAlias = 'float | Sequence[float] | Sequence[Sequence[float]]'

#: Arrays or numbers, one for each element of a vector; rows of an array are that as well.
Components: TypeAlias = 'Array | Sequence[Array]'

Expression: TypeAlias = Any

#: Newton steps of a sample. From where the last solution leads they are enough at 8 rad/s and
#: 1 kHz; a sample that needs more takes them from there, see :attr:`Sample.following`.
STEPS = 2

#: The same of a batch, which begins at a table of positions.
BATCH_STEPS = 5

#: A step below this share of the range is rounding, and one below that is the last.
ROUNDING, LAST_STEP = 1e-12, 1e-9

#: Nearer than this share to a limit, arrays decide: rounding differs between them and a sample.
MARGIN = 1e-6

#: What is larger is unknown.
LARGEST = 1e308


def shape_of(numbers: Mapping[str, Numbers]) -> tuple[tuple[str, Any], ...]:
    """Return what mechanisms of one equation share: the names of their numbers and the counts."""

    def counts(value: Numbers) -> Any:
        return tuple(map(counts, value)) if isinstance(value, Sequence) else None

    return tuple((name, counts(value)) for name, value in numbers.items())


def flat(numbers: Mapping[str, Numbers]) -> list[float]:
    """Return the numbers one after the other."""

    def each(value: Numbers) -> list[float]:
        if isinstance(value, Sequence):
            return [number for part in value for number in each(part)]
        return [float(value)]

    return [number for value in numbers.values() for number in each(value)]


@dataclass(frozen=True)
class Watch:
    """
    What a sample is held against: symbols, in the order of ``EquationTransmission.watched``.

    :param lower: Ends of the domain, with slack.
    :param upper: Ends of the domain, with slack.
    :param span: Width of the domain.
    :param lowest: What ``y`` may be at least.
    :param highest: What ``y`` may be at most.
    :param y_span: Range of ``y``.
    :param scale: What the entries of ``G`` are multiplied by before singular values are taken.
    :param branch: Sign of the determinant on the branch.
    :param typical: Median of the smallest singular value.
    :param least: Smallest singular value that may be divided by.
    :param most: Largest singular value that may be multiplied by.
    :param x_near: How far a closure alone is followed in ``x`` at once; else without an element.
    :param y_near: The same in ``y``.
    """

    lower: Expression
    upper: Expression
    span: Expression
    lowest: Expression
    highest: Expression
    y_span: Expression
    scale: Expression
    branch: Expression
    typical: Expression
    least: Expression
    most: Expression
    x_near: Expression
    y_near: Expression

    @classmethod
    def symbols(cls, n: int, is_implicit: bool) -> tuple[Expression, Watch]:
        """Return the symbols in one vector, and each by its name."""
        counts = [n] * 6 + [n * n] + [1] * 4 + [n if is_implicit else 0] * 2
        vector = ca.SX.sym('watch', sum(counts))
        ends = np.cumsum([0, *counts]).tolist()
        parts = [vector[ends[k] : ends[k + 1]] for k in range(len(counts))]
        parts[6] = ca.reshape(parts[6], n, n).T
        return vector, cls(*parts)


class Sample(NamedTuple):
    """
    One sample of a mechanism as expressions.

    :param value: Position in the other space.
    :param rate: Velocity there.
    :param effort: Effort there.
    :param is_known: Whether there is a position to begin with.
    :param is_inside: Whether it is in the domain, as far as that can be told.
    :param rate_is_lost: Whether the velocity would be multiplied by too much.
    :param effort_is_lost: Whether the effort would be multiplied by too much.
    :param is_fine: Whether the sample may be used; else somebody has to look closely.
    :param is_nearing: Whether more steps from ``following`` may make it fine.
    :param following: Where the next solution begins: the one found, the position that it belongs
        to, and its derivative by that position; without an element where nothing is solved.
    """

    value: Expression
    rate: Expression
    effort: Expression
    is_known: Expression
    is_inside: Expression
    rate_is_lost: Expression
    effort_is_lost: Expression
    is_fine: Expression
    is_nearing: Expression
    following: Expression


class Equations:
    """
    The equations of mechanisms of one structure; their numbers are inputs.

    :param functions: ``joint_position``, ``actuator_position`` and ``closure``, those that there
        are, in bare coordinates.
    :param starts_at_joint: Whether ``x`` is the joints' space.
    :param n: Numbers of actuators and joints.
    :param shape: Of the numbers, see :func:`shape_of`.
    :param choices: What is no number, by name.
    :raises TransmissionError: If an equation gives another number of positions or calls a function
        of ``math`` or numpy, or a closure does not hold every member.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        starts_at_joint: bool,
        n: tuple[int, int],
        shape: tuple[tuple[str, Any], ...],
        choices: tuple[tuple[str, str], ...],
    ) -> None:
        n_actuators, n_joints = n
        self.shape, self.choices = shape, choices
        numbers: list[Expression] = []

        def symbol(name: str, counts: Any) -> Expression:
            if counts is None or all(count is None for count in counts):
                numbers.append(ca.SX.sym(name, 1 if counts is None else len(counts)))
                return numbers[-1]
            return tuple(symbol(name, part) for part in counts)

        own = {name: symbol(name, counts) for name, counts in shape}
        actuator_reduction, joint_reduction, joint_offset = (
            own.pop(name) for name in ('actuator_reduction', 'joint_reduction', 'joint_offset')
        )
        p = SimpleNamespace(**own, **dict(choices))
        self.numbers = ca.vertcat(*numbers)
        actuators = ca.SX.sym('a', n_actuators)
        joints = ca.SX.sym('q', n_joints)
        bare_actuators = actuators / actuator_reduction
        bare_joints = joint_reduction * (joints - joint_offset)

        def call(name: str, count: int, *arguments: Expression) -> Expression:
            if name not in functions:
                return None
            with _symbols_only(name):
                found = functions[name](*arguments, p)
            found = ca.vertcat(*found) if isinstance(found, tuple | list) else ca.SX(found)
            if found.shape != (count, 1):
                raise TransmissionError(
                    f'{name} gives another number of equations',
                    expected=str(count),
                    found=str(found.numel()),
                )
            return found

        to_joints = call('joint_position', n_joints, bare_actuators)
        if to_joints is not None:
            to_joints = to_joints / joint_reduction + joint_offset
        to_actuators = call('actuator_position', n_actuators, bare_joints)
        if to_actuators is not None:
            to_actuators = to_actuators * actuator_reduction
        self.x, self.y = (joints, actuators) if starts_at_joint else (actuators, joints)
        self.n_x, self.n_y = int(self.x.numel()), int(self.y.numel())
        given = (to_actuators, to_joints) if starts_at_joint else (to_joints, to_actuators)
        self._value, self._inverse = given
        #: Whether there is nothing but a closure that gives ``y`` of ``x``.
        self.is_implicit = self._value is None
        self._closure = call(
            'closure', self.n_y if self.is_implicit else min(n), bare_actuators, bare_joints
        )
        self._by_x: Expression
        self._by_y: Expression
        self._by_x, self._by_y = (
            None if self._closure is None else ca.jacobian(self._closure, each)
            for each in (self.x, self.y)
        )
        if self.is_implicit:
            if ca.sprank(self._by_y) < self.n_y:
                raise TransmissionError(
                    'closure does not hold every member',
                    expected=f'{self.n_y} equations that determine {self.y}',
                    found=str(self._closure),
                )
            self._slope = -_solve(self._by_y, self._by_x)
            pattern = inverse_pattern(_pattern(self._by_y).astype(float)) @ _pattern(self._by_x)
        else:
            self._slope = ca.jacobian(self._value, self.x)
            pattern = _pattern(self._slope)
        #: Which entries of ``G`` may differ from zero.
        self.slope_pattern = pattern
        #: What a sample is held against, see :class:`Watch`.
        self.watch, self._watch = Watch.symbols(self.n_x, self.is_implicit)
        self._samples: dict[bool, Any] = {}

    # -- batches ---------------------------------------------------------------------------------

    @cached_property
    def evaluate(self) -> Callable[[Components, Sequence[float]], list[Array]]:
        """``y`` and the entries of ``G``, row by row, of components ``x`` and the numbers."""
        return array_function(
            [self.x, self.numbers], [*ca.vertsplit(self._value), *_entries(self._slope)]
        )

    @cached_property
    def value(self) -> Callable[[Components, Sequence[float]], list[Array]]:
        """``y`` alone of components ``x`` and the numbers."""
        return array_function([self.x, self.numbers], ca.vertsplit(self._value))

    @cached_property
    def inverse(self) -> Callable[[Components, Sequence[float]], list[Array]] | None:
        """``x`` of components ``y`` and the numbers, where there is an equation for it."""
        if self._inverse is None:
            return None
        return array_function([self.y, self.numbers], ca.vertsplit(self._inverse))

    @cached_property
    def slope_rate(self) -> Callable[[Components, Sequence[float]], list[Array]]:
        """
        The entries of ``G'`` of components ``x`` and ``x'`` and the numbers.

        With a closure alone ``y`` is between the two.
        """
        rate = ca.SX.sym('rate', self.n_x)
        place, along = self.x, rate
        if self.is_implicit:
            place = ca.vertcat(place, self.y)
            along = ca.vertcat(along, ca.mtimes(self._slope, rate))
        turned = ca.jtimes(ca.vertcat(*_entries(self._slope)), place, along)
        return array_function([ca.vertcat(place, rate), self.numbers], ca.vertsplit(turned))

    @cached_property
    def solve(self) -> Callable[..., list[Array]]:
        """
        ``x``, the entries of ``G``, and whether they are a solution.

        Of components ``y`` and of a start, of the ranges of ``x`` and ``y``, and of the numbers.
        """
        start = ca.SX.sym('start', self.n_x)
        spans = ca.SX.sym('span', self.n_x), ca.SX.sym('y_span', self.n_y)
        x, slope, _, converged = self._stepped(start, *spans, BATCH_STEPS)
        return array_function(
            [self.y, start, ca.vertcat(*spans), self.numbers],
            [*ca.vertsplit(x), *_entries(slope), converged],
        )

    @cached_property
    def follow(self) -> Callable[..., list[Array]]:
        """
        ``y`` by a closure alone, the entries of ``G``, ``det(dg/dy)``, and whether it is closed.

        Of components ``x`` and of a start, of the typical size of ``y``, and of the numbers.
        """
        start, size = ca.SX.sym('start', self.n_y), ca.SX.sym('size', self.n_y)
        y, _, converged = _newton(self._closure, self._by_y, self.y, start, size, BATCH_STEPS)
        slope, by_y = ca.substitute([self._slope, self._by_y], [self.y], [y])
        return array_function(
            [self.x, start, size, self.numbers],
            [*ca.vertsplit(y), *_entries(slope), ca.det(by_y), converged],
        )

    @cached_property
    def closure(self) -> Callable[..., list[Array]]:
        """By how much a closure is missed, and the entries of ``dg/dy``, of ``x`` and ``y``."""
        return array_function(
            [self.x, self.y, self.numbers],
            [*ca.vertsplit(self._closure), *_entries(self._by_y)],
        )

    # -- one sample ------------------------------------------------------------------------------

    @property
    def can_sample(self) -> bool:
        """Whether there are as many joints as actuators; else the arrays have to do."""
        return self.n_x == self.n_y

    def starts(self, along: bool) -> int:
        """Return how many numbers the start of a sample has, none where nothing is solved."""
        is_solved = self.is_implicit if along else self._inverse is None
        return self.n_x * (2 + self.n_x) if is_solved else 0

    #: After a position that was outside it begins anew, and commands have one start.
    keeps_starts = False

    def sample(self, along: bool) -> Any:
        """
        Return a function of position, velocity, effort, a start, and :attr:`watch` and numbers.

        It gives a :class:`Sample`. Called with expressions it gives expressions.
        """
        if along not in self._samples:
            names = ('position', 'velocity', 'effort')
            position, velocity, effort = (ca.SX.sym(name, self.n_x) for name in names)
            start = ca.SX.sym('start', self.starts(along))
            function = self.along if along else self.back
            self._samples[along] = ca.Function(
                'sample',
                [position, velocity, effort, start, ca.vertcat(self.watch, self.numbers)],
                list(function(position, velocity, effort, start, self._watch)),
            )
        return self._samples[along]

    def along(
        self,
        x: Expression,
        rate: Expression,
        effort: Expression,
        start: Expression,
        watch: Watch,
    ) -> Sample:
        """
        Map a sample from ``x`` to ``y``.

        :param start: :attr:`Sample.following` of the last sample.
        """
        known = all_of(is_known(each) for each in ca.vertsplit(self.x))
        inside = _within(self.x, watch.lower, watch.upper)
        nearing: Expression = ca.SX(0.0)
        following = ca.SX(0, 1)
        if self.is_implicit:
            at_y, at_x, ahead = self._ahead(start, self.x)
            value, nearing, converged = _newton(
                self._closure, self._by_y, self.y, ahead, watch.y_span, STEPS
            )
            near = self._is_near(self.x, value, at_x, at_y, watch)
            slope = ca.substitute(self._slope, self.y, value)
            reached = ca.logic_and(converged, near)
            nearing = ca.logic_and(nearing, near)
            following = ca.vertcat(value, self.x, *_entries(slope))
        else:
            value, slope = self._value, self._slope
            reached = all_of(is_known(each) for each in ca.vertsplit(value))
        levers = _levers(slope, watch)
        placed = ca.logic_or(levers.is_sure, levers.is_dead)
        fine = all_of((levers.is_decided, placed, reached))
        speed = known_if(ca.logic_not(levers.is_long), ca.mtimes(slope, rate))
        force = known_if(ca.logic_not(levers.is_short), _solve(slope.T, effort))
        lost = levers.is_long, levers.is_short
        mapped = (value, speed, force, known, inside, *lost, fine, nearing, following)
        return Sample(*ca.substitute(mapped, [self.x], [x]))

    def back(
        self,
        y: Expression,
        rate: Expression,
        effort: Expression,
        start: Expression,
        watch: Watch,
    ) -> Sample:
        """
        Map a sample from ``y`` to ``x``.

        :param start: :attr:`Sample.following` of the last sample.
        """
        known = all_of(is_known(each) for each in ca.vertsplit(self.y))
        near = _within(self.y, watch.lowest, watch.highest)
        converged: Expression = ca.SX(1.0)
        nearing: Expression = ca.SX(0.0)
        following = ca.SX(0, 1)
        if self._inverse is not None:
            x = self._inverse
            slope = ca.substitute(self._slope, self.x, x)
            speed = _solve(slope, rate)
        else:
            at_x, at_y, ahead = self._ahead(start, self.y)
            x, slope, nearing, converged = self._stepped(ahead, watch.span, watch.y_span, STEPS)
            if self.is_implicit:
                is_near = self._is_near(x, self.y, at_x, at_y, watch)
                converged, nearing = (ca.logic_and(each, is_near) for each in (converged, nearing))
            inverse = _inverse(slope)
            following = ca.vertcat(x, self.y, *_entries(inverse))
            speed = ca.mtimes(inverse, rate)
        levers = _levers(slope, watch)
        # At a dead centre a position that is solved for is a matter of rounding.
        placed = levers.is_sure
        if self._inverse is not None:
            placed = ca.logic_or(placed, levers.is_dead)
        inside = _within(x, watch.lower, watch.upper)
        fine = all_of((converged, inside, placed, levers.is_decided))
        speed = known_if(ca.logic_not(levers.is_short), speed)
        force = known_if(ca.logic_not(levers.is_long), ca.mtimes(slope.T, effort))
        lost = levers.is_short, levers.is_long
        mapped = (x, speed, force, known, near, *lost, fine, nearing, following)
        return Sample(*ca.substitute(mapped, [self.y], [y]))

    def _ahead(
        self, start: Expression, position: Expression
    ) -> tuple[Expression, Expression, Expression]:
        """Return the last solution and its position, and where they lead at another position."""
        n = self.n_x
        solution, place, entries = start[:n], start[n : 2 * n], start[2 * n :]
        slope = ca.reshape(entries, n, n).T
        return solution, place, solution + ca.mtimes(slope, position - place)

    def _stepped(
        self, start: Expression, span: Expression, y_span: Expression, steps: int
    ) -> tuple[Expression, Expression, Expression, Expression]:
        """Return ``x`` after whole Newton steps, ``G``, and as :func:`_newton` of the steps."""
        if self._closure is None:
            x, nearing, converged = _newton(
                self._value - self.y, self._slope, self.x, start, span, steps
            )
            return x, ca.substitute(self._slope, self.x, x), nearing, converged
        x, nearing, converged = _newton(self._closure, self._by_x, self.x, start, span, steps)
        if self.is_implicit:
            by_x, by_y = ca.substitute([self._by_x, self._by_y], [self.x], [x])
            return x, -_solve(by_y, by_x), nearing, converged
        # A closure has more solutions than the equation.
        shared = ca.cse([self._by_x, self._by_y, self._value])
        by_x, by_y, value = ca.substitute(shared, [self.x], [x])
        slope = -_solve(by_y, by_x)
        met = ca.sumsqr((value - self.y) / y_span) <= LAST_STEP**2
        return x, slope, nearing, ca.logic_and(converged, met)

    def _at(self, expression: Expression, x: Expression, y: Expression) -> Expression:
        return ca.substitute(expression, ca.vertcat(self.x, self.y), ca.vertcat(x, y))

    def _is_near(
        self, x: Expression, y: Expression, at_x: Expression, at_y: Expression, watch: Watch
    ) -> Expression:
        """Whether a solution of a closure alone is so near another that it is of its assembly."""
        here, there = (ca.det(self._at(self._by_y, *each)) for each in ((x, y), (at_x, at_y)))
        return all_of(
            (
                here * there > 0.0,
                _within(x - at_x, -watch.x_near, watch.x_near),
                _within(y - at_y, -watch.y_near, watch.y_near),
            )
        )


#: While an equation is evaluated, CasADi's class is another one for all threads.
_ONE_EQUATION = RLock()


@contextmanager
def _symbols_only(name: str) -> Iterator[None]:
    """
    Refuse what makes a number of a symbol, which CasADi does without a word: the number is NaN.

    numpy's functions are refused as well, of which some versions of CasADi warn.
    """
    said = TransmissionError(
        f"{name} calls a function that is not CasADi's",
        expected="casadi's cos, as in ca.cos(a), and its other functions",
        found='math.cos, np.cos or the like of a symbol',
    )
    with _ONE_EQUATION, warnings.catch_warnings():
        warnings.filterwarnings('error', r'\s*casadi: a numpy function', FutureWarning)
        number_of = ca.SX.__float__

        def refuse(symbol: Expression) -> float:
            if symbol.is_constant():
                return number_of(symbol)
            raise said

        ca.SX.__float__ = refuse  # type: ignore[method-assign]
        try:
            yield
        except FutureWarning as warning:
            raise said from warning
        finally:
            ca.SX.__float__ = number_of  # type: ignore[method-assign]


def _newton(
    miss: Expression,
    turned: Expression,
    unknown: Expression,
    start: Expression,
    span: Expression,
    steps: int,
) -> tuple[Expression, Expression, Expression]:
    """Return the unknown after whole Newton steps, and whether they shrink and have converged."""
    found, squares = start, []
    for _ in range(steps):
        here, slope = ca.substitute([miss, turned], [unknown], [found])
        step = _solve(slope, here)
        squares.append(ca.sumsqr(step / span))  # its norm_inf is blind to NaN
        found = found - step
    shrink = all_of(
        after <= ca.fmax(0.25 * before, ROUNDING**2) for before, after in pairwise(squares)
    )
    return found, shrink, ca.logic_and(shrink, squares[-1] <= LAST_STEP**2)


def _pattern(matrix: Expression) -> npt.NDArray[np.bool_]:
    return np.asarray(ca.DM(matrix.sparsity(), 1).full() != 0.0)


def _entries(matrix: Expression) -> list[Expression]:
    return [matrix[i, j] for i in range(matrix.shape[0]) for j in range(matrix.shape[1])]


def is_known(number: Expression) -> Expression:
    """Return whether a number is known; CasADi would simplify a comparison with itself away."""
    return ca.fabs(number) <= LARGEST


def known_if(condition: Expression, vector: Expression) -> Expression:
    """Return a vector that is NaN unless the condition holds."""
    return vector + ca.if_else(condition, 0.0, math.nan)


def all_of(conditions: Any) -> Expression:
    """Return whether all of the conditions hold, of which there is at least one."""
    first, *others = conditions
    for other in others:
        first = ca.logic_and(first, other)
    return first


def _within(vector: Expression, lower: Expression, upper: Expression) -> Expression:
    return all_of(
        ca.logic_and(vector[k] >= lower[k], vector[k] <= upper[k]) for k in range(vector.numel())
    )


class _Levers(NamedTuple):
    """
    What is certain of ``G``.

    :param is_sure: It is on the branch, and no dead centre.
    :param is_dead: It is so near to a dead centre that rounding decides on which side.
    :param is_long: It is too large to be multiplied by.
    :param is_short: It is too small to be divided by.
    :param is_decided: Whether the last two are certain either way.
    """

    is_sure: Expression
    is_dead: Expression
    is_long: Expression
    is_short: Expression
    is_decided: Expression


def _levers(slope: Expression, watch: Watch) -> _Levers:
    """
    Return what is certain of ``G``; near a limit nothing is.

    Singular values are those of :class:`~transmission_bridge.transmissions.mechanism.Seeds`; of
    more than two unknowns there are bounds only, by the norms of ``G`` and its inverse, which are
    not more than ``sqrt(n)`` times as large.
    """
    n, scaled = slope.shape[0], slope * watch.scale
    determinant = ca.det(scaled)
    largest: Expression
    smallest: Expression
    if n == 1:
        largest = smallest = ca.fabs(scaled)
    elif n == 2:
        a, b, c, d = _entries(scaled)
        largest = 0.5 * (ca.hypot(a + d, b - c) + ca.hypot(a - d, b + c))
        smallest = ca.fabs(determinant) / ca.fmax(largest, np.finfo(np.float64).tiny)
    else:
        largest = ca.norm_fro(scaled)
        smallest = 1.0 / ca.norm_fro(_inverse(scaled))
    slack = 1.0 + MARGIN
    bound = slack * (math.sqrt(n) if n > 2 else 1.0)
    is_sure = slack * ca.fmax(largest, watch.typical) <= SURE * smallest
    is_dead = ca.fmax(largest / bound, watch.typical) > bound * SURE * smallest
    is_long = largest > bound * watch.most
    is_short = ca.logic_or(is_dead, bound * smallest < watch.least)
    is_decided = ca.logic_and(
        ca.logic_or(is_long, slack * largest <= watch.most),
        ca.logic_or(is_short, ca.logic_and(is_sure, smallest >= slack * watch.least)),
    )
    on_branch = determinant * watch.branch > 0.0
    return _Levers(ca.logic_and(is_sure, on_branch), is_dead, is_long, is_short, is_decided)


def _solve(matrix: Expression, right: Expression) -> Expression:
    """Return ``M^-1 B``; of one and two unknowns written out."""
    n = matrix.shape[0]
    if n == 1:
        return right / matrix
    if n == 2:
        a, b, c, d = _entries(matrix)
        above, below = ca.vertsplit(right)
        return ca.vertcat(d * above - b * below, a * below - c * above) / (a * d - b * c)
    return ca.solve(matrix, right)


def _inverse(matrix: Expression) -> Expression:
    """Return ``M^-1``; of one and two unknowns written out."""
    n = matrix.shape[0]
    if n == 1:
        return 1.0 / matrix
    if n == 2:
        a, b, c, d = _entries(matrix)
        share = 1.0 / (a * d - b * c)
        return ca.vertcat(ca.horzcat(share * d, -share * b), ca.horzcat(-share * c, share * a))
    return ca.solve(matrix, ca.SX.eye(n))


# -- the same as arithmetic on arrays ------------------------------------------------------------

#: CasADi's operations in numpy's; those with one operand, then those with two.
_UNARY = {
    'OP_ASSIGN': '{0}',
    'OP_EXP': 'np.exp({0})',
    'OP_LOG': 'np.log({0})',
    'OP_NEG': '-{0}',
    'OP_SQRT': 'np.sqrt({0})',
    'OP_SQ': '{0} * {0}',
    'OP_TWICE': '2.0 * {0}',
    'OP_SIN': 'np.sin({0})',
    'OP_COS': 'np.cos({0})',
    'OP_TAN': 'np.tan({0})',
    'OP_ASIN': 'np.arcsin({0})',
    'OP_ACOS': 'np.arccos({0})',
    'OP_ATAN': 'np.arctan({0})',
    'OP_FLOOR': 'np.floor({0})',
    'OP_CEIL': 'np.ceil({0})',
    'OP_FABS': 'np.abs({0})',
    'OP_SIGN': 'np.sign({0})',
    'OP_NOT': '({0} == 0.0) * 1.0',
    'OP_INV': '1.0 / {0}',
    'OP_SINH': 'np.sinh({0})',
    'OP_COSH': 'np.cosh({0})',
    'OP_TANH': 'np.tanh({0})',
    'OP_ASINH': 'np.arcsinh({0})',
    'OP_ACOSH': 'np.arccosh({0})',
    'OP_ATANH': 'np.arctanh({0})',
    'OP_LOG1P': 'np.log1p({0})',
    'OP_EXPM1': 'np.expm1({0})',
}
_BINARY = {
    'OP_ADD': '{0} + {1}',
    'OP_SUB': '{0} - {1}',
    'OP_MUL': '{0} * {1}',
    'OP_DIV': '{0} / {1}',
    'OP_POW': 'np.power({0}, {1})',
    'OP_CONSTPOW': 'np.power({0}, {1})',
    'OP_LT': '({0} < {1}) * 1.0',
    'OP_LE': '({0} <= {1}) * 1.0',
    'OP_EQ': '({0} == {1}) * 1.0',
    'OP_NE': '({0} != {1}) * 1.0',
    'OP_AND': '(({0} != 0.0) & ({1} != 0.0)) * 1.0',
    'OP_OR': '(({0} != 0.0) | ({1} != 0.0)) * 1.0',
    'OP_FMOD': 'np.fmod({0}, {1})',
    'OP_REMAINDER': '_remainder({0}, {1})',
    'OP_COPYSIGN': 'np.copysign({0}, {1})',
    'OP_IF_ELSE_ZERO': 'np.where({0} != 0.0, {1}, 0.0)',
    'OP_FMIN': 'np.fmin({0}, {1})',
    'OP_FMAX': 'np.fmax({0}, {1})',
    'OP_ATAN2': 'np.arctan2({0}, {1})',
    'OP_HYPOT': 'np.hypot({0}, {1})',
}


def array_function(
    inputs: Sequence[Expression], outputs: Sequence[Expression]
) -> Callable[..., list[Array]]:
    """
    Return expressions as a function of arrays.

    A function of CasADi takes nine times as long for a batch, and may not be called by two
    threads at once.

    :param inputs: Vectors of symbols; each becomes an argument, a sequence of arrays or numbers.
    :param outputs: Scalar expressions, of which the function returns the values.
    :raises TransmissionError: If an operation has no counterpart in numpy.
    """
    function = ca.Function('f', list(inputs), [ca.densify(ca.vertcat(*outputs))])
    texts = {getattr(ca, name): text for name, text in (_UNARY | _BINARY).items()}
    lines = []
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        places = function.instruction_output(k)
        operands = function.instruction_input(k)
        if operation == ca.OP_CONST:
            lines.append(f'w{places[0]} = {function.instruction_constant(k)!r}')
        elif operation == ca.OP_INPUT:
            lines.append(f'w{places[0]} = x{operands[0]}[{operands[1]}]')
        elif operation == ca.OP_OUTPUT:
            lines.append(f'y[{places[1]}] = w{operands[0]}')
        elif operation in texts:
            text = texts[operation].format(*(f'w{operand}' for operand in operands))
            lines.append(f'w{places[0]} = {text}')
        else:
            raise TransmissionError(f'an equation has an operation without arrays: {operation}')
    arguments = ', '.join(f'x{k}' for k in range(len(inputs)))
    source = f'def f({arguments}):\n    y = [0.0] * {len(outputs)}\n'
    source += ''.join(f'    {line}\n' for line in lines) + '    return y\n'
    names: dict[str, Any] = {'np': np, 'nan': np.nan, 'inf': np.inf, '_remainder': _remainder}
    exec(source, names)
    made: Callable[..., list[Array]] = names['f']
    return made


def _remainder(number: Array, period: Array | float) -> Array:
    """Return what is left beside the nearest multiple of the period, without rounding."""
    rest = np.fmod(number, period)
    is_over = 2.0 * np.abs(rest) > np.abs(period)
    return np.where(is_over, rest - np.copysign(period, rest), rest)
