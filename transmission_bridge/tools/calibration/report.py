# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a recording shows of the numbers of a transmission: results, text, picture, files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math
import textwrap
from typing import Any

import numpy as np

from transmission_bridge.tools.cli import aligned, printable
from transmission_bridge.tools.parameter_files import Entry
from transmission_bridge.tools.plot.figure import picture
from transmission_bridge.transmissions import ParameterPath
from transmission_bridge.types import Array

#: Part of the motion of a joint that may be left.
POOR = 0.2


@dataclass(frozen=True, slots=True)
class RecordedNumber:
    """
    One number of a transmission.

    :param path: Its path below the transmission.
    :param described: Its value in the description.
    :param value: The fitted value, or the described one.
    :param half_width: Half of the 95 % confidence interval; ``None``: not fitted; infinite with no
        more measurements than numbers.
    :param kept: Why it is not fitted.
    """

    path: ParameterPath
    described: float
    value: float
    half_width: float | None = None
    kept: str = ''

    @property
    def name(self) -> str:
        """The path with dots."""
        return '.'.join(self.path)

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        half = math.inf if self.half_width is None else self.half_width
        return {
            'name': self.name, 'description': self.described, 'value': self.value,
            'estimated': self.half_width is not None, 'kept': self.kept or None,
            'interval': [self.value - half, self.value + half] if math.isfinite(half) else None,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class JointResidual:
    """
    What is left of the measurements of a joint.

    :param unit: Unit of positions.
    :param resolution: What the steps of the encoders explain [rad or m].
    :param time: Times [s] or numbers of rows, shape ``(rows,)``.
    :param position: Mapped positions, same shape.
    :param residual: Measured minus mapped positions, same shape.
    """

    name: str
    unit: str
    resolution: float
    time: Array
    position: Array
    residual: Array

    @property
    def rms(self) -> float:
        """Root of the mean square of the residual."""
        return math.sqrt(float(np.mean(np.square(self.residual))))

    @property
    def is_lost(self) -> bool:
        """Whether much of the measured motion is left."""
        return self.rms > POOR * float(np.std(self.position + self.residual))

    @property
    def lost_motion(self) -> Array:
        """The part of the motion that is missing if the residual is noise of the actuators."""
        motion = self.position - self.position.mean()
        return self.rms**2 / max(float(np.mean(motion**2)), 1e-300) * motion

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.name, 'unit': self.unit, 'samples': len(self.residual),
            'residual': self.rms, 'resolution': self.resolution,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Recorded:
    """
    The result for one transmission.

    :param rows: Number of used rows.
    :param timed: Whether times are in seconds.
    :param doubts: Sentences with reasons not to use the numbers.
    :param notes: Sentences about intervals.
    """

    transmission: str
    type: str
    rows: int
    timed: bool
    numbers: tuple[RecordedNumber, ...]
    joints: tuple[JointResidual, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def fitted_numbers(self) -> tuple[RecordedNumber, ...]:
        """The numbers that were fitted."""
        return tuple(number for number in self.numbers if number.half_width is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.transmission, 'type': self.type, 'rows': self.rows,
            'parameters': [number.as_json() for number in self.numbers],
            'joints': [joint.as_json() for joint in self.joints],
            'doubts': list(self.doubts), 'notes': list(self.notes),
        }  # fmt: skip


def list_recorded_lines(result: Recorded, width: int | None) -> Iterator[str]:
    """
    Yield the lines about one transmission.

    :param width: Columns to wrap sentences at, ``None``: no wrapping.
    """
    rows = 'rows' if result.rows != 1 else 'row'
    yield f'{printable(result.transmission)}  {printable(result.type)}  ({result.rows} {rows})'
    heading = ('PARAMETER', 'DESCRIPTION', 'FITTED', '95 % INTERVAL')
    for line in aligned([heading, *map(_format_row, result.numbers)], right=(1, 2)):
        yield f'  {line}'
    sentences = [
        f'{joint.name}: residual {joint.rms:.2g} {joint.unit} (root mean square)'
        for joint in result.joints
    ]
    sentences += [f'doubt: {each}' for each in result.doubts]
    sentences += [f'note: {each}' for each in result.notes]
    for sentence in map(printable, sentences):
        yield f'  {sentence}' if width is None else textwrap.fill(
            sentence, width, initial_indent='  ', subsequent_indent='    ',
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    yield ''


def round_to_interval(value: float, half_width: float | None) -> str:
    """Return a number with two significant digits of its interval."""
    if half_width is None or not 0.0 < half_width < math.inf:
        return f'{value:.9g}'
    digits = max(0, min(12, 1 - math.floor(math.log10(half_width))))
    return f'{value:.{digits}f}'


def _format_row(number: RecordedNumber) -> tuple[str, str, str, str]:
    described, half = f'{number.described:.9g}', number.half_width
    if half is None:
        return number.name, described, 'kept', number.kept
    interval = f'± {half:.2g}' if math.isfinite(half) else 'unknown: too few measurements'
    return number.name, described, round_to_interval(number.value, half), interval


def list_entries(result: Recorded) -> Iterator[Entry]:
    """Yield the fitted numbers for a parameter file."""
    for each in result.fitted_numbers:
        yield each.path, each.value, f'+- {each.half_width:.2g}, was {each.described:.9g}'


def draw_residuals(results: Sequence[Recorded], file_format: str) -> bytes:
    """
    Draw the residuals of every joint over time and position, one joint below the other.

    :param file_format: ``svg`` or ``png``.
    """
    rows = [(result, joint) for result in results for joint in result.joints]

    def draw(figure: Any) -> None:
        grid = figure.subplots(max(len(rows), 1), 2, squeeze=False, sharey='row')
        for pair, (result, joint) in zip(grid, rows, strict=False):
            for axis, x, label in (
                (pair[0], joint.time, 'time [s]' if result.timed else 'row'),
                (pair[1], joint.position, f'position [{joint.unit}]'),
            ):
                axis.plot(x, joint.residual, '.', ms=2, color='#4878a8')
                axis.axhspan(-joint.resolution, joint.resolution, color='#c44e52', alpha=0.2)
                axis.set_xlabel(label, fontsize=8)
                axis.tick_params(labelsize=7)
            pair[0].set_ylabel(f'residual [{joint.unit}]', fontsize=8)
            title = f'{result.transmission}: {joint.name}'
            pair[0].set_title(title, fontsize=9, loc='left', parse_math=False)

    return picture(draw, (11.0, 2.2 * max(len(rows), 1)), file_format)
