# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The floor: bytes in, the same bytes out, on the fastest executor there is. Frozen."""

import rclpy
from rclpy.task import Future
from sensor_msgs.msg import JointState

try:
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

rclpy.init()
node = rclpy.create_node('raw_relay')
publisher = node.create_publisher(JointState, 'joint_states', 10)
node.create_subscription(JointState, 'actuator_states', publisher.publish, 10, raw=True)
executor = Executor()
executor.add_node(node)
while rclpy.ok():
    executor.spin_until_future_complete(Future(), timeout_sec=1.0)
