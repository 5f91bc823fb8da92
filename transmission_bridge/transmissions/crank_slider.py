# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A linear actuator that turns a revolute joint by a crank."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
import math
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_transmission import EquationTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader

#: Rounding of the ends of a stated range [rad].
_ROUNDING = 1e-5


class CrankSliderTransmission(EquationTransmission):
    """
    A linear actuator turns a revolute joint by a crank: knees, elbows, buckets, grippers.

    There are two linkages, each centred or with an offset ``e``; the documentation has drawings:

    * a slider on a fixed guide pushes the crank by a rod of length ``l`` (``rod_length``)::

        s = r cos(phi) + sqrt(l^2 - (r sin(phi) - e)^2)

    * a cylinder hinged at a distance ``d`` from the joint (``pivot_distance``) acts on the crank::

        s = sqrt(r^2 + d^2 - 2 r d cos(phi) - e^2)

    With ``ar`` the actuator reduction, ``jr`` the joint reduction, ``off`` the joint offset,
    ``phi0`` the crank angle and ``s0`` the stroke at zero::

        phi = phi0 + jr (j - off)           a = ar (s - s0)

    Every interface follows from these equations, see :class:`EquationTransmission`; both
    directions are closed. ``ds/dphi`` is zero at the dead centres: there crank and rod, or crank
    and cylinder, are in line. The domain is the range between the two dead centres around
    ``phi0``, reduced to ``lower`` and ``upper``. For a linear actuator ``a`` is in [m] and its
    effort in [N]; for a motor with a screw ``ar`` is in [rad/m].

    Sources: the slider is MuJoCo's ``cranksite`` transmission, mirrored; the triangle is the law
    of cosines.

    :param law: The linkage.
    :param crank_angle: ``phi0`` [rad].
    :param stroke_at_zero: ``s0`` [m].
    :param actuator_reduction: ``ar``.
    :param joint_reduction: ``jr``; -1 for a joint that turns against the crank angle.
    :param joint_offset: ``off`` [rad].
    :param lower: Smallest joint position [rad], by default the dead centre.
    :param upper: Largest joint position [rad], by default the dead centre.
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
        (_, crank), (link, length), (_, offset) = vars(law).items()
        numbers = (crank, length, offset, crank_angle, stroke_at_zero, joint_offset)
        if not all(map(math.isfinite, numbers)) or min(crank, length) <= 0.0:
            raise TransmissionError(
                'the dimensions of the linkage are invalid',
                expected='finite numbers, positive lengths',
                found=f'{law}, crank_angle={crank_angle}, stroke_at_zero={stroke_at_zero}, '
                f'joint_offset={joint_offset}',
            )
        if abs(offset) >= crank + length:
            message = f'crank and {link} together are shorter than the offset of the stroke'
            raise TransmissionError(message, found=str(law))
        # Ends ahead of the angle, modulo full turns. If the angle is an end up to rounding, there
        # are two ranges, the upper one first.
        ahead = {(end - crank_angle) % _TURN for end in law.branch_ends if not math.isnan(end)}
        others = sorted(way for way in ahead if ROUNDING < way < _TURN - ROUNDING)
        below, above = crank_angle - _TURN, crank_angle + _TURN
        if others:
            below, above = crank_angle + (others[-1] - _TURN), crank_angle + others[0]
        ranges = [(below, above)]
        if len(others) < len(ahead):
            ranges = [(crank_angle, above), (below, crank_angle)]
        sines = [law.sine_of_turn(0.5 * (first + last)) for first, last in ranges]
        closed = [k for k, sine in enumerate(sines) if not math.isnan(sine)]
        if not closed:
            raise TransmissionError(
                'the linkage is open at its crank angle',
                parameter='crank_angle',
                expected='an angle that the other links reach',
                found=f'{crank_angle:g} with {law}',
            )
        (first, last), side = ranges[closed[0]], math.copysign(1.0, sines[closed[0]])
        self._ends = first - crank_angle, last - crank_angle
        self._bounds = lower, upper
        super().__init__(
            {
                **vars(law),
                'crank_angle': crank_angle,
                'stroke_at_zero': stroke_at_zero,
                'side': side,
                'middle': 0.5 * (first + last),
            },
            choices={'linkage': 'guided' if isinstance(law, GuidedSlider) else 'hinged'},
            actuator_reduction=(actuator_reduction,),
            joint_reduction=(joint_reduction,),
            joint_offset=(joint_offset,),
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> CrankSliderTransmission:
        """Build from one joint, one actuator and the dimensions in ``<param>`` elements."""
        reader.require_members(joints=1, actuators=1)
        length = partial(reader.number, minimum=0.0, nonzero=True)
        guided, hinged = (reader.text(x, default='') for x in ('rod_length', 'pivot_distance'))
        if bool(guided) == bool(hinged):
            raise reader.error(
                'the linkage is missing or ambiguous',
                parameter='rod_length',
                expected='rod_length (slider on a guide) or pivot_distance (hinged cylinder)',
                found='both' if guided else 'neither',
            )
        crank = length('crank_radius', description='Length of the crank [m].')
        offset = reader.number('offset', description='Offset of the stroke axis [m].', default=0.0)
        law: StrokeLaw
        if guided:
            rod = length('rod_length', description='Length of the rod [m].')
            law = GuidedSlider(crank, rod, offset)
        else:
            base = length('pivot_distance', description='Distance from joint to base hinge [m].')
            law = HingedCylinder(crank, base, offset)
        return cls(
            law,
            reader.number('crank_angle', description='Angle of the crank at zero [rad].'),
            stroke_at_zero=reader.number(
                'stroke_at_zero', description='Stroke at actuator position zero [m].', default=0.0
            ),
            actuator_reduction=reader.actuator_reductions()[0],
            joint_reduction=reader.joint_reductions()[0],
            joint_offset=reader.joint_offsets()[0],
            lower=_read_bound(reader, 'lower', -math.inf),
            upper=_read_bound(reader, 'upper', math.inf),
        )

    @property
    def live_names(self) -> Collection[str]:
        """Names of the numbers that the dead centres do not depend on."""
        return [*super().live_names, 'stroke_at_zero']

    def range(self) -> Domain:
        """Return the joint positions between two dead centres, limited to the bounds."""
        whole = self.bare_range('joint', self._ends[:1], self._ends[1:])
        lower, upper = self._bounds
        if lower <= whole.lower[0] and upper >= whole.upper[0]:
            return whole
        return Domain('joint', (max(whole.lower[0], lower),), (min(whole.upper[0], upper),))

    def doubts(self) -> tuple[str, ...]:
        """Return a range beyond a dead centre."""
        stated, used = self._bounds, (self.domain.lower[0], self.domain.upper[0])
        away = [abs(x - y) for x, y in zip(stated, used, strict=True) if math.isfinite(x)]
        if max(away, default=0.0) <= _ROUNDING:
            return ()
        (lower, upper), (low, high) = stated, used
        return (
            f'its range {lower:g} to {upper:g} rad crosses a dead centre, and {low:.6g} to '
            f'{high:.6g} rad is used; write this one',
        )

    @staticmethod
    def actuator_position(q: Any, p: SimpleNamespace) -> Any:
        """Return the stroke."""
        phi = p.crank_angle + q
        if p.linkage == 'guided':
            lift = p.crank * ca.sin(phi) - p.offset
            stroke = p.crank * ca.cos(phi) + ca.sqrt((p.rod - lift) * (p.rod + lift))
        else:
            # 1 - cos(phi) = 2 sin^2(phi / 2) does not cancel at small angles.
            half = ca.sin(0.5 * phi)
            square = (p.crank - p.base) * (p.crank - p.base) - p.offset * p.offset
            stroke = ca.sqrt(square + 4.0 * p.crank * p.base * half * half)
        return stroke - p.stroke_at_zero

    @staticmethod
    def joint_position(a: Any, p: SimpleNamespace) -> Any:
        """
        Return the angle of the crank.

        It is the angle at the pivot of a triangle, by the half-angle formula. The sides are the
        crank, the rod or the base, and the distance to the other joint.
        """
        stroke = p.stroke_at_zero + a
        distance = ca.hypot(stroke, p.offset)
        if p.linkage == 'guided':
            side, opposite, turned = distance, p.rod, ca.atan2(p.offset, stroke)
        else:
            side, opposite, turned = p.base, ca.if_else(stroke >= 0.0, distance, math.nan), 0.0
        near = (opposite - side + p.crank) * (opposite + side - p.crank)
        far = (side + p.crank - opposite) * (side + p.crank + opposite)
        length = p.rod if p.linkage == 'guided' else p.base
        phi = turned + p.side * 2.0 * ca.atan2(_safe_root(near, length), _safe_root(far, length))
        return p.middle + ca.remainder(phi - p.middle, _TURN) - p.crank_angle


def _safe_root(square: Any, length: Any) -> Any:
    """Return the square root, zero if rounding made a dead centre negative."""
    return ca.sqrt(ca.if_else(ca.fabs(square) < FLAT * length * length, 0.0, square))


def _read_bound(reader: SpecReader, name: str, default: float) -> float:
    if not reader.text(name, default='', joint=0):
        return default  # not tunable if missing: the dead centre moves with the dimensions
    return reader.number(name, joint=0, description=f'{name.title()} end [rad].')


# -- linkages --------------------------------------------------------------------------------

#: Angles with a smaller difference [rad] are equal up to rounding.
ROUNDING = 4e-15

#: A triangle with a smaller result, in squares of a side, is flat up to rounding.
FLAT = 1e-14

_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class GuidedSlider:
    """
    A slider on a straight guide that pushes the crank by a rod: the slider-crank.

    The crank's pivot is the origin, the guide runs along ``x`` at ``y = e``, the slider is at
    ``(s, e)`` with the rod pointing back to the crank::

        s = r cos(phi) + sqrt(l^2 - (r sin(phi) - e)^2)

    A branch ends at a dead centre (crank and rod in line) or if the rod is perpendicular to the
    guide.

    :param crank: ``r`` [m].
    :param rod: ``l`` [m].
    :param offset: ``e`` [m].
    """

    crank: float
    rod: float
    offset: float = 0.0

    @property
    def branch_ends(self) -> list[float]:
        """Crank angles of the dead centres, and with the rod perpendicular to the guide."""
        ends = [
            _angle_of_sine(self.offset, self.crank + self.rod),
            math.pi + _angle_of_sine(self.offset, self.rod - self.crank),
        ]
        for side in (self.rod, -self.rod):
            upright = _angle_of_sine(self.offset + side, self.crank)
            ends += [upright, math.pi - upright]
        return ends

    def sine_of_turn(self, angle: float) -> float:
        """Return the sine of the angle between crank and stroke; NaN if the linkage is open."""
        lift = self.crank * math.sin(angle) - self.offset
        if abs(lift) > self.rod:
            return math.nan
        stroke = self.crank * math.cos(angle) + math.sqrt(self.rod**2 - lift**2)
        return math.sin(angle - math.atan2(self.offset, stroke))


@dataclass(frozen=True)
class HingedCylinder:
    """
    A cylinder hinged at its base and at the crank: the inverted slider-crank.

    ``d`` is the distance of the base hinge from the crank's pivot, ``phi`` the angle between base
    and crank, ``e`` the distance of the base hinge from the axis of the stroke::

        s = sqrt(r^2 + d^2 - 2 r d cos(phi) - e^2)

    :param crank: ``r`` [m].
    :param base: ``d`` [m].
    :param offset: ``e`` [m].
    """

    crank: float
    base: float
    offset: float = 0.0

    @property
    def zero_stroke_cosine(self) -> float:
        """Cosine of the crank angle with stroke zero."""
        square = self.crank**2 + self.base**2 - self.offset**2
        return square / (2.0 * self.crank * self.base)

    @property
    def branch_ends(self) -> list[float]:
        """Crank angles of the dead centres, and with stroke zero."""
        if abs(self.offset) <= abs(self.crank - self.base):
            return [0.0, math.pi]
        shortest = math.acos(self.zero_stroke_cosine)
        return [shortest, -shortest, math.pi]

    def sine_of_turn(self, angle: float) -> float:
        """Return the sine of the angle between crank and base; NaN if the linkage is open."""
        return math.sin(angle) if math.cos(angle) <= self.zero_stroke_cosine else math.nan


StrokeLaw = GuidedSlider | HingedCylinder


def _angle_of_sine(side: float, hypotenuse: float) -> float:
    """Return the angle, or NaN; a triangle that is flat up to rounding has an angle."""
    if hypotenuse == 0.0 or abs(side) > abs(hypotenuse) * (1.0 + 1e-12):
        return math.nan
    return math.asin(min(1.0, max(-1.0, side / hypotenuse)))
