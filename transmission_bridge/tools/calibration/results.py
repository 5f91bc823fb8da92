# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a calibration found, as values."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Mask

__all__ = ['Calibration', 'Channel', 'Effect', 'Parameter', 'when']

#: Stretches of rows that a sentence names.
_MOST_STRETCHES = 4


def when(time: Array, chosen: Mask, *, timed: bool) -> str:
    """
    Return when some of the rows were measured, as ``t = 0.1, 0.52 to 0.6 s and 3 more``.

    :param time: Times, or numbers of rows, shape ``(rows,)``.
    :param timed: Which of the two.
    """
    ends = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    stretches = [
        f'{time[first]:.6g}' + (f' to {time[last - 1]:.6g}' if last - first > 1 else '')
        for first, last in ends.reshape(-1, 2)
    ]
    text = ', '.join(stretches[:_MOST_STRETCHES])
    more = len(stretches) - _MOST_STRETCHES
    text = f't = {text} s' if timed else f'rows {text}'
    return f'{text} and {more} more' if more > 0 else text


def _interval(value: float, half_width: float | None) -> list[float] | None:
    known = half_width is not None and math.isfinite(half_width)
    return [value - half_width, value + half_width] if known else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One number of a transmission.

    :param path: Where it stands below the transmission.
    :param described: Its value in the description.
    :param value: The estimate, or the same value where there is none.
    :param half_width: Half of the 95 % confidence interval; ``None``: not estimated; infinite
        where there are no more measurements than numbers.
    :param kept: Why it was not estimated, or hardly, in words.
    :param warns: Whether the user should know that.
    """

    path: ParameterPath
    described: float
    value: float
    half_width: float | None = None
    kept: str = ''
    warns: bool = False

    @property
    def name(self) -> str:
        """The path with dots."""
        return '.'.join(self.path)

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.name,
            'description': self.described,
            'value': self.value,
            'estimated': self.half_width is not None,
            'interval': _interval(self.value, self.half_width),
            'kept': self.kept or None,
        }


@dataclass(frozen=True, slots=True)
class Effect:
    """
    A physical effect that the recording shows beside the numbers.

    :param name: What it is, for example ``backlash of elbow``.
    :param unit: Unit of its size.
    :param size: A time [s], a gap, or the amplitude of an error once per turn.
    :param half_width: Half of its 95 % confidence interval.
    :param alike: Effects that would explain as much.
    """

    name: str
    unit: str
    size: float
    half_width: float
    alike: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        interval = _interval(self.size, self.half_width)
        fields = {'name': self.name, 'unit': self.unit, 'size': self.size}
        return {**fields, 'interval': interval, 'or': list(self.alike)}


@dataclass(frozen=True, eq=False)
class Channel:
    """
    The measurements that have the noise, of one joint or actuator.

    :param noise: Standard deviation [rad or m]; ``None`` where the channel was not used.
    :param time: Times of the rows, shape ``(rows,)``.
    :param position: What the model predicts [rad or m].
    :param residual: Measured minus predicted.
    :param outlier: Which rows have no influence.
    :param unit: Of positions.
    :param unpredicted: Times of the rows outside the domain of the transmission.
    """

    name: str
    motion: Motion
    noise: float | None
    time: Array
    position: Array
    residual: Array
    outlier: Mask
    unit: str
    unpredicted: Array

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.name,
            'motion': self.motion.value,
            'samples': len(self.residual),
            'noise': self.noise,
            'outliers': int(self.outlier.sum()),
            'outlier_times': self.time[self.outlier].tolist(),
            'not_predicted': len(self.unpredicted),
            'not_predicted_times': self.unpredicted.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Calibration:
    """
    What was found about one transmission.

    :param rows: Rows of the recording that were used.
    :param timed: Whether times are in seconds.
    :param effects: Physical effects that were found and taken into account.
    :param doubts: Sentences: why the numbers should not be used as they are.
    :param warnings: Sentences that leave the numbers as good as their intervals.
    :param notes: Sentences about what the recording cannot tell apart or rule out.
    """

    transmission: str
    type: str
    rows: int
    timed: bool
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    effects: tuple[Effect, ...]
    doubts: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def estimated(self) -> tuple[Parameter, ...]:
        """The numbers that were estimated."""
        return tuple(p for p in self.parameters if p.half_width is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.transmission,
            'type': self.type,
            'rows': self.rows,
            'parameters': [parameter.as_json() for parameter in self.parameters],
            'channels': [channel.as_json() for channel in self.channels],
            'effects': [effect.as_json() for effect in self.effects],
            'doubts': list(self.doubts),
            'warnings': list(self.warnings),
            'notes': list(self.notes),
        }
