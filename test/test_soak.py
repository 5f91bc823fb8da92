# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The soak, for seconds instead of minutes: that it counts, not what it measures of memory."""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

SOAK = Path(__file__).parents[1] / 'benchmarks' / 'soak.py'


@pytest.mark.usefixtures('harness')
def test_every_message_is_taken_and_answered(tmp_path):
    """Messages in both directions are accepted and come back once and in order."""
    figures = tmp_path / 'figures.json'
    command = [
        sys.executable,
        SOAK,
        f'--json={figures}',
        '--seconds=2',
        '--rate=200',
        '--joints=6',
    ]
    run = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout
    found = json.loads(figures.read_text(encoding='utf-8'))
    assert set(found['topics']) == {'actuator_states', 'joint_commands'}
    for counts in found['topics'].values():
        assert counts['sent'] > 0
        assert counts['taken'] == counts['back'] == counts['sent']
        assert counts['rejected'] == counts['out of order'] == 0
    assert found['exit code'] == 0
    assert len(found['memory [MiB]']) >= 2
