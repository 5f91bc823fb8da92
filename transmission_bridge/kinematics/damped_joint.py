# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading and changing the losses of a joint, as iDynTree's IJoint does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from transmission_bridge.kinematics.joint_dynamics import JointDynamicsType
from transmission_bridge.kinematics.limited_joint import LimitedJoint

__all__ = ['DampedJoint']

JointT = TypeVar('JointT', bound='DampedJoint')


@dataclass(frozen=True, eq=False)
class DampedJoint(LimitedJoint):
    """
    A joint with viscous damping and static friction.

    The numbers count for whoever models losses; kinematics does not use them. Parameters are those
    of :class:`JointRecord`.
    """

    @property
    def dynamics_type(self) -> JointDynamicsType:
        """Which losses the joint is described with (getJointDynamicsType)."""
        return self.dynamics.type

    def with_dynamics_type(self: JointT, dynamics_type: JointDynamicsType) -> JointT:
        """
        Return the joint with another dynamics type (setJointDynamicsType); the numbers stay.

        :param dynamics_type: Whether damping and friction count.
        :returns: A new joint.
        :raises ValueError: If it is no such type.
        """
        chosen = JointDynamicsType(dynamics_type)
        return replace(self, dynamics=replace(self.dynamics, type=chosen))

    def damping(self, dof: int = 0) -> float:
        """
        Return the viscous damping (getDamping).

        :param dof: Degree of freedom.
        :returns: [N m s/rad or N s/m].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.dynamics.damping[self._check_dof(dof)]

    def with_damping(self: JointT, damping: float, dof: int = 0) -> JointT:
        """
        Return the joint with another damping (setDamping); the type stays.

        :param damping: Viscous damping [N m s/rad or N s/m].
        :param dof: Degree of freedom.
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        """
        dynamics = self.dynamics.with_value('damping', self._check_dof(dof), damping)
        return replace(self, dynamics=dynamics)

    def static_friction(self, dof: int = 0) -> float:
        """
        Return the static friction (getStaticFriction).

        :param dof: Degree of freedom.
        :returns: [N m or N].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.dynamics.static_friction[self._check_dof(dof)]

    def with_static_friction(self: JointT, friction: float, dof: int = 0) -> JointT:
        """
        Return the joint with another static friction (setStaticFriction); the type stays.

        :param friction: Static friction [N m or N].
        :param dof: Degree of freedom.
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        """
        dynamics = self.dynamics.with_value('static_friction', self._check_dof(dof), friction)
        return replace(self, dynamics=dynamics)
