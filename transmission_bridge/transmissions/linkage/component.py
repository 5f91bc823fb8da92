# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linkage, or the part of one that moves by itself: both directions and where they begin."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
import math
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import in_other_unit, TransmissionError
from transmission_bridge.transmissions.linkage.live import Ends, PartSample
from transmission_bridge.transmissions.linkage.structure import (
    rows_function,
    share_of_rank,
    Structure,
)
from transmission_bridge.transmissions.linkage.tree import (
    DRIVEN,
    Loop,
    LoopPath,
    names_in_order,
    Tree,
)
from transmission_bridge.transmissions.linkage.way import Way
from transmission_bridge.types import Array

__all__ = ['Component', 'LinkageSpec', 'components_of']

#: Points of the table of starts along each driven joint, by the number of these.
POINTS = {1: 33, 2: 13, 3: 7}

#: The table grows towards as many random positions where there is no grid, or less than this share
#: of it was reached.
GROWTH, ENOUGH = 150, 0.2

#: How many calls the way to a position of the table takes.
TABLE_CALLS = 16

#: Range about the start [rad or m] of a driven joint that turns on and on, or has no limits.
TURNING, SLIDING = math.pi, 0.5

#: How far positions beyond the limits are mapped, as a share of the range.
BEYOND = 0.05

#: How many starts are tried for one sample, and how many calls each of them and the start take.
STARTS, SHORT_WAY, LONG_WAY = 4, 64, 96

#: How many calls a sample may take altogether.
MOST_CALLS = 1200

#: The table reaches this far at least [rad or m].
NARROW = 0.1

#: A driven joint that moves by less than this share of its range is held.
MOVED = 1e-3

#: Steps of the driven joints where the straight way back does not lead there, and the longest.
DRIVEN_STEPS, LONGEST = 40, 0.2

#: Where the way ends at this many times the slope of the start, there is a dead centre.
DEAD_CENTRE = 4.0


@dataclass(frozen=True)
class LinkageSpec:
    """
    What a description says of a linkage.

    :param loops: Its loops.
    :param driven: Joints that the motors turn, in the order of the actuators.
    :param commanded: Joints that are commanded.
    :param start: Positions near the assembly, by joint.
    :param tolerance: Largest residual of redundant rows.
    """

    loops: tuple[Loop, ...]
    driven: tuple[str, ...]
    commanded: tuple[str, ...]
    start: tuple[tuple[str, float], ...] = ()
    tolerance: float = 1e-9


class Component:
    """
    A part of a linkage that moves by itself, in both directions.

    Immutable but for what CasADi made; live streams and batches take a memory of their own by
    :meth:`way`.

    :param structure: The part.
    :param commanded: Places of its commanded joints.
    :param limits: Of each joint, infinite where it has none.
    :param tolerance: Largest residual of redundant rows.
    :param hints: Positions of joints in the description, by place.
    :param loops: Places of its loops among those of the linkage.
    :raises TransmissionError: If it has another number of commanded joints than driven ones,
        or one of these is not determined.
    """

    def __init__(
        self,
        structure: Structure,
        commanded: Sequence[int],
        limits: Sequence[tuple[float, float]],
        turning: frozenset[int],
        tolerance: float,
        hints: dict[int, float],
        loops: Sequence[int],
    ) -> None:
        self.structure, self.commanded, self.loops = structure, tuple(commanded), tuple(loops)
        self._tolerance = tolerance
        self._rival = partial(structure.rival, hints, structure.slides, limits, tolerance)
        names = structure.names
        if len(commanded) != len(structure.driven):
            raise TransmissionError(
                'a part of the linkage has another number of commanded joints than driven ones',
                expected=f'{len(structure.driven)} commanded joints for the driven '
                + ', '.join(names[k] for k in structure.driven),
                found=', '.join(names[k] for k in commanded) or 'none',
            )
        loose = [names[k] for k in commanded if k in structure.idle]
        if loose:
            raise TransmissionError(
                f"the driven joints leave joint '{loose[0]}' undetermined",
                expected='a joint that no idle freedom moves; is a loop or a motor missing?',
                found='idle: ' + ', '.join(names[k] for k in structure.idle),
            )
        given = (structure.driven, self.commanded), (self.commanded, structure.driven)
        #: Forward with all angles of balls, forward without, and the way back without.
        self._ways = (
            Way(structure, *given[0], tolerance, 'the driven joints'),
            Way(structure, *given[0], tolerance, 'the driven joints', with_balls=False),
            Way(structure, *given[1], tolerance, 'the commanded joints', with_balls=False),
        )
        self._require_regular()
        self._samples: dict[tuple[bool, tuple[int, ...]], PartSample] = {}
        self.limits = tuple(limits)
        self.lower, self.upper = self._range(limits, turning)

    def _require_regular(self) -> None:
        structure = self.structure
        self._refuse_held()
        for way in self._ways:
            if not way.begin(structure.start):
                raise TransmissionError(
                    f'at its start the linkage is singular as seen from {way.what}',
                    expected='<start> away from dead centres and from special positions',
                    found=', '.join(
                        f'{name} {value:.4g}'
                        for name, value in zip(structure.names, structure.start, strict=True)
                    ),
                )

    def with_lengths(self, lengths: Sequence[float]) -> Component:
        """
        Return the same part with rods of other lengths, for which nothing is compiled.

        :raises TransmissionError: If it does not close with them.
        """
        if list(lengths) == self.structure.lengths.tolist():
            return self
        other = copy(self)
        other.structure = self.structure.with_lengths(lengths, self._tolerance)
        a, b, c = (way.moved(other.structure) for way in self._ways)
        other._ways = a, b, c
        vars(other).pop('seeds', None)
        other._require_regular()
        return other

    def _range(
        self, limits: Sequence[tuple[float, float]], turning: frozenset[int]
    ) -> tuple[Array, Array]:
        """Return the range of the driven joints that is mapped; the start is in it."""
        ends = []
        for place in self.structure.driven:
            at, (low, high) = float(self.structure.start[place]), limits[place]
            width = TURNING if place in turning else SLIDING
            if not (math.isfinite(low + high) and low < high):
                low, high = at - width, at + width
            low, high = min(low, at - 0.01 * width), max(high, at + 0.01 * width)
            ends.append((low - BEYOND * (high - low), high + BEYOND * (high - low)))
        lower, upper = np.array(ends).T
        return lower, upper

    def _refuse_held(self) -> None:
        """
        Refuse loops that no motion of the driven joints can meet.

        :raises TransmissionError: If there are more independent equations than the joints that are
            not driven can meet.
        """
        structure = self.structure
        rows = rows_function(structure.closures, structure.closures.rows)
        jacobian = np.asarray(rows(structure.start, structure.lengths)[1].full())
        values = np.linalg.svd(jacobian, compute_uv=False)
        rank = int((values > share_of_rank(self._tolerance) * values.max(initial=0.0)).sum())
        if rank > structure.rank:
            raise self._held(
                structure.driven,
                f'of {rank} independent equations the other joints can meet {structure.rank}',
            )

    def _held(self, driven: Sequence[int], reason: str) -> TransmissionError:
        names = ', '.join(self.structure.names[k] for k in driven)
        return TransmissionError(
            f'the loops hold the driven joints {names}: {reason}',
            expected="no more equations than they can meet; is a 'weld' meant to be a 'hinge' or "
            "a 'point', is an axis another one, a joint missing, or the <start> a dead centre?",
            found=', '.join(str(path.loop) for path in self.structure.paths),
        )

    def rival(self) -> tuple[int, float] | None:
        """Return a joint that another assembly has elsewhere, and where, if one is found."""
        return self._rival()

    def way(self, is_forward: bool, with_balls: bool = True) -> Way:
        """
        Return a direction with a memory of its own.

        :param with_balls: Whether forward the angles of balls are asked for that nobody commands.
        """
        return self._ways[(0 if with_balls else 1) if is_forward else 2].fresh()

    def sample(self, with_balls: bool, published: tuple[int, ...]) -> PartSample:
        """
        Return one sample as the robot's function takes it, made once.

        :param with_balls: Whether forward the angles of balls are asked for that nobody commands.
        :param published: Places of joints that are given forward beside the commanded ones.
        """
        key = with_balls, published
        if key not in self._samples:
            forward, back = self._ways[0 if with_balls else 1], self._ways[2]
            self._samples[key] = PartSample(
                Ends(forward, True, published), Ends(back, False, published)
            )
        return self._samples[key]

    # -- a fixed table of positions --------------------------------------------------------------

    @cached_property
    def seeds(self) -> tuple[tuple[Array, Array], ...]:
        """
        Positions of the given joints and the states of a way there, of each way.

        They are reached from the start on straight ways from point to point of a grid.

        :raises TransmissionError: If a driven joint is where it starts in all of them.
        """
        positions = self._reached()
        driven = list(self.structure.driven)
        moved = np.ptp(np.array(positions)[:, driven], axis=0) / (self.upper - self.lower)
        if (moved < MOVED).any():
            # Equations that depend on each other at the start may be independent elsewhere.
            held = [place for place, share in zip(driven, moved, strict=True) if share < MOVED]
            raise self._held(held, 'no position away from the start closes them')
        ways = [way.fresh() for way in self._ways]
        states: list[list[Array]] = [[] for _ in ways]
        for may_lose in (False, True):
            for z in positions:
                if all(way.begin(z) and (may_lose or not way.lost) for way in ways):
                    for way, found in zip(ways, states, strict=True):
                        found.append(way.state.copy())
            if states[0]:
                break
        tables = []
        for way, found in zip(ways, states, strict=True):
            table, first = np.array(found), len(way.unknown)
            tables.append((table[:, first : first + len(way.given)].copy(), table))
        return tuple(tables)

    def _reached(self) -> list[Array]:
        """Return positions of all joints: those of a grid, and more where these are few."""
        n = len(self.structure.driven)
        found: list[Array] = []
        if n in POINTS:
            found = self._on_grid(POINTS[n])
        found.insert(0, self.structure.start)
        if n not in POINTS or len(found) < ENOUGH * POINTS[n] ** n:
            found += self._grown(found)
        return found

    def _grown(self, known: Sequence[Array]) -> list[Array]:
        """Return positions on the ways from known ones towards random ones, as far as they go."""
        way, random = self.way(True), np.random.default_rng(4)
        driven = list(self.structure.driven)
        states: list[Array] = []
        for z in known:
            if way.begin(z):
                states.append(way.state.copy())
        first = len(way.unknown)
        places = [state[first : first + len(driven)] for state in states]
        found: list[Array] = []
        for _ in range(GROWTH):
            target = random.uniform(self.lower, self.upper)
            apart = np.abs((np.array(places) - target) / (self.upper - self.lower)).max(axis=1)
            nearest = int(np.argmin(apart))
            way.state[:] = states[nearest]
            way.follow(target, TABLE_CALLS)
            reached = way.state[first : first + len(driven)].copy()
            gone = np.abs((reached - places[nearest]) / (self.upper - self.lower)).max()
            if gone > 0.01 and way.begin(way.joints()):
                states.append(way.state.copy())
                places.append(reached)
                found.append(way.joints())
        return found

    def _on_grid(self, points: int) -> list[Array]:
        """Return the positions of a grid that are reached from the start, from point to point."""
        lower, upper = self.lower, self.upper
        way = self.way(True)
        way.begin(self.structure.start)
        found: list[Array] = []
        n = len(lower)
        grid = [np.linspace(low, high, points) for low, high in zip(lower, upper, strict=True)]
        step = (upper - lower) / (points - 1)
        home = np.rint((self.structure.start[list(way.given)] - lower) / step)
        first = tuple(np.clip(home, 0, points - 1).astype(int).tolist())
        states: dict[tuple[int, ...], Array] = {}
        tried: dict[tuple[int, ...], int] = {}
        queue: deque[tuple[tuple[int, ...], Array]] = deque([(first, way.state.copy())])
        while queue:
            cell, state = queue.popleft()
            if cell in states or tried.get(cell, 0) >= 2:
                continue
            way.state[:] = state
            target = np.array([axis[k] for axis, k in zip(grid, cell, strict=True)])
            if way.follow(target, TABLE_CALLS):
                tried[cell] = tried.get(cell, 0) + 1
                continue
            states[cell] = way.state.copy()
            found.append(way.joints())
            for axis in range(n):
                for sign in (1, -1):
                    other = (*cell[:axis], cell[axis] + sign, *cell[axis + 1 :])
                    if 0 <= other[axis] < points and other not in states:
                        queue.append((other, states[cell]))
        return found

    def solve(self, way: Way, x: Array, calls: int = MOST_CALLS) -> str:
        """
        Solve for a position from the fixed table.

        :param way: The direction, of which the memory is used.
        :param calls: How many calls it may take.
        :returns: Nothing if it is solved, else the reason.
        """
        number = next(k for k, each in enumerate(self._ways) if each.is_same(way))
        is_forward = number < len(self._ways) - 1
        if is_forward and not ((x >= self.lower) & (x <= self.upper)).all():
            return 'domain'
        places, states = self.seeds[number]
        span = np.maximum(np.ptp(places, axis=0), NARROW)
        apart = np.abs((places - x) / span).sum(axis=1)
        if not is_forward and not apart.min() <= 1.0 + len(x):
            return 'domain'
        reason = 'no_convergence'
        nearest = np.argsort(apart, kind='stable')[:STARTS].tolist()
        last = way.calls + calls
        # The last one is the start, from which the straight way may lead where others do not.
        for seed in (*nearest, 0):
            way.state[:] = states[seed]
            left = last - way.calls
            if left <= 0:
                break
            reason = way.follow(x, min(left, LONG_WAY if seed == 0 else SHORT_WAY))
            if not reason:
                break
        if reason and not is_forward and way.calls < last:
            reason = self._sought(way, x, nearest, last - way.calls)
        if reason == 'no_convergence' and self._is_at_dead_centre(way):
            reason = 'domain'
        if not reason and not is_forward:
            driven = way.joints()[list(self.structure.driven)]
            if not ((driven >= self.lower) & (driven <= self.upper)).all():
                reason = 'domain'
        return reason

    def _sought(self, way: Way, x: Array, seeds: Sequence[int], calls: int) -> str:
        """
        Solve the way back by steps of the driven joints.

        The straight way of the commanded joints may leave what they reach.
        """
        forward = self.way(True, False)
        wanted = list(self.commanded)
        for seed in seeds:
            forward.state[:] = self.seeds[1][1][seed]
            miss, damping = x - forward.joints()[wanted], 1.0
            for _ in range(DRIVEN_STEPS):
                if np.abs(miss).max() < 1e-9 or forward.calls >= calls:
                    break
                last = forward.state.copy()
                step = np.linalg.lstsq(forward.slope()[wanted], miss, rcond=None)[0]
                step *= damping * min(1.0, LONGEST / max(np.abs(step).max(), LONGEST))
                driven = last[len(forward.unknown) :][: len(step)] + step
                if not forward.follow(driven, 6):
                    ahead = x - forward.joints()[wanted]
                    if np.abs(ahead).max() < np.abs(miss).max():
                        miss, damping = ahead, min(1.0, 2.0 * damping)
                        continue
                forward.state[:] = last
                damping *= 0.5
                if damping < 1e-2:
                    break
            if np.abs(miss).max() < 1e-9 and way.begin(forward.joints()):
                return way.follow(x)
        return 'no_convergence'

    def _is_at_dead_centre(self, way: Way) -> bool:
        here = np.abs(way.state[len(way.unknown) + len(way.given) :]).max(initial=0.0)
        other = way.fresh()
        other.begin(self.structure.start)
        there = np.abs(other.slope()).max()
        return bool(not here <= DEAD_CENTRE * there)

    # -- accelerations ---------------------------------------------------------------------------

    @cached_property
    def _bend(self) -> Any:
        """Second derivative of the kept rows along a motion, and their Jacobian."""
        closures = self.structure.closures
        rows = closures.rows[list(self.structure.kept)]
        rate = ca.SX.sym('rate', closures.z.numel())
        once = ca.jtimes(rows, closures.z, rate)
        return ca.Function(
            'bend',
            [closures.z, rate, closures.lengths],
            [ca.jtimes(once, closures.z, rate), ca.jacobian(rows, closures.z)],
        )

    def bias(self, way: Way, z: Array, rate: Array) -> Array:
        """Return the accelerations of all joints while the given ones move at a steady rate."""
        result = np.zeros(len(z))
        if not way.unknown:
            return result
        # Of the way back, the angles of balls are unknown, and nothing else depends on them.
        places = np.nan_to_num(z), np.nan_to_num(rate)
        bent, jacobian = (each.full() for each in self._bend(*places, self.structure.lengths))
        kept, found = way.found
        rows = [self.structure.kept.index(row) for row in kept]
        result[found] = -np.linalg.solve(jacobian[rows][:, found], bent[rows, 0])
        result[way.lost] = math.nan
        return result


def components_of(robot: RobotDescription, spec: LinkageSpec) -> tuple[Component, ...]:
    """
    Return the parts of a linkage that move by themselves, made once for each description.

    :raises TransmissionError: If a name, a loop or the assembly cannot be used.
    """
    return _components(_Robot(robot), spec)


@dataclass(frozen=True, eq=False)
class _Robot:
    """A robot, told apart by its joints and links."""

    robot: RobotDescription

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Robot) and (
            other.robot is self.robot
            or (other.robot.joints, other.robot.links) == (self.robot.joints, self.robot.links)
        )

    def __hash__(self) -> int:
        return hash((len(self.robot.joints), tuple(each.name for each in self.robot.links)))


@lru_cache(maxsize=32)
def _components(known: _Robot, spec: LinkageSpec) -> tuple[Component, ...]:
    tree = Tree(known.robot)
    variables: dict[str, int] = {}
    for name in spec.driven:
        joint = tree.joint(name, DRIVEN)
        if joint.mimic is not None:
            raise TransmissionError(
                f"driven joint '{name}' mimics '{joint.mimic.joint}'",
                expected='the joint that it mimics, or none',
                found='<mimic>',
            )
        if name in variables:
            raise TransmissionError(
                f"joint '{name}' is driven by two actuators",
                expected='a joint for each actuator, <param name="joint">',
                found=', '.join(spec.driven),
            )
        variables[name] = len(variables)
    paths = [tree.path(loop, variables) for loop in spec.loops]
    for name in spec.commanded:
        joint = tree.joint(name, 'commanded joint')
        if joint.mimic is not None:
            raise TransmissionError(
                f"commanded joint '{name}' mimics '{joint.mimic.joint}'",
                expected='the joint that it mimics, or none',
                found='<mimic>',
            )
        if name not in variables:
            raise TransmissionError(
                f"commanded joint '{name}' is in no loop and not driven",
                expected='a joint between the frames of a loop, or one that an actuator turns',
                found=f'joints {", ".join(variables)}',
            )
    hints = {}
    for name, position in spec.start:
        joint = tree.joint(name, '<start>')
        if name not in variables:
            raise TransmissionError(
                f"<start>: joint '{name}' is in no loop and not driven",
                expected='a joint between the frames of a loop',
                found=f'joints {", ".join(variables)}',
            )
        _check_start(joint, position)
        hints[name] = position
    names = names_in_order(variables)
    result = []
    for group, own in _groups(paths, len(names)):
        result.append(_component(tree, spec, names, group, own, paths, hints))
    return tuple(result)


def _check_start(joint: JointSpec, position: float) -> None:
    """Refuse a start in degrees: what is published would be whole turns away."""
    limits = _limits_of(joint)
    if (
        joint.type != 'prismatic'
        and abs(position) > 2.0 * math.pi
        and not (joint.type == 'revolute' and limits[0] <= position <= limits[1])
    ):
        raise TransmissionError(
            f"<start> of joint '{joint.name}' is more than a turn away from zero",
            expected='a position within a turn, or within its limits [rad]',
            found=in_other_unit(position, 'rad'),
        )


def _limits_of(joint: JointSpec) -> tuple[float, float]:
    """Return the ends of a joint, infinite where it has none."""
    low = high = None
    if joint.limits is not None and joint.type != 'continuous':
        low, high = joint.limits.lower, joint.limits.upper
    return -math.inf if low is None else low, math.inf if high is None else high


def _groups(paths: Sequence[LoopPath], n: int) -> list[tuple[list[int], list[int]]]:
    """Return joints that loops connect, and these loops."""
    group = list(range(n))
    for path in paths:
        joined = {group[each] for each in path.variables}
        group = [min(joined) if each in joined else each for each in group]
    return [
        (
            [k for k in range(n) if group[k] == number],
            [
                k
                for k, path in enumerate(paths)
                if any(group[each] == number for each in path.variables)
            ],
        )
        for number in sorted(set(group))
    ]


def _component(
    tree: Tree,
    spec: LinkageSpec,
    names: Sequence[str],
    group: Sequence[int],
    own: Sequence[int],
    paths: Sequence[LoopPath],
    hints: dict[str, float],
) -> Component:
    local: dict[str, int] = {names[k]: number for number, k in enumerate(group)}
    parts = [tree.path(paths[k].loop, local) for k in own]
    joints = [tree.joint(name, 'joint') for name in local]
    limits = [_limits_of(joint) for joint in joints]
    driven = [local[name] for name in spec.driven if name in local]
    commanded = [local[name] for name in spec.commanded if name in local]
    if not driven and not commanded:
        raise TransmissionError(
            f'no actuator turns a joint of loop {paths[own[0]].loop}, and none is commanded',
            expected='an actuator for one of its joints, or none of its loops',
            found=f'joints {", ".join(local)}',
        )
    slides = frozenset(k for k, joint in enumerate(joints) if joint.type == 'prismatic')
    own_hints = {local[name]: value for name, value in hints.items() if name in local}
    structure = Structure.of(
        tuple(local),
        driven,
        commanded,
        parts,
        own_hints,
        slides,
        spec.tolerance,
        limits,
    )
    turning = frozenset(range(len(joints))) - slides
    return Component(structure, commanded, limits, turning, spec.tolerance, own_hints, own)
