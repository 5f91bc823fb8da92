# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Robust linear statistics of rows that may err alike with their neighbours.

Rows in the order of time are cut into blocks. What a block changes when it is left out is its
influence; their covariance (the jackknife over blocks) holds whatever correlation there is within
a block. Signs drawn at random for the influences give replicates (the wild block bootstrap).

Sources: Huber, Robust Statistics (1981); Tukey's biweight; Efron and Stein, The jackknife
estimate of variance (1981); Cameron, Gelbach and Miller, Bootstrap-based improvements for
inference with clustered errors (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index

__all__ = [
    'BIWEIGHT',
    'BLOCKS',
    'CONFIDENCE',
    'FEWEST_BLOCKS',
    'LinearFit',
    'Rows',
    'block_labels',
    'fit_linear',
    'influence_slope',
    'spread',
    'student_quantile',
    'weights_of',
]

#: Share of the intervals that hold the true number.
CONFIDENCE = 0.95

#: Residuals beyond this many standard deviations have no influence. Efficiency 95 %.
BIWEIGHT = 4.685

#: Blocks of a recording; correlation over up to a fortieth of it is allowed for.
BLOCKS = 40

#: With fewer rows than this, errors are taken to be independent: blocks could not tell.
FEWEST_BLOCKS = 24

#: From the median absolute deviation to the standard deviation of Gaussian noise.
_GAUSSIAN = 1.4826022185056018


def spread(values: Array, *, fitted: float = 0.0) -> float:
    """
    Return the standard deviation by the median of the absolute values, about zero.

    :param fitted: How many numbers were fitted to the values.
    """
    known = np.abs(values[np.isfinite(values)])
    if len(known) <= fitted:
        return 0.0
    # What was fitted makes so many residuals small; the median is that of the others.
    middle = np.quantile(known, 0.5 + 0.5 * fitted / len(known))
    return float(_GAUSSIAN * middle)


def weights_of(residuals: Array) -> Array:
    """Return the weights ``psi(u) / u`` of the biweight, zero where nothing is known."""
    inner = np.clip(1.0 - (residuals / BIWEIGHT) ** 2, 0.0, None)
    return np.where(np.isfinite(residuals), inner * inner, 0.0)


def influence_slope(residuals: Array) -> Array:
    """Return ``psi'(u)`` of the biweight."""
    ratio = (residuals / BIWEIGHT) ** 2
    return np.where(ratio < 1.0, (1.0 - ratio) * (1.0 - 5.0 * ratio), 0.0)


def block_labels(rows: int) -> Index:
    """Return the block of each row; a row is a block where they are few."""
    count = min(rows, BLOCKS)
    return np.asarray(np.arange(rows) * count // max(rows, 1), dtype=np.intp)


def student_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return the quantile of Student's distribution that a two-sided interval takes."""
    special = optional('scipy.special', 'calibrate')
    return float(special.stdtrit(freedom, 0.5 + 0.5 * confidence))


@dataclass(frozen=True, eq=False)
class Rows:
    """
    Measurements, their weights, and the blocks that they are in.

    :param weight: Shape ``(n,)``.
    :param label: Block, shape ``(n,)``.
    :param correction: What the weights make influences too small by.
    """

    weight: Array
    label: Index
    correction: float = 1.0

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self.label[-1]) + 1 if len(self.label) else 0


@dataclass(frozen=True, eq=False)
class LinearFit:
    """
    A linear least-squares fit.

    :param values: Shape ``(p,)``.
    :param squares: Weighted sum of the squared residuals.
    :param influences: What each block changes, shape ``(blocks, p)``; ``None`` where rows are few.
    :param covariance: Shape ``(p, p)``.
    :param freedom: Of the covariance; not positive where nothing is known.
    :param independent: The covariance if rows were independent, which is the least it can be: that
        of the blocks is uncertain itself.
    """

    values: Array
    squares: float
    influences: Array | None
    covariance: Array
    freedom: float
    independent: Array

    def chance(self, first: int) -> float:
        """
        Return how likely values this large would be from column ``first`` on by chance.

        The test of Hotelling with the covariance of the blocks.
        """
        k = len(self.values) - first
        second = self.freedom - k + 1
        if second < 5:
            return 1.0
        value, covariance = self.values[first:], self.covariance[first:, first:]
        try:
            size = float(value @ np.linalg.solve(covariance, value))
        except np.linalg.LinAlgError:
            return 1.0
        special = optional('scipy.special', 'calibrate')
        if not math.isfinite(size) or size <= 0.0:
            return 1.0
        return float(special.fdtrc(k, second, size * second / (k * self.freedom)))


def fit_linear(
    columns: Array, residual: Array, rows: Rows, held: Array | None = None
) -> LinearFit:
    """
    Fit columns to a residual.

    :param columns: Shape ``(n, p)``.
    :param residual: Shape ``(n,)``, in standard deviations.
    :param held: One over the standard deviation of what is known of the values beforehand: that
        they are zero. Shape ``(p,)``, by default nothing is known.
    """
    p = columns.shape[1]
    sizes = np.sqrt(rows.weight @ (columns * columns))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    unit = columns / sizes
    weighted = unit * rows.weight[:, np.newaxis]
    prior = np.zeros(p) if held is None else (held / sizes) ** 2
    square = unit.T @ weighted + np.diag(prior + 1e-13)
    values = np.linalg.solve(square, weighted.T @ residual)
    rest = residual - unit @ values
    squares = float(rows.weight @ (rest * rest))
    inverse = np.linalg.inv(square)
    few = rows.blocks < FEWEST_BLOCKS
    counted = int(np.count_nonzero(rows.weight))
    freedom = (float(rows.weight.sum()) if few else counted) - p
    variance = math.inf
    if freedom > 0.5:
        # Few rows are weighted as they are; else that of the biweight for the size of the weights.
        influence = rows.weight * rest * rows.correction
        share = counted / float(rows.weight.sum())
        variance = squares / freedom if few else float(influence @ influence) / freedom * share
    known = inverse @ (variance * (square - np.diag(prior)) + np.diag(prior)) @ inverse
    independent = known / np.outer(sizes, sizes)
    if few:
        return LinearFit(values / sizes, squares, None, independent, freedom, independent)
    starts = np.searchsorted(rows.label, np.arange(rows.blocks))
    scores = np.add.reduceat(weighted * rest[:, np.newaxis], starts, axis=0)
    pairs = (weighted[:, :, np.newaxis] * unit[:, np.newaxis, :]).reshape(-1, p * p)
    own = np.add.reduceat(pairs, starts, axis=0).reshape(-1, p, p)
    without = square - own + 1e-10 * np.eye(p)
    changes = np.linalg.solve(without, scores[..., np.newaxis])[..., 0]
    changes = changes * rows.correction / sizes
    covariance = (rows.blocks - 1) / rows.blocks * changes.T @ changes
    if held is not None:
        beforehand = inverse * np.sqrt(prior) / sizes[:, np.newaxis]
        covariance += beforehand @ beforehand.T
    freedom = float(rows.blocks - p)
    return LinearFit(values / sizes, squares, changes, covariance, freedom, independent)
