# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One actuator, one joint, one ratio."""

from __future__ import annotations

from typing import ClassVar

from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader


class SimpleTransmission(LinearTransmission):
    """
    One actuator drives one joint through a reduction, a belt or a gearbox.

    With ``n`` the reduction and ``off`` the joint offset:

    ============================ ====================== =======================
    interface                    actuator to joint      joint to actuator
    ============================ ====================== =======================
    position, absolute_position  ``j = a / n + off``    ``a = n (j - off)``
    velocity, acceleration       ``j = a / n``          ``a = n j``
    effort, torque, force        ``j = n a``            ``a = j / n``
    ============================ ====================== =======================

    ``n > 1`` makes the joint slower and stronger than the actuator; ``n < 0`` makes them turn in
    opposite directions. The offset is the joint position [rad or m] at actuator position zero.

    Convention: ros2_control ``transmission_interface/SimpleTransmission``, which reads the
    reduction of the *joint*; ROS 1 reads the reduction of the *actuator*. Each dialect is read by
    its own rule. A reduction in the other place is reported: as an error if the right one is
    missing.

    :param reduction: ``n``.
    :param joint_offset: ``off`` [rad or m].
    :raises TransmissionError: If the reduction is zero or a number is not finite.
    """

    api_version: ClassVar[int] = 1

    def __init__(self, reduction: float, joint_offset: float = 0.0) -> None:
        ratio = as_ratios('reduction', (reduction,), 1)
        super().__init__(
            [[1.0]],
            [joint_offset],
            inverse=[[1.0]],
            actuator_reduction=ratio,
            actuator_ratio=[Ratio(ratio)],
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> SimpleTransmission:
        """Build from one joint and one actuator; the dialect selects the reduction."""
        reader.require_members(joints=1, actuators=1)
        ratios = (
            reader.actuator_reductions()
            if reader.spec.dialect == 'ros_control'
            else reader.joint_reductions()
        )
        return cls(ratios[0], reader.joint_offsets()[0])
