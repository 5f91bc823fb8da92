# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Parser (with every bound checked), reader and writer for sensor_msgs/JointState bytes.

Every subscription has a reader and every publisher a writer or an encoder. They have no lock: one
thread calls each. The bytes equal what rclpy writes, and a test compares them; a view belongs to
its reader, which overwrites it. Sizes of caches are free to change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
import struct

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.errors import counted, MessageError, shown
from transmission_bridge.messages.records import (
    JointStateRecord,
    Layout,
    MessageLayoutTable,
    view_message_rows,
)
from transmission_bridge.types import Array

# -- The format, and the parser that checks every bound ------------------------------------------
#
# Plain CDR, little endian (OMG CORBA, "CDR transfer syntax", and DDSI-RTPS, "data encapsulation"):
# the encapsulation ``00 01 xx xx``, then values aligned to their size relative to byte 4. A string
# is its length including the closing NUL, its bytes, and the NUL. A sequence is its count and its
# elements; an empty sequence of doubles has no 8-byte padding. The two lowest bits of byte 3 count
# bytes at the end that are not part of the message (DDS-XTYPES; Fast CDR uses them). **Padding is
# not zeroed on the wire**, and other bytes may follow the end.


# The encapsulation 00 01 as a little-endian number.
LITTLE_ENDIAN = 0x0100
# Bits of byte 3 that count padding bytes after the message.
PADDING_COUNT = 0b11
ORIGIN = 4
FRAME_ID_OFFSET = 12

_HEAD = struct.Struct('<HxBiI')
_U32 = struct.Struct('<I')
# A length without text or NUL; rclpy decides whether this is a string.
_SHORTEST_STRING = 4

#: Largest number of bytes of a string in an error.
_SHOWN = 64


class UnusualCdrError(MessageError):
    """
    The fast path cannot read these bytes; deserialise them with rclpy.

    The message may be valid, for example big endian or XCDR2. ``reason`` is ``encapsulation``,
    ``truncated`` or ``string``.
    """


class TruncatedCdrError(UnusualCdrError):
    """The message is truncated; rclpy also cannot deserialise it."""


@dataclass(frozen=True)
class CdrArrayExtent:
    """An array of doubles: offsets of its count field and first element, and its length."""

    count_offset: int
    offset: int
    length: int

    @property
    def end_offset(self) -> int:
        """Offset after the last element, or after the count of an empty array."""
        return self.offset + 8 * self.length


@dataclass(frozen=True)
class WireForm:
    """
    A parsed message: decoded strings, and the extents of the arrays.

    :param stamp: Seconds and nanoseconds.
    :param frame_end: Offset of the closing NUL of the frame.
    :param arrays: Position, velocity, effort.
    :param gaps: Padding before counts and lengths, as pairs of first offset and offset after it.
        After the count of positions everything is aligned to 4, without padding.
    """

    stamp: tuple[int, int]
    frame_id: str
    frame_end: int
    names: tuple[str, ...]
    arrays: tuple[CdrArrayExtent, CdrArrayExtent, CdrArrayExtent]
    gaps: tuple[tuple[int, int], ...]


def align_offset(offset: int, size: int) -> int:
    """Return the next offset that is a multiple of ``size`` after byte 4."""
    return offset + (ORIGIN - offset) % size


def decode_string(raw: bytes) -> str:
    """
    Return the text of a CDR string without its closing NUL.

    :raises UnusualCdrError: If it is not UTF-8 or contains a NUL, where rclpy ends it.
    """
    if b'\0' in raw:
        raise UnusualCdrError('string', f'a string contains a NUL: {raw[:_SHOWN]!r}')
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UnusualCdrError('string', f'a string is not UTF-8: {raw[:_SHOWN]!r}') from error


def parse_joint_state(data: bytes) -> WireForm:
    """
    Parse a message; check counts before allocating memory for them.

    :param data: The serialised message, encapsulation included.
    :raises UnusualCdrError: If the message needs the typed path.
    """
    if len(data) < _HEAD.size:
        raise TruncatedCdrError('truncated', f'a message of {counted(len(data), "byte")}')
    encapsulation, options, sec, nanosec = _HEAD.unpack_from(data)
    if encapsulation != LITTLE_ENDIAN:
        raise UnusualCdrError(
            'encapsulation', f'expected encapsulation 00 01, found {data[:2].hex(" ")}'
        )
    padding = options & PADDING_COUNT
    # Fast CDR sometimes reads into such padding.
    too_short = UnusualCdrError if padding else TruncatedCdrError
    cursor = _Cursor(data, len(data) - padding, too_short)
    frame_id = cursor.read_string()
    frame_end = cursor.at - 1
    count = cursor.read_u32()
    if count > (cursor.end - cursor.at) // _SHORTEST_STRING:
        raise too_short('truncated', f'{counted(count, "name")} in {counted(len(data), "byte")}')
    names = tuple([cursor.read_string() for _ in range(count)])
    arrays = (cursor.read_doubles(), cursor.read_doubles(), cursor.read_doubles())
    return WireForm((sec, nanosec), frame_id, frame_end, names, arrays, tuple(cursor.gaps))


def count_waypoints(data: bytes) -> int:
    """
    Return the number of waypoints that a serialised JointTrajectory announces.

    :returns: The number; 0 if the bytes are unusual and the typed path has to decide.
    """
    if len(data) < _HEAD.size or data[:2] != b'\0\1':
        return 0
    cursor = _Cursor(data, len(data), TruncatedCdrError)
    try:
        cursor.read_string()
        for _ in range(cursor.read_u32()):
            cursor.read_string()
        return cursor.read_u32()
    except UnusualCdrError:
        return 0


class _Cursor:
    """
    The read position in a message, after the stamp.

    Its methods raise ``too_short`` instead of passing the end.

    :ivar at: Offset of the next byte; every method moves it.
    :ivar gaps: Padding so far, see :class:`WireForm`.
    """

    def __init__(self, data: bytes, end: int, too_short: type[UnusualCdrError]) -> None:
        self.at = FRAME_ID_OFFSET
        self.end = end
        self.too_short = too_short
        self.gaps: list[tuple[int, int]] = []
        self._data = data

    def read_u32(self) -> int:
        start = align_offset(self.at, 4)
        if start + 4 > self.end:
            raise self.too_short('truncated', f'no length at byte {start}')
        if start != self.at:
            self.gaps.append((self.at, start))
        self.at = start + 4
        return int(_U32.unpack_from(self._data, start)[0])

    def read_string(self) -> str:
        length = self.read_u32()
        if length > self.end - self.at:
            raise self.too_short(
                'truncated', f'a string of {counted(length, "byte")} at {self.at}'
            )
        end = self.at + length
        if not length or self._data[end - 1]:
            raise UnusualCdrError('string', f'the string at byte {self.at} has no closing NUL')
        text = decode_string(self._data[self.at : end - 1])
        self.at = end
        return text

    def read_doubles(self) -> CdrArrayExtent:
        count = self.read_u32()
        count_offset = self.at - 4
        start = align_offset(self.at, 8) if count else self.at
        if 8 * count > self.end - start:
            raise self.too_short('truncated', f'an array of {counted(count, "double")} at {start}')
        extent = CdrArrayExtent(count_offset, start, count)
        self.at = extent.end_offset
        return extent


# -- The reader: bytes to arrays, in about a microsecond for a known layout ----------------------
#
# Between messages of one publisher only the stamp, the numbers and the padding change. A
# :class:`JointStateView` reads one form of message. Bytes are compared with the last message, then
# under a mask without padding and frame. If both differ, the message is parsed and gets a new
# view.


#: Largest number of cached message forms (layout and length of the frame) of a reader. Large forms
#: reduce it; a form that is too large is not cached.
MOST_VIEWS = 16

#: Size of a view without its message and layout, and largest size of all views of a reader, bytes.
_FRAME, _MOST = 4096, 3 << 19


class JointStateView(JointStateRecord):
    """
    The last message as arrays; **valid until its reader reads again**.

    The arrays are read-only and the same objects for every message of this form; use
    :meth:`copy_record` to keep them. :class:`JointStateRecord` documents the other attributes.

    :ivar layout: Names and lengths; the same object for every message with these.
    :ivar rows: Position, velocity, effort, shape ``(3, n)``, if all have the same length > 0, else
        ``None``.
    :ivar weight: Largest size with its layout, in bytes.
    """

    def __init__(self, form: WireForm, layout: Layout, data: bytes) -> None:
        position, velocity, effort = form.arrays
        self.layout = layout
        self.names = layout.names
        self.stamp = form.stamp
        self.frame_id = form.frame_id

        # The prefix extends from the length of the frame to the count of positions. The other two
        # counts are between the numbers: one call unpacks them together with the stamp.
        _, self._velocity_count, self._effort_count = layout.lengths
        self._unpack_head = struct.Struct(
            f'<HxBiI{velocity.count_offset - FRAME_ID_OFFSET}xI'
            f'{effort.count_offset - velocity.count_offset - 4}xI'
        ).unpack_from
        self._prefix_end = position.count_offset + 4
        self._size = effort.end_offset
        self._prefix = data[FRAME_ID_OFFSET : self._prefix_end]
        self._frame_text = slice(4, form.frame_end - FRAME_ID_OFFSET)

        self._prefix_words, self._prefix_bytes = _make_words(len(self._prefix))
        self._mask, mask_bytes = _make_words(len(self._prefix))
        mask_bytes[:] = b'\xff' * len(mask_bytes)
        for start, end in (*form.gaps, (FRAME_ID_OFFSET + 4, form.frame_end)):
            mask_bytes[start - FRAME_ID_OFFSET : end - FRAME_ID_OFFSET] = bytes(end - start)
        self._masked = np.empty_like(self._mask)
        self._expected = self._mask_padding(self._prefix)

        # The distances of non-empty arrays are multiples of eight bytes.
        self._numbers_offset = min(
            (extent.offset for extent in form.arrays if extent.length), default=self._size
        )
        words, self._numbers = _make_words(self._size - self._numbers_offset)
        doubles = words.view(np.float64)
        doubles.flags.writeable = False
        self.rows = view_message_rows(doubles, layout.lengths)
        starts = [(extent.offset - self._numbers_offset) // 8 for extent in form.arrays]
        self.position, self.velocity, self.effort = (
            doubles[k : k + n] for k, n in zip(starts, layout.lengths, strict=True)
        )
        self._numbers[:] = data[self._numbers_offset : self._size]
        # The prefix is stored five times; as a str, its frame needs up to four times its bytes.
        self.weight = _FRAME + 9 * len(self._prefix) + len(self._numbers) + layout.weight

    def copy_record(self) -> JointStateRecord:
        """Return a copy."""
        arrays = (array.copy() for array in self.arrays)
        return JointStateRecord(self.stamp, self.frame_id, self.names, *arrays)

    def _load_message(self, data: bytes) -> bool:
        """Load a message of this form; return false, without changes, for another form."""
        size = self._size
        if len(data) < size:
            return False
        encapsulation, options, sec, nanosec, velocities, efforts = self._unpack_head(data)
        if (
            encapsulation != LITTLE_ENDIAN
            or velocities != self._velocity_count
            or efforts != self._effort_count
            or len(data) - (options & PADDING_COUNT) < size
        ):
            return False
        if not data.startswith(self._prefix, FRAME_ID_OFFSET):
            prefix = data[FRAME_ID_OFFSET : self._prefix_end]
            if self._mask_padding(prefix) != self._expected:
                return False
            # The length of the frame is part of the form, its text is not.
            frame = prefix[self._frame_text]
            if frame != self._prefix[self._frame_text]:
                self.frame_id = decode_string(frame)
            self._prefix = prefix
        self._numbers[:] = data[self._numbers_offset : size]
        self.stamp = (sec, nanosec)
        return True

    def _mask_padding(self, prefix: bytes) -> bytes:
        self._prefix_bytes[:] = prefix
        return np.bitwise_and(self._prefix_words, self._mask, self._masked).tobytes()


class JointStateReader:
    """
    Reader for the JointState bytes of one topic.

    :param layouts: Table of layouts, shared with other readers and the typed path; by default a
        new one.
    """

    def __init__(self, layouts: MessageLayoutTable | None = None) -> None:
        self.layouts = MessageLayoutTable() if layouts is None else layouts
        # Most recently used first.
        self._views: list[JointStateView] = []
        self._weight = 0

    def read_message(self, data: bytes) -> JointStateView:
        """
        Return a view of the message, valid until the next call.

        :param data: The serialised message, encapsulation included; bytes after its end are
            ignored.
        :raises UnusualCdrError: If the bytes need the typed path.
        """
        views = self._views
        for index, view in enumerate(views):
            if view._load_message(data):
                views.insert(0, views.pop(index))
                return view
        form = parse_joint_state(data)
        position, velocity, effort = form.arrays
        lengths = (position.length, velocity.length, effort.length)
        view = JointStateView(form, self.layouts.find_layout(form.names, lengths), data)
        if view.weight > _MOST or not view.layout.is_kept:
            return view
        self._weight += view.weight
        while len(views) >= MOST_VIEWS or self._weight > _MOST:
            self._weight -= views.pop().weight
        views.insert(0, view)
        return view


def _make_words(size: int) -> tuple[NDArray[np.uint64], memoryview]:
    """Return zeroed 8-byte words, one more than needed, and the first ``size`` bytes of them."""
    words = np.zeros(1 + -(-size // 8), dtype=np.uint64)
    return words, words.data.cast('B')[:size]


# -- The writer: fills stamp and numbers into a template -----------------------------------------
#
# The bytes equal rclpy's serialisation, with zeros as padding.


_ENCAPSULATION = b'\x00\x01\x00\x00'
_STAMP = struct.Struct('<iI')


class JointStateWriter:
    """
    Writer for JointState messages with these names.

    Fill ``position``, ``velocity`` and ``effort`` in place, then call :meth:`write_message`. They
    start as zeros and keep their values between messages.

    :param names: Joint names in message order.
    :param frame_id: Frame of the header.
    :param fields: Whether position, velocity and effort are sent; other arrays are empty.
    :ivar position: Positions [rad or m], shape ``(n,)`` for n names, or ``(0,)``.
    :ivar velocity: Velocities [rad/s or m/s], same shape or empty.
    :ivar effort: Efforts [N m or N], same shape or empty.
    :ivar rows: All three, shape ``(3, n)``, if all are sent, else ``None``.
    :raises MessageError: If a name or the frame contains a NUL or is not Unicode (reason
        ``string``).
    """

    def __init__(
        self,
        names: Iterable[str],
        frame_id: str = '',
        fields: tuple[bool, bool, bool] = (True, True, True),
    ) -> None:
        self.names = tuple(names)
        template = bytearray(_ENCAPSULATION + bytes(_STAMP.size))
        _append_string(template, frame_id)
        _append_u32(template, len(self.names))
        for name in self.names:
            _append_string(template, name)
        counts = [len(self.names) if sent else 0 for sent in fields]
        offsets = []
        for count in counts:
            _append_u32(template, count)
            if count:
                template += bytes(align_offset(len(template), 8) - len(template))
            offsets.append(len(template))
            template += bytes(8 * count)

        # Four bytes at the start align the arrays with words. One more word at the end makes the
        # arrays rows of equal length.
        self._words = np.zeros(2 + len(template) // 8, dtype=np.uint64)
        self._message = self._words.data.cast('B')[4 : 4 + len(template)]
        self._message[:] = template
        doubles: Array = self._words.view(np.float64)
        starts = [(4 + offset) // 8 for offset in offsets]
        self.position, self.velocity, self.effort = (
            doubles[start : start + count] for start, count in zip(starts, counts, strict=True)
        )
        self.rows = view_message_rows(doubles[starts[0] :], tuple(counts))

    def write_message(self, sec: int, nanosec: int) -> bytes:
        """
        Return the message with this stamp and the present contents of the arrays.

        :param sec: Seconds, int32.
        :param nanosec: Nanoseconds, uint32.
        :raises MessageError: If the stamp does not fit (reason ``stamp``).
        """
        try:
            _STAMP.pack_into(self._message, len(_ENCAPSULATION), sec, nanosec)
        except struct.error as error:
            raise MessageError('stamp', f'the stamp ({sec}, {nanosec}) does not fit') from error
        return self._message.tobytes()


def _append_u32(message: bytearray, value: int) -> None:
    message += bytes(align_offset(len(message), 4) - len(message))
    message += value.to_bytes(4, 'little')


def _append_string(message: bytearray, text: str) -> None:
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise MessageError('string', f'{shown(text)} is not Unicode') from error
    if b'\0' in raw:
        raise MessageError('string', f'{shown(text)} contains a NUL')
    _append_u32(message, len(raw) + 1)
    message += raw + b'\0'


# -- The encoder: writers of the layouts in use --------------------------------------------------


#: Number of cached writers; a robot uses fewer layouts in practice.
WRITERS = 32


class JointStateEncoder:
    """Serialises records, and reuses the writers of known layouts."""

    def __init__(self) -> None:
        self._writer = lru_cache(WRITERS)(JointStateWriter)
        self._last = JointStateWriter(())

    def encode_record(self, record: JointStateRecord) -> bytes:
        """
        Return the serialised message.

        :raises MessageError: If the stamp does not fit.
        """
        if record.rows is not None and not record.frame_id:
            return self.encode_rows(record.names, record.stamp, record.rows)
        position, velocity, effort = (length > 0 for length in record.lengths)
        writer = self._writer(record.names, record.frame_id, (position, velocity, effort))
        writer.position[:] = record.position
        writer.velocity[:] = record.velocity
        writer.effort[:] = record.effort
        return writer.write_message(*record.stamp)

    def encode_rows(self, names: tuple[str, ...], stamp: tuple[int, int], rows: Array) -> bytes:
        """
        Return the serialised message with an empty frame, in one copy.

        :param names: At least one.
        :param rows: Position, velocity and effort, shape ``(3, len(names))``.
        :raises MessageError: If the stamp does not fit.
        """
        # Comparing with the last names is faster than hashing all of them.
        writer = self._last
        if names != writer.names:
            writer = self._last = self._writer(names)
        assert writer.rows is not None
        writer.rows[...] = rows
        return writer.write_message(*stamp)
