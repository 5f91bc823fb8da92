# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The output of ``watch``: all lines, or pages that fit a terminal, selected by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatch
import math
import re
import sys
import textwrap
import time

from transmission_bridge.bridge.diagnostics import ERROR, WARN
from transmission_bridge.errors import shortened
from transmission_bridge.tools.cli import columns_of, Console, live_table, optional, printable
from transmission_bridge.tools.keys import open_keys
from transmission_bridge.tools.watch_state import AGE, CLAMPED, WatchRow, WatchState

#: A line of text, and its style as rich names it.
Line = tuple[str, str]

#: The columns after the name, and their widths.
_WIDTHS = {
    **dict.fromkeys(('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF'), 10),
    **{AGE: 7, CLAMPED: 7, 'UNITS': 24, 'UNKNOWN': 24},
}

#: Columns in the order in which a narrow terminal omits them; the position always stays. Long
#: names are shortened before the essential columns are omitted.
_OMITTED_FIRST = ('UNITS', CLAMPED, 'CMD EFF', 'CMD VEL', 'EFF', 'VEL', 'UNKNOWN', 'CMD POS', AGE)
_ESSENTIAL = ('CMD POS', AGE)

#: Minimum width of a name, and the gap between columns.
_NAME, _GAP = 12, 2

#: Seconds without a message after which a row is dim.
_STALE = 0.5

_LEGEND = f'dim: older than {_STALE:g} s   yellow: commands clamped, warning   red: error'

#: Names of levels in ROS.
_LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

_NEXT, _BACK = ('n', ' ', '\x1b[6~', '\x1b[C'), ('p', 'b', '\x1b[5~', '\x1b[D')
_ENTER, _ESCAPE, _DELETE = ('\r', '\n'), '\x1b', ('\x7f', '\b')


@dataclass
class Pager:
    """
    The rows that are shown, selected by the user's keys.

    :param pattern: Part of a name, with ``*`` and ``?`` as in a shell; case does not matter.
    :ivar page: Number of the page from 0, modulo the number of pages.
    :ivar is_typing: Whether keys are added to the pattern.
    :ivar is_over: Whether the user has quit.
    """

    pattern: str = ''
    page: int = 0
    is_typing: bool = False
    is_over: bool = False

    def handle_keys(self, keys: str) -> None:
        """Handle keys in a terminal's encoding; unknown keys are ignored."""
        for key in re.findall(r'\x1b\[[0-9;]*[A-Za-z~]|.', keys, re.DOTALL):
            if key == _ESCAPE or (key == '/' and not self.is_typing):
                self.pattern, self.page, self.is_typing = '', 0, key == '/'
            elif key in _ENTER:
                self.is_typing = False
            elif self.is_typing:
                typed = self.pattern + key if key.isprintable() else self.pattern
                self.pattern, self.page = typed[:-1] if key in _DELETE else typed, 0
            elif key == 'q':
                self.is_over = True
            else:
                self.page += (key in _NEXT) - (key in _BACK)

    def filter_rows(self, rows: Sequence[WatchRow]) -> list[WatchRow]:
        """Return the rows that match the pattern."""
        pattern = f'*{self.pattern.lower()}*'
        return [row for row in rows if fnmatch(row.name.lower(), pattern)]

    def format_status(self, count: int, pages: int) -> str:
        """Return the selection, the page and the meaning of keys."""
        if self.is_typing:
            return f'filter: {self.pattern}_   Enter: keep   Esc: all'
        parts = [f"{count} of '{self.pattern}'"] * bool(self.pattern)
        parts += [f'page {self.page + 1} of {pages}', 'n p: turn'] * (pages > 1)
        return '   '.join([*parts, 'Esc: all' if self.pattern else '/: filter', 'q: end'])


# -- The lines -----------------------------------------------------------------------------------


def make_screen(
    state: WatchState,
    now: float,
    top: Sequence[Line],
    pager: Pager,
    size: tuple[int, int] | None = None,
) -> list[Line]:
    """
    Return the lines of a page that fits a terminal, or all lines.

    Troubles are at the top, because a terminal cuts off the bottom, and use at most half of the
    page. Rows, topics, and the meaning of keys and colours follow.

    :param top: First lines.
    :param pager: Selects the rows; its page number is updated.
    :param size: Columns and lines of the page, at least eight lines.
    """
    lines = list(top)
    for level, finding in state.list_findings():
        words = f'{_LEVELS.get(level, "STALE")} {finding}'
        lines.append((words, 'red' if level >= ERROR else 'yellow'))
    lines = [(printable(text), style) for text, style in lines]
    rows = pager.filter_rows(state.make_rows(now))
    topics = []
    for topic in state.topics:
        age, rate = state.compute_age(topic, now), state.compute_rate(topic, now)
        latest = 'no message yet' if age is None else f'{rate:.0f} Hz, {age:.2f} s ago'
        topics.append(f'{topic}: {latest}')
    if size is None:
        table = _format_table(rows, *_choose_columns(rows, math.inf))
        blocks = [lines, table, [(text, '') for text in topics]]
        return [line for block in blocks if block for line in (*block, ('', ''))]
    width, height = size
    lines = [(part, style) for text, style in lines for part in textwrap.wrap(text, width)]
    if len(lines) > height // 2:
        kept = height // 2 - 1
        more = f'... {len(lines) - kept} more lines: transmission_bridge watch --once shows all'
        lines[kept:] = [(more, 'bold red')]
    # Without two headings and the lines about keys and colours.
    room = height - len(lines) - 4
    columns, names = _choose_columns(rows, width)
    texts = [] if 'UNITS' in columns else _list_units(rows)
    units = [part for text in texts for part in textwrap.wrap(text, width, subsequent_indent='  ')]
    units = units[: max(room // 3, 0)]
    room -= len(units)
    joined = textwrap.wrap('; '.join(topics), width)[: max(room // 3, 0)][:3]
    room = max(room - len(joined), 1)
    pages = max(-(-len(rows) // room), 1)
    pager.page %= pages
    lines += _format_table(rows[pager.page * room :][:room], columns, names)
    lines += [(text, '') for text in units]
    lines += [*((text, 'dim') for text in joined), (pager.format_status(len(rows), pages), 'bold')]
    return [(text[:width], style) for text, style in [*lines, (_LEGEND, 'dim')]]


def _list_units(rows: Sequence[WatchRow]) -> list[str]:
    """Return lines with the units of drivers, for a table without their column."""
    actuators = [row for row in rows if row.kind == 'actuator']
    names: dict[str, list[str]] = {}
    for row in actuators:
        if row.units:
            names.setdefault(printable(row.units), []).append(row.name)
    lines = []
    for units, own in names.items():
        which = 'actuators' if len(own) == len(actuators) else shortened(own)
        lines.append(f'POS, VEL, EFF of {which}: {units}')
    return lines


def _choose_columns(rows: Sequence[WatchRow], width: float) -> tuple[list[str], int]:
    """Return the columns that fit, and the width of the names; the same for every page."""
    cells = [_format_cells(row) for row in rows]
    used = {column for each in cells for column in each}
    longest = max((columns_of(printable(row.name)) for row in rows), default=0)
    columns = [column for column in _WIDTHS if column in used]

    room = width - sum(_GAP + _WIDTHS[column] for column in columns)
    for column in _OMITTED_FIRST:
        if column in columns and room < (_NAME if column in _ESSENTIAL else longest):
            columns.remove(column)
            room += _GAP + _WIDTHS[column]
    return columns, int(min(longest, max(room, _NAME)))


def _format_table(shown: Sequence[WatchRow], columns: Sequence[str], names: int) -> list[Line]:
    """
    Return the lines of rows.

    :param names: Width of the names.
    """

    def format_line(name: str, texts: Mapping[str, str]) -> str:
        if columns_of(name) > names:  # omit its middle: both ends distinguish it
            end = (names - 1) // 2
            name = f'{name[: names - 1 - end]}…{name[-end:]}'
        numbers = [f'{texts.get(each, "-"):>{_GAP + _WIDTHS[each]}}' for each in columns]
        return name + ' ' * (names - columns_of(name)) + ''.join(numbers)

    lines: list[Line] = []
    kind = ''
    for row in shown:
        if row.kind != kind:
            kind = row.kind
            lines.append((format_line(kind.upper(), {each: each for each in columns}), 'bold'))
        is_old = row.numbers.get(AGE, math.inf) > _STALE
        style = 'dim' if is_old else 'yellow' if CLAMPED in row.numbers else ''
        lines.append((format_line(printable(row.name), _format_cells(row)), style))
    return lines


def _format_cells(row: WatchRow) -> dict[str, str]:
    """Return the texts of a row by column."""
    cells = {column: _format_value(column, value) for column, value in row.numbers.items()}
    texts = {'UNITS': row.units, 'UNKNOWN': row.unknown}
    return cells | {key: printable(text)[: _WIDTHS[key]] for key, text in texts.items() if text}


def _format_value(column: str, value: float) -> str:
    digits = {CLAMPED: 0, AGE: 2}.get(column, 4)
    # Adding zero turns -0.0 into 0.0.
    text = f'{round(value, digits) + 0.0:.{digits}f}'
    return text if len(text) <= _WIDTHS[column] else f'{value:.3g}'


# -- The terminal --------------------------------------------------------------------------------


@contextmanager
def open_screen(
    state: WatchState, console: Console, *, is_plain: bool, pattern: str = ''
) -> Iterator[tuple[Callable[[Sequence[Line]], bool], bool]]:
    """
    Yield a function that shows the state, and whether it updates a terminal in place.

    The argument of the function is lines to show first; it returns whether the user has quit.

    :param is_plain: Whether to print all lines also on a terminal.
    :param pattern: Selects rows, as in :class:`Pager`.
    """
    pager = Pager(pattern)
    with (
        nullcontext() if is_plain else live_table(console) as live,
        open_keys(live and sys.stdin) as read_keys,
    ):

        def show_state(top: Sequence[Line]) -> bool:
            pager.handle_keys(read_keys())
            now = time.monotonic()
            if live is None:
                for line, _ in make_screen(state, now, top, pager):
                    console.out.line(line)
                console.out.flush()
                return False
            # Without the last line of the terminal, because writing it would scroll.
            size = live.console.size
            lines = make_screen(state, now, top, pager, (size.width, size.height - 1))
            # As Text, because rich interprets brackets in a str as a style.
            text, group = optional('rich.text', 'cli').Text, optional('rich.console', 'cli').Group
            texts = [text(*line, no_wrap=True, overflow='crop') for line in lines]
            live.update(group(*texts), refresh=True)
            return pager.is_over

        yield show_state, live is not None
