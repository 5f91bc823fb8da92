# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A linkage, or an independent mechanism in it: both directions and their tables.

``LinkageTransmission`` asks for the components of a description, which are cached; ``loops`` uses
groups and systems for its proposals. Constants decide which linkages are accepted, and how far
beyond their limits they are mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
import math
from typing import Any

import numpy as np

from transmission_bridge.description import JointSpec, LinkSpec
from transmission_bridge.errors import counted, in_other_unit, TransmissionError
from transmission_bridge.transmissions.compiled import CasadiCall
from transmission_bridge.transmissions.linkage.structure import LinkageStructure, LoopSystem
from transmission_bridge.transmissions.linkage.tree import (
    DRIVEN,
    LinkageLoopPath,
    LinkageTree,
    Loop,
    LOOP_TYPES,
)
from transmission_bridge.transmissions.mechanism.continuation import MOVED
from transmission_bridge.transmissions.mechanism.corrector import Corrector
from transmission_bridge.transmissions.mechanism.part import Assembly
from transmission_bridge.transmissions.mechanism.solver import Solver
from transmission_bridge.types import Array

#: Range around the start [rad or m] of a continuous driven joint, or one without limits.
TURNING, SLIDING = math.pi, 0.5

#: Range beyond the limits that is still mapped, as a share of the range.
BEYOND = 0.05

#: Largest numbers of joints and equations of a cluster. The cost of a start grows with the cube
#: of both.
MOST = {'joints': 48, 'equations': 96}


@dataclass(frozen=True)
class LinkageSpec:
    """
    The description of a linkage; a key of the cache of components, so it is immutable.

    ``loops`` are in document order, which numbers the tunable lengths. ``commanded`` are the
    joints of the transmission in role order. ``driven`` are the joints of the motors, in the order
    of the actuators. ``start`` are positions near the assembly, by joint. ``tolerance`` is the
    largest residual of redundant rows.
    """

    loops: tuple[Loop, ...]
    driven: tuple[str, ...]
    commanded: tuple[str, ...]
    start: tuple[tuple[str, float], ...] = ()
    tolerance: float = 1e-9


class LinkageComponent:
    """
    An independent mechanism of a linkage, in both directions. Immutable except for caches.

    :param structure: The mechanism.
    :param loops: Indices of its loops in the linkage.
    :param compiled: Its compiled directions, if another one shares them.
    :raises TransmissionError: If the numbers of commanded and driven joints differ, a commanded
        joint is undetermined, or a direction is singular at the start.
    """

    def __init__(
        self,
        structure: LinkageStructure,
        loops: Sequence[int],
        compiled: dict[Any, Any] | None = None,
    ) -> None:
        self.structure, self.loops = structure, tuple(loops)
        names, driven = structure.names, list(structure.driven)
        if len(structure.commanded) != len(driven):
            raise TransmissionError(
                'a mechanism of the linkage has different numbers of commanded and driven joints',
                expected=f'{counted(len(driven), "commanded joint")} for the driven '
                + ', '.join(names[k] for k in driven),
                found=', '.join(names[k] for k in structure.commanded) or 'none',
            )
        loose = [names[k] for k in structure.commanded if k in structure.idle]
        if loose:
            raise TransmissionError(
                f"the driven joints leave joint '{loose[0]}' undetermined",
                expected='a joint that no idle freedom moves; check for a missing loop or motor, '
                'or a frame of a loop on the axis of this joint',
                found='idle: ' + ', '.join(names[k] for k in structure.idle),
            )
        #: Correctors and solvers by direction and outputs; :meth:`compile_direction` adds to it.
        #: Components that differ in lengths share it, so a change of lengths does not compile.
        self._compiled = {} if compiled is None else compiled
        structure.require_movable()
        for is_forward in (True, False):
            solver, fixed = self._fix_direction(is_forward)
            if not solver.continuation.enter_states([structure.start], fixed):
                what, start = solver.corrector.mechanism.what, structure.start.tolist()
                raise TransmissionError(
                    f'the linkage is singular at its start for {what} as inputs',
                    expected='<start> away from dead centres, or joints with other axes or types',
                    found=', '.join(f'{n} {v:.4g}' for n, v in zip(names, start, strict=True)),
                )
        lower, upper = self._find_range()
        #: The mapped range of the driven joints, including the start.
        self.lower, self.upper = lower[driven], upper[driven]
        positions = self._walk_range()
        #: The numbers that both directions share.
        self.assembly = Assembly(
            structure.start,
            np.ones(len(names)),
            lower,
            upper,
            np.isfinite(lower),
            self._compute_typical_sizes(positions),
            positions,
            np.zeros(0),
        )

    def with_lengths(self, lengths: Sequence[float]) -> LinkageComponent:
        """
        Return the same mechanism with rods of other lengths, without compiling.

        :raises TransmissionError: If it does not close with them.
        """
        if list(lengths) == self.structure.lengths.tolist():
            return self
        return LinkageComponent(self.structure.with_lengths(lengths), self.loops, self._compiled)

    def _find_range(self) -> Array:
        """Return the ends of all joints, infinite for those that are not driven."""
        structure = self.structure
        ends = np.array([[-math.inf, math.inf]] * len(structure.names)).T
        for joint in structure.driven:
            at, (low, high) = float(structure.start[joint]), structure.limits[joint]
            width = SLIDING if joint in structure.slides else TURNING
            if not (math.isfinite(low + high) and low < high):
                low, high = at - width, at + width
            low, high = min(low, at - 0.01 * width), max(high, at + 0.01 * width)
            ends[:, joint] = low - BEYOND * (high - low), high + BEYOND * (high - low)
        return ends

    def compile_direction(
        self, is_forward: bool, with_balls: bool = True, published: tuple[int, ...] = ()
    ) -> Solver:
        """
        Return the compiled direction, made once.

        ``with_balls`` requests the angles of balls, forward only. ``published`` are the indices of
        joints that are outputs in addition to the commanded ones, forward only.
        """
        key = is_forward, with_balls and is_forward
        made: dict[Any, Any] = self._compiled
        if key not in made:
            made[key] = Corrector(self.structure.make_mechanism(is_forward), key[1])
        if (key, published) not in made:
            made[key, published] = Solver(made[key], is_forward, published)
        solver: Solver = made[key, published]
        return solver

    def _fix_direction(self, is_forward: bool) -> tuple[Solver, tuple[Array, list[float]]]:
        """Return a direction with the positions of held joints and the numbers of its rows."""
        start, solver = self.structure.start, self.compile_direction(is_forward)
        sizes = np.ones(len(start))
        numbers = solver.corrector.collect_numbers(start, self.structure.lengths, sizes)
        return solver, (start[list(self.structure.held)], numbers)

    def _walk_range(self) -> Array:
        """
        Return positions of all joints, the start first, on straight paths from target to target.

        :raises TransmissionError: If a driven joint never moves away from the start.
        """
        structure, (solver, fixed) = self.structure, self._fix_direction(True)
        paths, first = solver.continuation, len(solver.corrector.unknown)
        states = paths.grow_states(fixed, structure.start, self.lower, self.upper)
        apart = (np.array(states) - states[0])[:, first : first + len(structure.driven)]
        apart /= self.upper - self.lower
        sizes, axes = np.linalg.eigh(apart.T @ apart / len(apart))
        if sizes[0] < MOVED**2:
            # Equations that are dependent at the start may be independent elsewhere.
            shares = np.abs(axes[:, sizes < MOVED**2]).max(axis=1)
            held = [structure.driven[k] for k in np.flatnonzero(shares > MOVED)]
            raise structure.blocked_error(held, 'they are closed at the start only')
        if solver.corrector.ball_columns:
            seek = CasadiCall(paths.ball_joint_function)
            start = structure.start[solver.corrector.unknown]
            sought = [[each.copy() for each in seek(z, start, start, *fixed)] for z in states]
            # Without any position of all balls, their angles stay unsolved.
            states = [state for state, done in sought if done[0] == 1.0] or states
        back, of_back = self._fix_direction(False)
        positions = [solver.joints_of_state(state, fixed[0]) for state in states]
        return np.array([z for z in positions if back.continuation.enter_states([z], of_back)])

    def _compute_typical_sizes(self, positions: Array) -> list[float]:
        """Return medians over positions of sizes: G, its inverse, and a passive joint's row."""
        (solver, fixed), sizes = self._fix_direction(True), []
        passive = [solver.corrector.unknown[k] for k in solver.corrector.core_columns]
        for state in solver.continuation.enter_states(positions, fixed):
            slopes = solver.slopes_of_state(state)
            gains = slopes[solver.corrector.wanted]
            longest = np.linalg.norm(slopes[passive], axis=1).max(initial=0.0)
            sizes.append((np.linalg.norm(gains), np.linalg.norm(np.linalg.inv(gains)), longest))
        # The median, without the import of numpy.ma by np.median.
        ordered, half = np.sort(np.array(sizes), axis=0), len(sizes) // 2
        return list((0.5 * (ordered[half] + ordered[-1 - half])).tolist())


@lru_cache(maxsize=32)
def build_linkage_components(
    joints: tuple[JointSpec, ...], links: tuple[LinkSpec, ...], spec: LinkageSpec
) -> tuple[LinkageComponent, ...]:
    """
    Return the independent mechanisms of a linkage, built once per description.

    :raises TransmissionError: If a name, a loop or the assembly is invalid.
    """
    tree = LinkageTree(joints, links)
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
    _require_size(spec.loops, 0, n_parts)
    paths = []
    for loop in spec.loops:
        paths.append(tree.find_path(loop, variables))
        _require_size(spec.loops, len(variables), n_parts)
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
        low, high = find_linkage_limits(joint)
        is_far = abs(position) > 2.0 * math.pi and joint.type != 'prismatic'
        if is_far and not (joint.type == 'revolute' and low <= position <= high):
            # A start in degrees would shift published positions by full turns.
            raise TransmissionError(
                f"<start> of joint '{joint.name}' is more than a turn away from zero",
                expected='a position within a turn, or within its limits [rad]',
                found=in_other_unit(position, 'rad'),
            )
    names = list(variables)
    components = []
    for group, chosen in group_loop_joints(paths, len(names)):
        system = make_linkage_system(tree, spec, [names[k] for k in group], chosen)
        if not system.driven and not system.commanded:
            first = system.paths[0].loop
            raise TransmissionError(
                f'no actuator turns a joint of loop {first}, and none is commanded',
                expected='an actuator for one of its joints, or no such loop',
                found=f'joints {", ".join(system.names)}',
                at=first.at,
            )
        components.append(LinkageComponent(LinkageStructure.from_loops(system), chosen))
    return tuple(components)


def _require_size(loops: Sequence[Loop], n_joints: int, n_parts: int = 1) -> None:
    """Reject a cluster that would take minutes to close, before anything is compiled for it."""
    n_equations = sum(LOOP_TYPES[loop.type] for loop in loops)
    for found, (what, most) in zip((n_joints, n_equations), MOST.items(), strict=True):
        if found > most * n_parts:
            raise TransmissionError(
                f'the loops that share joints with {loops[0]} have too many {what}',
                expected=f'at most {most} in an independent mechanism',
                found=str(found),
            )


def _require_no_mimic(tree: LinkageTree, name: str, role: str) -> None:
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


def find_linkage_limits(joint: JointSpec) -> tuple[float, float]:
    """Return the limits of a joint, infinite if it has none."""
    low = high = None
    if joint.limits is not None and joint.type != 'continuous':
        low, high = joint.limits.lower, joint.limits.upper
    return -math.inf if low is None else low, math.inf if high is None else high


def group_loop_joints(
    paths: Sequence[LinkageLoopPath], n: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield groups of ``n`` joints that loops connect, with the indices of these loops."""
    group = list(range(n))
    for path in paths:
        joined = {group[variable] for variable in path.variables}
        group = [min(joined) if number in joined else number for number in group]
    for number in sorted({*group}):
        joints = [k for k in range(n) if group[k] == number]
        yield joints, [k for k, path in enumerate(paths) if not path.variables.isdisjoint(joints)]


def make_linkage_system(
    tree: LinkageTree, spec: LinkageSpec, names: Sequence[str], chosen: Sequence[int]
) -> LoopSystem:
    """
    Return some joints of a linkage with the loops that connect them.

    :param names: The joints.
    :param chosen: Indices of the loops.
    :raises TransmissionError: If they are too many, or a name is invalid.
    """
    loops = [spec.loops[k] for k in chosen]
    _require_size(loops, len(names))
    local = {name: k for k, name in enumerate(names)}
    joints = [tree.require_joint(name, 'joint') for name in names]
    return LoopSystem(
        names=tuple(names),
        driven=tuple(local[name] for name in spec.driven if name in local),
        commanded=tuple(local[name] for name in spec.commanded if name in local),
        paths=tuple(tree.find_path(loop, local) for loop in loops),
        hints={local[name]: value for name, value in spec.start if name in local},
        slides=frozenset(k for k, joint in enumerate(joints) if joint.type == 'prismatic'),
        limits=tuple(find_linkage_limits(joint) for joint in joints),
        tolerance=spec.tolerance,
    )
