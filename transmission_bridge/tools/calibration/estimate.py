# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Fit the numbers of one transmission to paired measurements, and test the fit.

1. Each rest becomes one row, with the median of its measurements.
2. All numbers that are not exact combinations of others are fitted from several initial guesses.
   A prior holds numbers that the recording does not determine near the description.
3. The best fit is refined with Tukey's biweight, and physical terms are selected.
4. The residual is tested (:mod:`~transmission_bridge.tools.calibration.misfit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import (
    estimate_spread,
    FEWEST_ROWS,
    Problem,
    solve_problem,
)
from transmission_bridge.tools.calibration.identify import choose_free_numbers, Kept, order_numbers
from transmission_bridge.tools.calibration.misfit import find_misfits
from transmission_bridge.tools.calibration.model import (
    is_joint_offset,
    NoisySide,
    TransmissionModel,
)
from transmission_bridge.tools.calibration.motion import classify_motion, find_rests, Motion
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.selection import (
    compute_intervals,
    find_candidate_terms,
    fit_robustly,
    Fitted,
    Intervals,
    select_terms,
)
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Index, Mask

#: Rows of the fits from several initial guesses.
ROWS_OF_STARTS = 120

#: Initial guesses with randomly scaled dimensions.
SPREADS = 4

#: With more dimensions, other guesses are unlikely to reach another minimum.
MOST_SPREAD = 8

#: Fits with a decreasing scale of the noise, and the factor of their priors.
COOLINGS, LOOSE = 4, 3.0

#: Leverage of a row that contributes as much to a number as all others.
LONE = 0.5

#: Largest ratio of residuals for which another minimum is an equal solution.
AS_GOOD = 1.05

#: Factors of a ratio that are tried with both signs, and the number of ratios with combined signs.
FACTORS, MOST_TURNED = tuple(10.0 ** (half / 2.0) for half in range(-6, 7)), 6


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    A fit with its tests.

    :param motions: Per joint.
    :param kept: Reasons to keep numbers, by index of the tunable.
    :param rivals: Other solutions: values of all numbers.
    :param misfits: Sentences about a lack of fit.
    :param known: Confidence intervals.
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


def estimate_numbers(
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
    :param numbers: Initial values instead of the described ones.
    :param linear: Names of joints and actuators that move linearly.
    """
    positions = pairs.actuators, pairs.joints
    rest = find_rests(*(positions if noisy == 'joint' else positions[::-1]))
    moving = np.asarray(rest == np.arange(len(rest)))
    actuators, joints = (_take_rest_medians(side, rest) for side in positions)
    expected = binding.transmission.actuator_to_joint('position', actuators)
    motions = tuple(
        classify_motion(actuators, joints[:, place], expected[:, place], moving)
        for place in range(joints.shape[1])
    )
    model = TransmissionModel(binding, actuators, joints, noisy=noisy, numbers=numbers)
    mask = _find_usable(model, binding, pairs, motions, noisy) & moving[:, np.newaxis]
    step = np.median(np.diff(pairs.time)) if len(pairs.time) > 1 else 0.0
    time = pairs.time if pairs.timed and step > 0.0 else None
    problem = Problem(model, mask, time, np.ones(mask.shape[1]))
    problem = replace(problem, scales=problem.compute_noise_floor())
    fixed = {
        place: Kept('fixed')
        for place, tunable in enumerate(model.tunables)
        if is_fixed('.'.join(tunable.path))
    }
    is_constant = binding.transmission.is_constant
    order = [p for p in order_numbers(model.tunables, is_constant=is_constant) if p not in fixed]
    every = replace(problem, free=tuple(range(len(model.tunables))))
    slopes = every.compute_columns(model.nominal)
    free, kept = choose_free_numbers(model, model.nominal, slopes, order)
    problem = replace(problem, free=tuple(free))
    trials = _fit_from_starts(problem, is_constant=is_constant)
    problem, x = _anneal_scales(problem, trials[0][free])
    kept = _find_second_order(problem, x, kept)
    if not is_constant:
        problem = _drop_lone_rows(problem, x)
    problem, x = fit_robustly(problem, x)
    sides = [
        [member.name not in linear for member in side]
        for side in (binding.spec.actuators, binding.spec.joints)
    ]
    given, measured = sides if noisy == 'joint' else sides[::-1]
    ordered = pairs.timed or int(mask.any(axis=1).sum()) >= FEWEST_ROWS
    terms = find_candidate_terms(problem, x, (given, measured))
    fitted = select_terms(Fitted(problem, x, terms, ordered))
    return Estimate(
        fitted, motions, {**kept, **fixed}, _find_rivals(fitted, trials[1:]),
        tuple(find_misfits(fitted, pairs.time, timed=pairs.timed)),
        compute_intervals(fitted, _compute_uncertain_changes(fitted, kept)),
    )  # fmt: skip


def _take_rest_medians(side: Array, rest: Index) -> Array:
    """Return positions with the median of each rest in its row."""
    found: Array = side.copy()
    rows, counts = np.unique(rest, return_counts=True)
    for row in rows[counts > 1].tolist():
        for column, values in enumerate(side[rest == row].T):
            known = values[np.isfinite(values)]
            if len(known):
                found[row, column] = np.median(known)
    return found


def _find_usable(
    model: TransmissionModel,
    binding: Binding,
    pairs: Pairs,
    motions: tuple[Motion, ...],
    noisy: NoisySide,
) -> Mask:
    """Return the mask of the measurements that depend on the transmission."""
    known = np.asarray(np.isfinite(model.measured))
    stuck = [place for place, motion in enumerate(motions) if motion is Motion.STUCK]
    if noisy == 'joint':
        known[:, stuck] = False
        return known
    known &= np.isfinite(pairs.joints).all(axis=1, keepdims=True)
    if stuck:
        # Actuators that depend on a stuck joint cannot be predicted.
        jacobian = binding.transmission.jacobian(pairs.actuators)
        with np.errstate(all='ignore'):
            back = np.abs(np.linalg.pinv(np.nan_to_num(jacobian)))
        depends = (back[..., stuck] > 1e-12 * back.max()).any(axis=(0, 2))
        known[:, depends] = False
    return known


def _compute_change(problem: Problem, x: Array, place: int, sign: float) -> Array:
    """Return the effect of a plausible change of a kept number, NaN: not predicted."""
    model = problem.model
    size = float(model.compute_plausible_errors(model.nominal)[place])
    more = replace(problem, free=(*problem.free, place), terms=())
    numbers = np.append(x[: len(problem.free)], model.nominal[place])
    changed = np.append(numbers[:-1], numbers[-1] + sign * size)
    return more.compute_residuals(numbers) - more.compute_residuals(changed)


def _find_second_order(problem: Problem, x: Array, kept: dict[int, Kept]) -> dict[int, Kept]:
    """Mark the kept numbers with an effect of second order."""
    return {
        place: Kept('second order')
        if reason.reason == 'no effect'
        and any(
            np.nanmax(np.abs(_compute_change(problem, x, place, sign)), initial=0.0) > 1e-3
            for sign in (1.0, -1.0)
        )
        else reason
        for place, reason in kept.items()
    }


def _compute_uncertain_changes(fitted: Fitted, kept: Mapping[int, Kept]) -> Array:
    """Return effects of plausible changes of second order, shape ``(measurements, kept)``."""
    changes = [
        np.nan_to_num(_compute_change(fitted.problem, fitted.x, place, 1.0))
        for place, reason in kept.items()
        if reason.reason == 'second order'
    ]
    return np.array(changes).reshape(len(changes), len(fitted.residual)).T


def _anneal_scales(problem: Problem, x: Array) -> tuple[Problem, Array]:
    """Fit with a decreasing scale of the noise."""
    before = np.inf
    for _ in range(COOLINGS):
        problem = problem.rescale_noise(x)
        size = float(np.log(problem.scales).sum())
        if size > before - 0.02:
            break
        before = size
        x = solve_problem(problem, x, loose=LOOSE)
    return problem.rescale_noise(x), x


def _drop_lone_rows(problem: Problem, x: Array) -> Problem:
    # Slopes, and so the weight of a row, grow without bound near a dead centre.
    columns = np.concatenate([problem.compute_columns(x), np.diag(problem.compute_priors(x))])
    sizes = np.linalg.norm(columns, axis=0)
    basis, _ = np.linalg.qr(columns / np.where(sizes > 0.0, sizes, 1.0))
    alone = (basis * basis).sum(axis=1)[: int(problem.mask.sum())] > LONE
    if not alone.any() or len(alone) < FEWEST_ROWS:
        return problem
    mask = problem.mask.copy()
    mask[mask] = ~alone
    return replace(problem, mask=mask)


def _fit_from_starts(problem: Problem, *, is_constant: bool) -> list[Array]:
    """Return the solutions from several initial guesses, the nearest to the description first."""
    used = np.flatnonzero(problem.mask.any(axis=1))
    chosen = used[np.linspace(0, len(used) - 1, min(len(used), ROWS_OF_STARTS)).astype(np.intp)]
    few = problem.select_rows(chosen)
    starts = _list_starts(few, is_constant=is_constant)
    if len(starts) == 1:
        return starts
    nominal = problem.model.nominal
    sizes, ends = problem.model.compute_sizes(nominal), []
    for values in starts:
        x = values[list(problem.free)]
        if not np.isfinite(few.compute_residuals(x)).any():
            continue
        for _ in range(2):
            x = solve_problem(few.rescale_noise(x), x, loose=10.0, steps=10)
        size = float(np.log(few.rescale_noise(x).scales).sum())
        values = few.fill_numbers(x)
        ends.append((size, float(np.abs((values - nominal) / sizes).sum()), values))
    limit = min((end[0] for end in ends), default=0.0)
    limit += problem.mask.shape[1] * math.log(AS_GOOD)
    good = sorted((end for end in ends if end[0] <= limit), key=lambda end: end[1])
    return [values for _, _, values in good] or starts[:1]


def _list_starts(problem: Problem, *, is_constant: bool) -> list[Array]:
    """
    Return initial guesses, first the one of :func:`_find_ratio_start`.

    If the ratio depends on position, further guesses exchange dimensions, or scale them by random
    factors from 0.5 to 2.
    """
    model = problem.model
    first = _find_ratio_start(problem)
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


def _find_ratio_start(problem: Problem) -> Array:
    """Return the description, or a clearly better guess with ratios of other signs or sizes."""
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
        rest = away(np.where(problem.mask, measured - model.predict_positions(values), np.nan))
        if not rest.size or rest.shape != motion.shape:
            return math.inf
        share = rest / np.where(size > 0.0, size, np.inf)
        # A missing prediction is worse than no model.
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


def _find_rivals(fitted: Fitted, trials: Sequence[Array]) -> tuple[Array, ...]:
    """Return other minima with an equal residual."""
    problem, free = fitted.problem, list(fitted.problem.free)
    first = problem.fill_numbers(fitted.x)
    sizes = problem.model.compute_sizes(first)
    rivals = [first]
    limit = AS_GOOD * max(estimate_spread(fitted.residual), 1e-3)
    for trial in trials:
        x = np.concatenate([trial[free], fitted.x[len(free) :]])
        x = solve_problem(problem, x, steps=15)
        residual, values = problem.compute_residuals(x), problem.fill_numbers(x)
        if not np.isfinite(residual).any() or estimate_spread(residual) > limit:
            continue
        if all(np.abs((values - other) / sizes).max() > 0.05 for other in rivals):
            rivals.append(values)
    return tuple(rivals[1:])
