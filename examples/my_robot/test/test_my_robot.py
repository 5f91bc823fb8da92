# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The launch file moves the robot. Run by ``colcon test``, or ``launch_test`` with this file."""

import contextlib
import os
from pathlib import Path
import time
import unittest

import pytest

# First, because Python may find a folder launch/ instead of ROS's package.
pytest.importorskip('launch_testing', reason='launch_testing is not installed (ROS has it)')

from domain_coordinator import domain_id
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
import launch_testing
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
import rclpy
from sensor_msgs.msg import JointState

LAUNCH_FILE = Path(__file__).parents[1] / 'launch' / 'my_robot.launch.py'

#: Keeps the domain from other tests until this process ends.
RESERVED = contextlib.ExitStack()


@pytest.mark.launch_test
def generate_test_description():
    """Start everything in a domain without other robots."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(RESERVED.enter_context(domain_id()))
    included = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(LAUNCH_FILE)))
    return LaunchDescription([included, ReadyToTest()])


class TestMyRobot(unittest.TestCase):
    """While everything runs."""

    def setUp(self):
        """Subscribe to both sides of the bridge."""
        rclpy.init()
        self.node = rclpy.create_node('test_my_robot')
        self.at = {}
        for topic in ('joint_states', 'actuator_states'):
            self.node.create_subscription(JointState, topic, self.hear, 10)

    def tearDown(self):
        """Shut down the node."""
        self.node.destroy_node()
        rclpy.shutdown()

    def hear(self, message):
        """Keep the positions of joints and motors."""
        self.at.update(zip(message.name, message.position, strict=True))

    def test_a_command_moves_the_joint(self):
        """The joint moves by 0.5 rad, the motor by -25 rad."""
        expected = {'hinge': 0.5, 'hinge_motor': -25.0}
        publisher = self.node.create_publisher(JointState, 'joint_commands', 10)
        command = JointState(name=['hinge'], position=[0.5])
        deadline = time.monotonic() + 30.0
        # Repeatedly, because the node has just started.
        while self.at != pytest.approx(expected) and time.monotonic() < deadline:
            publisher.publish(command)
            rclpy.spin_once(self.node, timeout_sec=0.1)
        assert self.at == pytest.approx(expected)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After launch has stopped everything."""

    def test_exit_codes(self, proc_info):
        """The bridge ended with exit code 0."""
        assertExitCodes(proc_info)
