# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the push-rods of an ankle are, in components."""

from __future__ import annotations

import copy
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['AnkleLeg', 'FootPoint', 'Vector']

Vector = tuple[float, float, float]

#: Three components of shape ``(...)``.
Components = tuple[Array, Array, Array]


@dataclass(frozen=True)
class FootPoint:
    """
    A point of the foot seen from the shank, and how it moves.

    ``p = Ry(pitch) Rx(roll) b`` with ``b`` the point in the foot's frame.

    :param position: ``p``.
    :param per_pitch: ``dp/dpitch``.
    :param per_roll: ``dp/droll``.
    """

    position: Components
    per_pitch: Components
    per_roll: Components

    @classmethod
    def at(cls, point: Vector, cosines: tuple[Array, Array, Array, Array]) -> FootPoint:
        """
        Rotate ``b``.

        :param cosines: ``cos(pitch), sin(pitch), cos(roll), sin(roll)``.
        """
        cos_pitch, sin_pitch, cos_roll, sin_roll = cosines
        x, y, z = point
        rolled_y = y * cos_roll - z * sin_roll
        rolled_z = y * sin_roll + z * cos_roll
        ahead = cos_pitch * x + sin_pitch * rolled_z
        up = cos_pitch * rolled_z - sin_pitch * x
        return cls(
            position=(ahead, rolled_y, up),
            per_pitch=(up, np.zeros_like(up), -ahead),
            per_roll=(sin_pitch * rolled_y, -rolled_z, cos_pitch * rolled_y),
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

    def elbows(self, foot: Components) -> tuple[Array, Array]:
        """Return the crank angles of both solutions, for ``side`` 1 and -1."""
        with np.errstate(invalid='ignore'):
            e, f, k, w = self._terms(foot)
        return np.arctan2(f * k + e * w, e * k - f * w), np.arctan2(f * k - e * w, e * k + f * w)

    def chosen(self, foot: Components) -> AnkleLeg:
        """
        Return the leg with the elbow that is nearer to actuator zero at a foot position.

        :raises TransmissionError: If the rod does not reach there.
        """
        first, second = (abs(float(angle)) for angle in self.elbows(foot))
        if math.isnan(first):
            raise TransmissionError(
                'a push-rod does not reach the foot in the middle of the domain',
                expected=f'a distance between {abs(self.rod - self.crank):g} and '
                f'{self.rod + self.crank:g} in the plane of the crank',
                found=f'rod {self.rod:g}, crank {self.crank:g}, motor {self.motor}, '
                f'foot {tuple(float(component) for component in foot)}',
            )
        other = copy.copy(self)
        other.side = 1.0 if first <= second else -1.0
        return other

    def angle(self, foot: Components) -> Array:
        """Return ``t`` in (-pi, pi], NaN where the rod does not reach."""
        e, f, k, w = self._terms(foot)
        w = self.side * w
        return np.asarray(np.arctan2(f * k + e * w, e * k - f * w))

    def angle_and_slopes(self, foot: FootPoint) -> tuple[Array, Array, Array]:
        """
        Return ``t``, ``dt/dpitch`` and ``dt/droll``.

        The rod ``n = p - m - c`` keeps its length where ``n (dp - c' dt) = 0``, and
        ``n c' = -s r w``.
        """
        e, f, k, w = self._terms(foot.position)
        w = self.side * w
        square = e * e + f * f
        along, across = e * k - f * w, f * k + e * w
        angle = np.arctan2(across, along)
        along, across = along / square, across / square
        rod = [
            point - base - self.crank * (along * ahead + across * beside)
            for point, base, ahead, beside in zip(
                foot.position, self.motor, self.ahead, self.beside, strict=True
            )
        ]
        lever = -self.crank * w
        pitch = rod[0] * foot.per_pitch[0] + rod[2] * foot.per_pitch[2]  # turns about y
        roll = rod[0] * foot.per_roll[0] + rod[1] * foot.per_roll[1] + rod[2] * foot.per_roll[2]
        return angle, pitch / lever, roll / lever

    def _terms(self, foot: Components) -> tuple[Array, Array, Array, Array]:
        dx, dy, dz = (point - base for point, base in zip(foot, self.motor, strict=True))
        e = dx * self.ahead[0] + dy * self.ahead[1] + dz * self.ahead[2]
        f = dx * self.beside[0] + dy * self.beside[1] + dz * self.beside[2]
        square = dx * dx + dy * dy + dz * dz
        k = (square + (self.crank - self.rod) * (self.crank + self.rod)) / (2.0 * self.crank)
        return e, f, k, np.sqrt(e * e + f * f - k * k)


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
