# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two actuators and two joints; the first actuator moves both joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader


class FourBarLinkageTransmission(LinearTransmission):
    """
    A serial arm with the second motor at the base, which moves the second joint by a linkage.

    With ``ar1, ar2`` the actuator reductions, ``jr1, jr2`` the joint reductions, ``off1, off2``
    the joint offsets and ``q = j - off``:

    ===================== ================================================ =========================
    interface             actuator to joint                                joint to actuator
    ===================== ================================================ =========================
    position,             ``j1 = a1/(jr1 ar1) + off1``                     ``a1 = jr1 ar1 q1``
    absolute_position     ``j2 = (a2/ar2 - a1/(jr1 ar1)) / jr2 + off2``    ``a2 = (q1 + jr2 q2) ar2``
    velocity,             ``j1 = a1/(jr1 ar1)``                            ``a1 = jr1 ar1 j1``
    acceleration          ``j2 = (a2/ar2 - a1/(jr1 ar1)) / jr2``           ``a2 = (j1 + jr2 j2) ar2``
    effort, torque,       ``j1 = jr1 a1 ar1 + a2 ar2``                     ``a1 = (j1 - j2/jr2) / (jr1 ar1)``
    force                 ``j2 = jr2 a2 ar2``                              ``a2 = j2 / (ar2 jr2)``
    ===================== ================================================ =========================

    Actuator 1 alone moves joint 1, and joint 2 in the opposite direction: the second link keeps its orientation in space.

    Convention: ros2_control ``transmission_interface/FourBarLinkageTransmission`` since 5.2.0, which conserves power (ros2_control#1837). ROS 1 and older binaries of ROS 2 map effort differently: ``j1 = jr1 a1 ar1`` and ``j2 = jr2 (a2 ar2 - a1 ar1 jr1)``, which violates conservation of power. This package adds torque, force and absolute_position.

    :param actuator_reduction: ``(ar1, ar2)``.
    :param joint_reduction: ``(jr1, jr2)``.
    :param joint_offset: ``(off1, off2)`` [rad or m].
    :raises TransmissionError: If a reduction is zero or a number is not finite.
    """  # noqa: E501 (a table row cannot be broken)

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        actuator_reduction: Sequence[float],
        joint_reduction: Sequence[float],
        joint_offset: Sequence[float] = (0.0, 0.0),
    ) -> None:
        ar1, ar2 = as_ratios('actuator_reduction', actuator_reduction, 2)
        jr1, jr2 = as_ratios('joint_reduction', joint_reduction, 2)
        super().__init__(
            [[1.0, 0.0], [-1.0, 1.0]],
            joint_offset,
            inverse=[[1.0, 0.0], [1.0, 1.0]],
            actuator_reduction=(ar1, ar2),
            joint_reduction=(jr1, jr2),
            actuator_ratio=[Ratio((jr1, ar1)), Ratio((ar2,))],
            joint_ratio=[Ratio(), Ratio((jr2,))],
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> FourBarLinkageTransmission:
        """Build from two joints and two actuators."""
        reader.require_members(joints=2, actuators=2)
        return cls(reader.actuator_reductions(), reader.joint_reductions(), reader.joint_offsets())
