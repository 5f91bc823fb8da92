# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Rows and coordinates of a mechanism sorted into blocks that are solved one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.mechanism.elimination import (
    compute_pivot_order,
)
from transmission_bridge.transmissions.mechanism.mechanism import Mechanism
from transmission_bridge.types import Array

Expression: TypeAlias = Any


class Block(NamedTuple):
    """
    Rows that are solved together: their indices, and the indices of the coordinates solved for.

    ``is_ball_joint``: all of these coordinates are angles of balls.
    """

    rows: list[int]
    places: list[int]
    is_ball_joint: bool


def evaluate_slope(mechanism: Mechanism, z: Array, p: Array | Sequence[float]) -> Array:
    """Return the derivatives of all rows by all coordinates at a position."""
    return np.asarray(mechanism.rows(z, p)[1].full())


def sort_into_blocks(mechanism: Mechanism, places: Sequence[int]) -> list[Block]:
    """Return the blocks for some coordinates, in an order in which they can be solved."""
    if not places:
        return []
    kept = list(mechanism.kept)
    seen = np.zeros((len(kept), len(places)), dtype=bool)
    if mechanism.has_sizes:
        # Other numbers have the same functions, and may not have these zeros.
        whole = ca.DM(mechanism.rows.sparsity_out(1), 1.0).full()
        seen |= whole[np.ix_(kept, places)] != 0.0
    random = np.random.default_rng(2)
    for _ in range(0 if mechanism.has_sizes else 3):
        z = mechanism.pose + random.uniform(-0.3, 0.3, len(mechanism.pose))
        seen |= ~(np.abs(evaluate_slope(mechanism, z, mechanism.p)[np.ix_(kept, places)]) <= 1e-13)
    pattern = ca.sparsify(ca.DM(seen.astype(float))).sparsity()
    if ca.sprank(ca.DM(pattern, 1.0)) < len(places):
        loose = [mechanism.names[places[k]] for k in range(len(places)) if not seen[:, k].any()]
        raise TransmissionError(
            f'{mechanism.what} do not determine the mechanism',
            expected='as many of them as freedoms, in each independent mechanism',
            found=', '.join(loose) or 'too few in one mechanism, too many in another',
        )
    _, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
    blocks = []
    for row_end, column_end in zip(pairwise(row_ends), pairwise(column_ends), strict=True):
        rows = [kept[k] for k in row_order[slice(*row_end)]]
        own = [places[k] for k in column_order[slice(*column_end)]]
        if rows:
            blocks.append(Block(rows, own, mechanism.ball_angles.issuperset(own)))
    return blocks


def sort_rows(block: Block, slope: Array) -> Block:
    """Return a block with its rows in the order of their pivots."""
    order = compute_pivot_order(slope[np.ix_(block.rows, block.places)])
    return block._replace(rows=[block.rows[k] for k in order])
