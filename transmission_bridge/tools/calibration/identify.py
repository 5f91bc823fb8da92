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
    basis = np.empty((len(slopes), 0))
    taken: list[int] = []
    kept: dict[int, Kept] = {}
    for place in order:
        column = slopes[:, place] * sizes[place]
        full = float(np.linalg.norm(column))
        if full == 0.0:
            kept[place] = Kept('no effect')
            continue
        rest = column
        for _ in range(2):  # Gram and Schmidt: twice is enough (Kahan)
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length <= DEPENDENT * full:
            columns = slopes[:, taken] * sizes[taken]
            partners = _partners(columns, column, taken, values, sizes, place)
            kept[place] = Kept('dependent', partners)
        else:
            basis = np.column_stack([basis, rest / length])
            taken.append(place)
    return sorted(taken), kept


def _partners(
    columns: Array,
    column: Array,
    taken: Sequence[int],
    values: Array,
    sizes: Array,
    place: int,
) -> tuple[tuple[int, int | None], ...]:
    """Return what makes up for a change of one number, and by which power if by any."""
    if not taken:
        return ()
    shares = np.linalg.lstsq(columns, column, rcond=None)[0]
    partners = []
    for other, share in zip(taken, shares, strict=True):
        if abs(share) < 1e-3:
            continue
        # A relative change of this one asks for this relative change of the other one.
        relative = -share * sizes[other] / sizes[place]
        if values[place] and values[other]:
            power = relative * values[place] / values[other]
        else:
            power = np.nan
        exact = bool(np.isfinite(power)) and abs(power - round(power)) < 1e-3
        partners.append((other, round(power) if exact else None))
    return tuple(partners)
