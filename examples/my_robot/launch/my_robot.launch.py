# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The driver, and the bridge with the URDF of this package."""

from pathlib import Path

from launch import LaunchDescription
from launch_ros.actions import Node

from transmission_bridge.ros.launching import bridge_node


def generate_launch_description():
    """Return the nodes of ``ros2 launch my_robot my_robot.launch.py``."""
    urdf = Path(__file__).parents[1] / 'urdf' / 'my_robot.urdf'
    return LaunchDescription(
        [
            Node(package='my_robot', executable='driver', output='screen'),
            bridge_node(robot_description_file=urdf, respawn=True),
        ]
    )
