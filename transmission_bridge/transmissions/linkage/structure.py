# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linkage closed at its start: determined joints, and the rows and joints that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import math
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.calls import Call
from transmission_bridge.transmissions.linkage.closures import Closures, find_rod, Rod
from transmission_bridge.transmissions.linkage.tree import LoopPath
from transmission_bridge.types import Array

#: Attempts to close a linkage from random positions of joints without a hint: with fixed driven
#: joints, then with free driven joints.
TRIES = (60, 60)

#: Number of assemblies beyond the limits; the nearest is used if none is within the limits.
ASSEMBLIES = 8

#: Attempts to close an assembly beyond the limits again from within the limits.
DRAWS = 10

#: Start positions of the search for another assembly.
RIVALS = 24

#: A hint distinguishes assemblies if the joint differs by this much [rad or m].
MEANT = 0.1

#: An assembly satisfies a hint if the joint is this close to it [rad, m].
MET, MET_SLIDING = 0.5, 0.1

#: Newton steps per attempt.
STEPS = 60

#: Largest last step and residual of a closed linkage.
CLOSED = 1e-10

#: Positions near the start for ranks, because the start may be singular.
NEARBY = 6

#: Displacements of driven joints for these positions [rad or m].
DISTANCES = (0.1, 0.04, 0.01, 0.003)

#: Singular values below this share of the largest one are zero. Rounded dimensions turn zeros into
#: numbers of the size of the rounding, so this multiple of the tolerance also counts as zero.
RANK, RANK_OF_TOLERANCE = 1e-6, 30.0

#: Number of steps of a change of rod lengths, and largest number of Newton steps in each.
LENGTHENINGS = 10

#: A joint that no idle freedom moves by more than this is determined.
DETERMINED = 1e-7


def rows_function(closures: Closures, rows: Any) -> Any:
    """Return a function from positions and lengths to rows and their Jacobian."""
    results = [ca.densify(rows), ca.densify(ca.jacobian(rows, closures.z))]
    return ca.Function('rows', [closures.z, closures.lengths], results)


def share_of_rank(tolerance: float) -> float:
    """Return the share of the largest singular value below which a singular value is zero."""
    return max(RANK, RANK_OF_TOLERANCE * tolerance)


@dataclass(frozen=True)
class Structure:
    """
    The properties of a linkage at its start and nearby.

    :param names: Its joints.
    :param driven: Indices of the driven joints, in the order of the actuators.
    :param paths: The loops.
    :param rods: For each loop the link between two balls in it, if any.
    :param start: The assembly, shape ``(n,)``.
    :param lengths: Lengths of the loops, zero except for rods.
    :param closures: The rows, with the start as reference.
    :param kept: Independent rows that are solved.
    :param held: Indices of joints that stay at the start, one for each idle freedom.
    :param idle: Indices of all joints that an idle freedom moves.
    :param slides: Indices of prismatic joints.
    :param rank: Number of independent equations for the joints that are not driven.
    :param gap: Largest residual of a row at the start.
    """

    names: tuple[str, ...]
    driven: tuple[int, ...]
    paths: tuple[LoopPath, ...]
    rods: tuple[Rod | None, ...]
    start: Array
    lengths: Array
    closures: Closures
    kept: tuple[int, ...]
    held: tuple[int, ...]
    idle: tuple[int, ...]
    slides: frozenset[int]
    rank: int
    gap: float

    @property
    def unknown(self) -> tuple[int, ...]:
        """Indices of the joints that are not driven."""
        return tuple(each for each in range(len(self.names)) if each not in self.driven)

    @property
    def balls(self) -> frozenset[int]:
        """Indices of the joints of balls at the ends of rods."""
        return frozenset(each for rod in self.rods if rod is not None for each in rod.balls)

    @classmethod
    def from_loops(
        cls,
        names: Sequence[str],
        driven: Sequence[int],
        wanted: Sequence[int],
        paths: Sequence[LoopPath],
        hints: dict[int, float],
        slides: frozenset[int],
        tolerance: float,
        limits: Sequence[tuple[float, float]],
    ) -> Structure:
        """
        Close a linkage and determine its properties.

        ``wanted`` are the indices of the commanded joints. ``hints`` are positions near the
        assembly, by index; joints without a hint start at zero. ``tolerance`` is the largest
        residual of rows that are not kept.

        :raises TransmissionError: If it does not close, or a driven joint is blocked.
        """
        n = len(names)
        search = _Search(names, driven, paths, hints, slides, limits)
        start, known, gap = search.close_linkage([path.loop.length for path in paths], tolerance)
        own = _exclusive_joints(n, driven, wanted, paths)
        found = [find_rod(path, each) for path, each in zip(paths, own, strict=True)]
        measure = Closures(paths, [None] * len(paths), n)
        rods = tuple(
            rod if rod is not None and measure.is_long(rod, start) else None for rod in found
        )
        closures = Closures(paths, rods, n, start)
        rows = rows_function(closures, closures.rows)
        nearby = search.find_nearby(rows, start, known, tolerance)
        unknown = [each for each in range(n) if each not in driven]
        free, held, idle, rank = _find_freedoms(rows, nearby, known, unknown, rods, tolerance)
        kept = _select_rows(rows, nearby, known, free, closures.distances, rank)
        return cls(
            names=tuple(names),
            driven=tuple(driven),
            paths=tuple(paths),
            rods=rods,
            start=start,
            lengths=known,
            closures=closures,
            kept=kept,
            held=held,
            idle=idle,
            slides=slides,
            rank=rank,
            gap=gap,
        )

    def seek_rival(
        self,
        hints: dict[int, float],
        slides: frozenset[int],
        limits: Sequence[tuple[float, float]],
        tolerance: float,
    ) -> list[tuple[int, float]]:
        """
        Search another assembly within the limits, with the driven joints at their start.

        The search is random and can miss assemblies. Return the determined joints without a hint
        that differ, with their other positions, in order of decreasing difference.
        """
        loose = {*self.driven, *self.idle, *self.balls, *hints}
        sought = [place for place in range(len(self.names)) if place not in loose]
        if not sought or not self.unknown:
            return []
        search = _Search(self.names, self.driven, self.paths, hints, slides, limits)
        for z in search.find_assemblies(self.start, self.lengths, tolerance):
            apart = np.abs(z - self.start)
            # An assembly with another position of a joint with a hint is not intended.
            if apart[sought].max() > MEANT and not (apart[list(hints)] > MEANT).any():
                places = sorted(sought, key=lambda place: -apart[place])
                return [(place, float(z[place])) for place in places if apart[place] > MEANT]
        return []

    def with_lengths(self, lengths: Sequence[float], tolerance: float) -> Structure:
        """
        Return the linkage with rods of other lengths, and its driven joints at the start.

        :raises TransmissionError: If a length is not positive, or it does not close with them.
        """
        rods = [path.loop.type == 'rod' for path in self.paths]
        new = np.where(rods, np.asarray(lengths, dtype=np.float64), self.lengths)
        if not (new[rods] > 0.0).all():
            raise TransmissionError('the length of a rod is not positive', expected='above zero')
        rows = rows_function(self.closures, self.closures.rows)
        free = [k for k in self.unknown if k not in self.held]
        z, gap = self.start.copy(), math.inf
        for share in np.linspace(0.0, 1.0, LENGTHENINGS + 1)[1:]:
            now = self.lengths + share * (new - self.lengths)
            for _ in range(LENGTHENINGS):
                miss, jacobian = (np.asarray(each.full()) for each in rows(z, now))
                gap = float(np.abs(miss).max(initial=0.0))
                if not gap > CLOSED:
                    break
                z[free] -= np.linalg.lstsq(jacobian[:, free], miss[:, 0], rcond=RANK)[0]
        if not gap <= max(tolerance, CLOSED):
            raise TransmissionError(
                'the linkage does not close with these lengths and its driven joints at the start',
                expected=f'a gap below {tolerance:g}',
                found=f'{gap:.3g} (m or rad)',
            )
        return replace(self, start=z, lengths=new, gap=gap)


def _exclusive_joints(
    n: int, driven: Sequence[int], wanted: Sequence[int], paths: Sequence[LoopPath]
) -> list[frozenset[int]]:
    """Return for each loop the joints that affect no other loop."""
    counts = [sum(each in path.variables for path in paths) for each in range(n)]
    named = {*driven, *wanted}
    return [
        frozenset(each for each in path.variables if counts[each] == 1 and each not in named)
        for path in paths
    ]


class _Search:
    """A search for an assembly."""

    def __init__(
        self,
        names: Sequence[str],
        driven: Sequence[int],
        paths: Sequence[LoopPath],
        hints: dict[int, float],
        slides: frozenset[int],
        limits: Sequence[tuple[float, float]],
    ) -> None:
        self._names = names
        self._n = n = len(names)
        self._driven, self._paths, self._slides = list(driven), paths, slides
        self._hints, self._limits = hints, limits
        self._closures = Closures(paths, [None] * len(paths), n)
        self._stated, self._cayley = (
            Call(rows_function(self._closures, rows))
            for rows in (self._closures.stated, self._closures.cayley)
        )
        self._upright = ca.Function('upright', [self._closures.z], [self._closures.upright])

    def close_linkage(
        self, lengths: Sequence[float | None], tolerance: float
    ) -> tuple[Array, Array, float]:
        """Return an assembly near the hints, all lengths, and the largest residual."""
        first = np.zeros(self._n)
        for place, (low, high) in enumerate(self._limits):
            if place not in self._hints and not low <= 0.0 <= high and math.isfinite(low + high):
                first[place] = 0.5 * (low + high)
        for place, value in self._hints.items():
            first[place] = value
        rods = [place for place, path in enumerate(self._paths) if path.loop.type == 'rod']
        open_rods = [place for place in rods if lengths[place] is None]
        known = np.array([0.0 if each is None else each for each in lengths])
        masked = np.array([owner in open_rods for owner in self._closures.owners], dtype=bool)
        random = np.random.default_rng(0)
        best = math.inf
        # Assemblies that violate a hint are last, those beyond the limits before them: the limits
        # of some real files exclude every assembly.
        found: list[tuple[bool, bool, float, float, Array]] = []
        for lets_driven_move, tries in zip((False, True), TRIES, strict=True):
            free = [k for k in range(self._n) if lets_driven_move or k not in self._driven]
            most = len(found) + ASSEMBLIES
            for number in range(tries if free else 1):
                start = first.copy()
                if number:
                    for place in free:
                        if place not in self._hints:
                            start[place] = self._draw_position(random, place)
                z, gap = self._iterate_damped(start, free, known, masked)
                if lets_driven_move and gap <= tolerance:
                    z, gap = self._draw_inside(self._unwind(z, first), gap, free, known, masked)
                best = min(best, gap)
                if gap <= tolerance and self._is_upright(z):
                    z = self._unwind(z, first)
                    misses, is_beyond = (self._missed_hint(z) is not None, not self._is_within(z))
                    found.append((misses, is_beyond, float(np.abs(z - first).max()), gap, z))
                    if not misses and (not is_beyond or len(found) >= most):
                        break
            found.sort(key=lambda each: each[:3])
            if found and not any(found[0][:2]):
                break
        if not found:
            raise self._open_loop_error(best, known, masked, tolerance, first)
        misses, *_, gap, z = found[0]
        if misses:
            raise self._hint_error(z, first)
        for place in open_rods:
            known[place] = self._rod_length(z, place)
        return z, known, gap

    def _missed_hint(self, z: Array) -> int | None:
        """Return a joint that violates its hint, if there is one."""
        for place, value in self._hints.items():
            apart = abs(z[place] - value)
            if place not in self._slides and place not in self._closures.stretched:
                apart = abs((apart + math.pi) % math.tau - math.pi)
            if apart > (MET_SLIDING if place in self._slides else MET):
                return place
        return None

    def _hint_error(self, z: Array, first: Array) -> TransmissionError:
        place = self._missed_hint(z)
        assert place is not None
        axes = [each for each in self._closures.hinge_axes(first).values() if 'turn about' in each]
        return TransmissionError(
            f"no assembly has joint '{self._names[place]}' near its <start>",
            expected=f'{self._hints[place]:.4g}, or a <start> of another joint that determines it',
            found='; '.join([f'{z[place]:.4g} in the nearest assembly found', *axes]),
        )

    def _is_within(self, z: Array) -> bool:
        """Return whether an assembly is within the joints' limits, with a margin."""
        return all(
            low - 1e-3 <= value <= high + 1e-3
            for value, (low, high) in zip(z.tolist(), self._limits, strict=True)
        )

    def _draw_inside(
        self, z: Array, gap: float, free: Sequence[int], lengths: Array, masked: Array
    ) -> tuple[Array, float]:
        """Return an assembly closer to the limits, by closing it again from within the limits."""
        low, high = np.array(self._limits).T
        for _ in range(DRAWS):
            if self._is_within(z):
                break
            other, miss = self._iterate_damped(np.clip(z, low, high), free, lengths, masked)
            if not miss <= max(gap, CLOSED):
                break
            z, gap = other, miss
        return z, gap

    def _unwind(self, z: Array, first: Array) -> Array:
        """Return an assembly without full turns relative to the start of the search."""
        result: Array = z.copy()
        for place in range(self._n):
            if place not in self._slides and place not in self._closures.stretched:
                turns = round((z[place] - first[place]) / (2.0 * math.pi))
                result[place] = z[place] - turns * 2.0 * math.pi
        return result

    def _draw_position(self, random: np.random.Generator, place: int) -> float:
        low, high = self._limits[place]
        if place in self._slides:
            low, high = (low, high) if math.isfinite(low + high) and low < high else (-0.5, 0.5)
        elif not (math.isfinite(low + high) and low < high and high - low < 2.0 * math.pi):
            low, high = -math.pi, math.pi
        return float(random.uniform(low, high))

    def _is_upright(self, z: Array) -> bool:
        return bool((np.asarray(self._upright(z)) > 0.0).all())

    @np.errstate(over='ignore', invalid='ignore')  # residuals may overflow
    def _iterate_damped(
        self, z: Array, free: Sequence[int], lengths: Array, masked: Array
    ) -> tuple[Array, float]:
        """Return the result of damped least-squares steps, and the largest residual."""
        lengths = np.where(lengths > 0.0, lengths, 1.0)

        def evaluate_rows(function: Call, z: Array) -> tuple[Array, Array]:
            miss, columns = function(z, lengths)
            miss, jacobian = miss.copy(), columns.reshape(self._n, -1).T[:, free]
            miss[masked], jacobian[masked] = 0.0, 0.0
            return miss, jacobian

        if not free:
            miss, _ = evaluate_rows(self._stated, z)
            return z, float(np.abs(miss).max(initial=0.0))
        damping, function = 1e-2, self._cayley
        miss, jacobian = evaluate_rows(function, z)
        size = float(miss @ miss)
        stalled = 0
        for _ in range(STEPS):
            if not math.isfinite(size):
                return z, math.inf
            if size < 1e-30:
                break
            normal = jacobian.T @ jacobian
            normal += damping * (np.trace(normal) / len(free) + 1e-12) * np.eye(len(free))
            step = -np.linalg.solve(normal, jacobian.T @ miss)
            longest = np.abs(step).max()
            trial = z.copy()
            trial[free] += step * min(1.0, 0.7 / longest) if longest > 0.0 else 0.0
            next_miss, next_jacobian = evaluate_rows(function, trial)
            next_size = float(next_miss @ next_miss)
            if next_size < size:
                stalled = stalled + 1 if next_size > 0.98 * size else 0
                z, miss, jacobian, size = trial, next_miss, next_jacobian, next_size
                damping = max(0.1 * damping, 1e-12)
                if longest < 1e-14:
                    break
            else:
                damping *= 10.0
                stalled += 1
                if longest < 1e-13 or size < 1e-26:
                    break
            if stalled > 6:
                break
        miss, _ = evaluate_rows(self._stated, z)
        gap = float(np.abs(miss).max(initial=0.0))
        return z, gap if math.isfinite(gap) else math.inf

    def _rod_length(self, z: Array, place: int) -> float:
        # (d^2 - 1) / 2 is the row of a rod of length 1.
        row = self._closures.owners.index(place)
        miss = float(self._stated(z, np.ones(len(self._paths)))[0][row])
        length = math.sqrt(max(2.0 * miss + 1.0, 0.0))
        if length < 1e-6:
            raise TransmissionError(
                f'loop {self._paths[place].loop}: its frames coincide at the start',
                expected="a length, or type='point'",
                found=f'{length:g} m',
                at=self._paths[place].loop.at,
            )
        return length

    def _open_loop_error(
        self, gap: float, lengths: Array, masked: Array, tolerance: float, first: Array
    ) -> TransmissionError:
        """Name the loop that is open widest before any iteration, which may shift the gap."""
        lengths = np.where(lengths > 0.0, lengths, 1.0)
        miss = np.where(masked, 0.0, np.nan_to_num(np.abs(self._stated(first, lengths)[0])))
        loop = self._paths[self._closures.owners[int(np.argmax(miss))]].loop
        size = f'{miss.max():.3g} (m or rad) at the start of the search'
        if gap < miss.max():  # it may diverge
            size += f', {gap:.3g} at best of {sum(TRIES)} starts'
        advice = 'its frames and all <origin>s between them, or add a <start> near the assembly'
        if gap < 1e-4:
            advice = (
                f'the number of digits in the URDF, <param name="tolerance"> above {gap:.1e}, or '
                "type='point' instead of 'weld'"
            )
        axis = self._closures.hinge_axes(first).get(loop)
        if axis is not None:
            size += f'; {axis}'
            if 'turn about' in axis:
                advice = 'the axis of this hinge'
        return TransmissionError(
            f'the linkage does not close: loop {loop} stays open; check {advice}',
            expected=f'a gap below {tolerance:g}',
            found=size,
            at=loop.at,
        )

    def find_assemblies(self, start: Array, lengths: Array, tolerance: float) -> Iterator[Array]:
        """Yield assemblies within the limits from random positions, possibly the start."""
        random = np.random.default_rng(2)
        masked = np.zeros(len(self._closures.owners), dtype=bool)
        free = [place for place in range(self._n) if place not in self._driven]
        for _ in range(RIVALS):
            z = start.copy()
            for place in free:
                if place not in self._hints:
                    z[place] = self._draw_position(random, place)
            z, gap = self._iterate_damped(z, free, lengths, masked)
            z = self._unwind(z, start)
            if gap <= max(tolerance, CLOSED) and self._is_upright(z) and self._is_within(z):
                yield z

    def find_nearby(
        self, rows: Any, start: Array, lengths: Array, tolerance: float
    ) -> list[Array]:
        """Return closed positions near the start, the start first."""
        found = [start]
        random = np.random.default_rng(1)
        masked = np.zeros(len(self._closures.owners), dtype=bool)
        free = [k for k in range(self._n) if k not in self._driven]
        for distance in DISTANCES:
            for _ in range(NEARBY):
                z = start.copy()
                z[self._driven] += random.uniform(-distance, distance, len(self._driven))
                z[free] += random.uniform(-1e-3, 1e-3, len(free))
                z, gap = self._iterate_damped(z, free, lengths, masked)
                if (
                    gap <= max(tolerance, CLOSED)
                    and np.abs(z - start).max() < 30.0 * distance
                    and self._is_upright(z)
                ):
                    found.append(z)
            if len(found) > NEARBY // 2:
                break
        return found


def _find_freedoms(
    rows: Any,
    nearby: Sequence[Array],
    lengths: Array,
    unknown: Sequence[int],
    rods: Sequence[Rod | None],
    tolerance: float,
) -> tuple[list[int], tuple[int, ...], tuple[int, ...], int]:
    """Return the joints that are solved for, the held joints, the idle joints, and the rank."""
    if not unknown:
        return [], (), (), 0
    share = share_of_rank(tolerance)
    parts = []
    for z in nearby:
        jacobian = np.asarray(rows(z, lengths)[1].full())[:, unknown]
        _, values, right = np.linalg.svd(jacobian)
        parts.append((int((values > share * values[0]).sum()), right))
    rank = max(each for each, _ in parts)
    count = len(unknown) - rank
    moves = np.zeros((len(unknown), len(unknown)))
    number = 0
    for each, right in parts:
        if each == rank:
            null = right[rank:].T
            moves += null @ null.T
            number += 1
    moves /= number
    idle = [place for place in range(len(unknown)) if moves[place, place] > DETERMINED]
    # A link that spins between balls is held at the ball of its direction, so the far ball is
    # solved independently.
    near = {joint for rod in rods if rod is not None for joint in rod.balls[: rod.one.size]}
    weights = np.array([1.0 if unknown[place] in near else 0.3 for place in range(len(unknown))])
    rest = weights[:, np.newaxis] * moves * weights
    held: list[int] = []
    for _ in range(count):
        diagonal = np.where(np.isin(np.arange(len(unknown)), held), -1.0, np.diag(rest))
        pivot = _index_of_largest(diagonal)
        held.append(pivot)
        column = rest[:, pivot] / math.sqrt(max(rest[pivot, pivot], 1e-300))
        rest = rest - np.outer(column, column)
    free = [unknown[place] for place in range(len(unknown)) if place not in held]
    return (
        free,
        tuple(sorted(unknown[place] for place in held)),
        tuple(unknown[place] for place in idle),
        rank,
    )


def _index_of_largest(values: Array) -> int:
    """Return the first index of a value that equals the largest one up to rounding."""
    largest = values.max()
    return int(np.argmax(values >= largest - 1e-6 * abs(largest)))


def _select_rows(
    rows: Any,
    nearby: Sequence[Array],
    lengths: Array,
    free: Sequence[int],
    first: Sequence[int],
    rank: int,
) -> tuple[int, ...]:
    """Return independent rows, preferably distances."""
    jacobians = np.stack([np.asarray(rows(z, lengths)[1].full())[:, free] for z in nearby])
    kept: list[int] = []
    single = jacobians.copy()
    for _ in range(rank):
        sizes = np.sqrt((single**2).sum(axis=2)).min(axis=0)
        if (sizes <= 0.0).all():
            sizes = np.sqrt((single**2).sum(axis=2)).max(axis=0)
        sizes[kept] = -1.0
        preferred = [row for row in first if row not in kept and sizes[row] > 1e-4]
        pivot = preferred[0] if preferred else _index_of_largest(sizes)
        kept.append(pivot)
        unit = single[:, pivot, :]
        norm = np.sqrt((unit**2).sum(axis=1, keepdims=True))
        unit = np.where(norm > 1e-12, unit / np.maximum(norm, 1e-300), 0.0)
        single = single - (single @ unit[:, :, np.newaxis]) * unit[:, np.newaxis, :]
    return tuple(sorted(kept))
