# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands and feedback of one joint through one transmission."""

from dataclasses import replace

from hypothesis import given, strategies as st
from joint_states import arrays_of
import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.errors import MessageError, TransmissionError
from transmission_bridge.messages.records import JointStateRecord, POINT_FIELDS
from transmission_bridge.transmissions import DifferentialTransmission
from transmission_bridge.transmissions.equation_types import CrankSliderTransmission, GuidedSlider

GEARED = tb.simple_transmission(50.0, 0.1, reversed=True)

values = st.floats(-100.0, 100.0)
transmissions = st.builds(
    tb.simple_transmission, st.floats(0.01, 200.0), st.floats(-3.0, 3.0), reversed=st.booleans()
)

POSITION = (tb.apply_position, tb.unapply_position)
RATE, EFFORT = (tb.apply_rate, tb.unapply_rate), (tb.apply_effort, tb.unapply_effort)
TURNED = {'reduction': 2.0, 'reversed': True}


def check_refusal(convert, message, reason, words):
    """Check that a message is not mapped, for which reason and in which words."""
    with pytest.raises(MessageError, match=words) as caught:
        convert(message, GEARED)
    assert caught.value.reason == reason


@pytest.mark.parametrize(('functions', 'options', 'joint', 'actuator'), [
    (POSITION, {}, -1.2, -1.2),
    (POSITION, {'reduction': 50.0, 'offset': 0.1, 'reversed': True}, 0.3, -10.0),
    # Rates have no offset, and efforts divide by the reduction.
    (RATE, TURNED | {'offset': 100.0}, 1.0, -2.0),
    # Reversed and a negative reduction are two spellings, and both together cancel.
    (RATE, {'reduction': -2.0}, 1.0, -2.0),
    (RATE, {'reduction': -2.0, 'reversed': True}, 1.0, 2.0),
    (EFFORT, TURNED | {'offset': 100.0}, 10.0, -5.0),
])  # fmt: skip
def test_numbers(functions, options, joint, actuator):
    """Reduction, offset and sense act as in Beam Bots."""
    (apply, unapply), transmission = functions, tb.simple_transmission(**options)
    assert apply(joint, transmission) == pytest.approx(actuator, rel=0.0, abs=1e-9)
    assert unapply(actuator, transmission) == pytest.approx(joint, rel=0.0, abs=1e-9)
    assert apply(joint, options) == apply(joint, transmission)


@given(transmissions, values, values)
def test_there_and_back(transmission, value, rate):
    """Unapply is the inverse of apply, and the power is the same on both sides."""
    scale = 1e-13 * (abs(value) + 10.0)
    for apply, unapply in (POSITION, RATE, EFFORT):
        assert abs(unapply(apply(value, transmission), transmission) - value) <= scale
    power = tb.apply_effort(value, transmission) * tb.apply_rate(rate, transmission)
    assert abs(power - value * rate) <= 1e-13 * (abs(value * rate) + 1.0)


def test_what_is_no_ratio_is_refused():
    """A ratio of zero, and a transmission of two joints, which cannot map one number."""
    with pytest.raises(TransmissionError):
        tb.simple_transmission(0.0)
    with pytest.raises(TransmissionError, match=r'reduction, offset or reversed.*ratio'):
        tb.apply_position(1.0, {'ratio': 2.0})
    wrist = DifferentialTransmission([1.0, 1.0], [1.0, 1.0])
    with pytest.raises(TransmissionError, match='one actuator and one joint'):
        tb.apply_to_command(tb.VelocityCommand(1.0), wrist)


COMMANDS = [
    (tb.PositionCommand(0.75, velocity=0.25, duration=250, command_id='c'),
     tb.PositionCommand(-0.5, velocity=-0.5, duration=250, command_id='c')),
    (tb.PositionCommand(0.75), tb.PositionCommand(-0.5)),
    (tb.VelocityCommand(0.25, duration=3), tb.VelocityCommand(-0.5, duration=3)),
    (tb.EffortCommand(1.0, command_id=1), tb.EffortCommand(-0.5, command_id=1)),
    (tb.TrajectoryCommand((tb.JointWaypoint(0.75, 250, 0.25, acceleration=0.5),), 'forever'),
     tb.TrajectoryCommand((tb.JointWaypoint(-0.5, 250, -0.5, acceleration=-1),), 'forever')),
]  # fmt: skip
FEEDBACK = [
    (tb.BeginMotion(5.0, 10.0, expected_arrival=7, peak_velocity=5.0, acceleration=10.0),
     tb.BeginMotion(-2.0, -4.5, expected_arrival=7, peak_velocity=2.5, acceleration=5.0)),
    (tb.BeginMotion(5.0, 10.0), tb.BeginMotion(-2.0, -4.5)),
]  # fmt: skip


@pytest.mark.parametrize(('convert', 'other', 'message', 'mapped'), [
    *((tb.apply_to_command, tb.unapply_to_feedback, *pair) for pair in COMMANDS),
    *((tb.unapply_to_feedback, tb.apply_to_command, *pair) for pair in FEEDBACK),
])  # fmt: skip
def test_messages(convert, other, message, mapped):
    """Each number is mapped, peaks as magnitudes, the rest stays; a command is no feedback."""
    before = replace(message)
    given_numbers = {'reduction': 2.0, 'offset': 0.5, 'reversed': True}
    transmission = tb.simple_transmission(**given_numbers)
    assert convert(message, transmission) == convert(message, given_numbers) == mapped
    assert message == before
    if convert is tb.apply_to_command:
        assert other(message, transmission) is message
    else:  # returned unmapped, it would be taken for a mapped command
        check_refusal(other, message, 'other_type', 'expected a command')
    assert convert(message, None) is other(message, None) is message


@pytest.mark.parametrize(
    'message', [tb.HoldCommand('c'), tb.StopCommand('decelerate'), 'anything']
)
def test_what_has_no_numbers_is_unchanged(message):
    """Hold, stop and what is no message of ROS come back as the same object, both ways."""
    assert tb.apply_to_command(message, GEARED) is message
    assert tb.unapply_to_feedback(message, GEARED) is message


def record(names=('j',), position=(), velocity=(), effort=()):
    """Return a joint state."""
    arrays = (np.array(numbers, dtype=float) for numbers in (position, velocity, effort))
    return JointStateRecord((1, 2), 'frame', tuple(names), *arrays)


@given(transmissions, st.lists(values, max_size=1), st.lists(values, max_size=1))
def test_joint_state_there_and_back(transmission, position, rates):
    """Each number is mapped, empty lists stay empty, the state stays, feedback is the inverse."""
    state = record(position=position, velocity=rates, effort=rates)
    command = tb.apply_to_command(state, transmission)
    assert (command.stamp, command.frame_id, command.names) == ((1, 2), 'frame', ('j',))
    assert state.position.tolist() == position
    back = arrays_of(tb.unapply_to_feedback(command, transmission))
    functions = (tb.apply_position, tb.apply_rate, tb.apply_effort)
    for numbers, mapped, found, apply in zip(
        arrays_of(state), arrays_of(command), back, functions, strict=True
    ):
        assert mapped.tolist() == [apply(value, transmission) for value in numbers.tolist()]
        np.testing.assert_allclose(found, numbers, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(('state', 'reason', 'words'), [
    (record(names=('j', 'k'), position=[1.0, 2.0]), 'several_joints', "'j', 'k'"),
    (record(names=('j', 'k')), 'several_joints', "'j', 'k'"),
    (record(position=[1.0, 2.0]), 'ragged', 'more values'),
    (record(names=(), effort=[1.0]), 'ragged', 'more values'),
])  # fmt: skip
def test_joint_state_of_several_joints_is_refused(state, reason, words):
    """One transmission is never applied to several joints."""
    check_refusal(tb.unapply_to_feedback, state, reason, words)
    assert tb.unapply_to_feedback(state, None) is state
    assert tb.unapply_to_feedback(record(names=()), GEARED).lengths == (0, 0, 0)


def test_varying_ratio_takes_the_position_of_the_message():
    """If the ratio varies, the message's position is used, else the given one, else an error."""
    crank = CrankSliderTransmission(GuidedSlider(0.1, 0.3, 0.0), 1.2)
    step = 1e-6

    def velocity_at(position):
        return tb.apply_to_command(tb.PositionCommand(position, velocity=2.0), crank).velocity

    below, above = (tb.apply_position(each, crank) for each in (0.3 - step, 0.3 + step))
    slope = (above - below) / (2 * step)
    velocity = velocity_at(0.3)
    assert velocity == pytest.approx(2.0 * slope, rel=1e-8)
    mapped = tb.apply_to_command(tb.VelocityCommand(2.0), crank, at=0.3)
    assert mapped == tb.VelocityCommand(velocity)
    point = tb.JointWaypoint(0.3, 0, velocity=2.0, acceleration=0.0)
    (mapped,) = tb.apply_to_command(tb.TrajectoryCommand((point,)), crank).waypoints
    change = (velocity_at(0.3 + 2.0 * step) - velocity_at(0.3 - 2.0 * step)) / (2.0 * step)
    assert mapped.acceleration == pytest.approx(change, rel=1e-6)
    assert tb.apply_effort(5.0 * slope, crank, at=0.3) == pytest.approx(5.0, rel=1e-8)
    actuator = tb.apply_position(0.3, crank)
    state = record(position=[actuator], velocity=[velocity], effort=[5.0])
    joint = tb.unapply_to_feedback(state, crank)
    np.testing.assert_allclose(joint.velocity, [2.0], rtol=1e-9)
    np.testing.assert_allclose(joint.effort, [5.0 * slope], rtol=1e-8)
    unknown = record(position=[np.nan], velocity=[velocity])
    there = tb.unapply_to_feedback(unknown, crank, at=actuator)
    np.testing.assert_allclose(there.velocity, [2.0], rtol=1e-9)
    moving = tb.BeginMotion(actuator, actuator, peak_velocity=abs(velocity))
    there = tb.unapply_to_feedback(moving, crank, at=actuator)
    assert there.peak_velocity == pytest.approx(2.0, rel=1e-9)
    for convert, message in (
        (tb.apply_to_command, tb.VelocityCommand(2.0)),
        (tb.apply_to_command, tb.TrajectoryCommand((replace(point, velocity=None),))),
        (tb.unapply_to_feedback, moving),
    ):
        with pytest.raises(TransmissionError):
            convert(message, crank)


@pytest.fixture(scope='module')
def types():
    """Return the generated types by name."""
    sensor = pytest.importorskip('sensor_msgs.msg', reason='sensor_msgs is not installed')
    return vars(sensor) | vars(pytest.importorskip('trajectory_msgs.msg'))


def make_trajectory(types, numbers, names=('j',)):
    """Return a JointTrajectory of ROS with one waypoint at 3 s."""
    point = types['JointTrajectoryPoint']()
    point.time_from_start.sec = 3
    for field, given_numbers in zip(POINT_FIELDS, numbers, strict=True):
        setattr(point, field, list(given_numbers))
    return types['JointTrajectory'](joint_names=list(names), points=[point])


@pytest.mark.ros
@pytest.mark.parametrize('convert', [tb.apply_to_command, tb.unapply_to_feedback])
def test_messages_of_ros(types, convert):
    """A JointState comes back as a new one, mapped as its record is; others are no commands."""
    message = types['JointState'](name=['j'], position=[0.5], effort=[2.0])
    message.header.stamp.sec, message.header.frame_id = 7, 'base'
    mapped = convert(message, GEARED)
    expected = convert(record(position=[0.5], effort=[2.0]), GEARED)
    assert type(mapped) is types['JointState']
    assert (mapped.header.stamp.sec, mapped.header.frame_id, mapped.name) == (7, 'base', ['j'])
    for found, value in zip(arrays_of(mapped), arrays_of(expected), strict=True):
        np.testing.assert_array_equal(found, value)
    assert list(message.position) == [0.5]
    one, two = ([0.5], [], [], []), ([0.5, 0.6], [], [], [])
    battery = types['BatteryState']()
    if convert is tb.unapply_to_feedback:
        assert convert(battery, GEARED) is battery
    else:
        check_refusal(convert, battery, 'other_type', 'cannot be mapped')
    check_refusal(convert, make_trajectory(types, one, 'jk'), 'several_joints', "'j'")
    check_refusal(convert, make_trajectory(types, two), 'ragged', 'more values')


@pytest.mark.ros
def test_trajectory_of_ros(types):
    """It is mapped waypoint by waypoint, and back; what is omitted stays so."""
    numbers = (0.5, 0.2, 0.3, 4.0)
    functions = (tb.apply_position, tb.apply_rate, tb.apply_rate, tb.apply_effort)
    mapped = tb.apply_to_command(make_trajectory(types, [[each] for each in numbers]), GEARED)
    (point,), (back,) = mapped.points, tb.unapply_to_feedback(mapped, GEARED).points
    assert type(mapped) is types['JointTrajectory']
    assert (mapped.joint_names, point.time_from_start.sec) == (['j'], 3)
    for field, value, apply in zip(POINT_FIELDS, numbers, functions, strict=True):
        assert list(getattr(point, field)) == [apply(value, GEARED)]
        assert list(getattr(back, field)) == pytest.approx([value], rel=0.0, abs=1e-9)
    (bare,) = tb.apply_to_command(make_trajectory(types, ([], [0.2], [], [])), GEARED).points
    assert (len(bare.positions), list(bare.velocities)) == (0, [tb.apply_rate(0.2, GEARED)])
    assert tb.apply_to_command(types['JointTrajectory'](), GEARED).points == []
