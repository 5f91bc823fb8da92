# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which joints moved, whether they moved with their actuators, and which rows are of a rest."""

from __future__ import annotations

from enum import Enum
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import spread
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index, Mask

__all__ = ['Motion', 'motion_of', 'rests']

#: What the actuators explain of a joint, in standard errors, that shows that it moves with them.
#: Noise alone explains about the square root of the number of actuators.
SHOWN = 6.0

#: Expected motion over noise from which a joint that does not show any stands still for sure.
VISIBLE = 3.0

#: Share of the whole motion within which a row is of the same rest, and the rows of the shortest.
STILL, SHORTEST_REST = 1e-3, 5


class Motion(Enum):
    """What a recording shows of a joint."""

    MOVES = 'moves'
    #: Its actuators moved, it did not.
    STUCK = 'stuck'
    #: Neither it nor its actuators moved.
    PARKED = 'parked'
    #: It was not measured.
    UNKNOWN = 'unknown'


def rests(given: Array, measured: Array) -> Index:
    """
    Return the row that stands for each row: of a rest the one in its middle, else itself.

    However long a rest is, it shows one pose: with the same error of an encoder in all of its
    rows it must not count as often as it has rows. If the other side moves, it is no rest.

    :param given: Positions of the side without the noise, shape ``(rows, n)``.
    :param measured: Positions of the side with the noise, shape ``(rows, m)``.
    """
    if not len(given):
        return np.empty(0, dtype=np.intp)
    most = np.diff(np.quantile(given, (0.05, 0.95), axis=0), axis=0)[0]
    tolerance = STILL * np.where(most > 0.0, most, np.ptp(given, axis=0))
    label = np.arange(len(given))
    first = 0
    for row in range(1, len(given) + 1):
        if row < len(given) and np.all(np.abs(given[row] - given[first]) <= tolerance):
            continue
        if row - first >= SHORTEST_REST and not any(map(_wanders, measured[first:row].T)):
            label[first:row] = (first + row - 1) // 2
        first = row
    return np.asarray(label, dtype=np.intp)


def motion_of(actuators: Array, joint: Array, expected: Array, moving: Mask) -> Motion:
    """
    Tell whether a joint moved.

    :param actuators: Actuator positions, shape ``(rows, n_actuators)``.
    :param joint: Positions of the joint, shape ``(rows,)``, NaN where not measured.
    :param expected: Its positions by the description, NaN where it has none.
    :param moving: Rows that count: one of each rest. A joint that rests most of the time moves.
    """
    known = np.isfinite(joint) & moving
    rows = int(np.count_nonzero(known))
    if rows == 0:
        return Motion.UNKNOWN
    y = joint[known] - np.median(joint[known])
    x = actuators[known] - np.median(actuators[known], axis=0)
    explained = _robust_line(x, y)
    noise = spread(y - explained, x.shape[1] + 1)
    tiny = 1e-9 * float(np.max(np.abs(joint[known])))
    size, freedom = float(np.std(explained)), rows - x.shape[1] - 1
    if size > tiny and (freedom < 1 or size * np.sqrt(rows) > SHOWN * noise):
        return Motion.MOVES
    if _wanders(y):
        return Motion.MOVES  # with something else than these actuators, or not in proportion
    predictable = expected[known][np.isfinite(expected[known])]
    visible = not len(predictable) or np.std(predictable) > max(VISIBLE * noise, tiny)
    return Motion.STUCK if visible else Motion.PARKED


def _wanders(y: Array) -> bool:
    """Return whether positions spread much further than from one row to the next."""
    known = y[np.isfinite(y)]
    if len(known) == 0:
        return False
    tiny = 1e-9 * float(np.max(np.abs(known)))
    steps = spread(np.diff(known)) / math.sqrt(2.0)
    return spread(known - np.median(known)) > 10.0 * max(steps, tiny)


def _robust_line(x: Array, y: Array) -> Array:
    """Return the part of ``y`` that depends linearly on ``x``."""
    sizes = np.abs(x).max(axis=0, initial=0.0)
    unit = np.column_stack([x / np.where(sizes > 0.0, sizes, 1.0), np.ones(len(y))])
    start = np.linalg.lstsq(unit, y, rcond=1e-9)[0]
    scale = spread(y - unit @ start)
    if scale > 0.0:
        least_squares = optional('scipy.optimize', 'calibrate').least_squares
        start = least_squares(
            lambda b: (y - unit @ b) / scale, start, lambda _: -unit / scale, loss='cauchy'
        ).x
    return np.asarray(unit[:, :-1] @ start[:-1])
