# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The bridge as a process: traffic, tuning in the middle of it, and every way to end it."""

from __future__ import annotations

import math
import os
import signal
import sys

import numpy as np
import pytest

from transmission_bridge.ros.process import available_executors

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

BRIDGE = 'transmission_bridge.ros.bridge_main'
DRIVER = 'transmission_bridge.ros.simulated_driver_main'

#: Seconds between messages of each direction, and messages between two tunings.
PERIOD = 0.004
BETWEEN = 8
TUNINGS = 12

executors = pytest.mark.parametrize('executor', available_executors())


@pytest.fixture
def robot_file(harness, reference, tmp_path):
    """Return a parameter file, for every node, that holds the reference robot."""
    return harness.parameter_file(
        tmp_path / 'robot.yaml', {'robot_description': harness.quoted(reference.URDF)}, '/**'
    )


@pytest.fixture
def bridge_process(start_process, robot_file):
    """Start a bridge of the reference robot as a process."""

    def start(*args, ros=(), **how):
        return start_process(BRIDGE, *args, '--ros-args', '--params-file', robot_file, *ros, **how)

    return start


def ended_well(process, number=signal.SIGINT):
    """Stop a process; its log must have no bug."""
    assert process.stop(number) == 0
    assert 'Traceback' not in process.output
    assert 'bug' not in process.output


class Traffic:
    """
    States and commands at a few hundred hertz, each with a stamp of its own.

    Numbers are such that every joint and every interface tells one set of parameters from
    another.
    """

    def __init__(self, peer, reference, seed=0):
        self.states, self.commands = {}, {}
        self.joints, self.actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
        self._peer, self._reference = peer, reference
        self._random = np.random.default_rng(seed)
        self._driver = peer.publisher('actuator_states')
        self._controller = peer.publisher('joint_commands')
        self._number = 0
        self._timer = peer.node.create_timer(PERIOD, self._tick)

    def stop(self):
        """Send nothing more."""
        self._peer.node.destroy_timer(self._timer)

    def _tick(self):
        self._number += 1
        for names, publisher, sent in (
            (self._reference.ACTUATORS, self._driver, self.states),
            (self._reference.COMMANDABLE, self._controller, self.commands),
        ):
            values = self._random.uniform(0.5, 2.0, (3, len(names))).tolist()
            message = self._reference.Message(names, *map(tuple, values), (100 + self._number, 7))
            sent[message.stamp] = message
            self._peer.send(publisher, message)


class Generation:
    """One set of parameters: the core's maps, and the formulas by hand."""

    def __init__(self, reference, robot, numbers):
        self._reference, self._robot, self._numbers = reference, robot, numbers

    def gives_state(self, sent, found):
        """Tell whether the core makes this of a state, to the last bit."""
        return found.names == self._reference.JOINTS and all(
            np.array_equal(
                self._robot.actuator_to_joint(each, np.array(values)), getattr(found, each)
            )
            for each, values in sent.arrays.items()
        )

    def gives_command(self, sent, found):
        """Tell whether the core makes this of a command, to the last bit."""
        if found.names != self._reference.ACTUATORS:
            return False
        for each, values in sent.arrays.items():
            joints = np.full(len(self._reference.JOINTS), math.nan)
            joints[[self._reference.JOINTS.index(name) for name in sent.names]] = values
            if not np.array_equal(
                self._robot.joint_to_actuator(each, joints), getattr(found, each)
            ):
                return False
        return True

    def check_by_hand(self, sent, found):
        """Compare a message with the formulas written out by hand."""
        for each, values in sent.arrays.items():
            known = dict(zip(sent.names, values, strict=True))
            value_of = (
                self._reference.joint_value
                if found.names == self._reference.JOINTS
                else self._reference.actuator_value
            )
            for name, value in zip(found.names, getattr(found, each), strict=True):
                assert value_of(self._numbers, each, name, known).equals(value), (each, name)


def check_traffic(sent, heard, generations, matches):
    """Each message was sent once and belongs to one generation, and generations only advance."""
    assert len({each.stamp for each in heard}) == len(heard)
    present = 0
    counts = [0] * len(generations)
    for found in heard:
        fitting = [
            number
            for number, generation in enumerate(generations)
            if matches(generation, sent[found.stamp], found)
        ]
        assert len(fitting) == 1, found
        assert fitting[0] >= present
        (present,) = fitting
        counts[present] += 1
        generations[present].check_by_hand(sent[found.stamp], found)
    return counts


@pytest.mark.versions
@executors
def test_tuning_under_traffic(meet, reference, robot, bridge_process, executor):
    """While parameters change, every message is made with the old set or with the new one."""
    process = bridge_process('--executor', executor, ros=('-p', 'tuning_guard:=false'))
    peer = meet('transmission_bridge')
    peer.start()
    traffic = Traffic(peer, reference)
    numbers = reference.Numbers()
    generations = [Generation(reference, robot, numbers)]
    peer.spin_until(lambda: traffic.joints and traffic.actuators, 'traffic')
    for tuning in range(1, TUNINGS + 1):
        states, commands = len(traffic.joints), len(traffic.actuators)
        peer.spin_until(
            lambda: (
                len(traffic.joints) > states + BETWEEN
                and len(traffic.actuators) > commands + BETWEEN
            ),
            'traffic',
        )
        changes = reference.tuning_of(tuning)
        numbers = numbers.tuned(changes)
        robot = robot.with_parameters(reference.nested(changes))
        generations.append(Generation(reference, robot, numbers))
        values = {reference.parameter_name(key): value for key, value in changes.items()}
        assert peer.set_parameters(values).successful
        assert peer.parameters(list(values)) == values
        if tuning % 4 == 0:
            # A set with one bad value among good ones changes nothing.
            refused = {**dict.fromkeys(values, 3.0), next(iter(values)): 0.0}
            assert not peer.set_parameters(refused).successful
    states, commands = len(traffic.joints), len(traffic.actuators)
    peer.spin_until(
        lambda: (
            len(traffic.joints) > states + BETWEEN and len(traffic.actuators) > commands + BETWEEN
        ),
        'traffic',
    )
    traffic.stop()
    ended_well(process)
    last = [each for each in traffic.actuators if each.stamp not in traffic.commands]
    counts = (
        check_traffic(traffic.states, traffic.joints, generations, Generation.gives_state),
        check_traffic(
            traffic.commands,
            [each for each in traffic.actuators if each.stamp in traffic.commands],
            generations,
            Generation.gives_command,
        ),
    )
    for count in counts:
        assert min(count) >= 1
    # Commands sent at the stop after commands in every mode.
    for each in last:
        assert each.names == reference.ACTUATORS
        assert list(each.velocity) == [0.0] * 6
        assert list(each.position) == list(each.effort) == []


@pytest.mark.versions
def test_with_the_simulated_driver(meet, reference, start_process, bridge_process, robot_file):
    """Two processes and a controller: what is commanded is reached, by the formulas, all along."""
    driver = start_process(DRIVER, '--ros-args', '--params-file', robot_file, '-p', 'rate:=200.0')
    bridge = bridge_process(ros=('-p', 'autostart:=true'))
    peer = meet('transmission_bridge', 'simulated_driver')
    states = peer.listen('actuator_states')
    joints, actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
    peer.spin_until(lambda: joints, 'the first joint states')
    controller = peer.publisher('joint_commands')
    wanted = {
        'lift': 0.5,
        'roll': 0.3,
        'pitch': -0.4,
        'shoulder': 0.2,
        'elbow': 0.6,
        'finger': 1.5,
    }
    message = reference.Message(tuple(wanted), tuple(wanted.values()))
    (command,) = peer.exchange(controller, message, actuators)
    (expected,) = reference.ReferenceCommands(reference.Numbers()).command(message, {})
    expected.check(command)

    def reached():
        if not joints:
            return False
        found = dict(zip(joints[-1].names, joints[-1].position, strict=True))
        return all(abs(found[name] - value) < 1e-6 for name, value in wanted.items())

    peer.spin_until(reached, 'arrival at the commanded positions')
    ended_well(bridge)
    ended_well(driver)
    sent = {each.stamp: each for each in states}
    compared = [each for each in joints if each.stamp in sent]
    assert compared
    generation = Generation(reference, None, reference.Numbers())
    for each in compared:
        source = sent[each.stamp]
        generation.check_by_hand(
            reference.Message(
                source.names, tuple(source.position), tuple(source.velocity), tuple(source.effort)
            ),
            each,
        )


def test_malformed_and_mended(meet, harness, reference, start_process, tmp_path):
    """A malformed description is reported with its place; the bridge starts with a correct one."""
    text = reference.URDF.replace('<robot name="reference">', '<robot name="reference"><oops>')
    # In a parameter file the text is one line; here the lines must stay.
    path = tmp_path / 'robot.yaml'
    path.write_text(
        'transmission_bridge:\n  ros__parameters:\n    robot_description: |\n'
        + ''.join(f'      {line}\n' for line in text.splitlines()),
        encoding='utf-8',
    )
    process = start_process(BRIDGE, '--ros-args', '--params-file', path)
    peer = meet('transmission_bridge')
    assert not peer.change_state('configure')
    process.wait_for('configure failed: line ')
    one_bad = reference.URDF.replace('>40.0<', '>forty<')
    line = 1 + one_bad[: one_bad.index('>forty<')].count('\n')
    assert peer.set_parameters({'robot_description': one_bad}).successful
    assert peer.change_state('configure')
    process.wait_for(f'line {line}, /robot/ros2_control')
    assert peer.change_state('cleanup')
    assert peer.set_parameters({'robot_description': reference.URDF}).successful
    peer.start()
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(reference.ACTUATORS, position=(1.0,) * 6)
    (state,) = peer.exchange(driver, message, joints)
    assert state.names == reference.JOINTS
    ended_well(process)


# -- stopping ------------------------------------------------------------------------------------


#: Rates to stop, in which the bridge must end.
ENDS = [(('winch',), [], [0.0], []), (('finger',), [], [], [0.0])]

#: What becomes the process with standard input as its terminal, which a lost one takes with it.
OWN_TERMINAL = (
    sys.executable,
    '-c',
    'import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); '
    'os.execv(sys.argv[1], sys.argv[1:])',
)


def moving(meet, command_each_mode, bridge_process, executor, **how):
    """Return a bridge that has sent commands of every mode, its peer, and what comes then."""
    process = bridge_process(
        *('--executor', executor),
        # Nothing else ends commands.
        ros=('-p', 'autostart:=true', '-p', 'zero_effort:=true', '-p', 'command_timeout:=0.0'),
        **how,
    )
    peer = meet('transmission_bridge')
    actuators = peer.listen('actuator_commands')
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    command_each_mode(peer, actuators)
    return process, peer, actuators


def check_end(peer, actuators):
    """Check that zero rates were sent, and nothing else."""
    peer.spin_until(lambda: len(actuators) >= 2, 'the last command')
    assert [
        (each.names, list(each.position), list(each.velocity), list(each.effort))
        for each in actuators
    ] == ENDS


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_while_active(meet, command_each_mode, bridge_process, executor, number):
    """A signal sends zero rates to what was commanded a rate, then the process ends with 0."""
    process, peer, actuators = moving(meet, command_each_mode, bridge_process, executor)
    ended_well(process, number)
    check_end(peer, actuators)


@executors
def test_lost_terminal(meet, command_each_mode, bridge_process, executor):
    """Zero rates are sent when the terminal goes, as with a connection or a window."""
    ours, theirs = os.openpty()
    with open(theirs, 'rb') as stdin:
        process, peer, actuators = moving(
            meet, command_each_mode, bridge_process, executor, through=OWN_TERMINAL, stdin=stdin
        )
    os.close(ours)
    assert process.ended() == 0
    assert 'Traceback' not in process.output
    check_end(peer, actuators)


@executors
def test_lost_terminal_with_nohup(meet, reference, command_each_mode, bridge_process, executor):
    """With ``nohup`` a bridge goes on without its terminal, and SIGTERM ends it."""
    process, peer, actuators = moving(
        meet, command_each_mode, bridge_process, executor, through=('nohup',)
    )
    controller = peer.publisher('joint_commands')
    for second in range(3):
        process.send_signal(signal.SIGHUP)
        message = reference.Message(('lift',), velocity=(1.0,), stamp=(50 + second, 0))
        peer.exchange(controller, message, actuators)
    del actuators[:]
    ended_well(process, signal.SIGTERM)
    check_end(peer, actuators)


@pytest.mark.parametrize('transitions', [(), ('configure',), ('unconfigured_shutdown',)])
def test_signal_while_not_active(meet, bridge_process, transitions):
    """In every other state a signal ends the process with 0 and nothing is sent."""
    process = bridge_process()
    peer = meet('transmission_bridge')
    actuators = peer.listen('actuator_commands')
    for transition in transitions:
        assert peer.change_state(transition)
    peer.state()
    ended_well(process)
    assert actuators == []
