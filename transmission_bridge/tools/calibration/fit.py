# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The least-squares problem of a calibration: the numbers of a transmission and physical terms.

With ``p = f(x(t - dt))`` what the transmission predicts of the given side, channel ``c`` of the
measured side is taken to be, and what encoder ``i`` of the given side reads::

    y_c = p_c - b_c / 2 * s_c + u_c sin(p_c) + v_c cos(p_c)
    g_i = x_i + u_i sin(x_i) + v_i cos(x_i)

``dt`` is the time by which the measured side is late, ``b`` a gap (backlash), ``s`` in [-1, 1] the
side of the gap that is in contact (the play operator: the sense of the last motion that was longer
than the gap), ``u`` and ``v`` an error once per turn of one encoder or wheel. Terms that are not
in the model are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
import itertools
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.model import is_joint_offset, TransmissionModel
from transmission_bridge.tools.calibration.recording import interpolated
from transmission_bridge.tools.calibration.statistics import (
    FEWEST_BLOCKS,
    spread,
    weights_of,
)
from transmission_bridge.types import Array, Index, Mask

__all__ = ['Problem', 'State', 'Term', 'play', 'solved', 'starts']

#: Residual, in standard deviations, of a row that a trial value cannot predict at all.
UNPREDICTED = 1e3

#: Noise is taken to be at least this share of the motion: what is less is nobody's concern.
EXACT = 1e-6

#: Steps of the solver; problems of this kind take five to twenty.
MOST_STEPS = 40

#: Steps from the reading of an encoder that is out of centre to its angle.
TURN_STEPS = 6

#: Cauchy's loss: residuals beyond this many standard deviations count less and less.
CAUCHY = 2.385


@dataclass(frozen=True)
class Term:
    """
    A physical effect beside the numbers of the transmission.

    :param kind: ``delay``, ``backlash`` of a channel, or ``turn``: an error once per turn.
    :param place: The channel; for a turn of the given side its column.
    :param given: Whether a turn is one of the given side.
    """

    kind: Literal['delay', 'backlash', 'turn']
    place: int = 0
    given: bool = False

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return 2 if self.kind == 'turn' else 1


@dataclass(frozen=True, eq=False)
class State:
    """
    Numbers of a fit.

    :param values: One per tunable.
    :param terms: Their numbers: time [s]; gap; sine and cosine [rad or m].
    """

    values: Array
    terms: Mapping[Term, Array] = field(default_factory=dict)

    def packed(self, free: Sequence[int]) -> Array:
        """Return what is fitted as one array."""
        return np.concatenate([self.values[list(free)], *self.terms.values()])

    def unpacked(self, free: Sequence[int], x: Array) -> State:
        """Return the state with other numbers."""
        values = self.values.copy()
        values[list(free)] = x[: len(free)]
        terms, place = {}, len(free)
        for term in self.terms:
            terms[term] = x[place : place + term.count]
            place += term.count
        return State(values, terms)


def play(position: Array, gap: float) -> Array:
    """
    Return the side of a gap that is in contact, from -1 to 1.

    :param position: What drives, shape ``(rows,)``, in the order of time.
    :param gap: Its width, in the same unit.
    """
    half = max(0.5 * abs(gap), 1e-300)
    follower, sides, first = None, [], 0.0
    for value in position.tolist():
        if value != value:
            sides.append(0.0)
            continue
        if follower is None:
            follower = value
        follower = min(max(follower, value - half), value + half)
        side = (value - follower) / half
        if not first and abs(side) > 0.999999:
            first = side
            sides = [side] * len(sides)  # before the first contact: most likely the same
        sides.append(side)
    return np.array(sides)


@dataclass(frozen=True, eq=False)
class Problem:
    """
    A recording to fit.

    :param mask: Which measurements count, shape ``(rows, channels)``.
    :param time: Shape ``(rows,)`` [s], ``None`` where rows have no times.
    :param scales: Standard deviation of the noise per channel.
    """

    model: TransmissionModel
    mask: Mask
    time: Array | None
    scales: Array

    def at_rows(self, rows: Index) -> Problem:
        """Return the problem of some of the rows."""
        return Problem(self.model.at_rows(rows), self.mask[rows], None, self.scales)

    def predicted(self, state: State, sides: Mapping[Term, Array] | None = None) -> Array:
        """
        Return what would be measured.

        :param sides: Of gaps, as :func:`play` gives them, if they are not to be computed.
        """
        given = self.model.given
        for term, numbers in state.terms.items():
            if term.kind == 'delay' and self.time is not None and numbers[0]:
                given = _earlier(self.time, given, float(numbers[0]))
        for term, (sine, cosine) in _turns(state, given=True):
            given = given.copy()
            read = turn = given[:, term.place]
            for _ in range(TURN_STEPS if max(abs(sine), abs(cosine)) > 1e-4 else 1):
                turn = read - sine * np.sin(turn) - cosine * np.cos(turn)
            given[:, term.place] = turn
        bare = self.model.predicted(state.values, given)
        found = bare
        for term, (sine, cosine) in _turns(state, given=False):
            found = found.copy() if found is bare else found
            turn = bare[:, term.place]
            found[:, term.place] += sine * np.sin(turn) + cosine * np.cos(turn)
        for term, numbers in state.terms.items():
            if term.kind == 'backlash':
                found = found.copy() if found is bare else found
                side = (sides or {}).get(term)
                if side is None:
                    side = play(bare[:, term.place], numbers[0])
                found[:, term.place] -= 0.5 * numbers[0] * side
        return found

    def sides(self, state: State) -> dict[Term, Array]:
        """Return the side of every gap in contact."""
        gaps = [term for term in state.terms if term.kind == 'backlash']
        if not gaps:
            return {}
        others = {t: n for t, n in state.terms.items() if t.kind != 'backlash'}
        bare = self.predicted(State(state.values, others))
        return {
            term: play(
                bare[:, term.place], max(abs(state.terms[term][0]), self.scales[term.place])
            )
            for term in gaps
        }

    def residuals(self, state: State, sides: Mapping[Term, Array] | None = None) -> Array:
        """Return measured minus predicted in standard deviations, shape ``(measurements,)``."""
        rest = (self.model.measured - self.predicted(state, sides)) / self.scales
        return np.asarray(rest[self.mask])

    def columns(self, state: State, free: Sequence[int], centre: Array | None = None) -> Array:
        """
        Return how the predictions depend on what is fitted, in standard deviations.

        :param centre: The residuals there: quicker, by differences to one side only.
        """
        sides = self.sides(state)
        x = state.packed(free)
        steps = np.concatenate(
            [
                1e-5 * self.model.sizes(state.values)[list(free)],
                *(self.steps(term) for term in state.terms),
            ]
        )
        columns = np.zeros((int(self.mask.sum()), len(x)))
        for place, step in enumerate(steps):
            ahead = self.residuals(state.unpacked(free, _moved(x, place, step)), sides)
            if centre is not None:
                slope = (centre - ahead) / step
            else:
                behind = self.residuals(state.unpacked(free, _moved(x, place, -step)), sides)
                slope = 0.5 * (behind - ahead) / step
            if np.isnan(slope).any():  # next to where the mechanism ends
                middle = self.residuals(state, sides)
                behind = self.residuals(state.unpacked(free, _moved(x, place, -step)), sides)
                for one_sided in ((middle - ahead) / step, (behind - middle) / step):
                    slope = np.where(np.isnan(slope), one_sided, slope)
            columns[:, place] = np.where(np.isfinite(slope), slope, 0.0)
        return columns

    def steps(self, term: Term) -> Array:
        """Return by how much the numbers of a term are changed to find what depends on them."""
        if term.kind == 'delay' and self.time is not None:
            return np.array([0.05 * float(np.median(np.diff(self.time)))])
        return np.full(term.count, 1e-5)

    def floor(self) -> Array:
        """Return the least noise that is taken for noise, per channel."""
        found = []
        for column, chosen in zip(self.model.measured.T, self.mask.T, strict=True):
            known = column[chosen & np.isfinite(column)]
            size = float(np.ptp(known)) if len(known) else 0.0
            level = float(np.max(np.abs(known), initial=0.0))
            found.append(max(EXACT * size, 1e-10 * level, 1e-12))
        return np.array(found)

    def rescaled(self, state: State, fitted: int) -> Problem:
        """Return the problem with the noise that a state leaves."""
        rest = self.model.measured - self.predicted(state)
        rest[~self.mask] = np.nan
        share = fitted / max(1, int(np.count_nonzero(self.mask.any(axis=0))))
        found = [_noise(column[np.isfinite(column)], share) for column in rest.T]
        return replace(self, scales=np.maximum(found, self.floor()))


def _noise(residual: Array, fitted: float) -> float:
    """Return the noise; a median of a few rows would make outliers of good ones."""
    if fitted < len(residual) < FEWEST_BLOCKS:
        size = float(np.abs(residual).max()) or 1.0  # squares of large ones overflow
        unit = residual / size
        return size * float(np.sqrt(unit @ unit / (len(residual) - fitted)))
    return spread(residual, fitted=fitted)


def _earlier(time: Array, values: Array, delay: float) -> Array:
    """Return what values were a little earlier, by their rates where that is not recorded."""
    steps = np.diff(time)
    with np.errstate(all='ignore'):
        rates = np.diff(values, axis=0) / steps[:, np.newaxis]
    # To the nearer neighbour: the other one may be behind a gap.
    after, before = np.append(steps, np.inf), np.insert(steps, 0, np.inf)
    nearer = np.arange(len(time)) - (before < after)
    rate = np.nan_to_num(rates[nearer.clip(0, len(rates) - 1)])
    found = interpolated(time, values, time - delay)
    return np.asarray(np.where(np.isfinite(found), found, values - delay * rate))


def _turns(state: State, *, given: bool) -> list[tuple[Term, Array]]:
    return [(t, n) for t, n in state.terms.items() if t.kind == 'turn' and t.given == given]


def _moved(x: Array, place: int, change: float) -> Array:
    moved: Array = x.copy()
    moved[place] += change
    return moved


def solved(
    problem: Problem,
    state: State,
    free: Sequence[int],
    *,
    loose: float = 1.0,
    loss: Literal['cauchy', 'biweight'] = 'cauchy',
    steps: int = MOST_STEPS,
) -> State:
    """
    Return the state with the least robust cost near a start (Levenberg and Marquardt).

    What the recording cannot tell is held near the description.

    :param loose: How many times further off than plausible it may be.
    """
    if not len(free) and not state.terms:
        return state
    n, nominal = len(free), problem.model.nominal[list(free)]
    held = 1.0 / (loose * problem.model.plausible(state.values)[list(free)])

    def judged(trial: State, sides: Mapping[Term, Array]) -> tuple[float, Array, Array]:
        u = problem.residuals(trial, sides)
        u = np.where(np.isfinite(u), u, UNPREDICTED)
        if loss == 'cauchy':
            square = (u / CAUCHY) ** 2
            cost, weight = CAUCHY**2 * float(np.log1p(square).sum()), 1.0 / (1.0 + square)
        else:
            weight = weights_of(u)
            cost = 21.95 / 3.0 * float((1.0 - weight**1.5).sum())
        away = (trial.values[list(free)] - nominal) * held
        cost += float(away @ away)
        return cost, u, weight

    damping = 1e-6
    sides = problem.sides(state)
    cost, u, weight = judged(state, sides)
    for _ in range(steps):
        columns = problem.columns(state, free, np.where(u < UNPREDICTED, u, np.nan))
        away = (state.values[list(free)] - nominal) * held
        sizes = np.sqrt(weight @ (columns * columns))
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        unit = columns / sizes
        square = unit.T @ (unit * weight[:, np.newaxis])
        slope = unit.T @ (weight * u)
        square[range(n), range(n)] += (held / sizes[:n]) ** 2
        slope[:n] -= away * held / sizes[:n]
        improved = False
        for _ in range(12):
            matrix = square + damping * np.diag(np.diag(square)) + 1e-14 * np.eye(len(square))
            step = np.linalg.solve(matrix, slope) / sizes
            trial = state.unpacked(free, state.packed(free) + step)
            found = judged(trial, sides)
            if found[0] <= cost * (1.0 + 1e-13):
                improved = True
                break
            damping = max(damping * 10.0, 1e-6)
            if damping > 1e8:
                break
        if not improved:
            break
        gain = cost - found[0]
        state, damping = trial, damping * 0.1 if damping > 1e-12 else damping
        size = float(np.abs(step * sizes).max())
        sides = problem.sides(state)
        before = cost
        cost, u, weight = judged(state, sides) if state.terms else found
        if size < 1e-7 * max(1.0, np.sqrt(len(u))) or (
            gain < 1e-9 * max(before, 1e-9) and size < 0.01
        ):
            break
    return state


#: Other sizes and senses of one ratio that are tried out.
FACTORS = tuple(sense * 10.0 ** (half / 2.0) for sense in (1.0, -1.0) for half in range(-6, 7))

#: Share of the misfit below which another start is better than that of the description.
BETTER = 0.9

#: Ratios whose senses are tried out together.
MOST_TURNED = 6


def starts(problem: Problem, free: Sequence[int], *, is_constant: bool) -> list[Array]:
    """
    Return values to begin with, those of the description first.

    Ratios of other senses and sizes, where these fit clearly better. Where the ratio depends on
    position dimensions are exchanged and spread over half to twice their size as well.
    """
    model = problem.model
    first = _turned(problem, free)
    found = [first]
    if is_constant:
        return found
    if first is not model.nominal:
        found.append(model.nominal.copy())
    values = model.nominal
    units = [tunable.unit for tunable in model.tunables]
    own = [p for p in free if not is_joint_offset(model.tunables[p])]
    for one, other in itertools.combinations(own, 2):
        if units[one] and units[one] == units[other] and values[one] and values[other]:
            exchanged = values.copy()
            exchanged[[one, other]] = values[[other, one]]
            found.append(exchanged)
    random = np.random.default_rng(1)
    for _ in range(SPREAD_STARTS):
        values = model.nominal.copy()
        values[own] *= 2.0 ** random.uniform(-1.0, 1.0, len(own))
        found.append(values)
    return found


#: Starts that are spread over the plausible range.
SPREAD_STARTS = 4


def _turned(problem: Problem, free: Sequence[int]) -> Array:
    model, mask = problem.model, problem.mask
    ratios = [
        place
        for place in free
        if model.tunables[place].nonzero
        and model.tunables[place].minimum is None
        and model.tunables[place].maximum is None
    ][:MOST_TURNED]
    measured = np.where(mask, model.measured, np.nan)
    motion = _about_median(measured)
    size = np.array([np.nanmean(c) if np.isfinite(c).any() else 0.0 for c in motion.T])

    def misfit(values: Array) -> float:
        rest = _about_median(measured - model.predicted(values))
        cost = 0.0
        for chosen, column, moved in zip(mask.T, rest.T, size, strict=True):
            if moved > 0.0:
                share = column[chosen] / moved
                cost += float(np.mean(np.where(np.isfinite(share), share, 2.0)))
        return cost

    best = model.nominal
    least = misfit(best)
    if least < 0.1:
        return best
    senses = sorted(itertools.product((1.0, -1.0), repeat=len(ratios)), key=lambda s: -sum(s))
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


def _about_median(values: Array) -> Array:
    known = np.isfinite(values)
    middle = [np.median(c[k]) if k.any() else 0.0 for c, k in zip(values.T, known.T, strict=True)]
    return np.asarray(np.abs(values - np.array(middle)))
