# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A bridge as one writes it first: typed messages, a dictionary, a loop. Frozen."""

import rclpy
from sensor_msgs.msg import JointState


def main():
    """Divide every actuator by a ratio."""
    rclpy.init()
    node = rclpy.create_node('naive_bridge')
    publisher = node.create_publisher(JointState, 'joint_states', 10)

    def convert(message):
        joints = JointState(header=message.header)
        rows = zip(message.name, message.position, message.velocity, message.effort, strict=True)
        for name, position, velocity, effort in rows:
            joints.name.append(name)
            joints.position.append(position / 50.0 + 0.1)
            joints.velocity.append(velocity / 50.0)
            joints.effort.append(effort * 50.0)
        publisher.publish(joints)

    node.create_subscription(JointState, 'actuator_states', convert, 10)
    rclpy.spin(node)


main()
