# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linkage, or an independent mechanism in it: both directions and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
import math
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import in_other_unit, TransmissionError
from transmission_bridge.transmissions.calls import Call
from transmission_bridge.transmissions.linkage.structure import (
    rows_function,
    share_of_rank,
    Structure,
)
from transmission_bridge.transmissions.linkage.tree import (
    DRIVEN,
    JointTree,
    Loop,
    LOOP_TYPES,
    LoopPath,
)
from transmission_bridge.transmissions.mechanism.near import Near
from transmission_bridge.transmissions.mechanism.step import Step
from transmission_bridge.types import Array

#: Targets of the table: grid points along each driven joint, by the number of driven joints, and
#: the number of random targets for more joints.
POINTS, TARGETS = {1: 33, 2: 13, 3: 7}, 150

#: Range around the start [rad or m] of a continuous driven joint, or one without limits.
TURNING, SLIDING = math.pi, 0.5

#: Range beyond the limits that is still mapped, as a share of the range.
BEYOND = 0.05

#: Smallest width of the table [rad or m].
NARROW = 0.1

#: Driven joints that move by less than this share of their range in some direction are blocked.
MOVED = 1e-3

#: Largest numbers of joints and equations of a cluster. The cost of a start grows with the cube
#: of both.
MOST = {'joints': 48, 'equations': 96}

#: A path that ends with a derivative of this many times the one at the start ends at a dead
#: centre.
DEAD_CENTRE = 4.0


@dataclass(frozen=True)
class LinkageSpec:
    """
    The description of a linkage.

    ``driven`` are the joints of the motors, in the order of the actuators. ``start`` are positions
    near the assembly, by joint. ``tolerance`` is the largest residual of redundant rows.
    """

    loops: tuple[Loop, ...]
    driven: tuple[str, ...]
    commanded: tuple[str, ...]
    start: tuple[tuple[str, float], ...] = ()
    tolerance: float = 1e-9


class Component:
    """
    An independent mechanism of a linkage, in both directions. Immutable except for caches.

    :param structure: The mechanism.
    :param commanded: Indices of its commanded joints.
    :param limits: Limits of each joint, infinite if it has none.
    :param tolerance: Largest residual of redundant rows.
    :param hints: Positions of joints in the description, by index.
    :param loops: Indices of its loops in the linkage.
    :raises TransmissionError: If the numbers of commanded and driven joints differ, or a commanded
        joint is undetermined.
    """

    def __init__(
        self,
        structure: Structure,
        commanded: Sequence[int],
        limits: Sequence[tuple[float, float]],
        tolerance: float,
        hints: dict[int, float],
        loops: Sequence[int],
    ) -> None:
        self.structure, self.commanded, self.loops = structure, tuple(commanded), tuple(loops)
        self._tolerance = tolerance
        #: Find another assembly: joints that differ, with their positions.
        self.find_rival = partial(structure.seek_rival, hints, structure.slides, limits, tolerance)
        names = structure.names
        if len(commanded) != len(structure.driven):
            raise TransmissionError(
                'a mechanism of the linkage has different numbers of commanded and driven joints',
                expected=f'{len(structure.driven)} commanded joints for the driven '
                + ', '.join(names[k] for k in structure.driven),
                found=', '.join(names[k] for k in commanded) or 'none',
            )
        loose = [names[k] for k in commanded if k in structure.idle]
        if loose:
            raise TransmissionError(
                f"the driven joints leave joint '{loose[0]}' undetermined",
                expected='a joint that no idle freedom moves; check for a missing loop or motor, '
                'or a frame of a loop on the axis of this joint',
                found='idle: ' + ', '.join(names[k] for k in structure.idle),
            )
        #: Shared with copies that have other lengths; a change of lengths does not compile.
        self._steps: dict[tuple[bool, bool, tuple[int, ...]], Step] = {}
        self._nears: dict[tuple[bool, bool], Near] = {}
        self._require_regular()
        self.limits = tuple(limits)
        self.lower, self.upper = self._driven_range(limits)
        self.typical_sizes = self._typical_sizes()

    def _require_regular(self) -> None:
        structure = self.structure
        self._require_movable()
        for is_forward in (True, False):
            step = self.compile_direction(is_forward)
            if not self._enter_states(step, [structure.start]):
                raise TransmissionError(
                    f'the linkage is singular at its start for {step.near.what} as inputs',
                    expected='<start> away from dead centres, or joints with other axes or types',
                    found=', '.join(
                        f'{name} {value:.4g}'
                        for name, value in zip(structure.names, structure.start, strict=True)
                    ),
                )

    def with_lengths(self, lengths: Sequence[float]) -> Component:
        """
        Return the same mechanism with rods of other lengths, without compiling.

        :raises TransmissionError: If it does not close with them.
        """
        if list(lengths) == self.structure.lengths.tolist():
            return self
        other = copy(self)
        other.structure = self.structure.with_lengths(lengths, self._tolerance)
        vars(other).pop('table_positions', None)
        other._require_regular()
        other.typical_sizes = other._typical_sizes()
        return other

    def _driven_range(self, limits: Sequence[tuple[float, float]]) -> tuple[Array, Array]:
        """Return the mapped range of the driven joints, including the start."""
        ends = []
        for place in self.structure.driven:
            at, (low, high) = float(self.structure.start[place]), limits[place]
            width = SLIDING if place in self.structure.slides else TURNING
            if not (math.isfinite(low + high) and low < high):
                low, high = at - width, at + width
            low, high = min(low, at - 0.01 * width), max(high, at + 0.01 * width)
            ends.append((low - BEYOND * (high - low), high + BEYOND * (high - low)))
        lower, upper = np.array(ends).T
        return lower, upper

    def _require_movable(self) -> None:
        """Raise an error if the undriven joints cannot satisfy all independent equations."""
        structure = self.structure
        rows = rows_function(structure.closures, structure.closures.rows)
        jacobian = np.asarray(rows(structure.start, structure.lengths)[1].full())
        values = np.linalg.svd(jacobian, compute_uv=False)
        rank = int((values > share_of_rank(self._tolerance) * values.max(initial=0.0)).sum())
        if rank > structure.rank:
            raise self._blocked_error(
                structure.driven,
                f'the other joints can satisfy {structure.rank} of {rank} independent equations',
            )

    def _blocked_error(self, driven: Sequence[int], reason: str) -> TransmissionError:
        names = ', '.join(self.structure.names[k] for k in driven)
        hinges = self.structure.closures.hinge_axes(self.structure.start)
        return TransmissionError(
            f'the loops block the driven joints {names}: {reason}',
            expected="no more equations than they can satisfy; check for a 'weld' instead of a "
            "'hinge' or a 'point', a wrong axis, a missing joint, or a <start> at a dead centre",
            found=', '.join(
                hinges.get(path.loop, str(path.loop)) for path in self.structure.paths
            ),
        )

    # -- the compiled directions -----------------------------------------------------------------

    def compile_direction(
        self, is_forward: bool, with_balls: bool = True, published: tuple[int, ...] = ()
    ) -> Step:
        """
        Return the compiled direction, made once.

        ``with_balls`` requests the angles of balls, forward only. ``published`` are the indices of
        joints that are outputs in addition to the commanded ones, forward only.
        """
        with_balls = with_balls and is_forward
        key = is_forward, with_balls, published if is_forward else ()
        if key not in self._steps:
            structure, what = self.structure, 'the driven joints'
            given, wanted = structure.driven, self.commanded
            if not is_forward:
                given, wanted, what = wanted, given, 'the commanded joints'
            if key[:2] not in self._nears:
                self._nears[key[:2]] = Near(
                    structure, given, wanted, self._tolerance, what, with_balls
                )
            self._steps[key] = Step(self._nears[key[:2]], is_forward, key[2])
        return self._steps[key]

    def _get_fixed(self) -> tuple[Array, Array]:
        """Return the positions of held joints, and the lengths."""
        return self.structure.start[list(self.structure.held)], self.structure.lengths

    def _enter_states(self, step: Step, positions: Sequence[Array]) -> list[Array]:
        """Return the states at positions, as far as these are regular."""
        enter, states = Call(step.enter_function), []
        for z in positions:
            state, done, _ = enter(z[[*step.near.unknown, *step.near.given]], *self._get_fixed())
            if done[0] == 1.0:
                states.append(state.copy())
        return states

    def collect_numbers(self, step: Step, own: Sequence[float]) -> tuple[list[float], list[float]]:
        """
        Return the numbers of a direction, and its table.

        ``own`` are the numbers of the transmission: reductions, offsets, and sizes of derivatives.
        """
        near, positions = step.near, np.array(self.table_positions)
        n, first = len(near.given), len(near.unknown) + len(near.given)
        width = np.maximum(np.ptp(positions[:, near.given], axis=0), NARROW)
        (start,) = self._enter_states(step, [self.structure.start])
        steep = DEAD_CENTRE * np.abs(start[first:]).max(initial=0.0)
        held, lengths = self._get_fixed()
        ends = [*own[: 2 * n], *self.lower, *self.upper, *own[2 * n :]]
        numbers = np.concatenate([ends, width, [steep], held, lengths])
        return numbers.tolist(), step.make_table(self.table_positions).tolist()

    # -- a fixed table of positions --------------------------------------------------------------

    @cached_property
    def table_positions(self) -> list[Array]:
        """
        Positions of all joints, the start first, reached on straight paths from target to target.

        :raises TransmissionError: If a driven joint never moves away from the start.
        """
        n, step = len(self.structure.driven), self.compile_direction(True)
        found = self._grow_states(step)
        apart = (np.array(found) - found[0])[:, len(step.near.unknown) :][:, :n]
        apart /= self.upper - self.lower
        sizes, axes = np.linalg.eigh(apart.T @ apart / len(apart))
        if sizes[0] < MOVED**2:
            # Equations that are dependent at the start may be independent elsewhere.
            shares = np.abs(axes[:, sizes < MOVED**2]).max(axis=1).tolist()
            driven = zip(self.structure.driven, shares, strict=True)
            held = [place for place, share in driven if share > MOVED]
            raise self._blocked_error(held, 'they are closed at the start only')
        positions = [
            step.joints_of_state(state, self._get_fixed()[0])
            for state in self._solve_balls(step, found)
        ]
        back = self.compile_direction(False)
        return [z for z in positions if self._enter_states(back, [z])]

    def _solve_balls(self, step: Step, states: Sequence[Array]) -> Sequence[Array]:
        """Return states with all angles of balls; all states if none has them."""
        if not step.near.balls_at:
            return states
        seek, start, found = (Call(step.find_balls), self.structure.start[step.near.unknown], [])
        for state in states:
            begin, done = seek(state, start, start, *self._get_fixed())
            if done[0] == 1.0:
                found.append(begin.copy())
        return found or states

    def _grow_states(self, step: Step) -> list[Array]:
        """
        Return states from target to target, each as far as a straight path leads.

        The next target is always the one closest to a known state, reached from this state.
        """
        n, first, going = len(self.lower), len(step.near.unknown), Call(step.path_function)
        width = self.upper - self.lower
        if n in POINTS:
            axes = [np.linspace(0.0, 1.0, POINTS[n])] * n
            targets = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
            farthest = 1.01 / (POINTS[n] - 1)
        else:
            targets, farthest = np.random.default_rng(4).uniform(size=(TARGETS, n)), 1.0
        states = self._enter_states(step, [self.structure.start])
        places = [(states[0][first : first + n] - self.lower) / width]
        apart, left = np.abs(targets - places[0]).max(axis=1), np.zeros(len(targets))
        while (apart + left).min() <= farthest:
            k = int(np.argmin(apart + left))
            left[k] = math.inf
            nearest = int(np.argmin(np.abs(np.array(places) - targets[k]).max(axis=1)))
            target = self.lower + targets[k] * width
            state = going(states[nearest], target, *self._get_fixed())[0].copy()
            place = (state[first : first + n] - self.lower) / width
            if np.abs(place - places[nearest]).max() > MOVED:
                states.append(state)
                places.append(place)
                apart = np.minimum(apart, np.abs(targets - place).max(axis=1))
        return states

    # -- accelerations ---------------------------------------------------------------------------

    @cached_property
    def _bend_function(self) -> Any:
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

    def _typical_sizes(self) -> Array:
        """Return medians over the table of sizes: G, its inverse, and a passive joint's row."""
        step, sizes = self.compile_direction(True), []
        passive = [step.near.unknown[k] for k in step.near.tells]
        for state in self._enter_states(step, self.table_positions):
            slopes = step.slopes_of_state(state)
            gains = slopes[step.near.wanted]
            each = np.linalg.norm(slopes[passive], axis=1).max(initial=0.0)
            sizes.append((np.linalg.norm(gains), np.linalg.norm(np.linalg.inv(gains)), each))
        typical: Array = np.median(np.array(sizes), axis=0)
        return typical

    def coasting_accelerations(self, step: Step, state: Array, rate: Array) -> Array:
        """Return the accelerations of all joints at constant rates of the given joints."""
        near = step.near
        result = np.zeros(len(self.structure.names))
        if near.unknown:
            z = step.joints_of_state(state, self._get_fixed()[0])
            moving = np.nan_to_num(step.slopes_of_state(state) @ rate)
            found = self._bend_function(np.nan_to_num(z), moving, self.structure.lengths)
            bent, jacobian = (each.full() for each in found)
            rows = [self.structure.kept.index(row) for row in near.rows]
            matrix = jacobian[rows][:, near.unknown]
            result[near.unknown] = -np.linalg.lstsq(matrix, bent[rows, 0], rcond=None)[0]
        return result


def build_components(robot: RobotDescription, spec: LinkageSpec) -> tuple[Component, ...]:
    """
    Return the independent mechanisms of a linkage, built once per description.

    :raises TransmissionError: If a name, a loop or the assembly is invalid.
    """
    return _build_components_once(_RobotKey(robot), spec)


@dataclass(frozen=True, eq=False)
class _RobotKey:
    """A robot, compared by its joints and links."""

    robot: RobotDescription

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RobotKey) and (
            other.robot is self.robot
            or (other.robot.joints, other.robot.links) == (self.robot.joints, self.robot.links)
        )

    def __hash__(self) -> int:
        return hash((len(self.robot.joints), tuple(each.name for each in self.robot.links)))


@lru_cache(maxsize=32)
def _build_components_once(known: _RobotKey, spec: LinkageSpec) -> tuple[Component, ...]:
    tree = JointTree(known.robot)
    variables: dict[str, int] = {}
    for name in spec.driven:
        _require_no_mimic(tree, name, DRIVEN)
        if name in variables:
            raise TransmissionError(
                f"joint '{name}' is driven by two actuators",
                expected='a joint for each actuator, <param name="joint">',
                found=', '.join(spec.driven),
            )
        variables[name] = len(variables)
    n_parts = max(len(spec.driven), 1)  # each has a driven joint
    _require_size('equations', _count_equations(spec.loops), spec.loops, n_parts)
    paths = []
    for loop in spec.loops:
        paths.append(tree.find_path(loop, variables))
        _require_size('joints', len(variables), spec.loops, n_parts)
    for name in spec.commanded:
        _require_no_mimic(tree, name, 'commanded joint')
        _require_loop(name, variables, f"commanded joint '{name}'")
    for name in {*spec.driven} - {*spec.commanded}:
        if not any(variables[name] in path.variables for path in paths):
            raise TransmissionError(
                f"{DRIVEN} '{name}' is in no loop and not commanded",
                expected='a joint between the frames of a loop; check for a missing <loop>, the '
                '<parent> of a joint, or <param name="joint">',
                found='loops ' + (', '.join(map(str, spec.loops)) or 'none'),
                at=tree.require_joint(name, DRIVEN),
            )
    for name, position in spec.start:
        joint = tree.require_joint(name, '<start>')
        _require_loop(name, variables, f"<start>: joint '{name}'")
        _check_start(joint, position)
    hints = dict(spec.start)
    names = sorted(variables, key=lambda name: variables[name])
    result = []
    for group, own in _group_joints(paths, len(names)):
        result.append(_build_component(tree, spec, names, group, own, paths, hints))
    return tuple(result)


def _count_equations(loops: Sequence[Loop]) -> int:
    return sum(LOOP_TYPES[loop.type] for loop in loops)


def _require_size(what: str, found: int, loops: Sequence[Loop], n_parts: int = 1) -> None:
    """Reject a cluster that would take minutes to close, before anything is compiled for it."""
    if found > MOST[what] * n_parts:
        raise TransmissionError(
            f'the loops that {loops[0]} is connected with have too many {what}',
            expected=f'at most {MOST[what]} in a part that moves by itself',
            found=str(found),
        )


def _require_no_mimic(tree: JointTree, name: str, role: str) -> None:
    """Raise an error if a joint mimics another one."""
    mimic = tree.require_joint(name, role).mimic
    if mimic is not None:
        raise TransmissionError(
            f"{role} '{name}' mimics '{mimic.joint}'",
            expected='the mimicked joint, or no <mimic>',
            found='<mimic>',
        )


def _require_loop(name: str, variables: Mapping[str, int], what: str) -> None:
    if name not in variables:
        raise TransmissionError(
            f'{what} is in no loop and not driven',
            expected='a joint between the frames of a loop, or a driven joint',
            found=f'joints {", ".join(variables)}',
        )


def _check_start(joint: JointSpec, position: float) -> None:
    """Reject a start in degrees, which would shift published positions by full turns."""
    limits = _limits_of_joint(joint)
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


def _limits_of_joint(joint: JointSpec) -> tuple[float, float]:
    """Return the limits of a joint, infinite if it has none."""
    low = high = None
    if joint.limits is not None and joint.type != 'continuous':
        low, high = joint.limits.lower, joint.limits.upper
    return -math.inf if low is None else low, math.inf if high is None else high


def _group_joints(paths: Sequence[LoopPath], n: int) -> list[tuple[list[int], list[int]]]:
    """Return groups of joints that loops connect, with these loops."""
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


def _build_component(
    tree: JointTree,
    spec: LinkageSpec,
    names: Sequence[str],
    group: Sequence[int],
    own: Sequence[int],
    paths: Sequence[LoopPath],
    hints: dict[str, float],
) -> Component:
    loops = [paths[k].loop for k in own]
    _require_size('joints', len(group), loops)
    _require_size('equations', _count_equations(loops), loops)
    local: dict[str, int] = {names[k]: number for number, k in enumerate(group)}
    parts = [tree.find_path(paths[k].loop, local) for k in own]
    joints = [tree.require_joint(name, 'joint') for name in local]
    limits = [_limits_of_joint(joint) for joint in joints]
    driven = [local[name] for name in spec.driven if name in local]
    commanded = [local[name] for name in spec.commanded if name in local]
    if not driven and not commanded:
        raise TransmissionError(
            f'no actuator turns a joint of loop {paths[own[0]].loop}, and none is commanded',
            expected='an actuator for one of its joints, or no such loop',
            found=f'joints {", ".join(local)}',
            at=paths[own[0]].loop.at,
        )
    slides = frozenset(k for k, joint in enumerate(joints) if joint.type == 'prismatic')
    own_hints = {local[name]: value for name, value in hints.items() if name in local}
    structure = Structure.from_loops(
        tuple(local),
        driven,
        commanded,
        parts,
        own_hints,
        slides,
        spec.tolerance,
        limits,
    )
    return Component(structure, commanded, limits, spec.tolerance, own_hints, own)
