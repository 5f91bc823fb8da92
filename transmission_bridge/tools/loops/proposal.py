# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What determines a mechanism or a coupling: motors, commanded joints, and the choices that are left.

The loops that share joints are one mechanism. Its motions are the null space of the equations at
closed positions near its start. A set of joints determines another joint if the row of that joint
is a combination of their rows in every such null space. Joints that weighted sums or polynomials
connect are one coupling. :mod:`transmission_bridge.tools.loops.writing` writes both, and
``command`` prints them: fields are keys of the JSON. The same files and options always give the
same proposal; the rules of a choice may change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from transmission_bridge.description import collect_limits, JointSpec, RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.formats import (
    compute_link_pose,
    LoopChoice,
    LoopCouplingRow,
    LoopFile,
    LoopMotor,
)
from transmission_bridge.transmissions import TabulatedTransmission
from transmission_bridge.transmissions.linkage import (
    compute_rank_share,
    group_loop_joints,
    LinkageSpec,
    LinkageStructure,
    LinkageTree,
    Loop,
    LOOP_TYPES,
    LoopType,
    make_linkage_system,
)
from transmission_bridge.types import Array

#: Default and largest ``tolerance`` of a linkage: rounded dimensions open redundant equations.
TOLERANCES = 1e-9, 1e-3

#: Singular values and remainders below this share are zero; it decides what is determined.
ZERO = 1e-6


class LoopReport(NamedTuple):
    """
    One loop in its mechanism; its fields are keys of the JSON.

    :param type: As in ``<loop type>``.
    :param frames: The links that it joins.
    :param axis: Axis of a hinge, in both frames.
    :param equations: Number of its equations.
    :param rank: Number of the independent ones.
    :param joints: The joints that it depends on.
    :param gap: Distance [m] and angle [rad] between its frames with all joints at zero.
    """

    type: LoopType
    frames: tuple[str, str]
    axis: tuple[float, ...]
    equations: int
    rank: int
    joints: tuple[str, ...]
    gap: tuple[float, float]


@dataclass(frozen=True, eq=False)
class LoopMotions:
    """
    The motions of a mechanism at several positions.

    :param names: Its joints.
    :param bases: Null space of the equations at each position, shape ``(n, mobility)``.
    """

    names: tuple[str, ...]
    bases: tuple[Array, ...]

    def rank(self, joints: Sequence[str]) -> int:
        """Return how many of these joints move independently."""
        places = [self.names.index(name) for name in joints]
        rows = (basis[places] for basis in self.bases)
        return max((int(np.linalg.matrix_rank(x, ZERO)) for x in rows if x.size), default=0)

    def list_determined(self, joints: Sequence[str]) -> list[str]:
        """Return the joints that these joints determine."""
        places, rest = [self.names.index(name) for name in joints], np.zeros(len(self.names))
        for basis in self.bases:
            rows = basis[places]
            across = basis - basis @ np.linalg.pinv(rows, ZERO) @ rows
            rest = np.maximum(rest, np.linalg.norm(across, axis=1))
        return [name for name, size in zip(self.names, rest, strict=True) if size < ZERO]


@dataclass(frozen=True)
class ProposedMechanism:
    """
    Loops that share joints, complete or with a choice that is left.

    :param name: Name for its transmission.
    :param joints: Its joints.
    :param rank: Number of its independent equations.
    :param tolerance: Largest residual of its redundant equations.
    :param loops: Its loops.
    :param start: Positions of its joints in the assembly [rad or m].
    :param drivable: Joints that a motor can turn: they move, and their effort is not limited to 0.
    :param driven: Motors by the joint that they turn.
    :param commanded: The joints that are commanded.
    :param choice: What is missing, ``None`` if nothing is.
    """

    name: str
    joints: tuple[str, ...]
    rank: int
    tolerance: float
    loops: tuple[LoopReport, ...]
    start: Mapping[str, float]
    drivable: tuple[str, ...]
    driven: Mapping[str, LoopMotor]
    commanded: tuple[str, ...]
    choice: LoopChoice | None

    @property
    def mobility(self) -> int:
        """Number of independent motions, including idle ones, as of a rod about its axis."""
        return len(self.joints) - self.rank


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
    tree, variables = LinkageTree(robot.joints, robot.links), dict[str, int]()
    paths = [tree.find_path(loop, variables) for loop in loops]
    names = [*variables]
    free = {
        joint.name for joint in robot.joints if joint.limits is None or joint.limits.effort != 0.0
    }
    mechanisms: list[ProposedMechanism] = []
    for group, loop_indices in group_loop_joints(paths, len(names)):
        members = [names[k] for k in group]
        structure, tolerance = _close_loops(tree, tuple(loops), members, loop_indices)
        slopes, joints = structure.slopes, structure.names
        share, bases = compute_rank_share(structure.tolerance), []
        for slope in slopes:
            _, values, right = np.linalg.svd(slope)
            if int((values > share * values.max(initial=0.0)).sum()) == structure.rank:
                bases.append(right[structure.rank :].T)
        motions = LoopMotions(joints, tuple(bases))
        reports = []
        for number, path in enumerate(structure.paths):
            rows = slopes[:, [owner == number for owner in structure.closures.owners]]
            loop, moved = path.loop, tuple(joints[k] for k in sorted(path.variables))
            rank = max(int(np.linalg.matrix_rank(row, 1e-5)) for row in rows)
            pose = compute_link_pose(robot, loop.frame1, loop.frame2)
            distance, cosine = float(np.linalg.norm(pose[:3, 3])), 1.0
            if loop.type == 'weld':
                cosine = 0.5 * (np.trace(pose[:3, :3]) - 1.0)
            elif loop.type == 'hinge':
                cosine = np.dot(loop.axis, pose[:3, :3] @ loop.axis)
            gap = distance, math.acos(min(max(float(cosine), -1.0), 1.0))
            frames, equations = (loop.frame1, loop.frame2), LOOP_TYPES[loop.type]
            reports.append(LoopReport(loop.type, frames, loop.axis, equations, rank, moved, gap))
        drivable = tuple(name for name in joints if name in free and motions.rank([name]))
        wanted = {name: motor for name, motor in chosen.items() if name in joints} or {
            name: motor for name, motor in driven.items() if name in joints
        }
        mechanisms.append(
            ProposedMechanism(
                f'linkage_{len(mechanisms) + 1}' if mechanisms else 'linkage',
                joints,
                structure.rank,
                tolerance,
                tuple(reports),
                dict(zip(joints, structure.start.tolist(), strict=True)),
                drivable,
                *_choose_drive(robot, motions, drivable, wanted, commanded),
            )
        )
    return mechanisms


def _close_loops(
    tree: LinkageTree, loops: tuple[Loop, ...], names: Sequence[str], loop_indices: Sequence[int]
) -> tuple[LinkageStructure, float]:
    """Return a closed mechanism without motors, and the tolerance that its redundant rows need."""
    default, largest = TOLERANCES

    def close(tolerance: float) -> LinkageStructure:
        spec = LinkageSpec(loops, (), (), tolerance=tolerance)
        return LinkageStructure.from_loops(make_linkage_system(tree, spec, names, loop_indices))

    # First the assembly that is nearest, because a distant one may satisfy less rounded equations.
    gap = close(largest).gap
    decade = 10.0 ** math.ceil(math.log10(5.0 * gap)) if gap > default else default
    tolerance = min(decade, largest)
    return close(tolerance), tolerance


def _choose_drive(
    robot: RobotDescription,
    motions: LoopMotions,
    drivable: Sequence[str],
    driven: Mapping[str, LoopMotor],
    commanded: Sequence[str],
) -> tuple[Mapping[str, LoopMotor], tuple[str, ...], LoopChoice | None]:
    """
    Return motors, commanded joints and the choice that is left, as they are known or follow.

    These are the last three fields of :class:`ProposedMechanism`. The first set of joints that
    determines the mechanism is commanded.
    """
    driven = driven or {name: LoopMotor(f'{name}_motor') for name in drivable}
    count = motions.rank([*driven])
    if count < len(driven):
        return {}, (), LoopChoice('--drive', count, tuple(driven))
    determined = motions.list_determined([*driven])
    given = [name for name in commanded if name in motions.names]
    declared = {
        component.name
        for block in robot.blocks
        for component in block.components
        if component.kind == 'joint' and component.command_interfaces
    }
    loose = [name for name in determined if name not in driven]
    # By joint itself, and the joints of the mechanism that carry it.
    carriers = {joint.child: joint for joint in robot.joints}
    above: dict[str, list[str]] = {name: [] for name in motions.names}
    for joint in robot.joints:
        carrier: JointSpec | None = joint
        while joint.name in above and carrier is not None:
            above[joint.name] += [carrier.name] * (carrier.name in above)
            carrier = carriers.get(carrier.parent)
    carried = {carrier for name in loose if name in drivable for carrier in above[name]}
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
            return driven, tuple(way), None
        if way is given and given:
            raise UsageError(
                f'--command: expected {counted(len(driven), "independent joint")} of '
                f'{", ".join(determined)}, found {", ".join(given)}'
            )
    return driven, (), LoopChoice('--command', len(driven), tuple(determined))


#: Number of points of the table of a polynomial.
TABLE_POINTS = 33


@dataclass(frozen=True, eq=False)
class LoopCoupling:
    """
    Joints that weighted sums connect, ``q = matrix a + offset``, or polynomials in a table.

    :param name: Name for its transmission.
    :param joints: Its joints.
    :param motors: Its motors.
    :param matrix: Shape ``(joints, motors)``, empty as long as a choice is left.
    :param offset: Positions of the joints with the motors at zero [rad or m].
    :param choice: What is missing, ``None`` if nothing is.
    :param table: Positions of the motor and of the joints, shape ``(points, 1 + joints)``, empty
        without polynomials.
    :param error: Largest distance of the table from the polynomials [rad or m].
    """

    name: str
    joints: tuple[str, ...]
    motors: tuple[LoopMotor, ...]
    matrix: Array = field(default_factory=lambda: np.zeros((0, 0)))
    offset: Array = field(default_factory=lambda: np.zeros(0))
    choice: LoopChoice | None = None
    table: Array = field(default_factory=lambda: np.zeros((0, 0)))
    error: float = 0.0


def propose_couplings(
    robot: RobotDescription,
    found: LoopFile,
    chosen: Mapping[str, LoopMotor],
    taken: Collection[str],
) -> list[LoopCoupling]:
    """
    Return the joints that rows connect, each group with its map.

    :param chosen: Motors that the user has chosen, by joint.
    :param taken: Joints of loops, which a row cannot have.
    :raises UsageError: If a row has a joint of a loop, or the rows of a group are dependent or no
        table.
    """
    groups: list[list[LoopCouplingRow]] = []
    for row in found.rows:
        for name in row.weights:
            if name in taken:
                raise UsageError(
                    f"'{row.name}': joint '{name}' is in a loop as well; expected <mimic> in the "
                    'URDF, which a loop follows'
                )
        joined = [group for group in groups if any(r.weights.keys() & row.weights for r in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(r for group in joined for r in group), row])
    couplings = []
    for number, rows in enumerate(groups, 1):
        name = f'coupling_{number}' if number > 1 else 'coupling'
        joints = tuple(dict.fromkeys(name for row in rows for name in row.weights))
        motors = {name: chosen[name] for name in joints if name in chosen} or {
            name: found.driven[name] for name in joints if name in found.driven
        }
        if all(row.curve is None for row in rows):
            couplings.append(_solve_rows(name, rows, joints, motors))
        else:
            couplings.append(_tabulate_rows(name, rows, joints, motors, robot))
    return couplings


def _solve_rows(
    name: str,
    rows: Sequence[LoopCouplingRow],
    joints: tuple[str, ...],
    driven: Mapping[str, LoopMotor],
) -> LoopCoupling:
    missing = len(joints) - len(rows) - len(driven)
    leaders = [joint for joint in joints if all(next(iter(r.weights)) != joint for r in rows)]
    is_free = not driven and all(row.motor is None for row in rows)
    if is_free and missing == len(leaders) > 0:
        driven, missing = {joint: LoopMotor(f'{joint}_motor') for joint in leaders}, 0
    moved_alone = (LoopCouplingRow(x, {x: 1.0}, motor=motor) for x, motor in driven.items())
    whole = [*rows, *moved_alone]
    motors = tuple(row.motor for row in whole if row.motor is not None)
    table = np.array([[row.weights.get(joint, 0.0) for joint in joints] for row in whole])
    if missing > 0:
        among = tuple(joint for joint in joints if joint not in driven)
        return LoopCoupling(name, joints, motors, choice=LoopChoice('--drive', missing, among))
    if missing < 0 or np.linalg.matrix_rank(table) < len(joints):
        raise UsageError(
            f'expected {counted(len(joints), "independent row")} for {", ".join(joints)}, found '
            f'{", ".join(row.name for row in whole)}'
        )
    inverse = np.linalg.inv(table)
    moved = [k for k, row in enumerate(whole) if row.motor is not None]
    offset = inverse @ [row.constant for row in whole]
    return LoopCoupling(name, joints, motors, inverse[:, moved], offset)


def _tabulate_rows(
    name: str,
    rows: Sequence[LoopCouplingRow],
    joints: tuple[str, ...],
    driven: Mapping[str, LoopMotor],
    robot: RobotDescription,
) -> LoopCoupling:
    """Return the table of joints that are polynomials of one joint, over the limits of this."""
    curves: dict[str, tuple[str, Polynomial]] = {}
    motors: list[tuple[LoopMotor, Mapping[str, float]]] = [
        (motor, {joint: 1.0}) for joint, motor in driven.items()
    ]
    for row in rows:
        if row.motor is not None:
            motors.append((row.motor, row.weights))
        elif len(row.weights) == 2:
            (one, weight), (other, factor) = row.weights.items()
            line = Polynomial([row.constant / weight, -factor / weight])
            curves[one] = other, row.curve or line
    leaders = [joint for joint in joints if joint not in curves]
    if len(leaders) == 1 and not motors:
        motors = [(LoopMotor(f'{leaders[0]}_motor'), {leaders[0]: 1.0})]
    positions = {joint: Polynomial([0.0, 1.0]) for joint in leaders}
    for joint in [*curves] * len(curves):
        other, curve = curves[joint]
        if other in positions:
            positions[joint] = curve(positions[other])
    where = ', '.join(row.name for row in rows)
    stated = [row.name for row in rows if row.motor is None]
    if (len(leaders), len(motors), len(positions)) != (1, 1, len(joints)) or (
        len(curves) != len(stated)
    ):
        raise UsageError(
            f"'{where}': expected one motor, and every joint but one as one polynomial of "
            f'another joint, found {counted(len(motors), "motor")} and '
            f'{counted(len(stated), "row")} for {", ".join(joints)}'
        )
    (leader,), ((motor, weights),) = leaders, motors
    lower, upper = collect_limits(robot, [leader])[:, 0, 0].tolist()
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise UsageError(f"'{where}': expected <limit lower upper> of '{leader}', found none")
    moved = sum((positions[x] * weight for x, weight in weights.items()), Polynomial([0.0]))
    columns = [moved, *(positions[joint] for joint in joints)]

    def sample(count: int) -> Array:
        at = np.linspace(lower, upper, count)
        return np.stack([column(at) for column in columns], axis=1)

    table, fine = sample(TABLE_POINTS), sample(10 * TABLE_POINTS)
    for turned, column in zip((motor.name, *joints), fine.T, strict=True):
        turns = np.flatnonzero(np.diff(np.sign(np.diff(column))))
        if len(turns):
            turn = fine[turns[0] + 1, 1 + joints.index(leader)]
            raise UsageError(
                f"'{where}': expected limits of '{leader}' within which '{turned}' does not turn "
                f'back, found a turn at {turn:.4g}'
            )
    made = TabulatedTransmission(table[:, 0], table[:, 1:])
    error = np.abs(made.actuator_to_joint('position', fine[:, :1]) - fine[:, 1:]).max()
    return LoopCoupling(name, joints, (motor,), table=table, error=float(error))
