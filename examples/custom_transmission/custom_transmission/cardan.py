# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A universal joint between motor and joint, whose ratio swings twice per turn."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from transmission_bridge.transmissions import (
    Domain,
    PositionDependentTransmission,
    SpecReader,
)

__all__ = ['CardanTransmission']


class CardanTransmission(PositionDependentTransmission):
    """
    A motor drives a joint through a bent shaft with one universal (Cardan) joint.

    With ``b`` the bend between the two shafts, ``ar`` the actuator reduction, ``off`` the joint
    offset and ``t = a / ar`` the angle of the driving shaft::

        q = atan2(sin(t), cos(b) cos(t)) + full turns + off
        dq/da = cos(b) / (cos(t)^2 cos(b)^2 + sin(t)^2) / ar

    The ratio swings between ``cos(b)`` and ``1 / cos(b)``, twice per turn. Only the map from
    actuator to joint is given here; its inverse, velocities, accelerations and efforts in both
    directions come from the base class. (This mechanism has a closed inverse as well. It is left
    out on purpose, to show that a plugin need not know one.)

    :param bend: ``b`` [rad], less than a quarter turn either way.
    :param actuator_reduction: ``ar``.
    :param joint_offset: ``off`` [rad].
    :param turns: Full turns of the driving shaft to each side that are mapped.
    """

    #: The version of the contract that this class was written for.
    api_version: ClassVar[int] = 1

    def __init__(
        self,
        bend: float,
        *,
        actuator_reduction: float = 1.0,
        joint_offset: float = 0.0,
        turns: float = 2.0,
    ) -> None:
        self._cosine = math.cos(bend)
        self._ratio = actuator_reduction
        self._offset = joint_offset
        reach = abs(actuator_reduction) * 2.0 * math.pi * turns
        # Last, because it evaluates the maps below.
        super().__init__(Domain('actuator', (-reach,), (reach,)))

    @classmethod
    def from_spec(cls, reader: SpecReader) -> CardanTransmission:
        """Build from one actuator and one joint; every number read here is a live parameter."""
        reader.require_members(joints=1, actuators=1)
        return cls(
            reader.number(
                'bend', description='Angle between the shafts [rad].', minimum=-1.4, maximum=1.4
            ),
            actuator_reduction=reader.actuator_reductions()[0],
            joint_offset=reader.joint_offsets()[0],
            turns=reader.number(
                'turns',
                description='Full turns to each side that are mapped.',
                default=2.0,
                minimum=0.01,
                maximum=10.0,
            ),
        )

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Gear between motor and driving shaft."""
        return (self._ratio,)

    @property
    def joint_offset(self) -> tuple[float, ...]:
        """Joint offset [rad]."""
        return (self._offset,)

    def joint_position(self, actuator_position):
        """Return ``q`` for ``a`` of shape ``(..., 1)``."""
        angle = actuator_position / self._ratio
        # The driven shaft leads and lags by less than a quarter turn, so the turns are those of
        # the driving one.
        lead = np.arctan2(
            (1.0 - self._cosine) * np.sin(angle) * np.cos(angle),
            self._cosine * np.cos(angle) * np.cos(angle) + np.sin(angle) * np.sin(angle),
        )
        return angle + lead + self._offset

    def joint_jacobian(self, actuator_position):
        """Return ``dq/da``, shape ``(..., 1, 1)``."""
        angle = actuator_position / self._ratio
        across, along = np.sin(angle), self._cosine * np.cos(angle)
        ratio = self._cosine / (along * along + across * across)
        return (ratio / self._ratio)[..., np.newaxis]
