# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands to a motor are within its limits and in time: a bridge as a process, over real DDS."""

from __future__ import annotations

from itertools import count
import math
import signal
import time

import pytest

from transmission_bridge.ros.process import available_executors

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

executors = pytest.mark.parametrize('executor', available_executors())

#: The default of command_timeout [s], and how often the bridge looks for what is over [s].
TIMEOUT, LOOK = 0.5, 0.125

#: Time [s] for what a busy machine makes late.
MARGIN = 0.3

#: Between messages of a stream [s].
PERIOD = 0.02

#: Time after a stall in which reliable DDS sends commands again [s].
RESENT = 3.0

WARN, ERROR = b'\x01', b'\x02'


class Robot:
    """
    A bridge of the reference robot in a process, with its driver and its controller.

    :ivar heard: What the driver was told: time of receipt [s] and message.
    :ivar sent: Times at which commands were published [s], by stamp.
    :ivar statuses: The newest diagnostics by name.
    """

    def __init__(self, process, peer, reference, harness):
        from diagnostic_msgs.msg import DiagnosticArray
        from sensor_msgs.msg import JointState

        self.process, self.peer = process, peer
        self._reference = reference
        self._to_record = harness.record_from_message
        self._numbers = count(1)
        self.heard, self.sent, self.statuses, self.reports = [], {}, {}, 0
        node = peer.node
        node.create_subscription(JointState, 'actuator_commands', self._take, harness.LISTENER)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 10)
        peer.spin_until(
            lambda: node.count_publishers('actuator_commands') and self.statuses, 'the bridge'
        )
        self._driver = peer.publisher('actuator_states')
        self._controller = peer.publisher('joint_commands')
        self.joints = peer.listen('joint_states')

    def _take(self, message):
        self.heard.append((time.monotonic(), self._to_record(message)))

    def _diagnose(self, message):
        self.reports += 1
        self.statuses.update(
            (each.name.removeprefix('transmission_bridge: '), each) for each in message.status
        )

    def until(self, condition, what):
        """Wait."""
        return self.peer.spin_until(condition, what)

    def command(self, mode, *, stamp=None, **joints):
        """Publish a command in one mode; return its stamp."""
        stamp = stamp or (next(self._numbers), 1)
        names = tuple(joints)
        self.sent[stamp] = time.monotonic()
        self.peer.send(
            self._controller,
            self._reference.Message(names, **{mode: tuple(joints.values())}, stamp=stamp),
        )
        return stamp

    def answer(self, mode, **joints):
        """Command until the bridge answers; return what each actuator is commanded."""
        deadline = time.monotonic() + 20.0
        while time.monotonic() < deadline:
            stamp = self.command(mode, **joints)
            again = time.monotonic() + 1.0
            self.until(
                lambda: self.answered(stamp) or time.monotonic() > again,
                'an answer',
            )
            if found := self.answered(stamp):
                return dict(zip(found.names, getattr(found, mode).tolist(), strict=True))
        return pytest.fail(f'no answer to {mode} of {joints}')

    def answered(self, stamp):
        """Return the message of a stamp, if it has come."""
        return next((each for _, each in self.heard if each.stamp == stamp), None)

    def ends(self, actuator, mode='velocity'):
        """Return when zero came for an actuator [s]."""
        return [
            at
            for at, each in self.heard
            if actuator in each.names
            and list(getattr(each, mode)[each.names.index(actuator) :][:1]) == [0.0]
        ]

    def report(self, **actuators):
        """Publish positions as the driver."""
        self.peer.send(
            self._driver,
            self._reference.Message(tuple(actuators), position=tuple(actuators.values())),
        )

    def stream(self, action):
        """Call it again and again; the returned function ends that."""
        timer = self.peer.node.create_timer(PERIOD, action)
        return lambda: self.peer.node.destroy_timer(timer)

    def said(self, status, level, words):
        """Wait until a status has a level, and a message with these words; return it."""
        return self.until(
            lambda: (
                (found := self.statuses.get(status)) is not None
                and found.level == level
                and words in found.message
                and found
            ),
            f'{words!r} of {status}',
        )

    def counted(self, status, key):
        """Return a count of a status."""
        values = {each.key: each.value for each in self.statuses[status].values}
        return int(values.get(key, 0))

    def set(self, name, value):
        """Set one parameter as ``ros2 param set`` does; return the result."""
        return self.peer.set_each_parameter({name: value})[0]


@pytest.fixture
def start(meet, harness, reference, start_process, tmp_path):
    """Return a function that starts a :class:`Robot`; its URDF is changed by pairs of texts."""

    def make(*changes, executor='auto', **parameters):
        urdf = reference.URDF
        for old, new in changes:
            assert old in urdf
            urdf = urdf.replace(old, new)
        path = harness.parameter_file(
            tmp_path / 'robot.yaml',
            {'robot_description': harness.quoted(urdf), 'autostart': 'true', **parameters},
        )
        process = start_process(
            'transmission_bridge.ros.bridge_main',
            *('--executor', executor, '--ros-args', '--params-file', path),
        )
        peer = meet('transmission_bridge')
        peer.spin_until(lambda: peer.state() == 'active', 'the start')
        return Robot(process, peer, reference, harness)

    return make


def motors(reference, mode, **joints):
    """Return what the motors of the wrist have to do for its joints, by the formulas."""
    numbers = reference.Numbers()
    return {
        name: reference.actuator_value(numbers, mode, name, joints).value
        for name in ('left', 'right')
    }


WINCH = (
    '<actuator name="winch" role="actuator1"/>\n      <joint name="lift"',
    '<actuator name="winch" role="actuator1">'
    '<limit lower="-5" upper="30" velocity="2" effort="10"/></actuator>\n      <joint name="lift"',
)
LEFT = (
    '<actuator name="left" role="actuator1">',
    '<actuator name="left" role="actuator1"><limit upper="3" velocity="1" effort="1"/>',
)


def test_limits_of_a_motor(start, reference):
    """They clamp a position, refuse a coupled one, scale rates together, and can be tuned live."""
    robot = start(WINCH, LEFT)
    assert robot.answer('position', lift=2.0) == {'winch': -5.0}
    assert robot.answer('velocity', lift=1.0) == {'winch': -2.0}
    assert robot.answer('effort', lift=80.0) == {'winch': -10.0}
    robot.said('commands of joint_commands', WARN, 'lift (effort 50%)')

    for mode in ('velocity', 'effort'):
        free = motors(reference, mode, roll=4.0, pitch=1.0)
        found = robot.answer(mode, roll=4.0, pitch=1.0)
        assert abs(found['left']) == pytest.approx(1.0)
        assert found == pytest.approx(
            {name: each / abs(free['left']) for name, each in free.items()}
        )

    before = robot.command('position', roll=4.0, pitch=4.0)
    robot.said('commands of joint_commands', WARN, 'actuator_limit')
    assert robot.answered(before) is None

    limit = 'transmissions.hoist.actuators.winch.limit.velocity'
    assert robot.set(limit, 3.0).successful
    assert robot.answer('velocity', lift=1.0) == {'winch': -3.0}
    assert robot.set(limit, math.inf).successful
    assert robot.answer('velocity', lift=1.0) == {'winch': -4.0}
    assert not robot.set(limit, -1.0).successful


def test_a_load_is_held(start):
    """Without commands velocity ends by zero, once; the last effort stays, which is an error."""
    robot = start()
    robot.answer('effort', finger=2.0)
    robot.answer('velocity', lift=1.0)
    last = max(robot.sent.values())
    robot.until(lambda: robot.ends('winch'), 'the end')
    (ended,) = robot.ends('winch')
    robot.process.wait_for("'winch' stopped: no new velocity or effort within command_timeout")
    assert TIMEOUT < ended - last < TIMEOUT + LOOK + MARGIN
    robot.said('commands in force', ERROR, 'finger')
    # By now a second zero, or one of the effort, would have come.
    assert robot.ends('winch') == [ended]
    assert robot.ends('finger', 'effort') == []
    stop = robot.stream(lambda: robot.command('effort', finger=1.0))
    robot.until(lambda: robot.statuses['commands in force'].level != ERROR, 'the end of the error')
    stop()


def test_a_partner_does_not_creep(start, reference):
    """A sagging joint is not commanded: a partner holds its first measured position."""
    robot = start()
    sag = count()
    stop = robot.stream(lambda: robot.report(left=0.3 - 1e-3 * next(sag), right=-0.7))
    robot.until(lambda: robot.joints, 'a state')
    setpoints = []
    for number in range(3):
        found = robot.answer('position', pitch=0.1 * number)
        roll = reference.joint_value(reference.Numbers(), 'position', 'roll', found).value
        setpoints.append(roll)
        # Each round lasts as long as a command: the lift shows it.
        robot.answer('velocity', lift=0.1)
        del robot.heard[:]
        robot.until(lambda: robot.ends('winch'), 'the watchdog')
    stop()
    assert setpoints == pytest.approx([setpoints[0]] * 3, abs=1e-12)
    assert robot.joints[-1].position[robot.joints[-1].names.index('roll')] != pytest.approx(
        setpoints[0], abs=1e-3
    )


def test_a_power_cycle_of_the_driver(start, reference):
    """An earlier held position is forgotten; the present position of the driver is held."""
    robot = start(state_timeout=0.3)
    place = {'left': 0.3, 'right': -0.7}
    stop = robot.stream(lambda: robot.report(**place))
    robot.until(lambda: robot.joints, 'a state')
    both = robot.answer('position', roll=1.0, pitch=0.5)
    assert robot.answer('position', pitch=0.5) == pytest.approx(both)
    stop()
    # Without its messages the position of roll is unknown.
    stop = robot.stream(lambda: robot.command('position', pitch=0.5))
    robot.said('commands of joint_commands', WARN, 'partial')
    stop()
    place.update(left=-0.4, right=0.9)
    del robot.joints[:]
    stop = robot.stream(lambda: robot.report(**place))
    robot.until(lambda: robot.joints, 'a state')
    now = reference.joint_value(reference.Numbers(), 'position', 'roll', place).value
    found = robot.answer('position', pitch=0.5)
    assert found == pytest.approx(motors(reference, 'position', roll=now, pitch=0.5))
    place['left'] = -0.5
    del robot.joints[:]
    robot.until(lambda: len(robot.joints) > 2, 'what it sags')
    assert robot.answer('position', pitch=0.5) == pytest.approx(found)
    stop()


@pytest.mark.versions
@pytest.mark.parametrize(
    ('executor', 'pause', 'quiet'),
    [
        ('auto', 2.2, 0.7),
        ('auto', 4.0, 0.0),
        ('single_threaded', 2.2, 0.0),
        ('single_threaded', 2.2, 0.7),
    ],
)
def test_a_bridge_that_stood_still(start, executor, pause, quiet):
    """No old command reaches a motor, neither at once nor resent; new ones do."""
    from builtin_interfaces.msg import Duration
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    robot = start(executor=executor, command_joints='[finger]')
    node = robot.peer.node
    moved, numbers = [], count(1)
    node.create_subscription(JointTrajectory, 'actuator_trajectory', moved.append, 10)
    planner = node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
    arrays = node.create_publisher(Float64MultiArray, 'velocity_commands', 10)
    robot.until(
        lambda: (
            planner.get_subscription_count()
            and arrays.get_subscription_count()
            and node.count_publishers('actuator_trajectory')
        ),
        'the other topics',
    )
    array_sent = {}

    def act():
        """Send a command on each topic, numbered by its velocity."""
        robot.command('velocity', lift=1.0)
        number = next(numbers)
        array_sent[number] = time.monotonic()
        arrays.publish(Float64MultiArray(data=[1e-3 * number]))

    def plan():
        point = JointTrajectoryPoint(positions=[1.0], time_from_start=Duration(sec=1))
        planner.publish(JointTrajectory(joint_names=['lift'], points=[point]))

    def ages():
        """Return how old each command was that an actuator was sent [s]."""
        of_arrays = {
            round(1e3 * abs(each.velocity[each.names.index('finger')])): at
            for at, each in robot.heard
            if 'finger' in each.names
        }
        return [
            *(at - robot.sent[m.stamp] for at, m in robot.heard if m.stamp in robot.sent),
            *(at - array_sent[number] for number, at in of_arrays.items() if number),
        ]

    stop = robot.stream(act)
    robot.until(lambda: len(ages()) > 50, 'traffic')
    plan()
    robot.until(lambda: moved, 'a trajectory')
    # It stops between two commands: one that it was publishing would arrive when it goes on.
    stop()
    robot.until(
        lambda: array_sent[max(array_sent)] < time.monotonic() - 0.1, 'what was on its way'
    )
    robot.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        robot.until(lambda: time.monotonic() > stopped + 0.1, 'the pause to begin')
        del robot.heard[:], moved[:]
        stop = robot.stream(act)
        plan()
        robot.until(lambda: time.monotonic() > stopped + pause - quiet, 'the pause')
        stop()
        robot.until(lambda: time.monotonic() > stopped + pause, 'silence')
    finally:
        robot.process.send_signal(signal.SIGCONT)
    resumed = time.monotonic()
    robot.until(lambda: time.monotonic() > resumed + RESENT, 'what is sent again')
    assert moved == []
    assert max(ages(), default=0.0) < TIMEOUT + MARGIN
    if quiet > TIMEOUT:
        assert ages() == []
        robot.said('commands of joint_commands', WARN, 'stalled')
        robot.until(lambda: robot.counted('velocity_commands', 'rejected stalled') > 0, 'a count')
        assert robot.process.output.count('joint_commands: the node was stalled for 2') == 1
    robot.until(lambda: robot.counted('joint_trajectory', 'rejected stalled') == 1, 'the count')
    assert robot.ends('finger')
    # Live commands are accepted at once.
    del robot.heard[:]
    again = time.monotonic()
    stop = robot.stream(act)
    robot.until(lambda: len(ages()) > 20, 'new commands')
    stop()
    assert time.monotonic() - again < 1.0 + MARGIN


def test_a_command_that_is_too_old(start):
    """With max_command_age a stamp from before that is refused; one of zero has no age."""
    robot = start(max_command_age=5.0)

    def ago(seconds):
        now = robot.peer.node.get_clock().now().nanoseconds - int(1e9 * seconds)
        return divmod(now, 10**9)

    old = robot.command('velocity', lift=1.0, stamp=ago(10.0))
    robot.said('commands of joint_commands', WARN, 'too_old')
    assert robot.answered(old) is None
    assert robot.heard == []
    fresh = robot.command('velocity', lift=1.0, stamp=ago(0.0))
    robot.until(lambda: robot.answered(fresh), 'an answer')
    del robot.heard[:]
    robot.command('velocity', lift=0.5, stamp=(0, 0))
    robot.until(lambda: any(list(each.velocity) == [-2.0] for _, each in robot.heard), 'an answer')


def test_tuning_under_load(start):
    """A change that turns a commanded joint is refused with what to do, else it is accepted."""
    robot = start()
    reduction = 'transmissions.hoist.joints.lift.mechanical_reduction'
    stop = robot.stream(lambda: robot.command('velocity', lift=1.0))
    robot.until(lambda: robot.heard, 'traffic')
    refused = robot.set(reduction, 4.0)
    assert not refused.successful
    assert 'lift by winch would move in the opposite direction' in refused.reason
    assert 'Stop commanding it' in refused.reason
    assert robot.set(reduction, -4.5).successful
    stop()
    robot.until(lambda: robot.ends('winch'), 'the end of the command')
    assert robot.set(reduction, 4.0).successful
    assert robot.answer('velocity', lift=1.0) == {'winch': 4.0}


def test_a_trajectory_that_is_too_long(start):
    """It is refused, and delays the end of a velocity by no more than another message does."""
    from builtin_interfaces.msg import Duration
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    robot = start()
    planner = robot.peer.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
    robot.until(planner.get_subscription_count, 'its reader')
    point = JointTrajectoryPoint(positions=[1.0], time_from_start=Duration(sec=1))
    long, longer = (
        serialize_message(JointTrajectory(joint_names=['lift'], points=[point] * length))
        for length in (20_000, 100_000)
    )
    robot.answer('velocity', lift=1.0)
    last = max(robot.sent.values())
    robot.until(lambda: time.monotonic() > last + 0.8 * TIMEOUT, 'the end, nearly')
    planner.publish(long)
    planner.publish(longer)
    robot.until(lambda: robot.ends('winch'), 'the end')
    (ended,) = robot.ends('winch')
    assert TIMEOUT < ended - last < TIMEOUT + LOOK + MARGIN
    robot.process.wait_for('joint_trajectory: 20000 waypoints, max_waypoints is 2000')
    robot.process.wait_for('joint_trajectory: 4800036 bytes, expected at most ')


def test_a_jump(start):
    """A position that is too far away for the velocity limit is warned of, and sent."""
    finger = '<joint name="finger" type="continuous">'
    robot = start((finger, f'{finger}<limit velocity="2" effort="1"/>'))
    stop = robot.stream(lambda: robot.report(finger=0.0, winch=0.0))
    robot.until(lambda: robot.joints, 'a state')
    assert robot.answer('position', finger=4.0) == {'finger': 4.0}
    robot.said('commands of joint_commands', WARN, 'see max_step: finger')
    robot.answer('position', finger=3.95)
    robot.answer('position', lift=0.5)
    reports = robot.reports
    robot.until(lambda: robot.reports > reports + 1, 'diagnostics')
    assert robot.counted('commands of joint_commands', 'jumped') == 1
    stop()


def test_a_component_that_is_silent_at_its_target(start):
    """Joints of topic-based hardware have no timeout, and the log warns about it."""
    robot = start(
        ('reference/Hardware', 'joint_state_topic_hardware_interface/JointStateTopicSystem'),
        ('"lift"><command_interface name="position"', '"lift"><command_interface name="velocity"'),
    )
    robot.process.wait_for('continue when the controller manager stops: hardware component ')
    robot.process.wait_for('command_timeout is 0 for ')
    robot.answer('velocity', lift=1.0)
    # The finger stands in no component, so that its command ends; the other one had to end before.
    robot.answer('velocity', finger=1.0)
    robot.until(lambda: robot.ends('finger'), 'the end of the other')
    assert robot.ends('winch') == []


def test_a_partner_that_stands_still(start, reference):
    """With partial_commands: zero a partner has velocity and effort zero, whatever it had."""
    robot = start(partial_commands='zero')
    for mode in ('velocity', 'effort'):
        robot.answer(mode, roll=0.5, pitch=2.0)
        found = robot.answer(mode, roll=1.0)
        assert found == pytest.approx(motors(reference, mode, roll=1.0, pitch=0.0))
