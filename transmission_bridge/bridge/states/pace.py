# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The speeds of actuators by the changes of their positions."""

from __future__ import annotations

from collections import deque

import numpy as np

from transmission_bridge.types import Array

#: Shortest time over which speeds are computed: one tick of an encoder of 4096 ticks in it is
#: slower than the smallest speed of interest. Shortest and longest time between positions [s].
_SPAN, _STEP, _GAP = 0.3, 0.05, 1.0


class Pace:
    """
    Remembers the positions of a short time.

    :ivar due: Time of the next positions to remember [s].
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, Array]] = deque()
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self._samples.clear()
        self.due = -np.inf

    def record_positions(self, positions: Array, now: float) -> None:
        """Remember positions, shape ``(n,)``, NaN: unknown; not changed afterwards."""
        samples = self._samples
        if samples and not 0.0 <= now - samples[-1][0] <= _GAP:
            samples.clear()
        samples.append((now, positions))
        while len(samples) > 1 and now - samples[1][0] >= _SPAN:
            samples.popleft()
        self.due = now + _STEP

    def estimate_speeds(self, now: float) -> Array | float:
        """
        Return the largest distance from the last positions over the time, shape ``(n,)``.

        :returns: With the sign of the motion [rad/s or m/s]; NaN: unknown.
        """
        if not self._samples or not 0.0 <= now - self._samples[-1][0] <= _GAP:
            return np.nan
        (first, _), (last, there) = self._samples[0], self._samples[-1]
        if last - first < _SPAN:
            return np.nan
        away = there - np.array([positions for _, positions in self._samples])
        far = np.take_along_axis(away, np.abs(away).argmax(axis=0)[np.newaxis], axis=0)[0]
        # argmax finds NaN first.
        found: Array = far / (last - first)
        return found
