# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""rosbag2's SQLite files: read in any of their versions, and written in the fourth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import sqlite3
from typing import Any
from urllib.parse import quote

from transmission_bridge.tools.bags.model import (
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

__all__ = ['SqliteReader', 'SqliteWriter']

#: Messages per batch.
_BATCH = 2000


class SqliteReader:
    """
    A storage file of rosbag2.

    Files of every version are read: older ones have no QoS, no type hashes, no definitions.

    :param path: The file.
    :param metadata: Metadata of the bag, if known.
    :param same: Returns one object for equal topics.
    :ivar info: Its own metadata.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not such a file.
    """

    storage = 'sqlite3'
    compression = ''

    def __init__(
        self,
        path: str,
        metadata: BagMetadata | None = None,
        same: Callable[[Topic], Topic] = lambda topic: topic,
    ) -> None:
        with open(path, 'rb'):  # for the operating system's error
            pass
        # Immutable: works on read-only media, too.
        self._database = sqlite3.connect(f'file:{quote(path)}?immutable=1', uri=True)
        try:
            self._columns = {name: self._columns_of(name) for name in _TABLES}
            if not {'id', 'name', 'type'} <= self._columns['topics']:
                raise UnusableFileError('it holds no rosbag2 topics')
            found = self._metadata()
            self.info = metadata.info if metadata is not None else found.info
            hashes = {**found.hashes, **(metadata.hashes if metadata is not None else {})}
            topics = self._read_topics(hashes)
            self._topics = {number: same(topic) for number, topic in topics.items()}
            (last,) = self._database.execute('SELECT max(id) FROM messages').fetchone()
        except sqlite3.Error as error:
            self.close()
            raise UnusableFileError(f'it is not a usable SQLite file: {error}') from None
        except BaseException:
            self.close()
            raise
        self._count, self._done = last or 0, 0

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics."""
        return tuple(self._topics.values())

    @property
    def lists_topics(self) -> bool:
        """Always true."""
        return True

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return min(self._done / max(self._count, 1), 1.0)

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        try:
            yield from self._rows_of_messages()
        except DamageError as error:
            damaged(str(error))

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """Yield nothing: the format has messages only."""
        return iter(())

    def _rows_of_messages(self) -> Iterator[list[Message]]:
        """
        Yield the messages.

        :raises DamageError: After the last batch that can be read.
        """
        topics = self._topics
        try:
            rows = self._database.execute(
                'SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id'
            )
            while batch := rows.fetchmany(_BATCH):
                self._done += len(batch)
                if any(
                    topic not in topics or type(time) is not int or type(data) is not bytes
                    for topic, time, data in batch
                ):
                    raise DamageError('a row of the table messages is damaged')
                yield [Message(topics[topic], time, time, 0, data) for topic, time, data in batch]
        except sqlite3.Error as error:
            raise DamageError(f'SQLite: {error}') from None

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _columns_of(self, table: str) -> set[str]:
        return {row[1] for row in self._database.execute(f'PRAGMA table_info({table})')}

    def _metadata(self) -> BagMetadata:
        """Return the metadata in the file, or empty ones."""
        if not {'metadata'} <= self._columns['metadata']:
            return BagMetadata()
        row = self._database.execute('SELECT metadata FROM metadata ORDER BY id DESC').fetchone()
        try:
            return parse_metadata(str(row[0])) if row is not None else BagMetadata()
        except (UnusableFileError, UsageError):
            return BagMetadata()  # they are optional

    def _read_topics(self, hashes: dict[str, str]) -> dict[int, Topic]:
        schemas = {
            name: Schema(name, encoding, data if isinstance(data, bytes) else str(data).encode())
            for name, encoding, data in self._rows(
                'message_definitions', 'topic_type', 'encoding', 'encoded_message_definition'
            )
        }
        topics = {}
        for number, name, type_name, encoding, qos, type_hash in self._rows(
            'topics',
            'id',
            'name',
            'type',
            'serialization_format',
            'offered_qos_profiles',
            'type_description_hash',
        ):
            topics[int(number)] = Topic(
                str(name),
                str(type_name),
                str(encoding or 'cdr'),
                str(qos),
                str(type_hash or hashes.get(name, '')),
                schemas.get(type_name),
            )
        return topics

    def _rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return columns of a table, empty texts for missing ones."""
        known = self._columns[table]
        if columns[0] not in known:
            return []
        selected = ', '.join(column if column in known else "''" for column in columns)
        rows = self._database.execute(f'SELECT {selected} FROM {table} ORDER BY id').fetchall()
        return [tuple('' if value is None else value for value in row) for row in rows]


_TABLES = ('topics', 'messages', 'message_definitions', 'metadata')


# Source: rosbag2_storage_sqlite3, schema version 4.
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(
  id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
  serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(
  id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
  encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
  data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""
_VERSION = 4
_METADATA_VERSION = 9


class SqliteWriter:
    """
    A storage file of rosbag2.

    It has no journal until it is closed: an incomplete file has to be deleted.

    :param path: The file; it must not exist.
    :param info: Its own metadata.
    :param name: Its final name.
    :raises UnusableFileError: If it cannot be written.
    """

    def __init__(self, path: str, info: BagInfo, name: str) -> None:
        self._info, self._name = info, name
        self._numbers: dict[Topic, int] = {}
        self._counts: dict[Topic, int] = {}
        self._types: set[str] = set()
        self._times: tuple[int, int] | None = None
        self._database = sqlite3.connect(path, isolation_level=None)
        self._do_script(_SCHEMA)
        self._database.execute('BEGIN')

    def add(self, topic: Topic) -> None:
        """Add a topic, which may have no messages."""
        if topic in self._numbers:
            return
        number = self._numbers[topic] = len(self._numbers) + 1
        self._counts[topic] = 0
        self._database.execute(
            'INSERT INTO topics VALUES(?, ?, ?, ?, ?, ?)',
            (number, topic.name, topic.type, topic.encoding, topic.qos, topic.type_hash),
        )
        if topic.schema is not None and topic.type not in self._types:
            self._types.add(topic.type)
            self._database.execute(
                'INSERT INTO message_definitions (topic_type, encoding, '
                'encoded_message_definition, type_description_hash) VALUES(?, ?, ?, ?)',
                (topic.type, topic.schema.encoding, _text(topic.schema.data), topic.type_hash),
            )

    def write(self, messages: Sequence[Message]) -> None:
        """
        Append messages.

        :raises UnusableFileError: If they cannot be written.
        """
        if not messages:
            return
        for message in messages:
            if message.topic not in self._numbers:
                self.add(message.topic)
            self._counts[message.topic] += 1
        times = [message.time for message in messages]
        first, last = min(times), max(times)
        start, end = self._times or (first, last)
        self._times = min(start, first), max(end, last)
        try:
            self._database.executemany(
                'INSERT INTO messages (topic_id, timestamp, data) VALUES(?, ?, ?)',
                [(self._numbers[each.topic], each.time, each.data) for each in messages],
            )
        except (sqlite3.Error, OverflowError) as error:
            raise UnusableFileError(f'it cannot be written: {error}') from None

    def add_extra(self, record: object) -> None:
        """Do nothing: the format has no place for it."""

    def close(self) -> None:
        """Complete the file."""
        distro = self._info.distro or 'transmission_bridge'
        version = self._info.version or _METADATA_VERSION
        try:
            self._database.execute('INSERT INTO schema VALUES(?, ?)', (_VERSION, distro))
            self._database.execute(
                'INSERT INTO metadata (metadata_version, metadata) VALUES(?, ?)',
                (version, self.metadata),
            )
            self._database.execute('COMMIT')
        except sqlite3.Error as error:
            raise UnusableFileError(f'it cannot be written: {error}') from None
        self._database.close()

    def abort(self) -> None:
        """Close the file without completing it."""
        self._database.close()

    @property
    def metadata(self) -> str:
        """The text of rosbag2's metadata so far."""
        topics = [TopicCount(topic, count) for topic, count in self._counts.items()]
        return metadata_text(self._info, 'sqlite3', self._name, topics, self._times)

    def _do_script(self, script: str) -> None:
        try:
            self._database.executescript(script)
        except sqlite3.Error as error:
            self._database.close()
            raise UnusableFileError(f'it cannot be written: {error}') from None


def _text(data: bytes) -> str | bytes:
    """Return a definition as text, or as bytes if it is binary (protobuf)."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
