# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The bridge, for a driver in actuator space.

::

    ros2 launch transmission_bridge bridge.launch.py robot_description_file:=my_robot.urdf
"""

from pathlib import Path

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from transmission_bridge.ros.launching import bridge_node

SHARE = Path(__file__).parents[1]

ARGUMENTS = [
    DeclareLaunchArgument(name, default_value=default, description=text)
    for name, default, text in (
        ('robot_description_file', '', 'URDF or xacro file; if empty, topic robot_description.'),
        ('xacro_arguments', '', "Arguments of a xacro file, as 'name:=value name:=value'."),
        ('params_file', f'{SHARE}/config/bridge.yaml', 'Parameter file; copy it to start with.'),
        ('namespace', '', 'Namespace of the nodes and their topics.'),
        ('autostart', 'true', 'Whether the bridge activates itself when it has a description.'),
        ('use_sim_time', 'false', 'Whether ROS time comes from /clock.'),
        ('log_level', 'info', 'Lowest severity in the log: debug, info, warn, error or fatal.'),
        ('simulate', 'false', 'Whether all motors are simulated.'),
        ('respawn', 'false', 'Whether the bridge is restarted one second after its end.'),
    )
]


def start_bridge(context: LaunchContext) -> list[Action]:
    """Return the bridge. An empty value is left to the bridge or to the parameter file."""
    names = [each.name for each in ARGUMENTS if context.launch_configurations[each.name]]
    values = {name: LaunchConfiguration(name) for name in names if name != 'simulate'}
    if context.launch_configurations['simulate'] == 'true':
        plugins = ['*=transmission_bridge/SimulatedDriver']
        values['parameters'] = [{'hardware_plugins': plugins}]
    return [bridge_node(**values)]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the bridge."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_bridge)])
