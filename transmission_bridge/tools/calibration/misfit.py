# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Tests of the residuals by size, and for dependence on position, direction and time.

Shapes that are zero in the residual of a good fit are tested beside the model. A significant shape
is a lack of fit, and suggests its cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transmission_bridge.tools.calibration.results import describe_times
from transmission_bridge.tools.calibration.selection import Fitted
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index

#: Chance of a report about a model that fits.
MISFIT_LEVEL = 0.002

#: Share of outliers from which the correct rows are ambiguous, and number of successive outliers
#: that are not errors of single measurements.
MANY_OUTLIERS, LONG_RUN = 0.1, 6

#: A residual of more than this share of the motion is not measurement noise.
ONE_SIZE = 0.3

#: Least share of the residual that is explained by a single jump.
ONE_JUMP = 0.75

#: Least number of rows to test the shape of a distribution.
ROWS_OF_A_SHAPE = 100

#: Least exponent (between pink noise and a random walk), and least ratio of the slowest to the
#: fastest noise, of drift.
DRIFT, RED = 1.5, 100.0

_CAUSES = {
    'position': 'position{}: a loaded elastic part, a nonlinear encoder, or a mechanism of '
    'another type or with other dimensions than described. Fix the description, or describe a '
    'dependence that is equal in every recording as a measured curve '
    '(TabulatedTransmission)',
    'direction': 'the direction of motion{}: friction against an elastic part, or a backlash that '
    'varies with position. Measure slowly, and approach each pose from one side',
    'acceleration': 'acceleration{}: an elastic part, or a filter in one of the encoders. Measure '
    'more slowly',
}

_DRIFT = (
    'the residual drifts with time{}: drift (temperature, a moving reference, a creeping belt) '
    'or slips. Record again for a shorter time, or cut the recording into parts and '
    'compare them'
)


def find_misfits(fitted: Fitted, time: Array, *, timed: bool) -> list[str]:
    """
    Return sentences about a lack of fit, with the most likely cause per channel.

    :param time: Times of the rows.
    :param timed: Whether times are in seconds.
    """
    problem = fitted.problem
    rows = np.nonzero(problem.mask)[0]
    names = problem.model.channels
    used = [(c, places) for c, places in enumerate(fitted.channel_rows) if len(places)]
    found = [
        f"'{names[channel]}': {sentence}"
        for channel, places in used
        for sentence in _check_sizes(fitted, channel, places, time[rows[places]], timed=timed)
    ]
    if found or not fitted.residual_shapes:
        return found  # shapes of a disturbed residual are meaningless
    tested = []
    for shape in fitted.residual_shapes:
        chance, added = fitted.test_shape(shape)
        if chance < MISFIT_LEVEL / len(fitted.residual_shapes):
            tested.append((float(np.std(added[fitted.channel_rows[shape.channel]])), shape))
    floor = problem.compute_noise_floor()
    for channel, places in used:
        scale = float(problem.scales[channel])
        if scale <= 1.0001 * floor[channel]:
            continue  # exact
        own = [(size, shape.name) for size, shape in tested if shape.channel == channel]
        size, what = max(own, default=(0.0, ''))
        if not what and fitted.ordered:
            what = _find_correlation_cause(fitted, channel, places)
        tail = f' ({scale * size:.2g} rms)' if size else ''
        if what == 'time':
            jump = _find_jump(fitted, channel, places, time[rows[places]], timed=timed)
            found.append(f"'{names[channel]}': {jump or _DRIFT.format(tail)}")
        elif what:
            cause = _CAUSES[what].format(tail)
            found.append(f"'{names[channel]}': the residual depends on {cause}")
        elif _has_two_groups(fitted, channel, places):
            found.append(
                f"'{names[channel]}': the residuals form two groups: part of the measurements is "
                'shifted, and the correct part is ambiguous. Look at --report, and remove '
                'disturbed measurements'
            )
    return found


def _check_sizes(
    fitted: Fitted, channel: int, places: Index, time: Array, *, timed: bool
) -> Iterator[str]:
    """Yield sentences about the sizes of residual, motion and outliers."""
    problem = fitted.problem
    noise = float(problem.scales[channel])
    motion = float(np.std(problem.model.measured[problem.mask[:, channel], channel]))
    position = problem.predict_rows(fitted.x)[problem.mask[:, channel], channel]
    if noise > ONE_SIZE * motion and len(places) > 2 and np.ptp(position) > 0.0:
        yield (
            f'the residual ({noise:.2g}) is as large as its motion ({motion:.2g}): the model '
            'explains little or nothing of its motion. Are these the columns of this '
            'transmission, and measured at the same times?'
        )
        return
    outlier = (fitted.weight[places] == 0.0) & np.isfinite(fitted.residual[places])
    ends = np.flatnonzero(np.diff(np.concatenate([[0], outlier.astype(int), [0]])))
    longest = int(np.max(np.diff(ends)[::2], initial=0))
    if outlier.sum() > MANY_OUTLIERS * len(places) or (fitted.ordered and longest >= LONG_RUN):
        yield (
            fitted.ordered and _find_jump(fitted, channel, places, time, timed=timed)
        ) or (
            f'{outlier.sum()} of {len(places)} measurements do not fit the others '
            f'({describe_times(time, outlier, timed=timed)}), and the correct ones are '
            'ambiguous: look at --report, and remove disturbed measurements'
        )  # fmt: skip


def _find_jump(fitted: Fitted, channel: int, places: Index, time: Array, *, timed: bool) -> str:
    """Return a sentence if a permanent jump explains most of the residual, else ''."""
    known = np.isfinite(fitted.residual[places])
    basis, _ = np.linalg.qr(fitted.full_columns[places][known, : len(fitted.x)])
    residual = fitted.residual[places][known]
    residual = residual - basis @ (basis.T @ residual)
    # For a step at each row: its product with the residual, and its squared remainder.
    along = np.cumsum(residual[::-1])[::-1]
    inside = np.cumsum(basis[::-1], axis=0)[::-1]
    n = len(residual)
    square = np.arange(n, 0.0, -1.0) - (inside * inside).sum(axis=1)
    edge = max(2, n // 100)
    square[:edge], square[max(n - edge, 0) :] = np.inf, np.inf
    gain = np.where(square > 1e-9, along * along / np.maximum(square, 1e-9), 0.0)
    best = int(np.argmax(gain))
    if n <= 2 * edge or gain[best] < ONE_JUMP * float(residual @ residual):
        return ''
    size = along[best] / square[best] * float(fitted.problem.scales[channel])
    row = float(time[known][best])
    where = f't = {row:.6g} s' if timed else f'row {row:.0f}'
    return (
        f'it jumps by {size:+.3g} near {where}: a coupling or an encoder slipped. Cut the '
        'recording there and calibrate with one part'
    )


def _find_correlation_cause(fitted: Fitted, channel: int, places: Index) -> str:
    """Return ``time`` or ``position`` if correlated noise depends on it, else ''."""
    more, slope = fitted.noise_sample.compute_colour(channel)
    if more < RED or slope < DRIFT:
        return ''
    problem = fitted.problem
    position = problem.predict_rows(fitted.x)[problem.mask[:, channel], channel]
    residual = fitted.noise_sample.residual[places]
    together = [
        np.var([part.mean() for part in np.array_split(values, 40)])
        for values in (residual, residual[np.argsort(position)])
    ]
    return 'time' if together[0] > together[1] else 'position'


def _has_two_groups(fitted: Fitted, channel: int, places: Index) -> bool:
    """Whether residuals are skew or flatter than Gaussian noise, but not by rounding."""
    known = fitted.residual[places][fitted.weight[places] > 0.0]
    problem = fitted.problem
    sides = [problem.model.measured[:, channel], *problem.model.given.T]
    noise, travel = (
        float(problem.scales[channel]),
        float(np.nanmax(sides[0]) - np.nanmin(sides[0])),
    )
    if len(known) < ROWS_OF_A_SHAPE or any(
        _is_rounded(values, noise * float(np.ptp(values)) / travel) for values in sides
    ):
        return False
    stats = optional('scipy.stats', 'calibrate')
    # Two-sided: the one-sided test errs for a very flat distribution.
    flat = stats.kurtosistest(known).pvalue if stats.kurtosis(known) < 0.0 else 1.0
    return bool(min(flat, stats.skewtest(known).pvalue) < 0.1 * MISFIT_LEVEL)


def _is_rounded(values: Array, noise: float) -> bool:
    """Whether values are multiples of one step that is as large as the noise."""
    known = np.unique(values[np.isfinite(values)])
    steps = np.diff(known)
    steps = steps[steps > 1e-9 * max(float(np.abs(known).max(initial=0.0)), 1e-12)]
    if len(steps) < 5:
        return True
    ratio = steps / steps.min()
    regular = float(np.mean(np.abs(ratio - np.round(ratio)) < 0.01 * np.round(ratio)))
    return regular > 0.95 and bool(steps.min() > noise)
