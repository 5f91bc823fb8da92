# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The bounded solver for the direction of a mechanism that has no closed form.

A damped Gauss-Newton iteration on whole batches; each sample goes its own way, so that a batch and
a loop over its samples give the same result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.small_matrix import apply, choose, component, every, inverse

__all__ = ['ITERATION_LIMIT', 'STALL_TOLERANCE', 'STEP_TOLERANCE', 'solve']

#: Iterations after which a sample is given up. A good start needs two to five; at a singular
#: position, where convergence is linear, each iteration gains one binary digit.
ITERATION_LIMIT = 60

#: A step below this share of the range ends the iteration: the next one would be its square.
STEP_TOLERANCE = 1e-13

#: A step below this share that no longer improves anything is rounding, and ends it as well.
STALL_TOLERANCE = 1e-9

#: Steps below this share may be judged by the next step instead of the residual.
END_GAME = 1e-3

#: A sample whose damping falls below this is given up.
SMALLEST_DAMPING = 2.0**-20


def solve(
    evaluate: Callable[[Array], tuple[Array, Array]],
    target: Array,
    start: Array,
    span: Array,
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """
    Solve ``g(x) = target`` near ``start``, in the least-squares sense where ``g`` has more rows.

    A step ``-G^+ (g(x) - target)`` is taken if it makes the residual smaller, of which it is a
    direction of descent, else it is halved. Near the end, where the smallest residual of
    contradicting equations is flat to rounding, a smaller next step will do as well. Steps are
    measured in shares of ``span``.

    :param evaluate: ``g`` and its Jacobian ``G`` at ``x``, NaN where there is no answer.
    :param target: Shape ``(..., m)``.
    :param start: Shape ``(..., n)``.
    :param span: Range of each coordinate of ``x``, shape ``(n,)``.
    :returns: ``x``, shape ``(..., n)``; ``G`` there, ``(..., m, n)``; which samples converged,
        ``(...)``. ``x`` means nothing in the others.
    """

    def at(x: Array) -> tuple[Array, Array, Array, Array]:
        value, slope = evaluate(x)
        miss = value - target
        step = -apply(inverse(slope), miss)
        return slope, step, _length(miss), _length(step / span)

    x = start
    slope, step, miss, size = at(x)
    active = np.isfinite(size)
    converged = active & (size <= STEP_TOLERANCE)
    active = active & ~converged
    damping = np.ones_like(size)
    for _ in range(ITERATION_LIMIT):
        if every(~active):
            break
        next_x = x + (damping if x.ndim == 1 else damping[..., np.newaxis]) * step
        next_slope, next_step, next_miss, next_size = at(next_x)
        better = (next_miss < miss) | ((next_size < size) & (size <= END_GAME))
        taken = active & better & np.isfinite(next_size)
        stalled = active & ~taken & (size <= STALL_TOLERANCE)
        x = choose(taken, next_x, x)
        step = choose(taken, next_step, step)
        slope = choose(taken, next_slope, slope)
        size = choose(taken, next_size, size)
        miss = choose(taken, next_miss, miss)
        damping = choose(taken, np.minimum(1.0, 2.0 * damping), 0.5 * damping)
        small = active & (size <= STEP_TOLERANCE)
        converged = converged | small | stalled
        active = active & ~small & ~stalled & (damping >= SMALLEST_DAMPING)
    return choose(size <= STEP_TOLERANCE, x + step, x.copy()), slope, converged


def _length(vector: Array) -> Array:
    length = abs(component(vector, 0))
    for place in range(1, vector.shape[-1]):
        length = np.hypot(length, component(vector, place))
    return length
