# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A monotone curve through measured points, with a continuous derivative and an inverse."""

from __future__ import annotations

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.types import Array


def interpolate_monotone(x: Array, y: Array) -> Array:
    """
    Return the monotone, once continuously differentiable cubic pieces through ``(x_k, y_k)``.

    The slope at an inner point is the weighted harmonic mean of the slopes of the two chords,
    ``(w1 + w2) / (w1 / d1 + w2 / d2)`` with ``w1 = 2 h2 + h1``, ``w2 = h2 + 2 h1``. At the ends it
    is the slope of the parabola through three points, limited to the range from zero to three
    times the slope of the chord. Each piece is then monotone. Source: Fritsch and Butland 1984, as
    in scipy's ``PchipInterpolator``.

    :param x: At least two numbers, strictly increasing.
    :param y: As many numbers, strictly increasing or strictly decreasing.
    :returns: ``x_k``, ``y_k`` and the coefficients of the powers 1 to 3 of ``x - x_k``, shape
        ``(pieces, 5)``.
    :raises TransmissionError: If the points do not meet these conditions.
    """
    _require_monotone(x, y)
    width = np.diff(x)
    chord = np.diff(y) / width
    slope = _point_slopes(width, chord)
    square = (3.0 * chord - 2.0 * slope[:-1] - slope[1:]) / width
    cube = (slope[:-1] + slope[1:] - 2.0 * chord) / (width * width)
    return np.stack((x[:-1], y[:-1], slope[:-1], square, cube), axis=1)


def _require_monotone(x: Array, y: Array) -> None:
    expected = ''
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        expected = 'two columns of equal length, two points or more'
    elif not (np.isfinite(x).all() and np.isfinite(y).all()):
        expected = 'finite numbers'
    elif not (np.diff(x) > 0.0).all():
        expected = 'the first column to increase, or to decrease, from point to point'
    elif not ((np.diff(y) > 0.0).all() or (np.diff(y) < 0.0).all()):
        expected = 'each column to increase, or to decrease, from point to point'
    if expected:
        raise TransmissionError(
            'the table is invalid',
            parameter='table',
            expected=expected,
            found=f'{x.tolist()} and {y.tolist()}',
        )


def _point_slopes(width: Array, chord: Array) -> Array:
    if len(width) == 1:
        return np.array([chord[0], chord[0]])
    weight_before = 2.0 * width[1:] + width[:-1]
    weight_after = width[1:] + 2.0 * width[:-1]
    inner = (weight_before + weight_after) / (
        weight_before / chord[:-1] + weight_after / chord[1:]
    )
    first = _end_slope(width[0], width[1], chord[0], chord[1])
    last = _end_slope(width[-1], width[-2], chord[-1], chord[-2])
    return np.concatenate([[first], inner, [last]])


def _end_slope(width: float, next_width: float, chord: float, next_chord: float) -> float:
    parabola = ((2.0 * width + next_width) * chord - width * next_chord) / (width + next_width)
    low, high = sorted((0.0, 3.0 * chord))
    return min(max(parabola, low), high)
