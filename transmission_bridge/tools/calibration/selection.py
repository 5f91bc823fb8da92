# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Which physical terms a recording shows, what it cannot tell apart, and how well all is known.

Terms enter one after the other, each where the blocks of the recording hold it for real
(:meth:`LinearFit.chance`) at a family-wise one per cent. The bootstrap makes the choice anew in
every replicate, so that intervals hold what a wrong choice costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import Problem, solved, State, Term
from transmission_bridge.tools.calibration.statistics import (
    block_labels,
    FEWEST_BLOCKS,
    fit_linear,
    influence_slope,
    LinearFit,
    Rows,
    student_quantile,
    weights_of,
)
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array

__all__ = [
    'TERM_LEVEL',
    'USUAL_TURN',
    'Fitted',
    'Intervals',
    'candidates',
    'closely',
    'intervals',
    'selected',
]

#: Chance that any term is accepted where there is none.
TERM_LEVEL = 0.01

#: Chance from which a term that was not accepted cannot be ruled out, nor its usual size:
#: intervals then reach as far as those with it.
POSSIBLE = 0.1

#: Least motion [rad] in which an error once per turn is looked for.
PART_OF_A_TURN = 0.2

#: An error once per turn [rad] that is quite usual: it is there unless it is ruled out.
USUAL_TURN = 0.01

#: Another term that leaves a misfit of no more than this, in variances, explains as much.
AS_GOOD = 9.0

REPLICATES = 500


@dataclass(frozen=True, eq=False)
class Fitted:
    """
    A fit with its terms.

    :param problem: With the noise that is left.
    :param free: Places of the fitted numbers.
    :param others: Terms that were looked for and not accepted.
    """

    problem: Problem
    state: State
    free: list[int]
    others: tuple[Term, ...]

    @cached_property
    def residual(self) -> Array:
        """Measured minus predicted in standard deviations, NaN where not predicted."""
        return self.problem.residuals(self.state)

    @cached_property
    def rows(self) -> Rows:
        """Weights and blocks of the measurements."""
        row = np.nonzero(self.problem.mask)[0]
        used, number = np.unique(row, return_inverse=True)
        weight = weights_of(self.residual)
        slope = influence_slope(self.residual)[np.isfinite(self.residual)]
        share = float(weight.sum()) / max(float(slope.sum()), 1e-3 * len(weight), 1e-9)
        return Rows(weight, block_labels(len(used))[number], min(max(share, 1.0), 3.0))

    @cached_property
    def columns(self) -> Array:
        """Of the free numbers, of the terms, then of the terms that were not accepted."""
        zeros = {term: np.zeros(term.count) for term in self.others}
        state = State(self.state.values, {**self.state.terms, **zeros})
        return self.problem.columns(state, self.free)

    @property
    def size(self) -> int:
        """How many numbers were fitted, those of terms among them."""
        return len(self.free) + sum(term.count for term in self.state.terms)

    def places(self, term: Term) -> list[int]:
        """Return the columns of a term."""
        first = len(self.free)
        for other in (*self.state.terms, *self.others):
            if other == term:
                return list(range(first, first + term.count))
            first += other.count
        raise KeyError(term)

    @cached_property
    def held(self) -> Array:
        """One over what is plausible, per column; zero for terms, of which nothing is known."""
        held = np.zeros(self.columns.shape[1])
        held[: len(self.free)] = 1.0 / self.problem.model.plausible(self.state.values)[self.free]
        return held

    def linear(
        self, columns: Sequence[int], more: Array | float = 0.0, held: Array | None = None
    ) -> LinearFit:
        """
        Fit some of the columns to what is left.

        :param more: What is to be explained besides.
        :param held: Per column of these, by default as in :attr:`held`.
        """
        residual = np.where(np.isfinite(self.residual), self.residual + more, 0.0)
        places = list(columns)
        held = self.held[places] if held is None else held
        return fit_linear(self.columns[:, places], residual, self.rows, held)


def candidates(
    problem: Problem, state: State, rotary: tuple[Sequence[bool], Sequence[bool]]
) -> tuple[Term, ...]:
    """
    Return the terms that a recording could show.

    :param rotary: Which columns of the given and of the measured side are of angles.
    """
    if np.count_nonzero(problem.mask.any(axis=1)) < FEWEST_BLOCKS:
        return ()
    terms = [Term('delay')] if problem.time is not None else []
    predicted = problem.predicted(state)
    for channel, chosen in enumerate(problem.mask.T):
        known = predicted[chosen & np.isfinite(predicted[:, channel]), channel]
        if len(known) < FEWEST_BLOCKS or not np.ptp(known) > 0.0:
            continue
        terms.append(Term('backlash', channel))
        if rotary[1][channel] and np.ptp(known) > PART_OF_A_TURN:
            terms.append(Term('turn', channel))
    used = problem.mask.any(axis=1)
    for column, values in enumerate(problem.model.given.T):
        if rotary[0][column] and np.ptp(values[used]) > PART_OF_A_TURN:
            terms.append(Term('turn', column, given=True))
    return tuple(terms)


def selected(fitted: Fitted) -> Fitted:
    """Return the fit with the terms that the recording shows."""
    level = TERM_LEVEL / max(1, len(fitted.others))
    for _ in range(len(fitted.others)):
        own = list(range(fitted.size))
        best: tuple[float, Term, Array] | None = None
        for term in fitted.others:
            trial = fitted.linear([*own, *fitted.places(term)])
            if trial.chance(len(own)) < level and (best is None or trial.squares < best[0]):
                best = trial.squares, term, trial.values[len(own) :]
        if best is None:
            break
        terms = {**fitted.state.terms, best[1]: best[2]}
        fitted = _refitted(fitted, terms)
        # What another term explains better now is let go.
        for term in list(fitted.state.terms):
            if term != best[1] and _chance_of(fitted, term) > level:
                kept = {t: n for t, n in fitted.state.terms.items() if t != term}
                fitted = _refitted(fitted, kept)
    return fitted


def _refitted(fitted: Fitted, terms: Mapping[Term, Array]) -> Fitted:
    every = (*fitted.state.terms, *fitted.others)
    problem, state = closely(fitted.problem, State(fitted.state.values, terms), fitted.free)
    others = tuple(term for term in every if term not in terms)
    return Fitted(problem, state, fitted.free, others)


def closely(problem: Problem, state: State, free: Sequence[int]) -> tuple[Problem, State]:
    """Return the fit by the biweight near a start, and the problem with its noise."""
    count = len(free) + sum(term.count for term in state.terms)
    state = solved(problem, state, free)
    problem = problem.rescaled(state, count)
    return problem, solved(problem, state, free, loss='biweight')


def _chance_of(fitted: Fitted, term: Term) -> float:
    """Return how likely an accepted term of this size would be by chance."""
    places = fitted.places(term)
    rest = [place for place in range(fitted.size) if place not in places]
    trial = fitted.linear([*rest, *places])
    moved = np.concatenate([np.zeros(len(rest)), fitted.state.terms[term]])
    return replace(trial, values=trial.values + moved).chance(len(rest))


@dataclass(frozen=True, eq=False)
class Intervals:
    """
    How well what was fitted is known.

    :param half_widths: Of the free numbers, then of those of the terms.
    :param correlation: Of their errors, shape ``(size, size)``.
    :param alike: Per accepted term those that explain as much.
    :param possible: Terms that cannot be ruled out and make intervals much wider.
    :param without: What :attr:`half_widths` would be without these.
    """

    half_widths: Array
    correlation: Array
    alike: Mapping[Term, Collection[Term]]
    possible: tuple[Term, ...]
    without: Array


def intervals(fitted: Fitted, uncertain: Array) -> Intervals:
    """
    Return how well the numbers are known.

    :param uncertain: What numbers that are kept change where they are wrong by their plausible
        error, in standard deviations, shape ``(measurements, kept)``.
    """
    own = list(range(fitted.size))
    none = np.full(fitted.size, math.inf)
    if not own:
        return Intervals(none, np.empty((0, 0)), {}, (), none)
    now = fitted.linear(own)
    if not (now.freedom > 0.5 and np.isfinite(now.covariance).all()):
        return Intervals(none, np.eye(fitted.size), {}, (), none)
    weight = fitted.rows.weight[:, np.newaxis]
    columns = fitted.columns
    sizes = np.sqrt((weight * columns * columns).sum(axis=0))
    unit = columns / np.where(sizes > 0.0, sizes, 1.0)
    held = fitted.held / np.where(sizes > 0.0, sizes, 1.0)
    square = unit.T @ (weight * unit) + np.diag(held**2 + 1e-12)
    moved = (
        np.linalg.solve(square[np.ix_(own, own)], unit[:, own].T @ (weight * uncertain))
        / sizes[own, np.newaxis]
    )
    covariance = now.covariance + moved @ moved.T
    least = np.diag(now.independent + moved @ moved.T)
    half = student_quantile(now.freedom) * np.sqrt(np.maximum(np.diag(covariance), least))
    alike = {term: _alike(fitted, term, now) for term in fitted.state.terms}
    if now.influences is not None and fitted.others + tuple(fitted.state.terms):
        errors = _replicates(fitted, now, square, unit, sizes)
        # What is known beforehand is as far off as is plausible.
        inverse = np.linalg.inv(square[np.ix_(own, own)])
        beforehand = np.concatenate([moved, inverse * held[own] / sizes[own, np.newaxis]], axis=1)
        random = np.random.default_rng(2)
        errors = errors + random.normal(size=(len(errors), beforehand.shape[1])) @ beforehand.T
        # The quantile of the replicates, with what the few blocks cost.
        factor = student_quantile(now.freedom) / 1.96
        half = np.maximum(half, factor * np.quantile(np.abs(errors), 0.95, axis=0))
    for found in alike.values():
        for change in found.values():
            half[: len(fitted.free)] += np.abs(change)
    without, possible = half, []
    for term in fitted.others:
        with_it = _possible(fitted, own, term)
        if with_it is not None:
            reach = student_quantile(with_it.freedom) * np.sqrt(np.diag(with_it.covariance))
            wider = np.maximum(half, (np.abs(with_it.values) + reach)[: len(own)])
            if np.any((wider > 2.0 * half)[: len(fitted.free)]):
                possible.append(term)
            half = wider
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0.0, scale, 1.0)
    return Intervals(half, covariance / np.outer(scale, scale), alike, tuple(possible), without)


def _possible(fitted: Fitted, own: Sequence[int], term: Term) -> LinearFit | None:
    """Return the fit with a term that was not accepted, ``None`` if it is ruled out."""
    places = [*own, *fitted.places(term)]
    fit = fitted.linear(places)
    is_shown = fit.chance(len(own)) < POSSIBLE
    if term.kind != 'turn':
        return fit if is_shown else None
    # Of a part of a turn only one that is large would be seen: so it has to be said that it is
    # small. Bounds to one side, of every phase.
    turn, covariance = fit.values[len(own) :], fit.covariance[len(own) :, len(own) :]
    angle = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    phases = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    error = np.sqrt(((phases @ covariance) * phases).sum(axis=1))
    bound = student_quantile(fit.freedom, 1.0 - 2.0 * POSSIBLE) * error + phases @ turn
    if not is_shown and bound.max() < USUAL_TURN:
        return None
    held = fitted.held[places]
    held[len(own) :] = 1.0 / max(USUAL_TURN, float(np.hypot(*turn)))
    return fitted.linear(places, held=held)


def _replicates(fitted: Fitted, now: LinearFit, square: Array, unit: Array, sizes: Array) -> Array:
    """
    Return errors of replicates in which the terms are chosen anew, shape ``(n, size)``.

    The choice is that of the least sum of squares with a penalty per term, which is the limit of
    its test.
    """
    assert now.influences is not None
    own = list(range(fitted.size))
    rows = fitted.rows
    residual = np.where(np.isfinite(fitted.residual), fitted.residual, 0.0)
    # Of each block its residual from the fit of the others.
    left_out = residual + (fitted.columns[:, own] * now.influences[rows.label]).sum(axis=1)
    starts = np.searchsorted(rows.label, np.arange(rows.blocks))
    scores = np.add.reduceat(unit * (rows.weight * left_out)[:, np.newaxis], starts, axis=0)
    random = np.random.default_rng(1)
    signs = random.choice([-1.0, 1.0], size=(REPLICATES, rows.blocks))
    truth = np.zeros(len(sizes))
    for term, numbers in fitted.state.terms.items():
        truth[fitted.places(term)] = numbers
    truth *= sizes
    right = signs @ scores + square @ truth
    terms = list(fitted.state.terms)
    models = [terms]
    models += [[t for t in terms if t != gone] for gone in terms]
    models += [[*terms, more] for more in fitted.others]
    models += [
        [t if t != gone else more for t in terms] for gone in terms for more in fitted.others
    ]
    variance = max(now.squares / max(float(rows.weight.sum()) - fitted.size, 1.0), 1e-12)
    penalties = {
        term: variance * _penalty(fitted, term, square, sizes, variance)
        for term in (*terms, *fitted.others)
    }
    found = np.zeros((REPLICATES, len(own)))
    least = np.full(REPLICATES, np.inf)
    for model in models:
        places = [*range(len(fitted.free)), *(p for term in model for p in fitted.places(term))]
        values = np.linalg.solve(
            square[np.ix_(places, places)] + 1e-12 * np.eye(len(places)), right[:, places].T
        ).T
        cost = sum(penalties[term] for term in model) - (values * right[:, places]).sum(axis=1)
        better = cost < least
        least = np.where(better, cost, least)
        whole = np.zeros((REPLICATES, len(sizes)))
        whole[:, places] = values
        error = ((whole - truth) / sizes)[:, own]
        found = np.where(better[:, np.newaxis], error, found)
    return found


def _penalty(fitted: Fitted, term: Term, square: Array, sizes: Array, variance: float) -> float:
    """Return the sum of squares, in variances, that a term has to explain to be accepted."""
    places = fitted.places(term)
    rest = [place for place in range(fitted.size) if place not in places]
    every = [*rest, *places]
    trial = fitted.linear(every)
    plain = variance * np.linalg.inv(square[np.ix_(every, every)] + 1e-12 * np.eye(len(every)))
    ratio = np.diag(trial.covariance) * sizes[every] ** 2 / np.diag(plain)
    level = TERM_LEVEL / (len(fitted.others) + len(fitted.state.terms))
    special = optional('scipy.special', 'calibrate')
    k = term.count
    limit = float(special.fdtri(k, max(trial.freedom - k + 1.0, 1.0), 1.0 - level)) * k
    return limit * max(1.0, float(np.mean(ratio[len(rest) :])))


def _alike(fitted: Fitted, term: Term, now: LinearFit) -> dict[Term, Array]:
    """Return the terms that would explain as much instead of one, and what they change."""
    gone = fitted.places(term)
    rest = [place for place in range(fitted.size) if place not in gone]
    back = fitted.columns[:, gone] @ fitted.state.terms[term]
    variance = now.squares / max(float(fitted.rows.weight.sum()) - fitted.size, 1.0)
    found = {}
    for other in fitted.others:
        instead = fitted.linear([*rest, *fitted.places(other)], back)
        if instead.squares - now.squares < AS_GOOD * variance:
            found[other] = instead.values[: len(fitted.free)]
    return found
