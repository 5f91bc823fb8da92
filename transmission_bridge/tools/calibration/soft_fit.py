# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Robust fits from far away."""

from __future__ import annotations

import numpy as np

from transmission_bridge.tools.calibration.fit import Problem, Solution
from transmission_bridge.tools.calibration.robust import known_median, spread
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['soft_fit']

#: Fits with a scale that comes down, and from how much more than the noise it does.
COOLINGS, HOT = 6, 3.0


def soft_fit(problem: Problem, values: Array) -> Solution:
    """
    Fit by soft L1, from levels that are the medians of their rows.

    Far from the solution every residual is an outlier, and a robust loss knows no direction: the
    scale comes down from that of the residuals.
    """
    model, mask, levels = problem.model, problem.mask, problem.levels
    residual = np.where(mask, model.measured - model.predicted(values), np.nan)
    start = []
    for channel, label in levels.fitted:
        of_label = levels.labels[:, channel]
        level = known_median(residual[of_label == label, channel])
        if (channel, 0) not in levels.fitted:  # the offset takes that of the reference
            level -= known_median(residual[of_label == 0, channel])
        start.append(level)
    solution = Solution(values, np.array(start))
    for _ in range(COOLINGS):
        rest = model.measured - model.predicted(solution.values) - levels.added(solution.levels)
        found = [spread(column[chosen]) for column, chosen in zip(rest.T, mask.T, strict=True)]
        if np.all(np.array(found) <= HOT * problem.scales):
            break
        warm = np.maximum(found, problem.scales)
        solution = Problem(model, problem.free, levels, mask, warm).solved(solution, 'soft_l1')
    return problem.solved(solution, 'soft_l1')
