# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Publishers and subscriptions of the bridge, active and closed with its life cycle."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
import math
from time import time as wall_time
import traceback
from typing import Any

from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.cdr import (
    CutMessageError,
    JointStateReader,
    JointStateWriter,
    UnusualMessageError,
)
from transmission_bridge.messages.joint_state import JointStateRecord, Layout, record_from_message
from transmission_bridge.ros.process import asking_for_info, origin_of, with_info
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import Quality, TOPICS

# -- Topics of the table as rclpy has them -------------------------------------------------------


def endpoint(
    topic: str, *, name: str = '', quality: Quality | None = None, overridable: bool = True
) -> dict[str, Any]:
    """
    Return the arguments that make a publisher or a subscription of a topic.

    :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
    :param name: The name that it has, where that is another one.
    :param quality: Its quality of service, where that is not the one of the bridge.
    :param overridable: Whether parameters may override the quality of service.
    """
    entry = TOPICS[topic]
    quality = quality or entry.quality
    package, _, message = entry.type.partition('/')
    # A profile for this endpoint alone: rclpy writes the overrides into it.
    profile = QoSProfile(
        depth=quality.depth,
        reliability=ReliabilityPolicy.RELIABLE
        if quality.reliable
        else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if quality.latched
        else DurabilityPolicy.VOLATILE,
    )
    arguments = {
        'msg_type': getattr(import_module(f'{package}.msg'), message),
        'topic': name or topic,
        'qos_profile': profile,
    }
    if overridable:
        arguments['qos_overriding_options'] = QoSOverridingOptions.with_default_policies()
    return arguments


@contextmanager
def overriding(node: Node, topic: str) -> Iterator[None]:
    """
    Name the topic in the error of an endpoint made in this block with a bad override.

    Overrides are found by the full name after remapping.

    :raises ParameterError: For what rclpy raises: RuntimeError, or ParameterException.
    """
    try:
        yield
    except (RuntimeError, ParameterException) as error:
        resolved = node.resolve_topic_name(topic)
        raise ParameterError(
            f"topic '{resolved}' cannot be made as its qos_overrides ask for: {error}",
            parameter=f'qos_overrides.{resolved}',
        ) from error


# -- Decoding ------------------------------------------------------------------------------------


def deserialized(data: bytes, message_type: type) -> Any:
    """
    Return the typed message of received bytes.

    :raises MessageError: If they cannot be decoded (``undecodable``).
    """
    try:
        return deserialize_message(data, message_type)
    except Exception as error:  # rclpy raises whatever its C extension says
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from error


# -- Subscriptions: a bad message is dropped, counted and logged ---------------------------------


#: Bytes up to which any message is decoded. For a large robot, the limit is this many times the
#: size of a message with all of its names.
_LARGEST, _LARGEST_SHARE = 1 << 20, 10


class Inputs:
    """
    The subscriptions of a configured node; closed at first.

    :param node: The node to subscribe with.
    :param time: Gives the time of receipt [s].
    :param log: Where refused messages are reported.
    :param names: All names of the robot. A message much larger than one with all of them is
        refused (``too_large``) before it is decoded.
    :param check: Called before each command with writer, source time and present time, as
        :meth:`StallWatch.check_source_time`; may raise :class:`MessageError`.
    :ivar is_open: Whether messages are accepted. While closed they are dropped unread, because
        rclpy has no life-cycle subscriptions.
    :ivar statistics: Counts by topic.
    :ivar subscriptions: Subscriptions by topic.
    """

    def __init__(
        self,
        node: LifecycleNode,
        time: Callable[[], float],
        log: ThrottledLog,
        names: Iterable[str],
        check: Callable[[Hashable | None, float, float], None],
    ) -> None:
        self._node = node
        self._check = check
        of_robot = JointStateWriter(dict.fromkeys(names)).write_message(0, 0)
        self._largest = max(_LARGEST, _LARGEST_SHARE * len(of_robot))
        self.is_open = False
        self._time = time
        self._log = log
        self.statistics: dict[str, TopicStatistics] = {}
        self.subscriptions: dict[str, Subscription[Any]] = {}

    def joint_state(
        self,
        topic: str,
        take: Callable[[Layout, JointStateRecord, float], None],
        *,
        name: str = '',
        time: Callable[[], float] | None = None,
        commands: bool = False,
    ) -> None:
        """
        Subscribe to a topic of JointState messages, as bytes; rclpy decodes what is unusual.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param take: Called with layout, contents, which are valid during the call, and time of
            receipt; may raise :class:`MessageError`.
        :param name: The name that it has, where that is another one.
        :param time: Gives the time of receipt [s] instead of the time of all inputs.
        :param commands: Whether its messages are commands.
        :raises ParameterError: If there is a subscription of that name.
        """
        reader = JointStateReader()

        def read(data: bytes, now: float) -> None:
            try:
                view = reader.read_message(data)
            except CutMessageError as error:
                # rclpy could not read it either, and its type support would complain on stderr.
                raise MessageError('undecodable', f'the message is cut: {error}') from error
            except UnusualMessageError:
                record = record_from_message(deserialized(data, JointState))
                take(reader.layouts.find_layout(record.names, record.lengths), record, now)
                return
            take(view.layout, view, now)

        self._subscribe(endpoint(topic, name=name), read, time or self._time, commands)

    def typed(
        self,
        topic: str,
        take: Callable[[Any, float], None],
        check: Callable[[bytes], None] | None = None,
    ) -> None:
        """
        Subscribe to a topic of other commands, as bytes too, to check their size first.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param take: Called with message and time of receipt; may raise :class:`MessageError`.
        :param check: Called with the bytes before they are decoded; may raise it, too.
        """
        arguments = endpoint(topic)
        message_type = arguments['msg_type']

        def read(data: bytes, now: float) -> None:
            if check is not None:
                check(data)
            take(deserialized(data, message_type), now)

        self._subscribe(arguments, read, self._time, commands=True)

    def open(self) -> None:
        """Accept messages from now on, and forget when the last ones came."""
        for statistics in self.statistics.values():
            statistics.heard = statistics.used = -math.inf
        self.is_open = True

    def note_stamp(self, topic: str, reason: str, sentence: str) -> None:
        """Count a stamp that was replaced by the time of receipt, and warn."""
        self.statistics[topic].replaced_stamps[reason] += 1
        self._log.warning((topic, reason), f'{topic}: {sentence}')

    def destroy(self) -> None:
        """Unsubscribe from everything."""
        for subscription in self.subscriptions.values():
            self._node.destroy_subscription(subscription)
        self.subscriptions = {}

    def _subscribe(
        self,
        arguments: dict[str, Any],
        take: Callable[[bytes, float], None],
        time: Callable[[], float],
        commands: bool,
    ) -> None:
        topic = arguments['topic']
        if topic in self.statistics:
            raise ParameterError(f"topic '{topic}' would be listened to twice", parameter=topic)
        statistics = self.statistics[topic] = TopicStatistics(topic)
        log, largest = self._log, self._largest

        def receive(data: Any, info: Any = None) -> None:
            if not self.is_open:
                return
            statistics.received += 1
            statistics.heard = now = time()
            try:
                if commands:
                    data, info = with_info(data, info)
                    self._check_sample(topic, info)
                if len(data) > largest:
                    raise MessageError(
                        'too_large', f'{len(data)} bytes, expected at most {largest}'
                    )
                take(data, now)
                statistics.used = now
            except MessageError as error:
                statistics.rejected[error.reason] += 1
                statistics.refusal = str(error)
                if statistics.needs_attention(error.reason):
                    log.warning(
                        (topic, error.reason),
                        f'{topic}: {error}; message dropped',
                        about=error.about,
                    )
            except Exception:  # a bug drops one message and must not end the executor
                statistics.rejected['bug'] += 1
                statistics.refusal = 'bug, see the log'
                log.error((topic, 'bug'), f'{topic}: bug\n{traceback.format_exc()}')

        with overriding(self._node, topic):
            self.subscriptions[topic] = self._node.create_subscription(
                callback=asking_for_info(receive) if commands else receive, raw=True, **arguments
            )

    def _check_sample(self, topic: str, info: Any) -> None:
        writer, sent = origin_of(info)
        if sent and writer is None and self.subscriptions[topic].get_publisher_count() == 1:
            writer = topic  # of the only publisher
        self._check(writer, sent, wall_time())


# -- Publishers ----------------------------------------------------------------------------------


class Outputs:
    """
    Life-cycle publishers.

    :param node: The node to publish with.
    :ivar publishers: Publishers by topic.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self.publishers: dict[str, LifecyclePublisher[Any]] = {}

    def add(self, topic: str, *, name: str = '') -> LifecyclePublisher[Any]:
        """
        Return a new publisher.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param name: The name that it has, where that is another one.
        """
        name = name or topic
        with overriding(self._node, name):
            publisher = self._node.create_lifecycle_publisher(**endpoint(topic, name=name))
        self.publishers[name] = publisher
        return publisher

    def add_for_drivers(
        self, topic: str, namespaces: Iterable[str]
    ) -> dict[str, LifecyclePublisher[Any]]:
        """
        Return a new publisher for each of these namespaces of drivers.

        :param topic: Its name in :data:`~transmission_bridge.ros.topics.TOPICS`.
        :param namespaces: Empty, or with the slash at the end.
        :raises ParameterError: If two of them are one topic after remapping.
        """
        check_separate(self._node, [f'{namespace}{topic}' for namespace in namespaces])
        return {each: self.add(topic, name=f'{each}{topic}') for each in namespaces}

    def destroy(self) -> None:
        """Remove every publisher."""
        for publisher in self.publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
        self.publishers = {}


def check_separate(node: Node, topics: Iterable[str]) -> None:
    """
    Check that topics of different drivers are still different after remapping.

    :raises ParameterError: If two are one topic: the drivers could not be told apart.
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
