# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions with an affine position map: one matrix, one offset, everything is exact."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, cast, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, Quantity
from transmission_bridge.transmissions.robot.affine_map import AffineMap
from transmission_bridge.transmissions.transmission import as_real, as_values, Transmission
from transmission_bridge.transmissions.tunable import as_floats, LiveNumber, ParameterPath
from transmission_bridge.types import Array

Pattern = npt.NDArray[np.bool_]


def inverse_pattern(matrix: Array) -> Pattern:
    """
    Return which entries of the inverse or pseudo-inverse of a full-rank matrix may be nonzero.

    Square: with a matching of rows to columns through nonzero entries, ``M`` is a permutation of a
    matrix ``B`` with a full diagonal. ``B^-1`` is a polynomial in ``B`` (Cayley-Hamilton), hence
    zero from ``i`` to ``j`` if no path of nonzero entries leads from ``i`` to ``j``. The pattern
    is the same for any matching.

    Not square: rows and columns that no chain of nonzero entries connects are independent, so the
    pseudo-inverse is zero between connected components. In general it has no other structural
    zeros.
    """
    present = matrix != 0.0
    if present.shape[0] == present.shape[1]:
        column_of = _perfect_matching(present)
        # B[i, j] = M[i, column_of[j]]: row i of B is coupled with the match of row j.
        reach = _transitive_closure(present[:, column_of])
        pattern = np.empty_like(reach)
        pattern[column_of] = reach
        return pattern
    n_rows = len(present)
    graph = np.zeros((sum(present.shape),) * 2, dtype=bool)
    graph[:n_rows, n_rows:] = present
    graph[n_rows:, :n_rows] = present.T
    return _transitive_closure(graph)[n_rows:, :n_rows]


def _transitive_closure(graph: Pattern) -> Pattern:
    """Return which nodes each node reaches along edges, itself included."""
    reach = graph | np.eye(len(graph), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle, np.newaxis] & reach[middle]
    return reach


def _perfect_matching(present: Pattern) -> list[int]:
    """
    Return a different column for each row, through a nonzero entry, by augmenting paths.

    Every matrix of full rank has such a matching: one term of its determinant is not zero.
    """
    row_of: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(present[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if column not in row_of or augment(row_of[column], seen):
                row_of[column] = row
                return True
        return False

    for row in range(len(present)):
        augment(row, set())
    column_of = {row: column for column, row in row_of.items()}
    return [column_of[row] for row in range(len(present))]


class Ratio(NamedTuple):
    """A quotient of two products of numbers, ones by default."""

    times: Sequence[float] = ()
    over: Sequence[float] = ()

    @property
    def value(self) -> float:
        """The number; infinite if ``over`` underflows to zero."""
        over = math.prod(self.over)
        return math.prod(self.times) / over if over else math.inf

    def list_factors(self, exponent: int) -> tuple[tuple[ParameterPath, int], ...]:
        """Return path and exponent of each live number in a power of the ratio."""
        factors = [*((x, exponent) for x in self.times), *((x, -exponent) for x in self.over)]
        return tuple((x.path, power) for x, power in factors if isinstance(x, LiveNumber))


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

    Ratios of the members separate constants from live numbers: ``J_ik = C_ik / (Q_i A_k)``,
    ``J^-1_ki = A_k C^-1_ki Q_i``. Numbers of a :class:`~.SpecReader` in ratios and offsets are
    live in compiled C code: no other number may depend on them.

    :param matrix: ``J``, or ``C`` if there are ratios, shape ``(n_joints, n_actuators)``.
    :param joint_offset: ``off``, shape ``(n_joints,)`` [rad or m], zero by default.
    :param inverse: ``J^-1`` or ``C^-1``, shape ``(n_actuators, n_joints)``, if a closed form is
        known: its zeros are then exact, and a zero stops an unknown value from spreading. By
        default the inverse, or the pseudo-inverse if ``J`` is not square.
    :param actuator_reduction: Value of :attr:`actuator_reduction`.
    :param joint_reduction: Value of :attr:`joint_reduction`.
    :param actuator_ratio: ``A``, ones by default.
    :param joint_ratio: ``Q``, ones by default.
    :raises ShapeError: If the shapes do not fit.
    :raises TransmissionError: If a number is not finite or the matrix does not have full rank.
    """

    is_constant: ClassVar[bool] = True

    def __init__(
        self,
        matrix: npt.ArrayLike,
        joint_offset: npt.ArrayLike | None = None,
        *,
        inverse: npt.ArrayLike | None = None,
        actuator_reduction: tuple[float, ...] | None = None,
        joint_reduction: tuple[float, ...] | None = None,
        actuator_ratio: Sequence[Ratio] = (),
        joint_ratio: Sequence[Ratio] = (),
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
        self._ratios = (
            joint_ratio or (Ratio(),) * n_joints,
            actuator_ratio or (Ratio(),) * n_actuators,
        )
        with np.errstate(all='ignore'):
            joints, actuators = ([ratio.value for ratio in side] for side in self._ratios)
            scale = np.outer(joints, actuators)
            self._matrix = _freeze_array('matrix', self._matrix / scale)
            #: Whether the ratios of joints and of actuators are factors of the inverse: a
            #: pseudo-inverse weighs the members of the longer side by theirs.
            self._is_factor = n_joints <= n_actuators, n_actuators <= n_joints
            if inverse is None:
                inverse = _invert_matrix(self._matrix)
            else:
                self._is_factor = True, True
                inverse = _freeze_array('inverse', inverse, (n_actuators, n_joints)) * scale.T
            self._inverse = _freeze_array('inverse', inverse)
        self.actuator_reduction = actuator_reduction or (1.0,) * n_actuators
        self.joint_reduction = joint_reduction or (1.0,) * n_joints
        self.joint_offset = as_floats(cast('Sequence[float]', offset))
        #: Built at first use.
        self._maps: dict[tuple[Direction, Quantity], AffineMap] = {}

    def coefficients(self, direction: Direction, quantity: Quantity) -> tuple[Array, Array, Array]:
        """
        Return ``(C, before, after)`` of ``y = C (x - before) + after``.

        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        :param quantity: The quantity of ``x``.
        :returns: ``C`` of shape ``(n_out, n_in)``, and the biases.
        """
        forward = direction == ACTUATOR_TO_JOINT
        coefficients = self._matrix if forward else self._inverse
        if quantity is Quantity.EFFORT:
            coefficients = (self._inverse if forward else self._matrix).T
        offset = self._offset if quantity is Quantity.POSITION else np.zeros(self.n_joints)
        biases = np.zeros(self.n_actuators), offset
        return (coefficients, *(biases if forward else biases[::-1]))

    def list_factors(
        self, direction: Direction, quantity: Quantity
    ) -> list[list[tuple[tuple[ParameterPath, int], ...]]]:
        """
        Return the live factors of each entry of ``C`` of :meth:`coefficients`.

        :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
        :param quantity: The quantity of ``x``.
        :returns: Path and exponent, 1 or -1, of the factors; ``n_out`` rows of ``n_in``.
        """
        forward = direction == ACTUATOR_TO_JOINT
        exponent = -1 if forward != (quantity is Quantity.EFFORT) else 1
        joints, actuators = (
            [ratio.list_factors(exponent) if is_factor else () for ratio in side]
            for side, is_factor in zip(self._ratios, self._is_factor, strict=True)
        )
        outputs, inputs = (joints, actuators) if forward else (actuators, joints)
        return [[(*row, *column) for column in inputs] for row in outputs]

    def _map_values(
        self, direction: Direction, quantity: Quantity, values: Array, **options: Any
    ) -> Array:
        if (direction, quantity) not in self._maps:
            mapped = AffineMap.from_matrix(*self.coefficients(direction, quantity))
            self._maps[direction, quantity] = mapped
        with np.errstate(invalid='ignore'):
            return self._maps[direction, quantity](values)

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """Return the constant ``J``, repeated along the batch axes."""
        position = as_values('actuator_position', actuator_position, self.n_actuators)
        return np.broadcast_to(self._matrix, (*position.shape[:-1], *self._matrix.shape)).copy()


def as_ratios(name: str, values: Sequence[float] | None, count: int) -> tuple[float, ...]:
    """
    Return reductions as floats; ones for ``None``.

    :raises TransmissionError: If their number is not ``count``, or one is zero or not finite.
    """
    numbers = (1.0,) * count if values is None else as_floats(values)
    is_usable = all(math.isfinite(number) and number != 0.0 for number in numbers)
    if len(numbers) != count or not is_usable:
        raise TransmissionError(
            f'{name} is not a valid ratio',
            parameter=name,
            expected=f'finite numbers other than zero, {count} in all',
            found=f'{len(numbers)}: {numbers}',
        )
    return numbers


def _freeze_array(name: str, values: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    array = as_real(name, values).copy()
    if not np.all(np.isfinite(array)):
        raise TransmissionError(
            f'{name} must be finite, and so must the products of its ratios',
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
