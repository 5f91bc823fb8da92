# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
ros2_control with topic-based hardware, and the bridge with simulated motors.

The controller manager's component uses joint space, the motors use actuator space.

::

    ros2 launch transmission_bridge topic_based.launch.py
    ros2 topic echo /robot_joint_states
"""

from pathlib import Path
import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import SetRemap

from transmission_bridge.ros.launching import RequiredParameterFile, start_if_installed

SHARE = Path(__file__).parents[1]
CONTROLLERS_FILE = f'{SHARE}/config/topic_based_controllers.yaml'

#: demo.launch.py and bridge.launch.py, which are included, have further arguments.
ARGUMENTS = [
    DeclareLaunchArgument(name, default_value=default, description=text)
    for name, default, text in (
        ('robot_description_file', f'{SHARE}/urdf/topic_based.urdf', 'URDF or xacro file.'),
        ('params_file', f'{SHARE}/config/topic_based.yaml', 'Parameter file of the bridge.'),
        ('controllers_file', CONTROLLERS_FILE, 'Parameter file of the controller manager.'),
        ('rviz', 'false', 'Whether RViz starts if it is installed.'),
    )
]

CONTROLLERS = [
    'joint_state_broadcaster', 'turntable_controller', 'arm_controller', 'gripper_controller',
]  # fmt: skip

#: Topics that the hardware component in urdf/topic_based.urdf has with the prefix robot_. These
#: names are relative, because absolute ones would connect the robots of all namespaces.
TOPICS = ['joint_states', 'joint_commands']
TOPICS += [f'joint_commands/{interface}' for interface in ('position', 'velocity', 'effort')]


def generate_launch_description() -> LaunchDescription:
    """Return the demo with other topics, and controllers."""
    common = {'namespace': LaunchConfiguration('namespace', default=''), 'output': 'screen'}
    clock = {'use_sim_time': LaunchConfiguration('use_sim_time', default='false')}
    controllers_file = LaunchConfiguration('controllers_file')
    remappings = [SetRemap(topic, f'robot_{topic}') for topic in TOPICS]
    demo = IncludeLaunchDescription(f'{SHARE}/launch/demo.launch.py')
    manager = start_if_installed(
        *('controller_manager', 'ros2_control_node'),
        # The description is from the topic of robot_state_publisher.
        parameters=[clock, RequiredParameterFile(controllers_file)],
        **common,
    )
    spawner = start_if_installed(
        *('controller_manager', 'spawner'),
        arguments=[*CONTROLLERS, '--param-file', controllers_file],
        # ros2_control does not limit the first command of a joint without a state.
        prefix=f'{sys.executable} -m transmission_bridge.ros.states_waiter',
        **common,
    )
    return LaunchDescription([*ARGUMENTS, manager, GroupAction([*remappings, demo, spawner])])
