# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission type of another package, in a bridge that runs as a process."""

from __future__ import annotations

import math
import os
from pathlib import Path
import shutil
import subprocess
import sys

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'custom_transmission'


@pytest.fixture
def installed_example(tmp_path, monkeypatch):
    """Install the example package where processes started from here find it."""
    source = tmp_path / 'source'
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns('*.egg-info', 'build'))
    site = tmp_path / 'site'
    subprocess.run(
        [
            sys.executable, 'setup.py', '--quiet', 'build_py',
            'install_lib', '--install-dir', str(site),
            'install_egg_info', '--install-dir', str(site),
        ],
        cwd=source, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    before = os.environ.get('PYTHONPATH', '')
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(filter(None, [str(site), before])))


def test_a_bridge_maps_through_a_plugin_of_another_package(
    harness, peer, start_process, installed_example, tmp_path
):
    """
    The node finds the example's type by its entry point and maps states through it.

    By hand: tan(q - off) = tan(a / ar) / cos(b), and the rate is its derivative.
    """
    urdf = (EXAMPLE / 'urdf' / 'bent_shaft.urdf').read_text(encoding='utf-8')
    parameters = harness.parameter_file(
        tmp_path / 'robot.yaml',
        {'robot_description': harness.quoted(urdf), 'autostart': 'true'},
        '/**',
    )
    bridge = start_process(
        'transmission_bridge.ros.bridge_main', '--ros-args', '--params-file', parameters
    )
    joints = peer.listen('joint_states')
    driver = peer.publisher('actuator_states')
    message = JointStateRecord(
        (7, 0), '', ('tool_motor',), np.array([2.4]), np.array([0.6]), np.array([5.0])
    )
    (answer,) = peer.exchange(driver, message, joints)

    bend, reduction, offset, turn = 0.5, 3.0, 0.1, 2.4 / 3.0
    ratio = math.cos(bend) / (
        (math.cos(turn) * math.cos(bend)) ** 2 + math.sin(turn) ** 2
    ) / reduction  # fmt: skip
    assert answer.names == ('tool_joint',)
    assert answer.position[0] == pytest.approx(
        math.atan(math.tan(turn) / math.cos(bend)) + offset, rel=1e-12
    )
    assert answer.velocity[0] == pytest.approx(ratio * 0.6, rel=1e-12)
    assert answer.effort[0] == pytest.approx(5.0 / ratio, rel=1e-12)
    assert bridge.stop() == 0
    assert 'Traceback' not in bridge.output
