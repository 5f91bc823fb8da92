# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Texts of the page as HTML.

Names and sentences come from descriptions and from messages of other nodes. :func:`escape_html`
processes each of them, so that none can contain markup or control characters. All panels use the
functions; a kind of a sentence or a row is a class of ``page.css``, such as ``bad``. Texts and
style are free to change, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
import html
import math
from pathlib import Path

from transmission_bridge.tools.cli import shorten_end
from transmission_bridge.tools.tune.model import Number, Preview

#: Characters shown of a sentence, and of several ones in a tooltip.
_SENTENCE, _TOOLTIP = 600, 2000

#: Lines shown of a difference.
_MOST_LINES = 200

STYLE = f'<style>{Path(__file__).with_name("page.css").read_text(encoding="utf-8")}</style>'

#: The cloud icon shows the connection to the page. It must not be green without a bridge.
GONE = '<style>.tabler-icon-cloud-check {stroke:#e03131 !important}</style>'


def escape_html(text: str, most: int = 48) -> str:
    """Return a text as HTML without markup."""
    return html.escape(shorten_end(text, most), quote=True)


class PageUnits:
    """
    Numbers as the page shows them.

    :ivar degrees: Whether angles are in degrees.
    """

    def __init__(self, *, degrees: bool = False) -> None:
        self.degrees = degrees

    def name_unit(self, unit: str) -> str:
        """Return the displayed unit."""
        return {'rad': '°', 'rad/s': '°/s'}.get(unit, unit) if self.degrees else unit

    def to_page(self, value: float, unit: str) -> float:
        """Convert a number to the displayed unit."""
        return math.degrees(value) if self.name_unit(unit) != unit else value

    def from_page(self, value: float, unit: str) -> float:
        """Convert a number from the displayed unit."""
        return math.radians(value) if self.name_unit(unit) != unit else value

    def format_field(self, value: float, unit: str) -> str:
        """Return a number for an input field, with all digits (ten in degrees)."""
        if self.name_unit(unit) != unit:
            return f'{math.degrees(value):.10g}'
        return repr(value).removesuffix('.0')

    def format_text(self, value: float, unit: str) -> str:
        """Return a number with its unit for a sentence."""
        if math.isnan(value):
            return 'unknown'
        return f'{_format_digits(self.to_page(value, unit))} {self.name_unit(unit)}'.rstrip()

    def format_cell(self, value: float, unit: str) -> str:
        """Return a number for a table."""
        return '-' if math.isnan(value) else _format_digits(self.to_page(value, unit))


def _format_digits(value: float) -> str:
    # Ticks have many digits.
    digits = '.4f' if abs(value) < 1e3 else '.1f' if abs(value) < 1e6 else '.4g'
    text = f'{value:{digits}}'
    return text.lstrip('-') if not text.strip('-0.') else text


def format_note(text: str, kind: str = '') -> str:
    """Return a sentence as an element, nothing for an empty text."""
    return text and _format_block([f'<span class="{kind}">{escape_html(text, _SENTENCE)}</span>'])


def _format_block(lines: Iterable[str]) -> str:
    content = '<br>'.join(lines)
    return f'<div class="tb">{content}</div>' if content else ''


def format_line(text: str, kind: str, height: str = 'one') -> str:
    """Return a sentence in one line or ``two``, which is cut; the whole text is its tooltip."""
    shown = f'<span class="{kind}">{escape_html(text, _SENTENCE)}</span>'
    return f'<div class="tb {height}" title="{escape_html(text, _TOOLTIP)}">{shown}</div>'


def format_table(
    heading: Sequence[tuple[str, str]], rows: Iterable[tuple[str, Sequence[str]]], kind: str = ''
) -> str:
    """
    Return a table.

    :param heading: Text and width of each column.
    :param rows: Class and cells of each row, as HTML: with one cell over all columns, or the
        first at the left and the others as numbers.
    :param kind: Another class of the table.
    """
    names = (f'<th style="width:{width}">{escape_html(name)}</th>' for name, width in heading)
    lines = [f'<tr>{"".join(names)}</tr>']
    for style, (first, *others) in rows:
        span = '' if others else f' colspan="{len(heading)}"'
        cells = ''.join(f'<td class="n">{cell}</td>' for cell in others)
        lines.append(f'<tr class="{style}"><td{span}>{first}</td>{cells}</tr>')
    return f'<div class="tb {kind}"><table>{"".join(lines)}</table></div>'


def format_bars(
    heading: str,
    rows: Iterable[tuple[str, Sequence[str], Sequence[float], float, float, float]],
    units: PageUnits,
) -> str:
    """
    Return a table of members with bars inside their limits; members at unknown positions are grey.

    :param heading: Kind of the members.
    :param rows: Name, units and values of (position, velocity, effort), age [s], lower and upper
        position limit. With one unit velocity is per second, effort is in SI.
    """
    columns = (
        (heading, '30%'),
        ('position', ''),
        ('velocity', ''),
        ('effort', ''),
        ('age', '13%'),
    )
    lines: list[tuple[str, Sequence[str]]] = []
    for name, given, values, age, lower, upper in rows:
        each_unit = (given[0], f'{given[0]}/s', '') if len(given) == 1 else given
        shown = ', '.join(units.name_unit(unit) or 'SI' for unit in given)
        cells = map(units.format_cell, values, each_unit)
        old = f'{age:.1f}' if math.isfinite(age) else '<span class="bad">never</span>'
        style = 'old' if math.isnan(values[0]) else ''
        title = f'<span title="{escape_html(name, _SENTENCE)}"><b>{escape_html(name)}</b></span>'
        lines.append((style, [f'{title} <span class="dim">{escape_html(shown)}</span>']))
        lines.append((style, [_format_bar(values[0], lower, upper), *cells, old]))
    return format_table(columns, lines)


def _format_bar(value: float, lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        return ''
    if math.isnan(value):
        return '<div class="bar"></div>'
    inside = min(max((value - lower) / (upper - lower), 0.0), 1.0)
    kind = 'bar' if lower <= value <= upper else 'bar out'
    return f'<div class="{kind}"><i style="left:calc({100.0 * inside:.1f}% - 2px)"></i></div>'


def format_change(
    title: str,
    changes: Iterable[tuple[Number, float]],
    preview: Preview,
    unit_of: Mapping[str, str],
    commanded: Collection[str],
    units: PageUnits,
) -> str:
    """
    Return the numbers that would change, and the effect on the joints.

    :param title: Empty for none.
    :param changes: Each number, and its new value.
    :param unit_of: Unit of each joint.
    :param commanded: Joints that are commanded now.
    """
    lines = [f'<b>{escape_html(title, _SENTENCE)}</b>'] if title else []
    lines += [
        f'{escape_html(".".join(number.tunable.path), _SENTENCE)}: '
        f'{escape_html(units.format_text(number.tunable.value, number.unit))} → '
        f'<b>{escape_html(units.format_text(value, number.unit))}</b>'
        for number, value in changes
    ]
    if preview.reason:
        return _format_block(lines) + format_note(preview.reason, 'bad')
    for joint, before, after in preview.shifts:
        name, unit = f'<b>{escape_html(joint)}</b>', unit_of.get(joint, '')
        if math.isnan(after - before):
            lines.append(f'{name}: its position is unknown')
            continue
        old, new, change = (
            escape_html(units.format_text(value, unit))
            for value in (before, after, abs(after - before))
        )
        live = ' <span class="bad">commanded now</span>' if joint in commanded else ''
        sign = 'more' if after > before else 'less'
        lines.append(f'{name} would read {change} {sign}: {old} → {new}{live}')
    for ratio in preview.ratios:
        share = f'{ratio.after / ratio.before:.3g}' if ratio.before else ''
        how = f'moves {share} times as far' if share else 'is moved'
        if ratio.before * ratio.after < 0.0:
            how = '<span class="care">turns the other way</span>'
        lines.append(f'{escape_html(ratio.joint)} by {escape_html(ratio.actuator)} {how}')
    if not (preview.shifts or preview.ratios):
        lines.append('<span class="dim">no joint position changes</span>')
    return _format_block(lines)


def format_difference(lines: Sequence[str]) -> str:
    """Return the lines of a difference as HTML."""
    if not lines:
        return format_note('no difference', 'dim')
    kinds = {'+': 'plus', '-': 'minus'}
    shown = [
        f'<span class="{kinds.get(line[:1], "dim")}">{escape_html(line, _SENTENCE)}</span>'
        for line in lines[2 : 2 + _MOST_LINES]
    ]
    if len(lines) > 2 + _MOST_LINES:
        shown.append(f'<span class="dim">and {len(lines) - 2 - _MOST_LINES} more lines</span>')
    summary = f'<summary>{len(lines) - 2} lines of difference</summary>'
    return f'<div class="tb"><details>{summary}<pre>{chr(10).join(shown)}</pre></details></div>'


def format_changes(changes: Sequence[tuple[str, str, str, float, float]], units: PageUnits) -> str:
    """
    Return a table of numbers.

    :param changes: Member, number, unit, value in the description and now.
    """
    rows = []
    for member, name, unit, before, after in changes[:_MOST_LINES]:
        shown = escape_html(f'{name} {units.name_unit(unit)}')
        title = escape_html(f'{member} {name}', _SENTENCE)
        label = f'<span title="{title}"><b>{escape_html(member)}</b> {shown}</span>'
        old, new = units.format_cell(before, unit), units.format_cell(after, unit)
        cells = f'<span class="minus">{old}</span>', f'<span class="plus">{new}</span>'
        rows.append(('', (label, *cells)))
    columns = ('number', '56%'), ('URDF', ''), ('now', '')
    return format_table(columns, rows, 'changes') if changes else ''
