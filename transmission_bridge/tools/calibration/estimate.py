# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From paired measurements of one transmission to a fit that has been doubted.

1. Of each rest one row counts, with the median of what was measured.
2. Fits from several starts, with all numbers that are not exact combinations of others. What the
   recording cannot tell is held near the description, as much as that is plausibly right.
3. The best of them is refined with Tukey's biweight, and physical terms are looked for.
4. What is left is tested for shapes (:mod:`~transmission_bridge.tools.calibration.misfit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import Problem, solved, starts, State
from transmission_bridge.tools.calibration.identify import identifiable, Kept, order_of
from transmission_bridge.tools.calibration.misfit import misfits
from transmission_bridge.tools.calibration.model import NoisySide, TransmissionModel
from transmission_bridge.tools.calibration.motion import Motion, motion_of, rests
from transmission_bridge.tools.calibration.recording import Pairs
from transmission_bridge.tools.calibration.selection import (
    candidates,
    closely,
    Fitted,
    selected,
)
from transmission_bridge.tools.calibration.statistics import FEWEST_BLOCKS, spread
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Index, Mask

__all__ = ['Estimate', 'estimate']

#: Rows of the fits from several starts.
ROWS_OF_STARTS = 120

#: Fits with a scale of the noise that comes down.
COOLINGS = 4

#: How much less a number is held than what it is plausibly wrong by, in the first fits.
LOOSE = 3.0

#: Another minimum is as good if its residual is not larger than this many times the best one.
AS_GOOD = 1.05


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    The end of a fit.

    :param motions: Per joint.
    :param kept: Why numbers were not fitted, by place of the tunable.
    :param rivals: Other values of all numbers that fit as well.
    :param misfits: Sentences about what the model does not explain.
    """

    fitted: Fitted
    motions: tuple[Motion, ...]
    kept: dict[int, Kept]
    rivals: tuple[Array, ...]
    misfits: tuple[str, ...]

    @property
    def model(self) -> TransmissionModel:
        """The transmission as a function of its numbers."""
        return self.fitted.problem.model

    def uncertain(self) -> Array:
        """
        Return what numbers change, in standard deviations, whose effect is of the second order.

        Shape ``(measurements, kept)``; for a change that is plausible.
        """
        problem, state = self.fitted.problem, self.fitted.state
        plausible = self.model.plausible(self.model.nominal)
        columns = [np.empty((int(problem.mask.sum()), 0))]
        middle = problem.residuals(state)
        for place, kept in self.kept.items():
            if kept.reason == 'second order':
                values = state.values.copy()
                values[place] += plausible[place]
                change = middle - problem.residuals(replace(state, values=values))
                columns.append(np.where(np.isfinite(change), change, 0.0)[:, np.newaxis])
        return np.concatenate(columns, axis=1)


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
    rest = rests(pairs.actuators if noisy == 'joint' else pairs.joints)
    moving = np.asarray(rest == np.arange(len(rest)))
    actuators, joints = (_still(side, rest) for side in (pairs.actuators, pairs.joints))
    expected = binding.transmission.actuator_to_joint('position', actuators)
    motions = tuple(
        motion_of(actuators, joints[:, place], expected[:, place], moving)
        for place in range(joints.shape[1])
    )
    model = TransmissionModel(binding, actuators, joints, noisy=noisy, numbers=numbers)
    mask = _usable(model, binding, pairs, motions, noisy) & moving[:, np.newaxis]
    step = np.median(np.diff(pairs.time)) if len(pairs.time) > 1 else 0.0
    problem = Problem(
        model, mask, pairs.time if pairs.timed and step > 0.0 else None, np.ones(mask.shape[1])
    )
    fixed = {
        place: Kept('fixed')
        for place, tunable in enumerate(model.tunables)
        if is_fixed('.'.join(tunable.path))
    }
    order = [
        place
        for place in order_of(model.tunables, is_constant=binding.transmission.is_constant)
        if place not in fixed
    ]
    names = [
        [member.name for member in side] for side in (binding.spec.actuators, binding.spec.joints)
    ]
    given, measured = names if noisy == 'joint' else names[::-1]
    rotary = [name not in linear for name in given], [name not in linear for name in measured]
    fitted, kept, trials = _fit(problem, order, binding.transmission.is_constant, rotary)
    ordered = pairs.timed or int(mask.any(axis=1).sum()) >= FEWEST_BLOCKS
    found = misfits(fitted, ordered=ordered, timed=pairs.timed)
    rivals = _rivals(fitted, trials)
    return Estimate(fitted, motions, {**kept, **fixed}, rivals, tuple(found))


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


def _fit(
    problem: Problem,
    order: Sequence[int],
    is_constant: bool,
    rotary: tuple[Sequence[bool], Sequence[bool]],
) -> tuple[Fitted, dict[int, Kept], list[Array]]:
    model = problem.model
    state = State(model.nominal.copy())
    problem = replace(problem, scales=problem.floor())
    slopes = problem.columns(state, range(len(model.tunables)))
    free, kept = identifiable(model, state.values, slopes, order)
    trials = _trials(problem, free, is_constant)
    problem, state = _loosely(problem, State(trials[0]), free)
    kept = _second_order(problem, state, kept)
    problem, state = closely(problem, state, free)
    fitted = selected(Fitted(problem, state, free, candidates(problem, state, rotary)))
    return fitted, kept, trials[1:]


def _second_order(problem: Problem, state: State, kept: dict[int, Kept]) -> dict[int, Kept]:
    """Return the reasons, with those numbers whose effect is of the second order."""
    found = dict(kept)
    plausible = problem.model.plausible(problem.model.nominal)
    middle = problem.residuals(state)
    for place, reason in kept.items():
        if reason.reason != 'no effect':
            continue
        for sign in (1.0, -1.0):
            values = state.values.copy()
            values[place] += sign * plausible[place]
            change = problem.residuals(State(values)) - middle
            if np.nanmax(np.abs(change), initial=0.0) > 1e-3:
                found[place] = Kept('second order')
    return found


def _loosely(problem: Problem, state: State, free: Sequence[int]) -> tuple[Problem, State]:
    """Fit with a scale of the noise that comes down."""
    before = np.inf
    for _ in range(COOLINGS):
        problem = problem.rescaled(state, len(free))
        size = float(np.log(problem.scales).sum())
        if size > before - 0.02:
            break
        before = size
        state = solved(problem, state, free, loose=LOOSE)
    return problem.rescaled(state, len(free)), state


def _trials(problem: Problem, free: Sequence[int], is_constant: bool) -> list[Array]:
    """Return the ends of fits from several starts, the best one nearest the description first."""
    begin = starts(problem, free, is_constant=is_constant)
    if len(begin) == 1:
        return begin
    used = np.flatnonzero(problem.mask.any(axis=1))
    chosen = used[np.linspace(0, len(used) - 1, min(len(used), ROWS_OF_STARTS)).astype(np.intp)]
    few = problem.at_rows(chosen)
    nominal = problem.model.nominal
    sizes = problem.model.sizes(nominal)
    ends = []
    for values in begin:
        if not np.isfinite(few.residuals(State(values))).any():
            continue
        state = State(values)
        for _ in range(2):
            scaled = few.rescaled(state, len(free))
            state = solved(scaled, state, free, loose=10.0, steps=10)
        size = float(np.log(few.rescaled(state, len(free)).scales).sum())
        away = float(np.abs((state.values - nominal) / sizes).sum())
        ends.append((size, away, state.values))
    if not ends:
        return begin[:1]
    least = min(size for size, _, _ in ends)
    limit = least + problem.mask.shape[1] * math.log(AS_GOOD)
    good = sorted((end for end in ends if end[0] <= limit), key=lambda end: end[1])
    return [values for _, _, values in good]


def _rivals(fitted: Fitted, trials: Sequence[Array]) -> tuple[Array, ...]:
    """Return other minima that are as good, in the numbers that the recording tells."""
    problem, free = fitted.problem, fitted.free
    sizes = problem.model.sizes(fitted.state.values)
    rivals: list[Array] = [fitted.state.values]
    least = spread(fitted.residual)
    for trial in trials:
        values = fitted.state.values.copy()
        values[free] = trial[free]
        state = solved(problem, State(values, fitted.state.terms), free, steps=15)
        residual = problem.residuals(state)
        if not np.isfinite(residual).any() or spread(residual) > AS_GOOD * max(least, 1e-3):
            continue
        if all(np.abs((state.values - other) / sizes).max() > 0.05 for other in rivals):
            rivals.append(state.values)
    return tuple(rivals[1:])
