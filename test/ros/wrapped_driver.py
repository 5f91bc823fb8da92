# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A driver of motors with single-turn encoders, whose motion goes on whoever is looking.

``wrapped_driver.py TURN...``: in which turn each motor wakes up.
"""

from __future__ import annotations

import math
import sys
import time

TURN = 2.0 * math.pi
MOTORS = ('left', 'right', 'free_motor')


def joints_at(seconds):
    """Return roll, pitch and free at a time: the first two quick, the last slow and far."""
    return (
        1.2 * math.sin(2.0 * seconds),
        0.9 * math.cos(1.3 * seconds),
        8.0 + 5.0 * math.sin(0.04 * seconds),
    )


def motors_at(seconds):
    """Return the positions of the motors, of a differential with reductions of 2, and 1:1."""
    roll, pitch, free = joints_at(seconds)
    return 2.0 * (roll + pitch), 2.0 * (roll - pitch), free


def main():
    """Publish at 100 Hz until the process is ended."""
    import rclpy
    from sensor_msgs.msg import JointState

    turns = [int(each) for each in sys.argv[1:4]]
    rclpy.init()
    node = rclpy.create_node('wrapped_driver')
    publisher = node.create_publisher(JointState, 'actuator_states', 10)
    message = JointState(name=MOTORS)
    while rclpy.ok():
        now = time.time()
        readings = [
            each % TURN + turn * TURN for each, turn in zip(motors_at(now), turns, strict=True)
        ]
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(now * 1e9), 10**9)
        message.position = readings
        publisher.publish(message)
        time.sleep(0.01)


if __name__ == '__main__':
    main()
