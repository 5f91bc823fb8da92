# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What trajectories have on its way, and when it arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array

__all__ = ['Arrivals']

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]

#: When something arrives that is not on its way.
_ARRIVED = -np.inf


class Arrivals:
    """
    When joints or actuators arrive; at first nothing is on its way.

    :param count: How many there are.
    :ivar are_there: Whether anything ever was on its way; where not, there is nothing to ask.
    """

    def __init__(self, count: int) -> None:
        self._times: Array = np.full(count, _ARRIVED)
        self.are_there = False

    def expect(self, places: Mask | Index | Sequence[int], time: float) -> None:
        """Have these under way until a time [s]."""
        self._times[places] = time
        self.are_there = True

    def cancel(self, places: Mask | Index | Sequence[int]) -> None:
        """Have these not under way any more: something else counts instead."""
        self._times[places] = _ARRIVED

    def cancel_all(self) -> None:
        """Have nothing under way any more, as when time goes backwards."""
        self._times[:] = _ARRIVED

    def under_way(self, now: float) -> Mask:
        """Return which are on their way at a time [s], shape ``(count,)``."""
        under_way: Mask = self._times > now
        return under_way
