# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The bridge with the URDF and the driver of this package."""

from pathlib import Path

from launch import LaunchDescription

from transmission_bridge.ros.launching import bridge_node


def generate_launch_description():
    """Return the node of ``ros2 launch my_robot my_robot.launch.py``."""
    urdf = Path(__file__).parents[1] / 'urdf' / 'my_robot.urdf'
    return LaunchDescription([bridge_node(robot_description_file=urdf, respawn=True)])
