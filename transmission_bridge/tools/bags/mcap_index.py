# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What is where in an MCAP file, found by going from record to record.

The index at the end of the file is not needed for that, so that a file without an end is read like
any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import os

from transmission_bridge.tools.bags.mcap_format import (
    Fields,
    MAGIC,
    MESSAGE_HEAD,
    Opcode,
    RECORD_HEAD,
    U32,
    U64,
)
from transmission_bridge.tools.bags.mcap_topics import TopicTable
from transmission_bridge.tools.bags.model import DamageError, UnusableFileError

__all__ = ['McapIndex', 'Segment', 'read_index']

#: Messages outside chunks are taken together up to this many bytes.
_LOOSE_BYTES = 1024 * 1024
#: A definition or the metadata of a channel is never longer.
_LONGEST_DEFINITION = 64 * 1024 * 1024
#: Bytes that hold the head of every record that is looked at.
_HEAD_BYTES = 128


@dataclass
class Segment:
    """
    A run of records with messages: a chunk, or neighbours outside of chunks.

    :param offset: Where the records begin.
    :param size: How many bytes they have in the file.
    :param start: Earliest time of receipt [ns].
    :param compression: Of the records, empty where there is none.
    :param is_chunk: Whether it is a chunk.
    :param raw_size: Size of the records when decompressed, of a chunk.
    :param crc: Their checksum, 0 where there is none.
    :param cut_off: Whether the file ends inside.
    """

    offset: int
    size: int
    start: int
    compression: str = ''
    is_chunk: bool = False
    raw_size: int = 0
    crc: int = 0
    cut_off: bool = False


@dataclass
class McapIndex:
    """
    What is where.

    :param size: Size of the file.
    :param topics: Schemas and channels outside of chunks.
    :param segments: Where messages are, in the order of the file.
    :param attachments: Offset and length of whole attachment records.
    :param metadata: Offset and length of whole metadata records.
    :param problem: Why the file cannot be read to its end, empty where it can.
    """

    size: int
    topics: TopicTable
    segments: list[Segment] = field(default_factory=list)
    attachments: list[tuple[int, int]] = field(default_factory=list)
    metadata: list[tuple[int, int]] = field(default_factory=list)
    problem: str = ''

    @property
    def is_chunked(self) -> bool:
        """Whether there are chunks."""
        return any(segment.is_chunk for segment in self.segments)


def read_index(file: int, topics: TopicTable) -> McapIndex:
    """
    Go through a file once, past the contents of its chunks.

    :param file: A file descriptor.
    :param topics: Gets the topics that are found.
    :raises UnusableFileError: If this is not an MCAP file.
    """
    size = os.fstat(file).st_size
    head = os.pread(file, len(MAGIC) + RECORD_HEAD.size, 0)
    if not head.startswith(MAGIC):
        raise UnusableFileError('it is empty' if not size else 'it is not an MCAP file')
    index = McapIndex(size, topics)
    at = len(MAGIC)
    in_data = True
    try:
        while True:
            head = os.pread(file, _HEAD_BYTES, at)
            if len(head) < RECORD_HEAD.size:
                raise DamageError(f'the file ends at byte {size} without a footer')
            opcode, length = RECORD_HEAD.unpack_from(head)
            end = at + RECORD_HEAD.size + length
            if opcode == Opcode.FOOTER and end + len(MAGIC) <= size:
                if os.pread(file, len(MAGIC), end) != MAGIC:
                    raise DamageError(f'the footer at byte {at} does not end the file')
                return index
            if in_data:
                _note_data(file, index, opcode, at, end, head)
            if end > size:
                raise DamageError(f'the file ends inside the record at byte {at}')
            if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                if length > _LONGEST_DEFINITION:
                    raise DamageError(f'the definition at byte {at} is too long')
                content = os.pread(file, length, at + RECORD_HEAD.size)
                index.topics.learn(opcode, content)
            elif opcode == Opcode.DATA_END:
                in_data = False
            elif not opcode:
                raise DamageError(f'there is no record at byte {at}')
            at = end
    except DamageError as error:
        index.problem = str(error)
    return index


def _note_data(file: int, index: McapIndex, opcode: int, at: int, end: int, head: bytes) -> None:
    """Take note of a record in the data section."""
    if opcode == Opcode.MESSAGE and len(head) >= MESSAGE_HEAD.size and end <= index.size:
        time = MESSAGE_HEAD.unpack_from(head)[4]
        last = index.segments[-1] if index.segments else None
        if (
            last is not None
            and not last.is_chunk
            and last.offset + last.size == at
            and last.size < _LOOSE_BYTES
        ):
            last.size = end - last.offset
            last.start = min(last.start, time)
        else:
            index.segments.append(Segment(at, end - at, time))
    elif opcode == Opcode.CHUNK:
        index.segments.append(_chunk(file, index, at, end))
    elif end <= index.size and opcode == Opcode.ATTACHMENT:
        index.attachments.append((at, end - at))
    elif end <= index.size and opcode == Opcode.METADATA:
        index.metadata.append((at, end - at))


def _chunk(file: int, index: McapIndex, at: int, end: int) -> Segment:
    """
    Return the segment of a chunk.

    :raises DamageError: If its head cannot be read.
    """
    fields = Fields(os.pread(file, _HEAD_BYTES, at + RECORD_HEAD.size))
    start, last, raw_size = fields.number(U64), fields.number(U64), fields.number(U64)
    crc, compression, size = fields.number(U32), fields.string(), fields.number(U64)
    offset = at + RECORD_HEAD.size + fields.at
    if offset + size > end:
        raise DamageError(f'the chunk at byte {at} is longer than its record')
    # A chunk without messages has no times; it stays where it is.
    has_times = last > 0 and start <= last
    previous = index.segments[-1].start if index.segments else 0
    return Segment(
        offset,
        min(size, index.size - offset),
        start if has_times else previous,
        compression,
        True,
        raw_size,
        crc,
        cut_off=end > index.size,
    )
