# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Texts of the page as HTML.

Names and sentences come from descriptions and from messages of others. Each goes through
:func:`plain`, so that none of them can be markup, nor a control character of any kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import html
import math

from transmission_bridge.errors import printable
from transmission_bridge.tools.tune.model import Number, Preview

__all__ = [
    'STYLE',
    'Units',
    'bars',
    'changes',
    'difference',
    'effects',
    'label',
    'note',
    'plain',
    'sentences',
]

#: Characters of a name, and of a sentence, that are shown.
_NAME, _SENTENCE = 48, 600

#: Lines of a difference that are shown.
_MOST_LINES = 200

#: Colours that can be read on light and on dark.
GOOD, BAD, CARE, DIM = '#2b8a3e', '#e03131', '#e8890c', '#868e96'

STYLE = f"""<style>
.tb {{font-size:0.8em;line-height:1.45;padding:0 0.75em 0.4em}}
.tb table {{width:100%;border-collapse:collapse;table-layout:fixed}}
.tb td {{padding:0 0.3em 0 0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}}
.tb td.n {{text-align:right;font-variant-numeric:tabular-nums}}
.tb th {{text-align:right;font-weight:400;color:{DIM};padding:0 0.3em 0 0}}
.tb th:first-child {{text-align:left}}
.tb .bar {{height:4px;background:{DIM}55;border-radius:2px;position:relative;margin:1px 0 3px}}
.tb .bar i {{position:absolute;top:-2px;width:4px;height:8px;background:#228be6;border-radius:1px}}
.tb .out i {{background:{BAD}}}
.tb .old, .tb .dim {{color:{DIM}}}
.tb .bad {{color:{BAD}}} .tb .care {{color:{CARE}}} .tb .good {{color:{GOOD}}}
.tb b {{font-weight:600}}
.tb pre {{font-size:0.95em;margin:0.2em 0;overflow-x:auto;max-height:16em}}
.tb .plus {{color:{GOOD}}} .tb .minus {{color:{BAD}}}
.mantine-Slider-root + .mantine-NumberInput-root {{display:none}}
</style>"""


def label(text: str) -> str:
    """Return a name for a widget, which shows it as it is: printable, and cut."""
    shown = printable(text)
    return shown if len(shown) <= _NAME else shown[: _NAME - 1] + '…'


def plain(text: str, most: int = _NAME) -> str:
    """Return a text as HTML that shows it and is nothing else."""
    shown = printable(text)
    return html.escape(shown if len(shown) <= most else shown[: most - 1] + '…', quote=True)


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
        return math.degrees(value) if self.degrees and unit in ('rad', 'rad/s') else value

    def from_page(self, value: float, unit: str) -> float:
        """Return a number that was shown in that unit."""
        return math.radians(value) if self.degrees and unit in ('rad', 'rad/s') else value

    def field(self, value: float, unit: str) -> str:
        """Return a number for a field: with all digits, in degrees with enough of them."""
        if self.degrees and unit == 'rad':
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
    shown = f'<span class="{kind}">{plain(text, _SENTENCE)}</span>' if text else ''
    return f'<div class="tb">{shown}</div>' if shown else ''


def sentences(lines: Iterable[str], kind: str = 'care', most: int = 6) -> str:
    """Return sentences, the first of them where there are many."""
    found = list(lines)
    rest = [f'and {len(found) - most} more'] if len(found) > most else []
    return ''.join(note(line, kind) for line in [*found[:most], *rest])


def bars(
    heading: str,
    rows: Sequence[tuple[str, str, Sequence[float], float, float, float, bool]],
    units: Units,
) -> str:
    """
    Return a table of members with bars inside their limits.

    :param heading: Actuators or joints.
    :param rows: Name, unit, position with velocity and effort, age, least and greatest position,
        and whether it is stale.
    """
    lines = [
        f'<tr><th style="width:30%">{plain(heading)}</th><th>position</th><th>velocity</th>'
        '<th>effort</th><th style="width:13%">age</th></tr>'
    ]
    for name, unit, values, age, lower, upper, stale in rows:
        cells = ''.join(
            f'<td class="n">{units.cell(value, each)}</td>'
            for value, each in zip(values, (unit, f'{unit}/s', ''), strict=True)
        )
        old = f'{age:.1f}' if math.isfinite(age) else 'never'
        style = ' class="old"' if stale else ''
        lines.append(
            f'<tr{style}><td colspan="5" title="{plain(name, _SENTENCE)}"><b>{plain(name)}</b> '
            f'<span class="dim">{plain(units.name(unit))}</span></td></tr>'
            f'<tr{style}><td>{_bar(values[0], lower, upper)}</td>{cells}'
            f'<td class="n {"bad" if stale else ""}">{old}</td></tr>'
        )
    return f'<div class="tb"><table>{"".join(lines)}</table></div>'


def _bar(value: float, lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        return ''
    if math.isnan(value):
        return '<div class="bar"></div>'
    share = (value - lower) / (upper - lower)
    inside = min(max(share, 0.0), 1.0)
    kind = 'bar' if 0.0 <= share <= 1.0 else 'bar out'
    return f'<div class="{kind}"><i style="left:calc({100.0 * inside:.1f}% - 2px)"></i></div>'


def changes(values: Mapping[str, float], numbers: Iterable[Number], units: Units) -> str:
    """Return each number that would change, before and after."""
    lines = [
        f'{plain(".".join(number.path), _SENTENCE)}: '
        f'{plain(units.text(number.tunable.value, number.unit))} → '
        f'<b>{plain(units.text(values[number.name], number.unit))}</b>'
        for number in numbers
        if number.name in values
    ]
    return f'<div class="tb">{"<br>".join(lines)}</div>' if lines else ''


def effects(
    preview: Preview, unit_of: Mapping[str, str], units: Units, commanded: Iterable[str]
) -> str:
    """
    Return what a change would do.

    :param unit_of: Unit of each joint.
    :param commanded: Joints that are commanded at the moment.
    """
    if preview.reason:
        return note(preview.reason, 'bad')
    live = set(commanded)
    lines = []
    for shift in preview.shifts:
        unit = unit_of.get(shift.joint, '')
        if math.isnan(shift.amount):
            lines.append(f'<b>{plain(shift.joint)}</b>: its position is unknown')
            continue
        lines.append(
            f'<b>{plain(shift.joint)}</b> would be read {plain(units.text(shift.amount, unit))} '
            f'further: {plain(units.text(shift.before, unit))} → '
            f'{plain(units.text(shift.after, unit))}'
            + (' <span class="bad">commanded now</span>' if shift.joint in live else '')
        )
    for turn in preview.turns:
        how = (
            '<span class="care">turns the other way</span>'
            if turn.is_reversed
            else f'moves {turn.after / turn.before:.3g} times as far'
            if turn.before
            else 'is moved by it'
        )
        lines.append(f'{plain(turn.joint)} by {plain(turn.actuator)} {how}')
    if not lines:
        return note('no joint would be read elsewhere', 'dim')
    return f'<div class="tb">{"<br>".join(lines)}</div>'


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
