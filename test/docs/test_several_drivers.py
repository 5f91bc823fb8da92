# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two arms whose drivers use the same names: the files of the document, run as it says."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

ARMS = ('left', 'right')

#: Motor turns per turn of the joints of M1 and M2.
RATIOS = {'left': (50.0, 20.0), 'right': (-50.0, -20.0)}


def newest(heard, *names):
    """Return the newest positions of names, NaN where one is missing."""
    found = dict(zip(heard[-1].names, heard[-1].position, strict=True)) if heard else {}
    return [found.get(name, np.nan) for name in names]


def test_two_drivers_with_the_same_names(start_script, start_bridge, peer, folder, message):
    """Each M1 is its own: states go up to its joint, commands and zeros down to its driver."""
    for arm in ARMS:
        start_script('arm_driver.py', '--ros-args', '-r', f'__ns:=/{arm}')
    bridge = start_bridge('--params-file', folder / 'two_arms.yaml', urdf='two_arms.urdf')
    joints = peer.listen('joint_states')
    motors = {arm: peer.listen(f'{arm}/actuator_states') for arm in ARMS}
    commands = {arm: peer.listen(f'{arm}/actuator_commands') for arm in ARMS}
    publisher = peer.publisher('joint_commands')
    names = [f'{arm}_{joint}' for arm in ARMS for joint in ('shoulder', 'elbow')]
    peer.spin_until(lambda: newest(joints, *names) == [0.0] * 4, 'four joints at zero')

    def stand(*positions):
        peer.spin_until(
            lambda: np.allclose(newest(joints, *names), positions), f'joints at {positions}'
        )

    for stamp, (arm, joint, goal) in enumerate((('left', 'shoulder', 0.5), ('right', 'elbow', 1))):
        command = message({f'{arm}_{joint}': goal}, stamp=stamp + 1)
        peer.exchange(publisher, command, commands[arm])
    stand(0.5, 0.0, 0.0, 1.0)
    assert {each.stamp for each in commands['left']} == {(1, 0)}
    wanted = dict(zip(names, (0.5, 0.25, -0.75, 1.0), strict=True))
    for arm in ARMS:
        (sent,) = peer.exchange(publisher, message(wanted, stamp=3), commands[arm])
        here = [wanted[f'{arm}_shoulder'], wanted[f'{arm}_elbow']] * np.array(RATIOS[arm])
        assert sent.names == ('M1', 'M2')
        np.testing.assert_allclose(sent.position, here)
        peer.spin_until(
            lambda: np.allclose(newest(motors[arm], 'M1', 'M2'), here), 'its motors there'
        )
    stand(*wanted.values())

    turning = message(velocity={'right_elbow': 0.5}, stamp=4)
    (sent,) = peer.exchange(publisher, turning, commands['right'])
    assert (sent.names, sent.velocity.tolist()) == (('M2',), [-10.0])
    assert bridge.stop(signal.SIGTERM) == 0
    peer.spin_until(lambda: not any(commands['right'][-1].velocity), 'the zero')
    last = commands['right'][-1]
    assert (last.names, last.position.tolist(), last.velocity.tolist()) == (('M2',), [], [0.0])
    assert not any(len(each.velocity) for each in commands['left'])
    assert {each.stamp for each in commands['left']} <= {(3, 0)}
