# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Initial guesses: a table of positions on straight paths, and a grid of the given coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
import math

import numpy as np

from transmission_bridge.transmissions.compiled import Call
from transmission_bridge.transmissions.mechanism.solver import Solver
from transmission_bridge.types import Array, Mask

#: Targets of the table: grid points along each given coordinate, by their number, and the number
#: of random targets for more coordinates.
TABLE_POINTS, TARGETS = {1: 33, 2: 13, 3: 7}, 150

#: A state that moves by less than this share of the range is no new state.
MOVED = 1e-3

#: Positions with a smaller difference, as a share of the range, are equal.
SAME = 1e-6


def enter_states(
    solver: Solver, positions: Iterable[Array], fixed: tuple[Array, Sequence[float]]
) -> list[Array]:
    """
    Return the states at positions, as far as these are regular.

    :param positions: Values of all coordinates.
    :param fixed: Positions of held coordinates, and the numbers of the rows.
    """
    enter, states = Call(solver.continuation.enter_function), []
    for z in positions:
        state, done = enter(z[[*solver.corrector.unknown, *solver.corrector.given]], *fixed)
        if done[0] == 1.0:
            states.append(state.copy())
    return states


def grow_states(
    solver: Solver, fixed: tuple[Array, Sequence[float]], pose: Array, lower: Array, upper: Array
) -> list[Array]:
    """
    Return states from target to target, each as far as a straight path leads; none at a bad pose.

    The next target is always the one closest to a known state, reached from this state.

    :param lower: Lower ends of the given coordinates.
    :param upper: Upper ends of the given coordinates.
    """
    n, first, width = len(lower), len(solver.corrector.unknown), upper - lower
    going = Call(solver.continuation.path_function)
    if n in TABLE_POINTS:
        axes = [np.linspace(0.0, 1.0, TABLE_POINTS[n])] * n
        targets = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
        farthest = 1.01 / (TABLE_POINTS[n] - 1)
    else:
        targets, farthest = np.random.default_rng(4).uniform(size=(TARGETS, n)), 1.0
    states = enter_states(solver, [pose], fixed)
    if not states:
        return []
    shares = [(states[0][first : first + n] - lower) / width]
    apart, left = np.abs(targets - shares[0]).max(axis=1), np.zeros(len(targets))
    while (apart + left).min() <= farthest:
        k = int(np.argmin(apart + left))
        left[k] = math.inf
        nearest = int(np.argmin(np.abs(np.array(shares) - targets[k]).max(axis=1)))
        target = lower + targets[k] * width
        state = going(states[nearest], target, *fixed)[0].copy()
        share = (state[first : first + n] - lower) / width
        apart = np.minimum(apart, np.abs(targets - share).max(axis=1))
        if np.abs(share - shares[nearest]).max() > MOVED:
            states.append(state)
            shares.append(share)
    return states


def are_consistent(
    solver: Solver, fixed: tuple[Array, Sequence[float]], states: list[Array]
) -> bool:
    """Return whether straight paths to each state from its neighbours end at this state."""
    first, n = solver.corrector.counts[:2]
    going, solutions = Call(solver.continuation.path_function), np.array(states)[:, : first + n]
    width = np.ptp(solutions, axis=0)
    for state in solutions:
        position = state[first:]
        apart = (np.abs(solutions[:, first:] - position) / width[first:]).max(axis=1)
        for k in np.argsort(apart)[1 : 2 * n + 1].tolist():
            end, done, _ = going(states[k], position, *fixed)
            differs = np.abs(end[:first] - state[:first]) > SAME * width[:first]
            if done[0] == 1.0 and differs.any():
                return False
    return True


def thin_positions(positions: Array, count: int, columns: Sequence[int]) -> Array:
    """
    Return all positions up to a count; of more the first, and always the one farthest from these.

    :param positions: Shape ``(samples, n)``.
    :param columns: Indices of the coordinates that distances are measured in.
    """
    if len(positions) <= count:
        return positions
    shares = positions[:, columns]
    width = np.ptp(shares, axis=0)
    shares = shares / np.where(width > 0.0, width, 1.0)
    chosen, apart = [0], np.full(len(positions), math.inf)
    while len(chosen) < count:
        apart = np.minimum(apart, np.abs(shares - shares[chosen[-1]]).max(axis=1))
        chosen.append(int(np.argmax(apart)))
    return positions[chosen]


#: Points along each given coordinate, by their number.
GRID_POINTS = {1: 129, 2: 33, 3: 13}

#: Largest bend of the solution between neighbours [rad or m]: beyond it may be another assembly.
LARGEST_BEND = 0.3

#: Samples that are interpolated together.
BLOCK = 4096

#: Smallest width of a grid [rad or m].
NARROW = 1e-9


class StartGrid:
    """
    Solutions ``y`` on a grid over ``x``.

    :param x: Positions with solutions, shape ``(k, n)``.
    :param states: States at these positions, NaN if unknown.
    :param solved: Indices of the coordinates ``y`` in a state.
    :param solve: Maps positions, shape ``(samples, n)``, and states near them to states.
    """

    def __init__(
        self,
        x: Array,
        states: Array,
        solved: Sequence[int],
        solve: Callable[[Array, Array], Array],
    ) -> None:
        n, self._solved = x.shape[1], solved
        self._count = GRID_POINTS[n]
        self._lower, self._width = x.min(axis=0), np.maximum(np.ptp(x, axis=0), NARROW)
        self._strides = self._count ** np.arange(n)[::-1]
        places = np.indices((self._count,) * n).reshape(n, -1).T
        points = self._lower + places / (self._count - 1) * self._width
        is_known = self._is_known(states)
        known = np.append(states[is_known], np.full_like(states[:1], np.nan), axis=0)
        apart = np.abs(points[:, np.newaxis] - x[is_known]) / self._width
        apart = np.append(apart.max(axis=-1), np.full((len(points), 1), 1e300), axis=1)
        states = solve(points, known[apart.argmin(axis=1)])
        # The others are solved from a neighbour, at most once from each.
        steps = [(axis, sign) for axis in range(n) for sign in (1, -1)]
        tried = np.zeros((len(steps), len(points)), dtype=bool)
        has_changed = True
        while has_changed:
            has_changed = False
            for (axis, sign), done in zip(steps, tried, strict=True):
                is_known = self._is_known(states)
                column = places[:, axis] + sign
                neighbour = np.arange(len(points)) + sign * self._strides[axis]
                is_open = ~is_known & ~done & (column >= 0) & (column < self._count)
                left = np.flatnonzero(is_open)
                left = left[is_known[neighbour[left]]]
                if len(left):
                    done[left], has_changed = True, True
                    states[left] = solve(points[left], states[neighbour[left]])
        self._states, self._values = states, states[:, solved]
        self._stencil = [np.dot(each, self._strides) for each in product(range(4), repeat=n)]

    def is_smooth(self) -> bool:
        """Return whether neighbours are nowhere on different assemblies."""
        n = len(self._lower)
        grid = self._values.reshape(*(self._count,) * n, -1)
        return not any(
            (np.abs(np.diff(grid, 2, axis=axis)) > LARGEST_BEND).any() for axis in range(n)
        )

    def _is_known(self, states: Array) -> Mask:
        return np.asarray(~np.isnan(states[:, self._solved]).any(axis=1))

    def interpolate(self, x: Array) -> Array:
        """Return ``y`` between the points, a row per sample; NaN beside unknown points."""
        if len(x) > BLOCK:
            blocks = np.split(x, range(BLOCK, len(x), BLOCK))
            return np.concatenate([self.interpolate(block) for block in blocks])
        share, first = self._find_cells(x, 4)
        t = (share - first).T
        before, after = t * (t - 3.0), (t - 1.0) * (t - 2.0)
        along = np.array([after * (3.0 - t) / 6.0, before * (t - 2.0) / 2.0])
        along = np.array([*along, before * (1.0 - t) / 2.0, after * t / 6.0])
        weights = along[:, 0]
        for axis in range(1, len(t)):
            weights = np.concatenate([weight * along[:, axis] for weight in weights])
        corner = first.astype(np.intp) @ self._strides
        result = np.zeros((len(x), self._values.shape[1]))
        # Term by term: a sum over an axis is rounded differently with other numbers of samples.
        for weight, offset in zip(weights[..., np.newaxis], self._stencil, strict=True):
            result += weight * self._values[corner + offset]
        return result

    def find_nearest(self, x: Array) -> Array:
        """Return the states of the nearest known corner of the cell around each sample, or NaN."""
        share, first = self._find_cells(x, 2)
        corner = first.astype(np.intp) @ self._strides
        result = np.full((len(x), self._states.shape[1]), np.nan)
        least = np.full(len(x), np.inf)
        for offsets in product(range(2), repeat=x.shape[1]):
            states = self._states[corner + np.dot(offsets, self._strides)]
            apart = np.abs(share - first - offsets).max(axis=1)
            is_nearer = self._is_known(states) & (apart < least)
            result[is_nearer], least = states[is_nearer], np.where(is_nearer, apart, least)
        return result

    def _find_cells(self, x: Array, count: int) -> tuple[Array, Array]:
        """Return samples in points from the corner, and the first of the points around each."""
        share = (x - self._lower) / self._width * (self._count - 1)
        share = np.where((share >= -1.0) & (share <= self._count), share, np.nan)
        middle = np.nan_to_num(np.floor(share)) - (count // 2 - 1)
        return share, np.clip(middle, 0.0, self._count - float(count))
