# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two actuators that turn together for one joint and in opposite directions for the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy.typing as npt

from transmission_bridge.interfaces import Direction, quantity_of
from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import as_values
from transmission_bridge.types import Array


class DifferentialTransmission(LinearTransmission):
    """
    A differential, as in many wrists and waists: two actuators, two joints.

    With ``ar1, ar2`` the actuator reductions, ``jr1, jr2`` the joint reductions, ``off1, off2``
    the joint offsets and ``q = j - off``:

    ===================== ============================================ ===========================
    interface             actuator to joint                            joint to actuator
    ===================== ============================================ ===========================
    position,             ``j1 = (a1/ar1 + a2/ar2) / (2 jr1) + off1``  ``a1 = (jr1 q1 + jr2 q2) ar1``
    absolute_position     ``j2 = (a1/ar1 - a2/ar2) / (2 jr2) + off2``  ``a2 = (jr1 q1 - jr2 q2) ar2``
    velocity,             ``j1 = (a1/ar1 + a2/ar2) / (2 jr1)``         ``a1 = (jr1 j1 + jr2 j2) ar1``
    acceleration          ``j2 = (a1/ar1 - a2/ar2) / (2 jr2)``         ``a2 = (jr1 j1 - jr2 j2) ar2``
    effort, torque,       ``j1 = jr1 (a1 ar1 + a2 ar2)``               ``a1 = (j1/jr1 + j2/jr2) / (2 ar1)``
    force                 ``j2 = jr2 (a1 ar1 - a2 ar2)``               ``a2 = (j1/jr1 - j2/jr2) / (2 ar2)``
    ===================== ============================================ ===========================

    Equal motion of both actuators moves joint 1 only, opposite motion moves joint 2 only.

    Convention: the code of ros2_control and ROS 1 ``transmission_interface/DifferentialTransmission``. The printed class documentation there has three misprints that violate conservation of power.

    :param actuator_reduction: ``(ar1, ar2)``.
    :param joint_reduction: ``(jr1, jr2)``.
    :param joint_offset: ``(off1, off2)`` [rad or m].
    :param ignore_transmission_for_absolute_encoders: Whether absolute encoders are at the joints:
        ``absolute_position`` then passes by role. The class of ROS 1 swaps the two.
    :raises TransmissionError: If a reduction is zero or a number is not finite.
    """  # noqa: E501 (a table row cannot be broken)

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        actuator_reduction: Sequence[float],
        joint_reduction: Sequence[float],
        joint_offset: Sequence[float] = (0.0, 0.0),
        *,
        ignore_transmission_for_absolute_encoders: bool = False,
    ) -> None:
        self._passes_encoders = ignore_transmission_for_absolute_encoders
        ar1, ar2 = as_ratios('actuator_reduction', actuator_reduction, 2)
        jr1, jr2 = as_ratios('joint_reduction', joint_reduction, 2)
        super().__init__(
            [[0.5, 0.5], [0.5, -0.5]],
            joint_offset,
            inverse=[[1.0, 1.0], [1.0, -1.0]],
            actuator_reduction=(ar1, ar2),
            joint_reduction=(jr1, jr2),
            actuator_ratio=[Ratio((ar1,)), Ratio((ar2,))],
            joint_ratio=[Ratio((jr1,)), Ratio((jr2,))],
        )

    def map(
        self, direction: Direction, interface: str, values: npt.ArrayLike, **options: Any
    ) -> Array:
        """Map values; see :meth:`~.transmission.Transmission.map`."""
        if self._passes_encoders and interface == 'absolute_position':
            quantity_of(interface, direction)
            return as_values('values', values, 2).copy()
        return super().map(direction, interface, values, **options)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> DifferentialTransmission:
        """Build from two joints and two actuators."""
        reader.require_members(joints=2, actuators=2)
        return cls(reader.actuator_reductions(), reader.joint_reductions(), reader.joint_offsets())
