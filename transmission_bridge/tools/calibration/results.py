# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Results of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array, Mask


def describe_times(time: Array, chosen: Mask, *, timed: bool) -> str:
    """
    Describe the times of selected rows, as ``t = 0.1, 0.52 to 0.6 s and 3 more``.

    :param time: Times, or numbers of rows, shape ``(rows,)``.
    :param timed: Whether times are in seconds.
    """
    ends = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    stretches = [
        f'{time[first]:.6g}' + (f' to {time[last - 1]:.6g}' if last - first > 1 else '')
        for first, last in ends.reshape(-1, 2)
    ]
    text = ', '.join(stretches[:4])
    more = len(stretches) - 4
    text = f't = {text} s' if timed else f'rows {text}'
    return f'{text} and {more} more' if more > 0 else text


def _find_bounds(value: float, half_width: float | None) -> list[float] | None:
    known = half_width is not None and math.isfinite(half_width)
    return [value - half_width, value + half_width] if known else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class CalibratedNumber:
    """
    One number of a transmission.

    :param path: Its path below the transmission.
    :param described: Its value in the description.
    :param value: The estimate, or the described value.
    :param half_width: Half of the 95 % confidence interval; ``None``: not estimated; infinite with
        no more measurements than numbers.
    :param kept: Reason for no estimate or a wide interval, as a sentence.
    :param warns: Whether ``kept`` is a warning.
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
            'interval': _find_bounds(self.value, self.half_width),
            'kept': self.kept or None,
        }


@dataclass(frozen=True, slots=True)
class Effect:
    """
    A physical effect in the recording, beside the numbers.

    :param name: For example ``backlash of elbow``.
    :param unit: Unit of its size.
    :param size: A time [s], a gap, or the amplitude of an error once per turn.
    :param half_width: Half of its 95 % confidence interval.
    :param alike: Names of effects that are equal explanations.
    """

    name: str
    unit: str
    size: float
    half_width: float
    alike: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        interval = _find_bounds(self.size, self.half_width)
        fields = {'name': self.name, 'unit': self.unit, 'size': self.size}
        return {**fields, 'interval': interval, 'or': list(self.alike)}


@dataclass(frozen=True, eq=False)
class ChannelResult:
    """
    The measurements of one joint or actuator of the side with the noise.

    :param noise: Standard deviation [rad or m]; ``None`` if the channel was not used.
    :param time: Times of the rows, shape ``(rows,)``.
    :param position: Predicted positions [rad or m].
    :param residual: Measured minus predicted.
    :param outlier: Rows without influence.
    :param unit: Unit of positions.
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
    The result for one transmission.

    :param rows: Number of used rows.
    :param timed: Whether times are in seconds.
    :param effects: Physical effects in the model.
    :param doubts: Sentences with reasons not to use the numbers.
    :param warnings: Sentences that do not affect numbers and intervals.
    :param notes: Sentences about numbers and effects that the recording does not separate.
    """

    transmission: str
    type: str
    rows: int
    timed: bool
    parameters: tuple[CalibratedNumber, ...]
    channels: tuple[ChannelResult, ...]
    effects: tuple[Effect, ...]
    doubts: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def estimated_numbers(self) -> tuple[CalibratedNumber, ...]:
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
