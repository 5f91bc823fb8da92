# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a mechanism gives: its position maps, their Jacobians, and the same for single samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.closed_form import ClosedForm
from transmission_bridge.transmissions.directional import directional_derivative
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.one_sample import SampleForm
from transmission_bridge.transmissions.square import Numbers

__all__ = ['PositionMaps', 'is_current']


class PositionMaps:
    """
    The methods that a position-dependent transmission overrides, with their defaults.

    Which of them belong together is told by
    :class:`~transmission_bridge.transmissions.position_dependent.PositionDependentTransmission`.
    """

    _domain: Domain

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

    def joint_position_near(
        self, actuator_position: Numbers, joint_position: Numbers
    ) -> tuple[Numbers, Numbers] | None:
        """
        Return ``q`` near a start and the entries of ``da/dq`` there row by row, of one sample.

        For a mechanism of which both are found with less arithmetic than by
        :meth:`joint_position_sample`, or steps of a solver, with :meth:`actuator_sample`.

        :returns: ``None``, as by default, where it is left to these.
        """
        return None

    def actuator_position_near(
        self, joint_position: Numbers, actuator_position: Numbers
    ) -> tuple[Numbers, Numbers] | None:
        """
        Return ``a`` near a start and the entries of ``dq/da`` there row by row, of one sample.

        For a mechanism of which both are found with less arithmetic than by
        :meth:`actuator_position_sample`, or steps of a solver, with :meth:`joint_sample`.

        :returns: ``None``, as by default, where it is left to these.
        """
        return None

    # -- what is made of them --------------------------------------------------------------------

    @classmethod
    def _gives(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(PositionMaps, name)

    def _closed_form(self, space: str, other: str) -> ClosedForm:
        """Return the maps of arrays from a space to the other, and the closed one back if any."""
        inverse = f'{space}_position'
        return ClosedForm(
            value=getattr(self, f'{other}_position'),
            slope=getattr(self, f'{other}_jacobian'),
            slope_rate=self._own(f'{other}_jacobian_rate', [f'{other}_jacobian']),
            evaluate=self._evaluate(other),
            inverse_value=getattr(self, inverse) if self._gives(inverse) else None,
        )

    def _sample_form(self, space: str, other: str) -> SampleForm:
        """Return the same for one sample."""
        inverse = f'{space}_position'
        given = [f'{other}_{name}' for name in ('position', 'jacobian', 'position_and_jacobian')]
        return SampleForm(
            evaluate=getattr(self, f'{other}_sample')
            if is_current(type(self), f'{other}_sample', given)
            else partial(_sample, self._evaluate(other)),
            inverse_value=self._own(f'{inverse}_sample', [inverse])
            if self._gives(inverse)
            else None,
            solve_nearby=self._own(
                f'{inverse}_near', [*given, f'{other}_sample', inverse, f'{inverse}_sample']
            )
            if self._gives(f'{inverse}_near')
            else None,
        )

    def _evaluate(self, other: str) -> Callable[[Array], tuple[Array, Array]]:
        """Return the position map and the Jacobian of arrays at once."""
        return self._own(
            f'{other}_position_and_jacobian', [f'{other}_position', f'{other}_jacobian']
        )

    def _own(self, name: str, sources: list[str]) -> Callable[..., Any]:
        """Return a method, the base's where a subclass has since overridden what it is about."""
        if is_current(type(self), name, sources):
            own: Callable[..., Any] = getattr(self, name)
            return own
        return partial(getattr(PositionMaps, name), self)


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
