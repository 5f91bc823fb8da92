# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Settings and numbers that are accepted, and are probably not what was meant.

The node calls them when it is configured, numbers also after tuning, and ``check`` in tools calls
them for files, except the one for topics. No rule depends on their findings; words and bounds may
change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import math
from typing import Any, TypeAlias

from transmission_bridge.bridge.options.options import AUTO
from transmission_bridge.bridge.readers import list_command_names
from transmission_bridge.bridge.states import list_mimic_followers
from transmission_bridge.description import (
    collect_limits,
    Finding,
    RobotDescription,
    Ros2ControlSpec,
    TRIGGER_THRESHOLD,
)
from transmission_bridge.description.document import OFFSET
from transmission_bridge.errors import in_other_unit, shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions

_RATES = frozenset(FIELDS[1:])


def warn_of_endless_commands(
    robot: RobotDescription, command_timeout: float = AUTO
) -> Iterator[Finding]:
    """
    Yield a warning for each topic-based component with velocities or efforts without an end.

    A component may be silent while commands equal states. Without a timeout, its default, its
    rates continue after the controller manager stops; with a timeout they end while their
    controller continues. Positions are always held.

    :param command_timeout: The option of the bridge; ``AUTO``: a component that may be silent has
        none.
    """
    continues = 'continue when the controller manager stops'
    if command_timeout > 0.0:
        continues = 'end though their controller continues'
    for block, joints in _list_commands(robot):
        rates = [name for name, commands in joints.items() if _RATES & set(commands)]
        does, cause = 'repeats them', 'command_timeout: 0.0'
        expected = 'a command_timeout of several periods of the controller manager'
        if any('effort' in joints[name] for name in rates):
            expected += ', and zero_effort for efforts'
        if block.is_silent_at_target:
            does = 'sends nothing while commands equal states'
            cause = f'a threshold of {block.trigger_threshold:g}'
            all_of = f'<param name="{TRIGGER_THRESHOLD}">-1</param>, to repeat all commands'
            expected = f'{all_of}, and {expected}'
        if rates and (block.is_silent_at_target or command_timeout == 0.0):
            what = f'velocity and effort commands of {shortened(rates)} {continues}'
            message = f"{what}: hardware component '{block.name}' {does}"
            yield Finding.about(block, 'warning', message, expected, cause)


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
            for joint in block.joints:
                names = [command.name for command in joint.command_interfaces]
                joints[joint.name] = [name for name in FIELDS if name in names]
            yield block, joints


#: Largest position limits (joints of real robots turn three times in each direction) and offsets.
_LIMITS, _OFFSETS = {'rad': 6.0 * math.pi, 'm': 20.0}, {'rad': 2.0 * math.pi, 'm': 4.0}

#: Whether it is odd, and then element, subject, message, expectation and finding.
_Judgement: TypeAlias = tuple[bool, Any, str, str, str, str]

#: Rounding of the limits of a joint that follows another joint [rad or m].
_ROUNDING = 1e-4


def warn_of_implausible_numbers(robot: RobotTransmissions) -> tuple[Finding, ...]:
    """
    Return a warning for each number that is probably an error.

    - A position limit of more than three turns that is not a power of ten, or of more than 20 m.
    - An offset of more than a turn or 4 m; in ticks if it is an integer and the driver has ticks.
    - A limit of velocity or effort of zero, and ``lower = upper``: the joint stands still.
    - A joint that leaves its own limits by ``<mimic>``.
    """
    judgements = (*_judge_limits(robot), *_judge_offsets(robot))
    return tuple(
        Finding('warning', f'{text}; check it', of.line, of.path, expected, number, subject)
        for is_odd, of, subject, text, expected, number in judgements
        if is_odd
    )


def _judge_limits(robot: RobotTransmissions) -> Iterator[_Judgement]:
    joints = {joint.name: joint for joint in robot.description.joints}
    for name, number in list_command_names(robot).commandable.items():
        if (joint := joints.get(name)) is None:
            continue
        (lower, _, _, _), (upper, velocity, effort, _) = robot.joint_limits[:, :, number].tolist()
        unit, end = 'm' if joint.type == 'prismatic' else 'rad', max(lower, upper, key=abs)
        is_none = math.isinf(end) or (unit == 'rad' and math.log10(abs(end) or 1.0).is_integer())
        is_large, text = abs(end) > _LIMITS[unit] and not is_none, 'is probably in another unit'
        of, still, ends = f" limit of '{name}' ", 'lets it stand still', f'{lower:g} twice'
        yield is_large, joint, name, f'the position{of}{text}', unit, in_other_unit(end, unit)
        yield lower == upper, joint, name, f'the position{of}{still}', 'a range', ends
        for what, value in (('velocity', velocity), ('effort', effort)):
            yield value == 0.0, joint, name, f'the {what}{of}{still}', 'more than zero', '0'
    names, followed, chains = list_mimic_followers(robot)
    for name, number, multiplier, offset in zip(names, followed, *chains, strict=True):
        lower, upper = collect_limits(robot.description, [name])[:, 0, 0].tolist()
        low, high = sorted((multiplier * robot.joint_limits[:, 0, number] + offset).tolist())
        leaves = low < lower - _ROUNDING or high > upper + _ROUNDING
        is_odd, found = leaves and math.isfinite(high - low), f'{lower:.4g} to {upper:.4g}'
        text, expected = f"joint '{name}' leaves its limits by <mimic>", f'{low:.4g} to {high:.4g}'
        yield is_odd, joints[name], name, text, f'limits of {expected} or more', found


def _judge_offsets(robot: RobotTransmissions) -> Iterator[_Judgement]:
    types = {joint.name: joint.type for joint in robot.description.joints}
    for spec in (binding.spec for binding in robot.bindings):
        units = [robot.units[x.name].position for x in spec.actuators if x.name in robot.units]
        scale = next((unit.scale for unit in units if unit.text == 'tick'), 0.0)
        for tunable in robot.tunables.get(spec.name, ()):
            if tunable.path[2:] == (OFFSET,):
                side, value = tunable.path[0], tunable.value
                ends = spec.joints if side == 'joints' else spec.actuators
                end = next(end for end in ends if end.name == tunable.path[1])
                # An actuator of a linkage turns a joint; its offset is a position of this joint.
                name = next((x.value for x in end.parameters if x.name == 'joint'), end.name)
                unit = 'm' if types.get(name) == 'prismatic' else 'rad'
                text, number = 'in another unit', in_other_unit(value, unit)
                if scale and value.is_integer():
                    text, number = 'in ticks', f'{value:g}; {value * scale:.6g} {unit}'
                is_large = name in types and abs(value) > _OFFSETS[unit]
                text = f"the offset of joint '{name}' is probably {text}"
                yield is_large, end, spec.name, text, unit, number
