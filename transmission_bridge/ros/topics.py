# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The table of all topics of the bridge, and the peers on a topic in the graph.

Channels make endpoints by its rows, diagnostics find peers, and tests compare it with
docs/commands_and_states.md. Names, types and qualities are public, the order is that of the page.
Nothing writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

from rclpy.duration import Infinite
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile

from transmission_bridge.bridge.diagnostics import TOOLS, TopicPeers
from transmission_bridge.errors import shown
from transmission_bridge.interfaces import FIELDS


@dataclass(frozen=True)
class TopicQuality:
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
BEST_EFFORT = TopicQuality(reliable=False)

#: For commands, which must arrive, and for outputs: such a publisher is compatible with every
#: subscriber.
RELIABLE = TopicQuality()

#: For the description, as in robot_state_publisher.
LATCHED = TopicQuality(depth=1, latched=True)


@dataclass(frozen=True)
class RosTopic:
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
    quality: TopicQuality
    parameter: str
    description: str


_JOINT_STATE, _ARRAY = 'sensor_msgs/JointState', 'std_msgs/Float64MultiArray'
_TRAJECTORY = 'trajectory_msgs/JointTrajectory'

#: A row with ``{}`` in its name is a topic for each interface; other rows are one topic.
_ROWS = (
    RosTopic(
        'actuator_states', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'One or several drivers (parameter `actuator_state_topics`), each with any subset of the '
        'actuators. For drivers with equal names see '
        '[several drivers](drivers.md#several-drivers).',
    ),
    RosTopic(
        'joint_states', _JOINT_STATE, 'out', RELIABLE, '',
        'Joints with a known position. If an interface is unknown for all joints, its array is '
        'empty. The stamp comes from the latest input.',
    ),
    RosTopic(
        'joint_commands', _JOINT_STATE, 'in', RELIABLE, '',
        'Any subset of joints and interfaces; NaN means no command.',
    ),
    RosTopic(
        'joint_commands/{}', 'control_msgs/JointCommand', 'in', RELIABLE, '',
        'Values of this interface for any subset of joints. Exists if a `<ros2_control>` block '
        'has the plugin `JointCommandTopicSystem` and control_msgs has the message.',
    ),
    RosTopic(
        '{}_commands', _ARRAY, 'in', RELIABLE, 'command_joints',
        'Values in the order of `command_joints`.',
    ),
    RosTopic(
        'actuator_commands', _JOINT_STATE, 'out', RELIABLE, '',
        'Only actuators with a command; the array of an uncommanded interface is empty. A driver '
        'with entries of its own in `actuator_names` has this topic and the other `actuator_...` '
        'topics in its namespace.',
    ),
    RosTopic(
        'actuator_{}_commands', _ARRAY, 'out', RELIABLE, 'command_actuators',
        'Values in the order of `command_actuators`.',
    ),
    RosTopic(
        'joint_trajectory', _TRAJECTORY, 'in', RELIABLE, '',
        'Every waypoint is mapped; omitted rates stay omitted.',
    ),
    RosTopic(
        'actuator_trajectory', _TRAJECTORY, 'out', RELIABLE, '',
        'The trajectory of `joint_trajectory`, in actuator space.',
    ),
    RosTopic(
        'actuator_absolute_positions', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'Absolute encoders of actuators, in the field position.',
    ),
    RosTopic(
        'joint_absolute_positions', _JOINT_STATE, 'out', RELIABLE, '',
        'Joint positions from absolute encoders, in the field position.',
    ),
    RosTopic(
        'actuator_torque_sensors', _JOINT_STATE, 'in', BEST_EFFORT, '',
        'Torque sensors of actuators, in the field effort.',
    ),
    RosTopic(
        'joint_torque_sensors', _JOINT_STATE, 'out', RELIABLE, '',
        'Joint torques from torque sensors, in the field effort.',
    ),
    RosTopic(
        'robot_description', 'std_msgs/String', 'in', LATCHED, '',
        'Used while the parameter `robot_description` is empty.',
    ),
    RosTopic(
        '/diagnostics', 'diagnostic_msgs/DiagnosticArray', 'out', RELIABLE, '',
        'At 1 Hz, in every state of the life cycle.',
    ),
)  # fmt: skip

#: Topics by name.
TOPICS = {
    row.name.format(interface): replace(row, name=row.name.format(interface))
    for row in _ROWS
    for interface in FIELDS
}


#: Name in the graph of a node before its name is known, and the words for it.
_UNKNOWN, _NAMELESS = '_NODE_NAME_UNKNOWN_', 'name not known yet'


# The functions below receive a topic by the name before remapping. rclpy remaps it when it returns
# publishers or subscriptions, but not when it counts them. A name must not be remapped twice,
# because another rule may match the result. Counting is cheap, and most topics have no peer.


def list_publishers(node: Node, topic: str) -> list[Any]:
    """Return the publishers of a topic in the graph."""
    count = node.count_publishers(node.resolve_topic_name(topic))
    return node.get_publishers_info_by_topic(topic) if count else []


def find_peers(node: Node, topic: str, ours: Any, rivals: Sequence[str] = ()) -> TopicPeers:
    """Return the publishers to our subscription of a topic, or subscribers of our publisher."""
    if isinstance(ours, Publisher):
        count = node.count_subscribers(node.resolve_topic_name(topic))
        peers = node.get_subscriptions_info_by_topic(topic) if count else []
        peers = [peer for peer in peers if not peer.node_name.startswith(TOOLS)]
    else:
        peers = list_publishers(node, topic)
    incompatible = describe_incompatible_peers(peers, ours)
    return TopicPeers(ours.topic_name, list_endpoint_nodes(peers), incompatible, rivals)


def list_rivals(node: Node, topic: str) -> list[str]:
    """Return the names of other nodes that publish a topic of this node."""
    names = list_endpoint_nodes(list_publishers(node, topic))
    # Of our full name, all but one are a namesake's.
    full_name = shown(node.get_fully_qualified_name())
    if full_name in names:
        names.remove(full_name)
    return sorted(set(names))


def list_endpoint_nodes(peers: Iterable[Any]) -> list[str]:
    """Return the full names of the nodes of endpoints, for a sentence."""
    return [shown(_find_full_name(peer)) for peer in peers]


def describe_incompatible_peers(peers: Iterable[Any], ours: Any) -> list[str]:
    """
    Return the peers with another message type or incompatible quality of service, with the reason.

    :param peers: The publishers of our subscription, or the subscribers of our publisher.
    """
    package, message = ours.msg_type.__module__.partition('.')[0], ours.msg_type.__name__
    expected, profile = f'{package}/msg/{message}', _fill_durations(ours.qos_profile)
    incompatible = []
    for peer in peers:
        both = profile, _fill_durations(peer.qos_profile)
        both = both if isinstance(ours, Publisher) else both[::-1]
        compatibility, reason = qos_check_compatible(*both)
        if peer.topic_type != expected:
            reason = f'message type {shown(peer.topic_type)}, expected {expected}'
        elif compatibility != QoSCompatibility.ERROR:
            continue
        incompatible.append(f'{shown(_find_full_name(peer))} ({reason.rstrip(";")})')
    return incompatible


def _find_full_name(peer: Any) -> str:
    if peer.node_name == _UNKNOWN:
        return _NAMELESS
    return f'{peer.node_namespace.rstrip("/")}/{peer.node_name}'


def _fill_durations(profile: QoSProfile) -> QoSProfile:
    """
    Return a profile with infinite instead of unspecified durations, as in DDS.

    The graph reports infinite durations for peers. Otherwise every subscriber would seem to
    request a deadline that our publishers do not offer.
    """
    resolved = copy.copy(profile)
    for name in ('deadline', 'liveliness_lease_duration'):
        if not getattr(profile, name).nanoseconds:
            setattr(resolved, name, Infinite)
    return resolved
