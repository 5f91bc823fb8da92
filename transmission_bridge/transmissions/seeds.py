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
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.small_matrix import orientation, singular_values

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
    :param gain: Median of the singular values of the Jacobian: what "large" and "small" mean.
    :param branch: Sign of the determinant on the branch.
    :param is_whole: Whether every grid point of the domain was reachable and on the branch.
    """

    x: Array
    y: Array
    y_span: Array
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
        """
        Tell cheaply whether ``y`` may be reachable; what is far from every seed is not.

        Exact with one coordinate on each side and the whole domain on the branch: ``y`` is then
        monotone. Otherwise half of the range is added, as the table does not hold the extremes.
        """
        n_in, n_out = self.x.shape[1], self.y.shape[1]
        margin = (1e-10 if n_in == n_out == 1 and self.is_whole else 0.5) * self.y_span
        inside = np.array(True)
        for place in range(n_out):
            value = y[..., place]
            column = self.y[:, place]
            inside = inside & (value >= column.min() - margin[place])
            inside = inside & (value <= column.max() + margin[place])
        return np.asarray(inside)


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
    x, y = grid[seeds], y[seeds]
    span = np.ptp(y, axis=0)
    for array in (x, y, span):
        array.setflags(write=False)
    is_whole = bool((on_branch | singular).all())
    return SeedTable(x, y, np.where(span > 0.0, span, 1.0), gain, float(home), is_whole)


def _grid(domain: Domain) -> Array:
    n = len(domain.lower)
    points = POINTS[n - 1] if n <= len(POINTS) else 3
    axes = [
        np.linspace(low, high, points)
        for low, high in zip(domain.lower, domain.upper, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
