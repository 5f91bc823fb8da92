# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Does the model fit? Residuals by their size, against position, direction and time, and as noise.

Shapes that a good fit leaves nothing of are tested beside the model. What is there by more than
chance is lack of fit, and the shape tells a cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transmission_bridge.tools.calibration.results import when
from transmission_bridge.tools.calibration.selection import Fitted
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index

__all__ = ['misfits']

#: Chance that anything is said of a model that fits.
MISFIT_LEVEL = 0.002

#: Share of rows without influence from which it is not known which of them are right, and how many
#: of these that follow each other are no accidents of single measurements.
MANY_OUTLIERS, LONG_RUN = 0.1, 6

#: A residual of more than this share of the motion is no noise of a measurement.
ONE_SIZE = 0.3

#: Share of the residual that one jump explains if it was one.
ONE_JUMP = 0.75

#: Rows from which the shape of a distribution is known.
ROWS_OF_A_SHAPE = 100

#: Exponent of noise between that of pink noise and of a random walk, and how much more of it there
#: is in the slowest than in the quickest, where it is drift rather than noise.
DRIFT, RED = 1.5, 100.0

_CAUSES = {
    'position': 'position{}: an elastic part that is loaded, an encoder that is not linear, or a '
    'mechanism that is of another type or has another dimension than described. Mend the '
    'description, or describe what is the same in every recording as a measured curve '
    '(TabulatedTransmission)',
    'direction': 'the direction of motion{}: friction against an elastic part, or a backlash that '
    'is not the same everywhere. Measure slowly, and come to each pose from one side',
    'acceleration': 'acceleration{}: an elastic part, or a filter in one of the encoders. Measure '
    'more slowly',
}

_DRIFT = (
    'the residual wanders with time{}: drift (temperature, a reference that moves, a belt that '
    'creeps) or slips. Record again for a shorter time, or cut the recording into parts and '
    'compare them'
)


def misfits(fitted: Fitted, time: Array, *, timed: bool) -> list[str]:
    """
    Return sentences about what the model does not explain, the likeliest cause of each channel.

    :param time: Of the rows.
    :param timed: Whether it is in seconds.
    """
    problem = fitted.problem
    rows = np.nonzero(problem.mask)[0]
    names = problem.model.channels
    used = [(c, places) for c, places in enumerate(fitted.channels) if len(places)]
    found = [
        f"'{names[channel]}': {sentence}"
        for channel, places in used
        for sentence in _sizes(fitted, channel, places, time[rows[places]], timed=timed)
    ]
    if found or not fitted.shapes:
        return found  # shapes of what is disturbed say nothing more
    tested = []
    for shape in fitted.shapes:
        chance, added = fitted.test(shape)
        if chance < MISFIT_LEVEL / len(fitted.shapes):
            tested.append((float(np.std(added[fitted.channels[shape.channel]])), shape))
    floor = problem.floor()
    for channel, places in used:
        scale = float(problem.scales[channel])
        if scale <= 1.0001 * floor[channel]:
            continue  # exact
        own = [(size, shape.name) for size, shape in tested if shape.channel == channel]
        size, what = max(own, default=(0.0, ''))
        if not what and fitted.ordered:
            what = _memory(fitted, channel, places)
        tail = f' ({scale * size:.2g} rms)' if size else ''
        if what == 'time':
            jump = _jump(fitted, channel, places, time[rows[places]], timed=timed)
            found.append(f"'{names[channel]}': {jump or _DRIFT.format(tail)}")
        elif what:
            cause = _CAUSES[what].format(tail)
            found.append(f"'{names[channel]}': the residual depends on {cause}")
        elif _in_heaps(fitted, channel, places):
            found.append(
                f"'{names[channel]}': the residuals are in two heaps: part of the measurements is "
                'shifted, so it is not known which are right. Look at --report, and leave out '
                'what was disturbed'
            )
    return found


def _sizes(
    fitted: Fitted, channel: int, places: Index, time: Array, *, timed: bool
) -> Iterator[str]:
    """Yield what the sizes of residual, motion and outliers tell."""
    problem = fitted.problem
    noise = float(problem.scales[channel])
    motion = float(np.std(problem.model.measured[problem.mask[:, channel], channel]))
    position = problem.predicted(fitted.x)[problem.mask[:, channel], channel]
    if noise > ONE_SIZE * motion and len(places) > 2 and np.ptp(position) > 0.0:
        yield (
            f'the residual ({noise:.2g}) is as large as its motion ({motion:.2g}): the model '
            'explains nothing of its motion, or next to nothing. Are these the columns of this '
            'transmission, and measured at the same times?'
        )
        return
    outlier = (fitted.weight[places] == 0.0) & np.isfinite(fitted.residual[places])
    ends = np.flatnonzero(np.diff(np.concatenate([[0], outlier.astype(int), [0]])))
    longest = int(np.max(np.diff(ends)[::2], initial=0))
    if outlier.sum() > MANY_OUTLIERS * len(places) or (fitted.ordered and longest >= LONG_RUN):
        yield (
            fitted.ordered and _jump(fitted, channel, places, time, timed=timed)
        ) or (
            f'{outlier.sum()} of {len(places)} measurements do not fit the others '
            f'({when(time, outlier, timed=timed)}), so it is not known which are right: look at '
            '--report, and leave out what was disturbed'
        )  # fmt: skip


def _jump(fitted: Fitted, channel: int, places: Index, time: Array, *, timed: bool) -> str:
    """Return a sentence if a change for good explains most of the residual, else nothing."""
    known = np.isfinite(fitted.residual[places])
    basis, _ = np.linalg.qr(fitted.columns[places][known, : len(fitted.x)])
    residual = fitted.residual[places][known]
    residual = residual - basis @ (basis.T @ residual)
    # Of a step at each row: its product with the residual, and the square that is left of it.
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


def _memory(fitted: Fitted, channel: int, places: Index) -> str:
    """Return what rows have in common that err alike, ``time`` or ``position``, if they do."""
    more, slope = fitted.sample.colour(channel)
    if more < RED or slope < DRIFT:
        return ''
    position = fitted.problem.predicted(fitted.x)[fitted.problem.mask[:, channel], channel]
    residual = fitted.sample.residual[places]
    together = [
        np.var([part.mean() for part in np.array_split(values, 40)])
        for values in (residual, residual[np.argsort(position)])
    ]
    return 'time' if together[0] > together[1] else 'position'


def _in_heaps(fitted: Fitted, channel: int, places: Index) -> bool:
    """Whether the residuals are skew, or flatter than Gaussian noise, and no rounding is."""
    known = fitted.residual[places][fitted.weight[places] > 0.0]
    problem = fitted.problem
    sides = [problem.model.measured[:, channel], *problem.model.given.T]
    noise, way = float(problem.scales[channel]), float(np.nanmax(sides[0]) - np.nanmin(sides[0]))
    if len(known) < ROWS_OF_A_SHAPE or any(
        _is_rounded(values, noise * float(np.ptp(values)) / way) for values in sides
    ):
        return False
    stats = optional('scipy.stats', 'calibrate')
    # Of both sides: the test to one side errs where a distribution is very flat.
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
