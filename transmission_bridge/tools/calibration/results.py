# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a calibration found, as values."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array

__all__ = ['Calibration', 'Channel', 'Parameter', 'Slip']


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One number of a transmission.

    :param path: Where it stands below the transmission.
    :param described: Its value in the description.
    :param value: The estimate, or the same value where there is none.
    :param half_width: Half of the 95 % confidence interval; ``None``: not estimated; infinite
        where there are no more measurements than numbers.
    :param kept: Why it was not estimated, in words.
    :param warns: Whether the user should know that it was not.
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
        interval = None
        if self.half_width is not None and math.isfinite(self.half_width):
            interval = [self.value - self.half_width, self.value + self.half_width]
        return {
            'name': self.name,
            'description': self.described,
            'value': self.value,
            'estimated': self.half_width is not None,
            'interval': interval,
            'kept': self.kept or None,
        }


@dataclass(frozen=True, slots=True)
class Slip:
    """
    A change of the offset for good.

    :param time: First time with the new offset [s], the row where there are no times.
    :param size: By how much the measured position grew [rad or m].
    :param half_width: Half of its 95 % confidence interval.
    """

    time: float
    size: float
    half_width: float

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        known = math.isfinite(self.half_width)
        interval = [self.size - self.half_width, self.size + self.half_width] if known else None
        return {'time': self.time, 'size': self.size, 'interval': interval}


@dataclass(frozen=True, eq=False)
class Channel:
    """
    The measurements that have the noise, of one joint or actuator.

    :param noise: Standard deviation [rad or m]; ``None`` where the channel was not used.
    :param time: Times of the rows, shape ``(rows,)``.
    :param residual: Measured minus predicted: slips, outliers and noise.
    :param level: The part of it that slips explain.
    :param outlier: Which rows have no influence.
    :param unpredicted: Rows that the mechanism cannot reach.
    """

    name: str
    motion: Motion
    noise: float | None
    slips: tuple[Slip, ...]
    time: Array
    residual: Array
    level: Array
    outlier: npt.NDArray[np.bool_]
    unpredicted: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.name,
            'motion': self.motion.value,
            'samples': len(self.residual),
            'noise': self.noise,
            'outliers': int(self.outlier.sum()),
            'not_predicted': self.unpredicted,
            'slips': [slip.as_json() for slip in self.slips],
        }


@dataclass(frozen=True, eq=False)
class Calibration:
    """
    What was found about one transmission.

    :param rows: Rows of the recording that were used.
    :param timed: Whether times are in seconds.
    :param correlated: Pairs of estimated numbers with the correlation of their errors.
    :param warnings: Sentences.
    """

    transmission: str
    type: str
    rows: int
    timed: bool
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    correlated: tuple[tuple[str, str, float], ...]
    warnings: tuple[str, ...]

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
            'correlated': [
                {'parameters': [first, second], 'correlation': value}
                for first, second, value in self.correlated
            ],
            'warnings': list(self.warnings),
        }
