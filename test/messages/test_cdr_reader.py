# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading one JointState after another: views, layouts, and what is remembered."""

from __future__ import annotations

import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.messages.joint_state import fill_message, LayoutTable, record_from_message

NAMES = ('shoulder', 'upper_arm', 'elbow')


@given(data=st.data())
def test_read(samples, plain, data):
    """A view has the stamp, the strings and every bit of the numbers of its message."""
    sample = data.draw(samples)
    view = JointStateReader().read_message(sample.encode())
    assert plain(view) == sample.plain
    lengths = tuple(len(patterns) for patterns in sample.patterns)
    assert (view.layout.names, view.layout.lengths) == (sample.names, lengths)


@given(data=st.data())
def test_rows(samples, garbage, data):
    """If all three arrays have a number for each name, they are also rows of one array."""
    sample = data.draw(samples)
    view = JointStateReader().read_message(sample.encode(garbage(1)))
    arrays = (view.position, view.velocity, view.effort)
    lengths = {len(array) for array in arrays}
    assert (view.rows is None) == (len(lengths) > 1 or lengths == {0})
    if view.rows is not None:
        assert view.rows.tobytes() == b''.join(array.tobytes() for array in arrays)
        assert not view.rows.flags.writeable
        assert all(np.shares_memory(view.rows, array) for array in arrays)


@given(data=st.data())
def test_any_sequence(samples, garbage, plain, data):
    """Messages that come and go in any order are read as by a reader that knew none before."""
    pool = data.draw(st.lists(samples, min_size=1, max_size=6))
    reader = JointStateReader(limit=data.draw(st.integers(1, 4)))
    layouts = {}
    for step in range(15):
        sample = data.draw(st.sampled_from(pool))
        pad = garbage(data.draw(st.integers(0, 3)))
        view = reader.read_message(sample.encode(pad, junk=bytes(step % 5)))
        assert plain(view) == sample.plain
        key = (view.layout.names, view.layout.lengths)
        assert layouts.setdefault(key, view.layout) is view.layout


@given(data=st.data())
def test_garbage_hits(samples, garbage, plain, data):
    """Other numbers, another stamp, garbage in padding and junk at the end: the same view."""
    sample = data.draw(samples)
    reader = JointStateReader()
    first = reader.read_message(sample.encode())
    for seed in range(4):
        patterns = tuple(
            tuple((pattern + seed) % 2**64 for pattern in field) for field in sample.patterns
        )
        other = type(sample)(seed, seed, sample.frame_id, sample.names, patterns)
        view = reader.read_message(other.encode(garbage(seed), junk=b'\xff' * seed))
        assert view is first
        assert plain(view) == other.plain


def test_frame_content(make_sample, garbage, plain):
    """A frame of the same length belongs to the same view, garbage or not."""
    reader = JointStateReader()
    first = reader.read_message(make_sample(NAMES, frame_id='left').encode())
    for seed, frame_id in enumerate(('rear', 'left', 'rear', 'rear', 'left', 'é42')):
        sample = make_sample(NAMES, frame_id=frame_id)
        assert len(frame_id.encode()) == 4
        view = reader.read_message(sample.encode(garbage(seed)))
        assert view is first
        assert plain(view) == sample.plain


def test_frame_length(make_sample, plain):
    """A frame of another length changes the form of the message but not the layout."""
    reader = JointStateReader()
    layouts = set()
    for turn in range(3):
        for length in range(9):
            sample = make_sample(NAMES, frame_id='f' * length, first=float(turn))
            view = reader.read_message(sample.encode())
            assert plain(view) == sample.plain
            layouts.add(view.layout)
    assert len(layouts) == 1


def test_reordered_names(make_sample):
    """Names of the same lengths in another order are another layout, with its own numbers."""
    reader = JointStateReader()
    first = reader.read_message(make_sample(('joint1', 'joint2')).encode()).layout
    second = reader.read_message(make_sample(('joint2', 'joint1')).encode()).layout
    assert (first.names, second.names) == (('joint1', 'joint2'), ('joint2', 'joint1'))
    assert reader.read_message(make_sample(('joint1', 'joint2')).encode()).layout is first
    assert reader.read_message(make_sample(('joint2', 'joint1')).encode()).layout is second


def test_bytes_that_name_other_boundaries(make_sample, plain):
    """Names with equal concatenated bytes are distinguished."""
    reader = JointStateReader()
    for names in (('ab', 'c'), ('a', 'bc'), ('abc', ''), ('', 'abc')) * 2:
        sample = make_sample(names)
        assert plain(reader.read_message(sample.encode())) == sample.plain


def test_lengths_of_later_arrays(make_sample, plain):
    """Messages that differ only in the lengths of velocity or effort are distinguished."""
    reader = JointStateReader()
    seen = set()
    for fields in ((1, 1, 1), (1, 1, 0), (1, 0, 1), (1, 0, 0)) * 2:
        sample = make_sample(NAMES, fields=fields)
        view = reader.read_message(sample.encode())
        assert plain(view) == sample.plain
        seen.add(view.layout)
    assert len(seen) == 4


def test_ragged_is_told(make_sample, plain):
    """A ragged message is read unchanged, and its layout is marked as ragged."""
    whole = make_sample(NAMES)
    position, velocity, effort = whole.patterns
    ragged = type(whole)(1, 2, '', NAMES, (position[:2], velocity, (*effort, 0)))
    reader = JointStateReader()
    view = reader.read_message(ragged.encode())
    assert plain(view) == ragged.plain
    assert view.layout.lengths == (2, 3, 4)
    assert view.layout.is_ragged
    assert not reader.read_message(whole.encode()).layout.is_ragged


@given(data=st.data())
def test_known_form_with_a_fault(samples, plain, data):
    """A fault in a message of a known form is found as it is in the first message."""
    sample = data.draw(samples)
    message = sample.encode()
    reader = JointStateReader()
    at = data.draw(st.integers(0, len(message) - 1))
    faulty = bytearray(message)
    faulty[at] ^= data.draw(st.integers(1, 255))
    faulty = bytes(faulty[: data.draw(st.integers(at, len(message)))])

    def outcome(read):
        try:
            return plain(read(faulty))
        except UnusualMessageError as error:
            return error.reason

    reader.read_message(message)
    assert outcome(reader.read_message) == outcome(JointStateReader().read_message)
    assert plain(reader.read_message(message)) == sample.plain


@pytest.mark.parametrize('count', [1, 2, 3])
@pytest.mark.parametrize('fields', [(1, 1, 1), (1, 1, 0)])
def test_declared_padding(make_sample, plain, count, fields):
    """Bytes that the options count as padding at the end do not belong to the message."""
    sample = make_sample(NAMES, fields=fields)
    message = bytearray(sample.encode())
    message[3] = count
    known = JointStateReader()
    known.read_message(sample.encode())
    for reader in (JointStateReader(), known):
        assert plain(reader.read_message(bytes(message) + bytes(count))) == sample.plain
        with pytest.raises(UnusualMessageError) as caught:
            reader.read_message(bytes(message) + bytes(count - 1))
        assert caught.value.reason == 'truncated'


def test_bad_frame_in_a_known_form(make_sample, plain):
    """A frame that is not UTF-8 is refused again and again, and changes nothing remembered."""
    sample = make_sample(NAMES, frame_id='frame')
    good = sample.encode()
    reader = JointStateReader()
    first = reader.read_message(good)
    for bad_text in (b'fra\xffe', b'fr\0me'):
        bad = good.replace(b'frame', bad_text)
        for _ in range(2):
            with pytest.raises(UnusualMessageError) as caught:
                reader.read_message(bad)
            assert caught.value.reason == 'string'
            view = reader.read_message(good)
            assert view is first
            assert plain(view) == sample.plain


def test_arrays_are_read_only_views(make_sample):
    """The arrays are aligned, cannot be written, and are the same objects in the next message."""
    reader = JointStateReader()
    view = reader.read_message(make_sample(NAMES).encode())
    arrays = (view.position, view.velocity, view.effort)
    for values in arrays:
        assert values.flags.aligned
        with pytest.raises(ValueError, match='read-only'):
            values[0] = 1.0
    again = reader.read_message(make_sample(NAMES, first=2.0).encode())
    for now, before in zip((again.position, again.velocity, again.effort), arrays, strict=True):
        assert now is before
    assert arrays[0].tolist() == [2.0, 3.0, 4.0]


def test_record_stays(make_sample, plain, make_message):
    """A record taken from a view outlives the next message, and fills a typed message."""
    sample = make_sample(NAMES)
    reader = JointStateReader()
    record = reader.read_message(sample.encode()).copy_record()
    reader.read_message(make_sample(NAMES, first=50.0).encode())
    assert plain(record) == sample.plain
    message = make_message()
    fill_message(message, record)
    assert plain(record_from_message(message)) == sample.plain


def test_shared_table(make_sample, make_message):
    """Two readers and the typed path that share a table have the same layout objects."""
    layouts = LayoutTable()
    sample = make_sample(NAMES)
    first = JointStateReader(layouts).read_message(sample.encode()).layout
    second = JointStateReader(layouts).read_message(sample.encode()).layout
    record = record_from_message(sample.fill(make_message()))
    assert first is second is layouts.find_layout(record.names, record.lengths)


def test_bounded(make_sample):
    """A flood of layouts leaves as many behind as the limits say."""
    reader = JointStateReader(LayoutTable(limit=3), limit=5)
    alive = weakref.WeakSet()
    for number in range(100):
        alive.add(reader.read_message(make_sample((f'joint{number}',)).encode()).layout)
    gc.collect()
    # The last three of the table are among the last five of the reader.
    assert len(alive) == 5


def test_most_recent_stays(make_sample):
    """A form in use is kept while others come and go."""
    reader = JointStateReader(limit=2)
    kept = reader.read_message(make_sample(NAMES).encode())
    for number in range(10):
        reader.read_message(make_sample((str(number),)).encode())
        assert reader.read_message(make_sample(NAMES).encode()) is kept


def test_limit():
    """A reader that could remember nothing is refused."""
    with pytest.raises(ValueError, match='at least 1'):
        JointStateReader(limit=0)


def test_no_names():
    """An empty message is a layout like any other."""
    view = JointStateReader().read_message(b'\x00\x01\x00\x00' + bytes(8) + b'\1' + bytes(23))
    assert (view.layout.names, view.layout.lengths) == ((), (0, 0, 0))
    assert isinstance(view.position, np.ndarray)


def test_too_large_to_be_remembered(make_sample, plain):
    """A message that is too large is parsed each time, and cached forms stay cached."""
    small = make_sample(NAMES)
    large = [make_sample([f'{seed}_{name}' for name in range(6000)]) for seed in range(3)]
    wide = [make_sample(NAMES, frame_id='f' * (400_000 + seed)) for seed in range(3)]
    reader = JointStateReader()
    view = reader.read_message(small.encode())
    for sample in (*large, *wide) * 2:
        read = reader.read_message(sample.encode())
        assert plain(read) == sample.plain
        assert read is not view
        assert reader.read_message(sample.encode()) is not read
        assert reader.read_message(small.encode()) is view
        assert plain(view) == small.plain
