# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Pictures as bytes: without a display, and the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Callable
import io
import os
from typing import Any
import warnings

from transmission_bridge.tools.cli import optional, UsageError

__all__ = ['format_of', 'picture']

_FORMATS = ('svg', 'png')


def format_of(file: str) -> str:
    """
    Return the format that a file name asks for.

    :raises UsageError: If it is none that is drawn.
    """
    suffix = os.path.splitext(file)[1].lower().removeprefix('.')
    if suffix not in _FORMATS:
        raise UsageError(f"'{file}' should end with .svg or .png")
    return suffix


def picture(
    draw: Callable[[Any], None],
    size: tuple[float, float],
    file_format: str,
    *,
    layout: str | None = 'constrained',
    dpi: float = 110.0,
) -> bytes:
    """
    Draw a picture.

    :param draw: Draws on a figure of matplotlib.
    :param size: Width and height in inches.
    :param file_format: ``svg`` or ``png``.
    :param layout: Who places the axes: matplotlib, or with ``None`` the caller.
    """
    matplotlib = optional('matplotlib', 'plot')
    figure_module = optional('matplotlib.figure', 'plot')
    # Neither a date nor random identifiers: the same robot gives the same file.
    settings = {'svg.hashsalt': 'transmission_bridge', 'svg.fonttype': 'path'}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **settings}):
        figure = figure_module.Figure(figsize=size, dpi=dpi, layout=layout)
        output = io.BytesIO()
        metadata = {'Date': None} if file_format == 'svg' else {}
        with warnings.catch_warnings():
            # A name may have characters that the font lacks; they are drawn as boxes.
            warnings.filterwarnings('ignore', message='Glyph')
            draw(figure)
            figure.savefig(output, format=file_format, metadata=metadata)
    return output.getvalue()
