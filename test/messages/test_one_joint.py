# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands and feedback of one joint through one transmission."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import MessageError, TransmissionError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.one_joint import (
    apply_acceleration,
    apply_effort,
    apply_position,
    apply_rate,
    apply_to_command,
    BeginMotion,
    EffortCommand,
    HoldCommand,
    JointWaypoint,
    PositionCommand,
    simple_transmission,
    StopCommand,
    TrajectoryCommand,
    unapply_effort,
    unapply_position,
    unapply_rate,
    unapply_to_feedback,
    VelocityCommand,
)
from transmission_bridge.messages.trajectory import POINT_FIELDS
from transmission_bridge.transmissions import DifferentialTransmission
from transmission_bridge.transmissions.crank_slider import CrankSliderTransmission, GuidedSlider

CLOSE = {'rel': 0.0, 'abs': 1e-9}
GEARED = simple_transmission(50.0, 0.1, reversed=True)
REVERSED = simple_transmission(reversed=True)

values = st.floats(-100.0, 100.0)
transmissions = st.builds(
    simple_transmission,
    st.floats(0.01, 200.0),
    st.floats(-3.0, 3.0),
    reversed=st.booleans(),
)


POSITION = (apply_position, unapply_position)
RATE, EFFORT = (apply_rate, unapply_rate), (apply_effort, unapply_effort)
TURNED = {'reduction': 2.0, 'reversed': True}


@pytest.mark.parametrize(
    ('functions', 'options', 'joint', 'actuator'),
    [
        (POSITION, {}, -1.2, -1.2),
        (POSITION, {'reduction': 50.0}, 0.01, 0.5),
        (POSITION, {'reversed': True}, 0.5, -0.5),
        (POSITION, {'offset': 0.1}, 0.3, 0.2),
        (POSITION, {'reduction': 50.0, 'offset': 0.1, 'reversed': True}, 0.3, -10.0),
        # Rates have no offset, and efforts divide by the reduction.
        (RATE, {'reduction': 50.0, 'offset': 100.0}, 0.01, 0.5),
        (RATE, TURNED, 1.0, -2.0),
        ((apply_acceleration, unapply_rate), TURNED, 1.0, -2.0),
        (EFFORT, {'reduction': 50.0, 'offset': 100.0}, 10.0, 0.2),
        (EFFORT, TURNED, 10.0, -5.0),
    ],
)
def test_numbers(functions, options, joint, actuator):
    """Reduction, offset and sense act as in Beam Bots."""
    (apply, unapply), transmission = functions, simple_transmission(**options)
    assert apply(joint, transmission) == pytest.approx(actuator, **CLOSE)
    assert unapply(actuator, transmission) == pytest.approx(joint, **CLOSE)


@given(transmissions, values, values)
def test_there_and_back(transmission, value, rate):
    """Unapply is the inverse of apply, and the power is the same on both sides."""
    scale = 1e-13 * (abs(value) + 10.0)
    for apply, unapply in (POSITION, RATE, EFFORT):
        assert abs(unapply(apply(value, transmission), transmission) - value) <= scale
    power = apply_effort(value, transmission) * apply_rate(rate, transmission)
    assert abs(power - value * rate) <= 1e-13 * (abs(value * rate) + 1.0)


def test_reversed_is_a_negative_ratio():
    """Reversed and a negative reduction are two spellings, and both together cancel."""
    assert simple_transmission(2.0, reversed=True).joint_reduction == (
        simple_transmission(-2.0).joint_reduction
    )
    assert apply_rate(1.0, simple_transmission(-2.0, reversed=True)) == 2.0
    with pytest.raises(TransmissionError):
        simple_transmission(0.0)


@pytest.mark.parametrize(
    ('convert', 'message', 'mapped'),
    [
        (
            apply_to_command,
            PositionCommand(0.75, velocity=0.25, duration=250, command_id='c'),
            PositionCommand(-0.5, velocity=-0.5, duration=250, command_id='c'),
        ),
        (apply_to_command, PositionCommand(0.75), PositionCommand(-0.5)),
        (apply_to_command, VelocityCommand(0.25, duration=3), VelocityCommand(-0.5, duration=3)),
        (apply_to_command, EffortCommand(1.0, command_id=1), EffortCommand(-0.5, command_id=1)),
        (
            apply_to_command,
            TrajectoryCommand(
                (JointWaypoint(0.75, 250, velocity=0.25, acceleration=0.5), JointWaypoint(1.0, 5)),
                repeat='forever',
            ),
            TrajectoryCommand(
                (JointWaypoint(-0.5, 250, velocity=-0.5, acceleration=-1.0), JointWaypoint(-1, 5)),
                repeat='forever',
            ),
        ),
        (
            unapply_to_feedback,
            BeginMotion(5.0, 10.0, expected_arrival=7, peak_velocity=5.0, acceleration=10.0),
            BeginMotion(-2.0, -4.5, expected_arrival=7, peak_velocity=2.5, acceleration=5.0),
        ),
        (unapply_to_feedback, BeginMotion(5.0, 10.0), BeginMotion(-2.0, -4.5)),
    ],
)
def test_messages(convert, message, mapped):
    """Each number is mapped, peaks as magnitudes; what is omitted and the rest stay."""
    before = replace(message)
    assert convert(message, simple_transmission(2.0, 0.5, reversed=True)) == mapped
    assert message == before


@pytest.mark.parametrize('message', [HoldCommand('c'), StopCommand('decelerate'), 'anything'])
def test_what_has_no_numbers_is_unchanged(message):
    """Hold, stop and what is no message of ROS come back as the same object, both ways."""
    assert apply_to_command(message, GEARED) is message
    assert unapply_to_feedback(message, GEARED) is message


@pytest.mark.parametrize(
    'message',
    [
        PositionCommand(1.0, 2.0),
        VelocityCommand(1.0),
        EffortCommand(1.0),
        TrajectoryCommand((JointWaypoint(1.0, 0),)),
        BeginMotion(0.5, 1.0),
    ],
)
def test_no_transmission_changes_nothing(message):
    """Without a transmission every message comes back as the same object."""
    assert apply_to_command(message, None) is message
    assert unapply_to_feedback(message, None) is message


@pytest.mark.parametrize(
    ('convert', 'message', 'said'),
    [
        *(
            (unapply_to_feedback, command, 'expected feedback, found a command: ')
            for command in (
                PositionCommand(1.0, 2.0),
                VelocityCommand(1.0),
                EffortCommand(1.0),
                TrajectoryCommand((JointWaypoint(1.0, 0),)),
            )
        ),
        (apply_to_command, BeginMotion(0.5, 1.0), 'expected a command, found feedback: '),
    ],
)
def test_a_message_of_the_other_direction_is_refused(convert, message, said):
    """Returned unmapped, it would be taken for mapped."""
    with pytest.raises(MessageError, match=said + type(message).__name__) as caught:
        convert(message, GEARED)
    assert caught.value.reason == 'other_type'


def record(names=('j',), position=(), velocity=(), effort=()):
    """Return a joint state."""
    arrays = (np.array(values, dtype=float) for values in (position, velocity, effort))
    return JointStateRecord((1, 2), 'frame', tuple(names), *arrays)


def test_joint_state_of_one_joint():
    """A joint state maps its three numbers; empty lists stay empty."""
    state = record(position=[5.0], velocity=[2.0], effort=[0.4])
    mapped = unapply_to_feedback(state, GEARED)
    np.testing.assert_allclose(mapped.position, [5.0 / -50.0 + 0.1], atol=1e-12)
    np.testing.assert_allclose(mapped.velocity, [-0.04], atol=1e-12)
    np.testing.assert_allclose(mapped.effort, [-20.0], atol=1e-12)
    assert (mapped.stamp, mapped.frame_id, mapped.names) == ((1, 2), 'frame', ('j',))
    assert unapply_to_feedback(record(effort=[1.0]), GEARED).lengths == (0, 0, 1)
    assert unapply_to_feedback(record(names=()), GEARED).lengths == (0, 0, 0)
    np.testing.assert_array_equal(state.position, [5.0])


@pytest.mark.parametrize(
    ('state', 'reason'),
    [
        (record(names=('j', 'k'), position=[1.0, 2.0]), 'several_joints'),
        (record(names=('j', 'k')), 'several_joints'),
        (record(position=[1.0, 2.0]), 'ragged'),
        (record(names=(), effort=[1.0]), 'ragged'),
    ],
)
def test_joint_state_of_several_joints_is_refused(state, reason):
    """One transmission is never applied to several joints."""
    with pytest.raises(MessageError) as caught:
        unapply_to_feedback(state, GEARED)
    assert caught.value.reason == reason
    assert unapply_to_feedback(state, None) is state


@given(transmissions, values, values, values)
def test_joint_state_there_and_back(transmission, position, velocity, effort):
    """A joint state that commands is mapped number by number, and feedback is its inverse."""
    state = record(position=[position], velocity=[velocity], effort=[effort])
    command = apply_to_command(state, transmission)
    assert command.position[0] == apply_position(position, transmission)
    assert command.velocity[0] == apply_rate(velocity, transmission)
    assert command.effort[0] == apply_effort(effort, transmission)
    back = unapply_to_feedback(command, transmission)
    for found, value in zip(
        (back.position, back.velocity, back.effort), state_of(state), strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)


def state_of(state):
    """Return the three arrays of a joint state."""
    return state.position, state.velocity, state.effort


class _RosMessage:
    """The common attributes of generated messages that the mapping uses."""

    FIELDS = ()

    def __init__(self):
        for name, value in self.FIELDS:
            setattr(self, name, value())

    @classmethod
    def get_fields_and_field_types(cls):
        """Return the fields; only their names matter here."""
        return dict.fromkeys((name for name, _ in cls.FIELDS), 'any')


def ros_type(name, /, **fields):
    """Return what looks like a generated message, its fields with their types."""
    return type(name, (_RosMessage,), {'FIELDS': tuple(fields.items())})


Stamp = ros_type('Stamp', sec=int, nanosec=int)
Header = ros_type('Header', stamp=Stamp, frame_id=str)
JointState = ros_type(
    'JointState', header=Header, name=list, position=list, velocity=list, effort=list
)
Point = ros_type('Point', **dict.fromkeys(POINT_FIELDS, list), time_from_start=Stamp)
JointTrajectory = ros_type('JointTrajectory', header=Header, joint_names=list, points=list)
Float64 = ros_type('Float64', data=float)


@pytest.mark.parametrize('convert', [apply_to_command, unapply_to_feedback])
def test_joint_state_of_ros(convert):
    """A JointState of ROS comes back as a new one, mapped as its record is."""
    message = JointState()
    message.header.stamp.sec, message.header.frame_id = 7, 'base'
    message.name, message.position, message.effort = ['j'], [0.5], [2.0]
    mapped = convert(message, GEARED)
    expected = convert(record(position=[0.5], effort=[2.0]), GEARED)
    assert type(mapped) is JointState
    assert (mapped.header.stamp.sec, mapped.header.frame_id, mapped.name) == (7, 'base', ['j'])
    for found, value in zip(state_of(mapped), state_of(expected), strict=True):
        np.testing.assert_array_equal(found, value)
    assert message.position == [0.5]


def trajectory(positions, velocities=(), accelerations=(), effort=()):
    """Return a JointTrajectory of ROS with one waypoint."""
    point = Point()
    point.time_from_start.sec = 3
    for field, numbers in zip(
        POINT_FIELDS, (positions, velocities, accelerations, effort), strict=True
    ):
        setattr(point, field, list(numbers))
    message = JointTrajectory()
    message.joint_names, message.points = ['j'], [point]
    return message


def test_trajectory_of_ros():
    """A JointTrajectory of ROS is mapped waypoint by waypoint, and back."""
    message = trajectory([0.5], [0.2], [0.3], [4.0])
    mapped = apply_to_command(message, GEARED)
    (point,) = mapped.points
    assert type(mapped) is JointTrajectory
    assert (mapped.joint_names, point.time_from_start.sec) == (['j'], 3)
    assert list(point.positions) == [apply_position(0.5, GEARED)]
    assert list(point.velocities) == [apply_rate(0.2, GEARED)]
    assert list(point.accelerations) == [apply_acceleration(0.3, GEARED)]
    assert list(point.effort) == [apply_effort(4.0, GEARED)]
    (back,) = unapply_to_feedback(mapped, GEARED).points
    for field, value in zip(POINT_FIELDS, (0.5, 0.2, 0.3, 4.0), strict=True):
        assert list(getattr(back, field)) == pytest.approx([value], **CLOSE)
    (bare,) = apply_to_command(trajectory([], [0.2]), GEARED).points
    assert (len(bare.positions), list(bare.velocities)) == (0, [apply_rate(0.2, GEARED)])
    assert apply_to_command(JointTrajectory(), GEARED).points == []


@pytest.mark.parametrize('convert', [apply_to_command, unapply_to_feedback])
def test_other_messages_of_ros_are_refused(convert):
    """An object that cannot be mapped is never returned unchanged."""
    with pytest.raises(MessageError, match='Float64 cannot be mapped') as caught:
        convert(Float64(), GEARED)
    assert caught.value.reason == 'other_type'
    message = trajectory([0.5])
    message.joint_names = ['j', 'k']
    with pytest.raises(MessageError, match="'j'") as caught:
        convert(message, GEARED)
    assert caught.value.reason == 'several_joints'
    with pytest.raises(MessageError, match='more values') as caught:
        convert(trajectory([0.5, 0.6]), GEARED)
    assert caught.value.reason == 'ragged'


@pytest.mark.ros
def test_messages_of_ros_itself():
    """The same holds for the generated messages."""
    sensor = pytest.importorskip('sensor_msgs.msg')
    generated = pytest.importorskip('trajectory_msgs.msg')
    state = apply_to_command(sensor.JointState(name=['j'], position=[0.5]), GEARED)
    assert list(state.position) == [apply_position(0.5, GEARED)]
    point = generated.JointTrajectoryPoint(positions=[0.5])
    message = generated.JointTrajectory(joint_names=['j'], points=[point])
    (mapped,) = apply_to_command(message, GEARED).points
    assert list(mapped.positions) == [apply_position(0.5, GEARED)]
    with pytest.raises(MessageError, match='BatteryState cannot be mapped'):
        apply_to_command(sensor.BatteryState(), GEARED)


def test_coupled_transmission_is_refused():
    """A transmission of two joints cannot map one number."""
    wrist = DifferentialTransmission([1.0, 1.0], [1.0, 1.0])
    with pytest.raises(TransmissionError, match='one actuator and one joint'):
        apply_to_command(VelocityCommand(1.0), wrist)


def test_varying_ratio_takes_the_position_of_the_message():
    """If the ratio varies, the message's position is used, else the given one, else an error."""
    crank = CrankSliderTransmission(GuidedSlider(0.1, 0.3, 0.0), 1.2)
    step = 1e-6
    slope = (apply_position(0.3 + step, crank) - apply_position(0.3 - step, crank)) / (2 * step)
    command = apply_to_command(PositionCommand(0.3, velocity=2.0), crank)
    assert command.velocity == pytest.approx(2.0 * slope, rel=1e-8)
    assert apply_to_command(VelocityCommand(2.0), crank, at=0.3) == VelocityCommand(
        command.velocity
    )
    with pytest.raises(TransmissionError):
        apply_to_command(VelocityCommand(2.0), crank)
    point = JointWaypoint(0.3, 0, velocity=2.0, acceleration=0.0)
    (mapped,) = apply_to_command(TrajectoryCommand((point,)), crank).waypoints
    later = apply_to_command(PositionCommand(0.3 + 2.0 * step, velocity=2.0), crank)
    earlier = apply_to_command(PositionCommand(0.3 - 2.0 * step, velocity=2.0), crank)
    change = (later.velocity - earlier.velocity) / (2.0 * step)
    assert mapped.acceleration == pytest.approx(change, rel=1e-6)
    with pytest.raises(TransmissionError):
        apply_to_command(TrajectoryCommand((replace(point, velocity=None),)), crank)
    actuator = apply_position(0.3, crank)
    state = record(position=[actuator], velocity=[command.velocity], effort=[5.0])
    joint = unapply_to_feedback(state, crank)
    np.testing.assert_allclose(joint.velocity, [2.0], rtol=1e-9)
    np.testing.assert_allclose(joint.effort, [5.0 * slope], rtol=1e-8)
    moving = BeginMotion(actuator, actuator, peak_velocity=abs(command.velocity))
    with pytest.raises(TransmissionError):
        unapply_to_feedback(moving, crank)
    there = unapply_to_feedback(moving, crank, at=actuator)
    assert there.peak_velocity == pytest.approx(2.0, rel=1e-9)
