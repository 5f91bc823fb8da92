# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""rosbag2's SQLite files, in their fourth version."""

from __future__ import annotations

from collections.abc import Sequence
import sqlite3

from transmission_bridge.tools.bags.bag_metadata import metadata_text, TopicCount
from transmission_bridge.tools.bags.model import BagInfo, Message, Topic, UnusableFileError

__all__ = ['SqliteWriter']

# Source: rosbag2_storage_sqlite3, schema version 4.
_TABLES = """
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

    Until it is closed it has no journal: whoever makes it has to throw an unfinished one away.

    :param path: The file; it must not exist.
    :param info: What it is to say about itself.
    :param name: Name that it will have.
    :raises UnusableFileError: If it cannot be written.
    """

    def __init__(self, path: str, info: BagInfo, name: str) -> None:
        self._info, self._name = info, name
        self._numbers: dict[Topic, int] = {}
        self._counts: dict[Topic, int] = {}
        self._types: set[str] = set()
        self._times: tuple[int, int] | None = None
        self._database = sqlite3.connect(path, isolation_level=None)
        self._do_script(_TABLES)
        self._database.execute('BEGIN')

    def add(self, topic: Topic) -> None:
        """Make a topic known that may have no message."""
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
                (
                    topic.type,
                    topic.schema.encoding,
                    _text(topic.schema.data),
                    topic.type_hash,
                ),
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
        """Do nothing: there is no place for it."""

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
        """Let go of the file as it is."""
        self._database.close()

    @property
    def metadata(self) -> str:
        """The text of rosbag2's metadata, as far as it has come."""
        topics = [TopicCount(topic, count) for topic, count in self._counts.items()]
        return metadata_text(self._info, 'sqlite3', self._name, topics, self._times)

    def _do_script(self, script: str) -> None:
        try:
            self._database.executescript(script)
        except sqlite3.Error as error:
            self._database.close()
            raise UnusableFileError(f'it cannot be written: {error}') from None


def _text(data: bytes) -> str | bytes:
    """Return a definition as text, or as it is where it is none (protobuf)."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
