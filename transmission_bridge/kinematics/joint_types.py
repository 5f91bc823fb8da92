# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The joints with no coordinate and with one: fixed, revolute, continuous, prismatic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.joint import Joint
from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.joint_record import LinkId
from transmission_bridge.kinematics.spatial import (
    Array,
    homogeneous,
    inverse,
    rotation_from_axis,
    twist_matrix,
)

__all__ = ['AxialJoint', 'ContinuousJoint', 'FixedJoint', 'PrismaticJoint', 'RevoluteJoint']


def _along_x() -> Array:
    return np.array([1.0, 0.0, 0.0])


def _at_origin() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class FixedJoint(Joint):
    """
    No motion: ``link1_H_link2 = rest`` (iDynTree's FixedJoint).

    Parameters are those of :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.
    """

    def _link1_h_link2(self, own: Array) -> Array:
        return np.array(np.broadcast_to(self.rest, (*own.shape[:-1], 4, 4)))

    def _link1_h_link2_derivative(self, own: Array, position: int) -> Array:
        return np.zeros((*own.shape[:-1], 4, 4))

    def _subspace_in_link2(self) -> Array:
        return np.zeros((6, 0))

    def rest_positions(self) -> Array:
        """Return no coordinates, an array of shape ``(0,)`` without unit."""
        return np.zeros(0)

    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the empty matrix.

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :returns: Shape ``(..., 0, 0)``.
        """
        return np.zeros((*self._positions(q).shape[:-1], 0, 0))


@dataclass(frozen=True, eq=False)
class AxialJoint(Joint):
    """
    One coordinate about or along an axis that is at rest in both links.

    Further parameters are those of
    :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.

    :param axis: Direction of the axis in ``link1``, shape ``(3,)``; its length does not matter.
    :param origin: A point of the axis in ``link1`` [m], shape ``(3,)``.
    :raises ShapeError: If a shape is another.
    :raises JointError: If the axis has no direction.
    """

    axis: Array = field(default_factory=_along_x, repr=False)
    origin: Array = field(default_factory=_at_origin, repr=False)

    n_positions: ClassVar[int] = 1
    n_dofs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        axis = np.array(self.axis, dtype=np.float64)
        if axis.shape != (3,):
            raise ShapeError('axis', expected='(3,)', found=axis.shape)
        length = np.linalg.norm(axis)
        if not (0.0 < length < np.inf):
            raise JointError(self.name, f'axis {tuple(axis.tolist())} has no direction')
        self._freeze('axis', axis / length, (3,))
        self._freeze('origin', self.origin, (3,))

    def axis_in(self, link: LinkId) -> tuple[Array, Array]:
        """
        Return the axis in a link's frame (getAxis).

        :param link: One of the two links.
        :returns: Unit direction, and a point of the axis [m], each of shape ``(3,)``.
        :raises JointError: If the joint is not attached to the link.
        """
        if link == self.link1:
            return self.axis.copy(), self.origin.copy()
        if link == self.link2:
            to_link2 = inverse(self.rest)
            rotation = to_link2[:3, :3]
            return rotation @ self.axis, rotation @ self.origin + to_link2[:3, 3]
        raise JointError(self.name, f'is not attached to link {link!r}')

    def _link1_h_link2_derivative(self, own: Array, position: int) -> Array:
        return self._link1_h_link2(own) @ twist_matrix(self._subspace_in_link2()[:, 0])

    def rest_positions(self) -> Array:
        """Return zero [rad or m], shape ``(1,)``."""
        return np.zeros(1)

    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the identity: the velocity is the rate of the coordinate.

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :returns: Shape ``(..., 1, 1)``.
        :raises ShapeError: If ``q`` ends before the joint's coordinate does.
        """
        return np.ones((*self._positions(q).shape[:-1], 1, 1))


@dataclass(frozen=True, eq=False)
class RevoluteJoint(AxialJoint):
    """
    Rotation of ``link2`` about the axis, ``link1_H_link2 = Rot(axis, q) rest`` (RevoluteJoint).

    The position is a plain angle [rad], not reduced to a turn. Parameters are those of
    :class:`AxialJoint`.
    """

    can_limit_position: ClassVar[bool] = True

    def _link1_h_link2(self, own: Array) -> Array:
        rotation = rotation_from_axis(self.axis, own[..., 0])
        # Rotation about a line that does not pass through the origin of link1.
        shift = self.origin - rotation @ self.origin
        return homogeneous(rotation, shift) @ self.rest

    def _subspace_in_link2(self) -> Array:
        direction, point = self.axis_in(self.link2)
        return np.concatenate([np.cross(point, direction), direction])[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class ContinuousJoint(RevoluteJoint):
    """
    A revolute joint without position limits, whatever ``<limit>`` says (URDF's ``continuous``).

    Parameters are those of :class:`AxialJoint`.
    """

    can_limit_position: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class PrismaticJoint(AxialJoint):
    """
    Translation of ``link2`` along the axis, ``link1_H_link2 = Trans(axis q) rest``, ``q`` in m.

    iDynTree's PrismaticJoint. Parameters are those of :class:`AxialJoint`.
    """

    can_limit_position: ClassVar[bool] = True

    def _link1_h_link2(self, own: Array) -> Array:
        return homogeneous(self.rest[:3, :3], self.rest[:3, 3] + own * self.axis)

    def _subspace_in_link2(self) -> Array:
        return np.concatenate([self.axis_in(self.link2)[0], np.zeros(3)])[:, np.newaxis]
