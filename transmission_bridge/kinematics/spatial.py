# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rigid motions: homogeneous transforms, and 6-vectors fixed in a body.

A transform ``a_H_b`` is 4×4 with ``p_a = a_H_b p_b``; lengths in metres, angles in radians. A
twist is ``[v; w]``, **linear part first**: velocity of the frame's origin and angular velocity,
both in the axes of the frame itself (left-trivialised, body-fixed). A wrench is ``[f; m]``, so
that ``wrench · twist`` is power. Both are iDynTree's conventions, after S. Traversaro, "Modelling,
Estimation and Identification of Humanoid Robots Dynamics", chapter 2. Every function works along
the last axes, over any number of leading batch axes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import Pose
from transmission_bridge.types import Array


def skew(vector: npt.ArrayLike) -> Array:
    """
    Return the matrix of the cross product, ``skew(a) b = a × b``.

    :param vector: Shape ``(..., 3)``, any unit, any frame.
    :returns: Shape ``(..., 3, 3)``, same unit and frame.
    """
    a = np.asarray(vector, dtype=np.float64)
    matrix = np.zeros((*a.shape[:-1], 3, 3))
    for row, column, axis in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        matrix[..., row, column] = a[..., axis]
        matrix[..., column, row] = -a[..., axis]
    return matrix


def homogeneous(rotation: npt.ArrayLike, position: npt.ArrayLike) -> Array:
    """
    Return ``[[R, p], [0, 1]]``.

    :param rotation: ``a_R_b``, shape ``(..., 3, 3)``.
    :param position: Origin of ``b`` in ``a`` [m], shape ``(..., 3)``.
    :returns: ``a_H_b``, shape ``(..., 4, 4)``, batch axes broadcast.
    """
    r = np.asarray(rotation, dtype=np.float64)
    p = np.asarray(position, dtype=np.float64)
    result = np.zeros((*np.broadcast_shapes(r.shape[:-2], p.shape[:-1]), 4, 4))
    result[..., :3, :3] = r
    result[..., :3, 3] = p
    result[..., 3, 3] = 1.0
    return result


def compose(left: Array, right: Array) -> Array:
    """
    Return ``a_H_b b_H_c`` of two rigid motions.

    Unlike a product of 4×4 matrices it keeps the rotation known where a translation is NaN.

    :param left: ``a_H_b``, shape ``(..., 4, 4)`` [translation in m].
    :param right: ``b_H_c``, shape ``(..., 4, 4)`` [translation in m].
    :returns: ``a_H_c``, shape ``(..., 4, 4)``, batch axes broadcast.
    """
    rotation = left[..., :3, :3]
    moved = (rotation @ right[..., :3, 3:])[..., 0]
    return homogeneous(rotation @ right[..., :3, :3], moved + left[..., :3, 3])


def inverse(transform: Array) -> Array:
    """
    Return the inverse of a rigid motion, ``[[Rᵀ, -Rᵀ p], [0, 1]]``.

    A translation that is NaN leaves those unknown that depend on it.

    :param transform: ``a_H_b``, shape ``(..., 4, 4)`` [translation in m].
    :returns: ``b_H_a``, same shape.
    """
    rotation, position = transform[..., :3, :3], transform[..., :3, 3:]
    terms = np.where(rotation == 0.0, 0.0, rotation * position)
    return homogeneous(np.swapaxes(rotation, -1, -2), -terms.sum(axis=-2))


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """
    Return ``Rz(yaw) Ry(pitch) Rx(roll)``, URDF's rotation about the fixed axes x, y, z.

    :param rpy: Roll, pitch and yaw [rad], shape ``(..., 3)``.
    :returns: ``parent_R_child``, shape ``(..., 3, 3)``.
    """
    roll, pitch, yaw = np.moveaxis(np.asarray(rpy, dtype=np.float64), -1, 0)
    return rotation_about(2, yaw) @ rotation_about(1, pitch) @ rotation_about(0, roll)


def rotation_about(axis: int, angle: Array) -> Array:
    """
    Return the rotation about a coordinate axis.

    :param axis: 0 to 2 for x, y, z.
    :param angle: Angle [rad], shape ``(...)``.
    :returns: Shape ``(..., 3, 3)``.
    """
    first, second = (axis + 1) % 3, (axis + 2) % 3
    rotation = np.zeros((*angle.shape, 3, 3))
    rotation[..., axis, axis] = 1.0
    rotation[..., first, first] = rotation[..., second, second] = np.cos(angle)
    rotation[..., second, first] = np.sin(angle)
    rotation[..., first, second] = -rotation[..., second, first]
    return rotation


def transform_from_pose(pose: Pose) -> Array:
    """
    Return the transform of an ``<origin>``.

    :param pose: Position [m] and roll-pitch-yaw [rad] of the child frame in the parent frame.
    :returns: ``parent_H_child``, shape ``(4, 4)``.
    """
    return homogeneous(rotation_from_rpy(pose.rpy), pose.xyz)


def axis_basis(axis: Array) -> Array:
    """
    Return a rotation that takes z to an axis: a right-handed basis with the axis as third vector.

    ``x, y, z`` for the axis z, and in cyclic order for the others: exact along coordinate axes.

    :param axis: Unit vector, shape ``(3,)``.
    :returns: Rotation with the basis as columns, shape ``(3, 3)``.
    """
    helper = np.zeros(3)
    helper[(int(np.argmax(np.abs(axis))) + 2) % 3] = 1.0
    first = np.cross(helper, axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def rotation_from_quaternion(quaternion: npt.ArrayLike) -> Array:
    """
    Return the rotation of a unit quaternion.

    :param quaternion: ``(w, x, y, z)`` of length one, shape ``(..., 4)``.
    :returns: Shape ``(..., 3, 3)``.
    """
    q = np.asarray(quaternion, dtype=np.float64)
    cross = skew(q[..., 1:])
    return np.eye(3) + 2.0 * q[..., :1, np.newaxis] * cross + 2.0 * (cross @ cross)


def quaternion_rate(quaternion: Array) -> Array:
    """
    Return the matrix from body angular velocity to the rate of a unit quaternion.

    ``d/dt (w, u) = ½ (-u · ω, w ω + u × ω)``.

    :param quaternion: ``(w, x, y, z)`` of length one, shape ``(..., 4)``.
    :returns: Shape ``(..., 4, 3)`` [1/rad].
    """
    vector = quaternion[..., 1:]
    lower = quaternion[..., :1, np.newaxis] * np.eye(3) + skew(vector)
    return 0.5 * np.concatenate([-vector[..., np.newaxis, :], lower], axis=-2)


def twist_transform(transform: Array) -> Array:
    """
    Return the 6×6 matrix ``a_X_b`` that moves twists of one body between its frames.

    ``a_X_b = [[R, [p] R], [0, R]]``, so that ``v_a = a_X_b v_b``; wrenches move by its transpose,
    ``f_b = a_X_bᵀ f_a``.

    :param transform: ``a_H_b``, shape ``(..., 4, 4)`` [translation in m].
    :returns: Shape ``(..., 6, 6)``.
    """
    rotation = transform[..., :3, :3]
    matrix = np.zeros((*transform.shape[:-2], 6, 6))
    matrix[..., :3, :3] = rotation
    matrix[..., 3:, 3:] = rotation
    matrix[..., :3, 3:] = skew(transform[..., :3, 3]) @ rotation
    return matrix


def cross_motion(left: npt.ArrayLike, right: npt.ArrayLike) -> Array:
    """
    Return the cross product of two twists, ``[w_l × v_r + v_l × w_r; w_l × w_r]``.

    :param left: Body twist, shape ``(..., 6)``.
    :param right: Body twist in the same frame, shape ``(..., 6)``.
    :returns: Shape ``(..., 6)``, the product of the two units.
    """
    a = np.asarray(left, dtype=np.float64)
    b = np.asarray(right, dtype=np.float64)
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, np.cross(a[..., 3:], b[..., 3:])], axis=-1)
