# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Teleoperation: the joints of a follower arm follow those of a leader arm that is moved by hand.

The leader has ``torque: off`` in its ``<hardware>``, and reports positions only. The follower
stands until the leader is within one step of each joint (``max_step: reject``)::

    ros2 launch transmission_bridge leader_follower.launch.py leader:=leader.urdf \
        follower:=follower.urdf
    transmission_bridge watch --node follower/transmission_bridge
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration

from transmission_bridge.ros.launching import bridge_node

ARGUMENTS = [
    DeclareLaunchArgument(name, description=text)
    for name, text in (
        ('leader', 'URDF or xacro file of the leader.'),
        ('follower', 'URDF or xacro file of the follower, with joints of the same names.'),
    )
]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and both bridges."""
    leader = bridge_node(robot_description_file=LaunchConfiguration('leader'), namespace='leader')
    follower = bridge_node(
        robot_description_file=LaunchConfiguration('follower'),
        namespace='follower',
        parameters=[{'max_step': 'reject'}],
        remappings=[('joint_commands', '/leader/joint_states')],
    )
    return LaunchDescription([*ARGUMENTS, leader, follower])
