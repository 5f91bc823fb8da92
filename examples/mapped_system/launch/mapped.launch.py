# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The controller manager with the mapped driver, and its controllers."""

from pathlib import Path

from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    """Return the nodes of ``ros2 launch mapped_system mapped.launch.py``."""
    share = Path(__file__).parents[1]
    description = (share / 'urdf' / 'mapped.urdf').read_text(encoding='utf-8')
    controllers = str(share / 'config' / 'controllers.yaml')
    spawner = {'package': 'controller_manager', 'executable': 'spawner'}
    return LaunchDescription(
        [
            Node(
                package='robot_state_publisher',
                executable='robot_state_publisher',
                parameters=[{'robot_description': description}],
            ),
            Node(
                package='controller_manager',
                executable='ros2_control_node',
                parameters=[controllers],
                output='screen',
            ),
            Node(
                **spawner,
                arguments=[
                    *('joint_state_broadcaster', 'trajectories'),
                    *('--param-file', controllers),
                ],
            ),
        ]
    )
