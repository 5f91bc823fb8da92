# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of a joint's motion, one number per degree of freedom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from transmission_bridge.errors import ShapeError

__all__ = ['MotionLimits']

#: iDynTree's bounds before any are set: the largest finite number.
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """
    Position bounds, velocity and effort magnitudes, each with a switch, as in iDynTree's IJoint.

    A number counts only while its switch is on; setting a number does not turn the switch.
    Every tuple has one entry per degree of freedom.

    :param lower: Least positions [rad or m].
    :param upper: Greatest positions [rad or m].
    :param velocity: Greatest speeds [rad/s or m/s].
    :param effort: Greatest efforts [N m or N].
    :param has_position: Whether ``lower`` and ``upper`` count.
    :param has_velocity: Whether ``velocity`` counts.
    :param has_effort: Whether ``effort`` counts.
    :raises ShapeError: If the tuples differ in length.
    """

    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    has_position: bool = False
    has_velocity: bool = False
    has_effort: bool = False

    def __post_init__(self) -> None:
        for values in (self.upper, self.velocity, self.effort):
            if len(values) != len(self.lower):
                raise ShapeError('limits', expected=f'({len(self.lower)},)', found=(len(values),))

    @classmethod
    def unlimited(cls, n_dofs: int) -> MotionLimits:
        """
        Return the limits that a new joint has in iDynTree: none, every switch off.

        :param n_dofs: Number of degrees of freedom.
        :returns: Bounds of plus and minus the largest finite number [rad or m], magnitudes zero.
        """
        zeros = (0.0,) * n_dofs
        return cls((-LARGEST,) * n_dofs, (LARGEST,) * n_dofs, zeros, zeros)

    def with_value(self, field: str, dof: int, value: float) -> MotionLimits:
        """
        Return the same limits with one number changed.

        :param field: ``lower``, ``upper``, ``velocity`` or ``effort``.
        :param dof: Degree of freedom, counted from 0, in range.
        :param value: The number, in the field's unit.
        :returns: New limits; the switches stay.
        """
        values = list(getattr(self, field))
        values[dof] = float(value)
        changed: dict[str, Any] = {field: tuple(values)}
        return replace(self, **changed)

    @property
    def size(self) -> int:
        """The number of degrees of freedom."""
        return len(self.lower)
