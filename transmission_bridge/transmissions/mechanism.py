# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One position map and its Jacobian, and every interface in both directions from them.

The mechanism knows neither actuators nor joints: ``x`` is the space in which its domain is stated,
``y = g(x)`` the other one, ``G = dg/dx``. Arrays are ``(samples, n)``. Domain, branch and
singularities are watched here, and the way back is solved where there is no equation for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.interfaces import Quantity
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.types import Array, Mask

__all__ = [
    'POSITIONS',
    'SURE',
    'Evaluation',
    'Mechanism',
    'Seeds',
    'apply',
    'known',
    'points_of',
    'solve',
    'stacked',
]

POSITIONS = (Quantity.POSITION, Quantity.ABSOLUTE_POSITION)

#: A smallest singular value that is less than the largest or the typical one by this factor is a
#: matter of rounding, and so is the sign of its determinant. No gain may be allowed beyond it.
SURE = 1e8


class Evaluation(Protocol):
    """What is known of a mechanism; answers are NaN where there is none."""

    @property
    def pattern(self) -> Mask:
        """Which entries of ``G`` may differ from zero, shape ``(n_y, n_x)``."""

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return ``y`` and ``G``, shapes ``(samples, n_y)`` and ``(samples, n_y, n_x)``."""

    def position_of(self, x: Array) -> Array:
        """Return ``y`` alone."""

    def slope_rate(self, x: Array, rate: Array) -> Array:
        """Return ``G'`` at a position and a velocity, shape ``(samples, n_y, n_x)``."""

    def inverse(self, y: Array) -> Array | None:
        """Return ``x``, or ``None`` where it has to be solved for."""

    def approach(self, y: Array, start: Array, seeds: Seeds) -> tuple[Array, Array, Mask] | None:
        """
        Return ``x`` near a start by a few quick steps, ``G`` there, and which are solutions.

        ``None`` where there is no quicker way than :func:`solve`.
        """


class Mechanism:
    """
    Every interface of a position map, with domain, singularities and branch watched.

    What cannot be answered is NaN and counted; see
    :class:`~transmission_bridge.transmissions.position_dependent.PositionDependentTransmission`
    for the reasons. The caller silences numpy.

    :param form: The map.
    :param domain: Positions ``x`` that are mapped.
    :param seeds: The table of the map over the domain.
    :param max_gain: By how many times its median over the domain a rate or an effort may be
        multiplied.
    """

    def __init__(self, form: Evaluation, domain: Domain, seeds: Seeds, max_gain: float) -> None:
        self._form = form
        self._domain = domain
        self.seeds = seeds
        self.max_gain = max_gain
        #: The largest and the smallest singular value that are used.
        self._most, self._least = seeds.largest * max_gain, seeds.smallest / max_gain
        pattern = form.pattern
        self.n_y, self.n_x = pattern.shape
        inverted = inverse_pattern(pattern.astype(float))
        #: Which terms there are along ``G``, ``G^-1``, ``G^T`` and ``G^-T``.
        self._terms = {
            (False, False): pattern,
            (True, False): inverted,
            (False, True): pattern.T,
            (True, True): inverted.T,
        }

    def mapped(
        self,
        quantity: Quantity,
        along: bool,
        value: Array,
        at: Array,
        rate: Array,
        guess: Array | None,
        report: MapReport,
    ) -> Array:
        """
        Map one quantity.

        :param along: From ``x`` to ``y``, else back.
        :param value: What is mapped.
        :param at: Positions in the same space; those of a position are itself.
        :param rate: Velocities there; looked at for an acceleration only.
        :param guess: Where to start a solution, in ``x``.
        """
        if quantity in POSITIONS and along and self.seeds.is_whole:
            # Where no branch is to be told apart, the Jacobian is not asked for.
            x = self._inside(at, known(at), report)
            return self._reached(x, self._form.position_of(x), report)[1]
        x, y, slope = self._locate(along, at, guess, report)
        if quantity in POSITIONS:
            return y if along else x
        transposes = quantity is Quantity.EFFORT
        inverts = along if transposes else not along
        (slope,) = self._usable(x, slope, (inverts,), report)
        if transposes:
            return self._turn(slope, value, inverts, True)
        if quantity is Quantity.VELOCITY:
            return self._turn(slope, value, inverts)
        speed = self._turn(slope, rate, inverts) if inverts else rate
        bias = self._turn(self._slope_rate(x, speed, report), speed, False)
        if inverts:
            return self._turn(slope, value - bias, True)
        return self._turn(slope, value, False) + bias

    def mapped_state(
        self,
        along: bool,
        position: Array,
        velocity: Array,
        effort: Array,
        guess: Array | None,
        report: MapReport,
    ) -> tuple[Array, Array, Array]:
        """Map position, velocity and effort that belong together; the position is found once."""
        x, y, slope = self._locate(along, position, guess, report)
        fast, strong = self._usable(x, slope, (not along, along), report)
        return (
            y if along else x,
            self._turn(fast, velocity, not along),
            self._turn(strong, effort, along, True),
        )

    def jacobian(self, along: bool, at: Array) -> Array:
        """Return ``G`` at ``x``, or ``G^-1`` at ``y``; NaN where velocities are not mapped."""
        report = MapReport()
        x, _, slope = self._locate(along, at, None, report)
        (slope,) = self._usable(x, slope, (not along,), report)
        return slope if along else inverse(slope)

    def _turn(self, slope: Array, value: Array, inverts: bool, transposes: bool = False) -> Array:
        """Return ``G``, ``G^-1``, ``G^T`` or ``G^-T`` times a vector, over the terms there are."""
        matrix = inverse(slope) if inverts else slope
        return apply(
            np.swapaxes(matrix, -1, -2) if transposes else matrix,
            value,
            self._terms[inverts, transposes],
        )

    # -- where the mechanism is ------------------------------------------------------------------

    def _locate(
        self, along: bool, position: Array, guess: Array | None, report: MapReport
    ) -> tuple[Array, Array, Array]:
        """Return ``x``, ``y`` and ``G``; NaN where there is none, or off the branch."""
        if along:
            x = self._inside(position, known(position), report)
            y, slope = self._form.evaluate(x)
            if not self.seeds.is_whole:
                x, slope = self._on_branch(x, slope, report)
            x, y = self._reached(x, y, report)
        else:
            y, (x, slope) = position, self._located(position, guess, report)
        # Also where ``G`` is a constant, nothing is known of it outside.
        return x, y, _choose(known(x), slope, np.nan)

    def _reached(self, x: Array, y: Array, report: MapReport) -> tuple[Array, Array]:
        reached = known(x) & known(y)
        report.count('domain', known(x) & ~reached)
        return _choose(reached, x, np.nan), _choose(reached, y, np.nan)

    def _located(self, y: Array, guess: Array | None, report: MapReport) -> tuple[Array, Array]:
        x = self._form.inverse(y)
        if x is None:
            return self._solved(y, guess, report)
        x = self._inside(x, known(y), report)
        slope = self._form.evaluate(x)[1]
        return (x, slope) if self.seeds.is_whole else self._on_branch(x, slope, report)

    def _solved(self, y: Array, guess: Array | None, report: MapReport) -> tuple[Array, Array]:
        may_reach = known(y) & self.seeds.may_reach(y)
        report.count('domain', known(y) & ~may_reach)
        start = self.seeds.nearest(y)
        if guess is not None:
            start = _choose(self._domain.contains(guess), guess, start)
        x, slope, converged = self._from_start(y, _choose(may_reach, start, np.nan))
        # The guess of a stream, its last solution, would fail with every further sample too; and
        # what leads astray may be a coarse start.
        astray = ~(self._domain.contains(x) & (orientation(slope) * self.seeds.branch > 0.0))
        lost = may_reach & (~converged | astray)
        if lost.any():
            start = self.seeds.closest(y[lost])
            x[lost], slope[lost], converged[lost] = self._from_start(y[lost], start)
        # At a dead centre rounding decides what is found, and on which side.
        converged &= self._is_sure(*self.seeds.singular_values(slope))
        # At the end of the domain the mechanism can be on one side only.
        for end_x, end_y, end_slope in zip(*self.seeds.ends, strict=True):
            is_there = (np.abs(y - end_y) <= SLACK * self.seeds.y_span).all(axis=-1)
            is_there &= may_reach & ~(converged & self._domain.contains(x))
            x[is_there], slope[is_there], converged[is_there] = end_x, end_slope, True
        report.count('no_convergence', may_reach & ~converged)
        x = _choose(converged, x, np.nan)
        x, slope = self._on_branch(x, slope, report)
        return self._inside(x, known(x), report), slope

    def _from_start(self, y: Array, start: Array) -> tuple[Array, Array, Mask]:
        """Solve by a few quick steps, and by damped ones where these do not arrive."""
        found = self._form.approach(y, start, self.seeds)
        if found is None:
            return solve(self._form.evaluate, y, start, self._domain.span)
        x, slope, converged = found
        # A solution elsewhere is one that quick steps have jumped to.
        converged &= self._domain.contains(x)
        converged &= orientation(slope) * self.seeds.branch > 0.0
        rest = ~converged & np.isfinite(start).all(axis=-1)
        if rest.any():
            x[rest], slope[rest], converged[rest] = solve(
                self._form.evaluate, y[rest], start[rest], self._domain.span
            )
        return x, slope, converged

    # -- what is watched -------------------------------------------------------------------------

    def _inside(self, x: Array, is_known: Mask, report: MapReport) -> Array:
        inside = self._domain.contains(x)
        report.count('domain', is_known & ~inside)
        return _choose(inside, x, np.nan)

    def _on_branch(self, x: Array, slope: Array, report: MapReport) -> tuple[Array, Array]:
        # The sign of a singular determinant is a matter of rounding.
        is_sure = self._is_sure(*self.seeds.singular_values(slope))
        off = (orientation(slope) * self.seeds.branch < 0.0) & is_sure
        report.count('branch', off & known(x))
        return _choose(~off, x, np.nan), _choose(~off, slope, np.nan)

    def _usable(
        self, x: Array, slope: Array, inverts: Sequence[bool], report: MapReport
    ) -> list[Array]:
        """
        Return ``G`` for each of its uses, NaN where it does not exist or multiplies by too much.

        :param inverts: For each use, whether it multiplies by ``G^-1`` or by ``G``.
        """
        largest, smallest = self.seeds.singular_values(slope)
        fit = {
            False: largest <= self._most,
            True: self._is_sure(largest, smallest) & (smallest >= self._least),
        }
        uses = [fit[each] for each in inverts]
        missing = np.isnan(largest)
        report.count('domain', known(x) & missing)
        report.count('singular', known(x) & ~missing & ~np.logical_and.reduce(uses))
        return [_choose(each, slope, np.nan) for each in uses]

    def _is_sure(self, largest: Array, smallest: Array) -> Mask:
        """Whether rounding decides neither the smallest one nor the sign of the determinant."""
        sure: Mask = np.maximum(largest, self.seeds.smallest) <= SURE * smallest
        return sure

    @cached_property
    def watched(self) -> tuple[float, ...]:
        """What a sample is held against beside the domain, in the order of ``Watch``."""
        seeds = self.seeds
        return (
            *seeds.lowest.tolist(),
            *seeds.highest.tolist(),
            *seeds.y_span.tolist(),
            *seeds.scale.ravel().tolist(),
            seeds.branch,
            seeds.smallest,
            self._least,
            self._most,
        )

    def _slope_rate(self, x: Array, rate: Array, report: MapReport) -> Array:
        result = self._form.slope_rate(x, rate)
        report.count('domain', known(x) & known(rate) & np.isnan(result).any(axis=(-2, -1)))
        return result


# -- a fixed table of positions ------------------------------------------------------------------

#: Points per coordinate, by the number of coordinates; three beyond the end of the list.
POINTS = (65, 17, 9, 5)

#: Cells per coordinate of what the table maps to, likewise.
CELLS = (257, 33, 9, 5)


@dataclass(frozen=True)
class Seeds:
    """
    Positions on the branch, with what they map to: starts for the solver, typical gains, branch.

    Everything that the solver takes from it depends on the mechanism alone, never on what was
    mapped before.

    Singular values are those of ``G`` in shares of the ranges of ``x`` and ``y``, so that neither
    units nor reductions decide which of several unknowns is the fast one.

    :param x: Shape ``(n_seeds, n)``.
    :param y: Shape ``(n_seeds, m)``.
    :param y_span: Range of ``y``, shape ``(m,)``.
    :param lowest: What ``y`` may be at least, shape ``(m,)``. Exact with one coordinate on each
        side and the whole domain on the branch, as ``y`` is then monotone; otherwise half of the
        range is added, as the table does not hold the extremes.
    :param highest: What ``y`` may be at most.
    :param scale: What the entries of ``G`` are multiplied by before their singular values are
        taken: range of ``x`` over range of ``y``, shape ``(m, n)``.
    :param largest: Median of the largest singular value.
    :param smallest: Median of the smallest singular value.
    :param branch: Sign of the determinant on the branch.
    :param is_whole: Whether every grid point of the domain was reachable and on the branch.
    :param ends: ``x``, ``y`` and ``G`` of the ends of a whole domain with one coordinate on each
        side, less an end of a dwell: there ``y`` is that of other positions also.
    """

    x: Array
    y: Array
    y_span: Array
    lowest: Array
    highest: Array
    scale: Array
    largest: float
    smallest: float
    branch: float
    is_whole: bool
    ends: tuple[Array, Array, Array]

    def nearest(self, y: Array) -> Array:
        """
        Return for each ``y`` the seed that maps nearest to the middle of its cell.

        Cells divide what may be reached; what is outside counts to the outermost ones. Other than
        :meth:`closest` it does not look at every seed.
        """
        counts, table = self._cells
        share = (y - self.lowest) / np.maximum(self.highest - self.lowest, np.finfo(float).tiny)
        cells = np.clip(np.nan_to_num(share * counts), 0, np.array(counts) - 1).astype(np.intp)
        nearest: Array = self.x[table[np.ravel_multi_index(tuple(cells.T), counts)]]
        return nearest

    @cached_property
    def _cells(self) -> tuple[tuple[int, ...], npt.NDArray[np.intp]]:
        """The numbers of cells, and the seed of each."""
        n = self.y.shape[1]
        count = CELLS[n - 1] if n <= len(CELLS) else 3
        axes = [
            low + (np.arange(count) + 0.5) * ((high - low) / count)
            for low, high in zip(self.lowest, self.highest, strict=True)
        ]
        middles = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, n)
        return (count,) * n, self._closest(middles)

    def closest(self, y: Array) -> Array:
        """Return for each ``y`` the seed that maps nearest to it, the first of equals."""
        found: Array = self.x[self._closest(y)]
        return found

    def _closest(self, y: Array) -> npt.NDArray[np.intp]:
        distance = np.zeros((len(y), len(self.y)))
        for place in range(y.shape[1]):
            distance += np.abs(y[:, place, np.newaxis] - self.y[:, place]) / self.y_span[place]
        return np.asarray(distance.argmin(axis=1))

    def may_reach(self, y: Array) -> Mask:
        """Tell cheaply whether ``y`` may be reachable; what is far from every seed is not."""
        return np.asarray(((y >= self.lowest) & (y <= self.highest)).all(axis=-1))

    def singular_values(self, slope: Array) -> tuple[Array, Array]:
        """Return the largest and the smallest one of each ``G``, in shares of the ranges."""
        return singular_values(slope * self.scale)

    @classmethod
    def over(cls, domain: Domain, evaluate: Callable[[Array], tuple[Array, Array]]) -> Seeds:
        """
        Lay a grid over the domain and keep what is on the mechanism's branch.

        The branch is that of the reachable grid point nearest to the middle of the domain.

        :param evaluate: ``g`` and its Jacobian ``G``.
        :raises TransmissionError: If no point of the domain can be reached, or each is singular.
        """
        grid = domain.grid(points_of(len(domain.lower)))
        y, slope = evaluate(grid)
        largest, smallest = singular_values(slope)
        reachable = known(y) & np.isfinite(largest)
        regular = reachable & (smallest > 0.0)
        if not regular.any():
            raise TransmissionError(
                'no position of the domain can be reached; do the dimensions fit together?',
                expected='a closed mechanism',
                found=f'none of the {domain.space} positions from {domain.lower} to '
                f'{domain.upper}',
            )
        middle = np.array(domain.lower) + 0.5 * domain.span
        off_middle = np.abs((grid - middle) / domain.span).sum(axis=-1)
        branch = orientation(slope)
        home = branch[np.argmin(np.where(regular, off_middle, np.inf))]
        on_branch = regular & (branch == home)
        scale = domain.span / _width(y[on_branch])[:, np.newaxis]
        largest, smallest = singular_values(slope * scale)
        typical = float(np.median(smallest[on_branch]))
        # Rounding gives a singular position, as on the bounds of a full stroke, either sign.
        singular = reachable & ~(np.maximum(largest, typical) <= SURE * smallest)
        seeds = on_branch & ~singular
        if not seeds.any():
            raise TransmissionError(
                'every position of the domain is a dead centre',
                expected='positions that follow from each other in both directions',
                found=f'singular values of at most {largest[on_branch].max():g} and '
                f'{smallest[on_branch].max():g}',
            )
        mapped = on_branch | singular
        is_whole = bool(mapped.all())
        low, high = y[mapped].min(axis=0), y[mapped].max(axis=0)
        is_monotone = slope.shape[1:] == (1, 1) and is_whole
        margin = (SLACK if is_monotone else 0.5) * (high - low)
        ends = [end for end, beside in ((0, 1), (-1, -2)) if is_monotone and seeds[beside]]
        arrays = (
            grid[seeds],
            y[seeds],
            _width(y[mapped]),
            low - margin,
            high + margin,
            scale,
        )
        for array in arrays:
            array.setflags(write=False)
        return cls(
            *arrays,
            largest=float(np.median(largest[on_branch])),
            smallest=typical,
            branch=float(home),
            is_whole=is_whole,
            ends=(grid[ends], y[ends], slope[ends]),
        )


def _width(y: Array) -> Array:
    """Return the range of each component, 1 where it does not move."""
    width = np.ptp(y, axis=0)
    return np.where(width > 0.0, width, 1.0)


def points_of(n: int) -> int:
    """Return how many points a table has per coordinate."""
    return POINTS[n - 1] if n <= len(POINTS) else 3


# -- the solver ----------------------------------------------------------------------------------

#: Steps at most. Newton takes four or five; a least-squares solution whose equations contradict
#: each other takes more, as each iteration gains one binary digit.
ITERATION_LIMIT = 60

#: A step below this share of the range ends the iteration: the next one would be its square.
STEP_TOLERANCE = 1e-13

#: A step below this share that no longer improves anything is rounding, and ends it as well.
STALL_TOLERANCE = 1e-9

#: Steps below this share may be judged by the next step instead of the residual.
END_GAME = 1e-3

#: A sample whose damping falls below this is given up.
SMALLEST_DAMPING = 2.0**-20


def solve(
    evaluate: Callable[[Array], tuple[Array, Array]], target: Array, start: Array, span: Array
) -> tuple[Array, Array, Mask]:
    """
    Solve ``g(x) = target`` near ``start``, in the least-squares sense where ``g`` has more rows.

    A step ``-G^+ (g(x) - target)`` is taken if it makes the residual smaller, of which it is a
    direction of descent, else it is halved. Near the end, where the smallest residual of
    contradicting equations is flat to rounding, a smaller next step will do as well. Steps are
    measured in shares of ``span``.

    :param evaluate: ``g`` and its Jacobian ``G`` at ``x``, NaN where there is no answer.
    :param target: Shape ``(samples, m)``.
    :param start: Shape ``(samples, n)``.
    :param span: Range of each coordinate of ``x``, shape ``(n,)``.
    :returns: ``x``, shape ``(samples, n)``; ``G`` there, ``(samples, m, n)``; which samples
        converged, ``(samples,)``. ``x`` means nothing in the others.
    """

    def at(x: Array) -> tuple[Array, Array, Array, Array]:
        value, slope = evaluate(x)
        miss = value - target
        step = -apply(inverse(slope), miss)
        return slope, step, _length(miss), _length(step / span)

    x = start
    slope, step, miss, size = at(x)
    active = np.isfinite(size)
    converged = active & (size <= STEP_TOLERANCE)
    active = active & ~converged
    damping = np.ones_like(size)
    for _ in range(ITERATION_LIMIT):
        if not active.any():
            break
        next_x = x + damping[:, np.newaxis] * step
        next_slope, next_step, next_miss, next_size = at(next_x)
        better = (next_miss < miss) | ((next_size < size) & (size <= END_GAME))
        taken = active & better & np.isfinite(next_size)
        stalled = active & ~taken & (size <= STALL_TOLERANCE)
        x, step = _choose(taken, next_x, x), _choose(taken, next_step, step)
        slope = _choose(taken, next_slope, slope)
        size, miss = np.where(taken, next_size, size), np.where(taken, next_miss, miss)
        damping = np.where(taken, np.minimum(1.0, 2.0 * damping), 0.5 * damping)
        small = active & (size <= STEP_TOLERANCE)
        converged = converged | small | stalled
        active = active & ~small & ~stalled & (damping >= SMALLEST_DAMPING)
    return _choose(size <= STEP_TOLERANCE, x + step, x), slope, converged


# -- vectors and small matrices, one per sample ---------------------------------------------------


def stacked(components: Sequence[npt.ArrayLike], count: int) -> Array:
    """Return components, arrays or constants, as the columns of an array."""
    result = np.empty((count, len(components)))
    for place, component in enumerate(components):
        result[:, place] = component
    return result


def known(array: Array) -> Mask:
    """Tell which samples are known."""
    return np.asarray(np.isfinite(array).all(axis=-1))


def apply(matrix: Array, vector: Array, terms: Mask | None = None) -> Array:
    """Return ``M x`` over the terms there are, shapes ``(samples, m, n)`` and ``(samples, n)``."""
    n_rows, n_columns = matrix.shape[1:]
    result = np.zeros((len(matrix), n_rows))
    for row in range(n_rows):
        for column in range(n_columns):
            if terms is None or terms[row, column]:
                result[:, row] += matrix[:, row, column] * vector[:, column]
    return result


def inverse(matrix: Array) -> Array:
    """
    Return the inverse, or the pseudo-inverse of matrices that are not square.

    One and two rows are written out, as a call for many small matrices costs ten times as much.

    :param matrix: Shape ``(samples, m, n)``, of full rank.
    :returns: Shape ``(samples, n, m)``; NaN or infinite where the rank is not full.
    """
    if matrix.shape[1:] == (1, 1):
        return np.asarray(1.0 / matrix, dtype=np.float64)
    if matrix.shape[1:] == (2, 2):
        a, b, c, d = (matrix[:, i, j] for i in (0, 1) for j in (0, 1))
        adjugate = np.stack([d, -b, -c, a], axis=-1).reshape(-1, 2, 2)
        return np.asarray(adjugate / (a * d - b * c)[:, np.newaxis, np.newaxis])
    usable, safe = _safe(matrix)
    left, values, right = np.linalg.svd(safe, full_matrices=False)
    result = np.matmul(
        np.swapaxes(right, -1, -2) / values[..., np.newaxis, :], np.swapaxes(left, -1, -2)
    )
    return np.where(usable, result, np.nan)


def singular_values(matrix: Array) -> tuple[Array, Array]:
    """Return the largest and the smallest one of each matrix, NaN where the matrix has one."""
    if matrix.shape[1:] == (1, 1):
        size = np.abs(matrix[:, 0, 0])
        return size, size
    if matrix.shape[1:] == (2, 2):
        a, b, c, d = (matrix[:, i, j] for i in (0, 1) for j in (0, 1))
        # s1 + s2 and s1 - s2 are lengths of these two vectors.
        largest = 0.5 * (np.hypot(a + d, b - c) + np.hypot(a - d, b + c))
        # The smallest normal number stands for a largest value of zero.
        return largest, abs(a * d - b * c) / np.maximum(largest, np.finfo(np.float64).tiny)
    usable, safe = _safe(matrix)
    values = np.where(usable[..., 0], np.linalg.svd(safe, compute_uv=False), np.nan)
    return values[:, 0], values[:, -1]


def orientation(matrix: Array) -> Array:
    """
    Return the sign of the determinant: it changes where a mechanism changes its branch.

    :returns: Shape ``(samples,)``: -1, 0, 1 or NaN; 1 for matrices that are not square.
    """
    usable, safe = _safe(matrix)
    n_rows, n_columns = matrix.shape[1:]
    if n_rows != n_columns:
        signs = np.ones(len(matrix))
    elif n_rows == 2:
        signs = np.sign(safe[:, 0, 0] * safe[:, 1, 1] - safe[:, 0, 1] * safe[:, 1, 0])
    else:
        signs = np.sign(np.linalg.det(safe))
    return np.where(usable[:, 0, 0], signs, np.nan)


def _safe(matrix: Array) -> tuple[Mask, Array]:
    """Return which matrices are finite, ``(n, 1, 1)``, and an identity in place of the rest."""
    usable = np.asarray(np.isfinite(matrix).all(axis=(-2, -1), keepdims=True))
    return usable, np.where(usable, matrix, np.eye(*matrix.shape[-2:]))


def _choose(condition: Mask, one: Array, other: Array | float) -> Array:
    """Return ``one`` for the samples where the condition holds, else ``other``."""
    return np.where(condition.reshape(-1, *[1] * (one.ndim - 1)), one, other)


def _length(vector: Array) -> Array:
    length = np.abs(vector[:, 0])
    for place in range(1, vector.shape[1]):
        length = np.hypot(length, vector[:, place])
    return length
