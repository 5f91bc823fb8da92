# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Real processes over real DDS, killed, restarted and reconfigured under traffic.

Whatever happens, each message that is published is one that the slow model of ``reference.py``
makes of a message before it; nothing crashes; and the bridge comes back by itself.
"""

from __future__ import annotations

import signal

import numpy as np
import pytest
import states_model

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros


def lossless(*ends):
    """Return the parameters with queues that lose nothing, whoever is kept waiting."""
    return {
        f'qos_overrides./{end}.{policy}': value
        for end in ends
        for policy, value in (('reliability', 'reliable'), ('depth', 1000))
    }


#: Options of a bridge in which nothing ends by itself. A test does not last for that timeout, so
#: that a machine which stands still drops no command as ``stalled``.
LASTING = {'command_timeout': 3600.0} | lossless(
    *('actuator_states.subscription', 'joint_states.publisher'),
    *('joint_commands.subscription', 'actuator_commands.publisher'),
)


class Traffic:
    """
    Joint commands of all names, each with a stamp of its own.

    :ivar sent: What was sent, by stamp.
    """

    def __init__(self, peer, harness, reference):
        self.sent = {}
        self.goes = True
        self._names = reference.COMMANDABLE
        self._peer, self._message = peer, reference.Message
        self._random = np.random.default_rng(0)
        self._publisher = peer.publisher('joint_commands', harness.LISTENER)
        peer.node.create_timer(0.02, self._tick)

    def _tick(self):
        if self.goes:
            values = self._random.uniform(0.5, 2.0, (3, len(self._names))).tolist()
            message = self._message(self._names, *map(tuple, values), (300, 1 + len(self.sent)))
            self.sent[message.stamp] = message
            self._peer.send(self._publisher, message)


def wait_for_more(peer, heard, count=20):
    """Return when so many more were heard."""
    before = len(heard)
    peer.spin_until(lambda: len(heard) >= before + count, 'messages')


def drain(peer, *heard):
    """Read the received messages; no node sends any more."""
    counts = []

    def is_quiet():
        counts.append([len(each) for each in heard])
        return counts[-20:] == 20 * counts[-1:]

    peer.spin_until(is_quiet, 'silence')


def check_states(reference, heard, found):
    """
    Check joint states against what a driver was heard to publish: each once, and in order.

    A message that was not heard is of a drive at rest.
    """
    messages = {each.stamp: each for each in heard}
    stamps = [each.stamp for each in found]
    assert len(messages) == len(heard)
    assert stamps == sorted(set(stamps))
    rest = reference.Message(reference.ACTUATORS, *[(0.0,) * len(reference.ACTUATORS)] * 3)
    for answer in found:
        message = messages.get(answer.stamp, rest)
        rows = (tuple(getattr(message, field)) for field in reference.FIELDS)
        model = states_model.ReferenceStates(reference.Numbers())
        model.update('driver', reference.Message(message.names, *rows, answer.stamp))
        model.joint_state().check(answer)
    assert len(messages.keys() & set(stamps)) >= 100


def check_commands(reference, sent, found, stops):
    """Check each command against the joint command of its stamp; others are zeros of a stop."""
    answers = [each for each in found if each.stamp in sent]
    assert len({each.stamp for each in answers}) == len(answers) > 0
    for each in answers:
        command = sent[each.stamp]
        assert each.names == reference.ACTUATORS
        for mode, values in command.arrays.items():
            joints = dict(zip(command.names, values, strict=True))
            for name, number in zip(each.names, getattr(each, mode), strict=True):
                expected = reference.actuator_value(reference.Numbers(), mode, name, joints)
                assert expected.equals(number), (mode, name)
    others = [each for each in found if each.stamp not in sent]
    assert len(others) <= stops
    for each in others:
        assert each.names == reference.ACTUATORS
        assert each.velocity.tolist() == [0.0] * 6
        assert each.position.tolist() == each.effort.tolist() == []


def test_processes_that_come_and_go(
    meet, harness, reference, start_bridge, start_process, tmp_path
):
    """
    The driver comes back from a kill, and the bridge from cleanups.

    Joint states go on by themselves, none is wrong, and no command is sent that nobody gave.
    """
    # One driver for all motors, also for that of the joint that passes through.
    urdf = reference.URDF.replace('</ros2_control>', '<joint name="finger"/></ros2_control>', 1)
    values = {'robot_description': harness.quoted(urdf)}
    values['plugin'] = 'transmission_bridge/SimulatedDriver'
    values |= lossless('actuator_states.publisher', 'actuator_commands.subscription')
    file = harness.parameter_file(tmp_path / 'driver.yaml', values, '/**')
    line = ('transmission_bridge.ros.driver_main', '--ros-args', '--params-file', file)
    driver = start_process(*line, env=harness.KILLED)
    peer = meet('driver_node')
    heard = peer.listen('actuator_states')
    peer.spin_until(lambda: heard, 'the driver')
    # Longer than a loaded machine stands still: the model knows no age.
    bridge = start_bridge(state_timeout=5.0, **LASTING)
    joints, actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
    diagnostics = harness.Diagnostics(peer)
    wait_for_more(peer, joints, count=100)
    controller = Traffic(peer, harness, reference)
    sent = controller.sent
    wait_for_more(peer, actuators)

    # The driver ends and restarts: no states, an error, then states; and no command between.
    controller.goes = False
    peer.spin_until(lambda: actuators[-1].stamp == max(sent), 'the last answer')
    commands = len(actuators)
    driver.stop(signal.SIGKILL)
    diagnostics.said('actuators', level=b'\x02')
    drain(peer, heard, joints)
    known = {each.stamp for each in heard}
    while joints[-1].stamp not in known:
        del joints[-1]  # The driver was killed when it had told the bridge and not yet us.
    driver = start_process(*line, env=harness.KILLED)
    wait_for_more(peer, joints, count=1)
    # Nothing of the new driver may be missed here once it moves.
    wait_for_more(peer, heard)
    diagnostics.said('actuators', level=b'\x00')
    assert len(actuators) == commands
    controller.goes = True
    wait_for_more(peer, actuators)

    # It is reconfigured as fast as it can be asked.
    reconfigurations = 3
    for _ in range(reconfigurations):
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            assert peer.change_state(transition)
        wait_for_more(peer, joints, count=1)
        wait_for_more(peer, actuators, count=1)
    controller.goes = False
    driver.ends_well()
    peer.spin_until(lambda: joints[-1].stamp == heard[-1].stamp, 'the last state')
    bridge.ends_well()
    drain(peer, heard, joints, actuators)
    check_states(reference, heard, joints)
    check_commands(reference, sent, actuators, stops=reconfigurations + 1)
