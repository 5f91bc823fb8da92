# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The scenarios of ``launch_scenarios.py``, with plain processes and, where it is, with launch.

The plain processes get the command lines that launch would give them, from the same plans.
"""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import threading

from launch_scenarios import ALL, name_of
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = [pytest.mark.ros, pytest.mark.parametrize('name', ALL)]

#: Seconds before a process is started again, as in the launch files, and between looks.
RESPAWN_DELAY, LOOK = 1.0, 0.02

MODULES = {
    'bridge_node': 'transmission_bridge.ros.bridge_main',
    'simulated_driver': 'transmission_bridge.ros.simulated_driver_main',
}


def command_line(plan, parameters):
    """Return the arguments of an executable that start what launch would start."""
    line = ['--urdf', plan.description_file]
    line += ['--ros-args', '-r', f'__node:={plan.name}', '--log-level', plan.log_level]
    if plan.namespace:
        line += ['-r', f'__ns:=/{plan.namespace}']
    for old, new in plan.remappings:
        line += ['-r', f'{old}:={new}']
    if plan.params_file:
        line += ['--params-file', plan.params_file]
    for name, value in {**plan.switches, **parameters}.items():
        line += ['-p', f'{name}:={value}']
    return line


class Processes:
    """Plain child processes of the test, which its harness starts."""

    def __init__(self, harness):
        self._harness = harness
        self._nodes, self._crashed, self._watches = {}, [], []
        self._stopping = threading.Event()

    def start(self, plan, parameters):
        """Start a node, with further parameters that override its plan."""
        line = command_line(plan, parameters)

        def make():
            module, env = MODULES[plan.executable], self._harness.KILLED
            lives.append(self._harness.Process(module, line, env=env))

        def respawn():
            while not self._stopping.wait(LOOK):
                if lives[-1].exit_code is not None and not self._stopping.wait(RESPAWN_DELAY):
                    make()

        lives = self._nodes[name_of(plan)] = []
        make()
        if plan.respawn == 'true':
            self._watches.append(threading.Thread(target=respawn, daemon=True))
            self._watches[-1].start()

    def crash(self, name):
        """Kill a node."""
        self._crashed.append(self._nodes[name][-1])
        self._crashed[-1].stop(9)

    def all(self):
        """Return all processes; no other follows."""
        self._stopping.set()
        for watch in self._watches:
            watch.join()
        return [process for lives in self._nodes.values() for process in lives]

    def end_well(self):
        """End all but those that crashed by SIGINT: with exit code 0 and without a traceback."""
        running = [process for process in self.all() if process not in self._crashed]
        assert running
        for process in running:
            assert process.stop() == 0, process.output
            assert 'Traceback' not in process.output


@pytest.fixture
def processes(harness):
    """Return a system of plain processes; what is left of it ends with the test."""
    system = Processes(harness)
    yield system
    for process in system.all():
        process.clean_up()


def test_with_plain_processes(name, processes, peer):
    """The scenario holds, and SIGINT ends every process well."""
    ALL[name](processes, peer)
    processes.end_well()


def test_with_launch_testing(name):
    """The scenario holds under launch_testing, ``launch_test launch_testing_scenario.py``."""
    # Not launch: in a checkout our own folder of that name would be found as an empty package.
    pytest.importorskip(
        'launch_testing', reason='launch_testing is not installed (ROS has it, there is no wheel)'
    )
    file = str(Path(__file__).with_name('launch_testing_scenario.py'))
    result = subprocess.run(
        [sys.executable, '-m', 'launch_testing.launch_test', file, f'scenario:={name}'],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr.count('\nOK') == 2, result.stderr
