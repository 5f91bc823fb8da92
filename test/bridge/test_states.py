# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state path against the reference model."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path

from transmission_bridge.bridge.states import StatePath
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateRecord, LayoutTable
from transmission_bridge.transmissions import RobotTransmissions

#: Its rods have a second way to be assembled, near enough to be found from a wrong start.
ANKLE = """
<transmission name="ankle">
  <plugin>transmission_bridge/ParallelAnkleTransmission</plugin>
  <joint name="pitch" role="joint1">
    <param name="lower">-1.2</param><param name="upper">1.2</param>
  </joint>
  <joint name="roll" role="joint2">
    <param name="lower">-0.7</param><param name="upper">0.7</param>
  </joint>
  <actuator name="behind" role="actuator1">
    <param name="motor_position">0 0.05 0.2</param>
    <param name="crank_radius">0.04</param>
    <param name="crank_angle">3.141592653589793</param>
    <param name="rod_length">0.2</param>
    <param name="foot_attachment">-0.04 0.05 0</param>
  </actuator>
  <actuator name="ahead" role="actuator2">
    <param name="motor_position">0 -0.05 0.15</param>
    <param name="crank_radius">0.05</param>
    <param name="rod_length">0.15</param>
    <param name="foot_attachment">0.05 -0.05 0</param>
  </actuator>
</transmission>
"""


class Driver:
    """Feeds a path and the reference model, and compares them after every message."""

    def __init__(self, reference, robot, unknown_joints='omit', names=None, timeout=0.0):
        self.path = state_path(
            robot,
            timeout=timeout,
            unknown_joints=unknown_joints,
            actuator_names={} if names is None else names,
            stamp_hold=reference.STAMP_HOLD,
        )
        self.model = reference.ReferenceStates(reference.Numbers(), unknown_joints, timeout)
        self.now = 100.0
        self.layouts = LayoutTable()
        renamed = names or {}
        own = [name for name in reference.ACTUATORS if name not in renamed.values()]
        self.names = {**{name: name for name in own}, **renamed}

    def update(self, source, message):
        """Send a message to both; return why it was refused, or ``None``."""
        refused = self.model.update(source, message, self.now, self.names)
        layout = self.layouts.find_layout(message.names, message.lengths)
        reason = None
        try:
            self.path.merge_message(source, layout, message.received, message.stamp, self.now)
        except MessageError as error:
            reason = error.reason
        assert (reason is None) == (refused is None)
        assert refused is None or reason in refused.reasons
        self.compare()
        return reason

    def compare(self):
        """Check what would be published."""
        self.model.now = self.now
        expected, found = self.model.joint_state(), self.path.make_joint_state(self.now)
        assert (found is None) == (expected is None)
        encoder = JointStateEncoder()
        serialised = self.path.encode_state(encoder, self.now)
        assert (serialised is None) == (expected is None)
        if expected is not None:
            expected.check(found)
            assert found.frame_id == ''
            assert serialised == encoder.encode_record(found)


@pytest.fixture
def driver(reference, robot):
    """Return a :class:`Driver` with the default options."""
    return Driver(reference, robot)


@settings(max_examples=100)
@given(
    data=st.data(),
    unknown_joints=st.sampled_from(['omit', 'nan']),
    timeout=st.sampled_from([0.0, 2.0]),
)
def test_any_sequence(reference, robot, data, unknown_joints, timeout):
    """After any sequence of messages, pauses, tunings and resets the output equals the model."""
    driver = Driver(reference, robot, unknown_joints, timeout=timeout)
    present = robot
    for step in data.draw(reference.strategies.steps()):
        if step[0] == 'state':
            driver.update(*step[1:])
        elif step[0] == 'tune':
            present = present.with_parameters(reference.nested(step[1]))
            driver.path.replace_maps(present)
            driver.model.numbers = driver.model.numbers.tuned(step[1])
            driver.compare()
        elif step[0] == 'wait':
            driver.now += step[1]
            driver.compare()
        else:
            driver.path.reset()
            driver.model.forget()
            assert driver.path.make_joint_state(driver.now) is None


@given(data=st.data())
def test_driver_names(reference, robot, data):
    """With drivers' own names, exchanged ones too, the output equals the model."""
    names = {'left': 'right', 'right': 'left', 'axis_0': 'hip', 'finger': 'crank', 'x': 'finger'}
    driver = Driver(reference, robot, names=names)
    known = ('winch', *names)
    for source, message in data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(['one', 'two']),
                reference.strategies.messages(known, ('hip', 'stranger')),
            ),
            max_size=8,
        )
    ):
        driver.update(source, message)


def test_name_of_another_actuator(robot):
    """A driver's name that another actuator keeps is refused: two would be commanded by it."""
    with pytest.raises(ParameterError, match='two actuators') as caught:
        state_path(robot, actuator_names={'left': 'right'})
    assert caught.value.parameter == 'actuator_names'
    for names in (
        {'left': 'right', 'right': 'left'},
        {'left': 'left'},
        {'l': 'left', 'm': 'left'},
    ):
        state_path(robot, actuator_names=names)


def test_same_layout_is_refused_again(reference, driver):
    """A layout that was refused once is refused each time, with a reason of its own."""
    bad = reference.Message(('winch', 'winch'), position=(8.0, 9.0))
    layout = driver.layouts.find_layout(bad.names, bad.lengths)
    errors = []
    for _ in range(3):
        with pytest.raises(MessageError, match='winch') as caught:
            driver.path.merge_message('one', layout, bad.record, bad.stamp)
        errors.append(caught.value)
    assert {error.reason for error in errors} == {'duplicate_name'}
    assert len({id(error) for error in errors}) == 3


@pytest.mark.parametrize('unknown_rates', ['nan', 'zero'])
def test_too_large_is_unknown(feed, unknown_rates):
    """A rate that is finite before the transmission and infinite behind it is unknown."""
    text = Path(__file__).parents[2].joinpath('urdf', 'one_joint.urdf').read_text()
    plain = RobotTransmissions(load_description(text))
    (transmission,) = plain.tunables
    (joint,) = plain.joint_names
    robot = plain.with_parameters(
        {transmission: {'joints': {joint: {'mechanical_reduction': 1e-3}}}}
    )
    states = state_path(robot, unknown_rates=unknown_rates)
    rows = np.array([[1.0], [1e308], [1e308]])
    feed(states, JointStateRecord((1, 0), '', robot.actuator_names, *rows))
    with np.errstate(over='ignore'):
        found = states.make_joint_state()
        assert states.encode_state(JointStateEncoder()) == JointStateEncoder().encode_record(found)
    assert found.position.tolist() == [1e3]
    assert found.velocity.tolist() == ([] if unknown_rates == 'nan' else [0.0])
    assert found.effort.tolist() == [1e305]


def test_message_of_strangers(reference, driver):
    """A message that names no actuator of the robot changes nothing but the count of its names."""
    driver.update('one', reference.Message(('winch',), position=(1.0,), stamp=(5, 0)))
    strange = reference.Message(('stranger',), position=(1.0,), velocity=(2.0,), stamp=(8, 0))
    for source in ('one', 'two'):
        assert driver.update(source, reference.Message((), stamp=(7, 0))) == 'foreign'
        assert driver.update(source, strange) == 'foreign'
    assert driver.path.make_joint_state(driver.now).stamp == (5, 0)
    assert driver.path.merged.given == [True, False, False]
    assert driver.path.merged.unknown_names == {"'stranger'": 2}


def test_ten_thousand_names(reference, driver):
    """Of ten thousand names the robot's own are found, and repeated ones refused."""
    names = tuple(f'stranger_{number}' for number in range(9_999))
    values = tuple(float(number) for number in range(10_000))
    driver.update('one', reference.Message((*names, 'winch'), position=values))
    assert driver.path.make_joint_state(driver.now).names == ('dial', 'lift')
    assert (
        driver.update('one', reference.Message(('winch', *names[1:], 'winch'), position=values))
        == 'duplicate_name'
    )
    assert len(driver.path.merged.unknown_names) <= 64


@pytest.fixture
def ankle(robots):
    """Return the maps of the ankle."""
    return RobotTransmissions(load_description(robots.urdf(('pitch', 'roll'), ANKLE)))


def ankle_path(robot, feed, position):
    """Return a path of the ankle that has found a position, and what feeds it another one."""
    path = StatePath(robot)

    def move(joints):
        actuators = robot.joint_to_actuator('position', joints)
        assert np.isfinite(actuators).all()
        nothing = np.empty(0)
        feed(
            path,
            JointStateRecord((1, 0), '', robot.actuator_names, actuators, nothing, nothing),
        )
        return path.make_joint_state()

    assert np.allclose(move(position).position, position, rtol=0.0, atol=1e-12)
    return path, move


def test_tuning_forgets_the_solution(ankle, feed):
    """After a tuning the new maps give a position without a guess, not NaN."""
    path, _ = ankle_path(ankle, feed, [0.4, 0.3])
    tuned = ankle.with_parameters(
        {'ankle': {'joints': {'pitch': {'offset': -0.1}, 'roll': {'offset': -0.2}}}}
    )
    path.replace_maps(tuned)
    assert np.allclose(path.find_joint_motion()[0], [0.3, 0.1], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize('elsewhere', [[0.2, 0.5], [-0.5, -0.3], [0.55, -0.35]])
def test_a_gap_costs_nothing(ankle, feed, elsewhere):
    """A position that is not found from the last one is found from the table at once."""
    path, move = ankle_path(ankle, feed, [0.5, 0.5])
    assert np.allclose(move(elsewhere).position, elsewhere, rtol=0.0, atol=1e-12)
    assert not path.report.counts


def test_arrays_are_its_own(reference, driver):
    """A returned record does not change with the next message, and the input is copied."""
    record = reference.Message(reference.ACTUATORS, position=(1.0,) * 6).record
    driver.path.merge_message(
        'one', driver.layouts.find_layout(record.names, record.lengths), record, (1, 0)
    )
    before = driver.path.make_joint_state()
    kept = before.position.copy()
    record.position[:] = 9.0
    assert list(driver.path.make_joint_state().position) == list(kept)
    driver.path.merge_message(
        'one', driver.layouts.find_layout(record.names, record.lengths), record, (1, 0)
    )
    assert list(driver.path.make_joint_state().position) != list(kept)
    assert list(before.position) == list(kept)


# -- time ----------------------------------------------------------------------------------------


class Drivers:
    """Feeds a path with a timeout of half a second."""

    def __init__(self, reference, robot, feed):
        self.path = state_path(robot, timeout=0.5)
        self._message = reference.Message
        self._feed = feed

    def send(self, source, now, *names, **arrays):
        """Send a message."""
        self._feed(self.path, self._message(names, stamp=(1, 0), **arrays), source, now)

    def known(self, now):
        """Return which actuators' positions, velocities and efforts are known."""
        return np.isfinite(self.path.merged.read_values(now))

    def stale(self, now):
        """Return which actuators are stale."""
        return self.path.merged.find_stale_actuators(now).tolist()


@pytest.fixture
def drivers(reference, robot, feed):
    """Return :class:`Drivers`."""
    return Drivers(reference, robot, feed)


def test_numbers_grow_old_one_by_one(drivers):
    """An effort that goes on to come does not keep a position alive that another driver gave."""
    drivers.send('encoder', 1.0, 'winch', position=(1.0,), velocity=(0.5,))
    drivers.send('amplifier', 1.0, 'winch', effort=(3.0,))
    assert drivers.known(1.0)[:, 0].all()
    assert not drivers.stale(1.0)[0]
    drivers.send('amplifier', 1.75, 'winch', effort=(3.0,))
    assert drivers.known(1.75)[:, 0].tolist() == [False, False, True]
    assert np.isnan(drivers.path.find_joint_motion(1.75)[0]).all()
    assert drivers.stale(1.75)[0]
    drivers.send('encoder', 1.75, 'winch', position=(1.0,), velocity=(0.5,))
    assert drivers.known(1.75)[:, 0].all()
    assert not drivers.stale(1.75)[0]


def test_left_out_is_not_stale(drivers):
    """Numbers that a driver omits become unknown, and publication does not wait for them."""
    drivers.send('encoder', 1.0, 'winch', position=(1.0,), velocity=(0.5,))
    drivers.send('encoder', 1.75, 'winch', position=(1.0,))
    assert drivers.known(1.75)[:, 0].tolist() == [True, False, False]
    assert not drivers.stale(1.75)[0]
