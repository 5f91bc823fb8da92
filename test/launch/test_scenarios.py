# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Crashes of driver and bridge."""

from __future__ import annotations

import signal
import time

import pytest
from state_paths import record

from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

URDF = str(resource('urdf', 'one_joint.urdf'))

#: Long enough for a hundred messages of the driver [s].
SILENCE = 0.5

#: Parameters. The bridge has a rate: it falls silent when nothing is known any more.
PARAMETERS = {
    'bridge': {'autostart': True, 'publish_rate': 100.0, 'state_timeout': 0.4},
    'driver': {'plugin': 'transmission_bridge/SimulatedDriver'},
}


def test_crashes_of_driver_and_bridge(start_process, harness, peer):
    """Without its driver joints are unknown; a respawned process works, and moves nothing."""
    processes, joints = {}, peer.listen('joint_states')

    def wait_for_position(position, act=lambda: None):
        """Return when a new message with this position comes."""
        del joints[:]
        peer.spin_until(
            lambda: act() or any(abs(each.position[0] - position) <= 1e-3 for each in joints),
            f'position {position}',
        )

    def is_silent():
        del joints[:]
        end = time.monotonic() + SILENCE
        peer.spin_until(lambda: time.monotonic() > end)
        return not joints

    def move(position):
        """Command a position, and return when the joint is there."""
        publisher, command = (
            peer.publisher('joint_commands'),
            record(['hinge'], [position], stamp=(0, 0)),
        )
        wait_for_position(position, harness.repeat(lambda: peer.send(publisher, command)))

    def start(name):
        words = [f'{key}:={value}' for key, value in PARAMETERS[name].items()]
        line = ['--urdf', URDF, '--ros-args', *(each for word in words for each in ('-p', word))]
        module = f'transmission_bridge.ros.main {name}_node'
        processes[name] = start_process(module, *line, env=harness.KILLED)

    start('driver')
    start('bridge')
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    orders = peer.listen('actuator_commands')
    move(0.5)
    processes['driver'].stop(signal.SIGKILL)
    peer.spin_until(is_silent, 'silence')
    start('driver')
    # The new one is at zero and stays there: a command is not repeated for it.
    wait_for_position(0.0)
    assert peer.state() == 'active'
    move(0.5)
    processes['bridge'].stop(signal.SIGKILL)
    peer.spin_until(is_silent, 'silence')
    del orders[:]
    start('bridge')
    wait_for_position(0.5)
    assert not orders
    move(0.25)
    for process in processes.values():
        process.ends_well()
