# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Ratios of the right sense and order of size, to start from.

A solver would have to pass infinity to turn a reduction round, and needs long for one that is
wrong by orders of size.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools

import numpy as np

from transmission_bridge.tools.calibration.fit import Labels, Mask
from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.tools.calibration.motion import blocks
from transmission_bridge.tools.calibration.robust import known_median
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['rough_start']

#: Other sizes and senses of one ratio that are tried out.
FACTORS = tuple(sense * 10.0 ** (half / 2.0) for sense in (1.0, -1.0) for half in range(-6, 7))

#: Share of the misfit below which another start is better than that of the description.
BETTER = 0.9

#: Ratios whose senses are tried out together.
MOST_TURNED = 6

#: Misfit of a row that cannot be predicted, in typical motions.
UNPREDICTED = 2.0


def rough_start(model: TransmissionModel, mask: Mask, order: Sequence[int]) -> Array:
    """
    Return the described values, with other ratios where these fit clearly better.

    Neither offsets nor slips matter: what counts are motions within blocks of rows.

    :param mask: Which measurements count, shape ``(rows, channels)``.
    :param order: Places of the tunables that may be changed.
    """
    ratios = [
        place
        for place in order
        if model.tunables[place].nonzero
        and model.tunables[place].minimum is None
        and model.tunables[place].maximum is None
    ][:MOST_TURNED]
    block = blocks(len(mask))
    motion = np.abs(_within_blocks(np.where(mask, model.measured, np.nan), block))

    def misfit(values: Array) -> float:
        residual = np.where(mask, model.measured - model.predicted(values), np.nan)
        rest = np.abs(_within_blocks(residual, block))
        cost = 0.0
        for place, chosen in enumerate(mask.T):
            size = float(np.mean(motion[chosen, place])) if chosen.any() else 0.0
            if size > 0.0:
                share = rest[chosen, place] / size
                cost += float(np.mean(np.where(np.isfinite(share), share, UNPREDICTED)))
        return cost

    best = model.nominal
    least = misfit(best)
    senses = itertools.product((1.0, -1.0), repeat=len(ratios))
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


def _within_blocks(values: Array, block: Labels) -> Array:
    """Return the columns less the median of each block."""
    rest: Array = values.copy()
    for label in np.unique(block):
        chosen = block == label
        rest[chosen] -= np.array([known_median(column) for column in values[chosen].T])
    return rest
