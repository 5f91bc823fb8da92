# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which kind of recording a path is, and who reads and writes it."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path

from transmission_bridge.tools.bags.bag_folder import FolderReader, FolderWriter, mcap_file
from transmission_bridge.tools.bags.csv_file import CsvReader, CsvWriter
from transmission_bridge.tools.bags.joint_state_topic import joint_state_topic
from transmission_bridge.tools.bags.model import Sink, Source, UnusableFileError
from transmission_bridge.tools.bags.sqlite_file import SqliteReader, SqliteWriter

__all__ = ['create_sink', 'is_folder', 'open_source']

_MCAP, _SQLITE, _CSV = '.mcap', '.db3', '.csv'


def open_source(path: str, topic: str) -> Source:
    """
    Open a recording: a folder of rosbag2, or a file by its suffix.

    :param topic: Name of the topic of a CSV file without a column for it.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If it is no recording.
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
    with open(path, 'rb'):  # if it is not there, that is what to say
        pass
    raise UnusableFileError(
        'what it is cannot be told from its name (a rosbag2 folder, or a file .mcap, .db3, .csv)'
    )


def is_folder(path: str) -> bool:
    """Whether what is written to a path is a folder."""
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
    Begin a recording of the kind that its name says.

    :param path: Where it is made: an empty folder for a folder, a file that is not there else.
    :param name: Name that it will have.
    :param source: What it is made from.
    :param storage: ``mcap`` or ``sqlite3``, of a folder; by default that of the source.
    :param columns: Names that joint states may hold, for CSV.
    :param topics: Topics that are written, for CSV.
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
