# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission that a robot's map has to call, and what happens if it raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.square import Numbers
from transmission_bridge.transmissions.transmission import as_values, Transmission

__all__ = ['Step']

Index = npt.NDArray[np.intp]

#: See :meth:`PositionDependentTransmission.map_sample`.
SampleMap = Callable[
    [Direction, Numbers, Numbers, Numbers, Numbers], tuple[Numbers, Numbers, Numbers] | None
]


@dataclass(frozen=True, slots=True)
class Step:
    """
    Where the values of one transmission come from and where they go.

    :param name: Name of the transmission.
    :param inputs: Places of its inputs in the robot's array.
    :param outputs: Places in the robot's array of the outputs that the robot takes.
    :param selected: Which of the transmission's outputs these are.
    :param results: Places of all of its outputs, taken or not.
    :param map_sample: Its map of one instant in plain numbers, if there is one.
    """

    name: str
    transmission: Transmission
    inputs: Index
    outputs: Index
    selected: Index
    results: Index
    map_sample: SampleMap | None = None
    _wanted: tuple[tuple[int, int], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        wanted = zip(self.outputs.tolist(), self.selected.tolist(), strict=True)
        object.__setattr__(self, '_wanted', tuple(wanted))

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

        return self._guarded(map_values, values.shape[:-1], 1, report)[0]

    def call_state(
        self, direction: Direction, rows: Array, mapped: Array, guess: Array, report: MapReport
    ) -> None:
        """
        Map position, velocity and effort of one instant.

        :param rows: The robot's inputs, shape ``(3, n_in)``.
        :param mapped: The robot's outputs, shape ``(3, n_out)``; the selected ones are
            overwritten, with NaN if the transmission raises.
        :param guess: The robot's positions of the last instant, shape ``(n_out,)``.
        """
        if self.map_sample is not None:
            position, velocity, effort = rows.take(self.inputs, axis=1).tolist()
            start = guess.take(self.results).tolist()
            try:
                results = self.map_sample(direction, position, velocity, effort, start)
                if results is not None:
                    for row, result in enumerate(results):
                        for place, selected in self._wanted:
                            mapped[row, place] = result[selected]
                    return
            except (Exception, SystemExit):  # a plugin's bug
                report.add_exception(self.name)
                mapped[:, self.outputs] = np.nan
                return
        arrays = rows[:, self.inputs]

        def map_rows(counts: Counter[str]) -> tuple[Array, ...]:
            return self.transmission.map_state(
                direction, *arrays, guess=guess[self.results], report=counts
            )

        mapped[:, self.outputs] = self._guarded(map_rows, (), len(rows), report)

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
                as_values('result', result, len(self.results))[..., self.selected]
                for result in function(counts)
            )
            for result in results:
                if result.shape[:-1] != shape:
                    raise ShapeError('result', expected=str(shape), found=result.shape)
            if len(results) != count:
                raise ShapeError('result', expected=f'{count} arrays', found=(len(results),))
        except (Exception, SystemExit):  # whatever a third party raises
            if report is not None:
                report.add_exception(self.name)
            unknown = np.full((*shape, len(self.outputs)), np.nan)
            return (unknown,) * count
        if report is not None and counts:
            report.add(self.name, counts)
        return results
