# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
ros2_control with topic-based hardware, the bridge, and a simulated driver.

The controller manager's component uses joint space, the driver uses actuator space.

::

    ros2 launch transmission_bridge topic_based.launch.py
    ros2 topic echo /robot_joint_states
"""

from launch import LaunchDescription

from transmission_bridge.ros.launching import topic_based_launch


def generate_launch_description() -> LaunchDescription:
    """Return controllers, bridge and driver, with an argument for every choice."""
    return topic_based_launch()
