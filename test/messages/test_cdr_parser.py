# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading the bytes of a JointState in full."""

from __future__ import annotations

import pickle
import struct
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import parse_joint_state, UnusualMessageError


def parsed(data):
    """Return a message as :meth:`Sample.plain` gives it, by the parser alone."""
    form = parse_joint_state(data)
    arrays = (data[extent.offset : extent.end_offset] for extent in form.arrays)
    return (form.stamp, form.frame_id, form.names, *arrays)


@given(data=st.data())
def test_any_padding(samples, garbage, data):
    """Every message is read, whatever its padding holds and whatever follows its end."""
    sample = data.draw(samples)
    pad = garbage(data.draw(st.integers(0, 1000)))
    message = sample.encode(pad, junk=data.draw(st.binary(max_size=9)))
    assert parsed(message) == sample.plain


@given(data=st.data())
def test_padding_is_located(samples, data):
    """The gaps reported are the padding bytes up to the positions' count, and no others."""
    sample = data.draw(samples)
    zeros, ones = sample.encode(), sample.encode(lambda size: b'\xff' * size)
    form = parse_joint_state(zeros)
    end = form.arrays[0].count_offset
    padding = {at for at in range(4, end) if zeros[at] != ones[at]}
    assert {at for start, stop in form.gaps for at in range(start, stop)} == padding


@given(data=st.data())
def test_truncated(samples, data):
    """A message cut anywhere is refused, never read beyond its end."""
    message = data.draw(samples).encode()
    for size in range(len(message)):
        with pytest.raises(UnusualMessageError):
            parse_joint_state(message[:size])


@given(data=st.binary(max_size=120), stamped=st.booleans())
def test_any_bytes(data, stamped):
    """Arbitrary bytes are read or refused with the documented error."""
    message = (b'\x00\x01\x00\x00' if stamped else b'') + data
    try:
        end = parse_joint_state(message).arrays[2].end_offset
    except UnusualMessageError:
        return
    assert end <= len(message)


COUNTS = (0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x7FFFFFFF, 0x20000000, 0x1FFFFFFF, 0x10000)


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('field', range(7))
def test_hostile_counts(make_sample, count, field):
    """A count or length beyond the message is refused before anything is allocated for it."""
    message = bytearray(make_sample(['a', 'bc', 'def']).encode())
    form = parse_joint_state(bytes(message))
    frame_count = 12
    name_count = form.frame_end + 1 + -(form.frame_end + 1) % 4
    offsets = [
        frame_count,
        name_count,
        name_count + 4,
        message.index(b'def\0') - 4,
        *(extent.count_offset for extent in form.arrays),
    ]
    struct.pack_into('<I', message, offsets[field], count)
    hostile = bytes(message)
    tracemalloc.start()
    try:
        with pytest.raises(UnusualMessageError, match=str(count)) as caught:
            parse_joint_state(hostile)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reason == 'truncated'
    assert peak < 100_000


@pytest.mark.parametrize('kind', [b'\x00\x00', b'\x00\x03', b'\x00\x07', b'\x01\x01', b'\xff\x01'])
def test_other_encapsulations(make_sample, kind):
    """Big endian, parameter lists and XCDR2 are left to the typed path."""
    message = kind + make_sample(['a']).encode()[2:]
    with pytest.raises(UnusualMessageError) as caught:
        parse_joint_state(message)
    assert caught.value.reason == 'encapsulation'


@pytest.mark.parametrize('marker', [b'frame\0', b'name1\0'])
@pytest.mark.parametrize(
    ('at', 'byte'), [(5, 0x41), (2, 0x00), (0, 0x00), (1, 0xFF), (0, 0x80), (4, 0xC3)]
)
def test_bad_strings(make_sample, marker, at, byte):
    """A string without its NUL, with another NUL or not in UTF-8 is left to the typed path."""
    message = bytearray(make_sample(['name1', 'name2'], frame_id='frame').encode())
    message[message.index(marker) + at] = byte
    with pytest.raises(UnusualMessageError) as caught:
        parse_joint_state(bytes(message))
    assert caught.value.reason == 'string'


def test_string_of_no_length(make_sample):
    """A string without even a NUL is left to the typed path."""
    message = bytearray(make_sample(['a'], frame_id='').encode())
    message[12] = 0
    with pytest.raises(UnusualMessageError) as caught:
        parse_joint_state(bytes(message))
    assert caught.value.reason == 'string'


def test_error_is_a_message_error():
    """The refusal is a MessageError and survives pickling with its reason."""
    with pytest.raises(MessageError) as caught:
        parse_joint_state(b'')
    restored = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(restored, UnusualMessageError)
    assert restored.reason == 'truncated'
    assert str(restored) == str(caught.value)
