# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The least-squares problem of a calibration: the numbers of a transmission and physical terms.

With ``p = f(x(t - dt))`` what the transmission predicts of the given side, channel ``c`` of the
measured side is taken to be, and what encoder ``i`` of the given side reads, for ``n`` 1 and 2::

    y_c = p_c - b_c / 2 * s_c + u_cn sin(n p_c) + v_cn cos(n p_c)
    g_i = x_i + u_in sin(n x_i) + v_in cos(n x_i)

``dt`` is the time by which the measured side is late, ``b`` a gap (backlash), ``s`` in [-1, 1] the
side of the gap that is in contact (the play operator: the sense of the last motion that was longer
than the gap), ``u`` and ``v`` an error once or twice per turn of one encoder or wheel; wind-up by
a weight has the shape of one once per turn. Terms that are not in the model are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.tools.calibration.recording import interpolated
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index, Mask

__all__ = ['FEWEST_ROWS', 'Problem', 'Term', 'influence', 'play', 'solved', 'spread']

#: Residual, in standard deviations, of a row that a trial value cannot predict at all.
UNPREDICTED = 1e3

#: Noise is taken to be at least this share of the motion: what is less is nobody's concern.
EXACT = 1e-6

#: Evaluations of the solver; problems of this kind take five to twenty.
MOST_STEPS = 40

#: Of the losses of Cauchy and of Tukey (the biweight), each with the efficiency of 95 %; beyond
#: the second one's a residual has no influence.
CAUCHY, BIWEIGHT = 2.385, 4.685

#: An error of an encoder [rad] that is large, of the measured and of the given side: behind its
#: reduction a motor's may be larger. Without bounds two of them imitate nearly everything.
LARGE_TURN = (0.1, 1.0)

#: With fewer rows than this no terms are looked for, and the noise is that of the mean square: a
#: median of a few rows would make outliers of good ones.
FEWEST_ROWS = 24


def spread(values: Array, fitted: float = 0.0) -> float:
    """
    Return the standard deviation by the median of the absolute values, about zero.

    :param fitted: How many numbers were fitted to the values.
    """
    known = np.abs(values[np.isfinite(values)])
    if len(known) <= fitted:
        return 0.0
    # What was fitted makes so many residuals small; the median is that of the others.
    return float(1.4826 * np.quantile(known, 0.5 + 0.5 * fitted / len(known)))


def influence(residual: Array) -> tuple[Array, Array]:
    """Return weights ``psi(u) / u`` and slopes ``psi'(u)`` of the biweight, zero of a NaN."""
    inner = 1.0 - np.where(np.isfinite(residual), residual / BIWEIGHT, 2.0) ** 2
    known = np.clip(inner, 0.0, None)
    return known**2, known * (5.0 * inner - 4.0)


@dataclass(frozen=True)
class Term:
    """
    A physical effect beside the numbers of the transmission.

    :param kind: ``delay``, ``backlash`` of a channel, or ``turn``: an error of an encoder.
    :param place: The channel; for a turn of the given side its column.
    :param given: Whether a turn is one of the given side.
    :param order: How often per turn.
    """

    kind: Literal['delay', 'backlash', 'turn']
    place: int = 0
    given: bool = False
    order: int = 1

    @property
    def count(self) -> int:
        """How many numbers it has: time [s]; gap; sine and cosine [rad or m]."""
        return 2 if self.kind == 'turn' else 1


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
    A recording to fit. What is fitted is one array: the free numbers, then those of the terms.

    :param mask: Which measurements count, shape ``(rows, channels)``.
    :param time: Shape ``(rows,)`` [s], ``None`` where rows have no times.
    :param scales: Standard deviation of the noise per channel.
    :param free: Places of the numbers that are fitted.
    """

    model: TransmissionModel
    mask: Mask
    time: Array | None
    scales: Array
    free: tuple[int, ...] = ()
    terms: tuple[Term, ...] = ()

    def at_rows(self, rows: Index) -> Problem:
        """Return the problem of some of the rows."""
        return replace(self, model=self.model.at_rows(rows), mask=self.mask[rows], time=None)

    def places(self, term: Term) -> list[int]:
        """Return where the numbers of a term are."""
        before = self.terms[: self.terms.index(term)]
        first = len(self.free) + sum(each.count for each in before)
        return list(range(first, first + term.count))

    def values(self, x: Array) -> Array:
        """Return one number per tunable."""
        values: Array = self.model.nominal.copy()
        values[list(self.free)] = x[: len(self.free)]
        return values

    def _of(self, kind: str, x: Array, *, given: bool = False) -> Iterator[tuple[Term, Array]]:
        for term in self.terms:
            numbers = x[self.places(term)]
            if term.kind == kind and term.given == given and numbers.any():
                yield term, numbers

    def predicted(self, x: Array) -> Array:
        """Return what would be measured, shape ``(rows, channels)``."""
        given = self.model.given
        for _, (delay,) in self._of('delay', x):
            given = _earlier(self.time, given, float(delay))  # type: ignore[arg-type]
        for term, numbers in self._of('turn', x, given=True):
            given = given.copy()
            read = turn = given[:, term.place]
            for _ in range(6 if np.abs(numbers).max() > 1e-4 else 1):  # to 1e-6 of 0.1 rad
                turn = read - _waves(turn, term.order) @ numbers
            given[:, term.place] = turn
        bare = self.model.predicted(self.values(x), given)
        found: Array = bare.copy()
        for term, numbers in self._of('turn', x):
            found[:, term.place] += _waves(bare[:, term.place], term.order) @ numbers
        for term, (gap,) in self._of('backlash', x):
            found[:, term.place] -= 0.5 * gap * play(bare[:, term.place], gap)
        return found

    def residuals(self, x: Array) -> Array:
        """Return measured minus predicted in standard deviations, shape ``(measurements,)``."""
        return np.asarray(((self.model.measured - self.predicted(x)) / self.scales)[self.mask])

    def columns(self, x: Array, middle: Array | None = None) -> Array:
        """
        Return how the predictions depend on what is fitted, in standard deviations.

        :param middle: The residuals there: quicker, by differences to one side only.
        """
        steps = [*1e-5 * self.model.sizes(self.values(x))[list(self.free)]]
        for term in self.terms:
            steps += [self._step(term, float(number)) for number in x[self.places(term)]]
        columns = np.zeros((int(self.mask.sum()), len(x)))
        for place, step in enumerate(steps):
            change = np.zeros(len(x))
            change[place] = step
            ahead = self.residuals(x + change)
            slope = (np.nan if middle is None else middle) - ahead
            if np.isnan(slope).any():
                behind = self.residuals(x - change)
                slope = np.where(np.isnan(slope), 0.5 * (behind - ahead), slope)
            if np.isnan(slope).any():  # next to where the mechanism ends
                here = self.residuals(x)
                for one_sided in (here - ahead, behind - here):
                    slope = np.where(np.isnan(slope), one_sided, slope)
            slope = slope / step
            columns[:, place] = np.where(np.isfinite(slope), slope, 0.0)
        return columns

    def _step(self, term: Term, number: float) -> float:
        if term.kind == 'delay' and self.time is not None:
            return 0.05 * float(np.median(np.diff(self.time)))
        if term.kind == 'backlash':  # which side is in contact shows beyond the noise only
            return min(3.0 * float(self.scales[term.place]), 0.5 * abs(number) or np.inf)
        return 1e-5

    def held(self, x: Array, loose: float = 1.0) -> Array:
        """Return one over what is plausible, per number; zero where nothing is known."""
        held = np.zeros(len(x))
        for term in self.terms:
            if term.kind == 'turn':
                held[self.places(term)] = 1.0 / LARGE_TURN[term.given]
        plausible = self.model.plausible(self.values(x))[list(self.free)]
        held[: len(self.free)] = 1.0 / (loose * plausible)
        return held

    def floor(self) -> Array:
        """Return the least noise that is taken for noise, per channel."""
        known = np.where(self.mask & np.isfinite(self.model.measured), self.model.measured, np.nan)
        found = [
            max(EXACT * float(np.ptp(c)), 1e-10 * float(np.abs(c).max()), 1e-12) if len(c) else 1.0
            for c in (column[np.isfinite(column)] for column in known.T)
        ]
        return np.array(found)

    def rescaled(self, x: Array) -> Problem:
        """Return the problem with the noise that a fit leaves."""
        rest = np.where(self.mask, self.model.measured - self.predicted(x), np.nan)
        share = len(x) / max(1, int(np.count_nonzero(self.mask.any(axis=0))))
        found = [_noise(column[np.isfinite(column)], share) for column in rest.T]
        return replace(self, scales=np.maximum(found, self.floor()))


def _noise(residual: Array, fitted: float) -> float:
    if 0 < len(residual) < FEWEST_ROWS:
        freedom = len(residual) - fitted
        return float(np.linalg.norm(residual) / np.sqrt(freedom if freedom > 0.0 else 1.0))
    return spread(residual, fitted)


def _waves(angle: Array, order: int) -> Array:
    return np.stack([np.sin(order * angle), np.cos(order * angle)], axis=1)


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


def solved(
    problem: Problem,
    x: Array,
    *,
    loose: float = 1.0,
    loss: Literal['cauchy', 'biweight'] = 'cauchy',
    steps: int = MOST_STEPS,
) -> Array:
    """
    Return what has the least robust cost near a start (``scipy.optimize.least_squares``).

    What the recording cannot tell is held near the description.

    :param loose: How many times further off than plausible it may be.
    """
    if not len(x):
        return x
    held = problem.held(x, loose)
    nominal = np.zeros(len(x))
    nominal[: len(problem.free)] = problem.model.nominal[list(problem.free)]
    count = int(problem.mask.sum())

    def rests(trial: Array) -> Array:
        u = problem.residuals(trial)
        return np.concatenate([np.where(np.isfinite(u), u, UNPREDICTED), held * (trial - nominal)])

    def slopes(trial: Array) -> Array:
        return np.concatenate([-problem.columns(trial, problem.residuals(trial)), np.diag(held)])

    def costs(square: Array) -> Array:
        found = np.stack([square, np.ones_like(square), np.zeros_like(square)])
        if loss == 'cauchy':
            z = 1.0 + square[:count] / CAUCHY**2
            found[:, :count] = CAUCHY**2 * np.log(z), 1.0 / z, -1.0 / (CAUCHY * z) ** 2
        else:
            z = np.clip(1.0 - square[:count] / BIWEIGHT**2, 0.0, None)
            found[:, :count] = BIWEIGHT**2 / 3.0 * (1.0 - z**3), z**2, -2.0 / BIWEIGHT**2 * z
        return found

    least_squares = optional('scipy.optimize', 'calibrate').least_squares
    found = least_squares(
        rests, x, slopes, x_scale='jac', loss=costs, max_nfev=steps, ftol=1e-11, xtol=1e-11,
        gtol=None,
    )  # fmt: skip
    return np.asarray(found.x)
