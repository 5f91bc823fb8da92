# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Robust statistics: what a few bad values, and persistent slips, do not spoil.

Sources: Huber, Robust Statistics (1981); Yohai, High breakdown-point and high efficiency robust
estimates for regression (1987) for the estimator; Tukey's biweight with the constant that gives
95 % efficiency under Gaussian noise.
"""

from __future__ import annotations

import numpy as np

from transmission_bridge.types import Array

__all__ = ['BIWEIGHT', 'biweight_loss', 'influence', 'influence_slope', 'known_median', 'spread']

#: Residuals beyond this many standard deviations have no influence. Efficiency 95 %.
BIWEIGHT = 4.685

#: From the median absolute deviation to the standard deviation of Gaussian noise.
_GAUSSIAN = 1.4826022185056018


def spread(values: Array, *, fitted: int = 0) -> float:
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


def known_median(values: Array) -> float:
    """Return the median of what is finite, zero where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def biweight_loss(squares: Array) -> Array:
    """
    Return Tukey's biweight and two derivatives in the form that ``scipy.optimize`` asks for.

    :param squares: Squared residuals over the scale, ``z = u^2``.
    :returns: ``rho(z), rho'(z), rho''(z)``, shape ``(3, n)``; ``rho(z) ~ z`` for small ones.
    """
    limit = BIWEIGHT * BIWEIGHT
    inner = np.clip(1.0 - squares / limit, 0.0, None)
    return np.stack([limit / 3.0 * (1.0 - inner**3), inner**2, -2.0 / limit * inner])


def influence(residuals: Array) -> Array:
    """Return ``psi(u) = u (1 - (u/c)^2)^2`` of the biweight."""
    inner = np.clip(1.0 - (residuals / BIWEIGHT) ** 2, 0.0, None)
    return np.asarray(residuals * inner * inner)


def influence_slope(residuals: Array) -> Array:
    """Return ``psi'(u)``."""
    ratio = (residuals / BIWEIGHT) ** 2
    return np.where(ratio < 1.0, (1.0 - ratio) * (1.0 - 5.0 * ratio), 0.0)
