# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading one JointState after another: the format, views, layouts, and what is remembered."""

import gc
import operator
import struct
import tracemalloc
from unittest import mock
import weakref

from hypothesis import given, strategies as st
from joint_states import arrays_of, garbage, make_message, make_sample, plain, samples
import numpy as np
import pytest

from transmission_bridge.messages import cdr, records
from transmission_bridge.messages.cdr import (
    JointStateReader,
    parse_joint_state,
    UnusualCdrError,
)
from transmission_bridge.messages.records import fill_joint_state_message, record_from_joint_state

NAMES = ('shoulder', 'upper_arm', 'elbow')


def outcome(read, data):
    """Return what is read, or why it is not."""
    try:
        return plain(read(data))
    except UnusualCdrError as error:
        return error.reason


@given(data=st.data())
def test_any_sequence(data):
    """Whatever comes in any order, padding and end, is read as by a reader that knew nothing."""
    pool = data.draw(st.lists(samples, min_size=1, max_size=6))
    reader, layouts = JointStateReader(), {}
    most = data.draw(st.integers(1, 4))
    for step in range(15):
        sample = data.draw(st.sampled_from(pool))
        pad = garbage(data.draw(st.integers(0, 3)))
        with mock.patch.object(cdr, 'MOST_VIEWS', most):
            view = reader.read_message(sample.encode(pad, junk=bytes(step % 5)))
        assert plain(view) == sample.plain
        key = (sample.names, tuple(map(len, sample.patterns)))
        assert (view.layout.names, view.layout.lengths) == key
        assert layouts.setdefault(key, view.layout) is view.layout
        # Of equal and filled arrays there are also rows.
        lengths = {len(array) for array in arrays_of(view)}
        assert (view.rows is None) == (len(lengths) > 1 or lengths == {0})
        if view.rows is not None:
            assert view.rows.tobytes() == b''.join(each.tobytes() for each in arrays_of(view))
            assert not view.rows.flags.writeable
            assert all(np.shares_memory(view.rows, each) for each in arrays_of(view))


@given(data=st.data())
def test_garbage_hits(data):
    """Other numbers, stamp and frame of one length, garbage in padding and end: the same view."""
    sample = data.draw(samples)
    reader = JointStateReader()
    first = reader.read_message(sample.encode())
    for seed in range(4):
        patterns = tuple(
            tuple((pattern + seed) % 2**64 for pattern in field) for field in sample.patterns
        )
        frame_id = chr(97 + seed) * len(sample.frame_id.encode())
        other = type(sample)(seed, seed, frame_id, sample.names, patterns)
        view = reader.read_message(other.encode(garbage(seed), junk=b'\xff' * seed))
        assert view is first
        assert plain(view) == other.plain


@given(data=st.data())
def test_known_form_with_a_fault(data):
    """A fault in a message of a known form is found as it is in the first message."""
    sample = data.draw(samples)
    message = sample.encode()
    reader = JointStateReader()
    at = data.draw(st.integers(0, len(message) - 1))
    faulty = bytearray(message)
    faulty[at] ^= data.draw(st.integers(1, 255))
    faulty = bytes(faulty[: data.draw(st.integers(at, len(message)))])

    reader.read_message(message)
    assert outcome(reader.read_message, faulty) == outcome(JointStateReader().read_message, faulty)
    assert plain(reader.read_message(message)) == sample.plain


@given(data=st.data())
def test_truncated(data):
    """A message cut anywhere is refused, never read beyond its end."""
    message = data.draw(samples).encode()
    for size in range(len(message)):
        with pytest.raises(UnusualCdrError):
            parse_joint_state(message[:size])


@pytest.mark.parametrize('field', range(7))
def test_hostile_counts(field):
    """A count or length beyond the message is refused before anything is allocated for it."""
    message = bytearray(make_sample(['a', 'bc', 'def']).encode())
    form = parse_joint_state(bytes(message))
    names = form.frame_end + 1 + -(form.frame_end + 1) % 4
    offsets = [12, names, names + 4, message.index(b'def\0') - 4]
    offsets += [extent.count_offset for extent in form.arrays]
    for count in (2**32 - 1, 2**32 - 2, 2**31, 2**31 - 1, 2**29, 2**29 - 1, 2**16):
        struct.pack_into('<I', message, offsets[field], count)
        hostile = bytes(message)
        tracemalloc.start()
        try:
            with pytest.raises(UnusualCdrError, match=str(count)) as caught:
                parse_joint_state(hostile)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert caught.value.reason == 'truncated'
        assert peak < 100_000


KINDS = (b'\x00\x00', b'\x00\x03', b'\x00\x07', b'\x01\x01', b'\xff\x01')
BYTES = ((5, 0x41), (2, 0x00), (0, 0x00), (1, 0xFF), (0, 0x80), (4, 0xC3))


@pytest.mark.parametrize(('marker', 'at', 'new', 'reason'), [
    # Big endian, parameter lists and XCDR2.
    *((b'', 0, kind, 'encapsulation') for kind in KINDS),
    # Without its NUL, with another one, not in UTF-8, without even a NUL.
    *((each, at, bytes([byte]), 'string') for each in (b'frame\0', b'name1\0')
      for at, byte in BYTES),
    (b'', 12, b'\0', 'string'),
])  # fmt: skip
def test_what_is_left_to_the_typed_path(marker, at, new, reason):
    """It is refused with the reason, again and again, and changes nothing remembered."""
    sample = make_sample(['name1', 'name2'], frame_id='frame')
    good = sample.encode()
    at += good.index(marker)
    bad = good[:at] + new + good[at + len(new) :]
    reader = JointStateReader()
    first = reader.read_message(good)
    for read in (parse_joint_state, reader.read_message, reader.read_message):
        assert outcome(read, bad) == reason
        assert reader.read_message(good) is first
        assert plain(first) == sample.plain


@pytest.mark.parametrize('count', [1, 2, 3])
@pytest.mark.parametrize('fields', [(1, 1, 1), (1, 1, 0)])
def test_declared_padding(count, fields):
    """Bytes that the options count as padding at the end do not belong to the message."""
    sample = make_sample(NAMES, fields=fields)
    message = bytearray(sample.encode())
    message[3] = count
    known = JointStateReader()
    known.read_message(sample.encode())
    for reader in (JointStateReader(), known):
        assert plain(reader.read_message(bytes(message) + bytes(count))) == sample.plain
        assert outcome(reader.read_message, bytes(message) + bytes(count - 1)) == 'truncated'


def test_arrays_are_read_only_views():
    """They are the same objects in the next message; a record that was copied outlives it."""
    reader, sample = JointStateReader(), make_sample(NAMES)
    view = reader.read_message(sample.encode())
    record, arrays = view.copy_record(), arrays_of(view)
    for values in arrays:
        assert values.flags.aligned
        with pytest.raises(ValueError, match='read-only'):
            values[0] = 1.0
    again = reader.read_message(make_sample(NAMES, first=2.0).encode())
    assert all(map(operator.is_, arrays_of(again), arrays))
    assert arrays[0].tolist() == [2.0, 3.0, 4.0]
    message = make_message()
    fill_joint_state_message(message, record)
    assert plain(record) == plain(record_from_joint_state(message)) == sample.plain


def test_bounded(monkeypatch):
    """A flood of layouts leaves as many behind as the limits say; one in use is kept."""
    monkeypatch.setattr(records, 'MOST_LAYOUTS', 3)
    monkeypatch.setattr(cdr, 'MOST_VIEWS', 5)
    reader = JointStateReader()
    alive = weakref.WeakSet()
    kept = reader.read_message(make_sample(NAMES).encode())
    for number in range(100):
        alive.add(reader.read_message(make_sample((f'joint{number}',)).encode()).layout)
        assert reader.read_message(make_sample(NAMES).encode()) is kept
    gc.collect()
    # The last ones of the table are among the last ones of the reader.
    assert len(alive) == 4


def test_too_large_to_be_remembered():
    """A message that is too large is parsed each time, and cached forms stay cached."""
    small = make_sample(NAMES)
    large = [make_sample([f'{seed}_{name}' for name in range(6000)]) for seed in range(2)]
    wide = [make_sample(NAMES, frame_id='f' * (400_000 + seed)) for seed in range(2)]
    reader = JointStateReader()
    view = reader.read_message(small.encode())
    for sample in (*large, *wide) * 2:
        read = reader.read_message(sample.encode())
        assert plain(read) == sample.plain
        assert read is not view
        assert reader.read_message(sample.encode()) is not read
        assert reader.read_message(small.encode()) is view
        assert plain(view) == small.plain
