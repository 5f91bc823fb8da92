# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The wire to the drivers: a bridge and simulated drivers as processes, over real DDS."""

from __future__ import annotations

from functools import partial
from itertools import count
import json
import math
import random
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

from rclpy.duration import Duration  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

#: The default of command_timeout, time between looks for what is over, and for a busy machine [s].
TIMEOUT, LOOK, MARGIN = 0.5, 0.125, 0.4

MODES = ('position', 'velocity', 'effort')
ORDER = ('pan', 'left', 'right')
JOINTS = ('base', 'near', 'far', 'roll', 'pitch')
#: Limits of the joints: position both ways, velocity, effort.
LIMITS = ((1.0, 3, 5), (1.2, 10, 3), (1.2, 10, 3), (1.0, 3, 4), (0.8, 3, 4))
JOINT = (
    '<link name="{0}_link"/><joint name="{0}" type="revolute"><parent link="world"/><child '
    'link="{0}_link"/><limit lower="-{1}" upper="{1}" velocity="{2}" effort="{3}"/></joint>'
)
URDF = f"""<robot name="hand"><link name="world"/>
{''.join(JOINT.format(name, *limits) for name, limits in zip(JOINTS, LIMITS, strict=True))}
<ros2_control name="hand" type="system"><hardware><plugin>hand/Hardware</plugin></hardware>
{''.join(f'<joint name="{name}"/>' for name in JOINTS)}
<transmission name="gear"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="pan" role="actuator1"><limit upper="1.8" velocity="4" effort="2"/></actuator>
  <joint name="base" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
</transmission>
<transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
  <param name="matrix">1; 1</param>
  <actuator name="curl" role="actuator1"><limit velocity="8" effort="4"/></actuator>
  <joint name="near" role="joint1"/><joint name="far" role="joint2"/></transmission>
<transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
  <actuator name="left" role="actuator1"><limit lower="-1.5" upper="1.5" velocity="4" effort="3"/>
  </actuator><actuator name="right" role="actuator2"/>
  <joint name="roll" role="joint1"/><joint name="pitch" role="joint2"/></transmission>
</ros2_control></robot>"""

#: What a motor may get by its own limits and those of its joints, and how far half of the sum and
#: half of the difference of the wrist's motors may go: joints, for effort half of them.
HIGHEST = {
    'position': {'pan': 1.8, 'left': 1.5, 'right': 1.8, 'curl': 1.2},
    'velocity': {'pan': 4.0, 'left': 4.0, 'right': 6.0, 'curl': 8.0},
    'effort': {'pan': 2.0, 'left': 3.0, 'right': 4.0, 'curl': 4.0},
}
LOWEST_PAN = -2.0
WRIST = {'position': (1.0, 0.8), 'velocity': (3.0, 3.0), 'effort': (2.0, 2.0)}


class World:
    """
    A bridge as a process, its commander, and a listener that checks all that its drivers hear.

    :ivar heard: Time of receipt [s], topic, mode, and numbers by actuator.
    """

    def __init__(self, process, peer, reference):
        self.process, self.peer, self.until = process, peer, peer.spin_until
        self._message, self._stamps = reference.Message, count(1)
        self.highest = {mode: dict(numbers) for mode, numbers in HIGHEST.items()}
        self.heard, node = [], peer.node
        self.joints, self._answers = peer.listen('joint_states'), peer.listen('actuator_commands')
        node.create_subscription(JointState, 'actuator_commands', self._hear, 1000)
        node.create_subscription(JointTrajectory, 'actuator_trajectory', self._hear_points, 1000)
        self._controller = peer.publisher('joint_commands')
        self.senders = {'plan': node.create_publisher(JointTrajectory, 'joint_trajectory', 9)}
        for mode in MODES:
            topic, kind = f'actuator_{mode}_commands', Float64MultiArray
            node.create_subscription(kind, topic, partial(self._hear_array, topic, mode), 1000)
            self.until(lambda topic=topic: node.count_publishers(topic), topic)
            self.senders[mode] = node.create_publisher(kind, f'{mode}_commands', 9)
        for publisher in self.senders.values():
            self.until(publisher.get_subscription_count, 'the bridge')
        self.fence()

    def _hear(self, message, topic='actuator_commands'):
        for mode in MODES:
            if values := getattr(message, mode):
                self._take(topic, mode, zip(message.name, values, strict=True))

    def _hear_array(self, topic, mode, message):
        self._take(topic, mode, zip(ORDER, message.data, strict=True))

    def _hear_points(self, message):
        for point in message.points:
            rows = (point.positions, point.velocities, point.effort)
            record = JointState(name=message.joint_names, **dict(zip(MODES, rows, strict=True)))
            self._hear(record, 'actuator_trajectory')
        placed = [point for point in message.points if point.positions]
        times = [1e-9 * Duration.from_msg(p.time_from_start).nanoseconds for p in placed]
        moved = np.diff([point.positions for point in placed], axis=0)
        for speeds in moved / np.diff(times)[:, np.newaxis]:
            self._take('mean speed', 'velocity', zip(message.joint_names, speeds, strict=True))

    def _take(self, topic, mode, numbers):
        numbers = dict(numbers)
        self.heard.append((time.monotonic(), topic, mode, numbers))
        for name, value in numbers.items():
            high = self.highest[mode][name] + 1e-9
            low = LOWEST_PAN if (mode, name) == ('position', 'pan') else -high
            assert low <= value <= high, self.heard[-1]
        if 'left' in numbers:
            sides = numbers['left'] + numbers['right'], numbers['left'] - numbers['right']
            for limit, value in zip(WRIST[mode], sides, strict=True):
                assert abs(0.5 * value) <= limit + 1e-9, self.heard[-1]

    def told(self, topic, mode):
        """Return the numbers of each message on a topic in a mode."""
        return [numbers for _, at, kind, numbers in self.heard if (at, kind) == (topic, mode)]

    def end(self, mode, actuator):
        """Return when an actuator hears zero in a mode [s]."""

        def ends():
            found = [each for each in self.heard if each[1:3] == ('actuator_commands', mode)]
            return [at for at, _, _, numbers in found if numbers.get(actuator) == 0.0]

        return self.until(ends, f'the end of {actuator}')[0]

    def knows(self, *joints):
        """Return once these are the joints that are known."""
        self.until(lambda: self.joints and self.joints[-1].names == joints, joints)

    def command(self, **modes):
        """Publish a command, each mode as ``{joint: number}``; return when [s]."""
        names = tuple(dict.fromkeys(name for values in modes.values() for name in values))
        rows = {m: tuple(v.get(name, math.nan) for name in names) for m, v in modes.items()}
        self.peer.send(self._controller, self._message(names, **rows))
        return time.monotonic()

    def fence(self):
        """Return once the bridge has answered all before, by a position of the finger."""
        message = self._message(('near',), position=(0.0,), stamp=(next(self._stamps), 0))
        self.peer.exchange(self._controller, message, self._answers)

    def trajectory(self, *points):
        """Publish waypoints of the base, each its time and its arrays."""
        made = [
            JointTrajectoryPoint(time_from_start=Duration(seconds=at).to_msg(), **arrays)
            for at, arrays in points
        ]
        self.senders['plan'].publish(JointTrajectory(joint_names=['base'], points=made))

    def tune(self, path, mode, value):
        """Set a limit of an actuator as soon as it may be set, and check by it from then on."""
        actuator = path.split('.')[-1]
        self.highest[mode][actuator] = max(value, self.highest[mode][actuator])
        name = f'transmissions.{path}.limit.{mode}'
        self.until(lambda: self.peer.set_each_parameter({name: value})[0].successful, 'tuning')
        for _ in range(20):  # more often than messages wait on any topic
            self.fence()
        self.highest[mode][actuator] = value


@pytest.fixture
def drive(start_process, tmp_path):
    """Return a function that starts a simulated driver of some actuators."""
    (tmp_path / 'hand.urdf').write_text(URDF)

    def make(topic, *actuators):
        given = ('-r', f'actuator_states:={topic}', '-p', f'actuators:={json.dumps(actuators)}')
        module = 'transmission_bridge.ros.simulated_driver_main'
        return start_process(module, '--urdf', tmp_path / 'hand.urdf', '--ros-args', *given)

    return make


@pytest.fixture
def start(meet, harness, reference, drive, start_process, tmp_path):
    """Return a function that starts a :class:`World`."""

    def make(**parameters):
        orders = {'command_joints': JOINTS, 'command_actuators': ORDER, 'autostart': True}
        given = {name: json.dumps(value) for name, value in (orders | parameters).items()}
        path = harness.parameter_file(tmp_path / 'hand.yaml', given)
        given = ('--urdf', tmp_path / 'hand.urdf', '--ros-args', '--params-file', path)
        process = start_process('transmission_bridge.ros.bridge_main', *given)
        peer = meet('transmission_bridge')
        peer.spin_until(lambda: peer.state() == 'active', 'the start')
        return World(process, peer, reference)

    return make


def test_a_finger_with_one_motor_stops(start, drive):
    """Velocities and efforts of one motor for two joints end, whichever of them had one."""
    drive('actuator_states', 'curl')
    world = start(zero_effort=True)
    for mode, *joints in (('velocity', 'near'), ('velocity', 'near', 'far'), ('effort', 'far')):
        value = {'velocity': 0.25, 'effort': 1e-4}[mode]
        del world.heard[:]
        for joint in joints:
            last = world.command(**{mode: {joint: value}})
            world.until(lambda: time.monotonic() > last + 0.2, 'some time')
        assert TIMEOUT < world.end(mode, 'curl') - last < TIMEOUT + LOOK + MARGIN
        told = [each['curl'] for each in world.told('actuator_commands', mode)]
        assert told == pytest.approx([value] * len(joints) + [0.0])
    world.until(lambda: world.joints and abs(world.joints[-1].velocity[0]) < 1e-3, 'rest')


def test_a_driver_that_was_silent(start, drive):
    """No command is completed from old positions, and no array has uncommanded values."""
    topics = ('base_states', 'wrist_states')
    drive(topics[0], 'pan')
    wrist = drive(topics[1], 'left', 'right')
    world = start(state_timeout=0.4, actuator_state_topics=topics)

    def array(mode):
        topic = f'actuator_{mode}_commands'
        return world.until(lambda: world.told(topic, mode), topic)

    world.knows('base', 'roll', 'pitch')
    world.command(position={'base': 0.25, 'roll': 0.5, 'pitch': 0.25})
    assert array('position') == [{'pan': 0.5, 'left': 0.75, 'right': 0.25}]
    wrist.clean_up()
    world.knows('base')
    del world.heard[:]
    world.command(position={'roll': 0.5})
    world.process.wait_for('joint_commands: no position command for pitch')
    world.command(position={'base': 0.5})
    drive(topics[1], 'left', 'right')
    world.knows('base', 'roll', 'pitch')
    world.command(position={'base': 0.75})
    world.command(position={'roll': 0.25, 'pitch': 0.25})
    assert array('position') == [{'pan': 1.5, 'left': 0.5, 'right': 0.0}]
    assert world.told('actuator_commands', 'position')[:2] == [{'pan': 1.0}, {'pan': 1.5}]
    for mode, unit in (('velocity', 1.0), ('effort', 1e-4)):
        world.command(**{mode: {'base': unit, 'roll': unit, 'pitch': 0.0}})
        array(mode)
        world.tune('wrist.actuators.left', mode, 0.25 * unit)
        world.command(**{mode: {'base': 0.5 * unit}})
    world.fence()


def test_a_trajectory_of_rates_ends(start):
    """After its last waypoint, or by deactivation; one that is too fast is rejected."""
    world = start()
    del world.heard[:]
    world.trajectory((0.2, {'velocities': [0.5]}), (0.4, {'velocities': [1.0]}))
    world.until(lambda: world.heard, 'waypoints')
    passed = world.end('velocity', 'pan') - world.heard[0][0]
    assert 0.4 + TIMEOUT - MARGIN < passed < 0.4 + TIMEOUT + LOOK + MARGIN
    world.trajectory((1.0, {'positions': [-0.9]}), (1.001, {'positions': [0.9]}))
    world.process.wait_for('base would move at 1800')
    del world.heard[:]
    world.trajectory((30.0, {'velocities': [1.0]}))
    world.until(lambda: world.heard, 'a trajectory')
    assert world.peer.change_state('deactivate')
    world.end('velocity', 'pan')


def test_a_flood_of_random_commands(start, drive):
    """Each number that a driver hears is within its limits, while one of them is tuned."""
    # Not the wrist: a partner holds its measured position, which may be beyond its joint's limit.
    drive('actuator_states', 'pan', 'curl')
    world = start(command_timeout=0.2, zero_effort=True)
    chance = random.Random(26)

    def number():
        return 1e9 if chance.random() < 0.05 else chance.uniform(-1, 1) * chance.choice((1, 10))

    began, rounds = time.monotonic(), 250
    while rounds and time.monotonic() < began + 8.0:
        rounds -= 1
        for kind in chance.choices((*MODES, 'plan', 'command'), (1, 1, 1, 1, 3), k=8):
            if kind == 'command':
                modes = chance.sample(MODES, chance.choice((1, 1, 2)))
                some = [name for name in JOINTS if chance.random() < 0.6]
                world.command(**{mode: {name: number() for name in some} for mode in modes})
            elif kind == 'plan':
                keys = ['positions', 'velocities', 'effort'][chance.choice((0, 0, 1)) :]
                times = sorted(chance.uniform(0.1, 9.0) for _ in range(3))
                world.trajectory(*((at, {key: [number()] for key in keys}) for at in times))
            else:
                world.senders[kind].publish(Float64MultiArray(data=[number() for _ in JOINTS]))
        world.fence()
        if rounds in (160, 80):
            world.tune('gear.actuators.pan', 'velocity', 1.5 if rounds == 160 else 4.0)
    for mode, high in (('position', -LOWEST_PAN), ('velocity', 4.0), ('effort', 2.0)):
        for topic in ('actuator_commands', f'actuator_{mode}_commands', 'actuator_trajectory'):
            told = [abs(each['pan']) for each in world.told(topic, mode) if 'pan' in each]
            assert max(told) == pytest.approx(high), topic
