# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Launch actions that start one node of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launch import LaunchContext, Substitution
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from transmission_bridge.description import source
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.ros import launch_plan
from transmission_bridge.ros.launch_plan import (
    Argument,
    bridge_plan,
    driver_plan,
    NodePlan,
    xacro_mappings,
)
from transmission_bridge.tools.resources import resource

__all__ = [
    'RobotDescription',
    'bridge_arguments',
    'bridge_node',
    'description_of',
    'description_text',
    'node_of',
    'parameter_file',
    'simulated_driver',
]

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

    :param parameters: Further parameters as launch_ros takes them; they stand above all others.
    :param node_arguments: Further arguments of :class:`launch_ros.actions.Node`.
    :param given: Arguments of ``bridge.launch.py`` by name, for example ``namespace='left'`` or
        ``remappings={'joint_states': '/joint_states'}``; texts, booleans, paths or substitutions.
    :raises ParameterError: If an argument is one that there was for each topic.
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
    Return the action that starts a simulated driver, to stand in for one that is not there.

    :param parameters: As in :func:`bridge_node`.
    :param node_arguments: As in :func:`bridge_node`.
    :param given: As in :func:`bridge_node`; the driver uses those that it shares with the bridge.
    :raises UnknownNameError: If there is no such argument.
    """
    return node_of(driver_plan(_values(given)), parameters, node_arguments)


class _File(Substitution):
    """
    The path of a file that can be opened; an empty one stays empty.

    launch_ros only warns of a parameter file that is not there, and the robot would run with the
    numbers of its description.
    """

    def __init__(self, path: Any) -> None:
        super().__init__()
        self._path = normalize_to_list_of_substitutions(path)

    def perform(self, context: LaunchContext) -> str:
        """Return the path, or raise what opening the file raises."""
        path = perform_substitutions(context, self._path)
        if path:
            Path(path).open('rb').close()
        return path


class RobotDescription(Substitution):
    """
    The URDF in a file, or what a ``.xacro`` file makes of itself, when launch comes to it.

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
    Return the URDF in a file, or what a ``.xacro`` file makes of itself.

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
    """Return the action that starts what is planned."""
    # Later ones win: what was given as an argument stands above the file.
    files = [parameter_file(plan.params_file)] if plan.params_file else []
    switches = {
        name: ParameterValue(_substitutions(value), value_type=bool)
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
    """Return a parameter file that must be there when launch comes to it."""
    return ParameterFile([_File(path)])


def _respawn(value: Any) -> Any:
    """Return a switch as launch takes it; what is not known yet is left to launch."""
    return value == 'true' if isinstance(value, str) else value


def _substitutions(value: Any) -> list[Substitution]:
    return normalize_to_list_of_substitutions(value)


def description_of(plan: NodePlan) -> list[dict[str, ParameterValue]]:
    """Return the parameter ``robot_description``, nothing where no file is named."""
    if not plan.description_file:
        return []
    # As a string whatever is in it: launch would take it for YAML otherwise.
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
