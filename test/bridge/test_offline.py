# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recorded messages through the bridge."""

from collections import namedtuple

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from state_paths import state_path
from zoo import robots
from zoo.elements import ANKLE, load, maps, ratio, transmission, urdf

from transmission_bridge.bridge.offline import OfflineBridge
from transmission_bridge.bridge.options.options import BridgeOptions, RECORDED
from transmission_bridge.errors import MessageError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.messages import cdr
from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter


def follower(plugin='any/Driver'):
    """Return a robot with a joint that follows another, which declares positions alone."""
    gear = transmission('gear', 'Simple', {'pan': ratio(101.3, 0.7)}, ('a',))
    mimic = {'finger': 'joint="pan" multiplier="-1.5" offset="0.25"'}
    text = urdf(('pan', 'lift', 'finger'), gear, mimic, plugin)
    declared = '<command_interface name="position"/><state_interface name="position"/>'
    return load(text.replace('<joint name="pan"/>', f'<joint name="pan">{declared}</joint>'))


#: Robots with every kind of place that a number can go to, and units of drivers in some.
ROBOTS = {name: robots.maps(name) for name in ('wrist', 'arm', 'hand')} | {
    'mimic': follower(),
    'hidden': follower('x/TopicBasedSystem'),
    # Depends on the position, and is solved from the solution before.
    'curved': maps(('pitch', 'roll'), ANKLE),
}


#: A message that was recorded.
Recorded = namedtuple('Recorded', ('source', 'time', 'data'))


def read(data):
    """Decode a message, as rosbags does."""
    try:
        return JointStateReader().read_message(data).copy_record()
    except cdr.UnusualCdrError as error:
        raise MessageError('undecodable', str(error)) from None


def live(robot, recorded, **choices):
    """Return what the live bridge publishes, message by message."""
    path, published = state_path(robot, resolves_turns=False, **choices), []
    encoder, readers = cdr.JointStateEncoder(), JointStateReader()
    for message in recorded:
        try:
            view = readers.read_message(message.data)
            seconds, nanoseconds = view.stamp
            is_given = view.stamp != (0, 0) and seconds >= 0 and nanoseconds < 10**9
            stamp = view.stamp if is_given else divmod(message.time, 10**9)
            path.merge_message(message.source, view.layout, view, stamp)
            state = path.make_joint_state()
            published.append(None if state is None else encoder.encode_record(state))
        except (MessageError, cdr.UnusualCdrError):
            published.append(None)
    return published


def offline(robot, recorded, direction=ACTUATOR_TO_JOINT, options=RECORDED):
    """Return what the bridge of a recording publishes."""
    bridge = OfflineBridge(robot, direction, read, options)
    return [bridge.map_message(*message) for message in recorded]


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
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        for _ in range(draw(st.integers(1, 60))):
            for row in (writer.position, writer.velocity, writer.effort):
                row[:] = rng.uniform(-0.3, 0.3, len(row))
                if odd and len(row) and rng.random() < 0.2:
                    row[rng.integers(len(row))] = draw(NUMBERS)
            time += int(rng.integers(0, 10**6))
            stamps = [(5, time % 10**9), (0, 0), (-3, 7), (5, 10**9), (2**31 - 1, 10**9 - 1)]
            data = writer.write_message(*stamps[int(rng.integers(len(stamps))) if odd else 0])
            if odd and rng.random() < 0.1:
                # Garbage in the padding before its first array, and behind its end.
                garbage = int(rng.integers(256))
                data = data[:2] + bytes([garbage]) + data[3:] + bytes([garbage] * (garbage % 3))
            recorded.append(Recorded(source, time, data))
    return recorded


@pytest.mark.parametrize('interface', range(3))
@pytest.mark.parametrize('direction', [ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR])
def test_numbers_that_overflow_are_unknown(direction, interface):
    """No infinite number is written, and every message is converted."""
    robot = ROBOTS['wrist']
    names = robot.actuator_names if direction == ACTUATOR_TO_JOINT else robot.joint_names
    writer = JointStateWriter(names)
    rows = (writer.position, writer.velocity, writer.effort)
    rows[interface][:] = 1.7e308
    recorded = [Recorded('one', time, writer.write_message(5, time)) for time in range(5)]
    with np.errstate(all='ignore'):
        for data in offline(robot, recorded, direction):
            view = JointStateReader().read_message(data)
            assert np.isfinite([*view.position, *view.velocity, *view.effort]).any()
            assert not np.isinf([*view.position, *view.velocity, *view.effort]).any()


@st.composite
def choices(draw, actuators):
    """Draw options: names of the driver, and what becomes of the unknown."""
    if draw(st.booleans()):
        return {}
    drivers = st.sampled_from([*'ABCDE', 'two:A', 'two:B', 'two:a'])
    names = draw(st.dictionaries(drivers, st.sampled_from(actuators)))
    return {
        'unknown_joints': draw(st.sampled_from(['omit', 'nan'])),
        'unknown_rates': draw(st.sampled_from(['nan', 'zero'])),
        'actuator_names': tuple(f'{driver}={actuator}' for driver, actuator in names.items()),
    }


@pytest.mark.parametrize('name', sorted(ROBOTS))
@settings(max_examples=60)
@given(data=st.data())
def test_a_recording_gives_what_the_live_bridge_publishes_to_the_last_bit(name, data):
    """Whatever drivers, layouts, options, unknown numbers and stamps: byte for byte the same."""
    robot = ROBOTS[name]
    given = data.draw(choices(robot.actuator_names))
    recorded = data.draw(recordings((*robot.actuator_names, *('ABC' if given else ''))))
    options = BridgeOptions(actuator_state_topics=('/one', 'two'), **given)
    with np.errstate(all='ignore'):
        expected = live(robot, recorded, actuator_state_topics=('one', 'two'), **given)
        assert offline(robot, recorded, options=options) == expected


@settings(max_examples=30)
@given(st.lists(st.floats(-0.49, 0.49), min_size=1, max_size=60), st.floats(-3.0, 3.0))
def test_turns_count_from_the_first_reading(steps, start):
    """Readings modulo the period give the joints of the unwrapped positions, with any start."""
    robot, period = ROBOTS['mimic'], 2.0
    positions = start + period * np.cumsum([0.0, *steps])
    readings = np.remainder(positions + 0.5 * period, period) - 0.5 * period
    writer, recorded = JointStateWriter(['a'], fields=(True, False, False)), []
    for number, reading in enumerate(readings.tolist()):
        writer.position[:] = reading
        recorded.append(Recorded('one', number, writer.write_message(5, number)))
    published = offline(robot, recorded, options=BridgeOptions(wrap_period=(f'a={period}',)))
    found = [JointStateReader().read_message(data).position[0] for data in published]
    expected = (positions - positions[0] + readings[0]) / 101.3 + 0.7
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_what_is_known_of_an_actuator_is_enough_on_the_way_back():
    """Velocities alone come back as velocities alone, and unknown actuators are left out."""
    robot = ROBOTS['arm']
    writer = JointStateWriter(['elbow', 'neck'], fields=(False, True, False))
    writer.velocity[:] = [1.0, 2.0]
    (data,) = offline(robot, [Recorded('one', 3, writer.write_message(1, 2))], JOINT_TO_ACTUATOR)
    view = JointStateReader().read_message(data)
    assert (view.names, view.stamp) == (('head',), (1, 2))
    assert view.layout.lengths == (0, 1, 0)
    assert view.velocity[0] == 2.0 * 20.0


@pytest.mark.parametrize('direction', [ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR])
def test_what_cannot_be_used_becomes_nothing_and_is_counted_by_source_and_reason(direction):
    """A doubled name, what nothing decodes and messages of strangers, wherever they are."""
    robot = ROBOTS['arm']
    names = robot.actuator_names if direction == ACTUATOR_TO_JOINT else robot.joint_names
    first = names[0]
    good, double, strange = (
        JointStateWriter(each).write_message(1, 0) for each in (names, [first] * 2, ['grip'])
    )
    bridge = OfflineBridge(robot, direction, read)
    messages = [strange, good, double, double, b'\0\0' + good[2:], *[strange] * 20, good]
    messages += [*[good] * 20, strange]
    result = [bridge.map_message('one', 1, data) for data in messages]
    assert [data is not None for data in result] == [data is good for data in messages]
    counts = {'foreign': 22, 'duplicate_name': 2, 'undecodable': 1}
    assert bridge.rejected == {('one', why): count for why, count in counts.items()}
    assert 'grip' in bridge.sentences['one', 'foreign']
    assert first in bridge.sentences['one', 'duplicate_name']
