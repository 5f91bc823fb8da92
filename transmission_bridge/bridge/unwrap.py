# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Single-turn encoders: counting turns in actuator space, before any reduction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.options import WRAP_PERIOD
from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['MOST_TURNS', 'Unwrapper', 'wrap_periods']

#: Turns that an encoder never makes, whose reading still has seven digits of a turn.
MOST_TURNS = 1e9


class Unwrapper:
    """
    Continues positions that jump by a period.

    ``total = reading + k * period`` with the integer ``k`` that brings it nearest to the last
    total. As ``k`` is chosen anew for each reading, nothing is accumulated, and any gap in which
    the actuator moves less than half a period is bridged. The first reading is taken as it is.
    A reading of more than :data:`MOST_TURNS` periods is none: it is NaN, and forgets nothing.

    :param places: Which actuators.
    :param periods: Their periods [rad or m], same length.
    """

    def __init__(self, places: npt.ArrayLike, periods: npt.ArrayLike) -> None:
        self._places = np.array(places, dtype=np.intp)
        self._periods: Array = np.array(periods, dtype=np.float64)
        self.reset()

    def reset(self) -> None:
        """Forget the turns."""
        self._totals: Array = np.full(len(self._places), np.nan)

    def __call__(self, positions: Array) -> None:
        """Continue the positions of all actuators, in place; NaN stays NaN and forgets nothing."""
        readings = positions[self._places]
        # Turns could not be told from rounding there, nor be found again afterwards.
        readings[np.abs(readings) > MOST_TURNS * self._periods] = np.nan
        turns = np.round((self._totals - readings) / self._periods)
        totals = readings + np.where(np.isnan(turns), 0.0, turns) * self._periods
        positions[self._places] = totals
        np.copyto(self._totals, totals, where=~np.isnan(totals))


def wrap_periods(
    entries: Mapping[str, str], known: tuple[str, ...], lost: Collection[str] = ()
) -> dict[str, float]:
    """
    Return checked periods by actuator.

    :param entries: Actuator to period, as text.
    :param known: The actuators of the robot.
    :param lost: Those of refused transmissions, which need no period.
    :raises UnknownNameError: If there is no such actuator.
    :raises ParameterError: If a period is no number in its range.
    """
    periods = {}
    for name, text in entries.items():
        if name not in known and name not in lost:
            raise UnknownNameError('actuator', name, (*known, *lost), parameter='wrap_period')
        try:
            period = float(text)
        except ValueError:
            period = math.nan
        if period not in WRAP_PERIOD:
            raise ParameterError(
                f"wrap_period of '{name}' cannot be accepted",
                parameter='wrap_period',
                expected=f'a positive number, {WRAP_PERIOD} [rad or m]',
                found=repr(text),
            )
        if name in known:
            periods[name] = period
    return periods
