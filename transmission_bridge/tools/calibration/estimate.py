# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From paired measurements of one transmission to a fit that has been doubted.

1. Of each rest one row counts, with the median of what was measured.
2. Fits from several starts, with all numbers that are not exact combinations of others. What the
   recording cannot tell is held near the description, as much as that is plausibly right.
3. The best of them is refined with Tukey's biweight, and physical terms are looked for.
4. What is left is tested (:mod:`~transmission_bridge.tools.calibration.misfit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import FEWEST_ROWS, Problem, solved, spread
from transmission_bridge.tools.calibration.identify import identifiable, Kept, order_of
from transmission_bridge.tools.calibration.misfit import misfits
from transmission_bridge.tools.calibration.model import (
    is_joint_offset,
    NoisySide,
    TransmissionModel,
)
from transmission_bridge.tools.calibration.motion import Motion, motion_of, rests
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.selection import (
    candidates,
    closely,
    Fitted,
    Intervals,
    intervals,
    selected,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Index, Mask

__all__ = ['Estimate', 'estimate']

#: Rows of the fits from several starts.
ROWS_OF_STARTS = 120

#: Starts with dimensions that are exchanged, and with such that are spread over the plausible.
SPREADS = 4

#: Dimensions from which neither is likely to meet another minimum.
MOST_SPREAD = 8

#: Fits with a scale of the noise that comes down, and how much less numbers are held in them.
COOLINGS, LOOSE = 4, 3.0

#: Leverage of a row that has as much to say of a number as all others.
LONE = 0.5

#: Another minimum is as good if its residual is not larger than this many times the best one.
AS_GOOD = 1.05

#: Other sizes of a ratio that are tried out with both senses, and ratios whose senses are tried
#: out together.
FACTORS, MOST_TURNED = tuple(10.0 ** (half / 2.0) for half in range(-6, 7)), 6


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    The end of a fit.

    :param motions: Per joint.
    :param kept: Why numbers were not fitted, by place of the tunable.
    :param rivals: Other values of all numbers that fit as well.
    :param misfits: Sentences about what the model does not explain.
    :param known: How well the numbers are known.
    """

    fitted: Fitted
    motions: tuple[Motion, ...]
    kept: dict[int, Kept]
    rivals: tuple[Array, ...]
    misfits: tuple[str, ...]
    known: Intervals

    @property
    def model(self) -> TransmissionModel:
        """The transmission as a function of its numbers."""
        return self.fitted.problem.model


def estimate(
    binding: Binding,
    pairs: Pairs,
    *,
    noisy: NoisySide,
    is_fixed: Callable[[str], bool],
    numbers: Mapping[ParameterPath, float] | None = None,
    linear: frozenset[str] = frozenset(),
) -> Estimate:
    """
    Fit the numbers of one transmission.

    :param pairs: Measurements, columns in role order.
    :param noisy: The side with the noise.
    :param is_fixed: Whether the user keeps a number, by its name below the transmission.
    :param numbers: Values to begin with instead of those of the description.
    :param linear: Names of joints and actuators that do not turn.
    """
    positions = pairs.actuators, pairs.joints
    rest = rests(*(positions if noisy == 'joint' else positions[::-1]))
    moving = np.asarray(rest == np.arange(len(rest)))
    actuators, joints = (_still(side, rest) for side in positions)
    expected = binding.transmission.actuator_to_joint('position', actuators)
    motions = tuple(
        motion_of(actuators, joints[:, place], expected[:, place], moving)
        for place in range(joints.shape[1])
    )
    model = TransmissionModel(binding, actuators, joints, noisy=noisy, numbers=numbers)
    mask = _usable(model, binding, pairs, motions, noisy) & moving[:, np.newaxis]
    step = np.median(np.diff(pairs.time)) if len(pairs.time) > 1 else 0.0
    time = pairs.time if pairs.timed and step > 0.0 else None
    problem = Problem(model, mask, time, np.ones(mask.shape[1]))
    problem = replace(problem, scales=problem.floor())
    fixed = {
        place: Kept('fixed')
        for place, tunable in enumerate(model.tunables)
        if is_fixed('.'.join(tunable.path))
    }
    is_constant = binding.transmission.is_constant
    order = [p for p in order_of(model.tunables, is_constant=is_constant) if p not in fixed]
    every = replace(problem, free=tuple(range(len(model.tunables))))
    free, kept = identifiable(model, model.nominal, every.columns(model.nominal), order)
    problem = replace(problem, free=tuple(free))
    trials = _trials(problem, is_constant=is_constant)
    problem, x = _loosely(problem, trials[0][free])
    kept = _second_order(problem, x, kept)
    if not is_constant:
        problem = _without_lone_rows(problem, x)
    problem, x = closely(problem, x)
    sides = [
        [member.name not in linear for member in side]
        for side in (binding.spec.actuators, binding.spec.joints)
    ]
    given, measured = sides if noisy == 'joint' else sides[::-1]
    ordered = pairs.timed or int(mask.any(axis=1).sum()) >= FEWEST_ROWS
    fitted = selected(Fitted(problem, x, candidates(problem, x, (given, measured)), ordered))
    return Estimate(
        fitted, motions, {**kept, **fixed}, _rivals(fitted, trials[1:]),
        tuple(misfits(fitted, pairs.time, timed=pairs.timed)),
        intervals(fitted, _uncertain(fitted, kept)),
    )  # fmt: skip


def _still(side: Array, rest: Index) -> Array:
    """Return positions with the median of each rest in the row that stands for it."""
    found: Array = side.copy()
    rows, counts = np.unique(rest, return_counts=True)
    for row in rows[counts > 1].tolist():
        for column, values in enumerate(side[rest == row].T):
            known = values[np.isfinite(values)]
            if len(known):
                found[row, column] = np.median(known)
    return found


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
    known &= np.isfinite(pairs.joints).all(axis=1, keepdims=True)
    if stuck:
        # Actuators of which a stuck joint would be a part cannot be predicted.
        jacobian = binding.transmission.jacobian(pairs.actuators)
        with np.errstate(all='ignore'):
            back = np.abs(np.linalg.pinv(np.nan_to_num(jacobian)))
        depends = (back[..., stuck] > 1e-12 * back.max()).any(axis=(0, 2))
        known[:, depends] = False
    return known


def _changes(problem: Problem, x: Array, place: int, sign: float) -> Array:
    """Return what a plausible change of a number that is kept changes, NaN: not predicted."""
    model = problem.model
    size = float(model.plausible(model.nominal)[place])
    more = replace(problem, free=(*problem.free, place), terms=())
    numbers = np.append(x[: len(problem.free)], model.nominal[place])
    changed = np.append(numbers[:-1], numbers[-1] + sign * size)
    return more.residuals(numbers) - more.residuals(changed)


def _second_order(problem: Problem, x: Array, kept: dict[int, Kept]) -> dict[int, Kept]:
    """Return the reasons, with those numbers whose effect is of the second order."""
    return {
        place: Kept('second order')
        if reason.reason == 'no effect'
        and any(
            np.nanmax(np.abs(_changes(problem, x, place, sign)), initial=0.0) > 1e-3
            for sign in (1.0, -1.0)
        )
        else reason
        for place, reason in kept.items()
    }


def _uncertain(fitted: Fitted, kept: Mapping[int, Kept]) -> Array:
    """Return what plausible changes of the second order do, shape ``(measurements, kept)``."""
    changes = [
        np.nan_to_num(_changes(fitted.problem, fitted.x, place, 1.0))
        for place, reason in kept.items()
        if reason.reason == 'second order'
    ]
    return np.array(changes).reshape(len(changes), len(fitted.residual)).T


def _loosely(problem: Problem, x: Array) -> tuple[Problem, Array]:
    """Fit with a scale of the noise that comes down."""
    before = np.inf
    for _ in range(COOLINGS):
        problem = problem.rescaled(x)
        size = float(np.log(problem.scales).sum())
        if size > before - 0.02:
            break
        before = size
        x = solved(problem, x, loose=LOOSE)
    return problem.rescaled(x), x


def _without_lone_rows(problem: Problem, x: Array) -> Problem:
    """
    Leave out rows that would determine a number alone.

    Next to a dead centre slopes grow without bound, and so would the weight of a row there.
    """
    columns = np.concatenate([problem.columns(x), np.diag(problem.held(x))])
    sizes = np.linalg.norm(columns, axis=0)
    basis, _ = np.linalg.qr(columns / np.where(sizes > 0.0, sizes, 1.0))
    alone = (basis * basis).sum(axis=1)[: int(problem.mask.sum())] > LONE
    if not alone.any() or len(alone) < FEWEST_ROWS:
        return problem
    mask = problem.mask.copy()
    mask[mask] = ~alone
    return replace(problem, mask=mask)


def _trials(problem: Problem, *, is_constant: bool) -> list[Array]:
    """Return the ends of fits from several starts, the best one nearest the description first."""
    used = np.flatnonzero(problem.mask.any(axis=1))
    chosen = used[np.linspace(0, len(used) - 1, min(len(used), ROWS_OF_STARTS)).astype(np.intp)]
    few = problem.at_rows(chosen)
    begin = _starts(few, is_constant=is_constant)
    if len(begin) == 1:
        return begin
    nominal = problem.model.nominal
    sizes, ends = problem.model.sizes(nominal), []
    for values in begin:
        x = values[list(problem.free)]
        if not np.isfinite(few.residuals(x)).any():
            continue
        for _ in range(2):
            x = solved(few.rescaled(x), x, loose=10.0, steps=10)
        size = float(np.log(few.rescaled(x).scales).sum())
        values = few.values(x)
        ends.append((size, float(np.abs((values - nominal) / sizes).sum()), values))
    limit = min((end[0] for end in ends), default=0.0)
    limit += problem.mask.shape[1] * math.log(AS_GOOD)
    good = sorted((end for end in ends if end[0] <= limit), key=lambda end: end[1])
    return [values for _, _, values in good] or begin[:1]


def _starts(problem: Problem, *, is_constant: bool) -> list[Array]:
    """
    Return values to begin with, those of the description first.

    Ratios of other senses and sizes, where these fit clearly better. Where the ratio depends on
    position dimensions are exchanged and spread over half to twice their size as well.
    """
    model = problem.model
    first = _turned(problem)
    found = [first]
    if is_constant:
        return found
    if first is not model.nominal:
        found.append(model.nominal)
    own = [p for p in problem.free if not is_joint_offset(model.tunables[p])]
    if len(own) > MOST_SPREAD:
        return found
    alike = [
        [one, other]
        for one, other in itertools.combinations(own, 2)
        if model.tunables[one].unit == model.tunables[other].unit != ''
        and model.nominal[one]
        and model.nominal[other]
    ]
    for pair in alike:
        values = model.nominal.copy()
        values[pair] = values[pair[::-1]]
        found.append(values)
    random = np.random.default_rng(1)
    for _ in range(SPREADS):
        values = model.nominal.copy()
        values[own] *= 2.0 ** random.uniform(-1.0, 1.0, len(own))
        found.append(values)
    return found


def _turned(problem: Problem) -> Array:
    """Return the description, or what fits clearly better with ratios of another sense or size."""
    model = problem.model
    ratios = [
        place
        for place in problem.free
        if model.tunables[place].nonzero
        and model.tunables[place].minimum is None
        and model.tunables[place].maximum is None
    ][:MOST_TURNED]
    measured = np.where(problem.mask, model.measured, np.nan)

    def away(values: Array) -> Array:
        known = np.isfinite(values).any(axis=0)
        return np.asarray(np.abs(values[:, known] - np.nanmedian(values[:, known], axis=0)))

    def misfit(values: Array) -> float:
        rest = away(np.where(problem.mask, measured - model.predicted(values), np.nan))
        if not rest.size or rest.shape != motion.shape:
            return math.inf
        share = rest / np.where(size > 0.0, size, np.inf)
        # What cannot be predicted is worse than no model.
        share = np.where(np.isfinite(share), share, np.where(np.isfinite(motion), 2.0, np.nan))
        return float(np.nanmean(share, axis=0).sum())

    motion = away(measured)
    size = np.nanmean(motion, axis=0)
    best = model.nominal
    least = misfit(best)
    if least < 0.1:
        return best
    rounds = [[(ratios, s) for s in itertools.product((1.0, -1.0), repeat=len(ratios))]]
    rounds += [[([p], (s * f,)) for s in (1.0, -1.0) for f in FACTORS] for p in ratios]
    for trials in rounds:
        start = best
        for places, factors in trials:
            trial = start.copy()
            trial[places] *= factors
            cost = misfit(trial)
            if cost < 0.9 * least:
                best, least = trial, cost
    return best


def _rivals(fitted: Fitted, trials: Sequence[Array]) -> tuple[Array, ...]:
    """Return other minima that are as good, in the numbers that the recording tells."""
    problem, free = fitted.problem, list(fitted.problem.free)
    first = problem.values(fitted.x)
    sizes = problem.model.sizes(first)
    rivals = [first]
    least = spread(fitted.residual)
    for trial in trials:
        x = np.concatenate([trial[free], fitted.x[len(free) :]])
        x = solved(problem, x, steps=15)
        residual, values = problem.residuals(x), problem.values(x)
        if not np.isfinite(residual).any() or spread(residual) > AS_GOOD * max(least, 1e-3):
            continue
        if all(np.abs((values - other) / sizes).max() > 0.05 for other in rivals):
            rivals.append(values)
    return tuple(rivals[1:])
