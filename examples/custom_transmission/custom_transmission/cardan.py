# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A universal joint between motor and joint; its ratio oscillates twice per turn."""

import math

import casadi as ca

from transmission_bridge import EquationTransmission, Parameter

__all__ = ['CardanTransmission']


class CardanTransmission(EquationTransmission):
    """
    A motor drives a joint through a bent shaft with one universal (Cardan) joint.

    With ``b`` the bend between the two shafts::

        q = atan2(sin(a), cos(b) cos(a)) + full turns

    The ratio oscillates between ``cos(b)`` and ``1 / cos(b)``, twice per turn. The inverse also
    has an equation. It is omitted to show that a plugin does not need one.
    """

    api_version = 1
    parameters = (
        Parameter('bend', 'Angle between the shafts', 'rad', minimum=-1.4, maximum=1.4),
        Parameter(
            'turns',
            'Range in full turns in each direction',
            default=2.0,
            minimum=0.01,
            maximum=10.0,
        ),
    )

    def range(self):
        """Return the range of the driving shaft."""
        reach = 2.0 * math.pi * self.p.turns
        return self.bare_range('actuator', [-reach], [reach])

    @staticmethod
    def joint_position(a, p):
        """Return the angle of the driven shaft."""
        # It leads and lags by less than a quarter turn, so both shafts have the same full turns.
        cosine = ca.cos(p.bend)
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - cosine) * s * c, cosine * c * c + s * s)
