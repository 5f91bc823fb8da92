# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``watch`` shows: plain lines, and pages that fit a terminal and are turned by keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
import os
import re
import select
import sys
import textwrap
from typing import Any

from transmission_bridge.bridge.diagnostics import ERROR, Status, WARN
from transmission_bridge.tools.cli import (
    aligned,
    columns_of,
    Console,
    live_table,
    optional,
    printable,
)
from transmission_bridge.tools.watch_state import Row, STALE, WatchState

__all__ = ['Pager', 'Screen', 'keys_of', 'live_screen', 'plain_lines', 'screen_lines']

#: The columns behind the name, and the width of each.
_WIDTHS = {
    'POS': 10,
    'VEL': 10,
    'EFF': 10,
    'CMD POS': 10,
    'CMD VEL': 10,
    'CMD EFF': 10,
    'AGE [s]': 7,
    'CLAMPED': 7,
    'UNITS': 24,
}

#: Columns in the order in which they give way on a narrow terminal; the position stays.
_GIVING_WAY = ('UNITS', 'CLAMPED', 'EFF', 'VEL', 'CMD EFF', 'CMD VEL', 'CMD POS', 'AGE [s]')

#: Text of an unknown cell.
_NOTHING = '-'

#: Least width of a name, and the gap between columns.
_NAME, _GAP = 12, 2

#: Words of levels, as ROS has them.
_LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

#: A line as parts of text, each with a style of rich.
Line = tuple[tuple[str, str], ...]


# -- Which rows: a filter and pages --------------------------------------------------------------


_NEXT, _BACK = {'n', ' ', '\x1b[6~', '\x1b[C'}, {'p', 'b', '\x1b[5~', '\x1b[D'}
_ENTER, _ESCAPE, _DELETE = {'\r', '\n'}, '\x1b', {'\x7f', '\b'}


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
            if self.is_typing:
                self._type(key)
            elif key in _NEXT:
                self.page += 1
            elif key in _BACK:
                self.page -= 1
            elif key == '/':
                self.is_typing, self.pattern = True, ''
            elif key == _ESCAPE:
                self.pattern, self.page = '', 0
            elif key == 'q':
                self.is_over = True

    def _type(self, key: str) -> None:
        self.page = 0
        if key in _ENTER:
            self.is_typing = False
        elif key == _ESCAPE:
            self.is_typing, self.pattern = False, ''
        elif key in _DELETE:
            self.pattern = self.pattern[:-1]
        elif key.isprintable():
            self.pattern += key

    def chosen(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that match the pattern."""
        pattern = f'*{self.pattern.lower()}*'
        return [row for row in rows if fnmatch(row.name.lower(), pattern)]

    def turn(self, pages: int) -> int:
        """Return the number of the page to show, from 0, and keep it."""
        self.page %= max(pages, 1)
        return self.page


# -- Plain lines ---------------------------------------------------------------------------------


def plain_lines(
    state: WatchState, now: float, missing: Sequence[str] = (), pattern: str = ''
) -> list[str]:
    """
    Return lines: what is missing, warnings of diagnostics, the table, and the topics.

    :param missing: Sentences about what is missing.
    :param pattern: As that of a :class:`Pager`.
    """
    rows = Pager(pattern).chosen(state.rows(now))
    lines = [printable(sentence) for sentence in missing]
    lines += [_trouble(each) for each in state.troubles()]
    lines += [''] if lines else []
    for kind in ('actuator', 'joint'):
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            named = any(row.units for row in chosen)
            columns = [name for name in _WIDTHS if named or name != 'UNITS']
            cells = [(row.name, *(_cells(row)[name] for name in columns)) for row in chosen]
            table = [(kind.upper(), *columns), *cells]
            lines += [*aligned(table, right=range(1, len(columns) + 1)), '']
    return lines + [_topic(state, topic, now) for topic in state.topics]


def _trouble(status: Status) -> str:
    level = _LEVELS.get(status.level, 'STALE')
    return f'{level} {printable(status.name)}: {printable(status.message)}'


def _cells(row: Row) -> dict[str, str]:
    numbers = map(_number, (*row.state, *row.command))
    age = _NOTHING if row.age is None else f'{row.age:.2f}'
    clamped = str(row.clamped) if row.clamped else _NOTHING
    units = printable(row.units)[: _WIDTHS['UNITS']] or _NOTHING
    return dict(zip(_WIDTHS, (*numbers, age, clamped, units), strict=True))


def _number(value: float | None) -> str:
    if value is None:
        return _NOTHING
    # Adding zero makes that of -0.0 positive.
    text = f'{round(value, 4) + 0.0:.4f}'
    return text if len(text) <= _WIDTHS['POS'] else f'{value:.3g}'


def _topic(state: WatchState, topic: str, now: float) -> str:
    age = state.age(topic, now)
    if age is None:
        return f'{topic}: never heard'
    return f'{topic}: {state.rate(topic, now):.0f} Hz, {age:.2f} s ago'


# -- A page for a terminal -----------------------------------------------------------------------


def screen_lines(
    state: WatchState,
    now: float,
    missing: Sequence[str],
    pager: Pager,
    *,
    width: int,
    height: int,
) -> list[Line]:
    """
    Return the lines of a page, at most ``height`` of at most ``width`` columns.

    What is wrong stands on top and takes half of the page at most, because a terminal cuts off
    the bottom; then come the rows, the topics, and what the keys and colours mean.

    :param missing: Sentences about what is missing.
    """
    top = _top(state, missing, width)
    if len(top) > max(height // 2, 1):
        kept = max(height // 2 - 1, 0)
        more = f'... {len(top) - kept} more lines: transmission_bridge watch --once shows all'
        top = [*top[:kept], ((more[:width], 'bold red'),)]
    rows = pager.chosen(state.rows(now))
    topics = '; '.join(_topic(state, topic, now) for topic in state.topics)
    bottom: list[Line] = [((line, 'dim'),) for line in textwrap.wrap(topics, width)[:3]]
    # Two headings and the lines about keys and colours.
    room = max(height - len(top) - len(bottom) - 4, 1)
    pages = -(-len(rows) // room)
    page = pager.turn(pages)
    shown = rows[page * room : (page + 1) * room]
    body = _table(rows, shown, width)
    return [*top, *body, *bottom, _keys(pager, len(rows), page, pages, width), _legend(width)][
        :height
    ]


def _top(state: WatchState, missing: Sequence[str], width: int) -> list[Line]:
    styled = [(printable(sentence), 'bold red') for sentence in missing]
    styled += [
        (_trouble(trouble), 'red' if trouble.level >= ERROR else 'yellow')
        for trouble in state.troubles()
    ]
    return [((line, style),) for text, style in styled for line in textwrap.wrap(text, width)]


def _table(rows: Sequence[Row], shown: Sequence[Row], width: int) -> list[Line]:
    """Return a page of rows; the columns are those of all, so that they stay from page to page."""
    cells = [_cells(row) for row in rows]
    columns = [name for name in _WIDTHS if any(each[name] != _NOTHING for each in cells)]
    longest = max((columns_of(printable(row.name)) for row in rows), default=_NAME)

    def needed(names: int) -> int:
        return names + sum(_GAP + _WIDTHS[column] for column in columns)

    for column in _GIVING_WAY:
        # The position, the command and the age are worth more than the end of a name.
        is_essential = column in ('CMD EFF', 'CMD VEL', 'CMD POS', 'AGE [s]')
        if column in columns and needed(_NAME if is_essential else longest) > width:
            columns.remove(column)
    names = max(min(longest, width - needed(0)), _NAME)
    lines: list[Line] = []
    kind = ''
    for row in shown:
        if row.kind != kind:
            kind = row.kind
            headings = ''.join(f'{column:>{_GAP + _WIDTHS[column]}}' for column in columns)
            lines.append(((f'{kind.upper():{names}}{headings}', 'bold'),))
        is_old = row.age is None or row.age > STALE
        style = 'dim' if is_old else 'yellow' if row.clamped else ''
        name = _fitted(printable(row.name), names)
        numbers = _cells(row)
        texts = ''.join(f'{numbers[column]:>{_GAP + _WIDTHS[column]}}' for column in columns)
        lines.append(((name, f'bold {style}'.strip()), (texts, style)))
    return lines


def _fitted(name: str, width: int) -> str:
    """Return a name of a width, its middle left out where it is longer: both ends tell."""
    if columns_of(name) > width:
        end = (width - 1) // 2
        name = f'{name[: width - 1 - end]}…{name[len(name) - end :]}'
    return name + ' ' * (width - columns_of(name))


def _keys(pager: Pager, count: int, page: int, pages: int, width: int) -> Line:
    if pager.is_typing:
        return ((f'filter: {pager.pattern}_   Enter: keep   Esc: all'[:width], 'bold'),)
    parts = [f"{count} of '{pager.pattern}'"] if pager.pattern else []
    parts += [f'page {page + 1} of {pages}', 'n p: turn'] if pages > 1 else []
    parts += ['Esc: all' if pager.pattern else '/: filter', 'q: end']
    return (('   '.join(parts)[:width], 'bold'),)


def _legend(width: int) -> Line:
    parts = (
        (f'dim: older than {STALE:g} s', 'dim'),
        ('yellow: commands clamped, warning', 'yellow'),
        ('red: error', 'red'),
    )
    line: list[tuple[str, str]] = []
    for text, style in parts:
        if sum(len(each) for each, _ in line) + len(text) + 3 <= width:
            line += [(text, style), ('   ', '')]
    return tuple(line)


@contextmanager
def keys_of(file: Any) -> Iterator[Any]:
    """
    Give a function that returns the keys pressed since, without waiting.

    While it lasts, the terminal neither shows the keys nor waits for Enter; Ctrl-C works as ever.

    :param file: Standard input; where it is no terminal there are no keys.
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
        while select.select([number], [], [], 0.0)[0]:
            some = os.read(number, 1024)
            if not some:
                break
            found += some
        return found.decode(errors='ignore')

    try:
        tty.setcbreak(number)
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


class Screen:
    """
    The terminal.

    :ivar pager: What the user has chosen.
    """

    def __init__(self, live: Any, pressed: Any, pager: Pager) -> None:
        self.pager = pager
        self._live = live
        self._pressed = pressed
        self._text = optional('rich.text', 'cli').Text
        self._group = optional('rich.console', 'cli').Group

    def show(self, state: WatchState, now: float, missing: Sequence[str]) -> None:
        """Follow the keys, and show a page."""
        self.pager.press(self._pressed())
        size = self._live.console.size
        # The last line stays free: a terminal scrolls when it is written.
        lines = screen_lines(
            state, now, missing, self.pager, width=size.width, height=size.height - 1
        )
        # As Text: a name in brackets would be read as a style.
        texts = [self._text.assemble(*line, no_wrap=True, overflow='crop') for line in lines]
        self._live.update(self._group(*texts), refresh=True)


@contextmanager
def live_screen(console: Console, pattern: str = '') -> Iterator[Screen | None]:
    """Give the terminal, ``None`` where there is no live table."""
    with live_table(console) as live:
        if live is None:
            yield None
            return
        with keys_of(sys.stdin) as pressed:
            yield Screen(live, pressed, Pager(pattern))
