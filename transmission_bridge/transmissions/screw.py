# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From rotation to translation by the lead of a screw."""

from __future__ import annotations

import math
from typing import ClassVar

from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader


class ScrewTransmission(LinearTransmission):
    """
    A rotary actuator moves a prismatic joint by a screw, a rack and pinion, or a belt.

    With ``lead`` the travel per revolution, ``ar`` the reduction between motor and screw and
    ``off`` the joint offset:

    ============================ ===================================== ==================================
    interface                    actuator to joint                     joint to actuator
    ============================ ===================================== ==================================
    position, absolute_position  ``j = lead / (2 pi) a / ar + off``    ``a = ar (2 pi / lead) (j - off)``
    velocity, acceleration       ``j = lead / (2 pi) a / ar``          ``a = ar (2 pi / lead) j``
    effort, torque, force        ``j = ar (2 pi / lead) a`` [N]        ``a = lead / (2 pi) j / ar`` [N m]
    ============================ ===================================== ==================================

    Actuator values are in [rad], joint values in [m]. The sign of the lead is the handedness: with
    a positive lead, a turn in the positive direction moves the joint in its positive direction.
    Friction is not modelled: power is conserved.

    :param lead: Travel [m] per revolution, negative for a left-handed screw.
    :param actuator_reduction: ``ar``.
    :param joint_offset: ``off`` [m].
    :raises TransmissionError: If lead or reduction is zero or a number is not finite.
    """  # noqa: E501 (a table row cannot be broken)

    api_version: ClassVar[int] = 1
    actuators_turn: bool = True

    def __init__(
        self, lead: float, actuator_reduction: float = 1.0, joint_offset: float = 0.0
    ) -> None:
        travel = as_ratios('lead', (lead,), 1)
        reduction = as_ratios('actuator_reduction', (actuator_reduction,), 1)
        super().__init__(
            [[1.0]],
            [joint_offset],
            inverse=[[1.0]],
            actuator_reduction=reduction,
            actuator_ratio=[Ratio(reduction)],
            joint_ratio=[Ratio((2.0 * math.pi,), over=travel)],
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> ScrewTransmission:
        """Build from one actuator, one joint and ``<param name="lead">``."""
        reader.require_members(joints=1, actuators=1)
        lead = reader.number(
            'lead', description='Travel per revolution, negative if left-handed [m].',
            nonzero=True,
        )  # fmt: skip
        return cls(lead, reader.actuator_reductions()[0], reader.joint_offsets()[0])
