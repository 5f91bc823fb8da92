# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The yardstick: a node that republishes what it receives, as a user would write it. Frozen."""

import rclpy
from sensor_msgs.msg import JointState


def main():
    """Relay actuator_states to joint_states."""
    rclpy.init()
    node = rclpy.create_node('typed_relay')
    publisher = node.create_publisher(JointState, 'joint_states', 10)
    node.create_subscription(JointState, 'actuator_states', publisher.publish, 10)
    rclpy.spin(node)


main()
