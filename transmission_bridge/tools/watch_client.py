# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The place of ``watch`` on the network: listens, and sends nothing."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import Status
from transmission_bridge.tools.bags.model import JOINT_STATE
from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.watch_state import ARRAYS, WatchState

__all__ = ['WatchClient']

_DEPTH = 50

#: Seconds to wait for a message at a time.
_STEP = 0.02


class WatchClient:
    """
    Fills a :class:`WatchState`.

    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is none.
    """

    def __init__(self, state: WatchState) -> None:
        try:
            from diagnostic_msgs.msg import DiagnosticArray
            import rclpy
            from rclpy.context import Context
            from rclpy.exceptions import InvalidNamespaceException
            from rclpy.executors import SingleThreadedExecutor
            from rclpy.node import Node
            from rclpy.qos import QoSProfile, ReliabilityPolicy
            from rclpy.signals import SignalHandlerOptions
            from sensor_msgs.msg import JointState
        except ModuleNotFoundError as error:
            raise UsageError(
                f'{error.name} is not installed: source a ROS 2 installation, or '
                "'pip install transmission_bridge[kilted]' (or [jazzy])"
            ) from None
        self._state = state
        self._context = Context()
        try:
            rclpy.init(
                args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO
            )
            self._node = Node(
                'transmission_bridge_watch',
                namespace=state.namespace,
                context=self._context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except InvalidNamespaceException:
            self._context.try_shutdown()
            raise UsageError(f"'{state.namespace}' is no namespace") from None
        except (RuntimeError, ValueError) as error:
            raise UsageError(f'ROS cannot be used: {error}') from None
        # Best effort hears every publisher.
        profile = QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._message_type, self._profile = JointState, profile
        self._topics: dict[str, str] = {}
        self._follow()
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnosed, profile)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def spin_for(self, seconds: float) -> None:
        """Handle what arrives in this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # The same each time: with another time limit the executor begins anew with the first
            # topic, and a busy one keeps the others from ever being heard.
            self._executor.spin_once(timeout_sec=_STEP)
        self._follow()

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _follow(self) -> None:
        """Listen to the topics that the bridge names, and look who publishes; nothing is sent."""
        for topic in self._state.topics:
            if topic not in self._topics:
                self._topics[topic] = self._node.resolve_topic_name(topic)
                self._node.create_subscription(
                    self._message_type, topic, self._listener(topic), self._profile
                )
        self._state.publishers = {topic: self._publishers(topic) for topic in self._topics}
        bridges = {f'/{bridge.name}' for bridge in self._state.bridges}
        self._state.elsewhere = [
            name
            for name, types in self._node.get_topic_names_and_types()
            if JOINT_STATE in types
            and name not in self._topics.values()
            and not bridges.issuperset(self._publishers(name))
        ]

    def _publishers(self, topic: str) -> list[str]:
        return [
            f'{peer.node_namespace.rstrip("/")}/{peer.node_name}'
            for peer in self._node.get_publishers_info_by_topic(topic)
        ]

    def _listener(self, topic: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            arrays = {name: getattr(message, name) for name in ARRAYS}
            self._state.take(topic, message.name, arrays, time.monotonic())

        return take

    def _diagnosed(self, message: Any) -> None:
        statuses = (
            Status(
                status.name,
                status.level[0] if isinstance(status.level, bytes) else int(status.level),
                status.message,
                tuple((value.key, value.value) for value in status.values),
            )
            for status in message.status
        )
        self._state.take_diagnostics(statuses, time.monotonic())
