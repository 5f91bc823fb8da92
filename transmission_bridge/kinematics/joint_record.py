# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a joint is told rather than what it computes: links, rest transform, place in the model.

The queries and setters of iDynTree's IJoint under Python names. A getter without an argument is a
property or a field; a setter is ``with_…`` and returns a new joint.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np

from transmission_bridge.errors import ShapeError
from transmission_bridge.kinematics.joint_dynamics import JointDynamics
from transmission_bridge.kinematics.joint_errors import JointError, JointIndexError
from transmission_bridge.kinematics.motion_limits import MotionLimits
from transmission_bridge.kinematics.spatial import Array

__all__ = ['NO_INDEX', 'JointRecord', 'LinkId']

#: A link's name, or its number in a model.
LinkId = str | int

#: Index of a joint that is in no model.
NO_INDEX = -1

JointT = TypeVar('JointT', bound='JointRecord')


def _identity() -> Array:
    return np.eye(4)


@dataclass(frozen=True, eq=False)
class JointRecord:
    """
    Links, rest transform, serialisation, limits and dynamics of a joint (iDynTree's IJoint).

    :param link1: First attached link, a name or a number.
    :param link2: Second attached link, another one.
    :param rest: ``link1_H_link2`` at the rest position, shape ``(4, 4)`` [translation in m].
    :param name: The joint's name, for messages.
    :param index: Place among the joints of the model, ``-1`` for none.
    :param position_offset: Where its coordinates begin in a vector of positions.
    :param dof_offset: Where its degrees of freedom begin in a vector of velocities.
    :param limits: Motion limits; unlimited where left empty.
    :param dynamics: Losses; none where left empty.
    :raises ShapeError: If ``rest`` is not 4×4, or ``limits`` or ``dynamics`` have another number
        of entries than the joint has degrees of freedom.
    :raises JointError: If both links are the same, or an offset is negative.
    """

    link1: LinkId
    link2: LinkId
    rest: Array = field(default_factory=_identity, repr=False)
    name: str = ''
    index: int = NO_INDEX
    position_offset: int = 0
    dof_offset: int = 0
    limits: MotionLimits = field(default=MotionLimits(), repr=False)
    dynamics: JointDynamics = field(default=JointDynamics(), repr=False)

    #: Number of coordinates of the joint's position.
    n_positions: ClassVar[int] = 0
    #: Number of degrees of freedom, 0 (fixed) to 6 (free).
    n_dofs: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if self.link1 == self.link2:
            raise JointError(self.name, f'both ends are attached to link {self.link1!r}')
        if self.position_offset < 0 or self.dof_offset < 0:
            raise JointError(self.name, 'an offset in a vector cannot be negative')
        self._freeze('rest', self.rest, (4, 4))
        if self.limits == MotionLimits():
            object.__setattr__(self, 'limits', MotionLimits.unlimited(self.n_dofs))
        if self.dynamics == JointDynamics():
            object.__setattr__(self, 'dynamics', JointDynamics.lossless(self.n_dofs))
        for argument, size in (('limits', self.limits.size), ('dynamics', self.dynamics.size)):
            if size != self.n_dofs:
                raise ShapeError(argument, expected=f'({self.n_dofs},)', found=(size,))

    def _freeze(self, name: str, value: object, shape: tuple[int, ...]) -> None:
        array = np.array(value, dtype=np.float64)
        if array.shape != shape:
            raise ShapeError(name, expected=str(shape), found=array.shape)
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def _check_dof(self, dof: int) -> int:
        if not 0 <= dof < self.n_dofs:
            raise JointIndexError(self.name, kind='degree of freedom', index=dof, size=self.n_dofs)
        return dof

    def clone(self: JointT) -> JointT:
        """Return another joint with the same data (IJoint: clone)."""
        return replace(self)

    def with_links(self: JointT, link1: LinkId, link2: LinkId) -> JointT:
        """
        Return the joint between two other links (iDynTree: setAttachedLinks).

        :param link1: First attached link.
        :param link2: Second attached link.
        :returns: A new joint.
        :raises JointError: If both are the same.
        """
        return replace(self, link1=link1, link2=link2)

    def with_rest_transform(self: JointT, link1_h_link2: Array) -> JointT:
        """
        Return the joint with another rest transform (iDynTree: setRestTransform).

        The axis or centre stays where it is in ``link1``.

        :param link1_h_link2: Shape ``(4, 4)`` [translation in m].
        :returns: A new joint.
        :raises ShapeError: If the shape is another.
        """
        return replace(self, rest=link1_h_link2)

    def with_serialization(
        self: JointT,
        *,
        index: int | None = None,
        position_offset: int | None = None,
        dof_offset: int | None = None,
    ) -> JointT:
        """
        Return the joint at another place of a model (setIndex, setPosCoordsOffset, setDOFsOffset).

        :param index: Place among the model's joints; ``None`` keeps it.
        :param position_offset: Where its coordinates begin in a vector of positions; ``None``
            keeps it.
        :param dof_offset: Where its degrees of freedom begin in a vector of velocities; ``None``
            keeps it.
        :returns: A new joint.
        :raises JointError: If an offset is negative.
        """
        return replace(
            self,
            index=self.index if index is None else index,
            position_offset=self.position_offset if position_offset is None else position_offset,
            dof_offset=self.dof_offset if dof_offset is None else dof_offset,
        )
