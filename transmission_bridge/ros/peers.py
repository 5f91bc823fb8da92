# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find peers in the graph: on a topic, and with the name of a node.

The graph is polled, because the middleware's events about peers crash the events executor. A
killed node stays in the graph until its lease expires (20 s).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
import copy
from typing import Any

from rclpy.duration import Infinite
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile

from transmission_bridge.errors import shown

JOINT_STATE = 'sensor_msgs/msg/JointState'

#: A service of every bridge in every state, which other nodes do not have.
_SERVICE = 'zero_from_absolute'

#: Name in the graph of a node before its name is known, and the words for it.
_UNKNOWN, _NAMELESS = '_NODE_NAME_UNKNOWN_', 'name not known yet'


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

    def list_publishers(self, topic: str) -> list[Any]:
        """Return the publishers of a topic."""
        if topic not in self._publishers:
            # Counting is cheap, and most topics have no publisher.
            count = self._node.count_publishers(self.resolve_topic(topic))
            found = self._node.get_publishers_info_by_topic(topic) if count else []
            self._publishers[topic] = found
        return self._publishers[topic]

    def list_subscribers(self, topic: str) -> list[Any]:
        """Return the subscribers of a topic."""
        if not self._node.count_subscribers(self.resolve_topic(topic)):
            return []
        return list(self._node.get_subscriptions_info_by_topic(topic))

    def list_rival_nodes(self, topic: str) -> list[str]:
        """Return the names of other nodes that publish a topic of this node."""
        return sorted(set(list_node_names(self._list_others(self.list_publishers(topic)))))

    def list_bridges(self, topic: str) -> list[str]:
        """
        Return the names of other bridges that subscribe to a topic of this node.

        A killed bridge counts until its lease expires, because subscribers send no messages.
        """
        if self._node.count_subscribers(self.resolve_topic(topic)) < 2:
            return []
        others = filter(self._is_bridge, self._list_others(self.list_subscribers(topic)))
        return sorted(set(list_node_names(others)))

    def _list_others(self, peers: Iterable[Any]) -> list[Any]:
        """Return the endpoints of other nodes; of our full name, all but one are a namesake's."""
        own, ordered = self._node.get_fully_qualified_name(), list(peers)
        ours = [peer for peer in ordered if _find_full_name(peer) == own]
        return [peer for peer in ordered if peer not in ours[:1]]

    def _is_bridge(self, peer: Any) -> bool:
        # Names come from other processes: they may be invalid, or not known yet.
        with suppress(ValueError, NameValidationException):
            return self._node.count_services(f'{_find_full_name(peer)}/{_SERVICE}') > 0
        return False

    def list_joint_state_topics(self, but: Iterable[str], like: str, most: int = 20) -> list[str]:
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

    def list_subscriptions(self, peers: Iterable[Any], but: Iterable[str]) -> list[str]:
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


def describe_incompatible_peers(peers: Iterable[Any], ours: Any) -> list[str]:
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
