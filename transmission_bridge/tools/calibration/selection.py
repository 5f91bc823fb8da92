# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Selection of physical terms, and confidence intervals.

Terms are added one after the other if Wald's test accepts them at a family-wise level of one per
cent. The noise for the test is the residual of the largest model, with all terms and all shapes of
:func:`build_residual_shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import (
    compute_contact_side,
    compute_influence,
    FEWEST_ROWS,
    Problem,
    solve_problem,
    Term,
)
from transmission_bridge.tools.calibration.noise import (
    find_quantile,
    LinearFit,
    ResidualSample,
    ROWS_OF_A_SPECTRUM,
)
from transmission_bridge.types import Array, Index

#: Chance to accept a term of a recording without any.
TERM_LEVEL = 0.01

#: A rejected term below this chance remains possible: intervals include those with the term.
POSSIBLE = 0.1

#: Least motion [rad] for a term of an encoder error.
PART_OF_A_TURN = 0.2

#: Usual error once per turn [rad]: it remains possible unless the recording excludes it.
USUAL_TURN = 0.01

#: Additional misfit, in variances, up to which another term is an equal explanation.
AS_GOOD = 9.0


@dataclass(frozen=True, eq=False)
class ResidualShape:
    """
    Columns of one kind of lack of fit, for example a dependence on position.

    :param columns: Shape ``(measurements, n)``.
    """

    channel: int
    name: str
    columns: Array


@dataclass(frozen=True, eq=False)
class Fitted:
    """
    A fit with its terms.

    :param problem: With the noise of the residual.
    :param x: Fitted numbers of transmission and terms.
    :param others: Rejected terms.
    :param ordered: Whether the rows are in the order of the motion.
    """

    problem: Problem
    x: Array
    others: tuple[Term, ...] = ()
    ordered: bool = True

    @cached_property
    def residual(self) -> Array:
        """Measured minus predicted in standard deviations, NaN without a prediction."""
        return self.problem.compute_residuals(self.x)

    @cached_property
    def weight(self) -> Array:
        """Weights of the measurements, zero for outliers."""
        return compute_influence(self.residual)[0]

    @cached_property
    def channel_rows(self) -> list[Index]:
        """Indices of the measurements of each channel."""
        channel = np.nonzero(self.problem.mask)[1]
        return [np.flatnonzero(channel == c) for c in range(self.problem.mask.shape[1])]

    @cached_property
    def full_problem(self) -> tuple[Problem, Array]:
        """The problem with the rejected terms, and its numbers, in which those terms are zero."""
        count = sum(term.count for term in self.others)
        problem = replace(self.problem, terms=(*self.problem.terms, *self.others))
        return problem, np.concatenate([self.x, np.zeros(count)])

    @cached_property
    def full_columns(self) -> Array:
        """Columns of the fitted numbers, then of the rejected terms."""
        problem, x = self.full_problem
        return problem.compute_columns(x)

    @cached_property
    def residual_shapes(self) -> list[ResidualShape]:
        """Shapes of a lack of fit."""
        return build_residual_shapes(self)

    @cached_property
    def noise_sample(self) -> ResidualSample:
        """Weighted residuals, scaled like least-squares residuals."""
        weight, slope = compute_influence(self.residual)
        residual = np.where(np.isfinite(self.residual), weight * self.residual, 0.0)
        for places in self.channel_rows:
            residual[places] /= max(0.3, float(slope[places].mean())) if len(places) else 1.0
        shapes = [shape.columns for shape in self.residual_shapes]
        largest = np.concatenate([self.full_columns, *shapes], axis=1)
        if max(map(len, self.channel_rows)) < ROWS_OF_A_SPECTRUM:
            own = self.full_columns[:, : len(self.x)]
            return ResidualSample(self.channel_rows, residual, own, few=True)
        return ResidualSample(self.channel_rows, residual, largest)

    def locate_columns(self, term: Term) -> list[int]:
        """Return the columns of a term."""
        return self.full_problem[0].locate_term(term)

    @property
    def priors(self) -> Array:
        """One over the plausible error, per column; zero without a prior."""
        problem, x = self.full_problem
        return problem.compute_priors(x)

    def fit_linear(
        self, places: Sequence[int], more: Array | float = 0.0, held: Array | None = None
    ) -> LinearFit:
        """Fit some of the columns, see :meth:`ResidualSample.fit_columns`."""
        held = self.priors[list(places)] if held is None else held
        return self.noise_sample.fit_columns(self.full_columns[:, list(places)], held, more)

    def test_shape(self, shape: ResidualShape) -> tuple[float, Array]:
        """Return the chance of a shape, and its part of the residual in standard deviations."""
        own = self.full_columns[:, : len(self.x)]
        sizes = np.linalg.norm(shape.columns, axis=0)
        rest = shape.columns / np.where(sizes > 0.0, sizes, 1.0)
        rest = rest - own @ np.linalg.lstsq(own, rest, rcond=1e-9)[0] if own.shape[1] else rest
        vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        new = vectors[:, sizes > 0.01]
        if not new.shape[1]:
            return 1.0, np.zeros(len(own))
        trial = self.noise_sample.fit_columns(np.concatenate([own, new], axis=1))
        return trial.compute_chance(len(self.x)), new @ trial.values[len(self.x) :]


def build_residual_shapes(fitted: Fitted) -> list[ResidualShape]:
    """Return shapes over position, direction of motion, time and acceleration."""
    problem, found = fitted.problem, []
    rows = np.nonzero(problem.mask)[0]
    position = problem.predict_rows(fitted.x)[problem.mask]
    for channel, places in enumerate(fitted.channel_rows):
        known = places[np.isfinite(position[places])]
        if len(known) < FEWEST_ROWS:
            continue
        # Few rows distinguish few shapes from noise.
        most = min(6, len(known) // 12)
        x = position[known]
        low, high = x.min(), x.max()
        shapes: dict[str, list[Array]] = {}
        if high > low:
            unit = 2.0 * (x - low) / (high - low) - 1.0
            powers = [np.polynomial.legendre.Legendre.basis(n)(unit) for n in range(most + 1)]
            shapes['position'] = powers[2:]
            if fitted.ordered:
                side = compute_contact_side(x, 3.0 * float(problem.scales[channel]))
                shapes['direction'] = [side * power for power in powers[:3]]
        if fitted.ordered:
            u = np.linspace(0.0, np.pi, len(known))
            shapes['time'] = [np.cos(k * u) for k in range(1, most + 1)]
        if problem.time is not None and high > low:
            with np.errstate(all='ignore'):
                rate = np.gradient(np.gradient(x, problem.time[rows[known]]))
            if np.isfinite(rate).all():
                shapes['acceleration'] = [rate]
        for name, values in shapes.items():
            columns = np.zeros((len(rows), len(values)))
            columns[known] = np.stack(values, axis=1)
            found.append(ResidualShape(channel, name, columns))
    return found


def find_candidate_terms(
    problem: Problem, x: Array, rotary: tuple[Sequence[bool], Sequence[bool]]
) -> tuple[Term, ...]:
    """
    Return the terms that a recording can show.

    :param rotary: Which columns of the given and of the measured side are angles.
    """
    used = problem.mask.any(axis=1)
    if np.count_nonzero(used) < FEWEST_ROWS:
        return ()
    terms = [Term('delay')] if problem.time is not None else []
    predicted = problem.predict_rows(x)
    for channel, chosen in enumerate(problem.mask.T):
        known = predicted[chosen & np.isfinite(predicted[:, channel]), channel]
        if len(known) < FEWEST_ROWS or not np.ptp(known) > 0.0:
            continue
        terms.append(Term('backlash', channel))
        if rotary[1][channel] and np.ptp(known) > PART_OF_A_TURN:
            terms += [Term('turn', channel, order=order) for order in (1, 2)]
    for column, values in enumerate(problem.model.given.T):
        if rotary[0][column] and np.ptp(values[used]) > PART_OF_A_TURN:
            terms += [Term('turn', column, given=True, order=order) for order in (1, 2)]
    return tuple(terms)


def select_terms(fitted: Fitted) -> Fitted:
    """Return the fit with the accepted terms."""
    level = TERM_LEVEL / max(1, len(fitted.others))
    for _ in range(len(fitted.others)):
        own = list(range(len(fitted.x)))
        best: tuple[float, Term, Array] | None = None
        for term in fitted.others:
            trial = fitted.fit_linear([*own, *fitted.locate_columns(term)])
            if trial.compute_chance(len(own)) < level and (best is None or trial.misfit < best[0]):
                best = trial.misfit, term, trial.values
        if best is None:
            break
        newest = best[1]
        start = np.concatenate([fitted.x, best[2][len(own) :]])
        fitted = _refit_terms(fitted, (*fitted.problem.terms, newest), start)
        # Remove terms that the new term replaces.
        for term in fitted.problem.terms:
            if term is not newest and _compute_term_chance(fitted, term) > level:
                kept = tuple(each for each in fitted.problem.terms if each != term)
                start = np.delete(fitted.x, fitted.locate_columns(term))
                fitted = _refit_terms(fitted, kept, start)
    return fitted


def _refit_terms(fitted: Fitted, terms: tuple[Term, ...], start: Array) -> Fitted:
    every = (*fitted.problem.terms, *fitted.others)
    problem, x = fit_robustly(replace(fitted.problem, terms=terms), start)
    others = tuple(term for term in every if term not in terms)
    return Fitted(problem, x, others, fitted.ordered)


def fit_robustly(problem: Problem, x: Array) -> tuple[Problem, Array]:
    """Return the problem with its noise, and the fit by the biweight from an initial guess."""
    problem = problem.rescale_noise(solve_problem(problem, x))
    return problem, solve_problem(problem, x, loss='biweight')


def _compute_term_chance(fitted: Fitted, term: Term) -> float:
    """Return the chance of an accepted term of this size in noise alone."""
    places = fitted.locate_columns(term)
    rest = [place for place in range(len(fitted.x)) if place not in places]
    trial = fitted.fit_linear([*rest, *places])
    values = trial.values + np.concatenate([np.zeros(len(rest)), fitted.x[places]])
    return replace(trial, values=values).compute_chance(len(rest))


@dataclass(frozen=True, eq=False)
class Intervals:
    """
    Confidence intervals of the fitted numbers.

    :param half_widths: One per number.
    :param correlation: Correlation of their errors, shape ``(size, size)``.
    :param alike: Equal explanations, by accepted term.
    :param possible: Possible terms that make intervals much wider.
    :param without: :attr:`half_widths` without the possible terms.
    """

    half_widths: Array
    correlation: Array
    alike: Mapping[Term, Sequence[Term]]
    possible: tuple[Term, ...]
    without: Array


def compute_intervals(fitted: Fitted, uncertain: Array) -> Intervals:
    """
    Return the confidence intervals of the numbers.

    :param uncertain: Changes of the predictions by the plausible errors of kept numbers, in
        standard deviations, shape ``(measurements, kept)``.
    """
    own, free = list(range(len(fitted.x))), len(fitted.problem.free)
    none = np.full(len(own), math.inf)
    now = fitted.fit_linear(own) if own else None
    if now is None or now.freedom < 1 or not np.isfinite(now.covariance).all():
        return Intervals(none, np.eye(len(own)), {}, (), none)
    covariance = now.covariance
    for column in uncertain.T:
        moved = fitted.fit_linear(own, column).values - now.values
        covariance = covariance + np.outer(moved, moved)
    scale = np.sqrt(np.diag(covariance))
    half = find_quantile(now.freedom) * scale
    alike: dict[Term, list[Term]] = {}
    for term in fitted.problem.terms:
        gone = fitted.locate_columns(term)
        rest = [place for place in own if place not in gone]
        back = fitted.full_columns[:, gone] @ fitted.x[gone]
        for other in fitted.others:
            instead = fitted.fit_linear([*rest, *fitted.locate_columns(other)], back)
            if instead.misfit - now.misfit < AS_GOOD:
                alike.setdefault(term, []).append(other)
                half[:free] += np.abs(instead.values[:free])
    without, possible = half, []
    for term in fitted.others:
        with_it = _fit_possible_term(fitted, own, term)
        if with_it is not None:
            reach = find_quantile(with_it.freedom) * np.sqrt(np.diag(with_it.covariance))
            wider = np.maximum(half, (np.abs(with_it.values) + reach)[: len(own)])
            if np.any((wider > 2.0 * half)[:free]):
                possible.append(term)
            half = wider
    scale = np.where(scale > 0.0, scale, 1.0)
    return Intervals(half, covariance / np.outer(scale, scale), alike, tuple(possible), without)


def _fit_possible_term(fitted: Fitted, own: Sequence[int], term: Term) -> LinearFit | None:
    """Return the fit with a rejected term, ``None`` if the recording excludes it."""
    places = [*own, *fitted.locate_columns(term)]
    fit = fitted.fit_linear(places)
    is_shown = fit.compute_chance(len(own)) < POSSIBLE
    if term.kind != 'turn' or term.order > 1:
        return fit if is_shown else None
    # A motion of part of a turn shows large errors only, so the upper bound has to be small to
    # exclude the term: one-sided bounds of every phase.
    turn, covariance = fit.values[len(own) :], fit.covariance[len(own) :, len(own) :]
    angle = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    phases = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    error = np.sqrt(((phases @ covariance) * phases).sum(axis=1))
    bound = find_quantile(fit.freedom, 1.0 - 2.0 * POSSIBLE) * error + phases @ turn
    if not is_shown and bound.max() < USUAL_TURN:
        return None
    held = fitted.priors[places]
    held[len(own) :] = 1.0 / max(USUAL_TURN, float(np.hypot(*turn)))
    return fitted.fit_linear(places, held=held)
