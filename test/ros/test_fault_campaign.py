# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A campaign of faults: real processes over real DDS, killed, confused and reconfigured.

Whatever happens, each message that is published is one that the slow model of ``reference.py``
makes of the messages before it; nothing crashes; and the bridge comes back by itself.
"""

from __future__ import annotations

from pathlib import Path
import signal

import numpy as np
import pytest
import states_model

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

DRIVER = Path(__file__).parents[1] / 'support' / 'faulty_driver.py'
DRIVE = 'simulated_driver'


def lossless(*ends):
    """Return the parameters with queues that lose nothing, whoever is kept waiting."""
    return {
        f'qos_overrides./{end}.{policy}': value
        for end in ends
        for policy, value in (('reliability', 'reliable'), ('depth', 1000))
    }


#: Options of a bridge in which nothing ends by itself and everything may be tuned. A test does not
#: last for that timeout, so that a machine which stands still drops no command as ``stalled``.
LASTING = {'command_timeout': 3600.0, 'tuning_guard': 'false'} | lossless(
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


def wait_for_more(peer, *heard, count=20):
    """Return when so many more were heard of each."""
    before = [len(each) for each in heard]
    peer.spin_until(
        lambda: all(len(each) >= n + count for each, n in zip(heard, before, strict=True)),
        'messages',
    )


def drain(peer, *heard):
    """Read the received messages; no node sends any more."""
    counts = []

    def is_quiet():
        counts.append([len(each) for each in heard])
        return counts[-20:] == 20 * counts[-1:]

    peer.spin_until(is_quiet, 'silence')


def check_stops(reference, found, stops):
    """Check what nobody commanded: so many times at most the zeros of a stop."""
    assert len(found) <= stops
    for each in found:
        assert each.names == reference.ACTUATORS
        assert each.velocity.tolist() == [0.0] * 6
        assert each.position.tolist() == each.effort.tolist() == []


def check_states(reference, heard, found):
    """
    Check joint states against what a driver was heard to publish: each once, and in order.

    A driver sends whole messages first; one that was not heard is of a drive at rest.
    """
    order = {each.stamp: place for place, each in enumerate(heard)}
    assert len(order) == len(heard)
    places = [order[each.stamp] for each in found if each.stamp in order]
    assert places == sorted(set(places))
    driver = states_model.ReferenceStates(reference.Numbers())
    taken = 0
    for answer in found:
        if answer.stamp in order:
            model, messages = driver, heard[taken : order[answer.stamp] + 1]
            taken += len(messages)
        else:
            zeros = (0.0,) * len(reference.ACTUATORS)
            at_rest = reference.Message(reference.ACTUATORS, zeros, zeros, zeros, answer.stamp)
            model, messages = states_model.ReferenceStates(reference.Numbers()), [at_rest]
        for each in messages:
            rows = (tuple(getattr(each, field)) for field in reference.FIELDS)
            refused = model.update('driver', reference.Message(each.names, *rows, each.stamp))
        assert not refused
        model.joint_state().check(answer)
    return len(places)


def visible_faults(sent, names):
    """Return the faults that show in messages of a moving driver of these actuators."""
    orders = [sorted(each.names, key=names.index) for each in sent]
    shows = {
        'faults.nan': any(np.isnan(each.position).any() for each in sent),
        'faults.subset': any(len(each.names) < len(names) for each in sent),
        'faults.duplicate': any(len(each.names) > len(names) for each in sent),
        'faults.shuffle': [list(each.names) for each in sent] != orders,
        'faults.freeze': np.array_equal(sent[-1].position, sent[-2].position),
    }
    return {name for name, is_visible in shows.items() if is_visible}


def test_processes_that_come_and_go(
    meet, harness, reference, start_bridge, start_process, tmp_path
):
    """
    The driver sends faults and comes back from a kill, and the bridge from cleanups.

    Joint states go on by themselves, none is wrong, and no command is sent that nobody gave.
    """
    values = {'robot_description': harness.quoted(reference.URDF), 'rate': 100.0}
    values |= lossless('actuator_states.publisher', 'actuator_commands.subscription')
    file = harness.parameter_file(tmp_path / 'driver.yaml', values, '/**')
    line = (DRIVER, '--ros-args', '--params-file', file)
    driver = start_process(*line, env=harness.KILLED)
    peer = meet(DRIVE)
    heard = peer.listen('actuator_states')
    peer.spin_until(lambda: heard, 'the driver')
    # Longer than a loaded machine stands still: the model knows no age.
    bridge = start_bridge(state_timeout=5.0, **LASTING)
    joints, actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
    diagnostics = harness.Diagnostics(peer)
    wait_for_more(peer, joints)
    controller = Traffic(peer, harness, reference)
    sent = controller.sent
    wait_for_more(peer, actuators)

    for faults in (
        {'faults.nan': 0.2},
        {'faults.subset': 0.3, 'faults.shuffle': True},
        {'faults.duplicate': 0.1},
        {'faults.freeze': True, 'faults.drop': 0.3},
    ):
        assert peer.set_parameters(faults, DRIVE).successful
        wait_for_more(peer, heard, count=40)
        assert faults.keys() - visible_faults(heard[-40:], heard[0].names) <= {'faults.drop'}
        off = {name: False if value is True else 0.0 for name, value in faults.items()}
        assert peer.set_parameters(off, DRIVE).successful
    wait_for_more(peer, heard)

    # The driver ends and restarts: no states, an error, then states; and no command between.
    controller.goes = False
    peer.spin_until(lambda: actuators[-1].stamp == max(sent), 'the last answer')
    commands = len(actuators)
    driver.stop(signal.SIGKILL)
    diagnostics.said('actuators', level=b'\x02')
    drain(peer, heard, joints)
    if joints[-1].stamp not in {each.stamp for each in heard}:
        del joints[-1]  # The driver was killed when it had told the bridge and not yet us.
    states = len(joints)
    driver = start_process(*line, env=harness.KILLED)
    peer.spin_until(lambda: len(joints) > states, 'states of the new driver')
    # Nothing of the new driver may be missed here once it moves.
    wait_for_more(peer, heard)
    # A frozen driver contradicts itself: a warning, if the machine was slow enough to see it.
    diagnostics.said('actuators', level=b'\x00\x01')
    assert len(actuators) == commands
    controller.goes = True
    wait_for_more(peer, actuators)

    # It is reconfigured as fast as it can be asked.
    reconfigurations = 3
    for _ in range(reconfigurations):
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            assert peer.change_state(transition)
        states, commands = len(joints), len(actuators)
        peer.spin_until(lambda: len(joints) > states, 'states')
        peer.spin_until(lambda: len(actuators) > commands, 'commands')
    controller.goes = False
    driver.ends_well()
    peer.spin_until(lambda: joints[-1].stamp == heard[-1].stamp, 'the last state')
    bridge.ends_well()
    drain(peer, heard, joints, actuators)
    assert check_states(reference, heard, joints) > 100
    answers = [each for each in actuators if each.stamp in sent]
    assert len({each.stamp for each in answers}) == len(answers) > 0
    for each in answers:
        command = sent[each.stamp]
        assert each.names == reference.ACTUATORS
        for mode, values in command.arrays.items():
            joints = dict(zip(command.names, values, strict=True))
            for name, found in zip(each.names, getattr(each, mode), strict=True):
                number = reference.actuator_value(reference.Numbers(), mode, name, joints)
                assert number.equals(found), (mode, name)
    others = [each for each in actuators if each.stamp not in sent]
    check_stops(reference, others, stops=reconfigurations + 1)
