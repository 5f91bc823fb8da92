# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The waiter for states in the launch files, as a process."""

from __future__ import annotations

import math
import signal
import subprocess

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

LINE = (
    '-m', 'transmission_bridge.ros.states_waiter', '--ros-args',
    '-r', '__ns:=/cell', '-r', 'joint_states:=robot_joint_states',
)  # fmt: skip
WAITING = 'the first joint position on /cell/robot_joint_states'


def test_it_ends_with_the_first_position(start, peer):
    """It ignores states without a known position, and ends with 0 when there is one."""
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    states = peer.node.create_publisher(
        JointState, 'cell/robot_joint_states', qos_profile_sensor_data
    )
    child = start(*LINE)
    child.wait_for(WAITING)
    peer.spin_until(states.get_subscription_count)
    states.publish(JointState())
    states.publish(JointState(name=['a', 'b'], position=[math.nan, math.nan]))
    with pytest.raises(subprocess.TimeoutExpired):
        child.ended(within=1.0)
    states.publish(JointState(name=['a', 'b'], position=[math.nan, 0.0]))
    assert child.ended() == 0
    assert 'Traceback' not in child.output


def test_it_tells_that_it_was_stopped(start):
    """Its exit code is not 0 if no position has come, so that no controllers start."""
    child = start(*LINE)
    child.wait_for(WAITING)
    child.signal(signal.SIGINT)
    assert child.ended() == 1
    assert 'Traceback' not in child.output
