# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Losses in a joint, one number per degree of freedom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from transmission_bridge.errors import ShapeError

__all__ = ['JointDynamics', 'JointDynamicsType']


class JointDynamicsType(IntEnum):
    """Which losses a joint is described with; names and numbers as in iDynTree."""

    #: None: the numbers mean nothing.
    NONE = 0
    #: ``<dynamics>`` of URDF: viscous damping and static friction.
    URDF = 1


@dataclass(frozen=True, slots=True)
class JointDynamics:
    """
    Damping and static friction of a joint, as in iDynTree's IJoint.

    :param type: Whether the numbers count. Setting a number does not change it.
    :param damping: Viscous damping [N m s/rad or N s/m], one entry per degree of freedom.
    :param static_friction: Static friction [N m or N], one entry per degree of freedom.
    :raises ShapeError: If the tuples differ in length.
    """

    type: JointDynamicsType = JointDynamicsType.NONE
    damping: tuple[float, ...] = ()
    static_friction: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.static_friction) != len(self.damping):
            raise ShapeError(
                'dynamics',
                expected=f'({len(self.damping)},)',
                found=(len(self.static_friction),),
            )

    @classmethod
    def lossless(cls, n_dofs: int) -> JointDynamics:
        """
        Return the dynamics that a new joint has in iDynTree: type ``NONE``, every number zero.

        :param n_dofs: Number of degrees of freedom.
        :returns: Zero damping [N m s/rad or N s/m] and friction [N m or N].
        """
        return cls(JointDynamicsType.NONE, (0.0,) * n_dofs, (0.0,) * n_dofs)

    def with_value(self, field: str, dof: int, value: float) -> JointDynamics:
        """
        Return the same dynamics with one number changed.

        :param field: ``damping`` or ``static_friction``.
        :param dof: Degree of freedom, counted from 0, in range.
        :param value: The number, in the field's unit.
        :returns: New dynamics; the type stays.
        """
        values = list(getattr(self, field))
        values[dof] = float(value)
        changed: dict[str, Any] = {field: tuple(values)}
        return replace(self, **changed)

    @property
    def size(self) -> int:
        """The number of degrees of freedom."""
        return len(self.damping)
