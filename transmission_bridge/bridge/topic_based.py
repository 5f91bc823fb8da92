# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Settings of a topic-based hardware component with which its commands do harm."""

from __future__ import annotations

from collections.abc import Iterator

from transmission_bridge.bridge.options import AUTO
from transmission_bridge.description.specs import (
    Finding,
    RobotDescription,
    Ros2ControlSpec,
    TRIGGER_THRESHOLD,
)
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['topic_based_findings']

_RATES = frozenset(FIELDS[1:])


def topic_based_findings(
    robot: RobotDescription, command_timeout: float = AUTO
) -> tuple[Finding, ...]:
    """
    Return a warning for each topic-based component whose velocities or efforts have no end.

    They continue when the controller manager stops if the component is silent while commands
    equal states, because silence is no fault then, or if ``command_timeout`` is 0. Positions are
    held in any case.

    :param command_timeout: The option; by default that of a bridge without parameters.
    """
    return tuple(
        finding
        for block in robot.blocks
        if block.takes_joint_states
        for finding in _lasting(block, command_timeout)
    )


def _lasting(block: Ros2ControlSpec, command_timeout: float) -> Iterator[Finding]:
    joints = [
        each.name
        for each in block.components
        if each.kind == 'joint' and _RATES & {command.name for command in each.command_interfaces}
    ]
    if not joints:
        return
    message = (
        f'velocity and effort commands of {shortened(joints)} continue when the controller '
        f"manager stops: hardware component '{block.name}' "
    )
    if block.is_silent_at_target:
        yield _warning(
            block,
            message + 'is silent while commands equal states, so silence is no fault',
            expected=f'<param name="{TRIGGER_THRESHOLD}">-1</param>, to repeat all commands, and '
            'a command_timeout',
            found=f'a threshold of {block.trigger_threshold:g}',
        )
    elif command_timeout == 0.0:
        yield _warning(
            block,
            message + 'repeats them, but they have no timeout',
            expected='a command_timeout of several periods of the controller manager',
            found='command_timeout: 0.0',
        )


def _warning(block: Ros2ControlSpec, message: str, *, expected: str, found: str) -> Finding:
    return Finding(
        'warning',
        message,
        line=block.line,
        path=block.path,
        expected=expected,
        found=found,
        subject=block.name,
    )
