# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A part of a linkage in a stream.

The robot's compiled function answers what is near the last sample; what it leaves open is followed
closely. Both begin at the same array, the state of a :class:`~.way.Way`, which is theirs in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
import math
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.equations import all_of, is_known, known_if, Sample
from transmission_bridge.transmissions.linkage.way import CALLS, Way
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.linkage.component import Component

__all__ = ['Ends', 'LivePart', 'PartSample', 'PartStream']

Expression: TypeAlias = Any

#: How many calls a sample may take beside those from the last solution: many, unless there was no
#: answer to some samples in a row; then many every so often, and farther than this from the last
#: place where many were spent [rad or m].
MOST_CALLS, FEW_CALLS, PATIENCE, REST, ELSEWHERE = 168, 24, 8, 16, 0.02

#: After this many samples in a row without an answer the last solution is forgotten.
OUTDATED = 250

#: Two solutions for one position are the same if joints differ by less [rad or m].
SAME = 1e-6


class Ends:
    """
    What a part takes and gives in one direction.

    :param way: The direction.
    :param is_forward: Whether from the actuators to the joints.
    :param published: Places of joints that are given forward behind the commanded ones.
    """

    def __init__(self, way: Way, is_forward: bool, published: Sequence[int]) -> None:
        self.way, self.is_forward = way, is_forward
        #: Places of the joints that are given, the wanted ones first.
        self.places = [*way.wanted, *(published if is_forward else ())]
        known = [*way.unknown, *way.given, *way.structure.held]
        #: The same among what a way has found: unknown, given and held joints.
        self.take = [known.index(place) for place in self.places]
        #: Their efforts among those of the wanted joints, of the given ones, and none: behind the
        #: wanted ones, a driven joint has that of its motor, a passive one has none.
        n = len(way.wanted)
        self.pushed = [
            *range(n),
            *(n + way.given.index(k) if k in way.given else 2 * n for k in self.places[n:]),
        ]

    def inward(self, scale: Any, offset: Any, position: Any, rate: Any, effort: Any) -> Any:
        """Return position, rate and effort of the given joints, from those of their actuators."""
        if not self.is_forward:
            return position, rate, effort
        return position / scale + offset, rate / scale, effort * scale

    def outward(self, scale: Any, offset: Any, position: Any, rate: Any, effort: Any) -> Any:
        """Return position, rate and effort of what is mapped to, actuators on the way back."""
        if self.is_forward:
            return position, rate, effort
        return (position - offset) * scale, rate * scale, effort / scale


class LivePart(NamedTuple):
    """
    A part of a transmission that moves by itself, in one direction.

    :param sample: What the robot's function makes of it.
    :param along: Whether from the actuators to the joints.
    :param numbers: The numbers of ``sample``.
    :param inputs: Places of its inputs among those of the transmission.
    :param outputs: Places of its outputs.
    :param stream: What follows it closely.
    """

    sample: PartSample
    along: bool
    numbers: tuple[float, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    stream: PartStream


class PartSample:
    """
    One sample of a part, in both directions, as the robot's function takes it.

    The numbers are reductions and offsets of the actuators, both ends of the range of the driven
    joints, the sizes that derivatives and their inverse may have, the held joints, and the lengths
    of the loops.

    :param forward: From the actuators to the joints.
    :param back: From the joints to the actuators.
    """

    #: What was outside or not found leaves the last solution, from which the way may lead back;
    #: velocities and efforts of commands have solutions of their own.
    keeps_starts = True

    def __init__(self, forward: Ends, back: Ends) -> None:
        self._ends = {True: forward, False: back}
        self._samples: dict[bool, Any] = {}

    def ends(self, along: bool) -> Ends:
        """Return what is taken and given in a direction."""
        return self._ends[along]

    def starts(self, along: bool) -> int:
        """Return how many numbers the start of a sample has: the state of a way."""
        return int(self._ends[along].way.state.size)

    def sample(self, along: bool) -> Any:
        """Return a function that gives a :class:`~..equations.Sample`, as of an equation."""
        if along not in self._samples:
            self._samples[along] = _sample(self._ends[along])
        return self._samples[along]


def _sample(ends: Ends) -> Any:
    way, is_forward = ends.way, ends.is_forward
    function = way.function
    kind: Any = ca.SX if function.is_a('SXFunction') else ca.MX
    r, n, n_held, n_loops = way.counts
    x, v, tau = (kind.sym(name, n) for name in ('position', 'velocity', 'effort'))
    start = kind.sym('start', way.state.size)
    numbers = kind.sym('numbers', 4 * n + 2 + n_held + n_loops)
    counts = np.cumsum([0, n, n, n, n, 1, 1, n_held, n_loops]).tolist()
    scale, offset, lower, upper, most, most_inverse, held, lengths = (
        numbers[low:high] for low, high in pairwise(counts)
    )
    at, rate, force = ends.inward(scale, offset, x, v, tau)
    following, rates, efforts, gains, said = function(at, rate, force, start, held, lengths)
    core, side, polished, exact, *balls = ca.vertsplit(said)
    found = ca.vertcat(following[: r + n], held)[ends.take]
    moving = ca.vertcat(rates, rate, kind.zeros(n_held, 1))[ends.take]
    pushed = ca.vertcat(efforts, force, 0.0)[ends.pushed]
    found, moving, pushed = ends.outward(scale, offset, found, moving, pushed)
    if not is_forward:
        most, most_inverse = most_inverse, most
    driven = at if is_forward else ca.vertcat(following[: r + n], held)[ends.take]
    inside = all_of(ca.logic_and(driven[k] >= lower[k], driven[k] <= upper[k]) for k in range(n))
    answered = all_of((core, side, *(ball >= 1.0 for ball in balls)))
    placed = all_of((polished, exact, *(ball >= 2.0 for ball in balls)))
    # Not larger than, as the comparison with NaN is false.
    is_long, is_short = (
        ca.logic_not(size <= largest)
        for size, largest in ((gains[0], most), (gains[1], most_inverse))
    )
    sample = Sample(
        value=found,
        rate=known_if(ca.logic_not(is_long), moving),
        effort=known_if(ca.logic_not(is_short), pushed),
        is_known=all_of(is_known(x[k]) for k in range(n)),
        is_inside=inside if is_forward else kind(1.0),
        rate_is_lost=is_long,
        effort_is_lost=is_short,
        is_fine=all_of((answered, placed, inside)),
        is_nearing=answered,
        following=following,
    )
    return ca.Function('sample', [x, v, tau, start, numbers], list(sample))


class _Patience:
    """
    Whether many calls are worth it: not each time where they led nowhere for long.

    :ivar failed: How many times in a row they did not.
    """

    def __init__(self, n: int) -> None:
        self.failed = 0
        self._last = np.full(n, math.inf)

    def is_worth_it(self, at: Array) -> bool:
        """Return whether to spend them at a place."""
        apart = np.abs(at - self._last)
        result = self.failed < PATIENCE or self.failed % REST == 0 or apart.max() > ELSEWHERE
        if result:
            self._last[:] = at
        return bool(result)

    def note(self, has_failed: bool) -> None:
        """Take notice of what they have led to."""
        self.failed = self.failed + 1 if has_failed else 0


class PartStream:
    """
    One direction of a part, followed closely: the way is halved, or begins anew at the table.

    Not to be shared between threads.

    :param component: The part.
    :param ends: What is taken and given.
    :param numbers: Those of :class:`PartSample`, by which the same is said.
    """

    def __init__(self, component: Component, ends: Ends, numbers: Sequence[float]) -> None:
        self._component, self._ends = component, ends
        # The ends are shared with the same part of other lengths.
        self._way = ends.way.moved(component.structure)
        n = len(self._way.given)
        self._scale, self._offset, self._lower, self._upper = np.reshape(numbers[: 4 * n], (4, n))
        self._most, self._most_inverse = numbers[4 * n : 4 * n + 2]
        #: What the table gives is held against the last solution, but for angles of balls.
        self._other = self._way.fresh()
        structure, unknown = component.structure, self._way.unknown
        self._tells = [k for k, place in enumerate(unknown) if place not in structure.balls]
        first = len(unknown)
        self._core = [*self._tells, *range(first, first + n)]
        self._turns = np.array([unknown[k] not in structure.slides for k in self._tells], bool)
        #: For answers, and for angles of balls.
        self._answers, self._balls = _Patience(n), _Patience(n)

    def map_state(self, rows: Array, start: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity and effort that belong together.

        :param rows: Shape ``(3, n)``.
        :param start: The state to begin at, NaN where there is none; that of the solution
            afterwards, if there is one.
        :returns: Shape ``(3, n_places)``, NaN where there is no answer.
        """
        return self._mapped(rows, rows[0], start, report)

    def map_command(
        self, rows: Array, places: Sequence[Array], start: Array, report: MapReport
    ) -> Array:
        """
        Map rows that are commanded, NaN where they are not.

        :param places: Positions at which each row is mapped.
        :param start: Two states, that of positions and velocities and that of efforts.
        """
        moved, pushed = np.split(start, 2)
        result = np.full((3, len(self._ends.places)), math.nan)
        if not np.isnan(rows[:2]).all():
            result[:2] = self._mapped(rows, places[0], moved, report)[:2]
        if not np.isnan(rows[2]).all():
            result[2] = self._mapped(rows, places[2], pushed, report)[2]
        # A measured position is where a velocity is mapped, and no command.
        if np.isnan(rows[0]).any():
            result[0] = math.nan
        return result

    def _mapped(self, rows: Array, place: Array, start: Array, report: MapReport) -> Array:
        way, ends = self._way, self._ends
        result = np.full((3, len(ends.places)), math.nan)
        if not np.isfinite(place).all():
            return result
        given = ends.inward(self._scale, self._offset, place, rows[1], rows[2])
        at, way.velocity[:], way.force[:] = given
        reason = self._found(at, start)
        if reason:
            report.count(reason)
            return result
        start[:] = way.state
        z, slope = way.joints(), way.slope()
        slope[way.lost] = math.nan
        efforts = np.concatenate([way.effort, way.force, [0.0]])[ends.pushed]
        moving = slope[ends.places] @ way.velocity
        result[:] = ends.outward(self._scale, self._offset, z[ends.places], moving, efforts)
        size, inverse = way.gains.tolist()
        most, most_inverse = self._most, self._most_inverse
        if not ends.is_forward:
            most, most_inverse = most_inverse, most
        is_long, is_short = not size <= most, not inverse <= most_inverse
        if is_long:
            result[1] = math.nan
        if is_short:
            result[2] = math.nan
        if is_long or is_short:
            report.count('singular')
        return result

    def _found(self, at: Array, start: Array) -> str:
        """Return why there is no answer, or nothing and the way is there."""
        way = self._way
        if self._ends.is_forward and not self._is_inside(at):
            return 'domain'
        # Out of reach for long, a sample costs little; what is near the table is found.
        is_searched = self._answers.is_worth_it(at)
        reason, has_start = 'no_convergence', bool(np.isfinite(start[self._core]).all())
        if has_start:
            way.state[:] = start
            # The same of a ball that is locked for long.
            calls = CALLS if is_searched else FEW_CALLS
            reason = way.follow(at, calls, seeks_balls=self._balls.is_worth_it(at))
        if reason:
            reason = self._component.solve(way, at, MOST_CALLS if is_searched else FEW_CALLS)
            if not reason and has_start and self._is_elsewhere(start):
                reason = 'branch'
        if not reason and not self._is_inside(way.joints()[list(way.structure.driven)]):
            reason = 'domain'
        self._answers.note(bool(reason))
        self._balls.note(bool(way.lost))
        if self._answers.failed > OUTDATED:
            start[:] = math.nan
        return reason

    def _is_elsewhere(self, start: Array) -> bool:
        """
        Whether what the table gave leads back to the position of the last solution and not to it.

        Some linkages have several assemblies of one side, between which a way around leads.
        """
        way, other = self._way, self._other
        other.state[:] = way.state
        r, n = len(way.unknown), len(way.given)
        if other.follow(start[r : r + n]):
            return False
        apart = (other.state[:r] - start[:r])[self._tells]
        turns = np.where(self._turns, np.round(apart / math.tau), 0.0)
        return bool(np.abs(apart - turns * math.tau).max(initial=0.0) > SAME)

    def _is_inside(self, driven: Array) -> bool:
        return bool(((driven >= self._lower) & (driven <= self._upper)).all())
