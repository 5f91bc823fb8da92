# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Tables of the documents, and the policy of SROS2, list what the package has."""

from __future__ import annotations

from dataclasses import fields, replace
import operator
import re
import xml.etree.ElementTree as ElementTree

from documents import DOCUMENTS
import pytest

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.kinematics import Joint, JointDevice
from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS
from transmission_bridge.transmissions.robot.units import CONSTANTS, UNITS

INTERFACE = DOCUMENTS['commands_and_states.md']


def names_in(text):
    """Return the names in code type."""
    return re.findall(r'`([^`]+)`', text)


# -- docs/commands_and_states.md -----------------------------------------------------------------


def option_row(option):
    """Return the row of the parameter table that an option should have."""
    default = option.default
    if isinstance(default, tuple):
        text = f'[{", ".join(default)}]'
    else:
        text = str(default).lower() if isinstance(default, bool) else str(default) or "''"
    choices = ', '.join(f'`{choice}`' for choice in option.metadata['choices'])
    span = option.metadata['span']
    hint = choices if choices else str(span) if span is not None else ''
    # The node has more: the table has the first sentence.
    meaning = option.metadata['description'].split('. ')[0].removesuffix('.')
    meaning += f' ({hint})' if hint else ''
    return f'| `{option.name}` | `{text}` | {meaning} |'


def test_parameters():
    """Every structural parameter has its row, with the words that the node shows, in order."""
    marker = 'is checked against transmission_bridge/bridge/options/options.py'
    table = INTERFACE.text.split(marker)[1].split('\n\n')[1].splitlines()[2:]
    assert table == [option_row(option) for option in fields(BridgeOptions)]


def test_transmission_types(built_in_types):
    """Every built-in transmission type is in the table, and no other."""
    head = DOCUMENTS['transmissions.md'].text.partition('\n## ')[0]
    assert sorted(re.findall(r'^\| \[`(.*?)`\]', head, re.MULTILINE)) == sorted(built_in_types)


def topic_row(names, topic):
    """Return the row that topics should have which differ in their names only."""
    quality = '' if topic.quality.reliable else ', best effort'
    quality += ', latched' if topic.quality.latched else ''
    meaning = topic.description
    meaning += f' Exists if `{topic.parameter}` is set.' if topic.parameter else ''
    names = ', '.join(f'`{name}`' for name in names)
    return f'| {names} | {topic.type} {topic.direction}{quality} | {meaning} |'


def test_topics_and_services():
    """It has a row for equal topics, and one for each service; a parameter's topic is off."""
    *topics, zero, absolute, store = INTERFACE.rows('Topics and services')
    groups = {}
    for topic in TOPICS.values():
        groups.setdefault(replace(topic, name=''), []).append(topic.name)
    assert topics == [topic_row(names, topic) for topic, names in groups.items()]
    assert [row.split(' | ')[0] for row in (zero, absolute, store)] == [
        '| `~/zero`', '| `~/zero_from_absolute`', '| `~/store_numbers`',
    ]  # fmt: skip


# -- security: docs/operation.md, and the policy --------------------------------------------------

NODE = 'transmission_bridge'


def full_name(name):
    """Return a relative name as the graph has it."""
    return f'/{NODE}/{name[2:]}' if name.startswith('~/') else f'/{name.lstrip("/")}'


def policy():
    """Return the node's profile, and what it allows as kind and full name."""
    file = resource('config', 'sros2', 'transmission_bridge.policy.xml')
    profile = ElementTree.parse(file).find('.//profile')
    allowed = {
        (kind, full_name(each.text.strip()))
        for group in profile
        for kind in group.attrib
        for each in group
    }
    return profile, allowed


#: Only under use_sim_time; only where the distribution has it; only with a package.
SOMETIMES = {
    ('subscribe', '/clock'),
    ('reply', f'/{NODE}/get_type_description'),
    ('reply', f'/{NODE}/get_transition_graph'),
    *(
        ('subscribe', f'/{topic.name}')
        for topic in TOPICS.values()
        if topic.type == 'control_msgs/JointCommand'
    ),
}

#: Everything that is optional, switched on.
OPTIONAL = {'autostart': 'true', 'command_joints': '[hinge]', 'command_actuators': '[hinge_motor]'}


def used_by_the_node(peer):
    """Return what the node uses by the graph, types by kind and full name."""
    kinds = {'publishers': 'publish', 'subscribers': 'subscribe', 'services': 'reply'}
    return {
        (kinds[kind], name): re.sub('/(msg|srv)/', '/', type_name)
        for kind, entities in peer.list_entities(f'/{NODE}').items()
        for name, type_name in entities
    }


@pytest.mark.ros
def test_an_active_bridge_has_what_the_tables_say(start_bridge, harness, peer, tmp_path):
    """Every topic and service of the policy, and no other; a row for every parameter."""
    file = harness.parameter_file(tmp_path / 'parameters.yaml', OPTIONAL)
    bridge = start_bridge('--params-file', file, urdf=resource('urdf', 'one_joint.urdf'))
    _, allowed = policy()
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    peer.spin_until(
        lambda: used_by_the_node(peer).keys() - SOMETIMES == allowed - SOMETIMES,
        'the node of the policy',
    )
    types = used_by_the_node(peer)
    for topic in TOPICS.values():
        kind = {'in': 'subscribe', 'out': 'publish'}[topic.direction], full_name(topic.name)
        assert kind in SOMETIMES or types[kind] == topic.type
    of_every_node = ('qos_overrides.', 'use_sim_time', 'start_type_description_service')
    declared = [name for name in peer.parameter_names() if not name.startswith(of_every_node)]
    assert bridge.stop() == 0
    rows = INTERFACE.rows('Parameters')
    named = {name for row in rows for name in names_in(row.strip('|').split(' | ')[0])}
    patterns = {re.sub('<.*?>', '[^.]+', re.escape(name)) for name in named}
    assert any(name.startswith('transmissions.') for name in declared)
    assert [name for name in declared if not any(re.fullmatch(p, name) for p in patterns)] == []
    assert {name for name in named if '<' not in name} <= set(declared)


# -- other documents -----------------------------------------------------------------------------


def test_units_of_drivers():
    """Each parameter of docs/drivers.md has a row, with all units that it may be."""
    text = DOCUMENTS['drivers.md'].text
    for name, units in UNITS.items():
        row = re.search(rf'^\| `{name}` \| (.*?) \|', text, re.MULTILINE)[1]
        assert row.split(', ') == [f'`{unit}`' for unit in units]
    for name in CONSTANTS:
        assert f'\n| `{name}` | ' in text


def peers(name):
    """Return the two columns of the table of a peer's names in docs/python.md."""
    section = DOCUMENTS['python.md'].section(f'Coming from {name}')
    return re.findall(r'^\| (.*) \| (.*) \|$', section, re.MULTILINE)[1:]


def test_our_names_of_kinematics():
    """Every attribute of a joint or a device in the tables of iDynTree and RobWork is there."""
    joint = Joint('a', 'b', 'revolute', name='j')
    device = JointDevice.from_joints([joint], base='a', end='b')
    things = {'joint': joint, 'device': device, 'JointDevice': JointDevice}
    ours = ' '.join(each for _, each in peers('iDynTree') + peers('RobWork'))
    found = re.findall(r'\b(joint|device|JointDevice)((?:\.\w+)+)', ours)
    assert len(found) > 50
    for thing, names in found:
        operator.attrgetter(names[1:])(things[thing])


def test_every_member_of_ijoint():
    """The table has what the wheel of iDynTree has."""
    reason = 'the wheel idyntree is not installed'
    idyntree = pytest.importorskip('idyntree.bindings', reason=reason)
    theirs = {name for name in vars(idyntree.IJoint) if not name.startswith(('_', 'this'))}
    listed = {name for each, _ in peers('iDynTree') for name in re.findall(r'`(\w+)`', each)}
    assert len(theirs) > 30
    assert theirs <= listed
