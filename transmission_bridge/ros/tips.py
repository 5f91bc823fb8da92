# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``~/tip_twist`` and ``~/tip_wrench``: what the joint states mean at the ends of the robot."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TwistStamped, WrenchStamped

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.tips import Tip
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.ros.outputs import Outputs
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['Tips']


class Tips:
    """
    Publishers for the end frames of the parameter ``tip_frames``.

    One frame has the topics ``~/tip_twist`` and ``~/tip_wrench``; several have ``~/tip_twist/A``,
    ``~/tip_twist/B`` and so on, because neither message names the frame that moves. The header
    names the root link, in whose axes the numbers are.

    :raises ParameterError: If a frame does not fit the robot.
    """

    def __init__(
        self, outputs: Outputs, robot: RobotTransmissions, options: BridgeOptions
    ) -> None:
        frames = tuple(dict.fromkeys(options.tip_frames))
        tips = [Tip(robot.robot, frame, robot.joint_names) for frame in frames]
        self._tips: list[tuple[Tip, Any, Any]] = []
        for tip in tips:
            suffix = f'/{tip.frame}' if len(tips) > 1 else ''
            self._tips.append(
                (
                    tip,
                    outputs.add(TwistStamped, f'~/tip_twist{suffix}'),
                    outputs.add(WrenchStamped, f'~/tip_wrench{suffix}'),
                )
            )

    def publish(self, joints: JointStateRecord) -> None:
        """Publish what is known of every tip."""
        for tip, twists, wrenches in self._tips:
            twist = tip.twist(joints)
            if twist is not None:
                message = TwistStamped()
                _stamp(message, joints, tip)
                _fill(message.twist.linear, twist[:3])
                _fill(message.twist.angular, twist[3:])
                twists.publish(message)
            wrench = tip.wrench(joints)
            if wrench is not None:
                message = WrenchStamped()
                _stamp(message, joints, tip)
                _fill(message.wrench.force, wrench[:3])
                _fill(message.wrench.torque, wrench[3:])
                wrenches.publish(message)


def _stamp(message: Any, joints: JointStateRecord, tip: Tip) -> None:
    message.header.stamp.sec, message.header.stamp.nanosec = joints.stamp
    message.header.frame_id = tip.root


def _fill(vector: Any, values: Array) -> None:
    vector.x, vector.y, vector.z = values.tolist()
