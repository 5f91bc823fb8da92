# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The typed path: messages to records and back, duck-typed."""

from __future__ import annotations

from array import array
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import (
    fill_message,
    JointStateRecord,
    record_from_joint_command,
    record_from_message,
)


@given(data=st.data())
def test_message_to_record(samples, plain, make_message, data):
    """A record has the stamp, the strings and every bit of the numbers of its message."""
    sample = data.draw(samples)
    record = record_from_message(sample.fill(make_message()))
    assert plain(record) == sample.plain
    assert record.lengths == tuple(len(patterns) for patterns in sample.patterns)


@given(data=st.data())
def test_record_to_message(samples, plain, make_message, data):
    """A message filled from a record has nothing left of what it held before."""
    sample, before = data.draw(samples), data.draw(samples)
    message = before.fill(make_message())
    fill_message(message, record_from_message(sample.fill(make_message())))
    assert plain(record_from_message(message)) == sample.plain


@pytest.mark.parametrize('kind', [list, tuple, np.array])
def test_other_sequences(make_message, kind):
    """Lists, tuples and numpy arrays serve as well as array.array."""
    message = make_message()
    message.position = kind([1.0, 2.5])
    message.velocity = kind([])
    record = record_from_message(message)
    assert record.position.tolist() == [1.0, 2.5]
    assert record.velocity.tolist() == []


def test_record_is_read_only(make_sample, make_message):
    """The arrays of a record cannot be written, whatever they were read from."""
    message = make_sample(['a', 'b']).fill(make_message())
    message.effort = [1.0, 2.0]
    record = record_from_message(message)
    for values in (record.position, record.velocity, record.effort):
        with pytest.raises(ValueError, match='read-only'):
            values[0] = 0.0


def test_message_keeps_nothing(make_message):
    """A filled message does not change with the arrays that it was filled from."""
    position = np.array([1.0, 2.0])
    message = make_message()
    fill_message(
        message,
        JointStateRecord((1, 2), '', ('a', 'b'), position, np.empty(0), np.empty(0)),
    )
    position[:] = 9.0
    assert message.position.tolist() == [1.0, 2.0]


def joint_command(names, interface, values):
    """Return what looks like a control_msgs/JointCommand."""
    header = SimpleNamespace(stamp=SimpleNamespace(sec=3, nanosec=4), frame_id='base')
    return SimpleNamespace(
        header=header, joint_names=names, interface_name=interface, values=array('d', values)
    )


@pytest.mark.parametrize('interface', ['position', 'velocity', 'effort'])
def test_joint_command_to_record(plain, interface):
    """A JointCommand has the values of one interface, in its order; the other arrays are empty."""
    record = record_from_joint_command(joint_command(['b', 'a'], interface, [1.0, 2.0]), interface)
    arrays = {'position': (), 'velocity': (), 'effort': (), interface: (1.0, 2.0)}
    expected = JointStateRecord((3, 4), 'base', ('b', 'a'), *map(np.array, arrays.values()))
    assert plain(record)[:3] == plain(expected)[:3]
    assert record.lengths == expected.lengths
    assert getattr(record, interface).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ('names', 'interface', 'values', 'reason', 'words'),
    [
        (['a'], 'velocity', [1.0], 'other_interface', "expected 'position', found 'velocity'"),
        (['a'], '', [1.0], 'other_interface', "expected 'position', found ''"),
        (['a', 'b'], 'position', [1.0], 'ragged', 'joint_names (2), found 1'),
        (['a', 'b'], 'position', [], 'ragged', 'joint_names (2), found 0'),
        ([], 'position', [1.0], 'ragged', 'joint_names (0), found 1'),
    ],
)
def test_joint_commands_that_contradict_themselves(names, interface, values, reason, words):
    """One for another interface than its topic, or without one value per name, is rejected."""
    with pytest.raises(MessageError) as caught:
        record_from_joint_command(joint_command(names, interface, values), 'position')
    assert caught.value.reason == reason
    assert words in str(caught.value)
