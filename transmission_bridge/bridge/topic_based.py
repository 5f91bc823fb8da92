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
) -> tuple[Finding, ...]:
    """
    Return a warning for each topic-based component with velocities or efforts without an end.

    A component may be silent while commands equal states. Without a timeout its rates continue
    after the controller manager stops; with a timeout they end while their controller continues.
    Positions are always held.

    :param command_timeout: The option of the bridge.
    """
    findings = []
    for block, joints in _list_commands(robot):
        rates = [name for name, commands in joints.items() if _RATES & set(commands)]
        is_silent, has_end = block.is_silent_at_target, command_timeout > 0.0
        # By default, components that may be silent have no timeout.
        if not rates or not (is_silent or command_timeout == 0.0):
            continue
        continues = (
            'end though their controller continues'
            if has_end
            else 'continue when the controller manager stops'
        )
        efforts = any('effort' in joints[name] for name in rates)
        zero_effort = ', and zero_effort for efforts' if efforts else ''
        finding = _warn_of_block(
            block,
            f'velocity and effort commands of {shortened(rates)} {continues}: hardware component '
            f"'{block.name}' "
            + ('sends nothing while commands equal states' if is_silent else 'repeats them'),
            expected=(
                f'<param name="{TRIGGER_THRESHOLD}">-1</param>, to repeat all commands, and a '
                if is_silent
                else 'a '
            )
            + f'command_timeout of several periods of the controller manager{zero_effort}',
            found=f'a threshold of {block.trigger_threshold:g}'
            if is_silent
            else 'command_timeout: 0.0',
        )
        findings.append(finding)
    return tuple(findings)


def warn_of_several_interfaces(robot: RobotDescription) -> tuple[Finding, ...]:
    """
    Return a warning for each topic-based component with several command interfaces of a joint.

    ros2_control does not reset an interface that a controller releases, and the component sends
    the values of all interfaces.
    """
    findings = []
    for block, joints in _list_commands(robot):
        names = [name for name, commands in joints.items() if len(commands) > 1]
        if names:
            finding = _warn_of_block(
                block,
                f'several command interfaces of {shortened(names)}: after a change of '
                f"controllers, hardware component '{block.name}' continues to send the last value "
                'of an unused interface',
                expected='one command interface for each joint, or a choice of several_interfaces',
                found=f"{' and '.join(joints[names[0]])} of '{names[0]}'",
            )
            findings.append(finding)
    return tuple(findings)


def warn_of_other_topics(
    robot: RobotDescription, resolve: Callable[[str], str]
) -> tuple[Finding, ...]:
    """
    Return a warning for each topic of a topic-based component that is not the bridge's topic.

    A relative name is compared with the end of the bridge's topic, because the namespace of the
    controller manager is unknown.

    :param resolve: Returns the full name of a topic of the bridge after remapping.
    """
    findings = []
    for block in robot.blocks:
        for each in block.parameters if block.takes_joint_states else ():
            if each.name not in ('joint_states_topic', 'joint_commands_topic'):
                continue
            topic = each.name.removesuffix('_topic')
            # JointCommandTopicSystem appends each interface.
            is_split = block.publishes_joint_commands and topic == 'joint_commands'
            end = f'/{FIELDS[0]}' if is_split else ''
            own, name = resolve(topic + end), each.value + end
            if not (own == name if name.startswith('/') else own.endswith(f'/{name}')):
                message = f"hardware component '{block.name}' uses another topic than the bridge"
                expected = f'{each.name} {own}, or remapping {topic + end}:={name}'
                findings.append(_warn_of_block(block, message, expected=expected, found=name))
    return tuple(findings)


def _list_commands(
    robot: RobotDescription,
) -> Iterator[tuple[Ros2ControlSpec, dict[str, list[str]]]]:
    """Yield each topic-based component, and the possible command interfaces of its joints."""
    for block in robot.blocks:
        if block.takes_joint_states:
            joints = {}
            for each in block.components:
                if each.kind == 'joint':
                    names = [command.name for command in each.command_interfaces]
                    joints[each.name] = [name for name in FIELDS if name in names]
            yield block, joints


def _warn_of_block(block: Ros2ControlSpec, message: str, *, expected: str, found: str) -> Finding:
    return Finding(
        'warning',
        message,
        line=block.line,
        path=block.path,
        expected=expected,
        found=found,
        subject=block.name,
    )
