# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge watch``: a live table of the running system.

All lines are printed, or pages that fit a terminal, selected by keys. ``demo`` uses
:class:`WatchClient` and :func:`show_until_end`. One thread handles callbacks and draws. Order
and widths of columns are free to change; users rely on options, exit code, and keys in the help.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
import math
import re
import sys
import textwrap
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import ERROR, WARN
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import BridgeClient, DESCRIPTION
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    Line,
    measure_text,
    open_keys,
    open_live_table,
    printable,
    shorten_end,
    shorten_middle,
)
from transmission_bridge.tools.watch_state import (
    AGE,
    CLAMPED,
    COLUMNS,
    describe_missing_nodes,
    WatchRow,
    WatchState,
)

#: The columns after the name in their order, and their widths: all columns of ``watch_state``, and
#: some of this module. The range is as wide as there is room for.
_WIDTHS = {
    **dict.fromkeys(('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF'), 10),
    **{'LOWER': 8, 'RANGE': 12, 'UPPER': 8},
    **dict.fromkeys(('MOTOR', 'MOTOR VEL', 'MOTOR EFF'), 10),
    **{AGE: 6, CLAMPED: 7, 'UNITS': 24, 'UNKNOWN': 24},
}
_WIDEST_RANGE = 34

#: Columns in the order in which a narrow terminal omits them, after what drivers report; the
#: position always stays. Long names are shortened before the essential columns are omitted.
_OMITTED_FIRST = (
    *('MOTOR EFF', 'CMD EFF', 'CMD VEL', 'LOWER', 'UPPER', CLAMPED, 'MOTOR VEL'),
    *('EFF', 'VEL', 'UNKNOWN', 'RANGE', 'UNITS', 'CMD POS', 'MOTOR', AGE),
)
_ESSENTIAL = ('CMD POS', 'MOTOR', AGE)

#: What a driver counts, in the row of an actuator and in that of its joint.
_COUNTED = {'actuator': ('POS', 'VEL'), 'joint': ('MOTOR', 'MOTOR VEL')}

#: Minimum width of a name, and the gap between columns.
_NAME, _GAP = 12, 2

#: Seconds without a message after which a row is dim.
_STALE = 0.5

_LEGEND = f'yellow: warning   red: unknown   dim: > {_STALE:g} s'

#: Names of levels in ROS.
_LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

_NEXT, _BACK = ('n', ' ', '\x1b[6~', '\x1b[C'), ('p', 'b', '\x1b[5~', '\x1b[D')
_ENTER, _ESCAPE, _DELETE = ('\r', '\n'), '\x1b', ('\x7f', '\b')


@dataclass
class WatchPager:
    """
    The rows that are shown, selected by the user's keys.

    :param pattern: Part of a name, with ``*`` and ``?`` as in a shell; case does not matter.
    :ivar page: Number of the page from 0; :func:`make_screen` wraps it by the number of pages.
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
    pager: WatchPager,
    size: Sequence[int] = (),
) -> list[Line]:
    """
    Return the lines of a page that fits a terminal, or all lines.

    First the rates of the topics, what is missing, and a line for each finding, which use at most
    half of the page; then the rows. If all rows fit, topics and whole findings follow in the
    rest. The last line has the keys and the colours.

    :param top: First lines.
    :param pager: Selects the rows; its page number is updated.
    :param size: Columns and lines of the page, at least eight lines; empty for all lines.
    """
    findings = [
        (printable(f'{_LEVELS.get(level, "STALE")} {text}'), 'red' if level >= ERROR else 'yellow')
        for level, text in state.list_findings()
    ]
    first = [(printable(text), style) for text, style in top]
    pattern, topics = f'*{pager.pattern.lower()}*', []
    rows = [row for row in state.make_rows(now) if fnmatch(row.name.lower(), pattern)]
    parts = [f'{report.name} {report.state}' for report in state.bridges]
    for topic in state.topics:
        age, rate = state.compute_age(topic, now), state.compute_rate(topic, now)
        latest = 'no message yet' if age is None else f'{rate:.0f} Hz, {age:.2f} s ago'
        topics.append((f'{topic}: {latest}', ''))
        parts += [] if age is None else [f'{topic} {rate:.0f} Hz {age:.2f} s']
    if not size:
        blocks = [[*first, *findings], _format_table(rows, rows, math.inf), topics]
        return [line for block in blocks if block for line in (*block, ('', ''))]
    width, height = size
    lines = [(part, style) for text, style in first for part in textwrap.wrap(text, width)]
    lines += [(shorten_end(text, width), style) for text, style in findings]
    if len(lines) > (most := max(height // 4, 2)):
        more = f'... {len(lines) - most + 1} more: transmission_bridge watch --once shows all'
        lines[most - 1 :] = [(more, 'bold red')]
    # The bridge, and the topics with messages as far as they fit.
    while len(summary := printable('   '.join(parts))) > width and len(parts) > 1:
        parts.pop()
    lines[:0] = [] if top else [(summary, 'dim')]
    room = max(height - len(lines) - len({row.kind for row in rows}) - 1, 1)
    pages = max(-(-len(rows) // room), 1)
    pager.page %= pages
    lines += _format_table(rows[pager.page * room :][:room], rows, width)
    left = height - len(lines) - 1
    details = [(p, style) for text, style in findings for p in textwrap.wrap(text, width)]
    if left > len(topics) + 1:
        lines += [('', ''), *topics, *details][:left]
    keys = pager.format_status(len(rows), pages)
    gap = width - len(keys) - len(_LEGEND)
    lines.append((keys + (' ' * gap + _LEGEND if gap > 2 else ''), 'bold'))
    return [(text[:width], style) for text, style in lines]


def _format_table(shown: Sequence[WatchRow], rows: Sequence[WatchRow], width: float) -> list[Line]:
    """
    Return the lines of some rows, with a heading for each kind.

    :param rows: The rows of all pages, which have the same columns.
    """
    lines: list[Line] = []
    for kind in ('joint', 'actuator'):
        members = [row for row in rows if row.kind == kind]
        counted = _COUNTED[kind]
        drivers = {
            row.driver_units
            for row in members
            if kind == 'actuator' or not row.numbers.keys().isdisjoint(counted)
        }
        values = [value for row in members for key, value in row.numbers.items() if key in counted]
        # Whole numbers, such as ticks, if all drivers count so.
        is_whole = bool(drivers) and all(drivers) and all(value.is_integer() for value in values)
        cells = {
            row.name: _format_cells(row, 0 if is_whole else 4, len(drivers) > 1) for row in members
        }
        columns, longest = _choose_columns([(kind, {}), *cells.items()], width)
        heading = {column: _format_heading(column, members) for column in columns}
        parts = [('', kind.upper(), heading, 'bold')]
        for row in (row for row in shown if row.kind == kind):
            cells[row.name]['RANGE'] = _draw_range(row, columns.get('RANGE', 0))
            is_marked = row.is_odd or row.unknown or CLAMPED in row.numbers
            style = 'red' if row.unknown else 'yellow' if is_marked else ''
            if row.numbers.get(AGE, math.inf) > _STALE:
                style = 'dim'
            parts.append(('!' * bool(is_marked), row.name, cells[row.name], style))
        for mark, name, texts, style in parts if len(parts) > 1 else ():
            name = shorten_middle(name, longest)
            line = f'{mark:2}{name}{" " * (longest - measure_text(name))}'
            for column, size in columns.items():
                text = texts.get(column, '' if column == 'RANGE' else '-')[:size]
                line += ' ' * _GAP + f'{text:>{size}}'
            lines.append((line.rstrip(), style))
    return lines


def _choose_columns(
    rows: Sequence[tuple[str, Mapping[str, str]]], width: float
) -> tuple[dict[str, int], int]:
    """Return the columns that fit with their widths, and the width of the names."""
    used = {column for _, cells in rows for column in cells}
    more = sorted(used - _WIDTHS.keys())
    widths = {column: size for column, size in _WIDTHS.items() if column in used}
    widths |= {column: max(len(column), 6) for column in more}
    longest = max((measure_text(printable(name)) for name, _ in rows), default=0)
    room = width - 2 - sum(_GAP + size for size in widths.values())
    for column in (*more, *_OMITTED_FIRST):
        if column in widths and room < (_NAME if column in _ESSENTIAL else longest):
            room += _GAP + widths.pop(column)
    if 'RANGE' in widths and room > longest:
        widths['RANGE'] = int(min(_WIDEST_RANGE, widths['RANGE'] + room - longest))
    return widths, int(min(longest, max(room, _NAME // 2)))


def _format_heading(column: str, rows: Sequence[WatchRow]) -> str:
    """Return a heading with the unit, if it is the same in all rows that have it."""
    of_driver = {row.driver_units for row in rows if 'MOTOR' in row.numbers}
    units = of_driver if column.startswith('MOTOR') else {row.units for row in rows}
    texts = [text.strip() for text in units.pop().split(',')] if len(units) == 1 else ['']
    if len(texts) == 1 and texts[0] in ('rad', 'm'):
        texts = [texts[0], f'{texts[0]}/s', 'N m' if texts[0] == 'rad' else 'N']
    number = {'POS': 0, 'MOTOR': 0, 'VEL': 1, 'EFF': 2}.get(column.split()[-1])
    unit = texts[number] if number is not None and number < len(texts) else ''
    return f'{column.replace("CMD POS", "CMD")} {unit}'.rstrip()


def _format_cells(row: WatchRow, digits: int, has_units: bool) -> dict[str, str]:
    """
    Return the texts of a row by column, with an empty range.

    :param digits: Those of numbers of the driver.
    """
    cells = {}
    for column, value in row.numbers.items():
        is_of_driver = row.kind == 'actuator' or column.startswith('MOTOR')
        n = {CLAMPED: 0, AGE: 2}.get(column, digits if is_of_driver else 4)
        # Adding zero turns -0.0 into 0.0.
        text = f'{round(value, n) + 0.0:.{n}f}'
        cells[column] = text if len(text) <= _WIDTHS[column] else f'{value:.3g}'
    if math.isfinite(row.limits[1] - row.limits[0]):
        cells['LOWER'], cells['UPPER'] = (f'{limit:.3f}' for limit in row.limits)
        cells['RANGE'] = ''
    texts = {'UNITS': row.driver_units * has_units, 'UNKNOWN': row.unknown}
    texts = {key: printable(text)[: _WIDTHS[key]] for key, text in texts.items() if text}
    return cells | row.more | texts


def _draw_range(row: WatchRow, width: int) -> str:
    """Return a bar between the limits with the position, beyond it if it is."""
    (lower, upper), position = row.limits, row.numbers.get('POS', math.nan)
    if not upper > lower or not math.isfinite(upper - lower) or width < 6:
        return ''
    share = (position - lower) / (upper - lower)
    bar = ' ' * (width - 4)
    if 0.0 <= share <= 1.0:
        count = round(share * (width - 5))
        bar = f'{"-" * count}|{"-" * (width - 5 - count)}'
    return f'{"<" if share < 0.0 else " "}[{bar}]{">" if share > 1.0 else " "}'


# -- The terminal --------------------------------------------------------------------------------


@contextmanager
def open_screen(
    state: WatchState, console: Console, *, is_plain: bool, pattern: str = ''
) -> Iterator[tuple[Callable[[Sequence[Line]], bool], bool]]:
    """
    Yield a function that shows the state, and whether it updates a terminal in place.

    The argument of the function is lines to show first; it returns whether the user has quit.

    :param is_plain: Whether to print all lines also on a terminal.
    :param pattern: Selects rows, as in :class:`WatchPager`.
    """
    pager = WatchPager(pattern)
    with (
        nullcontext() if is_plain else open_live_table(console) as draw,
        open_keys(draw and sys.stdin) as read_keys,
    ):

        def show_state(top: Sequence[Line]) -> bool:
            pager.handle_keys(read_keys())
            now = time.monotonic()
            if draw is None:
                for line, _ in make_screen(state, now, top, pager):
                    console.out.line(line)
                console.out.flush()
                return False
            draw(lambda *size: make_screen(state, now, top, pager, size))
            return pager.is_over

        yield show_state, draw is not None


#: Seconds between updates on a terminal, and between snapshots elsewhere.
LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states of both sides, and then for other messages.
_PATIENCE, _SETTLING = 5.0, 1.2

#: Seconds until a message from every running node has arrived: discovery takes time, and
#: diagnostics are published once a second.
_DISCOVERY = 3.0


class WatchClient(BridgeClient):
    """
    Fills a :class:`WatchState` from all topics that the bridges name, in :meth:`spin_for`.

    :param is_complete: Whether no message may be lost.
    :ivar state: The state.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, state: WatchState, *, is_complete: bool = False) -> None:
        # Without a name, the description is that of the bridge with the usual one.
        super().__init__('watch', state.node or 'transmission_bridge')
        self.state = state
        self._is_complete = is_complete
        self._names: dict[str, None] = {}
        #: The start of the bridge that was asked for its description.
        self._asked: int | None = None
        self.follow_description(state.set_description)
        self._update_topics()

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, then subscribe to new topics."""
        super().spin_for(seconds)
        self._update_topics()
        if self.report is not None and self.report.start != self._asked and self.is_present:
            self._asked = self.report.start
            self.get_parameters([DESCRIPTION], self._set_description)

    def _set_description(self, values: Mapping[str, Any], reason: str) -> None:
        if reason:
            self._asked = None
        elif text := values.get(DESCRIPTION):  # else it is on the topic
            self.state.set_description(text)

    def _update_topics(self) -> None:
        self.state.reports = self.reports
        self._names |= dict.fromkeys(self.state.topics)
        topics = {topic: partial(self.store_message, topic) for topic in self._names}
        self.follow_topics(topics, is_complete=self._is_complete)
        self.state.others = [] if self.state.has_driver else self.list_other_topics()

    def store_message(
        self, topic: str, message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        """Store a message."""
        arrays = {name: getattr(message, name).tolist() for name in COLUMNS}
        self.state.store_message(topic, message.names, arrays, now)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    state = WatchState(options.node.strip('/'))
    # Ctrl-C is the usual end.
    with closing(WatchClient(state)) as client, suppress(KeyboardInterrupt):
        show_until_end(options, console, client)
    missing = describe_missing_nodes(state, time.monotonic())
    for sentence in missing:
        console.err.line(f'transmission_bridge: {printable(sentence)}')
    return Exit.ERRORS if missing else Exit.OK


def show_until_end(options: argparse.Namespace, console: Console, client: WatchClient) -> None:
    """Show one snapshot, or the state repeatedly for some time or until the user quits."""
    state, begin = client.state, time.monotonic()
    left = options.seconds or (_PATIENCE if options.once else math.inf)
    is_plain = options.once or options.plain
    with open_screen(state, console, is_plain=is_plain, pattern=options.filter) as (show, is_live):
        period = LIVE_PERIOD if is_live or options.once else _PLAIN_PERIOD
        is_over = False
        while left > 0.0 and not is_over:
            client.spin_for(min(period, left))
            left -= period
            if options.once:
                is_over = state.has_driver and state.has_joint_states
                continue
            is_sure = time.monotonic() - begin >= _DISCOVERY or state.is_idle
            missing = describe_missing_nodes(state, time.monotonic()) if is_sure else []
            if is_live or missing or not state.is_empty:
                is_over = show([(sentence, 'bold red') for sentence in missing])
        if options.once:
            client.spin_for(_SETTLING)
            if not state.is_empty:
                show([])
