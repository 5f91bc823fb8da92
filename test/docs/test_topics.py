# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/interface.md, docs/security.md and the SROS2 policy agree with tables and a live node."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import pytest

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS

ROOT = Path(__file__).parents[2]
NODE = 'transmission_bridge'
PROFILE = ElementTree.parse(resource('config', 'sros2', 'transmission_bridge.policy.xml')).find(
    './/profile'
)

#: Topics of every node with a life cycle, and with simulated time.
OF_EVERY_NODE = {'subscribe': {'/clock'}, 'publish': {'/rosout', '/parameter_events'}}
OF_EVERY_NODE['publish'].add(f'/{NODE}/transition_event')

#: Only under use_sim_time; only where the distribution has it; only with a package.
SOMETIMES = {('subscribe', '/clock'), ('reply', f'/{NODE}/get_type_description')}
SOMETIMES |= {('reply', f'/{NODE}/get_transition_graph')}
SOMETIMES |= {
    ('subscribe', f'/{topic.name}')
    for topic in TOPICS.values()
    if topic.type == 'control_msgs/JointCommand'
}

#: Everything that is optional, switched on.
PARAMETERS = {
    'autostart': 'true',
    'command_joints': '[hinge]',
    'command_actuators': '[hinge_motor]',
}
PARAMETERS_OF_EVERY_NODE = {'use_sim_time', 'start_type_description_service'}


def rows(file, heading):
    """Return the rows of the tables under a heading that begin with a name."""
    text = (ROOT / file).read_text(encoding='utf-8')
    section = text.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    return re.findall(r'^\| `.*\|$', section, re.MULTILINE)


def full_name(name):
    """Return a relative name as the graph has it."""
    return f'/{NODE}/{name[2:]}' if name.startswith('~/') else f'/{name.lstrip("/")}'


def allowed():
    """Return what the policy allows, as kind and full name."""
    return {
        (kind, full_name(each.text.strip()))
        for group in PROFILE
        for kind in group.attrib
        for each in group
    }


def used(peer):
    """Return what the node uses by the graph, types by kind and full name; none if unknown."""
    from rclpy.node import NodeNameNonExistentError

    groups = {
        'publish': peer.node.get_publisher_names_and_types_by_node,
        'subscribe': peer.node.get_subscriber_names_and_types_by_node,
        'reply': peer.node.get_service_names_and_types_by_node,
    }
    try:
        return {
            (kind, name): [re.sub('/(msg|srv)/', '/', each) for each in types]
            for kind, ask in groups.items()
            for name, types in ask(NODE, '/')
        }
    except NodeNameNonExistentError:
        return {}


def test_table_of_the_interface():
    """It has one row for each topic, and one for each service; a parameter's topic is off."""

    def row(topic):
        quality = 'reliable' if topic.quality.reliable else 'best effort'
        quality += ', latched' if topic.quality.latched else ''
        meaning = topic.description
        meaning += f' Exists if `{topic.parameter}` is set.' if topic.parameter else ''
        return f'| `{topic.name}` | {topic.type} | {topic.direction} | {quality} | {meaning} |'

    *topics, zero, absolute = rows('docs/interface.md', 'Topics and services')
    assert topics == [row(topic) for topic in TOPICS.values()]
    assert zero.startswith('| `~/zero` | std_srvs/Trigger | service |')
    assert absolute.startswith('| `~/zero_from_absolute` | std_srvs/Trigger | service |')
    for topic in TOPICS.values():
        assert not topic.parameter or getattr(BridgeOptions(), topic.parameter) == ()
        assert topic.description.endswith('.')


def test_table_of_security():
    """Each topic is in one row, which says its direction."""
    found = []
    for line in rows('docs/security.md', 'SROS2'):
        cell = line.split(' | ')[0]
        direction = re.search(r'\((in|out|services?)\b', cell)[1]
        if 'service' not in direction:
            names = re.findall(r'`([^`]+)`', cell.partition('(')[0])
            found += [(name, direction) for name in names]
    for topic in TOPICS.values():
        ways = {way for pattern, way in found if fnmatchcase(topic.name, pattern)}
        assert topic.direction in ways, topic.name
    assert {name for name, _ in found if '*' not in name} <= {*TOPICS, '/clock'}


def test_policy():
    """It allows every topic of the table in its direction, what every node has, and no other."""
    assert PROFILE.attrib == {'ns': '/', 'node': NODE}
    for direction, kind in (('in', 'subscribe'), ('out', 'publish')):
        ours = {full_name(each.name) for each in TOPICS.values() if each.direction == direction}
        found = {name for each, name in allowed() if each == kind}
        assert found == ours | OF_EVERY_NODE[kind]
    assert len(allowed()) > 30


@pytest.mark.ros
def test_policy_and_parameters_are_those_of_the_node(harness, peer, tmp_path):
    """Of an active bridge every topic and service is allowed, every parameter has a row."""
    bridge = harness.Process(
        'transmission_bridge.ros.bridge_main',
        [
            *('--urdf', resource('urdf', 'one_joint.urdf'), '--ros-args', '--params-file'),
            harness.parameter_file(tmp_path / 'parameters.yaml', PARAMETERS),
        ],
    )
    try:
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        peer.spin_until(
            lambda: used(peer).keys() - SOMETIMES == allowed() - SOMETIMES,
            'the node of the policy',
        )
        types = used(peer)
        for topic in TOPICS.values():
            kind = {'in': 'subscribe', 'out': 'publish'}[topic.direction], full_name(topic.name)
            assert kind in SOMETIMES or types[kind] == [topic.type]
        declared = {
            name
            for name in peer.parameter_names()
            if not name.startswith('qos_overrides.') and name not in PARAMETERS_OF_EVERY_NODE
        }
    except pytest.fail.Exception:
        assert used(peer).keys() - SOMETIMES == allowed() - SOMETIMES
        raise
    finally:
        assert bridge.stop() == 0
        bridge.clean_up()
    cells = (row.strip('|').split(' | ')[0] for row in rows('docs/interface.md', 'Parameters'))
    named = {name for cell in cells for name in re.findall(r'`([^`]+)`', cell)}
    patterns = {re.sub('<.*?>', '[^.]+', re.escape(name)) for name in named}
    assert any(name.startswith('transmissions.') for name in declared)
    assert [name for name in declared if not any(re.fullmatch(p, name) for p in patterns)] == []
    assert {name for name in named if '<' not in name} <= declared
