# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Single-turn encoders with real processes: no wrong joint position is ever published."""

from __future__ import annotations

import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from transmission_bridge.bridge.options import BridgeOptions  # noqa: E402
from transmission_bridge.bridge.outputs import DriverNames  # noqa: E402
from transmission_bridge.description import load_description  # noqa: E402
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable  # noqa: E402
from transmission_bridge.ros.optional_topics import SensorTopics  # noqa: E402
from transmission_bridge.transmissions import RobotTransmissions  # noqa: E402

URDF = """<robot name="turning"><link name="base"/>
<link name="l1"/><link name="l2"/><link name="l3"/>
<joint name="roll" type="revolute"><parent link="base"/><child link="l1"/>
  <limit lower="-1.3" upper="1.3" velocity="4" effort="1"/></joint>
<joint name="pitch" type="revolute"><parent link="l1"/><child link="l2"/>
  <limit lower="-1.0" upper="1.0" velocity="4" effort="1"/></joint>
<joint name="free" type="revolute"><parent link="base"/><child link="l3"/>
  <limit lower="-40" upper="40" velocity="1" effort="1"/></joint>
<ros2_control name="h" type="system">
  <joint name="roll"/><joint name="pitch"/><joint name="free"/>
  <transmission name="wrist">
    <plugin>transmission_interface/DifferentialTransmission</plugin>
    <actuator name="left" role="actuator1"><mechanical_reduction>2</mechanical_reduction>
    </actuator>
    <actuator name="right" role="actuator2"><mechanical_reduction>2</mechanical_reduction>
    </actuator>
    <joint name="roll" role="joint1"/><joint name="pitch" role="joint2"/>
  </transmission>
  <transmission name="free_gear">
    <plugin>transmission_interface/SimpleTransmission</plugin>
    <actuator name="free_motor" role="actuator1"/>
    <joint name="free" role="joint1"><mechanical_reduction>1</mechanical_reduction></joint>
  </transmission>
</ros2_control></robot>
"""
OPTIONS = {
    'robot_description': URDF,
    'autostart': True,
    'wrap_period': [f'{motor}={2.0 * math.pi!r}' for motor in ('left', 'right', 'free_motor')],
}
ALL = {'roll', 'pitch', 'free'}


@pytest.fixture(scope='module')
def motion(load):
    """Return the driver's module with the positions of everything."""
    return load('wrapped_driver', Path(__file__).with_name('wrapped_driver.py'))


@pytest.fixture
def drive(harness):
    """Start a driver with motors in these turns at power-on."""
    children = []

    def start(*turns):
        file = Path(__file__).with_name('wrapped_driver.py')
        children.append(
            subprocess.Popen(
                [sys.executable, file, *map(str, turns)],
                env={**os.environ, 'ROS_DOMAIN_ID': str(harness.DOMAIN)},
            )
        )
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.wait()


@pytest.fixture
def bridge(harness, start_process, tmp_path):
    """Start a bridge as a process, with a velocity limit of the free joint."""
    options = dict(OPTIONS)
    urdf = options.pop('robot_description')
    robot = tmp_path / 'turning.urdf'
    file = harness.parameter_file(
        tmp_path / 'parameters.yaml',
        {name: str(value).replace('True', 'true') for name, value in options.items()},
    )
    module = 'transmission_bridge.ros.bridge_main'

    def start(velocity):
        robot.write_text(urdf.replace('velocity="1"', f'velocity="{velocity}"'))
        return start_process(module, '--urdf', robot, '--ros-args', '--params-file', file)

    return start


class Listener:
    """Compares joint states with the true positions at that time."""

    def __init__(self, peer, motion):
        self._peer = peer
        self._heard = peer.listen('joint_states')
        self._motion = motion
        self._checked = 0
        self.number = 0

    def check(self):
        """Compare what has come, and return the names of the newest message."""
        for state in self._heard[self._checked :]:
            at = state.stamp[0] + state.stamp[1] * 1e-9
            truth = dict(zip(('roll', 'pitch', 'free'), self._motion.joints_at(at), strict=True))
            for name, position in zip(state.names, state.position, strict=True):
                assert abs(position - truth[name]) < 1e-6, (name, position, truth[name])
                self.number += 1
        self._checked = len(self._heard)
        return set(self._heard[-1].names) if self._heard else set()

    def until(self, names):
        """Return once these joints are known, and no others, in a message from now on."""
        before = len(self._heard)
        self._peer.spin_until(
            lambda: len(self._heard) > before and self.check() == set(names), f'{names} known'
        )

    def more(self, count):
        """Return once so many more numbers have come, each of them right."""
        enough = self.number + count
        self._peer.spin_until(lambda: self.check() and self.number >= enough, 'more states')


def absolute(peer, motion):
    """Return a publisher of the present position of the free joint's motor."""
    sensor = peer.publisher('actuator_absolute_positions')

    def send():
        now = motion.motors_at(time.time())[2]
        sensor.publish(JointState(name=['free_motor'], position=[now]))

    return send


def known_by_absolute(peer, motion, listener):
    """Let the absolute encoder of the free joint speak until it is known."""
    send = absolute(peer, motion)
    peer.spin_until(lambda: send() or listener.check() == ALL, 'the free joint')


def status(peer, part):
    """Return the message of a status of the next diagnostics."""
    reports = []
    subscription = peer.node.create_subscription(
        DiagnosticArray, '/diagnostics', reports.append, 9
    )
    peer.spin_until(lambda: reports, 'diagnostics')
    peer.node.destroy_subscription(subscription)
    (found,) = [each for each in reports[-1].status if each.name.endswith(f': {part}')]
    return found.message


def test_driver_that_starts_again_in_another_turn(drive, bridge, meet, motion):
    """Killed and started again while everything moves: each number is right, or is not said."""
    driver = drive(0, -1, 2)
    # At this limit its last position tells the turn of the free joint for 20 s.
    process = bridge(0.25)
    peer = meet('transmission_bridge', 'wrapped_driver')
    listener = Listener(peer, motion)
    listener.until({'roll', 'pitch'})
    assert "the turn of 'free_motor' is unknown" in status(peer, 'actuators')
    known_by_absolute(peer, motion, listener)
    for turns in ((1, 0, -1), (-1, 1, 0)):
        driver.kill()
        driver.wait()
        driver = drive(*turns)
        listener.until(ALL)
        listener.more(200)
    process.stop()
    assert 'Traceback' not in process.output


def test_bridge_that_starts_again(drive, bridge, meet, motion):
    """Limits determine the turn; the remaining candidates are reported."""
    drive(1, -1, 3)
    for _ in range(2):
        process = bridge(1.0)
        peer = meet('transmission_bridge', 'wrapped_driver')
        listener = Listener(peer, motion)
        listener.until({'roll', 'pitch'})
        known_by_absolute(peer, motion, listener)
        listener.more(100)
        process.stop(signal.SIGKILL)


def test_deactivation(drive, bridge, meet, motion):
    """A short one leaves no turn open; after a long one the last position does not tell."""
    drive(1, -1, 3)
    process = bridge(1.0)
    peer = meet('transmission_bridge', 'wrapped_driver')
    listener = Listener(peer, motion)
    listener.until({'roll', 'pitch'})
    known_by_absolute(peer, motion, listener)
    assert peer.change_state('deactivate')
    assert peer.change_state('activate')
    listener.until(ALL)
    assert peer.change_state('deactivate')
    # At 1 rad/s and a fifth, two turns are possible from half a turn on.
    late = time.monotonic() + 2.0 * math.pi / 1.2
    peer.spin_until(lambda: time.monotonic() > late)
    assert peer.change_state('activate')
    listener.until({'roll', 'pitch'})
    process.stop()


# -- in this process -----------------------------------------------------------------------------


@pytest.fixture
def standing(peer, make_bridge, motion, reference):
    """Make a bridge that has heard motors that stand still, and return what it says of them."""
    heard = {}

    def hear(readings, parameters=None):
        if not heard:
            make_bridge({**OPTIONS, **(parameters or {})})
            peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
            heard['driver'] = peer.publisher('actuator_states')
            heard['joints'] = peer.listen('joint_states')
        heard['stamp'] = stamp = (heard.get('stamp', (0, 0))[0] + 1, 0)
        message = reference.Message(motion.MOTORS, readings, stamp=stamp)
        (state,) = peer.exchange(heard['driver'], message, heard['joints'])
        return dict(zip(state.names, state.position, strict=True))

    return hear


def test_zero_settles_the_turn(peer, standing):
    """~/zero takes the nearest turn for the one that it is in, and the offset does the rest."""
    readings = (0.4, 0.2, 1.0)
    assert set(standing(readings)) == {'roll', 'pitch'}
    wanted = 1.1 + 4.0 * math.pi
    assert peer.set_parameters({'zero_joints': ['free'], 'zero_positions': [wanted]}).successful
    answer = peer.call(Trigger, 'transmission_bridge/zero', Trigger.Request())
    assert answer.success, answer.message
    assert standing(readings)['free'] == pytest.approx(wanted, abs=1e-12)
    (offset,) = peer.parameters(['transmissions.free_gear.joints.free.offset']).values()
    assert offset == pytest.approx(0.1, abs=1e-12)


def test_commands_wait_for_the_turn(peer, standing, reference):
    """A position is refused and counted; afterwards the driver is commanded as it reads."""
    readings = (0.4, 0.2 + 2.0 * math.pi, 1.0)
    assert set(standing(readings)) == {'roll', 'pitch'}
    commands, controller = peer.listen('actuator_commands'), peer.publisher('joint_commands')
    stay = {'roll': 0.15, 'pitch': 0.05}
    message = reference.Message(tuple(stay), position=tuple(stay.values()))
    (sent,) = peer.exchange(controller, message, commands)
    assert dict(zip(sent.names, sent.position, strict=True)) == pytest.approx(
        {'left': 0.4, 'right': 0.2 + 2.0 * math.pi}
    )
    peer.send(controller, reference.Message(('free',), position=(1.0,)))

    peer.spin_until(
        lambda: 'unknown_turn' in status(peer, 'commands of joint_commands'), 'a refusal'
    )


def test_absolute_position_has_the_time_of_its_own_message():
    """A position repeated with another actuator's message is not a new one."""
    taken, receive = [], {}
    inputs = SimpleNamespace(
        subscribe_joint_states=lambda topic, take, name: receive.setdefault(name, take)
    )
    maps = RobotTransmissions(load_description(URDF))
    SensorTopics(
        inputs,
        SimpleNamespace(add_publisher=lambda name: SimpleNamespace(publish=lambda message: None)),
        maps,
        BridgeOptions(),
        DriverNames({}, maps.actuator_names),
        actuator_position=lambda now: np.full(3, np.nan),
        stamp=lambda topic, stamp, now: (1, 0),
        take_absolute=lambda positions, now: taken.append((now, *positions.tolist())),
    )
    layouts, none = LayoutTable(), np.empty(0)
    for now, name in ((1.0, 'left'), (1.5, 'right')):
        message = JointStateRecord((1, 0), '', (name,), np.array([0.5]), none, none)
        layout = layouts.find_layout(message.names, message.lengths)
        receive['actuator_absolute_positions'](layout, message, now)
    assert maps.actuator_names[:2] == ('left', 'right')
    assert str(taken) == '[(1.0, 0.5, nan, nan), (1.5, nan, 0.5, nan)]'
