# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Settings of topic-based hardware components that make commands dangerous, or lose them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transmission_bridge.bridge.options.options import AUTO
from transmission_bridge.description import (
    Finding,
    RobotDescription,
    Ros2ControlSpec,
    TRIGGER_THRESHOLD,
)
from transmission_bridge.errors import shortened
from transmission_bridge.interfaces import FIELDS

_RATES = frozenset(FIELDS[1:])


def warn_of_endless_commands(
    robot: RobotDescription, command_timeout: float = AUTO
) -> Iterator[Finding]:
    """
    Yield a warning for each topic-based component with velocities or efforts without an end.

    A component may be silent while commands equal states. Without a timeout, its default, its
    rates continue after the controller manager stops; with a timeout they end while their
    controller continues. Positions are always held.

    :param command_timeout: The option of the bridge.
    """
    continues = 'continue when the controller manager stops'
    if command_timeout > 0.0:
        continues = 'end though their controller continues'
    for block, joints in _list_commands(robot):
        rates = [name for name, commands in joints.items() if _RATES & set(commands)]
        does, found = 'repeats them', 'command_timeout: 0.0'
        expected = 'a command_timeout of several periods of the controller manager'
        if any('effort' in joints[name] for name in rates):
            expected += ', and zero_effort for efforts'
        if block.is_silent_at_target:
            does = 'sends nothing while commands equal states'
            found = f'a threshold of {block.trigger_threshold:g}'
            all_of = f'<param name="{TRIGGER_THRESHOLD}">-1</param>, to repeat all commands'
            expected = f'{all_of}, and {expected}'
        if rates and (block.is_silent_at_target or command_timeout == 0.0):
            what = f'velocity and effort commands of {shortened(rates)} {continues}'
            message = f"{what}: hardware component '{block.name}' {does}"
            yield Finding.about(block, 'warning', message, expected, found)


def warn_of_several_interfaces(robot: RobotDescription) -> Iterator[Finding]:
    """
    Yield a warning for each topic-based component with several command interfaces of a joint.

    ros2_control does not reset an interface that a controller releases, and the component sends
    the values of all interfaces.
    """
    for block, joints in _list_commands(robot):
        names = [name for name, commands in joints.items() if len(commands) > 1]
        if names:
            yield Finding.about(
                block,
                'warning',
                f'several command interfaces of {shortened(names)}: after a change of '
                f"controllers, hardware component '{block.name}' continues to send the last value "
                'of an unused interface',
                expected='one command interface for each joint, or a choice of several_interfaces',
                found=f"{' and '.join(joints[names[0]])} of '{names[0]}'",
            )


def warn_of_other_topics(
    robot: RobotDescription, resolve: Callable[[str], str]
) -> Iterator[Finding]:
    """
    Yield a warning for each topic of a topic-based component that is not the bridge's topic.

    A relative name is compared with the end of the bridge's topic, because the namespace of the
    controller manager is unknown.

    :param resolve: Returns the full name of a topic of the bridge after remapping.
    """
    for block in robot.blocks:
        for parameter in block.parameters if block.takes_joint_states else ():
            if parameter.name not in ('joint_states_topic', 'joint_commands_topic'):
                continue
            topic = parameter.name.removesuffix('_topic')
            # JointCommandTopicSystem appends each interface.
            is_split = block.publishes_joint_commands and topic == 'joint_commands'
            end = f'/{FIELDS[0]}' if is_split else ''
            ours, name = resolve(topic + end), parameter.value + end
            if not (ours == name if name.startswith('/') else ours.endswith(f'/{name}')):
                message = f"hardware component '{block.name}' uses another topic than the bridge"
                expected = f'{parameter.name} {ours}, or remapping {topic + end}:={name}'
                yield Finding.about(block, 'warning', message, expected, name)


def _list_commands(
    robot: RobotDescription,
) -> Iterator[tuple[Ros2ControlSpec, dict[str, list[str]]]]:
    """Yield each topic-based component, and the possible command interfaces of its joints."""
    for block in robot.blocks:
        if block.takes_joint_states:
            joints = {}
            for component in block.components:
                if component.kind == 'joint':
                    names = [command.name for command in component.command_interfaces]
                    joints[component.name] = [name for name in FIELDS if name in names]
            yield block, joints
