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

__all__ = ['SQUARES', 'Bounds', 'Numbers', 'Square']

Numbers = Sequence[float]

#: Lower and upper bound of each component.
Bounds = Sequence[tuple[float, float]]


class Square(ABC):
    """What is needed of vectors and of a Jacobian ``G`` of a certain size."""

    @staticmethod
    @abstractmethod
    def within(bounds: Bounds, vector: Numbers) -> bool:
        """Tell whether each component is within its bounds; NaN is not."""

    @staticmethod
    @abstractmethod
    def measures(matrix: Numbers) -> tuple[float, float]:
        """
        Return two measures of the largest and the smallest singular value ``s1``, ``s2``.

        :returns: ``s1 s2`` with the sign of the determinant, and a bound of ``s1`` from above.
        """

    @staticmethod
    @abstractmethod
    def inverse(matrix: Numbers) -> Numbers:
        """Return ``G^-1``; the determinant must not be zero."""

    @staticmethod
    @abstractmethod
    def apply(matrix: Numbers, vector: Numbers) -> Numbers:
        """Return ``G v``."""

    @staticmethod
    @abstractmethod
    def apply_transposed(matrix: Numbers, vector: Numbers) -> Numbers:
        """Return ``G^T v``."""

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
    def measures(matrix: Numbers) -> tuple[float, float]:
        (a,) = matrix
        return a * abs(a), abs(a)

    @staticmethod
    def inverse(matrix: Numbers) -> Numbers:
        return (1.0 / matrix[0],)

    @staticmethod
    def apply(matrix: Numbers, vector: Numbers) -> Numbers:
        return (matrix[0] * vector[0],)

    @staticmethod
    def apply_transposed(matrix: Numbers, vector: Numbers) -> Numbers:
        return (matrix[0] * vector[0],)

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
    def measures(matrix: Numbers) -> tuple[float, float]:
        a, b, c, d = matrix
        return a * d - b * c, math.sqrt(a * a + b * b + c * c + d * d)

    @staticmethod
    def inverse(matrix: Numbers) -> Numbers:
        a, b, c, d = matrix
        determinant = a * d - b * c
        return d / determinant, -b / determinant, -c / determinant, a / determinant

    @staticmethod
    def apply(matrix: Numbers, vector: Numbers) -> Numbers:
        a, b, c, d = matrix
        first, second = vector
        return a * first + b * second, c * first + d * second

    @staticmethod
    def apply_transposed(matrix: Numbers, vector: Numbers) -> Numbers:
        a, b, c, d = matrix
        first, second = vector
        return a * first + c * second, b * first + d * second

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
