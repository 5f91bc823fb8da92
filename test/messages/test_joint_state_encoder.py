# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Records to bytes and back through the reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.errors import MessageError
from transmission_bridge.messages import cdr
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader
from transmission_bridge.messages.joint_state import JointStateRecord


def record_of(names, value=1.0, fields=(True, True, True), stamp=(1, 2)):
    """Return a record with different numbers for each message, field and index."""
    arrays = [
        value + 100.0 * field + np.arange(len(names)) if sent else np.empty(0)
        for field, sent in enumerate(fields)
    ]
    return JointStateRecord(stamp, '', tuple(names), *arrays)


def check(record, data):
    """Compare bytes with the record that they were made from."""
    found = JointStateReader().read_message(data)
    assert (found.stamp, found.frame_id, found.names) == (record.stamp, '', record.names)
    for name in ('position', 'velocity', 'effort'):
        assert np.array_equal(getattr(found, name), getattr(record, name), equal_nan=True)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from('abcd'), unique=True),
            st.tuples(st.booleans(), st.booleans(), st.booleans()),
            st.floats(-10.0, 10.0),
        ),
        max_size=20,
    )
)
def test_any_sequence_of_layouts(drawn):
    """Each is read back as it was, from arrays or rows, whatever came before and afterwards."""
    encoder = JointStateEncoder()
    records = [record_of(names, value, sent) for names, sent, value in drawn]
    encoded = [encoder.encode_record(record) for record in records]
    for record, data in zip(records, encoded, strict=True):
        check(record, data)
        if record.lengths == (len(record.names),) * 3 and record.names:
            rows = np.array([record.position, record.velocity, record.effort])
            assert encoder.encode_rows(record.names, record.stamp, rows) == data


def test_more_layouts_than_are_kept():
    """Layouts beyond those kept are written as well as the others, at bounded memory."""
    encoder = JointStateEncoder()
    records = [record_of([f'joint_{number}']) for number in range(3 * cdr.WRITERS)]
    for record in (*records, *reversed(records)):
        check(record, encoder.encode_record(record))
        assert encoder._writer.cache_info().currsize <= cdr.WRITERS


def test_stamp_that_does_not_fit():
    """A stamp that the message cannot hold is an error, and the next message is right again."""
    encoder = JointStateEncoder()
    with pytest.raises(MessageError) as caught:
        encoder.encode_record(record_of(['a'], stamp=(2**31, 0)))
    assert caught.value.reason == 'stamp'
    record = record_of(['a'], value=7.0, stamp=(2**31 - 1, 2**32 - 1))
    check(record, encoder.encode_record(record))
