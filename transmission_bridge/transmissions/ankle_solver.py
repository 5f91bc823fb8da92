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

#: ``h = p d - k`` as a function of where the foot is: ``d_x - i d_z``, ``d_y``, ``k``, ``b_x`` and
#: ``b_y + i b_z``.
Form = tuple[complex, float, float, float, complex]


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
        left_rod, left_moved = left.forms(actuators[0])
        right_rod, right_moved = right.forms(actuators[1])
        pitch_offset, roll_offset = self._offset
        pitch, roll = start[0] - pitch_offset, start[1] - roll_offset
        for _ in range(STEP_LIMIT):
            turn, lift = rect(1.0, -pitch), rect(1.0, roll)
            left_miss, a, b = _value_and_slopes(left_rod, turn, lift)
            right_miss, c, d = _value_and_slopes(right_rod, turn, lift)
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
        # By n c' = dh/dt = -s r w, see AnkleLeg.
        left_lever, _, _ = _value_and_slopes(left_moved, turn, lift)
        right_lever, _, _ = _value_and_slopes(right_moved, turn, lift)
        if left_lever * left.side >= 0.0 or right_lever * right.side >= 0.0:
            return None
        left_gain, right_gain = -left.ratio / left_lever, -right.ratio / right_lever
        return (
            (pitch + pitch_offset, roll + roll_offset),
            (left_gain * a, left_gain * b, right_gain * c, right_gain * d),
        )


class _Crank:
    """The form of one leg's rod for an angle of its crank."""

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
        self._foot = b[0], complex(b[1], b[2])

    def forms(self, actuator: float) -> tuple[Form, Form]:
        """
        Return ``h`` and ``dh/dt``.

        :raises ValueError: Beyond half a turn, where the crank is again but the actuator is not.
        """
        angle = actuator / self.ratio
        if not -math.pi <= angle <= math.pi:
            raise ValueError('more than half a turn')
        cosine, sine = math.cos(angle), math.sin(angle)
        d, d_y, k, ahead, ahead_y, ahead_k, beside, beside_y, beside_k = self._numbers
        b_x, b = self._foot
        return (
            (
                d + cosine * ahead + sine * beside,
                d_y + cosine * ahead_y + sine * beside_y,
                k + cosine * ahead_k + sine * beside_k,
                b_x,
                b,
            ),
            (
                cosine * beside - sine * ahead,
                cosine * beside_y - sine * ahead_y,
                cosine * beside_k - sine * ahead_k,
                b_x,
                b,
            ),
        )


def _value_and_slopes(form: Form, turn: complex, lift: complex) -> tuple[float, float, float]:
    """
    Return ``h``, ``dh/dpitch`` and ``dh/droll``.

    :param turn: ``exp(-i pitch)``.
    :param lift: ``exp(i roll)``.
    """
    d, d_y, k, b_x, b = form
    raised, turned = b * lift, d * turn
    s, z, u, v = raised.real, raised.imag, turned.real, turned.imag
    return b_x * u - z * v + d_y * s - k, b_x * v + z * u, -(s * v + d_y * z)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
