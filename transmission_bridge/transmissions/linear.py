# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions with an affine position map: one matrix, one offset, every interface."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    INTERFACES,
    interfaces_of,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.transmissions.transmission import as_real, as_values, Transmission
from transmission_bridge.types import Array


class LinearTransmission(Transmission):
    """
    ``q = J a + off`` with a constant Jacobian ``J``.

    ============================ ============================ ===========================
    interface                    actuator to joint            joint to actuator
    ============================ ============================ ===========================
    position, absolute_position  ``q = J a + off``            ``a = J^-1 (q - off)``
    velocity, acceleration       ``q' = J a'``                ``a' = J^-1 q'``
    effort, torque, force        ``tau_q = J^-T tau_a``       ``tau_a = J^T tau_q``
    ============================ ============================ ===========================

    ``absolute_position`` has no map from joint to actuator.

    :param matrix: ``J``, shape ``(n_joints, n_actuators)``.
    :param joint_offset: ``off``, shape ``(n_joints,)`` [rad or m], zero by default.
    :param inverse: ``J^-1``, shape ``(n_actuators, n_joints)``, if a closed form is known: its
        zeros are then exact, and a zero stops an unknown value from spreading. By default the
        inverse, or the pseudo-inverse if ``J`` is not square.
    :param actuator_reduction: Value of :attr:`actuator_reduction`.
    :param joint_reduction: Value of :attr:`joint_reduction`.
    :raises ShapeError: If the shapes do not fit.
    :raises TransmissionError: If a number is not finite or the matrix does not have full rank.
    """

    is_constant: ClassVar[bool] = True

    #: Whether absolute positions pass by role, because the encoders measure the joints.
    ignore_absolute_encoder = False

    def __init__(
        self,
        matrix: npt.ArrayLike,
        joint_offset: npt.ArrayLike | None = None,
        *,
        inverse: npt.ArrayLike | None = None,
        actuator_reduction: tuple[float, ...] | None = None,
        joint_reduction: tuple[float, ...] | None = None,
    ) -> None:
        self._matrix = _freeze_array('matrix', matrix)
        if self._matrix.ndim != 2 or 0 in self._matrix.shape:
            raise ShapeError(
                'matrix', expected='(n_joints, n_actuators)', found=self._matrix.shape
            )
        n_joints, n_actuators = self._matrix.shape
        self.members = n_actuators, n_joints
        offset = np.zeros(n_joints) if joint_offset is None else joint_offset
        self._offset = _freeze_array('joint_offset', offset, (n_joints,))
        inverse = _invert_matrix(self._matrix) if inverse is None else inverse
        self._invert_matrix = _freeze_array('inverse', inverse, (n_actuators, n_joints))
        self.actuator_reduction = actuator_reduction or (1.0,) * n_actuators
        self.joint_reduction = joint_reduction or (1.0,) * n_joints
        self.joint_offset = tuple(self._offset.tolist())
        self._maps: dict[tuple[Direction, Quantity], AffineMap] = {}
        for direction in DIRECTIONS:
            for quantity in {INTERFACES[interface] for interface in interfaces_of(direction)}:
                coefficients, before, after = self.coefficients(direction, quantity)
                mapped = AffineMap(coefficients, before=before, after=after)
                self._maps[direction, quantity] = mapped

    def coefficients(
        self, direction: Direction, quantity: Quantity
    ) -> tuple[Array, Array | None, Array | None]:
        """
        Return ``(C, before, after)`` of ``y = C (x - before) + after``.

        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        :param quantity: The quantity of ``x``.
        :returns: ``C`` of shape ``(n_out, n_in)``, and biases; ``None`` if there is no bias.
        """
        forward = direction == ACTUATOR_TO_JOINT
        if quantity is Quantity.EFFORT:
            return (self._invert_matrix if forward else self._matrix).T, None, None
        if quantity is Quantity.ABSOLUTE_POSITION and self.ignore_absolute_encoder:
            return np.eye(*self._matrix.shape), None, None
        coefficients = self._matrix if forward else self._invert_matrix
        if quantity in (Quantity.POSITION, Quantity.ABSOLUTE_POSITION):
            before, after = (None, self._offset) if forward else (self._offset, None)
            return coefficients, before, after
        return coefficients, None, None

    def map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """Map values from one space to the other; see :meth:`Transmission.map`."""
        quantity = quantity_of(interface, direction)
        n_in = self.n_actuators if direction == ACTUATOR_TO_JOINT else self.n_joints
        with np.errstate(invalid='ignore'):
            return self._maps[direction, quantity](as_values('values', values, n_in))

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """Return the constant ``J``, repeated along the batch axes."""
        position = as_values('actuator_position', actuator_position, self.n_actuators)
        repeated = np.broadcast_to(self._matrix, (*position.shape[:-1], *self._matrix.shape))
        return np.array(repeated, dtype=np.float64)


def as_ratios(name: str, values: Sequence[float] | None, count: int) -> tuple[float, ...]:
    """
    Return reductions as floats; ones for ``None``.

    :raises TransmissionError: If their number is not ``count``, or one is zero or not finite.
    """
    numbers = (1.0,) * count if values is None else tuple(map(float, values))
    is_usable = all(math.isfinite(number) and number != 0.0 for number in numbers)
    if len(numbers) != count or not is_usable:
        raise TransmissionError(
            f'{name} is not a valid ratio',
            parameter=name,
            expected=f'finite numbers other than zero, {count} in all',
            found=f'{len(numbers)}: {numbers}',
        )
    return numbers


def reciprocal(number: float) -> float:
    """Return ``1 / number``, or infinity if a product of ratios underflowed to zero."""
    return 1.0 / number if number != 0.0 else math.inf


def _freeze_array(name: str, values: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    array = as_real(name, values).copy()
    if not np.all(np.isfinite(array)):
        raise TransmissionError(
            f'{name} must be finite; are the ratios so large or small that their product leaves '
            'the range of double precision?',
            parameter=name,
            found=str(array.tolist()),
        )
    if shape is not None and array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    array.setflags(write=False)
    return array


def _invert_matrix(matrix: Array) -> Array:
    """Return the inverse or pseudo-inverse with exact structural zeros; check the rank."""
    # Scale rows and columns first: different units and ratios do not reduce the rank.
    rows = np.abs(matrix).max(axis=1, keepdims=True)
    scaled = matrix / np.where(rows > 0.0, rows, 1.0)
    columns = np.abs(scaled).max(axis=0)
    full = min(matrix.shape)
    rank = int(np.linalg.matrix_rank(scaled / np.where(columns > 0.0, columns, 1.0)))
    if rank != full:
        raise TransmissionError(
            'the matrix from actuators to joints does not have full rank',
            parameter='matrix',
            expected=f'rank {full}',
            found=f'rank {rank}: {matrix.tolist()}',
        )
    square = matrix.shape[0] == matrix.shape[1]
    inverse = np.linalg.inv(matrix) if square else np.linalg.pinv(matrix, rcond=0.0)
    return np.where(inverse_pattern(matrix), inverse, 0.0)
