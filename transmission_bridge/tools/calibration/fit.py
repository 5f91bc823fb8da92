# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The least-squares problem of a calibration, with levels that the rows of a channel share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.tools.cli import optional
from transmission_bridge.types import Array, Mask

__all__ = ['Levels', 'Problem', 'Solution']

Labels = npt.NDArray[np.intp]

#: Residual, in standard deviations, of a row that a trial value cannot predict at all.
UNPREDICTED = 1e3

#: Steps of the solver; problems of this kind take five to twenty.
MOST_EVALUATIONS = 80


@dataclass(frozen=True, eq=False)
class Levels:
    """
    Constants that are added to the predictions of the rows with a label.

    :param labels: Shape ``(rows, channels)``.
    :param fitted: Pairs (channel, label) whose level is fitted; that of all others is zero.
    """

    labels: Labels
    fitted: tuple[tuple[int, int], ...] = ()

    def added(self, values: Array) -> Array:
        """Return what is added, shape ``(rows, channels)``."""
        added = np.zeros(self.labels.shape)
        for (channel, label), value in zip(self.fitted, values, strict=True):
            added[self.labels[:, channel] == label, channel] = value
        return added

    def slopes(self) -> Array:
        """Return ones where a level is added, shape ``(rows, channels, fitted)``."""
        slopes = np.zeros((*self.labels.shape, len(self.fitted)))
        for column, (channel, label) in enumerate(self.fitted):
            slopes[self.labels[:, channel] == label, channel, column] = 1.0
        return slopes


@dataclass(frozen=True, eq=False)
class Solution:
    """
    Fitted values.

    :param values: One per tunable, those that were not fitted unchanged.
    :param levels: One per fitted level.
    """

    values: Array
    levels: Array


class Problem:
    """
    One transmission, the numbers to fit, and the rows to fit them to.

    :param free: Places of the tunables to fit.
    :param levels: Levels to fit beside them.
    :param mask: Which measurements count, shape ``(rows, channels)``.
    :param scales: Standard deviation of the noise per channel.
    """

    def __init__(
        self,
        model: TransmissionModel,
        free: Sequence[int],
        levels: Levels,
        mask: Mask,
        scales: Array,
    ) -> None:
        self.model, self.free, self.levels, self.mask = model, list(free), levels, mask
        self.scales = scales
        self._level_slopes = (levels.slopes() / scales[:, np.newaxis])[mask]

    def residuals(self, solution: Solution) -> Array:
        """Return measured minus predicted in standard deviations, NaN where not predicted."""
        predicted = self.model.predicted(solution.values) + self.levels.added(solution.levels)
        return np.asarray(((self.model.measured - predicted) / self.scales)[self.mask])

    def slopes(self, values: Array) -> Array:
        """Return how the predictions depend on what is fitted, in standard deviations."""
        slopes = (self.model.slopes(values, self.free) / self.scales[:, np.newaxis])[self.mask]
        return np.concatenate([slopes, self._level_slopes], axis=1)

    def solved(self, start: Solution, loss: str | Callable[[Array], Array]) -> Solution:
        """
        Return the values with the least robust cost near a start.

        :param loss: As ``scipy.optimize.least_squares`` takes it.
        """
        if not self.free and not self.levels.fitted:
            return start
        optimize = optional('scipy.optimize', 'calibrate')
        n_free = len(self.free)

        def solution(x: Array) -> Solution:
            values = start.values.copy()
            values[self.free] = x[:n_free]
            return Solution(values, x[n_free:])

        def residuals(x: Array) -> Array:
            found = self.residuals(solution(x))
            return np.where(np.isfinite(found), found, UNPREDICTED)

        def jacobian(x: Array) -> Array:
            at = solution(x)
            unpredicted = ~np.isfinite(self.residuals(at))
            return np.where(unpredicted[:, np.newaxis], 0.0, -self.slopes(at.values))

        tunables = [self.model.tunables[place] for place in self.free]
        open_end = [np.inf] * len(self.levels.fitted)
        lower = [-np.inf if t.minimum is None else t.minimum for t in tunables]
        upper = [np.inf if t.maximum is None else t.maximum for t in tunables]
        result: Any = optimize.least_squares(
            residuals,
            np.concatenate([start.values[self.free], start.levels]),
            jac=jacobian,
            bounds=(np.array(lower + [-e for e in open_end]), np.array(upper + open_end)),
            loss=loss,
            x_scale='jac',
            xtol=1e-10,
            ftol=1e-10,
            gtol=1e-10,
            max_nfev=MOST_EVALUATIONS,
        )
        return solution(np.asarray(result.x, dtype=np.float64))
