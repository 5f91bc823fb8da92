# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The mover of the demo launch files, as a process."""

from __future__ import annotations

import signal

import pytest

from transmission_bridge.sim.demo_motion import command_at, MOTIONS

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

PLACE = {name: 0.125 * number for number, name in enumerate(MOTIONS)}


def distance(message, t):
    """Return the distance of the positions of a command from the positions at a time [rad]."""
    expected = command_at(t, PLACE)['position']
    return max(abs(message.position[k] - expected[name]) for k, name in enumerate(MOTIONS))


def test_it_moves_until_somebody_else_does(start, peer):
    """It moves the joints from their present positions, and stops when others command them."""
    from sensor_msgs.msg import JointState

    heard = []
    states = peer.node.create_publisher(JointState, 'cell/joint_states', 10)
    bridge = peer.node.create_publisher(JointState, 'cell/actuator_commands', 10)
    peer.node.create_subscription(JointState, 'cell/wishes', heard.append, 100)
    child = start(
        '-m', 'transmission_bridge.ros.simulated_driver_main',
        '--ros-args', '-p', 'move_demo:=true', '-r', '__ns:=/cell', '-r', 'joint_commands:=wishes',
    )  # fmt: skip
    peer.spin_until(states.get_subscription_count)
    peer.spin_until(bridge.get_subscription_count)
    # Not all of the arm is known yet.
    states.publish(JointState(name=['elbow'], position=[1.0]))
    reversed_names = list(reversed(MOTIONS))
    states.publish(
        JointState(name=reversed_names, position=[PLACE[name] for name in reversed_names])
    )
    peer.spin_until(lambda: len(heard) >= 10)
    assert all(message.name == list(MOTIONS) for message in heard)
    assert not [message for message in heard if len(message.position) != len(MOTIONS)]
    # The command is one moment of the motion from the initial positions of the joints.
    for message in heard:
        assert min(distance(message, 0.01 * step) for step in range(3000)) < 0.02
    assert heard[-1].position != heard[0].position
    # The results of its own commands have no effect.
    bridge.publish(JointState(header=heard[-1].header, name=['elbow_motor'], position=[1.0]))
    del heard[:]
    peer.spin_until(lambda: len(heard) >= 10)
    assert 'no more' not in child.output
    bridge.publish(JointState(name=['elbow_motor'], position=[1.0]))
    child.wait_for('stopped moving')
    child.signal(signal.SIGINT)
    assert child.ended() == 0
    assert 'Traceback' not in child.output
