# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Who else is there: on a topic, and under the name of a node.

Asked of the graph: the events that the middleware sends about it crash the events executor, and so
do callbacks that are told who sent a message. A node that was killed is in the graph until its
lease is over (20 s), so that two of a kind are believed only when both are heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import copy
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Infinite
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile
from sensor_msgs.msg import JointState

from transmission_bridge.errors import MessageError, shown
from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.ros.rclpy_internals import Probe

__all__ = [
    'Graph',
    'Namesake',
    'SharedTopic',
    'incompatible_publishers',
    'incompatible_subscribers',
    'names_of',
]

JOINT_STATE = 'sensor_msgs/msg/JointState'

#: What the graph calls a node that it has not heard the name of yet, and what we do.
_UNKNOWN, _NAMELESS = '_NODE_NAME_UNKNOWN_', 'name not known yet'

#: Messages that are kept for a look, of drivers and of all diagnostics.
_DEPTH, _DEPTH_DIAGNOSTICS = 32, 100

#: Messages that are enough to tell publishers apart.
_ENOUGH = 16

#: Looks that a probe takes at most, and after which it is made again.
_LONGEST, _AGAIN = 5, 10


class Graph:
    """
    One look at the graph; each question is asked once.

    :param node: The node that looks.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publishers: dict[str, list[Any]] = {}

    def publishers(self, topic: str) -> list[Any]:
        """Return those of a topic, which is named as it was given when it was subscribed to."""
        if topic not in self._publishers:
            # To count is cheap, and most topics have none.
            count = self._node.count_publishers(topic)
            found = self._node.get_publishers_info_by_topic(topic) if count else []
            self._publishers[topic] = found
        return self._publishers[topic]

    def subscribers(self, topic: str) -> list[Any]:
        """Return those of a topic."""
        if not self._node.count_subscribers(topic):
            return []
        return list(self._node.get_subscriptions_info_by_topic(topic))

    def has_listeners(self, topics: Iterable[str]) -> bool:
        """Tell whether anybody subscribes to one of these topics."""
        return any(self._node.count_subscribers(topic) for topic in topics)

    def rivals(self, topic: str) -> list[str]:
        """Return the names of the other nodes that publish a topic which this node publishes."""
        if self._node.count_publishers(topic) < 2:
            return []
        own = self._node.get_fully_qualified_name()
        others = [peer for peer in self.publishers(topic) if _full_name(peer) != own]
        return sorted(set(names_of(others)))

    def joint_state_topics(self, but: Iterable[str], like: str, most: int = 20) -> list[str]:
        """
        Return topics of JointState messages that somebody publishes.

        :param but: Topics that are left out.
        :param like: Those of the same last name come first.
        :param most: How many topics are looked at.
        """
        left_out = {self._node.resolve_topic_name(topic) for topic in but}
        last = like.rpartition('/')[2]
        found = sorted(
            (topic.rpartition('/')[2] != last, topic)
            for topic, types in self._node.get_topic_names_and_types()
            if JOINT_STATE in types and topic not in left_out
        )
        return [topic for _, topic in found[:most] if self._node.count_publishers(topic)]

    def namesakes(self) -> int:
        """Return how many other nodes have the full name of this one."""
        own = (self._node.get_name(), self._node.get_namespace())
        return self._node.get_node_names_and_namespaces().count(own) - 1


def names_of(peers: Iterable[Any], message_type: str = '') -> list[str]:
    """
    Return the nodes of endpoints, for a sentence.

    :param message_type: The type that is expected; another one is said.
    """
    return [
        shown(_full_name(peer))
        + (f' of {shown(peer.topic_type)}' if message_type not in ('', peer.topic_type) else '')
        for peer in peers
    ]


def incompatible_publishers(peers: Iterable[Any], ours: QoSProfile) -> list[str]:
    """
    Return the publishers that a subscription of ours does not hear, with the reason.

    :param ours: What the subscription asks for.
    """
    return _incompatible(
        (peer, *qos_check_compatible(_resolved(peer.qos_profile), _resolved(ours)))
        for peer in peers
    )


def incompatible_subscribers(peers: Iterable[Any], ours: QoSProfile) -> list[str]:
    """Return the subscribers that do not hear a publisher of ours, with the reason."""
    return _incompatible(
        (peer, *qos_check_compatible(_resolved(ours), _resolved(peer.qos_profile)))
        for peer in peers
    )


def _incompatible(peers: Iterable[tuple[Any, QoSCompatibility, str]]) -> list[str]:
    return [
        f'{shown(_full_name(peer))} ({reason.rstrip(";")})'
        for peer, compatibility, reason in peers
        if compatibility == QoSCompatibility.ERROR
    ]


def _full_name(peer: Any) -> str:
    if peer.node_name == _UNKNOWN:
        return _NAMELESS
    return f'{peer.node_namespace.rstrip("/")}/{peer.node_name}'


def _resolved(profile: QoSProfile) -> QoSProfile:
    """
    Return a profile in which the durations that were left open are infinite, as DDS takes them.

    The graph says so of peers already. Compared with an open one of ours, every subscriber would
    seem to ask for a deadline that we do not offer.
    """
    resolved = copy.copy(profile)
    for name in ('deadline', 'liveliness_lease_duration'):
        if not getattr(profile, name).nanoseconds:
            setattr(resolved, name, Infinite)
    return resolved


class SharedTopic:
    """
    Finds the actuators that several publishers of one topic give in turn.

    While there are several, it listens now and then for a moment. Where numbers of messages that
    give one actuator do not increase, they are of several publishers.

    :param knows: Whether a name is that of an actuator.
    """

    def __init__(self, node: LifecycleNode, topic: str, knows: Callable[[str], bool]) -> None:
        self._node = node
        self._topic = topic
        self._knows = knows
        self._publishers: set[bytes] = set()
        self._probe: Probe | None = None
        self._shared: tuple[str, ...] = ()
        self._rest = 0

    def look(self, publishers: Iterable[Any]) -> tuple[str, ...]:
        """Return the names of these actuators."""
        publishers = {bytes(peer.endpoint_gid) for peer in publishers}
        if publishers != self._publishers:
            # A new one counts anew.
            self.close()
            self._publishers, self._rest = publishers, 0
        if len(publishers) < 2:
            self.close()
            self._shared = ()
        elif self._probe is None:
            self._rest -= 1
            if self._rest < 0:
                self._probe = Probe(self._node, JointState, self._topic, _DEPTH)
                self._looks, self._taken = 0, 0
                self._reader = JointStateReader()
                self._numbers: dict[str, int] = {}
        else:
            self._listen(self._probe)
        return self._shared

    def _listen(self, probe: Probe) -> None:
        found = {}
        self._looks += 1
        for data, number in probe.take():
            try:
                names = self._reader.read(data).layout.names
            except (MessageError, UnusualMessageError):
                continue
            if number is None or number >= 1 << 63:  # what stands for a number that is not told
                continue
            self._taken += 1
            for name in filter(self._knows, names):
                if number <= self._numbers.get(name, -1):
                    found[name] = True
                self._numbers[name] = number
        if found or self._taken >= _ENOUGH or self._looks >= _LONGEST:
            self._shared = tuple(found)
            self._rest = _AGAIN
            self.close()

    def close(self) -> None:
        """Stop listening."""
        if self._probe is not None:
            self._probe.close()
            self._probe = None


class Namesake:
    """
    Finds another bridge of the same name, by more diagnostics of the name than are our own.

    :param name: How the statuses of this node begin.
    """

    def __init__(self, node: LifecycleNode, name: str) -> None:
        self._node = node
        self._mark = f'{name}: '.encode()
        self._probe: Probe | None = None
        self._is_heard = False

    def look(self, graph: Graph) -> bool:
        """Tell whether there is one; to be called before each message of our own."""
        if not graph.namesakes():
            self.close()
            self._is_heard = False
        elif self._probe is None:
            self._probe = Probe(self._node, DiagnosticArray, '/diagnostics', _DEPTH_DIAGNOSTICS)
            # The message of ours that follows this look is in it.
            self._surplus = -1
        else:
            self._surplus += sum(self._mark in data for data, _ in self._probe.take())
            self._is_heard |= self._surplus > 0
            self._surplus -= 1
        return self._is_heard

    def close(self) -> None:
        """Stop listening."""
        if self._probe is not None:
            self._probe.close()
            self._probe = None
