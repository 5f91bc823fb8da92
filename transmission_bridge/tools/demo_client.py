# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The demo's own place on the network: sends joint commands and listens to all four topics."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
import time
from typing import Any

from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.demo_comparison import Sample

__all__ = ['TOPICS', 'DemoClient']

INTERFACES = ('position', 'velocity', 'effort')

#: Each pair is what the bridge is given and what it makes of it.
TOPICS = ('joint_commands', 'actuator_commands', 'actuator_states', 'joint_states')

#: Messages that may wait for us: what is missed cannot be compared.
_DEPTH = 1000

#: Seconds over which rates are averaged.
_RATE_WINDOW = 2.0


class DemoClient:
    """
    Listens to the bridge and its driver, and commands joints.

    :param receive: Called with the topic and every message on it, those sent included.
    :ivar latest: The newest message by topic.
    :raises UsageError: If rclpy is not installed.
    """

    def __init__(self, receive: Callable[[str, Sample], None]) -> None:
        try:
            import rclpy
            from rclpy.context import Context
            from rclpy.executors import SingleThreadedExecutor
            from rclpy.node import Node
            from rclpy.signals import SignalHandlerOptions
            from sensor_msgs.msg import JointState
        except ModuleNotFoundError as error:
            raise UsageError(
                f'{error.name} is not installed: source a ROS 2 installation, or '
                "'pip install transmission_bridge[kilted]' (or [jazzy])"
            ) from None
        self._message_type = JointState
        self._receive = receive
        self._times: dict[str, deque[float]] = {topic: deque() for topic in TOPICS}
        self.latest: dict[str, Sample] = {}
        self._context = Context()
        try:
            # Signals are for the command, which has processes to end.
            rclpy.init(
                args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO
            )
            self._node = Node(
                'demo', context=self._context, use_global_arguments=False, enable_rosout=False
            )
        except RuntimeError as error:  # an impossible ROS_DOMAIN_ID or RMW_IMPLEMENTATION
            raise UsageError(f'ROS cannot be used: {error}') from None
        self._publisher = self._node.create_publisher(JointState, TOPICS[0], _DEPTH)
        for topic in TOPICS[1:]:
            self._node.create_subscription(JointState, topic, self._listener(topic), _DEPTH)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def spin_for(self, seconds: float) -> None:
        """Handle what arrives in this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    @property
    def is_heard(self) -> bool:
        """Whether somebody takes our commands."""
        return bool(self._publisher.get_subscription_count() > 0)

    def rate(self, topic: str) -> float:
        """Return the messages per second of late [Hz]."""
        times = self._times[topic]
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

    def command(self, values: Mapping[str, Mapping[str, float]]) -> None:
        """
        Send a joint command.

        :param values: By interface, then by joint; the same joints for each interface.
        """
        message = self._message_type()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.name = list(values['position'])
        for interface, by_name in values.items():
            setattr(message, interface, list(by_name.values()))
        # Before it is sent, because the answer may be quick.
        self._take(TOPICS[0], message)
        self._publisher.publish(message)

    def _listener(self, topic: str) -> Callable[[Any], None]:
        return lambda message: self._take(topic, message)

    def _take(self, topic: str, message: Any) -> None:
        now = time.monotonic()
        times = self._times[topic]
        times.append(now)
        while times[0] < now - _RATE_WINDOW:
            times.popleft()
        self.latest[topic] = _sample(message)
        self._receive(topic, self.latest[topic])


def _sample(message: Any) -> Sample:
    """Return the values by name; one that a short array lacks is missing."""
    return Sample(
        (message.header.stamp.sec, message.header.stamp.nanosec),
        {
            interface: dict(zip(message.name, values, strict=False))
            for interface in INTERFACES
            if len(values := getattr(message, interface))
        },
    )
