# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Arguments and nodes of the launch files, as plain data.

Imports nothing of ROS. :mod:`transmission_bridge.ros.launching` makes launch actions of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import fspath, PathLike
import shlex
from typing import Any

from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.ros.topics import TOPICS

#: Topics that the simulated driver shares with the bridge, and the topics of its demo motion.
_DRIVER_TOPICS = ('actuator_states', 'actuator_commands', 'robot_description')
_MOVER_TOPICS = ('joint_states', 'joint_commands')

#: The topics of the hardware component in ``urdf/topic_based.urdf``. Relative, as in the
#: component, because absolute ones would connect the robots of all namespaces.
TOPIC_BASED = {
    topic: f'robot_{topic}'
    for topic in ('joint_states', *(each for each in TOPICS if each.startswith('joint_commands')))
}

#: Arguments of earlier versions, one for each topic.
_GONE = {f'{topic.lstrip("/")}_topic': topic for topic in TOPICS}

_BOOLEAN = ('true', 'false')


@dataclass(frozen=True)
class LaunchArgument:
    """
    An argument of a launch file.

    :ivar name: Its name.
    :ivar default: Its default value.
    :ivar description: Its meaning, for ``ros2 launch --show-args``.
    :ivar choices: Its possible values; empty: any text.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodePlan:
    """
    A node to start. Texts may be launch substitutions, resolved later.

    :ivar executable: Name of the executable of this package.
    :ivar name: Name of the node.
    :ivar namespace: Its namespace.
    :ivar description_file: URDF or xacro file for the parameter ``robot_description``; empty:
        the parameter is not set.
    :ivar xacro_arguments: Arguments for a xacro file, as ``name:=value ...``.
    :ivar params_file: Parameter file; empty: none.
    :ivar switches: Boolean parameters, as ``true`` or ``false``. They and the description
        override the file.
    :ivar remappings: Old and new names.
    :ivar log_level: Lowest severity in the log.
    :ivar respawn: Whether it is restarted after its end, as ``true`` or ``false``.
    """

    executable: str
    name: str
    namespace: Any
    description_file: Any
    xacro_arguments: Any
    params_file: Any
    switches: Mapping[str, Any]
    remappings: tuple[tuple[str, Any], ...]
    log_level: Any
    respawn: Any


def list_arguments(*, params_file: str, description_file: str = '') -> tuple[LaunchArgument, ...]:
    """
    Return the arguments of a launch file with a bridge in it.

    :param params_file: Default parameter file.
    :param description_file: Default description.
    """
    return (
        LaunchArgument(
            'robot_description_file',
            description_file,
            'URDF file, or xacro file if xacro is installed. If empty, the topic '
            'robot_description is used.',
        ),
        LaunchArgument(
            'xacro_arguments',
            '',
            "Arguments of a xacro file, as 'name:=value name:=value'.",
        ),
        LaunchArgument(
            'params_file',
            params_file,
            'Parameter file of the bridge; copy the default to start with.',
        ),
        LaunchArgument('namespace', '', 'Namespace of the nodes and their topics.'),
        LaunchArgument(
            'autostart',
            'true',
            'Whether the bridge configures and activates itself as soon as it has a description.',
            _BOOLEAN,
        ),
        LaunchArgument(
            'log_level',
            'info',
            'Lowest severity in the log: debug, info, warn, error or fatal.',
        ),
        LaunchArgument('use_sim_time', 'false', 'Whether ROS time comes from /clock.', _BOOLEAN),
        LaunchArgument(
            'respawn',
            'false',
            'Whether a node of this package is restarted one second after its end.',
            _BOOLEAN,
        ),
        LaunchArgument(
            'remappings',
            '',
            "Other names for topics of the nodes, as 'joint_states:=/a joint_commands:=/b'.",
        ),
    )


def collect_defaults(declared: tuple[LaunchArgument, ...]) -> dict[str, str]:
    """Return the default values of arguments by name."""
    return {argument.name: argument.default for argument in declared}


def plan_bridge(values: Mapping[str, Any]) -> NodePlan:
    """
    Return the plan of the bridge.

    :param values: Values of the arguments by name: texts, or launch substitutions.
    """
    return _plan_node('bridge_node', 'transmission_bridge', values, switches=('autostart',))


def plan_driver(values: Mapping[str, Any]) -> NodePlan:
    """Return the plan of the simulated driver for a bridge with these arguments."""
    moves = values.get('move_demo') == 'true'
    topics = (*_DRIVER_TOPICS, *_MOVER_TOPICS) if moves else _DRIVER_TOPICS
    name = 'simulated_driver'
    return _plan_node(name, name, values, topics=topics, switches=('move_demo',) if moves else ())


def _plan_node(
    executable: str,
    name: str,
    values: Mapping[str, Any],
    *,
    topics: tuple[str, ...] | None = None,
    switches: tuple[str, ...] = (),
) -> NodePlan:
    values = {key: _convert_value(value) for key, value in values.items()}
    return NodePlan(
        executable=executable,
        name=name,
        namespace=values['namespace'],
        description_file=values['robot_description_file'],
        xacro_arguments=values['xacro_arguments'],
        # For the bridge only: a wildcard in the file would reach the driver too.
        params_file=values['params_file'] if topics is None else '',
        switches={switch: values[switch] for switch in (*switches, 'use_sim_time')},
        remappings=tuple(
            (old, new)
            for old, new in parse_remappings(values['remappings']).items()
            if topics is None or old in topics
        ),
        log_level=values['log_level'],
        respawn=values['respawn'],
    )


def _convert_value(value: Any) -> Any:
    """Spell booleans as launch does, and convert a path to text."""
    if isinstance(value, bool):
        return str(value).lower()
    return fspath(value) if isinstance(value, PathLike) else value


def parse_remappings(given: Any) -> dict[str, Any]:
    """
    Return the new names of topics by their old names.

    :param given: As ``joint_states:=/a joint_commands:=/b``, or a mapping, or pairs.
    :raises UnknownNameError: If an old name without a slash is not a topic of the bridge.
    :raises ValueError: If part of a text has another form.
    """
    pairs = _parse_pairs('remappings', given) if isinstance(given, str) else dict(given)
    for name in pairs:
        if '/' not in name and name not in TOPICS:
            raise UnknownNameError('topic', name, tuple(TOPICS))
    return pairs


def reject_removed_arguments(given: Iterable[str]) -> None:
    """
    Reject arguments of earlier versions, because launch would ignore them.

    :raises ParameterError: If an argument is one of them.
    """
    for name in given:
        if name in _GONE:
            raise ParameterError(
                f'the argument {name} was removed',
                expected=f"remappings:='{_GONE[name]}:=NAME'",
                found=f'{name}:=NAME',
            )


def parse_xacro_arguments(text: str) -> dict[str, str]:
    """
    Return the arguments of a xacro file by name.

    :param text: As ``name:=value other:='a value'``.
    :raises ValueError: If part of it has another form.
    """
    return _parse_pairs('xacro_arguments', text)


def _parse_pairs(argument: str, text: str) -> dict[str, str]:
    pairs = {}
    for part in shlex.split(text):
        name, sign, value = part.partition(':=')
        if not (name and sign):
            raise ValueError(f"{argument}: expected 'name:=value', found {part!r}")
        pairs[name] = value
    return pairs
