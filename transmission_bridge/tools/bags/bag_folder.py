# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Bags as rosbag2 makes them: a folder with ``metadata.yaml`` and one or more storage files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import os
from pathlib import Path
import tempfile

from transmission_bridge.tools.bags.bag_metadata import BagMetadata, parse_metadata, ROOT
from transmission_bridge.tools.bags.compression import decompress, decompressed_file
from transmission_bridge.tools.bags.mcap_reader import McapReader
from transmission_bridge.tools.bags.mcap_writer import McapWriter
from transmission_bridge.tools.bags.model import (
    BagInfo,
    Message,
    Topic,
    UnusableFileError,
)
from transmission_bridge.tools.bags.sqlite_reader import SqliteReader
from transmission_bridge.tools.bags.sqlite_writer import SqliteWriter

__all__ = ['METADATA_FILE', 'SUFFIXES', 'FolderReader', 'FolderWriter']

METADATA_FILE = 'metadata.yaml'
#: Storage formats and the suffixes of their files.
SUFFIXES = {'mcap': '.mcap', 'sqlite3': '.db3'}

_READERS: dict[str, type[McapReader] | type[SqliteReader]] = {
    'mcap': McapReader,
    'sqlite3': SqliteReader,
}
_LONGEST_METADATA = 64 * 1024 * 1024
_PIECE = 1024 * 1024


class FolderReader:
    """
    A bag of rosbag2.

    :param path: The folder.
    :ivar info: What it says about itself.
    :ivar storage: ``mcap`` or ``sqlite3``.
    :ivar compression: Compression of MCAP chunks, where that is known.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is no bag.
    """

    def __init__(self, path: str) -> None:
        self._metadata = metadata = _read_metadata(Path(path))
        self.info: BagInfo = metadata.info
        self.storage = metadata.storage
        if metadata.mode not in ('', 'none', 'file', 'message'):
            raise UnusableFileError(f"compression mode '{metadata.mode}' is not known")
        # Names only: a bag never reaches out of its folder.
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
                if isinstance(reader, McapReader):
                    self.compression = reader.compression

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""
        return tuple(self._topics.values())

    @property
    def lists_topics(self) -> bool:
        """Whether these are all of them before anything has been read."""
        return self._lists_topics

    @property
    def progress(self) -> float:
        """How much has been read, from 0 to 1."""
        return min((self._number + self._part) / max(len(self._paths), 1), 1.0)

    def batches(self) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        for number, file in enumerate(self._paths):
            self._number, self._part = number, 0.0
            with self._opened(file) as reader:
                for batch in reader.batches():
                    self._part = reader.progress
                    yield self._decompressed(batch)
        self._number, self._part = len(self._paths), 0.0

    def _decompressed(self, batch: list[Message]) -> list[Message]:
        if self._metadata.mode != 'message':
            return batch
        method = self._metadata.compression
        return [each._replace(data=decompress(each.data, method)) for each in batch]

    def extras(self) -> Iterator[Iterator[bytes]]:
        """Yield the attachment and metadata records of MCAP files, each in pieces."""
        for file in self._paths if self.storage == 'mcap' else ():
            with self._opened(file) as reader:
                if isinstance(reader, McapReader):
                    yield from reader.extras()

    def close(self) -> None:
        """Let go of the files; they are open only while they are read."""

    def _opened(self, file: Path) -> _Opened:
        return _Opened(file, self._metadata, self._same)

    def _same(self, topic: Topic) -> Topic:
        """Return the one object that stands for connections that look alike."""
        return self._topics.setdefault(topic.key, topic)


class _Opened:
    """A storage file while it is read, decompressed where the whole file is compressed."""

    def __init__(self, path: Path, metadata: BagMetadata, same: Callable[[Topic], Topic]) -> None:
        self._path, self._metadata, self._same = path, metadata, same
        self._copy: str | None = None

    def __enter__(self) -> McapReader | SqliteReader:
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
            self._reader: McapReader | SqliteReader = _READERS[self._metadata.storage](
                path, self._metadata, self._same
            )
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

    :param path: The folder, which is there and empty.
    :param info: What it is to say about itself.
    :param name: Name that the folder will have.
    :param storage: ``mcap`` or ``sqlite3``.
    :param compression: Of MCAP chunks.
    """

    def __init__(
        self, path: str, info: BagInfo, name: str, storage: str, compression: str = ''
    ) -> None:
        self._folder = Path(path)
        file = f'{name}_0{SUFFIXES[storage]}'
        self.inner: McapWriter | SqliteWriter
        if storage == 'mcap':
            self.inner = McapWriter(str(self._folder / file), info, file, compression=compression)
        else:
            self.inner = SqliteWriter(str(self._folder / file), info, file)

    def add(self, topic: Topic) -> None:
        """Make a topic known that may have no message."""
        self.inner.add(topic)

    def write(self, messages: Sequence[Message]) -> None:
        """Append messages."""
        self.inner.write(messages)

    def close(self) -> None:
        """Complete the bag."""
        self.inner.close()
        lines = ''.join(f'  {line}\n' for line in self.inner.metadata.splitlines())
        (self._folder / METADATA_FILE).write_text(f'{ROOT}:\n{lines}', encoding='utf-8')

    def abort(self) -> None:
        """Let go of the bag as it is."""
        self.inner.abort()


def _read_metadata(folder: Path) -> BagMetadata:
    try:
        with open(folder / METADATA_FILE, 'rb') as file:
            data = file.read(_LONGEST_METADATA)
    except FileNotFoundError:
        raise UnusableFileError(f'it is a folder without {METADATA_FILE}, no bag') from None
    try:
        metadata = parse_metadata(data.decode())
    except UnicodeDecodeError:
        raise UnusableFileError(f'its {METADATA_FILE} is not UTF-8') from None
    if metadata.storage not in _READERS:
        raise UnusableFileError(f"storage '{metadata.storage}' is not supported")
    return metadata
