# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The bridge, for a driver in actuator space.

::

    ros2 launch transmission_bridge bridge.launch.py robot_description_file:=my_robot.urdf
"""

from launch import LaunchDescription

from transmission_bridge.ros.launching import bridge_launch


def generate_launch_description() -> LaunchDescription:
    """Return the bridge, with an argument for every choice."""
    return bridge_launch()
