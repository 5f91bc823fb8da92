# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the topics of drivers and of joint encoders."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import contextlib
from pathlib import Path

import numpy as np

from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.cdr_reader import JointStateReader
from transmission_bridge.messages.joint_state import JointStateData
from transmission_bridge.tools.bags.files import open_source
from transmission_bridge.tools.bags.joint_state_topic import read_unusual
from transmission_bridge.tools.bags.model import (
    JOINT_STATE,
    Message,
    Source,
    UnusableFileError,
)
from transmission_bridge.tools.bridge_setup import NAMES_HINT
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.command import UsageError

__all__ = ['read_bag']


def read_bag(
    file: str,
    actuators: str,
    joints: str,
    actuator_names: Mapping[str, str],
    joint_names: Collection[str],
) -> tuple[Recording, tuple[str, ...]]:
    """
    Read two topics of joint states.

    Times are those of the headers; those of receipt where a topic has none in them.

    :param file: A folder of rosbag2, or a file .mcap, .db3, or .csv with a column of topics.
    :param actuators: Topic with the positions of actuators.
    :param joints: Topic with the positions of joints.
    :param actuator_names: The robot's actuators by the names that they have in the recording.
    :param joint_names: The robot's joints.
    :returns: The recording, and sentences about what could not be read.
    :raises UsageError: If it cannot be read, a topic is not in it, or nothing that a topic names
        is known.
    """
    try:
        with contextlib.closing(open_source(file, actuators)) as source:
            tables = {
                actuators.strip('/'): _Table(actuator_names, f' ({NAMES_HINT})'),
                joints.strip('/'): _Table({name: name for name in joint_names}),
            }
            if len(tables) < 2:
                raise UsageError(f"actuators and joints cannot both be in the topic '{actuators}'")
            return _read(file, source, tables)
    except UnusableFileError as error:
        raise UsageError(f"'{file}' cannot be read as a recording: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{Path(file)}': {reason}") from None


def _read(
    file: str, source: Source, tables: Mapping[str, _Table]
) -> tuple[Recording, tuple[str, ...]]:
    problems: list[str] = []
    for batch in source.batches(problems.append):
        for message in batch:
            table = tables.get(message.topic.name.strip('/'))
            if table is not None and message.topic.type == JOINT_STATE:
                table.add(message)
    notes = [f"'{file}' is damaged ({each}); what can be read is used" for each in problems[:1]]
    for name, table in tables.items():
        if table.is_foreign:
            raise UsageError(
                f"'{file}': nothing named on the topic '{name}' is known: {table.names_found}"
            )
        if not table.rows:
            known = sorted({t.name for t in source.topics if t.type == JOINT_STATE})
            raise UsageError(
                f"'{file}' has no joint states on the topic '{name}' (--actuators, --joints), "
                f'found: {", ".join(known) or "none at all"}' + ''.join(f'; {n}' for n in notes)
            )
        if table.refused:
            notes.append(f"{table.refused} messages on '{name}' could not be used")
    first, second = tables.values()
    return Recording(first.series(), second.series(), in_rows=False), tuple(notes)


class _Table:
    """
    Positions of one topic, as they come.

    :param names: The robot's names by those in the messages.
    :param hint: What to do where the messages have others.
    """

    def __init__(self, names: Mapping[str, str], hint: str = '') -> None:
        self.rows: list[tuple[int, int, tuple[str, ...], np.ndarray]] = []
        self.refused = 0
        self._names = names
        self._hint = hint
        # By the names in a message, those of them that are known by their places there.
        self._known: dict[tuple[str, ...], dict[int, str]] = {}
        self._reader = JointStateReader()

    @property
    def is_foreign(self) -> bool:
        """Whether there are names in the messages, and none of them is known."""
        return any(self._known) and not any(self._known.values())

    @property
    def names_found(self) -> str:
        """What was expected and what was found, for a sentence."""
        found = tuple(dict.fromkeys(name for names in self._known for name in names))
        expected = shortened(tuple(self._names))
        return f'expected some of {expected}{self._hint}, found {shortened(found)}'

    def add(self, message: Message) -> None:
        try:
            data = self._decoded(message.data)
        except MessageError:
            self.refused += 1
            return
        known = self._known.get(data.names)
        if known is None:
            known = self._known[data.names] = {
                place: self._names[name]
                for place, name in enumerate(data.names)
                if name in self._names
            }
        if len(data.position) != len(data.names) or len(set(known.values())) < len(known):
            self.refused += 1
            return
        seconds, nanoseconds = data.stamp
        stamp = seconds * 10**9 + nanoseconds
        if known:
            position = np.array(data.position)[list(known)]
            self.rows.append((stamp, message.time, tuple(known.values()), position))

    def series(self) -> Series:
        stamped = all(stamp for stamp, _, _, _ in self.rows)
        layouts = dict.fromkeys(layout for _, _, layout, _ in self.rows)
        names = dict.fromkeys(name for layout in layouts for name in layout)
        places = {name: place for place, name in enumerate(names)}
        values = np.full((len(self.rows), len(names)), np.nan)
        for row, (_, _, layout, position) in enumerate(self.rows):
            values[row, [places[name] for name in layout]] = position
        values[~np.isfinite(values)] = np.nan
        times = [stamp if stamped else received for stamp, received, _, _ in self.rows]
        return Series(tuple(names), values, np.array(times, dtype=np.float64) * 1e-9)

    def _decoded(self, data: bytes) -> JointStateData:
        try:
            return self._reader.read(data)
        except MessageError:
            return read_unusual(data)
