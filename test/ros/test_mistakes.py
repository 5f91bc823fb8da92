# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Mistakes of users.

Each is said within three seconds, in the log once and in diagnostics as long as it lasts.
"""

from __future__ import annotations

import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

OK, WARN = b'\x00', b'\x01'

#: Reports of diagnostics, which come once a second, until a mistake is in them.
SOON = 4


@pytest.fixture
def driver(harness, peer, reference):
    """Return a function that has a driver send all actuators, and returns what ends it."""
    ends = []

    def start():
        node = harness.rclpy.create_node(
            'driver', context=peer.context, use_global_arguments=False
        )
        publisher = node.create_publisher(harness.JointState, 'actuator_states', 10)
        message = reference.Message(reference.ACTUATORS, position=(0.5,) * 6)
        timer = peer.node.create_timer(0.02, lambda: peer.send(publisher, message))

        def end():
            ends.remove(end)
            peer.node.destroy_timer(timer)
            node.destroy_node()

        ends.append(end)
        return end

    yield start
    while ends:
        ends[-1]()


def test_the_start_line(active_bridge, log):
    """The log has the active state and the names of the topics after remapping."""
    active_bridge(
        {'command_joints': ['lift']},
        namespace='left',
        cli_args=['--ros-args', '-r', 'actuator_states:=/motors/states'],
    )
    assert log('active: subscribes to ', '; publishes ') == 1
    for name in ('joint_commands', 'position_commands', 'joint_trajectory'):
        assert log('active: subscribes to ', f' /left/{name}', '; publishes ') == 1
    for words in (' /motors/states', '; publishes /left/', '/left/joint_states'):
        assert log('active: ', words) == 1


def test_no_driver(active_bridge, diagnostics, driver, log):
    """A missing driver, and one that has gone, is reported until one comes, once in the log."""
    active_bridge({'state_timeout': 0.0})
    words = 'no message yet, /actuator_states has 0 publishers'
    begin = diagnostics.reports
    diagnostics.said('actuator_states', words, level=WARN)
    assert diagnostics.reports - begin <= SOON
    for name in ('joint_commands', 'joint_trajectory', 'actuator_torque_sensors'):
        diagnostics.said(name, level=OK)
    assert log(words) == 1
    end = driver()
    diagnostics.said('actuator_states', level=OK)
    diagnostics.said('actuators', 'all known', level=OK)
    end()
    begin = diagnostics.reports
    diagnostics.said('actuator_states', 'no message for', '0 publishers', level=WARN)
    assert diagnostics.reports - begin <= SOON
    driver()
    diagnostics.said('actuator_states', level=OK)
    assert log('ended after', words) == 1
    assert log(words) == 2


def test_a_bridge_that_was_killed_and_started_again(live, harness):
    """Its killed self is no trouble."""
    first, _ = live(how={'env': harness.KILLED})
    first.stop(signal.SIGKILL)
    _, peer = live()
    diagnostics = harness.Diagnostics(peer)
    for _ in range(4):
        assert 'same name' not in diagnostics.said('life cycle').message
        assert 'other publishers' not in diagnostics.statuses['joint_states'].message
        commands = diagnostics.statuses['commands of joint_commands']
        assert commands.message == 'OK'


def test_unknown_joints(active_bridge, peer, reference, log):
    """Each unknown joint is named with the closest known, however many; they flood no log."""
    active_bridge()
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    begin = time.monotonic()

    def send(*names):
        peer.send(controller, reference.Message(names, position=(0.1,) * len(names)))

    for names, words in (
        (('rolll',), "no joint 'rolll' (closest: 'roll'); nothing was moved"),
        (('zzz',), "no joint 'zzz'; nothing was moved"),
        (('liftt', *'abcd'), "no joint 'liftt' (closest: 'lift'), 'a', 'b' and 2 more; nothing"),
    ):
        for _ in range(3):
            send(*names)
        peer.spin_until(lambda words=words: log('joint_commands: the robot has', words), words)
    assert log("'rolll'") == 1
    for number in range(300):
        send(f'joint_{number}')
        peer.spin_until(lambda: True)
    # The last of all comes through, so that nothing is still on its way.
    peer.exchange(controller, reference.Message(('lift',), velocity=(0.1,)), actuators)
    assert 8 <= log('the robot has no joint') <= 9 * (1 + (time.monotonic() - begin) // 5.0)
