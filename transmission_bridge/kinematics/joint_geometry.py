# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Transforms and motion subspaces of a joint, for either of its links as the child.

Conventions are those of iDynTree's IJoint (S. Traversaro, "Modelling, Estimation and
Identification of Humanoid Robots Dynamics", section 3.2): ``p_child = child_H_parent p_parent``,
and body-fixed 6-vectors, linear part first. A type of joint gives ``link1_H_link2`` and the motion
subspace in ``link2``; everything else follows here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.damped_joint import DampedJoint
from transmission_bridge.kinematics.joint_errors import JointError, JointIndexError
from transmission_bridge.kinematics.joint_record import LinkId
from transmission_bridge.kinematics.spatial import (
    Array,
    inverse,
    twist_transform,
)

__all__ = ['JointGeometry', 'part_of']


@dataclass(frozen=True, eq=False)
class JointGeometry(DampedJoint, ABC):
    """
    Where the links of a joint are, as functions of the model's positions.

    ``q`` is the vector of positions of the whole model, shape ``(..., N)`` [rad or m]; the joint
    reads its own part, which begins at ``position_offset``. With the default offset, zero, it may
    be the joint's own coordinates alone, and a plain number does for one of them. Leading axes
    are batches. Parameters are those of
    :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.
    """

    #: Whether the motion subspace is constant in both links, so that it needs no position.
    has_constant_subspace: ClassVar[bool] = True

    @abstractmethod
    def _link1_h_link2(self, own: Array) -> Array:
        """Return ``link1_H_link2`` (..., 4, 4) at the joint's own coordinates (..., n)."""

    @abstractmethod
    def _link1_h_link2_derivative(self, own: Array, position: int) -> Array:
        """Return the derivative (..., 4, 4) of ``link1_H_link2`` by one own coordinate."""

    @abstractmethod
    def _subspace_in_link2(self) -> Array:
        """Return the motion subspace (6, n_dofs) of link2 relative to link1, in link2."""

    @abstractmethod
    def rest_positions(self) -> Array:
        """
        Return the coordinates of the rest position (setJointPosCoordsToRest).

        :returns: Shape ``(n_positions,)`` [rad, m, or quaternion ``w, x, y, z``].
        """

    @abstractmethod
    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the matrix from own velocities to rates of own coordinates.

        Identity but for joints with a quaternion (getPositionDerivativeVelocityJacobian).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :returns: Shape ``(..., n_positions, n_dofs)``.
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        """

    def rest_transform(self, child: LinkId, parent: LinkId) -> Array:
        """
        Return ``child_H_parent`` at the rest position (getRestTransform).

        :param child: One attached link.
        :param parent: The other one.
        :returns: Shape ``(4, 4)`` [translation in m].
        :raises JointError: If the two are not the links of the joint.
        """
        return inverse(self.rest) if self._child_is_link2(child, parent) else self.rest.copy()

    def transform(self, q: npt.ArrayLike, child: LinkId, parent: LinkId) -> Array:
        """
        Return ``child_H_parent``, ``p_child = child_H_parent p_parent`` (getTransform).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param child: One attached link.
        :param parent: The other one.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the two are not the links of the joint.
        """
        to_link2 = self._child_is_link2(child, parent)
        link1_h_link2 = self._link1_h_link2(self._positions(q))
        return inverse(link1_h_link2) if to_link2 else link1_h_link2

    def transform_derivative(
        self, q: npt.ArrayLike, child: LinkId, parent: LinkId, position: int = 0
    ) -> Array:
        """
        Return ``∂ child_H_parent / ∂ q_i`` (getTransformDerivative).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param child: One attached link.
        :param parent: The other one.
        :param position: ``i``, counted within the joint.
        :returns: Shape ``(..., 4, 4)``, last row zero [1/rad or 1/m; translation m/rad or m/m].
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the two are not the links of the joint.
        :raises JointIndexError: If ``position`` is out of range.
        """
        to_link2 = self._child_is_link2(child, parent)
        if not 0 <= position < self.n_positions:
            raise JointIndexError(
                self.name, kind='position coordinate', index=position, size=self.n_positions
            )
        own = self._positions(q)
        derivative = self._link1_h_link2_derivative(own, position)
        if not to_link2:
            return derivative
        link2_h_link1 = inverse(self._link1_h_link2(own))
        return -(link2_h_link1 @ derivative @ link2_h_link1)

    def motion_subspace(
        self, child: LinkId, parent: LinkId, q: npt.ArrayLike | None = None
    ) -> Array:
        """
        Return ``S`` of ``v_child = S dq + child_X_parent v_parent``.

        Body twists, linear part first, in the child's frame.

        :param child: One attached link.
        :param parent: The other one.
        :param q: Positions, shape ``(..., N)`` [rad or m]; needed for ``link1`` as the child of a
            spherical or free joint, where ``S`` depends on it.
        :returns: Shape ``(..., 6, n_dofs)`` with the batch axes of ``q``, ``(6, n_dofs)`` without
            ``q`` [m/rad, or 1; then rad/rad, or 1/m].
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the two are not the links of the joint, or ``q`` is needed.
        """
        to_link2 = self._child_is_link2(child, parent)
        subspace = self._subspace_in_link2()
        own = None if q is None else self._positions(q)
        if not to_link2:
            if self.has_constant_subspace:
                link1_h_link2 = self.rest
            elif own is not None:
                link1_h_link2 = self._link1_h_link2(own)
            else:
                raise JointError(
                    self.name, f'the motion subspace seen from {child!r} depends on the position'
                )
            # v_2 = X_21 v_1 + S dq solved for v_1.
            subspace = -(twist_transform(link1_h_link2) @ subspace)
        batch = () if own is None else own.shape[:-1]
        return np.array(np.broadcast_to(subspace, (*batch, 6, self.n_dofs)))

    def motion_subspace_vector(
        self, dof: int, child: LinkId, parent: LinkId, q: npt.ArrayLike | None = None
    ) -> Array:
        """
        Return one column of :meth:`motion_subspace` (getMotionSubspaceVector).

        :param dof: Degree of freedom, counted within the joint.
        :param child: One attached link.
        :param parent: The other one.
        :param q: As in :meth:`motion_subspace`.
        :returns: Shape ``(..., 6)``, in the child's frame [m/rad, or 1; then rad/rad, or 1/m].
        :raises ShapeError: If ``q`` ends before the joint's coordinates do.
        :raises JointError: If the two are not the links of the joint, or ``q`` is needed.
        :raises JointIndexError: If ``dof`` is out of range.
        """
        self._check_dof(dof)
        return self.motion_subspace(child, parent, q)[..., dof]

    def _child_is_link2(self, child: LinkId, parent: LinkId) -> bool:
        if (child, parent) == (self.link2, self.link1):
            return True
        if (child, parent) == (self.link1, self.link2):
            return False
        raise JointError(
            self.name,
            f'joins links {self.link1!r} and {self.link2!r}, '
            f'not child {child!r} and parent {parent!r}',
        )

    def _positions(self, q: npt.ArrayLike) -> Array:
        return part_of(q, 'q', self.position_offset, self.n_positions)


def part_of(value: npt.ArrayLike, argument: str, start: int, size: int) -> Array:
    """
    Return the entries of a model's vector that belong to one joint.

    :param value: Shape ``(..., N)``, any unit; a plain number counts as a vector of one.
    :param argument: Name of the argument, for the message.
    :param start: Where the entries begin.
    :param size: How many there are.
    :returns: Shape ``(..., size)``.
    :raises ShapeError: If ``N`` is less than ``start + size``.
    """
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = array[np.newaxis]
    if array.shape[-1] < start + size:
        expected = f'(..., N) with N of at least {start + size}'
        raise ShapeError(argument, expected=expected, found=array.shape)
    return array[..., start : start + size]
