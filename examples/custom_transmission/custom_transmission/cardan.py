# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A universal joint between motor and joint, whose ratio swings twice per turn."""

import math

import casadi as ca

from transmission_bridge import EquationTransmission, Parameter

__all__ = ['CardanTransmission']


class CardanTransmission(EquationTransmission):
    """
    A motor drives a joint through a bent shaft with one universal (Cardan) joint.

    With ``b`` the bend between the two shafts::

        q = atan2(sin(a), cos(b) cos(a)) + full turns

    The ratio swings between ``cos(b)`` and ``1 / cos(b)``, twice per turn. The inverse is an
    equation as well. It is left out on purpose, to show that a plugin need not know one.
    """

    api_version = 2
    parameters = (
        Parameter('bend', 'Angle between the shafts', 'rad', minimum=-1.4, maximum=1.4),
        Parameter(
            'turns',
            'Full turns to each side that are mapped',
            default=2.0,
            minimum=0.01,
            maximum=10.0,
        ),
    )

    def range(self):
        """Return the angles of the driving shaft that are mapped."""
        reach = 2.0 * math.pi * self.p.turns
        return self.bare_range('actuator', [-reach], [reach])

    @staticmethod
    def joint_position(a, p):
        """Return the angle of the driven shaft."""
        # It leads and lags by less than a quarter turn: full turns are those of the driving one.
        cosine = ca.cos(p.bend)
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - cosine) * s * c, cosine * c * c + s * s)
