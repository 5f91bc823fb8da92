# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Which physical terms a recording shows, what it cannot rule out, and how well all is known.

Terms enter one after the other, each where Wald's test shows it at a family-wise one per cent
under the noise that the largest model leaves: that with all terms and all shapes of
:func:`shapes_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math

import numpy as np

from transmission_bridge.tools.calibration.fit import (
    FEWEST_ROWS,
    influence,
    play,
    Problem,
    solved,
    Term,
)
from transmission_bridge.tools.calibration.noise import (
    Linear,
    ROWS_OF_A_SPECTRUM,
    Sample,
    student_quantile,
)
from transmission_bridge.types import Array, Index

__all__ = ['Fitted', 'Intervals', 'candidates', 'closely', 'intervals', 'selected']

#: Chance that any term is accepted where there is none.
TERM_LEVEL = 0.01

#: Chance from which a term that was not accepted cannot be ruled out, nor its usual size:
#: intervals then reach as far as those with it.
POSSIBLE = 0.1

#: Least motion [rad] in which an error of an encoder is looked for.
PART_OF_A_TURN = 0.2

#: An error once per turn [rad] that is quite usual: it is there unless it is ruled out.
USUAL_TURN = 0.01

#: Another term that leaves a misfit of no more than this, in variances, explains as much.
AS_GOOD = 9.0


@dataclass(frozen=True, eq=False)
class Shape:
    """
    What a residual may depend on where the model is wrong.

    :param columns: Shape ``(measurements, n)``.
    """

    channel: int
    name: str
    columns: Array


@dataclass(frozen=True, eq=False)
class Fitted:
    """
    A fit with its terms.

    :param problem: With the noise that is left.
    :param x: What was fitted.
    :param others: Terms that were looked for and not accepted.
    :param ordered: Whether the order of the rows is that of the motion.
    """

    problem: Problem
    x: Array
    others: tuple[Term, ...] = ()
    ordered: bool = True

    @cached_property
    def residual(self) -> Array:
        """Measured minus predicted in standard deviations, NaN where not predicted."""
        return self.problem.residuals(self.x)

    @cached_property
    def weight(self) -> Array:
        """Weights of the measurements, zero of an outlier."""
        return influence(self.residual)[0]

    @cached_property
    def channels(self) -> list[Index]:
        """Where the measurements of each channel stand."""
        channel = np.nonzero(self.problem.mask)[1]
        return [np.flatnonzero(channel == c) for c in range(self.problem.mask.shape[1])]

    @cached_property
    def whole(self) -> tuple[Problem, Array]:
        """The problem with the terms that were not accepted, which are zero."""
        count = sum(term.count for term in self.others)
        problem = replace(self.problem, terms=(*self.problem.terms, *self.others))
        return problem, np.concatenate([self.x, np.zeros(count)])

    @cached_property
    def columns(self) -> Array:
        """Of what was fitted, then of the terms that were not accepted."""
        problem, x = self.whole
        return problem.columns(x)

    @cached_property
    def shapes(self) -> list[Shape]:
        """What the residual may depend on besides."""
        return shapes_of(self)

    @cached_property
    def sample(self) -> Sample:
        """The residuals, outliers cut, as if those of least squares."""
        weight, slope = influence(self.residual)
        residual = np.where(np.isfinite(self.residual), weight * self.residual, 0.0)
        for places in self.channels:
            residual[places] /= max(0.3, float(slope[places].mean())) if len(places) else 1.0
        largest = np.concatenate([self.columns, *(s.columns for s in self.shapes)], axis=1)
        if max(map(len, self.channels)) < ROWS_OF_A_SPECTRUM:
            return Sample(self.channels, residual, self.columns[:, : len(self.x)], few=True)
        return Sample(self.channels, residual, largest)

    def places(self, term: Term) -> list[int]:
        """Return the columns of a term."""
        return self.whole[0].places(term)

    @property
    def held(self) -> Array:
        """One over what is plausible, per column; zero where nothing is known."""
        problem, x = self.whole
        return problem.held(x)

    def linear(
        self, places: Sequence[int], more: Array | float = 0.0, held: Array | None = None
    ) -> Linear:
        """Fit some of the columns, as :meth:`Sample.fit`."""
        held = self.held[list(places)] if held is None else held
        return self.sample.fit(self.columns[:, list(places)], held, more)

    def test(self, shape: Shape) -> tuple[float, Array]:
        """Return the chance of a shape, and what it explains, in standard deviations."""
        own = self.columns[:, : len(self.x)]
        sizes = np.linalg.norm(shape.columns, axis=0)
        rest = shape.columns / np.where(sizes > 0.0, sizes, 1.0)
        rest = rest - own @ np.linalg.lstsq(own, rest, rcond=1e-9)[0] if own.shape[1] else rest
        vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        new = vectors[:, sizes > 0.01]
        if not new.shape[1]:
            return 1.0, np.zeros(len(own))
        trial = self.sample.fit(np.concatenate([own, new], axis=1))
        return trial.chance(len(self.x)), new @ trial.values[len(self.x) :]


def shapes_of(fitted: Fitted) -> list[Shape]:
    """Return what residuals may depend on: position, its direction, time, acceleration."""
    problem, found = fitted.problem, []
    rows = np.nonzero(problem.mask)[0]
    position = problem.predicted(fitted.x)[problem.mask]
    for channel, places in enumerate(fitted.channels):
        known = places[np.isfinite(position[places])]
        if len(known) < FEWEST_ROWS:
            continue
        # Of few rows few shapes are told from noise.
        most = min(6, len(known) // 12)
        x = position[known]
        low, high = x.min(), x.max()
        shapes: dict[str, list[Array]] = {}
        if high > low:
            unit = 2.0 * (x - low) / (high - low) - 1.0
            powers = [np.polynomial.legendre.Legendre.basis(n)(unit) for n in range(most + 1)]
            shapes['position'] = powers[2:]
            if fitted.ordered:
                side = play(x, 3.0 * float(problem.scales[channel]))
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
            found.append(Shape(channel, name, columns))
    return found


def candidates(
    problem: Problem, x: Array, rotary: tuple[Sequence[bool], Sequence[bool]]
) -> tuple[Term, ...]:
    """
    Return the terms that a recording could show.

    :param rotary: Which columns of the given and of the measured side are of angles.
    """
    used = problem.mask.any(axis=1)
    if np.count_nonzero(used) < FEWEST_ROWS:
        return ()
    terms = [Term('delay')] if problem.time is not None else []
    predicted = problem.predicted(x)
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


def selected(fitted: Fitted) -> Fitted:
    """Return the fit with the terms that the recording shows."""
    level = TERM_LEVEL / max(1, len(fitted.others))
    for _ in range(len(fitted.others)):
        own = list(range(len(fitted.x)))
        best: tuple[float, Term, Array] | None = None
        for term in fitted.others:
            trial = fitted.linear([*own, *fitted.places(term)])
            if trial.chance(len(own)) < level and (best is None or trial.misfit < best[0]):
                best = trial.misfit, term, trial.values
        if best is None:
            break
        newest = best[1]
        start = np.concatenate([fitted.x, best[2][len(own) :]])
        fitted = _refitted(fitted, (*fitted.problem.terms, newest), start)
        # What another term explains better now is let go.
        for term in fitted.problem.terms:
            if term is not newest and _chance_of(fitted, term) > level:
                kept = tuple(each for each in fitted.problem.terms if each != term)
                fitted = _refitted(fitted, kept, np.delete(fitted.x, fitted.places(term)))
    return fitted


def _refitted(fitted: Fitted, terms: tuple[Term, ...], start: Array) -> Fitted:
    every = (*fitted.problem.terms, *fitted.others)
    problem, x = closely(replace(fitted.problem, terms=terms), start)
    others = tuple(term for term in every if term not in terms)
    return Fitted(problem, x, others, fitted.ordered)


def closely(problem: Problem, x: Array) -> tuple[Problem, Array]:
    """Return the problem with its noise, and the fit by the biweight near a start."""
    problem = problem.rescaled(solved(problem, x))
    return problem, solved(problem, x, loss='biweight')


def _chance_of(fitted: Fitted, term: Term) -> float:
    """Return how likely an accepted term of this size would be by chance."""
    places = fitted.places(term)
    rest = [place for place in range(len(fitted.x)) if place not in places]
    trial = fitted.linear([*rest, *places])
    values = trial.values + np.concatenate([np.zeros(len(rest)), fitted.x[places]])
    return replace(trial, values=values).chance(len(rest))


@dataclass(frozen=True, eq=False)
class Intervals:
    """
    How well what was fitted is known.

    :param half_widths: One per number.
    :param correlation: Of their errors, shape ``(size, size)``.
    :param alike: Per accepted term those that explain as much.
    :param possible: Terms that cannot be ruled out and make intervals much wider.
    :param without: What :attr:`half_widths` would be without these.
    """

    half_widths: Array
    correlation: Array
    alike: Mapping[Term, Sequence[Term]]
    possible: tuple[Term, ...]
    without: Array


def intervals(fitted: Fitted, uncertain: Array) -> Intervals:
    """
    Return how well the numbers are known.

    :param uncertain: What numbers that are kept change where they are wrong by their plausible
        error, in standard deviations, shape ``(measurements, kept)``.
    """
    own, free = list(range(len(fitted.x))), len(fitted.problem.free)
    none = np.full(len(own), math.inf)
    now = fitted.linear(own) if own else None
    if now is None or now.freedom < 1 or not np.isfinite(now.covariance).all():
        return Intervals(none, np.eye(len(own)), {}, (), none)
    covariance = now.covariance
    for column in uncertain.T:
        moved = fitted.linear(own, column).values - now.values
        covariance = covariance + np.outer(moved, moved)
    scale = np.sqrt(np.diag(covariance))
    half = student_quantile(now.freedom) * scale
    alike: dict[Term, list[Term]] = {}
    for term in fitted.problem.terms:
        gone = fitted.places(term)
        rest = [place for place in own if place not in gone]
        back = fitted.columns[:, gone] @ fitted.x[gone]
        for other in fitted.others:
            instead = fitted.linear([*rest, *fitted.places(other)], back)
            if instead.misfit - now.misfit < AS_GOOD:
                alike.setdefault(term, []).append(other)
                half[:free] += np.abs(instead.values[:free])
    without, possible = half, []
    for term in fitted.others:
        with_it = _possible(fitted, own, term)
        if with_it is not None:
            reach = student_quantile(with_it.freedom) * np.sqrt(np.diag(with_it.covariance))
            wider = np.maximum(half, (np.abs(with_it.values) + reach)[: len(own)])
            if np.any((wider > 2.0 * half)[:free]):
                possible.append(term)
            half = wider
    scale = np.where(scale > 0.0, scale, 1.0)
    return Intervals(half, covariance / np.outer(scale, scale), alike, tuple(possible), without)


def _possible(fitted: Fitted, own: Sequence[int], term: Term) -> Linear | None:
    """Return the fit with a term that was not accepted, ``None`` if it is ruled out."""
    places = [*own, *fitted.places(term)]
    fit = fitted.linear(places)
    is_shown = fit.chance(len(own)) < POSSIBLE
    if term.kind != 'turn' or term.order > 1:
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
