# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``watch`` shows: a live table, or lines where nobody looks at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
from typing import Any

from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.extras import optional
from transmission_bridge.tools.table import aligned
from transmission_bridge.tools.watch_state import Row, TOPICS, WatchState

__all__ = ['live_screen', 'plain_lines']

#: Seconds without news from which a row is pale.
STALE = 0.5

HEADINGS = ('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF', 'AGE [s]', 'CLAMPED')

_RIGHT = tuple(range(1, len(HEADINGS) + 1))


def plain_lines(state: WatchState, now: float) -> list[str]:
    """Return the table as lines, topics and warnings below it."""
    rows = state.rows(now)
    lines = []
    for kind in ('actuator', 'joint'):
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            table = [(kind.upper(), *HEADINGS), *((row.name, *_cells(row)) for row in chosen)]
            lines += [*aligned(table, right=_RIGHT), '']
    lines += [_topic(state, topic, now) for topic in TOPICS]
    lines += [f'{printable(name)}: {printable(words)}' for name, words in state.troubles()]
    return lines


@contextmanager
def live_screen(console: Console) -> Iterator[Callable[[WatchState, float], None] | None]:
    """
    Give a function that shows the state in place, ``None`` where output is no terminal.

    Without rich it is ``None`` as well, and the user is told.
    """
    if not console.out.is_terminal:
        yield None
        return
    try:
        rich_live, rich_console = (
            optional('rich.live', 'cli'), optional('rich.console', 'cli'),
        )  # fmt: skip
    except UsageError as error:
        console.err.line(f'plain lines instead of a live table: {error}')
        yield None
        return
    screen = rich_console.Console(file=sys.stdout, highlight=False)
    with rich_live.Live(console=screen, auto_refresh=False, vertical_overflow='ellipsis') as live:
        yield lambda state, now: live.update(_rich_view(state, now), refresh=True)


def _rich_view(state: WatchState, now: float) -> Any:
    rich_table, rich_text = optional('rich.table', 'cli'), optional('rich.text', 'cli')
    group = optional('rich.console', 'cli').Group
    rows = state.rows(now)
    parts: list[Any] = []
    for kind in ('actuator', 'joint'):
        table = rich_table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(kind.upper(), no_wrap=True, min_width=18)
        for heading in HEADINGS:
            # As a text: a unit in brackets would be read as a style.
            table.add_column(rich_text.Text(heading), justify='right', no_wrap=True, min_width=9)
        for row in (row for row in rows if row.kind == kind):
            name = rich_text.Text(printable(row.name), style='bold')
            cells = [rich_text.Text(cell) for cell in _cells(row)]
            if row.clamped:
                cells[-1].stylize('yellow')
            stale = row.age is None or row.age > STALE
            table.add_row(name, *cells, style='dim' if stale else None)
        parts += [table, '']
    parts += [rich_text.Text(_topic(state, topic, now), style='dim') for topic in TOPICS]
    for name, words in state.troubles():
        parts.append(rich_text.Text(f'{printable(name)}: {printable(words)}', style='yellow'))
    parts.append(rich_text.Text('Ctrl-C ends', style='dim'))
    return group(*parts)


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (*row.state, *row.command)
    age = '-' if row.age is None else f'{row.age:.2f}'
    return (*map(_number, numbers), age, str(row.clamped) if row.clamped else '-')


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.4f}'


def _topic(state: WatchState, topic: str, now: float) -> str:
    age = state.age(topic, now)
    if age is None:
        return f'{topic}: never heard'
    return f'{topic}: {state.rate(topic, now):.0f} Hz, {age:.2f} s ago'
