# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One of the ways in which a closure is assembled: ``y``, where ``g(x, y) = 0`` alone says it.

A closure has several ``y`` for each ``x``. Which one is meant is said by one pose; from there the
mechanism is moved, in small steps, to the points of a table that is laid over the domain. From the
nearest of them every other position is a few Newton steps away, so that the same ``x`` always
gives the same ``y``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.mechanism import apply, points_of, solve, stacked
from transmission_bridge.types import Array, Index, Mask

if TYPE_CHECKING:
    from transmission_bridge.transmissions.equations import Equations

__all__ = ['Assembly']


#: Steps from one point of the table to the next.
STEPS = 4

#: How many points a table may have, where a coarse one leaves open which assembly is meant.
MOST_POINTS = 5000

#: Solutions that differ by less of the size of ``y`` are the same.
SAME = 1e-6


@dataclass(frozen=True)
class Assembly:
    """
    A table of positions of one assembly.

    :param domain: Positions ``x``.
    :param numbers: The numbers of the closure.
    :param points: How many points there are along each coordinate of the domain.
    :param x: The points that are reached, shape ``(count, n_x)``.
    :param y: Where the mechanism is there, shape ``(count, n_y)``.
    :param slope: ``G`` there, shape ``(count, n_y, n_x)``.
    :param near: Which of these is the nearest to each point of the grid, -1 where none is near.
    :param pairs: Which of these are next to each other.
    :param side: Sign of the determinant of ``dg/dy``, which changes where two assemblies meet.
    :param size: Typical size of ``y``, shape ``(n_y,)``.
    """

    domain: Domain
    numbers: tuple[float, ...]
    points: int
    x: Array
    y: Array
    slope: Array
    near: Index
    pairs: tuple[Index, Index]
    side: float
    size: Array

    @cached_property
    def x_step(self) -> Array:
        """From one point to the next, shape ``(n_x,)``."""
        return self.domain.span / (self.points - 1)

    @property
    def steps(self) -> list[float]:
        """How far it may be followed: from a point to the next in ``x``, and at most in ``y``."""
        one, other = self.pairs
        return [*self.x_step.tolist(), *np.abs(self.y[one] - self.y[other]).max(axis=0).tolist()]

    def holds(self, equations: Equations, x: Array, y: Array) -> Mask:
        """Tell which solutions of the closure are of this assembly."""
        there, _ = self.evaluate(equations, x)
        return np.asarray((np.abs(there - y) <= SAME * self.size).all(axis=-1))

    def evaluate(self, equations: Equations, x: Array) -> tuple[Array, Array]:
        """
        Return ``y`` and ``G``, NaN where the assembly does not reach.

        :param x: Shape ``(samples, n_x)``.
        :returns: Shapes ``(samples, n_y)`` and ``(samples, n_y, n_x)``.
        """
        share = np.nan_to_num((x - self.domain.lower) / self.x_step, nan=0.0)
        cells = np.clip(np.rint(share), 0, self.points - 1).astype(np.intp)
        shape = (self.points,) * x.shape[1]
        return self._from(equations, x, self.near[np.ravel_multi_index(tuple(cells.T), shape)])

    def _from(self, equations: Equations, x: Array, place: Index) -> tuple[Array, Array]:
        """Return ``y`` and ``G`` at ``x``, coming from points of the table."""
        ahead = apply(self.slope[place], x - self.x[place])
        start = np.where((place >= 0)[:, np.newaxis], self.y[place] + ahead, np.nan)
        y, slope, side, closed = _followed(equations, self.numbers, x, start, self.size)
        rest = ~closed & np.isfinite(start).all(axis=-1)
        if rest.any():
            y[rest], slope[rest], side[rest], closed[rest] = _sought(
                equations, self.numbers, x[rest], start[rest], self.size
            )
        lost = ~closed | ~(side * self.side > 0.0)
        y[lost], slope[lost] = np.nan, np.nan
        return y, slope

    @classmethod
    def over(
        cls,
        equations: Equations,
        numbers: tuple[float, ...],
        domain: Domain,
        pose: tuple[Array, Array],
    ) -> Assembly:
        """
        Move the mechanism from a pose over the domain.

        :param equations: The closure.
        :param numbers: Its numbers.
        :param domain: Positions ``x``.
        :param pose: ``x`` and about ``y``, shapes ``(n_x,)`` and ``(n_y,)``.
        :raises TransmissionError: If the pose is outside of the domain, is none at which the
            mechanism closes, or is one at which two assemblies meet; or if a table cannot tell
            assemblies apart.
        """
        x, start = (each[np.newaxis] for each in pose)
        with np.errstate(all='ignore'):
            size = np.abs(start[0]) + 1e-3 * domain.span.max()
            y, slope, side, closed = _sought(equations, numbers, x, start, size)
            size = size + np.abs(slope[0]) @ domain.span
            if not (domain.contains(x) & closed & np.isfinite(slope).all(axis=(1, 2))).all():
                raise TransmissionError(
                    'the pose does not say how the mechanism is assembled',
                    expected=f'a {domain.space} position within {domain.lower} to {domain.upper} '
                    'at which it closes, and is not at a dead centre',
                    found=f'{pose[0].tolist()} with {pose[1].tolist()} in the other space',
                )
            points = points_of(len(domain.lower))
            while points ** len(domain.lower) <= MOST_POINTS:
                table = _table(equations, numbers, domain, points, (x, y, slope), side[0], size)
                if table._tells_apart(equations):
                    return table
                points = 2 * points - 1
        raise TransmissionError(
            'the closure changes its assembly from one point of the table to the next',
            expected=f'one assembly over the {domain.space} positions from {domain.lower} to '
            f'{domain.upper}; is the range narrow enough?',
            found=f'several, with {(points + 1) // 2} points along each coordinate',
        )

    def _tells_apart(self, equations: Equations) -> bool:
        """Whether half-way between two points both lead to the same solution."""
        one, other = self.pairs
        middle = 0.5 * (self.x[one] + self.x[other])
        here, there = (self._from(equations, middle, each)[0] for each in (one, other))
        differs = (np.abs(here - there) > SAME * self.size).any(axis=-1)
        lost = np.isnan(here).any(axis=-1) & np.isnan(there).any(axis=-1)
        return len(one) > 0 and not (differs | lost).any()


def _table(
    equations: Equations,
    numbers: tuple[float, ...],
    domain: Domain,
    points: int,
    home: tuple[Array, Array, Array],
    side: float,
    size: Array,
) -> Assembly:
    """Return a table of all points that are reached from a pose, each from a neighbour."""
    n = len(domain.lower)
    x = domain.grid(points)
    y = np.full((len(x), len(size)), np.nan)
    slope = np.full((len(x), len(size), n), np.nan)

    def move(places: Index, at_x: Array, at_y: Array, at_slope: Array) -> Index:
        """Move to points, and return which are reached."""
        step = (x[places] - at_x) / STEPS
        good = np.ones(len(places), dtype=bool)
        for _ in range(STEPS):
            at_x = at_x + step
            ahead = at_y + apply(at_slope, step)
            at_y, at_slope, turned, closed = _followed(equations, numbers, at_x, ahead, size)
            good &= closed & (turned * side > 0.0)
        y[places[good]], slope[places[good]] = at_y[good], at_slope[good]
        return places[good]

    first = np.abs((x - home[0]) / domain.span).sum(axis=-1).argsort()[: 2**n]
    fresh = move(first, *(np.repeat(each, len(first), axis=0) for each in home))
    while len(fresh):
        to, of = _neighbours(fresh, points, n)
        new = np.isnan(y[to, 0])
        to, of = to[new], of[new]
        fresh = np.unique(move(to, x[of], y[of], slope[of]))
    reached = ~np.isnan(y[:, 0])
    near = np.where(reached, np.cumsum(reached) - 1, -1)
    to, of = (near[each] for each in _neighbours(np.flatnonzero(reached), points, n))
    pairs = of[to >= 0], to[to >= 0]
    for _ in range(n):  # what is just beyond the reach may have reachable positions beside it
        to, of = _neighbours(np.flatnonzero(near >= 0), points, n)
        to, of = to[near[to] < 0], of[near[to] < 0]
        near[to] = near[of]
    return Assembly(
        domain=domain,
        numbers=numbers,
        points=points,
        x=x[reached],
        y=y[reached],
        slope=slope[reached],
        near=near,
        pairs=pairs,
        side=float(np.sign(side)),
        size=size,
    )


def _neighbours(places: Index, points: int, n: int) -> tuple[Index, Index]:
    """Return the points of a grid that are next to some of its points, and next to which."""
    found = []
    for stride in (points**axis for axis in range(n)):
        for sign in (1, -1):
            along = places // stride % points + sign
            of = places[(along >= 0) & (along < points)]
            found.append((of + sign * stride, of))
    to, next_to = (np.concatenate(each) for each in zip(*found, strict=True))
    return to, next_to


def _followed(
    equations: Equations, numbers: tuple[float, ...], x: Array, start: Array, size: Array
) -> tuple[Array, Array, Array, Mask]:
    """Return ``y`` by a few Newton steps, ``G``, ``det(dg/dy)``, and which are closed."""
    n_y, n_x = len(size), x.shape[1]
    columns = stacked(equations.follow(x.T, start.T, size, numbers), len(x))
    slope = columns[:, n_y:-2].reshape(len(x), n_y, n_x)
    return columns[:, :n_y], slope, columns[:, -2], columns[:, -1] != 0.0


def _sought(
    equations: Equations, numbers: tuple[float, ...], x: Array, start: Array, size: Array
) -> tuple[Array, Array, Array, Mask]:
    """Return the same by the damped solver, with Newton steps that tell what is closed indeed."""

    def miss(y: Array) -> tuple[Array, Array]:
        columns = stacked(equations.closure(x.T, y.T, numbers), len(x))
        n_y = len(size)
        return columns[:, :n_y], columns[:, n_y:].reshape(len(x), n_y, n_y)

    y, _, _ = solve(miss, np.zeros_like(start), start, size)
    return _followed(equations, numbers, x, y, size)
