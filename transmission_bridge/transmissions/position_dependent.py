# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions whose ratio depends on position: one position map and its Jacobian."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.directional import directional_derivative
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    JOINT_TO_ACTUATOR,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.mechanism import ClosedForm, Mechanism, POSITIONS
from transmission_bridge.transmissions.one_sample import SampleForm
from transmission_bridge.transmissions.square import Numbers
from transmission_bridge.transmissions.transmission import as_values, Transmission

__all__ = ['PositionDependentTransmission', 'is_current']

#: Samples mapped at a time; what the solver needs for them stays in the cache.
CHUNK_ROWS = 2048


class PositionDependentTransmission(Transmission):
    """
    A mechanism given by one position map and its Jacobian; every interface follows.

    A plugin gives **either** the map from actuators to joints,

    * :meth:`joint_position` ``q = f(a)`` and :meth:`joint_jacobian` ``dq/da``,

    **or** the one from joints to actuators,

    * :meth:`actuator_position` ``a = f^-1(q)`` and :meth:`actuator_jacobian` ``da/dq``.

    Where both position maps have a closed form, both may be given, with the Jacobian of one of
    them. The rate of the Jacobian (:meth:`joint_jacobian_rate` or
    :meth:`actuator_jacobian_rate`), which accelerations need, is derived numerically from the
    Jacobian unless given. These methods take ``(n,)`` or ``(samples, n)`` arrays, answer a
    position that the mechanism cannot reach with NaN, and need not care for warnings of numpy.

    A live stream maps one sample at a time, for which the calls of numpy cost far more than the
    arithmetic. A plugin with as many joints as actuators, one or two, may give
    :meth:`joint_sample` or :meth:`actuator_sample` as well, and :meth:`joint_position_sample` or
    :meth:`actuator_position_sample` for the closed inverse: the same equations in plain numbers.
    One sample and a batch then agree to rounding. These methods may raise ``ValueError`` or
    ``ArithmeticError`` where there is no answer.

    With ``x`` the space that the given Jacobian ``G`` starts from and ``y = g(x)`` the other one:

    ============= ============================ ======================================
    interface     ``x`` to ``y``               ``y`` to ``x``
    ============= ============================ ======================================
    position      ``y = g(x)``                 closed form, else solved
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
        The output needs ``G^-1``, as a solved position does, and ``G`` is singular: its smallest
        singular value times :attr:`condition_limit` is below the largest one, or below the
        typical gain (the median over the domain). Likewise where ``G`` itself is above the
        typical gain by that factor.
    ``no_convergence``
        The solver found no solution.
    ``branch``
        The solution is on another assembly branch: the determinant of ``G`` has another sign.

    The solver starts at ``guess``, where that is inside the domain, else, or where it does
    not converge from there, at the nearest entry of a table that is laid over the domain when the
    transmission is built. Nothing is kept between calls: the caller has the last solution and
    gives it as ``guess``.

    :param domain: Positions that are mapped, in the space ``x``.
    :raises TransmissionError: If no position of the domain can be reached, or what the plugin
        gives does not fit together. Call this constructor last: it evaluates the plugin's maps.
    """

    #: How singular a Jacobian may be before outputs that divide by it are NaN.
    condition_limit: ClassVar[float] = 1e8

    def __init__(self, domain: Domain) -> None:
        cls = type(self)
        self._domain = domain
        self._starts_at_joint = _given(cls, 'actuator_jacobian')
        space = 'joint' if self._starts_at_joint else 'actuator'
        other = 'actuator' if self._starts_at_joint else 'joint'
        if not (_given(cls, f'{other}_jacobian') and _given(cls, f'{other}_position')):
            raise TransmissionError(
                f'{cls.__name__} gives no position map with its Jacobian',
                expected='joint_position and joint_jacobian, or actuator_position and '
                'actuator_jacobian',
            )
        if domain.space != space:
            raise TransmissionError(
                f'{cls.__name__} gives {other}_jacobian, its domain is in the other space',
                expected=f'{space} positions',
                found=f'{domain.space} positions',
            )
        closed_form = ClosedForm(
            value=getattr(self, f'{other}_position'),
            slope=getattr(self, f'{other}_jacobian'),
            slope_rate=getattr(self, f'{other}_jacobian_rate'),
            evaluate=getattr(self, f'{other}_position_and_jacobian'),
            inverse_value=getattr(self, f'{space}_position')
            if _given(cls, f'{space}_position')
            else None,
        )
        names = [f'{other}_{name}' for name in ('position', 'jacobian', 'position_and_jacobian')]
        sample_form = SampleForm(
            evaluate=self._own(f'{other}_sample', names),
            inverse_value=self._own(f'{space}_position_sample', [f'{space}_position'])
            if closed_form.inverse_value is not None
            else None,
        )
        with np.errstate(all='ignore'):
            self._mechanism = Mechanism(closed_form, sample_form, domain, self.condition_limit)

    # -- what a plugin gives ---------------------------------------------------------------------

    def joint_position(self, actuator_position: Array) -> Array:
        """
        Return ``q = f(a)``.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :returns: Shape ``(..., n_joints)``, NaN where the mechanism cannot be.
        """
        raise NotImplementedError

    def joint_jacobian(self, actuator_position: Array) -> Array:
        """
        Return ``dq/da``.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :returns: Shape ``(..., n_joints, n_actuators)``.
        """
        raise NotImplementedError

    def joint_jacobian_rate(self, actuator_position: Array, actuator_velocity: Array) -> Array:
        """
        Return ``d/dt dq/da``; by default from :meth:`joint_jacobian`, to about 1e-12.

        See :func:`~transmission_bridge.transmissions.directional.directional_derivative`.

        :returns: Shape ``(..., n_joints, n_actuators)``.
        """
        return directional_derivative(
            self.joint_jacobian, actuator_position, actuator_velocity, self._domain.span
        )

    def joint_position_and_jacobian(self, actuator_position: Array) -> tuple[Array, Array]:
        """Return both at once; to be overridden where they have much in common."""
        return self.joint_position(actuator_position), self.joint_jacobian(actuator_position)

    def joint_sample(self, actuator_position: Numbers) -> tuple[Numbers, Numbers]:
        """
        Return ``q`` and the entries of ``dq/da`` row by row, of one sample in plain numbers.

        By default by :meth:`joint_position_and_jacobian`.
        """
        return _sample(self.joint_position_and_jacobian, actuator_position)

    def joint_position_sample(self, actuator_position: Numbers) -> Numbers:
        """Return ``q`` of one sample in plain numbers; by default by :meth:`joint_position`."""
        return _position_sample(self.joint_position, actuator_position)

    def actuator_position(self, joint_position: Array) -> Array:
        """
        Return ``a = f^-1(q)``.

        :param joint_position: Shape ``(..., n_joints)``.
        :returns: Shape ``(..., n_actuators)``, NaN where the mechanism cannot be.
        """
        raise NotImplementedError

    def actuator_jacobian(self, joint_position: Array) -> Array:
        """
        Return ``da/dq``.

        :param joint_position: Shape ``(..., n_joints)``.
        :returns: Shape ``(..., n_actuators, n_joints)``.
        """
        raise NotImplementedError

    def actuator_jacobian_rate(self, joint_position: Array, joint_velocity: Array) -> Array:
        """
        Return ``d/dt da/dq``; by default from :meth:`actuator_jacobian`, to about 1e-12.

        See :func:`~transmission_bridge.transmissions.directional.directional_derivative`.

        :returns: Shape ``(..., n_actuators, n_joints)``.
        """
        return directional_derivative(
            self.actuator_jacobian, joint_position, joint_velocity, self._domain.span
        )

    def actuator_position_and_jacobian(self, joint_position: Array) -> tuple[Array, Array]:
        """Return both at once; to be overridden where they have much in common."""
        return self.actuator_position(joint_position), self.actuator_jacobian(joint_position)

    def actuator_sample(self, joint_position: Numbers) -> tuple[Numbers, Numbers]:
        """
        Return ``a`` and the entries of ``da/dq`` row by row, of one sample in plain numbers.

        By default by :meth:`actuator_position_and_jacobian`.
        """
        return _sample(self.actuator_position_and_jacobian, joint_position)

    def actuator_position_sample(self, joint_position: Numbers) -> Numbers:
        """Return ``a`` of one sample in plain numbers; by default by :meth:`actuator_position`."""
        return _position_sample(self.actuator_position, joint_position)

    # -- what everybody else asks ----------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """The positions that are mapped."""
        return self._domain

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return self._mechanism.n_y if self._starts_at_joint else self._mechanism.n_x

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return self._mechanism.n_x if self._starts_at_joint else self._mechanism.n_y

    def actuator_to_joint(
        self,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: Counter[str] | None = None,
    ) -> Array:
        """Map actuator values to joint values; see :class:`Transmission`."""
        return self._map(ACTUATOR_TO_JOINT, interface, values, at, rate, guess, report)

    def joint_to_actuator(
        self,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: Counter[str] | None = None,
    ) -> Array:
        """Map joint values to actuator values; see :class:`Transmission`."""
        return self._map(JOINT_TO_ACTUATOR, interface, values, at, rate, guess, report)

    def map_state(
        self,
        direction: Direction,
        position: Array,
        velocity: Array,
        effort: Array,
        *,
        guess: Array | None = None,
        report: Counter[str] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Map one instant, its position found once; see :class:`Transmission`."""
        along = self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)
        n_in = self.n_actuators if direction == ACTUATOR_TO_JOINT else self.n_joints
        value = as_values('position', position, n_in)
        arrays = (
            value,
            _shaped('velocity', velocity, value.shape),
            _shaped('effort', effort, value.shape),
        )
        if value.ndim > 1:
            return super().map_state(direction, *arrays, guess=guess, report=report)
        start = None
        if guess is not None and not along:
            start = as_values('guess', guess, self.n_actuators + self.n_joints - n_in)
        counts: Counter[str] = Counter() if report is None else report
        with np.errstate(all='ignore'):
            return self._mechanism.mapped_state(along, arrays, start, counts)

    def map_sample(
        self,
        direction: Direction,
        position: Numbers,
        velocity: Numbers,
        effort: Numbers,
        guess: Numbers,
    ) -> tuple[Numbers, Numbers, Numbers] | None:
        """
        Do the same with plain numbers, for a stream that has no time for arrays.

        Numbers of the right count are taken for granted.

        :param guess: Where to start an iterative solution, NaN if that is not known.
        :returns: ``None`` where there is something to be looked at closely, or counted:
            :meth:`map_state` has to be asked.
        """
        along = self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)
        return self._mechanism.sample_state(along, position, velocity, effort, guess)

    def jacobian(self, actuator_position: npt.ArrayLike) -> Array:
        """
        Return ``J = df/da``, NaN where it does not exist; see :class:`Transmission`.

        Where the plugin gives ``da/dq``, the position is solved first and the matrix inverted.
        """
        position = as_values('actuator_position', actuator_position, self.n_actuators)
        flat = position.reshape(-1, self.n_actuators)
        result = np.empty((len(flat), self.n_joints, self.n_actuators))
        with np.errstate(all='ignore'):
            for rows in _chunks(len(flat)):
                result[rows] = self._mechanism.jacobian(not self._starts_at_joint, flat[rows])
        return result.reshape(*position.shape[:-1], self.n_joints, self.n_actuators)

    def _map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        at: npt.ArrayLike | None,
        rate: npt.ArrayLike | None,
        guess: npt.ArrayLike | None,
        report: Counter[str] | None,
    ) -> Array:
        quantity = quantity_of(interface, direction)
        forward = direction == ACTUATOR_TO_JOINT
        along = self._starts_at_joint != forward
        n_in, n_out = self.n_actuators, self.n_joints
        if not forward:
            n_in, n_out = n_out, n_in
        value = as_values('values', values, n_in)
        arrays = [value]
        if quantity not in POSITIONS:
            arrays.append(self._needed('at', at, value.shape, interface))
        if quantity is Quantity.ACCELERATION:
            arrays.append(self._needed('rate', rate, value.shape, interface))
        start = None
        if guess is not None and not along:
            start = _shaped('guess', guess, (*value.shape[:-1], n_out))
        counts: Counter[str] = Counter() if report is None else report
        with np.errstate(all='ignore'):
            if value.ndim == 1:
                return self._mechanism.mapped(quantity, along, arrays, start, counts)
            flat = [array.reshape(-1, n_in) for array in arrays]
            starts = None if start is None else start.reshape(-1, n_out)
            result = np.empty((len(flat[0]), n_out))
            for rows in _chunks(len(result)):
                part = [array[rows] for array in flat]
                nearby = None if starts is None else starts[rows]
                result[rows] = self._mechanism.mapped(quantity, along, part, nearby, counts)
        return result.reshape(*value.shape[:-1], n_out)

    def _own(self, name: str, sources: list[str]) -> Callable[..., Any]:
        """Return a method, the base's where a subclass has since overridden what it is about."""
        if is_current(type(self), name, sources):
            own: Callable[..., Any] = getattr(self, name)
            return own
        return partial(getattr(PositionDependentTransmission, name), self)

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


def _given(cls: type[PositionDependentTransmission], name: str) -> bool:
    return getattr(cls, name) is not getattr(PositionDependentTransmission, name)


def is_current(cls: type, name: str, sources: Iterable[str]) -> bool:
    """Tell whether no subclass has overridden one of the sources, but not the method ``name``."""
    first = {
        each: next(place for place, owner in enumerate(cls.__mro__) if each in vars(owner))
        for each in (name, *sources)
    }
    return first.pop(name) <= min(first.values())


def _sample(
    function: Callable[[Array], tuple[Array, Array]], position: Numbers
) -> tuple[Numbers, Numbers]:
    with np.errstate(all='ignore'):
        value, slope = function(np.array(position))
    return value.tolist(), slope.ravel().tolist()


def _position_sample(function: Callable[[Array], Array], position: Numbers) -> Numbers:
    with np.errstate(all='ignore'):
        value: list[float] = function(np.array(position)).tolist()
    return value


def _shaped(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array


def _chunks(length: int) -> Iterator[slice]:
    return (slice(first, first + CHUNK_ROWS) for first in range(0, length, CHUNK_ROWS))
