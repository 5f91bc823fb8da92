# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints whose position holds a quaternion: spherical and free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.kinematics.joint import Joint
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.joint_record import LinkId
from transmission_bridge.kinematics.spatial import (
    Array,
    homogeneous,
    inverse,
    rotation_from_quaternion,
    skew,
)

__all__ = ['FreeJoint', 'SphericalJoint']


def _at_origin() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class SphericalJoint(Joint):
    """
    Rotation of ``link2`` about a point, ``R = R_rest R(q)`` (iDynTree's SphericalJoint).

    The position is a quaternion ``(w, x, y, z)`` of any length but zero, normalised before use;
    the velocity is the angular velocity of ``link2`` relative to ``link1`` [rad/s], in the axes of
    ``link2``. Further parameters are those of
    :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.

    :param centre: The point in ``link1`` [m], shape ``(3,)``.
    :raises ShapeError: If the shape is another.
    """

    centre: Array = field(default_factory=_at_origin, repr=False)

    n_positions: ClassVar[int] = 4
    n_dofs: ClassVar[int] = 3
    has_constant_subspace: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._freeze('centre', self.centre, (3,))

    def centre_in(self, link: LinkId) -> Array:
        """
        Return the point about which the links turn (getJointCenter).

        :param link: One of the two links.
        :returns: In that link's frame [m], shape ``(3,)``.
        :raises JointError: If the joint is not attached to the link.
        """
        if link == self.link1:
            return np.array(self.centre)
        if link == self.link2:
            to_link2 = inverse(self.rest)
            centre: Array = to_link2[:3, :3] @ self.centre + to_link2[:3, 3]
            return centre
        raise JointError(self.name, f'is not attached to link {link!r}')

    def normalized_positions(self, q: npt.ArrayLike) -> Array:
        """
        Return the joint's own quaternion with length one (normalizeJointPosCoords).

        :param q: Positions, shape ``(..., N)``.
        :returns: ``(w, x, y, z)``, shape ``(..., 4)``, without unit.
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the quaternion has length zero.
        """
        return _unit(self._positions(q), self.name)[0]

    def rest_positions(self) -> Array:
        """Return the unit quaternion ``(1, 0, 0, 0)``."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the matrix from angular velocity to the rate of the unit quaternion.

        ``d/dt (w, u) = ½ (-u · ω, w ω + u × ω)``.

        :param q: Positions, shape ``(..., N)``.
        :returns: Shape ``(..., 4, 3)`` [1/rad].
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the quaternion has length zero.
        """
        return _quaternion_rate(self.normalized_positions(q))

    def _link1_h_link2(self, own: Array) -> Array:
        unit, _ = _unit(own, self.name)
        return self._about_centre(rotation_from_quaternion(unit))

    def _about_centre(self, turn: Array) -> Array:
        rotation = self.rest[:3, :3] @ turn
        return homogeneous(rotation, self.centre - rotation @ self.centre_in(self.link2))

    def _link1_h_link2_derivative(self, own: Array, position: int) -> Array:
        rotation = self.rest[:3, :3] @ _rotation_derivative(own, position, self.name)
        derivative = homogeneous(rotation, -(rotation @ self.centre_in(self.link2)))
        derivative[..., 3, 3] = 0.0
        return derivative

    def _subspace_in_link2(self) -> Array:
        # The origin of link2 moves with -ω × centre.
        return np.concatenate([skew(self.centre_in(self.link2)), np.eye(3)])


@dataclass(frozen=True, eq=False)
class FreeJoint(Joint):
    """
    No constraint, ``link1_H_link2 = rest [[R(q), p], [0, 1]]`` (URDF's ``floating``).

    The position is ``(p_x, p_y, p_z, w, x, y, z)`` [m; quaternion of any length but zero]; the
    velocity is the body twist of ``link2`` relative to ``link1``, linear part first, in the axes
    of ``link2`` [m/s; rad/s]. iDynTree has no such joint; its rules are those of the others here.
    Parameters are those of :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.
    """

    n_positions: ClassVar[int] = 7
    n_dofs: ClassVar[int] = 6
    has_constant_subspace: ClassVar[bool] = False

    def rest_positions(self) -> Array:
        """Return no translation [m] and the unit quaternion, shape ``(7,)``."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the matrix from the body twist to the rates of position and unit quaternion.

        :param q: Positions, shape ``(..., N)``.
        :returns: ``[[R(q), 0], [0, Q]]``, shape ``(..., 7, 6)``.
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the quaternion has length zero.
        """
        unit, _ = _unit(self._positions(q)[..., 3:], self.name)
        matrix = np.zeros((*unit.shape[:-1], 7, 6))
        matrix[..., :3, :3] = rotation_from_quaternion(unit)
        matrix[..., 3:, 3:] = _quaternion_rate(unit)
        return matrix

    def _link1_h_link2(self, own: Array) -> Array:
        unit, _ = _unit(own[..., 3:], self.name)
        return self.rest @ homogeneous(rotation_from_quaternion(unit), own[..., :3])

    def _link1_h_link2_derivative(self, own: Array, position: int) -> Array:
        derivative = np.zeros((*own.shape[:-1], 4, 4))
        if position < 3:
            derivative[..., position, 3] = 1.0
        else:
            derivative[..., :3, :3] = _rotation_derivative(own[..., 3:], position - 3, self.name)
        return self.rest @ derivative

    def _subspace_in_link2(self) -> Array:
        return np.eye(6)


def _unit(quaternion: Array, name: str) -> tuple[Array, Array]:
    """Return the unit quaternion (..., 4) and the length (..., 1) that was divided by."""
    length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    if np.any(length == 0.0):
        raise JointError(name, 'a quaternion of length zero is no orientation')
    return quaternion / length, length


def _rotation_derivative(quaternion: Array, index: int, name: str) -> Array:
    """Return the derivative (..., 3, 3) of the rotation by one entry of a raw quaternion."""
    unit, length = _unit(quaternion, name)
    # The entry moves the unit quaternion across itself only: (e_i - u u_i) / |q|.
    rate = (np.eye(4)[index] - unit * unit[..., index : index + 1]) / length
    cross, cross_rate = skew(unit[..., 1:]), skew(rate[..., 1:])
    derivative: Array = 2.0 * (
        rate[..., :1, np.newaxis] * cross
        + unit[..., :1, np.newaxis] * cross_rate
        + cross_rate @ cross
        + cross @ cross_rate
    )
    return derivative


def _quaternion_rate(unit: Array) -> Array:
    vector = unit[..., 1:]
    lower = unit[..., :1, np.newaxis] * np.eye(3) + skew(vector)
    return 0.5 * np.concatenate([-vector[..., np.newaxis, :], lower], axis=-2)
