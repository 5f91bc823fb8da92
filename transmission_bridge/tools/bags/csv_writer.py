# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""CSV files of joint states; messages of any other type are left out."""

from __future__ import annotations

from collections.abc import Sequence
import csv

from transmission_bridge.messages.cdr_reader import JointStateReader
from transmission_bridge.tools.bags.csv_columns import seconds, STAMP, TIME, TOPIC
from transmission_bridge.tools.bags.model import Message, Topic
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['CsvWriter']

_BILLION = 10**9


class CsvWriter:
    """
    A CSV file; see :mod:`transmission_bridge.tools.bags.csv_columns` for its columns.

    Messages hold a name once at most, as those that are converted do.

    :param path: The file; it must not exist.
    :param names: Every name that a message may hold.
    :param topics: The topics that are written; with several of them there is a column for them.
    :raises OSError: If it cannot be written.
    """

    def __init__(self, path: str, names: Sequence[str], topics: Sequence[str]) -> None:
        self._topics = frozenset(topics)
        self._reader = JointStateReader()
        self._head = (TIME, STAMP, TOPIC) if len(self._topics) > 1 else (TIME, STAMP)
        titles = [f'{name}.{field}' for field in FIELDS for name in names]
        self._places = {title: len(self._head) + at for at, title in enumerate(titles)}
        self._file = open(path, 'x', encoding='utf-8', newline='')  # noqa: SIM115
        self._lines = csv.writer(self._file, lineterminator='\n')
        self._lines.writerow([*self._head, *titles])
        self._width = len(self._head) + len(titles)

    def add(self, topic: Topic) -> None:
        """Do nothing: a topic without messages has no lines."""

    def write(self, messages: Sequence[Message]) -> None:
        """Append the messages of the topics that are written."""
        self._lines.writerows(
            self._line(message) for message in messages if message.topic.name in self._topics
        )

    def add_extra(self, record: object) -> None:
        """Do nothing: there is no place for it."""

    def close(self) -> None:
        """Complete the file."""
        self._file.close()

    def abort(self) -> None:
        """Let go of the file as it is."""
        self._file.close()

    def _line(self, message: Message) -> list[str]:
        view = self._reader.read(message.data)
        line = [''] * self._width
        sec, nanosec = view.stamp
        line[: len(self._head)] = [
            seconds(message.time),
            seconds(sec * _BILLION + nanosec),
            message.topic.name,
        ][: len(self._head)]
        for field, values in zip(FIELDS, (view.position, view.velocity, view.effort), strict=True):
            if len(values):
                for name, value in zip(view.names, values.tolist(), strict=True):
                    line[self._places[f'{name}.{field}']] = repr(value)
        return line
