# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files of this package consist of, for those of other packages as well.

Needs launch and launch_ros. A launch file with a bridge of its own::

    from launch import LaunchDescription
    from transmission_bridge.ros.launching import bridge_node

    def generate_launch_description():
        return LaunchDescription([bridge_node(robot_description_file='robot.urdf')])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import sys
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from transmission_bridge.ros import demo_mover, launch_plan
from transmission_bridge.ros.launch_nodes import (
    bridge_arguments,
    bridge_node,
    description_of,
    description_text,
    node_of,
    parameter_file,
    RobotDescription,
    simulated_driver,
)
from transmission_bridge.ros.launch_plan import Argument, bridge_plan, driver_plan, MOVER_TOPICS
from transmission_bridge.tools.resources import resource

__all__ = [
    'RobotDescription',
    'bridge_launch',
    'bridge_node',
    'demo_launch',
    'description_text',
    'simulated_driver',
    'topic_based_launch',
]


def bridge_launch() -> LaunchDescription:
    """Return the launch description of the bridge alone, to go beside a driver."""
    return _launch(bridge_arguments(), [_bridge])


def demo_launch() -> LaunchDescription:
    """Return the launch description of bridge and simulated driver, moved and to be seen."""
    declared = launch_plan.arguments(
        params_file=_config('bridge.yaml'), description_file=str(resource('urdf', 'arm.urdf'))
    )
    return _launch((*declared, _MOVE, _RVIZ), [_driver, _bridge, _mover, _view])


def topic_based_launch() -> LaunchDescription:
    """
    Return the launch description of ros2_control with topic-based hardware, bridge and driver.

    The controller manager and its controllers are left out where they are not installed.
    """
    declared = launch_plan.arguments(
        params_file=_config('topic_based.yaml'),
        description_file=str(resource('urdf', 'topic_based.urdf')),
    )
    controllers = Argument(
        'controllers_file',
        _config('topic_based_controllers.yaml'),
        'Parameters of the controller manager and its controllers.',
    )
    return _launch(
        (*declared, controllers),
        [_driver, _bridge, _state_publisher, _controllers],
        # Where the hardware component of that description is.
        topics={'joint_states': '/robot_joint_states', 'joint_commands': '/robot_joint_commands'},
    )


_RVIZ = Argument(
    'rviz', 'true', 'Whether to start RViz, where it is installed.', ('true', 'false')
)

_MOVE = Argument(
    'move',
    'true',
    'Whether the arm is moved, until somebody else commands it.',
    ('true', 'false'),
)

_CONTROLLERS = (
    'joint_state_broadcaster', 'turntable_controller', 'arm_controller', 'gripper_controller',
)  # fmt: skip

_Values = Mapping[str, Any]
_Part = Callable[[_Values], Iterable[LaunchDescriptionEntity]]


def _launch(
    declared: Sequence[Argument],
    parts: Sequence[_Part],
    *,
    topics: Mapping[str, str] | None = None,
) -> LaunchDescription:
    """
    Return a description of arguments, and of parts that are made of their values.

    :param topics: Topics that have another name here where nobody names them.
    """

    def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        launch_plan.refuse_gone(context.launch_configurations)
        values: dict[str, Any] = {
            argument.name: LaunchConfiguration(argument.name).perform(context)
            for argument in declared
        }
        values['remappings'] = {
            **(topics or {}),
            **launch_plan.remappings(values['remappings']),
        }
        return [entity for part in parts for entity in part(values)]

    return LaunchDescription(
        [*(_declaration(argument) for argument in declared), OpaqueFunction(function=start)]
    )


def _declaration(argument: Argument) -> DeclareLaunchArgument:
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=argument.choices or None,
    )


def _bridge(values: _Values) -> list[LaunchDescriptionEntity]:
    return [node_of(bridge_plan(values))]


def _driver(values: _Values) -> list[LaunchDescriptionEntity]:
    return [node_of(driver_plan(values))]


def _mover(values: _Values) -> list[LaunchDescriptionEntity]:
    """Move the joints; nobody else needs this, so that it is no executable of the package."""
    if values['move'] != 'true':
        return []
    node = Node(
        executable=sys.executable,
        name=demo_mover.NAME,
        namespace=values['namespace'],
        remappings=[
            (old, new) for old, new in values['remappings'].items() if old in MOVER_TOPICS
        ],
        arguments=['-m', demo_mover.__name__, '--ros-args', '--log-level', values['log_level']],
        output='screen',
    )
    return [node]


def _view(values: _Values) -> list[LaunchDescriptionEntity]:
    """Show the robot with what is installed; the bridge needs none of it."""
    actions = _state_publisher(values)
    if values['rviz'] == 'true':
        actions += _if_installed('rviz2', 'no picture', values, [_time(values)])
    return actions


def _state_publisher(values: _Values) -> list[LaunchDescriptionEntity]:
    parameters = [_time(values), *description_of(bridge_plan(values))]
    return _if_installed('robot_state_publisher', 'no transforms', values, parameters)


def _controllers(values: _Values) -> list[LaunchDescriptionEntity]:
    package = 'controller_manager'
    if not _is_installed(package):
        return [LogInfo(msg=f'{package} is not installed: no controllers')]
    manager = Node(
        package=package,
        executable='ros2_control_node',
        namespace=values['namespace'],
        # It takes the description from the topic, where robot_state_publisher puts it.
        parameters=[_time(values), parameter_file(values['controllers_file'])],
        output='screen',
    )
    spawner = Node(
        package=package,
        executable='spawner',
        namespace=values['namespace'],
        arguments=[*_CONTROLLERS, '--param-file', values['controllers_file']],
        output='screen',
    )
    return [manager, spawner]


def _if_installed(
    package: str, otherwise: str, values: _Values, parameters: Sequence[Any]
) -> list[LaunchDescriptionEntity]:
    """Return a node that has the name of its package and executable."""
    if not _is_installed(package):
        return [LogInfo(msg=f'{package} is not installed: {otherwise}')]
    node = Node(
        package=package,
        executable=package,
        name=package,
        namespace=values['namespace'],
        parameters=list(parameters),
        output='screen',
    )
    return [node]


def _config(name: str) -> str:
    return str(resource('config', name))


def _time(values: _Values) -> dict[str, Any]:
    return {'use_sim_time': values['use_sim_time'] == 'true'}


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True
