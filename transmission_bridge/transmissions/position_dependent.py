# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions whose ratio depends on position: one function, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.mechanism import Mechanism, POSITIONS, Seeds, SURE
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import as_real, as_values, Transmission
from transmission_bridge.types import Array

__all__ = ['LARGEST_MAX_GAIN', 'MAX_GAIN', 'PositionDependentTransmission', 'read_max_gain']

#: ``max_gain`` of a transmission that says nothing else. None of the mechanisms in the
#: documentation loses more than 1 % of its domain by it.
MAX_GAIN = 50.0

#: What lies beyond is rounding.
LARGEST_MAX_GAIN = SURE


def read_max_gain(reader: SpecReader) -> float:
    """Read ``max_gain``, a live parameter of every transmission whose ratio varies."""
    return reader.number(
        'max_gain',
        description='By how many times its median over the domain a velocity or an effort '
        'may be multiplied; beyond, it is singular.',
        default=MAX_GAIN,
        minimum=1.0,
        maximum=LARGEST_MAX_GAIN,
    )


#: Samples mapped at a time; what the solver needs for them stays in the cache.
CHUNK_ROWS = 2048


class PositionDependentTransmission(Transmission):
    """
    A mechanism given by one function, :meth:`evaluate`; every interface follows.

    For what can be written as an equation there is
    :class:`~transmission_bridge.transmissions.equation_transmission.EquationTransmission`, which
    needs no Jacobian and is quick in a stream. This class is for the rest: a measured table, a
    simulation, somebody else's code.

    With ``x`` the space of the :attr:`domain`, ``y = g(x)`` the other one and ``G = dg/dx``:

    ============= ============================ ======================================
    interface     ``x`` to ``y``               ``y`` to ``x``
    ============= ============================ ======================================
    position      ``y = g(x)``                 :meth:`inverse`, else solved
    velocity      ``y' = G x'``                ``x' = G^-1 y'``
    acceleration  ``y'' = G x'' + G' x'``      ``x'' = G^-1 (y'' - G' x')``
    effort        ``tau_y = G^-T tau_x``       ``tau_x = G^T tau_y``
    ============= ============================ ======================================

    ``absolute_position`` is mapped as position, ``torque`` and ``force`` as effort. Inverses are
    pseudo-inverses where the numbers of actuators and joints differ; a position is then solved in
    the least-squares sense, or as near to the start as a smaller number of equations allows.

    A sample that cannot be answered is NaN and counted in ``report``, never an exception:

    ``domain``
        The position is outside :attr:`domain`, or the mechanism does not reach it.
    ``singular``
        A velocity, an acceleration or an effort would be multiplied by more than :attr:`max_gain`
        times what is typical: by ``G`` or ``G^T`` where the largest singular value of ``G`` is
        more than ``max_gain`` times its median over the domain, by ``G^-1`` or ``G^-T`` where the
        smallest one is less than its median divided by ``max_gain``, or than 1e-8 of the largest.
        A position never is. With several unknowns ``G`` is taken in shares of the ranges of ``x``
        and ``y``, so that units and reductions do not matter.
    ``no_convergence``
        The solver found no solution; or the one found is so near to a dead centre (the smallest
        singular value is less than 1e-8 of its median, or of the largest one) that rounding
        decides on which side it is. With one actuator and one joint, a dead centre at an end of
        the domain has one side only, and is that end.
    ``branch``
        The solution is on another assembly branch: the determinant of ``G`` has another sign.

    The solver starts at ``guess``, where that is inside the domain, else, or where that leads to
    no answer, at the nearest entry of a table that is laid over the domain when the transmission
    is built. Nothing is kept between calls: the caller has the last solution and gives it as
    ``guess``.

    :param domain: Positions that are mapped, in the space ``x``.
    :raises TransmissionError: If no position of the domain can be reached, or what the plugin
        gives does not fit together. Call this constructor last: it evaluates the function.
    """

    def __init_subclass__(cls) -> None:
        """Refuse what earlier versions had, which would have no effect."""
        super().__init_subclass__()
        if 'condition_limit' in vars(cls):
            raise TransmissionError(
                f'{cls.__name__} states condition_limit, which no longer exists',
                expected='max_gain, a parameter of every transmission whose ratio varies, or '
                'with_max_gain()',
                found=f'condition_limit = {vars(cls)["condition_limit"]!r}',
            )

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._starts_at_joint = domain.space == 'joint'
        with np.errstate(all='ignore'):
            n_y = self._checked_length(domain)
            self._pattern = self._slope_pattern(n_y, len(domain.lower))
            seeds = Seeds.over(domain, self.evaluate)
        self._mechanism = Mechanism(self, domain, seeds, MAX_GAIN)

    # -- what a plugin gives ---------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """
        Return ``y = g(x)`` and ``G = dg/dx``; NaN where the mechanism cannot be.

        :param x: Positions in the space of the domain, shape ``(samples, n_x)``.
        :returns: Shapes ``(samples, n_y)`` and ``(samples, n_y, n_x)``.
        """

    def inverse(self, y: Array) -> Array | None:
        """
        Return ``x`` where there is an equation for it, NaN where the mechanism cannot be.

        :param y: Shape ``(samples, n_y)``.
        :returns: Shape ``(samples, n_x)``; ``None``, the default, where it has to be solved for.
        """
        return None

    def slope_rate(self, x: Array, rate: Array) -> Array:
        """
        Return ``G'``; by default from :meth:`evaluate` by differences, to about 1e-12.

        :param x: Shape ``(samples, n_x)``.
        :param rate: ``x'``, same shape.
        :returns: Shape ``(samples, n_y, n_x)``.
        """
        return _directional_derivative(lambda at: self.evaluate(at)[1], x, rate, self._domain.span)

    def approach(
        self, y: Array, start: Array, seeds: Seeds
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]] | None:
        """Return ``None``: there is no quicker way to solve than the one there is."""
        return None

    def position_of(self, x: Array) -> Array:
        """Return ``y`` alone, by default that of :meth:`evaluate`."""
        return self.evaluate(x)[0]

    # -- what follows ----------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """The positions that are mapped."""
        return self._domain

    @property
    def max_gain(self) -> float:
        """By how many times its median over the domain a rate or an effort may be multiplied."""
        return self._mechanism.max_gain

    def with_max_gain(self, max_gain: float) -> PositionDependentTransmission:
        """
        Return the same transmission with another :attr:`max_gain`.

        A description gives it as the parameter ``max_gain``, which every type has without asking.

        :param max_gain: From 1 to :data:`LARGEST_MAX_GAIN`.
        :raises TransmissionError: If it is not.
        """
        if not 1.0 <= max_gain <= LARGEST_MAX_GAIN:
            raise TransmissionError(
                'max_gain cannot be accepted',
                parameter='max_gain',
                expected=f'a number in [1, {LARGEST_MAX_GAIN:g}]',
                found=str(max_gain),
            )
        other = copy(self)
        other._mechanism = Mechanism(other, self._domain, self._mechanism.seeds, max_gain)
        return other

    @property
    def pattern(self) -> npt.NDArray[np.bool_]:
        """Which entries of ``G`` may differ from zero, shape ``(n_y, n_x)``."""
        return self._pattern

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return int(self._pattern.shape[0 if self._starts_at_joint else 1])

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return int(self._pattern.shape[1 if self._starts_at_joint else 0])

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
        n_in, _ = self._lengths(direction)
        value = as_values('values', values, n_in)
        where = moving = value
        if quantity not in POSITIONS:
            where = self._needed('at', at, value.shape, interface)
        if quantity is Quantity.ACCELERATION:
            moving = self._needed('rate', rate, value.shape, interface)
        along, report = self._is_along(direction), report or MapReport()

        def mapped(
            start: Array | None, given: Array, where: Array, moving: Array
        ) -> tuple[Array, ...]:
            mechanism = self._mechanism
            return (mechanism.mapped(quantity, along, given, where, moving, start, report),)

        return self._in_chunks(direction, mapped, (value, where, moving), guess)[0]

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
        """Map one instant, its position found once; see :class:`Transmission`."""
        if type(self).map is not PositionDependentTransmission.map:  # a subclass knows better
            return super().map_state(
                direction, position, velocity, effort, guess=guess, report=report
            )
        value = as_values('position', position, self._lengths(direction)[0])
        arrays = (
            value,
            _shaped('velocity', velocity, value.shape),
            _shaped('effort', effort, value.shape),
        )
        along, report = self._is_along(direction), report or MapReport()

        def mapped(
            start: Array | None, place: Array, speed: Array, force: Array
        ) -> tuple[Array, ...]:
            return self._mechanism.mapped_state(along, place, speed, force, start, report)

        places, speeds, forces = self._in_chunks(direction, mapped, arrays, guess)
        return places, speeds, forces

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """
        Return ``J = df/da``, NaN where it does not exist; see :class:`Transmission`.

        Likewise where the velocity that is mapped by it would be ``singular``. Where the domain is
        in joint space, the position is solved first and the matrix inverted.
        """
        position = as_values('actuator_position', actuator_position, self.n_actuators)
        flat = position.reshape(-1, self.n_actuators)
        result = np.empty((len(flat), self.n_joints, self.n_actuators))
        with np.errstate(all='ignore'):
            for rows in _chunks(len(flat)):
                result[rows] = self._mechanism.jacobian(not self._starts_at_joint, flat[rows])
        return result.reshape(*position.shape[:-1], self.n_joints, self.n_actuators)

    def _is_along(self, direction: Direction) -> bool:
        return self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)

    def _lengths(self, direction: Direction) -> tuple[int, int]:
        """Return the numbers of inputs and outputs."""
        both = self.n_actuators, self.n_joints
        return both if direction == ACTUATOR_TO_JOINT else both[::-1]

    def _in_chunks(
        self,
        direction: Direction,
        function: Callable[..., tuple[Array, ...]],
        arrays: tuple[Array, ...],
        guess: npt.ArrayLike | None,
    ) -> tuple[Array, ...]:
        """Apply a function to flat pieces of arrays of one shape, and of the guess."""
        n_in, n_out = self._lengths(direction)
        batch = arrays[0].shape[:-1]
        start = None
        if guess is not None and not self._is_along(direction):
            start = _shaped('guess', guess, (*batch, n_out)).reshape(-1, n_out)
        flat = [array.reshape(-1, n_in) for array in arrays]
        with np.errstate(all='ignore'):
            parts = [
                function(None if start is None else start[rows], *(each[rows] for each in flat))
                for rows in _chunks(len(flat[0]))
            ]
        return tuple(
            np.concatenate(part).reshape(*batch, n_out) for part in zip(*parts, strict=True)
        )

    def _needed(
        self, name: str, values: npt.ArrayLike | None, shape: tuple[int, ...], interface: str
    ) -> Array:
        if values is None:
            raise TransmissionError(
                f'{type(self).__name__} cannot map {interface} without {name}=, as its Jacobian '
                'varies',
                parameter=name,
                expected='positions' if name == 'at' else 'velocities',
                found='None',
            )
        return _shaped(name, values, shape)

    def _slope_pattern(self, n_y: int, n_x: int) -> npt.NDArray[np.bool_]:
        return np.ones((n_y, n_x), dtype=bool)

    def _checked_length(self, domain: Domain) -> int:
        """
        Call everything with one sample and with three, and return the length of ``y``.

        :raises TransmissionError: If an answer has another shape than the others ask for.
        """
        n_x, n_y = len(domain.lower), 0
        for count in (1, 3):
            x = np.tile(np.array(domain.lower) + 0.5 * domain.span, (count, 1))
            y, slope = self.evaluate(x)
            n_y = n_y or np.shape(y)[-1]
            answers = [
                ('evaluate', y, (count, n_y)),
                ('evaluate', slope, (count, n_y, n_x)),
                ('slope_rate', self.slope_rate(x, x), (count, n_y, n_x)),
            ]
            back = self.inverse(y)
            if back is not None:
                answers.append(('inverse', back, (count, n_x)))
            for name, answer, expected in answers:
                if as_real(name, answer).shape != expected:
                    raise TransmissionError(
                        f'{type(self).__name__}.{name} answers positions of shape {x.shape} with '
                        'another shape',
                        expected=str(expected),
                        found=str(np.shape(answer)),
                    )
        return n_y


def _shaped(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array


def _chunks(length: int) -> Iterator[slice]:
    # One, perhaps empty, where there is nothing: its results have the right shape.
    return (slice(first, first + CHUNK_ROWS) for first in range(0, max(length, 1), CHUNK_ROWS))


#: Length of a step in shares of the range. Truncation is then far below rounding, and three steps
#: reach 0.6 % of the range to each side. The second one is for positions nearer than that to where
#: the Jacobian ends.
_STEPS = (2.0**-9, 2.0**-14)

_WEIGHTS = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))


def _directional_derivative(
    function: Callable[[Array], Array], x: Array, direction: Array, span: Array
) -> Array:
    """
    Return ``d/dt G(x + t v)`` at ``t = 0`` by the central difference of sixth order.

    The error is about ``1e-12 |G| |v| / span`` for a Jacobian that is smooth over the range, by
    rounding; truncation is below it. It is ``3e-11`` within 0.6 % of the range from where ``G``
    ends, and the result NaN within 0.02 %.
    """
    speed = np.abs(direction / span).max(axis=-1, keepdims=True)
    unit = np.where(speed == 0.0, 0.0, direction / speed)
    result = _difference(function, x, unit, _STEPS[0])
    if np.isnan(result).any():
        result = np.where(np.isnan(result), _difference(function, x, unit, _STEPS[1]), result)
    return np.asarray(result * speed[..., np.newaxis])


def _difference(function: Callable[[Array], Array], x: Array, unit: Array, step: float) -> Array:
    total = np.zeros(1)
    for count, weight in _WEIGHTS:
        ahead = function(x + (count * step) * unit)
        behind = function(x - (count * step) * unit)
        total = total + weight * (ahead - behind)
    return np.asarray(total / step)
