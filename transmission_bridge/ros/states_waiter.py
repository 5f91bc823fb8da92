# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Run a command when the first joint position is published.

Only ``topic_based.launch.py`` uses it, to start the spawner of controllers. If a controller is
active before its joints have states, ros2_control's limiter starts at NaN, and the first command
may be any step. ::

    python3 -m transmission_bridge.ros.states_waiter COMMAND ... --ros-args -r __ns:=/left

The ROS arguments of the command also apply to the node that waits. A signal ends it without the
command.
"""

from __future__ import annotations

import math
import os
import sys

import rclpy
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from transmission_bridge.signals import stop_at_signals


def main() -> None:
    """Wait, then replace this process by the command, unless a signal comes before."""
    # Not an exception: in a conversion of rclpy an interrupt becomes an error of types.
    with stop_at_signals() as stop:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node('states_waiter')
        positions: list[float] = []

        def receive_states(message: JointState) -> None:
            positions.extend(filter(math.isfinite, message.position))

        node.create_subscription(
            JointState, 'joint_states', receive_states, qos_profile_sensor_data
        )
        node.get_logger().info(
            'no controllers yet: waiting for the first joint position on '
            f'{node.resolve_topic_name("joint_states")}. If it does not come: is the driver '
            'running, and the bridge active? See /diagnostics'
        )
        while not (stop() or positions):
            rclpy.spin_once(node, timeout_sec=0.1)
        node.destroy_node()
        rclpy.try_shutdown()
    if not stop():
        os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == '__main__':
    main()
