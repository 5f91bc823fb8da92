# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The result of a calibration as text for people."""

from __future__ import annotations

from collections.abc import Iterator
import math
import textwrap

from transmission_bridge.tools.calibration.results import Calibration, Channel, Parameter
from transmission_bridge.tools.console import printable
from transmission_bridge.tools.table import aligned

__all__ = ['rounded', 'text_lines']

_HEADING = ('PARAMETER', 'DESCRIPTION', 'ESTIMATE', '95 % INTERVAL')


def text_lines(result: Calibration, width: int | None) -> Iterator[str]:
    """
    Yield the lines about one transmission.

    :param width: Columns to wrap sentences at, ``None``: do not.
    """
    rows = 'rows' if result.rows != 1 else 'row'
    yield f'{printable(result.transmission)}  {printable(result.type)}  ({result.rows} {rows})'
    table = [_HEADING, *(_row(parameter) for parameter in result.parameters)]
    for line in aligned(table, right=(1, 2)):
        yield f'  {line}'
    for channel in result.channels:
        yield from (f'  {line}' for line in _channel(channel, result.timed))
    for sentence in result.warnings:
        yield _wrapped(f'warning: {sentence}', width)
    yield ''


def rounded(value: float, half_width: float | None) -> str:
    """Return a number with two digits more than its interval lets it have."""
    if half_width is None or not 0.0 < half_width < math.inf:
        return f'{value:.9g}'
    digits = max(0, min(12, 1 - math.floor(math.log10(half_width))))
    return f'{value:.{digits}f}'


def _row(parameter: Parameter) -> tuple[str, str, str, str]:
    described = f'{parameter.described:.9g}'
    if parameter.half_width is None:
        # What is more than was to be expected is a warning, in a sentence of its own.
        return parameter.name, described, 'kept', '' if parameter.warns else parameter.kept
    if math.isinf(parameter.half_width):
        interval = 'unknown: no more measurements than numbers'
    else:
        interval = f'± {parameter.half_width:.2g}'
    return parameter.name, described, rounded(parameter.value, parameter.half_width), interval


def _channel(channel: Channel, timed: bool) -> Iterator[str]:
    if channel.noise is None:
        yield f'{printable(channel.name)}: {channel.motion.value}, not used'
        return
    outliers = int(channel.outlier.sum())
    yield (
        f'{printable(channel.name)}: noise {channel.noise:.2g}, {outliers} of '
        f'{len(channel.outlier)} are outliers'
    )
    for slip in channel.slips:
        when = f'{slip.time:.9g} s' if timed else f'row {slip.time:.0f}'
        size = rounded(slip.size, slip.half_width)
        yield f'  slip at {when}: {size} ± {slip.half_width:.2g}'


def _wrapped(text: str, width: int | None) -> str:
    if width is None:
        return f'  {printable(text)}'
    return textwrap.fill(
        printable(text), width, initial_indent='  ', subsequent_indent='    ',
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
