# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recorded messages through the bridge."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import state_path

import transmission_bridge as tb
from transmission_bridge.bridge.offline import map_recorded, OfflineBridge
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import (
    JointStateEncoder,
    JointStateReader,
    JointStateWriter,
    UnusualMessageError,
)
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR

LINKS = ''.join(f'<link name="l{n}"/>' for n in range(9))
MOVING = ('pan', 'lift', 'elbow', 'pitch', 'roll', 'direct')
JOINTS = ''.join(
    f'<joint name="{name}" type="continuous"><parent link="l{n}"/><child link="l{n + 1}"/></joint>'
    for n, name in enumerate(MOVING)
)
FINGER = (
    '<joint name="finger" type="continuous"><parent link="l6"/><child link="l7"/>'
    '<mimic joint="pan" multiplier="-1.5" offset="0.25"/></joint>'
)
TRANSMISSIONS = """
  <transmission name="simple">
    <plugin>transmission_interface/SimpleTransmission</plugin>
    <actuator name="a" role="actuator1"/>
    <joint name="pan" role="joint1">
      <mechanical_reduction>101.3</mechanical_reduction><offset>0.7</offset></joint>
  </transmission>
  <transmission name="bar">
    <plugin>transmission_interface/FourBarLinkageTransmission</plugin>
    <actuator name="b" role="actuator1"><mechanical_reduction>3</mechanical_reduction></actuator>
    <actuator name="c" role="actuator2"><mechanical_reduction>-7</mechanical_reduction></actuator>
    <joint name="elbow" role="joint2"><offset>-0.1</offset></joint>
    <joint name="lift" role="joint1"><mechanical_reduction>0.3</mechanical_reduction></joint>
  </transmission>
  <transmission name="differential">
    <plugin>transmission_interface/DifferentialTransmission</plugin>
    <actuator name="d" role="actuator1"><mechanical_reduction>11</mechanical_reduction></actuator>
    <actuator name="e" role="actuator2"><mechanical_reduction>13</mechanical_reduction></actuator>
    <joint name="pitch" role="joint1"><offset>0.3</offset></joint>
    <joint name="roll" role="joint2"><offset>1e-3</offset></joint>
  </transmission>"""
#: Depends on position, is solved towards the joint's side, and so on the solution before.
CURVED = """
  <transmission name="curve">
    <plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <actuator name="a" role="actuator1"/>
    <joint name="pan" role="joint1"/>
    <param name="crank_length">0.05</param><param name="pivot_distance">0.2</param>
    <param name="crank_angle">1.2</param>
  </transmission>"""


#: Of one driver.
UNITS = ''.join(
    f'<param name="{name}_unit">{unit}</param>'
    for name, unit in (('position', 'deg'), ('velocity', 'rpm'), ('effort', 'mN m'))
)


def robot(*, plugin='any/Driver', finger=True, curved=False, units=False):
    """Return a robot with every kind of place that a number can go to."""
    blocks = ''.join(
        f'<joint name="{name}"><command_interface name="position"/>'
        '<state_interface name="position"/></joint>'
        for name in MOVING
    )
    transmissions = TRANSMISSIONS
    if curved:
        start = TRANSMISSIONS.index('<transmission name="bar">')
        transmissions = CURVED + TRANSMISSIONS[start:]
    if units:
        for name, role in (('c', 2), ('d', 1)):
            element = f'<actuator name="{name}" role="actuator{role}">'
            assert element in transmissions
            transmissions = transmissions.replace(element, element + UNITS)
    return tb.RobotTransmissions(
        tb.load_description(
            f'<robot name="r">{LINKS}{JOINTS}{FINGER if finger else ""}'
            f'<ros2_control name="s" type="system"><hardware><plugin>{plugin}</plugin></hardware>'
            f'{blocks}{transmissions}</ros2_control></robot>'
        )
    )


ROBOTS = {
    'plain': robot(finger=False),
    'mimic': robot(),
    'hidden': robot(plugin='x/TopicBasedSystem'),
    'curved': robot(curved=True),
    'units': robot(units=True),
}


@dataclass
class Recorded:
    """A message that was recorded."""

    source: str
    data: bytes
    time: int


def refuse(data):
    """Refuse what the fast reader leaves alone."""
    raise MessageError('undecodable', 'no decoder here')


def live(robot, recorded, **choices):
    """Return what the live bridge publishes, message by message."""
    path, encoder, readers = state_path(robot, **choices), JointStateEncoder(), JointStateReader()
    published = []
    for message in recorded:
        try:
            view = readers.read_message(message.data)
            seconds, nanoseconds = view.stamp
            is_given = view.stamp != (0, 0) and seconds >= 0 and nanoseconds < 10**9
            stamp = view.stamp if is_given else divmod(message.time, 10**9)
            path.merge_message(message.source, view.layout, view, stamp)
            state = path.make_joint_state()
            published.append(None if state is None else encoder.encode_record(state))
        except (MessageError, UnusualMessageError):
            published.append(None)
    return published


def offline(robot, recorded, direction=ACTUATOR_TO_JOINT, options=None):
    """Return what the bridge of a recording publishes."""
    bridge = OfflineBridge(robot, direction, refuse, options)
    messages = [(each.source, each.time, each.data) for each in recorded]
    results = list(map_recorded(messages, dict.fromkeys(('one', 'two'), bridge)))
    assert [message for message, _ in results] == messages
    return [published for _, published in results]


def padded(data, garbage):
    """Return a message with garbage in the padding before its first array."""
    changed = bytearray(data)
    changed[2] = garbage
    return bytes(changed) + bytes([garbage] * (garbage % 3))


NUMBERS = st.one_of(
    st.floats(-10, 10), st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308])
)


@st.composite
def recordings(draw, names):
    """Draw stretches of messages that look alike, of one or two drivers."""
    recorded, time = [], draw(st.integers(0, 2**31 * 10**9 - 10**6))
    for _ in range(draw(st.integers(1, 4))):
        source = draw(st.sampled_from(['one', 'two']))
        chosen = draw(st.lists(st.sampled_from([*names, 'stranger']), max_size=len(names) + 1))
        fields = draw(st.tuples(*[st.booleans()] * 3))
        writer = JointStateWriter(chosen, draw(st.sampled_from(['', 'base'])), fields)
        odd = draw(st.booleans())
        seed = draw(st.integers(0, 2**32))
        rng = np.random.default_rng(seed)
        for _ in range(draw(st.integers(1, 60))):
            for row in (writer.position, writer.velocity, writer.effort):
                row[:] = rng.uniform(-0.3, 0.3, len(row))
                if odd and len(row) and rng.random() < 0.2:
                    row[rng.integers(len(row))] = draw(NUMBERS)
            time += int(rng.integers(0, 10**6))
            stamps = [(5, time % 10**9), (0, 0), (-3, 7), (5, 10**9), (2**31 - 1, 10**9 - 1)]
            data = writer.write_message(*stamps[int(rng.integers(len(stamps))) if odd else 0])
            if odd and rng.random() < 0.1:
                data = padded(data, int(rng.integers(256)))
            recorded.append(Recorded(source, data, time))
    return recorded


@pytest.mark.parametrize('name', sorted(ROBOTS))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_recording_gives_what_the_live_bridge_publishes_to_the_last_bit(name, data):
    """Whatever drivers, layouts, unknown numbers and stamps: byte for byte the same."""
    robot = ROBOTS[name]
    recorded = data.draw(recordings(robot.actuator_names))
    with np.errstate(all='ignore'):
        assert offline(robot, recorded) == live(robot, recorded)


@pytest.mark.parametrize('name', sorted(ROBOTS))
@pytest.mark.parametrize('direction', [ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR])
@pytest.mark.parametrize('interface', range(3))
@pytest.mark.parametrize('unknown_joints', ['omit', 'nan'])
@pytest.mark.parametrize('unknown_rates', ['nan', 'zero'])
def test_numbers_that_overflow_are_unknown(
    name, direction, interface, unknown_joints, unknown_rates
):
    """No infinite number is written, and every message is converted."""
    robot = ROBOTS[name]
    names = robot.actuator_names if direction == ACTUATOR_TO_JOINT else robot.joint_names
    recorded = []
    for time in range(5):
        writer = JointStateWriter(names, '', (True,) * 3)
        for row in (writer.position, writer.velocity, writer.effort):
            row[:] = 0.01 * time
        (writer.position, writer.velocity, writer.effort)[interface][:] = 1.7e308
        recorded.append(Recorded('one', writer.write_message(5, time), time))
    options = BridgeOptions(unknown_joints=unknown_joints, unknown_rates=unknown_rates)
    with np.errstate(all='ignore'):
        converted = offline(robot, recorded, direction, options)
    reader = JointStateReader()
    for data in converted:
        view = reader.read_message(data)
        for row in (view.position, view.velocity, view.effort):
            assert not np.isinf(row).any()


@pytest.mark.parametrize('name', sorted(ROBOTS))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_options_of_the_bridge_count_in_a_recording_to_the_last_bit(name, data):
    """Names of the driver, encoders of one turn, and what becomes of the unknown: as live."""
    robot = ROBOTS[name]
    drivers = st.sampled_from([*'ABCDE', 'two:A', 'two:B', 'two:a'])
    names = data.draw(st.dictionaries(drivers, st.sampled_from(robot.actuator_names)))
    periods = data.draw(
        st.dictionaries(st.sampled_from(robot.actuator_names), st.floats(0.1, 7.0), max_size=2)
    )
    choices = {
        'unknown_turn': data.draw(st.sampled_from(['resolve', 'first'])),
        'unknown_joints': data.draw(st.sampled_from(['omit', 'nan'])),
        'unknown_rates': data.draw(st.sampled_from(['nan', 'zero'])),
        'undeclared_interfaces': data.draw(st.sampled_from(['auto', 'publish', 'hide'])),
        'actuator_names': tuple(f'{driver}={actuator}' for driver, actuator in names.items()),
        'wrap_period': tuple(f'{name}={period!r}' for name, period in periods.items()),
    }
    options = BridgeOptions(actuator_state_topics=('/one', 'two'), **choices)
    recorded = data.draw(recordings((*robot.actuator_names, *'ABC')))
    with np.errstate(all='ignore'):
        expected = live(robot, recorded, actuator_state_topics=('one', 'two'), **choices)
        assert offline(robot, recorded, options=options) == expected


def stretch(robot, names, count, seed=1):
    """Return messages that differ in stamp and numbers only."""
    writer, rng = JointStateWriter(names), np.random.default_rng(seed)
    recorded = []
    for number in range(count):
        for row in (writer.position, writer.velocity, writer.effort):
            row[:] = rng.uniform(-0.3, 0.3, len(row))
        recorded.append(Recorded('one', writer.write_message(9, number), number))
    return recorded


@pytest.mark.parametrize('name', ['plain', 'mimic', 'curved'])
def test_there_and_back_is_the_input(name):
    """Joint states back to actuator states are the recorded ones, to 1e-12 of the terms."""
    robot = ROBOTS[name]
    recorded = stretch(robot, robot.actuator_names, 80)
    joints = [
        Recorded('one', data, message.time)
        for message, data in zip(recorded, offline(robot, recorded), strict=True)
    ]
    back = offline(robot, joints, direction=JOINT_TO_ACTUATOR)
    reader, other = JointStateReader(), JointStateReader()
    for message, data in zip(recorded, back, strict=True):
        before, after = reader.read_message(message.data), other.read_message(data)
        assert (after.names, after.stamp) == (before.names, before.stamp)
        for row in ('position', 'velocity', 'effort'):
            # Offsets times reductions are terms, too; the largest here is 0.7 * 101.3.
            np.testing.assert_allclose(
                getattr(after, row), getattr(before, row), rtol=0, atol=1e-12 * 71
            )


def test_what_is_known_of_an_actuator_is_enough_on_the_way_back():
    """Velocities alone come back as velocities alone, and unknown actuators are left out."""
    robot = ROBOTS['plain']
    writer = JointStateWriter(['pitch', 'pan'], fields=(False, True, False))
    writer.velocity[:] = [1.0, 2.0]
    (data,) = offline(robot, [Recorded('one', writer.write_message(1, 2), 3)], JOINT_TO_ACTUATOR)
    view = JointStateReader().read_message(data)
    assert (view.names, view.stamp) == (('a',), (1, 2))
    assert view.layout.lengths == (0, 1, 0)
    assert view.velocity[0] == 2.0 * 101.3


def test_refused_messages_are_counted_by_source_and_reason():
    """A doubled name and what nothing decodes cost themselves only."""
    robot = ROBOTS['plain']
    good = JointStateWriter(robot.actuator_names).write_message(1, 0)
    double = JointStateWriter(['a', 'a']).write_message(1, 0)
    big_endian = b'\0\0' + good[2:]
    bridge = OfflineBridge(robot, ACTUATOR_TO_JOINT, refuse)
    messages = [('one', 1, data) for data in (good, double, double, big_endian, good)]
    result = [published for _, published in map_recorded(messages, {'one': bridge})]
    assert [data is None for data in result] == [False, True, True, True, False]
    assert bridge.refused == {('one', 'duplicate_name'): 2, ('one', 'undecodable'): 1}
    assert 'a' in bridge.sentences['one', 'duplicate_name']


@pytest.mark.parametrize('direction', [ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR])
def test_messages_of_strangers_become_nothing(direction):
    """Messages that name nothing of the robot are counted and become none, wherever they are."""
    robot = ROBOTS['plain']
    names = robot.actuator_names if direction == ACTUATOR_TO_JOINT else robot.joint_names
    good, strange = (
        JointStateWriter(names).write_message(1, 0),
        JointStateWriter(['grip']).write_message(9, 0),
    )
    bridge = OfflineBridge(robot, direction, refuse)
    messages = [strange, good, *[strange] * 20, good, *[good] * 20, strange]
    recorded = [('one', 1, data) for data in messages]
    result = [published for _, published in map_recorded(recorded, {'one': bridge})]
    assert [data is None for data in result] == [data is strange for data in messages]
    assert bridge.refused == {('one', 'foreign'): 22}
    assert 'grip' in bridge.sentences['one', 'foreign']


def test_messages_of_other_sources_pass_and_each_bridge_has_its_own():
    """Two bridges share nothing; a source without a bridge publishes nothing."""
    robot = ROBOTS['plain']
    good = JointStateWriter(robot.actuator_names).write_message(1, 0)
    bridges = {name: OfflineBridge(robot, ACTUATOR_TO_JOINT, refuse) for name in ('one', 'two')}
    half = JointStateWriter(['a'], fields=(True, False, False)).write_message(2, 0)
    messages = [('one', 1, good), ('three', 2, good), ('two', 3, half), ('one', 4, half)]
    results = [published for _, published in map_recorded(messages, bridges)]
    names = [
        () if data is None else JointStateReader().read_message(data).names for data in results
    ]
    assert names[1] == ()
    assert names[2] == ('pan',)
    assert len(names[0]) == len(names[3]) > 1
