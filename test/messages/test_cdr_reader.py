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
        key = (sample.names, tuple(map(len, sample.patterns)))
        assert (view.layout.names, view.layout.lengths) == key
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


FRAMES = ('rear', 'left', 'rear', 'rear', 'left', 'é42')


def test_frame_content(make_sample, garbage, plain):
    """A frame of the same length belongs to the same view, garbage or not."""
    reader = JointStateReader()
    first = reader.read_message(make_sample(NAMES, frame_id='left').encode())
    for seed, frame_id in enumerate(FRAMES):
        sample = make_sample(NAMES, frame_id=frame_id)
        view = reader.read_message(sample.encode(garbage(seed)))
        assert view is first
        assert plain(view) == sample.plain


@pytest.mark.parametrize(
    ('forms', 'count'),
    [
        # Another length of the frame is another form of the same layout.
        ([{'names': NAMES, 'frame_id': 'f' * length} for length in range(9)], 1),
        ([{'names': ('joint1', 'joint2')}, {'names': ('joint2', 'joint1')}], 2),
        ([{'names': each} for each in (('ab', 'c'), ('a', 'bc'), ('abc', ''), ('', 'abc'))], 4),
        (
            [
                {'names': NAMES, 'fields': each}
                for each in ((1, 1, 1), (1, 1, 0), (1, 0, 1), (1, 0, 0))
            ],
            4,
        ),
    ],
)
def test_messages_that_look_alike(make_sample, plain, forms, count):
    """Forms that differ in frame, order, boundaries of names or later lengths are told apart."""
    reader, layouts = JointStateReader(), set()
    for turn in range(3):
        for form in forms:
            sample = make_sample(**form, first=float(turn))
            view = reader.read_message(sample.encode())
            assert plain(view) == sample.plain
            layouts.add(view.layout)
    assert len(layouts) == count


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
    with pytest.raises(ValueError, match='at least 1'):
        JointStateReader(limit=0)


def test_most_recent_stays(make_sample):
    """A form in use is kept while others come and go."""
    reader = JointStateReader(limit=2)
    kept = reader.read_message(make_sample(NAMES).encode())
    for number in range(10):
        reader.read_message(make_sample((str(number),)).encode())
        assert reader.read_message(make_sample(NAMES).encode()) is kept


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
