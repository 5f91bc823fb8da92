# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The range of positions that a mechanism maps, on one assembly branch; why a sample is lost.

Types make domains; maps, tools and the suite read them. The solver, the stream of a robot and the
C code return status bits, so their values are fixed; diagnostics and the suite show the reasons.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.types import Array

#: Tolerance of a bound as a share of the range, for positions rounded onto the bound. It decides
#: whether a position has an answer.
SLACK = 1e-10


@dataclass(frozen=True)
class Domain:
    """
    A box of positions, bounds included.

    The box is in the input space of the equation: joint positions for ``a = f^-1(q)``, actuator
    positions for ``q = f(a)``. It may contain unreachable positions: a position for which the
    equation returns NaN is also outside.

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

    @classmethod
    def between(cls, space: Literal['joint', 'actuator'], corners: Array) -> Domain:
        """
        Return the box between two opposite corners.

        :param space: ``joint`` or ``actuator``.
        :param corners: Shape ``(2, n)`` [rad or m].
        :returns: The domain.
        :raises TransmissionError: If a corner is not finite or a range is empty.
        """
        lower, upper = np.sort(corners, axis=0).tolist()
        return cls(space, tuple(lower), tuple(upper))

    @property
    def span(self) -> Array:
        """Width of each range, shape ``(n,)``."""
        return np.subtract(self.upper, self.lower)

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds with the tolerance for rounding, shape ``(2, n)``."""
        return np.array([self.lower - SLACK * self.span, self.upper + SLACK * self.span])

    def contains(self, position: Array) -> npt.NDArray[np.bool_]:
        """
        Return which positions are inside; NaN is outside.

        :param position: Shape ``(..., n)``.
        :returns: Shape ``(...)``.
        """
        low, high = self.bounds
        return np.asarray(((position >= low) & (position <= high)).all(axis=-1))

    def grid(self, points: int) -> Array:
        """
        Return an even grid of positions including the bounds; the last axis changes fastest.

        :param points: Number of points along each coordinate.
        :returns: Shape ``(points ** n, n)``.
        """
        return make_grid(np.array(self.lower), np.array(self.upper), points)


def make_grid(lower: Array, upper: Array, points: int) -> Array:
    """Return a grid over any box, as :meth:`Domain.grid`."""
    axes = np.linspace(lower, upper, points).T
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(axes))


# -- samples without an answer --------------------------------------------------------------------

#: No position is found; for ``SINGULAR``, a velocity or an effort is unknown.
OUT_OF_DOMAIN, NO_CONVERGENCE, OTHER_BRANCH, SINGULAR = 1, 2, 4, 8

#: Names of the bits in a report.
REASONS = {
    OUT_OF_DOMAIN: 'domain',
    NO_CONVERGENCE: 'no_convergence',
    OTHER_BRANCH: 'branch',
    SINGULAR: 'singular',
}


class MapReport:
    """
    Collects failures of maps; the maps themselves keep no state.

    The caller of a map makes it and reads it afterwards. Views share ``counts``, and threads must
    not share a report.

    :ivar counts: Samples that became NaN, by ``(transmission, reason)``; :meth:`count` adds to it.
        Reasons are the values of :data:`REASONS`. A transmission outside a robot has the name
        ``''``.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._name = ''

    def for_transmission(self, transmission: str) -> MapReport:
        """Return a view of the report that counts for one transmission."""
        part = MapReport()
        part.counts, part._name = self.counts, transmission
        return part

    def count(self, status: npt.ArrayLike) -> None:
        """Count the reasons in the status bits of one sample or of many."""
        bits = np.asarray(status, dtype=np.intp)
        for bit, reason in REASONS.items():
            if lost := int(np.count_nonzero(bits & bit)):
                self.counts[self._name, reason] += lost
