# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Samples of JointState, with an encoder of their own that follows the format, not the code."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
import struct
from types import SimpleNamespace

from hypothesis import strategies as st
import numpy as np

from transmission_bridge.messages.cdr import JointStateWriter


@dataclass(frozen=True)
class Sample:
    """A JointState in the plainest of terms; the arrays are lists of 64-bit patterns."""

    sec: int
    nanosec: int
    frame_id: str
    names: tuple[str, ...]
    patterns: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    def encode(self, pad=bytes, junk=b'', widest=8) -> bytes:
        """Return CDR_LE bytes; ``pad(n)`` gives n bytes of padding, XCDR2 aligns to at most 4."""
        body = bytearray(struct.pack('<iI', self.sec, self.nanosec))

        def put(size, raw):
            body.extend(pad(-len(body) % size))
            body.extend(raw)

        def put_string(text):
            raw = text.encode() + b'\0'
            put(4, struct.pack('<I', len(raw)))
            put(1, raw)

        put_string(self.frame_id)
        put(4, struct.pack('<I', len(self.names)))
        for name in self.names:
            put_string(name)
        for patterns in self.patterns:
            put(4, struct.pack('<I', len(patterns)))
            for pattern in patterns:
                put(widest, struct.pack('<Q', pattern))
        # The low bits of the second option byte would count bytes of padding at the end.
        options = bytes([pad(1)[0], pad(1)[0] & 0xFC])
        return (b'\x00\x01' if widest == 8 else b'\x00\x07') + options + bytes(body) + junk

    def fill(self, message):
        """Write the sample into a typed message, and return that."""
        message.header.stamp.sec = self.sec
        message.header.stamp.nanosec = self.nanosec
        message.header.frame_id = self.frame_id
        message.name = list(self.names)
        message.position, message.velocity, message.effort = (
            array('d', struct.pack(f'={len(patterns)}Q', *patterns)) for patterns in self.patterns
        )
        return message

    @property
    def plain(self):
        """The result of the function of this name for data that equal the sample."""
        return (
            (self.sec, self.nanosec),
            self.frame_id,
            self.names,
            *(struct.pack(f'={len(patterns)}Q', *patterns) for patterns in self.patterns),
        )


def arrays_of(data):
    """Return the three arrays of a record, a view, a writer or a message."""
    return data.position, data.velocity, data.effort


def plain(data):
    """Return a record or a view as a tuple that compares bit for bit."""
    arrays = arrays_of(data)
    assert all(values.dtype == np.float64 and values.ndim == 1 for values in arrays)
    return (data.stamp, data.frame_id, data.names, *(values.tobytes() for values in arrays))


def make_message():
    """Return what rclpy's JointState looks like to duck typing."""
    header = SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0), frame_id='')
    return SimpleNamespace(
        header=header, name=[], position=array('d'), velocity=array('d'), effort=array('d')
    )


TEXTS = st.text(max_size=12).map(lambda text: text.replace('\0', ''))
PATTERNS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.floats().map(lambda value: struct.unpack('=Q', struct.pack('=d', value))[0]),
)


@st.composite
def draw_sample(draw, regular=False):
    """Draw a sample; a regular one has arrays that are empty or as long as the names."""
    names = tuple(draw(st.lists(TEXTS, max_size=10)))
    lengths = st.sampled_from([0, len(names)]) if regular else st.integers(0, 12)
    patterns = tuple(
        tuple(draw(st.lists(PATTERNS, min_size=length, max_size=length)))
        for length in (draw(lengths), draw(lengths), draw(lengths))
    )
    return Sample(
        draw(st.integers(-(2**31), 2**31 - 1)),
        draw(st.integers(0, 2**32 - 1)),
        draw(TEXTS),
        names,
        patterns,
    )


#: Samples of any lengths, ragged ones included, and those that are not ragged.
samples, regular_samples = draw_sample(), draw_sample(regular=True)


def garbage(seed):
    """Return a ``pad`` function for :meth:`Sample.encode` that yields random bytes."""
    return np.random.default_rng(seed).bytes


def make_sample(names, frame_id='base', first=1.0, fields=(True, True, True)):
    """Return a sample with these names and numbers, three arrays of equal length."""
    patterns = tuple(
        tuple((first + 100 * field + np.arange(len(names))).view(np.uint64).tolist())
        if sent
        else ()
        for field, sent in enumerate(fields)
    )
    return Sample(5, 7, frame_id, tuple(names), patterns)


def writer_for(sample):
    """Return a writer filled with the numbers of a regular sample."""
    writer = JointStateWriter(sample.names, sample.frame_id, tuple(map(bool, sample.patterns)))
    for values, patterns in zip(arrays_of(writer), sample.patterns, strict=True):
        values.view(np.uint64)[:] = np.array(patterns, dtype=np.uint64)
    return writer
