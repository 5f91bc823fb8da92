# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tables of the README name what a running node has, and nothing else."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = [pytest.mark.ros, pytest.mark.once]

README = (Path(__file__).parents[2] / 'README.md').read_text(encoding='utf-8')

NODE = 'transmission_bridge'

#: Everything that is optional, switched on.
PARAMETERS = {
    'autostart': 'true',
    'command_joints': '[hinge]',
    'command_actuators': '[hinge_motor]',
    'tip_frames': '[arm_link]',
}

#: What every node, or every node with a life cycle, has.
OF_EVERY_NODE = {'/rosout', '/parameter_events', '/clock', f'/{NODE}/transition_event'}
SERVICES_OF_EVERY_NODE = re.compile('parameter|type_description|state|transition')
PARAMETERS_OF_EVERY_NODE = {'use_sim_time', 'start_type_description_service'}


def rows(heading):
    """Return the rows of the tables under a heading, as lists of cells."""
    section = README.split(f'\n## {heading}\n')[1].split('\n## ')[0]
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


def promised():
    """Return topics and the service of the bridge, as direction, full name and type."""
    own = [(topic.direction, topic.name, topic.type) for topic in TOPICS.values()]
    return {
        (way, f'/{NODE}/{name[2:]}' if name.startswith('~/') else f'/{name.lstrip("/")}', kind)
        for way, name, kind in (*own, ('service', '~/zero', 'std_srvs/Trigger'))
    }


def used(node):
    """Return what the graph says of the bridge, in the form of the table."""
    from rclpy.node import NodeNameNonExistentError

    try:
        groups = {
            'in': node.get_subscriber_names_and_types_by_node(NODE, '/'),
            'out': node.get_publisher_names_and_types_by_node(NODE, '/'),
            'service': node.get_service_names_and_types_by_node(NODE, '/'),
        }
    except NodeNameNonExistentError:
        return set()
    return {
        (way, name, re.sub('/(msg|srv)/', '/', kind))
        for way, group in groups.items()
        for name, (kind,) in group
        if name not in OF_EVERY_NODE
        and not (way == 'service' and SERVICES_OF_EVERY_NODE.search(name))
    }


def test_topics_and_services(bridge, peer):
    """Each is there with the type and direction of ``ros/topics``, which the README repeats."""
    table = promised()
    try:
        peer.spin_until(lambda: used(peer.node) == table, 'the table', seconds=10.0)
    except pytest.fail.Exception:
        assert used(peer.node) == table
        raise


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
