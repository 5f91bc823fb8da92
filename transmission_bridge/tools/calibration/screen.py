# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A calibration by hand in a terminal: the lines of the step, and the keys."""

from __future__ import annotations

from collections.abc import Sequence
import textwrap

from transmission_bridge.tools.calibration.guide import HandGuide, JointProgress
from transmission_bridge.tools.cli import aligned, columns_of, shorten_middle

#: A line of text, and its style as rich names it.
Line = tuple[str, str]

#: Columns from which the table has a heading.
_WIDE = 56


class HandScreen:
    """
    The screen.

    :param guide: The steps.
    """

    def __init__(self, guide: HandGuide) -> None:
        self._guide, self._shows_others = guide, False

    def handle_keys(self, keys: str) -> None:
        """Do what keys mean; unknown keys are ignored."""
        for key in keys:
            guide, step = self._guide, self._guide.step
            acts = dict(guide.others) if guide.is_safe else {}
            acts['w'] = guide.write_act
            if step.second is not None:
                acts['o'] = step.second
            if key == 'n':
                guide.press()
            elif key == 'q':
                guide.finished = False
            elif key == '?':
                self._shows_others = not self._shows_others
            elif key in acts:
                guide.press(acts[key])

    def make_lines(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit a terminal; what matters least is left out first."""
        guide, step, progress = self._guide, self._guide.step, self._guide.list_progress()
        keys = [('n', step.primary), ('o', step.second)]
        keys += [('w', guide.write_act)] * guide.is_safe
        texts = [f'{key}: {act.label}' for key, act in keys if act is not None]
        texts += ['q: end', '?: other ways'] if guide.is_safe else ['q: end']
        others = guide.others if guide.is_safe and self._shows_others else []
        rare = [f'{key}: {act.label}' for key, act in others]
        n_known = sum(each.is_known for each in progress)
        # In the order of the screen, each with its rank.
        parts = [
            (5, f'{n_known} of {len(progress)} joints known', 'dim'),
            (0, step.title, 'bold'),
            (1, ' '.join(guide.troubles), 'bold red'),
            (4, step.hint, ''),
            (3, self._draw_sweep(width), 'cyan'),
            (1, step.obstacle, 'yellow'),
            (2, '   '.join(_keep_whole(text, width) for text in texts), 'green'),
            (3, '   '.join(_keep_whole(text, width) for text in rare), 'green'),
            (6, guide.write_obstacle if guide.is_safe else '', 'dim'),
        ]
        blocks = [[(each, style) for each in _wrap(text, width)] for _, text, style in parts]
        kept, room = set(), height
        for place in sorted(range(len(parts)), key=lambda each: parts[each][0]):
            if len(blocks[place]) <= room:
                kept.add(place)
                room -= len(blocks[place])
        table = self._draw_table(progress, width, room) if guide.is_safe else []
        blocks = [block if place in kept else [] for place, block in enumerate(blocks)]
        return [line for block in (*blocks[:6], table, *blocks[6:]) for line in block]

    def _draw_sweep(self, width: int) -> str:
        """Return the bar between the limits of the joint, and the way below it."""
        sweep = self._guide.sweep
        if sweep is None:
            return ''
        count = min(width, 60) - 2
        low, high, now = (round(each * (count - 1)) for each in sweep[:3])
        cells = ['=' if low <= place <= high else '-' for place in range(count)]
        cells[now] = '|'
        lower, middle, upper = (_keep_whole(text, width) for text in sweep.texts)
        return f'[{"".join(cells)}] {middle} {_keep_whole(f"({lower} .. {upper})", width)}'

    def _draw_table(self, progress: Sequence[JointProgress], width: int, room: int) -> list[Line]:
        """Return a heading and a row for each joint, or those around the present one."""
        rows: list[tuple[str, ...]] = [('', 'JOINT', 'ARROW', 'UPPER', 'LOWER', 'RESULT')]
        rows += [('>' if p.is_here else '', p.name, *p.done, p.result) for p in progress]
        if width < _WIDE:
            rows = [(mark, name, ' '.join(each), result) for mark, name, *each, result in rows[1:]]
        others = max(columns_of(each) for each in aligned([row[2:] for row in rows])) + 5
        named = [
            (row[0], shorten_middle(row[1], max(width - others, 8)), *row[2:]) for row in rows
        ]
        lines = aligned(named)
        styles = ['green' if each.is_known else '' for each in progress]
        if width >= _WIDE:
            styles = ['dim', *styles]
        here = next(n for n, row in enumerate(rows) if row[0])
        begin = max(min(here - room // 2, len(lines) - room), 0)
        return [*zip(lines, styles, strict=True)][begin : begin + max(room, 0)]


def _keep_whole(text: str, width: int) -> str:
    return text.replace(' ', '\xa0') if len(text) <= width else text


def _wrap(text: str, width: int) -> list[str]:
    """Return a text in lines; names and keys stay whole."""
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace('\xa0', ' ') for line in lines]
