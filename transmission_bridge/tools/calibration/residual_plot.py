# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Residuals of a calibration over time: noise, slips and outliers at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transmission_bridge.tools.calibration.results import Calibration, Channel
from transmission_bridge.tools.plotting.figure import picture

__all__ = ['residual_plot']

#: Points per picture; the eye sees no more.
_MOST_POINTS = 4000


def residual_plot(results: Sequence[Calibration], file_format: str) -> bytes:
    """
    Draw the residuals of every channel that was used, one below the other.

    :param file_format: ``svg`` or ``png``.
    """
    rows = [
        (result, channel)
        for result in results
        for channel in result.channels
        if channel.noise is not None and len(channel.residual)
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots(max(len(rows), 1), 1, squeeze=False)[:, 0]
        if not rows:
            axes[0].set_axis_off()
            axes[0].text(0.5, 0.5, 'no residuals', ha='center')
        for axis, (result, channel) in zip(axes, rows, strict=False):
            _draw(axis, result, channel)

    return picture(draw, (9.0, max(2.2 * len(rows), 2.0)), file_format)


def _draw(axis: Any, result: Calibration, channel: Channel) -> None:
    count = len(channel.residual)
    shown = np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.intp))
    inside = shown[~channel.outlier[shown]]
    outside = np.flatnonzero(channel.outlier)
    axis.plot(channel.time[inside], channel.residual[inside], '.', ms=2, color='#4878a8')
    # Outliers far away are marked at the edge, or the rest would be a line.
    noise = channel.noise or 0.0
    low = float(channel.level.min()) - 8.0 * noise
    high = float(channel.level.max()) + 8.0 * noise
    clipped = np.clip(channel.residual[outside], low, high)
    axis.plot(channel.time[outside], clipped, 'x', ms=4, color='#c44e52')
    axis.plot(channel.time, channel.level, color='black', lw=1.0)
    for slip in channel.slips:
        axis.axvline(slip.time, color='#dd8452', lw=1.0, ls='--')
        axis.annotate(
            f'{slip.size:+.3g}', (slip.time, high), xytext=(3.0, -5.0),
            textcoords='offset points', fontsize=7, va='top',
            bbox={'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.8, 'pad': 0.5},
        )  # fmt: skip
    if high > low:
        margin = 0.05 * (high - low)
        axis.set_ylim(low - margin, high + margin)
    axis.set_title(
        f'{result.transmission}: {channel.name}', fontsize=9, loc='left', parse_math=False
    )
    axis.set_xlabel('time [s]' if result.timed else 'row', fontsize=8)
    axis.set_ylabel('residual [rad or m]', fontsize=8)
    axis.tick_params(labelsize=7)
