# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The node ``states_waiter``: ends with exit code 0 when the first joint position is published.

``topic_based.launch.py`` starts controllers at its end. If a controller is active before its
joints have states, ros2_control's limiter starts at NaN, and the first command may be any step.
Started with ``python3 -m transmission_bridge.ros.states_waiter``.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import signal
import sys
from typing import Any, TYPE_CHECKING

from transmission_bridge.ros.process import run

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

NAME = 'states_waiter'

#: Period of the reminder in the log [s].
_REMINDER = 10.0


class _Waiter:
    """
    The callbacks of a node. It is not a subclass, so that rclpy is imported late.

    :ivar has_states: Whether a joint position was received.
    """

    def __init__(self, node: Any) -> None:
        from rclpy.clock import Clock
        from rclpy.clock_type import ClockType
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        self.has_states = False
        self._node = node
        # Compatible with any publisher.
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(
            JointState, 'joint_states', self._end_at_first_state, qos
        )
        self._topic_name = str(self._subscription.topic_name)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_REMINDER, self._remind, clock=steady)
        node.get_logger().info(
            f'waiting for the first joint position on {self._topic_name} to start controllers'
        )

    def _end_at_first_state(self, message: JointState) -> None:
        if not self.has_states and any(map(math.isfinite, message.position)):
            self.has_states = True
            # The process ends in order, as any node.
            signal.raise_signal(signal.SIGTERM)

    def _remind(self) -> None:
        publishers = self._node.count_publishers(self._topic_name)
        self._node.get_logger().warning(
            f'no controllers yet: no joint position on {self._topic_name} ({publishers} '
            'publishers); is the driver running, and the bridge active? See /diagnostics'
        )


def main(args: Sequence[str] | None = None) -> int:
    """
    Wait for a joint position.

    :param args: ROS arguments, by default from the command line.
    :returns: 0 if it came, 1 if a signal stopped the process before.
    """
    waiters = []

    def make_waiter() -> Any:
        from rclpy.node import Node

        # It needs no services and no log topic.
        node = Node(NAME, start_parameter_services=False, enable_rosout=False)
        waiters.append(_Waiter(node))
        return node

    code = run(make_waiter, sys.argv[1:] if args is None else args)
    return code or int(not any(waiter.has_states for waiter in waiters))


if __name__ == '__main__':
    raise SystemExit(main())
