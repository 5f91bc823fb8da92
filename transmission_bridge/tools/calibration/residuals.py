# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The test of the residuals: what is left must be noise, or as small as the resolution of encoders.

The residuals ``r`` of a joint are fitted by the columns of one pattern after the other, beside the
slopes of the numbers. A pattern is found if it explains more of ``r`` than chance allows
(:data:`LEVEL`, F-test), and more than the encoders' resolution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.tools.calibration.report import JointResidual
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array

#: Chance of a pattern in noise alone, for each pattern and joint.
LEVEL = 3e-4

#: With fewer rows no pattern is tested.
FEWEST_ROWS = 24

#: Part of a turn [rad] below which a motion says nothing about errors once per turn.
PART_OF_A_TURN = 0.2

#: Number of waves over the time of a recording, and degrees of polynomials of the position.
_WAVES, _DEGREES = 6, (2, 3, 4, 5)

#: Excess kurtosis and skewness from which residuals are no noise of one kind.
_TAILS, _SKEW = 0.5, 0.4


@dataclass(frozen=True, eq=False)
class ResidualPattern:
    """
    An error that residuals may have.

    :param name: Where it repeats, as ``once per turn of 'pan'``.
    :param cause: The usual causes.
    :param columns: Its shapes, shape ``(rows, n)``.
    :param hides: Whether it may hide in the recording, and the intervals have to allow for it.
    """

    name: str
    cause: str
    columns: Array
    hides: bool = True


@dataclass(frozen=True)
class PatternFinding:
    """
    A pattern that was found.

    :param share: Its share of the mean square of the residuals; zero if it has no shape.
    """

    name: str
    cause: str
    share: float


def list_patterns(mapped: Array, turning: Sequence[tuple[str, Array]], time: Array | None
                  ) -> Iterator[ResidualPattern]:  # fmt: skip
    """
    Yield the patterns that the rows of a joint can show.

    :param mapped: Mapped positions of the joint, shape ``(rows,)`` [rad or m].
    :param turning: Positions [rad] of this joint and of the actuators that turn, by name.
    :param time: Ascending times [s], same shape; ``None`` for poses.
    """
    if len(mapped) < FEWEST_ROWS:
        return
    for name, angle in turning:
        if np.ptp(angle) > PART_OF_A_TURN:
            for order, word, cause in (
                (1, 'once', 'an encoder or a wheel out of centre, a weight on an elastic part'),
                (2, 'twice', 'a strain-wave gear, a universal joint, an oval encoder'),
            ):
                waves = np.column_stack([np.sin(order * angle), np.cos(order * angle)])
                yield ResidualPattern(f"{word} per turn of '{name}'", cause, waves)
    centre, half = (mapped.max() + mapped.min()) / 2.0, np.ptp(mapped) / 2.0
    if half > 0.0:
        unit = (mapped - centre) / half
        powers = [np.polynomial.legendre.Legendre.basis(degree)(unit) for degree in _DEGREES]
        cause = 'an elastic part, another dimension or mechanism, an encoder that is not linear'
        yield ResidualPattern('with position', cause, np.column_stack(powers), hides=False)
    if time is None:
        return
    steps = np.gradient(time)
    speed = np.where(steps > 0.0, np.gradient(mapped) / np.where(steps > 0.0, steps, 1.0), 0.0)
    if half > 0.0:
        side = np.sign(np.where(np.abs(speed) > 1e-3 * np.abs(speed).max(), speed, 0.0))
        yield ResidualPattern('with direction', 'backlash, friction', side[:, np.newaxis])
        cause = 'the sides are not measured at the same time'
        yield ResidualPattern('with speed', cause, speed[:, np.newaxis])
    turns = np.multiply.outer(np.linspace(0.0, np.pi, len(time)), np.arange(1, _WAVES + 1))
    yield ResidualPattern('with time', 'a drift, a slip', np.cos(turns))


def iterate_patterns(
    joint: JointResidual, slopes: Array, patterns: Sequence[ResidualPattern], *, timed: bool
) -> Iterator[PatternFinding]:
    """
    Yield what the residuals of a joint show.

    :param slopes: Change of the mapped positions with each number, shape ``(rows, numbers)``.
    :param timed: Whether the rows are in the order of time.
    """
    stats = optional('scipy.stats', 'calibrate')
    residual, slack, rows = joint.residual, joint.resolution, len(joint.residual)
    before, rank = fit_columns(residual, slopes)
    for pattern in patterns:
        after, full = fit_columns(residual, np.column_stack([slopes, pattern.columns]))
        gain, used, spare = before - after, full - rank, rows - full
        if used < 1 or spare < 1 or gain <= rows * slack**2:
            continue
        if stats.f.sf(gain / used / max(after / spare, 1e-300), used, spare) < LEVEL:
            # Less what as many columns explain of noise (Bayesian information criterion).
            share = 1.0 - after / before * rows ** (used / rows)
            yield PatternFinding(pattern.name, pattern.cause, max(share, 0.0))
    left = residual - residual.mean()
    square = float(np.var(left))
    if rows < FEWEST_ROWS or square <= slack**2:
        return
    alike = float(np.mean(left[1:] * left[:-1])) / square
    if timed and alike > 0.0 and stats.norm.sf(alike * math.sqrt(rows)) < LEVEL:
        yield PatternFinding('with time', 'noise that changes slowly, vibration', 0.0)
    skew = float(np.mean(left**3)) / square**1.5
    tails = float(np.mean(left**4)) / square**2 - 3.0
    chance = stats.chi2.sf(rows * (skew**2 / 6.0 + tails**2 / 24.0), 2)
    if chance < LEVEL and (abs(tails) > _TAILS or abs(skew) > _SKEW):
        yield PatternFinding('in some of the rows', 'outliers, an encoder that starts again', 0.0)


def fit_columns(values: Array, columns: Array) -> tuple[float, int]:
    """
    Return the sum of squares that columns do not explain, and their rank.

    :param values: Shape ``(rows,)``.
    :param columns: Shape ``(rows, n)``.
    """
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    found, _, rank, _ = np.linalg.lstsq(scaled, values, rcond=1e-9)
    return float(np.square(values - scaled @ found).sum()), int(rank)
