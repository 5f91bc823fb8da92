# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A driver with ticks as its unit. Replace the simulated bus with your serial bus."""

import signal

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from simulated_bus import Bus

JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper')
SERVOS = {f'{joint}_servo': number for number, joint in enumerate(JOINTS, start=1)}


class Driver(Node):
    """Follow actuator_commands and publish actuator_states, both in ticks."""

    def __init__(self):
        super().__init__('servo_driver')
        self.bus = Bus(SERVOS.values())
        self.ticks = {name: float(self.bus.read(number)) for name, number in SERVOS.items()}
        self.states = self.create_publisher(JointState, 'actuator_states', 10)
        self.create_subscription(JointState, 'actuator_commands', self.command, 10)
        self.create_timer(0.02, self.publish)

    def command(self, message):
        """Send goals, counted like the states."""
        for name, goal in zip(message.name, message.position, strict=False):
            self.bus.write_goal(SERVOS[name], round(goal))

    def publish(self):
        """Read all servos, 0 to 4095 each, and continue the count when 0 follows 4095."""
        for name, number in SERVOS.items():
            self.ticks[name] += (self.bus.read(number) - self.ticks[name] + 2048) % 4096 - 2048
        message = JointState(name=list(SERVOS), position=list(self.ticks.values()))
        message.header.stamp = self.get_clock().now().to_msg()
        self.states.publish(message)


if __name__ == '__main__':
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node, ended = Driver(), []
    signal.signal(signal.SIGINT, lambda *_: ended.append(True))  # interrupts no callback
    while not ended:
        rclpy.spin_once(node, timeout_sec=0.1)
