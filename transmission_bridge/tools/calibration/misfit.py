# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Does the model fit? Residuals against position, direction, time, and their neighbours.

Shapes that a good fit leaves nothing of are fitted to the residual beside the model, with the test
of the physical terms. What fits better than chance is lack of fit, and the shape tells a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import play
from transmission_bridge.tools.calibration.selection import Fitted
from transmission_bridge.tools.calibration.statistics import (
    BLOCKS,
    FEWEST_BLOCKS,
    fit_linear,
)
from transmission_bridge.types import Array, Index

__all__ = ['TWO_HEAPS', 'heaps', 'misfits']

#: Chance that anything is said of a model that fits.
MISFIT_LEVEL = 0.005

#: Correlation of neighbouring blocks, times the root of their number, that is not by chance.
ALIKE = 3.3

#: Share of rows without influence from which it is not known which of them are right.
MANY_OUTLIERS = 0.1

#: Rows without influence that follow each other are no accidents of single measurements.
LONG_RUN = 6

#: A residual of more than this share of the motion is no noise of a measurement.
ONE_SIZE = 0.3

#: Rows from which the shape of a distribution is known, and the difference of log likelihoods
#: that two heaps are told from one by.
_ROWS_OF_A_SHAPE, TWO_HEAPS = 100, 12.0


_CURVE = (
    'Mend the description, or describe what is the same in every recording as a measured curve '
    '(TabulatedTransmission)'
)
_POSITION = (
    'an elastic part that is loaded, an encoder that is not linear, or a mechanism that is of '
    f'another type or has another dimension than described. {_CURVE}'
)
_OVAL = f'a universal joint, or an encoder or wheel that is not round. {_CURVE}'


@dataclass(frozen=True, eq=False)
class _Channel:
    """
    One channel's measurements.

    :param place: The channel.
    :param noise: Standard deviation [rad or m].
    :param chosen: Where they stand among all measurements that were fitted.
    :param row: Their rows of the recording.
    :param position: What is predicted.
    :param residual: In standard deviations.
    :param is_rounded: Whether the noise is the rounding of an encoder.
    """

    place: int
    name: str
    noise: float
    chosen: Index
    row: Index
    position: Array
    residual: Array
    weight: Array
    is_rounded: bool


def misfits(fitted: Fitted, *, ordered: bool, timed: bool) -> list[str]:
    """
    Return sentences about what the model does not explain, the likeliest cause first.

    :param ordered: Whether the order of the rows is that of the motion.
    """
    channels = list(_channels(fitted))
    found = []
    for channel in channels:
        found += _sizes(fitted, channel, ordered=ordered, timed=timed)
    if found:
        return found  # shapes of what is disturbed say nothing more
    floor = fitted.problem.floor()
    channels = [c for c in channels if c.noise > 1.0001 * floor[c.place]]
    if fitted.rows.blocks < FEWEST_BLOCKS or not channels:
        return found
    shapes = [
        (channel, what, columns)
        for channel in channels
        for what, columns in _shapes(fitted, channel, ordered=ordered)
    ]
    tested = []
    for channel, what, columns in shapes:
        chance, share, added = _test(fitted, columns)
        if chance < MISFIT_LEVEL / len(shapes):
            tested.append((chance, -share, what, channel, added))
    tested.sort(key=lambda each: each[1])
    said: set[str] = set()
    for _, share, what, channel, added in tested:
        if channel.name in said:
            continue  # one cause per channel: the likeliest
        said.add(channel.name)
        size = channel.noise * float(np.std(added[channel.chosen]))
        tail = f' ({size:.2g} rms, {-share:.0%} of its variance)'
        cause = (
            _in_time(fitted, channel, tail, timed=timed)
            if what == 'time'
            else (f'the residual depends on {_cause(what, tail)}')
        )
        found.append(f"'{channel.name}': {cause}")
    for channel in channels:
        if channel.name not in said:
            found += _rest(channel, ordered=ordered)
    return found


def _channels(fitted: Fitted) -> Iterator[_Channel]:
    problem = fitted.problem
    row, channel = np.nonzero(problem.mask)
    position = problem.predicted(fitted.state)[problem.mask]
    for place, name in enumerate(problem.model.channels):
        chosen = np.flatnonzero((channel == place) & np.isfinite(fitted.residual))
        if len(chosen):
            yield _Channel(
                place, name, float(problem.scales[place]), chosen, row[chosen], position[chosen],
                fitted.residual[chosen], fitted.rows.weight[chosen],
                _rounded(fitted, place, position[chosen]),
            )  # fmt: skip


def _rounded(fitted: Fitted, channel: int, position: Array) -> bool:
    """Whether rounding of an encoder on one of the sides is what is left as noise."""
    problem = fitted.problem
    noise = float(problem.scales[channel])
    if _is_rounded(problem.model.measured[problem.mask[:, channel], channel], noise):
        return True
    for values in problem.model.given.T:
        way = float(np.ptp(values))
        if way > 0.0 and np.ptp(position) > 0.0:
            ratio = way / float(np.ptp(position))
            if _is_rounded(values, noise * ratio):
                return True
    return False


def _sizes(fitted: Fitted, channel: _Channel, *, ordered: bool, timed: bool) -> list[str]:
    """Return what the sizes of residual, motion and outliers tell."""
    noise, column = channel.noise, fitted.problem.model.measured[channel.row, channel.place]
    motion = float(np.std(column))
    if noise > ONE_SIZE * motion and len(column) > 2 and np.ptp(channel.position) > 0.0:
        return [
            f"'{channel.name}': the residual ({noise:.2g}) is as large as its motion "
            f'({motion:.2g}): the model explains nothing of its motion, or next to nothing. Are '
            'these the columns of this transmission, and measured at the same times?'
        ]
    is_outlier = channel.weight == 0.0
    outliers = int(np.count_nonzero(is_outlier))
    ends = np.flatnonzero(np.diff(np.concatenate([[0], is_outlier.astype(int), [0]])))
    longest = int(np.max(np.diff(ends)[::2], initial=0))
    if outliers > MANY_OUTLIERS * len(channel.chosen) or (ordered and longest >= LONG_RUN):
        jump = _jump(fitted, channel, timed=timed) if ordered else ''
        if jump:
            return [f"'{channel.name}': {jump}"]
        return [
            f"'{channel.name}': {outliers} of {len(channel.chosen)} measurements do not fit the "
            'others, so it is not known which are right: look at --report, and leave out what '
            'was disturbed'
        ]
    return []


def _shapes(fitted: Fitted, channel: _Channel, *, ordered: bool) -> Iterator[tuple[str, Array]]:
    """Yield names and columns of what a residual may depend on."""
    rows = len(fitted.residual)

    def columns(values: Sequence[Array]) -> Array:
        whole = np.zeros((rows, len(values)))
        whole[channel.chosen] = np.stack(values, axis=1)
        return whole

    low, high = channel.position.min(), channel.position.max()
    if high > low:
        x = 2.0 * (channel.position - low) / (high - low) - 1.0
        powers = [np.polynomial.legendre.Legendre.basis(n)(x) for n in range(7)]
        yield 'position', columns(powers[2:])
        if high - low > 1.0:
            turn = 2.0 * channel.position
            yield 'half turn', columns([np.sin(turn), np.cos(turn)])
        if ordered:
            side = play(channel.position, 3.0 * channel.noise)
            yield 'direction', columns([side * power for power in powers[:3]])
    for values in fitted.problem.model.given.T:
        if np.ptp(values) > 2.0 * np.pi:
            turn = 2.0 * values[channel.row]
            yield 'half turn of the other side', columns([np.sin(turn), np.cos(turn)])
    if not ordered:
        return
    u = np.linspace(0.0, np.pi, len(channel.chosen))
    yield 'time', columns([np.cos(k * u) for k in range(1, 7)])
    if fitted.problem.time is not None and high > low:
        time = fitted.problem.time[channel.row]
        with np.errstate(all='ignore'):
            rate = np.gradient(np.gradient(channel.position, time), time)
        if np.isfinite(rate).all():
            yield 'acceleration', columns([rate])


def _test(fitted: Fitted, columns: Array) -> tuple[float, float, Array]:
    """Return the chance of a shape, the share of the residual that it explains, and the shape."""
    own = fitted.columns[:, : fitted.size]
    root = np.sqrt(fitted.rows.weight)[:, np.newaxis]
    basis, _ = np.linalg.qr(own * root) if own.shape[1] else (np.empty((len(root), 0)), None)
    before = np.linalg.norm(columns * root, axis=0)
    rest = columns * root - basis @ (basis.T @ (columns * root))
    rest = rest / np.where(before > 0.0, before, 1.0)
    vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    new = vectors[:, sizes > 0.01] / np.where(root > 0.0, root, np.inf)
    if not new.shape[1]:
        return 1.0, 0.0, np.zeros(len(root))
    residual = np.where(np.isfinite(fitted.residual), fitted.residual, 0.0)
    trial = fit_linear(np.concatenate([own, new], axis=1), residual, fitted.rows)
    without = float(fitted.rows.weight @ residual**2)
    added = new @ trial.values[own.shape[1] :]
    share = 1.0 - trial.squares / without if without > 0.0 else 0.0
    return trial.chance(own.shape[1]), share, added


def _cause(what: str, tail: str) -> str:
    return {
        'position': f'position{tail}: {_POSITION}',
        'half turn': f'position, twice per turn{tail}: {_OVAL}',
        'half turn of the other side': f'the other side, twice per turn{tail}: {_OVAL}',
        'direction': f'the direction of motion{tail}: friction against an elastic part, or a '
        'backlash that is not the same everywhere. Measure slowly, and come to each pose from '
        'one side',
        'acceleration': f'acceleration{tail}: an elastic part, or a filter in one of the '
        'encoders. Measure more slowly',
    }[what]  # fmt: skip


def _in_time(fitted: Fitted, channel: _Channel, tail: str, *, timed: bool) -> str:
    """Return whether something slipped or drifted, by which of the two explains more."""
    return _jump(fitted, channel, timed=timed) or (
        f'the residual wanders with time{tail}: drift (temperature, a reference that moves, a '
        'belt that creeps) or slips. Record again for a shorter time, or cut the recording into '
        'parts and compare them'
    )


#: Share of the residual that one jump explains if it was one, and places that are tried at once.
ONE_JUMP, PLACES = 0.75, 80


def _jump(fitted: Fitted, channel: _Channel, *, timed: bool) -> str:
    """Return a sentence if a change for good explains most of the residual, else nothing."""
    own = fitted.columns[channel.chosen, : fitted.size]
    basis, _ = np.linalg.qr(own) if own.shape[1] else (np.empty((len(own), 0)), None)
    residual = channel.residual - basis @ (basis.T @ channel.residual)
    n = len(residual)
    first, last = max(2, n // 100), n - max(2, n // 100)
    best, gain, size = 0, 0.0, 0.0
    for _ in range(2):
        for place in np.unique(np.linspace(first, last, PLACES).astype(np.intp)).tolist():
            step = (np.arange(n) >= place).astype(np.float64)
            step -= basis @ (basis.T @ step)
            square = float(step @ step)
            along = float(step @ residual)
            if square > 1e-9 and along * along / square > gain:
                best, gain, size = place, along * along / square, along / square
        first, last = max(first, best - n // PLACES), min(last, best + n // PLACES)
    if gain < ONE_JUMP * float(residual @ residual):
        return ''
    problem = fitted.problem
    row = int(channel.row[best])
    is_timed = timed and problem.time is not None
    where = f't = {problem.time[row]:.6g} s' if is_timed else f'row {row + 1}'  # type: ignore[index]
    jump = size * channel.noise
    return (
        f'it jumps by {jump:+.3g} near {where}: a coupling or an encoder slipped. Cut the '
        'recording there and calibrate with one part'
    )


def _rest(channel: _Channel, *, ordered: bool) -> list[str]:
    """Return what has no shape that is tried, but is not noise."""
    residual = np.where(channel.weight > 0.0, channel.residual, np.nan)
    orders = [('position', np.argsort(channel.position, kind='stable'))]
    if ordered:
        orders.append(('time', np.arange(len(residual))))
    for what, order in orders:
        means = np.array(
            [
                np.nanmean(part) if np.isfinite(part).any() else 0.0
                for part in np.array_split(residual[order], BLOCKS)
            ]
        )
        means = means - means.mean()
        total = float(means @ means)
        if len(residual) < 4 * BLOCKS or total == 0.0:
            continue
        alike = float(means[1:] @ means[:-1]) / total
        if alike * math.sqrt(BLOCKS) > ALIKE:
            return [
                f"'{channel.name}': rows that are near each other in {what} err alike: "
                + (_POSITION if what == 'position' else 'something is not in the model')
                + '. Look at the residuals (--report)'
            ]
    known = residual[np.isfinite(residual)]
    is_shape_known = len(known) >= _ROWS_OF_A_SHAPE and not channel.is_rounded
    if is_shape_known and heaps(known) > TWO_HEAPS:
        return [
            f"'{channel.name}': the residuals are in two heaps: part of the measurements is "
            'shifted, so it is not known which are right. Look at --report, and leave out what '
            'was disturbed'
        ]
    return []


def heaps(values: Array) -> float:
    """
    Return how much better two heaps explain values than one, as a difference of log likelihoods.

    Two normal distributions of one width (fitted by expectation and maximisation), as if so many
    rows were independent as neighbours that err alike leave.
    """
    n = len(values)
    unit = (values - values.mean()) / max(float(values.std()), 1e-300)
    alike = max(float(unit[1:] @ unit[:-1]) / n, 0.0)
    best = 0.0
    for share in (0.2, 0.5, 0.8):
        limit = np.quantile(unit, share)
        first = (unit <= limit).astype(np.float64)
        likelihood = 0.0
        for _ in range(40):
            weight = float(np.clip(first.mean(), 0.02, 0.98))
            low = float(first @ unit) / (weight * n)
            high = float((1.0 - first) @ unit) / ((1.0 - weight) * n)
            square = first * (unit - low) ** 2 + (1.0 - first) * (unit - high) ** 2
            width = max(float(square.mean()), 1e-3)
            heaps = np.stack(
                [
                    weight * np.exp(-0.5 * (unit - low) ** 2 / width),
                    (1.0 - weight) * np.exp(-0.5 * (unit - high) ** 2 / width),
                ]
            )
            total = heaps.sum(axis=0) + 1e-300
            first = heaps[0] / total
            likelihood = float(np.log(total).sum()) - 0.5 * n * math.log(width)
        best = max(best, likelihood + 0.5 * n)
    return best * (1.0 - alike) / (1.0 + alike)


def _is_rounded(values: Array, step_seen: float) -> bool:
    """
    Whether values are multiples of one step that is as large as the noise.

    :param step_seen: Noise in the unit of the values.
    """
    known = np.unique(values[np.isfinite(values)])
    steps = np.diff(known)
    steps = steps[steps > 1e-9 * max(float(np.abs(known).max(initial=0.0)), 1e-12)]
    if len(steps) < 5:
        return True
    ratio = steps / steps.min()
    regular = float(np.mean(np.abs(ratio - np.round(ratio)) < 0.01 * np.round(ratio)))
    return regular > 0.95 and bool(steps.min() > step_seen)
