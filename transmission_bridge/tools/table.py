# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Aligned columns of text."""

from __future__ import annotations

from collections.abc import Sequence
import unicodedata

from transmission_bridge.tools.console import printable

__all__ = ['aligned', 'columns_of']


def columns_of(text: str) -> int:
    """Return how many columns a terminal needs for a text without control characters."""
    wide = sum(unicodedata.east_asian_width(character) in 'WF' for character in text)
    marks = sum(unicodedata.combining(character) != 0 for character in text)
    return len(text) + wide - marks


def aligned(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), gap: str = '  '
) -> list[str]:
    """
    Return one line per row, each column as wide as its widest cell.

    :param rows: Cells, all rows equally long.
    :param right: Columns to align right, for numbers.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            filling = ' ' * (width - columns_of(cell))
            padded.append(filling + cell if place in right else cell + filling)
        lines.append(gap.join(padded).rstrip())
    return lines
