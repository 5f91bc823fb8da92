# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A measured curve from actuator to joint: cams, worn linkages, any mechanism without equation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math
from typing import Any, ClassVar, TypeAlias

import casadi as ca
import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.equation_mechanism import EquationMechanism, EquationSteps
from transmission_bridge.transmissions.equations import Equations
from transmission_bridge.transmissions.expressions import known_if
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.monotone_cubic import interpolate_monotone
from transmission_bridge.transmissions.spec_reader import SpecReader

Expression: TypeAlias = Any


class TabulatedTransmission(MechanismTransmission):
    """
    One actuator moves one joint by a measured, monotone curve.

    With ``T`` the monotone cubic through the table (:func:`interpolate_monotone`, its derivative
    is continuous), ``ar`` the actuator reduction, ``jr`` the joint reduction and ``off`` the joint
    offset::

        j = T(a / ar) / jr + off             a = ar T^-1(jr (j - off))
        dj/da = T'(a / ar) / (ar jr)         d/dt dj/da = T''(a / ar) a' / (ar^2 jr)

    Every interface follows from these, see :class:`MechanismTransmission`. The inverse is
    solved within the piece of the table that contains the value. The domain is the range of the
    table; there is no extrapolation. Accelerations jump at the points of the table, as does the
    second derivative.

    The description has either two columns or a row per point::

        <param name="actuator">0 0.2 0.4</param>     <point actuator="0" joint="0"/>
        <param name="joint">0 0.1 0.3</param>        <point actuator="0.2" joint="0.1"/> ...

    The points are measured together and are not tunable one by one; reductions and offset are
    tunable.

    :param actuator: Measured actuator positions before the reduction [rad or m], strictly
        increasing or decreasing.
    :param joint: Measured joint positions [rad or m], strictly increasing or decreasing.
    :param actuator_reduction: ``ar``.
    :param joint_reduction: ``jr``.
    :param joint_offset: ``off`` [rad or m].
    :raises TransmissionError: If the table is not strictly monotone, a reduction is zero or a
        number is not finite.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        actuator: npt.ArrayLike,
        joint: npt.ArrayLike,
        *,
        actuator_reduction: float = 1.0,
        joint_reduction: float = 1.0,
        joint_offset: float = 0.0,
    ) -> None:
        self._set_gears((actuator_reduction,), (joint_reduction,), (joint_offset,))
        x, y = np.array(actuator, dtype=np.float64), np.array(joint, dtype=np.float64)
        if x.ndim == 1 and len(x) > 1 and x[0] > x[-1]:
            x, y = x[::-1], y[::-1]
        pieces, sense = interpolate_monotone(x, y), math.copysign(1.0, y[-1] - y[0])
        more = np.diff(x), np.full(len(pieces), sense)
        numbers = (
            *x.tolist(),
            *(sense * y).tolist(),
            *np.column_stack([pieces, *more]).ravel().tolist(),
        )
        ends = x[[0, -1], np.newaxis]
        bare = Domain.between('actuator', ends)
        self.domain = Domain.between('actuator', self.actuator_reduction[0] * ends)
        steps = _build_table_steps(len(x))
        self._mechanism = EquationMechanism.build(steps, numbers, bare, None)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> TabulatedTransmission:
        """Build from one actuator, one joint and the table in one of its two spellings."""
        reader.require_members(joints=1, actuators=1)
        actuator, joint = _read_table(reader)
        return cls(
            actuator,
            joint,
            actuator_reduction=reader.actuator_reductions()[0],
            joint_reduction=reader.joint_reductions()[0],
            joint_offset=reader.joint_offsets()[0],
        )


#: Relative differences that are rounding.
ROUNDING = 4e-16

#: Steps of the inverse in a piece: each at least halves the interval.
_STEPS = 40


@cache
def _build_table_steps(count: int) -> EquationSteps:
    """
    Return the functions of tables with ``count`` points.

    Both directions are formulas: the piece is looked up, and the inverse is found in it by
    Newton's steps, or by halving where these leave the interval.
    """
    a, q, piece = (ca.SX.sym(name, n) for name, n in (('a', 1), ('q', 1), ('piece', 7)))
    x, y, linear, square, cube, width, sense = ca.vertsplit(piece)

    def evaluate(along: Expression) -> tuple[Expression, Expression]:
        value = along * (linear + along * (square + along * cube))
        return value, linear + along * (2.0 * square + along * (3.0 * cube))

    value, slope = evaluate(a - x)
    bent = 2.0 * square + 6.0 * cube * (a - x)
    curve = ca.Function('curve', [a, piece], [y + value, slope, bent])
    low, high, along = ca.SX(0.0), width, 0.5 * width
    for _ in range(_STEPS):
        value, slope = evaluate(along)
        is_above = sense * (value + y - q) > 0.0
        low, high = ca.if_else(is_above, low, along), ca.if_else(is_above, along, high)
        step = along - (value + y - q) / slope
        is_inside = ca.logic_and(step >= low, step <= high)
        along = ca.if_else(is_inside, step, 0.5 * (low + high))
    # At a point of the table the result is this point, also if rounding hides a flat curve.
    near = ROUNDING * (ca.fabs(y) + ca.fabs(evaluate(width)[0]) + ca.fabs(q))
    for end in (ca.SX(0.0), width):
        along = ca.if_else(ca.fabs(evaluate(end)[0] + y - q) <= near, end, along)
    search = ca.Function('search', [q, piece], [x + along], {'cse': True})

    p: Any = ca.MX.sym('p', 2 * count + 7 * (count - 1) + 1)
    z: Any
    rates: Any
    one: Any
    z, rates, one = (ca.MX.sym(name, n) for name, n in (('z', 2), ('rate', 2), ('given', 1)))

    def pick(column: int, at: Any) -> Any:
        """Return the piece of a position, by the first or the second column of the points."""
        begins = p[column * count : (column + 1) * count]
        return p[2 * count + 7 * ca.low(begins, at) + ca.DM(np.arange(7.0))]

    ratio: Any
    senses = p[2 * count + 6]
    level, ratio, change = curve(z[0], pick(0, z[0]))
    # Written out, so that formula and rows look up the piece once.
    options = {'always_inline': True}
    rows = ca.Function('rows', [z, p], [z[1] - level, ca.horzcat(-ratio, 1.0)], options)
    forward = ca.Function('formula', [one, p], list(curve(one, pick(0, one))[:1]), options)
    slack = SLACK * (p[2 * count - 1] - p[count])
    is_inside = ca.logic_and(
        senses * one >= p[count] - slack, senses * one <= p[2 * count - 1] + slack
    )
    found = known_if(is_inside, search(one, pick(1, senses * one)))
    back = ca.Function('formula', [one, p], [found], options)
    bend = ca.Function('bend', [z, rates, p], [-change * rates[0] * rates[0]])
    equations = Equations((1, 1), (forward, back), (rows, rows), (lambda: bend,) * 2)
    return EquationSteps(equations, starts_at_joint=False)


def _read_table(reader: SpecReader) -> tuple[Sequence[float], Sequence[float]]:
    points = reader.elements('point')
    columns = [reader.text(name, default='') for name in ('actuator', 'joint')]
    if bool(points) == any(columns):
        raise reader.error(
            'the table is missing or ambiguous',
            parameter='actuator',
            expected='<param name="actuator"> and <param name="joint">, or <point actuator="" '
            'joint=""/> elements',
            found='both' if points else 'neither',
        )
    rows = [dict(point.attributes) for point in points]
    for point, row in zip(points, rows, strict=True):
        if row.keys() != {'actuator', 'joint'}:
            raise reader.error(
                f'the point in line {point.line} is invalid',
                parameter='point',
                expected='attributes actuator and joint',
                found=', '.join(row) or 'none',
            )
    if points:
        columns = [' '.join(row[name] for row in rows) for name in ('actuator', 'joint')]
    first, second = (
        reader.parse_numbers('point' if points else name, column)
        for name, column in zip(('actuator', 'joint'), columns, strict=True)
    )
    return first, second
