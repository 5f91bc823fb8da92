# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The report of ``check`` as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
import math
import re
import textwrap

from transmission_bridge.description import Finding
from transmission_bridge.errors import sentence
from transmission_bridge.tools.check_report import CheckReport, Member, TransmissionReport
from transmission_bridge.tools.console import printable
from transmission_bridge.tools.limit_report import MemberLimits, Range, Ratio, TransmissionLimits
from transmission_bridge.tools.table import aligned, columns_of
from transmission_bridge.tools.units import units_of

__all__ = ['number_text', 'text_lines']

_HEADING = ('', '', 'ROLE', 'REDUCTION', 'OFFSET')

_QUOTED = re.compile(r"'([^']*)'")
#: A sentence about one of several, as in ``joint '' cannot``, that can be one about all of them.
_ABOUT_ONE = re.compile(r"(transmission|joint|actuator) '' (?=of unknown type|cannot\b)")


def text_lines(report: CheckReport, file: str, width: int | None) -> Iterator[str]:
    """
    Yield the lines.

    Findings look as those of a compiler, ``file:line: severity: message``, so that editors and
    terminals find the place. Those that differ in their names and places only are one.

    :param file: The file's name, as the user gave it.
    :param width: Columns to wrap at, ``None``: do not.
    """
    if report.robot or report.transmissions:
        yield _wrapped(f"robot '{printable(report.robot)}' in {printable(file)}", width)
        yield ''
    if report.transmissions:
        yield from _table(report.transmissions, width)
        yield ''
    known = [each.limits for each in report.transmissions if each.limits is not None]
    yield from _limits(known, width)
    ratios = [ratio for each in known for ratio in each.ratios]
    if ratios:
        yield 'ratios that vary, over the positions that are allowed'
        yield from (f'  {line}' for line in _ratios(ratios))
        yield ''
    for title, names in (
        ('passed through (no transmission)', report.pass_through),
        ('not bridged (transmission refused)', tuple(name for name, _ in report.lost)),
    ):
        if names:
            text = f'{_count(len(names), "joint")} {title}: {", ".join(map(printable, names))}'
            yield _wrapped(text, width)
            yield ''
    for group in _groups(report):
        yield _wrapped(_finding(group, file, _names(report)), width)
    if report.findings:
        yield ''
    yield _summary(report)


def number_text(value: float | None) -> str:
    """Return the shortest text that reads as the same number; ``?`` where it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


def _table(transmissions: tuple[TransmissionReport, ...], width: int | None) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [_HEADING]
    for transmission in transmissions:
        rows += [_row('joint', member) for member in transmission.joints]
        rows += [_row('actuator', member) for member in transmission.actuators]
    heading, *members = aligned(rows, right=(3, 4))
    lines = iter(members)
    yield '  ' + heading
    for transmission in transmissions:
        place = '' if transmission.line is None else f'line {transmission.line}: '
        state = '' if transmission.loaded else 'REFUSED '
        name = f'{place}{state}{printable(transmission.name)}'
        type_name = f'{printable(transmission.type) or "no type"} ({transmission.dialect})'
        if width is None or columns_of(name) + columns_of(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield name
            yield f'    {type_name}'
        for _ in (*transmission.joints, *transmission.actuators):
            yield '  ' + next(lines)


def _row(kind: str, member: Member) -> tuple[str, ...]:
    return (
        kind,
        member.name,
        '?' if member.role is None else member.role or '-',
        number_text(member.mechanical_reduction),
        number_text(member.offset),
    )


# -- limits --------------------------------------------------------------------------------------


def _limits(limits: Sequence[TransmissionLimits], width: int | None) -> Iterator[str]:
    members = [
        (indent, member)
        for each in limits
        for indent, side in (('', each.joints), ('  ', each.actuators))
        for member in side
        if member.says_something
    ]
    if not members:
        return
    rows: list[tuple[str, ...]] = [('', 'LOWER', 'UPPER', 'VELOCITY', 'EFFORT')]
    rows += [_numbers(indent, each) for indent, each in members]
    title = 'limits of the joints, and what they allow their actuators (indented)'
    lines = aligned(rows, right=(1, 2, 3, 4))
    units = [_units(each.unit) for _, each in members]
    if len(set(units)) == 1:
        title += f', in {", ".join(units[0])}'
    else:
        widest = max(map(columns_of, lines)) + max(len(', '.join(each)) for each in units)
        if width is not None and widest + 4 > width:
            units = [each[:1] for each in units]  # that of the position stands for all three
        column = ['UNITS', *(', '.join(each) for each in units)]
        lines = aligned(
            [(*row, each) for row, each in zip(rows, column, strict=True)], right=(1, 2, 3, 4)
        )
    yield _wrapped(title, width)
    yield from (f'  {line}' for line in lines)
    yield ''


def _units(unit: str) -> tuple[str, ...]:
    position, velocity, effort = units_of(unit)
    return (position, velocity, effort) if ' or ' not in unit else (position, effort)


def _numbers(indent: str, each: MemberLimits) -> tuple[str, ...]:
    return (
        indent + each.name,
        _range((each.lower, each.lower)),
        _range((each.upper, each.upper)),
        _range(each.velocity),
        _range(each.effort),
    )


def _ratios(ratios: Sequence[Ratio]) -> list[str]:
    rows = [
        (each.actuator, 'per', each.joint, _range((each.least, each.greatest)), each.unit)
        for each in ratios
    ]
    return aligned(rows, right=(3,))


def _range(values: Range) -> str:
    """Return one number, or the ends of a range, which come from samples, with fewer digits."""
    least, greatest = values
    if math.isnan(least):
        return '?'
    if math.isinf(least):
        return '-'
    if least == greatest:
        return f'{least:.6g}'
    ends = (f'{least:.4g}', f'{greatest:.4g}')
    return ends[0] if ends[0] == ends[1] else ' .. '.join(ends)


# -- findings ------------------------------------------------------------------------------------


def _groups(report: CheckReport) -> list[list[Finding]]:
    """Return the findings, those together that differ in names and places only."""
    names = _names(report)
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        key = finding.severity, _anonymous(_sentence(finding), names)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _names(report: CheckReport) -> frozenset[str]:
    """Return the names that a sentence may be about."""
    return frozenset(
        name
        for each in report.transmissions
        for name in (each.name, *(member.name for member in (*each.joints, *each.actuators)))
    )


def _anonymous(text: str, names: Collection[str]) -> str:
    return _QUOTED.sub(lambda quoted: "''" if quoted[1] in names else quoted[0], text)


def _finding(group: Sequence[Finding], file: str, names: Collection[str]) -> str:
    first = group[0]
    place = file if first.line is None else f'{file}:{first.line}'
    text = _sentence(first)
    if len(group) == 1:
        where = f' [{first.path}]' if first.path else ''
    else:
        count = len(group)
        general, is_general = _ABOUT_ONE.subn(
            lambda found: f'{count} {found[1]}s ', _anonymous(text, names), count=1
        )
        # A sentence with more names in it is about the first finding only.
        text = general if is_general and "''" not in general else f'{count} times: {text}'
        lines = dict.fromkeys(str(each.line) for each in group if each.line is not None)
        where = f' [lines {", ".join(lines)}]' if len(lines) > 1 else ''
    return printable(f'{place}: {first.severity}: {text}{where}')


def _sentence(finding: Finding) -> str:
    # The traceback of a plugin is for its author: it is in the JSON.
    message = finding.message.partition('\n')[0]
    return sentence(message, expected=finding.expected, found=finding.found)


def _summary(report: CheckReport) -> str:
    severities = Counter(finding.severity for finding in report.findings)
    loaded = sum(transmission.loaded for transmission in report.transmissions)
    refused = len(report.transmissions) - loaded
    return ', '.join(
        [
            f'{_count(loaded, "transmission")} loaded',
            *([f'{refused} refused'] if refused else []),
            _count(severities['error'], 'error'),
            _count(severities['warning'], 'warning'),
        ]
    )


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')


def _wrapped(text: str, width: int | None) -> str:
    if width is None:
        return text
    return textwrap.fill(
        text, width, subsequent_indent='    ', break_long_words=False, break_on_hyphens=False
    )
