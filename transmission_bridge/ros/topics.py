# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Every topic of the bridge, in one table.

Inputs, outputs and their quality of service are made from it, and so are the names that launch
files rename. Tests compare docs/interface.md, docs/security.md and the SROS2 policy with it.
Imports nothing of ROS.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Quality:
    """
    Quality of service.

    :ivar reliable: Whether each message arrives, or else is sent again.
    :ivar depth: Messages in the queue.
    :ivar latched: Whether the last message reaches those who come later (transient local).
    """

    reliable: bool = True
    depth: int = 10
    latched: bool = False


#: Of states: such a reader connects to every driver, whatever it offers.
BEST_EFFORT = Quality(reliable=False)

#: Of commands, which must arrive, and of outputs: such a publisher connects to every reader.
RELIABLE = Quality()

#: Of the description, as robot_state_publisher publishes it.
LATCHED = Quality(depth=1, latched=True)


@dataclass(frozen=True)
class Topic:
    """
    A topic of the bridge.

    :ivar name: Its name where nobody renames it. Drivers with entries of their own in
        ``actuator_names`` have those named ``actuator_...`` each in its namespace.
    :ivar type: Type of its messages, as ``sensor_msgs/JointState``.
    :ivar direction: Whether the bridge reads or publishes it.
    :ivar quality: Its quality of service, by default.
    :ivar parameter: The parameter without which it does not exist; empty: none.
    :ivar description: What it is, in one sentence.
    """

    name: str
    type: str
    direction: Literal['in', 'out']
    quality: Quality
    parameter: str
    description: str


_JOINT_STATE, _ARRAY = 'sensor_msgs/JointState', 'std_msgs/Float64MultiArray'
_TRAJECTORY = 'trajectory_msgs/JointTrajectory'

_COMMAND = 'control_msgs/JointCommand'

_JOINT_COMMAND = (
    'Values of this interface for any subset of joints. Exists if a `<ros2_control>` block has '
    'the plugin `JointCommandTopicSystem` and control_msgs has the message.'
)
_JOINT_ARRAY = 'Values in the order of `command_joints`.'
_ACTUATOR_ARRAY = 'Values in the order of `command_actuators`.'

#: Topics by name.
TOPICS = MappingProxyType({topic.name: topic for topic in (
    Topic(
        'actuator_states', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'One or several drivers (parameter `actuator_state_topics`), each any subset of the '
        'actuators. Drivers that use the same names: [several_drivers.md](several_drivers.md).',
    ),
    Topic(
        'joint_states', _JOINT_STATE, 'out', RELIABLE, '',
        'Joints whose position is known; an interface that is wholly unknown is an empty array; '
        'the stamp is that of the newest input.',
    ),
    Topic(
        'joint_commands', _JOINT_STATE, 'in', RELIABLE, '',
        'Any subset of joints and interfaces; NaN is no command.',
    ),
    Topic('joint_commands/position', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('joint_commands/velocity', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('joint_commands/effort', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('position_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic('velocity_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic('effort_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic(
        'actuator_commands', _JOINT_STATE, 'out', RELIABLE, '',
        'Only actuators that have a command; interfaces not commanded are empty arrays. Drivers '
        'with entries of their own in `actuator_names` have this topic, and the others named '
        '`actuator_...`, each in its namespace.',
    ),
    Topic(
        'actuator_position_commands', _ARRAY, 'out', RELIABLE, 'command_actuators',
        _ACTUATOR_ARRAY,
    ),
    Topic(
        'actuator_velocity_commands', _ARRAY, 'out', RELIABLE, 'command_actuators',
        _ACTUATOR_ARRAY,
    ),
    Topic(
        'actuator_effort_commands', _ARRAY, 'out', RELIABLE, 'command_actuators',
        _ACTUATOR_ARRAY,
    ),
    Topic(
        'joint_trajectory', _TRAJECTORY, 'in', RELIABLE, '',
        'Every waypoint is mapped; omitted rates stay omitted.',
    ),
    Topic(
        'actuator_trajectory', _TRAJECTORY, 'out', RELIABLE, '',
        'The trajectory of `joint_trajectory`, in actuator space.',
    ),
    Topic(
        'actuator_absolute_positions', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'Absolute encoders of actuators, in the field position.',
    ),
    Topic(
        'joint_absolute_positions', _JOINT_STATE, 'out', RELIABLE, '',
        'Joint positions by absolute encoders, in the field position.',
    ),
    Topic(
        'actuator_torque_sensors', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'Torque sensors of actuators, in the field effort.',
    ),
    Topic(
        'joint_torque_sensors', _JOINT_STATE, 'out', RELIABLE, '',
        'Joint torques by torque sensors, in the field effort.',
    ),
    Topic(
        'robot_description', 'std_msgs/String', 'in', LATCHED, '',
        'Used while the parameter `robot_description` is empty.',
    ),
    Topic(
        '/diagnostics', 'diagnostic_msgs/DiagnosticArray', 'out', RELIABLE, '',
        'At 1 Hz, in every state of the life cycle.',
    ),
)})  # fmt: skip
