# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A table of positions over the domain of a mechanism: initial guesses and typical gains.

A closure alone has several ``y`` for each ``x``. One pose selects the solution; from there the
mechanism is moved in small steps to the points of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.calls import map_samples
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.system import SURE, System
from transmission_bridge.types import Array, Index

#: Points per coordinate, by the number of coordinates; three for more coordinates.
POINTS = (65, 17, 9, 5)

#: Cells per coordinate of the mapped positions, in the same way; each has a nearest table entry.
CELLS = (257, 33, 9, 5)

#: Value of entries that do not exist.
FAR = 1e300

#: Steps from one point of the table to the next.
WALK = 4

#: Limit of the points of a table; a coarse table may leave the assembly ambiguous.
MOST_POINTS = 5000

#: Solutions with a smaller difference, relative to the size of ``y``, are equal.
SAME = 1e-6


def points_of(n: int) -> int:
    """Return the number of points of a table per coordinate."""
    return POINTS[n - 1] if n <= len(POINTS) else 3


@dataclass(frozen=True)
class Seeds:
    """
    Positions on the branch, and the numbers derived from them.

    Sizes are the singular values of ``G``, scaled by the ranges of ``x`` and ``y``: units and
    reductions do not affect the choice between several unknowns. For more than two unknowns they
    are norms.

    :param table: ``x``, ``y`` and the entries of ``G`` column by column, in the columns; columns
        without a position hold a large number.
    :param y_span: Range of ``y``, shape ``(n_y,)``.
    :param lowest: Smallest possible ``y``. Exact with one coordinate on each side and the whole
        domain on the branch, because ``y`` is then monotone. Otherwise half of the range is added,
        because the table does not contain the extremes.
    :param highest: Largest possible ``y``.
    :param branch: Sign of the determinant of ``G`` on the branch.
    :param largest: Median of the largest size.
    :param typical: Median of the smallest size.
    :param ends: ``x`` and ``y`` of the ends of a domain if these have one side only, else NaN.
    :param side: For a closure alone, the sign of the determinant of ``dg/dy``.
    :param near: For a closure alone, the radius around an entry in ``x`` and in ``y``.
    """

    table: Array
    y_span: Array
    lowest: Array
    highest: Array
    branch: float
    largest: float
    typical: float
    ends: Array
    side: float
    near: Array
    _found: dict[bool, tuple[Array, Array, Array]] = field(default_factory=dict)

    def list_bounds(self, domain: Domain, max_gain: float) -> list[float]:
        """Return the bounds for the compiled functions, in the order of ``Watch``."""
        bounds = domain.bounds
        most, least = max_gain * self.largest, self.typical / max_gain
        return [
            *(low for low, _ in bounds),
            *(high for _, high in bounds),
            *domain.span.tolist(),
            *self.lowest.tolist(),
            *self.highest.tolist(),
            *self.y_span.tolist(),
            *self.ends.tolist(),
            *(self.branch, self.typical, most, least, self.side),
            *self.near.tolist(),
        ]

    def find_starts(self, given: Array, n_x: int, *, along: bool) -> Array:
        """Return for each position the warm start at a nearby entry."""
        n_y = len(self.y_span)
        count = (n_x, n_y)[0 if along else 1]
        low, high, places = self._table_cells(n_x, along)
        share = (given - low) / np.maximum(high - low, np.finfo(float).tiny)
        n_cells = CELLS[count - 1] if count <= len(CELLS) else 3
        cells = np.clip(np.nan_to_num(share * n_cells), 0, n_cells - 1).astype(np.intp)
        starts: Array = places[np.ravel_multi_index(tuple(cells.T), (n_cells,) * count)]
        return starts

    def _table_cells(self, n_x: int, along: bool) -> tuple[Array, Array, Array]:
        """Return the box of positions, and the warm start of each of its cells."""
        if along not in self._found:
            x, y, entries = np.split(self.table, [n_x, n_x + len(self.y_span)])
            rows, results = (x, y) if along else (y, x)
            own = rows[:, rows[0] < FAR]
            low, high = (
                (own.min(axis=1), own.max(axis=1)) if along else (self.lowest, self.highest)
            )
            n = len(rows)
            count = CELLS[n - 1] if n <= len(CELLS) else 3
            axes = [
                begin + (np.arange(count) + 0.5) * ((end - begin) / count)
                for begin, end in zip(low, high, strict=True)
            ]
            middles = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
            apart = np.zeros((len(middles), rows.shape[1]))
            for row, column, width in zip(rows, middles.T, np.ptp(own, axis=1), strict=True):
                apart += np.abs(column[:, np.newaxis] - row) / (width or 1.0)
            place = apart.argmin(axis=1)
            slope = entries.T[place].reshape(len(place), n_x, -1)
            if not along:
                slope = np.linalg.pinv(np.where(np.abs(slope) < FAR, slope, 0.0))
            found = [results.T[place], rows.T[place], slope.reshape(len(place), -1)]
            self._found[along] = low, high, np.concatenate(found, axis=1)
        return self._found[along]

    @classmethod
    def from_domain(
        cls,
        system: System,
        domain: Domain,
        p: tuple[float, ...],
        pose: tuple[Array, Array] | None,
    ) -> Seeds:
        """
        Compute a grid over the domain and keep the positions on the mechanism's branch.

        The branch is the one of the reachable grid point closest to the middle of the domain.

        :param pose: For a closure alone, ``x`` and an approximate ``y`` of the assembly.
        :raises TransmissionError: If no point of the domain can be reached, or each is singular;
            or if the pose does not determine the assembly.
        """
        with np.errstate(all='ignore'):
            if pose is None:
                x = domain.grid(points_of(system.n_x))
                y, slope = map_samples(system.dense_value, [x], [list(p)])
                return cls._from_grid(system, domain, x, y, _as_matrices(slope, system), 0.0, None)
            points, x, y, slope, side = _assemble_grid(system, domain, p, pose)
            return cls._from_grid(system, domain, x, y, slope, side, points)

    @classmethod
    def _from_grid(
        cls,
        system: System,
        domain: Domain,
        x: Array,
        y: Array,
        slope: Array,
        side: float,
        points: int | None,
    ) -> Seeds:
        n_x, n_y = system.n_x, system.n_y
        reachable = np.isfinite(y).all(axis=1) & np.isfinite(slope).all(axis=(1, 2))
        safe = np.where(reachable[:, np.newaxis, np.newaxis], slope, np.eye(n_y, n_x))
        smallest = np.linalg.svd(safe, compute_uv=False)[:, -1]
        regular = reachable & (smallest > 0.0)
        if not regular.any():
            raise TransmissionError(
                'no position of the domain can be reached; do the dimensions fit together?',
                expected='a closed mechanism',
                found=f'no {domain.space} position from {domain.lower} to {domain.upper}',
            )
        middle = np.array(domain.lower) + 0.5 * domain.span
        off_middle = np.abs((x - middle) / domain.span).sum(axis=-1)
        branch = np.sign(np.linalg.det(safe)) if system.is_square else np.ones(len(x))
        home = branch[np.argmin(np.where(regular, off_middle, np.inf))]
        on_branch = regular & (branch == home)
        y_span = np.ptp(y[on_branch], axis=0)
        y_span = np.where(y_span > 0.0, y_span, 1.0)
        largest, smallest = sizes_of(safe * (domain.span / y_span[:, np.newaxis]))
        typical = float(np.median(smallest[on_branch]))
        # Rounding gives a singular position either sign, for example at the ends of a full stroke.
        singular = reachable & ~(np.maximum(largest, typical) <= SURE * smallest)
        seeds = on_branch & ~singular
        if not seeds.any():
            raise TransmissionError(
                'every position of the domain is a dead centre',
                expected='positions with a regular map in both directions',
                found=f'singular values of at most {largest[on_branch].max():g} and '
                f'{smallest[on_branch].max():g}',
            )
        mapped = on_branch | singular
        low, high = y[mapped].min(axis=0), y[mapped].max(axis=0)
        is_monotone = (n_x, n_y) == (1, 1) and bool(mapped.all())
        margin = (SLACK if is_monotone else 0.5) * (high - low)
        ends = np.full(4, np.nan)
        for number, (end, beside) in enumerate(((0, 1), (-1, -2))):
            if is_monotone and seeds[beside]:
                ends[[number, 2 + number]] = x[end, 0], y[end, 0]
        entries = slope.swapaxes(1, 2).reshape(len(x), -1)
        table = np.concatenate([x, y, entries], axis=1).T
        table = np.where(seeds, table, FAR)
        near = np.full(n_x + n_y, np.inf)
        if points is not None:
            near = np.concatenate([domain.span / (points - 1), _largest_step(y, points, n_x)])
        return cls(
            table=table,
            y_span=y_span,
            lowest=low - margin,
            highest=high + margin,
            branch=float(home),
            typical=typical,
            largest=float(np.median(largest[on_branch])),
            ends=ends,
            side=side,
            near=near,
        )


def sizes_of(matrices: Array) -> tuple[Array, Array]:
    """Return the largest and smallest gain of each matrix, as for a sample."""
    values = np.linalg.svd(matrices, compute_uv=False)
    if values.shape[1] <= 2:
        return values[:, 0], values[:, -1]
    return np.linalg.norm(values, axis=1), 1.0 / np.linalg.norm(1.0 / values, axis=1)


def _as_matrices(columns: Array, system: System) -> Array:
    """Return ``G`` from its entries column by column."""
    return columns.reshape(-1, system.n_x, system.n_y).swapaxes(1, 2)


# -- a closure alone -----------------------------------------------------------------------------


def _assemble_grid(
    system: System, domain: Domain, p: tuple[float, ...], pose: tuple[Array, Array]
) -> tuple[int, Array, Array, Array, float]:
    """Move the mechanism from a pose over the domain; return the columns of the table."""
    x, start = (each[np.newaxis] for each in pose)
    size = np.abs(start[0]) + 1e-3 * domain.span.max()

    def solve_at(x: Array, y: Array, *, is_sought: bool = False) -> tuple[Array, Array, Array]:
        numbers = [*_make_watch(system, size), *p]
        if is_sought:
            (y,) = map_samples(system.closure_solver, [x, y], [numbers])
        y, slope, side, closed = map_samples(system.closure_follower, [x, y], [numbers])
        y[closed[:, 0] == 0.0] = np.nan
        return y, _as_matrices(slope, system), np.sign(side[:, 0])

    y, slope, side = solve_at(x, start, is_sought=True)
    if not (domain.contains(x) & np.isfinite(y).all() & np.isfinite(slope).all()).all():
        raise TransmissionError(
            'the pose does not determine how the mechanism is assembled',
            expected=f'a {domain.space} position within {domain.lower} to {domain.upper} '
            'at which it is closed, and not at a dead centre',
            found=f'{pose[0].tolist()} with {pose[1].tolist()} in the other space',
        )
    size = size + np.abs(slope[0]) @ domain.span
    points = points_of(system.n_x)
    while points**system.n_x <= MOST_POINTS:
        grid, found, slopes = _walk_grid(domain, points, (x, y, slope), float(side[0]), solve_at)
        if _is_unambiguous(grid, found, slopes, points, size, solve_at):
            return points, grid, found, slopes, float(side[0])
        points = 2 * points - 1
    raise TransmissionError(
        'the closure changes its assembly from one point of the table to the next',
        expected=f'one assembly over the {domain.space} positions from {domain.lower} to '
        f'{domain.upper}; is the range narrow enough?',
        found=f'several, with {(points + 1) // 2} points along each coordinate',
    )


def _make_watch(system: System, size: Array) -> Array:
    """Return a watch with the range of ``y`` only."""
    watch = np.ones(system.n_watch)
    first = 3 * system.n_x + 2 * system.n_y
    watch[first : first + system.n_y] = size
    return watch


def _walk_grid(
    domain: Domain, points: int, home: tuple[Array, Array, Array], side: float, followed: Any
) -> tuple[Array, Array, Array]:
    """Return all points that can be reached from a pose via neighbours; other points are NaN."""
    n = len(domain.lower)
    x = domain.grid(points)
    y = np.full((len(x), home[1].shape[1]), np.nan)
    slope = np.full((len(x), *home[2].shape[1:]), np.nan)

    def move_to(places: Index, at_x: Array, at_y: Array, at_slope: Array) -> Index:
        step = (x[places] - at_x) / WALK
        good = np.ones(len(places), dtype=bool)
        for _ in range(WALK):
            at_x = at_x + step
            ahead = at_y + np.einsum('kij,kj->ki', at_slope, step)
            at_y, at_slope, turned = followed(at_x, ahead)
            good &= np.isfinite(at_y).all(axis=1) & (turned == side)
        y[places[good]], slope[places[good]] = at_y[good], at_slope[good]
        return places[good]

    first = np.abs((x - home[0]) / domain.span).sum(axis=-1).argsort()[: 2**n]
    fresh = move_to(first, *(np.repeat(each, len(first), axis=0) for each in home))
    while len(fresh):
        to, of = _find_neighbours(fresh, points, n)
        new = np.isnan(y[to, 0])
        to, of = to[new], of[new]
        fresh = np.unique(move_to(to, x[of], y[of], slope[of]))
    return x, y, slope


def _is_unambiguous(
    x: Array, y: Array, slope: Array, points: int, size: Array, followed: Any
) -> bool:
    """Return whether neighbouring points lead to the same solution half-way between them."""
    reached = np.flatnonzero(np.isfinite(y[:, 0]))
    to, of = _find_neighbours(reached, points, x.shape[1])
    both = np.isfinite(y[to, 0])
    to, of = to[both], of[both]
    middle = 0.5 * (x[to] + x[of])
    here, there = (
        followed(
            middle,
            y[each] + np.einsum('kij,kj->ki', slope[each], middle - x[each]),
            is_sought=True,
        )[0]
        for each in (to, of)
    )
    differs = (np.abs(here - there) > SAME * size).any(axis=-1)
    lost = np.isnan(here).any(axis=-1) & np.isnan(there).any(axis=-1)
    return len(to) > 0 and not (differs | lost).any()


def _largest_step(y: Array, points: int, n: int) -> Array:
    """Return the largest change of ``y`` between neighbouring points."""
    to, of = _find_neighbours(np.arange(len(y)), points, n)
    reach: Array = np.nanmax(np.abs(y[to] - y[of]), axis=0)
    return reach


def _find_neighbours(places: Index, points: int, n: int) -> tuple[Index, Index]:
    """Return the neighbours of some points of a grid, and the point of each neighbour."""
    found = []
    for stride in (points**axis for axis in range(n)):
        for sign in (1, -1):
            along = places // stride % points + sign
            of = places[(along >= 0) & (along < points)]
            found.append((of + sign * stride, of))
    to, next_to = (np.concatenate(each) for each in zip(*found, strict=True))
    return to, next_to
