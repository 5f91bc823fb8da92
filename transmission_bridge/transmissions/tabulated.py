# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A measured curve from actuator to joint: cams, worn linkages, whatever has no formula."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import importlib.util
import math
from types import SimpleNamespace
from typing import Any, ClassVar, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.linear import ratios
from transmission_bridge.transmissions.monotone_cubic import MonotoneCubic
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.equations import Equations

__all__ = ['TabulatedTransmission']


class TabulatedTransmission(PositionDependentTransmission):
    """
    One actuator moves one joint by a measured, monotone curve.

    With ``T`` the monotone cubic through the table (:class:`MonotoneCubic`, its derivative is
    continuous), ``ar`` the actuator reduction, ``jr`` the joint reduction and ``off`` the joint
    offset::

        j = T(a / ar) / jr + off             a = ar T^-1(jr (j - off))
        dj/da = T'(a / ar) / (ar jr)         d/dt dj/da = T''(a / ar) a' / (ar^2 jr)

    Every interface follows from these, see :class:`PositionDependentTransmission`. The inverse is
    solved within the piece of the table that holds the value. The domain is the table; nothing is
    extrapolated. Accelerations jump at the points of the table, as the second derivative does.

    In the description, either two columns or a row per point::

        <param name="actuator">0 0.2 0.4</param>     <point actuator="0" joint="0"/>
        <param name="joint">0 0.1 0.3</param>        <point actuator="0.2" joint="0.1"/> ...

    The points are measured together and are not tunable one by one; reductions and offset are.

    :param actuator: Measured actuator positions before the reduction [rad or m], strictly
        increasing or decreasing.
    :param joint: Joint positions measured there [rad or m], strictly increasing or decreasing.
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
        (self._actuator_ratio,) = ratios('actuator_reduction', (actuator_reduction,), 1)
        (self._joint_ratio,) = ratios('joint_reduction', (joint_reduction,), 1)
        if not math.isfinite(joint_offset):
            raise TransmissionError(
                'joint_offset must be finite', parameter='joint_offset', found=str(joint_offset)
            )
        self._offset = joint_offset
        x, y = np.array(actuator, dtype=np.float64), np.array(joint, dtype=np.float64)
        if x.ndim == 1 and len(x) > 1 and x[0] > x[-1]:
            x, y = x[::-1], y[::-1]
        self._curve = MonotoneCubic(x, y)
        ends = sorted((self._actuator_ratio * x[[0, -1]]).tolist())
        super().__init__(Domain('actuator', (ends[0],), (ends[1],)))

    @classmethod
    def from_spec(cls, reader: SpecReader) -> TabulatedTransmission:
        """Build from one actuator, one joint and the table in one of its two spellings."""
        reader.require_members(joints=1, actuators=1)
        actuator, joint = _table(reader)
        return cls(
            actuator,
            joint,
            actuator_reduction=reader.actuator_reductions()[0],
            joint_reduction=reader.joint_reductions()[0],
            joint_offset=reader.joint_offsets()[0],
        )

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Reduction between motor and measured input."""
        return (self._actuator_ratio,)

    @property
    def joint_reduction(self) -> tuple[float, ...]:
        """Reduction between measured output and joint."""
        return (self._joint_ratio,)

    @property
    def joint_offset(self) -> tuple[float, ...]:
        """Joint offset [rad or m]."""
        return (self._offset,)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return ``j`` from the curve, and ``dj/da``."""
        at = x / self._actuator_ratio
        ratio = self._actuator_ratio * self._joint_ratio
        return (
            self._curve.value(at) / self._joint_ratio + self._offset,
            (self._curve.slope(at) / ratio)[..., np.newaxis],
        )

    def slope_rate(self, x: Array, rate: Array) -> Array:
        """Return ``d/dt dj/da``."""
        curvature = self._curve.curvature(x / self._actuator_ratio)
        ratio = self._actuator_ratio * self._actuator_ratio * self._joint_ratio
        return np.asarray((curvature * rate / ratio)[..., np.newaxis])

    def inverse(self, y: Array) -> Array:
        """Return ``a``, solved within a piece of the curve."""
        return self._actuator_ratio * self._curve.inverse(self._joint_ratio * (y - self._offset))

    # -- one sample ------------------------------------------------------------------------------

    #: A piece of the table has coefficients of its own.
    numbers_vary: ClassVar[bool] = True

    @property
    def can_be_compiled(self) -> bool:
        """Whether a robot may compile a piece of the curve instead of calling the transmission."""
        return importlib.util.find_spec('casadi') is not None and all(
            getattr(type(self), name) is getattr(TabulatedTransmission, name)
            for name in ('map', 'map_state', 'supports', 'evaluate', 'inverse')
        )

    @property
    def equations(self) -> Equations:
        """A piece of the curve as an equation of its coefficients."""
        return _piece()

    def numbers_at(self, along: bool, position: float) -> list[float]:
        """Return the ends and the coefficients of the piece that holds a position."""
        curve, ratio = self._curve, self._actuator_ratio
        if along:
            place = curve.piece_of(position / ratio)
        else:
            place = curve.piece_from(self._joint_ratio * (position - self._offset))
        x, y, width, *coefficients = curve.pieces[place]
        low, high = sorted((ratio * x, ratio * (x + width)))
        slack = SLACK * (high - low)
        return [
            low - slack,
            high + slack,
            high - low,
            *self._mechanism.watched,
            ratio,
            self._joint_ratio,
            self._offset,
            x,
            y,
            *coefficients,
        ]


@cache
def _piece() -> Equations:
    from transmission_bridge.transmissions.equations import Equations

    def joint_position(a: Any, p: SimpleNamespace) -> Any:
        t = a - p.x
        return p.y + t * (p.linear + t * (p.square + t * p.cube))

    names = ('x', 'y', 'linear', 'square', 'cube')
    shape = tuple(
        (name, (None,)) for name in ('actuator_reduction', 'joint_reduction', 'joint_offset')
    )
    return Equations(
        {'joint_position': joint_position},
        False,
        (1, 1),
        (*shape, *((name, None) for name in names)),
        (),
    )


def _table(reader: SpecReader) -> tuple[Sequence[float], Sequence[float]]:
    points = reader.elements('point')
    columns = [reader.text(name, default='') for name in ('actuator', 'joint')]
    if bool(points) == any(columns):
        raise reader.error(
            'the table is not given',
            parameter='actuator',
            expected='<param name="actuator"> and <param name="joint">, or <point actuator="" '
            'joint=""/> elements',
            found='both' if points else 'neither',
        )
    if not points:
        first, second = (
            reader.parse_numbers(name, text)
            for name, text in zip(('actuator', 'joint'), columns, strict=True)
        )
        return first, second
    rows = [dict(point.attributes) for point in points]
    for point, row in zip(points, rows, strict=True):
        if row.keys() != {'actuator', 'joint'}:
            raise reader.error(
                f'the point in line {point.line} cannot be used',
                parameter='point',
                expected='attributes actuator and joint',
                found=', '.join(row) or 'none',
            )
    first, second = (
        reader.parse_numbers('point', ' '.join(row[name] for row in rows))
        for name in ('actuator', 'joint')
    )
    return first, second
