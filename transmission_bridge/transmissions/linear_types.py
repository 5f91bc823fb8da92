# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Types with a constant matrix: simple, differential, four-bar linkage, screw, any coupling."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import counted
from transmission_bridge.interfaces import Direction, quantity_of
from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import as_values
from transmission_bridge.types import Array


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


class CoupledTransmission(LinearTransmission):
    """
    ``M`` actuators drive ``N`` joints through any matrix of full rank: tendons, belts, gears.

    With ``C`` the matrix of ``N`` rows and ``M`` columns, ``ar`` the actuator reductions and
    ``off`` the joint offsets:

    ===================== ======================================== ==============================
    interface             actuator to joint                        joint to actuator
    ===================== ======================================== ==============================
    position,             ``j_i = sum_k C_ik a_k / ar_k + off_i``  ``a_k = ar_k sum_i C^+_ki q_i``
    absolute_position                                              with ``q = j - off``
    velocity,             ``j_i = sum_k C_ik a_k / ar_k``          ``a_k = ar_k sum_i C^+_ki j_i``
    acceleration
    effort, torque,       ``j_i = sum_k C^+_ki ar_k a_k``          ``a_k = sum_i C_ik j_i / ar_k``
    force
    ===================== ======================================== ==============================

    ``C^+`` is the inverse, or the pseudo-inverse if ``M != N``. With one motor on several joints
    (``M < N``), joint positions that the motor cannot reach are approximated by least squares, and
    joint efforts computed from the motor contain no component that does not load the motor. With
    more actuators than joints, the actuators share the motion with the smallest effort. Entries of
    the inverse that are zero by the structure of ``C`` are exactly zero: an unknown value touches
    only outputs that depend on it.

    The description gives the matrix row by row, one row per joint role, or as one parameter with
    rows separated by semicolons, or entry by entry in the names of the ROS 2 design draft::

        <param name="joint1">1.0 0.0</param>        <param name="matrix">1 0; -0.5 0.5</param>
        <param name="joint2">-0.5 0.5</param>

        <param name="joint1_output1">1.0</param> <param name="joint1_output2">0.0</param> ...

    Each entry is tunable as ``matrix.joint1.actuator2``.

    Convention: ``C`` maps actuators to joints; source of the spelling: ros-controls roadmap,
    design drafts of ros2_control, which define no equations.

    :param matrix: ``C``, shape ``(n_joints, n_actuators)``.
    :param actuator_reduction: ``ar``, ones by default.
    :param joint_offset: ``off`` [rad or m], zeros by default.
    :raises TransmissionError: If the matrix does not have full rank, a reduction is zero, or a
        number is not finite.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        matrix: npt.ArrayLike,
        actuator_reduction: Sequence[float] | None = None,
        joint_offset: npt.ArrayLike | None = None,
    ) -> None:
        entries = np.array(matrix, dtype=np.float64, ndmin=1)
        reductions = as_ratios('actuator_reduction', actuator_reduction, entries.shape[-1])
        super().__init__(
            entries,
            joint_offset,
            actuator_reduction=reductions,
            actuator_ratio=[Ratio((reduction,)) for reduction in reductions],
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> CoupledTransmission:
        """Build from any numbers of joints and actuators and one of the three spellings."""
        n_joints, n_actuators = len(reader.spec.joints), len(reader.spec.actuators)
        text = reader.text('matrix', default='').strip(' \t\r\n;')
        if text:
            rows = [reader.parse_numbers('matrix', row) for row in text.split(';')]
        else:
            rows = [_read_row(reader, joint, n_actuators) for joint in range(1, n_joints + 1)]
        if [len(row) for row in rows] != [n_actuators] * n_joints:
            raise reader.error(
                'the matrix does not fit the joints and actuators',
                parameter='matrix' if text else 'rows',
                expected=f'{counted(n_joints, "row")} (joints) of '
                f'{counted(n_actuators, "number")} (actuators)',
                found='; '.join(' '.join(f'{entry:g}' for entry in row) for row in rows),
            )
        matrix = [
            [
                reader.declare(
                    ('matrix', f'joint{i}', f'actuator{k}'),
                    entry,
                    f'Motion of joint{i} per motion of actuator{k}.',
                )
                for k, entry in enumerate(row, 1)
            ]
            for i, row in enumerate(rows, 1)
        ]
        return cls(matrix, reader.actuator_reductions(), reader.joint_offsets())


def _read_row(reader: SpecReader, joint: int, n_actuators: int) -> tuple[float, ...]:
    text = reader.text(f'joint{joint}', default='')
    if text:
        return reader.parse_numbers(f'joint{joint}', text)
    names = [f'joint{joint}_output{actuator}' for actuator in range(1, n_actuators + 1)]
    entries = [reader.text(name, default='') for name in names]
    if not any(entries):
        raise reader.error(
            f'the row of joint{joint} is missing',
            parameter=f'joint{joint}',
            expected=f'<param name="joint{joint}"> with {counted(n_actuators, "number")}, or '
            '<param name="matrix"> with all rows',
        )
    return tuple(x for numbers in map(reader.parse_numbers, names, entries) for x in numbers)
