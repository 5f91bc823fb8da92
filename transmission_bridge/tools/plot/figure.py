# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reproducible pictures as bytes, without a display."""

from __future__ import annotations

from collections.abc import Callable
import io
import os
from typing import Any
import warnings

from transmission_bridge.tools.cli import optional, UsageError

_FORMATS = ('svg', 'png')


def format_of(file: str) -> str:
    """
    Return the format of a file name.

    :raises UsageError: If it is not supported.
    """
    suffix = os.path.splitext(file)[1].lower().removeprefix('.')
    if suffix not in _FORMATS:
        raise UsageError(f"the name of a picture must end with .svg or .png, found '{file}'")
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
    :param layout: Layout engine of matplotlib; ``None``: the caller places the axes.
    """
    matplotlib = optional('matplotlib', 'plot')
    figure_module = optional('matplotlib.figure', 'plot')
    # Without date and random identifiers, so that files of the same robot are identical.
    settings = dict[str, Any]({'svg.hashsalt': 'transmission_bridge', 'svg.fonttype': 'path'})
    settings['text.parse_math'] = False  # a name may contain $
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **settings}):
        figure = figure_module.Figure(figsize=size, dpi=dpi, layout=layout)
        output = io.BytesIO()
        metadata = {'Date': None} if file_format == 'svg' else {}
        with warnings.catch_warnings():
            # Missing characters of the font are drawn as boxes.
            warnings.filterwarnings('ignore', message='Glyph')
            draw(figure)
            figure.savefig(output, format=file_format, metadata=metadata)
    return output.getvalue()
