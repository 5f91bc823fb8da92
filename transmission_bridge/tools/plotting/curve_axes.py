# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Draws position and ratio over position."""

from __future__ import annotations

from typing import Any

import numpy as np

from transmission_bridge.tools.plotting.blocks import shortened
from transmission_bridge.tools.plotting.curves import Curves
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['curve_lines', 'draw_curves']

_LINES = ('#33638d', '#c06c2f', '#4a8c5c', '#8a5a9e', '#8c6d4a', '#5a8c8c')

_SIDES = ('lower', 'upper')

#: A limit this share of the domain outside of it is still drawn.
_NEAR = 0.25

_LIMIT = '#b03a3a'

#: A ratio beyond so many times the typical one is next to a singular position: it is cut off.
_CUT = 20.0


def curve_lines(axes: Any, x: Array, columns: Array, labels: tuple[str, ...] = ()) -> None:
    """Draw a line per column, the second and the others dashed."""
    for number, column in enumerate(columns.T):
        axes.plot(
            x,
            column,
            color=_LINES[number % len(_LINES)],
            ls='-' if number == 0 else '--',
            lw=1.2,
            label=labels[number] if labels else None,
        )


def _shown(curves: Curves) -> dict[str, float]:
    """Return the limits that are in the domain or near it."""
    low, high = float(curves.x.min()), float(curves.x.max())
    reach = _NEAR * (high - low)
    return {
        side: bound
        for side, bound in zip(_SIDES, curves.limits, strict=True)
        if low - reach <= bound <= high + reach
    }


def _range(values: Array) -> tuple[float, float]:
    """Return the ends of an axis: with a margin, and never so narrow that it shows rounding."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = max(0.05 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    return low - margin, high + margin


def draw_curves(position: Any, ratio: Any, title: str, curves: Curves) -> None:
    """
    Draw the positions on one pair of axes and the ratios on another.

    :param title: The transmission.
    """
    labels = tuple(shortened(name) for name in curves.names)
    moved = shortened(curves.moved)
    curve_lines(position, curves.x, curves.positions, labels)
    with np.errstate(all='ignore'):
        typical = float(np.nanmedian(np.abs(curves.ratios))) if curves.ratios.size else 0.0
    cut = np.where(np.abs(curves.ratios) > _CUT * typical, np.nan, curves.ratios)
    curve_lines(ratio, curves.x, cut, labels)
    what = labels[0] if len(labels) == 1 else 'position'
    rows = ((position, f'{what} [{curves.other_unit}]'), (ratio, f'ratio, per {moved}'))
    for axes, label in rows:
        for side, bound in _shown(curves).items():
            if np.isfinite(bound):
                axes.axvline(bound, color=_LIMIT, lw=1.0, ls=':')
                axes.annotate(
                    f'{side} limit', (bound, 0.03), xycoords=axes.get_xaxis_transform(),
                    xytext=(-2.5, 0.0), textcoords='offset points', rotation=90, ha='right',
                    fontsize=6, color=_LIMIT,
                    bbox={'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.8, 'pad': 0.5},
                )  # fmt: skip
        axes.set_xlabel(f'{moved} [{curves.unit}]', fontsize=7, parse_math=False)
        axes.set_ylabel(label, fontsize=7, parse_math=False)
        axes.tick_params(labelsize=6.5)
        axes.ticklabel_format(useOffset=False)
        axes.set_xlim(*_range(np.array([*curves.x, *_shown(curves).values()])))
        axes.grid(True, color='#e2e2e2', lw=0.5)
    for bounds in curves.other_limits:
        for bound in bounds:
            if np.isfinite(bound):
                position.axhline(bound, color=_LIMIT, lw=1.0, ls=':')
    if len(labels) > 1:
        for text in position.legend(fontsize=6.5).get_texts():
            text.set_parse_math(False)
    ratio.set_ylim(*_range(cut))
    held = ''.join(f', {shortened(name)} at {value:.3g}' for name, value in curves.held)
    position.set_title(title, fontsize=8, loc='left', parse_math=False)
    beyond = [
        f'{side} limit {bound:.4g}'
        for side, bound in zip(_SIDES, curves.limits, strict=True)
        if np.isfinite(bound) and side not in _shown(curves)
    ]
    where = f'\nnot in the picture: {", ".join(beyond)}' if beyond else ''
    ratio.set_title(f'over {moved}{held}{where}', fontsize=7, loc='left', parse_math=False)
