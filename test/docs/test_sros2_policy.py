# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The security policy allows what a bridge uses, and nothing else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

NODE = 'transmission_bridge'
PROFILE = ElementTree.parse(resource('config', 'sros2', 'transmission_bridge.policy.xml')).find(
    './/profile'
)

#: Everything that is optional, switched on.
PARAMETERS = {
    'command_joints': ['hinge'],
    'command_actuators': ['hinge_motor'],
}

#: Only under use_sim_time; only where the distribution has it; only with a package.
SOMETIMES = {('subscribe', '/clock'), ('reply', f'/{NODE}/get_type_description')}
SOMETIMES |= {('reply', f'/{NODE}/get_transition_graph')}
SOMETIMES |= {
    ('subscribe', f'/{topic.name}')
    for topic in TOPICS.values()
    if topic.type == 'control_msgs/JointCommand'
}


def allowed():
    """Return what the policy allows, as kind and full name."""
    found = set()
    for group in PROFILE:
        ((kind, _),) = group.attrib.items()
        for each in group:
            found.add((kind, full_name(each.text.strip())))
    return found


def full_name(name):
    """Return a relative name as the graph has it."""
    return f'/{NODE}/{name[2:]}' if name.startswith('~/') else f'/{name}'


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


def test_policy_is_that_of_the_node(harness, peer, tmp_path):
    """Every topic and service of an active bridge is allowed, and no other; types are right."""
    options = {name: str(value) for name, value in PARAMETERS.items()}
    file = harness.parameter_file(tmp_path / 'parameters.yaml', {**options, 'autostart': 'true'})
    bridge = harness.Process(
        'transmission_bridge.ros.bridge_main',
        ['--urdf', resource('urdf', 'one_joint.urdf'), '--ros-args', '--params-file', file],
    )
    try:
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        peer.spin_until(
            lambda: used(peer).keys() - SOMETIMES == allowed() - SOMETIMES,
            'the node of the policy',
            seconds=10.0,
        )
        types = used(peer)
        for topic in TOPICS.values():
            name = full_name(topic.name.lstrip('/'))
            kind = {'in': 'subscribe', 'out': 'publish'}[topic.direction]
            assert (kind, name) in SOMETIMES or types[kind, name] == [topic.type]
    except pytest.fail.Exception:
        assert used(peer).keys() - SOMETIMES == allowed() - SOMETIMES
        raise
    finally:
        assert bridge.stop() == 0
        bridge.clean_up()


def test_the_policy_has_the_names_of_its_place():
    """Profile and enclave are those that docs/security.md tells to use."""
    assert PROFILE.attrib == {'ns': '/', 'node': NODE}
    assert len(allowed()) > 30
