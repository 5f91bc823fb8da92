# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The least-squares problem of a calibration: the numbers of a transmission and physical terms.

The transmission predicts ``p = f(x(t - dt))`` from the positions ``x`` of the given side. Channel
``c`` of the measured side, and the reading of encoder ``i`` of the given side, are, for ``n`` 1
and 2::

    y_c = p_c - b_c / 2 * s_c + u_cn sin(n p_c) + v_cn cos(n p_c)
    g_i = x_i + u_in sin(n x_i) + v_in cos(n x_i)

``dt`` is the delay of the measured side and ``b`` a gap (backlash). ``s`` in [-1, 1] is the side
of the gap that is in contact (the play operator: the direction of the last motion that was longer
than the gap). ``u`` and ``v`` are an error once or twice per turn of one encoder or wheel; wind-up
by a weight has the shape of an error once per turn. Terms that are not in the model are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.tools.calibration.recording import interpolate_positions
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Index, Mask

#: Residual, in standard deviations, of a row without a prediction.
UNPREDICTED = 1e3

#: Least noise, as a share of the motion.
EXACT = 1e-6

#: Most iterations of the solver; five to twenty are usual.
MOST_STEPS = 40

#: Tuning constants of the losses of Cauchy and of Tukey (biweight) for an efficiency of 95 %. A
#: residual beyond the second one has no influence.
CAUCHY, BIWEIGHT = 2.385, 4.685

#: Priors of an encoder error [rad], of the measured and of the given side (behind its reduction, a
#: motor's error may be larger). Without bounds, two such errors imitate nearly everything.
LARGE_TURN = (0.1, 1.0)

#: With fewer rows, no terms are selected, and the noise is the root of the mean square: by the
#: median of a few rows, good rows would be outliers.
FEWEST_ROWS = 24


def estimate_spread(values: Array, fitted: float = 0.0) -> float:
    """
    Return the standard deviation about zero, by the median of the absolute values.

    :param fitted: Number of parameters that were fitted to the values.
    """
    known = np.abs(values[np.isfinite(values)])
    if len(known) <= fitted:
        return 0.0
    # Each fitted number makes one residual small; the others determine the median.
    return float(1.4826 * np.quantile(known, 0.5 + 0.5 * fitted / len(known)))


def compute_influence(residual: Array) -> tuple[Array, Array]:
    """Return weights ``psi(u) / u`` and slopes ``psi'(u)`` of the biweight, zero for NaN."""
    inner = 1.0 - np.where(np.isfinite(residual), residual / BIWEIGHT, 2.0) ** 2
    known = np.clip(inner, 0.0, None)
    return known**2, known * (5.0 * inner - 4.0)


@dataclass(frozen=True)
class Term:
    """
    A physical effect beside the numbers of the transmission.

    :param kind: ``delay``, ``backlash`` of a channel, or ``turn``: an error of an encoder.
    :param place: Index of the channel; for an encoder of the given side, of its column.
    :param given: Whether the encoder is on the given side.
    :param order: Periods per turn.
    """

    kind: Literal['delay', 'backlash', 'turn']
    place: int = 0
    given: bool = False
    order: int = 1

    @property
    def count(self) -> int:
        """Count of its numbers: time [s]; gap; sine and cosine [rad or m]."""
        return 2 if self.kind == 'turn' else 1


def compute_contact_side(position: Array, gap: float) -> Array:
    """
    Return the side of a gap that is in contact, from -1 to 1.

    :param position: Position of the driving side, shape ``(rows,)``, in the order of time.
    :param gap: Width of the gap, in the same unit.
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
            sides = [side] * len(sides)  # before the first contact, the same side is most likely
        sides.append(side)
    return np.array(sides)


@dataclass(frozen=True, eq=False)
class Problem:
    """
    A recording to fit. The fitted array has the free numbers, then the numbers of the terms.

    :param mask: Used measurements, shape ``(rows, channels)``.
    :param time: Shape ``(rows,)`` [s], ``None`` if rows have no times.
    :param scales: Standard deviation of the noise per channel.
    :param free: Indices of the fitted numbers.
    """

    model: TransmissionModel
    mask: Mask
    time: Array | None
    scales: Array
    free: tuple[int, ...] = ()
    terms: tuple[Term, ...] = ()

    def select_rows(self, rows: Index) -> Problem:
        """Return the problem of some of the rows."""
        return replace(self, model=self.model.take_rows(rows), mask=self.mask[rows], time=None)

    def locate_term(self, term: Term) -> list[int]:
        """Return the indices of the numbers of a term."""
        before = self.terms[: self.terms.index(term)]
        first = len(self.free) + sum(each.count for each in before)
        return list(range(first, first + term.count))

    def fill_numbers(self, x: Array) -> Array:
        """Return one number per tunable."""
        values: Array = self.model.nominal.copy()
        values[list(self.free)] = x[: len(self.free)]
        return values

    def _get_terms(
        self, kind: str, x: Array, *, given: bool = False
    ) -> Iterator[tuple[Term, Array]]:
        for term in self.terms:
            numbers = x[self.locate_term(term)]
            if term.kind == kind and term.given == given and numbers.any():
                yield term, numbers

    def predict_rows(self, x: Array) -> Array:
        """Return the predicted measurements, shape ``(rows, channels)``."""
        given = self.model.given
        for _, (delay,) in self._get_terms('delay', x):
            given = _shift_earlier(self.time, given, float(delay))  # type: ignore[arg-type]
        for term, numbers in self._get_terms('turn', x, given=True):
            given = given.copy()
            read = turn = given[:, term.place]
            for _ in range(6 if np.abs(numbers).max() > 1e-4 else 1):  # to 1e-6 of 0.1 rad
                turn = read - _build_waves(turn, term.order) @ numbers
            given[:, term.place] = turn
        bare = self.model.predict_positions(self.fill_numbers(x), given)
        found: Array = bare.copy()
        for term, numbers in self._get_terms('turn', x):
            found[:, term.place] += _build_waves(bare[:, term.place], term.order) @ numbers
        for term, (gap,) in self._get_terms('backlash', x):
            found[:, term.place] -= 0.5 * gap * compute_contact_side(bare[:, term.place], gap)
        return found

    def compute_residuals(self, x: Array) -> Array:
        """Return measured minus predicted in standard deviations, shape ``(measurements,)``."""
        return np.asarray(((self.model.measured - self.predict_rows(x)) / self.scales)[self.mask])

    def compute_columns(self, x: Array, middle: Array | None = None) -> Array:
        """
        Return the slopes of the predictions over the fitted numbers, in standard deviations.

        :param middle: Residuals at ``x``, for one-sided differences, which are faster.
        """
        steps = [*1e-5 * self.model.compute_sizes(self.fill_numbers(x))[list(self.free)]]
        for term in self.terms:
            steps += [self._choose_step(term, float(n)) for n in x[self.locate_term(term)]]
        columns = np.zeros((int(self.mask.sum()), len(x)))
        for place, step in enumerate(steps):
            change = np.zeros(len(x))
            change[place] = step
            ahead = self.compute_residuals(x + change)
            slope = (np.nan if middle is None else middle) - ahead
            if np.isnan(slope).any():
                behind = self.compute_residuals(x - change)
                slope = np.where(np.isnan(slope), 0.5 * (behind - ahead), slope)
            if np.isnan(slope).any():  # near the end of the domain
                here = self.compute_residuals(x)
                for one_sided in (here - ahead, behind - here):
                    slope = np.where(np.isnan(slope), one_sided, slope)
            slope = slope / step
            columns[:, place] = np.where(np.isfinite(slope), slope, 0.0)
        return columns

    def _choose_step(self, term: Term, number: float) -> float:
        if term.kind == 'delay' and self.time is not None:
            return 0.05 * float(np.median(np.diff(self.time)))
        if term.kind == 'backlash':  # contact is visible beyond the noise only
            return min(3.0 * float(self.scales[term.place]), 0.5 * abs(number) or np.inf)
        return 1e-5

    def compute_priors(self, x: Array, loose: float = 1.0) -> Array:
        """Return one over the plausible error, per number; zero without a prior."""
        held = np.zeros(len(x))
        for term in self.terms:
            if term.kind == 'turn':
                held[self.locate_term(term)] = 1.0 / LARGE_TURN[term.given]
        plausible = self.model.compute_plausible_errors(self.fill_numbers(x))[list(self.free)]
        held[: len(self.free)] = 1.0 / (loose * plausible)
        return held

    def compute_noise_floor(self) -> Array:
        """Return the least noise per channel."""
        known = np.where(self.mask & np.isfinite(self.model.measured), self.model.measured, np.nan)
        found = [
            max(EXACT * float(np.ptp(c)), 1e-10 * float(np.abs(c).max()), 1e-12) if len(c) else 1.0
            for c in (column[np.isfinite(column)] for column in known.T)
        ]
        return np.array(found)

    def rescale_noise(self, x: Array) -> Problem:
        """Return the problem with the noise of the residual at ``x``."""
        rest = np.where(self.mask, self.model.measured - self.predict_rows(x), np.nan)
        share = len(x) / max(1, int(np.count_nonzero(self.mask.any(axis=0))))
        found = [_noise(column[np.isfinite(column)], share) for column in rest.T]
        return replace(self, scales=np.maximum(found, self.compute_noise_floor()))


def _noise(residual: Array, fitted: float) -> float:
    if 0 < len(residual) < FEWEST_ROWS:
        freedom = len(residual) - fitted
        return float(np.linalg.norm(residual) / np.sqrt(freedom if freedom > 0.0 else 1.0))
    return estimate_spread(residual, fitted)


def _build_waves(angle: Array, order: int) -> Array:
    return np.stack([np.sin(order * angle), np.cos(order * angle)], axis=1)


def _shift_earlier(time: Array, values: Array, delay: float) -> Array:
    """Return values at earlier times, by extrapolation if there is no recording."""
    steps = np.diff(time)
    with np.errstate(all='ignore'):
        rates = np.diff(values, axis=0) / steps[:, np.newaxis]
    # Rate to the nearer neighbour: the other one may be behind a gap.
    after, before = np.append(steps, np.inf), np.insert(steps, 0, np.inf)
    nearer = np.arange(len(time)) - (before < after)
    rate = np.nan_to_num(rates[nearer.clip(0, len(rates) - 1)])
    found = interpolate_positions(time, values, time - delay)
    return np.asarray(np.where(np.isfinite(found), found, values - delay * rate))


def solve_problem(
    problem: Problem,
    x: Array,
    *,
    loose: float = 1.0,
    loss: Literal['cauchy', 'biweight'] = 'cauchy',
    steps: int = MOST_STEPS,
) -> Array:
    """
    Minimise the robust cost from an initial guess (``scipy.optimize.least_squares``).

    A prior holds numbers that the recording does not determine near the description.

    :param loose: Factor of the plausible errors.
    """
    if not len(x):
        return x
    held = problem.compute_priors(x, loose)
    nominal = np.zeros(len(x))
    nominal[: len(problem.free)] = problem.model.nominal[list(problem.free)]
    count = int(problem.mask.sum())

    def weighted_residuals(trial: Array) -> Array:
        u = problem.compute_residuals(trial)
        return np.concatenate([np.where(np.isfinite(u), u, UNPREDICTED), held * (trial - nominal)])

    def weighted_slopes(trial: Array) -> Array:
        columns = problem.compute_columns(trial, problem.compute_residuals(trial))
        return np.concatenate([-columns, np.diag(held)])

    def robust_loss(square: Array) -> Array:
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
        weighted_residuals, x, weighted_slopes, x_scale='jac', loss=robust_loss, max_nfev=steps,
        ftol=1e-11, xtol=1e-11, gtol=None,
    )  # fmt: skip
    return np.asarray(found.x)
