# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The report of ``check`` as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
import math
import textwrap

from transmission_bridge.description import Finding
from transmission_bridge.errors import sentence
from transmission_bridge.tools.check_report import CheckReport, Member, TransmissionReport
from transmission_bridge.tools.console import printable
from transmission_bridge.tools.limit_report import ActuatorLimits
from transmission_bridge.tools.table import aligned

__all__ = ['number_text', 'text_lines']

_LIMITS = ('', 'LOWER', 'UPPER', 'VELOCITY', 'EFFORT')

_HEADING = ('', '', 'ROLE', 'REDUCTION', 'OFFSET')


def text_lines(report: CheckReport, file: str, width: int | None) -> Iterator[str]:
    """
    Yield the lines.

    Findings look as those of a compiler, ``file:line: severity: message``, so that editors and
    terminals find the place.

    :param file: The file's name, as the user gave it.
    :param width: Columns to wrap sentences at, ``None``: do not.
    """
    if report.robot or report.transmissions:
        yield f"robot '{printable(report.robot)}' in {printable(file)}"
        yield ''
    if report.transmissions:
        yield from _table(report.transmissions)
        yield ''
    limits = [each for t in report.transmissions for each in t.limits if each.says_something]
    if limits:
        yield 'limits of the joints, as actuators see them'
        yield from (f'  {line}' for line in _limits(limits))
        yield ''
    for title, names in (
        ('passed through (no transmission)', report.pass_through),
        ('not bridged (transmission refused)', tuple(name for name, _ in report.lost)),
    ):
        if names:
            text = f'{_count(len(names), "joint")} {title}: {", ".join(map(printable, names))}'
            yield _wrapped(text, width)
            yield ''
    for finding in report.findings:
        yield _wrapped(_finding(finding, file), width)
    if report.findings:
        yield ''
    yield _summary(report)


def number_text(value: float | None) -> str:
    """Return the shortest text that reads as the same number; ``?`` where it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


def _table(transmissions: tuple[TransmissionReport, ...]) -> Iterator[str]:
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
        name = printable(transmission.name)
        type_name = printable(transmission.type) or 'no type'
        yield f'{place}{state}{name}  {type_name} ({transmission.dialect})'
        for _ in (*transmission.joints, *transmission.actuators):
            yield '  ' + next(lines)


def _limits(limits: Sequence[ActuatorLimits]) -> list[str]:
    rows = [(each.name, *map(_limit, each.numbers)) for each in limits]
    return aligned([_LIMITS, *rows], right=(1, 2, 3, 4))


def _limit(value: float) -> str:
    if math.isnan(value):
        return 'varies'
    return '-' if math.isinf(value) else f'{value:.6g}'


def _row(kind: str, member: Member) -> tuple[str, ...]:
    return (
        kind,
        member.name,
        '?' if member.role is None else member.role or '-',
        number_text(member.mechanical_reduction),
        number_text(member.offset),
    )


def _finding(finding: Finding, file: str) -> str:
    place = file if finding.line is None else f'{file}:{finding.line}'
    # The traceback of a plugin is for its author: it is in the JSON.
    message = finding.message.partition('\n')[0]
    text = sentence(message, expected=finding.expected, found=finding.found)
    where = f' [{finding.path}]' if finding.path else ''
    return printable(f'{place}: {finding.severity}: {text}{where}')


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
