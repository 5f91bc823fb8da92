# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two motors with cranks and push-rods that pitch and roll a foot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.ankle_leg import AnkleLeg, rotated, Vector
from transmission_bridge.transmissions.ankle_solver import AnkleSolver
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.elementary import ARRAYS, Elementary, NUMBERS, Real
from transmission_bridge.transmissions.linear import ratios
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.small_matrix import component, matrix_of, vector_of
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.square import Numbers

__all__ = ['ParallelAnkleTransmission']


class ParallelAnkleTransmission(PositionDependentTransmission):
    """
    A humanoid's ankle: two motors in the shank, two push-rods, a universal joint.

    Joint 1 is pitch, joint 2 roll; the foot's orientation in the shank is ``Ry(pitch) Rx(roll)``
    (the pitch axis is fixed to the shank, x ahead, y left, z up, origin where the axes cross).
    With ``m_i`` the motor, ``r_i`` the crank, ``l_i`` the rod, ``b_i`` the rod's end on the foot,
    ``ar_i`` the actuator reduction and ``off`` the joint offsets::

        p_i = Ry(pitch - off_1) Rx(roll - off_2) b_i        the rod's end on the foot
        c_i = r_i (cos(t_i) u_i + sin(t_i) v_i)             the crank, u_i at actuator zero
        |p_i - m_i - c_i| = l_i                             closed for t_i, two elbows
        a_i = ar_i t_i

        n_i = p_i - m_i - c_i                               the rod
        da_i/dq = ar_i (n_i dp_i/dq) / (n_i dc_i/dt_i)

    The inverse ``a = f^-1(q)`` is closed, the forward map is solved. Of the two elbows the one is
    taken whose crank is nearer to actuator zero when the foot is in the middle of the domain.
    ``a`` is within half a turn of actuator zero.

    The domain is ``lower`` to ``upper`` of both joints, less what the rods do not reach. Where a
    crank is in line with its rod, or the rods lose their lever, the mechanism is singular.

    :param legs: The two motors with their cranks and rods.
    :param lower: Lowest pitch and roll [rad].
    :param upper: Highest pitch and roll [rad].
    :param actuator_reduction: ``(ar_1, ar_2)``.
    :param joint_offset: ``(off_1, off_2)`` [rad].
    :raises TransmissionError: If a dimension cannot be used or the rods reach nowhere.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        legs: tuple[AnkleLeg, AnkleLeg],
        *,
        lower: Sequence[float],
        upper: Sequence[float],
        actuator_reduction: Sequence[float] = (1.0, 1.0),
        joint_offset: Sequence[float] = (0.0, 0.0),
    ) -> None:
        self._ratios = ratios('actuator_reduction', actuator_reduction, 2)
        self._offset = tuple(float(value) for value in joint_offset)
        domain = Domain('joint', tuple(lower), tuple(upper))
        middle = (0.5 * (low + high) for low, high in zip(domain.lower, domain.upper, strict=True))
        pitch, roll = middle
        cosines = self._cosines(pitch, roll, NUMBERS)
        self._legs = tuple(leg.chosen(rotated(leg.foot, cosines)[0]) for leg in legs)
        self._solver = AnkleSolver(self._legs, self._ratios, self._offset)
        super().__init__(domain)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> ParallelAnkleTransmission:
        """Build from joints pitch and roll and two actuators with their dimensions."""
        reader.require_members(joints=2, actuators=2)
        bounds = [
            [
                reader.number(name, joint=joint, description=f'{name.title()} end [rad].')
                for joint in (0, 1)
            ]
            for name in ('lower', 'upper')
        ]
        return cls(
            (_leg(reader, 0), _leg(reader, 1)),
            lower=bounds[0],
            upper=bounds[1],
            actuator_reduction=reader.actuator_reductions(),
            joint_offset=reader.joint_offsets(),
        )

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Reductions between motors and cranks."""
        return self._ratios

    @property
    def joint_offset(self) -> tuple[float, ...]:
        """Joint offsets [rad]."""
        return self._offset

    def actuator_position(self, joint_position: Array) -> Array:
        """Return the crank angles, times the reductions."""
        pitch, roll = component(joint_position, 0), component(joint_position, 1)
        cosines = self._cosines(pitch, roll, ARRAYS)
        return vector_of(
            *(
                ratio * leg.angle(rotated(leg.foot, cosines)[0], ARRAYS)
                for leg, ratio in zip(self._legs, self._ratios, strict=True)
            )
        )

    def actuator_jacobian(self, joint_position: Array) -> Array:
        """Return ``da/dq``, shape ``(..., 2, 2)``."""
        return self.actuator_position_and_jacobian(joint_position)[1]

    def actuator_position_and_jacobian(self, joint_position: Array) -> tuple[Array, Array]:
        """Return ``a`` and ``da/dq``, which share most of their terms."""
        pitch, roll = component(joint_position, 0), component(joint_position, 1)
        angles, (a, b, c, d) = self._actuators(pitch, roll, ARRAYS)
        return vector_of(*angles), matrix_of((a, b), (c, d))

    def actuator_sample(self, joint_position: Numbers) -> tuple[Numbers, Numbers]:
        """Return ``a`` and ``da/dq`` of one sample."""
        pitch, roll = joint_position
        return self._actuators(pitch, roll, NUMBERS)

    def joint_position_near(
        self, actuator_position: Numbers, joint_position: Numbers
    ) -> tuple[Numbers, Numbers] | None:
        """Return ``q`` near a start, and ``da/dq``; see :class:`AnkleSolver`."""
        return self._solver(actuator_position, joint_position)

    def _actuators(
        self, pitch: Real, roll: Real, of: Elementary[Real]
    ) -> tuple[tuple[Real, Real], tuple[Real, Real, Real, Real]]:
        """Return ``a``, and the entries of ``da/dq`` row by row."""
        cosines = self._cosines(pitch, roll, of)
        left, right = self._legs
        left_ratio, right_ratio = self._ratios
        left_angle, a, b = left.angle_and_slopes(*rotated(left.foot, cosines), of)
        right_angle, c, d = right.angle_and_slopes(*rotated(right.foot, cosines), of)
        return (
            (left_ratio * left_angle, right_ratio * right_angle),
            (left_ratio * a, left_ratio * b, right_ratio * c, right_ratio * d),
        )

    def _cosines(
        self, pitch: Real, roll: Real, of: Elementary[Real]
    ) -> tuple[Real, Real, Real, Real]:
        pitch_offset, roll_offset = self._offset
        pitch, roll = pitch - pitch_offset, roll - roll_offset
        return of.cos(pitch), of.sin(pitch), of.cos(roll), of.sin(roll)


def _leg(reader: SpecReader, actuator: int) -> AnkleLeg:
    def length(name: str, description: str) -> float:
        return reader.number(
            name, description=description, minimum=0.0, nonzero=True, actuator=actuator
        )

    def vector(name: str, description: str, default: Vector | None = None) -> Vector:
        x, y, z = reader.numbers(
            name, 'xyz', description=description, default=default, actuator=actuator
        )
        return (x, y, z)

    return AnkleLeg(
        motor=vector('motor_position', "Centre of the crank's circle, from the ankle [m]."),
        axis=vector('motor_axis', 'Direction of the motor axis.', (0.0, 1.0, 0.0)),
        crank=length('crank_radius', 'Length of the crank [m].'),
        crank_angle=reader.number(
            'crank_angle',
            description='Angle of the crank at actuator zero [rad].',
            default=0.0,
            actuator=actuator,
        ),
        rod=length('rod_length', 'Length of the push-rod between its joints [m].'),
        foot=vector('foot_attachment', "The rod's end on the foot, from the ankle [m]."),
    )
