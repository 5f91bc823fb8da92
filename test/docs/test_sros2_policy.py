# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The security policy allows what a bridge uses, and nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = [pytest.mark.ros, pytest.mark.once]

NODE = 'transmission_bridge'
PROFILE = ElementTree.parse(resource('config', 'sros2', 'transmission_bridge.policy.xml')).find(
    './/profile'
)

#: Everything that is optional, switched on.
PARAMETERS = {
    'command_joints': ['hinge'],
    'command_actuators': ['hinge_motor'],
    'tip_frames': ['arm_link'],
}

#: Only under use_sim_time; only where the distribution has it.
SOMETIMES = {('subscribe', '/clock'), ('reply', f'/{NODE}/get_type_description')}
SOMETIMES |= {('reply', f'/{NODE}/get_transition_graph')}


def allowed():
    """Return what the policy allows, as kind and full name."""
    found = set()
    for group in PROFILE:
        ((kind, _),) = group.attrib.items()
        for each in group:
            name = each.text.strip()
            found.add((kind, f'/{NODE}/{name[2:]}' if name.startswith('~/') else f'/{name}'))
    return found


def used(peer):
    """Return what the node uses by the graph, as kind and full name; none if it is unknown."""
    from rclpy.node import NodeNameNonExistentError

    try:
        return used_by(peer.node)
    except NodeNameNonExistentError:
        return set()


def used_by(node):
    """Ask one node of what it knows of the other."""
    return (
        {('publish', name) for name, _ in node.get_publisher_names_and_types_by_node(NODE, '/')}
        | {
            ('subscribe', name)
            for name, _ in node.get_subscriber_names_and_types_by_node(NODE, '/')
        }
        | {('reply', name) for name, _ in node.get_service_names_and_types_by_node(NODE, '/')}
    )


def test_policy_is_that_of_the_node(harness, peer, tmp_path):
    """Every topic and service of an active bridge is allowed, and no other."""
    options = {name: str(value) for name, value in PARAMETERS.items()}
    file = harness.parameter_file(tmp_path / 'parameters.yaml', {**options, 'autostart': 'true'})
    bridge = harness.Process(
        'transmission_bridge.ros.bridge_main',
        ['--urdf', resource('urdf', 'one_joint.urdf'), '--ros-args', '--params-file', file],
    )
    try:
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        peer.spin_until(
            lambda: used(peer) - SOMETIMES == allowed() - SOMETIMES,
            'the node of the policy',
            seconds=10.0,
        )
    except pytest.fail.Exception:
        assert used(peer) - SOMETIMES == allowed() - SOMETIMES
        raise
    finally:
        assert bridge.stop() == 0
        bridge.clean_up()


def test_the_policy_has_the_names_of_its_place():
    """Profile and enclave are those that docs/security.md tells to use."""
    assert PROFILE.attrib == {'ns': '/', 'node': NODE}
    assert len(allowed()) > 30
