# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""MCAP files, written chunk by chunk, with the index that readers look for at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import struct
from zlib import crc32

from transmission_bridge import __version__
from transmission_bridge.tools.bags.bag_metadata import BAG_RECORD, metadata_text, TopicCount
from transmission_bridge.tools.bags.compression import compress
from transmission_bridge.tools.bags.mcap_extras import extra_index
from transmission_bridge.tools.bags.mcap_format import (
    bytes_field,
    MAGIC,
    map_field,
    MESSAGE_HEAD,
    Opcode,
    record,
    RECORD_HEAD,
    string_field,
    U16,
    U32,
    U64,
)
from transmission_bridge.tools.bags.mcap_topics import QOS, TYPE_HASH
from transmission_bridge.tools.bags.model import BagInfo, Message, Schema, Topic

__all__ = ['McapWriter']

#: A chunk is closed when it has become as long as this.
_CHUNK_BYTES = 1024 * 1024

_FOUR_TIMES = struct.Struct('<QQQQ')


class _Channel:
    """A channel that is written: its number and what the open chunk holds of it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = 0
        self.entries: list[int] = []


class McapWriter:
    """
    An MCAP file.

    :param path: The file; it must not exist.
    :param info: What it is to say about itself.
    :param name: Name that it will have.
    :param compression: ``zstd``, ``lz4`` or empty.
    :raises OSError: If it cannot be written.
    """

    def __init__(
        self,
        path: str,
        info: BagInfo,
        name: str,
        *,
        compression: str = '',
    ) -> None:
        self._info, self._name = info, name
        self._compression = compression
        self._file = open(path, 'xb')  # noqa: SIM115 - closed by close() or abort()
        self._at = 0
        self._channels: dict[Topic, _Channel] = {}
        self._schemas: dict[tuple[str, Schema | None], int] = {}
        self._definitions: dict[Opcode, list[bytes]] = {Opcode.SCHEMA: [], Opcode.CHANNEL: []}
        self._parts: list[bytes] = []
        self._raw_size = 0
        self._times: tuple[int, int] | None = None
        self._indices: dict[Opcode, list[bytes]] = {
            Opcode.CHUNK_INDEX: [],
            Opcode.ATTACHMENT_INDEX: [],
            Opcode.METADATA_INDEX: [],
        }
        self._write(MAGIC)
        library = f'transmission_bridge {__version__}'
        self._write(record(Opcode.HEADER, string_field('ros2'), string_field(library)))

    def write(self, messages: Sequence[Message]) -> None:
        """Append messages."""
        parts, pack, size = self._parts, MESSAGE_HEAD.pack, self._raw_size
        channels, opcode = self._channels, int(Opcode.MESSAGE)
        for topic, time, published, sequence, data in messages:
            channel = channels.get(topic)
            if channel is None:
                self._raw_size = size
                channel = self._add(topic)
                size = self._raw_size
            channel.entries += (time, size)
            parts.append(pack(opcode, 22 + len(data), channel.number, sequence, time, published))
            parts.append(data)
            size += 31 + len(data)
            if size >= _CHUNK_BYTES:
                self._end_chunk()
                parts, size = self._parts, 0
        self._raw_size = size

    def add(self, topic: Topic) -> None:
        """Make a topic known that may have no message."""
        if topic not in self._channels:
            self._add(topic)

    def add_extra(self, pieces: Iterator[bytes]) -> None:
        """
        Append an attachment or metadata record as it is.

        :param pieces: The whole record.
        """
        self._end_chunk()
        start = self._at
        head = next(pieces)
        self._write(head)
        for piece in pieces:
            self._write(piece)
        opcode, index = extra_index(head, start, self._at - start)
        self._indices[opcode].append(index)

    def close(self) -> None:
        """Complete the file."""
        self._end_chunk()
        own = record(
            Opcode.METADATA,
            string_field(BAG_RECORD),
            map_field((('serialized_metadata', self.metadata),)),
        )
        self.add_extra(iter([own]))
        self._write(record(Opcode.DATA_END, U32.pack(0)))
        self._write(self._summary())
        self._write(MAGIC)
        self._file.close()

    def abort(self) -> None:
        """Let go of the file as it is."""
        self._file.close()

    @property
    def metadata(self) -> str:
        """The text of rosbag2's metadata, as far as it has come."""
        topics = [TopicCount(topic, each.count) for topic, each in self._channels.items()]
        return metadata_text(self._info, 'mcap', self._name, topics, self._times)

    # -- records ---------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)

    def _define(self, opcode: Opcode, *fields: bytes) -> None:
        """Put a definition into the open chunk, and keep it for the summary."""
        whole = record(opcode, *fields)
        self._definitions[opcode].append(whole)
        self._parts.append(whole)
        self._raw_size += len(whole)

    def _add(self, topic: Topic) -> _Channel:
        key = (topic.type, topic.schema)
        if topic.schema is None and not topic.type:
            schema_number = 0
        elif key in self._schemas:
            schema_number = self._schemas[key]
        else:
            schema_number = self._schemas[key] = len(self._schemas) + 1
            schema = topic.schema or Schema(topic.type, '', b'')
            self._define(
                Opcode.SCHEMA,
                U16.pack(schema_number),
                string_field(schema.name),
                string_field(schema.encoding),
                bytes_field(schema.data),
            )
        metadata = topic.metadata
        if metadata is None:
            metadata = ((QOS, topic.qos), (TYPE_HASH, topic.type_hash))
        channel = self._channels[topic] = _Channel(len(self._channels) + 1)
        self._define(
            Opcode.CHANNEL,
            U16.pack(channel.number),
            U16.pack(schema_number),
            string_field(topic.name),
            string_field(topic.encoding),
            map_field(metadata),
        )
        return channel

    def _end_chunk(self) -> None:
        """Write the open chunk, and behind it which message is where in it."""
        raw = b''.join(self._parts)
        used = [channel for channel in self._channels.values() if channel.entries]
        self._parts, self._raw_size = [], 0
        if not raw:
            return
        first = min((min(channel.entries[::2]) for channel in used), default=0)
        last = max((max(channel.entries[::2]) for channel in used), default=0)
        if used:
            start, end = self._times or (first, last)
            self._times = min(start, first), max(end, last)
        compressed = compress(raw, self._compression)
        sizes = U64.pack(len(raw)) + U32.pack(crc32(raw))
        begin = self._at
        self._write(
            record(
                Opcode.CHUNK,
                U64.pack(first) + U64.pack(last) + sizes,
                string_field(self._compression),
                U64.pack(len(compressed)),
                compressed,
            )
        )
        end_of_chunk = self._at
        places = b''.join(self._write_message_index(channel) for channel in used)
        self._indices[Opcode.CHUNK_INDEX].append(
            record(
                Opcode.CHUNK_INDEX,
                _FOUR_TIMES.pack(first, last, begin, end_of_chunk - begin),
                bytes_field(places),
                U64.pack(self._at - end_of_chunk),
                string_field(self._compression),
                U64.pack(len(compressed)) + U64.pack(len(raw)),
            )
        )

    def _write_message_index(self, channel: _Channel) -> bytes:
        """Write where the chunk's messages of a channel are, and return where that is written."""
        place = U16.pack(channel.number) + U64.pack(self._at)
        entries = struct.pack(f'<{len(channel.entries)}Q', *channel.entries)
        self._write(record(Opcode.MESSAGE_INDEX, U16.pack(channel.number), bytes_field(entries)))
        channel.count += len(channel.entries) // 2
        channel.entries = []
        return place

    def _summary(self) -> bytes:
        """Return everything between the data and the closing magic."""
        groups = {**self._definitions, **self._indices}
        groups[Opcode.STATISTICS] = [self._statistics()]
        begin = at = self._at
        summary = offsets = b''
        for opcode, records in groups.items():
            joined = b''.join(records)
            if joined:
                offsets += record(
                    Opcode.SUMMARY_OFFSET, bytes([opcode]) + U64.pack(at) + U64.pack(len(joined))
                )
            summary += joined
            at += len(joined)
        summary += offsets
        # The checksum covers the footer up to itself.
        footer = RECORD_HEAD.pack(Opcode.FOOTER, 20) + U64.pack(begin) + U64.pack(at)
        return summary + footer + U32.pack(crc32(summary + footer))

    def _statistics(self) -> bytes:
        counts = [(each.number, each.count) for each in self._channels.values()]
        indices = self._indices
        return record(
            Opcode.STATISTICS,
            U64.pack(sum(count for _, count in counts)),
            U16.pack(len(self._schemas)),
            U32.pack(len(counts)),
            U32.pack(len(indices[Opcode.ATTACHMENT_INDEX])),
            U32.pack(len(indices[Opcode.METADATA_INDEX])),
            U32.pack(len(indices[Opcode.CHUNK_INDEX])),
            b''.join(U64.pack(time) for time in self._times or (0, 0)),
            bytes_field(b''.join(U16.pack(number) + U64.pack(count) for number, count in counts)),
        )
