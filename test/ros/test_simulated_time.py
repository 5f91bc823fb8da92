# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Timeouts under simulated time that runs, crawls, pauses, or stands still under states."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

#: Of states and of commands [s].
TIMEOUT = 0.5

#: Seconds between two messages of the clock, and of each driver.
PERIOD = 0.01


class World:
    """
    A clock and two drivers; each sends only while it is said to.

    :ivar factor: Seconds of simulated time in a second; the clock sends while it is not ``None``.
    :ivar sending: The drivers that send, ``one`` and ``two``.
    """

    def __init__(self, peer, reference):
        from rosgraph_msgs.msg import Clock

        self._peer = peer
        self._type = Clock
        self._clock = peer.node.create_publisher(Clock, '/clock', 10)
        self._drivers = {
            'one': (peer.publisher('one'), reference.Message(('winch',), (1.0,), stamp=(0, 0))),
            'two': (peer.publisher('two'), reference.Message(('finger',), (1.0,), stamp=(0, 0))),
        }
        self._command = reference.Message(('lift',), velocity=(1.0,), stamp=(0, 0))
        self._controller = peer.publisher('joint_commands')
        self.joints, self.actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
        self.factor = None
        self.sending = set()
        self._time = 100.0
        self._last = time.monotonic()
        peer.node.create_timer(PERIOD, self._tick)

    def _tick(self):
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self.factor is not None:
            self._time += self.factor * passed
            message = self._type()
            seconds, nanoseconds = divmod(round(self._time * 1e9), 10**9)
            message.clock.sec, message.clock.nanosec = seconds, nanoseconds
            self._clock.publish(message)
        for name in sorted(self.sending):
            self.send(name)

    def send(self, name):
        """Send one state."""
        self._peer.send(*self._drivers[name])

    def run(self, factor=1.0):
        """Let everything run until both drivers are known."""
        self.factor, self.sending = factor, {'one', 'two'}
        del self.joints[:]
        self._peer.spin_until(lambda: self.joints and self.is_whole(), 'states of both drivers')

    def is_whole(self):
        """Tell whether the last joint state has what both drivers say."""
        return {'lift', 'finger'} <= set(self.joints[-1].names)

    def command(self):
        """Command a velocity until it is answered; return when it was sent last [s]."""
        del self.actuators[:]
        while not self.actuators:
            sent = time.monotonic()
            self._peer.send(self._controller, self._command)
            self._peer.spin_until(lambda: self.actuators or time.monotonic() > sent + 1.0)
        assert self.actuators[-1].velocity.tolist() != [0.0]
        return sent

    def has_ended(self):
        """Tell whether the command was ended."""
        return self.actuators[-1].velocity.tolist() == [0.0]

    def wait(self, seconds):
        """Let time pass."""
        end = time.monotonic() + seconds
        self._peer.spin_until(lambda: time.monotonic() > end)

    def seconds_to_the_end(self, sent):
        """Return how long after a command was sent it was ended."""
        self._peer.spin_until(self.has_ended, 'the end of the command')
        return time.monotonic() - sent


@pytest.fixture
def start_world(harness, meet, reference, start_process, tmp_path):
    """Return a function that starts a bridge under simulated time, and a world around it."""

    def start(executor):
        file = harness.parameter_file(
            tmp_path / 'parameters.yaml',
            {
                'robot_description': harness.quoted(reference.URDF),
                'autostart': 'true',
                'use_sim_time': 'true',
                'actuator_state_topics': '[one, two]',
                'state_timeout': TIMEOUT,
                'command_timeout': TIMEOUT,
            },
        )
        process = start_process(
            'transmission_bridge.ros.bridge_main',
            *(f'--executor={executor}', '--ros-args', '--params-file', file),
        )
        peer = meet(harness.BRIDGE)
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        return process, World(peer, reference)

    return start


def test_a_clock_that_stands_still(start_world, executor, record_property):
    """Timeouts go on by the steady clock if states come, and stand still in a pause of all."""
    process, world = start_world(executor)

    # The simulator hangs, one driver with it, the other one goes on.
    world.run()
    sent = world.command()
    world.factor, world.sending = 0.0, {'one'}
    took = world.seconds_to_the_end(sent)
    record_property('end of a command under a clock that hangs [s]', took)
    assert took > TIMEOUT
    world._peer.spin_until(lambda: not world.is_whole(), 'an end of what the other driver said')
    assert 'lift' in world.joints[-1].names

    # It resumes, and then it ends: the clock is no longer published.
    world.run()
    sent = world.command()
    world.factor = None
    assert world.seconds_to_the_end(sent) > TIMEOUT
    assert world.is_whole()

    # A pause: neither states nor commands are older after it.
    world.run()
    world.command()
    world.factor, world.sending = 0.0, set()
    world.wait(4 * TIMEOUT)
    assert not world.has_ended()
    del world.joints[:]
    world.send('one')
    world._peer.spin_until(lambda: world.joints, 'a state in the pause')
    assert world.is_whole()
    world.wait(TIMEOUT)
    assert not world.has_ended()

    # A simulation that crawls: its own time counts.
    world.run(0.1)
    sent = world.command()
    took = world.seconds_to_the_end(sent)
    record_property('end of a command at a tenth of real time [s]', took)
    assert took > 8 * TIMEOUT
    assert process.stop() == 0


def test_a_clock_that_never_comes(start_world):
    """Under states of a driver, commands end though there is no clock at all."""
    process, world = start_world('auto')
    world.sending = {'one'}
    world._peer.spin_until(lambda: world.joints, 'states')
    assert world.seconds_to_the_end(world.command()) > TIMEOUT
    assert process.stop() == 0
