# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Writing JointState bytes: from a template of one layout, and from records of any layout."""

from dataclasses import replace
import struct

from hypothesis import given, strategies as st
from joint_states import arrays_of, make_message, make_sample, plain, regular_samples, writer_for
import numpy as np
import pytest
from state_paths import outcome

from transmission_bridge.messages import cdr
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader, JointStateWriter
from transmission_bridge.messages.records import record_from_joint_state


@given(regular_samples)
def test_bytes_of_the_format(sample):
    """The bytes follow the format, with every bit of the numbers and zero padding."""
    writer = writer_for(sample)
    message = writer.write_message(sample.sec, sample.nanosec)
    assert message == sample.encode()
    assert plain(JointStateReader().read_message(message)) == sample.plain
    # Rows fill the arrays; there are some only if all arrays are sent.
    arrays = arrays_of(writer)
    assert (writer.rows is None) == (not all(len(array) for array in arrays))
    if writer.rows is not None:
        writer.rows[...] = np.arange(writer.rows.size).reshape(writer.rows.shape)
        assert list(np.concatenate(arrays)) == list(range(writer.rows.size))


@pytest.mark.parametrize(
    ('sec', 'nanosec'), [(2**31, 0), (-(2**31) - 1, 0), (0, -1), (0, 2**32), (0.5, 0)]
)
def test_stamp_out_of_range(sec, nanosec):
    """A stamp that does not fit is refused, and the next message is right."""
    writer, encoder = JointStateWriter(['a']), JointStateEncoder()
    rows = np.zeros((3, 1))
    for write in (writer.write_message, lambda *stamp: encoder.encode_rows(('a',), stamp, rows)):
        assert outcome(write, sec, nanosec) == 'stamp'
        assert struct.unpack_from('<iI', write(-1, 2**32 - 1), 4) == (-1, 2**32 - 1)


@pytest.mark.parametrize('text', ['a\0b', '\0', '\ud800'])
def test_bad_strings(text):
    """A name or frame that no message can carry is refused."""
    for names, frame_id in (((text,), ''), (('a',), text)):
        assert outcome(JointStateWriter, names, frame_id) == 'string'


@given(st.lists(regular_samples, max_size=6))
def test_any_sequence_of_layouts(drawn):
    """Each record is as its bytes, from arrays or rows, whatever came before and afterwards."""
    encoder = JointStateEncoder()
    # Each layout comes again with other numbers.
    drawn += [replace(sample, patterns=sample.patterns[::-1]) for sample in drawn]
    records = [record_from_joint_state(sample.fill(make_message())) for sample in drawn]
    encoded = [encoder.encode_record(record) for record in records]
    for record, sample, data in zip(records, drawn, encoded, strict=True):
        assert data == sample.encode()
        if record.names and record.lengths == (len(record.names),) * 3:
            data = encoder.encode_rows(record.names, record.stamp, np.array(arrays_of(record)))
            assert data == replace(sample, frame_id='').encode()


def test_more_layouts_than_are_kept():
    """Layouts beyond those kept are written as well as the others, at bounded memory."""
    encoder = JointStateEncoder()
    samples = [make_sample([f'joint_{number}'], frame_id='') for number in range(3 * cdr.WRITERS)]
    for sample in (*samples, *reversed(samples)):
        record = record_from_joint_state(sample.fill(make_message()))
        assert encoder.encode_record(record) == sample.encode()
        assert encoder._writer.cache_info().currsize <= cdr.WRITERS
