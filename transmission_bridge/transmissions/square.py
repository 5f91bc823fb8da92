# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Square matrices of one or two rows in plain numbers: the Jacobian of one sample.

Vectors are sequences of numbers, matrices are their entries row by row.
:mod:`~transmission_bridge.transmissions.small_matrix` does the same for batches, by the same
formulas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
import math

__all__ = ['SQUARES', 'Bounds', 'Limits', 'Numbers', 'Square']

Numbers = Sequence[float]

#: Lower and upper bound of each component.
Bounds = Sequence[tuple[float, float]]

#: See :meth:`Square.rates`.
Limits = tuple[float, float, float]


class Square(ABC):
    """What is needed of vectors and of a Jacobian ``G`` of a certain size."""

    @staticmethod
    @abstractmethod
    def within(bounds: Bounds, vector: Numbers) -> bool:
        """Tell whether each component is within its bounds; NaN is not."""

    @staticmethod
    @abstractmethod
    def rates(
        along: bool, matrix: Numbers, velocity: Numbers, effort: Numbers, limits: Limits
    ) -> tuple[Numbers, Numbers] | None:
        """
        Return velocity and effort in the other space, where ``G`` is surely regular.

        With ``s1``, ``s2`` the largest and the smallest singular value, ``S`` a bound of ``s1``
        from above that costs little and the product ``s1 s2`` with the sign of the determinant,
        that is where ``S max(S, gain) < factor s1 s2`` and ``S <= highest``.

        :param along: Whether to ``G v`` and ``G^-T tau``, else to ``G^-1 v`` and ``G^T tau``.
        :param limits: ``factor``, ``gain`` and ``highest``.
        """

    @staticmethod
    @abstractmethod
    def step(
        x: Numbers, value: Numbers, slope: Numbers, target: Numbers, span: Numbers
    ) -> tuple[Numbers, float, float]:
        """
        Take a step of Newton's, ``x - G^-1 (g(x) - target)``.

        :returns: The next ``x``, the square of the length of the step in shares of the span, and
            the square of that of the residual.
        """


class _OneByOne(Square):
    @staticmethod
    def within(bounds: Bounds, vector: Numbers) -> bool:
        ((low, high),) = bounds
        return low <= vector[0] <= high

    @staticmethod
    def rates(
        along: bool, matrix: Numbers, velocity: Numbers, effort: Numbers, limits: Limits
    ) -> tuple[Numbers, Numbers] | None:
        (a,), (factor, gain, highest) = matrix, limits
        size = abs(a)
        if not (size * max(size, gain) < factor * a * size and size <= highest):
            return None
        if along:
            return (a * velocity[0],), (effort[0] / a,)
        return (velocity[0] / a,), (a * effort[0],)

    @staticmethod
    def step(
        x: Numbers, value: Numbers, slope: Numbers, target: Numbers, span: Numbers
    ) -> tuple[Numbers, float, float]:
        miss = value[0] - target[0]
        step = miss / slope[0]
        share = step / span[0]
        return (x[0] - step,), share * share, miss * miss


class _TwoByTwo(Square):
    @staticmethod
    def within(bounds: Bounds, vector: Numbers) -> bool:
        (low, high), (second_low, second_high) = bounds
        return low <= vector[0] <= high and second_low <= vector[1] <= second_high

    @staticmethod
    def rates(
        along: bool, matrix: Numbers, velocity: Numbers, effort: Numbers, limits: Limits
    ) -> tuple[Numbers, Numbers] | None:
        (a, b, c, d), (factor, gain, highest) = matrix, limits
        determinant = a * d - b * c
        size = math.sqrt(a * a + b * b + c * c + d * d)
        if not (size * max(size, gain) < factor * determinant and size <= highest):
            return None
        v, w = velocity
        e, f = effort
        if along:
            return (
                (a * v + b * w, c * v + d * w),
                ((d * e - c * f) / determinant, (a * f - b * e) / determinant),
            )
        return (
            ((d * v - b * w) / determinant, (a * w - c * v) / determinant),
            (a * e + c * f, b * e + d * f),
        )

    @staticmethod
    def step(
        x: Numbers, value: Numbers, slope: Numbers, target: Numbers, span: Numbers
    ) -> tuple[Numbers, float, float]:
        a, b, c, d = slope
        first = value[0] - target[0]
        second = value[1] - target[1]
        determinant = a * d - b * c
        first_step = (d * first - b * second) / determinant
        second_step = (a * second - c * first) / determinant
        first_share = first_step / span[0]
        second_share = second_step / span[1]
        return (
            (x[0] - first_step, x[1] - second_step),
            first_share * first_share + second_share * second_share,
            first * first + second * second,
        )


#: By the number of rows.
SQUARES: dict[int, type[Square]] = {1: _OneByOne, 2: _TwoByTwo}
