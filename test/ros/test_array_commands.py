# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands as plain arrays, into the bridge and out of it, over real DDS."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

INPUTS = ('position_commands', 'velocity_commands', 'effort_commands')
OUTPUTS = tuple(f'actuator_{topic}' for topic in INPUTS)
JOINTS = ['pitch', 'lift', 'roll']
ACTUATORS = ['right', 'winch', 'left']


@pytest.fixture
def wire(peer):
    """Return functions that connect to a node inside this process, both ways."""
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension

    class Wire:
        def __init__(self, node):
            self.node = node

        def sender(self, topic):
            """Return a function that publishes numbers on a topic."""
            publisher = peer.node.create_publisher(Float64MultiArray, topic, 10)
            peer.spin_until(publisher.get_subscription_count, f'a reader of {topic}')

            def send(*numbers, labels=False):
                message = Float64MultiArray(data=[float(number) for number in numbers])
                if labels:
                    message.layout.dim = [MultiArrayDimension(label='nonsense', size=99, stride=7)]
                    message.layout.data_offset = 1
                publisher.publish(message)

            return send

        def arrays(self, topic):
            """Return a list that grows by a list of numbers for every message on a topic."""
            heard = []
            peer.node.create_subscription(
                Float64MultiArray, topic, lambda message: heard.append(list(message.data)), 100
            )
            self.found(topic)
            return heard

        def commands(self):
            """Return a list that grows by a record for every actuator command."""
            heard = peer.listen('actuator_commands')
            self.found('actuator_commands')
            return heard

        def found(self, topic):
            """Return when the node's publisher has found our subscription."""
            publisher = self.node._session.outputs.publishers[topic]
            peer.spin_until(publisher.get_subscription_count, f'our reader of {topic}')

        def settled(self, topic, count):
            """Return the statistics of a topic when so many messages have been taken."""
            statistics = self.node._session.inputs.statistics[topic]
            peer.spin_until(lambda: statistics.received == count, f'{count} messages on {topic}')
            return statistics

    return Wire


def test_topics_only_if_asked_for(active_bridge):
    """Without an order there are no such topics, with it there are all three."""
    node = active_bridge()
    assert set(INPUTS) & set(node._session.inputs.statistics) == set()
    assert set(OUTPUTS) & set(node._session.outputs.publishers) == set()


def test_topics_if_asked_for(active_bridge):
    """The two orders stand for themselves."""
    node = active_bridge({'command_joints': JOINTS})
    assert set(INPUTS) <= set(node._session.inputs.statistics)
    assert set(OUTPUTS) & set(node._session.outputs.publishers) == set()


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'command_joints': ['lift', 'nobody']}, "'nobody' is not a joint that may be commanded"),
        ({'command_joints': ['lift', 'dial']}, "'dial' is not a joint that may be commanded"),
        ({'command_joints': ['lift', 'roll', 'lift']}, "'lift' is repeated"),
        ({'command_actuators': ['left', 'lift']}, "'lift' is not an actuator of the robot"),
        ({'command_actuators': ['left', 'left']}, "'left' is repeated"),
        (
            {'actuator_state_topics': ['joint_commands']},
            "'joint_commands' would have two subscriptions",
        ),
    ],
)
def test_wrong_order_fails_configure(peer, make_bridge, reference, capfd, parameters, words):
    """An unknown name fails the configuration, and the error has the name."""
    node = make_bridge({'robot_description': reference.URDF, **parameters})
    assert not peer.change_state('configure')
    assert peer.state() == 'unconfigured'
    assert words in capfd.readouterr().err
    assert node._session is None
    assert list(node._managed_entities) == []


@pytest.mark.parametrize('topic', INPUTS)
def test_mapped_by_order(peer, active_bridge, reference, wire, topic):
    """The numbers are for the joints of the parameter, whatever the message's layout says."""
    bridge = wire(active_bridge({'command_joints': JOINTS}))
    commands, send = bridge.commands(), bridge.sender(topic)
    send(0.25, -1.5, 0.75, labels=True)
    peer.spin_until(lambda: commands, 'a command')
    field = topic.removesuffix('_commands')
    joints = {'pitch': 0.25, 'lift': -1.5, 'roll': 0.75}
    (command,) = commands
    assert command.names == ('winch', 'left', 'right')
    for name, value in zip(command.names, getattr(command, field), strict=True):
        assert reference.actuator_value(reference.Numbers(), field, name, joints).equals(value)
    assert [len(getattr(command, each)) for each in reference.FIELDS if each != field] == [0, 0]
    assert command.stamp > (0, 0)


def test_dropped_as_a_whole(peer, active_bridge, wire):
    """A wrong size or an invalid number drops the message, which is counted by reason."""
    bridge = wire(active_bridge({'command_joints': JOINTS}))
    commands, send = bridge.commands(), bridge.sender('velocity_commands')
    for numbers in ((), (1.0,), (1.0,) * 4, (1.0, math.nan, 1.0), (math.inf, 1.0, 1.0)):
        send(*numbers)
    send(1.0, 2.0, 3.0)
    statistics = bridge.settled('velocity_commands', 6)
    assert statistics.rejected == {'size': 3, 'not_finite': 2}
    peer.spin_until(lambda: commands, 'the last command')
    assert len(commands) == 1
    assert len(commands[0].velocity) == 3


def test_limits_partial_commands_and_sources(peer, active_bridge, reference, wire):
    """Arrays obey the rules of all commands: coupled joints hold, sources are distinguished."""
    node = active_bridge({'command_joints': ['roll']})
    bridge = wire(node)
    commands, send = bridge.commands(), bridge.sender('position_commands')
    send(1.0)
    statistics = bridge.settled('position_commands', 1)
    assert statistics.rejected == {'partial': 1}
    controller = peer.publisher('joint_commands')
    peer.send(controller, reference.Message(('roll', 'pitch'), position=(0.0, 0.5)))
    bridge.settled('joint_commands', 1)
    send(1.0)
    bridge.settled('position_commands', 2)
    peer.spin_until(lambda: len(commands) == 2, 'both commands')
    for name, value in zip(commands[1].names, commands[1].position, strict=True):
        number = reference.actuator_value(
            reference.Numbers(), 'position', name, {'roll': 1.0, 'pitch': 0.5}
        )
        assert number.equals(value)
    assert node._session.gate.ledger.counts['position_commands'].contested == {'roll': 1}


def test_actuator_arrays(peer, active_bridge, reference, wire):
    """Beside actuator_commands goes an array, when every actuator in it has such a command."""
    bridge = wire(active_bridge({'command_actuators': ACTUATORS}))
    commands, controller = bridge.commands(), peer.publisher('joint_commands')
    arrays = {topic: bridge.arrays(topic) for topic in OUTPUTS}
    wrist = {'roll': 0.5, 'pitch': -0.25}
    peer.send(controller, reference.Message(tuple(wrist), position=tuple(wrist.values())))
    peer.send(controller, reference.Message(('lift',), position=(2.0,)))
    peer.send(controller, reference.Message(('lift',), velocity=(1.0,)))
    peer.send(controller, reference.Message(('roll',), position=(0.0,)))
    peer.send(controller, reference.Message(('lift',), position=(3.0,)))
    peer.send(controller, reference.Message(('finger',), position=(3.0,)))
    peer.spin_until(lambda: len(commands) == 6, 'all commands')
    # Wrist and lift are complete with the second and the fifth; the others miss the lift's
    # position, or do not concern the order.
    peer.spin_until(lambda: len(arrays['actuator_position_commands']) == 2, 'two arrays')
    numbers = reference.Numbers()
    for found, joints in zip(
        arrays['actuator_position_commands'],
        (wrist | {'lift': 2.0}, wrist | {'lift': 3.0, 'roll': 0.0}),
        strict=True,
    ):
        for name, value in zip(ACTUATORS, found, strict=True):
            assert reference.actuator_value(numbers, 'position', name, joints).equals(value)
    assert arrays['actuator_velocity_commands'] == arrays['actuator_effort_commands'] == []


def test_last_words(peer, active_bridge, reference, wire):
    """Velocity zero on deactivation goes to who listens to arrays, too."""
    bridge = wire(active_bridge({'command_actuators': ['winch'], 'command_joints': ['lift']}))
    arrays, send = bridge.arrays('actuator_velocity_commands'), bridge.sender('velocity_commands')
    send(1.0)
    peer.spin_until(lambda: arrays, 'an array')
    assert peer.change_state('deactivate')
    peer.spin_until(lambda: len(arrays) == 2, 'the last array')
    np.testing.assert_array_equal(arrays, [[-4.0], [0.0]])


def test_nothing_is_remembered(peer, active_bridge, reference, wire):
    """After deactivation and activation, arrays wait for new commands to be complete."""
    bridge = wire(active_bridge({'command_actuators': ['winch', 'finger']}))
    arrays, controller = (
        bridge.arrays('actuator_position_commands'),
        peer.publisher('joint_commands'),
    )
    peer.send(controller, reference.Message(('lift',), position=(1.0,)))
    bridge.settled('joint_commands', 1)
    assert peer.change_state('deactivate')
    assert peer.change_state('activate')
    peer.send(controller, reference.Message(('finger',), position=(1.0,)))
    bridge.settled('joint_commands', 2)
    peer.send(controller, reference.Message(('lift',), position=(1.3,)))
    bridge.settled('joint_commands', 3)
    peer.spin_until(lambda: arrays, 'the array')
    assert [len(each) for each in arrays] == [2]
    np.testing.assert_allclose(arrays[0], [-4.0, 1.0], rtol=1e-15)
