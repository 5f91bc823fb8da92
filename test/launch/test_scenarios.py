# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two robots, and crashes: with plain processes and, where it is installed, with launch."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

URDF = str(resource('urdf', 'one_joint.urdf'))

#: Motor positions per joint position of the robot with one joint.
REDUCTION = 50.0

OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'

#: Seconds before a process is started again, and between looks at it.
RESPAWN_DELAY, LOOK = 1.0, 0.02

#: Long enough for two hundred messages of the driver [s].
SILENCE = 0.5

MODULES = {
    'simulated_driver': 'transmission_bridge.ros.simulated_driver_main',
    'bridge_node': 'transmission_bridge.ros.bridge_main',
}

# -- systems -------------------------------------------------------------------------------------


class PlainSystem:
    """Child processes of the test with the command lines that launch would give them."""

    def __init__(self, harness):
        self._harness = harness
        self._lives, self._crashed, self._watches = {}, [], []
        self._stopping = threading.Event()

    def start(self, starts):
        """Start nodes, each an executable with arguments of :class:`launch_ros.actions.Node`."""
        for executable, arguments in starts:
            line = ['--urdf', URDF, '--ros-args', '-r', f'__ns:=/{arguments["namespace"]}']
            for old, new in arguments['remappings']:
                line += ['-r', f'{old}:={new}']
            for name, value in arguments['parameters'][0].items():
                line += ['-p', f'{name}:={value}']
            lives = self._lives.setdefault(executable, [])
            self._start_process(lives, executable, line)
            if arguments['respawn']:
                watch = threading.Thread(target=self._respawn, args=(lives, executable, line))
                self._watches.append(watch)
                watch.start()

    def _start_process(self, lives, executable, line):
        module, env = MODULES[executable], self._harness.KILLED
        lives.append(self._harness.Process(module, line, env=env))

    def _respawn(self, lives, executable, line):
        while not self._stopping.wait(LOOK):
            if lives[-1].exit_code is not None and not self._stopping.wait(RESPAWN_DELAY):
                self._start_process(lives, executable, line)

    def crash(self, executable):
        """Kill the last process of an executable."""
        self._crashed.append(self._lives[executable][-1])
        self._crashed[-1].stop(signal.SIGKILL)

    def _stop_respawning(self):
        self._stopping.set()
        for watch in self._watches:
            watch.join()
        return [process for lives in self._lives.values() for process in lives]

    def end(self):
        """Interrupt all processes that run; each ends in order."""
        for process in self._stop_respawning():
            if process not in self._crashed:
                process.ends_well()

    def clean_up(self):
        """End all processes."""
        for process in self._stop_respawning():
            process.clean_up()


LAUNCH_FILE = """
from launch import LaunchDescription
from launch_ros.actions import Node
from transmission_bridge.ros.launching import bridge_node, DescriptionFromFile


def generate_launch_description():
    description = {'robot_description': DescriptionFromFile(URDF)}
    common = {'package': 'transmission_bridge', 'output': 'screen', 'respawn_delay': 1.0}
    actions = []
    for executable, arguments in STARTS:
        if executable == 'bridge_node':
            actions.append(bridge_node(robot_description_file=URDF, **arguments))
        else:
            arguments['parameters'].append(description)
            actions.append(Node(executable=executable, **common, **arguments))
    return LaunchDescription(actions)
"""


class LaunchedSystem:
    """The processes of a launch file with :func:`bridge_node` in it."""

    def __init__(self, launch, path, env):
        self._launch, self._path, self._env = launch, path, env

    def start(self, starts):
        """Start nodes, each an executable with arguments of :class:`launch_ros.actions.Node`."""
        text = f'{LAUNCH_FILE}\n\nURDF = {URDF!r}\nSTARTS = {starts!r}\n'
        self._path.write_text(text, encoding='utf-8')
        self._process = self._launch(self._path, **self._env)

    def crash(self, executable):
        """Kill the last process of an executable."""
        started = rf'\[{executable}-\d+\]: process started with pid \[(\d+)\]'
        os.kill(int(re.findall(started, self._process.output)[-1]), signal.SIGKILL)

    def end(self):
        """Interrupt the launch; each process ends in order."""
        self._process.ends_well()
        assert self._process.output.count('has died') == self._process.output.count('code -9')

    def clean_up(self):
        """Do nothing: the launch ends with the test."""


@pytest.fixture(params=['plain', 'launch'])
def system(request, harness, tmp_path):
    """Return a system of processes; what is left of it ends with the test."""
    if request.param == 'plain':
        system = PlainSystem(harness)
    else:
        file = tmp_path / 'system.launch.py'
        system = LaunchedSystem(request.getfixturevalue('launch'), file, harness.KILLED)
    yield system
    system.clean_up()


def make_robot(namespace='', remappings=(), parameters=None, respawn=False):
    """Return the starts of a driver and a bridge of the robot with one joint."""
    common = {'namespace': namespace, 'remappings': list(remappings), 'respawn': respawn}
    parameters = {'autostart': True, **(parameters or {})}
    return [
        ('simulated_driver', {**common, 'parameters': [{}]}),
        ('bridge_node', {**common, 'parameters': [parameters]}),
    ]


# -- scenarios -----------------------------------------------------------------------------------


class Listener:
    """The positions of the one joint or motor of a topic."""

    def __init__(self, peer, topic):
        self.peer = peer
        self.heard = peer.listen(topic)

    def wait_for_position(self, position, tolerance=1e-3, meanwhile=lambda: None):
        """Return when a new message with this position comes."""
        del self.heard[:]
        self.peer.spin_until(
            lambda: (
                meanwhile()
                or any(abs(each.position[0] - position) <= tolerance for each in self.heard)
            ),
            f'position {position}',
        )

    def wait_for_silence(self):
        """Return when no message has come for a while."""

        def is_silent():
            del self.heard[:]
            end = time.monotonic() + SILENCE
            self.peer.spin_until(lambda: time.monotonic() > end)
            return not self.heard

        self.peer.spin_until(is_silent, 'silence')


@pytest.fixture
def move(harness, peer):
    """Return a function that commands the joint to a position, and returns when it is there."""

    def move_joint(joints, position, topic='joint_commands'):
        nothing = np.empty(0)
        command = JointStateRecord((0, 0), '', ('hinge',), np.array([position]), nothing, nothing)
        publisher = peer.publisher(topic)
        joints.wait_for_position(
            position, meanwhile=harness.repeat(lambda: peer.send(publisher, command))
        )

    return move_joint


def wait_until_active(peer, node='transmission_bridge'):
    """Return when a bridge is active."""
    peer.spin_until(lambda: peer.state(node) == 'active', f'{node} active')


def test_two_robots(system, peer, move):
    """Two robots side by side do not receive each other's messages, and are tuned separately."""
    names = [('actuator_states', 'motors/measured'), ('actuator_commands', 'motors/wanted')]
    system.start([*make_robot('left', names), *make_robot('right', names)])
    for side in ('left', 'right'):
        wait_until_active(peer, f'{side}/transmission_bridge')
    left, right = Listener(peer, 'left/joint_states'), Listener(peer, 'right/joint_states')
    move(left, 0.75, 'left/joint_commands')
    right.wait_for_position(0.0)
    assert peer.set_parameters({OFFSET: -0.5}, 'right/transmission_bridge').successful
    right.wait_for_position(-0.5)
    left.wait_for_position(0.75)
    Listener(peer, 'left/motors/measured').wait_for_position(0.75 * REDUCTION, tolerance=0.05)
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    ours = {'joint_states', 'joint_commands', 'actuator_states', 'actuator_commands'}
    assert not topics & {f'/{name}' for name in ours}
    assert not topics & {f'/left/{name}' for name in ('actuator_states', 'actuator_commands')}
    system.end()


def test_crashes_of_driver_and_bridge(system, peer, move):
    """Without its driver joints are unknown; a respawned process works, and moves nothing."""
    # At a rate: the bridge falls silent, because nothing is known any more.
    parameters = {'publish': 'rate', 'state_timeout': 0.4}
    system.start(make_robot(parameters=parameters, respawn=True))
    wait_until_active(peer)
    joints, orders = Listener(peer, 'joint_states'), Listener(peer, 'actuator_commands')
    move(joints, 0.5)
    system.crash('simulated_driver')
    joints.wait_for_silence()
    # The new one is at zero and stays there: a command is not repeated for it.
    joints.wait_for_position(0.0)
    assert peer.state() == 'active'
    move(joints, 0.5)
    system.crash('bridge_node')
    joints.wait_for_silence()
    del orders.heard[:]
    joints.wait_for_position(0.5)
    assert not orders.heard
    move(joints, 0.25)
    system.end()
