# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the launch files of this package consist of. Needs launch and launch_ros."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from transmission_bridge.tools.resources import resource

__all__ = ['bridge_launch', 'demo_launch', 'description_text']

_PACKAGE = 'transmission_bridge'


def bridge_launch() -> LaunchDescription:
    """Return the launch description of the bridge alone, to go beside a driver."""
    return LaunchDescription(
        [*_arguments(description_file=''), OpaqueFunction(function=_bridge)],
    )


def demo_launch() -> LaunchDescription:
    """Return the launch description of the bridge with a simulated driver, and a view of it."""
    rviz = DeclareLaunchArgument(
        'rviz',
        default_value='true',
        choices=['true', 'false'],
        description='Whether to start RViz, where it is installed.',
    )
    example = str(resource('urdf', 'arm.urdf'))
    return LaunchDescription(
        [
            *_arguments(description_file=example),
            rviz,
            OpaqueFunction(function=_simulated_driver),
            OpaqueFunction(function=_bridge),
            OpaqueFunction(function=_view),
        ]
    )


def description_text(path: str) -> str:
    """
    Return the URDF in a file, or what a ``.xacro`` file makes of itself.

    :raises RuntimeError: If it is a xacro file and xacro is not installed.
    """
    if Path(path).suffix != '.xacro':
        return Path(path).read_text(encoding='utf-8-sig')
    try:
        import xacro
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f'{path} needs xacro, which is not installed: install ros-$ROS_DISTRO-xacro, '
            'or give a URDF file'
        ) from error
    return str(xacro.process_file(path).toxml())


def _arguments(*, description_file: str) -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument(
            'robot_description_file',
            default_value=description_file,
            description='URDF file, or xacro file where xacro is installed. If empty, the topic '
            'robot_description is used.',
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=str(resource('config', 'bridge.yaml')),
            description='Parameters of the bridge; a copy of this one is a good start.',
        ),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of the nodes and their topics.'
        ),
        DeclareLaunchArgument(
            'autostart',
            default_value='true',
            choices=['true', 'false'],
            description='Whether the bridge configures and activates itself as soon as there is '
            'a description.',
        ),
        DeclareLaunchArgument(
            'log_level',
            default_value='info',
            description='Lowest severity that is logged: debug, info, warn, error or fatal.',
        ),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='false',
            choices=['true', 'false'],
            description='Whether ROS time is that of the topic /clock.',
        ),
    ]


def _bridge(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    autostart = ParameterValue(LaunchConfiguration('autostart'), value_type=bool)
    # Later ones win: what was given on the command line stands above the file.
    parameters = [
        ParameterFile(LaunchConfiguration('params_file')),
        {'autostart': autostart},
        *_common_parameters(context),
    ]
    return [_node('bridge_node', 'transmission_bridge', parameters)]


def _simulated_driver(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    return [_node('simulated_driver', 'simulated_driver', _common_parameters(context))]


def _view(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Show the robot with what is installed; the bridge needs none of it."""
    actions: list[LaunchDescriptionEntity] = []
    package = 'robot_state_publisher'
    if _is_installed(package):
        actions.append(_node(package, package, _common_parameters(context), package=package))
    else:
        actions.append(LogInfo(msg=f'{package} is not installed: no transforms'))
    if LaunchConfiguration('rviz').perform(context) == 'true':
        if _is_installed('rviz2'):
            actions.append(_node('rviz2', 'rviz2', [_time_parameter()], package='rviz2'))
        else:
            actions.append(LogInfo(msg='rviz2 is not installed: no picture'))
    return actions


def _common_parameters(context: LaunchContext) -> list[dict[str, Any]]:
    path = LaunchConfiguration('robot_description_file').perform(context)
    parameters = [_time_parameter()]
    if path:
        # As a string whatever is in it: launch would take it for YAML otherwise.
        text = ParameterValue(description_text(path), value_type=str)
        parameters.append({'robot_description': text})
    return parameters


def _time_parameter() -> dict[str, Any]:
    return {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}


def _node(
    executable: str, name: str, parameters: Sequence[Any], *, package: str = _PACKAGE
) -> Node:
    return Node(
        package=package,
        executable=executable,
        name=name,
        namespace=LaunchConfiguration('namespace'),
        parameters=list(parameters),
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        output='screen',
    )


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True
