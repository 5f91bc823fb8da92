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

from transmission_bridge.bridge.turns import unwrap_positions
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.tools.bags.csv_file import CsvRows, number, TOPIC
from transmission_bridge.tools.bags.files import open_source, read_unusual, Source
from transmission_bridge.tools.bags.model import JOINT_STATE, Message, UnusableFileError
from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.tools.robot import NAMES_HINT
from transmission_bridge.types import Array

#: Largest number of fitted rows. A longer recording with times is thinned to rows at a distance of
#: :data:`CLOSE` [s], in :data:`STRETCHES` stretches.
MOST_ROWS, CLOSE, STRETCHES = 4_000, 0.02, 40

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
    (:func:`interpolate_positions`). A long recording is thinned to :data:`MOST_ROWS`.

    :param actuator_names: Columns of the result; all of them are known in each row.
    :param joint_names: Columns of the result; at least one of them is known in each row.
    :raises ValueError: If series that were not measured in rows have no times.
    """
    a = recording.actuators.select_columns(actuator_names)
    q = recording.joints.select_columns(joint_names)
    time_a, time_q = recording.actuators.time, recording.joints.time
    known_a, known_q = np.isfinite(a).all(axis=1), np.isfinite(q).any(axis=1)
    if recording.in_rows:
        both = known_a & known_q
        if time_a is None or 2 * np.count_nonzero(both) >= np.count_nonzero(known_q):
            time = np.arange(1.0, len(a) + 1.0) if time_a is None else time_a
            return _thin_rows(a[both], q[both], time[both], time_a is not None)
    if time_a is None or time_q is None:
        raise ValueError('series that are not in rows need times')
    time_a, a = _sort_by_time(time_a[known_a], a[known_a])
    time_q, q = _sort_by_time(time_q[known_q], q[known_q])
    positions = interpolate_positions(time_a, a, time_q)
    inside = np.isfinite(positions).all(axis=1)
    return _thin_rows(positions[inside], q[inside], time_q[inside], True)


def _thin_rows(actuators: Array, joints: Array, time: Array, timed: bool) -> Pairs:
    # Evenly spread rows of a long recording would be too far apart for the direction of motion.
    rows = len(time)
    chosen = np.arange(rows)
    if timed and rows > MOST_ROWS:
        step = float(np.median(np.diff(time)))
        chosen = chosen[:: max(1, int(CLOSE / step)) if step > 0.0 else 1]
    if len(chosen) > MOST_ROWS:
        count, length = (STRETCHES, MOST_ROWS // STRETCHES) if timed else (MOST_ROWS, 1)
        starts = np.linspace(0, len(chosen) - length, count).astype(np.intp)
        chosen = chosen[(starts[:, np.newaxis] + np.arange(length)).ravel()]
    return Pairs(actuators[chosen], joints[chosen], time[chosen], timed)


def interpolate_positions(time: Array, values: Array, at: Array) -> Array:
    """
    Interpolate values at other times by cubic splines.

    The error of linear interpolation, ``acceleration * step**2 / 8``, is larger than the noise of
    a good encoder.

    :param time: Shape ``(rows,)``, ascending.
    :param values: Shape ``(rows, n)``.
    :returns: NaN outside the times, and in gaps of more than :data:`MAX_GAP` times the median
        distance.
    """
    found = np.full((len(at), values.shape[1]), np.nan)
    steps = np.diff(time, prepend=-np.inf)
    time, values, steps = time[steps > 0.0], values[steps > 0.0], steps[steps > 0.0]
    limit = MAX_GAP * float(np.median(steps[1:])) if len(time) > 1 else np.inf
    spline = optional('scipy.interpolate', 'calibrate').make_interp_spline
    for part in np.split(np.arange(len(time)), np.flatnonzero(steps[1:] > limit) + 1):
        inside = (at >= time[part].min(initial=np.inf)) & (at <= time[part].max(initial=-np.inf))
        if inside.any():
            degree = min(3, len(part) - 1)
            found[inside] = spline(time[part], values[part], degree)(at[inside])
    return found


def _sort_by_time(time: Array, values: Array) -> tuple[Array, Array]:
    order = np.argsort(time, kind='stable')[: np.count_nonzero(np.isfinite(time))]
    return time[order], values[order]


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
                actuators.strip('/'): _TopicTable(actuator_names, f' ({NAMES_HINT})'),
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
        if table.is_foreign:
            raise UsageError(
                f"'{file}': the topic '{name}' has only unknown names: {table.name_mismatch}"
            )
        if not table.rows:
            known = sorted({t.name for t in source.topics if t.type == JOINT_STATE})
            raise UsageError(
                f"'{file}' has no joint states on the topic '{name}' (--actuators, --joints), "
                f'found: {", ".join(known) or "none"}' + ''.join(f'; {n}' for n in notes)
            )
        if table.refused:
            notes.append(f"{table.refused} messages on '{name}' could not be used")
    first, second = tables.values()
    return Recording(first.build_series(), second.build_series(), in_rows=False), tuple(notes)


class _TopicTable:
    """
    Positions of one topic, message by message.

    :param names: Names of the robot by names in messages.
    :param hint: Advice for messages with other names.
    """

    def __init__(self, names: Mapping[str, str], hint: str = '') -> None:
        self.rows: list[tuple[int, int, tuple[str, ...], np.ndarray]] = []
        self.refused = 0
        self._names = names
        self._hint = hint
        # Known names by their indices in a message, for each tuple of names in messages.
        self._known: dict[tuple[str, ...], dict[int, str]] = {}
        self._reader = JointStateReader()

    @property
    def is_foreign(self) -> bool:
        """Whether the messages have names, all of them unknown."""
        return any(self._known) and not any(self._known.values())

    @property
    def name_mismatch(self) -> str:
        """Expected and found names, for a sentence."""
        found = tuple(dict.fromkeys(name for names in self._known for name in names))
        expected = shortened(tuple(self._names))
        return f'expected some of {expected}{self._hint}, found {shortened(found)}'

    def add_message(self, message: Message) -> None:
        try:
            try:
                data: JointStateRecord = self._reader.read_message(message.data)
            except MessageError:
                data = read_unusual(message.data)
        except MessageError:
            self.refused += 1
            return
        known = self._known.setdefault(
            data.names,
            {place: self._names[n] for place, n in enumerate(data.names) if n in self._names},
        )
        if len(data.position) != len(data.names) or len(set(known.values())) < len(known):
            self.refused += 1
        elif known:
            seconds, nanoseconds = data.stamp
            position = np.array(data.position)[list(known)]
            stamp = seconds * 10**9 + nanoseconds
            self.rows.append((stamp, message.time, tuple(known.values()), position))

    def build_series(self) -> Series:
        names = tuple(dict.fromkeys(name for _, _, layout, _ in self.rows for name in layout))
        places = {name: place for place, name in enumerate(names)}
        values = np.full((len(self.rows), len(names)), np.nan)
        for row, (_, _, layout, position) in enumerate(self.rows):
            values[row, [places[name] for name in layout]] = position
        values[~np.isfinite(values)] = np.nan
        stamped = all(stamp for stamp, _, _, _ in self.rows)
        times = [stamp if stamped else received for stamp, received, _, _ in self.rows]
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
    roles = [_find_column_role(name, actuator_names, joint_names) for name in header]
    used = [role for role in roles if role[0]]
    for role in used:
        if used.count(role) > 1:
            raise UsageError(f"'{file}': {role[0]} '{role[1]}' has more than one column")
    for side in ('actuator', 'joint'):
        if not any(role[0] == side for role in used):
            raise UsageError(
                f"'{file}' has no column of {side}s: the first row should name some of "
                + shortened(list(actuator_names if side == 'actuator' else joint_names))
                + (f' ({NAMES_HINT})' if side == 'actuator' else '')
            )
    places = [place for place, role in enumerate(roles) if role[0]]
    cells = array('d')
    for row_number, row in enumerate(iterator, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise UsageError(
                f"'{file}', row {row_number}: expected {len(header)} cells, found {len(row)}"
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


def _find_column_role(
    name: str, actuators: Mapping[str, str], joints: Collection[str]
) -> tuple[str, str]:
    """Return the kind of a column and its joint or actuator; empty texts if it is unused."""
    if name not in actuators and name not in joints:
        name = name.removesuffix('.position')
    side, _, prefixed = name.partition(':')
    if side == 'actuator' and prefixed in actuators:
        return side, actuators[prefixed]
    if side == 'joint' and prefixed in joints:
        return side, prefixed
    if name in actuators and name in joints:
        raise UsageError(
            f"column '{name}' names a joint and an actuator: write 'joint:{name}' or "
            f"'actuator:{name}'"
        )
    if name in actuators:
        return 'actuator', actuators[name]
    if name in joints:
        return 'joint', name
    if name.lower() in ('time', 't'):
        return 'time', ''
    return '', ''


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
