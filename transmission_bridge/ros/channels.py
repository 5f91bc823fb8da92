# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Publishers and subscriptions of the bridge; its life cycle opens and closes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
import math
import traceback
from typing import Any, TypeAlias

from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from transmission_bridge.bridge import Outgoing, StallWatch, Stamp, TopicStatistics
from transmission_bridge.bridge.states import StampFilter
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages import (
    CutMessageError,
    JointStateReader,
    JointStateRecord,
    JointStateWriter,
    Layout,
    record_from_message,
    UnusualMessageError,
)
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import Quality, TOPICS

# -- Arguments of rclpy for a topic of the table -------------------------------------------------


def describe_endpoint(
    topic: str, *, name: str = '', quality: Quality | None = None, overridable: bool = True
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
    reliability, durability = ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE
    if quality.reliable:
        reliability = ReliabilityPolicy.RELIABLE
    if quality.latched:
        durability = DurabilityPolicy.TRANSIENT_LOCAL
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
def report_bad_override(node: Node, topic: str) -> Iterator[None]:
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
    Return a new subscription of serialised messages; arguments as in :func:`describe_endpoint`.

    :raises ParameterError: If its ``qos_overrides`` is invalid.
    """
    with report_bad_override(node, name or topic):
        return node.create_subscription(
            callback=receive, raw=True, **describe_endpoint(topic, name=name)
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

    :param node: The node of the subscriptions.
    :param time: Returns the time of receipt [s].
    :param log: Receives rejected messages.
    :param names: All names of the robot. A message much larger than one with all of them is
        rejected (``too_large``) before it is decoded.
    :param stall: Rejects commands after the process stood still.
    :param read_stamp: Returns the time of the clock of stamps.
    :param forget_stamps: Called if that clock was set.
    :ivar replace_stamp: See :meth:`StampFilter.replace_stamp`.
    :ivar is_open: Whether messages are accepted. While closed, messages are dropped unread,
        because rclpy has no life-cycle subscriptions.
    :ivar statistics: Counts by topic.
    :ivar subscriptions: Subscriptions by topic.
    """

    def __init__(
        self,
        node: LifecycleNode,
        time: Callable[[], float],
        log: ThrottledLog,
        names: Iterable[str],
        stall: StallWatch,
        read_stamp: Callable[[], Stamp],
        forget_stamps: Callable[[], None],
    ) -> None:
        self._node, self._stall = node, stall
        stamps = StampFilter(read_stamp, self._count_stamp, forget_stamps)
        self.replace_stamp = stamps.replace_stamp
        of_robot = JointStateWriter(dict.fromkeys(names)).write_message(0, 0)
        self._largest = max(_LARGEST, _LARGEST_SHARE * len(of_robot))
        self.is_open, self._time, self._log = False, time, log
        self.statistics: dict[str, TopicStatistics] = {}
        self.subscriptions: dict[str, Subscription[Any]] = {}

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
            except CutMessageError as error:
                # rclpy could not decode it either, and its type support would write to stderr.
                raise MessageError('undecodable', f'the message is truncated: {error}') from error
            except UnusualMessageError:
                record = record_from_message(deserialize_bytes(data, JointState))
                layout = reader.layouts.find_layout(record.names, record.lengths)
                take(layout, record, replace_stamp(name, record.stamp, now), now, name)
                return
            take(view.layout, view, replace_stamp(name, view.stamp, now), now, name)

        self._subscribe(topic, unpack, name, time or self._time, commands)

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
        message_type = describe_endpoint(topic)['msg_type']

        def unpack_command(data: bytes, now: float) -> None:
            if check is not None:
                check(data)
            take(deserialize_bytes(data, message_type), now)

        self._subscribe(topic, unpack_command, topic, self._time, commands=True)

    def add_source(
        self,
        topic: str,
        take: TakeJointState,
        time: Callable[[], float],
    ) -> Callable[[tuple[JointStateRecord, Layout]], None]:
        """
        Return a function that receives the states of a driver in this process, with layouts.

        :param topic: The topic that they would have.
        :param take: As for :meth:`subscribe_joint_states`.
        :param time: Returns the time of receipt [s].
        """

        def take_sample(sample: tuple[JointStateRecord, Layout], now: float) -> None:
            record, layout = sample
            take(layout, record, self.replace_stamp(topic, record.stamp, now), now, topic)

        return self._make_receiver(topic, take_sample, time)

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

    def _subscribe(
        self,
        topic: str,
        take: Callable[[bytes, float], None],
        name: str,
        time: Callable[[], float],
        commands: bool,
    ) -> None:
        receive_sample = self._make_receiver(name, take, time, commands)
        self.subscriptions[name] = subscribe_bytes(self._node, topic, receive_sample, name)

    def _make_receiver(
        self,
        topic: str,
        take: Callable[[Any, float], None],
        time: Callable[[], float],
        commands: bool = False,
    ) -> Callable[[Any], None]:
        """Return a function that counts samples, and rejects and logs the bad ones."""
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
    Life-cycle publishers.

    :param node: The node of the publishers.
    :ivar publishers: Publishers by topic.
    :ivar senders: Functions that send a content to a driver, by topic.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self.publishers: dict[str, LifecyclePublisher[Any]] = {}
        self.senders: dict[str, Callable[[Any], object]] = {}

    def send_messages(self, messages: Iterable[Outgoing]) -> None:
        """Send messages to the drivers."""
        for topic, content in messages:
            self.senders[topic](content)

    def add_publisher(
        self, topic: str, *, name: str = '', quality: Quality | None = None
    ) -> LifecyclePublisher[Any]:
        """
        Return a new publisher.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param name: Its name before remapping, if it differs from ``topic``.
        :param quality: Its quality of service, if it is not the bridge's.
        """
        name = name or topic
        with report_bad_override(self._node, name):
            publisher = self._node.create_lifecycle_publisher(
                **describe_endpoint(topic, name=name, quality=quality)
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
