# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Identifiable numbers of a recording, and combinations of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

#: Relative remainder of a column that depends on others, by rounding.
DEPENDENT = 1e-5


@dataclass(frozen=True)
class Kept:
    """
    The reason to keep a number of the description.

    :param reason: ``fixed`` by the user, ``no effect`` on these measurements, ``dependent`` on
        others, or ``second order`` (only a large change has an effect).
    :param partners: For ``dependent``: the indices of the others, each with the power that
        compensates this number, ``None`` if the relation is not a power.
    """

    reason: Literal['fixed', 'no effect', 'dependent', 'second order']
    partners: tuple[tuple[int, int | None], ...] = ()


def order_numbers(tunables: Sequence[Tunable], *, is_constant: bool) -> list[int]:
    """
    Return the indices of the numbers in the order of preference for the fit.

    Offsets, then ratios of joints and parameters of the type (in this order if the ratio is
    constant, else in the reverse one), then ratios of actuators, the first one last. So the
    actuator's ratio is kept if only a product is identifiable.
    """

    def rank(place: int) -> tuple[int, int]:
        path = tunables[place].path
        if path[0] == 'joints' and path[-1] == 'offset':
            return 0, place
        if path[-1] == 'mechanical_reduction':
            return (3, -place) if path[0] == 'actuators' else (1 if is_constant else 2, place)
        return (2 if is_constant else 1), place

    return sorted(range(len(tunables)), key=rank)


def choose_free_numbers(
    model: TransmissionModel, values: Array, slopes: Array, order: Sequence[int]
) -> tuple[list[int], dict[int, Kept]]:
    """
    Choose the numbers to fit: in order, each number whose column is independent of those before.

    :param values: One per tunable.
    :param slopes: In standard deviations, shape ``(measurements, tunables)``.
    :param order: Indices of the tunables, preferred ones first.
    :returns: The sorted indices to fit, and the reasons to keep the others.
    """
    sizes = model.compute_sizes(values)
    full = np.linalg.norm(slopes * sizes, axis=0)
    unit = slopes * sizes / np.where(full > 0.0, full, 1.0)
    taken: list[int] = []
    kept: dict[int, Kept] = {}
    for place in order:
        shares = np.linalg.lstsq(unit[:, taken], unit[:, place])[0]
        if full[place] == 0.0:
            kept[place] = Kept('no effect')
        elif np.linalg.norm(unit[:, place] - unit[:, taken] @ shares) > DEPENDENT:
            taken.append(place)
        else:
            # These relative changes of others compensate a relative change of this number.
            relative = -shares * full[place] / full[taken] * sizes[taken] / sizes[place]
            partners = [
                (other, _find_power(float(change) * values[place], values[other]))
                for other, change in zip(taken, relative, strict=True)
                if abs(change) * sizes[place] > 1e-3 * sizes[other]
            ]
            kept[place] = Kept('dependent', tuple(partners))
    return sorted(taken), kept


def _find_power(own: float, other: float) -> int | None:
    """Return the ratio of two relative changes if it is an integer."""
    power = own / other if own and other else np.nan
    exact = bool(np.isfinite(power)) and abs(power - round(power)) < 1e-3
    return round(power) if exact else None
