# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Opens and creates recordings by their names, and the folders of rosbag2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
from pathlib import Path
import tempfile
from typing import Any

from transmission_bridge.tools.bags.compression import decompress, decompressed_file
from transmission_bridge.tools.bags.csv_file import CsvReader, CsvWriter
from transmission_bridge.tools.bags.joint_state_topic import joint_state_topic
from transmission_bridge.tools.bags.model import (
    BagInfo,
    BagMetadata,
    DamageError,
    Message,
    parse_metadata,
    ROOT,
    Sink,
    Source,
    Topic,
    UnusableFileError,
)
from transmission_bridge.tools.bags.sqlite_file import SqliteReader, SqliteWriter
from transmission_bridge.tools.cli import optional

__all__ = [
    'METADATA_FILE',
    'FolderReader',
    'FolderWriter',
    'create_sink',
    'is_folder',
    'mcap_file',
    'open_source',
]


# -- Folders of rosbag2: `metadata.yaml` and one or more storage files ---------------------------


METADATA_FILE = 'metadata.yaml'
#: Storage formats and the suffixes of their files.
_SUFFIXES = {'mcap': '.mcap', 'sqlite3': '.db3'}

_LONGEST_METADATA = 64 * 1024 * 1024
_PIECE = 1024 * 1024


def mcap_file() -> Any:
    """
    Return the module for MCAP files.

    :raises UsageError: If the library for them is not installed.
    """
    optional('mcap', 'bags')
    from transmission_bridge.tools.bags import mcap_file as module

    return module


class FolderReader:
    """
    A bag of rosbag2.

    :param path: The folder.
    :ivar info: Its own metadata.
    :ivar storage: ``mcap`` or ``sqlite3``.
    :ivar compression: Compression of MCAP chunks, if known.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not a bag.
    """

    def __init__(self, path: str) -> None:
        self._metadata = metadata = _read_metadata(Path(path))
        self.info: BagInfo = metadata.info
        self.storage = metadata.storage
        if metadata.mode not in ('', 'none', 'file', 'message'):
            raise UnusableFileError(f"compression mode '{metadata.mode}' is not known")
        # Names only, so that a bag cannot refer to files outside of its folder.
        self._paths = [Path(path) / Path(file).name for file in metadata.files]
        for file in self._paths:
            if not file.is_file():
                raise UnusableFileError(f"its file '{file.name}' is missing")
        self._topics: dict[tuple[object, ...], Topic] = {}
        self._number, self._part = 0, 0.0
        self.compression = ''
        self._lists_topics = len(self._paths) == 1 and metadata.mode != 'file'
        if self._lists_topics:
            with self._opened(self._paths[0]) as reader:
                self._lists_topics = reader.lists_topics
                self.compression = reader.compression

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""
        return tuple(self._topics.values())

    @property
    def lists_topics(self) -> bool:
        """Whether these are all topics, before messages are read."""
        return self._lists_topics

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return min((self._number + self._part) / max(len(self._paths), 1), 1.0)

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        for number, file in enumerate(self._paths):
            self._number, self._part = number, 0.0
            try:
                with self._opened(file) as reader:
                    for batch in reader.batches(damaged):
                        self._part = reader.progress
                        yield from self._decompressed(batch, damaged)
            except (DamageError, UnusableFileError) as error:
                damaged(f"its file '{file.name}': {error}")
        self._number, self._part = len(self._paths), 0.0

    def _decompressed(
        self, batch: list[Message], damaged: Callable[[str], None]
    ) -> Iterator[list[Message]]:
        """Yield the messages of a batch, decompressed, without those that cannot be."""
        if self._metadata.mode != 'message':
            yield batch
            return
        messages: list[Message] = []
        for each in batch:
            try:
                data = decompress(each.data, self._metadata.compression)
            except DamageError as error:
                yield messages
                messages = []
                damaged(str(error))
            else:
                messages.append(each._replace(data=data))
        yield messages

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """Yield attachments and metadata of MCAP files."""
        for file in self._paths if self.storage == 'mcap' else ():
            # Problems of a whole file are reported when its messages are read.
            with contextlib.suppress(DamageError, UnusableFileError), self._opened(file) as reader:
                yield from reader.extras(damaged)

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""

    def _opened(self, file: Path) -> _Opened:
        return _Opened(file, self._metadata, self._same)

    def _same(self, topic: Topic) -> Topic:
        return self._topics.setdefault(topic.key, topic)


class _Opened:
    """A storage file while it is read, decompressed if the whole file is compressed."""

    def __init__(self, path: Path, metadata: BagMetadata, same: Callable[[Topic], Topic]) -> None:
        self._path, self._metadata, self._same = path, metadata, same
        self._copy: str | None = None

    def __enter__(self) -> Source:
        path = str(self._path)
        if self._metadata.mode == 'file':
            handle, self._copy = tempfile.mkstemp(prefix='transmission_bridge.')
            path = self._copy
            try:
                with os.fdopen(handle, 'wb') as copy:
                    pieces = decompressed_file(str(self._path), self._metadata.compression)
                    copy.writelines(pieces)
            except BaseException:
                self._remove_copy()
                raise
        try:
            is_sqlite = self._metadata.storage == 'sqlite3'
            kind = SqliteReader if is_sqlite else mcap_file().McapReader
            self._reader: Source = kind(path, self._metadata, self._same)
        except BaseException:
            self._remove_copy()
            raise
        return self._reader

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._remove_copy()

    def _remove_copy(self) -> None:
        if self._copy is not None:
            os.unlink(self._copy)


class FolderWriter:
    """
    A bag of rosbag2 with one storage file.

    :param path: The folder, which exists and is empty.
    :param info: Its own metadata.
    :param name: Final name of the folder.
    :param storage: ``mcap`` or ``sqlite3``.
    :param compression: Compression of MCAP chunks.
    """

    def __init__(
        self, path: str, info: BagInfo, name: str, storage: str, compression: str = ''
    ) -> None:
        self._folder = Path(path)
        file = f'{name}_0{_SUFFIXES[storage]}'
        path = str(self._folder / file)
        if storage == 'mcap':
            self._inner = mcap_file().McapWriter(path, info, file, compression=compression)
        else:
            self._inner = SqliteWriter(path, info, file)

    def add(self, topic: Topic) -> None:
        """Add a topic, which may have no messages."""
        self._inner.add(topic)

    def write(self, messages: Sequence[Message]) -> None:
        """Append messages."""
        self._inner.write(messages)

    def add_extra(self, record: Any) -> None:
        """Append an attachment or metadata, if the storage is MCAP."""
        self._inner.add_extra(record)

    def close(self) -> None:
        """Complete the bag."""
        self._inner.close()
        lines = ''.join(f'  {line}\n' for line in self._inner.metadata.splitlines())
        (self._folder / METADATA_FILE).write_text(f'{ROOT}:\n{lines}', encoding='utf-8')

    def abort(self) -> None:
        """Close the bag without completing it."""
        self._inner.abort()


def _read_metadata(folder: Path) -> BagMetadata:
    try:
        with open(folder / METADATA_FILE, 'rb') as file:
            data = file.read(_LONGEST_METADATA)
    except FileNotFoundError:
        raise UnusableFileError(f'it is a folder without {METADATA_FILE}, not a bag') from None
    try:
        metadata = parse_metadata(data.decode())
    except UnicodeDecodeError:
        raise UnusableFileError(f'its {METADATA_FILE} is not UTF-8') from None
    if metadata.storage not in _SUFFIXES:
        raise UnusableFileError(f"storage '{metadata.storage}' is not supported")
    return metadata


# -- Recordings by their names -------------------------------------------------------------------


_MCAP, _SQLITE, _CSV = '.mcap', '.db3', '.csv'


def open_source(path: str, topic: str) -> Source:
    """
    Open a recording: a folder of rosbag2, or a file by its suffix.

    :param topic: Name of the topic of a CSV file without a column for it.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not a recording.
    """
    if os.path.isdir(path):
        return FolderReader(path)
    suffix = Path(path).suffix
    if suffix == _MCAP:
        source: Source = mcap_file().McapReader(path)
        return source
    if suffix == _SQLITE:
        return SqliteReader(path)
    if suffix == _CSV:
        return CsvReader(path, joint_state_topic, topic)
    with open(path, 'rb'):  # for the operating system's error
        pass
    raise UnusableFileError(
        'its type is unknown: give a rosbag2 folder, or a file .mcap, .db3 or .csv'
    )


def is_folder(path: str) -> bool:
    """Return whether the output at a path is a folder."""
    return Path(path).suffix not in (_MCAP, _SQLITE, _CSV)


def create_sink(
    path: str,
    name: str,
    source: Source,
    *,
    storage: str | None,
    columns: Sequence[str],
    topics: Sequence[str],
) -> Sink:
    """
    Create a recording of the type of its name.

    :param path: Temporary path: an existing empty folder, or a file that does not exist.
    :param name: Its final name.
    :param source: The recording that is converted.
    :param storage: ``mcap`` or ``sqlite3``, of a folder; by default that of the source.
    :param columns: Names in joint states, for CSV.
    :param topics: Topics to write, for CSV.
    :raises OSError: If it cannot be written.
    :raises UnusableFileError: If it cannot be written.
    """
    suffix = Path(name).suffix
    if suffix == _CSV:
        return CsvWriter(path, columns, topics)
    if suffix == _SQLITE:
        return SqliteWriter(path, source.info, name)
    if suffix == _MCAP:
        sink: Sink = mcap_file().McapWriter(
            path, source.info, name, compression=source.compression
        )
        return sink
    storage = storage or source.storage or 'mcap'
    return FolderWriter(path, source.info, name, storage, source.compression)
