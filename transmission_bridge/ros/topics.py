# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The table of all topics of the bridge.

It defines the inputs, the outputs, their quality of service, and the names that launch files can
remap. Tests compare docs/commands_and_states.md and the SROS2 policy with it. Imports
nothing of ROS.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Quality:
    """
    Quality of service.

    :ivar reliable: Whether lost messages are sent again.
    :ivar depth: Messages in the queue.
    :ivar latched: Whether later subscribers receive the last message (transient local).
    """

    reliable: bool = True
    depth: int = 10
    latched: bool = False


#: For states: such a subscriber is compatible with every driver.
BEST_EFFORT = Quality(reliable=False)

#: For commands, which must arrive, and for outputs: such a publisher is compatible with every
#: subscriber.
RELIABLE = Quality()

#: For the description, as in robot_state_publisher.
LATCHED = Quality(depth=1, latched=True)


@dataclass(frozen=True)
class Topic:
    """
    A topic of the bridge.

    :ivar name: Its name before remapping. A driver with entries of its own in ``actuator_names``
        has the topics ``actuator_...`` in its namespace.
    :ivar type: Type of its messages, as ``sensor_msgs/JointState``.
    :ivar direction: Whether the bridge subscribes to it or publishes it.
    :ivar quality: Its default quality of service.
    :ivar parameter: The parameter that creates it; empty: it always exists.
    :ivar description: Its meaning, in one sentence.
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
        'One or several drivers (parameter `actuator_state_topics`), each with any subset of the '
        'actuators. For drivers with equal names see '
        '[several drivers](drivers.md#several-drivers).',
    ),
    Topic(
        'joint_states', _JOINT_STATE, 'out', RELIABLE, '',
        'Joints with a known position. If an interface is unknown for all joints, its array is '
        'empty. The stamp comes from the latest input.',
    ),
    Topic(
        'joint_commands', _JOINT_STATE, 'in', RELIABLE, '',
        'Any subset of joints and interfaces; NaN means no command.',
    ),
    Topic('joint_commands/position', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('joint_commands/velocity', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('joint_commands/effort', _COMMAND, 'in', RELIABLE, '', _JOINT_COMMAND),
    Topic('position_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic('velocity_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic('effort_commands', _ARRAY, 'in', RELIABLE, 'command_joints', _JOINT_ARRAY),
    Topic(
        'actuator_commands', _JOINT_STATE, 'out', RELIABLE, '',
        'Only actuators with a command; the array of an uncommanded interface is empty. A driver '
        'with entries of its own in `actuator_names` has this topic and the other `actuator_...` '
        'topics in its namespace.',
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
        'Joint positions from absolute encoders, in the field position.',
    ),
    Topic(
        'actuator_torque_sensors', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'Torque sensors of actuators, in the field effort.',
    ),
    Topic(
        'joint_torque_sensors', _JOINT_STATE, 'out', RELIABLE, '',
        'Joint torques from torque sensors, in the field effort.',
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
