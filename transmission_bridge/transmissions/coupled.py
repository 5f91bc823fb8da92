# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Any number of actuators and joints, coupled by a constant matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import counted
from transmission_bridge.transmissions.linear import as_ratios, LinearTransmission, Ratio
from transmission_bridge.transmissions.spec_reader import SpecReader


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
        return cls(_read_matrix(reader), reader.actuator_reductions(), reader.joint_offsets())


def _read_matrix(reader: SpecReader) -> list[list[float]]:
    n_joints, n_actuators = len(reader.spec.joints), len(reader.spec.actuators)
    text = reader.text('matrix', default='').strip(' \t\r\n;')
    if text:
        rows = [reader.parse_numbers('matrix', row) for row in text.split(';')]
    else:
        rows = [_read_row(reader, joint + 1, n_actuators) for joint in range(n_joints)]
    if [len(row) for row in rows] != [n_actuators] * n_joints:
        raise reader.error(
            'the matrix does not fit the joints and actuators',
            parameter='matrix' if text else 'rows',
            expected=f'{counted(n_joints, "row")} (joints) of '
            f'{counted(n_actuators, "number")} (actuators)',
            found='; '.join(' '.join(f'{entry:g}' for entry in row) for row in rows),
        )
    return [
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


def _read_row(reader: SpecReader, joint: int, n_actuators: int) -> tuple[float, ...]:
    text = reader.text(f'joint{joint}', default='')
    if text:
        return reader.parse_numbers(f'joint{joint}', text)
    names = [f'joint{joint}_output{actuator + 1}' for actuator in range(n_actuators)]
    entries = [reader.text(name, default='') for name in names]
    if not any(entries):
        raise reader.error(
            f'the row of joint{joint} is missing',
            parameter=f'joint{joint}',
            expected=f'<param name="joint{joint}"> with {counted(n_actuators, "number")}, or '
            '<param name="matrix"> with all rows',
        )
    found = map(reader.parse_numbers, names, entries)
    return tuple(number for numbers in found for number in numbers)
