# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recordings as tables of comma-separated values.

The first row names the columns. A column is a joint or an actuator of the robot by its name, with
or without ``.position`` behind it; ``joint:NAME`` and ``actuator:NAME`` where a name is both; the
column ``time`` [s] is optional. Other columns are ignored. An empty cell or ``nan`` is a value
that was not measured. Positions are in [rad] or [m].
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
import csv
import math

import numpy as np

from transmission_bridge.tools.bridge_setup import NAMES_HINT
from transmission_bridge.tools.calibration.recording import Recording, Series
from transmission_bridge.tools.command import UsageError

__all__ = ['has_topics', 'read_csv']

_TIMES = ('time', 't')


def read_csv(
    file: str, actuator_names: Mapping[str, str], joint_names: Collection[str]
) -> Recording:
    """
    Read a table.

    :param file: Path of the file.
    :param actuator_names: The robot's actuators by the names that they have in the table.
    :param joint_names: Names of its joints.
    :raises UsageError: If it cannot be read, a row is damaged, or a name is given twice or could
        be both.
    """
    try:
        with open(file, newline='', encoding='utf-8-sig') as lines:
            return _parsed(file, csv.reader(lines), actuator_names, joint_names)
    except (OSError, csv.Error, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise UsageError(f"cannot read '{file}' as a table: {reason}") from None


def _parsed(
    file: str,
    rows: Iterable[list[str]],
    actuator_names: Mapping[str, str],
    joint_names: Collection[str],
) -> Recording:
    iterator = iter(rows)
    header = [name.strip() for name in next(iterator, [])]
    roles = [_role(name, actuator_names, joint_names) for name in header]
    used = [role for role in roles if role[0]]
    for role in used:
        if used.count(role) > 1:
            raise UsageError(f"'{file}': {role[0]} '{role[1]}' has more than one column")
    for side in ('actuator', 'joint'):
        if not any(role[0] == side for role in used):
            raise UsageError(
                f"'{file}' has no column of {side}s: the first row should name some of "
                + _few(actuator_names if side == 'actuator' else joint_names)
                + (f' ({NAMES_HINT})' if side == 'actuator' else '')
            )
    places = [place for place, role in enumerate(roles) if role[0]]
    cells = array('d')
    for number, row in enumerate(iterator, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise UsageError(
                f"'{file}', row {number}: expected {len(header)} cells, found {len(row)}"
            )
        for place in places:
            cells.append(_number(file, number, header[place], row[place]))
    table = np.array(cells, dtype=np.float64).reshape(-1, len(places))
    return _split(used, table, [n for n, role in zip(header, roles, strict=True) if not role[0]])


def _split(used: Sequence[tuple[str, str]], table: np.ndarray, rest: list[str]) -> Recording:
    def series(side: str) -> Series:
        chosen = [place for place, role in enumerate(used) if role[0] == side]
        names = tuple(used[place][1] for place in chosen)
        times = [place for place, role in enumerate(used) if role[0] == 'time']
        time = table[:, times[0]] if times else None
        return Series(names, table[:, chosen], time)

    return Recording(series('actuator'), series('joint'), in_rows=True, ignored=tuple(rest))


def _role(name: str, actuators: Mapping[str, str], joints: Collection[str]) -> tuple[str, str]:
    """Return what a column is, and of what; two empty texts for one that is not used."""
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
    if name.lower() in _TIMES:
        return 'time', ''
    return '', ''


def _number(file: str, row: int, column: str, text: str) -> float:
    try:
        value = float(text) if text.strip() else math.nan
    except ValueError:
        raise UsageError(
            f"'{file}', row {row}, column '{column}': expected a number, found '{text}'"
        ) from None
    return value if math.isfinite(value) else math.nan


def _few(names: Collection[str]) -> str:
    shown = list(names)[:4]
    return ', '.join(shown) + (', ...' if len(names) > len(shown) else '')


def has_topics(file: str) -> bool:
    """Whether a table has a column of topics: it is then a recording of messages."""
    try:
        with open(file, newline='', encoding='utf-8-sig') as lines:
            return 'topic' in [name.strip() for name in next(csv.reader(lines), [])]
    except (OSError, csv.Error, ValueError):
        return False  # reading it says why
