# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Two robots; crashes with plain processes and, if it is installed, with launch."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

URDF = str(resource('urdf', 'one_joint.urdf'))

#: Long enough for a hundred messages of the driver [s]; launch respawns after one second.
SILENCE = 0.5

#: Parameters of the bridge. At a rate: it falls silent when nothing is known any more.
PARAMETERS = {'autostart': True, 'publish_rate': 100.0, 'state_timeout': 0.4}

# -- systems -------------------------------------------------------------------------------------


class PlainSystem:
    """
    A driver and a bridge as child processes of the test.

    :param ros_arguments: Of both.
    """

    def __init__(self, start_process, env, *ros_arguments):
        self._start_process, self._env, self._processes = start_process, env, {}
        self._line = ['--urdf', URDF, '--ros-args', *ros_arguments]

    def start(self):
        """Start both nodes."""
        self.respawn('simulated_driver')
        self.respawn('bridge')

    def respawn(self, name):
        """Start a node."""
        line = [*self._line]
        for parameter in PARAMETERS.items() if name == 'bridge' else ():
            line += ['-p', '{}:={}'.format(*parameter)]
        module = f'transmission_bridge.ros.{name}_main'
        self._processes[name] = self._start_process(module, *line, env=self._env)

    def crash(self, name):
        """Kill a node."""
        self._processes[name].stop(signal.SIGKILL)

    def end(self):
        """Interrupt both; each ends in order."""
        for process in self._processes.values():
            process.ends_well()


LAUNCH_FILE = f"""
from launch import LaunchDescription
from launch_ros.actions import Node
from transmission_bridge.ros.launching import bridge_node, DescriptionFromFile


def generate_launch_description():
    driver = Node(
        package='transmission_bridge',
        executable='simulated_driver',
        output='screen',
        respawn=True,
        respawn_delay=1.0,
        parameters=[{{'robot_description': DescriptionFromFile({URDF!r})}}],
    )
    bridge = bridge_node(
        robot_description_file={URDF!r}, respawn=True, parameters=[{PARAMETERS!r}]
    )
    return LaunchDescription([driver, bridge])
"""


class LaunchedSystem:
    """The processes of a launch file with :func:`bridge_node` in it."""

    def __init__(self, launch, path, env):
        self._launch, self._path, self._env = launch, path, env

    def start(self):
        """Start both nodes."""
        self._path.write_text(LAUNCH_FILE, encoding='utf-8')
        self._process = self._launch(self._path, **self._env)

    def respawn(self, name):
        """Do nothing: launch does it."""

    def crash(self, name):
        """Kill the last process of a node."""
        started = rf'\[{name}(?:_node)?-\d+\]: process started with pid \[(\d+)\]'
        os.kill(int(re.findall(started, self._process.output)[-1]), signal.SIGKILL)

    def end(self):
        """Interrupt the launch; each process ends in order."""
        self._process.ends_well()
        assert self._process.output.count('has died') == self._process.output.count('code -9')


@pytest.fixture(params=['plain', 'launch'])
def system(request, harness, start_process, tmp_path):
    """Return a system of processes; what is left of it ends with the test."""
    if request.param == 'plain':
        return PlainSystem(start_process, harness.KILLED)
    launch = request.getfixturevalue('launch')
    return LaunchedSystem(launch, tmp_path / 'system.launch.py', harness.KILLED)


# -- scenarios -----------------------------------------------------------------------------------


class Joint:
    """The one joint, as a peer sees and commands it."""

    def __init__(self, harness, peer, namespace=''):
        self._peer, self._repeat, self._namespace = peer, harness.repeat, namespace
        self._heard = peer.listen(f'{namespace}joint_states')

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
        publisher = self._peer.publisher(f'{self._namespace}joint_commands')
        self.wait_for_position(position, self._repeat(lambda: self._peer.send(publisher, command)))


def test_two_robots(start_process, harness, peer):
    """Two robots side by side do not receive each other's messages, and are tuned separately."""
    names = {'actuator_states': 'motors/measured', 'actuator_commands': 'motors/wanted'}
    remappings = [word for each in names.items() for word in ('-r', '{}:={}'.format(*each))]
    systems = []
    for side in ('left', 'right'):
        line = ['-r', f'__ns:=/{side}', *remappings]
        systems.append(PlainSystem(start_process, harness.KILLED, *line))
        systems[-1].start()
    left, right = Joint(harness, peer, 'left/'), Joint(harness, peer, 'right/')
    left.move(0.75)
    right.wait_for_position(0.0)
    offset = 'transmissions.hinge_transmission.joints.hinge.offset'
    assert peer.set_parameters({offset: -0.5}, 'right/transmission_bridge').successful
    right.wait_for_position(-0.5)
    left.wait_for_position(0.75)
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    assert {f'/{side}/{name}' for side in ('left', 'right') for name in names.values()} <= topics
    assert not topics & {f'/{name}' for name in ('joint_states', 'joint_commands', *names)}
    assert not topics & {f'/left/{name}' for name in names}
    for each in systems:
        each.end()


def test_crashes_of_driver_and_bridge(system, harness, peer):
    """Without its driver joints are unknown; a respawned process works, and moves nothing."""
    system.start()
    peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
    joint, orders = Joint(harness, peer), peer.listen('actuator_commands')
    joint.move(0.5)
    system.crash('simulated_driver')
    joint.wait_for_silence()
    system.respawn('simulated_driver')
    # The new one is at zero and stays there: a command is not repeated for it.
    joint.wait_for_position(0.0)
    assert peer.state() == 'active'
    joint.move(0.5)
    system.crash('bridge')
    joint.wait_for_silence()
    del orders[:]
    system.respawn('bridge')
    joint.wait_for_position(0.5)
    assert not orders
    joint.move(0.25)
    system.end()
