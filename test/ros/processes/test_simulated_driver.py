# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver as a process, over DDS."""

from __future__ import annotations

import math
import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

#: Seconds after which a request is taken for lost and sent again.
ANSWER = 2.0

NAN = float('nan')
PROMPT = 3.0

URDF = """<?xml version="1.0"?>
<robot name="two">
  <link name="base"/><link name="upper"/><link name="lower"/><link name="tool"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/></joint>
  <joint name="slide" type="continuous"><parent link="lower"/><child link="tool"/></joint>
  <ros2_control name="drive" type="system">
    <hardware><plugin>some/System</plugin></hardware>
    <joint name="shoulder"><command_interface name="position"/></joint>
    <joint name="elbow"><command_interface name="position"/></joint>
    <transmission name="shoulder">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="shoulder" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
      <actuator name="shoulder_motor" role="actuator1"/>
    </transmission>
    <transmission name="elbow">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="elbow" role="joint1"><mechanical_reduction>-30</mechanical_reduction></joint>
      <actuator name="elbow_motor" role="actuator1"/>
    </transmission>
  </ros2_control>
</robot>
"""
ACTUATORS = ['shoulder_motor', 'elbow_motor', 'slide']


@pytest.fixture
def urdf(tmp_path):
    """Return the path of the robot."""
    path = tmp_path / 'two.urdf'
    path.write_text(URDF, encoding='utf-8')
    return path


@pytest.fixture
def launch(start):
    """Start a simulated driver with these arguments."""

    def launch_driver(*args):
        return start('-m', 'transmission_bridge.ros.simulated_driver_main', *args)

    return launch_driver


class Talker:
    """Commands a driver and keeps what it reports."""

    def __init__(self, peer, namespace=''):
        from sensor_msgs.msg import JointState

        self.spin_until, self._node = peer.spin_until, peer.node
        self._message = JointState
        self.received = []
        prefix = f'{namespace}/' if namespace else ''
        peer.node.create_subscription(
            JointState, f'{prefix}actuator_states', self.received.append, 10
        )
        self._commands = peer.node.create_publisher(JointState, f'{prefix}actuator_commands', 10)

    def command(self, names, **fields):
        """Publish a command once it has a subscriber."""
        self.spin_until(lambda: self._commands.get_subscription_count() > 0)
        self._commands.publish(self._message(name=list(names), **fields))

    def sees(self, condition):
        """Wait for a new message with this property; return it."""
        self.received.clear()
        self.spin_until(lambda: any(condition(message) for message in self.received))
        return next(message for message in self.received if condition(message))

    def set(self, **values):
        """Set parameters of the driver at once; return whether it worked, and the reason."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        client = self._node.create_client(
            SetParametersAtomically, '/simulated_driver/set_parameters_atomically'
        )
        self.spin_until(client.service_is_ready)
        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
        )
        calls = []
        again = -math.inf

        def is_answered():
            # A request or its answer can be lost between processes that have only just met.
            nonlocal again
            if time.monotonic() > again:
                calls.append(client.call_async(request))
                again = time.monotonic() + ANSWER
            return any(call.done() for call in calls)

        self.spin_until(is_answered)
        result = next(call.result().result for call in calls if call.done())
        return result.successful, result.reason


@pytest.fixture
def talker(peer):
    """Return a talker in the root namespace."""
    return Talker(peer)


def value(message, field, name):
    """Return one value of a message."""
    return getattr(message, field)[list(message.name).index(name)]


def test_reports_every_actuator_of_the_robot(launch, talker, urdf):
    """Actuators of transmissions come first, then joints that pass through; all at rest."""
    launch('--urdf', urdf)
    message = talker.sees(lambda message: True)
    assert list(message.name) == ACTUATORS
    for field in (message.position, message.velocity, message.effort):
        assert list(field) == [0.0, 0.0, 0.0]
    assert message.header.stamp.sec > 0


def test_follows_commands_of_every_interface(launch, talker, urdf):
    """Position, velocity and effort commands take effect, for the actuators named only."""
    launch('--urdf', urdf)
    talker.command(['elbow_motor'], position=[0.5])
    message = talker.sees(lambda m: math.isclose(value(m, 'position', 'elbow_motor'), 0.5))
    assert value(message, 'position', 'shoulder_motor') == 0.0
    talker.command(['shoulder_motor', 'elbow_motor'], velocity=[-3.0, NAN])
    message = talker.sees(lambda m: math.isclose(value(m, 'velocity', 'shoulder_motor'), -3.0))
    assert math.isclose(value(message, 'position', 'elbow_motor'), 0.5)
    talker.command(['slide'], effort=[0.002])
    # Damping is 0.001, so 2 is the velocity that this effort ends in.
    message = talker.sees(lambda m: math.isclose(value(m, 'velocity', 'slide'), 2.0))
    assert math.isclose(value(message, 'effort', 'slide'), 0.002)


def test_refuses_a_broken_command_and_goes_on(launch, talker, urdf):
    """A ragged message changes nothing and is logged; the next good one is followed."""
    child = launch('--urdf', urdf)
    talker.command(['elbow_motor', 'slide'], position=[9.0])
    child.wait_for('message rejected')
    talker.command(['slide'], position=[0.5])
    message = talker.sees(lambda m: math.isclose(value(m, 'position', 'slide'), 0.5))
    assert value(message, 'position', 'elbow_motor') == 0.0


def test_names_that_the_robot_lacks_are_logged(launch, talker, urdf):
    """A typing error in a command does not pass in silence; actuators of other drivers do."""
    child = launch('--urdf', urdf, '--ros-args', '-p', "actuators:=['slide']")
    talker.command(['slide', 'elbow_motor', 'elbow_mtoor'], position=[0.5, 0.5, 0.5])
    child.wait_for("unknown actuators: 'elbow_mtoor'")
    talker.sees(lambda m: list(m.name) == ['slide'] and math.isclose(m.position[0], 0.5))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_it_properly(launch, talker, urdf, number):
    """In full flow it ends within seconds, with exit code 0 and without a traceback."""
    child = launch('--urdf', urdf, '--ros-args', '-p', 'rate:=500.0')
    talker.sees(lambda message: True)
    child.signal(number)
    assert child.ended(within=PROMPT) == 0
    assert 'Traceback' not in child.output


def test_waits_for_the_description_on_the_topic(launch, talker, peer):
    """Without a parameter the latched topic is used; an unusable text is logged and waited out."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import String

    child = launch()
    child.wait_for('waiting for a description on topic /robot_description')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = peer.node.create_publisher(String, 'robot_description', latched)
    publisher.publish(String(data='<robot'))
    child.wait_for('topic /robot_description: ')
    publisher.publish(String(data=URDF))
    assert list(talker.sees(lambda message: True).name) == ACTUATORS
    publisher.publish(String(data=URDF.replace('elbow_motor', 'other')))
    child.wait_for('restart to use it')
    assert list(talker.sees(lambda message: True).name) == ACTUATORS


def test_description_can_be_set_once(launch, talker):
    """Before the first description one can be set; a bad or a second one is rejected."""
    child = launch()
    child.wait_for('waiting for a description')
    accepted, reason = talker.set(robot_description='<robot name="empty"><link name="a"/></robot>')
    assert (accepted, 'nothing to drive' in reason) == (False, True)
    assert talker.set(robot_description=URDF) == (True, '')
    assert list(talker.sees(lambda message: True).name) == ACTUATORS
    accepted, reason = talker.set(robot_description=URDF)
    assert (accepted, 'running' in reason) == (False, True)


def follows_within(seconds):
    """Return the condition that the slide, commanded to 100, follows with a time constant."""

    def condition(message):
        rest = 100.0 - value(message, 'position', 'slide')
        return math.isclose(value(message, 'velocity', 'slide'), rest / seconds, rel_tol=1e-12)

    return condition


def test_integers_are_numbers(launch, talker, urdf):
    """Where a number is meant an integer does, at the start and later."""
    launch('--urdf', urdf, '--ros-args', '-p', 'rate:=500', '-p', 'time_constant:=100')
    talker.command(['slide'], position=[100.0])
    talker.sees(follows_within(100.0))
    assert talker.set(time_constant=50, rate=200) == (True, '')
    talker.sees(follows_within(50.0))
    accepted, reason = talker.set(rate=2**53 + 1)
    assert (accepted, 'rounded' in reason) == (False, True)


def test_bad_values_are_refused_with_a_reason(launch, talker, urdf):
    """A value out of range changes nothing, and neither do the good ones set with it."""
    launch('--urdf', urdf, '--ros-args', '-p', 'time_constant:=100.0')
    talker.command(['slide'], position=[100.0])
    for name, bad in (('inertia', 0.0), ('damping', NAN)):
        accepted, reason = talker.set(time_constant=50.0, **{name: bad})
        assert not accepted
        assert name in reason
    assert follows_within(100.0)(talker.sees(lambda m: value(m, 'position', 'slide') > 0.0))


def test_time_constant_is_used(launch, talker, urdf):
    """A command is followed with the time constant that was set."""
    launch('--urdf', urdf, '--ros-args', '-p', 'rate:=20.0')
    assert talker.set(time_constant=100.0) == (True, '')
    talker.command(['slide'], position=[100.0])
    assert follows_within(100.0)(talker.sees(lambda m: value(m, 'position', 'slide') > 0.0))


def test_simulated_time_that_stands_still_does_not_stop_it(launch, talker, urdf):
    """Under use_sim_time without a clock the plant goes on; only the stamps are zero."""
    launch('--urdf', urdf, '--ros-args', '-p', 'use_sim_time:=true')
    talker.command(['slide'], position=[0.5])
    message = talker.sees(lambda m: math.isclose(value(m, 'position', 'slide'), 0.5))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)


def test_names_are_relative(launch, peer, urdf):
    """In a namespace all its topics are there."""
    launch('--urdf', urdf, '--ros-args', '-r', '__ns:=/left')
    talker = Talker(peer, '/left')
    talker.command(['slide'], position=[0.5])
    talker.sees(lambda m: math.isclose(value(m, 'position', 'slide'), 0.5))


@pytest.mark.parametrize(
    ('args', 'code', 'sentence'),
    [
        (['--urdf', 'no/such/file.urdf'], 2, 'no/such/file.urdf'),
        (['--speed', '3'], 2, '--speed'),
        (['--ros-args', '-p', "robot_description:='<robot'"], 1, 'line 1'),
        (['--ros-args', '-p', 'rate:=fast'], 1, 'rate has the wrong type (expected a number'),
        (['--ros-args', '-p', 'rate:=true'], 1, 'rate has the wrong type (expected a number'),
        (['--ros-args', '-p', 'rate:=0.0'], 1, 'rate'),
        (['--ros-args', '-p', 'faults.nan:=1'], 1, 'faults.nan was removed: the simulated'),
        (['--ros-args', '--params-file', 'no/such.yaml'], 1, 'no/such.yaml'),
        (['--ros-args', '--log-level', 'loud'], 1, 'loud'),
        (['--ros-args', '--unknown'], 1, '--unknown'),
    ],
)
def test_mistakes_end_it_with_a_sentence(launch, args, code, sentence):
    """A mistake of the user is reported without a traceback and with an exit code."""
    child = launch(*args)
    assert child.ended() == code
    assert sentence in child.output
    assert 'Traceback' not in child.output


def test_actuators_must_be_those_of_the_robot(launch, urdf):
    """A name in the parameter actuators that the robot lacks is refused with those it has."""
    child = launch('--urdf', urdf, '--ros-args', '-p', "actuators:=['elbow']")
    assert child.ended() == 1
    closest = f"unknown actuator 'elbow' (closest: '{ACTUATORS[1]}')"
    assert f'{closest}, known: {", ".join(ACTUATORS)}' in child.output
