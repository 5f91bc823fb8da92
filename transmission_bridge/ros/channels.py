# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Publishers and subscriptions of the bridge, of every topic; its life cycle opens and closes them.

A session makes them, by the rows of :mod:`~transmission_bridge.ros.topics`. All callbacks run in
the one thread of the node's executor. Reasons of rejections are keys of diagnostics.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
import math
import traceback
from typing import Any, TypeAlias

import numpy as np
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from transmission_bridge.bridge import (
    Bridge,
    Outgoing,
    SINGLE_TOPICS,
    StallWatch,
    Stamp,
    StampFilter,
    TopicStatistics,
)
from transmission_bridge.bridge.states import SensorPath
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import (
    count_waypoints,
    fill_trajectory_message,
    JointStateEncoder,
    JointStateReader,
    JointStateRecord,
    JointStateWriter,
    Layout,
    MessageLayoutTable,
    record_from_joint_command,
    record_from_joint_state,
    trajectory_from_message,
    TrajectoryRecord,
    TruncatedCdrError,
    UnusualCdrError,
)
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import TopicQuality, TOPICS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

# -- Arguments of rclpy for a topic of the table -------------------------------------------------


def describe_ros_endpoint(
    topic: str, *, name: str = '', quality: TopicQuality | None = None, overridable: bool = True
) -> dict[str, Any]:
    """
    Return the arguments for a publisher or a subscription of a topic.

    :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
    :param name: Its name before remapping, if it differs from ``topic``.
    :param quality: Its quality of service, if it is not the bridge's.
    :param overridable: Whether parameters may override the quality of service.
    """
    entry = TOPICS[topic]
    quality = quality or entry.quality
    package, _, message = entry.type.partition('/')
    # A profile for this endpoint alone: rclpy writes the overrides into it.
    reliability = ReliabilityPolicy['RELIABLE' if quality.reliable else 'BEST_EFFORT']
    durability = DurabilityPolicy['TRANSIENT_LOCAL' if quality.latched else 'VOLATILE']
    profile = QoSProfile(depth=quality.depth, reliability=reliability, durability=durability)
    arguments = {
        'msg_type': getattr(import_module(f'{package}.msg'), message),
        'topic': name or topic,
        'qos_profile': profile,
    }
    if overridable:
        arguments['qos_overriding_options'] = QoSOverridingOptions.with_default_policies()
    return arguments


@contextmanager
def report_bad_qos_override(node: Node, topic: str) -> Iterator[None]:
    """
    Name the topic in the error if a ``qos_overrides`` is invalid for an endpoint of this block.

    rclpy finds overrides by the full name after remapping.

    :raises ParameterError: For RuntimeError and ParameterException of rclpy.
    """
    try:
        yield
    except (RuntimeError, ParameterException) as error:
        resolved = node.resolve_topic_name(topic)
        raise ParameterError(
            f"topic '{resolved}' cannot be created with its qos_overrides: {error}",
            parameter=f'qos_overrides.{resolved}',
        ) from error


def subscribe_bytes(
    node: Node, topic: str, receive: Callable[[bytes], None], name: str = ''
) -> Subscription[Any]:
    """
    Return a new subscription of serialised messages.

    Arguments as in :func:`describe_ros_endpoint`.

    :raises ParameterError: If its ``qos_overrides`` is invalid.
    """
    with report_bad_qos_override(node, name or topic):
        return node.create_subscription(
            callback=receive, raw=True, **describe_ros_endpoint(topic, name=name)
        )


# -- Decoding ------------------------------------------------------------------------------------


def deserialize_bytes(data: bytes, message_type: type) -> Any:
    """
    Decode received bytes.

    :raises MessageError: If they cannot be decoded (``undecodable``).
    """
    try:
        return deserialize_message(data, message_type)
    except Exception as error:  # the C extension of rclpy raises many classes
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from error


# -- Subscriptions: a bad message is dropped, counted and logged ---------------------------------


#: Maximum size of a message [bytes]. For a large robot, the limit is this many times the size of
#: a message with all of its names.
_LARGEST, _LARGEST_SHARE = 1 << 20, 10

#: Uses a JointState: layout, contents (valid during the call), the stamp to use, time of receipt
#: [s] and topic; may raise :class:`MessageError`.
TakeJointState: TypeAlias = Callable[[Layout, JointStateRecord, Stamp, float, str], None]


class InputTopics:
    """
    The subscriptions of a configured node; closed at first.

    The session subscribes all topics before :meth:`open_topics`, sets :attr:`is_open` to close
    them, and may open them again until :meth:`destroy_topics`.

    :param node: The node of the subscriptions.
    :param time: Returns the time of receipt [s], by the clock of the session.
    :param log: Receives rejected messages.
    :param robot: A message much larger than one with all names of the robot is rejected
        (``too_large``) before it is decoded.
    :param stall: Rejects commands after the process stood still.
    :param forget_stamps: Called if the clock of the node was set.
    :ivar replace_stamp: See :meth:`StampFilter.replace_stamp`.
    :ivar is_open: Whether messages are accepted. While closed, messages are dropped unread,
        because rclpy has no life-cycle subscriptions.
    :ivar statistics: Counts by topic, also by the one of a hosted driver. Receivers, the filter of
        stamps and :meth:`open_topics` write them.
    :ivar subscriptions: Subscriptions by topic; names are before remapping.
    """

    def __init__(
        self,
        node: LifecycleNode,
        time: Callable[[], float],
        log: ThrottledLog,
        robot: RobotTransmissions,
        stall: StallWatch,
        forget_stamps: Callable[[], None],
    ) -> None:
        self._node, self._stall = node, stall
        stamps = StampFilter(self.read_stamp, self._count_stamp, forget_stamps)
        self.replace_stamp = stamps.replace_stamp
        names = dict.fromkeys((*robot.actuator_names, *robot.joint_names))
        of_robot = JointStateWriter(names).write_message(0, 0)
        self._largest = max(_LARGEST, _LARGEST_SHARE * len(of_robot))
        self.is_open, self._time, self._log = False, time, log
        self.statistics: dict[str, TopicStatistics] = {}
        self.subscriptions: dict[str, Subscription[Any]] = {}

    def read_stamp(self) -> Stamp:
        """Return the time of the node's clock."""
        now: Stamp = self._node.get_clock().now().seconds_nanoseconds()
        return now

    def subscribe_joint_states(
        self,
        topic: str,
        take: TakeJointState,
        *,
        name: str = '',
        time: Callable[[], float] | None = None,
        commands: bool = False,
    ) -> None:
        """
        Subscribe to a topic of JointState messages as bytes; rclpy decodes unusual messages.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param take: Called with each message.
        :param name: Its name before remapping, if it differs from ``topic``.
        :param time: Returns the time of receipt [s], if it is not the time of all inputs.
        :param commands: Whether its messages are commands.
        :raises ParameterError: If the topic already has a subscription.
        """
        reader, name, replace_stamp = JointStateReader(), name or topic, self.replace_stamp

        def unpack(data: bytes, now: float) -> None:
            try:
                view = reader.read_message(data)
            except TruncatedCdrError as error:
                # rclpy could not decode it either, and its type support would write to stderr.
                raise MessageError('undecodable', f'the message is truncated: {error}') from error
            except UnusualCdrError:
                record = record_from_joint_state(deserialize_bytes(data, JointState))
                layout = reader.layouts.find_layout(record.names, record.lengths)
                take(layout, record, replace_stamp(name, record.stamp, now), now, name)
                return
            take(view.layout, view, replace_stamp(name, view.stamp, now), now, name)

        receive = self.make_receiver(name, unpack, time or self._time, commands)
        self.subscriptions[name] = subscribe_bytes(self._node, topic, receive, name)

    def subscribe_commands(
        self,
        topic: str,
        take: Callable[[Any, float], None],
        check: Callable[[bytes], None] | None = None,
    ) -> None:
        """
        Subscribe to a topic of other commands, as bytes, so that their size is checked first.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param take: Called with message and time of receipt; may raise :class:`MessageError`.
        :param check: Called with the bytes before they are decoded; may raise
            :class:`MessageError`.
        """
        message_type = describe_ros_endpoint(topic)['msg_type']

        def unpack_command(data: bytes, now: float) -> None:
            if check is not None:
                check(data)
            take(deserialize_bytes(data, message_type), now)

        receive = self.make_receiver(topic, unpack_command, self._time, commands=True)
        self.subscriptions[topic] = subscribe_bytes(self._node, topic, receive)

    def open_topics(self) -> None:
        """Accept messages from now on, and forget the times of earlier messages."""
        for statistics in self.statistics.values():
            statistics.heard = statistics.used = -math.inf
        self.is_open = True

    def destroy_topics(self) -> None:
        """Unsubscribe from everything."""
        for subscription in self.subscriptions.values():
            self._node.destroy_subscription(subscription)
        self.subscriptions = {}

    def _count_stamp(self, topic: str, reason: str, sentence: str) -> None:
        """Count a stamp that was replaced by the time of receipt, and log a warning."""
        self.statistics[topic].replaced_stamps[reason] += 1
        self._log.warning((topic, reason), f'{topic}: {sentence}')

    def make_receiver(
        self,
        topic: str,
        take: Callable[[Any, float], None],
        time: Callable[[], float],
        commands: bool = False,
    ) -> Callable[[Any], None]:
        """
        Return a function that counts samples, and rejects and logs the bad ones.

        :param topic: The topic that they have, or would have.
        :param take: Called with each sample and the time of receipt. A sample is a message as
            bytes, or a tuple of a hosted driver, for which the session calls this function.
        :param time: Returns this time [s].
        :param commands: Whether the samples are commands.
        """
        if topic in self.statistics:
            raise ParameterError(f"topic '{topic}' would have two subscriptions", parameter=topic)
        statistics = self.statistics[topic] = TopicStatistics(topic)
        log, largest, stall = self._log, self._largest, self._stall

        def receive_sample(data: Any) -> None:
            if not self.is_open:
                return
            statistics.received += 1
            statistics.heard = now = time()
            try:
                if commands and stall.read_time() > stall.calm_until:
                    stall.check_receipt()
                if len(data) > largest:
                    sentence = f'{len(data)} bytes, expected at most {largest}'
                    raise MessageError('too_large', sentence)
                take(data, now)
                statistics.used = now
            except MessageError as error:
                statistics.rejected[error.reason] += 1
                statistics.refusal = str(error)
                if statistics.needs_attention(error.reason):
                    text = f'{topic}: {error}; message dropped'
                    log.warning((topic, error.reason), text, about=error.about)
            except Exception:  # a bug must drop only one message, not end the executor
                statistics.rejected['bug'] += 1
                statistics.refusal = 'bug, see the log'
                log.error((topic, 'bug'), f'{topic}: bug\n{traceback.format_exc()}')

        return receive_sample


# -- Publishers ----------------------------------------------------------------------------------


class OutputTopics:
    """
    The publishers of a configured node, which send only while it is active.

    :param node: The node of the publishers.
    :ivar publishers: Publishers by topic before remapping.
    :ivar senders: Functions that send a content to a driver, by the topic of an :data:`Outgoing`;
        :func:`add_driver_senders` fills it, and the session replaces those of hosted drivers.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self.publishers: dict[str, LifecyclePublisher[Any]] = {}
        self.senders: dict[str, Callable[[Any], object]] = {}

    def send_messages(self, messages: Iterable[Outgoing]) -> None:
        """Send messages to the drivers; only the gate calls it."""
        for topic, content in messages:
            self.senders[topic](content)

    def add_publisher(
        self, topic: str, *, name: str = '', quality: TopicQuality | None = None
    ) -> LifecyclePublisher[Any]:
        """
        Return a new publisher.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param name: Its name before remapping, if it differs from ``topic``.
        :param quality: Its quality of service, if it is not the bridge's.
        """
        name = name or topic
        with report_bad_qos_override(self._node, name):
            publisher = self._node.create_lifecycle_publisher(
                **describe_ros_endpoint(topic, name=name, quality=quality)
            )
        self.publishers[name] = publisher
        return publisher

    def destroy_topics(self) -> None:
        """Remove every publisher."""
        for publisher in self.publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
        self.publishers = {}


def check_separate_topics(node: Node, topics: Iterable[str]) -> None:
    """
    Check that topics of different drivers are still different after remapping.

    :raises ParameterError: If two are one topic, because the bridge could not distinguish the
        drivers.
    """
    names: dict[str, str] = {}
    for topic in topics:
        resolved = node.resolve_topic_name(topic)
        other = names.setdefault(resolved, topic)
        if other != topic:
            raise ParameterError(
                f"topics '{other}' and '{topic}' would both be {resolved}",
                parameter='actuator_state_topics',
                expected='a topic of its own for each driver',
                found=repr(resolved),
            )


# -- Absolute encoders and torque sensors --------------------------------------------------------


ABSOLUTE = 'actuator_absolute_positions'

#: Input topic, output topic, interface, and its field in the messages.
_SENSORS = (
    (ABSOLUTE, 'joint_absolute_positions', 'absolute_position', 'position'),
    ('actuator_torque_sensors', 'joint_torque_sensors', 'torque', 'effort'),
)


def connect_sensors(
    inputs: InputTopics, outputs: OutputTopics, robot: RobotTransmissions, bridge: Bridge
) -> dict[str, SensorPath]:
    """
    Map the topics of absolute encoders and torque sensors; each driver has its own namespace.

    :param bridge: Knows the positions of the actuators, and uses their absolute positions.
    :returns: The paths by input topic.
    """
    drivers, states, encoder = bridge.plan.drivers, bridge.states, JointStateEncoder()
    paths: dict[str, SensorPath] = {}

    def map_sensor(
        source: str,
        publish: Callable[[bytes], None],
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str,
    ) -> None:
        path = paths[source]
        joints = path.map_sensors(layout, data, states.read_values(now)[0], stamp, now, topic)
        if source == ABSOLUTE:
            states.use_absolute_positions(path.find_actuator_values(now, max_age=0.0), now)
        if joints is not None:
            publish(encoder.encode_record(joints))

    for source, target, interface, field in _SENSORS:
        names, options = drivers.find_topic_entries(source), bridge.plan.options
        paths[source] = SensorPath(robot, interface, field, options, driver_names=names)
        take = partial(map_sensor, source, outputs.add_publisher(target).publish)
        # Also without a namespace, because another node may read the sensors.
        for namespace in dict.fromkeys(('', *drivers.namespaces)):
            inputs.subscribe_joint_states(source, take, name=f'{namespace}{source}')
    return paths


# -- Commands as plain arrays, as in forward_command_controller ----------------------------------


def subscribe_joint_arrays(inputs: InputTopics, bridge: Bridge) -> tuple[str, ...]:
    """
    Subscribe to ``position_commands``, ``velocity_commands`` and ``effort_commands``.

    Only the data are used, because publishers fill the layout of the message differently.

    The topics do not exist without ``command_joints``, the order of the values.

    :param bridge: Maps and sends the values.
    :returns: The subscribed topics.
    """
    gate = bridge.gate

    def receive_array(topic: str, interface: str, message: Float64MultiArray, now: float) -> None:
        values = np.array(message.data, dtype=np.float64)
        gate.send_interface_command(topic, interface, values, inputs.read_stamp(), now)

    topics = {}
    if bridge.plan.options.command_joints:
        topics = {f'{interface}_commands': interface for interface in FIELDS}
    for topic, interface in topics.items():
        inputs.subscribe_commands(topic, partial(receive_array, topic, interface))
    return tuple(topics)


def subscribe_joint_commands(
    inputs: InputTopics,
    robot: RobotTransmissions,
    take: TakeJointState,
) -> tuple[tuple[str, ...], str]:
    """
    Subscribe to ``joint_commands/position``, ``joint_commands/velocity`` and so on.

    They exist if a hardware component of the robot publishes them and the message is installed.

    :param take: Called with each message.
    :returns: The subscribed topics, and a sentence with the package to install (empty if the
        message is installed).
    """
    plugins = [b.plugin for b in robot.description.blocks if b.publishes_joint_commands]
    if not plugins:
        return (), ''
    is_installed = False
    with suppress(ImportError):
        is_installed = hasattr(import_module('control_msgs.msg'), 'JointCommand')
    if not is_installed:
        return (), (
            f'the commands of {plugins[0]} are not read: install the package control_msgs in '
            'a version that has the message JointCommand'
        )
    layouts = MessageLayoutTable()

    def receive_single(topic: str, interface: str, message: Any, now: float) -> None:
        record = record_from_joint_command(message, interface)
        layout = layouts.find_layout(record.names, record.lengths)
        take(layout, record, inputs.replace_stamp(topic, record.stamp, now), now, topic)

    for topic, interface in SINGLE_TOPICS.items():
        inputs.subscribe_commands(topic, partial(receive_single, topic, interface))
    return tuple(SINGLE_TOPICS), ''


# -- Trajectories --------------------------------------------------------------------------------


TRAJECTORY_TOPIC = 'joint_trajectory'


def subscribe_trajectories(inputs: InputTopics, bridge: Bridge) -> None:
    """
    Subscribe to joint trajectories.

    :param bridge: Maps and sends the trajectories.
    """
    gate = bridge.gate

    def check_waypoints(data: bytes) -> None:
        # Checked before the decoding, which takes longer than the mapping.
        gate.plan.reader.check_waypoint_count(count_waypoints(data))

    def map_trajectory(message: JointTrajectory, now: float) -> None:
        trajectory = trajectory_from_message(message)
        start = now + compute_trajectory_delay(trajectory, inputs.read_stamp())
        gate.send_joint_trajectory(trajectory, now, start)

    inputs.subscribe_commands(TRAJECTORY_TOPIC, map_trajectory, check_waypoints)


def compute_trajectory_delay(trajectory: TrajectoryRecord, now: Stamp) -> float:
    """Return the time until a trajectory starts [s]: at its stamp, or at once without a stamp."""
    if trajectory.stamp == (0, 0):
        return 0.0
    return trajectory.stamp[0] - now[0] + (trajectory.stamp[1] - now[1]) * 1e-9


# -- Messages to the drivers ---------------------------------------------------------------------


def add_driver_senders(node: Node, outputs: OutputTopics, bridge: Bridge) -> None:
    """
    Add publishers of the messages to the drivers.

    :raises ParameterError: If two of the topics are one topic after remapping.
    """

    def publish_array(publish: Callable[[Any], object], values: Array) -> None:
        publish(Float64MultiArray(data=array('d', values.tobytes())))

    def publish_trajectory(publish: Callable[[Any], object], record: TrajectoryRecord) -> None:
        message = JointTrajectory()
        fill_trajectory_message(message, record, JointTrajectoryPoint)
        publish(message)

    own, ordered = bridge.plan.drivers.namespaces, tuple(bridge.plan.orders)
    for topic, namespaces, adapt in (
        ('actuator_commands', own, None),
        ('actuator_trajectory', own, publish_trajectory),
        *((f'actuator_{field}_commands', ordered, publish_array) for field in FIELDS),
    ):
        names = [f'{namespace}{topic}' for namespace in namespaces]
        check_separate_topics(node, names)
        for name in names:
            publish: Callable[[Any], object] = outputs.add_publisher(topic, name=name).publish
            outputs.senders[name] = publish if adapt is None else partial(adapt, publish)
