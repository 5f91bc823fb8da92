# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joint limits on commands: clamp, reject, or let pass."""

from __future__ import annotations

from collections import Counter

import numpy as np

from transmission_bridge.bridge.inputs import CommandCounts
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

__all__ = ['CommandLimits']


class CommandLimits:
    """
    Position bounds, velocity and effort magnitudes of every joint.

    :param robot: Gives the joints and, through its description, their limits.
    :param policy: ``clamp``, ``reject`` or ``off``.
    :ivar clamped: Commands clamped, by joint.
    :ivar rejected: Commands refused, by joint.
    """

    def __init__(self, robot: RobotTransmissions, policy: str) -> None:
        self._names = robot.joint_names
        self._policy = policy
        limits = [effective_limits(robot.robot, name) for name in robot.joint_names]
        bounds: Array = np.array(
            [
                [[each.lower, -each.velocity, -each.effort] for each in limits],
                [[each.upper, each.velocity, each.effort] for each in limits],
            ]
        ).reshape(2, len(limits), len(FIELDS))
        self._lower: Array
        self._upper: Array
        self._lower, self._upper = np.ascontiguousarray(bounds.transpose(0, 2, 1))
        self._outside: Mask = np.empty(self._lower.shape, dtype=bool)
        self._none_outside = bytes(self._outside.size)
        self.clamped: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def apply(
        self, command: Array, field: int | None = None, *, counts: CommandCounts
    ) -> Mask | None:
        """
        Clamp or refuse a command, in place; NaN is no command and stays NaN.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, or values of
            one of them, shape ``(..., n_joints)``.
        :param field: The row of the values; ``None``: all three.
        :param counts: Counts of the source, for refusals.
        :returns: Which values were clamped, for :meth:`count_clamped` once the command is
            accepted; ``None``: none.
        :raises MessageError: If a value is outside, and the policy is ``reject`` or the lower
            limit is above the upper one (``limit``).
        """
        if self._policy == 'off':
            return None
        # Three waypoints of one interface have the shape of a command, too.
        if field is None and self._is_inside(command):
            return None
        lower = self._lower if field is None else self._lower[field]
        upper = self._upper if field is None else self._upper[field]
        # NaN compares false: no command is within every limit.
        outside = (command < lower) | (command > upper)
        if not outside.any():
            return None
        impossible = outside & (lower > upper)
        refused = outside if self._policy == 'reject' else impossible
        if refused.any():
            self._count(refused, self.rejected, counts.limited)
            self._refuse(command, refused, np.broadcast_to(lower, command.shape), upper)
        np.clip(command, lower, upper, out=command)
        return outside

    def _is_inside(self, command: Array) -> bool:
        """Compare as :meth:`apply` does, without allocating."""
        mask, none = self._outside, self._none_outside
        np.less(command, self._lower, mask)
        if mask.tobytes() != none:
            return False
        np.greater(command, self._upper, mask)
        return mask.tobytes() == none

    def count_clamped(self, changed: Mask | None, counts: CommandCounts) -> None:
        """Count, once per joint, what :meth:`apply` clamped in a command that was accepted."""
        if changed is not None:
            self._count(changed, self.clamped, counts.clamped)

    def _count(self, mask: Mask, *counters: Counter[str]) -> None:
        for place in np.flatnonzero(mask.reshape(-1, mask.shape[-1]).any(axis=0)):
            for counter in counters:
                counter[self._names[place]] += 1

    def _refuse(self, command: Array, refused: Mask, lower: Array, upper: Array) -> None:
        upper = np.broadcast_to(upper, command.shape)
        sentences = [
            f'{self._names[index[-1]]}: {command[tuple(index)]:g} is not in '
            f'[{lower[tuple(index)]:g}, {upper[tuple(index)]:g}]'
            for index in np.argwhere(refused)
        ]
        raise MessageError('limit', f'outside the limits: {shortened(sentences, show=str)}')
