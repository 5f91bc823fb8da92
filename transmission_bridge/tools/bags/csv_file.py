# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
CSV files of joint states: each line is a message.

A line::

    time,stamp,topic,left.position,right.position,left.velocity,...

``time`` is the time of receipt. ``stamp`` (optional, default ``time``) is the stamp of the header.
Both are in seconds with up to nine decimals. ``topic`` is also optional. Every other column is
named ``name.position``, ``name.velocity`` or ``name.effort``, in SI units. An empty cell is a
value that the message does not contain, ``nan`` an unknown value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
import csv
from io import TextIOWrapper
from itertools import compress
from operator import itemgetter
import os
import re
from typing import TextIO, TypeVar

import numpy as np

from transmission_bridge.errors import counted, MessageError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import JointStateEncoder, JointStateReader, JointStateRecord
from transmission_bridge.tools.bags.model import (
    JOINT_STATE,
    Message,
    RecordedTopic,
    UnusableFileError,
)
from transmission_bridge.tools.files import check_regular
from transmission_bridge.types import Array

Parsed = TypeVar('Parsed')

TIME, STAMP, TOPIC = 'time', 'stamp', 'topic'

_BILLION = 10**9
_SECONDS = re.compile(r'(-?)(\d{1,18})(?:\.(\d{1,9})0*)?')


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
    try:
        if text.isascii() and '_' not in text:  # float() accepts more
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"expected a number, found '{text}'")


class CsvRows(Iterator[list[str]]):
    """
    The rows of a CSV file in UTF-8; reading continues after a damaged row.

    :param path: The file.
    :raises OSError: If it cannot be read.
    """

    def __init__(self, path: str) -> None:
        check_regular(path)
        self._file = open(path, 'rb')  # noqa: SIM115 - closed by close()
        self._size = os.fstat(self._file.fileno()).st_size
        # Invalid bytes become a character that is invalid in numbers.
        text = TextIOWrapper(self._file, 'utf-8-sig', 'replace', newline='')
        self._rows = csv.reader(text, strict=True, skipinitialspace=True)

    def __next__(self) -> list[str]:
        """
        Return the next row, empty for an empty line.

        :raises csv.Error: If it is damaged.
        """
        return next(self._rows)

    def each(
        self, parse: Callable[[list[str]], Parsed], damaged: Callable[[str], None]
    ) -> Iterator[Parsed]:
        """
        Parse and yield the remaining rows that are not empty.

        :param damaged: Called with the problem of each damaged row.
        """
        while True:
            try:
                cells = next(self._rows)
                row = parse(cells) if cells else None
            except StopIteration:
                return
            except (csv.Error, ValueError, MessageError) as error:
                damaged(f'line {self._rows.line_num}: {error}')
            else:
                if row is not None:
                    yield row

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return min(self._file.tell() / max(self._size, 1), 1.0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CsvReader:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_file` for its columns.

    :param path: The file.
    :param topic: Name of the topic in a file without such a column.
    :ivar topics: All topics.
    :raises OSError: If it cannot be read.
    :raises UnusableFileError: If its header is not valid.
    """

    storage, is_compressed = '', False

    def __init__(self, path: str, topic: str) -> None:
        self.custom: dict[str, str] = {}
        self._path, self._default = path, topic
        self._encoder, self._rows = JointStateEncoder(), CsvRows(path)
        self._at: dict[str, int] = {}
        names = {topic: 0}
        with closing(self._rows):
            try:
                self._read_header([title.strip() for title in next(self._rows, [])])
            except (csv.Error, ValueError) as error:
                raise UnusableFileError(f'its header: {error}') from None
            if TOPIC in self._at:
                place = self._at[TOPIC]
                rows = self._rows.each(list, lambda _: None)
                names = {cells[place].strip(): 0 for cells in rows if len(cells) > place}
        self._topics = {name: RecordedTopic(name, JOINT_STATE) for name in names}
        self.topics = tuple(self._topics.values())

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""
        return self._rows.progress

    def messages(self, damaged: Callable[[str], None]) -> Iterator[Message]:
        """
        Yield the messages in the order of the lines.

        :param damaged: Called with the problem of each line that is not a message.
        """
        self._rows = rows = CsvRows(self._path)
        next(rows, None)
        yield from rows.each(self._parse_message, damaged)

    def close(self) -> None:
        """Close the file."""
        self._rows.close()

    def _read_header(self, titles: list[str]) -> None:
        """
        Find the columns.

        :raises ValueError: If the header is invalid, with the reason.
        """
        self._count = len(titles)
        found: dict[str, list[int]] = {}
        for title, count in Counter(titles).items():
            if count > 1:
                raise ValueError(f"column '{title}' is given twice")
        for place, title in enumerate(titles):
            name, _, interface = title.rpartition('.')
            if title in (TIME, STAMP, TOPIC):
                self._at[title] = place
            elif name and interface in FIELDS:
                found.setdefault(name, [-1] * len(FIELDS))[FIELDS.index(interface)] = place
            else:
                raise ValueError(
                    f"column '{title}': expected {TIME}, {STAMP}, {TOPIC}, or a name and "
                    f'.position, .velocity or .effort'
                )
        if TIME not in self._at or not found:
            raise ValueError(f"there is no column '{TIME}', or no column of a name")
        self._names = tuple(found)
        columns = zip(*found.values(), strict=True)  # by interface
        self._pick = itemgetter(*(place for each in columns for place in each))

    def _parse_message(self, cells: list[str]) -> Message:
        """
        Return a line as a message.

        :raises MessageError: If the stamp does not fit.
        :raises ValueError: If a cell is missing or invalid.
        """
        if len(cells) < self._count:
            raise ValueError(f'expected {counted(self._count, "cell")}, found {len(cells)}')
        head = {title: cells[place].strip() for title, place in self._at.items()}
        time, topic = nanoseconds(head[TIME]), head.get(TOPIC, self._default)
        if time < 0:
            raise ValueError(f"expected a time after 1970, found '{head[TIME]}'")
        stamp = divmod(nanoseconds(head[STAMP]) if STAMP in head else time, _BILLION)
        cells.append('')  # the cell of a missing column
        texts = self._pick(cells)
        is_whole = '' not in texts
        rows = _parse_numbers(texts if is_whole else [cell or 'nan' for cell in texts])
        rows = rows.reshape(len(FIELDS), -1)
        names, fields = self._names, list(rows)
        if not is_whole:
            given = np.array([cell != '' for cell in texts]).reshape(rows.shape)
            used = given.any(axis=0)
            names = tuple(compress(names, used))
            fields = [row[used & each.any()] for row, each in zip(rows, given, strict=True)]
        record = JointStateRecord(stamp, '', names, *fields)
        return Message(self._topics[topic], time, self._encoder.encode_record(record))


def _parse_numbers(cells: Sequence[str]) -> Array:
    """
    Return the numbers of cells.

    :raises ValueError: If one is not a number.
    """
    try:
        text = ''.join(cells)
        if text.isascii() and '_' not in text:
            return np.array(cells, dtype=np.float64)
    except ValueError:
        pass
    return np.array([number(cell) for cell in cells])


class CsvWriter:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_file` for its columns.

    Converted messages contain each name at most once.

    :param file: The open file.
    :param names: All names in messages.
    :param topics: The topics to write; several get a column.
    """

    def __init__(self, file: TextIO, names: Sequence[str], topics: Sequence[str]) -> None:
        self._topics = frozenset(topics)
        self._reader = JointStateReader()
        self._head = (TIME, STAMP, TOPIC) if len(self._topics) > 1 else (TIME, STAMP)
        titles = [f'{name}.{field}' for field in FIELDS for name in names]
        self._names = tuple(names)
        self._places = {name: at for at, name in enumerate(names)}
        self._lines = csv.writer(file, lineterminator='\n')
        self._lines.writerow([*self._head, *titles])
        self._width = len(self._head) + len(titles)

    def add(self, topic: RecordedTopic) -> None:
        """Do nothing: a topic without messages has no lines."""

    def write(self, message: Message) -> None:
        """Append a message of these topics, and ignore others."""
        if message.topic.name not in self._topics:
            return
        view = self._reader.read_message(message.data)
        line: list[object] = [''] * self._width
        sec, nanosec = view.stamp
        start = len(self._head)
        stamp = sec * _BILLION + nanosec
        line[:start] = [seconds(message.time), seconds(stamp), message.topic.name][:start]
        for values in (view.position, view.velocity, view.effort):
            if len(values) and view.names == self._names:
                line[start : start + len(values)] = values.tolist()
            elif len(values):
                for name, value in zip(view.names, values.tolist(), strict=True):
                    line[start + self._places[name]] = value
            start += len(self._places)
        self._lines.writerow(line)
