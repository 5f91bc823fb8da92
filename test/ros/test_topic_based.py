# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The example for topic-based hardware, driven end to end over DDS.

The hardware component is written against the documented behaviour of JointStateTopicSystem: every
joint in ``name``, arrays only as long as there are joints with the command interface, NaN before
the first command, silence while the sum of differences is not above a threshold, a best-effort
subscription of depth five that takes the last message, and errors on arrays that are too short and
on values for interfaces that a joint does not declare.
"""

from __future__ import annotations

from dataclasses import fields
import math
import time
import xml.etree.ElementTree as ElementTree

import pytest

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.resources import resource

pytest.importorskip('rclpy', reason='rclpy is not installed')
yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')
pytestmark = pytest.mark.ros

URDF = resource('urdf', 'topic_based.urdf')
CONFIG = resource('config', 'topic_based.yaml')
INTERFACES = ('position', 'velocity', 'effort')
MOTORS = {
    'turntable_motor': 1.0,
    'shoulder_motor': -20.0,
    'wrist_left_motor': 6.0,
    'wrist_right_motor': 3.0,
    'gripper_motor': 5.0,
}


class Hardware:
    """
    The component, without a controller manager around it.

    :param peer: Whose node it uses.
    """

    def __init__(self, peer):
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        robot = ElementTree.parse(URDF).getroot()
        block = robot.find('ros2_control')
        self.parameters = {
            each.get('name'): each.text for each in block.find('hardware').findall('param')
        }
        self.mimic = {
            each.get('name'): each.find('mimic').get('joint')
            for each in robot.findall('joint')
            if each.find('mimic') is not None
        }
        self.names = [each.get('name') for each in block.findall('joint')]
        self.commands, self.states = (
            {
                (each.get('name'), interface.get('name')): math.nan
                for each in block.findall('joint')
                for interface in each.findall(tag)
            }
            for tag in ('command_interface', 'state_interface')
        )
        self.speeds = {
            each.get('name'): float(each.find('limit').get('velocity'))
            for each in robot.findall('joint')
        }
        self.goals = {}
        self._led = time.monotonic()
        self.threshold = float(self.parameters['trigger_joint_command_threshold'])
        self.is_alive = True
        self.sent = 0
        self._last = None
        self._publisher = peer.node.create_publisher(
            JointState,
            self.parameters['joint_commands_topic'],
            QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE),
        )
        peer.node.create_subscription(
            JointState,
            self.parameters['joint_states_topic'],
            self._store,
            QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT),
        )

    @property
    def is_connected(self):
        """Whether the commands have a subscriber."""
        return self._publisher.get_subscription_count() > 0

    def _store(self, message):
        self._last = message

    def read(self):
        """Use the last message; raise an error if the component does."""
        message, self._last = self._last, None
        if message is not None:
            for place, name in enumerate(message.name):
                if name not in self.names or name in self.mimic:
                    continue
                for interface in INTERFACES:
                    values = getattr(message, interface)
                    # An index error where an array is shorter than the names: that is the rule.
                    if len(values) and math.isfinite(values[place]):
                        assert (name, interface) in self.states, f'{name} has no {interface}'
                        self.states[name, interface] = values[place]
        for name, followed in self.mimic.items():
            self.states[name, 'position'] = self.states[followed, 'position']

    def lead(self):
        """Bring the commands nearer to the goals, as a controller does within velocity limits."""
        # After a pause it continues from its position: a jump would be rejected.
        elapsed, self._led = min(time.monotonic() - self._led, 0.02), time.monotonic()
        for key, goal in self.goals.items():
            step = elapsed * self.speeds[key[0]] if key[1] == 'position' else math.inf
            last = self.states[key] if math.isnan(self.commands[key]) else self.commands[key]
            self.commands[key] = min(max(goal, last - step), last + step)

    def write(self):
        """Publish the commands, unless every joint has reached its command, or it has ended."""
        from sensor_msgs.msg import JointState

        difference = sum(abs(self.states[key] - value) for key, value in self.commands.items())
        if not self.is_alive or difference <= self.threshold:  # false with NaN
            return
        message = JointState(name=self.names)
        message.header.stamp.sec = self.sent + 1
        for interface in INTERFACES:
            values = [self.commands[key] for key in self.commands if key[1] == interface]
            setattr(message, interface, values)
        self._publisher.publish(message)
        self.sent += 1


class Driver:
    """A drive that is at once where it was sent, and reports position, velocity and effort."""

    def __init__(self, peer, harness, reference):
        self._peer, self._reference = peer, reference
        self.position = dict(MOTORS)
        self.velocity = dict.fromkeys(MOTORS, 0.0)
        self.commanded = []
        peer.node.create_subscription(
            self._type(), 'actuator_commands', self._take, harness.LISTENER
        )
        self._publisher = peer.node.create_publisher(
            self._type(), 'actuator_states', harness.BEST_EFFORT
        )

    @staticmethod
    def _type():
        from sensor_msgs.msg import JointState

        return JointState

    def _take(self, message):
        self.commanded.append(message)
        for target in ('position', 'velocity'):
            for name, value in zip(message.name, getattr(message, target), strict=False):
                getattr(self, target)[name] = value

    def report(self):
        """Publish the states."""
        self._peer.send(
            self._publisher,
            self._reference.Message(
                tuple(MOTORS),
                tuple(self.position.values()),
                tuple(self.velocity.values()),
                (0.5,) * len(MOTORS),
                stamp=(1, 1),
            ),
        )


@pytest.fixture
def robot(peer, harness, reference, start_process):
    """Return hardware component, driver and a cycle of both, the bridge being between them."""
    hardware = Hardware(peer)
    driver = Driver(peer, harness, reference)
    start_process(
        'transmission_bridge.ros.bridge_main',
        '--urdf',
        URDF,
        '--ros-args',
        '--params-file',
        CONFIG,
        *('-r', f'joint_states:={hardware.parameters["joint_states_topic"]}'),
        *('-r', f'joint_commands:={hardware.parameters["joint_commands_topic"]}'),
    )
    peer.spin_until(lambda: hardware.is_connected, 'the bridge')

    def cycle():
        driver.report()
        peer.executor.spin_once(timeout_sec=0.02)
        hardware.read()
        hardware.lead()
        hardware.write()

    return hardware, driver, cycle


def run(peer, cycle, condition, what):
    """Run cycles until the condition holds."""

    def step():
        cycle()
        return condition()

    peer.spin_until(step, what)


def test_end_to_end(peer, robot):
    """States arrive, NaN moves nothing, commands get there, and end with the component."""
    hardware, driver, cycle = robot
    run(peer, cycle, lambda: not math.isnan(hardware.states['shoulder', 'position']), 'states')
    first = dict(hardware.states)
    expected = {
        ('turntable', 'position'): 1.0 / -60.0,
        ('turntable', 'velocity'): 0.0,
        ('shoulder', 'position'): -20.0 / 100.0 + 0.1,
        ('shoulder', 'velocity'): 0.0,
        ('wrist_pitch', 'position'): (6.0 / 30.0 - 3.0 / 30.0) / 2.0,
        ('wrist_roll', 'position'): (6.0 / 30.0 + 3.0 / 30.0) / 4.0,
        ('left_finger', 'position'): 0.01,
        ('left_finger', 'effort'): 250.0,
        ('right_finger', 'position'): 0.01,
    }
    assert first == pytest.approx(expected, rel=1e-12)

    # No controller yet: NaN in every cycle, and no command to any motor.
    sent = hardware.sent
    run(peer, cycle, lambda: hardware.sent > sent + 20, 'NaN for a while')
    assert driver.commanded == []

    # One joint of the wrist, the turntable, and nothing for the others.
    hardware.goals['wrist_roll', 'position'] = 1.0
    hardware.goals['turntable', 'velocity'] = 0.5
    run(
        peer,
        cycle,
        lambda: (
            hardware.states['wrist_roll', 'position'] == pytest.approx(1.0, abs=1e-9)
            and hardware.states['turntable', 'velocity'] == pytest.approx(0.5, abs=1e-9)
        ),
        'the first commands',
    )
    assert hardware.states['wrist_pitch', 'position'] == pytest.approx(
        first['wrist_pitch', 'position'], abs=1e-9
    )
    moved = {name for message in driver.commanded for name in message.name}
    assert moved == {'turntable_motor', 'wrist_left_motor', 'wrist_right_motor'}

    # All of them.
    hardware.goals.update(
        {
            ('shoulder', 'position'): 0.75,
            ('wrist_pitch', 'position'): -0.5,
            ('wrist_roll', 'position'): 0.25,
            ('left_finger', 'position'): 0.03,
        }
    )
    run(
        peer,
        cycle,
        lambda: all(
            hardware.states[key] == pytest.approx(value, abs=1e-9)
            for key, value in hardware.goals.items()
        ),
        'all commands',
    )

    # It repeats them, so that the turntable turns on, and stops when the manager has died.
    sent = hardware.sent
    run(peer, cycle, lambda: hardware.sent > sent + 50, 'repeated commands')
    assert driver.velocity['turntable_motor'] == pytest.approx(-30.0)
    wanted = dict(driver.position)
    hardware.is_alive = False
    run(peer, cycle, lambda: driver.velocity['turntable_motor'] == 0.0, 'the end of the velocity')
    assert driver.position == wanted
    hardware.is_alive = True
    run(peer, cycle, lambda: driver.velocity['turntable_motor'] == -30.0, 'the velocity again')

    # A command outside the limits is brought inside them.
    hardware.goals['left_finger', 'position'] = 0.5
    run(
        peer,
        cycle,
        lambda: hardware.states['left_finger', 'position'] == pytest.approx(0.04, abs=1e-9),
        'the limit',
    )

    # A joint that would jump stays at its position, and the others continue.
    place = driver.position['shoulder_motor']
    del hardware.goals['shoulder', 'position']
    hardware.commands['shoulder', 'position'] += 0.5
    hardware.goals['left_finger', 'position'] = 0.01
    run(
        peer,
        cycle,
        lambda: hardware.states['left_finger', 'position'] == pytest.approx(0.01, abs=1e-9),
        'the finger',
    )
    assert driver.position['shoulder_motor'] == place
    assert driver.velocity['turntable_motor'] == -30.0


def test_parameters_of_the_example():
    """The example's parameters are options of the bridge, and its values are accepted."""
    values = yaml.safe_load(CONFIG.read_text(encoding='utf-8'))['/**']['ros__parameters']
    assert values.pop('autostart') is True
    assert set(values) <= {option.name for option in fields(BridgeOptions)}
    assert BridgeOptions(**values).state_timeout == 0.5
