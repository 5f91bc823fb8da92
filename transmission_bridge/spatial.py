# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rigid motions: homogeneous transforms, and 6-vectors fixed in a body.

A transform ``a_H_b`` is 4×4 with ``p_a = a_H_b p_b``. Lengths are in metres, angles in radians. A
twist is ``[v; w]``, **linear part first**: velocity of the frame's origin and angular velocity,
both in the axes of the frame itself (left-trivialised, body-fixed). A wrench is ``[f; m]``, and
``wrench · twist`` is power. The conventions follow iDynTree: S. Traversaro, "Modelling,
Estimation and Identification of Humanoid Robots Dynamics", chapter 2. Every function works along
the last axes, over any number of leading batch axes.

Kinematics and the tools that convert or draw robots call these functions. They return new arrays
and check nothing: callers give the stated shapes, rotations, unit axes and unit quaternions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import OriginSpec
from transmission_bridge.types import Array


def skew_matrix(vector: npt.ArrayLike) -> Array:
    """Return the matrices ``(..., 3, 3)`` of the cross product, ``skew_matrix(a) b = a × b``."""
    a = np.asarray(vector, dtype=np.float64)
    matrix = np.zeros((*a.shape[:-1], 3, 3))
    for row, column, axis in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        matrix[..., row, column] = a[..., axis]
        matrix[..., column, row] = -a[..., axis]
    return matrix


def make_transform(rotation: npt.ArrayLike, position: npt.ArrayLike) -> Array:
    """Return ``a_H_b = [[R, p], [0, 1]]`` of ``a_R_b`` and the origin of ``b`` in ``a``."""
    r = np.asarray(rotation, dtype=np.float64)
    p = np.asarray(position, dtype=np.float64)
    result = np.zeros((*np.broadcast_shapes(r.shape[:-2], p.shape[:-1]), 4, 4))
    result[..., :3, :3] = r
    result[..., :3, 3] = p
    result[..., 3, 3] = 1.0
    return result


def chain_poses(left: Array, right: Array) -> Array:
    """Return ``a_H_b b_H_c``; the rotation stays known if a translation is NaN."""
    rotation = left[..., :3, :3]
    moved = (rotation @ right[..., :3, 3:])[..., 0]
    return make_transform(rotation @ right[..., :3, :3], moved + left[..., :3, 3])


def invert_pose(transform: Array) -> Array:
    """Return ``b_H_a = [[Rᵀ, -Rᵀ p], [0, 1]]``; NaN touches only entries that depend on it."""
    rotation, position = transform[..., :3, :3], transform[..., :3, 3:]
    terms = np.where(rotation == 0.0, 0.0, rotation * position)
    return make_transform(np.swapaxes(rotation, -1, -2), -terms.sum(axis=-2))


def rotation_from_rpy(rpy: npt.ArrayLike) -> Array:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)``, URDF's rotation about the fixed axes x, y, z."""
    roll, pitch, yaw = np.moveaxis(np.asarray(rpy, dtype=np.float64), -1, 0)
    return rotation_about(2, yaw) @ rotation_about(1, pitch) @ rotation_about(0, roll)


def rotation_about(axis: int, angle: Array) -> Array:
    """Return the rotation about a coordinate axis, 0 to 2 for x, y, z."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    rotation = np.zeros((*angle.shape, 3, 3))
    rotation[..., axis, axis] = 1.0
    rotation[..., first, first] = rotation[..., second, second] = np.cos(angle)
    rotation[..., second, first] = np.sin(angle)
    rotation[..., first, second] = -rotation[..., second, first]
    return rotation


def transform_from_pose(pose: OriginSpec) -> Array:
    """Return ``parent_H_child`` of an ``<origin>``."""
    return make_transform(rotation_from_rpy(pose.rpy), pose.xyz)


def axis_basis(axis: Array) -> Array:
    """
    Return a rotation from z to a unit axis: a right-handed basis with the axis as third column.

    For a coordinate axis the basis is exact: x, y, z in cyclic order.
    """
    helper = np.zeros(3)
    helper[(int(np.argmax(np.abs(axis))) + 2) % 3] = 1.0
    first = np.cross(helper, axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def rotation_from_quaternion(quaternion: npt.ArrayLike) -> Array:
    """Return the rotation of a unit quaternion ``(w, x, y, z)``."""
    q = np.asarray(quaternion, dtype=np.float64)
    cross = skew_matrix(q[..., 1:])
    return np.eye(3) + 2.0 * q[..., :1, np.newaxis] * cross + 2.0 * (cross @ cross)


def quaternion_rate(quaternion: Array) -> Array:
    """
    Return the matrix ``(..., 4, 3)`` from body angular velocity to the rate of a unit quaternion.

    ``d/dt (w, u) = ½ (-u · ω, w ω + u × ω)``.
    """
    vector = quaternion[..., 1:]
    lower = quaternion[..., :1, np.newaxis] * np.eye(3) + skew_matrix(vector)
    return 0.5 * np.concatenate([-vector[..., np.newaxis, :], lower], axis=-2)


def twist_transform(transform: Array) -> Array:
    """
    Return the 6×6 matrix ``a_X_b`` that moves twists of one body between its frames.

    ``a_X_b = [[R, [p] R], [0, R]]``: ``v_a = a_X_b v_b`` for twists, ``f_b = a_X_bᵀ f_a`` for
    wrenches.
    """
    rotation = transform[..., :3, :3]
    matrix = np.zeros((*transform.shape[:-2], 6, 6))
    matrix[..., :3, :3] = rotation
    matrix[..., 3:, 3:] = rotation
    matrix[..., :3, 3:] = skew_matrix(transform[..., :3, 3]) @ rotation
    return matrix


def cross_motion(left: npt.ArrayLike, right: npt.ArrayLike) -> Array:
    """Return the cross product of two twists, ``[w_l × v_r + v_l × w_r; w_l × w_r]``."""
    a = np.asarray(left, dtype=np.float64)
    b = np.asarray(right, dtype=np.float64)
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, np.cross(a[..., 3:], b[..., 3:])], axis=-1)


def apply_matrix(matrix: Array, vector: Array) -> Array:
    """Return the products of matrices ``(..., n, m)`` and vectors ``(..., m)``."""
    return np.asarray((matrix @ vector[..., np.newaxis])[..., 0])
