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
#: A message record but its data: opcode, length, channel, sequence, times of receipt and sending.
_MESSAGE = struct.Struct('<BQHIQQ')

#: Keys of channel metadata that rosbag2 writes.
_QOS, _TYPE_HASH = 'offered_qos_profiles', 'topic_type_hash'

#: Messages outside chunks are taken together up to this many bytes.
_LOOSE_BYTES = 1024 * 1024
#: Messages kept back for chunks that overlap are given out of order beyond this many bytes.
_MOST_PENDING = 64 * 1024 * 1024
#: A definition, or metadata, are never longer.
_LONGEST_DEFINITION = 64 * 1024 * 1024
#: Bytes that hold every field of a chunk but its data.
_CHUNK_HEAD = 128
#: Bytes of the fields of a chunk, but for its data and the name of its compression.
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
    A run of records with messages: a chunk, neighbours outside of chunks, or a place that is lost.

    :param offset: Where the records begin: the chunk's, or the first message's.
    :param size: How many bytes they have in the file.
    :param start: Earliest time of receipt [ns].
    :param is_chunk: Whether it is a chunk.
    :param problem: Why nothing can be read there, empty where something can.
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
    :param metadata: What is known of it from elsewhere.
    :param same: Returns the object that stands for topics that look alike.
    :ivar info: What it says about itself.
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
        """How much has been read, from 0 to 1."""
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
        """Yield attachments and metadata, but not rosbag2's own."""
        for kind, offset, length in self._extras:
            content = self._read(offset, length)
            try:
                # The library skips the checksum of an attachment, and writes a right one.
                given = content[-4:] if kind is Attachment else bytes(4)
                if any(given) and crc32(content[:-4]) != int.from_bytes(given, 'little'):
                    raise DamageError('its checksum is wrong')
                yield _parsed(kind, content)
            except DamageError as error:
                damaged(f'the {kind.__name__.lower()} record at byte {offset}: {error}')

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # -- what is where ---------------------------------------------------------------------------

    def _read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, fewer where it ends before."""
        return os.pread(self._file.fileno(), min(length, max(self._size - offset, 0)), offset)

    def _scan(self) -> None:
        """
        Go through the file once, past the contents of its chunks.

        The summary is needed only to find the next chunk where a record's length is damaged.
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
        Take note of a record, and return where the next one begins, ``None`` at the end.

        :raises DamageError: If there is no whole record.
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
        Take note of a chunk, and return where the next record begins, ``None`` at the end.

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
        # A chunk without messages has no times; it stays where it is.
        first, last = head.message_start_time, head.message_end_time
        start = first if last and first <= last else None
        # The data come last; their length tells that of the record once more.
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
        Take note of a record beside chunks and definitions.

        :raises DamageError: If it is one that has to be read now, and cannot be.
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
        """Add a segment; what has no time stays where it is."""
        if start is None:
            start = self._segments[-1].start if self._segments else 0
        self._segments.append(_Segment(offset, size, start, is_chunk, problem))

    def _definition(self, at: int, content: int, length: int) -> bytes:
        if length > _LONGEST_DEFINITION:
            raise DamageError(f'the record at byte {at} is too long')
        return self._read(content, length)

    def _next_indexed_chunk(self) -> int | None:
        """Return where the next chunk begins behind the last one, as far as the summary says."""
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
        """Whether the data section has the checksum that its end states, if that states one."""
        assert self._data_end is not None
        end, expected = self._data_end
        found = 0
        for start in range(0, end if expected else 0, _PIECE):
            found = crc32(self._read(start, min(_PIECE, end - start)), found)
        return found == expected

    # -- messages --------------------------------------------------------------------------------

    def _messages(self, segment: _Segment) -> tuple[list[Message], str]:
        """Return the messages of a segment, and what is wrong there."""
        if segment.problem:
            return [], segment.problem
        messages: list[Message] = []
        topics, missing = self._topics.by_channel, set()
        raw, problem = self._data(segment)
        at, size, message = 0, len(raw), int(Opcode.MESSAGE)
        append, unpack = messages.append, _MESSAGE.unpack_from
        try:
            while at < size:
                # Messages are by far the most records, so that they are looked at first.
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
        """Return the records of a segment as far as they can be read, and what is wrong."""
        try:
            raw = self._read(segment.offset, segment.size)
            return _chunk_data(raw) if segment.is_chunk else (raw, '')
        except DamageError as error:
            return b'', str(error)
        except OSError as error:
            return b'', str(error.strerror)

    def _look_for(self, channel: int) -> Topic | None:
        """Return a topic that only a chunk further on in the order of receipt defines."""
        if not self._has_looked:
            self._has_looked = True
            for segment in self._segments:
                # What is wrong is reported when the messages there are read.
                raw = b'' if segment.problem else self._data(segment)[0]
                at = 0
                with contextlib.suppress(DamageError):
                    while at < len(raw):
                        at = self._learn(raw, at)
        return self._topics.by_channel.get(channel)

    def _learn(self, raw: bytes, at: int) -> int:
        """
        Take note of a record if it is a definition, and return where the next one begins.

        :raises DamageError: If there is no whole record.
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

    :param same: Returns the object that stands for topics that look alike.
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
        Take note of a schema or channel record.

        :raises DamageError: If it cannot be read, or names a schema that is not there.
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
        """Take over type hashes by topic, for channels that have none themselves."""
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
    :param info: What it is to say about itself.
    :param name: Name that it will have.
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
        """Make a topic known that may have no message."""
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
        """Let go of the file as it is."""
        self._file.close()

    @property
    def metadata(self) -> str:
        """The text of rosbag2's metadata, as far as it has come."""
        topics = [TopicCount(topic, count) for topic, count in self._counts.items()]
        return metadata_text(self._info, 'mcap', self._name, topics, self._times)


class _Stream(ReadDataStream):
    """The library's stream, but a field that is cut off is not taken for a shorter one."""

    def read(self, length: int) -> bytes:
        data = super().read(length)
        if len(data) != length:
            raise EndOfFile
        return data


def _parsed(kind: Any, content: bytes) -> Any:
    """
    Return the record of a kind that bytes are.

    :raises DamageError: If they are none.
    """
    try:
        return kind.read(_Stream(BytesIO(content)))
    except Exception as error:  # the library raises whatever a damaged record leads to
        reason = str(error) or 'it is too short'
        raise DamageError(f'a {kind.__name__.lower()} record cannot be read: {reason}') from None


def _chunk_data(content: bytes) -> tuple[bytes, str]:
    """
    Return the records in a chunk and what is wrong with them, of one that is cut off a part.

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
    """Return rosbag2's metadata in a record; without them only what they repeat is lost."""
    try:
        return parse_metadata(record.metadata.get('serialized_metadata', ''))
    except (UnusableFileError, UsageError):
        return BagMetadata()
