# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Transmissions whose ratio depends on position: one position map and its Jacobian."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    JOINT_TO_ACTUATOR,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.mechanism import Mechanism, POSITIONS
from transmission_bridge.transmissions.one_sample import SampleMap
from transmission_bridge.transmissions.position_maps import is_current, PositionMaps
from transmission_bridge.transmissions.transmission import as_values, Transmission

__all__ = ['PositionDependentTransmission']

#: Samples mapped at a time; what the solver needs for them stays in the cache.
CHUNK_ROWS = 2048


class PositionDependentTransmission(PositionMaps, Transmission):
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
    One sample and a batch then agree to rounding. :meth:`joint_position_near` or
    :meth:`actuator_position_near` may give the way back and its Jacobian at once, if that is
    quicker than by these. All of them may raise ``ValueError`` or ``ArithmeticError`` where
    there is no answer.

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
        name = type(self).__name__
        self._domain = domain
        self._starts_at_joint = self._gives('actuator_jacobian')
        space = 'joint' if self._starts_at_joint else 'actuator'
        other = 'actuator' if self._starts_at_joint else 'joint'
        if not (self._gives(f'{other}_jacobian') and self._gives(f'{other}_position')):
            raise TransmissionError(
                f'{name} gives no position map with its Jacobian',
                expected='joint_position and joint_jacobian, or actuator_position and '
                'actuator_jacobian',
            )
        if domain.space != space:
            raise TransmissionError(
                f'{name} gives {other}_jacobian, its domain is in the other space',
                expected=f'{space} positions',
                found=f'{domain.space} positions',
            )
        with np.errstate(all='ignore'):
            self._mechanism = Mechanism(
                self._closed_form(space, other),
                self._sample_form(space, other),
                domain,
                self.condition_limit,
            )

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
        if value.ndim > 1 or not is_current(type(self), 'map_state', [direction]):
            return super().map_state(direction, *arrays, guess=guess, report=report)
        start = None
        if guess is not None and not along:
            start = as_values('guess', guess, self.n_actuators + self.n_joints - n_in)
        counts: Counter[str] = Counter() if report is None else report
        with np.errstate(all='ignore'):
            return self._mechanism.mapped_state(along, arrays, start, counts)

    def sample_map(self, direction: Direction) -> SampleMap | None:
        """
        Return what does the same with plain numbers, for a stream that has no time for arrays.

        It maps position, velocity, effort and a start of the solution, NaN if there is none, to
        position, velocity and effort. Numbers of the right count are taken for granted. It
        returns ``None`` where there is something to be looked at closely, or counted:
        :meth:`map_state` has to be asked.

        :returns: ``None`` if this mechanism cannot be mapped so.
        """
        return self._mechanism.sample_map(
            self._starts_at_joint != (direction == ACTUATOR_TO_JOINT)
        )

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


def _shaped(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array


def _chunks(length: int) -> Iterator[slice]:
    return (slice(first, first + CHUNK_ROWS) for first in range(0, length, CHUNK_ROWS))
