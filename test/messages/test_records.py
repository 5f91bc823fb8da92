# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The typed path: messages to records and back, duck-typed, and the layouts of records."""

from array import array
import gc
import sys
from types import SimpleNamespace
import weakref

from hypothesis import example, given, settings, strategies as st
from joint_states import make_message, plain, samples
import numpy as np
import pytest

from transmission_bridge.errors import MessageError
from transmission_bridge.messages import records
from transmission_bridge.messages.records import (
    fill_joint_state_message,
    fill_trajectory_message,
    JointStateRecord,
    MessageLayoutTable,
    POINT_FIELDS,
    record_from_joint_command,
    record_from_joint_state,
    trajectory_from_message,
    TrajectoryRecord,
    Waypoint,
)

# -- Joint states and commands --------------------------------------------------------------------


@given(samples, samples)
def test_messages_and_records(sample, before):
    """Stamp, strings and every bit of the numbers stay; nothing is left of what was there."""
    record = record_from_joint_state(sample.fill(make_message()))
    assert plain(record) == sample.plain
    assert record.lengths == tuple(len(patterns) for patterns in sample.patterns)
    message = before.fill(make_message())
    fill_joint_state_message(message, record)
    assert plain(record_from_joint_state(message)) == sample.plain


@pytest.mark.parametrize('kind', [list, tuple, np.array])
def test_records_and_messages_are_apart(kind):
    """Any sequence serves; a record is read-only, a message keeps no array."""
    message = make_message()
    message.position, message.velocity = kind([1.0, 2.5]), kind([])
    record = record_from_joint_state(message)
    assert (record.position.tolist(), record.velocity.tolist()) == ([1.0, 2.5], [])
    with pytest.raises(ValueError, match='read-only'):
        record.position[0] = 0.0
    position, none = np.array([1.0, 2.0]), np.empty(0)
    record = JointStateRecord((1, 2), '', ('a', 'b'), position, none, none)
    fill_joint_state_message(message, record)
    position[:] = 9.0
    assert message.position.tolist() == [1.0, 2.0]


def with_header(**values):
    """Return what has the header of a message."""
    stamp = SimpleNamespace(sec=3, nanosec=4)
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp, frame_id='base'), **values)


def joint_command(names, interface, values):
    """Return what looks like a control_msgs/JointCommand."""
    values = array('d', values)
    return with_header(joint_names=names, interface_name=interface, values=values)


@pytest.mark.parametrize('interface', ['position', 'velocity', 'effort'])
def test_joint_command_to_record(interface):
    """A JointCommand has the values of one interface, in its order; the other arrays are empty."""
    record = record_from_joint_command(joint_command(['b', 'a'], interface, [1.0, 2.0]), interface)
    arrays = {'position': (), 'velocity': (), 'effort': (), interface: (1.0, 2.0)}
    arrays = (np.array(values, dtype=float) for values in arrays.values())
    assert plain(record) == plain(JointStateRecord((3, 4), 'base', ('b', 'a'), *arrays))


@pytest.mark.parametrize(('names', 'interface', 'values', 'reason', 'words'), [
    (['a'], 'velocity', [1.0], 'other_interface', "expected 'position', found 'velocity'"),
    (['a'], '', [1.0], 'other_interface', "expected 'position', found ''"),
    (['a', 'b'], 'position', [1.0], 'ragged', 'joint_names (2), found 1'),
    (['a', 'b'], 'position', [], 'ragged', 'joint_names (2), found 0'),
    ([], 'position', [1.0], 'ragged', 'joint_names (0), found 1'),
])  # fmt: skip
def test_joint_commands_that_contradict_themselves(names, interface, values, reason, words):
    """One for another interface than its topic, or without one value per name, is rejected."""
    with pytest.raises(MessageError) as caught:
        record_from_joint_command(joint_command(names, interface, values), 'position')
    assert caught.value.reason == reason
    assert words in str(caught.value)


# -- Layouts --------------------------------------------------------------------------------------


def test_a_table_is_bounded(monkeypatch):
    """It drops the layout used longest ago, and with it what hangs on it weakly."""
    monkeypatch.setattr(records, 'MOST_LAYOUTS', 3)
    table = MessageLayoutTable()
    compiled = weakref.WeakKeyDictionary()
    kept = table.find_layout(('kept',), (1, 1, 1))
    for number in range(20):
        compiled[table.find_layout((str(number),), (1, 1, 1))] = number
        assert table.find_layout(('kept',), (1, 1, 1)) is kept
    gc.collect()
    assert sorted(compiled.values()) == [18, 19]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 300)), min_size=1, max_size=60))
@example([(1000, 300)] * 8)
def test_a_table_is_bounded_in_bytes(shapes):
    """The layouts that a table keeps take 1.5 MiB at most; one that is too heavy is not kept."""
    table, alive = MessageLayoutTable(), weakref.WeakSet()
    for number, (count, length) in enumerate(shapes):
        names = [f'{number} {name}'.ljust(length, 'x') for name in range(count)]
        layout = table.find_layout(names, (0, 0, 0))
        least = sum(map(sys.getsizeof, layout.names))
        assert least < layout.weight < 8192 + count * (length + 300)
        assert (table.find_layout(names, (0, 0, 0)) is layout) is layout.is_kept
        alive.add(layout)
    last = layout
    del layout
    assert sum(each.weight for each in alive if each.is_kept) <= 3 << 19
    assert [each for each in alive if not each.is_kept] == [last] * (not last.is_kept)


# -- Trajectories ---------------------------------------------------------------------------------

TIMES = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
ARRAYS = st.lists(st.floats(width=64), max_size=4).map(np.array)
POINTS = st.builds(Waypoint, TIMES, ARRAYS, ARRAYS, ARRAYS, ARRAYS)
NAMES = st.lists(st.text(max_size=5), max_size=4).map(tuple)
TRAJECTORIES = st.builds(
    TrajectoryRecord, TIMES, st.text(max_size=5), NAMES, st.lists(POINTS, max_size=4).map(tuple)
)


def make_point(**values):
    """Return what has the attributes of a JointTrajectoryPoint."""
    return SimpleNamespace(time_from_start=SimpleNamespace(sec=0, nanosec=0), **values)


@given(TRAJECTORIES)
def test_trajectories_there_and_back(record):
    """Whatever is written is read back, bit for bit, times as the integers that they are."""
    message = with_header()
    fill_trajectory_message(message, record, make_point)
    found = trajectory_from_message(message)
    assert (found.stamp, found.frame_id) == (record.stamp, record.frame_id)
    assert found.names == record.names
    for before, after in zip(record.points, found.points, strict=True):
        assert after.time == before.time
        for field in POINT_FIELDS:
            assert getattr(after, field).tobytes() == getattr(before, field).tobytes()
            assert getattr(after, field).dtype == np.float64


def test_a_record_of_a_trajectory_is_a_copy():
    """A record does not change with the message that it came from."""
    point = make_point(positions=[1.0], velocities=[], accelerations=[], effort=[])
    record = trajectory_from_message(with_header(joint_names=['a'], points=[point]))
    point.positions[0] = 2.0
    assert record.points[0].positions.tolist() == [1.0]
