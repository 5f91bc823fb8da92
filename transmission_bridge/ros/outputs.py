# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The data topics that a configured node publishes; silent unless the node is active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecyclePublisher

from transmission_bridge.ros.qos import OUTPUT, overridable, overriding

__all__ = ['Outputs', 'unasked']


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
