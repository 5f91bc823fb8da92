# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism in one direction: known coordinates, unknown coordinates, and rows that are zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any

from transmission_bridge.types import Array


@dataclass(frozen=True, eq=False)
class Mechanism:
    """
    One direction of a closed mechanism; loops and equations both have this form.

    Coordinates ``z`` are bare: without reductions and offsets of the robot. Some are given, some
    are held, and the others solve ``r(z, p) = 0``.

    :param names: Names of the coordinates.
    :param given: Indices of the given coordinates.
    :param wanted: Indices of the coordinates with velocities, efforts and gains.
    :param rows: Function ``(z, p) -> r, R``. ``R`` is the slope of ``r`` by ``z``, given because
        loops have a short one. A third output is the slope for derivatives, if it is another one.
    :param signs: Function ``(z, p) -> s``, positive on the side of the pose.
    :param kept: Indices of the rows that are solved; other rows are checked.
    :param checked: Indices of the rows whose residual is checked.
    :param held: Indices of coordinates that stay at the pose.
    :param formula: Function ``(given, p) -> wanted``; ``None`` if it is solved for.
    :param make_bend: Returns the function ``(z, z', p) -> r''`` along a motion at constant rates.
    :param pose: A closed, regular position, shape ``(n,)``.
    :param p: The numbers of the rows at this pose.
    :param size: Size of each coordinate at this pose.
    :param has_sizes: Whether steps and gains are shares of these sizes; else they are in [rad] or
        [m].
    :param ball_angles: Indices of the angles of ball joints, whose loss affects no others.
    :param winding: Indices of coordinates in which a full turn changes nothing.
    :param is_unique: Whether these rows, solved for these coordinates, have one solution on the
        side of the pose.
    :param tolerance: Largest residual of a row that is checked.
    :param what: The given coordinates in words, for messages.
    """

    names: tuple[str, ...]
    given: tuple[int, ...]
    wanted: tuple[int, ...]
    rows: Any
    signs: Any
    kept: tuple[int, ...]
    make_bend: Callable[[], Any]
    pose: Array
    p: Array | Sequence[float]
    size: Array
    has_sizes: bool
    is_unique: Callable[[list[int], list[int]], bool]
    what: str
    checked: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    formula: Any = None
    ball_angles: frozenset[int] = frozenset()
    winding: frozenset[int] = frozenset()
    tolerance: float = math.inf
