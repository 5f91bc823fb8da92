# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parts of this package's launch files, for launch files of other packages too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
import sys
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity, Substitution
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from transmission_bridge.description import source
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.resources import resource
from transmission_bridge.ros import launch_plan, states_waiter
from transmission_bridge.ros.launch_plan import (
    Argument,
    bridge_plan,
    driver_plan,
    NodePlan,
    xacro_mappings,
)

# -- Launch actions that start one node of this package ------------------------------------------


#: Seconds after which a node that ended is started again, so that a broken one is no hot loop.
_RESPAWN_DELAY = 1.0


def bridge_node(
    *,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
    **given: Any,
) -> Node:
    """
    Return the action that starts a bridge.

    :param parameters: Further parameters as launch_ros takes them; they override all others.
    :param node_arguments: Further arguments of :class:`launch_ros.actions.Node`.
    :param given: Arguments of ``bridge.launch.py`` by name, for example ``namespace='left'`` or
        ``remappings={'joint_states': '/joint_states'}``; texts, booleans, paths or substitutions,
        of remappings the new names only.
    :raises ParameterError: If an argument is one that earlier versions had for each topic.
    :raises UnknownNameError: If there is no such argument, or no such topic.
    """
    return node_of(bridge_plan(_values(given)), parameters, node_arguments)


def simulated_driver(
    *,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
    **given: Any,
) -> Node:
    """
    Return the action that starts a simulated driver in place of a real one.

    :param parameters: As in :func:`bridge_node`.
    :param node_arguments: As in :func:`bridge_node`.
    :param given: As in :func:`bridge_node`; the driver uses those that it shares with the bridge.
    :raises UnknownNameError: If there is no such argument.
    """
    return node_of(driver_plan(_values(given)), parameters, node_arguments)


class _File(Substitution):
    """
    The path of a file that can be opened; an empty one stays empty.

    launch_ros only warns of a missing parameter file, and the robot would run with the numbers of
    its description.
    """

    def __init__(self, path: Any) -> None:
        super().__init__()
        self._path = normalize_to_list_of_substitutions(path)

    def perform(self, context: LaunchContext) -> str:
        """Return the path, or raise what opening the file raises."""
        path: str = perform_substitutions(context, self._path)
        if path:
            Path(path).open('rb').close()
        return path


class RobotDescription(Substitution):
    """
    The URDF in a file, or the result of a ``.xacro`` file, evaluated during the launch.

    :param path: The file.
    :param xacro_arguments: As ``name:=value ...``.
    """

    def __init__(self, path: Any, xacro_arguments: Any = '') -> None:
        super().__init__()
        self._path = normalize_to_list_of_substitutions(path)
        self._arguments = normalize_to_list_of_substitutions(xacro_arguments)

    def describe(self) -> str:
        """Return a description of this substitution."""
        parts = ' + '.join(part.describe() for part in self._path)
        return f'{type(self).__name__}({parts})'

    def perform(self, context: LaunchContext) -> str:
        """Return the text; an empty path gives an empty one."""
        path = perform_substitutions(context, self._path)
        arguments = perform_substitutions(context, self._arguments)
        return description_text(path, arguments) if path else ''


def description_text(path: str, xacro_arguments: str = '') -> str:
    """
    Return the URDF in a file, or the result of a ``.xacro`` file.

    :param path: The file.
    :param xacro_arguments: Arguments for xacro, as ``name:=value ...``.
    :raises DescriptionError: If it is empty, too long, or cannot be decoded.
    :raises OSError: If it cannot be read, or is a pipe that does not end.
    :raises RuntimeError: If it is a xacro file and xacro is not installed.
    :raises ValueError: If the arguments have another form.
    """
    mappings = xacro_mappings(xacro_arguments)
    if Path(path).suffix != '.xacro':
        return source.description_text(source.read_file(path), name=path)
    try:
        import xacro
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f'{path} needs xacro, which is not installed: install ros-$ROS_DISTRO-xacro, '
            'or give a URDF file'
        ) from error
    return str(xacro.process_file(path, mappings=mappings).toxml())


def node_of(
    plan: NodePlan,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
) -> Node:
    """Return the action that starts the node of a plan."""
    # Later ones win: arguments override the file.
    files = [parameter_file(plan.params_file)] if plan.params_file else []
    switches = {
        name: ParameterValue(normalize_to_list_of_substitutions(value), value_type=bool)
        for name, value in plan.switches.items()
    }
    return Node(
        package='transmission_bridge',
        executable=plan.executable,
        name=plan.name,
        namespace=plan.namespace,
        parameters=[*files, switches, *description_of(plan), *parameters],
        remappings=list(plan.remappings),
        arguments=['--ros-args', '--log-level', plan.log_level],
        respawn=_respawn(plan.respawn),
        respawn_delay=_RESPAWN_DELAY,
        output='screen',
        **(node_arguments or {}),
    )


def parameter_file(path: Any) -> ParameterFile:
    """Return a parameter file that must exist during the launch."""
    return ParameterFile([_File(path)])


def _respawn(value: Any) -> Any:
    """Return a switch as launch takes it; a substitution is left to launch."""
    return value == 'true' if isinstance(value, str) else value


def description_of(plan: NodePlan) -> list[dict[str, ParameterValue]]:
    """Return the parameter ``robot_description``, none if no file is named."""
    if not plan.description_file:
        return []
    # Explicitly a string: launch would parse it as YAML otherwise.
    text = RobotDescription(plan.description_file, plan.xacro_arguments)
    return [{'robot_description': ParameterValue(text, value_type=str)}]


def bridge_arguments() -> tuple[Argument, ...]:
    """Return the arguments of ``bridge.launch.py``."""
    return launch_plan.arguments(params_file=str(resource('config', 'bridge.yaml')))


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    launch_plan.refuse_gone(given)
    values: dict[str, Any] = launch_plan.defaults(bridge_arguments())
    for name in given:
        if name not in values:
            raise UnknownNameError('argument', name, tuple(values))
    return {**values, **given}


# -- The launch files ----------------------------------------------------------------------------
#
# Needs launch and launch_ros. A launch file with a bridge of its own::
#
#     from launch import LaunchDescription
#     from transmission_bridge.ros.launching import bridge_node
#
#     def generate_launch_description():
#         return LaunchDescription([bridge_node(robot_description_file='robot.urdf')])


def bridge_launch() -> LaunchDescription:
    """Return the launch description of the bridge alone, to go beside a driver."""
    return _launch(bridge_arguments(), [_bridge])


def demo_launch() -> LaunchDescription:
    """Return the launch description of bridge, simulated driver and RViz."""
    declared = launch_plan.arguments(
        params_file=_config('bridge.yaml'), description_file=str(resource('urdf', 'arm.urdf'))
    )
    return _launch((*declared, _MOVE, _RVIZ), [_driver, _bridge, _view])


def topic_based_launch() -> LaunchDescription:
    """
    Return the launch description of ros2_control with topic-based hardware, bridge and driver.

    The controller manager and its controllers are left out if they are not installed.
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
        topics=launch_plan.TOPIC_BASED,
    )


_RVIZ = Argument('rviz', 'true', 'Whether to start RViz if it is installed.', ('true', 'false'))

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
    Return a launch description of arguments, and of parts that are made from their values.

    :param topics: Names of topics that are the default here.
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
    return [node_of(driver_plan({**values, 'move_demo': values.get('move', 'false')}))]


def _view(values: _Values) -> list[LaunchDescriptionEntity]:
    """Show the robot with the tools that are installed; the bridge needs none of them."""
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
        # It takes the description from the topic of robot_state_publisher.
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
    # Not before the joints have states: ros2_control cannot limit the first step of a command.
    # No executable, because it is a node of this launch file only.
    waiter = Node(
        executable=sys.executable,
        name=states_waiter.NAME,
        namespace=values['namespace'],
        remappings=[each for each in values['remappings'].items() if each[0] == 'joint_states'],
        arguments=['-m', states_waiter.__name__, '--ros-args', '--log-level', values['log_level']],
        output='screen',
    )

    def spawn(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        return [spawner] if event.returncode == 0 else []

    # Before the process that it is about.
    handler = RegisterEventHandler(OnProcessExit(target_action=waiter, on_exit=spawn))
    return [manager, handler, waiter]


def _if_installed(
    package: str, otherwise: str, values: _Values, parameters: Sequence[Any]
) -> list[LaunchDescriptionEntity]:
    """Return a node with the name of its package and executable, or a log line instead."""
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
