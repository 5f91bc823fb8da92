# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The way from a base to a frame as constants: fixed transforms between screws about one z axis.

``base_H_frame(q) = K_0 M_0(q) K_1 M_1(q) … K_m``, where ``M_i`` turns about or moves along z by
``gain_i q[column_i]``. Fixed joints, joints at rest, directions of axes and mimic offsets are in
the constants. A joint that the way passes upward, towards the root, is the same screw with the
opposite gain, so a base anywhere in the tree needs no special case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.kinematics.joint_types import AxialJoint, PrismaticJoint
from transmission_bridge.kinematics.mimic import Drive
from transmission_bridge.kinematics.model_joints import joint_from_spec
from transmission_bridge.kinematics.spatial import (
    Array,
    homogeneous,
    inverse,
    rotation_from_axis,
    transform_from_pose,
)
from transmission_bridge.kinematics.tree import Step

__all__ = ['CompiledPath', 'Screw', 'compile_path']

Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Screw:
    """
    One moving joint of a path.

    :param before: Constant transform from the previous screw's frame to this one's, shape
        ``(4, 4)`` [translation in m].
    :param column: Index of the coordinate that moves it.
    :param gain: Angle [rad] or travel [m] along the path per unit of the coordinate.
    :param is_prismatic: Whether it moves along z rather than about it.
    """

    before: Array
    column: int
    gain: float
    is_prismatic: bool


@dataclass(frozen=True, slots=True)
class CompiledPath:
    """
    Constants of the way from a base to a frame.

    :param screws: The moving joints in path order.
    :param last: Constant transform after the last screw, shape ``(4, 4)`` [translation in m].
    :param n_columns: Number of coordinates of the device.
    """

    screws: tuple[Screw, ...]
    last: Array
    n_columns: int


def compile_path(
    steps: Sequence[Step], drives: Mapping[str, Drive], n_columns: int
) -> CompiledPath:
    """
    Return the constants of a way through the tree.

    A joint without a drive, and a joint with several coordinates (floating, planar, spherical),
    stays at rest.

    :param steps: The way.
    :param drives: How the joints that move follow the coordinates.
    :param n_columns: Number of coordinates of the device.
    :returns: The constants.
    :raises DescriptionError: If the axis of a moving joint has no direction.
    """
    screws: list[Screw] = []
    constant = np.eye(4)
    for step in steps:
        drive = drives.get(step.joint.name)
        joint = joint_from_spec(step.joint) if drive and step.joint.is_scalar else None
        if drive is None or not isinstance(joint, AxialJoint):
            rest = transform_from_pose(step.joint.origin)
            constant = constant @ (rest if step.downward else inverse(rest))
            continue
        is_prismatic = isinstance(joint, PrismaticJoint)
        direction, point = joint.axis_in(joint.link2)
        link2_h_screw = homogeneous(_basis(direction), point)
        sign = 1.0 if step.downward else -1.0
        before = joint.rest @ link2_h_screw if step.downward else link2_h_screw
        after = link2_h_screw if step.downward else joint.rest @ link2_h_screw
        start = _screw_motion(sign * drive.offset, is_prismatic)
        screws.append(
            Screw(constant @ before @ start, drive.column, sign * drive.multiplier, is_prismatic)
        )
        constant = inverse(after)
    return CompiledPath(tuple(screws), constant, n_columns)


def _screw_motion(amount: float, is_prismatic: bool) -> Array:
    if is_prismatic:
        return homogeneous(np.eye(3), amount * Z)
    return homogeneous(rotation_from_axis(Z, amount), np.zeros(3))


def _basis(direction: Array) -> Array:
    """
    Return a rotation whose third column is a unit vector.

    Exact where the vector is along a coordinate axis: the other columns are then axes too.
    """
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(direction)))] = 1.0
    first = np.cross(helper, direction)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(direction, first), direction])
