# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files start, as plain data: their arguments, and the nodes.

Imports nothing of ROS. :mod:`transmission_bridge.ros.launching` makes launch actions of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import fspath, PathLike
import shlex
from typing import Any

from transmission_bridge.errors import ParameterError, UnknownNameError
from transmission_bridge.ros.topics import TOPICS

#: Topics that the simulated driver has too, and those that it has if it moves the demo.
_DRIVER_TOPICS = ('actuator_states', 'actuator_commands', 'robot_description')
_MOVER_TOPICS = ('joint_states', 'joint_commands')

#: The topics of the hardware component in ``urdf/topic_based.urdf``. Relative, like those of the
#: component, because absolute ones would connect the robots of all namespaces.
TOPIC_BASED = {
    topic: f'robot_{topic}'
    for topic in ('joint_states', *(each for each in TOPICS if each.startswith('joint_commands')))
}

#: Arguments that earlier versions had for each topic.
_GONE = {f'{topic.lstrip("/")}_topic': topic for topic in TOPICS}

_BOOLEAN = ('true', 'false')


@dataclass(frozen=True)
class Argument:
    """
    An argument of a launch file.

    :ivar name: Its name.
    :ivar default: Its value if none is given.
    :ivar description: What it means, as ``ros2 launch --show-args`` prints it.
    :ivar choices: The values that it can have; empty if any text is allowed.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodePlan:
    """
    A node to start. Texts may be launch substitutions that are resolved later.

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
    :ivar log_level: Lowest severity that is logged.
    :ivar respawn: Whether it is restarted when it ends, as ``true`` or ``false``.
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


def arguments(*, params_file: str, description_file: str = '') -> tuple[Argument, ...]:
    """
    Return the arguments of a launch file with a bridge in it.

    :param params_file: Default parameter file.
    :param description_file: Default description.
    """
    return (
        Argument(
            'robot_description_file',
            description_file,
            'URDF file, or xacro file where xacro is installed. If empty, the topic '
            'robot_description is used.',
        ),
        Argument(
            'xacro_arguments',
            '',
            "Arguments of a xacro file, as 'name:=value name:=value'.",
        ),
        Argument(
            'params_file',
            params_file,
            'Parameters of the bridge; a copy of this one is a good start.',
        ),
        Argument('namespace', '', 'Namespace of the nodes and their topics.'),
        Argument(
            'autostart',
            'true',
            'Whether the bridge configures and activates itself as soon as there is a '
            'description.',
            _BOOLEAN,
        ),
        Argument(
            'log_level',
            'info',
            'Lowest severity that is logged: debug, info, warn, error or fatal.',
        ),
        Argument('use_sim_time', 'false', 'Whether ROS time is that of /clock.', _BOOLEAN),
        Argument(
            'respawn',
            'false',
            'Whether a node of this package that ended is started again, after a second.',
            _BOOLEAN,
        ),
        Argument(
            'remappings',
            '',
            "Other names for topics of the nodes, as 'joint_states:=/a joint_commands:=/b'.",
        ),
    )


def defaults(declared: tuple[Argument, ...]) -> dict[str, str]:
    """Return the default values of arguments by name."""
    return {argument.name: argument.default for argument in declared}


def bridge_plan(values: Mapping[str, Any]) -> NodePlan:
    """
    Return the plan of the bridge.

    :param values: Values of the arguments by name: texts, or launch substitutions.
    """
    return _plan('bridge_node', 'transmission_bridge', values, switches=('autostart',))


def driver_plan(values: Mapping[str, Any]) -> NodePlan:
    """Return the plan of the simulated driver that belongs to a bridge with these arguments."""
    moves = values.get('move_demo') == 'true'
    topics = (*_DRIVER_TOPICS, *_MOVER_TOPICS) if moves else _DRIVER_TOPICS
    name = 'simulated_driver'
    return _plan(name, name, values, topics=topics, switches=('move_demo',) if moves else ())


def _plan(
    executable: str,
    name: str,
    values: Mapping[str, Any],
    *,
    topics: tuple[str, ...] | None = None,
    switches: tuple[str, ...] = (),
) -> NodePlan:
    values = {key: _text(value) for key, value in values.items()}
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
            for old, new in remappings(values['remappings']).items()
            if topics is None or old in topics
        ),
        log_level=values['log_level'],
        respawn=values['respawn'],
    )


def _text(value: Any) -> Any:
    """Return true and false as launch spells them, and a path as its text."""
    if isinstance(value, bool):
        return str(value).lower()
    return fspath(value) if isinstance(value, PathLike) else value


def remappings(given: Any) -> dict[str, Any]:
    """
    Return the new names of topics by their old ones.

    :param given: As ``joint_states:=/a joint_commands:=/b``, or a mapping, or pairs.
    :raises UnknownNameError: If an old name without a slash is no topic of the bridge.
    :raises ValueError: If part of a text has another form.
    """
    pairs = _pairs('remappings', given) if isinstance(given, str) else dict(given)
    for name in pairs:
        if '/' not in name and name not in TOPICS:
            raise UnknownNameError('topic', name, tuple(TOPICS))
    return pairs


def refuse_gone(given: Iterable[str]) -> None:
    """
    Refuse the arguments that earlier versions had for each topic; launch would ignore them.

    :raises ParameterError: If there is one of them.
    """
    for name in given:
        if name in _GONE:
            raise ParameterError(
                f'there is no argument {name} any more',
                expected=f"remappings:='{_GONE[name]}:=NAME'",
                found=f'{name}:=NAME',
            )


def xacro_mappings(text: str) -> dict[str, str]:
    """
    Return the arguments of a xacro file by name.

    :param text: As ``name:=value other:='a value'``.
    :raises ValueError: If part of it has another form.
    """
    return _pairs('xacro_arguments', text)


def _pairs(argument: str, text: str) -> dict[str, str]:
    pairs = {}
    for part in shlex.split(text):
        name, sign, value = part.partition(':=')
        if not (name and sign):
            raise ValueError(f"{argument}: expected 'name:=value', found {part!r}")
        pairs[name] = value
    return pairs
