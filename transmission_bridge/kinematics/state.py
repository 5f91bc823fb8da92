# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Positions of joints outside of devices: the one object of this room that changes in place.

RobWork keeps devices stateless: a device is registered in a ``StateStructure``, and every query
takes a ``State``. Here both are :class:`State`: a device registers its joints in it, and several
devices may share one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, UnknownNameError
from transmission_bridge.kinematics.spatial import Array

__all__ = ['Configuration', 'State', 'as_configuration']


class State:
    """
    Joint positions by name [rad or m], starting at zero (RobWork's State and StateStructure).

    :param names: The first joints to register.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._positions = dict.fromkeys(names, 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that are registered, in the order of registration."""
        return tuple(self._positions)

    def register(self, names: Sequence[str]) -> None:
        """
        Add joints at zero; joints that are registered keep their positions.

        :param names: Names of joints.
        """
        for name in names:
            self._positions.setdefault(name, 0.0)

    def get(self, names: Sequence[str]) -> Array:
        """
        Return positions.

        :param names: Names of joints, in the order wanted.
        :returns: A new array, shape ``(n,)`` [rad or m].
        :raises UnknownNameError: If a joint is not registered.
        """
        self._check(names)
        return np.array([self._positions[name] for name in names], dtype=np.float64)

    def set(self, names: Sequence[str], q: npt.ArrayLike) -> None:
        """
        Change positions in place, all or none.

        :param names: Names of joints.
        :param q: Their positions, shape ``(n,)`` [rad or m].
        :raises UnknownNameError: If a joint is not registered.
        :raises ShapeError: If ``q`` has another shape.
        """
        self._check(names)
        values = np.asarray(q, dtype=np.float64)
        if values.shape != (len(names),):
            raise ShapeError('q', expected=f'({len(names)},)', found=values.shape)
        self._positions.update(zip(names, values.tolist(), strict=True))

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._positions:
                raise UnknownNameError('joint', name, self.names)

    def __repr__(self) -> str:
        """Return the class with the positions."""
        return f'State({self._positions})'


#: What a device's queries take: positions in the device's order, or a state that holds them.
Configuration = npt.ArrayLike | State


def as_configuration(q: Configuration, names: Sequence[str]) -> Array:
    """
    Return the positions of named joints.

    :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
    :param names: The joints, in order.
    :returns: Shape ``(..., n)`` [rad or m], float64.
    :raises ShapeError: If ``q`` is not ``(..., n)``.
    :raises UnknownNameError: If a joint is not registered in the state.
    """
    if isinstance(q, State):
        return q.get(names)
    values = np.asarray(q, dtype=np.float64)
    if values.shape[-1:] != (len(names),):
        raise ShapeError('q', expected=f'(..., {len(names)})', found=values.shape)
    return values
