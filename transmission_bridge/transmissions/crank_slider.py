# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linear actuator that turns a revolute joint by a crank."""

from __future__ import annotations

import math
from typing import ClassVar

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.elementary import ARRAYS, Elementary, NUMBERS, Real
from transmission_bridge.transmissions.linear import ratios
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.slider_linkages import (
    GuidedSlider,
    HingedCylinder,
    StrokeLaw,
)
from transmission_bridge.transmissions.small_matrix import component, matrix_of, vector_of
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.square import Numbers

__all__ = ['CrankSliderTransmission']

_TURN = 2.0 * math.pi


class CrankSliderTransmission(PositionDependentTransmission):
    """
    A linear actuator turns a revolute joint by a crank: knees, elbows, buckets, grippers.

    Two linkages, each centred or with an offset ``e``; drawings are in the documentation:

    * a slider on a fixed guide pushes the crank by a rod of length ``l`` (``rod_length``)::

        s = r cos(phi) + sqrt(l^2 - (r sin(phi) - e)^2)

    * a cylinder hinged at a distance ``d`` from the joint (``pivot_distance``) acts on the crank::

        s = sqrt(r^2 + d^2 - 2 r d cos(phi) - e^2)

    With ``ar`` the actuator reduction, ``jr`` the joint reduction, ``off`` the joint offset,
    ``phi0`` the crank angle and ``s0`` the stroke at zero::

        phi = phi0 + jr (j - off)           a = ar (s - s0)
        da/dj = ar jr ds/dphi               d/dt da/dj = ar jr^2 d^2s/dphi^2 j'

    Every interface follows from these, see :class:`PositionDependentTransmission`; both
    directions are closed. ``ds/dphi`` is zero at the dead centres, where crank and rod, or crank
    and cylinder, are in line. The domain is the range between two of them that holds ``phi0``,
    less what ``lower`` and ``upper`` leave out. For a linear actuator ``a`` is in [m] and its
    effort in [N]; for a motor with a screw ``ar`` is in [rad/m].

    Sources: the slider is that of MuJoCo's ``cranksite`` transmission, mirrored; the triangle is
    the law of cosines.

    :param law: The linkage.
    :param crank_angle: ``phi0`` [rad].
    :param stroke_at_zero: ``s0`` [m].
    :param actuator_reduction: ``ar``.
    :param joint_reduction: ``jr``; -1 for a joint that turns against the crank angle.
    :param joint_offset: ``off`` [rad].
    :param lower: Lowest joint position [rad], by default the dead centre.
    :param upper: Highest joint position [rad], by default the dead centre.
    :raises TransmissionError: If a length is not positive, a reduction is zero, a number is not
        finite, or the linkage cannot be closed.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        law: StrokeLaw,
        crank_angle: float,
        *,
        stroke_at_zero: float = 0.0,
        actuator_reduction: float = 1.0,
        joint_reduction: float = 1.0,
        joint_offset: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> None:
        self._law = law
        self._angle_at_zero = crank_angle
        self._stroke_at_zero = stroke_at_zero
        (self._actuator_ratio,) = ratios('actuator_reduction', (actuator_reduction,), 1)
        (self._joint_ratio,) = ratios('joint_reduction', (joint_reduction,), 1)
        self._offset = joint_offset
        numbers = (*vars(law).values(), crank_angle, stroke_at_zero, joint_offset)
        second = law.rod if isinstance(law, GuidedSlider) else law.base
        if not all(math.isfinite(number) for number in numbers) or min(law.crank, second) <= 0.0:
            raise TransmissionError(
                'the dimensions of the linkage cannot be used',
                expected='finite numbers, positive lengths',
                found=f'{law}, crank_angle={crank_angle}, stroke_at_zero={stroke_at_zero}, '
                f'joint_offset={joint_offset}',
            )
        if law.misfit:
            raise TransmissionError(law.misfit, found=str(law))
        first, last, self._side = law.range_around(crank_angle)
        self._middle = 0.5 * (first + last)
        ends = sorted(self._joint(end) for end in (first, last))
        super().__init__(Domain('joint', (max(ends[0], lower),), (min(ends[1], upper),)))

    @classmethod
    def from_spec(cls, reader: SpecReader) -> CrankSliderTransmission:
        """Build from one joint, one actuator and the dimensions in ``<param>`` elements."""
        reader.require_members(joints=1, actuators=1)
        return cls(
            _law(reader),
            reader.number('crank_angle', description='Angle of the crank at zero [rad].'),
            stroke_at_zero=reader.number(
                'stroke_at_zero', description='Stroke at actuator position zero [m].', default=0.0
            ),
            actuator_reduction=reader.actuator_reductions()[0],
            joint_reduction=reader.joint_reductions()[0],
            joint_offset=reader.joint_offsets()[0],
            lower=_bound(reader, 'lower', -math.inf),
            upper=_bound(reader, 'upper', math.inf),
        )

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Reduction on the actuator's side."""
        return (self._actuator_ratio,)

    @property
    def joint_reduction(self) -> tuple[float, ...]:
        """Reduction between crank and joint."""
        return (self._joint_ratio,)

    @property
    def joint_offset(self) -> tuple[float, ...]:
        """Joint offset [rad]."""
        return (self._offset,)

    def actuator_position(self, joint_position: Array) -> Array:
        """Return ``a`` from the stroke."""
        return vector_of(self._actuator(component(joint_position, 0), ARRAYS)[0])

    def actuator_jacobian(self, joint_position: Array) -> Array:
        """Return ``da/dj``, shape ``(..., 1, 1)``."""
        return matrix_of((self._actuator(component(joint_position, 0), ARRAYS)[1],))

    def actuator_jacobian_rate(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Return ``d/dt da/dj``, shape ``(..., 1, 1)``."""
        curvature = self._law.curvature(self._crank(component(joint_position, 0)), ARRAYS)
        ratio = self._actuator_ratio * self._joint_ratio * self._joint_ratio
        return matrix_of((ratio * (curvature * component(joint_velocity, 0)),))

    def joint_position(self, actuator_position: Array) -> Array:
        """Return ``j`` from the stroke by the triangle of the linkage."""
        return vector_of(self._joint_of(component(actuator_position, 0), ARRAYS))

    def actuator_sample(self, joint_position: Numbers) -> tuple[Numbers, Numbers]:
        """Return ``a`` and ``da/dj`` of one sample."""
        position, slope = self._actuator(joint_position[0], NUMBERS)
        return (position,), (slope,)

    def joint_position_sample(self, actuator_position: Numbers) -> Numbers:
        """Return ``j`` of one sample."""
        return (self._joint_of(actuator_position[0], NUMBERS),)

    def joint_position_near(
        self, actuator_position: Numbers, joint_position: Numbers
    ) -> tuple[Numbers, Numbers] | None:
        """Return ``j`` and ``da/dj`` at once; there is one only, near any start."""
        ratio, joint_ratio = self._actuator_ratio, self._joint_ratio
        stroke = self._stroke_at_zero + actuator_position[0] / ratio
        angle, slope = self._law.angle_and_slope(stroke, self._side)
        angle += _TURN * round((self._middle - angle) / _TURN)
        return (self._joint(angle),), (ratio * joint_ratio * slope,)

    def _actuator(self, position: Real, of: Elementary[Real]) -> tuple[Real, Real]:
        stroke, slope = self._law.stroke_and_slope(self._crank(position), of)
        return (
            self._actuator_ratio * (stroke - self._stroke_at_zero),
            self._actuator_ratio * self._joint_ratio * slope,
        )

    def _joint_of(self, position: Real, of: Elementary[Real]) -> Real:
        stroke = self._stroke_at_zero + position / self._actuator_ratio
        angle = self._law.angle(stroke, self._side, of)
        return self._joint(angle + _TURN * of.rint((self._middle - angle) / _TURN))

    def _crank(self, position: Real) -> Real:
        return self._angle_at_zero + self._joint_ratio * (position - self._offset)

    def _joint(self, angle: Real) -> Real:
        return (angle - self._angle_at_zero) / self._joint_ratio + self._offset


def _law(reader: SpecReader) -> StrokeLaw:
    guided = reader.text('rod_length', default='')
    hinged = reader.text('pivot_distance', default='')
    if bool(guided) == bool(hinged):
        raise reader.error(
            'the linkage is not given',
            parameter='rod_length',
            expected='rod_length (slider on a guide) or pivot_distance (hinged cylinder)',
            found='both' if guided else 'neither',
        )
    crank = _length(reader, 'crank_radius', 'Length of the crank [m].')
    offset = reader.number('offset', description='Offset of the stroke axis [m].', default=0.0)
    if guided:
        return GuidedSlider(crank, _length(reader, 'rod_length', 'Length of the rod [m].'), offset)
    base = _length(reader, 'pivot_distance', 'Distance from joint to base hinge [m].')
    return HingedCylinder(crank, base, offset)


def _length(reader: SpecReader, name: str, description: str) -> float:
    return reader.number(name, description=description, minimum=0.0, nonzero=True)


def _bound(reader: SpecReader, name: str, default: float) -> float:
    if not reader.text(name, default='', joint=0):
        return default  # not given, not tunable: the dead centre moves with the dimensions
    return reader.number(name, joint=0, description=f'{name.title()} end [rad].')
