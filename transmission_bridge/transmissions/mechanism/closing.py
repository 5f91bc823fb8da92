# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Closes a mechanism from a distant position, by damped least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.types import Array

#: Largest number of steps.
STEPS = 60

#: Largest change of a coordinate in a step.
LONGEST = 0.7


@np.errstate(over='ignore', invalid='ignore')  # residuals may overflow
def iterate_damped(
    evaluate: Callable[[Array], tuple[Array, Array]],
    z: Array,
    free: Sequence[int],
) -> Array:
    """
    Return a position with a small residual, by the steps of Levenberg and Marquardt.

    :param evaluate: Returns the residuals at a position and their derivatives by the free
        coordinates, shapes ``(m,)`` and ``(m, n_free)``.
    :param z: The start.
    :param free: Indices of the coordinates that may change.
    """
    damping = 1e-2
    miss, jacobian = evaluate(z)
    size, stalled = float(miss @ miss), 0
    for _ in range(STEPS):
        if not np.isfinite(size) or size < 1e-30:
            break
        normal = jacobian.T @ jacobian
        normal += damping * (np.trace(normal) / len(free) + 1e-12) * np.eye(len(free))
        step = -np.linalg.solve(normal, jacobian.T @ miss)
        longest = np.abs(step).max()
        trial = z.copy()
        trial[free] += step * min(1.0, LONGEST / longest) if longest > 0.0 else 0.0
        next_miss, next_jacobian = evaluate(trial)
        next_size = float(next_miss @ next_miss)
        if next_size < size:
            stalled = stalled + 1 if next_size > 0.98 * size else 0
            z, miss, jacobian, size = trial, next_miss, next_jacobian, next_size
            damping = max(0.1 * damping, 1e-12)
            if longest < 1e-14:
                break
        else:
            damping *= 10.0
            stalled += 1
            if longest < 1e-13 or size < 1e-26:
                break
        if stalled > 6:
            break
    return z
