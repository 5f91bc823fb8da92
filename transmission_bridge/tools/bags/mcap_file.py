# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
MCAP files, read in the order of receipt as far as they can be read, and written.

Records are parsed and written by the library ``mcap``. Going from record to record is done here,
for two reasons: the library takes what is left of a record that is cut off for the whole, and it
ends at the first damage. The specification, https://mcap.dev/spec: a record is an opcode, the
length of its content in 8 bytes, and the content.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
import contextlib
from dataclasses import dataclass, replace
from io import BytesIO
from operator import attrgetter, itemgetter
import os
import struct
from typing import Any
from zlib import crc32

from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Chunk, DataEnd, Metadata
from mcap.records import Schema as SchemaRecord
from mcap.writer import CompressionType, Writer

from transmission_bridge import __version__
from transmission_bridge.tools.bags.compression import decompress
from transmission_bridge.tools.bags.model import (
    BAG_RECORD,
    BagInfo,
    BagMetadata,
    DamageError,
    Message,
    metadata_text,
    parse_metadata,
    Schema,
    Topic,
    TopicCount,
    UnusableFileError,
)
from transmission_bridge.tools.cli import UsageError

__all__ = ['McapReader', 'McapWriter']

_MAGIC = b'\x89MCAP0\r\n'
#: Opcode and length of a record.
_HEAD = struct.Struct('<BQ')
_DEFINITIONS = (Opcode.SCHEMA, Opcode.CHANNEL)
#: A message record before its data: opcode, length, channel, sequence, log and publish time.
_MESSAGE = struct.Struct('<BQHIQQ')

#: Keys of channel metadata that rosbag2 writes.
_QOS, _TYPE_HASH = 'offered_qos_profiles', 'topic_type_hash'

#: Messages outside of chunks are read together up to this many bytes.
_LOOSE_BYTES = 1024 * 1024
#: Most bytes of messages that are held back to sort overlapping chunks.
_MOST_PENDING = 64 * 1024 * 1024
#: Longest definition or metadata.
_LONGEST_DEFINITION = 64 * 1024 * 1024
#: Bytes that contain all fields of a chunk before its data.
_CHUNK_HEAD = 128
#: Bytes of the fields of a chunk without its data and the name of its compression.
_CHUNK_FIELDS = 40
_PIECE = 1024 * 1024

_COMPRESSIONS = {
    '': CompressionType.NONE,
    'zstd': CompressionType.ZSTD,
    'lz4': CompressionType.LZ4,
}

_time = itemgetter(1)


@dataclass
class _Segment:
    """
    A part of the file: a chunk, consecutive messages outside of chunks, or a damaged part.

    :param offset: Start of the chunk's content, or of the first message.
    :param size: Bytes in the file.
    :param start: Earliest time of receipt [ns].
    :param is_chunk: Whether it is a chunk.
    :param problem: Why nothing can be read there, empty otherwise.
    """

    offset: int
    size: int
    start: int
    is_chunk: bool = False
    problem: str = ''


class McapReader:
    """
    An MCAP file, with its summary or without.

    :param path: The file.
    :param metadata: Metadata of the bag, if known.
    :param same: Returns one object for equal topics.
    :ivar info: Its own metadata.
    :ivar compression: Compression of the first chunk.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not an MCAP file.
    """

    storage = 'mcap'

    def __init__(
        self,
        path: str,
        metadata: BagMetadata | None = None,
        same: Callable[[Topic], Topic] = lambda topic: topic,
    ) -> None:
        self._file = open(path, 'rb')  # noqa: SIM115 - closed by close()
        self._size = os.fstat(self._file.fileno()).st_size
        self._topics = _Topics(same)
        self._segments: list[_Segment] = []
        self._extras: list[tuple[type[Attachment] | type[Metadata], int, int]] = []
        self._own: BagMetadata | None = None
        self._data_end: tuple[int, int] | None = None
        self._last_chunk = 0
        self._done = 0
        self._has_looked = False
        self.compression = ''
        try:
            if self._read(0, len(_MAGIC)) != _MAGIC:
                raise UnusableFileError('it is not an MCAP file' if self._size else 'it is empty')
            self._scan()
        except BaseException:
            self.close()
            raise
        known = metadata or self._own or BagMetadata()
        self.info: BagInfo = known.info
        self._topics.add_hashes(known.hashes)

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""
        return tuple(self._topics.by_channel.values())

    @property
    def lists_topics(self) -> bool:
        """Whether the file lists its topics outside of its chunks."""
        if any(segment.problem for segment in self._segments):
            return False
        return bool(self.topics) or not any(segment.is_chunk for segment in self._segments)

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return min(self._done / max(self._size, 1), 1.0)

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        segments = sorted(self._segments, key=attrgetter('start'))
        is_whole = True
        pending: list[Message] = []
        for number, segment in enumerate(segments):
            messages, problem = self._messages(segment)
            self._done += segment.size
            messages += pending
            messages.sort(key=_time)
            pending = []
            if number + 1 < len(segments):
                place = bisect_left(messages, segments[number + 1].start, key=_time)
                if sum(len(message.data) for message in messages[place:]) <= _MOST_PENDING:
                    pending = messages[place:]
                    del messages[place:]
            yield messages
            if problem:
                is_whole = False
                damaged(problem)
        if is_whole and self._data_end is not None and not self._has_right_checksum():
            damaged('the checksum of the data section is wrong')

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Attachment | Metadata]:
        """Yield attachments and metadata, except rosbag2's own."""
        for kind, offset, length in self._extras:
            content = self._read(offset, length)
            try:
                # The library ignores the checksum of an attachment, and would write a correct one.
                given = content[-4:] if kind is Attachment else bytes(4)
                if any(given) and crc32(content[:-4]) != int.from_bytes(given, 'little'):
                    raise DamageError('its checksum is wrong')
                yield _parsed(kind, content)
            except DamageError as error:
                damaged(f'the {kind.__name__.lower()} record at byte {offset}: {error}')

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # -- scan ------------------------------------------------------------------------------------

    def _read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, fewer at its end."""
        return os.pread(self._file.fileno(), min(length, max(self._size - offset, 0)), offset)

    def _scan(self) -> None:
        """
        Read the file once, without the contents of its chunks.

        The summary is used only to find the next chunk after a record with a damaged length.
        """
        following: int | None = len(_MAGIC)
        while following is not None:
            at = following
            try:
                following = self._note(at)
            except DamageError as error:
                self._add(at, 0, None, problem=str(error))
                following = self._next_indexed_chunk()

    def _note(self, at: int) -> int | None:
        """
        Read a record's head, and return the offset of the next one, ``None`` at the end.

        :raises DamageError: If there is no complete record.
        """
        head = self._read(at, _HEAD.size)
        if len(head) < _HEAD.size:
            raise DamageError(f'the file ends at byte {self._size} without a footer')
        opcode, length = _HEAD.unpack(head)
        content = at + _HEAD.size
        end: int = content + length
        if not opcode:
            raise DamageError(f'there is no record at byte {at}')
        if opcode == Opcode.FOOTER and end + len(_MAGIC) <= self._size:
            if self._read(end, len(_MAGIC)) != _MAGIC:
                raise DamageError(f'the footer at byte {at} does not end the file')
            return None
        if opcode == Opcode.CHUNK and self._data_end is None:
            return self._note_chunk(at, content, length)
        if end > self._size:
            raise DamageError(f'the file ends inside the record at byte {at}')
        if opcode in _DEFINITIONS:
            self._topics.learn(opcode, self._definition(at, content, length))
        elif self._data_end is None:
            self._note_data(opcode, at, content, length)
        return end

    def _note_chunk(self, at: int, content: int, length: int) -> int | None:
        """
        Add a chunk, and return the offset of the next record, ``None`` at the end.

        :raises DamageError: If its head cannot be read.
        """
        self._last_chunk = at
        raw = self._read(content, _CHUNK_HEAD)
        try:
            head = Chunk.read(ReadDataStream(BytesIO(raw)))
        except Exception:  # the library raises whatever a damaged record leads to
            raise DamageError(f'the head of the chunk at byte {at} cannot be read') from None
        if not any(segment.is_chunk for segment in self._segments):
            self.compression = head.compression if head.compression in _COMPRESSIONS else ''
        # A chunk without messages has no times.
        first, last = head.message_start_time, head.message_end_time
        start = first if last and first <= last else None
        # The data are last, so that their length gives the length of the record again.
        data = _CHUNK_FIELDS + len(head.compression.encode())
        size = data + int.from_bytes(raw[data - 8 : data], 'little')
        following: int | None = content + length
        if size != length:
            following = self._next_indexed_chunk()
            if following is not None:
                length = min(size, following - content)
            self._add(at, 0, start, problem=f'the length of the chunk at byte {at} is wrong')
        self._add(content, min(length, self._size - content), start, is_chunk=True)
        return following if following is not None and following <= self._size else None

    def _note_data(self, opcode: int, at: int, content: int, length: int) -> None:
        """
        Add a record other than chunks and definitions.

        :raises DamageError: If it has to be read now and cannot be.
        """
        if opcode == Opcode.MESSAGE:
            size = _HEAD.size + length
            if size < _MESSAGE.size:
                raise DamageError(f'the message at byte {at} is too short')
            time = _MESSAGE.unpack(self._read(at, _MESSAGE.size))[4]
            last = self._segments[-1] if self._segments else None
            if (
                last is not None
                and not (last.is_chunk or last.problem)
                and last.offset + last.size == at
                and last.size < _LOOSE_BYTES
            ):
                last.size += size
                last.start = min(last.start, time)
            else:
                self._add(at, size, time)
        elif opcode == Opcode.ATTACHMENT:
            self._extras.append((Attachment, content, length))
        elif opcode == Opcode.METADATA:
            record = _parsed(Metadata, self._definition(at, content, length))
            if record.name == BAG_RECORD:
                self._own = _own_metadata(record)
            else:
                self._extras.append((Metadata, content, length))
        elif opcode == Opcode.DATA_END:
            end = _parsed(DataEnd, self._read(content, length))
            self._data_end = at, end.data_section_crc

    def _add(
        self,
        offset: int,
        size: int,
        start: int | None,
        *,
        is_chunk: bool = False,
        problem: str = '',
    ) -> None:
        """Add a segment; without a time it keeps its place in the file."""
        if start is None:
            start = self._segments[-1].start if self._segments else 0
        self._segments.append(_Segment(offset, size, start, is_chunk, problem))

    def _definition(self, at: int, content: int, length: int) -> bytes:
        if length > _LONGEST_DEFINITION:
            raise DamageError(f'the record at byte {at} is too long')
        return self._read(content, length)

    def _next_indexed_chunk(self) -> int | None:
        """Return the offset of the next chunk in the summary, if it has one."""
        try:
            self._file.seek(0)
            summary = SeekingReader(self._file).get_summary()
        except Exception:  # the library raises whatever a damaged summary leads to
            return None
        offsets = [each.chunk_start_offset for each in summary.chunk_indexes] if summary else []
        following = min((at for at in offsets if at > self._last_chunk), default=None)
        self._last_chunk = following or self._last_chunk
        return following

    def _has_right_checksum(self) -> bool:
        """Return whether the checksum of the data section is correct or not given."""
        assert self._data_end is not None
        end, expected = self._data_end
        found = 0
        for start in range(0, end if expected else 0, _PIECE):
            found = crc32(self._read(start, min(_PIECE, end - start)), found)
        return found == expected

    # -- messages --------------------------------------------------------------------------------

    def _messages(self, segment: _Segment) -> tuple[list[Message], str]:
        """Return the messages of a segment, and the problem, if any."""
        if segment.problem:
            return [], segment.problem
        messages: list[Message] = []
        topics, missing = self._topics.by_channel, set()
        raw, problem = self._data(segment)
        at, size, message = 0, len(raw), int(Opcode.MESSAGE)
        append, unpack = messages.append, _MESSAGE.unpack_from
        try:
            while at < size:
                # First, because most records are messages.
                if raw[at] == message:
                    if at + _MESSAGE.size > size:
                        raise DamageError('it ends inside a record')
                    _, length, channel, sequence, time, published = unpack(raw, at)
                    start, at = at + _MESSAGE.size, at + _HEAD.size + length
                    if at > size:
                        raise DamageError('it ends inside a record')
                    if start > at:
                        raise DamageError('a message is too short')
                    topic = topics.get(channel) or self._look_for(channel)
                    if topic is None:
                        missing.add(channel)
                    else:
                        append(Message(topic, time, published, sequence, raw[start:at]))
                else:
                    at = self._learn(raw, at)
        except DamageError as error:
            problem = problem or str(error)
        if missing and not problem:
            problem = f'channel {min(missing)} is missing'
        what = 'chunk' if segment.is_chunk else 'messages'
        return messages, problem and f'the {what} at byte {segment.offset}: {problem}'

    def _data(self, segment: _Segment) -> tuple[bytes, str]:
        """Return the readable records of a segment, and the problem, if any."""
        try:
            raw = self._read(segment.offset, segment.size)
            return _chunk_data(raw) if segment.is_chunk else (raw, '')
        except DamageError as error:
            return b'', str(error)
        except OSError as error:
            return b'', str(error.strerror)

    def _look_for(self, channel: int) -> Topic | None:
        """Return a topic that is defined in a later chunk only."""
        if not self._has_looked:
            self._has_looked = True
            for segment in self._segments:
                # Problems are reported when the messages are read.
                raw = b'' if segment.problem else self._data(segment)[0]
                at = 0
                with contextlib.suppress(DamageError):
                    while at < len(raw):
                        at = self._learn(raw, at)
        return self._topics.by_channel.get(channel)

    def _learn(self, raw: bytes, at: int) -> int:
        """
        Read a record if it is a definition, and return the offset of the next one.

        :raises DamageError: If there is no complete record.
        """
        start = at + _HEAD.size
        if start > len(raw):
            raise DamageError('it ends inside a record')
        opcode, length = _HEAD.unpack_from(raw, at)
        end: int = start + length
        if end > len(raw):
            raise DamageError('it ends inside a record')
        if opcode in _DEFINITIONS:
            self._topics.learn(opcode, raw[start:end])
        return end


class _Topics:
    """
    Topics by channel number; the same definition given again is the same object.

    :param same: Returns one object for equal topics.
    :ivar by_channel: The topics.
    """

    def __init__(self, same: Callable[[Topic], Topic]) -> None:
        self._same = same
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._hashes: dict[str, str] = {}
        self.by_channel: dict[int, Topic] = {}

    def learn(self, opcode: int, content: bytes) -> None:
        """
        Add a schema or channel record.

        :raises DamageError: If it cannot be read, or its schema is missing.
        """
        if opcode == Opcode.SCHEMA:
            schema = _parsed(SchemaRecord, content)
            self._schemas[schema.id] = Schema(schema.name, schema.encoding, schema.data)
            return
        channel = _parsed(Channel, content)
        if self._channels.get(channel.id) != channel:
            self.by_channel[channel.id] = self._same(self._topic(channel))
            self._channels[channel.id] = channel

    def add_hashes(self, hashes: Any) -> None:
        """Add type hashes by topic, for channels without one."""
        self._hashes.update(hashes)
        for number, topic in self.by_channel.items():
            if not topic.type_hash and topic.name in hashes:
                known = replace(topic, type_hash=hashes[topic.name])
                self.by_channel[number] = self._same(known)

    def _topic(self, channel: Channel) -> Topic:
        schema = self._schemas.get(channel.schema_id)
        if schema is None and channel.schema_id:
            raise DamageError(f'schema {channel.schema_id} is missing')
        return Topic(
            channel.topic,
            schema.name if schema is not None else '',
            channel.message_encoding,
            channel.metadata.get(_QOS, ''),
            channel.metadata.get(_TYPE_HASH) or self._hashes.get(channel.topic, ''),
            schema,
            tuple(channel.metadata.items()),
        )


class McapWriter:
    """
    An MCAP file.

    :param path: The file; it must not exist.
    :param info: Its own metadata.
    :param name: Its final name.
    :param compression: ``zstd``, ``lz4`` or empty.
    :raises OSError: If it cannot be written.
    """

    def __init__(self, path: str, info: BagInfo, name: str, *, compression: str = '') -> None:
        self._info, self._name = info, name
        self._file = open(path, 'xb')  # noqa: SIM115 - closed by close() or abort()
        self._writer = Writer(self._file, compression=_COMPRESSIONS[compression])
        self._writer.start('ros2', f'transmission_bridge {__version__}')
        self._channels: dict[Topic, int] = {}
        self._counts: dict[Topic, int] = {}
        self._schemas: dict[tuple[str, Schema | None], int] = {}
        self._times: tuple[int, int] | None = None

    def add(self, topic: Topic) -> None:
        """Add a topic, which may have no messages."""
        if topic in self._channels:
            return
        key = (topic.type, topic.schema)
        if topic.schema is None and not topic.type:
            schema_number = 0
        elif key in self._schemas:
            schema_number = self._schemas[key]
        else:
            schema = topic.schema or Schema(topic.type, '', b'')
            schema_number = self._schemas[key] = self._writer.register_schema(
                schema.name, schema.encoding, schema.data
            )
        metadata = topic.metadata
        if metadata is None:
            metadata = ((_QOS, topic.qos), (_TYPE_HASH, topic.type_hash))
        self._channels[topic] = self._writer.register_channel(
            topic.name, topic.encoding, schema_number, dict(metadata)
        )
        self._counts[topic] = 0

    def write(self, messages: Sequence[Message]) -> None:
        """
        Append messages.

        :raises UnusableFileError: If a time cannot be written.
        """
        if not messages:
            return
        counts = Counter(message.topic for message in messages)
        for topic, count in counts.items():
            self.add(topic)
            self._counts[topic] += count
        channels, add_message = self._channels, self._writer.add_message
        try:
            for topic, time, published, sequence, data in messages:
                add_message(channels[topic], time, data, published, sequence)
        except struct.error as error:
            raise UnusableFileError(f'a message cannot be written: {error}') from None
        times = [message.time for message in messages]
        start, end = self._times or (times[0], times[0])
        self._times = min(start, *times), max(end, *times)

    def add_extra(self, record: Attachment | Metadata) -> None:
        """Append an attachment or metadata."""
        if isinstance(record, Attachment):
            self._writer.add_attachment(
                record.create_time, record.log_time, record.name, record.media_type, record.data
            )
        else:
            self._writer.add_metadata(record.name, record.metadata)

    def close(self) -> None:
        """Complete the file."""
        self._writer.add_metadata(BAG_RECORD, {'serialized_metadata': self.metadata})
        self._writer.finish()  # type: ignore[no-untyped-call]
        self._file.close()

    def abort(self) -> None:
        """Close the file without completing it."""
        self._file.close()

    @property
    def metadata(self) -> str:
        """The text of rosbag2's metadata so far."""
        topics = [TopicCount(topic, count) for topic, count in self._counts.items()]
        return metadata_text(self._info, 'mcap', self._name, topics, self._times)


class _Stream(ReadDataStream):
    """The library's stream, with an error for fields that are cut off."""

    def read(self, length: int) -> bytes:
        data = super().read(length)
        if len(data) != length:
            raise EndOfFile
        return data


def _parsed(kind: Any, content: bytes) -> Any:
    """
    Parse a record.

    :raises DamageError: If it cannot be parsed.
    """
    try:
        return kind.read(_Stream(BytesIO(content)))
    except Exception as error:  # the library raises whatever a damaged record leads to
        reason = str(error) or 'it is too short'
        raise DamageError(f'a {kind.__name__.lower()} record cannot be read: {reason}') from None


def _chunk_data(content: bytes) -> tuple[bytes, str]:
    """
    Return the records in a chunk, or a part of them if it is cut off, and the problem, if any.

    :raises DamageError: If they cannot be decompressed, or the checksum is wrong.
    """
    problem = ''
    try:
        try:
            chunk = Chunk.read(_Stream(BytesIO(content)))
        except EndOfFile:
            problem = 'it is cut off'
            chunk = Chunk.read(ReadDataStream(BytesIO(content)))
    except Exception:  # the library raises whatever a damaged record leads to
        raise DamageError('its head cannot be read') from None
    if problem:
        return b'' if chunk.compression else chunk.data, problem
    try:
        raw = decompress(chunk.data, chunk.compression, chunk.uncompressed_size)
    except UnusableFileError as error:  # its name may be what is damaged
        raise DamageError(str(error)) from None
    if chunk.uncompressed_crc and crc32(raw) != chunk.uncompressed_crc:
        raise DamageError('its checksum is wrong')
    return raw, ''


def _own_metadata(record: Metadata) -> BagMetadata:
    """Return rosbag2's metadata in a record; they are optional."""
    try:
        return parse_metadata(record.metadata.get('serialized_metadata', ''))
    except (UnusableFileError, UsageError):
        return BagMetadata()
