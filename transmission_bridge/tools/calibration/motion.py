# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Motion of joints relative to their actuators, and rows of rests."""

from __future__ import annotations

from enum import Enum
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import estimate_spread
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index, Mask

#: Least motion of a joint that is explained by its actuators, in standard errors, to be accepted.
#: Noise alone gives about the square root of the number of actuators.
SHOWN = 6.0

#: Least ratio of expected motion to noise for a joint without motion to be stuck.
VISIBLE = 3.0

#: Largest motion within a rest, as a share of the whole motion, and its least number of rows.
STILL, SHORTEST_REST = 1e-3, 5


class Motion(Enum):
    """Motion of a joint in a recording."""

    MOVES = 'moves'
    #: Its actuators moved, but the joint did not.
    STUCK = 'stuck'
    #: Neither the joint nor its actuators moved.
    PARKED = 'parked'
    #: The joint was not measured.
    UNKNOWN = 'unknown'


def find_rests(given: Array, measured: Array) -> Index:
    """
    Map each row to a representative row: the middle row of a rest, otherwise the row itself.

    A rest of any length is one pose with one encoder error, so it counts as one row.
    If the other side moves, it is no rest.

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
        if row - first >= SHORTEST_REST and not any(map(_does_wander, measured[first:row].T)):
            label[first:row] = (first + row - 1) // 2
        first = row
    return np.asarray(label, dtype=np.intp)


def classify_motion(actuators: Array, joint: Array, expected: Array, moving: Mask) -> Motion:
    """
    Classify the motion of a joint.

    :param actuators: Actuator positions, shape ``(rows, n_actuators)``.
    :param joint: Positions of the joint, shape ``(rows,)``, NaN if not measured.
    :param expected: Its positions by the description, NaN if unknown.
    :param moving: Used rows: one of each rest, so that a joint may rest most of the time.
    """
    known = np.isfinite(joint) & moving
    rows = int(np.count_nonzero(known))
    if rows == 0:
        return Motion.UNKNOWN
    y = joint[known] - np.median(joint[known])
    x = actuators[known] - np.median(actuators[known], axis=0)
    explained = _fit_robust_line(x, y)
    noise = estimate_spread(y - explained, x.shape[1] + 1)
    tiny = 1e-9 * float(np.max(np.abs(joint[known])))
    size, freedom = float(np.std(explained)), rows - x.shape[1] - 1
    if size > tiny and (freedom < 1 or size * np.sqrt(rows) > SHOWN * noise):
        return Motion.MOVES
    if _does_wander(y):
        return Motion.MOVES  # not with these actuators, or not in proportion
    predictable = expected[known][np.isfinite(expected[known])]
    visible = not len(predictable) or np.std(predictable) > max(VISIBLE * noise, tiny)
    return Motion.STUCK if visible else Motion.PARKED


def _does_wander(y: Array) -> bool:
    """Return whether positions spread much further than from one row to the next."""
    known = y[np.isfinite(y)]
    if len(known) == 0:
        return False
    tiny = 1e-9 * float(np.max(np.abs(known)))
    steps = estimate_spread(np.diff(known)) / math.sqrt(2.0)
    return estimate_spread(known - np.median(known)) > 10.0 * max(steps, tiny)


def _fit_robust_line(x: Array, y: Array) -> Array:
    """Return the part of ``y`` that depends linearly on ``x``."""
    sizes = np.abs(x).max(axis=0, initial=0.0)
    unit = np.column_stack([x / np.where(sizes > 0.0, sizes, 1.0), np.ones(len(y))])
    start = np.linalg.lstsq(unit, y, rcond=1e-9)[0]
    scale = estimate_spread(y - unit @ start)
    if scale > 0.0:
        least_squares = optional('scipy.optimize', 'calibrate').least_squares
        start = least_squares(
            lambda b: (y - unit @ b) / scale, start, lambda _: -unit / scale, loss='cauchy'
        ).x
    return np.asarray(unit[:, :-1] @ start[:-1])
