# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Messages that are too large, cannot be decoded, or hold names that are meant to harm."""

import pytest
from zoo import elements

MIB = 1 << 20

#: A name that begins a line of its own, changes colours and direction, and is long.
HARMFUL = 'm\n[INFO] [0.0] [transmission_bridge]: forged\x1b[31m\x9b31m\u202e' + 'x' * 100_000

#: Characters of a line of the log, and bytes of a diagnostics message, of the reference robot.
LONGEST_LINE, LARGEST_REPORT = 5000, 60_000


def large(message_type, size):
    """Return the bytes of a message of this type and of at least this size."""
    from rclpy.serialization import serialize_message

    message = message_type()
    if hasattr(message, 'data'):
        message.data = [0.5] * (size // 8)
    else:
        message.header.frame_id = 'f' * size
    return serialize_message(message)


def texts(report):
    """Return every text of a diagnostics message."""
    values = [value for status in report.status for value in status.values]
    return [
        *(text for status in report.status for text in (status.name, status.message)),
        *(text for value in values for text in (value.key, value.value)),
    ]


@pytest.fixture
def repeat(peer, harness):
    """Return a function that publishes again and again, as some is lost, until it is seen."""

    def publish(publisher, data, is_seen):
        send = harness.repeat(lambda: publisher.publish(data))
        peer.spin_until(lambda: is_seen() or send(), 'what was published')

    return publish


def test_too_large_or_no_message(peer, reference, active_bridge, repeat, log):
    """On every topic what is above a MiB, or no message, is refused, and the next one is used."""
    node = active_bridge({'command_joints': ['lift']})
    inputs = node._session.inputs
    # A sequence, or a string, that would be longer than the message.
    garbage = bytes([0, 1, 0, 0]) + b'\xff' * 60
    assert len(inputs.subscriptions) == 8
    for topic, subscription in inputs.subscriptions.items():
        kind, statistics = subscription.msg_type, inputs.statistics[topic]
        publisher = peer.publisher(topic, kind=kind)
        repeat(publisher, large(kind, MIB - 2000), lambda s=statistics: s.received)
        assert 'too_large' not in statistics.rejected
        repeat(publisher, large(kind, MIB), lambda s=statistics: s.rejected['too_large'])
        repeat(publisher, garbage, lambda s=statistics: s.rejected['undecodable'])
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    peer.exchange(driver, reference.Message(('winch',), (1.0,), stamp=(5, 0)), joints)
    assert log('bytes, expected at most 1048576; message dropped') > 0


def test_larger_robots_may_send_more(peer, make_bridge, repeat):
    """A message up to ten times as large as one of all names of the robot is used."""
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    names = [f'joint_{number:03}'.ljust(200, 'x') for number in range(600)]
    of_all = len(serialize_message(JointState(name=names, **dict.fromkeys(
        ('position', 'velocity', 'effort'), [0.0] * len(names)
    ))))  # fmt: skip
    assert 10 * of_all > MIB + 10_000
    node = make_bridge({'robot_description': elements.urdf(names, '')})
    peer.start()
    statistics = node._session.inputs.statistics['actuator_states']
    driver = peer.publisher('actuator_states')

    def message(size):
        state = JointState(name=names[:1], position=[1.0])
        state.header.frame_id = 'f' * size
        return serialize_message(state)

    repeat(driver, message(10 * of_all - 2000), lambda: statistics.accepted)
    assert not statistics.rejected
    repeat(driver, message(10 * of_all + 2000), lambda: statistics.rejected['too_large'])


def test_no_description(peer, harness, make_bridge, repeat, log):
    """Bytes that are none, or longer than any, are not kept, and the one before them stays."""
    from rclpy.serialization import serialize_message
    from std_msgs.msg import String

    node = make_bridge()
    publisher = peer.publisher('robot_description', harness.LATCHED, kind=String)
    for text, is_seen in (
        ('<robot>ä</robot>', lambda: node._description.urdf),
        ('<' * (16 * MIB + 4000), lambda: log('robot_description: 16781')),
    ):
        repeat(publisher, serialize_message(String(data=text)), is_seen)
    garbage = bytes([0, 1, 0, 0]) + b'\xff' * 60
    words = 'robot_description: the message cannot be decoded'
    repeat(publisher, garbage, lambda: log(words))
    assert node._description.urdf == '<robot>ä</robot>'


def test_names(live, reference, executor):
    """Names neither make log and diagnostics long, nor reach the terminal, nor forge a line."""
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory

    # Of control characters XML allows the line break and those from 0x7f on.
    odd = 'odd&#10;[INFO] [0.0] [transmission_bridge]: forged&#x9b;31m&#x202e;'
    urdf = reference.URDF.replace('transmission_interface/SimpleTransmission', odd, 1)
    process, peer = live('--executor', executor, urdf=urdf)
    reports = []
    peer.node.create_subscription(DiagnosticArray, '/diagnostics', reports.append, 10)
    states, commands = peer.publisher('actuator_states'), peer.publisher('joint_commands')
    trajectories = peer.publisher('joint_trajectory', kind=JointTrajectory)
    names = [f'{number}{HARMFUL}'[:1000] for number in range(80)]
    told = ('the robot has no joint', 'joint_trajectory: the robot has', 'no name is known')
    rounds = []

    def is_told():
        # With every report once more: some of it is lost.
        if len(reports) > len(rounds):
            rounds.append(True)
            peer.send(commands, reference.Message((HARMFUL,), (1.0,)))
            trajectories.publish(JointTrajectory(joint_names=[HARMFUL]))
            # Unknown names are reported until a known name has come.
            known = ['left'] if told[-1] in process.output else []
            peer.send(states, reference.Message((*known, HARMFUL), (1.0,) * (len(known) + 1)))
            peer.send(states, reference.Message((*known, *names), (1.0,) * (len(known) + 80)))
        return (
            all(each in process.output for each in told)
            and sum('unknown name' in text for text in texts(reports[-1])) == 64
        )

    peer.spin_until(is_told, 'that all is told')
    assert process.stop() == 0
    lines = process.output.splitlines()
    assert any(each.startswith('  [INFO] [0.0]') for each in lines)
    assert not [each for each in lines if each.startswith('[INFO] [0.0]')]
    assert max(map(len, lines)) < LONGEST_LINE
    assert not set('\x1b\x9b\u202e') & set(process.output)
    assert len(serialize_message(reports[-1])) < LARGEST_REPORT
    assert not set('\x1b\x9b\u202e') & set(''.join(texts(reports[-1])))
