# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the push-rods of an ankle are, in components."""

from __future__ import annotations

import copy
import math

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.elementary import Elementary, NUMBERS, Real

__all__ = ['AnkleLeg', 'Components', 'Vector', 'rotated']

Vector = tuple[float, float, float]


#: Three components, numbers or arrays of shape ``(...)``.
Components = tuple[Real, Real, Real]


def rotated(
    point: Vector, cosines: tuple[Real, Real, Real, Real]
) -> tuple[Components[Real], Components[Real]]:
    """
    Return a point of the foot seen from the shank, and its derivative by the roll angle.

    ``p = Ry(pitch) Rx(roll) b`` with ``b`` the point in the foot's frame.

    :param point: ``b``.
    :param cosines: ``cos(pitch), sin(pitch), cos(roll), sin(roll)``.
    :returns: ``p`` and ``dp/droll``. The pitch turns about y: ``dp/dpitch = (p_z, 0, -p_x)``.
    """
    cos_pitch, sin_pitch, cos_roll, sin_roll = cosines
    x, y, z = point
    aside = y * cos_roll - z * sin_roll
    height = y * sin_roll + z * cos_roll
    return (
        (cos_pitch * x + sin_pitch * height, aside, cos_pitch * height - sin_pitch * x),
        (sin_pitch * aside, -height, cos_pitch * aside),
    )


class AnkleLeg:
    """
    One motor with crank and rod.

    All points are in the shank's frame but ``foot``: origin at the crossing of the two joint axes,
    x ahead, y to the left, z up, the joints being zero.

    The tip of the crank is ``m + r (cos(t) u + sin(t) v)`` with ``u``, ``v`` perpendicular to the
    motor's axis, ``u`` at the crank angle of actuator zero. The rod's length is met where
    ``|p - m - c|^2 = l^2``, that is ``e cos(t) + f sin(t) = k`` with ``e = (p - m) u``,
    ``f = (p - m) v``, ``k = (|p - m|^2 + r^2 - l^2) / (2 r)``, which has the two solutions
    ``cos(t) = (e k - s f w) / (e^2 + f^2)``, ``sin(t) = (f k + s e w) / (e^2 + f^2)`` with
    ``w = sqrt(e^2 + f^2 - k^2)`` and ``s = 1`` or ``-1``: the side to which the elbow points.

    :param motor: ``m`` [m].
    :param axis: Axis of the motor, of any length.
    :param crank: ``r`` [m].
    :param crank_angle: Angle of the crank at actuator zero [rad], right-handed about the axis,
        from the x direction as seen along the axis (from z where the axis is x).
    :param rod: ``l`` [m].
    :param foot: ``b``, the rod's end on the foot, in the foot's frame [m].
    :raises TransmissionError: If a length is not positive or the axis has none.
    """

    def __init__(
        self,
        *,
        motor: Vector,
        crank: float,
        rod: float,
        foot: Vector,
        crank_angle: float = 0.0,
        axis: Vector = (0.0, 1.0, 0.0),
    ) -> None:
        self.motor, self.crank, self.rod, self.foot = motor, crank, rod, foot
        numbers = (*motor, crank, crank_angle, rod, *foot, *axis)
        length = math.hypot(*axis)
        if not all(math.isfinite(number) for number in numbers) or min(crank, rod, length) <= 0.0:
            raise TransmissionError(
                'the dimensions of a push-rod cannot be used',
                expected='finite numbers, positive lengths, an axis',
                found=f'crank {crank}, rod {rod}, axis {axis}, motor {motor}, foot {foot}',
            )
        self.ahead, self.beside = _crank_frame(np.array(axis) / length, crank_angle)
        self.side = 1.0

    def chosen(self, foot: Vector) -> AnkleLeg:
        """
        Return the leg with the elbow that is nearer to actuator zero at a foot position.

        :raises TransmissionError: If the rod does not reach there.
        """
        legs = []
        for side in (1.0, -1.0):
            leg = copy.copy(self)
            leg.side = side
            legs.append(leg)
        try:
            return min(legs, key=lambda leg: abs(leg.angle(foot, NUMBERS)))
        except ValueError:  # the square root of a negative number
            raise TransmissionError(
                'a push-rod does not reach the foot in the middle of the domain',
                expected=f'a distance between {abs(self.rod - self.crank):g} and '
                f'{self.rod + self.crank:g} in the plane of the crank',
                found=f'rod {self.rod:g}, crank {self.crank:g}, motor {self.motor}, foot {foot}',
            ) from None

    def angle(self, foot: Components[Real], of: Elementary[Real]) -> Real:
        """Return ``t`` in (-pi, pi] for ``p``, NaN where the rod does not reach."""
        x, y, z = self.motor
        _, along, across, _ = self._crank_tip(foot[0] - x, foot[1] - y, foot[2] - z, of)
        return of.arctan2(across, along)

    def angle_and_slopes(
        self, foot: Components[Real], per_roll: Components[Real], of: Elementary[Real]
    ) -> tuple[Real, Real, Real]:
        """
        Return ``t``, ``dt/dpitch`` and ``dt/droll`` for ``p`` and ``dp/droll``.

        The rod ``n = p - m - c`` keeps its length where ``n (dp - c' dt) = 0``, and
        ``n c' = -s r w``.
        """
        (ahead, aside, up), (roll_x, roll_y, roll_z) = foot, per_roll
        x, y, z = self.motor
        dx, dy, dz = ahead - x, aside - y, up - z
        square, along, across, w = self._crank_tip(dx, dy, dz, of)
        scale = self.crank / square
        u, v = scale * along, scale * across
        ux, uy, uz = self.ahead
        vx, vy, vz = self.beside
        nx = dx - (u * ux + v * vx)
        ny = dy - (u * uy + v * vy)
        nz = dz - (u * uz + v * vz)
        lever = -self.crank * w
        return (
            of.arctan2(across, along),
            (nx * up - nz * ahead) / lever,
            (nx * roll_x + ny * roll_y + nz * roll_z) / lever,
        )

    def _crank_tip(
        self, dx: Real, dy: Real, dz: Real, of: Elementary[Real]
    ) -> tuple[Real, Real, Real, Real]:
        """Return ``e^2 + f^2``, cosine and sine of ``t`` times that, and ``s w``."""
        ux, uy, uz = self.ahead
        vx, vy, vz = self.beside
        e = dx * ux + dy * uy + dz * uz
        f = dx * vx + dy * vy + dz * vz
        distance = dx * dx + dy * dy + dz * dz
        k = (distance + (self.crank - self.rod) * (self.crank + self.rod)) / (2.0 * self.crank)
        square = e * e + f * f
        w = self.side * of.sqrt(square - k * k)
        return square, e * k - f * w, f * k + e * w, w


def _crank_frame(axis: Array, angle: float) -> tuple[Vector, Vector]:
    """Return the crank's direction at actuator zero, and the one a quarter turn on."""
    reference = np.array([1.0, 0.0, 0.0])
    if abs(axis[0]) > 0.99:
        reference = np.array([0.0, 0.0, 1.0])
    ahead = reference - axis * (axis @ reference)
    ahead = ahead / math.sqrt(ahead @ ahead)
    beside = np.cross(axis, ahead)
    turned = math.cos(angle) * ahead + math.sin(angle) * beside
    quarter = math.cos(angle) * beside - math.sin(angle) * ahead
    return _vector(turned), _vector(quarter)


def _vector(array: Array) -> Vector:
    x, y, z = array.tolist()
    return (x, y, z)
