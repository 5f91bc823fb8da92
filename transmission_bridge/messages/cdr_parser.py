# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The bytes of a sensor_msgs/JointState, read in full with every bound checked.

Plain CDR, little endian (OMG CORBA, "CDR transfer syntax", and DDSI-RTPS, "data encapsulation"):
the encapsulation ``00 01 xx xx``, then everything aligned to its size relative to byte 4. A string
is its length with the closing NUL, the bytes, the NUL. A sequence is its count and the elements;
an empty sequence of doubles adds no 8-byte padding. The two lowest bits of byte 3 count bytes at
the end that are not part of the message (DDS-XTYPES; Fast CDR heeds them). **Padding holds garbage
on the wire**, and junk may follow the end.
"""

from __future__ import annotations

from dataclasses import dataclass
import struct

from transmission_bridge.errors import MessageError

__all__ = [
    'FRAME_ID_OFFSET',
    'LITTLE_ENDIAN',
    'PADDING_COUNT',
    'CutMessageError',
    'Extent',
    'UnusualMessageError',
    'WireForm',
    'aligned',
    'decode_string',
    'parse_joint_state',
]

# The encapsulation 00 01 as a little-endian number.
LITTLE_ENDIAN = 0x0100
# Bits of byte 3 that count padding bytes behind the message.
PADDING_COUNT = 0b11
ORIGIN = 4
FRAME_ID_OFFSET = 12

_HEAD = struct.Struct('<HxBiI')
_U32 = struct.Struct('<I')
# Of a string without even its NUL, which is not ours to judge.
_SHORTEST_STRING = 4

#: Bytes of a string that a sentence shows.
_SHOWN = 64


class UnusualMessageError(MessageError):
    """
    These bytes are not what the fast path reads: deserialise them with rclpy instead.

    It does not say that the message is wrong; big endian or XCDR2, for example, are right and
    rare. ``reason`` is ``encapsulation``, ``truncated`` or ``string``.
    """


class CutMessageError(UnusualMessageError):
    """These bytes end before their message does: rclpy cannot deserialise them either."""


@dataclass(frozen=True)
class Extent:
    """Where an array of doubles lies: its count field, its first byte, its length."""

    count_offset: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset behind the last element, or behind the count if there is none."""
        return self.offset + 8 * self.length


@dataclass(frozen=True)
class WireForm:
    """
    A parsed message: the strings decoded, the arrays located.

    :param stamp: Seconds and nanoseconds.
    :param frame_id: Frame of the header.
    :param frame_end: Offset of the closing NUL of the frame.
    :param names: Joint names.
    :param arrays: Position, velocity, effort.
    :param gaps: Padding before counts and lengths, as pairs of first offset and offset behind;
        there is none behind the positions' count, where all is aligned to 4 already.
    """

    stamp: tuple[int, int]
    frame_id: str
    frame_end: int
    names: tuple[str, ...]
    arrays: tuple[Extent, Extent, Extent]
    gaps: tuple[tuple[int, int], ...]


def aligned(offset: int, size: int) -> int:
    """Return the first offset from this one on that is a multiple of ``size`` behind byte 4."""
    return offset + (ORIGIN - offset) % size


def decode_string(raw: bytes) -> str:
    """
    Return the text of a CDR string without its closing NUL.

    :raises UnusualMessageError: If it is not UTF-8 or holds a NUL, which ends it for rclpy.
    """
    if b'\0' in raw:
        raise UnusualMessageError('string', f'a string holds a NUL: {raw[:_SHOWN]!r}')
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UnusualMessageError('string', f'a string is not UTF-8: {raw[:_SHOWN]!r}') from error


def parse_joint_state(data: bytes) -> WireForm:
    """
    Read a message in full; nothing is allocated on the word of a count alone.

    :param data: The serialised message, encapsulation included.
    :raises UnusualMessageError: If the typed path has to decide.
    """
    if len(data) < _HEAD.size:
        raise CutMessageError('truncated', f'a message of {len(data)} bytes')
    encapsulation, options, sec, nanosec = _HEAD.unpack_from(data)
    if encapsulation != LITTLE_ENDIAN:
        raise UnusualMessageError(
            'encapsulation', f'expected encapsulation 00 01, found {data[:2].hex(" ")}'
        )
    padding = options & PADDING_COUNT
    # Fast CDR does read on into such padding in some places.
    too_short = UnusualMessageError if padding else CutMessageError
    cursor = _Cursor(data, len(data) - padding, too_short)
    frame_id = cursor.string()
    frame_end = cursor.at - 1
    count = cursor.u32()
    if count > (cursor.end - cursor.at) // _SHORTEST_STRING:
        raise too_short('truncated', f'{count} names in {len(data)} bytes')
    names = tuple([cursor.string() for _ in range(count)])
    arrays = (cursor.doubles(), cursor.doubles(), cursor.doubles())
    return WireForm((sec, nanosec), frame_id, frame_end, names, arrays, tuple(cursor.gaps))


class _Cursor:
    """A place that never passes the end; ``too_short`` is raised for what would."""

    def __init__(self, data: bytes, end: int, too_short: type[UnusualMessageError]) -> None:
        self.at = FRAME_ID_OFFSET
        self.end = end
        self.too_short = too_short
        self.gaps: list[tuple[int, int]] = []
        self._data = data

    def u32(self) -> int:
        start = aligned(self.at, 4)
        if start + 4 > self.end:
            raise self.too_short('truncated', f'no length at byte {start}')
        if start != self.at:
            self.gaps.append((self.at, start))
        self.at = start + 4
        value: int = _U32.unpack_from(self._data, start)[0]
        return value

    def string(self) -> str:
        length = self.u32()
        if length > self.end - self.at:
            raise self.too_short('truncated', f'a string of {length} bytes at {self.at}')
        end = self.at + length
        if not length or self._data[end - 1]:
            raise UnusualMessageError('string', f'the string at byte {self.at} has no closing NUL')
        text = decode_string(self._data[self.at : end - 1])
        self.at = end
        return text

    def doubles(self) -> Extent:
        count = self.u32()
        count_offset = self.at - 4
        start = aligned(self.at, 8) if count else self.at
        if 8 * count > self.end - start:
            raise self.too_short('truncated', f'an array of {count} doubles at {start}')
        extent = Extent(count_offset, start, count)
        self.at = extent.end
        return extent
