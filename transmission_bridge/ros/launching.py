# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Launch actions for the launch files of this package and of others.

Needs launch and launch_ros. Launch files of users import ``bridge_node``, so its arguments are
fixed; the launch files of this package also use the others. A launch file with a bridge::

    from launch import LaunchDescription
    from transmission_bridge.ros.launching import bridge_node

    def generate_launch_description():
        return LaunchDescription([bridge_node(robot_description_file='robot.urdf')])
"""

from __future__ import annotations

from pathlib import Path
import shlex
import shutil
from typing import Any, TypeAlias

from ament_index_python.packages import get_packages_with_prefixes
from launch import Action, LaunchContext, SomeSubstitutionsType
from launch.actions import LogInfo
from launch.substitutions import Command, SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from transmission_bridge.bridge.options import describe_damaged_files
from transmission_bridge.description.document import description_text, read_urdf_file

FilePath: TypeAlias = SomeSubstitutionsType | Path


def bridge_node(
    *,
    robot_description_file: FilePath | None = None,
    xacro_arguments: SomeSubstitutionsType = '',
    params_file: FilePath | None = None,
    namespace: SomeSubstitutionsType = '',
    autostart: bool | SomeSubstitutionsType = True,
    use_sim_time: bool | SomeSubstitutionsType = False,
    log_level: SomeSubstitutionsType = 'info',
    parameters: list[Any] | tuple[()] = (),
    **node_arguments: Any,
) -> Node:
    """
    Return the action that starts a bridge.

    All values may be substitutions, for example ``LaunchConfiguration('robot')``.

    :param robot_description_file: URDF file, or xacro file (``.xacro``) if xacro is installed.
        ``None``: the bridge subscribes to the topic ``robot_description``, unless a parameter file
        contains the description.
    :param xacro_arguments: Arguments of a xacro file, as ``name:=value name:=value``.
    :param params_file: Parameter file. The other arguments override it.
    :param namespace: Namespace of the node and its topics.
    :param autostart: Whether the bridge configures and activates itself as soon as it has a
        description.
    :param use_sim_time: Whether ROS time comes from ``/clock``.
    :param log_level: Lowest severity in the log: debug, info, warn, error or fatal.
    :param parameters: Further parameters as in :class:`launch_ros.actions.Node`. They override all
        others.
    :param node_arguments: Further arguments of :class:`launch_ros.actions.Node`, for example
        ``respawn=True`` or ``remappings=[('joint_states', '/joint_states')]``.
    """
    files = [] if params_file is None else [RequiredParameterFile(params_file)]
    values: dict[str, Any] = {'autostart': autostart, 'use_sim_time': use_sim_time}
    if robot_description_file is not None:
        values['robot_description'] = DescriptionFromFile(robot_description_file, xacro_arguments)
    return Node(
        package='transmission_bridge',
        executable='bridge_node',
        name='transmission_bridge',
        namespace=namespace,
        # Later entries override earlier ones.
        parameters=[*files, values, *parameters],
        ros_arguments=['--log-level', log_level],
        # A bridge that cannot start would be restarted without a pause.
        respawn_delay=1.0,
        output='screen',
        **node_arguments,
    )


class DescriptionFromFile(ParameterValue):
    """
    The value of a parameter ``robot_description``: the URDF in a file, or the result of xacro.

    launch_ros would parse the text as YAML if it were not a :class:`ParameterValue`.

    :param path: URDF file, or xacro file (``.xacro``).
    :param xacro_arguments: Arguments of a xacro file, as ``name:=value name:=value``.
    """

    def __init__(self, path: FilePath, xacro_arguments: SomeSubstitutionsType = '') -> None:
        super().__init__(str(path) if isinstance(path, Path) else path, value_type=str)
        self._xacro_arguments = normalize_to_list_of_substitutions(xacro_arguments)

    def evaluate(self, context: LaunchContext) -> str:
        """
        Return the URDF.

        :raises DescriptionError: If a URDF file is empty, too long, or cannot be decoded.
        :raises OSError: If a URDF file cannot be read.
        :raises SubstitutionFailure: If xacro is not installed, or fails.
        """
        path: str = super().evaluate(context)
        if not path.endswith('.xacro'):
            return description_text(read_urdf_file(path), name=path)
        if shutil.which('xacro') is None:
            raise SubstitutionFailure(f'{path}: xacro is not installed (ros-$ROS_DISTRO-xacro)')
        command = [f'xacro {shlex.quote(path)} ', *self._xacro_arguments]
        return str(Command(command, on_stderr='warn').perform(context))


class RequiredParameterFile(ParameterFile):
    """
    A parameter file that must exist.

    launch_ros only warns about a missing file, and the robot would run with other numbers.
    """

    def evaluate(self, context: LaunchContext) -> Path:
        """
        Return the path.

        :raises FileNotFoundError: If it is not a file.
        :raises ValueError: If it is not YAML.
        """
        path: Path = super().evaluate(context)
        if not path.is_file():
            raise FileNotFoundError(f"parameter file: expected a file, found none at '{path}'")
        if problem := describe_damaged_files(['--params-file', str(path)]):
            raise ValueError(problem)
        return path


def start_if_installed(package: str, executable: str = '', **node_arguments: Any) -> Action:
    """
    Return the action that starts a node, or a message if its package is not installed.

    :param package: Name of the package.
    :param executable: Name of its executable, by default the name of the package.
    :param node_arguments: Further arguments of :class:`launch_ros.actions.Node`.
    """
    if package in get_packages_with_prefixes():
        return Node(package=package, executable=executable or package, **node_arguments)
    return LogInfo(msg=f'{package} is not installed', condition=node_arguments.get('condition'))
