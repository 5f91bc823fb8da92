# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Launch actions for the launch files of this package and of others."""

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
    LaunchArgument,
    NodePlan,
    parse_xacro_arguments,
    plan_bridge,
    plan_driver,
)

# -- Launch actions that start one node of this package ------------------------------------------


#: Delay before a restart [s], so that a broken node does not restart in a hot loop.
_RESPAWN_DELAY = 1.0


def bridge_node(
    *,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
    **given: Any,
) -> Node:
    """
    Return the action that starts a bridge.

    :param parameters: Further parameters in the format of launch_ros; they override all others.
    :param node_arguments: Further arguments of :class:`launch_ros.actions.Node`.
    :param given: Arguments of ``bridge.launch.py`` by name, for example ``namespace='left'`` or
        ``remappings={'joint_states': '/joint_states'}``. Values are texts, booleans, paths or
        substitutions; in remappings only the new names may be substitutions.
    :raises ParameterError: If an argument belongs to an earlier version.
    :raises UnknownNameError: If an argument or a topic is unknown.
    """
    return make_node_action(plan_bridge(_complete_values(given)), parameters, node_arguments)


def simulated_driver(
    *,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
    **given: Any,
) -> Node:
    """
    Return the action that starts a simulated driver instead of a real one.

    :param parameters: As in :func:`bridge_node`.
    :param node_arguments: As in :func:`bridge_node`.
    :param given: As in :func:`bridge_node`; the driver uses the arguments that it shares with the
        bridge.
    :raises ParameterError: If an argument belongs to an earlier version.
    :raises UnknownNameError: If an argument is unknown.
    """
    return make_node_action(plan_driver(_complete_values(given)), parameters, node_arguments)


class _ReadableFile(Substitution):
    """
    The path of a readable file; an empty path stays empty.

    launch_ros only warns about a missing parameter file, and the robot would run with the numbers
    of its description.
    """

    def __init__(self, path: Any) -> None:
        super().__init__()
        self._path = normalize_to_list_of_substitutions(path)

    def perform(self, context: LaunchContext) -> str:
        """
        Return the path.

        :raises OSError: If the file cannot be opened.
        """
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
        """Return the text, empty for an empty path."""
        path = perform_substitutions(context, self._path)
        arguments = perform_substitutions(context, self._arguments)
        return load_description_text(path, arguments) if path else ''


def load_description_text(path: str, xacro_arguments: str = '') -> str:
    """
    Return the URDF in a file, or the result of a ``.xacro`` file.

    :param path: The file.
    :param xacro_arguments: Arguments for xacro, as ``name:=value ...``.
    :raises DescriptionError: If it is empty, too long, or cannot be decoded.
    :raises OSError: If it cannot be read, or is a pipe that stays open.
    :raises RuntimeError: If it is a xacro file and xacro is not installed.
    :raises ValueError: If the arguments have another form.
    """
    mappings = parse_xacro_arguments(xacro_arguments)
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


def make_node_action(
    plan: NodePlan,
    parameters: Sequence[Any] = (),
    node_arguments: Mapping[str, Any] | None = None,
) -> Node:
    """Return the action that starts the node of a plan."""
    # Later entries override earlier ones: arguments override the file.
    files = [make_parameter_file(plan.params_file)] if plan.params_file else []
    switches = {
        name: ParameterValue(normalize_to_list_of_substitutions(value), value_type=bool)
        for name, value in plan.switches.items()
    }
    return Node(
        package='transmission_bridge',
        executable=plan.executable,
        name=plan.name,
        namespace=plan.namespace,
        parameters=[*files, switches, *_make_description_parameter(plan), *parameters],
        remappings=list(plan.remappings),
        arguments=['--ros-args', '--log-level', plan.log_level],
        # A substitution is left to launch.
        respawn=plan.respawn == 'true' if isinstance(plan.respawn, str) else plan.respawn,
        respawn_delay=_RESPAWN_DELAY,
        output='screen',
        **(node_arguments or {}),
    )


def make_parameter_file(path: Any) -> ParameterFile:
    """Return a parameter file that must exist at the launch."""
    return ParameterFile([_ReadableFile(path)])


def _make_description_parameter(plan: NodePlan) -> list[dict[str, ParameterValue]]:
    """Return the parameter ``robot_description``; an empty list without a file."""
    if not plan.description_file:
        return []
    # Explicitly a string, because launch would parse it as YAML.
    text = RobotDescription(plan.description_file, plan.xacro_arguments)
    return [{'robot_description': ParameterValue(text, value_type=str)}]


def list_bridge_arguments() -> tuple[LaunchArgument, ...]:
    """Return the arguments of ``bridge.launch.py``."""
    return launch_plan.list_arguments(params_file=str(resource('config', 'bridge.yaml')))


def _complete_values(given: Mapping[str, Any]) -> dict[str, Any]:
    launch_plan.reject_removed_arguments(given)
    values: dict[str, Any] = launch_plan.collect_defaults(list_bridge_arguments())
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
    """Return the launch description of the bridge, for use with a driver."""
    return _make_launch(list_bridge_arguments(), [_start_bridge])


def demo_launch() -> LaunchDescription:
    """Return the launch description of bridge, simulated driver and RViz."""
    declared = launch_plan.list_arguments(
        params_file=_find_config('bridge.yaml'), description_file=str(resource('urdf', 'arm.urdf'))
    )
    return _make_launch((*declared, _MOVE, _RVIZ), [_start_driver, _start_bridge, _start_view])


def topic_based_launch() -> LaunchDescription:
    """
    Return the launch description of ros2_control with topic-based hardware, bridge and driver.

    The controller manager and its controllers are left out if they are not installed.
    """
    declared = launch_plan.list_arguments(
        params_file=_find_config('topic_based.yaml'),
        description_file=str(resource('urdf', 'topic_based.urdf')),
    )
    controllers = LaunchArgument(
        'controllers_file',
        _find_config('topic_based_controllers.yaml'),
        'Parameters of the controller manager and its controllers.',
    )
    return _make_launch(
        (*declared, controllers),
        [_start_driver, _start_bridge, _start_state_publisher, _start_controllers],
        topics=launch_plan.TOPIC_BASED,
    )


_RVIZ = LaunchArgument(
    'rviz', 'true', 'Whether to start RViz if it is installed.', ('true', 'false')
)

_MOVE = LaunchArgument(
    'move',
    'true',
    'Whether the arm moves until another node commands it.',
    ('true', 'false'),
)

_CONTROLLERS = (
    'joint_state_broadcaster', 'turntable_controller', 'arm_controller', 'gripper_controller',
)  # fmt: skip

_Values = Mapping[str, Any]
_Part = Callable[[_Values], Iterable[LaunchDescriptionEntity]]


def _make_launch(
    declared: Sequence[LaunchArgument],
    parts: Sequence[_Part],
    *,
    topics: Mapping[str, str] | None = None,
) -> LaunchDescription:
    """
    Return a launch description of arguments, and of parts made from their values.

    :param topics: Default remappings.
    """

    def start_parts(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        launch_plan.reject_removed_arguments(context.launch_configurations)
        values: dict[str, Any] = {
            argument.name: LaunchConfiguration(argument.name).perform(context)
            for argument in declared
        }
        values['remappings'] = {
            **(topics or {}),
            **launch_plan.parse_remappings(values['remappings']),
        }
        return [entity for part in parts for entity in part(values)]

    return LaunchDescription(
        [
            DeclareLaunchArgument(
                argument.name,
                default_value=argument.default,
                description=argument.description,
                choices=argument.choices or None,
            )
            for argument in declared
        ]
        + [OpaqueFunction(function=start_parts)]
    )


def _start_bridge(values: _Values) -> list[LaunchDescriptionEntity]:
    return [make_node_action(plan_bridge(values))]


def _start_driver(values: _Values) -> list[LaunchDescriptionEntity]:
    return [make_node_action(plan_driver({**values, 'move_demo': values.get('move', 'false')}))]


def _start_view(values: _Values) -> list[LaunchDescriptionEntity]:
    """Show the robot with the installed tools; the bridge does not need them."""
    actions = _start_state_publisher(values)
    if values['rviz'] == 'true':
        actions += _start_if_installed('rviz2', 'no picture', values, [_choose_clock(values)])
    return actions


def _start_state_publisher(values: _Values) -> list[LaunchDescriptionEntity]:
    parameters = [_choose_clock(values), *_make_description_parameter(plan_bridge(values))]
    return _start_if_installed('robot_state_publisher', 'no transforms', values, parameters)


def _start_controllers(values: _Values) -> list[LaunchDescriptionEntity]:
    package = 'controller_manager'
    if not _is_installed(package):
        return [LogInfo(msg=f'{package} is not installed: no controllers')]
    manager = Node(
        package=package,
        executable='ros2_control_node',
        namespace=values['namespace'],
        # It receives the description from the topic of robot_state_publisher.
        parameters=[_choose_clock(values), make_parameter_file(values['controllers_file'])],
        output='screen',
    )
    spawner = Node(
        package=package,
        executable='spawner',
        namespace=values['namespace'],
        arguments=[*_CONTROLLERS, '--param-file', values['controllers_file']],
        output='screen',
    )
    # Wait until the joints have states, because ros2_control cannot limit the first step of a
    # command. Started as a module, because only this launch file uses it.
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

    # The handler must come before the process.
    handler = RegisterEventHandler(OnProcessExit(target_action=waiter, on_exit=spawn))
    return [manager, handler, waiter]


def _start_if_installed(
    package: str, otherwise: str, values: _Values, parameters: Sequence[Any]
) -> list[LaunchDescriptionEntity]:
    """Return a node with the name of its package and executable, or a log line."""
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


def _find_config(name: str) -> str:
    return str(resource('config', name))


def _choose_clock(values: _Values) -> dict[str, Any]:
    return {'use_sim_time': values['use_sim_time'] == 'true'}


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True
