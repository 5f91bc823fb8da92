# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two motors with cranks and push-rods that pitch and roll a foot."""

from __future__ import annotations

from collections.abc import Sequence
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
        lower, upper = (
            [
                reader.number(name, joint=joint, description=f'{name.title()} end [rad].')
                for joint in (0, 1)
            ]
            for name in ('lower', 'upper')
        )
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
    """Return ``h``."""
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
        Return the numbers of the leg for the equations, with the elbow closer to actuator zero.

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
