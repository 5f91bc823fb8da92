# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A measured curve from actuator to joint: cams, worn linkages, any mechanism without equation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_mechanism import EquationMechanism
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.mechanism_transmission import (
    CompiledPart,
    MechanismTransmission,
)
from transmission_bridge.transmissions.monotone_cubic import MonotoneCubic
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.system import Forms, System


class TabulatedTransmission(MechanismTransmission):
    """
    One actuator moves one joint by a measured, monotone curve.

    With ``T`` the monotone cubic through the table (:class:`MonotoneCubic`, its derivative is
    continuous), ``ar`` the actuator reduction, ``jr`` the joint reduction and ``off`` the joint
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

    api_version: ClassVar[int] = 2

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
        curve = MonotoneCubic(x, y)
        ends = self.actuator_reduction[0] * curve.x[[0, -1], np.newaxis]
        self.domain = Domain.between('actuator', ends)
        gears = (*self.actuator_reduction, *self.joint_reduction, *self.joint_offset)
        numbers = (*gears, *curve.x.tolist(), *curve.pieces.ravel().tolist())
        system = _build_table_system(len(curve.x))
        self._mechanism = EquationMechanism(system, self.domain, numbers)

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

    def _build_parts(self, direction: Direction) -> Sequence[CompiledPart]:
        return (self._mechanism.make_part(direction, self.max_gain),)


@cache
def _build_table_system(count: int) -> System:
    """Return the system of tables with ``count`` points."""
    t, rate, own, piece = (
        ca.SX.sym(name, n) for name, n in (('a', 1), ('rate', 1), ('own', 3), ('piece', 5))
    )
    reduction, joint_reduction, offset = ca.vertsplit(own)
    x, y, linear, square, cube = ca.vertsplit(piece)
    along = t / reduction - x
    value = y + along * (linear + along * (square + along * cube))
    value = value / joint_reduction + offset
    slope = ca.jacobian(value, t)
    inputs: list[Any] = [t, own, piece]
    curve = ca.Function('curve', inputs, [value, slope], {'cse': True})
    bent = ca.Function('bent', [*inputs, rate], [ca.jtimes(slope * rate, t, rate)])

    a: Any
    p: Any
    a, q, speed = (ca.MX.sym(name) for name in ('a', 'q', 'rate'))
    p = ca.MX.sym('p', 3 + count + 5 * (count - 1))
    place = ca.low(p[3 : 3 + count], a / p[0])
    pieces = p[3 + count + 5 * place + ca.DM(np.arange(5.0))]
    forms = Forms(
        value=ca.Function('value', [a, p], curve(a, p[:3], pieces)),
        inverse=None,
        closure=None,
        bend=ca.Function('bend', [a, q, speed, p], [bent(a, p[:3], pieces, speed)]),
        pattern=np.ones((1, 1), dtype=bool),
    )
    return System(forms, p.numel())


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
