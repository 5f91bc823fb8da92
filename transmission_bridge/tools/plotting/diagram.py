# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The drive of a robot in one picture: actuators left, transmissions, joints right."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from transmission_bridge.tools.console import printable
from transmission_bridge.tools.extras import optional
from transmission_bridge.tools.plotting.blocks import Block, INSET, MARGIN, Member, shortened
from transmission_bridge.tools.plotting.curve_axes import curve_lines, draw_curves
from transmission_bridge.tools.plotting.curves import Curves
from transmission_bridge.tools.plotting.figure import picture

__all__ = ['columns_of', 'diagram']

#: Inches: a column of blocks, and in it the left edges and widths of the three kinds of boxes.
COLUMN = 8.7
ACTUATOR, MIDDLE, JOINT = (0.1, 2.3), (2.95, 2.3), (5.8, 2.3)
TITLE = 0.55

#: Width and height of the picture of a curve.
PANEL = (4.1, 2.5)

_COLOURS = {'actuator': '#e8eef7', 'joint': '#eaf4e6', 'constant': '#f6f6f6', 'bent': '#fdf3e1'}
_EDGE = '#5a6270'


def diagram(
    title: str, blocks: Sequence[Block], pass_through: Sequence[str], file_format: str
) -> bytes:
    """
    Draw the drive, and below it the curves of each ratio that depends on position.

    :param title: The robot's name.
    :param pass_through: Joints without a transmission.
    :param file_format: ``svg`` or ``png``.
    """
    columns = columns_of(blocks)
    passed = _passed(pass_through, len(columns))
    panels = [(block, curves) for block in blocks for curves in block.curves]
    tall = max((sum(b.height for b in column) for column in columns), default=0.0)
    body = TITLE + tall + 0.16 * len(passed) + MARGIN
    width = COLUMN * max(len(columns), 1)
    per_row = max(1, int(width // (2.0 * PANEL[0])))
    height = body + PANEL[1] * math.ceil(len(panels) / per_row)

    def draw(figure: Any) -> None:
        top = height - body
        axes = figure.add_axes((0.0, top / height, 1.0, body / height))
        axes.set_xlim(0.0, width)
        axes.set_ylim(0.0, body)
        axes.set_axis_off()
        _text(axes, 0.1, body - 0.3, title, size=13, weight='bold')
        for number, column in enumerate(columns):
            level = body - TITLE
            for block in column:
                _draw_block(axes, block, number * COLUMN, level)
                level -= block.height
        for number, line in enumerate(reversed(passed)):
            _text(axes, 0.1, 0.1 + 0.16 * number, line, size=8, va='bottom')
        for number, (block, curves) in enumerate(panels):
            row, place = divmod(number, per_row)
            left, base = place * 2.0 * PANEL[0], top - (row + 1) * PANEL[1]
            _draw_panel(figure, block.name, curves, (left, base), (width, height))

    return picture(draw, (width, height), file_format, layout=None)


def columns_of(blocks: Sequence[Block]) -> list[list[Block]]:
    """Share the blocks out so that the picture is about as wide as high."""
    total = sum(block.height for block in blocks)
    count = max(1, round(math.sqrt(total / COLUMN) + 0.3))
    columns: list[list[Block]] = [[]]
    filled = 0.0
    for block in blocks:
        if columns[-1] and len(columns) < count and filled + 0.5 * block.height > total / count:
            columns.append([])
            filled = 0.0
        columns[-1].append(block)
        filled += block.height
    return columns


def _passed(names: Sequence[str], columns: int) -> list[str]:
    if not names:
        return []
    lines = ['passed through, without a transmission:']
    for name in map(shortened, names):
        if len(lines[-1]) + len(name) > 110 * columns:
            lines.append('')
        lines[-1] += ' ' + name + (',' if name != shortened(names[-1]) else '')
    return lines


def _draw_block(axes: Any, block: Block, left: float, top: float) -> None:
    height = block.height - MARGIN
    centre = top - 0.5 * height
    kind = 'bent' if block.curves else 'constant'
    _box(axes, left + MIDDLE[0], top - height, MIDDLE[1], height, kind)
    middle = left + MIDDLE[0] + 0.5 * MIDDLE[1]
    inset = INSET if block.curves else 0.0
    lines = [shortened(block.name), *block.lines]
    line = top - 0.5 * (height - inset) + 0.0725 * (len(lines) - 1)
    for number, text in enumerate(lines):
        weight, size = ('bold', 8) if number == 0 else ('normal', 7)
        _text(axes, middle, line - 0.145 * number, text, size=size, weight=weight, ha='center')
    if block.curves:
        place = (left + MIDDLE[0] + 0.1, top - height + 0.06, MIDDLE[1] - 0.2, INSET - 0.1)
        _draw_inset(axes, block.curves[0], place)
    for members, column, kind, joins in (
        (block.actuators, ACTUATOR, 'actuator', (ACTUATOR[0] + ACTUATOR[1], MIDDLE[0])),
        (block.joints, JOINT, 'joint', (JOINT[0], MIDDLE[0] + MIDDLE[1])),
    ):
        pitch = height / len(members)
        for number, member in enumerate(members):
            level = top - (number + 0.5) * pitch
            _draw_member(axes, member, left + column[0], level, column[1], kind)
            box_level = centre + 0.6 * (level - centre)
            ends = [left + joins[0], left + joins[1]]
            axes.plot(ends, [level, box_level], color=_EDGE, lw=1.0, zorder=1)


def _draw_member(
    axes: Any, member: Member, left: float, level: float, width: float, kind: str
) -> None:
    _box(axes, left, level - 0.19, width, 0.38, kind)
    middle = left + 0.5 * width
    if member.numbers:
        _text(axes, middle, level + 0.075, shortened(member.name), size=8, ha='center')
        _text(axes, middle, level - 0.085, member.numbers, size=6.5, ha='center', color=_EDGE)
    else:
        _text(axes, middle, level, shortened(member.name), size=8, ha='center')


def _box(axes: Any, left: float, base: float, width: float, height: float, kind: str) -> None:
    patches = optional('matplotlib.patches', 'plot')
    shape = patches.FancyBboxPatch(
        (left, base),
        width,
        height,
        boxstyle='round,pad=0,rounding_size=0.06',
        facecolor=_COLOURS[kind],
        edgecolor=_EDGE,
        linewidth=0.8,
        zorder=2,
    )
    axes.add_patch(shape)


def _draw_inset(axes: Any, curves: Curves, place: tuple[float, float, float, float]) -> None:
    inset = axes.inset_axes(place, transform=axes.transData, zorder=3)
    inset.set_xticks([])
    inset.set_yticks([])
    curve_lines(inset, curves.x, _scaled(curves.positions))


def _scaled(positions: np.ndarray) -> np.ndarray:
    """Return the columns in shares of their range: an inset shows shapes, not sizes."""
    with np.errstate(all='ignore'):
        low = np.nanmin(positions, axis=0, initial=np.inf)
        high = np.nanmax(positions, axis=0, initial=-np.inf)
        return np.asarray((positions - low) / (high - low))


def _draw_panel(
    figure: Any,
    name: str,
    curves: Curves,
    corner: tuple[float, float],
    size: tuple[float, float],
) -> None:
    pair = []
    for number in range(2):
        left = corner[0] + number * PANEL[0] + 0.75
        place = (
            left / size[0],
            (corner[1] + 0.5) / size[1],
            (PANEL[0] - 1.0) / size[0],
            (PANEL[1] - 1.0) / size[1],
        )
        pair.append(figure.add_axes(place))
    draw_curves(pair[0], pair[1], shortened(name), curves)


def _text(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    style = {'va': 'center', **style}
    # Text is never read as a formula: names may hold any character.
    axes.text(x, y, printable(text), parse_math=False, zorder=4, **style)
