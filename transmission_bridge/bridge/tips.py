# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the joint states mean at the end of a chain: its twist, and the wrench that it holds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import ParameterError
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.types import Array

__all__ = ['Tip', 'root_of']


class Tip:
    """
    One end frame, seen from the root of the robot.

    ``v = J q'`` and, of the wrenches at the end that the efforts ``tau = J^T w`` hold, the least
    one, ``w = (J^T)^+ tau``. Both are at the end's origin in the axes of the root: linear or force
    first [m/s, N], angular or moment then [rad/s, N m].

    :param robot: The description.
    :param frame: The end: name of a link.
    :param bridged: Names of the joints whose states are known.
    :raises ParameterError: If there is no such link, or a joint on the way to it is not bridged.
    """

    def __init__(self, robot: RobotDescription, frame: str, bridged: Iterable[str]) -> None:
        self.frame = frame
        self.root = root_of(robot)
        if frame not in {link.name for link in robot.links}:
            raise ParameterError(
                'tip_frames cannot be accepted',
                parameter='tip_frames',
                expected='names of links',
                found=repr(frame),
            )
        self._device = JointDevice.from_description(robot, base=self.root, end=frame)
        missing = sorted(set(self._device.joint_names) - set(bridged))
        if missing:
            raise ParameterError(
                f"tip frame '{frame}' depends on joints that are not bridged",
                parameter='tip_frames',
                found=', '.join(missing),
            )

    def twist(self, joints: JointStateRecord) -> Array | None:
        """Return ``[v; omega]``, shape ``(6,)``, or ``None`` where a joint is not known."""
        position = self._of(joints, joints.position)
        velocity = self._of(joints, joints.velocity)
        if position is None or velocity is None:
            return None
        twist: Array = self._device.base_j_end(position) @ velocity
        return twist

    def wrench(self, joints: JointStateRecord) -> Array | None:
        """Return ``[f; m]``, shape ``(6,)``, or ``None`` where a joint is not known."""
        position = self._of(joints, joints.position)
        effort = self._of(joints, joints.effort)
        if position is None or effort is None:
            return None
        jacobian = self._device.base_j_end(position)
        wrench: Array = np.linalg.pinv(jacobian.T) @ effort
        return wrench

    def _of(self, joints: JointStateRecord, values: Array) -> Array | None:
        """Return the device's share of one field, ``None`` where any of it is unknown."""
        known = dict(zip(joints.names, values.tolist(), strict=False))
        try:
            share: Array = np.array([known[name] for name in self._device.joint_names])
        except KeyError:
            return None
        return share if np.isfinite(share).all() else None


def root_of(robot: RobotDescription) -> str:
    """
    Return the link that no joint leads to, the first one where there are several.

    :raises ParameterError: If there is none.
    """
    children = {joint.child for joint in robot.joints}
    for link in robot.links:
        if link.name not in children:
            return link.name
    raise ParameterError(
        'tip_frames needs a kinematic tree', parameter='tip_frames', found='no root link'
    )
