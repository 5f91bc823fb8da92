# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The node ``demo_mover``: moves the joints of the example arm until another node commands them.

Started by ``demo.launch.py``, or with ``python3 -m transmission_bridge.ros.demo_mover``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import sys
from typing import Any, TYPE_CHECKING

from transmission_bridge.ros.executors import run
from transmission_bridge.sim.demo_motion import command_at, MOTIONS

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

__all__ = ['NAME', 'main']

NAME = 'demo_mover'

_PERIOD = 0.02

#: Stamps of commands that are remembered, because the bridge may not have answered them yet.
_REMEMBERED = 500


class _Mover:
    """
    The callbacks of a node; not a subclass, so that rclpy is imported late.

    :param node: The node.
    """

    def __init__(self, node: Any) -> None:
        from rclpy.clock import Clock
        from rclpy.clock_type import ClockType
        from sensor_msgs.msg import JointState

        self._node = node
        self._message_type = JointState
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Any = None
        self._start: dict[str, float] = {}
        self._stamps: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._publisher = node.create_publisher(JointState, 'joint_commands', 10)
        node.create_subscription(JointState, 'joint_states', self._take_state, 10)
        node.create_subscription(JointState, 'actuator_commands', self._take_command, 10)

    def _take_state(self, message: JointState) -> None:
        """Start from the present positions, once those of all joints of the arm are known."""
        positions = dict(zip(message.name, message.position, strict=False))
        if self._timer is not None or not MOTIONS.keys() <= positions.keys():
            return
        self._start = {name: positions[name] for name in MOTIONS}
        self._began = self._steady.now()
        self._timer = self._node.create_timer(_PERIOD, self._move, clock=self._steady)
        self._node.get_logger().info('moving the arm, until somebody else commands it')

    def _move(self) -> None:
        elapsed = (self._steady.now() - self._began).nanoseconds * 1e-9
        command = command_at(elapsed, self._start)
        message = self._message_type()
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._stamps.append(_stamp(message))
        message.name = list(MOTIONS)
        message.position = [command['position'][name] for name in MOTIONS]
        message.velocity = [command['velocity'][name] for name in MOTIONS]
        self._publisher.publish(message)

    def _take_command(self, message: JointState) -> None:
        """
        Stop when the bridge answers a command of another node, which it tells by the stamp.

        A subscription of joint_commands would mislead a node that publishes there once, as soon
        as there is a subscriber.
        """
        if _stamp(message) in self._stamps or self._timer is None or self._timer.is_canceled():
            return
        self._timer.cancel()
        self._node.get_logger().info('somebody else commands the joints: moving no more')


def _stamp(message: JointState) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


def main(args: Sequence[str] | None = None) -> int:
    """
    Run the node until it is told to stop.

    :param args: ROS arguments, those of the command line by default.
    :returns: The exit code.
    """

    def make_node() -> Any:
        from rclpy.node import Node

        from transmission_bridge.ros.requests import guard_requests

        node = Node(NAME)
        _Mover(node)
        guard_requests(node)
        return node

    return run(make_node, sys.argv[1:] if args is None else args)


if __name__ == '__main__':
    raise SystemExit(main())
