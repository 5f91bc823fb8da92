# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Open and create recordings by their names; rosbags reads and writes MCAP and SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, ExitStack
from functools import lru_cache, partial
import os
from pathlib import Path
from typing import Any

from transmission_bridge.errors import counted, MessageError
from transmission_bridge.messages import JointStateRecord, record_from_message
from transmission_bridge.tools.bags.csv_file import CsvReader, CsvWriter
from transmission_bridge.tools.bags.model import (
    JOINT_STATE,
    Message,
    RecordedTopic,
    UnusableFileError,
)
from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.tools.files import check_regular

METADATA = 'metadata.yaml'
_MCAP, _SQLITE, _CSV = '.mcap', '.db3', '.csv'

#: Programs that recover damaged recordings.
_RECOVERY = {'mcap': "'mcap recover IN.mcap -o OUT.mcap'", 'sqlite3': "'sqlite3 IN.db3 .recover'"}


class BagReader:
    """
    A folder of rosbag2, or one of its files, read by rosbags.

    :param path: The folder or file.
    :ivar storage: ``mcap`` or ``sqlite3``, empty if it is neither.
    :ivar is_compressed: Whether its chunks are compressed.
    :ivar custom: Custom entries of its metadata.
    :ivar topics: All topics.
    :ivar close: Closes the recording.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not a recording.
    :raises UsageError: If rosbags is not installed.
    """

    def __init__(self, path: str) -> None:
        files = _list_files(path)
        storage = 'sqlite3' if any(_SQLITE in file.suffixes for file in files) else 'mcap'
        self._recovery = f'; {_RECOVERY[storage]} may recover more'
        rosbag2 = optional('rosbags.rosbag2', 'bags')
        # rosbags rejects two connections with equal name, type, encoding and QoS.
        equal: dict[object, RecordedTopic] = {}
        self._topics: dict[int, RecordedTopic] = {}
        try:
            with _bound_rosbags(), ExitStack() as stack:
                for file in files:
                    _check_size(file)
                self._reader = stack.enter_context(rosbag2.Reader(path))
                for each in self._reader.connections:
                    key = str(each.topic), str(each.msgtype), each.ext.serialization_format
                    qos = tuple(each.ext.offered_qos_profiles)
                    topic = RecordedTopic(*key, each.msgdef.data, each.digest, qos)
                    self._topics[each.id] = equal.setdefault((*key, qos), topic)
                inner, self._count = self._reader.storage, int(self._reader.message_count)
                custom = inner.metadata.custom or {}
                self.custom = {str(key): str(value) for key, value in custom.items()}
                self.close = stack.pop_all().close
        except (UnusableFileError, UsageError):
            raise
        except Exception as error:  # rosbags raises any exception for a damaged file
            raise UnusableFileError(_format_rosbags_error(error) + self._recovery) from None
        # rosbags would decompress messages without a limit.
        self._is_packed = inner.metadata.compression_mode == 'message'
        inner.metadata = inner.metadata._replace(compression_mode=None)
        stores = getattr(inner, 'storages', [inner])
        chunks = [chunk for each in stores for chunk in getattr(each, 'chunks', ())]
        self.is_compressed = any(chunk.compression for chunk in chunks)
        self.storage, self.topics, self._read = storage, tuple(equal.values()), 0

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return self._read / max(self._count, self._read, 1)

    def messages(self, damaged: Callable[[str], None]) -> Iterator[Message]:
        """
        Yield the messages in the order of receipt.

        :param damaged: Called with the problem of unreadable data, between the messages before and
            after it.
        """
        self._read, topics = 0, self._topics
        found = self._reader.messages()
        while True:
            try:
                connection, time, data = next(found)
                if type(data) is not bytes or type(time) is not int:
                    raise ValueError('a row of the table messages is not a message')
                if self._is_packed:
                    data = _decompress(_import_zstd().ZstdDecompressor, data)
            except StopIteration:
                break
            except Exception as error:  # rosbags raises any exception for a damaged file
                damaged(_format_rosbags_error(error) + self._recovery)
                return
            self._read += 1
            yield Message(topics[connection.id], time, data)
        missing = self._count - self._read
        if missing > 0:
            damaged(f'{counted(missing, "message")} of its index not found{self._recovery}')


def _list_files(path: str) -> list[Path]:
    """
    Return the files of a recording.

    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is a folder that is not a bag.
    """
    files = [Path(path)]
    if os.path.isdir(path):
        if not (Path(path) / METADATA).exists():
            raise UnusableFileError(f'it is a folder without {METADATA}, not a bag')
        files = [file for file in Path(path).iterdir() if not file.is_dir()]
    for file in files:
        check_regular(file)
        if _SQLITE in file.suffixes:
            _check_sqlite_path(file)
    return files


def _check_sqlite_path(path: Path) -> None:
    if set('?#%') & set(str(path)):  # rosbags makes an unquoted URI of it
        raise OSError(f"the path of an SQLite file cannot have ?, # or %: '{path}'")


def _format_rosbags_error(error: Exception) -> str:
    """Return an error of rosbags, with its type unless it is a sentence."""
    return str(error) if type(error).__name__ in ('ReaderError', 'ValueError') else repr(error)


# -- Bounds: a small file can expand to a very large one, and rosbags has no limits --------------


#: Most bytes of a chunk or a message; of a file, besides :data:`_EXPANSION` times its size.
_LARGEST, _EXPANSION = 256 * 1024 * 1024, 100
#: Most bytes of :data:`METADATA`, which is YAML.
_LONGEST_METADATA = 4 * 1024 * 1024


def _check_size(file: Path) -> None:
    """
    Check the size of a file that rosbags reads or decompresses completely.

    :raises UnusableFileError: If it is too large, or has aliases that expand without end.
    """
    size = file.stat().st_size
    if file.name == METADATA:
        if size > _LONGEST_METADATA:
            raise UnusableFileError(f'its {METADATA} has more than {_LONGEST_METADATA} bytes')
        events = optional('ruamel.yaml', 'bags').YAML(typ='safe').parse(file.read_text('utf-8'))
        if any(type(event).__name__ == 'AliasEvent' for event in events):
            raise UnusableFileError(f'its {METADATA} has aliases, which expand without end')
    if file.suffix == '.zstd':
        most = left = _LARGEST + _EXPANSION * size
        with _import_zstd().open(file, 'rb') as raw:
            while left >= 0 and (piece := raw.read(1 << 20)):
                left -= len(piece)
        if left < 0:
            raise UnusableFileError(f"'{file.name}' of {size} bytes expands to more than {most}")


@contextmanager
def _bound_rosbags() -> Iterator[None]:
    """Let rosbags decompress chunks with a limit, and open databases without views."""
    chunks = optional('rosbags.rosbag2.storage_mcap', 'bags').DECOMPRESSORS
    chunks['zstd'] = partial(_decompress, _import_zstd().ZstdDecompressor)
    chunks['lz4'] = partial(_decompress, optional('lz4.frame', 'bags').LZ4FrameDecompressor)
    apsw = optional('apsw', 'bags')

    def bound(database: Any) -> None:
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST)
        # A view can have endless rows.
        database.authorizer = lambda *about: apsw.SQLITE_DENY if about[-1] else apsw.SQLITE_OK

    apsw.connection_hooks.append(bound)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(bound)


def _decompress(make: Callable[[], Any], data: bytes, size: int = _LARGEST) -> bytes:
    decompressor, most = make(), min(size, _LARGEST)
    raw: bytes = decompressor.decompress(data, max_length=most + 1)
    if len(raw) > most or not decompressor.eof:
        raise ValueError(f'a compressed piece is cut off, or has more than {most} bytes')
    return raw


def _import_zstd() -> Any:
    # In newer versions of Python, else a package.
    return optional('rosbags.rosbag2.reader', 'bags').zstd


# -- Message types -------------------------------------------------------------------------------


#: The hash of a type without a known definition; rosbags writes no empty one.
_NO_HASH = f'RIHS01_{"0" * 64}'
#: Start of a definition in IDL.
_IDL = f'{"=" * 80}\nIDL: '


def _find_definition(topic: RecordedTopic) -> tuple[str, str]:
    """
    Return definition and hash of a topic's type, from the recording or rosbags, if known.

    :raises UsageError: If rosbags is not installed.
    """
    types = optional('rosbags.typesys', 'bags')
    definition, type_hash = topic.definition, topic.type_hash
    try:
        store = _load_type_store()
        if definition and not type_hash:
            store = types.get_typestore(types.Stores.EMPTY)
            if definition.startswith(_IDL):
                parsed = types.get_types_from_idl(definition)
            else:
                parsed = types.get_types_from_msg(definition, topic.type)
            store.fielddefs.update(parsed)  # enough for the hash; ``register`` would compile them
        definition = definition or store.generate_msgdef(topic.type, ros_version=2)[0]
        return definition, type_hash or store.hash_rihs01(topic.type)
    except Exception:  # rosbags rejects the definition, which is copied unchanged
        return definition, type_hash or _NO_HASH


def decode(data: bytes, type_name: str) -> Any:
    """
    Return a message in any encoding that rosbags knows, such as a big-endian one.

    :raises MessageError: If it cannot be decoded at all (``undecodable``).
    :raises UsageError: If rosbags is not installed.
    """
    store = _load_type_store()
    try:
        return store.deserialize_cdr(data, type_name)
    except Exception as error:  # rosbags raises any exception for a broken message
        raise MessageError('undecodable', f'the message cannot be decoded: {error}') from None


def read_unusual(data: bytes) -> JointStateRecord:
    """Return a joint state that the fast reader rejects; raises as :func:`decode`."""
    return record_from_message(decode(data, JOINT_STATE))


@lru_cache(maxsize=1)
def _load_type_store() -> Any:
    types = optional('rosbags.typesys', 'bags')
    return types.get_typestore(types.Stores.LATEST)


# -- Recordings by their names -------------------------------------------------------------------


Source = BagReader | CsvReader


def open_source(path: str, topic: str) -> Source:
    """
    Open a recording: a folder of rosbag2, or a file by its suffix.

    :param topic: Name of the topic of a CSV file without a column for it.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is not a recording.
    """
    suffix = Path(path).suffix
    if os.path.isdir(path) or suffix in (_MCAP, _SQLITE):
        return BagReader(path)
    if suffix == _CSV:
        return CsvReader(path, topic)
    check_regular(path)
    raise UnusableFileError('it is neither a rosbag2 folder nor a file .mcap, .db3 or .csv')


def is_folder(path: str) -> bool:
    """Return whether the output at a path is a folder."""
    return Path(path).suffix not in (_MCAP, _SQLITE, _CSV)


class BagWriter:
    """
    A recording that rosbags writes.

    :param writer: The open writer of rosbags.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._connections: dict[RecordedTopic, Any] = {}

    def add(self, topic: RecordedTopic) -> None:
        """Add a topic, which may have no messages."""
        definition, type_hash = _find_definition(topic)
        self._connections[topic] = self._writer.add_connection(
            topic.name, topic.type, msgdef=definition, rihs01=type_hash,
            serialization_format=topic.encoding, offered_qos_profiles=topic.qos,
        )  # fmt: skip

    def write(self, message: Message) -> None:
        """
        Append a message of a topic that was added.

        :raises OverflowError: If its time cannot be written.
        :raises sqlite3.Error: If the database cannot be written.
        """
        self._writer.write(self._connections[message.topic], message.time, message.data)


@contextmanager
def create_sink(
    path: str, source: Source, storage: str | None, columns: Sequence[str], topics: Sequence[str]
) -> Iterator[BagWriter | CsvWriter]:
    """
    Create a recording with the storage of its name; it is complete after the block.

    :param path: The file or folder, which must not exist, in an otherwise empty folder.
    :param source: The recording that gives storage, compression and custom metadata.
    :param storage: ``mcap`` or ``sqlite3`` for a folder; by default the storage of the source.
    :param columns: Names in joint states, for CSV.
    :param topics: Topics to write, for CSV.
    :raises OSError: If it cannot be written.
    :raises UsageError: If a library is not installed.
    """
    suffix = Path(path).suffix
    if suffix == _CSV:
        with open(path, 'x', encoding='utf-8', newline='') as file:
            yield CsvWriter(file, columns, topics)
        return
    rosbag2 = optional('rosbags.rosbag2', 'bags')
    kind = {_MCAP: 'mcap', _SQLITE: 'sqlite3'}.get(suffix, storage or source.storage or 'mcap')
    # rosbags names the file after its folder.
    folder = Path(path) if is_folder(path) else Path(path).parent / 'bag' / Path(path).stem
    if kind == 'sqlite3':
        _check_sqlite_path(folder)
    plugin = rosbag2.StoragePlugin[kind.upper()]
    writer = rosbag2.Writer(folder, version=9, storage_plugin=plugin)
    if kind == 'mcap' and source.is_compressed:
        writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    writer.custom_data.update(source.custom)
    with writer:
        yield BagWriter(writer)
    if not is_folder(path):
        os.rename(next(folder.glob(f'*{suffix}')), path)
