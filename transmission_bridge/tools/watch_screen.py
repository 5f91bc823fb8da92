# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``watch`` shows: a live table, or lines where nobody looks at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import sys
from typing import Any

from transmission_bridge.bridge.diagnostics import ERROR, Status, WARN
from transmission_bridge.tools.command import UsageError
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.extras import optional
from transmission_bridge.tools.table import aligned
from transmission_bridge.tools.watch_state import Row, WatchState

__all__ = ['live_screen', 'plain_lines']

#: Seconds without news from which a row is pale.
STALE = 0.5

HEADINGS = ('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF', 'AGE [s]', 'CLAMPED')

#: In a cell of which nothing is known.
NOTHING = '-'

#: Characters of a name and of a number at least, and between columns.
_NAME, _NUMBER, _GAP = 18, 9, 2

#: Words of levels, as ROS has them.
LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

_RIGHT = tuple(range(1, len(HEADINGS) + 1))


#: Shows the state at a time, under sentences about what is missing.
Show = Callable[[WatchState, float, Sequence[str]], None]


def plain_lines(state: WatchState, now: float, missing: Sequence[str] = ()) -> list[str]:
    """
    Return what is missing and what diagnostics warn of, then the table and the topics.

    :param missing: Sentences about what is missing.
    """
    rows = state.rows(now)
    lines = [printable(sentence) for sentence in missing]
    lines += [_trouble(each) for each in state.troubles()]
    lines += [''] if lines else []
    for kind in ('actuator', 'joint'):
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            table = [(kind.upper(), *HEADINGS), *((row.name, *_cells(row)) for row in chosen)]
            lines += [*aligned(table, right=_RIGHT), '']
    return lines + [_topic(state, topic, now) for topic in state.topics]


@contextmanager
def live_screen(console: Console) -> Iterator[Show | None]:
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
        yield lambda state, now, missing: live.update(
            _rich_view(state, now, missing, screen.width), refresh=True
        )


def _rich_view(state: WatchState, now: float, missing: Sequence[str], width: int) -> Any:
    rich_table, rich_text = optional('rich.table', 'cli'), optional('rich.text', 'cli')
    group = optional('rich.console', 'cli').Group
    rows = state.rows(now)
    # On top: what does not fit on the screen is cut off at its end.
    parts: list[Any] = [
        rich_text.Text(printable(sentence), style='bold red') for sentence in missing
    ]
    for trouble in state.troubles():
        style = 'red' if trouble.level >= ERROR else 'yellow'
        parts.append(rich_text.Text(_trouble(trouble), style=style))
    parts += [''] if parts else []
    for kind in ('actuator', 'joint'):
        chosen = [(row, _cells(row)) for row in rows if row.kind == kind]
        if not chosen:
            continue
        table = rich_table.Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        table.add_column(kind.upper(), no_wrap=True, min_width=_NAME)
        shown = _shown_columns([cells for _, cells in chosen], width)
        for place in shown:
            # As a text: a unit in brackets would be read as a style.
            heading = rich_text.Text(HEADINGS[place])
            table.add_column(heading, justify='right', no_wrap=True, min_width=_NUMBER)
        for row, cells in chosen:
            name = rich_text.Text(printable(row.name), style='bold')
            texts = [rich_text.Text(cells[place]) for place in shown]
            if row.clamped:
                texts[-1].stylize('yellow')
            stale = row.age is None or row.age > STALE
            table.add_row(name, *texts, style='dim' if stale else None)
        parts += [table, '']
    parts += [rich_text.Text(_topic(state, topic, now), style='dim') for topic in state.topics]
    parts.append(rich_text.Text('Ctrl-C ends', style='dim'))
    return group(*parts)


def _shown_columns(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return all columns, or on a screen too narrow for them those that say something."""
    places = range(len(HEADINGS))
    if width >= _NAME + len(HEADINGS) * (_GAP + _NUMBER):
        return list(places)
    return [place for place in places if any(cells[place] != NOTHING for cells in rows)]


def _trouble(status: Status) -> str:
    level = LEVELS.get(status.level, 'STALE')
    return f'{level} {printable(status.name)}: {printable(status.message)}'


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (*row.state, *row.command)
    age = NOTHING if row.age is None else f'{row.age:.2f}'
    return (*map(_number, numbers), age, str(row.clamped) if row.clamped else NOTHING)


def _number(value: float | None) -> str:
    return NOTHING if value is None else f'{value:.4f}'


def _topic(state: WatchState, topic: str, now: float) -> str:
    age = state.age(topic, now)
    if age is None:
        return f'{topic}: never heard'
    return f'{topic}: {state.rate(topic, now):.0f} Hz, {age:.2f} s ago'
