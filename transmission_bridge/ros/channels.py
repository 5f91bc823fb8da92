# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Data topics, gated by the life cycle: quality of service, what comes in, what goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
import copy
import math
import traceback
from typing import Any

from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.cdr import (
    CutMessageError,
    JointStateReader,
    JointStateWriter,
    UnusualMessageError,
)
from transmission_bridge.messages.joint_state import JointStateData, Layout, record_from_message
from transmission_bridge.ros.throttled_log import ThrottledLog

__all__ = [
    'COMMAND_INPUT',
    'DESCRIPTION',
    'OUTPUT',
    'STATE_INPUT',
    'Inputs',
    'JointStateInput',
    'Outputs',
    'check_separate',
    'deserialized',
    'overridable',
    'overriding',
    'publish_unchecked',
]


# -- Quality of service of every topic, in one place ---------------------------------------------


#: Best effort connects to every driver, whatever it offers.
STATE_INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)

#: A command must arrive.
COMMAND_INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

#: Reliable publishers connect to every subscriber, whatever it asks for.
OUTPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

#: As robot_state_publisher publishes it.
DESCRIPTION = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def overridable(profile: QoSProfile) -> dict[str, Any]:
    """
    Return the arguments of an endpoint whose quality of service parameters may override.

    With a copy of the profile: rclpy writes the overrides of one topic into what it is given, and
    so they would reach every topic made from the same profile afterwards.
    """
    return {
        'qos_profile': copy.copy(profile),
        'qos_overriding_options': QoSOverridingOptions.with_default_policies(),
    }


@contextmanager
def overriding(topic: str) -> Iterator[None]:
    """
    Make an endpoint inside of this, so that an override which cannot be accepted says where.

    :raises ParameterError: For what rclpy raises: RuntimeError, or ParameterException.
    """
    try:
        yield
    except (RuntimeError, ParameterException) as error:
        raise ParameterError(
            f"topic '{topic}' cannot be made as its qos_overrides ask for: {error}",
            parameter=f'qos_overrides.{topic}',
        ) from error


# -- Received bytes to messages; JointState by the fast path or, if need be, by rclpy's own ------


def deserialized(data: bytes, message_type: type) -> Any:
    """
    Return the typed message of received bytes.

    :raises MessageError: If they cannot be decoded (``undecodable``).
    """
    try:
        return deserialize_message(data, message_type)
    except Exception as error:  # rclpy raises whatever its C extension says
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from error


class JointStateInput:
    """
    Reads the messages of one topic.

    :param take: Called with layout, contents, which are valid during the call, and time of
        receipt; may raise :class:`MessageError`.
    """

    def __init__(self, take: Callable[[Layout, JointStateData, float], None]) -> None:
        self._take = take
        self._reader = JointStateReader()

    def __call__(self, data: bytes, now: float) -> None:
        """
        Pass a message on.

        :param now: Time of receipt.
        :raises MessageError: If it cannot be decoded at all (``undecodable``), or ``take`` raises.
        """
        try:
            view = self._reader.read(data)
        except CutMessageError as error:
            # rclpy could not read it either, and its type support would complain on stderr.
            raise MessageError('undecodable', f'the message is cut: {error}') from error
        except UnusualMessageError:
            self._take(*self._read_typed(data), now)
            return
        self._take(view.layout, view, now)

    def _read_typed(self, data: bytes) -> tuple[Layout, JointStateData]:
        record = record_from_message(deserialized(data, JointState))
        return self._reader.layouts.get(record.names, record.lengths), record


# -- Subscriptions, gated by the life cycle, that keep trouble to the message that brought it ----


#: Bytes of a message that is looked at in any case; and how often a larger robot's names may be
#: in one, with all their numbers.
_LARGEST, _LARGEST_SHARE = 1 << 20, 10


class Inputs:
    """
    The data topics that a configured node listens to; closed when made.

    :param node: The node to subscribe with.
    :param time: Gives the time of receipt [s].
    :param log: Where refused messages are reported.
    :param names: All names of the robot. A message much larger than one of all these is refused
        (``too_large``) before anything is made of it.
    :ivar is_open: Whether messages are to be taken; others are dropped unread, because rclpy has
        no life-cycle subscriptions.
    :ivar statistics: Counts by topic.
    :ivar subscriptions: Subscriptions by topic.
    """

    def __init__(
        self,
        node: LifecycleNode,
        time: Callable[[], float],
        log: ThrottledLog,
        names: Iterable[str],
    ) -> None:
        self._node = node
        of_robot = JointStateWriter(dict.fromkeys(names)).write(0, 0)
        self._largest = max(_LARGEST, _LARGEST_SHARE * len(of_robot))
        self.is_open = False
        self._time = time
        self._log = log
        self.statistics: dict[str, TopicStatistics] = {}
        self.subscriptions: dict[str, Any] = {}

    def joint_state(
        self,
        topic: str,
        qos: QoSProfile,
        take: Callable[[Layout, JointStateData, float], None],
        time: Callable[[], float] | None = None,
    ) -> None:
        """
        Subscribe to JointState messages as bytes.

        :param take: As of :class:`JointStateInput`.
        :param time: Gives the time of receipt [s] instead of the time of all inputs.
        """
        self._subscribe(JointState, topic, qos, JointStateInput(take), time or self._time)

    def typed(
        self, message_type: type, topic: str, qos: QoSProfile, take: Callable[[Any, float], None]
    ) -> None:
        """
        Subscribe to messages of another type; as bytes too, so that their size is known first.

        :param take: Called with message and time of receipt; may raise :class:`MessageError`.
        """
        self._subscribe(
            message_type,
            topic,
            qos,
            lambda data, now: take(deserialized(data, message_type), now),
            self._time,
        )

    def open(self) -> None:
        """Take messages from now on, with nothing heard."""
        for statistics in self.statistics.values():
            statistics.heard = statistics.used = -math.inf
        self.is_open = True

    def note_stamp(self, topic: str, reason: str, sentence: str) -> None:
        """Count a stamp that the time of receipt replaced, and warn."""
        self.statistics[topic].replaced_stamps[reason] += 1
        self._log.warning((topic, reason), f'{topic}: {sentence}')

    def destroy(self) -> None:
        """Unsubscribe from everything."""
        for subscription in self.subscriptions.values():
            self._node.destroy_subscription(subscription)
        self.subscriptions = {}

    def _subscribe(
        self,
        message_type: type,
        topic: str,
        qos: QoSProfile,
        take: Callable[[bytes, float], None],
        time: Callable[[], float],
    ) -> None:
        if topic in self.statistics:
            raise ParameterError(f"topic '{topic}' would be listened to twice", parameter=topic)
        statistics = self.statistics[topic] = TopicStatistics(topic)
        log, largest = self._log, self._largest

        def receive(data: bytes) -> None:
            if not self.is_open:
                return
            statistics.received += 1
            statistics.heard = now = time()
            try:
                if len(data) > largest:
                    raise MessageError(
                        'too_large', f'{len(data)} bytes, expected at most {largest}'
                    )
                take(data, now)
                statistics.used = now
            except MessageError as error:
                statistics.rejected[error.reason] += 1
                if statistics.is_trouble(error.reason):
                    log.warning(
                        (topic, error.reason),
                        f'{topic}: {error}; message dropped',
                        about=error.about,
                    )
            except Exception:  # a bug must cost one message, not the executor
                statistics.rejected['bug'] += 1
                log.error((topic, 'bug'), f'{topic}: bug\n{traceback.format_exc()}')

        with overriding(topic):
            self.subscriptions[topic] = self._node.create_subscription(
                message_type,
                topic,
                receive,
                raw=True,
                **overridable(qos),
            )


# -- The data topics that a configured node publishes; silent unless the node is active ----------


class Outputs:
    """
    Life-cycle publishers with the quality of service of outputs.

    :param node: The node to publish with.
    :ivar publishers: Publishers by topic.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self.publishers: dict[str, Any] = {}

    def add(self, message_type: type, topic: str) -> Any:
        """Return a new publisher."""
        with overriding(topic):
            publisher = self.publishers[topic] = self._node.create_lifecycle_publisher(
                message_type,
                topic,
                **overridable(OUTPUT),
            )
        return publisher

    def add_for_drivers(
        self, message_type: type, topic: str, namespaces: Iterable[str]
    ) -> dict[str, Any]:
        """
        Return a new publisher for the driver in each of these namespaces.

        :param namespaces: Empty, or with the slash at the end.
        :raises ParameterError: If two of them come to be one topic.
        """
        check_separate(self._node, [f'{namespace}{topic}' for namespace in namespaces])
        return {each: self.add(message_type, f'{each}{topic}') for each in namespaces}

    def destroy(self) -> None:
        """Remove every publisher."""
        for publisher in self.publishers.values():
            self._node.destroy_lifecycle_publisher(publisher)
        self.publishers = {}


def publish_unchecked(publisher: Any) -> Callable[[bytes], None]:
    """
    Return what publishes without asking each time whether the node is active.

    To ask costs as much as to encode a message. For who publishes only while the node is active.

    :param publisher: A life-cycle publisher.
    """
    publish: Callable[[bytes], None] = super(LifecyclePublisher, publisher).publish
    return publish


def check_separate(node: Node, topics: Iterable[str]) -> None:
    """
    Check that no two names of drivers' topics mean one topic, after remapping.

    :raises ParameterError: If two do: a driver would be taken for another, or get what is sent to
        another.
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
