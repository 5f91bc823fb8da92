# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which joints moved, and whether they moved with their actuators."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from transmission_bridge.tools.calibration.robust import spread
from transmission_bridge.types import Array

__all__ = ['Motion', 'blocks', 'linear_noise', 'motion_of']

Labels = npt.NDArray[np.intp]

#: What the actuators explain of a joint, in standard errors, that shows that it moves with them.
#: Noise alone explains about the square root of the number of actuators.
SHOWN = 6.0

#: Expected motion over noise from which a joint that does not show any stands still for sure.
VISIBLE = 3.0

#: Rows per block, and most blocks.
_BLOCK, _BLOCKS = 25, 20


class Motion(Enum):
    """What a recording shows of a joint."""

    MOVES = 'moves'
    #: Its actuators moved, it did not.
    STUCK = 'stuck'
    #: Neither it nor its actuators moved.
    PARKED = 'parked'
    #: It was not measured.
    UNKNOWN = 'unknown'


def blocks(rows: int) -> Labels:
    """
    Return the number of a block for each row.

    Within a block of consecutive rows no offset is needed. A slip spoils the block in which it
    happens, and no other.
    """
    count = max(1, min(_BLOCKS, rows // _BLOCK))
    return np.asarray(np.arange(rows) * count // max(rows, 1), dtype=np.intp)


def motion_of(actuators: Array, joint: Array, expected: Array) -> Motion:
    """
    Tell whether a joint moved.

    :param actuators: Actuator positions, shape ``(rows, n_actuators)``.
    :param joint: Positions of the joint, shape ``(rows,)``, NaN where not measured.
    :param expected: Its positions by the description, NaN where it has none.
    """
    known = np.isfinite(joint)
    rows = int(np.count_nonzero(known))
    if rows == 0:
        return Motion.UNKNOWN
    block = blocks(rows)
    explained, noise, freedom = _line(actuators[known], joint[known], block)
    size = spread(explained)
    tiny = 1e-9 * float(np.max(np.abs(joint[known])))
    if size > tiny and (freedom < 1 or size * np.sqrt(rows) > SHOWN * noise):
        return Motion.MOVES
    moved = expected[known]
    predictable = np.isfinite(moved)
    if not predictable.any():
        return Motion.STUCK
    by_description = spread(_centred(moved[predictable], block[predictable]))
    return Motion.STUCK if by_description > max(VISIBLE * noise, tiny) else Motion.PARKED


def linear_noise(given: Array, measured: Array) -> float:
    """
    Return the standard deviation of what no linear relation explains, whatever its ratios are.

    Where the ratio depends on position, that holds some of the motion.

    :param given: Shape ``(rows, n)``, finite.
    :param measured: Shape ``(rows,)``, NaN where not measured.
    """
    known = np.isfinite(measured) & np.isfinite(given).all(axis=1)
    if not known.any():
        return 0.0
    return _line(given[known], measured[known], blocks(int(known.sum())))[1]


def _line(given: Array, measured: Array, block: Labels) -> tuple[Array, float, int]:
    """Return what a robust linear relation within blocks explains, the noise, and its freedom."""
    y = _centred(measured, block)
    x = np.stack([_centred(column, block) for column in given.T], axis=1)
    explained = _robust_line(x, y)
    fitted = x.shape[1] + int(block[-1]) + 1
    return explained, spread(y - explained, fitted=fitted), len(y) - fitted


def _centred(values: Array, block: Labels) -> Array:
    centred: Array = values.copy()
    for label in range(int(block[-1]) + 1):
        chosen = block == label
        if chosen.any():
            centred[chosen] -= np.median(values[chosen])
    return centred


def _robust_line(x: Array, y: Array) -> Array:
    """Return the part of ``y`` that depends linearly on ``x``, by weights of Cauchy's loss."""
    sizes = np.abs(x).max(axis=0, initial=0.0)
    unit = x / np.where(sizes > 0.0, sizes, 1.0)
    weights = np.ones(len(y))
    fitted: Array = np.zeros(len(y))
    for _ in range(20):
        root = np.sqrt(weights)
        slope = np.linalg.lstsq(unit * root[:, np.newaxis], y * root, rcond=1e-9)[0]
        fitted = np.asarray(unit @ slope)
        scale = spread(y - fitted)
        if scale == 0.0:
            break
        weights = 1.0 / (1.0 + ((y - fitted) / (2.385 * scale)) ** 2)
    return np.asarray(fitted)
