# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which numbers a recording can tell, and which only together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transmission_bridge.tools.calibration.model import TransmissionModel
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

__all__ = ['Kept', 'identifiable', 'order_of']

#: What is left of a column, relative, when others have explained it but for rounding.
DEPENDENT = 1e-5


@dataclass(frozen=True)
class Kept:
    """
    Why a number keeps the value of the description.

    :param reason: ``fixed`` by the user, ``no effect`` on these measurements, ``dependent`` on
        others, or ``second order``: a small change has no effect, a larger one has.
    :param partners: For ``dependent``: the places of the others, with the power of each that makes
        up for this one, where the relation is one of powers, else ``None``.
    """

    reason: Literal['fixed', 'no effect', 'dependent', 'second order']
    partners: tuple[tuple[int, int | None], ...] = ()


def order_of(tunables: Sequence[Tunable], *, is_constant: bool) -> list[int]:
    """
    Return the places of the numbers, those first that are to be told rather than others.

    Offsets, then ratios of joints and what the type has of its own (in this order where the ratio
    is constant, else in the other one), then ratios of actuators, the first one last: so that it
    is the actuator's side that keeps its value where only a product is known.
    """

    def rank(place: int) -> tuple[int, int]:
        path = tunables[place].path
        if path[0] == 'joints' and path[-1] == 'offset':
            return 0, place
        if path[-1] == 'mechanical_reduction':
            return (3, -place) if path[0] == 'actuators' else (1 if is_constant else 2, place)
        return (2 if is_constant else 1), place

    return sorted(range(len(tunables)), key=rank)


def identifiable(
    model: TransmissionModel,
    values: Array,
    slopes: Array,
    order: Sequence[int],
) -> tuple[list[int], dict[int, Kept]]:
    """
    Choose the numbers to fit.

    One after the other is taken, unless its column depends on those before.

    :param values: One per tunable.
    :param slopes: In standard deviations, shape ``(measurements, tunables)``.
    :param order: Places of the tunables, those first that are preferred.
    :returns: The places to fit, in their own order, and why the others are kept.
    """
    sizes = model.sizes(values)
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
            # A relative change of this one asks for these relative changes of others.
            relative = -shares * full[place] / full[taken] * sizes[taken] / sizes[place]
            partners = [
                (other, _power(float(change) * values[place], values[other]))
                for other, change in zip(taken, relative, strict=True)
                if abs(change) * sizes[place] > 1e-3 * sizes[other]
            ]
            kept[place] = Kept('dependent', tuple(partners))
    return sorted(taken), kept


def _power(own: float, other: float) -> int | None:
    """Return the ratio of two relative changes if it is a whole number."""
    power = own / other if own and other else np.nan
    exact = bool(np.isfinite(power)) and abs(power - round(power)) < 1e-3
    return round(power) if exact else None
