# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The data topics that a configured node publishes; silent unless the node is active."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node

from transmission_bridge.errors import ParameterError
from transmission_bridge.ros.qos import OUTPUT, overridable, overriding

__all__ = ['Outputs', 'check_separate', 'unasked']


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


def unasked(publisher: Any) -> Callable[[bytes], None]:
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
