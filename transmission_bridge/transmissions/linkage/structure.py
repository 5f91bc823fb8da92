# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linkage closed at its start: determined joints, and the rows and joints that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.linkage.assembly_search import (
    AssemblySearch,
    CLOSED,
    LoopSystem,
)
from transmission_bridge.transmissions.linkage.closures import Closures, find_rod, Rod
from transmission_bridge.transmissions.mechanism.block_system import Mechanism
from transmission_bridge.types import Array

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


def share_of_rank(tolerance: float) -> float:
    """Return the share of the largest singular value below which a singular value is zero."""
    return max(RANK, RANK_OF_TOLERANCE * tolerance)


@dataclass(frozen=True)
class Structure(LoopSystem):
    """
    The properties of a linkage at its start and nearby.

    :param rods: The link between two balls in a loop, by index of the loop.
    :param start: The assembly, shape ``(n,)``.
    :param lengths: Lengths of the loops, zero except for rods.
    :param closures: The rows, with the start as reference.
    :param kept: Independent rows that are solved.
    :param held: Indices of joints that stay at the start, one for each idle freedom.
    :param idle: Indices of all joints that an idle freedom moves.
    :param rank: Number of independent equations for the joints that are not driven.
    :param gap: Largest residual of a row at the start.
    :param search: The search for assemblies, with compiled rows.
    """

    rods: dict[int, Rod]
    start: Array
    lengths: Array
    closures: Closures
    kept: tuple[int, ...]
    held: tuple[int, ...]
    idle: tuple[int, ...]
    rank: int
    gap: float
    search: AssemblySearch

    @property
    def balls(self) -> frozenset[int]:
        """Indices of the joints of balls at the ends of rods."""
        return frozenset(ball for rod in self.rods.values() for ball in rod.balls)

    @classmethod
    def from_loops(cls, system: LoopSystem) -> Structure:
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
        closures = Closures(system.paths, rods, start)
        nearby = search.search_nearby(start, lengths)
        slopes = np.stack([closures.function(z, lengths)[1].full() for z in nearby])
        # A link that spins between balls is held at the ball of its direction, so the far ball is
        # solved independently.
        near = {joint for rod in rods.values() for joint in rod.balls[: rod.one.size]}
        unknown = np.array(system.unknown, dtype=int)
        weights = np.array([1.0 if index in near else 0.3 for index in unknown])
        share = share_of_rank(system.tolerance)
        rank, held, idle = _compute_freedoms(slopes[:, :, unknown], weights, share)
        kept = _select_rows(slopes[:, :, np.delete(unknown, held)], closures.distances, rank)
        return cls(
            **vars(system),
            rods=rods,
            start=start,
            lengths=lengths,
            closures=closures,
            kept=kept,
            held=tuple(unknown[held].tolist()),
            idle=tuple(unknown[idle].tolist()),
            rank=rank,
            gap=gap,
            search=search,
        )

    def compute_slopes(self) -> Array:
        """
        Return the derivatives of the rows by all joints, at the start and closed positions nearby.

        The start may be singular, the others are not.

        :returns: Shape ``(positions, rows, joints)``.
        """
        nearby = self.search.search_nearby(self.start, self.lengths)
        return np.stack([self.closures.function(z, self.lengths)[1].full() for z in nearby])

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
            size=np.ones(len(self.names)),
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
        rank = int((values > share_of_rank(self.tolerance) * values.max(initial=0.0)).sum())
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

    def with_lengths(self, lengths: Sequence[float]) -> Structure:
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
