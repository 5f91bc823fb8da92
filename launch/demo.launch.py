# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The example arm with simulated motors, the bridge, and RViz if it is installed.

::

    ros2 launch transmission_bridge demo.launch.py
    ros2 topic pub --once /joint_commands sensor_msgs/msg/JointState \
        "{name: [wrist_pitch, wrist_roll], position: [0.5, -0.8]}"
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration

from transmission_bridge.ros.launching import DescriptionFromFile, start_if_installed

SHARE = Path(__file__).parents[1]

#: bridge.launch.py, which is included, has further arguments.
ARGUMENTS = [
    DeclareLaunchArgument(name, default_value=default, description=text)
    for name, default, text in (
        ('robot_description_file', f'{SHARE}/urdf/arm.urdf', 'URDF or xacro file.'),
        ('rviz', 'true', 'Whether RViz starts if it is installed.'),
    )
]


def generate_launch_description() -> LaunchDescription:
    """Return bridge and view."""
    common = {'namespace': LaunchConfiguration('namespace', default=''), 'output': 'screen'}
    clock = {'use_sim_time': LaunchConfiguration('use_sim_time', default='false')}
    xacro = LaunchConfiguration('xacro_arguments', default='')
    description = DescriptionFromFile(LaunchConfiguration('robot_description_file'), xacro)
    robot = {'robot_description': description, **clock}
    bridge = IncludeLaunchDescription(
        f'{SHARE}/launch/bridge.launch.py', launch_arguments={'simulate': 'true'}.items()
    )
    state_publisher = start_if_installed('robot_state_publisher', parameters=[robot], **common)
    rviz = start_if_installed(
        'rviz2', parameters=[clock], condition=IfCondition(LaunchConfiguration('rviz')), **common
    )
    return LaunchDescription([*ARGUMENTS, bridge, state_publisher, rviz])
