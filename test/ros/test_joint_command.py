# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""control_msgs/JointCommand, as JointCommandTopicSystem publishes it."""

from array import array
import sys
from types import SimpleNamespace

import pytest
from world import reason, World
from zoo import reference

PLUGIN = 'joint_command_topic_hardware_interface/JointCommandTopicSystem'
#: The reference robot with the component that publishes JointCommand.
URDF = reference.URDF.replace('reference/Hardware', PLUGIN)
#: Replaced by a test that has the messages, or has none.
MODULE = 'control_msgs.msg'
INTERFACES = reference.FIELDS
TOPICS = tuple(f'joint_commands/{interface}' for interface in INTERFACES)


def subscribed(world):
    """Return the callbacks of the topics by name, their names, and what is missing."""
    from transmission_bridge.ros.channels import subscribe_joint_commands

    topics = {}
    inputs = SimpleNamespace(
        subscribe_commands=topics.__setitem__, replace_stamp=lambda topic, stamp, now: stamp
    )
    return topics, *subscribe_joint_commands(inputs, world.robot, world.gate.send_joint_command)


@pytest.mark.parametrize('module', [None, SimpleNamespace(JointState=object)])
def test_topics_exist_for_the_plugin_only(monkeypatch, module):
    """Without the package, or with one that lacks the message, a sentence names it."""
    monkeypatch.setitem(sys.modules, MODULE, module)
    assert subscribed(World(reference.URDF)) == ({}, (), '')
    topics, names, missing = subscribed(World(URDF))
    assert (topics, names) == ({}, ())
    assert PLUGIN in missing
    assert 'install the package control_msgs' in missing


@pytest.mark.parametrize('interface', INTERFACES)
def test_a_joint_command_is_a_joint_command(monkeypatch, interface):
    """It commands its joints in its interface, whatever their order, and is counted by topic."""
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(JointCommand=object))
    world, joints = World(URDF), {'pitch': 0.25, 'lift': -1.5, 'roll': 0.75}
    topics, names, missing = subscribed(world)
    assert (names, missing) == (TOPICS, '')

    def send(interface, **joints):
        header = SimpleNamespace(stamp=SimpleNamespace(sec=1, nanosec=0), frame_id='')
        numbers = {'joint_names': list(joints), 'values': array('d', joints.values())}
        message = SimpleNamespace(header=header, interface_name=interface, **numbers)
        topics[f'joint_commands/{interface}'](message, world.now)

    send(interface, **joints)
    ((_, found),) = world.sent
    assert found.names == ('winch', 'left', 'right')
    for name, value in zip(found.names, getattr(found, interface), strict=True):
        assert reference.actuator_value(reference.Numbers(), interface, name, joints).equals(value)
    assert reason(send, interface, lift=float('inf')) == 'infinite'
    send(interface, lift=0.5)
    other = next(each for each in INTERFACES if each != interface)
    send(other, lift=0.25)
    assert world.counts[f'joint_commands/{other}'].contested == {'lift': 1}


def test_everything_else_works_without_the_message(
    peer, make_bridge, monkeypatch, diagnostics, log
):
    """The diagnostics and the log name the package, and joint_commands are read."""
    monkeypatch.setitem(sys.modules, MODULE, None)
    make_bridge({'robot_description': URDF})
    peer.start()
    words = 'install the package control_msgs'
    diagnostics.said('life cycle', 'active; missing: the commands of ', words, level=b'\x02')
    commands = peer.listen('actuator_commands')
    message = reference.Message(('lift',), position=(0.5,))
    assert peer.exchange(peer.publisher('joint_commands'), message, commands)
    peer.spin_until(lambda: log(words), 'the log')


def test_messages_of_the_real_type(peer, make_bridge):
    """The topics take control_msgs/JointCommand from a publisher of depth 1, with all counts."""
    messages = pytest.importorskip('control_msgs.msg', reason='control_msgs is not installed')
    if not hasattr(messages, 'JointCommand'):
        pytest.skip('the installed control_msgs has no JointCommand')
    node = make_bridge({'robot_description': URDF})
    peer.start()
    commands = peer.listen('actuator_commands')
    statistics = node._session.inputs.statistics
    assert set(TOPICS) < set(node._session.command_topics)

    def send(publisher, interface, stamp, **joints):
        message = messages.JointCommand(
            joint_names=list(joints), interface_name=interface, values=list(joints.values())
        )
        message.header.stamp = stamp.to_msg()
        publisher.publish(message)

    for topic, interface in zip(TOPICS, INTERFACES, strict=True):
        publisher = peer.publisher(topic, 1, kind=messages.JointCommand)
        now = peer.node.get_clock().now()
        send(publisher, interface, now, lift=0.5)
        field = interface
        peer.spin_until(
            lambda field=field: any(len(getattr(each, field)) for each in commands),
            f'a command of {field}',
        )
        assert commands[-1].names == ('winch',)
        count = statistics[topic]
        send(publisher, 'other', now, lift=0.5)
        peer.spin_until(lambda count=count: count.received == 2, 'the message')
        assert count.rejected == {'other_interface': 1}
        assert count.accepted == 1
