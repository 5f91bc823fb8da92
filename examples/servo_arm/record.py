# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Record joint states until Ctrl-C: python3 record.py FOLDER TOPIC ..."""

import signal
import sys
import time

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores
from sensor_msgs.msg import JointState

folder, *topics = sys.argv[1:]
silent, ended = set(topics), []
types = get_typestore(Stores.ROS2_JAZZY)
rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
signal.signal(signal.SIGINT, lambda *_: ended.append(True))  # interrupts no callback
node = rclpy.create_node('record')
qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)  # fits every publisher
with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
    for topic in topics:
        connection = bag.add_connection(topic, 'sensor_msgs/msg/JointState', typestore=types)

        def write(data, topic=topic, connection=connection):
            """Record a message."""
            bag.write(connection, time.time_ns(), data)
            if topic in silent:
                silent.remove(topic)
                print('recording', topic, flush=True)

        node.create_subscription(JointState, topic, write, qos, raw=True)
    while not ended:
        rclpy.spin_once(node, timeout_sec=0.1)
if silent:
    sys.exit(f'no message on {", ".join(sorted(silent))}')
