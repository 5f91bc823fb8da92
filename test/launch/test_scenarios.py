# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Crashes of driver and bridge."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from transmission_bridge.messages.records import JointStateRecord
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


class Joint:
    """The one joint, as a peer sees and commands it."""

    def __init__(self, harness, peer):
        self._peer, self._repeat = peer, harness.repeat
        self._heard = peer.listen('joint_states')

    def wait_for_position(self, position, meanwhile=lambda: None):
        """Return when a new message with this position comes."""
        del self._heard[:]

        def is_there():
            meanwhile()
            return any(abs(each.position[0] - position) <= 1e-3 for each in self._heard)

        self._peer.spin_until(is_there, f'position {position}')

    def wait_for_silence(self):
        """Return when no message has come for a while."""

        def is_silent():
            del self._heard[:]
            end = time.monotonic() + SILENCE
            self._peer.spin_until(lambda: time.monotonic() > end)
            return not self._heard

        self._peer.spin_until(is_silent, 'silence')

    def move(self, position):
        """Command a position, and return when the joint is there."""
        nothing = np.empty(0)
        command = JointStateRecord((0, 0), '', ('hinge',), np.array([position]), nothing, nothing)
        publisher = self._peer.publisher('joint_commands')
        self.wait_for_position(position, self._repeat(lambda: self._peer.send(publisher, command)))


def test_crashes_of_driver_and_bridge(start_process, harness, peer):
    """Without its driver joints are unknown; a respawned process works, and moves nothing."""
    processes = {}

    def start(name):
        words = [f'{key}:={value}' for key, value in PARAMETERS[name].items()]
        line = ['--urdf', URDF, '--ros-args', *(each for word in words for each in ('-p', word))]
        module = f'transmission_bridge.ros.{name}_main'
        processes[name] = start_process(module, *line, env=harness.KILLED)

    start('driver')
    start('bridge')
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    joint, orders = Joint(harness, peer), peer.listen('actuator_commands')
    joint.move(0.5)
    processes['driver'].stop(signal.SIGKILL)
    joint.wait_for_silence()
    start('driver')
    # The new one is at zero and stays there: a command is not repeated for it.
    joint.wait_for_position(0.0)
    assert peer.state() == 'active'
    joint.move(0.5)
    processes['bridge'].stop(signal.SIGKILL)
    joint.wait_for_silence()
    del orders[:]
    start('bridge')
    joint.wait_for_position(0.5)
    assert not orders
    joint.move(0.25)
    for process in processes.values():
        process.ends_well()
