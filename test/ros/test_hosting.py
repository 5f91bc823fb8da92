# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Drivers in Python in the process of the bridge, and alone in driver_node, over real DDS."""

import json
import math
from pathlib import Path
import signal
import time

import numpy as np
import pytest
from zoo.elements import ratio, transmission, urdf
from zoo.reference import Message

from transmission_bridge.drivers.host import START

OK, WARN, ERROR = b'\x00', b'\x01', b'\x02'
SUPPORT = Path(__file__).parents[1] / 'support'
SIMULATED = 'transmission_bridge/SimulatedDriver'

#: Longest end of a process with a driver that hangs, which takes 2.3 s if the machine is not busy
#: [s].
END = 10.0

#: Each method of a driver.
METHODS = ('configure', 'activate', 'read', 'write', 'deactivate', 'cleanup')

LIMIT = 'revolute lower="-3" upper="3" velocity="1000" effort="100"'


def make_urdf(blocks, more=''):
    """
    Return a robot of joints ``q_NAME = m_NAME / 2``.

    :param blocks: Plugin and names of the joints by block.
    :param more: Inside each ``<hardware>``.
    """
    names = [name for _, own in blocks.values() for name in own]
    text = urdf({f'q_{name}': LIMIT for name in names}).partition('<ros2_control')[0]
    for block, (plugin, own) in blocks.items():
        text += f'<ros2_control name="{block}" type="system">'
        text += f'<hardware><plugin>{plugin}</plugin>{more}</hardware>'
        for name in own:
            joint = f'q_{name}'
            text += f'<joint name="{joint}"/>'
            text += transmission(f't_{name}', 'Simple', {joint: ratio(2)}, [f'm_{name}'])
        text += '</ros2_control>'
    return f'{text}</robot>'


class Hosted:
    """
    A bridge as a process, with a driver that follows a script.

    :ivar process: The process.
    """

    def __init__(self, start_process, folder, module='bridge_node', **parameters):
        self._script = folder / 'script'
        self._log = Path(f'{self._script}.log')
        self.say()
        inside = f'<param name="script">{self._script}</param>'
        urdf = folder / 'robot.urdf'
        urdf.write_text(make_urdf({'arm': ('scripted_driver/Scripted', ['a', 'b'])}, inside))
        words = [word for each in parameters.items() for word in ('-p', '{}:={}'.format(*each))]
        given = ('--urdf', urdf, '--driver', SUPPORT / 'scripted_driver.py', '--ros-args')
        self.process = start_process(f'transmission_bridge.ros.main {module}', *given, *words)

    def say(self, **faults):
        """Have methods do this from now on."""
        self._script.write_text(json.dumps(faults), encoding='utf-8')

    def calls(self):
        """Return the calls so far."""
        return self._log.read_text(encoding='utf-8').splitlines() if self._log.exists() else []

    def written(self):
        """Return the last command, rows position, velocity, effort."""
        commands = [each for each in self.calls() if each.startswith('write ')]
        return np.array(json.loads(commands[-1].removeprefix('write ')), dtype=float)


@pytest.fixture
def hosted(harness, start_process, tmp_path, meet):
    """Return a function that starts a patient :class:`Hosted`, and returns it with a peer."""

    def start(**parameters):
        bridge = Hosted(start_process, tmp_path, **{**harness.PATIENT, **parameters})
        peer = meet('transmission_bridge')
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        return bridge, peer

    return start


def wait_for_rows(peer, bridge, expected):
    """Wait for a command to the driver."""

    def is_written():
        is_last = bridge.calls() and bridge.calls()[-1].startswith('write')
        return is_last and np.array_equal(bridge.written(), expected, equal_nan=True)

    peer.spin_until(is_written, f'the command {expected}')


NAN = math.nan


def test_a_hosted_driver_is_a_driver_without_topics(hosted, harness):
    """Commands, states, trajectories, tools and the order of calls, from start to SIGINT."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    bridge, peer = hosted()
    diagnostics = harness.Diagnostics(peer)
    joints, motors = peer.listen('joint_states'), peer.listen('actuator_states')
    peer.spin_until(lambda: joints and motors, 'states of joints, and copies of those of motors')
    assert (joints[-1].names, motors[-1].names) == (('q_a', 'q_b'), ('m_a', 'm_b'))
    send = peer.publisher('joint_commands')
    peer.exchange(send, Message(('q_a',), position=(0.5,)), peer.listen('actuator_commands'))
    wait_for_rows(peer, bridge, [[1.0, NAN], [NAN, NAN], [NAN, NAN]])
    peer.spin_until(lambda: joints[-1].position.tolist() == [0.5, 0.0], 'the state')
    # A hosted driver hears what is sent; units, names and status are in diagnostics.
    assert diagnostics.said('commands of joint_commands', level=OK)
    diagnostics.said('actuator_states', level=OK)
    status = diagnostics.said('driver arm', 'running', level=OK)
    values = {each.key: each.value for each in status.values}
    assert values['temperature [C] m_b'] == '31.5'
    assert float(values['rate [Hz]']) > 50.0
    # A trajectory starts at the measured position, and is sampled in the cycle of the driver.
    planner = peer.publisher('joint_trajectory', kind=JointTrajectory)
    point = JointTrajectoryPoint(positions=[-0.5])
    point.time_from_start.nanosec = 400_000_000
    planner.publish(JointTrajectory(joint_names=['q_b'], points=[point]))
    begun = len(joints)
    peer.spin_until(lambda: joints[-1].position.tolist() == [0.5, -0.5], 'the end of the way')
    way = np.array([each.position[1] for each in joints[begun:]])
    assert np.abs(np.diff(way)).max() < 0.25
    peer.send(send, Message(('q_a', 'q_b'), velocity=(0.1, 0.1)))
    wait_for_rows(peer, bridge, [[NAN, NAN], [0.2, 0.2], [NAN, NAN]])
    assert 'left to the driver' not in bridge.process.output
    begun = time.monotonic()
    bridge.process.ends_well()
    assert time.monotonic() - begun < END
    assert bridge.calls()[:2] == ['configure', 'activate']
    assert bridge.calls()[-2:] == ['deactivate', 'cleanup']
    assert bridge.written()[1].tolist() == [0.0, 0.0]


def test_the_transitions_of_the_node_are_those_of_the_driver(hosted, harness):
    """Each calls its methods; a configure or an activate that raises fails with its sentence."""
    bridge, peer = hosted()
    for transition, calls in (
        ('deactivate', ['deactivate']),
        ('activate', ['activate']),
        ('deactivate', ['deactivate']),
        ('cleanup', ['cleanup']),
    ):
        before = len(bridge.calls())
        assert peer.change_state(transition)
        peer.spin_until(lambda: bridge.calls()[before:] == calls, transition)
    diagnostics = harness.Diagnostics(peer)
    for fault, state in (('configure', 'unconfigured'), ('activate', 'inactive')):
        bridge.say(**{fault: 'raise'})
        if fault == 'activate':
            assert peer.change_state('configure')
        assert not peer.change_state(fault)
        words = f"{fault} failed: driver 'arm': {fault}() failed: RuntimeError: bus fault in"
        diagnostics.said('life cycle', state, words, level=ERROR)
        bridge.say()
    assert peer.change_state('activate')
    diagnostics.said('life cycle', 'active', level=OK)
    diagnostics.said('actuators', 'all known', level=OK)
    assert bridge.process.stop() == 0


def test_faults_of_reading(hosted, harness):
    """
    Each is reported with method and text, makes its joints unknown in time, and ends.

    A lost motor is not moved when it is back, and the other one goes on; a slow driver has its
    rate and the time of a read reported.
    """
    bridge, peer = hosted(state_timeout=1.0)
    diagnostics = harness.Diagnostics(peer)
    sent, joints = peer.listen('actuator_commands'), peer.listen('joint_states')
    send = peer.publisher('joint_commands')
    command = Message(('q_a', 'q_b'), position=(0.5, 0.25))
    peer.exchange(send, command, sent)
    for fault, words in (
        ('raise', 'read() failed: RuntimeError: bus fault in read'),
        ('shape', 'read() failed: returned shape (3, 1), expected (2,) or (1 to 3, 2)'),
    ):
        bridge.say(read=fault)
        diagnostics.said('driver arm', words, level=ERROR)
        diagnostics.said('actuators', 'stale', level=ERROR)
        bridge.say()
        diagnostics.said('actuators', 'all known', level=OK)
        diagnostics.said('driver arm', level=OK)
        # It is opened again, and stands where it is: commands are forgotten.
        assert bridge.calls()[-1] == 'activate'
    peer.exchange(send, command, sent)
    wait_for_rows(peer, bridge, [[1.0, 0.5], [NAN, NAN], [NAN, NAN]])
    bridge.say(read='one lost')
    diagnostics.said('actuators', 'not finite')
    assert [key for key in diagnostics.values('joints') if 'unknown' in key] == ['unknown q_a']
    wait_for_rows(peer, bridge, [[NAN, 0.5], [NAN, NAN], [NAN, NAN]])
    bridge.say()
    diagnostics.said('actuators', 'all known', level=OK)
    peer.exchange(send, Message(('q_b',), position=(0.75,)), sent)
    wait_for_rows(peer, bridge, [[NAN, 1.5], [NAN, NAN], [NAN, NAN]])
    assert all(np.isfinite(each.position).all() for each in joints)
    bridge.say(read='slow')
    diagnostics.said('driver arm', 'slow: ', 'cycles/s, the rate is 100', level=WARN)
    peer.spin_until(
        lambda: float(diagnostics.values('driver arm')['read [ms]']) > 25.0, 'the mean of reads'
    )
    assert bridge.process.stop() == 0


@pytest.mark.parametrize('method', METHODS)
def test_a_hang_in_each_method(start_process, tmp_path, meet, harness, method):
    """It is named, no rate survives it where a call is possible, and SIGINT ends the process."""
    bridge = Hosted(start_process, tmp_path)
    peer = meet('transmission_bridge')
    is_start = method in METHODS[:2]
    if is_start:
        bridge.say(**{method: 'hang'})
    else:
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        diagnostics = harness.Diagnostics(peer)
        send, sent = peer.publisher('joint_commands'), peer.listen('actuator_commands')
        peer.exchange(send, Message(('q_a',), velocity=(0.5,)), sent)
        bridge.say(**{method: 'hang'})
        if method in ('read', 'write'):
            words = f'hangs: {method}() has not returned for'
            diagnostics.said('driver arm', words, 'give its I/O a timeout', level=ERROR)
            diagnostics.said('actuators', 'stale', level=ERROR)
    if is_start:
        # The transition may be over already; else it waits for 10 s at most.
        peer.spin_until(lambda: bridge.calls() and bridge.calls()[-1], 'a call')
    begun = time.monotonic()
    assert bridge.process.stop(signal.SIGINT) == 0
    assert time.monotonic() - begun < END + START * is_start
    assert 'bug' not in bridge.process.output


# -- several drivers -----------------------------------------------------------------------------


def test_hosted_drivers_beside_one_on_a_topic(make_bridge, peer, harness):
    """Each block has the topics that its driver would have, and tools read their names."""
    urdf = make_urdf({
        'left arm': (SIMULATED, ['a']),
        'right': (SIMULATED, ['b']),
        'other': ('some/Component', ['c']),
    })  # fmt: skip
    node = make_bridge({'robot_description': urdf, **harness.PATIENT})
    peer.start()
    joints, sent = peer.listen('joint_states'), peer.listen('actuator_commands')
    own = [peer.listen(f'{side}/actuator_commands') for side in ('left_arm', 'right')]
    send = peer.publisher('joint_commands')
    driver = peer.publisher('actuator_states')
    states = harness.repeat(lambda: peer.send(driver, Message(('m_c',), position=(0.5,))))
    command = Message(('q_a', 'q_b', 'q_c'), position=(0.5, -0.5, 1.0))
    repeat = harness.repeat(lambda: peer.send(send, command))

    def has_moved():
        states()
        repeat()
        known = dict(zip(joints[-1].names, joints[-1].position, strict=True)) if joints else {}
        goal = {'q_a': 0.5, 'q_b': -0.5, 'q_c': 0.25}
        return known.keys() == goal.keys() and all(abs(known[k] - goal[k]) < 1e-3 for k in goal)

    peer.spin_until(has_moved, 'the motion of all')
    assert (sent[-1].names, sent[-1].position.tolist()) == (('m_c',), [2.0])
    found = [(each[-1].names, each[-1].position.tolist()) for each in own]
    assert found == [(('m_a',), [1.0]), (('m_b',), [-1.0])]
    topics = ['actuator_states', 'left_arm/actuator_states', 'right/actuator_states']
    name = 'hosted.actuator_state_topics'
    assert peer.parameters([name]) == {name: topics}
    result = peer.set_parameters({name: ['x']})
    assert (result.successful, result.reason) == (False, 'the parameter is read only')
    peer.pass_through('deactivate', 'cleanup')
    assert not node.has_parameter(name)


# -- the driver alone ----------------------------------------------------------------------------


def test_a_driver_alone_on_topics(start_process, tmp_path, meet):
    """It follows commands for its motors, ends rates without new ones, and ends in order."""
    alone, peer = Hosted(start_process, tmp_path, 'driver_node'), meet('driver_node')
    states, send = peer.listen('actuator_states'), peer.publisher('actuator_commands')
    peer.spin_until(lambda: states, 'states')

    peer.send(send, Message(('other', 'm_a'), position=(9.0, 0.5)))
    peer.spin_until(lambda: states[-1].position.tolist() == [0.5, 0.0], 'the position')
    peer.send(send, Message(('m_a',), velocity=(0.25,)))
    peer.spin_until(lambda: [0.25, 0.0] in [each.velocity.tolist() for each in states], 'velocity')
    peer.spin_until(lambda: states[-1].velocity.tolist() == [0.0, 0.0], 'its end')
    alone.process.ends_well()
    assert alone.calls()[-2:] == ['deactivate', 'cleanup']


def test_a_latched_description_is_there_when_the_node_is_configured(
    peer, make_bridge, reference, monkeypatch
):
    """Also if configure is called before the subscription has found the publisher."""
    monkeypatch.setattr('transmission_bridge.ros.bridge_node._DISCOVERY', 30.0)
    peer.latch(reference.URDF)
    rule = ['--ros-args', '-r', 'robot_description:=/robot_description']
    for number in range(3):
        node = make_bridge(namespace=f'n{number}', cli_args=rule)
        assert node.trigger_configure().name == 'SUCCESS'
