# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The range of positions in which a mechanism is mapped, and its assembly branch is its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.types import Array

#: Share of the range by which a bound may be passed: what rounding does to a position on it.
SLACK = 1e-10


@dataclass(frozen=True)
class Domain:
    """
    A box of positions, bounds included.

    The box is in the space that the equation starts from: joint positions where a transmission
    gives ``a = f^-1(q)``, actuator positions where it gives ``q = f(a)``. Not all of it has to be
    reachable; a point that the equation answers with NaN is outside as well.

    :param space: ``joint`` or ``actuator``.
    :param lower: Lower bounds [rad or m], one per coordinate.
    :param upper: Upper bounds [rad or m].
    :raises TransmissionError: If a bound is not finite or a range is empty.
    """

    space: Literal['joint', 'actuator']
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        lower, upper = (tuple(map(float, values)) for values in (self.lower, self.upper))
        if len(lower) != len(upper) or not lower:
            raise TransmissionError(
                'a domain needs a lower and an upper bound per coordinate',
                found=f'{lower} and {upper}',
            )
        if not (np.isfinite([lower, upper]).all() and np.less(lower, upper).all()):
            ranges = (f'[{low:g}, {high:g}]' for low, high in zip(lower, upper, strict=True))
            raise TransmissionError(
                f'the range of the {self.space} positions is empty or not finite',
                expected='lower below upper',
                found=', '.join(ranges),
            )
        object.__setattr__(self, 'lower', lower)
        object.__setattr__(self, 'upper', upper)

    @property
    def span(self) -> Array:
        """Width of each range, shape ``(n,)``."""
        return np.subtract(self.upper, self.lower)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of each coordinate, with the slack for rounding."""
        return tuple(
            (low - SLACK * (high - low), high + SLACK * (high - low))
            for low, high in zip(self.lower, self.upper, strict=True)
        )

    def contains(self, position: Array) -> npt.NDArray[np.bool_]:
        """
        Tell which positions are inside; NaN is not.

        :param position: Shape ``(..., n)``.
        :returns: Shape ``(...)``.
        """
        low, high = np.array(self.bounds).T
        return np.asarray(((position >= low) & (position <= high)).all(axis=-1))

    def grid(self, points: int) -> Array:
        """
        Return positions that fill the box evenly, its bounds among them, the last axis fastest.

        :param points: How many there are along each coordinate.
        :returns: Shape ``(points ** n, n)``.
        """
        return grid(np.array(self.lower), np.array(self.upper), points)


def grid(lower: Array, upper: Array, points: int) -> Array:
    """Return positions as :meth:`Domain.grid` does, of any box."""
    axes = np.linspace(lower, upper, points).T
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))
