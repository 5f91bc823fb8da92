# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Slips: where the mean of a residual changes for good.

Segments are split where the largest standardised sum of the clipped residuals (CUSUM) is beyond
:data:`THRESHOLD`, one after the other, then each boundary is placed where the costs of its two
sides are least, and those between segments that do not differ are taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from transmission_bridge.tools.calibration.robust import spread
from transmission_bridge.types import Array

__all__ = ['find_slips']

#: In standard deviations. The largest of 1000 values of a random walk without slips is beyond it
#: once in some thousand recordings; a slip of 0.3 standard deviations in their middle is beyond.
THRESHOLD = 4.5

#: Residuals count up to so many standard deviations: an outlier is no slip.
CLIP = 3.0

#: More slips than this are no slips but a model that does not fit.
MOST_SLIPS = 20


def _shortest_segment(rows: int) -> int:
    """Return how long a change has to last to be a slip and no run of outliers."""
    return max(5, rows // 200)


def _memory(residual: Array, scale: float) -> float:
    """
    Return the correlation of neighbours, from the spread of differences.

    Slips change few differences, so it is that of the noise alone. Zero where the number of rows
    cannot tell it from zero.
    """
    rows = len(residual)
    if rows < 50 or scale == 0.0:
        return 0.0
    correlation = 1.0 - 0.5 * (spread(np.diff(residual)) / scale) ** 2
    return 0.0 if correlation < 4.0 / math.sqrt(rows) else min(correlation, 0.99)


def find_slips(residual: Array, scale: float) -> tuple[int, ...]:
    """
    Return the rows with which a new mean begins, in order.

    :param residual: Shape ``(rows,)``, finite.
    :param scale: Standard deviation of the noise.
    """
    rows = len(residual)
    shortest = _shortest_segment(rows)
    if scale == 0.0 or rows < 2 * shortest:
        return ()
    correlation = _memory(residual, scale)
    limit = THRESHOLD * math.sqrt((1.0 + correlation) / (1.0 - correlation))
    unit = residual / scale
    found: list[int] = []
    waiting = [(0, rows)]
    while waiting and len(found) < MOST_SLIPS:
        first, stop = waiting.pop(0)
        split = _split(unit[first:stop], shortest, limit)
        if split:
            found.append(first + split)
            waiting += [(first, first + split), (first + split, stop)]
    return _settled(unit, sorted(found), shortest, limit)


def _split(unit: Array, shortest: int, limit: float) -> int:
    """Return where a segment falls into two, 0: nowhere."""
    length = len(unit)
    if length < 2 * shortest:
        return 0
    clipped = np.clip(unit - np.median(unit), -CLIP, CLIP)
    left = np.arange(shortest, length - shortest + 1)
    sums = np.cumsum(clipped - clipped.mean())[left - 1]
    statistic = np.abs(sums) * np.sqrt(length / (left * (length - left)))
    best = int(np.argmax(statistic))
    return int(left[best]) if statistic[best] > limit else 0


def _settled(unit: Array, found: Sequence[int], shortest: int, limit: float) -> tuple[int, ...]:
    slips = list(found)
    while slips:
        bounds = [0, *slips, len(unit)]
        for place in range(1, len(bounds) - 1):
            first, split, stop = bounds[place - 1 : place + 2]
            bounds[place] = _placed(unit, first, split, stop, shortest)
        slips = bounds[1:-1]
        weights = [
            _difference(unit[first:split], unit[split:stop])
            for first, split, stop in zip(bounds, slips, bounds[2:], strict=False)
        ]
        weakest = int(np.argmin(weights))
        if weights[weakest] > limit:
            break
        del slips[weakest]
    return tuple(slips)


def _placed(unit: Array, first: int, split: int, stop: int, shortest: int) -> int:
    """Return the boundary with the least cost between two segments."""
    part = unit[first:stop]
    if len(part) < 2 * shortest:
        return split
    costs = [
        np.minimum((part - np.median(side)) ** 2, CLIP * CLIP)
        for side in (unit[first:split], unit[split:stop])
    ]
    total = np.cumsum(costs[0]) + costs[1].sum() - np.cumsum(costs[1])
    left = np.arange(shortest, len(part) - shortest + 1)
    return first + int(left[np.argmin(total[left - 1])])


def _difference(left: Array, right: Array) -> float:
    """Return by how many standard deviations the means of two segments differ."""
    means = [
        float(np.mean(np.clip(part, np.median(part) - CLIP, np.median(part) + CLIP)))
        for part in (left, right)
    ]
    return abs(means[0] - means[1]) / math.sqrt(1.0 / len(left) + 1.0 / len(right))
