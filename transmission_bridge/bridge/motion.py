# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The numbers of one message on their way to the drivers, and their pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import TrajectoryRecord
from transmission_bridge.transmissions import Binding
from transmission_bridge.types import Array, Index, Mask

#: Kinds of motions: rules depend on the kind, never on the number of waypoints.
COMMAND, TRAJECTORY, END = 'command', 'trajectory', 'end'

#: Rows of a motion; commands and ends have the first three.
POSITION, VELOCITY, EFFORT, ACCELERATION = range(4)

#: The arrays of a waypoint in this order.
ARRAYS = ('positions', 'velocities', 'effort', 'accelerations')


class Pattern:
    """
    The structure of a motion, which follows from the values that its message gives.

    Controllers repeat messages with the same structure.

    :ivar mask: Mask of these values, shape ``(3, n_joints)``, in a trajectory ``(4, n_joints)``.
    :ivar complete: The same with the partners of these joints.
    :ivar named: Mask of the joints that the message commands.
    :ivar indices: Their indices.
    :ivar following: Indices of joints that follow those because of too few actuators, or ``None``.
    :ivar moved: Mask of the joints that may make a step: named ones and followers.
    :ivar joints: Mask of the commanded joints after completion.
    :ivar actuators: Mask of the commanded actuators.
    :ivar result: Mask of the numbers of actuators that have to be finite, as bytes.
    """

    def __init__(self, facts: RobotFacts, kind: str, key: bytes) -> None:
        self.kind, self.is_command = kind, kind == COMMAND
        self.is_trajectory, self.is_end = kind == TRAJECTORY, kind == END
        # Not by the number of joints, because a robot may have none.
        n_rows = len(ARRAYS) if self.is_trajectory else len(FIELDS)
        self.mask: Mask = np.frombuffer(key, dtype=bool).reshape(n_rows, -1)
        self.complete: Mask = self.mask.copy()
        self.named: Mask = self.mask.any(axis=0)
        self.moved: Mask = self.named.copy()
        for group in facts.groups:
            rows = self.mask[:, group.joints].any(axis=1)
            self.complete[rows[:, np.newaxis] & facts.make_mask(group.joints)] = True
            self.moved[group.joints] |= rows.any() and not group.can_hold
        self.indices: Index = np.flatnonzero(self.named)
        self.joints: Mask = self.complete.any(axis=0)
        following = np.flatnonzero(self.moved & ~self.named)
        self.following: Index | None = following if len(following) else None
        result = facts.robot.actuators_of(self.complete)
        self.result = result.tobytes()
        self.actuators: Mask = result.any(axis=0)

    def commands(self, binding: Binding) -> bool:
        """Return whether the message names a joint of a transmission."""
        return bool(self.named[list(binding.joints)].any())

    def cut_rows(self, numbers: Array) -> Array:
        """Return numbers for four rows, shape ``(..., 4, n)``, for the rows of these motions."""
        return (
            numbers[..., np.newaxis, :]
            if self.is_trajectory
            else np.ascontiguousarray(numbers[..., : len(FIELDS), :])
        )


class Trajectory(NamedTuple):
    """
    What a trajectory has beside its numbers.

    :param filled: Mask of the arrays of each waypoint, rows of a motion, shape ``(4, n_points)``.
    :param start: Time at which it starts [s].
    """

    record: TrajectoryRecord
    filled: Mask
    start: float


@dataclass(slots=True, eq=False)
class Motion:
    """
    The numbers of one message; rules change them in place.

    Rows are position, velocity, effort and, in a trajectory, acceleration; NaN: no command.

    :param route: Topic of the message.
    :param pattern: Structure of the message; another one after joints were rejected alone.
    :param values: Numbers of the joints, shape ``(3, n_joints)``, in a trajectory ``(4, n_points,
        n_joints)``.
    :param sent: Numbers of the actuators in SI, rows as ``values``; the map sets them.
    :param trajectory: More about a trajectory; ``None`` for commands and ends.
    :param due: Mask of the joints with commands that end.
    :param expiring: Mask of the joints with rates that expire after a rejection; ``None``: none.
    :param changes: Count of :class:`CommandCounts` and its key for each change.
    :param shares: Remaining share of the effort of joints.
    """

    route: str
    pattern: Pattern
    values: Array
    sent: Array
    trajectory: Trajectory | None = None
    due: Mask | None = None
    expiring: Mask | None = None
    changes: set[tuple[str, str]] = field(default_factory=set)
    shares: dict[str, float] = field(default_factory=dict)
