# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Types stated by equations: a crank turned by a linear actuator, and an ankle with two push-rods.

Entry points name the types; the linkages and legs that their constructors take are public. URDFs
spell the names that ``from_spec`` reads. Names and equations are fixed, sentences are free.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
import math
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_transmission import EquationTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.types import Array

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
        #: Ends of the branch from ``crank_angle``, and the stated bounds, for ``range``.
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
            lower=_read_bound(reader, 'lower', 0, -math.inf),
            upper=_read_bound(reader, 'upper', 0, math.inf),
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


def _read_bound(reader: SpecReader, name: str, joint: int, default: float | None = None) -> float:
    if default is not None and not reader.text(name, default='', joint=joint):
        return default  # not tunable if missing: the dead centre moves with the dimensions
    return reader.number(name, joint=joint, description=f'{name.title()} end [rad].')


# -- the linkages of a crank ---------------------------------------------------------------------

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

    The transmission unpacks the fields in this order; ``p`` of its equations has their names.

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

    The transmission unpacks the fields in this order; ``p`` of its equations has their names.

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


#: The linkage of a crank: the stroke as a function of the angle.
StrokeLaw = GuidedSlider | HingedCylinder


def _angle_of_sine(side: float, hypotenuse: float) -> float:
    """Return the angle, or NaN; a triangle that is flat up to rounding has an angle."""
    if hypotenuse == 0.0 or abs(side) > abs(hypotenuse) * (1.0 + 1e-12):
        return math.nan
    return math.asin(min(1.0, max(-1.0, side / hypotenuse)))


# -- the ankle -----------------------------------------------------------------------------------


class ParallelAnkleTransmission(EquationTransmission):
    """
    A humanoid's ankle: two motors in the shank, two push-rods, a universal joint.

    Joint 1 is pitch, joint 2 roll; the foot's orientation in the shank is ``Ry(pitch) Rx(roll)``
    (the pitch axis is fixed to the shank, x forward, y left, z up, origin at the crossing of the
    axes).
    With ``m_i`` the motor, ``r_i`` the crank, ``l_i`` the rod, ``b_i`` the rod's end on the foot,
    ``ar_i`` the actuator reduction and ``off`` the joint offsets::

        p_i = Ry(pitch - off_1) Rx(roll - off_2) b_i        the rod's end on the foot
        c_i = r_i (cos(t_i) u_i + sin(t_i) v_i)             the crank, u_i at actuator zero
        |p_i - m_i - c_i| = l_i                             closed for t_i, two elbows
        a_i = ar_i t_i

    The inverse ``a = f^-1(q)`` is an equation, the forward map is solved. Of the two elbows, the
    selected one has its crank closer to actuator zero with the foot in the middle of the domain.
    ``a`` is within half a turn of actuator zero.

    The domain is ``lower`` to ``upper`` of both joints, limited to positions that the rods reach.
    The mechanism is singular if a crank is in line with its rod, or if the rods cannot turn the
    foot.

    :param legs: The two motors with their cranks and rods.
    :param lower: Smallest pitch and roll [rad].
    :param upper: Largest pitch and roll [rad].
    :param actuator_reduction: ``(ar_1, ar_2)``.
    :param joint_offset: ``(off_1, off_2)`` [rad].
    :raises TransmissionError: If a dimension is invalid or the rods do not reach any position.
    """

    api_version: ClassVar[int] = 1
    actuators_turn: bool = True
    members = (2, 2)

    def __init__(
        self,
        legs: tuple[AnkleLeg, AnkleLeg],
        *,
        lower: Sequence[float],
        upper: Sequence[float],
        actuator_reduction: Sequence[float] = (1.0, 1.0),
        joint_offset: Sequence[float] = (0.0, 0.0),
    ) -> None:
        self.domain = Domain('joint', tuple(lower), tuple(upper))
        middle = 0.5 * np.add(self.domain.lower, self.domain.upper) - np.array(joint_offset)
        ends = _rod_ends(middle.tolist(), SimpleNamespace(foot=[ca.DM(leg.foot) for leg in legs]))
        own = [leg.leg_numbers(end.full().ravel()) for leg, end in zip(legs, ends, strict=True)]
        numbers: dict[str, Any] = {name: tuple(each[name] for each in own) for name in own[0]}
        super().__init__(numbers, actuator_reduction=actuator_reduction, joint_offset=joint_offset)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> ParallelAnkleTransmission:
        """Build from the joints pitch and roll and two actuators with their dimensions."""
        reader.require_members(joints=2, actuators=2)
        lower = [_read_bound(reader, 'lower', joint) for joint in (0, 1)]
        upper = [_read_bound(reader, 'upper', joint) for joint in (0, 1)]
        return cls(
            (_read_leg(reader, 0), _read_leg(reader, 1)),
            lower=lower,
            upper=upper,
            actuator_reduction=reader.actuator_reductions(),
            joint_offset=reader.joint_offsets(),
        )

    def range(self) -> Domain:
        """Return the range of pitch and roll."""
        return self.domain

    @staticmethod
    def actuator_position(q: Any, p: SimpleNamespace) -> Any:
        """Return the angle of each crank, from the triangle of crank and rod."""
        angles = []
        for leg, end in enumerate(_rod_ends(q, p)):
            way = end - p.motor[leg]
            along, across = ca.dot(way, p.ahead[leg]), ca.dot(way, p.beside[leg])
            k = _reach(p, leg) - ca.dot(p.motor[leg], end)
            w = p.side[leg] * ca.sqrt(along * along + across * across - k * k)
            angles.append(ca.atan2(across * k + along * w, along * k - across * w))
        return angles

    @staticmethod
    def closure(a: Any, q: Any, p: SimpleNamespace) -> Any:
        """Return the residual of each rod: the error of half its squared length."""
        misses = []
        for leg, end in enumerate(_rod_ends(q, p)):
            crank = ca.cos(a[leg]) * p.ahead[leg] + ca.sin(a[leg]) * p.beside[leg]
            # |p - m - c|^2, with |p| = |b| because a rotation keeps lengths.
            tip = ca.dot(p.motor[leg] + crank, end)
            misses.append(_reach(p, leg) + ca.dot(p.motor[leg], crank) - tip)
        return misses


def _reach(p: SimpleNamespace, leg: int) -> Any:
    """Return ``h`` of :class:`AnkleLeg`."""
    foot, motor = p.foot[leg], p.motor[leg]
    squares = ca.dot(foot, foot) + ca.dot(motor, motor)
    return 0.5 * (squares + (p.crank[leg] - p.rod[leg]) * (p.crank[leg] + p.rod[leg]))


def _rod_ends(q: Any, p: SimpleNamespace) -> list[Any]:
    """Return the positions of the rods' ends on the foot, in the shank's frame."""
    cos_pitch, sin_pitch = ca.cos(q[0]), ca.sin(q[0])
    cos_roll, sin_roll = ca.cos(q[1]), ca.sin(q[1])
    ends = []
    for foot in p.foot:
        x, y, z = ca.vertsplit(foot)
        height = y * sin_roll + z * cos_roll
        ends.append(
            ca.vertcat(
                cos_pitch * x + sin_pitch * height,
                y * cos_roll - z * sin_roll,
                cos_pitch * height - sin_pitch * x,
            )
        )
    return ends


@dataclass(frozen=True, kw_only=True)
class AnkleLeg:
    """
    A motor with crank and rod.

    All points except ``foot`` are in the shank's frame: origin at the crossing of the two joint
    axes, x forward, y left, z up, with the joints at zero.

    The tip of the crank is ``m + r (cos(t) u + sin(t) v)`` with ``u``, ``v`` perpendicular to the
    motor's axis, ``u`` at the crank angle of actuator zero. The rod closes if
    ``|p - m - c|^2 = l^2``, that is ``e cos(t) + f sin(t) = k`` with ``e = (p - m) u``,
    ``f = (p - m) v``, ``k = (|p - m|^2 + r^2 - l^2) / (2 r)``. Because a rotation keeps ``|b|``,
    ``k = (h - p m) / r`` with ``h = (|b|^2 + |m|^2 + r^2 - l^2) / 2``. The two solutions are
    ``cos(t) = (e k - s f w) / (e^2 + f^2)``, ``sin(t) = (f k + s e w) / (e^2 + f^2)`` with
    ``w = sqrt(e^2 + f^2 - k^2)`` and ``s = 1`` or ``-1``, the side of the elbow.

    :param motor: ``m`` [m].
    :param axis: Axis of the motor, of any length.
    :param crank: ``r`` [m].
    :param crank_angle: Angle of the crank at actuator zero [rad], right-handed about the axis,
        from the x direction as seen along the axis (from z if the axis is x).
    :param rod: ``l`` [m].
    :param foot: ``b``, the rod's end on the foot, in the foot's frame [m].
    :raises TransmissionError: If a length is not positive or the axis is zero.
    """

    motor: Sequence[float]
    crank: float
    rod: float
    foot: Sequence[float]
    crank_angle: float = 0.0
    axis: Sequence[float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        lengths = self.crank, self.rod, math.hypot(*self.axis)
        numbers = (*lengths, self.crank_angle, *self.motor, *self.foot)
        if not all(map(math.isfinite, numbers)) or min(lengths) <= 0.0:
            raise TransmissionError(
                'the dimensions of a push-rod are invalid',
                expected='finite numbers, positive lengths, an axis',
                found=str(self),
            )

    def leg_numbers(self, foot: Array) -> dict[str, Any]:
        """
        Return the numbers of the leg by their names in ``p`` of the equations.

        The elbow is the one closer to actuator zero.

        ``foot`` is the rod's end on the foot in the shank's frame [m], in the middle of the range.

        :raises TransmissionError: If the rod does not reach it.
        """
        direction = np.array(self.axis) / math.hypot(*self.axis)
        reference = np.array([0.0, 0.0, 1.0] if abs(direction[0]) > 0.99 else [1.0, 0.0, 0.0])
        x = reference - direction * (direction @ reference)
        x = self.crank * x / math.sqrt(x @ x)
        y = np.cross(direction, x)
        cos, sin = math.cos(self.crank_angle), math.sin(self.crank_angle)
        # The crank at actuator zero, and a quarter turn further.
        ahead, beside = cos * x + sin * y, cos * y - sin * x
        way = np.subtract(foot, self.motor)
        along, across = way @ ahead / self.crank, way @ beside / self.crank
        own: dict[str, Any] = {'motor': tuple(self.motor), 'foot': tuple(self.foot)}
        own |= {'crank': self.crank, 'rod': self.rod}
        reach = float(_reach(SimpleNamespace(**{name: [each] for name, each in own.items()}), 0))
        k = (reach - np.dot(self.motor, foot)) / self.crank
        square = along * along + across * across - k * k
        if square < 0.0:
            raise TransmissionError(
                'a push-rod does not reach the foot in the middle of the domain',
                expected=f'a distance between {abs(self.rod - self.crank):g} and '
                f'{self.rod + self.crank:g} in the plane of the crank',
                found=f'rod {self.rod:g}, crank {self.crank:g}, motor {self.motor}, '
                f'foot {tuple(foot.tolist())}',
            )
        # The angle closer to zero has the larger cosine, along k - side across w.
        side = -1.0 if across > 0.0 else 1.0
        turned = {'ahead': tuple(ahead.tolist()), 'beside': tuple(beside.tolist())}
        return {**own, **turned, 'side': side}


def _read_leg(reader: SpecReader, actuator: int) -> AnkleLeg:
    number = partial(reader.number, actuator=actuator)
    length = partial(number, minimum=0.0, nonzero=True)
    vector = partial(reader.numbers, labels='xyz', actuator=actuator)
    said = "Centre of the crank's circle, from the ankle [m]."
    return AnkleLeg(
        motor=vector('motor_position', description=said),
        axis=vector(
            'motor_axis', description='Direction of the motor axis.', default=(0.0, 1.0, 0.0)
        ),
        crank=length('crank_radius', description='Length of the crank [m].'),
        crank_angle=number(
            'crank_angle', description='Angle of the crank at actuator zero [rad].', default=0.0
        ),
        rod=length('rod_length', description='Length of the push-rod between its joints [m].'),
        foot=vector(
            'foot_attachment', description="The rod's end on the foot, from the ankle [m]."
        ),
    )
