# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One sample of a mechanism in plain numbers, as a live stream maps it.

Only the regular case is answered here. Whatever has to be counted or looked at more closely (out
of the domain, nearly singular, slow to converge) is left to
:class:`~transmission_bridge.transmissions.mechanism.Mechanism`, which then does it all again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.newton import END_GAME, STALL_TOLERANCE, STEP_TOLERANCE
from transmission_bridge.transmissions.seeds import SeedTable
from transmission_bridge.transmissions.square import Bounds, Limits, Numbers, SQUARES

__all__ = ['OneSample', 'SampleForm', 'SampleMap', 'State']

#: Position, velocity and effort.
State = tuple[Numbers, Numbers, Numbers]

#: Maps position, velocity and effort, beginning a solution at a start; see :class:`OneSample`.
SampleMap = Callable[[Numbers, Numbers, Numbers, Numbers], State | None]

#: Evaluations after which the solution is left to the solver of batches. From the last solution
#: of a stream it takes two to four.
EVALUATION_LIMIT = 12

_STEP, _STALL, _END_GAME = STEP_TOLERANCE**2, STALL_TOLERANCE**2, END_GAME**2


@dataclass(frozen=True)
class SampleForm:
    """
    A closed form for one sample; where there is no answer it raises or gives NaN.

    :param evaluate: ``g`` and the entries of ``G``, row by row.
    :param inverse_value: ``g^-1``, or ``None``: it is solved.
    :param solve_nearby: ``x`` and ``G`` of ``y`` at once, perhaps only near a start, if the
        mechanism has a quicker way than these two; its answer ``None`` leaves it to them.
    """

    evaluate: Callable[[Numbers], tuple[Numbers, Numbers]]
    inverse_value: Callable[[Numbers], Numbers] | None = None
    solve_nearby: Callable[[Numbers, Numbers], tuple[Numbers, Numbers] | None] | None = None

    def check(self, x: Numbers) -> None:
        """
        Call every map at a position, for as many numbers as it has.

        :raises TransmissionError: If an answer has more or fewer.
        """
        n = len(x)
        y, slope = self.evaluate(x)
        answers = [('sample map', y, n), ('sample map', slope, n * n)]
        if self.inverse_value is not None:
            answers.append(('inverse sample map', self.inverse_value(y), n))
        nearby = self.solve_nearby(y, x) if self.solve_nearby is not None else None
        if nearby is not None:
            answers += [('nearby map', nearby[0], n), ('nearby map', nearby[1], n * n)]
        for name, answer, expected in answers:
            if len(answer) != expected:
                raise TransmissionError(
                    f'the {name} gives another number of numbers',
                    expected=str(expected),
                    found=str(tuple(answer)),
                )


class OneSample:
    """
    The interfaces of a square mechanism of one or two coordinates, where it is regular.

    The answers are those of the mechanism to rounding: a solution is found by the same steps as
    long as all of them are whole, and bounds are those of the same domain, table and limit. How
    singular ``G`` is, is told by the product of its singular values and a bound of the largest:
    near the limit it is left open here.

    :param form: The maps.
    :param domain: Positions ``x`` that are mapped.
    :param seeds: The mechanism's table.
    :param condition_limit: How singular ``G`` may be.
    """

    def __init__(
        self, form: SampleForm, domain: Domain, seeds: SeedTable, condition_limit: float
    ) -> None:
        self._evaluate = form.evaluate
        self._inverse_value = form.inverse_value
        self._solve_nearby = form.solve_nearby
        self._square = SQUARES[len(domain.lower)]
        self._span = tuple(domain.span.tolist())
        self._bounds: Bounds = domain.bounds
        self._reach: Bounds = tuple(zip(seeds.lowest, seeds.highest, strict=True))
        # As s1 <= limit s2 and gain <= limit s2, times s1.
        self._limits: Limits = (
            condition_limit * seeds.branch,
            seeds.gain,
            condition_limit * seeds.gain,
        )

    def along(
        self, position: Numbers, velocity: Numbers, effort: Numbers, _start: Numbers = ()
    ) -> State | None:
        """
        Map position, velocity and effort of one instant from ``x`` to ``y``.

        :returns: ``None`` where it is left to the mechanism.
        """
        try:
            if not self._square.within(self._bounds, position):
                return None
            mapped, slope = self._evaluate(position)
        except (ArithmeticError, ValueError):
            return None
        rates = self._square.rates(True, slope, velocity, effort, self._limits)
        if rates is None or not all(map(math.isfinite, mapped)):
            return None
        return mapped, *rates

    def back(
        self, position: Numbers, velocity: Numbers, effort: Numbers, start: Numbers
    ) -> State | None:
        """
        Map position, velocity and effort of one instant from ``y`` to ``x``.

        :param start: ``x`` where a solution is sought.
        :returns: ``None`` where it is left to the mechanism.
        """
        square = self._square
        try:
            # What cannot be reached need not be sought.
            if self._inverse_value is None and not (
                square.within(self._reach, position) and square.within(self._bounds, start)
            ):
                return None
            found = None if self._solve_nearby is None else self._solve_nearby(position, start)
            if found is None:
                found = self._solved(position, start)
                if found is None:
                    return None
            mapped, slope = found
            if not square.within(self._bounds, mapped):
                return None
        except (ArithmeticError, ValueError):
            return None
        rates = square.rates(False, slope, velocity, effort, self._limits)
        return None if rates is None else (mapped, *rates)

    def _solved(self, y: Numbers, x: Numbers) -> tuple[Numbers, Numbers] | None:
        """Return ``x`` and ``G``, by the closed inverse or by steps from a start in the domain."""
        if self._inverse_value is None:
            return self._stepped(y, x)
        x = self._inverse_value(y)
        return (x, self._evaluate(x)[1]) if self._square.within(self._bounds, x) else None

    def _stepped(self, y: Numbers, x: Numbers) -> tuple[Numbers, Numbers] | None:
        """Take whole steps, as long as each is an improvement."""
        square, evaluate = self._square, self._evaluate
        value, slope = evaluate(x)
        ahead, size, miss = square.step(x, value, slope, y, self._span)
        for _ in range(EVALUATION_LIMIT):
            if size <= _STEP:
                return ahead, slope
            value, next_slope = evaluate(ahead)
            after, next_size, next_miss = square.step(ahead, value, next_slope, y, self._span)
            if next_miss < miss or next_size < size <= _END_GAME:
                x, ahead, slope, size, miss = ahead, after, next_slope, next_size, next_miss
            elif size <= _STALL:
                return x, slope
            else:
                return None
        return None
