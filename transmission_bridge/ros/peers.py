# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Peers in the graph: on a topic, and under the name of a node.

The graph is polled: the middleware's events about peers crash the events executor. A node that was
killed stays in the graph until its lease is over (20 s), so that two of a kind count only when
both are heard, if they can be heard.
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
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from transmission_bridge.errors import MessageError, shown
from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.ros.process import asking_for_info, with_info

JOINT_STATE = 'sensor_msgs/msg/JointState'

#: A service of every bridge, in every state, and of no other node.
_SERVICE = 'zero_from_absolute'

#: Name in the graph of a node whose name is not known yet, and the words for it.
_UNKNOWN, _NAMELESS = '_NODE_NAME_UNKNOWN_', 'name not known yet'

#: Messages kept between two looks, of drivers and of all diagnostics.
_DEPTH, _DEPTH_DIAGNOSTICS = 32, 100

#: Messages that suffice to tell publishers apart.
_ENOUGH = 16

#: Looks that a probe lasts at most, and looks until the next probe.
_LONGEST, _AGAIN = 5, 10


class Graph:
    """
    One look at the graph; publishers of a topic are asked for once.

    Topics are given by the names that the node subscribes or publishes with. rclpy remaps these
    when it returns publishers or subscriptions, and does not when it counts them. A name that is
    remapped must not be remapped twice: another rule may match it.

    :param node: The node that looks.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publishers: dict[str, list[Any]] = {}

    def resolved(self, topic: str) -> str:
        """Return the full name of a topic after remapping, as other nodes find it."""
        return self._node.resolve_topic_name(topic)

    def publishers(self, topic: str) -> list[Any]:
        """Return the publishers of a topic."""
        if topic not in self._publishers:
            # Counting is cheap, and most topics have none.
            count = self._node.count_publishers(self.resolved(topic))
            found = self._node.get_publishers_info_by_topic(topic) if count else []
            self._publishers[topic] = found
        return self._publishers[topic]

    def subscribers(self, topic: str) -> list[Any]:
        """Return the subscribers of a topic."""
        if not self._node.count_subscribers(self.resolved(topic)):
            return []
        return list(self._node.get_subscriptions_info_by_topic(topic))

    def rivals(self, topic: str) -> list[str]:
        """Return the names of other nodes that publish a topic of this node."""
        return sorted(set(names_of(self._others(self.publishers(topic)))))

    def bridges(self, topic: str) -> list[str]:
        """
        Return the names of other bridges that subscribe to a topic of this node.

        One that was killed counts until its lease is over: nothing is heard of subscribers.
        """
        if self._node.count_subscribers(self.resolved(topic)) < 2:
            return []
        others = filter(self._is_bridge, self._others(self.subscribers(topic)))
        return sorted(set(names_of(others)))

    def _others(self, peers: Iterable[Any]) -> list[Any]:
        # Another node of the same full name is found by Namesake.
        own = self._node.get_fully_qualified_name()
        return [peer for peer in peers if _full_name(peer) != own]

    def _is_bridge(self, peer: Any) -> bool:
        # Names come from outside: they may be invalid, or not known yet.
        with suppress(ValueError, NameValidationException):
            return self._node.count_services(f'{_full_name(peer)}/{_SERVICE}') > 0
        return False

    def joint_state_topics(self, but: Iterable[str], like: str, most: int = 20) -> list[str]:
        """
        Return published topics of JointState messages.

        :param but: Topics to leave out.
        :param like: Topics with the same last name come first.
        :param most: How many topics are considered.
        """
        left_out = {self.resolved(topic) for topic in but}
        last = self.resolved(like).rpartition('/')[2]
        found = sorted(
            (topic.rpartition('/')[2] != last, topic)
            for topic, types in self._node.get_topic_names_and_types()
            if JOINT_STATE in types and topic not in left_out
        )
        return [topic for _, topic in found[:most] if self._node.count_publishers(topic)]

    def namesakes(self) -> int:
        """Return the number of other nodes with the full name of this one."""
        own = (self._node.get_name(), self._node.get_namespace())
        return self._node.get_node_names_and_namespaces().count(own) - 1


def names_of(peers: Iterable[Any], message_type: str = '') -> list[str]:
    """
    Return the names of the nodes of endpoints, for a sentence.

    :param message_type: The expected type; another type is added to the name.
    """
    return [
        shown(_full_name(peer))
        + (f' of {shown(peer.topic_type)}' if message_type not in ('', peer.topic_type) else '')
        for peer in peers
    ]


def incompatible_publishers(peers: Iterable[Any], ours: QoSProfile) -> list[str]:
    """
    Return the publishers whose quality of service is incompatible, with the reason.

    :param ours: Quality of service of our subscription.
    """
    return _incompatible(
        (peer, *qos_check_compatible(_resolved(peer.qos_profile), _resolved(ours)))
        for peer in peers
    )


def incompatible_subscribers(peers: Iterable[Any], ours: QoSProfile) -> list[str]:
    """Return the subscribers whose quality of service is incompatible, with the reason."""
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
    Return a profile in which unspecified durations are infinite, as in DDS.

    The graph reports those of peers as infinite already. Without this, every subscriber would
    seem to ask for a deadline that our publishers do not offer.
    """
    resolved = copy.copy(profile)
    for name in ('deadline', 'liveliness_lease_duration'):
        if not getattr(profile, name).nanoseconds:
            setattr(resolved, name, Infinite)
    return resolved


class _Probe:
    """
    Hears a topic beside the node's own subscription, for a short time.

    Each message comes with the number that its publisher gave it, which increases from message to
    message.

    :param topic: Its name as for a subscription.
    :param depth: Messages that are kept, the newest.
    """

    def __init__(self, node: LifecycleNode, message_type: type, topic: str, depth: int) -> None:
        self._node, self._type, self._depth = node, message_type, depth
        self._heard: deque[tuple[bytes, Any]] = deque(maxlen=depth)
        self._subscription: Any = None

        def hear(data: Any, info: Any = None) -> None:
            self._heard.append(with_info(data, info))

        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        # A policy (SROS2) may forbid it, where nobody takes a name unseen.
        with suppress(RuntimeError):
            self._subscription = node.create_subscription(
                message_type, topic, asking_for_info(hear), qos, raw=True
            )

    def take(self) -> list[tuple[bytes, int]]:
        """Return the newest messages that came, those included that still wait in the queue."""
        # An executor that cannot keep up might hear one of several publishers only: each time
        # that it comes back here, so many messages were lost that it is the same one's turn.
        # Of another version, where this is not as it is here: what was called back is all.
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

    def close(self) -> None:
        """Unsubscribe."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)


class SharedTopic:
    """
    Finds actuators that several publishers of one topic publish in turn.

    While a topic has several publishers, it listens for a moment now and then. If the sequence
    numbers of messages with one actuator do not increase, several publishers have sent them.

    :param knows: Tells whether a name is that of an actuator.
    """

    def __init__(self, node: LifecycleNode, topic: str, knows: Callable[[str], bool]) -> None:
        self._node = node
        self._topic = topic
        self._knows = knows
        self._publishers: set[bytes] = set()
        self._probe: _Probe | None = None
        self._shared: tuple[str, ...] = ()
        self._rest = 0

    def look(self, publishers: Iterable[Any]) -> tuple[str, ...]:
        """Return the names of these actuators; called once per period of the diagnostics."""
        publishers = {bytes(peer.endpoint_gid) for peer in publishers}
        if publishers != self._publishers:
            # A new publisher: start over.
            self.close()
            self._publishers, self._rest = publishers, 0
        if len(publishers) < 2:
            self.close()
            self._shared = ()
        elif self._probe is None:
            self._rest -= 1
            if self._rest < 0:
                self._probe = _Probe(self._node, JointState, self._topic, _DEPTH)
                self._looks, self._taken = 0, 0
                self._reader = JointStateReader()
                self._numbers: dict[str, int] = {}
        else:
            self._listen(self._probe)
        return self._shared

    def _listen(self, probe: _Probe) -> None:
        found = {}
        self._looks += 1
        for data, number in probe.take():
            try:
                names = self._reader.read_message(data).layout.names
            except (MessageError, UnusualMessageError):
                continue
            if number >= 1 << 63:  # stands for an unknown number
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
    Finds another bridge of the same name, from more diagnostics of that name than our own.

    :param name: Prefix of the statuses of this node.
    """

    def __init__(self, node: LifecycleNode, name: str) -> None:
        self._node = node
        # Behind the last byte of its length: other names may end with this one.
        self._mark = f'\0{name}: '.encode()
        self._probe: _Probe | None = None
        self._is_heard = False

    def look(self, graph: Graph) -> bool:
        """Tell whether there is one; called before each message of our own."""
        if not graph.namesakes():
            self.close()
            self._is_heard = False
        elif self._probe is None:
            self._probe = _Probe(self._node, DiagnosticArray, '/diagnostics', _DEPTH_DIAGNOSTICS)
            # Our message that follows this look will be counted.
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
