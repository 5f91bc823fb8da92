# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The two linkages that turn a straight stroke into a rotation, as laws ``s(phi)``.

``phi`` is the angle of the crank [rad], ``s`` the stroke [m], ``r`` the length of the crank.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from math import atan2, cos, hypot, sin, sqrt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.elementary import Elementary, Real

__all__ = ['GuidedSlider', 'HingedCylinder', 'StrokeLaw']

#: Angles this near to each other [rad] are the same but for rounding.
ROUNDING = 4e-15

#: A triangle whose half-angle formulas give less, in squares of a side, is flat but for rounding.
FLAT = 1e-14


@dataclass(frozen=True)
class GuidedSlider:
    """
    A slider on a straight guide pushes the crank by a rod: the slider-crank.

    The crank's pivot is the origin, the guide runs along ``x`` at ``y = e``, the slider is at
    ``(s, e)`` with the rod pointing back to the crank::

        s = r cos(phi) + sqrt(l^2 - (r sin(phi) - e)^2)

    :param crank: ``r`` [m].
    :param rod: ``l`` [m].
    :param offset: ``e`` [m].
    """

    crank: float
    rod: float
    offset: float = 0.0

    def stroke_and_slope(self, angle: Real, of: Elementary[Real]) -> tuple[Real, Real]:
        """Return ``s`` and ``ds/dphi``."""
        along, across = self.crank * of.cos(angle), self.crank * of.sin(angle)
        lift = across - self.offset
        reach = of.sqrt((self.rod - lift) * (self.rod + lift))
        return along + reach, -lift * along / reach - across

    def curvature(self, angle: Real, of: Elementary[Real]) -> Real:
        """Return the derivative of ``ds/dphi``."""
        along, across = self.crank * of.cos(angle), self.crank * of.sin(angle)
        lift = across - self.offset
        reach = of.sqrt((self.rod - lift) * (self.rod + lift))
        reach_slope = -lift * along / reach
        return (lift * across - along * along - reach_slope * reach_slope) / reach - along

    def angle(self, stroke: Real, side: float, of: Elementary[Real]) -> Real:
        """
        Return ``phi`` for a stroke; the crank is left (``side`` 1) or right of the slider.

        The angle at the pivot of the triangle crank, rod, distance, by its half-angle formula.
        """
        distance = of.hypot(stroke, self.offset)
        near = (self.rod - distance + self.crank) * (self.rod + distance - self.crank)
        far = (distance + self.crank - self.rod) * (distance + self.crank + self.rod)
        inner = 2.0 * of.arctan2(_root(near, self.rod, of), _root(far, self.rod, of))
        return of.arctan2(self.offset, stroke) + side * inner

    def angle_and_slope(self, stroke: float, side: float) -> tuple[float, float]:
        """
        Return ``phi`` and ``ds/dphi`` for a stroke.

        The same equations without a call of functions between: these cost more than they compute.

        :raises ValueError: At a dead centre, or where the linkage does not reach.
        :raises ZeroDivisionError: Where the rod is perpendicular to the guide.
        """
        crank, rod, offset = self.crank, self.rod, self.offset
        distance = hypot(stroke, offset)
        near = (rod - distance + crank) * (rod + distance - crank)
        far = (distance + crank - rod) * (distance + crank + rod)
        if min(near, far) < FLAT * rod * rod:
            raise ValueError('a dead centre, or out of reach')
        phi = atan2(offset, stroke) + side * 2.0 * atan2(sqrt(near), sqrt(far))
        along, across = crank * cos(phi), crank * sin(phi)
        lift = across - offset
        return phi, -lift * along / sqrt((rod - lift) * (rod + lift)) - across

    def range_around(self, angle: float) -> tuple[float, float, float]:
        """
        Return the bounds of the branch that holds ``angle``, and its side.

        Bounds are the dead centres, where crank and rod are in line, or where the rod is
        perpendicular to the guide.

        :raises TransmissionError: If the linkage is not closed at ``angle``.
        """
        ends = [
            _angle_of_sine(self.offset, self.crank + self.rod),
            math.pi + _angle_of_sine(self.offset, self.rod - self.crank),
        ]
        for side in (self.rod, -self.rod):
            upright = _angle_of_sine(self.offset + side, self.crank)
            ends += [upright, math.pi - upright]
        for first, last in _enclosing(ends, angle):
            middle = 0.5 * (first + last)
            lift = self.crank * math.sin(middle) - self.offset
            if abs(lift) <= self.rod:
                stroke = self.crank * math.cos(middle) + math.sqrt(self.rod**2 - lift**2)
                turned = math.sin(middle - math.atan2(self.offset, stroke))
                return first, last, math.copysign(1.0, turned)
        raise _not_closed(self, angle)

    @property
    def misfit(self) -> str:
        """What keeps the linkage from closing anywhere, empty if nothing does."""
        if abs(self.offset) < self.crank + self.rod:
            return ''
        return 'crank and rod together are shorter than the offset of the guide'


@dataclass(frozen=True)
class HingedCylinder:
    """
    A cylinder hinged at its base and at the crank: the inverted slider-crank.

    ``d`` is the distance of the base hinge from the crank's pivot, ``phi`` the angle between the
    two, ``e`` the distance of the base hinge from the axis of the stroke::

        s = sqrt(r^2 + d^2 - 2 r d cos(phi) - e^2)

    :param crank: ``r`` [m].
    :param base: ``d`` [m].
    :param offset: ``e`` [m].
    """

    crank: float
    base: float
    offset: float = 0.0

    def stroke_and_slope(self, angle: Real, of: Elementary[Real]) -> tuple[Real, Real]:
        """Return ``s`` and ``ds/dphi``."""
        # 1 - cos(phi) = 2 sin^2(phi / 2) does not cancel at small angles.
        half = of.sin(0.5 * angle)
        square = (self.crank - self.base) * (self.crank - self.base) - self.offset * self.offset
        stroke = of.sqrt(square + 4.0 * self.crank * self.base * half * half)
        return stroke, self.crank * self.base * of.sin(angle) / stroke

    def curvature(self, angle: Real, of: Elementary[Real]) -> Real:
        """Return the derivative of ``ds/dphi``."""
        stroke, slope = self.stroke_and_slope(angle, of)
        return (self.crank * self.base * of.cos(angle) - slope * slope) / stroke

    def angle(self, stroke: Real, side: float, of: Elementary[Real]) -> Real:
        """
        Return ``phi`` for a stroke, positive (``side`` 1) or negative.

        The angle at the pivot of the triangle crank, base, cylinder, by its half-angle formula.
        """
        length = of.where(stroke >= 0.0, of.hypot(stroke, self.offset), math.nan)
        near = (length - self.crank + self.base) * (length + self.crank - self.base)
        far = (self.crank + self.base - length) * (self.crank + self.base + length)
        return side * 2.0 * of.arctan2(_root(near, self.base, of), _root(far, self.base, of))

    def angle_and_slope(self, stroke: float, side: float) -> tuple[float, float]:
        """
        Return ``phi`` and ``ds/dphi`` for a stroke; see :meth:`GuidedSlider.angle_and_slope`.

        :raises ValueError: At a dead centre, or where the linkage does not reach.
        :raises ZeroDivisionError: At a stroke of zero.
        """
        crank, base = self.crank, self.base
        length = hypot(stroke, self.offset)
        near = (length - crank + base) * (length + crank - base)
        far = (crank + base - length) * (crank + base + length)
        if not stroke >= 0.0 or min(near, far) < FLAT * base * base:
            raise ValueError('a dead centre, or out of reach')
        phi = side * 2.0 * atan2(sqrt(near), sqrt(far))
        return phi, crank * base * sin(phi) / stroke

    def range_around(self, angle: float) -> tuple[float, float, float]:
        """
        Return the bounds of the branch that holds ``angle``, and its side.

        :raises TransmissionError: If the linkage is not closed at ``angle``.
        """
        ends = [0.0, math.pi]
        if abs(self.offset) > abs(self.crank - self.base):
            shortest = math.acos(
                (self.crank**2 + self.base**2 - self.offset**2) / (2.0 * self.crank * self.base)
            )
            ends = [shortest, -shortest, math.pi]
        square = self.crank**2 + self.base**2 - self.offset**2
        for first, last in _enclosing(ends, angle):
            middle = 0.5 * (first + last)
            if square >= 2.0 * self.crank * self.base * math.cos(middle):
                return first, last, math.copysign(1.0, math.sin(middle))
        raise _not_closed(self, angle)

    @property
    def misfit(self) -> str:
        """What keeps the linkage from closing anywhere, empty if nothing does."""
        if abs(self.offset) < self.crank + self.base:
            return ''
        return 'crank and base together are shorter than the offset of the axis'


StrokeLaw = GuidedSlider | HingedCylinder


def _angle_of_sine(side: float, hypotenuse: float) -> float:
    """Return the angle, NaN where there is none; a triangle that is flat but for rounding is."""
    if hypotenuse == 0.0 or abs(side) > abs(hypotenuse) * (1.0 + 1e-12):
        return math.nan
    return math.asin(min(1.0, max(-1.0, side / hypotenuse)))


def _root(square: Real, length: float, of: Elementary[Real]) -> Real:
    """Return the square root, zero where rounding has carried a dead centre below zero."""
    return of.sqrt(of.where(abs(square) < FLAT * length * length, 0.0, square))


def _enclosing(ends: list[float], angle: float) -> list[tuple[float, float]]:
    """
    Return the ranges between neighbouring ends, by full turns, that hold an angle.

    Two, the one above first, where it is an end but for rounding.
    """
    turn = 2.0 * math.pi
    ahead = {(end - angle) % turn for end in ends if not math.isnan(end)}
    others = sorted(way for way in ahead if ROUNDING < way < turn - ROUNDING)
    if len(others) == len(ahead):
        return [(angle + (others[-1] - turn), angle + others[0])]
    if not others:
        return [(angle, angle + turn), (angle - turn, angle)]
    return [(angle, angle + others[0]), (angle + (others[-1] - turn), angle)]


def _not_closed(law: StrokeLaw, angle: float) -> TransmissionError:
    return TransmissionError(
        'the linkage is not closed at its crank angle',
        parameter='crank_angle',
        expected='an angle that the other links reach',
        found=f'{angle:g} with {law}',
    )
