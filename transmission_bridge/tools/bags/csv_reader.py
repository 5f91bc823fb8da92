# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""CSV files of joint states, read as if each line were a message."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
import csv
import os
from typing import Any

import numpy as np

from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.tools.bags.csv_columns import Columns, nanoseconds, number
from transmission_bridge.tools.bags.model import (
    BagInfo,
    Message,
    Topic,
    UnusableFileError,
)

__all__ = ['CsvReader']

#: Messages that are read at a time.
_BATCH = 500
_BILLION = 10**9


class CsvReader:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_columns` for its columns.

    :param path: The file.
    :param make_topic: Makes a topic for joint states of a name.
    :param topic: Name of the topic where there is no such column.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If its header is of another kind.
    """

    storage = compression = ''

    def __init__(self, path: str, make_topic: Callable[[str], Topic], topic: str) -> None:
        self.info = BagInfo()
        self._make_topic, self._default = make_topic, topic
        self._topics: dict[str, Topic] = {}
        self._encoder = JointStateEncoder()
        self._file = open(path, 'rb')  # noqa: SIM115 - closed by close()
        try:
            self._done = 0
            self._size = os.fstat(self._file.fileno()).st_size
            self._lines = csv.reader(self._decoded(), strict=True)
            self._columns = self._header()
        except BaseException:
            self.close()
            raise
        if self._columns.topic is None:
            self._topic(topic)

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""
        return tuple(self._topics.values())

    @property
    def lists_topics(self) -> bool:
        """Whether there is no column of topics."""
        return self._columns.topic is None

    @property
    def progress(self) -> float:
        """How much has been read, from 0 to 1."""
        return min(self._done / max(self._size, 1), 1.0)

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        messages: list[Message] = []
        try:
            for cells in self._lines:
                if cells:
                    messages.append(self._message(cells))
                if len(messages) >= _BATCH:
                    yield messages
                    messages = []
        except (csv.Error, OSError, ValueError, MessageError) as error:
            problem = f'line {self._lines.line_num}: {error}'
        else:
            problem = ''
        yield messages
        if problem:
            damaged(problem)

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """Yield nothing: there is no place for anything but messages."""
        return iter(())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _decoded(self) -> Iterator[str]:
        """Yield the lines, decoded one by one: a damaged one costs none of those before it."""
        for line in self._file:
            text = line if self._done else line.removeprefix(BOM_UTF8)
            self._done += len(line)
            yield text.decode()

    def _header(self) -> Columns:
        try:
            header = next(self._lines, None)
            if header is None:
                raise UnusableFileError('it is empty')
            return Columns.of(header)
        except (csv.Error, ValueError) as error:
            raise UnusableFileError(f'its header: {error}') from None

    def _topic(self, name: str) -> Topic:
        if name not in self._topics:
            self._topics[name] = self._make_topic(name)
        return self._topics[name]

    def _message(self, cells: Sequence[str]) -> Message:
        """
        Return the message that a line is.

        :raises ValueError: If a cell is missing or not what it should be.
        """
        columns = self._columns
        expected = 1 + max(
            columns.time,
            columns.stamp or 0,
            columns.topic or 0,
            *(place or 0 for row in columns.cells for place in row),
        )
        if len(cells) < expected:
            raise ValueError(f'expected {expected} cells, found {len(cells)}')
        time = nanoseconds(cells[columns.time])
        if time < 0:
            raise ValueError(f"expected a time after 1970, found '{cells[columns.time]}'")
        stamp = time if columns.stamp is None else nanoseconds(cells[columns.stamp])
        rows = [
            ['' if place is None else cells[place].strip() for place in row]
            for row in columns.cells
        ]
        given = [any(column) for column in zip(*rows, strict=True)]
        names = tuple(name for name, used in zip(columns.names, given, strict=True) if used)
        record = JointStateRecord(
            divmod(stamp, _BILLION),
            '',
            names,
            *(_numbers([cell for cell, used in zip(row, given, strict=True) if used])
              for row in rows),
        )  # fmt: skip
        name = self._default if columns.topic is None else cells[columns.topic].strip()
        return Message(self._topic(name), time, time, 0, self._encoder.encode(record))


def _numbers(cells: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the numbers of cells, NaN where one is empty, none at all where every one is."""
    if not any(cells):
        return np.empty(0)
    return np.array([number(cell) if cell else np.nan for cell in cells])
