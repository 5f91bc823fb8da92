# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The base class of all types with a varying ratio; their maps are compiled functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math
from typing import Any, cast, NamedTuple, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
    require_arguments,
)
from transmission_bridge.transmissions.linear import as_ratios
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.domain import Domain

#: Default of ``max_gain``. Each mechanism in the documentation loses at most 1 % of its domain.
MAX_GAIN = 50.0

#: Larger gains are dominated by rounding.
LARGEST_MAX_GAIN = 1e8


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


class MechanismTransmission(Transmission):
    """
    A mechanism whose ratio varies, as compiled functions of one sample.

    With ``x`` in the space of the :attr:`domain`, ``y = g(x)`` in the other space and
    ``G = dg/dx``:

    ============= ============================ ======================================
    interface     ``x`` to ``y``               ``y`` to ``x``
    ============= ============================ ======================================
    position      ``y = g(x)``                 ``x = g^-1(y)``
    velocity      ``y' = G x'``                ``x' = G^-1 y'``
    acceleration  ``y'' = G x'' + G' x'``      ``x'' = G^-1 (y'' - G' x')``
    effort        ``tau_y = G^-T tau_x``       ``tau_x = G^T tau_y``
    ============= ============================ ======================================

    ``absolute_position`` is mapped as position, ``torque`` and ``force`` as effort. If the numbers
    of actuators and joints differ, inverses are pseudo-inverses. A position is then solved in the
    least-squares sense, or as close to the initial guess as possible if there are fewer equations
    than unknowns.

    A sample without a result is NaN and counted in ``report``; it never raises an exception:

    ``domain``
        The position is outside :attr:`domain`, or the mechanism does not reach it.
    ``singular``
        The gain of a velocity, an acceleration or an effort would exceed :attr:`max_gain` times
        its typical value. For ``G`` and ``G^T``: the largest singular value of ``G`` is more than
        ``max_gain`` times its median over the domain. For ``G^-1`` and ``G^-T``: the smallest
        singular value is less than its median divided by ``max_gain``, or less than 1e-8 of the
        largest one. A position is never singular. With several unknowns ``G`` is scaled by the
        ranges of ``x`` and ``y``: units and reductions do not matter.
    ``no_convergence``
        The solver found no solution, or a solution too close to a dead centre (the smallest
        singular value is less than 1e-8 of its median, or of the largest one): its side is then
        determined by rounding. With one actuator and one joint, a dead centre at an end of the
        domain has only one side and is accepted as that end.
    ``branch``
        The solution is on another assembly branch: the determinant of ``G`` has another sign.

    The solver starts at ``guess``. If ``guess`` is outside the domain or leads to no solution, the
    solver starts at the nearest entry of a table over the domain, which is computed when the
    transmission is built. No state is kept between calls: the caller keeps the last solution and
    passes it as ``guess``.

    A copy is built from the arguments of the constructor, which must not change afterwards.
    """

    members = (1, 1)

    #: The positions that are mapped.
    domain: Domain

    #: Largest velocity or effort gain, as a multiple of its median over the domain.
    max_gain: float = MAX_GAIN

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _parts: dict[Direction, tuple[CompiledPart, ...]]

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Keep the arguments."""
        new = super().__new__(cls)
        new._arguments, new._parts = (args, options), {}
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy by the arguments."""
        args, options = self._arguments
        return partial(type(self), *args, **options), (), {'max_gain': self.max_gain}

    def with_max_gain(self, max_gain: float) -> MechanismTransmission:
        """
        Return the same transmission with another :attr:`max_gain`.

        A description sets it by the parameter ``max_gain``, which every type has automatically.

        :param max_gain: A number from 1 to :data:`LARGEST_MAX_GAIN`.
        :returns: A new transmission.
        :raises TransmissionError: If the number is out of range.
        """
        if not 1.0 <= max_gain <= LARGEST_MAX_GAIN:
            raise TransmissionError(
                'max_gain is invalid',
                parameter='max_gain',
                expected=f'a number in [1, {LARGEST_MAX_GAIN:g}]',
                found=str(max_gain),
            )
        other = object.__new__(type(self))
        vars(other).update(vars(self), max_gain=max_gain, _parts={})
        return other

    def parts(self, direction: Direction) -> tuple[CompiledPart, ...]:
        """Return the compiled functions of independent sets of members, made once."""
        if direction not in self._parts:
            self._parts[direction] = tuple(self._build_parts(direction))
        return self._parts[direction]

    @abstractmethod
    def _build_parts(self, direction: Direction) -> Sequence[CompiledPart]:
        """Return the compiled functions with their constant inputs."""

    def _set_gears(
        self,
        actuator_reduction: Sequence[float] | None,
        joint_reduction: Sequence[float] | None,
        joint_offset: Sequence[float] | None,
    ) -> None:
        """Check and keep reductions and offsets; ``None``: ones and zeros."""
        n, m = self.members
        self.actuator_reduction = as_ratios('actuator_reduction', actuator_reduction, n)
        self.joint_reduction = as_ratios('joint_reduction', joint_reduction, m)
        offsets = (0.0,) * m if joint_offset is None else tuple(map(float, joint_offset))
        if len(offsets) != m or not all(map(math.isfinite, offsets)):
            raise TransmissionError(
                'joint_offset is invalid',
                parameter='joint_offset',
                expected=f'finite numbers, {m} in all',
                found=f'{len(offsets)}: {offsets}',
            )
        self.joint_offset = offsets

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
        value = as_values('values', values, self.members[direction != ACTUATOR_TO_JOINT])
        require_arguments(interface, direction, at=at, rate=rate)
        nothing = np.full(value.shape, np.nan)
        if quantity in (Quantity.POSITION, Quantity.ABSOLUTE_POSITION):
            return self._map_rows(direction, (value, nothing, nothing), guess, report)[0]
        where = _require_shape('at', cast('npt.ArrayLike', at), value.shape)
        if quantity is Quantity.EFFORT:
            return self._map_rows(direction, (where, nothing, value), guess, report)[2]
        if quantity is Quantity.VELOCITY:
            return self._map_rows(direction, (where, value, nothing), guess, report)[1]
        moving = _require_shape('rate', cast('npt.ArrayLike', rate), value.shape)
        bend = self._map_rows(direction, (where, moving, nothing), guess, report, bends=True)[2]
        return self._map_rows(direction, (where, value, nothing), guess, None)[1] + bend

    def _map_rows(
        self,
        direction: Direction,
        rows: tuple[Array, Array, Array],
        guess: npt.ArrayLike | None,
        report: MapReport | None,
        *,
        bends: bool = False,
    ) -> list[Array]:
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
            (report or MapReport()).count(status)
            if bends:
                found[2] = part.bend(position, velocity, found[0], found[1], after)
            for result, each in zip(results, found, strict=True):
                result[:, part.outputs] = each
        return [result.reshape(*batch, n_out) for result in results]


def _require_shape(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array
