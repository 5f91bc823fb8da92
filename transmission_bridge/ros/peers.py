# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find peers in the graph: on a topic, and with the name of a node.

The graph is polled, because the middleware's events about peers crash the events executor. A
killed node stays in the graph until its lease expires (20 s). So a duplicate publisher counts only
when messages of both arrive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
import copy
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Infinite
from rclpy.exceptions import NameValidationException
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from transmission_bridge.errors import MessageError, shown
from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.ros.process import request_sample_info, unpack_sample

JOINT_STATE = 'sensor_msgs/msg/JointState'

#: A service of every bridge in every state, which other nodes do not have.
_SERVICE = 'zero_from_absolute'

#: Name in the graph of a node before its name is known, and the words for it.
_UNKNOWN, _NAMELESS = '_NODE_NAME_UNKNOWN_', 'name not known yet'

#: Messages in the queue of a probe, for drivers and for diagnostics.
_DEPTH, _DEPTH_DIAGNOSTICS = 32, 100

#: Number of messages that distinguishes publishers.
_ENOUGH = 16

#: Longest life of a probe, and pause until the next probe [periods of the diagnostics].
_LONGEST, _AGAIN = 5, 10


class Graph:
    """
    A snapshot of the graph; the publishers of a topic are queried once.

    Topics are given by the names before remapping. rclpy remaps them when it returns publishers
    or subscriptions, but not when it counts them. A name must not be remapped twice, because
    another rule may match the result.

    :param node: The node that queries the graph.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publishers: dict[str, list[Any]] = {}

    def resolve_topic(self, topic: str) -> str:
        """Return the full name of a topic after remapping, for other nodes."""
        return self._node.resolve_topic_name(topic)

    def find_publishers(self, topic: str) -> list[Any]:
        """Return the publishers of a topic."""
        if topic not in self._publishers:
            # Counting is cheap, and most topics have no publisher.
            count = self._node.count_publishers(self.resolve_topic(topic))
            found = self._node.get_publishers_info_by_topic(topic) if count else []
            self._publishers[topic] = found
        return self._publishers[topic]

    def find_subscribers(self, topic: str) -> list[Any]:
        """Return the subscribers of a topic."""
        if not self._node.count_subscribers(self.resolve_topic(topic)):
            return []
        return list(self._node.get_subscriptions_info_by_topic(topic))

    def find_rivals(self, topic: str) -> list[str]:
        """Return the names of other nodes that publish a topic of this node."""
        return sorted(set(list_node_names(self._exclude_self(self.find_publishers(topic)))))

    def find_bridges(self, topic: str) -> list[str]:
        """
        Return the names of other bridges that subscribe to a topic of this node.

        A killed bridge counts until its lease expires, because subscribers send no messages.
        """
        if self._node.count_subscribers(self.resolve_topic(topic)) < 2:
            return []
        others = filter(self._is_bridge, self._exclude_self(self.find_subscribers(topic)))
        return sorted(set(list_node_names(others)))

    def _exclude_self(self, peers: Iterable[Any]) -> list[Any]:
        # Namesake finds another node with the same full name.
        own = self._node.get_fully_qualified_name()
        return [peer for peer in peers if _find_full_name(peer) != own]

    def _is_bridge(self, peer: Any) -> bool:
        # Names come from other processes: they may be invalid, or not known yet.
        with suppress(ValueError, NameValidationException):
            return self._node.count_services(f'{_find_full_name(peer)}/{_SERVICE}') > 0
        return False

    def find_joint_state_topics(self, but: Iterable[str], like: str, most: int = 20) -> list[str]:
        """
        Return published topics of JointState messages that no other bridge uses.

        :param but: Topics to exclude.
        :param like: Topics with the same last name come first.
        :param most: Maximum number of topics.
        """
        left_out = {self.resolve_topic(topic) for topic in but}
        last = self.resolve_topic(like).rpartition('/')[2]
        found = sorted(
            (topic.rpartition('/')[2] != last, topic)
            for topic, types in self._node.get_topic_names_and_types()
            if JOINT_STATE in types and topic not in left_out
        )
        return [
            topic
            for _, topic in found[:most]
            if self._node.count_publishers(topic) and not self._has_bridge(topic)
        ]

    def _has_bridge(self, topic: str) -> bool:
        # rclpy would remap the name again, and return the peers of another topic.
        if self.resolve_topic(topic) != topic:
            return False
        node = self._node
        endpoints = node.get_publishers_info_by_topic, node.get_subscriptions_info_by_topic
        return any(self._is_bridge(peer) for find_peers in endpoints for peer in find_peers(topic))

    def find_subscriptions(self, peers: Iterable[Any], but: Iterable[str]) -> list[str]:
        """
        Return the topics of JointState messages to which the nodes of endpoints subscribe.

        :param but: Topics to exclude.
        """
        found: set[str] = set()
        for name, namespace in {(peer.node_name, peer.node_namespace) for peer in peers}:
            # The node may have gone, and its name may be invalid or not known yet.
            with suppress(RuntimeError, ValueError):
                topics = self._node.get_subscriber_names_and_types_by_node(name, namespace)
                found.update(topic for topic, types in topics if JOINT_STATE in types)
        return sorted(found.difference(map(self.resolve_topic, but)))

    def count_namesakes(self) -> int:
        """Return the number of other nodes with the full name of this one."""
        own = (self._node.get_name(), self._node.get_namespace())
        return self._node.get_node_names_and_namespaces().count(own) - 1


def list_node_names(peers: Iterable[Any], message_type: str = '') -> list[str]:
    """
    Return the names of the nodes of endpoints, for a sentence.

    :param message_type: The expected type; a name gets its type if that is another one.
    """
    return [
        shown(_find_full_name(peer))
        + (f' of {shown(peer.topic_type)}' if message_type not in ('', peer.topic_type) else '')
        for peer in peers
    ]


def name_type(ours: Any) -> str:
    """Return the message type of a publisher or a subscription, as in the graph."""
    return f'{ours.msg_type.__module__.partition(".")[0]}/msg/{ours.msg_type.__name__}'


def find_incompatible_peers(peers: Iterable[Any], ours: Any) -> list[str]:
    """
    Return the peers with another message type or incompatible quality of service, with the reason.

    :param peers: The publishers of our subscription, or the subscribers of our publisher.
    """
    found, expected, own = [], name_type(ours), _fill_durations(ours.qos_profile)
    for peer in peers:
        both = own, _fill_durations(peer.qos_profile)
        both = both if isinstance(ours, Publisher) else both[::-1]
        compatibility, reason = qos_check_compatible(*both)
        if peer.topic_type != expected:
            reason = f'message type {shown(peer.topic_type)}, expected {expected}'
        elif compatibility != QoSCompatibility.ERROR:
            continue
        found.append(f'{shown(_find_full_name(peer))} ({reason.rstrip(";")})')
    return found


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


class _Probe:
    """
    Subscribes to a topic for a short time, in addition to the node's own subscription.

    Each message has the sequence number of its publisher.

    :param topic: Its name before remapping.
    :param depth: Maximum number of kept messages.
    """

    def __init__(self, node: LifecycleNode, message_type: type, topic: str, depth: int) -> None:
        self._node, self._type, self._depth = node, message_type, depth
        self._heard: deque[tuple[bytes, Any]] = deque(maxlen=depth)
        self._subscription: Any = None

        def keep_sample(data: Any, info: Any = None) -> None:
            self._heard.append(unpack_sample(data, info))

        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        # A policy (SROS2) may forbid the subscription. Then it also prevents duplicate names.
        with suppress(RuntimeError):
            self._subscription = node.create_subscription(
                message_type, topic, request_sample_info(keep_sample), qos, raw=True
            )

    def take_samples(self) -> list[tuple[bytes, int]]:
        """Return the latest messages with their numbers, also those still in the queue."""
        # A slow executor could receive messages of only one of several publishers, if it loses the
        # same number of messages before each callback. So the queue is read directly. If another
        # version of rclpy does not allow this, only messages of the callback are returned.
        with suppress(AttributeError, TypeError):
            for _ in range(self._depth):
                with self._subscription.handle:
                    found = self._subscription.handle.take_message(self._type, True)
                if found is None:
                    break
                self._heard.append(found)
        heard = list(self._heard)
        self._heard.clear()
        return [(data, info['publication_sequence_number']) for data, info in heard]

    def unsubscribe(self) -> None:
        """Unsubscribe."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)


class SharedTopic:
    """
    Finds actuators that several publishers of one topic publish in turn.

    While a topic has several publishers, a probe subscribes to it for a short time now and then.
    If the sequence numbers of messages with one actuator do not increase, several publishers have
    sent them.

    :param knows: Returns whether a name is the name of an actuator.
    """

    def __init__(self, node: LifecycleNode, topic: str, knows: Callable[[str], bool]) -> None:
        self._node = node
        self._topic = topic
        self._knows = knows
        self._publishers: set[bytes] = set()
        self._probe: _Probe | None = None
        self._shared: tuple[str, ...] = ()
        self._rest = 0

    def find_shared_actuators(self, publishers: Iterable[Any]) -> tuple[str, ...]:
        """Return the names of the shared actuators; called once per period of the diagnostics."""
        publishers = {bytes(peer.endpoint_gid) for peer in publishers}
        if publishers != self._publishers:
            # A publisher has come or gone: restart.
            self.stop_probe()
            self._publishers, self._rest = publishers, 0
        if len(publishers) < 2:
            self.stop_probe()
            self._shared = ()
        elif self._probe is None:
            self._rest -= 1
            if self._rest < 0:
                self._probe = _Probe(self._node, JointState, self._topic, _DEPTH)
                self._looks, self._taken = 0, 0
                self._reader = JointStateReader()
                self._numbers: dict[str, int] = {}
        else:
            self._read_probe(self._probe)
        return self._shared

    def _read_probe(self, probe: _Probe) -> None:
        found = {}
        self._looks += 1
        for data, number in probe.take_samples():
            try:
                names = self._reader.read_message(data).layout.names
            except (MessageError, UnusualMessageError):
                continue
            if number >= 1 << 63:  # represents an unknown number
                continue
            self._taken += 1
            for name in filter(self._knows, names):
                if number <= self._numbers.get(name, -1):
                    found[name] = True
                self._numbers[name] = number
        if found or self._taken >= _ENOUGH or self._looks >= _LONGEST:
            self._shared = tuple(found)
            self._rest = _AGAIN
            self.stop_probe()

    def stop_probe(self) -> None:
        """Stop listening."""
        if self._probe is not None:
            self._probe.unsubscribe()
            self._probe = None


class Namesake:
    """
    Finds another bridge with the same name, by diagnostics of that name beyond our own.

    :param name: Prefix of the statuses of this node.
    """

    def __init__(self, node: LifecycleNode, name: str) -> None:
        self._node = node
        # With the last byte of its length, because other names may end with this one.
        self._mark = f'\0{name}: '.encode()
        self._probe: _Probe | None = None
        self._is_heard = False

    def find_namesake(self, graph: Graph) -> bool:
        """Whether another bridge has this name; called before each message of our own."""
        if not graph.count_namesakes():
            self.stop_probe()
            self._is_heard = False
        elif self._probe is None:
            self._probe = _Probe(self._node, DiagnosticArray, '/diagnostics', _DEPTH_DIAGNOSTICS)
            # Our next message will be counted.
            self._surplus = -1
        else:
            self._surplus += sum(self._mark in data for data, _ in self._probe.take_samples())
            self._is_heard |= self._surplus > 0
            self._surplus -= 1
        return self._is_heard

    def stop_probe(self) -> None:
        """Stop listening."""
        if self._probe is not None:
            self._probe.unsubscribe()
            self._probe = None
