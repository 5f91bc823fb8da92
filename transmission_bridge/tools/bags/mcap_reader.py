# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""MCAP files, read chunk by chunk in the order of receipt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import itemgetter
import os
from zlib import crc32

from transmission_bridge.tools.bags.bag_metadata import BAG_RECORD, BagMetadata, parse_metadata
from transmission_bridge.tools.bags.compression import decompress
from transmission_bridge.tools.bags.mcap_format import (
    Fields,
    MESSAGE_HEAD,
    Opcode,
    RECORD_HEAD,
)
from transmission_bridge.tools.bags.mcap_index import McapIndex, read_index, Segment
from transmission_bridge.tools.bags.mcap_topics import TopicTable
from transmission_bridge.tools.bags.model import (
    BagInfo,
    DamageError,
    Message,
    Topic,
    UnusableFileError,
)
from transmission_bridge.tools.command import UsageError

__all__ = ['McapReader']

#: Messages kept back for chunks that overlap are given out of order beyond this many bytes.
_MOST_PENDING = 64 * 1024 * 1024
#: Bytes of attachments that are copied at a time.
_PIECE = 1024 * 1024
#: rosbag2's own metadata are never longer.
_LONGEST_METADATA = 16 * 1024 * 1024

_time = itemgetter(1)


class McapReader:
    """
    An MCAP file.

    :param path: The file.
    :param metadata: What is known of it from elsewhere.
    :param same: Returns the object that stands for topics that look alike.
    :ivar info: What it says about itself.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not an MCAP file.
    """

    def __init__(
        self,
        path: str,
        metadata: BagMetadata | None = None,
        same: Callable[[Topic], Topic] = lambda topic: topic,
    ) -> None:
        self._file = os.open(path, os.O_RDONLY)
        try:
            self._index: McapIndex = read_index(self._file, TopicTable(same))
            self._extras = [*self._index.attachments]
            for place in self._index.metadata:
                found = self._bag_metadata(*place)
                if found is None:
                    self._extras.append(place)
                metadata = metadata or found
        except BaseException:
            self.close()
            raise
        self.info = metadata.info if metadata is not None else BagInfo()
        self._topics = self._index.topics
        self._topics.add_hashes(metadata.hashes if metadata is not None else {})
        self._done = 0
        self._has_looked = False

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""
        return tuple(self._topics.by_channel.values())

    @property
    def lists_topics(self) -> bool:
        """Whether the file lists its topics outside of its chunks."""
        return not self._index.problem and not (self._index.is_chunked and not self.topics)

    @property
    def progress(self) -> float:
        """How much has been read, from 0 to 1."""
        return self._done / max(self._index.size, 1)

    @property
    def compression(self) -> str:
        """Compression of the first chunk."""
        return next((each.compression for each in self._index.segments if each.is_chunk), '')

    def batches(self) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        segments = sorted(self._index.segments, key=lambda segment: segment.start)
        pending: list[Message] = []
        for number, segment in enumerate(segments):
            messages, problem = self._read(segment)
            self._done += segment.size
            messages += pending
            messages.sort(key=_time)
            pending = []
            if number + 1 < len(segments) and not problem:
                place = bisect_left(messages, segments[number + 1].start, key=_time)
                pending = messages[place:]
                if sum(len(message.data) for message in pending) > _MOST_PENDING:
                    pending = []
                else:
                    del messages[place:]
            yield messages
            if problem:
                raise DamageError(problem)
        if self._index.problem:
            raise DamageError(self._index.problem)

    def extras(self) -> Iterator[Iterator[bytes]]:
        """Yield the attachment and metadata records but rosbag2's own, each in pieces."""
        for offset, length in self._extras:
            yield self._pieces(offset, length)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _pieces(self, offset: int, length: int) -> Iterator[bytes]:
        for start in range(offset, offset + length, _PIECE):
            yield os.pread(self._file, min(_PIECE, offset + length - start), start)

    def _bag_metadata(self, offset: int, length: int) -> BagMetadata | None:
        """Return rosbag2's own metadata if a record holds them."""
        head = os.pread(self._file, 64, offset + RECORD_HEAD.size)
        if not head.startswith(len(BAG_RECORD).to_bytes(4, 'little') + BAG_RECORD.encode()):
            return None
        if length > _LONGEST_METADATA:
            return BagMetadata()
        try:
            fields = Fields(os.pread(self._file, length, offset)[RECORD_HEAD.size :])
            fields.string()
            return parse_metadata(dict(fields.map()).get('serialized_metadata', ''))
        except (DamageError, UnusableFileError, UsageError):
            return BagMetadata()  # without them nothing is lost but what they repeat

    def _read(self, segment: Segment) -> tuple[list[Message], str]:
        """Return the messages of a segment, and what is wrong behind them."""
        messages: list[Message] = []
        try:
            self._unpack(self._records_of(segment), messages)
            if segment.cut_off:
                raise DamageError('the file ends inside')
        except DamageError as error:
            what = 'chunk' if segment.is_chunk else 'messages'
            return messages, f'the {what} at byte {segment.offset}: {error}'
        return messages, ''

    def _unpack(self, raw: bytes, messages: list[Message]) -> None:
        """
        Append the messages among records.

        :raises DamageError: Where there is no whole record, or one names a missing channel.
        """
        at, size = 0, len(raw)
        append, topics = messages.append, self._topics.by_channel
        head, head_size, message = MESSAGE_HEAD.unpack_from, MESSAGE_HEAD.size, int(Opcode.MESSAGE)
        while at < size:
            if raw[at] == message and at + head_size <= size:
                _, length, channel, sequence, time, published = head(raw, at)
                end = at + RECORD_HEAD.size + length
                if end > size:
                    raise DamageError('it ends inside a record')
                if at + head_size > end:
                    raise DamageError('a message is too short')
                topic = topics.get(channel) or self._look_for(channel)
                append(Message(topic, time, published, sequence, raw[at + head_size : end]))
            else:
                opcode, end = _record(raw, at)
                if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                    self._topics.learn(opcode, raw[at + RECORD_HEAD.size : end])
            at = end

    def _records_of(self, segment: Segment) -> bytes:
        """
        Return the records of a segment, of one that is cut off those that are there.

        :raises DamageError: If they cannot be decompressed, or the checksum is wrong.
        """
        try:
            raw = os.pread(self._file, segment.size, segment.offset)
        except OSError as error:
            raise DamageError(str(error.strerror)) from None
        if not segment.is_chunk or (segment.cut_off and not segment.compression):
            return raw
        raw = decompress(raw, segment.compression, segment.raw_size)
        if segment.crc and crc32(raw) != segment.crc:
            raise DamageError('its checksum is wrong')
        return raw

    def _look_for(self, channel: int) -> Topic:
        """
        Return a topic that only a chunk further on in the order of receipt defines.

        :raises DamageError: If there is none.
        """
        if not self._has_looked:
            self._has_looked = True
            for segment in self._index.segments:
                raw, at = self._records_of(segment), 0
                while at < len(raw):
                    opcode, end = _record(raw, at)
                    if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                        self._topics.learn(opcode, raw[at + RECORD_HEAD.size : end])
                    at = end
        if channel not in self._topics.by_channel:
            raise DamageError(f'channel {channel} is missing')
        return self._topics.by_channel[channel]


def _record(raw: bytes, at: int) -> tuple[int, int]:
    """
    Return the opcode and the end of a record.

    :raises DamageError: If there is no whole record.
    """
    if at + RECORD_HEAD.size > len(raw):
        raise DamageError('it ends inside a record')
    opcode, length = RECORD_HEAD.unpack_from(raw, at)
    end = at + RECORD_HEAD.size + length
    if end > len(raw):
        raise DamageError('it ends inside a record')
    return opcode, end
