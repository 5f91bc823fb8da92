# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One scenario under launch_testing.

::

    launch_test test/launch/launch_testing_scenario.py scenario:=two_robots
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import signal
import sys
import tempfile
import unittest

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.events import IncludeLaunchDescription
import launch_testing
import launch_testing.actions
import launch_testing.asserts
import launch_testing.markers

from transmission_bridge.ros.launching import make_node_action

FOLDER = Path(__file__).parent


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


harness = _load('launch_harness', FOLDER.parent / 'ros' / 'harness.py')
scenarios = _load('launch_scenarios', FOLDER / 'scenarios.py')
name_of = _load('launch_systems', FOLDER / 'systems.py').name_of


@launch_testing.markers.keep_alive
def generate_test_description():
    """Start nothing: the scenario does, in a domain of its own."""
    os.environ['RCUTILS_COLORIZED_OUTPUT'] = '0'
    return LaunchDescription(
        [
            DeclareLaunchArgument('scenario', choices=list(scenarios.ALL)),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class Launched:
    """
    Nodes that launch starts, watches and respawns.

    :param service: The launch service that runs.
    :param proc_output: What launch_testing has heard of the processes.
    """

    def __init__(self, service, proc_output):
        self._service = service
        self._output = proc_output
        self._actions = {}

    def start(self, plan, parameters=None):
        """Start a node, with further parameters that override its plan."""
        action = make_node_action(plan, [parameters] if parameters else [])
        self._actions[name_of(plan)] = action
        self._service.emit_event(IncludeLaunchDescription(LaunchDescription([action])))

    def output(self, name):
        """Return everything that a node has said, in all its lives."""
        try:
            heard = self._output[self._actions[name]]
        except KeyError:
            return ''
        return ''.join(each.text.decode() for each in heard)

    def crash(self, name):
        """Kill a node."""
        os.kill(self._actions[name].process_details['pid'], signal.SIGKILL)


class TestScenario(unittest.TestCase):
    """While the processes run."""

    def test_scenario(self, launch_service, proc_output, test_args):
        """The scenario holds."""
        peer = harness.Peer()
        try:
            with tempfile.TemporaryDirectory() as folder:
                system = Launched(launch_service, proc_output)
                scenarios.ALL[test_args['scenario']](system, peer, Path(folder))
        finally:
            peer.destroy()


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
