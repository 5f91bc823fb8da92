# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where a foot on two push-rods is, from the angles of the cranks: one sample, near a start."""

from __future__ import annotations

from cmath import rect
from collections.abc import Sequence
import math

from transmission_bridge.transmissions.ankle_leg import AnkleLeg
from transmission_bridge.transmissions.square import Numbers

__all__ = ['AnkleSolver']

#: Steps taken at most. From the last solution of a stream it takes three.
STEP_LIMIT = 5

#: The square of the longest step [rad]. Longer ones are left to the solver of batches, so that
#: both end at the same solution.
NEARBY = 0.1**2

#: The square of the step [rad] that ends the iteration: the next one would be its square.
SHORTEST = 1e-13**2

#: Where the tip of a crank is: ``d_x - i d_z``, ``d_y`` and ``k``.
Tip = tuple[complex, float, float]


class AnkleSolver:
    """
    Joint positions from crank angles by the lengths of the rods.

    With ``d = m + c(t)`` the tip of a crank and ``p = Ry(pitch) Rx(roll) b`` its rod's end on the
    foot, ``|p - d| = l`` is ``h = 0`` with::

        h = p d - k,    k = (b^2 + d^2 - l^2) / 2,    dt/dq = -(dh/dq) / (dh/dt)

    As ``d`` does not depend on the foot, this is much less arithmetic than the crank angle that
    :class:`~transmission_bridge.transmissions.ankle_leg.AnkleLeg` gives for a foot, and the same
    Newton steps are cheaper. Less again with vectors in the planes of the two rotations as complex
    numbers::

        s + i z = (b_y + i b_z) exp(i roll)          the rod's end in the rolled foot
        u + i v = (d_x - i d_z) exp(-i pitch)        the crank's tip in the pitched foot, mirrored
        h         =  b_x u - z v + d_y s - k
        dh/dpitch =  b_x v + z u
        dh/droll  = -(s v + d_y z)

    :param legs: The two legs.
    :param ratios: The actuator reductions.
    :param offset: The joint offsets [rad].
    """

    def __init__(
        self, legs: Sequence[AnkleLeg], ratios: Sequence[float], offset: Sequence[float]
    ) -> None:
        self._left, self._right = (
            _Crank(leg, ratio) for leg, ratio in zip(legs, ratios, strict=True)
        )
        self._offset = tuple(offset)

    def __call__(self, actuators: Numbers, start: Numbers) -> tuple[Numbers, Numbers] | None:
        """
        Return pitch and roll, and the entries of ``da/dq`` row by row.

        :param actuators: Actuator positions [rad].
        :param start: Pitch and roll near which they are sought [rad].
        :returns: ``None`` where that is not near, or the rods' elbows point to another side.
        :raises ArithmeticError: At a singular position.
        :raises ValueError: Where a crank is more than half a turn from actuator zero.
        """
        left, right = self._left, self._right
        (left_d, left_y, left_k), left_moved = left.tip(actuators[0])
        (right_d, right_y, right_k), right_moved = right.tip(actuators[1])
        left_ahead, left_foot = left.foot
        right_ahead, right_foot = right.foot
        pitch_offset, roll_offset = self._offset
        pitch, roll = start[0] - pitch_offset, start[1] - roll_offset
        # Written out for both legs: to call a function costs as much as what it would compute.
        for _ in range(STEP_LIMIT):
            turn, lift = rect(1.0, -pitch), rect(1.0, roll)
            raised, turned = left_foot * lift, left_d * turn
            left_s, left_z, u, v = raised.real, raised.imag, turned.real, turned.imag
            left_miss = left_ahead * u - left_z * v + left_y * left_s - left_k
            a, b = left_ahead * v + left_z * u, -(left_s * v + left_y * left_z)
            raised, turned = right_foot * lift, right_d * turn
            right_s, right_z, u, v = raised.real, raised.imag, turned.real, turned.imag
            right_miss = right_ahead * u - right_z * v + right_y * right_s - right_k
            c, d = right_ahead * v + right_z * u, -(right_s * v + right_y * right_z)
            determinant = a * d - b * c
            pitch_step = (d * left_miss - b * right_miss) / determinant
            roll_step = (a * right_miss - c * left_miss) / determinant
            pitch -= pitch_step
            roll -= roll_step
            size = pitch_step * pitch_step + roll_step * roll_step
            if size <= SHORTEST:
                break
            if not size <= NEARBY:
                return None
        else:
            return None
        moved, moved_y, moved_k = left_moved
        moved *= turn
        left_lever = left_ahead * moved.real - left_z * moved.imag + moved_y * left_s - moved_k
        moved, moved_y, moved_k = right_moved
        moved *= turn
        right_lever = right_ahead * moved.real - right_z * moved.imag + moved_y * right_s - moved_k
        # n c' = dh/dt = -s r w, see AnkleLeg.
        if left_lever * left.side >= 0.0 or right_lever * right.side >= 0.0:
            return None
        left_gain, right_gain = -left.ratio / left_lever, -right.ratio / right_lever
        return (
            (pitch + pitch_offset, roll + roll_offset),
            (left_gain * a, left_gain * b, right_gain * c, right_gain * d),
        )


class _Crank:
    """
    One leg's crank.

    :ivar foot: The rod's end on the foot, ``b_x`` and ``b_y + i b_z``.
    """

    def __init__(self, leg: AnkleLeg, ratio: float) -> None:
        self.ratio = ratio
        self.side = leg.side
        r, m, b = leg.crank, leg.motor, leg.foot
        ahead = tuple(r * component for component in leg.ahead)
        beside = tuple(r * component for component in leg.beside)
        k = 0.5 * (_dot(b, b) + _dot(m, m) + (r - leg.rod) * (r + leg.rod))
        # d and k are a constant each, a part with cos(t) and one with sin(t).
        self._numbers = (
            *(complex(m[0], -m[2]), m[1], k),
            *(complex(ahead[0], -ahead[2]), ahead[1], _dot(m, ahead)),
            *(complex(beside[0], -beside[2]), beside[1], _dot(m, beside)),
        )
        self.foot = b[0], complex(b[1], b[2])

    def tip(self, actuator: float) -> tuple[Tip, Tip]:
        """
        Return where the tip is, and its derivative by ``t``.

        :raises ValueError: Beyond half a turn, where the crank is again but the actuator is not.
        """
        angle = actuator / self.ratio
        if not -math.pi <= angle <= math.pi:
            raise ValueError('more than half a turn')
        cosine, sine = math.cos(angle), math.sin(angle)
        d, d_y, k, ahead, ahead_y, ahead_k, beside, beside_y, beside_k = self._numbers
        return (
            (
                d + cosine * ahead + sine * beside,
                d_y + cosine * ahead_y + sine * beside_y,
                k + cosine * ahead_k + sine * beside_k,
            ),
            (
                cosine * beside - sine * ahead,
                cosine * beside_y - sine * ahead_y,
                cosine * beside_k - sine * ahead_k,
            ),
        )


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
