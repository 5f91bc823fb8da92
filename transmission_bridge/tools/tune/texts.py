# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Texts of the page as HTML.

Names and sentences come from descriptions and from messages of others. Each goes through
:func:`plain`, so that none of them can be markup, nor a control character of any kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
import html
import math
from pathlib import Path

from transmission_bridge.errors import printable
from transmission_bridge.tools.tune.model import Number, Preview

__all__ = [
    'GONE',
    'STYLE',
    'Units',
    'bars',
    'change',
    'difference',
    'label',
    'note',
    'plain',
    'sentences',
]

#: Characters of a name, and of a sentence, that are shown.
_NAME, _SENTENCE = 48, 600

#: Lines of a difference that are shown.
_MOST_LINES = 200

STYLE = f'<style>{Path(__file__).with_name("page.css").read_text(encoding="utf-8")}</style>'

#: The cloud in the heading means the page itself: without a bridge it must not be green.
GONE = '<style>.tabler-icon-cloud-check {stroke:#e03131 !important}</style>'


def label(text: str, most: int = _NAME) -> str:
    """Return a name for a widget, which shows it as it is: printable, and cut."""
    shown = printable(text)
    return shown if len(shown) <= most else shown[: most - 1] + '…'


def plain(text: str, most: int = _NAME) -> str:
    """Return a text as HTML that shows it and is nothing else."""
    return html.escape(label(text, most), quote=True)


class Units:
    """
    Numbers as the page shows them.

    :ivar degrees: Whether angles are in degrees.
    """

    def __init__(self, *, degrees: bool = False) -> None:
        self.degrees = degrees

    def name(self, unit: str) -> str:
        """Return the unit that a number is shown in."""
        return {'rad': '°', 'rad/s': '°/s'}.get(unit, unit) if self.degrees else unit

    def to_page(self, value: float, unit: str) -> float:
        """Return a number in the unit that it is shown in."""
        return math.degrees(value) if self.name(unit) != unit else value

    def from_page(self, value: float, unit: str) -> float:
        """Return a number that was shown in that unit."""
        return math.radians(value) if self.name(unit) != unit else value

    def field(self, value: float, unit: str) -> str:
        """Return a number for a field: with all digits, in degrees with enough of them."""
        if self.name(unit) != unit:
            return f'{math.degrees(value):.10g}'
        return repr(value).removesuffix('.0')

    def text(self, value: float, unit: str) -> str:
        """Return a number with its unit for a sentence."""
        if math.isnan(value):
            return 'unknown'
        return f'{_digits(self.to_page(value, unit))} {self.name(unit)}'.rstrip()

    def cell(self, value: float, unit: str) -> str:
        """Return a number for a table."""
        return '-' if math.isnan(value) else _digits(self.to_page(value, unit))


def _digits(value: float) -> str:
    text = f'{value:.4g}' if abs(value) >= 1000.0 else f'{value:.4f}'
    return text.lstrip('-') if not text.strip('-0.') else text


def note(text: str, kind: str = '') -> str:
    """Return a sentence; empty text is no element at all."""
    return _block([f'<span class="{kind}">{plain(text, _SENTENCE)}</span>'] if text else [])


def _block(lines: Iterable[str]) -> str:
    content = '<br>'.join(lines)
    return f'<div class="tb">{content}</div>' if content else ''


def sentences(lines: Iterable[str], kind: str = 'care', most: int = 6) -> str:
    """Return sentences, the first of them where there are many."""
    found = list(lines)
    rest = [f'and {len(found) - most} more'] if len(found) > most else []
    return ''.join(note(line, kind) for line in [*found[:most], *rest])


def bars(
    heading: str,
    rows: Iterable[tuple[str, str, Sequence[float], float, float, float]],
    units: Units,
) -> str:
    """
    Return a table of members with bars inside their limits; a member of unknown position is grey.

    :param heading: Actuators or joints.
    :param rows: Name, unit, position with velocity and effort, age, least and greatest position.
    """
    lines = [
        f'<tr><th style="width:30%">{plain(heading)}</th><th>position</th><th>velocity</th>'
        '<th>effort</th><th style="width:13%">age</th></tr>'
    ]
    for name, unit, values, age, lower, upper in rows:
        cells = ''.join(
            f'<td class="n">{units.cell(value, each)}</td>'
            for value, each in zip(values, (unit, f'{unit}/s', ''), strict=True)
        )
        old = f'{age:.1f}' if math.isfinite(age) else 'never'
        style, bad = (' class="old"', 'bad') if math.isnan(values[0]) else ('', '')
        lines.append(
            f'<tr{style}><td colspan="5" title="{plain(name, _SENTENCE)}"><b>{plain(name)}</b> '
            f'<span class="dim">{plain(units.name(unit))}</span></td></tr>'
            f'<tr{style}><td>{_bar(values[0], lower, upper)}</td>{cells}'
            f'<td class="n {bad}">{old}</td></tr>'
        )
    return f'<div class="tb"><table>{"".join(lines)}</table></div>'


def _bar(value: float, lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        return ''
    if math.isnan(value):
        return '<div class="bar"></div>'
    inside = min(max((value - lower) / (upper - lower), 0.0), 1.0)
    kind = 'bar' if lower <= value <= upper else 'bar out'
    return f'<div class="{kind}"><i style="left:calc({100.0 * inside:.1f}% - 2px)"></i></div>'


def change(
    title: str,
    changes: Iterable[tuple[Number, float]],
    preview: Preview,
    unit_of: Mapping[str, str],
    commanded: Collection[str],
    units: Units,
) -> str:
    """
    Return what would change: the numbers, and what that does to the joints.

    :param title: Empty for none.
    :param changes: Each number as it is, and its new value.
    :param unit_of: Unit of each joint.
    :param commanded: Joints that are commanded at the moment.
    """
    lines = [f'<b>{plain(title, _SENTENCE)}</b>'] if title else []
    lines += [
        f'{plain(".".join(number.tunable.path), _SENTENCE)}: '
        f'{plain(units.text(number.tunable.value, number.unit))} → '
        f'<b>{plain(units.text(value, number.unit))}</b>'
        for number, value in changes
    ]
    if preview.reason:
        return _block(lines) + note(preview.reason, 'bad')
    for joint, before, after in preview.shifts:
        name, unit = f'<b>{plain(joint)}</b>', unit_of.get(joint, '')
        was, will, further = (units.text(each, unit) for each in (before, after, after - before))
        if math.isnan(after - before):
            lines.append(f'{name}: its position is unknown')
            continue
        live = ' <span class="bad">commanded now</span>' if joint in commanded else ''
        lines.append(
            f'{name} would be read {plain(further)} further: {plain(was)} → {plain(will)}{live}'
        )
    for turn in preview.turns:
        how = f'moves {turn.after / turn.before:.3g} times as far' if turn.before else 'is moved'
        if turn.before * turn.after < 0.0:
            how = '<span class="care">turns the other way</span>'
        lines.append(f'{plain(turn.joint)} by {plain(turn.actuator)} {how}')
    if not (preview.shifts or preview.turns):
        lines.append('<span class="dim">no joint would be read elsewhere</span>')
    return _block(lines)


def difference(lines: Sequence[str]) -> str:
    """Return the lines of a difference."""
    if not lines:
        return note('nothing differs', 'dim')
    shown = [
        f'<span class="{_KINDS.get(line[:1], "dim")}">{plain(line, _SENTENCE)}</span>'
        for line in lines[2 : 2 + _MOST_LINES]
    ]
    if len(lines) > 2 + _MOST_LINES:
        shown.append(f'<span class="dim">and {len(lines) - 2 - _MOST_LINES} more lines</span>')
    return f'<div class="tb"><pre>{chr(10).join(shown)}</pre></div>'


_KINDS = {'+': 'plus', '-': 'minus'}
