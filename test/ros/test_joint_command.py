# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""control_msgs/JointCommand, as JointCommandTopicSystem publishes it."""

from __future__ import annotations

from array import array
import sys
from types import SimpleNamespace

from command_paths import read_sent
import pytest

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

PLUGIN = 'joint_command_topic_hardware_interface/JointCommandTopicSystem'
#: Replaced by a test that has the messages, or has none.
MODULE = 'control_msgs.msg'
INTERFACES = ('position', 'velocity', 'effort')
TOPICS = tuple(f'joint_commands/{interface}' for interface in INTERFACES)


@pytest.fixture
def urdf(reference):
    """Return the reference robot with the component that publishes JointCommand."""
    text = reference.URDF.replace('reference/Hardware', PLUGIN)
    assert text != reference.URDF
    return text


class Wire:
    """
    The topics of a robot before a bridge without a node.

    :ivar topics: What is called with message and time of receipt, by topic.
    """

    def __init__(self, urdf, **options):
        from transmission_bridge.ros.optional_topics import subscribe_joint_commands

        robot = RobotTransmissions(load_description(urdf))
        self.topics = {}
        self.sent = []
        self.bridge = Bridge(robot, BridgeOptions(**options), self.sent.extend)
        inputs = SimpleNamespace(subscribe_commands=self.topics.__setitem__)
        self.names, self.missing = subscribe_joint_commands(inputs, robot, self._take)

    def _take(self, topic, layout, data, now):
        self.bridge.send_joint_command(layout, data, data.stamp, now, topic)

    def send(self, interface, now=0.0, **joints):
        """Receive a command on the topic of an interface."""
        header = SimpleNamespace(stamp=SimpleNamespace(sec=1, nanosec=0), frame_id='')
        message = SimpleNamespace(
            header=header,
            joint_names=list(joints),
            interface_name=interface,
            values=array('d', joints.values()),
        )
        self.topics[f'joint_commands/{interface}'](message, now)


@pytest.mark.parametrize('module', [None, SimpleNamespace(JointState=object)])
def test_topics_exist_for_the_plugin_only(reference, urdf, monkeypatch, module):
    """Without the package, or with one that lacks the message, a sentence names it."""
    monkeypatch.setitem(sys.modules, MODULE, module)
    wire = Wire(reference.URDF)
    assert (wire.topics, wire.names, wire.missing) == ({}, (), '')
    wire = Wire(urdf)
    assert (wire.topics, wire.names) == ({}, ())
    assert PLUGIN in wire.missing
    assert 'install the package control_msgs' in wire.missing


@pytest.mark.parametrize('interface', INTERFACES)
def test_a_joint_command_is_a_joint_command(reference, urdf, monkeypatch, interface):
    """It commands its joints in its interface, whatever their order, and is counted by topic."""
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(JointCommand=object))
    wire, joints = Wire(urdf), {'pitch': 0.25, 'lift': -1.5, 'roll': 0.75}
    assert (wire.names, wire.missing) == (TOPICS, '')
    wire.send(interface, **joints)
    (outgoing,) = wire.sent
    found = read_sent(outgoing).content
    assert found.names == ('winch', 'left', 'right')
    for name, value in zip(found.names, getattr(found, interface), strict=True):
        number = reference.actuator_value(reference.Numbers(), interface, name, joints)
        assert number.equals(value)
    with pytest.raises(MessageError) as caught:
        wire.send(interface, lift=float('inf'))
    assert caught.value.reason == 'infinite'
    wire.send(interface, lift=0.5)
    other = next(each for each in INTERFACES if each != interface)
    wire.send(other, lift=0.25)
    assert wire.bridge.gate.ledger.counts[f'joint_commands/{other}'].contested == {'lift': 1}


def test_everything_else_works_without_the_message(
    peer, make_bridge, reference, urdf, monkeypatch, diagnostics, log
):
    """The diagnostics and the log name the package, and joint_commands are read."""
    monkeypatch.setitem(sys.modules, MODULE, None)
    make_bridge({'robot_description': urdf})
    peer.start()
    words = 'install the package control_msgs'
    diagnostics.said('life cycle', 'active; the commands of ', words, level=b'\x02')
    commands = peer.listen('actuator_commands')
    message = reference.Message(('lift',), position=(0.5,))
    assert peer.exchange(peer.publisher('joint_commands'), message, commands)
    peer.spin_until(lambda: log(words), 'the log')


def test_messages_of_the_real_type(peer, make_bridge, reference, urdf):
    """The topics take control_msgs/JointCommand from a publisher of depth 1, with all counts."""
    messages = pytest.importorskip('control_msgs.msg', reason='control_msgs is not installed')
    if not hasattr(messages, 'JointCommand'):
        pytest.skip('the installed control_msgs has no JointCommand')
    node = make_bridge({'robot_description': urdf, 'max_command_age': 1.0})
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
        publisher = peer.node.create_publisher(messages.JointCommand, topic, 1)
        peer.spin_until(publisher.get_subscription_count, f'a reader of {topic}')
        now = peer.node.get_clock().now()
        send(publisher, interface, now, lift=0.5)
        field = interface
        peer.spin_until(
            lambda field=field: any(len(getattr(each, field)) for each in commands),
            f'a command of {field}',
        )
        assert commands[-1].names == ('winch',)
        count = statistics[topic]
        for number, (stamp, name) in enumerate(
            ((now, 'other'), (type(now)(seconds=1, clock_type=now.clock_type), interface)), 2
        ):
            send(publisher, name, stamp, lift=0.5)
            peer.spin_until(lambda c=count, n=number: c.received == n, 'the message')
        assert count.rejected == {'other_interface': 1, 'too_old': 1}
        assert count.accepted == 1
