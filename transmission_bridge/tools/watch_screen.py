# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``watch`` shows: all lines, or pages that fit a terminal and are turned by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatch
import math
import os
import re
import select
import sys
import textwrap
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import ERROR, WARN
from transmission_bridge.tools.cli import columns_of, Console, live_table, optional, printable
from transmission_bridge.tools.watch_state import AGE, CLAMPED, Row, WatchState

#: A line of text, and its style as rich names it.
Line = tuple[str, str]

#: The columns behind the name, and the width of each.
_WIDTHS = {
    **dict.fromkeys(('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF'), 10),
    **{AGE: 7, CLAMPED: 7, 'UNITS': 24},
}

#: Columns in the order in which they give way on a narrow terminal; the position stays. The last
#: ones are worth more than the middle of a long name.
_GIVING_WAY = ('UNITS', CLAMPED, 'CMD EFF', 'CMD VEL', 'EFF', 'VEL', 'CMD POS', AGE)
_ESSENTIAL = ('CMD POS', AGE)

#: Least width of a name, and the gap between columns.
_NAME, _GAP = 12, 2

#: Seconds without a message after which a row is old.
_STALE = 0.5

_LEGEND = f'dim: older than {_STALE:g} s   yellow: commands clamped, warning   red: error'

#: Words of levels, as ROS has them.
_LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

_NEXT, _BACK = ('n', ' ', '\x1b[6~', '\x1b[C'), ('p', 'b', '\x1b[5~', '\x1b[D')
_ENTER, _ESCAPE, _DELETE = ('\r', '\n'), '\x1b', ('\x7f', '\b')


@dataclass
class Pager:
    """
    Which rows are shown, as the user's keys say.

    :param pattern: Part of a name, with ``*`` and ``?`` as in a shell; case does not matter.
    :ivar page: Number of the page from 0; negative or too large: counted from the last.
    :ivar is_typing: Whether keys are letters of the pattern.
    :ivar is_over: Whether the user asked for the end.
    """

    pattern: str = ''
    page: int = 0
    is_typing: bool = False
    is_over: bool = False

    def press(self, keys: str) -> None:
        """Follow keys as a terminal sends them; unknown ones do nothing."""
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

    def chosen(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that match the pattern."""
        pattern = f'*{self.pattern.lower()}*'
        return [row for row in rows if fnmatch(row.name.lower(), pattern)]

    def line(self, count: int, pages: int) -> str:
        """Return what is shown, and what keys do."""
        if self.is_typing:
            return f'filter: {self.pattern}_   Enter: keep   Esc: all'
        parts = [f"{count} of '{self.pattern}'"] * bool(self.pattern)
        parts += [f'page {self.page + 1} of {pages}', 'n p: turn'] * (pages > 1)
        return '   '.join([*parts, 'Esc: all' if self.pattern else '/: filter', 'q: end'])


# -- The lines -----------------------------------------------------------------------------------


def screen(
    state: WatchState,
    now: float,
    top: Sequence[Line],
    pager: Pager,
    size: tuple[int, int] | None = None,
) -> list[Line]:
    """
    Return the lines of a page that fits a terminal, or all lines.

    What is wrong stands on top and takes half of a page at most, because a terminal cuts off
    the bottom; then come the rows, the topics, and what the keys and colours mean.

    :param top: Lines above all.
    :param pager: Which rows are shown; keeps the number of the page.
    :param size: Columns and lines of the page, at least eight lines.
    """
    lines = list(top)
    for each in state.troubles():
        words = f'{_LEVELS.get(each.level, "STALE")} {each.name}: {each.message}'
        lines.append((words, 'red' if each.level >= ERROR else 'yellow'))
    lines = [(printable(text), style) for text, style in lines]
    rows = pager.chosen(state.rows(now))
    topics = [_topic(state, topic, now) for topic in state.topics]
    if size is None:
        blocks = [lines, _table(rows, rows, math.inf), [(text, '') for text in topics]]
        return [line for block in blocks if block for line in (*block, ('', ''))]
    width, height = size
    lines = [(part, style) for text, style in lines for part in textwrap.wrap(text, width)]
    if len(lines) > height // 2:
        kept = height // 2 - 1
        more = f'... {len(lines) - kept} more lines: transmission_bridge watch --once shows all'
        lines[kept:] = [(more, 'bold red')]
    # What is left by two headings and the lines about keys and colours.
    room = height - len(lines) - 4
    joined = textwrap.wrap('; '.join(topics), width)[: max(room // 3, 0)][:3]
    room = max(room - len(joined), 1)
    pages = max(-(-len(rows) // room), 1)
    pager.page %= pages
    lines += _table(rows, rows[pager.page * room :][:room], width)
    lines += [*((text, 'dim') for text in joined), (pager.line(len(rows), pages), 'bold')]
    return [(text[:width], style) for text, style in [*lines, (_LEGEND, 'dim')]]


def _table(rows: Sequence[Row], shown: Sequence[Row], width: float) -> list[Line]:
    """Return lines of rows; the columns are those of all, so that they stay from page to page."""
    cells = [_cells(row) for row in rows]
    used = {column for each in cells for column in each}
    longest = max((columns_of(printable(row.name)) for row in rows), default=0)
    columns = [column for column in _WIDTHS if column in used]

    def room() -> float:
        return width - sum(_GAP + _WIDTHS[column] for column in columns)

    for column in _GIVING_WAY:
        if column in columns and room() < (_NAME if column in _ESSENTIAL else longest):
            columns.remove(column)
    names = int(min(longest, max(room(), _NAME)))

    def line(name: str, texts: Mapping[str, str]) -> str:
        if columns_of(name) > names:  # its middle is left out: both ends tell
            end = (names - 1) // 2
            name = f'{name[: names - 1 - end]}…{name[-end:]}'
        numbers = [f'{texts.get(each, "-"):>{_GAP + _WIDTHS[each]}}' for each in columns]
        return name + ' ' * (names - columns_of(name)) + ''.join(numbers)

    lines: list[Line] = []
    kind = ''
    for row in shown:
        if row.kind != kind:
            kind = row.kind
            lines.append((line(kind.upper(), {column: column for column in columns}), 'bold'))
        is_old = row.numbers.get(AGE, math.inf) > _STALE
        style = 'dim' if is_old else 'yellow' if CLAMPED in row.numbers else ''
        lines.append((line(printable(row.name), _cells(row)), style))
    return lines


def _cells(row: Row) -> dict[str, str]:
    """Return the texts of a row by column."""
    cells = {column: _number(column, value) for column, value in row.numbers.items()}
    return cells | ({'UNITS': printable(row.units)[: _WIDTHS['UNITS']]} if row.units else {})


def _number(column: str, value: float) -> str:
    digits = {CLAMPED: 0, AGE: 2}.get(column, 4)
    # Adding zero makes that of -0.0 positive.
    text = f'{round(value, digits) + 0.0:.{digits}f}'
    return text if len(text) <= _WIDTHS[column] else f'{value:.3g}'


def _topic(state: WatchState, topic: str, now: float) -> str:
    age = state.age(topic, now)
    heard = 'never heard' if age is None else f'{state.rate(topic, now):.0f} Hz, {age:.2f} s ago'
    return f'{topic}: {heard}'


# -- The terminal --------------------------------------------------------------------------------


@contextmanager
def keys_of(file: Any) -> Iterator[Callable[[], str]]:
    """
    Give a function that returns the keys pressed since, without waiting.

    While it lasts, the terminal neither shows the keys nor waits for Enter; Ctrl-C works as ever.

    :param file: Standard input; if it is no terminal there are no keys.
    """
    try:
        import termios
        import tty

        number = file.fileno()
        before = termios.tcgetattr(number)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield lambda: ''
        return

    def pressed() -> str:
        found = b''
        while select.select([number], [], [], 0.0)[0] and (some := os.read(number, 1024)):
            found += some
        return found.decode(errors='ignore')

    try:
        tty.setcbreak(number)
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


@contextmanager
def display(
    state: WatchState, console: Console, *, is_plain: bool, pattern: str = ''
) -> Iterator[tuple[Callable[[Sequence[Line]], bool], bool]]:
    """
    Give a function that shows the state, and whether that stays in place on a terminal.

    The function takes lines to show above all, and returns whether the user asked for the end.

    :param is_plain: Whether to print everything also on a terminal.
    :param pattern: Which rows to show, as that of a :class:`Pager`.
    """
    pager = Pager(pattern)
    with (
        nullcontext() if is_plain else live_table(console) as live,
        keys_of(live and sys.stdin) as pressed,
    ):

        def show(top: Sequence[Line]) -> bool:
            pager.press(pressed())
            now = time.monotonic()
            if live is None:
                for line, _ in screen(state, now, top, pager):
                    console.out.line(line)
                console.out.flush()
                return False
            # The last line stays free: a terminal scrolls when it is written.
            size = live.console.size
            lines = screen(state, now, top, pager, (size.width, size.height - 1))
            # As Text: a name in brackets would be read as a style.
            text, group = optional('rich.text', 'cli').Text, optional('rich.console', 'cli').Group
            texts = [text(*line, no_wrap=True, overflow='crop') for line in lines]
            live.update(group(*texts), refresh=True)
            return pager.is_over

        yield show, live is not None
