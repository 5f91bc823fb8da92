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

from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import Quantity
from transmission_bridge.transmissions.newton import END_GAME, STALL_TOLERANCE, STEP_TOLERANCE
from transmission_bridge.transmissions.seeds import SeedTable
from transmission_bridge.transmissions.square import Bounds, Numbers, SQUARES

__all__ = ['OneSample', 'SampleForm']

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
    """

    evaluate: Callable[[Numbers], tuple[Numbers, Numbers]]
    inverse_value: Callable[[Numbers], Numbers] | None = None


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
        self._square = SQUARES[len(domain.lower)]
        self._span = tuple(domain.span.tolist())
        self._bounds: Bounds = domain.bounds
        self._reach: Bounds = tuple(zip(seeds.lowest, seeds.highest, strict=True))
        self._branch = seeds.branch
        self._condition_limit = condition_limit
        self._gain = seeds.gain

    def state(
        self, along: bool, position: Numbers, velocity: Numbers, effort: Numbers, start: Numbers
    ) -> tuple[Numbers, Numbers, Numbers] | None:
        """
        Map position, velocity and effort of one instant.

        :param along: From ``x`` to ``y``, else back.
        :param start: ``x`` where a solution is sought.
        :returns: ``None`` where it is left to the mechanism.
        """
        found = self._located(along, position, start)
        if found is None:
            return None
        mapped, slope = found
        square = self._square
        inverse = square.inverse(slope)
        if along:
            return mapped, square.apply(slope, velocity), square.apply_transposed(inverse, effort)
        return mapped, square.apply(inverse, velocity), square.apply_transposed(slope, effort)

    def mapped(
        self, quantity: Quantity, along: bool, value: Numbers, at: Numbers, start: Numbers
    ) -> Numbers | None:
        """
        Map position, velocity or effort.

        :param at: The position; the value itself where that is a position.
        """
        found = self._located(along, at, start)
        if found is None:
            return None
        mapped, slope = found
        square = self._square
        if quantity is Quantity.VELOCITY:
            return square.apply(slope if along else square.inverse(slope), value)
        if quantity is Quantity.EFFORT:
            return square.apply_transposed(square.inverse(slope) if along else slope, value)
        return mapped

    def _located(
        self, along: bool, position: Numbers, start: Numbers
    ) -> tuple[Numbers, Numbers] | None:
        """Return the position in the other space and ``G``, if all is well."""
        try:
            if along:
                x = position
            elif self._inverse_value is not None:
                x = self._inverse_value(position)
            else:
                return self._solved(position, start)
            if not self._square.within(self._bounds, x):
                return None
            y, slope = self._evaluate(x)
        except (ArithmeticError, ValueError):
            return None
        if not self._is_regular(slope):
            return None
        if not along:
            return x, slope
        return (y, slope) if all(map(math.isfinite, y)) else None

    def _solved(self, y: Numbers, x: Numbers) -> tuple[Numbers, Numbers] | None:
        """Take whole steps from a start in the domain, as long as each is an improvement."""
        square, evaluate = self._square, self._evaluate
        # What cannot be reached need not be sought.
        if not (square.within(self._reach, y) and square.within(self._bounds, x)):
            return None
        value, slope = evaluate(x)
        ahead, size, miss = square.step(x, value, slope, y, self._span)
        for _ in range(EVALUATION_LIMIT):
            if size <= _STEP:
                x = ahead
                break
            value, next_slope = evaluate(ahead)
            after, next_size, next_miss = square.step(ahead, value, next_slope, y, self._span)
            if next_miss < miss or next_size < size <= _END_GAME:
                x, ahead, slope, size, miss = ahead, after, next_slope, next_size, next_miss
            elif size <= _STALL:
                break
            else:
                return None
        else:
            return None
        if not (square.within(self._bounds, x) and self._is_regular(slope)):
            return None
        return x, slope

    def _is_regular(self, slope: Numbers) -> bool:
        """Tell whether ``G`` is surely regular, not too large, and on the branch."""
        product, largest = self._square.measures(slope)
        # As largest <= limit smallest and gain <= limit smallest, times the largest.
        return (
            largest * max(largest, self._gain) < self._condition_limit * self._branch * product
            and largest <= self._condition_limit * self._gain
        )
