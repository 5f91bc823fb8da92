# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A calibration by hand in a terminal: the lines of the step, and the keys."""

from __future__ import annotations

import textwrap

from transmission_bridge.tools.calibration.guide import HandGuide
from transmission_bridge.tools.cli import aligned, columns_of

#: A line of text, and its style as rich names it.
Line = tuple[str, str]


class HandScreen:
    """
    The screen.

    :param guide: The steps.
    """

    def __init__(self, guide: HandGuide) -> None:
        self._guide, self._shows_others = guide, False

    def handle_keys(self, keys: str) -> None:
        """Do what keys mean; unknown keys are ignored."""
        guide = self._guide
        for key in keys:
            acts = {'w': guide.write_act, **guide.others} if guide.is_safe else {}
            if key == 'n':
                guide.press()
            elif key == 'o':
                guide.press(guide.step.second)
            elif key == 'q':
                guide.finish()
            elif key == '?':
                self._shows_others = not self._shows_others
            elif key in acts:
                guide.press(acts[key])

    def make_lines(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit a terminal; what matters least is left out first."""
        guide, step, progress = self._guide, self._guide.step, self._guide.list_progress()
        acts = {'n': step.primary, 'o': step.second, 'w': guide.write_act}
        ways = ['?: other ways']
        if not guide.is_safe:
            acts, ways = {'n': step.primary}, []
        elif self._shows_others:
            acts, ways = {**guide.others}, ['?: back']
        texts = [f'{key}: {act.label}' for key, act in acts.items() if act is not None]
        n_known = sum(joint.is_known for joint in progress)
        keys = [*texts, 'q: end', *ways]
        # In the order of the screen, each with its rank.
        parts = [
            (4, f'{n_known} of {len(progress)} joints known', 'dim'),
            (0, step.title, 'bold'),
            (1, ' '.join(guide.troubles), 'bold red'),
            (3, step.hint, ''),
            (2, self._draw_sweep(width), 'cyan'),
            (1, step.obstacle, 'yellow'),
            (0, '   '.join(_keep_whole(text, width) for text in keys), 'green'),
            (5, guide.write_obstacle if guide.is_safe else '', 'dim'),
        ]
        blocks = [[(line, style) for line in _wrap(text, width)] for _, text, style in parts]
        for n in sorted(range(len(parts)), key=lambda n: parts[n][0]):
            if len(blocks[n]) > height:
                blocks[n] = []
            height -= len(blocks[n])
        blocks.insert(6, self._draw_table(width, height) if guide.is_safe else [])
        return [line for block in blocks for line in block]

    def _draw_sweep(self, width: int) -> str:
        """Return the bar between the limits of the joint, and the way below it."""
        sweep = self._guide.sweep
        if sweep is None:
            return ''
        count = min(width, 60) - 2
        low, high, now = (round(share * (count - 1)) for share in sweep[:3])
        cells = ['=' if low <= cell <= high else '-' for cell in range(count)]
        cells[now] = '|'
        lower, middle, upper = (_keep_whole(text, width) for text in sweep.texts)
        return f'[{"".join(cells)}] {middle} {_keep_whole(f"({lower} .. {upper})", width)}'

    def _draw_table(self, width: int, height: int) -> list[Line]:
        """Return a heading and rows, those around the present joint, if they fit."""
        progress = self._guide.list_progress()
        rows: list[tuple[str, ...]] = [('', 'JOINT', 'ARROW', 'UPPER', 'LOWER', 'RESULT')]
        rows += [
            ('>' * joint.is_here, joint.name, *joint.done, joint.result) for joint in progress
        ]
        heading, *texts = aligned(rows)
        if height < 2 or max(map(columns_of, (heading, *texts))) > width:
            return []
        styles = ('green' if joint.is_known else '' for joint in progress)
        here = next(n for n, joint in enumerate(progress) if joint.is_here)
        begin = max(min(here - height // 2, len(texts) - height + 1), 0)
        lines = [*zip(texts, styles, strict=True)][begin : begin + height - 1]
        return [(heading, 'dim'), *lines]


def _keep_whole(text: str, width: int) -> str:
    return text.replace(' ', '\xa0') if len(text) <= width else text


def _wrap(text: str, width: int) -> list[str]:
    """Return a text in lines; names and keys stay whole."""
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace('\xa0', ' ') for line in lines]
