# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A direction of a mechanism with all its numbers, as it is called or becomes C.

The order of the numbers and of the table is also that of the C export. Samples of a batch begin
between the solutions of a grid. Transmissions with a varying ratio make parts and map batches by
them; the program of a robot and the C export take their functions and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.compiled import call_for_samples
from transmission_bridge.transmissions.mechanism.solver import Numbers, Solver
from transmission_bridge.transmissions.tunable import list_paths, ParameterPath
from transmission_bridge.types import Array, Index, Mask

#: Smallest width of a table [rad or m, or shares of the sizes].
NARROW = 0.1

#: Tolerance of the ends of a solution, as a share of the size.
BEYOND = 1e-8

#: A sample whose estimated error is larger [rad or m] is solved once more.
ROUGH = 1e-15

#: A path that ends with a derivative of this many times the one at the pose ends at a dead centre.
DEAD_CENTRE = 4.0

#: Points along each given coordinate, by their number.
GRID_POINTS = {1: 129, 2: 33, 3: 13}

#: Largest bend of the solution between neighbours [rad or m]: beyond it may be another assembly.
LARGEST_BEND = 0.3

#: Samples that are interpolated together; results do not depend on it.
BLOCK = 4096

#: Smallest width of a grid [rad or m].
FLAT_GRID = 1e-9


class Assembly(NamedTuple):
    """
    The numbers of a mechanism that both directions share, in bare coordinates.

    :param pose: A closed, regular position, shape ``(n,)``.
    :param size: Size of each coordinate.
    :param lower: Lower ends of the coordinates, -inf without a limit.
    :param upper: Upper ends.
    :param is_exact: Whether these are the range that is mapped; others only save the search for a
        solution that does not exist.
    :param ends: With one coordinate on each side, positions at the ends of the range that are dead
        centres, if all positions between are on the branch; else NaN.
    :param typical: Medians of the sizes of the derivatives of joints by actuators, of the inverse,
        and of passive joints.
    :param positions: Positions for the table, the pose first.
    """

    pose: Array
    size: Array
    lower: Array
    upper: Array
    is_exact: Mask
    typical: Sequence[float]
    positions: Array
    ends: Array


@dataclass(frozen=True, eq=False)
class MechanismPart:
    """
    A direction of an independent set of members of a transmission.

    It is complete after :meth:`build`, except for the grid, which the first batch makes.

    :param solver: Its compiled functions.
    :param numbers: Its numbers, in the order of :class:`~.solver.Numbers`.
    :param table: Its table, entry by entry; empty for a formula.
    :param inputs: Index of its inputs among the inputs of the transmission.
    :param outputs: Index of its outputs.
    :param live: Paths of the numbers that are live numbers, by index. No other number depends on
        them, except the ends that are not exact, those that are dead centres, and the table.
    :param unknown_bounds: Values of these ends for other numbers of the rows, by index.
    """

    solver: Solver
    numbers: list[float]
    table: Array
    inputs: Sequence[int]
    outputs: Sequence[int]
    live: Mapping[int, ParameterPath]
    unknown_bounds: Mapping[int, float]

    @classmethod
    def build(
        cls,
        solver: Solver,
        assembly: Assembly,
        p: Array | Sequence[float],
        sides: Sequence[npt.ArrayLike],
        max_gain: float,
        members: tuple[Sequence[int], Sequence[int]],
    ) -> MechanismPart:
        """
        Return a direction with its numbers.

        :param p: Numbers of the rows.
        :param sides: Reductions and offsets of actuators, then of joints.
        :param max_gain: Largest gain, as a multiple of the typical one.
        :param members: Index of inputs and outputs in the transmission.
        """
        corrector, sides = solver.corrector, [*sides]
        given, wanted = corrector.given, corrector.wanted
        if not solver.is_forward:
            sides = [*sides[2:], *sides[:2]]
        slopes = corrector.evaluate_slopes(assembly.pose, p)[corrector.unknown]
        width = np.ptp(assembly.positions[:, given], axis=0)
        # A formula needs no ends that only save a search. A solution at an end of shares is beyond
        # it by the tolerance of the given position times the gain.
        is_exact = assembly.is_exact
        beyond = BEYOND * corrector.mechanism.has_sizes * assembly.size
        is_known = is_exact | (solver.n_start > 0)
        ends = [
            np.where(is_known, assembly.lower, -math.inf)[given],
            np.where(is_known, assembly.upper, math.inf)[given],
            np.where(is_exact, assembly.lower - beyond, -math.inf)[wanted],
            np.where(is_exact, assembly.upper + beyond, math.inf)[wanted],
        ]
        # In the order of Numbers.
        numbers: list[Any] = [
            *(*sides, *ends, [max_gain], assembly.typical),
            np.maximum(width, NARROW * assembly.size[given]),
            [DEAD_CENTRE * np.abs(slopes).max(initial=0.0)],
            assembly.ends[:, [*given, *wanted]].T.ravel() if solver.has_ends else [],
            assembly.pose[list(corrector.mechanism.held)],
            corrector.collect_numbers(assembly.pose, p, assembly.size),
        ]
        table = np.zeros(0)
        if solver.n_start:
            chosen = thin_start_positions(
                assembly.positions, solver.continuation.n_entries, sorted({*given, *wanted})
            )
            table = solver.continuation.make_table(chosen)
        flat = [number for group in numbers for number in group]
        # Ends of the given coordinates follow the four sides; those that are not exact are unknown
        # for other numbers, as are dead centres, the third group from the end.
        first, n = 2 * (len(given) + len(wanted)), len(given)
        loose = [first + k for k, column in enumerate(given) if not is_exact[column]]
        unknown = dict.fromkeys(loose, -math.inf)
        unknown |= {index + n: math.inf for index in loose}
        before = sum(map(len, numbers[:-3]))
        unknown |= dict.fromkeys(range(before, before + len(numbers[-3])), math.nan)
        return cls(
            solver, [float(number) for number in flat], table, *members, list_paths(flat), unknown
        )

    def map_samples(self, rows: Sequence[Array], guess: Array | None) -> list[Array]:
        """
        Map samples: near an initial guess, and by the full solver if that fails.

        :param rows: Positions, velocities and efforts, shape ``(samples, n)`` each.
        :param guess: Positions of the outputs near the solution. They are of no use if they do not
            determine all coordinates. By default it is interpolated in a grid of solutions.
        :returns: The three rows of the outputs, the next warm starts, and the status.
        """
        solver, corrector, parameters = self.solver, self.solver.corrector, self._parameters
        x = _SCALES[solver.is_forward](rows[0], parameters.ratios, parameters.offsets)
        starts: Array = np.full((len(x), solver.n_start), math.nan)
        if guess is not None and solver.n_start and corrector.unknown == corrector.wanted:
            unscale = _SCALES[not solver.is_forward]
            near = unscale(guess, parameters.wanted_ratios, parameters.wanted_offsets)
            starts[:, : corrector.n_state] = self._make_states(x, near)
        if guess is not None or self._grid is None:
            given = [*rows, starts]
            *mapped, is_open = call_for_samples(solver.expanded_function, given, [self.numbers])
            left = np.flatnonzero(is_open)
        else:
            mapped, left = self._map_by_grid(self._grid, rows, x)
        if len(left):
            given = [*(row[left] for row in rows), starts[left]]
            searched = call_for_samples(solver.function, given, [self.numbers, self.table])
            for output, other in zip(mapped, searched, strict=True):
                output[left] = other
        return mapped

    def _map_by_grid(
        self, grid: StartGrid, rows: Sequence[Array], x: Array
    ) -> tuple[list[Array], Index]:
        """Map samples from guesses of the grid; return also the samples without an answer."""
        solver, left, mapped = self.solver, np.arange(len(x)), list[Array]()
        r, n, *_ = solver.corrector.counts
        core, n_state = solver.corrector.core_columns, solver.corrector.n_state
        balls = [column for columns in solver.corrector.ball_columns for column in columns]
        entries = solver.continuation.list_entries(self.table)
        for function, find_states in (
            (solver.expanded_function, lambda x: self._make_states(x, grid.interpolate(x))),
            (solver.careful_function, grid.find_nearest),
        ):
            starts = np.full((len(left), solver.n_start), math.nan)
            starts[:, :n_state] = find_states(x[left])
            if balls:
                # The entry of the table that is nearest determines their full turns, as in a
                # search.
                apart = np.zeros((len(left), len(entries))) + np.arange(len(entries)) * 1e-9
                for k, width in enumerate(self._parameters.width):
                    apart += np.abs(x[left][:, [k]] - entries[:, r + k]) / width
                starts[:, balls] = entries[apart.argmin(axis=1)][:, balls]
            given = [*(row[left] for row in rows), starts]
            *outputs, is_open = call_for_samples(function, given, [self.numbers])
            # The last Newton step is about ``C^2 e^3``: ``e`` is the error of the guess, and the
            # curvature ``C`` grows with the slopes.
            after = outputs[3]
            with np.errstate(invalid='ignore'):
                error = np.abs(after[:, core] - starts[:, core]).max(axis=1, initial=0.0)
            slope = np.abs(after[:, r + n : n_state]).max(axis=1, initial=0.0)
            is_rough = error**3 * (1.0 + slope) ** 2 > ROUGH
            rough = np.flatnonzero((is_open[:, 0] == 0.0) & is_rough)
            if len(rough):
                given[3][rough] = after[rough]
                again = call_for_samples(
                    solver.expanded_function, [values[rough] for values in given], [self.numbers]
                )
                for output, other in zip(outputs, again, strict=False):
                    output[rough] = other
            mapped = mapped or outputs
            for whole, output in zip(mapped, outputs, strict=True):
                whole[left] = output
            # The position may have another solution, or be a dead centre.
            is_lost = np.isnan(outputs[0]).any(axis=1) & ~np.isnan(given[0]).any(axis=1)
            left = left[is_lost | (is_open[:, 0] != 0.0)]
            if not len(left):
                break
        return mapped, left

    @cached_property
    def _grid(self) -> StartGrid | None:
        """Solutions in bare coordinates; ``None`` for a formula and for many coordinates."""
        solver, (r, n, *_) = self.solver, self.solver.corrector.counts
        if not (solver.n_start and r) or n not in GRID_POINTS:
            return None
        # Also beyond the ends of the range, so that a sample at an end has neighbours.
        numbers = np.array(self.numbers)
        parameters = solver.split_numbers(numbers)
        parameters.lower[:] = parameters.wanted_lower[:] = -math.inf
        parameters.upper[:] = parameters.wanted_upper[:] = math.inf

        def solve(x: Array, near: Array) -> Array:
            unscale = _SCALES[not solver.is_forward]
            position = unscale(x, self._parameters.ratios, self._parameters.offsets)
            starts = np.full((len(x), solver.n_start), math.nan)
            starts[:, : near.shape[1]] = near
            given = [position, *(np.full_like(x, math.nan),) * 2, starts]
            position, *_, after, _, is_open = call_for_samples(
                solver.careful_function, given, [numbers]
            )
            # A solution without angles of balls is open as well.
            is_lost = np.isnan(position[:, : len(solver.corrector.wanted)]).any(axis=1)
            after[is_lost if solver.corrector.ball_columns else is_open[:, 0] != 0.0] = math.nan
            return after[:, : solver.corrector.n_state]

        entries = solver.continuation.list_entries(self.table)
        core_columns, x = solver.corrector.core_columns, entries[:, r:]
        states = solve(x, self._make_states(x, entries[:, core_columns]))
        grid = StartGrid(x, states, core_columns, solve)
        return grid if grid.is_smooth() else None

    def _make_states(self, x: Array, solved: Array) -> Array:
        """Return states of positions and coordinates except angles of balls, with zero slopes."""
        corrector, (r, n, *_) = self.solver.corrector, self.solver.corrector.counts
        states = np.zeros((len(x), corrector.n_state))
        states[:, corrector.core_columns], states[:, r : r + n] = solved, x
        return states

    @cached_property
    def _parameters(self) -> Numbers:
        return self.solver.split_numbers(np.array(self.numbers))

    def compute_accelerations(self, position: Array, velocity: Array, after: Array) -> Array:
        """
        Return the accelerations of the outputs at constant velocity of the inputs.

        ``after`` are the next warm starts of the same samples.
        """
        given = [position, velocity, after]
        (bent,) = call_for_samples(self.solver.bend_function, given, [self.numbers])
        return bent


#: Bare positions of joints, then of actuators; each is the inverse of the other.
_SCALES: tuple[Callable[[Array, Array, Array], Array], ...] = (
    lambda position, ratios, offsets: ratios * (position - offsets),
    lambda position, ratios, offsets: position / ratios + offsets,
)


# -- initial guesses ------------------------------------------------------------------------------


def thin_start_positions(positions: Array, count: int, columns: Sequence[int]) -> Array:
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
        self._lower, self._width = x.min(axis=0), np.maximum(np.ptp(x, axis=0), FLAT_GRID)
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
