# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
CSV files of joint states: each line is a message.

A line::

    time,stamp,topic,left.position,right.position,left.velocity,...

``time`` is the time of receipt, ``stamp`` (optional, by default the same) that of the header, both
in seconds with up to nine decimals. ``topic`` is optional as well. Every other column is named
``name.position``, ``name.velocity`` or ``name.effort``, in SI units. An empty cell is a value that
the message does not contain, ``nan`` one that is unknown.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
import csv
from dataclasses import dataclass
import io
import os
import re
from typing import Any

import numpy as np

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.tools.bags.model import BagInfo, Message, Topic, UnusableFileError
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = [
    'STAMP',
    'TIME',
    'TOPIC',
    'Columns',
    'CsvReader',
    'CsvRows',
    'CsvWriter',
    'nanoseconds',
    'number',
    'seconds',
]

TIME, STAMP, TOPIC = 'time', 'stamp', 'topic'

_BILLION = 10**9
_SECONDS = re.compile(r'(-?)(\d{1,18})(?:\.(\d{1,9})0*)?')
_NUMBER = re.compile(
    r'[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)', re.IGNORECASE
)


@dataclass(frozen=True)
class Columns:
    """
    The columns of a file.

    :param time: Index of the time of receipt.
    :param stamp: Index of the stamp, or ``None``.
    :param topic: Index of the topic, or ``None``.
    :param names: Names, in the order of their first columns.
    :param cells: For position, velocity and effort the index for each name, or ``None``.
    """

    time: int
    stamp: int | None
    topic: int | None
    names: tuple[str, ...]
    cells: tuple[tuple[int | None, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str]) -> Columns:
        """
        Return the columns of a header.

        :raises ValueError: If the header is not valid; the message says why.
        """
        titles = [title.strip() for title in header]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"column '{title}' is given twice")
        if TIME not in titles:
            raise ValueError(f"there is no column '{TIME}'")
        places: dict[str, dict[str, int]] = {}
        for place, title in enumerate(titles):
            name, dot, interface = title.rpartition('.')
            if dot and name and interface in FIELDS:
                places.setdefault(name, {})[interface] = place
            elif title not in (TIME, STAMP, TOPIC):
                raise ValueError(
                    f"column '{title}': expected {TIME}, {STAMP}, {TOPIC}, or a name and "
                    f'.position, .velocity or .effort'
                )
        return cls(
            titles.index(TIME),
            titles.index(STAMP) if STAMP in titles else None,
            titles.index(TOPIC) if TOPIC in titles else None,
            tuple(places),
            tuple(tuple(each.get(field) for each in places.values()) for field in FIELDS),
        )


def nanoseconds(text: str) -> int:
    """
    Return a time given in seconds, to the nanosecond.

    :raises ValueError: If it is not a decimal number with at most nine decimals.
    """
    match = _SECONDS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a time in seconds with at most nine decimals, found '{text}'")
    sign, whole, fraction = match.groups()
    value = int(whole) * _BILLION + int((fraction or '').ljust(9, '0'))
    return -value if sign else value


def seconds(value: int) -> str:
    """Return nanoseconds as seconds with nine decimals."""
    whole, fraction = divmod(abs(value), _BILLION)
    return f'{"-" if value < 0 else ""}{whole}.{fraction:09d}'


def number(text: str) -> float:
    """
    Return a cell as a number.

    :raises ValueError: If it is not one.
    """
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped) is None:
        raise ValueError(f"expected a number, found '{text}'")
    return float(stripped)


#: Messages per batch.
_BATCH = 500


class CsvRows:
    """
    The rows of a CSV file in UTF-8.

    :param path: The file.
    :raises OSError: If it cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, 'rb')  # noqa: SIM115 - closed by close()
        self._size = os.fstat(self._file.fileno()).st_size
        self._done = 0
        self._rows = csv.reader(self._decoded(), strict=True)

    def __iter__(self) -> Iterator[list[str]]:
        """Iterate over the remaining rows."""
        return self

    def __next__(self) -> list[str]:
        """
        Return the next row, empty for an empty line.

        :raises csv.Error: If it is damaged.
        :raises UnicodeDecodeError: If it is not UTF-8.
        """
        return next(self._rows)

    @property
    def line(self) -> int:
        """Line number of the last row."""
        return self._rows.line_num

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return min(self._done / max(self._size, 1), 1.0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _decoded(self) -> Iterator[str]:
        """Yield the lines, decoded one by one, so that those before a damaged one are kept."""
        for line in self._file:
            text = line if self._done else line.removeprefix(BOM_UTF8)
            self._done += len(line)
            # Some programs end lines with a carriage return alone.
            yield from io.StringIO(text.decode(), newline='')


class CsvReader:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_file` for its columns.

    :param path: The file.
    :param make_topic: Makes a topic for joint states from a name.
    :param topic: Name of the topic if there is no such column.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If its header is not valid.
    """

    storage = compression = ''

    def __init__(self, path: str, make_topic: Callable[[str], Topic], topic: str) -> None:
        self.info = BagInfo()
        self._make_topic, self._default = make_topic, topic
        self._topics: dict[str, Topic] = {}
        self._encoder = JointStateEncoder()
        self._rows = CsvRows(path)
        try:
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
        """Whether there is no column for topics."""
        return self._columns.topic is None

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return self._rows.progress

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """Yield the messages, see :class:`~transmission_bridge.tools.bags.model.Source`."""
        messages: list[Message] = []
        try:
            for cells in self._rows:
                if cells:
                    messages.append(self._message(cells))
                if len(messages) >= _BATCH:
                    yield messages
                    messages = []
        except (csv.Error, OSError, ValueError, MessageError) as error:
            problem = f'line {self._rows.line}: {error}'
        else:
            problem = ''
        yield messages
        if problem:
            damaged(problem)

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """Yield nothing: the format has messages only."""
        return iter(())

    def close(self) -> None:
        """Close the file."""
        self._rows.close()

    def _header(self) -> Columns:
        try:
            header = next(self._rows, None)
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
        Return a line as a message.

        :raises ValueError: If a cell is missing or not valid.
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
    """Return the numbers of cells, NaN for an empty one; empty if all are."""
    if not any(cells):
        return np.empty(0)
    return np.array([number(cell) if cell else np.nan for cell in cells])


class CsvWriter:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_file` for its columns.

    Converted messages contain each name at most once.

    :param path: The file; it must not exist.
    :param names: All names in messages.
    :param topics: The topics to write; several get a column.
    :raises OSError: If it cannot be written.
    """

    def __init__(self, path: str, names: Sequence[str], topics: Sequence[str]) -> None:
        self._topics = frozenset(topics)
        self._reader = JointStateReader()
        self._head = (TIME, STAMP, TOPIC) if len(self._topics) > 1 else (TIME, STAMP)
        titles = [f'{name}.{field}' for field in FIELDS for name in names]
        self._places = {name: at for at, name in enumerate(names)}
        self._file = open(path, 'x', encoding='utf-8', newline='')  # noqa: SIM115
        self._lines = csv.writer(self._file, lineterminator='\n')
        self._lines.writerow([*self._head, *titles])
        self._width = len(self._head) + len(titles)

    def add(self, topic: Topic) -> None:
        """Do nothing: a topic without messages has no lines."""

    def write(self, messages: Sequence[Message]) -> None:
        """Append the messages of these topics."""
        self._lines.writerows(
            self._line(message) for message in messages if message.topic.name in self._topics
        )

    def add_extra(self, record: object) -> None:
        """Do nothing: the format has no place for it."""

    def close(self) -> None:
        """Complete the file."""
        self._file.close()

    def abort(self) -> None:
        """Close the file without completing it."""
        self._file.close()

    def _line(self, message: Message) -> list[object]:
        view = self._reader.read(message.data)
        line: list[object] = [''] * self._width
        sec, nanosec = view.stamp
        start = len(self._head)
        line[:start] = [
            seconds(message.time),
            seconds(sec * _BILLION + nanosec),
            message.topic.name,
        ][:start]
        for values in (view.position, view.velocity, view.effort):
            if len(values):
                for name, value in zip(view.names, values.tolist(), strict=True):
                    line[start + self._places[name]] = value
            start += len(self._places)
        return line
