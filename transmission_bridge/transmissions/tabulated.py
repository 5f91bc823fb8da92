# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Measured curves from an actuator to joints: cams, fingers, any mechanism without an equation.

URDFs and ``loops`` make tables, and plugins of others may subclass the class: the names of
columns, the public arguments and the curve through the points are fixed. Both directions are
formulas in CasADi, compiled once per number of points and joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.compiled import all_of, Expression, known_if
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.equation_mechanism import EquationMechanism, Equations
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.types import Array


def interpolate_monotone(x: Array, y: Array) -> Array:
    """
    Return the monotone, once continuously differentiable cubic pieces through ``(x_k, y_k)``.

    The slope at an inner point is the weighted harmonic mean of the slopes of the two chords,
    ``(w1 + w2) / (w1 / d1 + w2 / d2)`` with ``w1 = 2 h2 + h1``, ``w2 = h2 + 2 h1``. At the ends it
    is the slope of the parabola through three points, limited to the range from zero to three
    times the slope of the chord. Each piece is then monotone. Source: Fritsch and Butland 1984, as
    in scipy's ``PchipInterpolator``.

    :param x: At least two numbers, strictly increasing.
    :param y: As many numbers, strictly increasing or strictly decreasing.
    :returns: ``x_k``, ``y_k`` and the coefficients of the powers 1 to 3 of ``x - x_k``, shape
        ``(pieces, 5)``.
    :raises TransmissionError: If the points do not meet these conditions.
    """
    expected = ''
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        expected = 'two columns of equal length, two points or more'
    elif not (np.isfinite(x).all() and np.isfinite(y).all()):
        expected = 'finite numbers'
    elif not (np.diff(x) > 0.0).all():
        expected = 'the first column to increase, or to decrease, from point to point'
    elif not ((np.diff(y) > 0.0).all() or (np.diff(y) < 0.0).all()):
        expected = 'each column to increase, or to decrease, from point to point'
    if expected:
        found = f'{x.tolist()} and {y.tolist()}'
        raise TransmissionError(
            'the table is invalid', parameter='table', expected=expected, found=found
        )
    width = np.diff(x)
    chord = np.diff(y) / width
    slope = np.full(len(x), chord[0])
    if len(width) > 1:
        weight_before = 2.0 * width[1:] + width[:-1]
        weight_after = width[1:] + 2.0 * width[:-1]
        harmonic = weight_before / chord[:-1] + weight_after / chord[1:]
        slope[1:-1] = (weight_before + weight_after) / harmonic
        for end, inner in ((0, 1), (-1, -2)):
            step, next_step = width[end], width[inner]
            parabola = (2.0 * step + next_step) * chord[end] - step * chord[inner]
            low, high = sorted((0.0, 3.0 * chord[end]))
            slope[end] = min(max(parabola / (step + next_step), low), high)
    square = (3.0 * chord - 2.0 * slope[:-1] - slope[1:]) / width
    cube = (slope[:-1] + slope[1:] - 2.0 * chord) / (width * width)
    return np.stack((x[:-1], y[:-1], slope[:-1], square, cube), axis=1)


class TabulatedTransmission(MechanismTransmission):
    """
    One actuator moves one or several joints, each by a measured, monotone curve.

    With ``T_i`` the monotone cubic through the points of joint ``i``
    (:func:`interpolate_monotone`, its derivative is continuous), ``ar`` the actuator reduction and
    ``off_i`` the joint offsets::

        j_i = T_i(a / ar) + off_i            a = ar T_i^-1(j_i - off_i)
        dj_i/da = T_i'(a / ar) / ar          d/dt dj_i/da = T_i''(a / ar) a' / ar^2

    Every interface follows from these, see :class:`MechanismTransmission`: the effort of the
    actuator is ``sum_i dj_i/da tau_i``. Any joint determines the actuator and all other joints.
    Several joints that contradict each other determine the mean of their actuator positions,
    weighted with ``T_i'^2``: to first order in the contradiction the least-squares solution.

    Each inverse is solved within the piece of the table that contains the value. The domain is the
    range of the table; there is no extrapolation. Accelerations jump at the points of the table,
    as does the second derivative.

    The description has either a column per member or a row per point::

        <param name="actuator">0 0.2 0.4</param>     <point actuator="0" joint="0"/>
        <param name="joint">0 0.1 0.3</param>        <point actuator="0.2" joint="0.1"/> ...

    The columns of several joints are ``joint1``, ``joint2`` and so on, by role. The points are
    measured together and are not tunable one by one; reduction and offsets are tunable.

    :param actuator: Measured actuator positions before the reduction [rad or m], strictly
        increasing or decreasing.
    :param joint: Joint positions measured there [rad or m], shape ``(points,)`` or
        ``(points, n_joints)``, each column strictly increasing or decreasing.
    :param actuator_reduction: ``ar``.
    :param joint_offset: ``off`` [rad or m], a number or one per joint.
    :raises TransmissionError: If the table is not strictly monotone, the reduction is zero or a
        number is not finite.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        actuator: npt.ArrayLike,
        joint: npt.ArrayLike,
        *,
        actuator_reduction: float = 1.0,
        joint_offset: float | Sequence[float] = 0.0,
    ) -> None:
        x, columns = np.array(actuator, dtype=np.float64), np.array(joint, dtype=np.float64)
        columns = columns[:, np.newaxis] if columns.ndim == 1 else columns
        n = columns.shape[-1]
        self.members = 1, n
        offsets = joint_offset if isinstance(joint_offset, Sequence) else (joint_offset,) * n
        self._set_gears((actuator_reduction,), None, offsets)
        if x.ndim == 1 and len(x) > 1 and x[0] > x[-1]:
            x, columns = x[::-1], columns[::-1]
        numbers = x.tolist()
        for y in columns.T:
            pieces, sense = interpolate_monotone(x, y), math.copysign(1.0, y[-1] - y[0])
            more = np.diff(x), np.full(len(pieces), sense)
            numbers += [*(sense * y).tolist(), *np.column_stack([pieces, *more]).ravel().tolist()]
        #: Actuator positions, increasing, and the joint positions there.
        self._columns = x, columns
        ends = x[[0, -1], np.newaxis]
        bare = Domain.between('actuator', ends)
        self.domain = Domain.between('actuator', self.actuator_reduction[0] * ends)
        steps = _build_table_steps(len(x), n)
        self._mechanism = EquationMechanism(steps, numbers, bare, None)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> TabulatedTransmission:
        """Build from one actuator, its joints and the table in one of its two spellings."""
        reader.require_members(joints=len(reader.spec.joints), actuators=1)
        n = len(reader.spec.joints)
        names = ['actuator', *([f'joint{k}' for k in range(1, n + 1)] if n > 1 else ['joint'])]
        points = reader.elements('point')
        columns = [reader.text(name, default='') for name in names]
        given = [name for name, column in zip(names, columns, strict=True) if column]
        if bool(points) == (given == names) or (points and given):
            attributes = ' '.join(f'{name}=""' for name in names)
            raise reader.error(
                'the table is missing or ambiguous',
                parameter='actuator',
                expected=f'<param>s with the names {", ".join(names)}, or <point {attributes}/> '
                'elements',
                found=', '.join(['<point>'] * bool(points) + given) or 'neither',
            )
        rows = [dict(point.attributes) for point in points]
        for point, row in zip(points, rows, strict=True):
            if row.keys() != {*names}:
                raise reader.error(
                    f'the point in line {point.line} is invalid',
                    parameter='point',
                    expected=f'attributes {", ".join(names)}',
                    found=', '.join(row) or 'none',
                )
        if points:
            columns = [' '.join(row[name] for row in rows) for name in names]
        actuator, *joints = table = [
            reader.parse_numbers('point' if points else name, column)
            for name, column in zip(names, columns, strict=True)
        ]
        if len({*map(len, table)}) > 1:
            lengths = zip(names, map(len, table), strict=True)
            raise reader.error(
                'the columns of the table are not equally long',
                parameter='point' if points else 'actuator',
                expected='a number of each member at each point',
                found=', '.join(f'{length} of {name}' for name, length in lengths),
            )
        return cls(
            actuator,
            list(zip(*joints, strict=True)),
            actuator_reduction=reader.actuator_reductions()[0],
            joint_offset=reader.joint_offsets(),
        )

    def doubts(self) -> tuple[str, ...]:
        """Return a sentence for each column that is probably in another unit."""
        actuator, columns = self._columns
        reach, are_integers = np.abs(actuator).max(), bool((actuator % 1.0 == 0.0).all())
        reached = [('actuator', reach)] if are_integers and reach > LARGEST_INTEGER else []
        reaches = np.abs(columns).max(axis=0).tolist()
        reached += [(f'joint{k}', far) for k, far in enumerate(reaches, 1) if far > LARGEST_JOINT]
        return tuple(
            f'the column of {name} in the table reaches {largest:g}, which is probably in '
            'degrees, ticks or mm; expected rad or m'
            for name, largest in reached
        )

    def select_joints(self, joints: list[int]) -> MechanismTransmission:
        """Return the table of some joints: any of them determine the actuator."""
        actuator, columns = self._columns
        table = TabulatedTransmission(
            actuator,
            columns[:, joints],
            actuator_reduction=self.actuator_reduction[0],
            joint_offset=[self.joint_offset[k] for k in joints],
        )
        return table.with_max_gain(self.max_gain)


#: Larger positions of a joint are in degrees or mm, and larger integers in ticks.
LARGEST_JOINT, LARGEST_INTEGER = 6.0 * math.pi, 360.0

#: Relative differences that are rounding.
ROUNDING = 4e-16

#: Steps of the inverse in a piece: each at least halves the interval.
_STEPS = 40

#: Weight of a joint that stands still; if all do, they have equal weights.
SMALLEST_WEIGHT = 1e-300


@cache
def _build_table_steps(count: int, n: int) -> Equations:
    """
    Return the functions of tables with ``count`` points of ``n`` joints.

    Both directions are formulas. The numbers are the positions of the actuator, then for each
    joint its positions times their sense, and its pieces, each with the five numbers of
    :func:`interpolate_monotone`, its width and the sense. The constructor of a transmission makes
    them in this order.
    """
    curve, search = _build_piece_functions()
    block = count + 7 * (count - 1)

    def make_symbols(unknown: int) -> tuple[Any, Any, list[Any]]:
        """Return the numbers with factors of the rows, those of the actuator, of each joint."""
        p: Any = ca.MX.sym('p', count + n * block + unknown)
        return p, p[:count], [p[count + k * block : count + (k + 1) * block] for k in range(n)]

    def pick(joint: Any, begins: Any, at: Any) -> Any:
        """Return the piece of a joint at a position, where it begins in a column of points."""
        return joint[count + 7 * ca.low(begins, at) + ca.DM(np.arange(7.0))]

    def evaluate(a: Any, x: Any, joints: list[Any]) -> list[Any]:
        """Return positions of the joints, their derivatives, and their second derivatives."""
        curves = [curve(a, pick(joint, x, a)) for joint in joints]
        return [ca.vertcat(*values) for values in zip(*curves, strict=True)]

    z, rates = ca.MX.sym('z', 1 + n), ca.MX.sym('rates', 1 + n)
    a, q = ca.MX.sym('a', 1), ca.MX.sym('q', n)
    # Written out, so that formula and rows look up the pieces once.
    options = {'always_inline': True}
    p, *blocks = make_symbols(n)
    level, ratio, change = evaluate(z[0], *blocks)
    forward = ca.Function('formula', [a, p], evaluate(a, *blocks)[:1], options)
    slopes = ca.horzcat(-ratio, ca.MX.eye(n))
    rows = ca.Function('rows', [z, p], [z[1:] - level, slopes], options)
    bend = ca.Function('bend', [z, rates, p], [-change * rates[0] ** 2])
    p, x, joints = make_symbols(1)
    level, ratio, change = evaluate(z[0], x, joints)
    # The row of least squares. Where joints stand still, rounding may reverse their ratios.
    size, senses = ca.norm_2(ratio), ca.vertcat(*(joint[count + 6] for joint in joints))
    weight = senses * ca.if_else(size > 0.0, ca.fabs(ratio) / size, 1.0)
    slopes = ca.horzcat(-ca.dot(weight, ratio), weight.T)
    row = ca.Function('rows', [z, p], [ca.dot(weight, z[1:] - level), slopes], options)
    bend_of_row = ca.Function('bend', [z, rates, p], [-ca.dot(weight, change) * rates[0] ** 2])
    solved, weights, is_inside = [], [], []
    for k, joint in enumerate(joints):
        value, slack = senses[k] * q[k], SLACK * (joint[count - 1] - joint[0])
        is_inside += [value >= joint[0] - slack, value <= joint[count - 1] + slack]
        piece = pick(joint, joint[:count], value)
        solved.append(search(q[k], piece))
        weights.append(curve(solved[k], piece)[1] ** 2 + SMALLEST_WEIGHT)
    mean = ca.dot(ca.vertcat(*weights) / sum(weights), ca.vertcat(*solved))
    back = ca.Function('formula', [q, p], [known_if(all_of(is_inside), mean)], options)
    bends = (lambda: bend), (lambda: bend_of_row)
    return Equations(False, (1, n), (forward, back), (rows, row), bends)


@cache
def _build_piece_functions() -> tuple[Any, Any]:
    """
    Return two functions of a piece: position with derivatives, and the inverse.

    The inverse is found by Newton's steps, or by halving where these leave the interval.
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
    return curve, ca.Function('search', [q, piece], [x + along], {'cse': True})
