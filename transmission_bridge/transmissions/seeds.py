# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A fixed table of positions of a mechanism: starts for the solver, typical gain, branch.

Everything that the solver takes from it depends on the mechanism alone, never on what was mapped
before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.small_matrix import (
    component,
    orientation,
    singular_values,
)

__all__ = ['SeedTable', 'seed_table']

#: Points per coordinate, by the number of coordinates; three beyond the end of the list.
POINTS = (65, 17, 9, 5)


@dataclass(frozen=True)
class SeedTable:
    """
    Positions on the branch, with what they map to.

    :param x: Shape ``(n_seeds, n)``.
    :param y: Shape ``(n_seeds, m)``.
    :param y_span: Range of ``y``, shape ``(m,)``.
    :param lowest: What ``y`` may be at least. Exact with one coordinate on each side and the
        whole domain on the branch, as ``y`` is then monotone; otherwise half of the range is
        added, as the table does not hold the extremes.
    :param highest: What ``y`` may be at most.
    :param gain: Median of the singular values of the Jacobian: what "large" and "small" mean.
    :param branch: Sign of the determinant on the branch.
    :param is_whole: Whether every grid point of the domain was reachable and on the branch.
    """

    x: Array
    y: Array
    y_span: Array
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    gain: float
    branch: float
    is_whole: bool

    def nearest(self, y: Array) -> Array:
        """
        Return the seed that maps nearest to ``y``, the first of equals.

        :param y: Shape ``(..., m)``.
        :returns: Shape ``(..., n)``.
        """
        distance = np.zeros((*y.shape[:-1], len(self.y)))
        for place in range(y.shape[-1]):
            distance += np.abs(y[..., place, np.newaxis] - self.y[:, place]) / self.y_span[place]
        nearest: Array = self.x[np.argmin(np.nan_to_num(distance, nan=np.inf), axis=-1)]
        return nearest

    def may_reach(self, y: Array) -> npt.NDArray[np.bool_]:
        """Tell cheaply whether ``y`` may be reachable; what is far from every seed is not."""
        inside = self._within(y, 0)
        for place in range(1, y.shape[-1]):
            inside = inside & self._within(y, place)
        return inside

    def _within(self, y: Array, place: int) -> npt.NDArray[np.bool_]:
        value = component(y, place)
        return (value >= self.lowest[place]) & (value <= self.highest[place])


def seed_table(
    domain: Domain, evaluate: Callable[[Array], tuple[Array, Array]], condition_limit: float
) -> SeedTable:
    """
    Lay a grid over the domain and keep what is on the mechanism's branch.

    The branch is that of the reachable grid point nearest to the middle of the domain.

    :param evaluate: ``g`` and its Jacobian ``G``.
    :param condition_limit: Seeds more singular than this are left out.
    :raises TransmissionError: If no point of the domain can be reached.
    """
    grid = _grid(domain)
    y, slope = evaluate(grid)
    largest, smallest = singular_values(slope)
    reachable = np.isfinite(y).all(axis=-1) & np.isfinite(largest)
    regular = reachable & (smallest > 0.0)
    if not regular.any():
        raise TransmissionError(
            'no position of the domain can be reached; do the dimensions fit together?',
            expected='a closed mechanism',
            found=f'none of the {domain.space} positions from {domain.lower} to {domain.upper}',
        )
    middle = np.array(domain.lower) + 0.5 * domain.span
    off_middle = np.abs((grid - middle) / domain.span).sum(axis=-1)
    branch = orientation(slope)
    home = branch[np.argmin(np.where(regular, off_middle, np.inf))]
    on_branch = regular & (branch == home)
    gain = float(np.median(np.concatenate([largest[on_branch], smallest[on_branch]])))
    # Rounding gives a singular position, as on the bounds of a full stroke, either sign.
    singular = reachable & ~(np.maximum(largest, gain) <= condition_limit * smallest)
    seeds = on_branch & ~singular
    mapped = on_branch | singular
    is_whole = bool(mapped.all())
    low, high = y[mapped].min(axis=0), y[mapped].max(axis=0)
    margin = (SLACK if slope.shape[1:] == (1, 1) and is_whole else 0.5) * (high - low)
    return SeedTable(
        x=_frozen(grid[seeds]),
        y=_frozen(y[seeds]),
        y_span=_frozen(np.where(high > low, high - low, 1.0)),
        lowest=tuple((low - margin).tolist()),
        highest=tuple((high + margin).tolist()),
        gain=gain,
        branch=float(home),
        is_whole=is_whole,
    )


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _grid(domain: Domain) -> Array:
    n = len(domain.lower)
    points = POINTS[n - 1] if n <= len(POINTS) else 3
    axes = [
        np.linspace(low, high, points)
        for low, high in zip(domain.lower, domain.upper, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
