# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Reading and changing the limits of a joint, as iDynTree's IJoint does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from transmission_bridge.kinematics.joint_errors import JointError
from transmission_bridge.kinematics.joint_record import JointRecord

__all__ = ['LimitedJoint']

JointT = TypeVar('JointT', bound='LimitedJoint')


@dataclass(frozen=True, eq=False)
class LimitedJoint(JointRecord):
    """
    A joint with limits of position, velocity and effort, each kind with one switch.

    Numbers and switches are apart, as in iDynTree: a getter tells the number whether it counts or
    not, and a setter does not turn the switch. Parameters are those of :class:`JointRecord`.
    """

    #: Whether position limits have a meaning for this type of joint.
    can_limit_position: ClassVar[bool] = False

    @property
    def has_position_limits(self) -> bool:
        """Whether the position limits count (hasPosLimits)."""
        return self.limits.has_position

    def with_position_limits_enabled(self: JointT, enable: bool) -> JointT:
        """
        Return the joint with its position limits switched (enablePosLimits).

        :param enable: Whether they count.
        :returns: A new joint.
        :raises JointError: If the joint cannot have any (fixed, continuous, spherical, free).
        """
        if enable and not self.can_limit_position:
            raise JointError(self.name, 'a joint of this type has no position limits')
        return replace(self, limits=replace(self.limits, has_position=enable))

    def position_limits(self, dof: int = 0) -> tuple[float, float]:
        """
        Return the least and greatest position (getPosLimits), whether they count or not.

        :param dof: Degree of freedom.
        :returns: ``(min, max)`` [rad or m].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        self._check_dof(dof)
        return self.limits.lower[dof], self.limits.upper[dof]

    def min_position_limit(self, dof: int = 0) -> float:
        """
        Return the least position (getMinPosLimit), whether it counts or not.

        :param dof: Degree of freedom.
        :returns: [rad or m].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.position_limits(dof)[0]

    def max_position_limit(self, dof: int = 0) -> float:
        """
        Return the greatest position (getMaxPosLimit), whether it counts or not.

        :param dof: Degree of freedom.
        :returns: [rad or m].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.position_limits(dof)[1]

    def with_position_limits(self: JointT, lower: float, upper: float, dof: int = 0) -> JointT:
        """
        Return the joint with other position limits (setPosLimits); the switch stays.

        :param lower: Least position [rad or m].
        :param upper: Greatest position [rad or m].
        :param dof: Degree of freedom.
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        :raises JointError: If the joint cannot have any, or not ``lower <= upper``.
        """
        self._check_dof(dof)
        if not self.can_limit_position:
            raise JointError(self.name, 'a joint of this type has no position limits')
        if not lower <= upper:
            raise JointError(self.name, f'position limits [{lower}, {upper}] are not in order')
        limits = self.limits.with_value('lower', dof, lower).with_value('upper', dof, upper)
        return replace(self, limits=limits)

    @property
    def has_velocity_limits(self) -> bool:
        """Whether the velocity limits count (hasVelocityLimits)."""
        return self.limits.has_velocity

    def with_velocity_limits_enabled(self: JointT, enable: bool) -> JointT:
        """
        Return the joint with its velocity limits switched (enableVelocityLimits).

        :param enable: Whether they count.
        :returns: A new joint.
        """
        return replace(self, limits=replace(self.limits, has_velocity=enable))

    def velocity_limit(self, dof: int = 0) -> float:
        """
        Return the greatest speed (getVelocityLimit), whether it counts or not.

        :param dof: Degree of freedom.
        :returns: [rad/s or m/s].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.limits.velocity[self._check_dof(dof)]

    def with_velocity_limit(self: JointT, velocity: float, dof: int = 0) -> JointT:
        """
        Return the joint with another velocity limit (setVelocityLimit); the switch stays.

        :param velocity: Greatest speed, at least zero [rad/s or m/s].
        :param dof: Degree of freedom.
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        :raises JointError: If ``velocity`` is negative or not a number.
        """
        return self._with_magnitude('velocity', velocity, dof)

    @property
    def has_effort_limits(self) -> bool:
        """Whether the effort limits count (hasEffortLimits)."""
        return self.limits.has_effort

    def with_effort_limits_enabled(self: JointT, enable: bool) -> JointT:
        """
        Return the joint with its effort limits switched (enableEffortLimits).

        :param enable: Whether they count.
        :returns: A new joint.
        """
        return replace(self, limits=replace(self.limits, has_effort=enable))

    def effort_limit(self, dof: int = 0) -> float:
        """
        Return the greatest effort (getEffortLimit), whether it counts or not.

        :param dof: Degree of freedom.
        :returns: [N m or N].
        :raises JointIndexError: If ``dof`` is out of range.
        """
        return self.limits.effort[self._check_dof(dof)]

    def with_effort_limit(self: JointT, effort: float, dof: int = 0) -> JointT:
        """
        Return the joint with another effort limit (setEffortLimit); the switch stays.

        :param effort: Greatest effort, at least zero [N m or N].
        :param dof: Degree of freedom.
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        :raises JointError: If ``effort`` is negative or not a number.
        """
        return self._with_magnitude('effort', effort, dof)

    def _with_magnitude(self: JointT, kind: str, value: float, dof: int) -> JointT:
        self._check_dof(dof)
        if not value >= 0.0:
            raise JointError(self.name, f'{kind} limit {value} is not a magnitude')
        return replace(self, limits=self.limits.with_value(kind, dof, value))
