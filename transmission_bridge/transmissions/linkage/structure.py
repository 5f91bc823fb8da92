# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A linkage closed at its start: the search for its assembly, and the structure that follows from it.

An assembly is a position of all joints that closes all loops. The structure has the determined
joints, and the rows and joints that are kept. Searches are random with fixed seeds: the same
description always has the same assembly. A change of a constant, a seed or the order of draws may
select another assembly for the URDF of a user. Components and ``loops`` make structures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
import math

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.compiled import CasadiCall
from transmission_bridge.transmissions.equation_mechanism import iterate_damped
from transmission_bridge.transmissions.linkage.closures import find_rod, LinkageClosures
from transmission_bridge.transmissions.linkage.tree import LinkageLoopPath
from transmission_bridge.transmissions.mechanism.block_system import Mechanism
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

#: An assembly satisfies a hint if the joint is this close to it [rad, m].
MET, MET_SLIDING = 0.5, 0.1

#: Largest last step and residual of a closed linkage.
CLOSED = 1e-10

#: Positions near the start for ranks, because the start may be singular.
NEARBY = 6

#: Displacements of driven joints for these positions [rad or m].
DISTANCES = (0.1, 0.04, 0.01, 0.003)

#: Largest gap that rounded dimensions explain [m or rad].
LARGEST_TOLERANCE = 1e-4

#: A hint distinguishes assemblies if the joint differs by this much [rad or m].
MEANT = 0.1

#: Singular values below this share of the largest one are zero. Rounded dimensions turn zeros into
#: numbers of the size of the rounding, so this multiple of the tolerance also counts as zero.
RANK, RANK_OF_TOLERANCE = 1e-6, 30.0

#: Smallest length of a link between two balls [m].
SHORTEST = 1e-6

#: Number of steps of a change of rod lengths, and largest number of Newton steps in each.
LENGTHENINGS = 10

#: A joint that no idle freedom moves by more than this is determined.
DETERMINED = 1e-7


@dataclass(frozen=True)
class LoopSystem:
    """
    Joints and the loops that connect them, as described. Joints are named by their indices.

    :param names: Names of the joints.
    :param driven: The driven joints, in the order of the actuators.
    :param commanded: The commanded joints.
    :param paths: The loops.
    :param hints: Positions near the assembly; joints without a hint start at zero.
    :param slides: The prismatic joints.
    :param limits: Limits of each joint, infinite if it has none.
    :param tolerance: Largest residual of rows that are not kept.
    """

    names: tuple[str, ...]
    driven: tuple[int, ...]
    commanded: tuple[int, ...]
    paths: tuple[LinkageLoopPath, ...]
    hints: dict[int, float]
    slides: frozenset[int]
    limits: tuple[tuple[float, float], ...]
    tolerance: float

    @property
    def unknown(self) -> list[int]:
        """Indices of the joints that are not driven."""
        return [joint for joint in range(len(self.names)) if joint not in self.driven]

    @property
    def winding(self) -> frozenset[int]:
        """The joints in which a full turn changes nothing, also in joints that mimic them."""
        turns = [motion for path in self.paths for motion in path.motions if not motion.slides]
        stretched = {turn.variable for turn in turns if abs(turn.scale) != 1.0}
        return frozenset(range(len(self.names))).difference(stretched, self.slides)

    def list_outside(self, z: Array) -> list[int]:
        """Return the joints whose positions are beyond their limits and a margin."""
        low, high = np.array(self.limits).T
        return np.flatnonzero((z < low - 1e-3) | (z > high + 1e-3)).tolist()


class AssemblySearch:
    """
    A search for an assembly. Lengths of rods are NaN until they are known.

    :class:`LinkageStructure` makes and calls it. It keeps compiled rows; each search draws from a
    generator of its own.
    """

    def __init__(self, system: LoopSystem) -> None:
        self._system, self._n = system, len(system.names)
        self.closures = LinkageClosures(system.paths, {}, np.zeros(self._n))
        z, lengths = self.closures.z, self.closures.lengths
        self._stated, self._cayley = (
            CasadiCall(ca.Function('rows', [z, lengths], [rows, ca.densify(ca.jacobian(rows, z))]))
            for rows in map(ca.densify, (self.closures.rows, self.closures.cayley))
        )
        self._turn = np.zeros(self._n)
        self._turn[[*system.winding]] = math.tau

    def close_linkage(self) -> tuple[Array, Array, float]:
        """Return an assembly near the hints, all lengths, and the largest residual."""
        system = self._system
        first = np.zeros(self._n)
        for joint, (low, high) in enumerate(system.limits):
            if not low <= 0.0 <= high and math.isfinite(low + high):
                first[joint] = 0.5 * (low + high)
        first[[*system.hints]] = [*system.hints.values()]
        loops = [path.loop for path in system.paths]
        lengths = np.array([loop.length if loop.type == 'rod' else 0.0 for loop in loops], float)
        random = np.random.default_rng(0)
        best = math.inf, first
        # Assemblies that violate a hint are last, those beyond the limits before them: the limits
        # of some real files exclude every assembly.
        assemblies: list[tuple[bool, bool, float, float, Array]] = []
        for lets_driven_move, tries in zip((False, True), TRIES, strict=True):
            free = list(range(self._n)) if lets_driven_move else system.unknown
            most = len(assemblies) + ASSEMBLIES
            for number in range(tries if free else 1):
                start = self._draw_joints(random, first, free) if number else first
                z, gap = self._iterate_damped(start, free, lengths)
                if lets_driven_move and gap <= system.tolerance:
                    z, gap = self._draw_inside(self._unwind(z, first), gap, free, lengths)
                ends = (gap, z), (self._measure_gap(start, lengths), start)
                best = min(best, *ends, key=lambda each: each[0])
                if gap <= system.tolerance and self._is_upright(z):
                    z = self._unwind(z, first)
                    misses = bool(self._list_missed_hints(z))
                    is_beyond = bool(system.list_outside(z))
                    assemblies.append((misses, is_beyond, float(np.abs(z - first).max()), gap, z))
                    if not misses and (not is_beyond or len(assemblies) >= most):
                        break
            assemblies.sort(key=lambda each: each[:3])
            if assemblies and not any(assemblies[0][:2]):
                break
        if not assemblies:
            raise self._open_loop_error(*best, lengths, first)
        *_, gap, z = assemblies[0]
        for joint in self._list_missed_hints(z):
            axes = self.closures.hinge_axes(first).values()
            nearest = f'{z[joint]:.4g} in the nearest assembly found'
            raise TransmissionError(
                f"no assembly has joint '{system.names[joint]}' near its <start>",
                expected=f'{first[joint]:.4g}, or a <start> of another joint that determines it',
                found='; '.join([nearest, *(axis for axis in axes if 'turn about' in axis)]),
            )
        for index in np.flatnonzero(np.isnan(lengths)).tolist():
            lengths[index] = self._rod_length(z, index)
        return z, lengths, gap

    def _list_missed_hints(self, z: Array) -> list[int]:
        """Return the joints of an unwound assembly that violate their hints."""
        system = self._system
        return [
            joint
            for joint, value in system.hints.items()
            if abs(z[joint] - value) > (MET_SLIDING if joint in system.slides else MET)
        ]

    def _draw_inside(
        self, z: Array, gap: float, free: Sequence[int], lengths: Array
    ) -> tuple[Array, float]:
        """Return an assembly closer to the limits, by closing it again from within the limits."""
        for _ in range(DRAWS):
            if not self._system.list_outside(z):
                break
            inside = np.clip(z, *np.array(self._system.limits).T)
            other, miss = self._iterate_damped(inside, free, lengths)
            if not miss <= max(gap, CLOSED):
                break
            z, gap = other, miss
        return z, gap

    def _unwind(self, z: Array, first: Array) -> Array:
        """Return an assembly without full turns relative to the start of the search."""
        return z - self._turn * np.round((z - first) / math.tau)

    def _draw_joints(
        self, random: np.random.Generator, start: Array, free: Sequence[int]
    ) -> Array:
        """Return a start with random positions of the free joints without a hint."""
        z = start.copy()
        for joint in free:
            if joint not in self._system.hints:
                low, high = self._system.limits[joint]
                is_sliding = joint in self._system.slides
                reach, widest = (0.5, math.inf) if is_sliding else (math.pi, math.tau)
                if not (low < high and high - low < widest):
                    low, high = -reach, reach
                z[joint] = random.uniform(low, high)
        return z

    def _is_upright(self, z: Array) -> bool:
        return bool((np.asarray(self.closures.signs(z, 0.0)) > 0.0).all())

    def _evaluate_rows(
        self, function: CasadiCall, z: Array, lengths: Array
    ) -> tuple[Array, Array]:
        """Return rows and their slope, zero for rods of unknown length."""
        miss, columns = function(z, np.where(lengths > 0.0, lengths, 1.0))
        miss, slope = miss.copy(), columns.reshape(self._n, -1).T.copy()
        is_open = np.isnan(lengths)[self.closures.owners]
        miss[is_open], slope[is_open] = 0.0, 0.0
        return miss, slope

    def _iterate_damped(
        self, z: Array, free: Sequence[int], lengths: Array
    ) -> tuple[Array, float]:
        """Return the result of damped least-squares steps, and the largest residual."""

        def evaluate(z: Array) -> tuple[Array, Array]:
            miss, slope = self._evaluate_rows(self._cayley, z, lengths)
            return miss, slope[:, free]

        if free:
            z = iterate_damped(evaluate, z, free)
        return z, self._measure_gap(z, lengths)

    def _measure_gap(self, z: Array, lengths: Array) -> float:
        with np.errstate(over='ignore', invalid='ignore'):  # residuals may overflow
            miss, _ = self._evaluate_rows(self._stated, z, lengths)
            gap = float(np.abs(miss).max(initial=0.0))
        return gap if math.isfinite(gap) else math.inf

    def _rod_length(self, z: Array, loop_index: int) -> float:
        # (d^2 - 1) / 2 is the row of a rod of length 1.
        row, loop = self.closures.owners.index(loop_index), self._system.paths[loop_index].loop
        miss = float(self._stated(z, np.ones(len(self._system.paths)))[0][row])
        length = math.sqrt(max(2.0 * miss + 1.0, 0.0))
        if length < 1e-6:
            raise TransmissionError(
                f'loop {loop}: its frames coincide at the start',
                expected="a length, or type='point'",
                found=f'{length:g} m',
                at=loop.at,
            )
        return length

    def _open_loop_error(
        self, gap: float, z: Array, lengths: Array, first: Array
    ) -> TransmissionError:
        """
        Name the loop that is open widest before any iteration, which may shift the gap.

        :param gap: The smallest residual that was found, at ``z``, by a search with other rows.
        """
        rows = partial(self._evaluate_rows, self._stated, lengths=lengths)
        gap = min(gap, self._measure_gap(iterate_damped(rows, z, range(self._n)), lengths))
        miss = np.nan_to_num(np.abs(self._evaluate_rows(self._stated, first, lengths)[0]))
        loop = self._system.paths[self.closures.owners[int(np.argmax(miss))]].loop
        size = f'{miss.max():.3g} (m or rad) at the start of the search'
        if gap < miss.max():  # it may diverge
            size += f', {gap:.3g} at best of {sum(TRIES)} starts'
        advice = 'its frames and all <origin>s between them, or add a <start> near the assembly'
        if gap <= self._system.tolerance:
            advice = 'the orientation of its frames: it closes only if a part is turned over'
        elif gap < LARGEST_TOLERANCE:
            closing = 10.0 ** math.ceil(math.log10(5.0 * gap))
            advice = (
                f'the digits of the URDF: redundant equations contradict by {gap:.1g}, '
                f'<param name="tolerance">{closing:g}</param> closes them'
            )
        axis = self.closures.hinge_axes(first).get(loop)
        if axis is not None:
            size += f'; {axis}'
            if 'turn about' in axis:
                advice = 'the axis of this hinge'
        return TransmissionError(
            f'the linkage does not close: loop {loop} stays open; check {advice}',
            expected=f'a gap below {self._system.tolerance:g}',
            found=size,
            at=loop.at,
        )

    def search_assemblies(self, start: Array, lengths: Array) -> Iterator[Array]:
        """Yield assemblies within the limits from random positions, possibly the start."""
        random, free = np.random.default_rng(2), self._system.unknown
        for _ in range(RIVALS):
            z = self._draw_joints(random, start, free)
            z, gap = self._iterate_damped(z, free, lengths)
            z = self._unwind(z, start)
            if self._is_assembly(z, gap) and not self._system.list_outside(z):
                yield z

    def search_nearby(self, start: Array, lengths: Array) -> list[Array]:
        """Return closed positions near the start, the start first."""
        positions = [start]
        random = np.random.default_rng(1)
        driven, free = list(self._system.driven), self._system.unknown
        for distance in DISTANCES:
            for _ in range(NEARBY):
                z = start.copy()
                z[driven] += random.uniform(-distance, distance, len(driven))
                z[free] += random.uniform(-1e-3, 1e-3, len(free))
                z, gap = self._iterate_damped(z, free, lengths)
                is_near = np.abs(z - start).max() < 30.0 * distance
                if is_near and self._is_assembly(z, gap):
                    positions.append(z)
            if len(positions) > NEARBY // 2:
                break
        return positions

    def _is_assembly(self, z: Array, gap: float) -> bool:
        return gap <= max(self._system.tolerance, CLOSED) and self._is_upright(z)


# -- the structure -------------------------------------------------------------------------------


def compute_rank_share(tolerance: float) -> float:
    """Return the share of the largest singular value below which a singular value is zero."""
    return max(RANK, RANK_OF_TOLERANCE * tolerance)


@dataclass(frozen=True)
class LinkageStructure(LoopSystem):
    """
    The properties of a linkage at its start and nearby.

    :param balls: Indices of the joints of balls at the ends of links between two balls.
    :param start: The assembly, shape ``(n,)``.
    :param lengths: Lengths of the loops, zero except for rods.
    :param closures: The rows, with the start as reference.
    :param slopes: Derivatives of the rows by all joints, shape ``(positions, rows, joints)``, at
        the described start and closed positions nearby. The start may be singular, the others are
        not.
    :param kept: Independent rows that are solved.
    :param held: Indices of joints that stay at the start, one for each idle freedom.
    :param idle: Indices of all joints that an idle freedom moves.
    :param rank: Number of independent equations for the joints that are not driven.
    :param gap: Largest residual of a row at the start.
    :param search: The search for assemblies, with compiled rows.
    """

    balls: frozenset[int]
    start: Array
    lengths: Array
    closures: LinkageClosures
    slopes: Array
    kept: tuple[int, ...]
    held: tuple[int, ...]
    idle: tuple[int, ...]
    rank: int
    gap: float
    search: AssemblySearch

    @classmethod
    def from_loops(cls, system: LoopSystem) -> LinkageStructure:
        """
        Close a linkage and determine its properties.

        :raises TransmissionError: If it does not close, or a driven joint is blocked.
        """
        search = AssemblySearch(system)
        start, lengths, gap = search.close_linkage()
        rods = {}
        for index, path in enumerate(system.paths):
            others = [other.variables for other in system.paths if other is not path]
            alone = path.variables.difference(system.driven, system.commanded, *others)
            rod = find_rod(path, alone)
            # A short link has no direction.
            if rod and np.linalg.norm(search.closures.evaluate_link(rod, start)) > SHORTEST:
                rods[index] = rod
        closures = LinkageClosures(system.paths, rods, start)
        nearby = search.search_nearby(start, lengths)
        slopes = np.stack([closures.function(z, lengths)[1].full() for z in nearby])
        # A link that spins between balls is held at the ball of its direction, so the far ball is
        # solved independently.
        near = {joint for rod in rods.values() for joint in rod.balls[: rod.one.size]}
        unknown = np.array(system.unknown, dtype=int)
        weights = np.array([1.0 if index in near else 0.3 for index in unknown])
        share = compute_rank_share(system.tolerance)
        rank, held, idle = _compute_freedoms(slopes[:, :, unknown], weights, share)
        kept = _select_rows(slopes[:, :, np.delete(unknown, held)], closures.distances, rank)
        return cls(
            **vars(system),
            balls=frozenset(ball for rod in rods.values() for ball in rod.balls),
            start=start,
            lengths=lengths,
            closures=closures,
            slopes=slopes,
            kept=kept,
            held=tuple(unknown[held].tolist()),
            idle=tuple(unknown[idle].tolist()),
            rank=rank,
            gap=gap,
            search=search,
        )

    def make_mechanism(self, is_forward: bool) -> Mechanism:
        """
        Return one direction of the linkage.

        A block of rows has two solutions, one on each side, if it is a single row, which is linear
        in sine and cosine of its joint, or a loop in a plane.
        """
        closures = self.closures

        def is_simple(rows: list[int], columns: list[int]) -> bool:
            paths = [self.paths[loop] for loop in {closures.owners[row] for row in rows}]
            moved = [[motion.variable for motion in path.motions] for path in paths]
            is_flat = len(paths) == 1 and paths[0].is_planar
            most = max(joints.count(column) for joints in moved for column in columns)
            return most == 1 and (len(rows) == 1 or is_flat)

        given, wanted = (self.driven, self.commanded)[:: 1 if is_forward else -1]
        return Mechanism(
            names=self.names,
            given=given,
            wanted=wanted,
            rows=closures.function,
            signs=closures.signs,
            kept=self.kept,
            checked=tuple(k for k in range(closures.rows.numel()) if k not in self.kept),
            held=self.held,
            make_bend=lambda: closures.bend_function,
            pose=self.start,
            p=self.lengths,
            has_sizes=False,
            ball_angles=self.balls,
            winding=self.winding,
            is_unique=is_simple,
            tolerance=self.tolerance,
            what='the driven joints' if is_forward else 'the commanded joints',
        )

    def search_rival(self) -> list[tuple[int, float]]:
        """
        Search another assembly within the limits, with the driven joints at their start.

        The search is random and can miss assemblies. Return the determined joints without a hint
        that differ, with their other positions, in order of decreasing difference.
        """
        loose = {*self.driven, *self.idle, *self.balls, *self.hints}
        sought = [joint for joint in range(len(self.names)) if joint not in loose]
        for z in self.search.search_assemblies(self.start, self.lengths) if sought else ():
            apart = np.abs(z - self.start)
            # An assembly with another position of a joint with a hint is not intended.
            if apart[sought].max() > MEANT and not (apart[list(self.hints)] > MEANT).any():
                joints = sorted(sought, key=lambda joint: -apart[joint])
                return [(joint, float(z[joint])) for joint in joints if apart[joint] > MEANT]
        return []

    def require_movable(self) -> None:
        """
        Check that the joints that are not driven can satisfy all independent equations.

        :raises TransmissionError: If they block the driven joints.
        """
        slope = self.closures.function(self.start, self.lengths)[1].full()
        values = np.linalg.svd(slope, compute_uv=False)
        rank = int((values > compute_rank_share(self.tolerance) * values.max(initial=0.0)).sum())
        if rank > self.rank:
            raise self.blocked_error(
                self.driven,
                f'the other joints can satisfy {self.rank} of {rank} independent equations',
            )

    def blocked_error(self, driven: Sequence[int], reason: str) -> TransmissionError:
        """Return the error for driven joints that cannot move."""
        names = ', '.join(self.names[k] for k in driven)
        hinges = self.closures.hinge_axes(self.start)
        return TransmissionError(
            f'the loops block the driven joints {names}: {reason}',
            expected="no more equations than they can satisfy; check for a 'weld' instead of a "
            "'hinge' or a 'point', a wrong axis, a missing joint, or a <start> at a dead centre",
            found=', '.join(hinges.get(path.loop, str(path.loop)) for path in self.paths),
        )

    def with_lengths(self, lengths: Sequence[float]) -> LinkageStructure:
        """
        Return the linkage with rods of other lengths, and its driven joints at the start.

        :raises TransmissionError: If a length is not positive, or it does not close with them.
        """
        rods = [path.loop.type == 'rod' for path in self.paths]
        new = np.where(rods, np.asarray(lengths, dtype=np.float64), self.lengths)
        if not (new[rods] > 0.0).all():
            raise TransmissionError('the length of a rod is not positive', expected='above zero')
        free = [k for k in self.unknown if k not in self.held]
        z, gap = self.start.copy(), math.inf
        for share in np.linspace(0.0, 1.0, LENGTHENINGS + 1)[1:]:
            now = self.lengths + share * (new - self.lengths)
            for _ in range(LENGTHENINGS):
                miss, jacobian = (each.full() for each in self.closures.function(z, now))
                gap = float(np.abs(miss).max(initial=0.0))
                if not gap > CLOSED:
                    break
                z[free] -= np.linalg.lstsq(jacobian[:, free], miss[:, 0], rcond=RANK)[0]
        if not gap <= max(self.tolerance, CLOSED):
            raise TransmissionError(
                'the linkage does not close with these lengths and its driven joints at the start',
                expected=f'a gap below {self.tolerance:g}',
                found=f'{gap:.3g} (m or rad)',
            )
        return replace(self, start=z, lengths=new, gap=gap)


def _compute_freedoms(
    slopes: Array, weights: Array, share: float
) -> tuple[int, list[int], list[int]]:
    """
    Return the rank, the joints to hold, and all joints that move while the driven joints stand.

    :param slopes: Derivatives of rows at several positions, shape ``(positions, rows, joints)``.
    :param weights: Joints of larger weight are held first.
    :param share: Share of the largest singular value below which a singular value is zero.
    """
    if not len(weights):
        return 0, [], []
    _, values, right = np.linalg.svd(slopes)
    ranks = (values > share * values[:, :1]).sum(axis=1)
    rank = int(ranks.max())
    null = right[ranks == rank, rank:]
    moves = (null.swapaxes(1, 2) @ null).mean(axis=0)
    rest = weights[:, np.newaxis] * moves * weights
    held: list[int] = []
    for _ in range(len(weights) - rank):
        diagonal = np.diag(rest).copy()
        diagonal[held] = -1.0
        pivot = _index_of_largest(diagonal)
        held.append(pivot)
        column = rest[:, pivot] / math.sqrt(max(rest[pivot, pivot], 1e-300))
        rest = rest - np.outer(column, column)
    return rank, sorted(held), np.flatnonzero(np.diag(moves) > DETERMINED).tolist()


def _index_of_largest(values: Array) -> int:
    """Return the first index of a value that equals the largest one up to rounding."""
    largest = values.max()
    return int(np.argmax(values >= largest - 1e-6 * abs(largest)))


def _select_rows(slopes: Array, first: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return independent rows, preferably distances; shape ``(positions, rows, joints)``."""
    kept: list[int] = []
    for _ in range(rank):
        norms = np.linalg.norm(slopes, axis=2)
        sizes = norms.min(axis=0) if norms.min(axis=0).any() else norms.max(axis=0)
        sizes[kept] = -1.0
        preferred = [row for row in first if sizes[row] > 1e-4]
        pivot = preferred[0] if preferred else _index_of_largest(sizes)
        kept.append(pivot)
        norm = norms[:, [pivot]]
        unit = np.where(norm > 1e-12, slopes[:, pivot] / np.maximum(norm, 1e-300), 0.0)
        slopes = slopes - (slopes @ unit[:, :, np.newaxis]) * unit[:, np.newaxis, :]
    return tuple(sorted(kept))
