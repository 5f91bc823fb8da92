# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A driver in actuator space. This one reaches each command at once."""

import signal

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState


class Driver(Node):
    """Follow actuator_commands and publish actuator_states."""

    def __init__(self):
        super().__init__('my_driver')
        self.position = {'hinge_motor': 0.0}  # of the motor, before the gear [rad]
        self.states = self.create_publisher(JointState, 'actuator_states', 10)
        self.create_subscription(JointState, 'actuator_commands', self.command, 10)
        self.create_timer(0.01, self.publish)

    def command(self, message):
        """Move. The array of an uncommanded interface is empty and has no effect."""
        self.position.update(zip(message.name, message.position, strict=False))

    def publish(self):
        """Publish the positions of the motors."""
        message = JointState(name=list(self.position), position=list(self.position.values()))
        message.header.stamp = self.get_clock().now().to_msg()
        self.states.publish(message)


def main(kind=Driver):
    """Run until Ctrl-C, which interrupts no callback."""
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node, ended = kind(), []
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))
    while not ended:
        rclpy.spin_once(node, timeout_sec=0.1)


if __name__ == '__main__':
    main()
