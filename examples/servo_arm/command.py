# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Command joints until they reach their goals: ``python3 command.py hinge=0.5``."""

import sys
import time

import rclpy
from sensor_msgs.msg import JointState

STEP = 0.1  # rad, less than velocity limit x 0.15 s (max_step)
try:
    goal = {name: float(number) for name, number in (each.split('=') for each in sys.argv[1:])}
except ValueError:
    sys.exit(f'{__doc__}\nexpected joint=number, found {" ".join(sys.argv[1:])}')
rclpy.init()
node = rclpy.create_node('command')
at, sent = {}, {}  # joint positions: from the bridge, and commanded


def receive(message):
    """Keep the latest positions."""
    at.update(zip(message.name, message.position, strict=True))


node.create_subscription(JointState, 'joint_states', receive, 10)
publisher = node.create_publisher(JointState, 'joint_commands', 10)
deadline = time.monotonic() + 10.0
# Repeatedly, because messages before the discovery of driver and bridge are lost.
while sent != goal or any(abs(at[name] - goal[name]) > 0.01 for name in goal):
    if time.monotonic() > deadline:
        unknown = ', '.join(goal.keys() - at)
        if at and unknown:  # the bridge omits a joint in an unknown turn
            sys.exit(f'no position of {unknown}: unknown to the bridge, or in an unknown turn')
        sys.exit(f'not at {goal}, clamped to the limits or not moved: {at or "no joint_states"}')
    # In steps from the measured positions, because a joint cannot jump to its goal.
    sent = {n: max(at[n] - STEP, min(at[n] + STEP, goal[n])) for n in goal.keys() & at}
    if sent:
        publisher.publish(JointState(name=list(sent), position=list(sent.values())))
    rclpy.spin_once(node, timeout_sec=0.1)
print({name: at[name] for name in goal})
