# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The estimator: robust starts, slips as levels of their own, an efficient end.

1. Ratios of the wrong sense are turned round (a solver would have to pass infinity), and wrong
   orders of size are mended.
2. A fit with one level per block of rows, by soft L1: within a block no slip disturbs. What a
   linear relation cannot explain is taken for noise here, and numbers behind it are left alone.
3. Slips of the residuals are found, and the numbers fitted with a level per segment between them,
   until the slips stay where they are.
4. An MM estimate: Tukey's biweight from there, with the scale of the noise as it is.

The offset of the longest segment, or of the first or last one if asked for, is the offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import itertools
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.fit import Labels, Levels, Problem, Solution
from transmission_bridge.tools.calibration.identify import identifiable, Kept, order_of
from transmission_bridge.tools.calibration.model import NoisySide, TransmissionModel
from transmission_bridge.tools.calibration.motion import blocks, linear_noise, Motion, motion_of
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.robust import biweight_loss, known_median, spread
from transmission_bridge.tools.calibration.slips import find_slips
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Mask

__all__ = ['Estimate', 'OffsetOf', 'estimate', 'rough_start', 'soft_fit']

#: Other sizes and senses of one ratio that are tried out.
FACTORS = tuple(sense * 10.0 ** (half / 2.0) for sense in (1.0, -1.0) for half in range(-6, 7))

#: Share of the misfit below which another start is better than that of the description.
BETTER = 0.9

#: Ratios whose senses are tried out together.
MOST_TURNED = 6

#: Misfit of a row that cannot be predicted, in typical motions.
UNPREDICTED = 2.0


def rough_start(model: TransmissionModel, mask: Mask, order: Sequence[int]) -> Array:
    """
    Return the described values, with other ratios where these fit clearly better.

    Neither offsets nor slips matter: what counts are motions within blocks of rows.

    :param mask: Which measurements count, shape ``(rows, channels)``.
    :param order: Places of the tunables that may be changed.
    """
    ratios = [
        place
        for place in order
        if model.tunables[place].nonzero
        and model.tunables[place].minimum is None
        and model.tunables[place].maximum is None
    ][:MOST_TURNED]
    block = blocks(len(mask))
    motion = np.abs(_within_blocks(np.where(mask, model.measured, np.nan), block))

    def misfit(values: Array) -> float:
        residual = np.where(mask, model.measured - model.predicted(values), np.nan)
        rest = np.abs(_within_blocks(residual, block))
        cost = 0.0
        for place, chosen in enumerate(mask.T):
            size = float(np.mean(motion[chosen, place])) if chosen.any() else 0.0
            if size > 0.0:
                share = rest[chosen, place] / size
                cost += float(np.mean(np.where(np.isfinite(share), share, UNPREDICTED)))
        return cost

    best = model.nominal
    least = misfit(best)
    senses = itertools.product((1.0, -1.0), repeat=len(ratios))
    rounds = [[(ratios, factors) for factors in senses]]
    rounds += [[([place], (factor,)) for factor in FACTORS] for place in ratios]
    for trials in rounds:
        start = best
        for places, factors in trials:
            trial = start.copy()
            trial[places] *= factors
            cost = misfit(trial)
            if cost < BETTER * least:
                best, least = trial, cost
    return best


def _within_blocks(values: Array, block: Labels) -> Array:
    """Return the columns less the median of each block."""
    rest: Array = values.copy()
    for label in np.unique(block):
        chosen = block == label
        rest[chosen] -= np.array([known_median(column) for column in values[chosen].T])
    return rest


#: Fits with a scale that comes down, and from how much more than the noise it does.
COOLINGS, HOT = 6, 3.0


def soft_fit(problem: Problem, values: Array) -> Solution:
    """
    Fit by soft L1, from levels that are the medians of their rows.

    Far from the solution every residual is an outlier, and a robust loss knows no direction: the
    scale comes down from that of the residuals.
    """
    model, mask, levels = problem.model, problem.mask, problem.levels
    residual = np.where(mask, model.measured - model.predicted(values), np.nan)
    start = []
    for channel, label in levels.fitted:
        of_label = levels.labels[:, channel]
        level = known_median(residual[of_label == label, channel])
        if (channel, 0) not in levels.fitted:  # the offset takes that of the reference
            level -= known_median(residual[of_label == 0, channel])
        start.append(level)
    solution = Solution(values, np.array(start))
    for _ in range(COOLINGS):
        rest = model.measured - model.predicted(solution.values) - levels.added(solution.levels)
        found = [spread(column[chosen]) for column, chosen in zip(rest.T, mask.T, strict=True)]
        if np.all(np.array(found) <= HOT * problem.scales):
            break
        warm = np.maximum(found, problem.scales)
        solution = Problem(model, problem.free, levels, mask, warm).solved(solution, 'soft_l1')
    return problem.solved(solution, 'soft_l1')


OffsetOf = Literal['longest', 'first', 'last']

#: Rounds of finding slips and fitting; two or three are usual.
ROUNDS = 8

#: Noise is taken to be at least this share of the size of what is measured: rounding.
ROUNDING = 1e-10

#: Rows of the first fit, which only prepares.
ROWS_BY_BLOCKS = 2000


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    The end of a fit.

    :param model: The transmission as a function of its numbers.
    :param motions: Per joint.
    :param problem: The last problem, with all of its measurements.
    :param solution: Its solution.
    :param kept: Why numbers were not fitted, by place of the tunable.
    :param stops: Per channel the rows with which segments after a slip begin.
    """

    model: TransmissionModel
    motions: tuple[Motion, ...]
    problem: Problem
    solution: Solution
    kept: dict[int, Kept]
    stops: tuple[tuple[int, ...], ...]


def estimate(
    binding: Binding,
    pairs: Pairs,
    *,
    noisy: NoisySide,
    is_fixed: Callable[[str], bool],
    offset_of: OffsetOf,
    numbers: Mapping[ParameterPath, float] | None = None,
) -> Estimate:
    """
    Fit the numbers of one transmission.

    :param pairs: Measurements, columns in role order.
    :param noisy: The side with the noise.
    :param is_fixed: Whether the user keeps a number, by its name below the transmission.
    :param offset_of: Which segment's offset is the offset where there are slips.
    :param numbers: Values to begin with instead of those of the description.
    """
    expected = binding.transmission.actuator_to_joint('position', pairs.actuators)
    motions = tuple(
        motion_of(pairs.actuators, pairs.joints[:, place], expected[:, place])
        for place in range(pairs.joints.shape[1])
    )
    model = TransmissionModel(binding, pairs.actuators, pairs.joints, noisy=noisy, numbers=numbers)
    mask = _usable(model, binding, pairs, motions, noisy)
    fitter = _Fitter(model, mask, binding.transmission.is_constant, is_fixed, offset_of)
    return fitter.run(motions)


def _usable(
    model: TransmissionModel,
    binding: Binding,
    pairs: Pairs,
    motions: tuple[Motion, ...],
    noisy: NoisySide,
) -> Mask:
    """Return which measurements say something about the transmission."""
    known = np.asarray(np.isfinite(model.measured))
    stuck = [place for place, motion in enumerate(motions) if motion is Motion.STUCK]
    if noisy == 'joint':
        known[:, stuck] = False
        return known
    complete = np.isfinite(pairs.joints).all(axis=1, keepdims=True)
    known &= complete
    if stuck:
        # Actuators of which a stuck joint would be a part cannot be predicted.
        jacobian = binding.transmission.jacobian(pairs.actuators)
        with np.errstate(all='ignore'):
            back = np.abs(np.linalg.pinv(np.nan_to_num(jacobian)))
        depends = (back[..., stuck] > 1e-12 * back.max()).any(axis=(0, 2))
        known[:, depends] = False
    return known


class _Fitter:
    """The steps of one fit; what stays the same through them."""

    def __init__(
        self,
        model: TransmissionModel,
        mask: Mask,
        is_constant: bool,
        is_fixed: Callable[[str], bool],
        offset_of: OffsetOf,
    ) -> None:
        self._model, self._mask, self._offset_of = model, mask, offset_of
        fixed = [is_fixed('.'.join(tunable.path)) for tunable in model.tunables]
        order = order_of(model.tunables, is_constant=is_constant)
        self._order = [place for place in order if not fixed[place]]
        self._fixed = {place: Kept('fixed') for place in range(len(fixed)) if fixed[place]}
        with np.errstate(all='ignore'):
            sizes = [
                float(np.max(np.abs(column[chosen]), initial=0.0))
                for column, chosen in zip(model.measured.T, mask.T, strict=True)
            ]
        self._floor = ROUNDING * np.maximum(sizes, 1e-6)

    def run(self, motions: tuple[Motion, ...]) -> Estimate:
        values = rough_start(self._model, self._mask, self._order)
        none = Levels(np.zeros(self._mask.shape, dtype=np.intp))
        columns = np.where(self._mask, self._model.measured, np.nan).T
        noise = [linear_noise(self._model.given, column) for column in columns]
        scales = np.maximum(noise, self._floor)
        free, _ = self._choice(values, none, scales, self._order)
        # What can be told is judged here first, not where numbers that cannot be told wander to.
        judged_at = values
        values, scales = self._by_blocks(values, free, scales)
        stops: tuple[tuple[int, ...], ...] = ()
        before: object = None
        levels, start = none, Solution(values, np.empty(0))
        kept: dict[int, Kept] = {}
        order = self._order
        for _ in range(ROUNDS):
            stops = self._slips(start.values, scales)
            levels = self._segments(stops)
            free, now_kept = self._choice(judged_at, levels, scales, order)
            kept = {**kept, **now_kept}
            if (stops, free) == before:
                break
            before = (stops, free)
            # What was let go stays so, or the rounds would not end.
            order = [place for place in order if place in free]
            values = self._model.nominal.copy()
            values[free] = start.values[free]
            start = soft_fit(Problem(self._model, free, levels, self._mask, scales), values)
            judged_at = start.values
            residual = self._residual(start.values) - levels.added(start.levels)
            scales = self._spreads(np.where(self._mask, residual, np.nan), len(free))
        problem = Problem(self._model, free, levels, self._mask, scales)
        solution = problem.solved(start, biweight_loss)
        return Estimate(self._model, motions, problem, solution, kept, stops)

    def _residual(self, values: Array) -> Array:
        return np.asarray(self._model.measured - self._model.predicted(values))

    def _spreads(self, residual: Array, fitted: int) -> Array:
        """Return the standard deviation of the noise per channel."""
        spreads = np.array([spread(column, fitted=fitted) for column in residual.T])
        return np.asarray(np.maximum(spreads, self._floor))

    def _choice(
        self, values: Array, levels: Levels, scales: Array, order: Sequence[int]
    ) -> tuple[list[int], dict[int, Kept]]:
        every = range(len(self._model.tunables))
        slopes = (self._model.slopes(values, every) / scales[:, np.newaxis])[self._mask]
        beside = levels.slopes()[self._mask]
        free, kept = identifiable(self._model, values, slopes, beside, order)
        return free, {**kept, **self._fixed}

    def _by_blocks(self, values: Array, free: list[int], scales: Array) -> tuple[Array, Array]:
        """Fit with a level per block, so that neither offsets nor slips matter."""
        count = len(self._mask)
        rows = np.linspace(0, count - 1, min(count, ROWS_BY_BLOCKS)).astype(np.intp)
        block = blocks(len(rows))
        if len(rows) == 0:
            return values, scales
        model, mask = self._model.at_rows(rows), self._mask[rows]
        labels = np.repeat(block[:, np.newaxis], mask.shape[1], axis=1)
        fitted = tuple(
            (channel, label)
            for channel in np.flatnonzero(mask.any(axis=0)).tolist()
            for label in np.unique(block[mask[:, channel]]).tolist()
        )
        tunables = model.tunables
        ratios = [place for place in free if tunables[place].path[-1] != 'offset']
        problem = Problem(model, ratios, Levels(labels, fitted), mask, scales)
        solution = soft_fit(problem, values)
        residual = model.measured - model.predicted(solution.values)
        residual = np.where(mask, residual - problem.levels.added(solution.levels), np.nan)
        return solution.values, self._spreads(residual, len(free) + int(block[-1]))

    def _slips(self, values: Array, scales: Array) -> tuple[tuple[int, ...], ...]:
        residual = self._residual(values)
        found = []
        for column, chosen, scale in zip(residual.T, self._mask.T, scales, strict=True):
            rows = np.flatnonzero(chosen & np.isfinite(column))
            slips = find_slips(column[rows], float(scale))
            found.append(tuple(int(rows[slip]) for slip in slips))
        return tuple(found)

    def _segments(self, stops: tuple[tuple[int, ...], ...]) -> Levels:
        """Return a level for each segment but the one whose offset is the offset."""
        labels = np.zeros(self._mask.shape, dtype=np.intp)
        fitted = []
        for channel, slips in enumerate(stops):
            segment = np.searchsorted(slips, np.arange(len(labels)), side='right')
            rows = np.bincount(segment[self._mask[:, channel]], minlength=len(slips) + 1)
            reference = {
                'longest': int(np.argmax(rows)), 'first': 0, 'last': len(slips),
            }[self._offset_of]  # fmt: skip
            # Label 0 is the reference, whatever its place in time.
            numbers = [*range(1, reference + 1), 0, *range(reference + 1, len(slips) + 1)]
            labels[:, channel] = np.array(numbers)[segment]
            fitted += [(channel, label) for label in range(1, len(slips) + 1)]
        return Levels(labels, tuple(fitted))
