# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""rosbag2's SQLite files, read in the order of receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import sqlite3
from typing import Any
from urllib.parse import quote

from transmission_bridge.tools.bags.bag_metadata import BagMetadata, parse_metadata
from transmission_bridge.tools.bags.model import (
    DamageError,
    Message,
    Schema,
    Topic,
    UnusableFileError,
)
from transmission_bridge.tools.command import UsageError

__all__ = ['SqliteReader']

#: Messages that are read at a time.
_BATCH = 2000


class SqliteReader:
    """
    A storage file of rosbag2.

    Files of every version are read: older ones have no QoS, no type hashes, no definitions.

    :param path: The file.
    :param metadata: What is known of it from elsewhere.
    :param same: Returns the object that stands for topics that look alike.
    :ivar info: What it says about itself.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is no such file.
    """

    storage = 'sqlite3'
    compression = ''

    def __init__(
        self,
        path: str,
        metadata: BagMetadata | None = None,
        same: Callable[[Topic], Topic] = lambda topic: topic,
    ) -> None:
        with open(path, 'rb'):  # for the operating system's own words if it cannot be read
            pass
        # Immutable: read where it lies, even on a medium that cannot be written to.
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
        """How much has been read, from 0 to 1."""
        return min(self._done / max(self._count, 1), 1.0)

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        try:
            yield from self._rows_of_messages()
        except DamageError as error:
            damaged(str(error))

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """Yield nothing: there is no place for anything but messages."""
        return iter(())

    def _rows_of_messages(self) -> Iterator[list[Message]]:
        """
        Yield the messages.

        :raises DamageError: Behind the last batch that can be read.
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
        """Let go of the file."""
        self._database.close()

    def _columns_of(self, table: str) -> set[str]:
        return {row[1] for row in self._database.execute(f'PRAGMA table_info({table})')}

    def _metadata(self) -> BagMetadata:
        """Return the metadata inside the file, empty ones where there are none."""
        if not {'metadata'} <= self._columns['metadata']:
            return BagMetadata()
        row = self._database.execute('SELECT metadata FROM metadata ORDER BY id DESC').fetchone()
        try:
            return parse_metadata(str(row[0])) if row is not None else BagMetadata()
        except (UnusableFileError, UsageError):
            return BagMetadata()  # without them nothing is lost but what they repeat

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
        """Return columns of a table, empty texts for those that it does not have."""
        known = self._columns[table]
        if columns[0] not in known:
            return []
        selected = ', '.join(column if column in known else "''" for column in columns)
        rows = self._database.execute(f'SELECT {selected} FROM {table} ORDER BY id').fetchall()
        return [tuple('' if value is None else value for value in row) for row in rows]


_TABLES = ('topics', 'messages', 'message_definitions', 'metadata')
