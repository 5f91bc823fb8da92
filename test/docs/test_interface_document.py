# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The parameters of docs/interface.md are those of a running node, and no other."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

INTERFACE = (Path(__file__).parents[2] / 'docs' / 'interface.md').read_text(encoding='utf-8')

NODE = 'transmission_bridge'

#: Everything that is optional, switched on.
PARAMETERS = {
    'autostart': 'true',
    'command_joints': '[hinge]',
    'command_actuators': '[hinge_motor]',
}

#: What every node has.
PARAMETERS_OF_EVERY_NODE = {'use_sim_time', 'start_type_description_service'}


def rows(heading):
    """Return the rows of the tables under a heading, as lists of cells."""
    section = INTERFACE.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    lines = re.findall(r'^\| `.*\|$', section, re.MULTILINE)
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in lines]


def names_in(cell):
    """Return what stands between backquotes."""
    return re.findall(r'`([^`]+)`', cell)


@pytest.fixture
def bridge(harness, peer, tmp_path):
    """Start a bridge with everything switched on, and wait until it is active."""
    file = harness.parameter_file(tmp_path / 'parameters.yaml', PARAMETERS)
    process = harness.Process(
        'transmission_bridge.ros.bridge_main',
        ['--urdf', resource('urdf', 'one_joint.urdf'), '--ros-args', '--params-file', file],
    )
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    yield process
    process.clean_up()


def test_parameters(bridge, peer):
    """Each has a row, with the pattern of its name where it belongs to a transmission."""
    patterns = {
        re.sub('<.*?>', '[^.]+', re.escape(name))
        for row in rows('Parameters')
        for name in names_in(row[0])
    }
    declared = {
        name
        for name in peer.parameter_names()
        if not name.startswith('qos_overrides.') and name not in PARAMETERS_OF_EVERY_NODE
    }
    assert any(name.startswith('transmissions.') for name in declared)
    missing = [name for name in declared if not any(re.fullmatch(each, name) for each in patterns)]
    assert missing == []
    plain = {name for row in rows('Parameters') for name in names_in(row[0]) if '<' not in name}
    assert plain <= declared
