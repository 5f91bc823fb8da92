# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What determines a mechanism: its motors, its commanded joints, and the choices that are left.

The loops that share joints are one mechanism. Its motions are the null space of the equations at
closed positions near its start. A set of joints determines another joint if the row of that joint
is a combination of their rows in every such null space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.found import Choice, LoopMotor, pose_between
from transmission_bridge.transmissions.linkage import (
    group_joints,
    JointTree,
    LinkageSpec,
    Loop,
    make_system,
    share_of_rank,
    Structure,
)
from transmission_bridge.types import Array

#: Default and largest ``tolerance`` of a linkage: rounded dimensions open redundant equations.
TOLERANCES = 1e-9, 1e-3

#: Singular values and remainders below this share are zero.
ZERO = 1e-6


@dataclass(frozen=True)
class DrivenJoints:
    """
    Joints with the motors that move them.

    :param driven: Motors by the joint that they turn.
    :param commanded: The joints that are commanded.
    :param choice: What is missing, ``None`` if nothing is.
    """

    driven: Mapping[str, LoopMotor]
    commanded: tuple[str, ...] = ()
    choice: Choice | None = None


@dataclass(frozen=True)
class LoopReport:
    """
    One loop in its mechanism.

    :param loop: The loop.
    :param joints: The joints that it depends on.
    :param rank: Number of its independent equations.
    :param gap: Distance [m] and angle [rad] between its frames with all joints at zero.
    """

    loop: Loop
    joints: tuple[str, ...]
    rank: int
    gap: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Motions:
    """
    The motions of a mechanism at several positions.

    :param names: Its joints.
    :param bases: Null space of the equations at each position, shape ``(n, mobility)``.
    """

    names: tuple[str, ...]
    bases: tuple[Array, ...]

    def _rows(self, joints: Sequence[str]) -> list[Array]:
        places = [self.names.index(name) for name in joints]
        return [basis[places] for basis in self.bases]

    def rank(self, joints: Sequence[str]) -> int:
        """Return how many of these joints move independently."""
        return max(
            (int(np.linalg.matrix_rank(row, ZERO)) for row in self._rows(joints) if row.size),
            default=0,
        )

    def list_determined(self, joints: Sequence[str]) -> list[str]:
        """Return the joints that these joints determine."""
        rest = np.zeros(len(self.names))
        for rows, basis in zip(self._rows(joints), self.bases, strict=True):
            across = basis - basis @ np.linalg.pinv(rows, ZERO) @ rows
            rest = np.maximum(rest, np.linalg.norm(across, axis=1))
        return [name for name, size in zip(self.names, rest, strict=True) if size < ZERO]


@dataclass(frozen=True)
class ProposedMechanism:
    """
    Loops that share joints.

    :param name: Name for its transmission.
    :param loops: Its loops.
    :param motions: Its motions.
    :param start: Positions of its joints in the assembly [rad or m].
    :param rank: Number of its independent equations.
    :param drivable: Joints that a motor can turn: they move, and their effort is not limited to 0.
    :param tolerance: Largest residual of its redundant equations.
    :param drive: Its motors and commanded joints.
    """

    name: str
    loops: tuple[LoopReport, ...]
    motions: Motions
    start: Mapping[str, float]
    rank: int
    drivable: tuple[str, ...]
    tolerance: float
    drive: DrivenJoints

    @property
    def mobility(self) -> int:
        """Number of independent motions, including idle ones, as of a rod about its axis."""
        return len(self.motions.names) - self.rank


def propose_linkages(
    robot: RobotDescription,
    loops: Sequence[Loop],
    driven: Mapping[str, LoopMotor],
    chosen: Mapping[str, LoopMotor],
    commanded: Sequence[str],
) -> list[ProposedMechanism]:
    """
    Return the mechanisms of some loops, with what moves them.

    :param driven: Motors that a file states, by the joint that they turn.
    :param chosen: Motors that the user has chosen, which replace them.
    :param commanded: Joints that the user has chosen to command.
    :raises TransmissionError: If a loop does not close, or no joint moves it.
    :raises UsageError: If the motors of a mechanism block each other.
    """
    tree, variables = JointTree(robot.joints, robot.links), dict[str, int]()
    paths = [tree.find_path(loop, variables) for loop in loops]
    names = [*variables]
    mechanisms: list[ProposedMechanism] = []
    for group, loop_indices in group_joints(paths, len(names)):
        joints = [names[k] for k in group]
        structure, tolerance = _close_loops(tree, tuple(loops), joints, loop_indices)
        slopes = structure.compute_slopes()
        motions = _choose_motions(structure, slopes)
        reports = []
        for place, path in enumerate(structure.paths):
            rows = slopes[:, [owner == place for owner in structure.closures.owners]]
            pose = pose_between(robot, path.loop.frame1, path.loop.frame2)
            members = tuple(structure.names[k] for k in sorted(path.variables))
            rank = max(int(np.linalg.matrix_rank(row, 1e-5)) for row in rows)
            reports.append(LoopReport(path.loop, members, rank, _measure_gap(path.loop, pose)))
        drivable = _list_drivable(robot, motions)
        wanted = {name: motor for name, motor in chosen.items() if name in joints} or {
            name: motor for name, motor in driven.items() if name in joints
        }
        drive = _choose_drive(robot, motions, drivable, wanted, commanded)
        number = f'_{len(mechanisms) + 1}' if mechanisms else ''
        start = dict(zip(structure.names, structure.start.tolist(), strict=True))
        mechanisms.append(
            ProposedMechanism(
                name=f'linkage{number}',
                loops=tuple(reports),
                motions=motions,
                start=start,
                rank=structure.rank,
                drivable=drivable,
                tolerance=tolerance,
                drive=drive,
            )
        )
    return mechanisms


def _close_loops(
    tree: JointTree, loops: tuple[Loop, ...], names: Sequence[str], own: Sequence[int]
) -> tuple[Structure, float]:
    """Return a closed mechanism without motors, and the tolerance that its redundant rows need."""
    default, largest = TOLERANCES

    def close(tolerance: float) -> Structure:
        spec = LinkageSpec(loops, (), (), tolerance=tolerance)
        return Structure.from_loops(make_system(tree, spec, names, own))

    # First the assembly that is nearest, because a distant one may satisfy less rounded equations.
    gap = close(largest).gap
    decade = 10.0 ** math.ceil(math.log10(5.0 * gap)) if gap > default else default
    tolerance = min(decade, largest)
    return close(tolerance), tolerance


def _choose_motions(structure: Structure, slopes: Array) -> Motions:
    share, bases = share_of_rank(structure.tolerance), []
    for slope in slopes:
        _, values, right = np.linalg.svd(slope)
        if int((values > share * values.max(initial=0.0)).sum()) == structure.rank:
            bases.append(right[structure.rank :].T)
    return Motions(structure.names, tuple(bases))


def _measure_gap(loop: Loop, pose: Array) -> tuple[float, float]:
    distance = float(np.linalg.norm(pose[:3, 3]))
    cosine = {'weld': 0.5 * (np.trace(pose[:3, :3]) - 1.0)}
    if loop.type == 'hinge':
        cosine['hinge'] = np.dot(loop.axis, pose[:3, :3] @ loop.axis)
    return distance, math.acos(min(max(float(cosine.get(loop.type, 1.0)), -1.0), 1.0))


def _list_drivable(robot: RobotDescription, motions: Motions) -> tuple[str, ...]:
    free = {
        joint.name for joint in robot.joints if joint.limits is None or joint.limits.effort != 0.0
    }
    return tuple(name for name in motions.names if name in free and motions.rank([name]))


def _choose_drive(
    robot: RobotDescription,
    motions: Motions,
    drivable: Sequence[str],
    driven: Mapping[str, LoopMotor],
    commanded: Sequence[str],
) -> DrivenJoints:
    """Return motors and commanded joints as far as they are known or follow."""
    count = motions.rank(drivable)
    if not driven:
        if len(drivable) != count:
            return DrivenJoints({}, choice=Choice('--drive', count, tuple(drivable)))
        driven = {name: LoopMotor(f'{name}_motor') for name in drivable}
    if motions.rank([*driven]) < len(driven):
        count = motions.rank([*driven])
        return DrivenJoints({}, choice=Choice('--drive', count, tuple(driven)))
    determined = motions.list_determined([*driven])
    given = [name for name in commanded if name in motions.names]
    declared = {
        component.name
        for block in robot.blocks
        for component in block.components
        if component.kind == 'joint' and component.command_interfaces
    }
    loose = [name for name in determined if name not in driven]
    above = {name: _list_above(robot, name, motions.names) for name in motions.names}
    carried = {each for name in loose if name in drivable for each in above[name]}
    ways = (
        given,
        [name for name in determined if name in declared],
        # As hip and knee of a leg with a motor at the hip and one at a crank.
        [name for name in motions.names if name in carried],
        [name for name in loose if not {*above[name]} & {*driven}],
    )
    for way in ways:
        is_complete = len(way) == len(driven) == motions.rank(way) and {*way} <= {*determined}
        if way and is_complete:
            return DrivenJoints(driven, tuple(way))
        if way is given and given:
            raise UsageError(
                f'--command: expected {counted(len(driven), "independent joint")} of '
                f'{", ".join(determined)}, found {", ".join(given)}'
            )
    return DrivenJoints(driven, choice=Choice('--command', len(driven), tuple(determined)))


def _list_above(robot: RobotDescription, name: str, own: Sequence[str]) -> list[str]:
    """Return a joint of a mechanism, and those of the mechanism that carry it."""
    carriers = {joint.child: joint for joint in robot.joints}
    above, joint = [], next((joint for joint in robot.joints if joint.name == name), None)
    while joint is not None:
        above.append(joint.name)
        joint = carriers.get(joint.parent)
    return [each for each in above if each in own]
