# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions whose ratio depends on position: one function, and what follows from it."""

from __future__ import annotations

from copy import copy
from typing import Any, TYPE_CHECKING

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.compiled import CompiledTransmission, Part
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.system import System

#: ``max_gain`` of a transmission that says nothing else. None of the mechanisms in the
#: documentation loses more than 1 % of its domain by it.
MAX_GAIN = 50.0

#: What lies beyond is rounding.
LARGEST_MAX_GAIN = 1e8


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


class PositionDependentTransmission(CompiledTransmission):
    """
    A mechanism given by one function, :meth:`evaluate`; every interface follows.

    For what can be written as an equation there is
    :class:`~transmission_bridge.transmissions.equation_transmission.EquationTransmission`, which
    needs no Jacobian and is quick. This class is for the rest: a simulation, somebody else's code.

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
        from transmission_bridge.transmissions.seeds import Seeds

        self._domain = domain
        self._starts_at_joint = domain.space == 'joint'
        self.max_gain = MAX_GAIN
        self.system = self._make_system()
        self._seeds = Seeds.over(self.system, domain, self.numbers, self._pose())
        self.raise_error()

    # -- what a plugin gives ---------------------------------------------------------------------

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """
        Return ``y = g(x)`` and ``G = dg/dx``; NaN where the mechanism cannot be.

        :param x: Positions in the space of the domain, shape ``(samples, n_x)``.
        :returns: Shapes ``(samples, n_y)`` and ``(samples, n_y, n_x)``.
        """
        raise TransmissionError(
            f'{type(self).__name__} does not say how its range is mapped',
            expected='evaluate(x), which gives y and dy/dx',
            found='none',
        )

    def inverse(self, y: Array) -> Array | None:
        """
        Return ``x`` where there is an equation for it, NaN where the mechanism cannot be.

        :param y: Shape ``(samples, n_y)``.
        :returns: Shape ``(samples, n_x)``; ``None``, the default, where it has to be solved for.
        """
        return None

    def slope_rate(self, x: Array, rate: Array) -> Array | None:
        """
        Return ``G'``; ``None``, the default: from :meth:`evaluate` by differences, to about 1e-10.

        :param x: Shape ``(samples, n_x)``.
        :param rate: ``x'``, same shape.
        :returns: Shape ``(samples, n_y, n_x)``.
        """
        return None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that the compiled functions are given."""
        return ()

    # -- what follows ----------------------------------------------------------------------------

    def _make_system(self) -> System:
        from transmission_bridge.transmissions.numpy_forms import forms_of
        from transmission_bridge.transmissions.system import System

        return System(forms_of(self, self._domain), len(self.numbers))

    def _pose(self) -> tuple[Array, Array] | None:
        """Return ``x`` and about ``y`` of a pose, where a closure alone leaves open which one."""
        return None

    @property
    def domain(self) -> Domain:
        """The positions that are mapped."""
        return self._domain

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

    def parts(self, direction: Direction) -> tuple[Part, ...]:
        """Return the compiled function with what it is given."""
        along = self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)
        n_x, n_y = self.system.n_x, self.system.n_y
        n_start = self.system.n_start(along)
        numbers = [*self._seeds.watched(self._domain, self.max_gain), *self.numbers]
        step = self.system.step(along, self._seeds.table.shape[1])
        table = self._seeds.table.T.ravel()

        def starts(given: Array, guess: Array | None) -> Array:
            if not n_start:
                return np.zeros((len(given), 0))
            if guess is None:
                with np.errstate(all='ignore'):
                    return self._seeds.starts(given, n_x, along=along)
            start = np.zeros((len(given), n_start))
            start[:, : n_x + n_y] = np.concatenate([guess, given], axis=1)
            return start

        def bend(at: Array, rate: Array, place: Array, speed: Array, after: Array) -> Array:
            from transmission_bridge.transmissions.system import map_samples

            given = (at, place, rate) if along else (place, at, speed)
            (bent,) = map_samples(self.system.forms.bend, given, [self.numbers])
            self.raise_error()
            if along:
                return bent
            nothing = np.full_like(bent, np.nan)
            return -map_samples(step, [at, bent, nothing, after], [numbers, table])[1]

        part = Part(
            self.system.near(along),
            step,
            n_start,
            numbers,
            table,
            range(n_x if along else n_y),
            range(n_y if along else n_x),
            starts,
            bend,
        )
        return (part,)

    def raise_error(self) -> None:
        """Raise what a plugin's function has raised since this was asked last."""
        errors = self.system.forms.errors
        if errors:
            error = errors[0]
            errors.clear()
            raise error

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what CasADi made."""
        return {name: value for name, value in vars(self).items() if name != 'system'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`__getstate__` gave."""
        vars(self).update(state)
        self.system = self._make_system()

    def __copy__(self) -> PositionDependentTransmission:
        """Return the same with the same compiled functions."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other
