# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One scenario under launch_testing.

::

    launch_test test/launch/launch_testing_scenario.py scenario:=two_robots
"""

from __future__ import annotations

import os
from pathlib import Path
import signal
import sys
import unittest

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.events import IncludeLaunchDescription
import launch_testing
import launch_testing.actions
import launch_testing.asserts
import launch_testing.markers

from transmission_bridge.ros.launching import make_node_action

TEST = Path(__file__).parents[1]
sys.path += [str(TEST / 'support'), str(TEST / 'ros')]

import harness  # noqa: E402
import launch_scenarios  # noqa: E402


@launch_testing.markers.keep_alive
def generate_test_description():
    """Start nothing: the scenario does, in a domain of its own."""
    os.environ['RCUTILS_COLORIZED_OUTPUT'] = '0'
    return LaunchDescription(
        [
            DeclareLaunchArgument('scenario', choices=list(launch_scenarios.ALL)),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class Launched:
    """Nodes that a launch service starts, watches and respawns."""

    def __init__(self, service):
        self._service = service
        self._actions = {}

    def start(self, plan, parameters):
        """Start a node, with further parameters that override its plan."""
        action = make_node_action(plan, [parameters])
        self._actions[launch_scenarios.name_of(plan)] = action
        self._service.emit_event(IncludeLaunchDescription(LaunchDescription([action])))

    def crash(self, name):
        """Kill a node."""
        os.kill(self._actions[name].process_details['pid'], signal.SIGKILL)


class TestScenario(unittest.TestCase):
    """While the processes run."""

    def test_scenario(self, launch_service, test_args):
        """The scenario holds."""
        peer = harness.Peer()
        self.addCleanup(peer.destroy)
        launch_scenarios.ALL[test_args['scenario']](Launched(launch_service), peer)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After launch has sent SIGINT to all."""

    def test_exit_codes(self, proc_info, test_args):
        """Each process ended with 0, or was killed by the scenario."""
        crashed = [-signal.SIGKILL] if test_args['scenario'].endswith('_crash') else []
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[0, *crashed])
        assert len(list(proc_info)) > 0

    def test_no_traceback(self, proc_output):
        """None of them ended in a traceback."""
        assert 'Traceback' not in ''.join(each.text.decode() for each in proc_output)
