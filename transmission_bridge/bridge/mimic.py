# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joints that follow another joint: computed from it, never commanded.

``q = multiplier * q_followed + offset`` (URDF ``<mimic>``), rates without the offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import JointSpec
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['MimicJoints', 'mimic_joints']


@dataclass(frozen=True, slots=True)
class MimicJoints:
    """
    The followers of a robot, chains resolved to the joint that is really there.

    :param names: Names of the followers.
    :param followed: Place of the joint that each follows in the robot's joints.
    :param multiplier: Of the whole chain.
    :param offset: Of the whole chain [rad or m].
    """

    names: tuple[str, ...]
    followed: npt.NDArray[np.intp]
    multiplier: Array
    offset: Array

    def extend(self, values: Array) -> Array:
        """
        Append the followers.

        :param values: Rows position, velocity, effort, shape ``(3, n_joints)``.
        :returns: Shape ``(3, n_joints + n_followers)``; the effort of a follower is NaN, because
            the description does not say how the load is shared.
        """
        n_joints = values.shape[1]
        extended = np.full((3, n_joints + len(self.names)), np.nan)
        extended[:, :n_joints] = values
        extended[0, n_joints:] = self.multiplier * values[0, self.followed] + self.offset
        extended[1, n_joints:] = self.multiplier * values[1, self.followed]
        return extended


def mimic_joints(robot: RobotTransmissions) -> MimicJoints | None:
    """
    Return the followers of bridged joints, or ``None`` where there are none.

    A follower with a transmission of its own is measured, not computed. One that follows, over
    whatever chain, a joint that is not bridged cannot be known and is left out, as is a loop.
    """
    index = {name: place for place, name in enumerate(robot.joint_names)}
    joints = {joint.name: joint for joint in robot.robot.joints}
    found: list[tuple[str, int, float, float]] = []
    for joint in robot.robot.joints:
        if joint.mimic is None or not joint.is_scalar or joint.name in index:
            continue
        chain = _resolve(joint, joints, index)
        if chain is not None:
            found.append((joint.name, *chain))
    if not found:
        return None
    names, followed, multiplier, offset = zip(*found, strict=True)
    return MimicJoints(
        names, np.array(followed, dtype=np.intp), np.array(multiplier), np.array(offset)
    )


def _resolve(
    joint: JointSpec, joints: dict[str, JointSpec], index: dict[str, int]
) -> tuple[int, float, float] | None:
    multiplier, offset = 1.0, 0.0
    seen = set()
    while joint.name not in index:
        if joint.mimic is None or joint.name in seen or joint.mimic.joint not in joints:
            return None
        seen.add(joint.name)
        offset += multiplier * joint.mimic.offset
        multiplier *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return index[joint.name], multiplier, offset
