# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The moving example arm with a simulated driver, the bridge, and RViz if it is installed.

It stops moving when another node commands it::

    ros2 launch transmission_bridge demo.launch.py
    ros2 topic pub --once /joint_commands sensor_msgs/msg/JointState \
        "{name: [wrist_pitch, wrist_roll], position: [0.5, -0.8]}"
"""

from launch import LaunchDescription

from transmission_bridge.ros.launching import demo_launch


def generate_launch_description() -> LaunchDescription:
    """Return driver, bridge and view, with an argument for every choice."""
    return demo_launch()
