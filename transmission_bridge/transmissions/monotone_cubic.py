# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A monotone curve through measured points, with a continuous derivative and an inverse."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import SLACK
from transmission_bridge.types import Array

__all__ = ['MonotoneCubic']

#: Bisections alone would need 53; Newton's steps need five to eight.
ITERATIONS = 64


class MonotoneCubic:
    """
    A piecewise cubic through ``(x_k, y_k)`` that is monotone and once continuously differentiable.

    The slope at an inner point is the weighted harmonic mean of those of the two chords,
    ``(w1 + w2) / (w1 / d1 + w2 / d2)`` with ``w1 = 2 h2 + h1``, ``w2 = h2 + 2 h1``; at the ends it
    is that of the parabola through three points, kept between zero and three times the chord's.
    Each piece is then monotone (Fritsch and Carlson 1980; Fritsch and Butland 1984).

    :param x: At least two, strictly increasing.
    :param y: As many, strictly increasing or strictly decreasing.
    :raises TransmissionError: If the points are not such.
    """

    def __init__(self, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
        self.x: Array = np.array(x, dtype=np.float64)
        self.y: Array = np.array(y, dtype=np.float64)
        _check(self.x, self.y)
        self._sign = 1.0 if self.y[-1] > self.y[0] else -1.0
        width = np.diff(self.x)
        chord = np.diff(self.y) / width
        slope = _slopes(width, chord)
        self._width = width
        self._linear = slope[:-1]
        self._square = (3.0 * chord - 2.0 * slope[:-1] - slope[1:]) / width
        self._cube = (slope[:-1] + slope[1:] - 2.0 * chord) / (width * width)
        self._rising = self._sign * self.y

    @cached_property
    def pieces(self) -> list[list[float]]:
        """``x_k``, ``y_k``, the width, and the coefficients of ``t``, ``t^2`` and ``t^3``."""
        columns = (self.x[:-1], self.y[:-1], self._width, self._linear, self._square, self._cube)
        pieces: list[list[float]] = np.stack(columns, axis=1).tolist()
        return pieces

    def piece_of(self, x: float) -> int:
        """Return the piece that holds ``x``, the first or last for what is outside or unknown."""
        return min(max(bisect_right(self._xs, x) - 1, 0), len(self._width) - 1)

    def piece_from(self, y: float) -> int:
        """Return the piece that holds ``y``, likewise."""
        return min(max(bisect_right(self._ys, self._sign * y) - 1, 0), len(self._width) - 1)

    @cached_property
    def _xs(self) -> list[float]:
        xs: list[float] = self.x.tolist()
        return xs

    @cached_property
    def _ys(self) -> list[float]:
        ys: list[float] = self._rising.tolist()
        return ys

    def value(self, x: Array) -> Array:
        """Return the curve, NaN outside the table."""
        piece, t = self._piece(x)
        inner = self._linear[piece] + t * (self._square[piece] + t * self._cube[piece])
        return np.asarray(self.y[piece] + t * inner)

    def slope(self, x: Array) -> Array:
        """Return the first derivative."""
        piece, t = self._piece(x)
        return np.asarray(
            self._linear[piece] + t * (2.0 * self._square[piece] + 3.0 * t * self._cube[piece])
        )

    def curvature(self, x: Array) -> Array:
        """Return the second derivative; it jumps at the points."""
        piece, t = self._piece(x)
        return np.asarray(2.0 * self._square[piece] + 6.0 * t * self._cube[piece])

    def inverse(self, y: Array) -> Array:
        """
        Return ``x``, NaN outside the table.

        Newton's method within the piece, a bisection wherever it would leave the bracket.
        """
        rising = self._sign * y
        slack = SLACK * (self._rising[-1] - self._rising[0])
        inside = (rising >= self._rising[0] - slack) & (rising <= self._rising[-1] + slack)
        rising = np.clip(rising, self._rising[0], self._rising[-1])
        piece = np.clip(
            np.searchsorted(self._rising, rising, side='right') - 1, 0, len(self._width) - 1
        )
        linear = self._sign * self._linear[piece]
        square = self._sign * self._square[piece]
        cube = self._sign * self._cube[piece]
        goal = rising - self._rising[piece]
        width = self._width[piece]
        low, high = np.zeros(np.shape(goal)), width + np.zeros(np.shape(goal))
        rounding = 2e-16 * np.abs(self._rising).max()
        height = self._rising[piece + 1] - self._rising[piece]
        # The last point is known; where the curve is flat there, rounding would lead astray.
        done = np.asarray(~inside | (goal == height))
        t = width * (goal / height)
        for _ in range(ITERATIONS):
            miss = t * (linear + t * (square + t * cube)) - goal
            low, high = np.where(miss <= 0.0, t, low), np.where(miss >= 0.0, t, high)
            with np.errstate(divide='ignore', invalid='ignore'):
                ahead = t - miss / (linear + t * (2.0 * square + 3.0 * t * cube))
            ahead = np.where((ahead >= low) & (ahead <= high), ahead, 0.5 * (low + high))
            # What is met to rounding stays, so that the points lead back to themselves.
            done = done | (np.abs(miss) <= rounding)
            t, done = np.where(done, t, ahead), done | (np.abs(ahead - t) <= 2e-16 * width)
            if done.all():
                break
        return np.where(inside, self.x[piece] + t, np.nan)

    def _piece(self, x: Array) -> tuple[npt.NDArray[np.intp], Array]:
        last = len(self._width) - 1
        piece = np.clip(np.searchsorted(self.x, x, side='right') - 1, 0, last)
        slack = SLACK * (self.x[-1] - self.x[0])
        inside = (x >= self.x[0] - slack) & (x <= self.x[-1] + slack)
        return piece, np.where(inside, x - self.x[piece], np.nan)


def _check(x: Array, y: Array) -> None:
    expected = ''
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        expected = 'two columns of equal length, two points or more'
    elif not (np.isfinite(x).all() and np.isfinite(y).all()):
        expected = 'finite numbers'
    elif not (np.diff(x) > 0.0).all():
        expected = 'the first column to increase from point to point'
    elif not ((np.diff(y) > 0.0).all() or (np.diff(y) < 0.0).all()):
        expected = 'the second column to increase, or to decrease, from point to point'
    if expected:
        raise TransmissionError(
            'the table cannot be used',
            parameter='table',
            expected=expected,
            found=f'{x.tolist()} and {y.tolist()}',
        )


def _slopes(width: Array, chord: Array) -> Array:
    if len(width) == 1:
        return np.array([chord[0], chord[0]])
    weight_before = 2.0 * width[1:] + width[:-1]
    weight_after = width[1:] + 2.0 * width[:-1]
    inner = (weight_before + weight_after) / (
        weight_before / chord[:-1] + weight_after / chord[1:]
    )
    first = _end(width[0], width[1], chord[0], chord[1])
    last = _end(width[-1], width[-2], chord[-1], chord[-2])
    return np.concatenate([[first], inner, [last]])


def _end(width: float, next_width: float, chord: float, next_chord: float) -> float:
    parabola = ((2.0 * width + next_width) * chord - width * next_chord) / (width + next_width)
    low, high = sorted((0.0, 3.0 * chord))
    return min(max(parabola, low), high)
