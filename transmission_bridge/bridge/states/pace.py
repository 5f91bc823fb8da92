# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The speeds of actuators by the changes of their positions."""

from __future__ import annotations

import numpy as np

from transmission_bridge.types import Array

#: Time over which speeds are computed [s]: one tick of an encoder of 4096 ticks in it is slower
#: than the smallest speed of interest.
_SPAN = 0.3

#: Shortest time between positions, and longest time for which they are remembered [s].
_STEP, _KEPT = 0.05, 1.0


class Pace:
    """
    Remembers the positions of a short time.

    :ivar due: Time of the next positions to remember [s].
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self._samples: list[tuple[float, Array]] = []
        self.due = -np.inf

    def record_positions(self, positions: Array, now: float) -> None:
        """Remember positions, shape ``(n,)``, NaN: unknown; they must not change afterwards."""
        kept = [sample for sample in self._samples if 0.0 <= now - sample[0] <= _KEPT]
        self._samples, self.due = [*kept, (now, positions)], now + _STEP

    def estimate_speeds(self, now: float) -> Array | float:
        """
        Return the largest distance from the last positions over the time, shape ``(n,)``.

        :returns: With the sign of the motion [rad/s or m/s]; NaN: unknown.
        """
        last, there = self._samples[-1] if self._samples else (-np.inf, np.empty(0))
        old = [time for time, _ in self._samples if last - time >= _SPAN]
        if not (old and 0.0 <= now - last <= _KEPT):
            return np.nan
        away = np.array([there - at for time, at in self._samples if time >= old[-1]])
        # argmax finds NaN first.
        far = np.take_along_axis(away, np.abs(away).argmax(axis=0)[np.newaxis], axis=0)[0]
        speeds: Array = far / (last - old[-1])
        return speeds
