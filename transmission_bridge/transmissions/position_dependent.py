# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions with a position-dependent ratio: one function, and all interfaces from it."""

from __future__ import annotations

from copy import copy
from typing import Any, TYPE_CHECKING

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.compiled import CompiledPart, CompiledTransmission
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.system import System

#: Default of ``max_gain``. Each mechanism in the documentation loses at most 1 % of its domain.
MAX_GAIN = 50.0

#: Larger gains are dominated by rounding.
LARGEST_MAX_GAIN = 1e8


def read_max_gain(reader: SpecReader) -> float:
    """Read ``max_gain``, a live parameter of every transmission with a varying ratio."""
    return reader.number(
        'max_gain',
        description='Largest velocity or effort gain, as a multiple of its median over the '
        'domain; a larger gain is singular.',
        default=MAX_GAIN,
        minimum=1.0,
        maximum=LARGEST_MAX_GAIN,
    )


class PositionDependentTransmission(CompiledTransmission):
    """
    A mechanism given by one function, :meth:`evaluate`; every interface is derived from it.

    For a mechanism with an equation use
    :class:`~transmission_bridge.transmissions.equation_transmission.EquationTransmission`, which
    needs no Jacobian and is faster. This class is for everything else, such as a simulation or
    existing code.

    With ``x`` in the space of the :attr:`domain`, ``y = g(x)`` in the other space and
    ``G = dg/dx``:

    ============= ============================ ======================================
    interface     ``x`` to ``y``               ``y`` to ``x``
    ============= ============================ ======================================
    position      ``y = g(x)``                 :meth:`inverse`, else solved
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

    :param domain: Positions that are mapped, in the space of ``x``.
    :raises TransmissionError: If no position of the domain can be reached, or the plugin's
        functions contradict each other. Call this constructor last: it evaluates the functions.
    """

    def __init_subclass__(cls) -> None:
        """Reject attributes of earlier versions, which would have no effect."""
        super().__init_subclass__()
        if 'condition_limit' in vars(cls):
            raise TransmissionError(
                f'{cls.__name__} states condition_limit, which no longer exists',
                expected='max_gain, a parameter of every transmission whose ratio varies, or '
                'with_max_gain()',
                found=f'condition_limit = {vars(cls)["condition_limit"]!r}',
            )

    def __init__(self, domain: Domain) -> None:
        from transmission_bridge.transmissions.seeds import Seeds

        self._domain = domain
        self._starts_at_joint = domain.space == 'joint'
        self.max_gain = MAX_GAIN
        self.system = self._make_system()
        self._seeds = Seeds.from_domain(self.system, domain, self.numbers, self._pose())
        self.raise_error()

    # -- methods of a plugin ---------------------------------------------------------------------

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """
        Return ``y = g(x)`` and ``G = dg/dx``; NaN if the mechanism does not reach a position.

        :param x: Positions in the space of the domain, shape ``(samples, n_x)``.
        :returns: Shapes ``(samples, n_y)`` and ``(samples, n_y, n_x)``.
        """
        raise TransmissionError(
            f'{type(self).__name__} does not define the map of its range',
            expected='evaluate(x), which returns y and dy/dx',
            found='no evaluate(x)',
        )

    def inverse(self, y: Array) -> Array | None:
        """
        Return ``x`` if there is an equation for it, NaN if the mechanism does not reach ``y``.

        :param y: Shape ``(samples, n_y)``.
        :returns: Shape ``(samples, n_x)``; ``None``, the default, if ``x`` has to be solved for.
        """
        return None

    def slope_rate(self, x: Array, rate: Array) -> Array | None:
        """
        Return ``G'``; by default ``None``: differences of :meth:`evaluate` replace it, to 1e-10.

        :param x: Shape ``(samples, n_x)``.
        :param rate: ``x'``, same shape.
        :returns: Shape ``(samples, n_y, n_x)``.
        """
        return None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that are inputs of the compiled functions."""
        return ()

    @property
    def choices(self) -> tuple[int, ...]:
        """Indices of the :attr:`numbers` that only choose among several solutions."""
        return ()

    # -- derived ---------------------------------------------------------------------------------

    def _make_system(self) -> System:
        from transmission_bridge.transmissions.numpy_forms import build_numpy_forms
        from transmission_bridge.transmissions.system import System

        return System(build_numpy_forms(self), len(self.numbers))

    def _pose(self) -> tuple[Array, Array] | None:
        """Return ``x`` and an approximate ``y`` of a pose if there is only a closure."""
        return None

    @property
    def domain(self) -> Domain:
        """The positions that are mapped."""
        return self._domain

    def with_max_gain(self, max_gain: float) -> PositionDependentTransmission:
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
        other = copy(self)
        other.max_gain = max_gain
        return other

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return self.system.n_y if self._starts_at_joint else self.system.n_x

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return self.system.n_x if self._starts_at_joint else self.system.n_y

    def parts(self, direction: Direction) -> tuple[CompiledPart, ...]:
        """Return the compiled function with its constant inputs."""
        along = self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)
        n_x, n_y = self.system.n_x, self.system.n_y
        n_start = self.system.n_start(along)
        numbers = [*self._seeds.list_bounds(self._domain, self.max_gain), *self.numbers]
        step = self.system.compile_step(along, self._seeds.table.shape[1])
        table = self._seeds.table.T.ravel()

        def find_starts(given: Array, guess: Array | None) -> Array:
            if not n_start:
                return np.zeros((len(given), 0))
            if guess is None:
                with np.errstate(all='ignore'):
                    return self._seeds.find_starts(given, n_x, along=along)
            start = np.zeros((len(given), n_start))
            start[:, : n_x + n_y] = np.concatenate([guess, given], axis=1)
            return start

        def find_bend(at: Array, rate: Array, place: Array, speed: Array, after: Array) -> Array:
            from transmission_bridge.transmissions.calls import map_samples

            given = (at, place, rate) if along else (place, at, speed)
            (bent,) = map_samples(self.system.forms.bend, given, [self.numbers])
            self.raise_error()
            if along:
                return bent
            nothing = np.full_like(bent, np.nan)
            return -map_samples(step, [at, bent, nothing, after], [numbers, table])[1]

        part = CompiledPart(
            self.system.compile_near(along),
            step,
            n_start,
            numbers,
            table,
            range(n_x if along else n_y),
            range(n_y if along else n_x),
            [*range(self.system.n_watch), *(self.system.n_watch + k for k in self.choices)],
            self.system.unknown_bounds,
            find_starts,
            find_bend,
        )
        return (part,)

    def raise_error(self) -> None:
        """Raise the error of a plugin's function since the last call, if any."""
        errors = self.system.forms.errors
        if errors:
            error = errors[0]
            errors.clear()
            raise error

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the compiled functions."""
        return {name: value for name, value in vars(self).items() if name != 'system'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes and compile the functions."""
        vars(self).update(state)
        self.system = self._make_system()

    def __copy__(self) -> PositionDependentTransmission:
        """Return a copy with the same compiled functions."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other
