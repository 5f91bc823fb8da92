# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions whose maps are compiled functions of one sample."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.status import count_status
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.types import Array

_POSITIONS = (Quantity.POSITION, Quantity.ABSOLUTE_POSITION)


class CompiledPart(NamedTuple):
    """
    The compiled functions of an independent set of members of a transmission, in one direction.

    :param near: Compiled function of one sample close to the last solution. Inputs: position,
        velocity, effort, warm start, numbers. Outputs: position, velocity, effort, next warm
        start, status, and whether the full solver is needed. ``None``: use ``step`` only.
    :param step: Compiled function of any sample; it has the seed table as a further input and runs
        the full solver if needed.
    :param n_start: Length of the warm start.
    :param numbers: The numbers of the mechanism.
    :param table: The seed table, entry by entry.
    :param inputs: Indices of its inputs among the inputs of the transmission.
    :param outputs: Indices of its outputs.
    :param starts: Warm starts of positions, shape ``(samples, n_in)``, and of optional guesses of
        the outputs.
    :param bounds: Indices of the numbers that are bounds and typical sizes of the mechanism, or
        choose among its solutions: they follow from its dimensions.
    :param unknown_bounds: Values of bounds that do not hold for other dimensions, by index.
    :param bend: Accelerations of the outputs at constant input velocity, from positions,
        velocities, mapped positions, mapped velocities and next warm starts.
    """

    near: Any
    step: Any
    n_start: int
    numbers: Sequence[float]
    table: Array
    inputs: Sequence[int]
    outputs: Sequence[int]
    bounds: Sequence[int]
    unknown_bounds: Mapping[int, float]
    starts: Callable[[Array, Array | None], Array]
    bend: Callable[[Array, Array, Array, Array, Array], Array]


class CompiledTransmission(Transmission):
    """A transmission whose parts are compiled functions of one sample."""

    @abstractmethod
    def parts(self, direction: Direction) -> Sequence[CompiledPart]:
        """Return the compiled functions with their constant inputs."""

    def raise_error(self) -> None:
        """Raise the error of a plugin's function since the last call, if any."""

    def map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """Map values from one space to the other; see :class:`Transmission`."""
        quantity = quantity_of(interface, direction)
        value = as_values('values', values, self._n_inputs(direction))
        nothing = np.full(value.shape, np.nan)
        if quantity in _POSITIONS:
            return self._map_rows(direction, (value, nothing, nothing), guess, report)[0]
        where = self._require_argument('at', at, value.shape, interface)
        if quantity is Quantity.EFFORT:
            return self._map_rows(direction, (where, nothing, value), guess, report)[2]
        if quantity is Quantity.VELOCITY:
            return self._map_rows(direction, (where, value, nothing), guess, report)[1]
        moving = self._require_argument('rate', rate, value.shape, interface)
        bend = self._map_rows(direction, (where, moving, nothing), guess, report, bends=True)[2]
        return self._map_rows(direction, (where, value, nothing), guess, None)[1] + bend

    def map_state(
        self,
        direction: Direction,
        position: npt.ArrayLike,
        velocity: npt.ArrayLike,
        effort: npt.ArrayLike,
        *,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> tuple[Array, Array, Array]:
        """Map one state, solving for its position once; see :class:`Transmission`."""
        value = as_values('position', position, self._n_inputs(direction))
        speed = _require_shape('velocity', velocity, value.shape)
        force = _require_shape('effort', effort, value.shape)
        return self._map_rows(direction, (value, speed, force), guess, report)

    def _n_inputs(self, direction: Direction) -> int:
        return self.n_actuators if direction == ACTUATOR_TO_JOINT else self.n_joints

    def _map_rows(
        self,
        direction: Direction,
        rows: tuple[Array, Array, Array],
        guess: npt.ArrayLike | None,
        report: MapReport | None,
        *,
        bends: bool = False,
    ) -> tuple[Array, Array, Array]:
        """Map the three rows; ``bends``: accelerations at constant velocity replace efforts."""
        from transmission_bridge.transmissions.calls import map_samples

        parts = self.parts(direction)
        n_out = sum(len(part.outputs) for part in parts)
        batch = rows[0].shape[:-1]
        near = None
        if guess is not None:
            near = _require_shape('guess', guess, (*batch, n_out)).reshape(-1, n_out)
        flat = [row.reshape(-1, row.shape[-1]) for row in rows]
        results = [np.full((len(flat[0]), n_out), np.nan) for _ in rows]
        for part in parts:
            position, velocity, _ = given = [row[:, part.inputs] for row in flat]
            start = part.starts(position, None if near is None else near[:, part.outputs])
            *found, after, status = map_samples(
                part.step, [*given, start], [part.numbers, part.table]
            )
            self.raise_error()
            count_status(status, report or MapReport())
            if bends:
                found[2] = part.bend(position, velocity, found[0], found[1], after)
            for result, each in zip(results, found, strict=True):
                result[:, part.outputs] = each
        place, speed, force = (result.reshape(*batch, n_out) for result in results)
        return place, speed, force

    def _require_argument(
        self, name: str, values: npt.ArrayLike | None, shape: tuple[int, ...], interface: str
    ) -> Array:
        if values is None:
            raise TransmissionError(
                f'{type(self).__name__} cannot map {interface} without {name}=, because its '
                'Jacobian varies',
                parameter=name,
                expected='positions' if name == 'at' else 'velocities',
                found='None',
            )
        return _require_shape(name, values, shape)


def _require_shape(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array
