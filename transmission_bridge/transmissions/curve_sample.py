# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One sample of a measured curve in plain numbers, as a live stream maps it."""

from __future__ import annotations

from bisect import bisect_right
import math

from transmission_bridge.transmissions.domain import SLACK
from transmission_bridge.transmissions.monotone_cubic import ITERATIONS, MonotoneCubic

__all__ = ['CurveSample']


class CurveSample:
    """
    The curve of a :class:`~transmission_bridge.transmissions.monotone_cubic.MonotoneCubic`.

    The same pieces and the same steps, so that a sample and a batch agree to rounding.

    :param curve: The curve.
    """

    def __init__(self, curve: MonotoneCubic) -> None:
        self._x: list[float] = curve.x.tolist()
        self._slack: float = SLACK * (self._x[-1] - self._x[0])
        self._pieces: list[tuple[float, ...]] = list(
            zip(
                self._x[:-1],
                curve.y[:-1].tolist(),
                *(each.tolist() for each in curve.coefficients),
                strict=True,
            )
        )
        self._sign = 1.0 if curve.y[-1] > curve.y[0] else -1.0
        self._rising: list[float] = (self._sign * curve.y).tolist()
        self._rising_slack = SLACK * (self._rising[-1] - self._rising[0])
        self._rounding = 2e-16 * max(abs(self._rising[0]), abs(self._rising[-1]))

    def value_and_slope(self, x: float) -> tuple[float, float]:
        """
        Return the curve and its derivative.

        :raises ValueError: Outside the table.
        """
        xs = self._x
        if not xs[0] - self._slack <= x <= xs[-1] + self._slack:
            raise ValueError('outside the table')
        start, y, linear, square, cube = self._pieces[_place(xs, x)]
        t = x - start
        return (
            y + t * (linear + t * (square + t * cube)),
            linear + t * (2.0 * square + 3.0 * t * cube),
        )

    def inverse(self, y: float) -> float:
        """
        Return ``x``.

        :raises ValueError: Outside the table.
        """
        rising = self._rising
        goal = self._sign * y
        if not rising[0] - self._rising_slack <= goal <= rising[-1] + self._rising_slack:
            raise ValueError('outside the table')
        goal = min(max(goal, rising[0]), rising[-1])
        place = _place(rising, goal)
        start, _, linear, square, cube = self._pieces[place]
        linear, square, cube = self._sign * linear, self._sign * square, self._sign * cube
        low, high = 0.0, self._x[place + 1] - start
        width, height = high, rising[place + 1] - rising[place]
        goal -= rising[place]
        t = width * (goal / height)
        if goal == height:  # the last point is known, and the curve may be flat there
            return start + t
        for _ in range(ITERATIONS):
            miss = t * (linear + t * (square + t * cube)) - goal
            if abs(miss) <= self._rounding:
                break
            low, high = (t, high) if miss < 0.0 else (low, t)
            slope = linear + t * (2.0 * square + 3.0 * t * cube)
            ahead = t - miss / slope if slope else math.nan
            if not low <= ahead <= high:
                ahead = 0.5 * (low + high)
            step, t = abs(ahead - t), ahead
            if step <= 2e-16 * width:
                break
        return start + t


def _place(points: list[float], value: float) -> int:
    return min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
