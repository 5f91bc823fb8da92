# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints that weighted sums or polynomials connect, with what moves them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
import math

import numpy as np
from numpy.polynomial import Polynomial

from transmission_bridge.description import compute_limits, RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.formats import Choice, CouplingRow, Found, LoopMotor
from transmission_bridge.transmissions import TabulatedTransmission
from transmission_bridge.types import Array

#: Number of points of the table of a polynomial.
TABLE_POINTS = 33


@dataclass(frozen=True, eq=False)
class Coupling:
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
    matrix: Array
    offset: Array
    choice: Choice | None = None
    table: Array = field(default_factory=lambda: np.zeros((0, 0)))
    error: float = 0.0


def propose_couplings(
    robot: RobotDescription,
    found: Found,
    chosen: Mapping[str, LoopMotor],
    taken: Collection[str],
) -> list[Coupling]:
    """
    Return the joints that rows connect, each group with its map.

    :param chosen: Motors that the user has chosen, by joint.
    :param taken: Joints of loops, which a row cannot have.
    :raises UsageError: If a row has a joint of a loop, or the rows of a group are dependent or no
        table.
    """
    groups: list[list[CouplingRow]] = []
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
    for rows in groups:
        joints = tuple(dict.fromkeys(name for row in rows for name in row.weights))
        motors = {name: chosen[name] for name in joints if name in chosen} or {
            name: found.driven[name] for name in joints if name in found.driven
        }
        if all(row.curve is None for row in rows):
            couplings.append(_solve_rows(rows, joints, motors))
        else:
            couplings.append(_tabulate_rows(rows, joints, motors, robot))
    return [
        replace(coupling, name=f'coupling_{number}' if number > 1 else 'coupling')
        for number, coupling in enumerate(couplings, 1)
    ]


def _solve_rows(
    rows: Sequence[CouplingRow], joints: tuple[str, ...], driven: Mapping[str, LoopMotor]
) -> Coupling:
    missing = len(joints) - len(rows) - len(driven)
    leaders = [name for name in joints if all(next(iter(r.weights)) != name for r in rows)]
    is_free = not driven and all(row.motor is None for row in rows)
    if is_free and missing == len(leaders) > 0:
        driven, missing = {name: LoopMotor(f'{name}_motor') for name in leaders}, 0
    whole = [
        *rows,
        *(CouplingRow(name, {name: 1.0}, 0.0, motor) for name, motor in driven.items()),
    ]
    motors = tuple(row.motor for row in whole if row.motor is not None)
    table = np.array([[row.weights.get(name, 0.0) for name in joints] for row in whole])
    if missing > 0:
        among = tuple(name for name in joints if name not in driven)
        choice = Choice('--drive', missing, among)
        return Coupling('', joints, motors, np.zeros((0, 0)), np.zeros(0), choice)
    if missing < 0 or np.linalg.matrix_rank(table) < len(joints):
        raise UsageError(
            f'expected {counted(len(joints), "independent row")} for {", ".join(joints)}, found '
            f'{", ".join(row.name for row in whole)}'
        )
    inverse = np.linalg.inv(table)
    moved = [k for k, row in enumerate(whole) if row.motor is not None]
    offset = inverse @ [row.constant for row in whole]
    return Coupling('', joints, motors, inverse[:, moved], offset)


def _tabulate_rows(
    rows: Sequence[CouplingRow],
    joints: tuple[str, ...],
    driven: Mapping[str, LoopMotor],
    robot: RobotDescription,
) -> Coupling:
    """Return the table of joints that are polynomials of one joint, over the limits of this."""
    curves: dict[str, tuple[str, Polynomial]] = {}
    motors: list[tuple[LoopMotor, Mapping[str, float]]] = [
        (motor, {name: 1.0}) for name, motor in driven.items()
    ]
    for row in rows:
        if row.motor is not None:
            motors.append((row.motor, row.weights))
        elif len(row.weights) == 2:
            (one, weight), (other, factor) = row.weights.items()
            line = Polynomial([row.constant / weight, -factor / weight])
            curves[one] = other, row.curve or line
    leaders = [name for name in joints if name not in curves]
    if len(leaders) == 1 and not motors:
        motors = [(LoopMotor(f'{leaders[0]}_motor'), {leaders[0]: 1.0})]
    positions = {name: Polynomial([0.0, 1.0]) for name in leaders}
    for name in [*curves] * len(curves):
        other, curve = curves[name]
        if other in positions:
            positions[name] = curve(positions[other])
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
    lower, upper = compute_limits(robot, [leader])[:, 0, 0].tolist()
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise UsageError(f"'{where}': expected <limit lower upper> of '{leader}', found none")
    moved = sum((positions[name] * weight for name, weight in weights.items()), Polynomial([0.0]))
    columns = [moved, *(positions[name] for name in joints)]

    def sample(count: int) -> Array:
        at = np.linspace(lower, upper, count)
        return np.stack([column(at) for column in columns], axis=1)

    table, fine = sample(TABLE_POINTS), sample(10 * TABLE_POINTS)
    for name, column in zip((motor.name, *joints), fine.T, strict=True):
        turns = np.flatnonzero(np.diff(np.sign(np.diff(column))))
        if len(turns):
            turn = fine[turns[0] + 1, 1 + joints.index(leader)]
            raise UsageError(
                f"'{where}': expected limits of '{leader}' within which '{name}' does not turn "
                f'back, found a turn at {turn:.4g}'
            )
    made = TabulatedTransmission(table[:, 0], table[:, 1:])
    error = np.abs(made.actuator_to_joint('position', fine[:, :1]) - fine[:, 1:]).max()
    nothing = np.zeros((0, 0))
    return Coupling('', joints, (motor,), nothing, nothing, None, table, float(error))
