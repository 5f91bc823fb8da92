# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Confidence intervals of a robust fit.

With ``u`` the standardised residuals, ``psi`` the influence function, ``X`` the slopes and
channels ``c``, the covariance of the estimate is ``A^-1 B A^-1`` (Huber 1981)::

    A = sum_c mean(psi'(u)) X_c^T X_c
    B = sum_c mean(psi(u)^2) n_c / (n_c - p_c) k_c X_c^T X_c

``k = (1 + r) / (1 - r)`` makes up for noise that remembers: ``r`` is the correlation of ``psi``
between neighbours, zero where the number of rows cannot tell it from zero. For slow motion it is
what a first-order process does to a mean. The interval is that of Student's distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.tools.calibration.robust import influence, influence_slope
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Mask

__all__ = ['CONFIDENCE', 'Uncertainty', 'uncertainty']

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """
    How well fitted numbers are known.

    :param covariance: Shape ``(fitted, fitted)``, not finite where nothing is known.
    :param quantile: Standard deviations in half of an interval.
    """

    covariance: Array
    quantile: float

    def half_width(self, combination: Array) -> float:
        """Return half of the interval of a linear combination of the fitted numbers."""
        if math.isinf(self.quantile):
            return math.inf
        variance = float(combination @ self.covariance @ combination)
        return self.quantile * math.sqrt(variance) if variance >= 0.0 else math.inf

    def correlation(self, one: int, other: int) -> float:
        """Return the correlation of the errors of two fitted numbers."""
        if math.isinf(self.quantile):
            return 0.0
        scale = math.sqrt(self.covariance[one, one] * self.covariance[other, other])
        return float(self.covariance[one, other] / scale) if scale > 0.0 else 0.0


def uncertainty(residuals: Array, slopes: Array, mask: Mask) -> Uncertainty:
    """
    Return how well the numbers are known.

    :param residuals: Standardised, shape ``(measurements,)``, NaN where not predicted.
    :param slopes: Shape ``(measurements, fitted)``.
    :param mask: Which measurements there are, shape ``(rows, channels)``.
    """
    stats = optional('scipy.stats', 'calibrate')
    fitted = slopes.shape[1]
    known = np.isfinite(residuals)
    freedom = int(known.sum()) - fitted
    unknown = Uncertainty(np.full((fitted, fitted), np.inf), math.inf)
    if freedom < 1 or not fitted:
        return unknown
    sizes = np.linalg.norm(slopes, axis=0)
    unit = slopes / np.where(sizes > 0.0, sizes, 1.0)
    channel = np.broadcast_to(np.arange(mask.shape[1]), mask.shape)[mask]
    bread, filling = np.zeros((fitted, fitted)), np.zeros((fitted, fitted))
    for place in range(mask.shape[1]):
        rows = known & (channel == place)
        count = int(rows.sum())
        if not count:
            continue
        square = unit[rows].T @ unit[rows]
        psi = influence(residuals[rows])
        # A number that several channels share costs each of them a part.
        cost = fitted * count / int(known.sum())
        inflation = count / max(count - cost, 1.0) * _memory(psi)
        bread += float(np.mean(influence_slope(residuals[rows]))) * square
        filling += float(np.mean(psi * psi)) * inflation * square
    try:
        inverse = np.linalg.inv(bread)
    except np.linalg.LinAlgError:
        return unknown
    scaled = inverse @ filling @ inverse
    covariance = scaled / np.outer(sizes, sizes)
    return Uncertainty(covariance, float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, freedom)))


def _memory(psi: Array) -> float:
    total = float(psi @ psi)
    if len(psi) < 50 or total == 0.0:
        return 1.0
    correlation = float(psi[1:] @ psi[:-1]) / total
    if correlation < 3.0 / math.sqrt(len(psi)):
        return 1.0
    correlation = min(correlation, 0.995)
    return (1.0 + correlation) / (1.0 - correlation)
