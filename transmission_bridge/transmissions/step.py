# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission that a robot's map has to call, and what happens if it raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.one_sample import SampleMap
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.transmission import as_values, Transmission

__all__ = ['Step']

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Step:
    """
    Where the values of one transmission come from and where they go.

    :param name: Name of the transmission.
    :param inputs: Places of its inputs in the robot's array.
    :param outputs: Places in the robot's array of the outputs that the robot takes.
    :param selected: Which of the transmission's outputs these are.
    :param results: Places of all of its outputs, taken or not.
    :param sample_map: Its map of one instant in plain numbers, if there is one.
    """

    name: str
    transmission: Transmission
    inputs: Index
    outputs: Index
    selected: Index
    results: Index
    sample_map: SampleMap | None = None

    def call(
        self,
        interface: str,
        direction: Direction,
        values: Array,
        at: Array | None,
        rate: Array | None,
        guess: Array | None,
        report: MapReport | None,
    ) -> Array:
        """
        Map one interface.

        :param values: The robot's inputs, shape ``(..., n_in)``; ``at``, ``rate`` as they are.
        :param guess: The robot's outputs, shape ``(..., n_out)``.
        :returns: The selected outputs; NaN if the transmission raises.
        """
        inputs = self.inputs

        def map_values(counts: Counter[str]) -> tuple[Array, ...]:
            return (
                getattr(self.transmission, direction)(
                    interface,
                    values[..., inputs],
                    at=None if at is None else at[..., inputs],
                    rate=None if rate is None else rate[..., inputs],
                    guess=None if guess is None else guess[..., self.results],
                    report=counts,
                ),
            )

        mapped = self._guarded(map_values, values.shape[:-1], 1, report)[0]
        return mapped[..., self.selected]

    def call_state(
        self, direction: Direction, rows: Array, guess: Array, report: MapReport
    ) -> Array:
        """
        Map position, velocity and effort of one instant.

        :param rows: The robot's inputs, shape ``(3, n_in)``.
        :param guess: Where a solution is sought, shape ``(n_results,)``.
        :returns: All outputs of the transmission, shape ``(3, n_results)``; NaN if it raises.
        """
        arrays = rows[:, self.inputs]

        def map_rows(counts: Counter[str]) -> tuple[Array, ...]:
            return self.transmission.map_state(direction, *arrays, guess=guess, report=counts)

        return np.array(self._guarded(map_rows, (), len(rows), report))

    def _guarded(
        self,
        function: Callable[[Counter[str]], tuple[Array, ...]],
        shape: tuple[int, ...],
        count: int,
        report: MapReport | None,
    ) -> tuple[Array, ...]:
        """Return checked results; a plugin's bug costs its own joints only."""
        counts: Counter[str] = Counter()
        try:
            results = tuple(
                as_values('result', result, len(self.results)) for result in function(counts)
            )
            for result in results:
                if result.shape[:-1] != shape:
                    raise ShapeError('result', expected=str(shape), found=result.shape)
            if len(results) != count:
                raise ShapeError('result', expected=f'{count} arrays', found=(len(results),))
        except (Exception, SystemExit):  # whatever a third party raises
            if report is not None:
                report.add_exception(self.name)
            unknown = np.full((*shape, len(self.results)), np.nan)
            return (unknown,) * count
        if report is not None and counts:
            report.add(self.name, counts)
        return results
