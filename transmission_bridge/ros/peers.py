# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find peers in the graph on a topic.

The graph is polled, because the middleware's events about peers crash the events executor. A
killed node stays in the graph until its lease expires (20 s).
"""

from __future__ import annotations

from collections.abc import Iterable
import copy
from typing import Any

from rclpy.duration import Infinite
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile

from transmission_bridge.bridge.diagnostics import TOOLS
from transmission_bridge.errors import shown

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
            publishers = self._node.get_publishers_info_by_topic(topic) if count else []
            self._publishers[topic] = publishers
        return self._publishers[topic]

    def list_subscribers(self, topic: str) -> list[Any]:
        """Return the subscribers of a topic, without the tools of this package."""
        if not self._node.count_subscribers(self.resolve_topic(topic)):
            return []
        peers = self._node.get_subscriptions_info_by_topic(topic)
        return [peer for peer in peers if not peer.node_name.startswith(TOOLS)]

    def list_rivals(self, topic: str) -> list[str]:
        """Return the names of other nodes that publish a topic of this node."""
        names = list_node_names(self.list_publishers(topic))
        # Of our full name, all but one are a namesake's.
        full_name = shown(self._node.get_fully_qualified_name())
        if full_name in names:
            names.remove(full_name)
        return sorted(set(names))


def list_node_names(peers: Iterable[Any]) -> list[str]:
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
