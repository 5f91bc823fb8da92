# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Mistakes of users, and what looks like one."""

import signal


def test_a_bridge_that_was_killed_and_started_again(live, harness):
    """Its killed self is no trouble."""
    first, _ = live(how={'env': harness.KILLED})
    first.stop(signal.SIGKILL)
    _, peer = live()
    diagnostics = harness.Diagnostics(peer)
    for _ in range(4):
        assert 'same name' not in diagnostics.said('life cycle').message
        assert 'other publishers' not in diagnostics.statuses['joint_states'].message
        assert diagnostics.statuses['commands of joint_commands'].message == 'OK'


def test_unknown_joints(active_bridge, peer, reference, log):
    """Each unknown joint is named with the closest known, however many; they flood no log."""
    active_bridge()
    controller, actuators = peer.publisher('joint_commands'), peer.listen('actuator_commands')

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
    assert 8 <= log('the robot has no joint') <= 9
