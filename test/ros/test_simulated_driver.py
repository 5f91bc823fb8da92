# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver, the demo's mover and the waiter for states as processes."""

from __future__ import annotations

import math
import signal
import sys

import pytest
from zoo.elements import chain

from transmission_bridge.sim.demo_motion import command_at, MOTIONS

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

NODE = 'simulated_driver'

URDF = chain(
    {
        name: f'<plugin>transmission_interface/SimpleTransmission</plugin><joint name="{name}" '
        f'role="joint1"><mechanical_reduction>{ratio}</mechanical_reduction></joint>'
        f'<actuator name="{name}_motor" role="actuator1"/>'
        for name, ratio in (('shoulder', 50), ('elbow', -30))
    },
    shoulder='continuous -9 9 9 9',
    elbow='continuous -9 9 9 9',
    slide='continuous -9 9 9 9',
)
ACTUATORS = ('shoulder_motor', 'elbow_motor', 'slide')


@pytest.fixture
def urdf(tmp_path):
    """Return the path of the robot."""
    path = tmp_path / 'two.urdf'
    path.write_text(URDF, encoding='utf-8')
    return path


@pytest.fixture
def launch(start_process):
    """Start a simulated driver with these arguments."""
    return lambda *args: start_process('transmission_bridge.ros.simulated_driver_main', *args)


@pytest.fixture
def sees(peer):
    """Return a function that waits for a new message with a property, and returns it."""
    received = peer.listen('actuator_states')

    def wait(condition=lambda message: True):
        del received[:]
        return peer.spin_until(lambda: next(filter(condition, received), None), 'such a message')

    return wait


@pytest.fixture
def command(peer, reference):
    """Return a function that publishes a command."""
    # Before the driver starts: it may not have discovered a publisher that has discovered it.
    controller = peer.publisher('actuator_commands', readers=0)

    def send(*names, **fields):
        peer.spin_until(controller.get_subscription_count, 'the driver')
        peer.send(controller, reference.Message(names, **fields))

    return send


@pytest.fixture
def set_them(peer):
    """Return a function that sets parameters at once; whether it worked, and the reason."""

    def set_values(**values):
        result = peer.set_parameters(values, NODE)
        return result.successful, result.reason

    return set_values


def has(field, **values):
    """Return the condition that actuators have these values."""
    return lambda message: all(
        math.isclose(getattr(message, field)[message.names.index(name)], value)
        for name, value in values.items()
    )


def test_commands_and_states(launch, sees, command, urdf):
    """Actuators of transmissions come first, all at rest; a command moves those that it names."""
    child = launch('--urdf', urdf, '--ros-args', '-p', 'use_sim_time:=true')
    message = sees()
    assert message.names == ACTUATORS
    for field in (message.position, message.velocity, message.effort):
        assert list(field) == [0.0, 0.0, 0.0]
    command('elbow_motor', 'elbow_mtoor', position=(0.5, 0.5))
    child.wait_for("unknown actuators: 'elbow_mtoor'")
    message = sees(has('position', elbow_motor=0.5))
    assert has('position', shoulder_motor=0.0)(message)
    command('elbow_motor', 'slide', position=(9.0,))
    child.wait_for('message rejected')
    command('slide', effort=(0.002,))
    # Damping is 0.001, so 2 is the velocity that this effort ends in.
    message = sees(has('velocity', slide=2.0))
    assert has('effort', slide=0.002)(message)
    assert has('position', elbow_motor=0.5)(message)
    # Without a clock the plant goes on; only the stamps are zero.
    assert message.stamp == (0, 0)
    child.ends_well()


def test_waits_for_the_description_on_the_topic(launch, sees, peer, set_them):
    """Without a parameter the latched topic is used; an unusable text is logged and waited out."""
    child = launch()
    child.wait_for('waiting for a description on topic /robot_description')
    accepted, reason = set_them(robot_description='<robot name="empty"><link name="a"/></robot>')
    assert (accepted, 'nothing to drive' in reason) == (False, True)
    publisher = peer.latch('<robot')
    child.wait_for('topic /robot_description: ')
    for text, words in ((URDF, ''), (URDF.replace('elbow_motor', 'other'), 'restart to use it')):
        publisher.publish(publisher.msg_type(data=text))
        child.wait_for(words)
        assert sees().names == ACTUATORS


def follows_within(seconds):
    """Return the condition that the slide, commanded to 100, follows with a time constant."""

    def condition(message):
        rest = 100.0 - message.position[-1]
        return math.isclose(message.velocity[-1], rest / seconds, rel_tol=1e-12)

    return condition


def test_values_of_parameters(launch, sees, command, set_them, urdf):
    """
    An integer is a number, at the start and later; a value out of range changes nothing.

    A misspelt name is a warning with the closest one; names for the bridge are none.
    """
    values = ('rate:=500', 'time_constant:=100', 'dampng:=1.0', 'limits:=clamp')
    child = launch('--urdf', urdf, '--ros-args', *(x for each in values for x in ('-p', each)))
    child.wait_for("'dampng' matches no parameter (closest: 'damping')")
    sees()
    assert child.output.count('matches no parameter') == 1
    command('slide', position=(100.0,))
    sees(follows_within(100.0))
    assert set_them(time_constant=50, rate=200) == (True, '')
    sees(follows_within(50.0))
    for values, words in (
        ({'rate': 2**53 + 1}, 'rounded'),
        ({'time_constant': 100.0, 'inertia': 0.0}, 'inertia'),
        ({'time_constant': 100.0, 'damping': math.nan}, 'damping'),
    ):
        accepted, reason = set_them(**values)
        assert (accepted, words in reason) == (False, True)
    assert follows_within(50.0)(sees())


# -- the processes beside it in the launch files --------------------------------------------------

PLACE = {name: 0.125 * number for number, name in enumerate(MOTIONS)}


def distance(message, t):
    """Return the distance of the positions of a command from the positions at a time [rad]."""
    expected = command_at(t, PLACE)['position']
    return max(abs(message.position[k] - expected[name]) for k, name in enumerate(MOTIONS))


def test_it_moves_until_somebody_else_does(start, peer):
    """It moves the joints from their present positions, and stops when others command them."""
    from sensor_msgs.msg import JointState

    heard = []
    states = peer.node.create_publisher(JointState, 'cell/joint_states', 10)
    bridge = peer.node.create_publisher(JointState, 'cell/actuator_commands', 10)
    peer.node.create_subscription(JointState, 'cell/wishes', heard.append, 100)
    child = start(
        '-m', 'transmission_bridge.ros.simulated_driver_main',
        '--ros-args', '-p', 'move_demo:=true', '-r', '__ns:=/cell', '-r', 'joint_commands:=wishes',
    )  # fmt: skip
    peer.spin_until(states.get_subscription_count)
    peer.spin_until(bridge.get_subscription_count)
    # Not all of the arm is known yet.
    states.publish(JointState(name=['elbow'], position=[1.0]))
    reversed_names = list(reversed(MOTIONS))
    states.publish(
        JointState(name=reversed_names, position=[PLACE[name] for name in reversed_names])
    )
    peer.spin_until(lambda: len(heard) >= 10)
    assert all(message.name == list(MOTIONS) for message in heard)
    assert not [message for message in heard if len(message.position) != len(MOTIONS)]
    # The command is one moment of the motion from the initial positions of the joints.
    for message in heard:
        assert min(distance(message, 0.01 * step) for step in range(3000)) < 0.02
    assert heard[-1].position != heard[0].position
    # The results of its own commands have no effect.
    bridge.publish(JointState(header=heard[-1].header, name=['elbow_motor'], position=[1.0]))
    del heard[:]
    peer.spin_until(lambda: len(heard) >= 10)
    assert 'no more' not in child.output
    bridge.publish(JointState(name=['elbow_motor'], position=[1.0]))
    child.wait_for('stopped moving')
    child.ends_well()


LINE = (
    *('-m', 'transmission_bridge.ros.states_waiter', sys.executable, '-c', 'print("spawned")'),
    *('--ros-args', '-r', '__ns:=/cell', '-r', 'joint_states:=robot_joint_states'),
)
WAITING = 'the first joint position on /cell/robot_joint_states'


def test_a_command_runs_after_the_first_position(start, peer, harness):
    """States without a known position do not start the command, and a signal ends the wait."""
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    states = peer.node.create_publisher(
        JointState, 'cell/robot_joint_states', qos_profile_sensor_data
    )
    child, stopped, terminated = (start(*LINE) for _ in range(3))
    for each in (child, stopped, terminated):
        each.wait_for(WAITING)
    peer.spin_until(lambda: states.get_subscription_count() == 3, 'all three')
    for _ in range(20):
        states.publish(JointState())
        states.publish(JointState(name=['a', 'b'], position=[math.nan, math.nan]))
    assert (stopped.stop(), terminated.stop(signal.SIGTERM)) == (0, 0)
    assert child.exit_code is None
    known = JointState(name=['a', 'b'], position=[math.nan, 0.0])
    send = harness.repeat(lambda: states.publish(known))
    peer.spin_until(lambda: send() or child.exit_code is not None, 'the end')
    assert child.ended() == 0
    output = [each.output.splitlines()[-1] for each in (child, stopped, terminated)]
    assert output[0] == 'spawned'
    assert all(WAITING in each for each in output[1:]), output
