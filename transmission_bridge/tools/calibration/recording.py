# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recordings of actuators and joints: tables, and topics of drivers and joint encoders.

The first row of a table names the columns. A column has the name of a joint or an actuator of the
robot, with or without the suffix ``.position``. If both a joint and an actuator have the name, it
is ``joint:NAME`` or ``actuator:NAME``. The column ``time`` [s] is optional. Other columns are
ignored. An empty cell or ``nan`` is a missing value. Positions are in [rad] or [m], or in the
units of the drivers.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
import contextlib
import csv
from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np

from transmission_bridge.bridge.states import unwrap_positions
from transmission_bridge.errors import counted, MessageError, shortened
from transmission_bridge.messages import JointStateReader, JointStateRecord
from transmission_bridge.tools.bags.csv_file import CsvRows, number, TOPIC
from transmission_bridge.tools.bags.files import open_source, read_unusual, Source
from transmission_bridge.tools.bags.model import JOINT_STATE, Message, UnusableFileError
from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.tools.robot import NAMES_HINT
from transmission_bridge.types import Array

#: Largest number of fitted rows. A longer recording is thinned evenly.
MOST_ROWS = 4_000

#: Largest gap for interpolation, in median distances of rows.
MAX_GAP = 5.0


@dataclass(frozen=True, eq=False)
class Series:
    """
    Positions over time, or of poses without times.

    :param names: One per column.
    :param values: Shape ``(rows, names)``, NaN if missing. Positions of actuators are in the units
        of their drivers until :meth:`convert_to_si`.
    :param time: Shape ``(rows,)`` [s], ``None`` without times.
    """

    names: tuple[str, ...]
    values: Array
    time: Array | None = None

    def select_columns(self, names: Sequence[str]) -> Array:
        """Return the columns of these names, NaN for a missing one."""
        rows = len(self.values)
        missing = np.full(rows, np.nan)
        places = {name: place for place, name in enumerate(self.names)}
        picked = [self.values[:, places[n]] if n in places else missing for n in names]
        return np.stack(picked, axis=1) if picked else np.empty((rows, 0))

    def unwrap_turns(self, periods: Mapping[str, float]) -> Series:
        """
        Return the series with counted turns of single-turn encoders, as in the bridge.

        :param periods: By name, in the unit of the values.
        """
        values = self.values.copy()
        own = np.array([periods.get(name, np.nan) for name in self.names])
        totals = np.full(len(own), np.nan)
        with np.errstate(invalid='ignore'):
            for row in values:
                unwrap_positions(row, totals, own)
        return Series(self.names, values, self.time)

    def convert_to_si(self, scales: Mapping[str, float]) -> Series:
        """Return the series in rad or m: values times the scale of their name (default 1)."""
        factors = np.array([scales.get(name, 1.0) for name in self.names])
        return Series(self.names, self.values * factors, self.time)


@dataclass(frozen=True, eq=False)
class Recording:
    """
    Positions of the actuators and the joints of a robot.

    :param in_rows: Whether row ``k`` of both was measured at the same time (a table).
    :param ignored: Names of unused columns.
    """

    actuators: Series
    joints: Series
    in_rows: bool
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Pairs:
    """
    Positions of actuators and joints at the same times.

    :param actuators: Shape ``(rows, n_actuators)``, all finite.
    :param joints: Shape ``(rows, n_joints)``, NaN if a joint was not measured.
    :param time: Shape ``(rows,)`` [s]; row numbers if the recording has no times.
    :param timed: Whether ``time`` is in seconds.
    """

    actuators: Array
    joints: Array
    time: Array
    timed: bool


def pair_sides(
    recording: Recording, actuator_names: Sequence[str], joint_names: Sequence[str]
) -> Pairs:
    """
    Pair the positions of actuators and joints by time.

    Rows of a table with both sides are used directly. If the sides were measured at different
    times, the actuators are interpolated at the times of the joints
    (:func:`interpolate_positions`). A long recording is thinned to :data:`MOST_ROWS`. Rows are in
    the order of time.

    :param actuator_names: Columns of the result; all of them are known in each row.
    :param joint_names: Columns of the result; at least one of them is known in each row.
    :raises ValueError: If series that were not measured in rows have no times.
    """
    a = recording.actuators.select_columns(actuator_names)
    q = recording.joints.select_columns(joint_names)
    time_a, time_q = recording.actuators.time, recording.joints.time
    known_a, known_q = np.isfinite(a).all(axis=1), np.isfinite(q).any(axis=1)
    time = np.arange(1.0, len(q) + 1.0) if time_q is None else time_q
    if recording.in_rows and (time_a is None or 2 * (known_a & known_q).sum() >= known_q.sum()):
        kept = known_a & known_q
    elif time_a is None or time_q is None:
        raise ValueError('series that are not in rows need times')
    else:
        known_a &= np.isfinite(time_a)
        a = interpolate_positions(time_a[known_a], a[known_a], time)
        kept = known_q & np.isfinite(a).all(axis=1)
    rows = np.flatnonzero(kept & np.isfinite(time))
    rows = rows[np.argsort(time[rows], kind='stable')]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)]
    return Pairs(a[rows], q[rows], time[rows], time_q is not None)


def interpolate_positions(time: Array, values: Array, at: Array) -> Array:
    """
    Interpolate values at other times by cubic splines.

    The error of linear interpolation, ``acceleration * step**2 / 8``, is larger than the noise of
    a good encoder.

    :param time: Shape ``(rows,)``.
    :param values: Shape ``(rows, n)``.
    :returns: NaN outside the times, and in gaps of more than :data:`MAX_GAP` times the median
        distance.
    """
    found = np.full((len(at), values.shape[1]), np.nan)
    time, order = np.unique(time, return_index=True)
    values, steps = values[order], np.diff(time)
    limit = MAX_GAP * float(np.median(steps)) if len(steps) else np.inf
    spline = optional('scipy.interpolate', 'calibrate').make_interp_spline
    for part in np.split(np.arange(len(time)), np.flatnonzero(steps > limit) + 1):
        inside = (at >= time[part].min(initial=np.inf)) & (at <= time[part].max(initial=-np.inf))
        if inside.any():
            degree = min(3, len(part) - 1)
            found[inside] = spline(time[part], values[part], degree)(at[inside])
    return found


def read_bag(
    file: str,
    actuators: str,
    joints: str,
    actuator_names: Mapping[str, str],
    joint_names: Collection[str],
) -> tuple[Recording, tuple[str, ...]]:
    """
    Read two topics of joint states.

    Times are the stamps of the headers. If a topic has zero stamps, they are the times of receipt.

    :param file: A folder of rosbag2, or a file .mcap, .db3, or .csv with a column of topics.
    :param actuators: Topic with the positions of actuators.
    :param joints: Topic with the positions of joints.
    :param actuator_names: Actuators of the robot by their names in the recording.
    :param joint_names: Joints of the robot.
    :returns: The recording, and sentences about its unreadable parts.
    :raises UsageError: If the file cannot be read, a topic is missing, or a topic has only unknown
        names.
    """
    try:
        with contextlib.closing(open_source(file, actuators)) as source:
            tables = {
                actuators.strip('/'): _TopicTable(actuator_names),
                joints.strip('/'): _TopicTable({name: name for name in joint_names}),
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
    file: str, source: Source, tables: Mapping[str, _TopicTable]
) -> tuple[Recording, tuple[str, ...]]:
    problems: list[str] = []
    for message in source.messages(problems.append):
        table = tables.get(message.topic.name.strip('/'))
        if table is not None and message.topic.type == JOINT_STATE:
            table.add_message(message)
    notes = [f"'{file}' is damaged ({each}); its readable part is used" for each in problems[:1]]
    for name, table in tables.items():
        if table.foreign and not table.rows:
            raise UsageError(
                f"'{file}': the topic '{name}' has only unknown names: expected some of "
                f'{shortened(tuple(table.names))} ({NAMES_HINT}), found '
                f'{shortened(tuple(table.foreign))}'
            )
        if not table.rows:
            known = sorted({t.name for t in source.topics if t.type == JOINT_STATE})
            raise UsageError(
                f"'{file}' has no joint states on the topic '{name}' (--actuators, --joints), "
                f'found: {", ".join(known) or "none"}' + ''.join(f'; {n}' for n in notes)
            )
        if table.refused:
            notes.append(f"{counted(table.refused, 'message')} on '{name}' could not be used")
    first, second = tables.values()
    return Recording(first.build_series(), second.build_series(), in_rows=False), tuple(notes)


class _TopicTable:
    """
    Positions of one topic, message by message.

    :param names: Names of the robot by names in messages.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names, self.refused = names, 0
        self.foreign: dict[str, None] = {}
        self.rows: list[tuple[int, int, dict[str, float]]] = []
        self._reader = JointStateReader()

    def add_message(self, message: Message) -> None:
        try:
            try:
                data: JointStateRecord = self._reader.read_message(message.data)
            except MessageError:
                data = read_unusual(message.data)
        except MessageError:
            self.refused += 1
            return
        known = [name for name in data.names if name in self.names]
        pairs = zip(data.names, data.position, strict=False)
        row = {self.names[name]: x for name, x in pairs if name in self.names}
        if len(data.position) != len(data.names) or len(row) < len(known):
            self.refused += 1
        elif row:
            seconds, nanoseconds = data.stamp
            self.rows.append((seconds * 10**9 + nanoseconds, message.time, row))
        else:
            self.foreign.update(dict.fromkeys(data.names))

    def build_series(self) -> Series:
        names = tuple(dict.fromkeys(name for *_, row in self.rows for name in row))
        values = np.array([[row.get(name, np.nan) for name in names] for *_, row in self.rows])
        values[~np.isfinite(values)] = np.nan
        stamped = all(stamp for stamp, *_ in self.rows)
        times = [stamp if stamped else received for stamp, received, _ in self.rows]
        return Series(names, values, np.array(times, dtype=np.float64) * 1e-9)


def read_csv(
    file: str, actuator_names: Mapping[str, str], joint_names: Collection[str]
) -> Recording:
    """
    Read a table.

    :param file: Path of the file.
    :param actuator_names: Actuators of the robot by their names in the table.
    :param joint_names: Joints of the robot.
    :raises UsageError: If the file cannot be read, a row is damaged, or a name is given twice or
        is ambiguous.
    """
    try:
        with contextlib.closing(CsvRows(file)) as rows:
            return _parse_table(file, rows, actuator_names, joint_names)
    except (OSError, csv.Error, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{file}' as a table: {reason}") from None


def _parse_table(
    file: str,
    rows: Iterable[list[str]],
    actuator_names: Mapping[str, str],
    joint_names: Collection[str],
) -> Recording:
    iterator = iter(rows)
    header = [name.strip() for name in next(iterator, [])]
    sides_of = {'actuator': actuator_names, 'joint': {name: name for name in joint_names}}
    roles = [_find_column_role(name, sides_of) for name in header]
    used = [role for role in roles if role[0]]
    for side, name in used:
        if used.count((side, name)) > 1:
            raise UsageError(f"'{file}': {side} '{name}' has more than one column")
    for side, names in sides_of.items():
        if side not in dict(used):
            raise UsageError(
                f"'{file}' has no column of {side}s: the first row should name some of "
                + shortened(list(names)) + (f' ({NAMES_HINT})' if side == 'actuator' else '')
            )  # fmt: skip
    places = [place for place, role in enumerate(roles) if role[0]]
    cells = array('d')
    for row_number, row in enumerate(iterator, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise UsageError(
                f"'{file}', row {row_number}: expected {counted(len(header), 'cell')}, "
                f'found {len(row)}'
            )
        for place in places:
            cells.append(_parse_cell(file, row_number, header[place], row[place]))
    table = np.array(cells, dtype=np.float64).reshape(-1, len(places))
    sides = [side for side, _ in used]
    time = table[:, sides.index('time')] if 'time' in sides else None

    def series(side: str) -> Series:
        chosen = [place for place, each in enumerate(sides) if each == side]
        return Series(tuple(used[place][1] for place in chosen), table[:, chosen], time)

    rest = tuple(name for name, role in zip(header, roles, strict=True) if not role[0])
    return Recording(series('actuator'), series('joint'), in_rows=True, ignored=rest)


def _find_column_role(name: str, sides: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """Return the side of a column and its name in the URDF; empty texts if it is unused."""
    for text in (name, name.removesuffix('.position')):
        found = [
            (side, names[given])
            for side, names in sides.items()
            for given in (text, text.removeprefix(f'{side}:'))
            if given in names
        ]
        if len(set(found)) > 1:
            raise UsageError(
                f"column '{text}' names a joint and an actuator: write 'joint:{text}' or "
                f"'actuator:{text}'"
            )
        if found:
            return found[0]
    return ('time' if name.lower() in ('time', 't') else ''), ''


def _parse_cell(file: str, row: int, column: str, text: str) -> float:
    try:
        value = number(text) if text.strip() else math.nan
    except ValueError as error:
        raise UsageError(f"'{file}', row {row}, column '{column}': {error}") from None
    return value if math.isfinite(value) else math.nan


def has_topic_column(file: str) -> bool:
    """Whether a table has a column of topics, and is a recording of messages."""
    try:
        with contextlib.closing(CsvRows(file)) as rows:
            return TOPIC in [name.strip() for name in next(rows, [])]
    except (OSError, csv.Error, ValueError):
        return False  # reading it raises the error
