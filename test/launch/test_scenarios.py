# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The scenarios of ``scenarios.py``, with plain processes everywhere and with launch where it is.

The plain processes get the command lines that launch would give them, from the same plans.
"""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

FOLDER = Path(__file__).parent

#: By name, because the module needs rclpy, whose import warns.
SCENARIOS = (
    'whole_life_cycle', 'parameters_from_file', 'two_robots', 'two_topic_based_robots',
    'driver_and_bridge_crash',
)  # fmt: skip


@pytest.fixture
def scenarios(load, harness):
    """Return the functions by name."""
    return load('launch_scenarios', FOLDER / 'scenarios.py').ALL


def test_every_scenario_is_run(scenarios):
    """The list above has all scenarios."""
    assert tuple(scenarios) == SCENARIOS


@pytest.mark.parametrize('name', SCENARIOS)
def test_with_plain_processes(scenarios, name, processes, peer, tmp_path):
    """The scenario holds, and SIGINT ends every process with 0 and without a traceback."""
    scenarios[name](processes, peer, tmp_path)
    ended = processes.interrupt()
    assert ended
    for code, output in ended:
        assert code == 0, output
        assert 'Traceback' not in output


@pytest.mark.parametrize('name', SCENARIOS)
def test_with_launch_testing(name):
    """The scenario holds under launch_testing, ``launch_test launch_testing_scenario.py``."""
    # Not launch: in a checkout our own folder of that name would be found as an empty package.
    pytest.importorskip(
        'launch_testing', reason='launch_testing is not installed (ROS has it, there is no wheel)'
    )
    file = str(FOLDER / 'launch_testing_scenario.py')
    result = subprocess.run(
        [sys.executable, '-m', 'launch_testing.launch_test', file, f'scenario:={name}'],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr.count('\nOK') == 2, result.stderr
