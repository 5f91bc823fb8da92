# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The typed path: messages to records and back, duck-typed."""

from __future__ import annotations

from array import array
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from joint_states import make_message, plain, samples
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
def test_messages_and_records(data):
    """Stamp, strings and every bit of the numbers stay; nothing is left of what was there."""
    sample, before = data.draw(samples), data.draw(samples)
    record = record_from_message(sample.fill(make_message()))
    assert plain(record) == sample.plain
    assert record.lengths == tuple(len(patterns) for patterns in sample.patterns)
    message = before.fill(make_message())
    fill_message(message, record)
    assert plain(record_from_message(message)) == sample.plain


@pytest.mark.parametrize('kind', [list, tuple, np.array])
def test_records_and_messages_are_apart(kind):
    """Any sequence serves; a record is read-only, a message keeps no array."""
    message = make_message()
    message.position, message.velocity = kind([1.0, 2.5]), kind([])
    record = record_from_message(message)
    assert (record.position.tolist(), record.velocity.tolist()) == ([1.0, 2.5], [])
    with pytest.raises(ValueError, match='read-only'):
        record.position[0] = 0.0
    position = np.array([1.0, 2.0])
    fill_message(
        message, JointStateRecord((1, 2), '', ('a', 'b'), position, np.empty(0), np.empty(0))
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
def test_joint_command_to_record(interface):
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
