# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Who is on a topic but cannot be talked to, because the qualities of service do not fit.

Asked of the graph: the events that the middleware sends about it crash the events executor.
"""

from __future__ import annotations

from collections.abc import Iterable
import copy
from typing import Any

from rclpy.duration import Infinite
from rclpy.node import Node
from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile

from transmission_bridge.errors import shown

__all__ = ['incompatible_publishers', 'incompatible_subscribers']


def incompatible_publishers(node: Node, topic: str, ours: QoSProfile) -> list[str]:
    """
    Return the publishers of a topic that a subscription of ours does not hear, with the reason.

    :param topic: Its name as it was given when the subscription was made.
    :param ours: What the subscription asks for.
    """
    return _incompatible(
        (peer, *qos_check_compatible(_resolved(peer.qos_profile), _resolved(ours)))
        for peer in node.get_publishers_info_by_topic(topic)
    )


def incompatible_subscribers(node: Node, topic: str, ours: QoSProfile) -> list[str]:
    """Return the subscribers of a topic that do not hear a publisher of ours, with the reason."""
    return _incompatible(
        (peer, *qos_check_compatible(_resolved(ours), _resolved(peer.qos_profile)))
        for peer in node.get_subscriptions_info_by_topic(topic)
    )


def _incompatible(peers: Iterable[tuple[Any, QoSCompatibility, str]]) -> list[str]:
    return [
        f'{shown(_name(peer))} ({reason.rstrip(";")})'
        for peer, compatibility, reason in peers
        if compatibility == QoSCompatibility.ERROR
    ]


def _name(peer: Any) -> str:
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
