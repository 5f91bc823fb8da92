# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How a joint passes motion from one link to the other, and which efforts a wrench asks of it.

Conventions are those of iDynTree's IJoint: body-fixed 6-vectors, linear part first, each in the
frame of its own link; ``acceleration`` is the time derivative of the body twist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.joint_geometry import JointGeometry, part_of
from transmission_bridge.kinematics.joint_record import LinkId
from transmission_bridge.kinematics.spatial import Array, cross_motion, twist_transform

__all__ = ['ChildMotion', 'Joint']


class ChildMotion(NamedTuple):
    """
    Position, velocity and acceleration of a link.

    :param position: ``world_H_child``, shape ``(..., 4, 4)`` [translation in m].
    :param velocity: Body twist, shape ``(..., 6)`` [m/s; rad/s].
    :param acceleration: Time derivative of the body twist, shape ``(..., 6)`` [m/s²; rad/s²].
    """

    position: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class Joint(JointGeometry):
    """
    A joint between ``link1`` and ``link2``, neither of which is the parent: each query names both.

    ``q``, ``dq`` and ``ddq`` are vectors of positions, velocities and accelerations of the whole
    model; the joint reads its own part, which begins at ``position_offset`` (of ``q``) or
    ``dof_offset`` (of ``dq``, ``ddq``). With the default offsets, zero, they may be the joint's
    own coordinates alone, and a plain number does for one of them. Leading axes are batches and
    broadcast. Positions are in rad or m, rates per second.

    Parameters are those of :class:`~transmission_bridge.kinematics.joint_record.JointRecord`.
    """

    def child_velocity(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        parent_velocity: npt.ArrayLike,
        child: LinkId,
        parent: LinkId,
    ) -> Array:
        """
        Return ``v_child = child_X_parent v_parent + S dq`` (computeChildVel).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param parent_velocity: Body twist in the parent's frame, shape ``(..., 6)`` [m/s; rad/s].
        :param child: One attached link.
        :param parent: The other one.
        :returns: Body twist in the child's frame, shape ``(..., 6)`` [m/s; rad/s].
        :raises ShapeError: If a vector is too short.
        :raises JointError: If the two are not the links of the joint.
        """
        transported = self._transport(q, parent_velocity, 'parent_velocity', child, parent)
        return transported + self._own_twist(q, dq, 'dq', child, parent)

    def child_bias_acceleration(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        parent_velocity: npt.ArrayLike,
        parent_bias_acceleration: npt.ArrayLike,
        child: LinkId,
        parent: LinkId,
    ) -> Array:
        """
        Return the child's acceleration for zero joint acceleration (computeChildBiasAcc).

        ``a_child = child_X_parent a_parent + v_child × (S dq)``; ``S`` is constant in one of the
        two links, and the derivative of the other side's drops out of the product with ``dq``.

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param parent_velocity: Body twist in the parent's frame, shape ``(..., 6)`` [m/s; rad/s].
        :param parent_bias_acceleration: Time derivative of a body twist, in the parent's frame,
            shape ``(..., 6)`` [m/s²; rad/s²].
        :param child: One attached link.
        :param parent: The other one.
        :returns: In the child's frame, shape ``(..., 6)`` [m/s²; rad/s²].
        :raises ShapeError: If a vector is too short.
        :raises JointError: If the two are not the links of the joint.
        """
        own_twist = self._own_twist(q, dq, 'dq', child, parent)
        velocity = self._transport(q, parent_velocity, 'parent_velocity', child, parent)
        velocity = velocity + own_twist
        transported = self._transport(
            q, parent_bias_acceleration, 'parent acceleration', child, parent
        )
        return transported + cross_motion(velocity, own_twist)

    def child_acceleration(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        ddq: npt.ArrayLike,
        parent_velocity: npt.ArrayLike,
        parent_acceleration: npt.ArrayLike,
        child: LinkId,
        parent: LinkId,
    ) -> Array:
        """
        Return ``a_child = child_X_parent a_parent + S ddq + v_child × (S dq)`` (computeChildAcc).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param ddq: Accelerations, shape ``(..., M)`` [rad/s² or m/s²].
        :param parent_velocity: Body twist in the parent's frame, shape ``(..., 6)`` [m/s; rad/s].
        :param parent_acceleration: Time derivative of the body twist, in the parent's frame, shape
            ``(..., 6)`` [m/s²; rad/s²].
        :param child: One attached link.
        :param parent: The other one.
        :returns: In the child's frame, shape ``(..., 6)`` [m/s²; rad/s²].
        :raises ShapeError: If a vector is too short.
        :raises JointError: If the two are not the links of the joint.
        """
        bias = self.child_bias_acceleration(
            q, dq, parent_velocity, parent_acceleration, child, parent
        )
        return bias + self._own_twist(q, ddq, 'ddq', child, parent)

    def child_position_velocity_acceleration(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        ddq: npt.ArrayLike,
        parent_motion: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        child: LinkId,
        parent: LinkId,
    ) -> ChildMotion:
        """
        Return position, velocity and acceleration of the child together (computeChildPosVelAcc).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param ddq: Accelerations, shape ``(..., M)`` [rad/s² or m/s²].
        :param parent_motion: The same three of the parent: ``world_H_parent``, shape
            ``(..., 4, 4)`` [translation in m], twist and acceleration, shape ``(..., 6)``; a
            :class:`ChildMotion` is one.
        :param child: One attached link.
        :param parent: The other one.
        :returns: The child's; ``world_H_child = world_H_parent parent_H_child``.
        :raises ShapeError: If a vector is too short.
        :raises JointError: If the two are not the links of the joint.
        """
        position, velocity, acceleration = parent_motion
        return ChildMotion(
            np.asarray(position, dtype=np.float64) @ self.transform(q, parent, child),
            self.child_velocity(q, dq, velocity, child, parent),
            self.child_acceleration(q, dq, ddq, velocity, acceleration, child, parent),
        )

    def joint_torque(
        self, q: npt.ArrayLike, wrench: npt.ArrayLike, applied_by: LinkId, on: LinkId
    ) -> Array:
        """
        Return ``τ = Sᵀ f``, ``S`` with ``on`` as the child (computeJointTorque).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param wrench: ``[f; m]`` that one link applies on the other, in the frame of the link it
            is applied on, shape ``(..., 6)`` [N; N m].
        :param applied_by: The link that applies it.
        :param on: The link on which it is applied.
        :returns: Efforts, shape ``(..., n_dofs)`` [N m or N].
        :raises ShapeError: If a vector has a wrong length.
        :raises JointError: If the two are not the links of the joint.
        """
        subspace = self.motion_subspace(on, applied_by, q)
        force = _six(wrench, 'wrench')
        return (np.swapaxes(subspace, -1, -2) @ force[..., np.newaxis])[..., 0]

    def _own_twist(
        self, q: npt.ArrayLike, rate: npt.ArrayLike, argument: str, child: LinkId, parent: LinkId
    ) -> Array:
        """Return ``S`` times a vector of rates."""
        own = part_of(rate, argument, self.dof_offset, self.n_dofs)
        return (self.motion_subspace(child, parent, q) @ own[..., np.newaxis])[..., 0]

    def _transport(
        self, q: npt.ArrayLike, twist: npt.ArrayLike, argument: str, child: LinkId, parent: LinkId
    ) -> Array:
        """Return ``child_X_parent`` times a 6-vector."""
        vector = _six(twist, argument)
        matrix = twist_transform(self.transform(q, child, parent))
        return (matrix @ vector[..., np.newaxis])[..., 0]


def _six(value: npt.ArrayLike, argument: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape[-1:] != (6,):
        raise ShapeError(argument, expected='(..., 6)', found=array.shape)
    return array
