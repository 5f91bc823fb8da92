# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Transmissions with an affine position map: one matrix, one offset, everything is exact.

The base class comes first, then the types: simple, differential, four-bar linkage, screw and any
coupling. URDFs select a type by the name of its entry point and set the numbers that its
``from_spec`` reads; Python callers use the constructors. These names and the equations are fixed.

A type passes a reduction twice: as the attribute that zeroing, cards and the conformance suite
read, and as a factor of a ratio, which the maps and the C code use. The order of factors, those of
the output before those of the input, is the order in which C multiplies, and decides the last bit
of a tuned number.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, cast, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import counted, ShapeError, TransmissionError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, find_quantity, Quantity
from transmission_bridge.transmissions.robot.affine_map import AffineMap
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import as_map_values, as_real, Transmission
from transmission_bridge.transmissions.tunable import as_floats, LiveNumber, ParameterPath
from transmission_bridge.types import Array

#: Which entries of a matrix may be nonzero, or which nodes are connected.
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
    n, m = present.shape
    graph = np.block([[np.eye(n, dtype=bool), present], [present.T, np.eye(m, dtype=bool)]])
    return _transitive_closure(graph)[n:, :n]


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
    return sorted(row_of, key=row_of.__getitem__)


class Ratio(NamedTuple):
    """A quotient of two products of numbers, ones by default; live numbers keep their paths."""

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
        #: Cache of :meth:`_map_values`, which alone writes it.
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
        position = as_map_values('actuator_position', actuator_position, self.n_actuators)
        return np.broadcast_to(self._matrix, (*position.shape[:-1], *self._matrix.shape)).copy()


def as_gears(
    name: str, values: Sequence[float] | None, count: int, *, neutral: float = 1.0
) -> tuple[float, ...]:
    """
    Return reductions, or offsets with neutral zero, as floats; neutral ones for ``None``.

    :raises TransmissionError: If their number is not ``count``, one is not finite, or a reduction
        is zero.
    """
    numbers = (neutral,) * count if values is None else as_floats(values)
    is_ratio = neutral != 0.0
    is_usable = all(math.isfinite(x) and not (is_ratio and x == 0.0) for x in numbers)
    if len(numbers) != count or not is_usable:
        raise TransmissionError(
            f'{name} is {"not a valid ratio" if is_ratio else "invalid"}',
            parameter=name,
            expected=f'finite numbers{" other than zero" * is_ratio}, {count} in all',
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


# -- types ----------------------------------------------------------------------------------------


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
        ratio = as_gears('reduction', (reduction,), 1)
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
        is_ros1 = reader.spec.dialect == 'ros_control'
        (ratio,) = reader.actuator_reductions() if is_ros1 else reader.joint_reductions()
        return cls(ratio, reader.joint_offsets()[0])


class _PairTransmission(LinearTransmission):
    """
    Two actuators on two joints, all with reductions, coupled by constant numbers.

    A subclass states the coupling and its inverse. A ratio is the product of some of
    ``(ar1, ar2, jr1, jr2)``, named by their indices, in the order in which C multiplies.
    """

    api_version: ClassVar[int] = 1

    _coupling: ClassVar[list[list[float]]]
    _inverse_coupling: ClassVar[list[list[float]]]
    _actuator_factors: ClassVar[tuple[tuple[int, ...], ...]]
    _joint_factors: ClassVar[tuple[tuple[int, ...], ...]]

    def __init__(
        self,
        actuator_reduction: Sequence[float],
        joint_reduction: Sequence[float],
        joint_offset: Sequence[float] = (0.0, 0.0),
    ) -> None:
        actuators = as_gears('actuator_reduction', actuator_reduction, 2)
        joints = as_gears('joint_reduction', joint_reduction, 2)
        actuator_ratio, joint_ratio = (
            [Ratio([(*actuators, *joints)[k] for k in factors]) for factors in side]
            for side in (self._actuator_factors, self._joint_factors)
        )
        super().__init__(
            self._coupling,
            joint_offset,
            inverse=self._inverse_coupling,
            actuator_reduction=actuators,
            joint_reduction=joints,
            actuator_ratio=actuator_ratio,
            joint_ratio=joint_ratio,
        )

    @classmethod
    def from_spec(cls, reader: SpecReader) -> LinearTransmission:
        """Build from two joints and two actuators."""
        reader.require_members(joints=2, actuators=2)
        return cls(reader.actuator_reductions(), reader.joint_reductions(), reader.joint_offsets())


class DifferentialTransmission(_PairTransmission):
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
        ``absolute_position`` then passes by role. The class of ROS 1 swaps the two. Descriptions
        do not set it.
    :raises TransmissionError: If a reduction is zero or a number is not finite.
    """  # noqa: E501 (a table row cannot be broken)

    _coupling = [[0.5, 0.5], [0.5, -0.5]]
    _inverse_coupling = [[1.0, 1.0], [1.0, -1.0]]
    _actuator_factors = (0,), (1,)
    _joint_factors = (2,), (3,)

    def __init__(
        self,
        actuator_reduction: Sequence[float],
        joint_reduction: Sequence[float],
        joint_offset: Sequence[float] = (0.0, 0.0),
        *,
        ignore_transmission_for_absolute_encoders: bool = False,
    ) -> None:
        self._passes_encoders = ignore_transmission_for_absolute_encoders
        super().__init__(actuator_reduction, joint_reduction, joint_offset)

    def map(
        self, direction: Direction, interface: str, values: npt.ArrayLike, **options: Any
    ) -> Array:
        """
        Map values; see :meth:`~.transmission.Transmission.map`.

        A robot does not call it for linear types: there the flag ``ignore_absolute_encoder`` of
        the description has this effect.
        """
        if self._passes_encoders and interface == 'absolute_position':
            find_quantity(interface, direction)
            return as_map_values('values', values, 2).copy()
        return super().map(direction, interface, values, **options)


class FourBarLinkageTransmission(_PairTransmission):
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

    _coupling = [[1.0, 0.0], [-1.0, 1.0]]
    _inverse_coupling = [[1.0, 0.0], [1.0, 1.0]]
    _actuator_factors = (2, 0), (1,)
    _joint_factors = (), (3,)


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
        travel = as_gears('lead', (lead,), 1)
        reduction = as_gears('actuator_reduction', (actuator_reduction,), 1)
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
        reductions = as_gears('actuator_reduction', actuator_reduction, entries.shape[-1])
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
    """Return the row of a joint, counted from 1, in one of its two spellings."""
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
