# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of one message on their way to the drivers, and the trajectories that they have.

A reader, or for an end the gate, makes a motion; rules and the gate change it in place; ledger and
outlets read it. Only the ledger holds and changes trajectories after they were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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

    Controllers repeat messages with the same structure, so a plan keeps patterns, and nothing may
    change one.

    :param kind: ``COMMAND``, ``TRAJECTORY`` or ``END``.
    :param key: The bytes of ``mask``.
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
    :param pattern: Structure of the message; the gate replaces it after joints were rejected alone
        or interfaces were chosen.
    :param values: Numbers of the joints, shape ``(3, n_joints)``, in a trajectory ``(4, n_points,
        n_joints)``.
    :param sent: Numbers of the actuators in SI, rows as ``values``; empty until the map sets it.
        An end has NaN for the other actuators.
    :param trajectory: More about a trajectory; ``None`` for commands and ends.
    :param due: Mask of the joints with commands that end; the map adds those it cannot map.
    :param expiring: Mask of the joints with rates that expire after a rejection; the gate collects
        them; ``None``: none.
    :param changes: Name of a field of :class:`CommandCounts` and its key for each change; reader
        and gate add them.
    :param shares: Remaining share of the effort of joints; the gate adds them.
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


@dataclass(frozen=True, slots=True, eq=False)
class SentTrajectory:
    """
    A trajectory, and the numbers that are active after it; times are by the clock of the gate.

    :param named: Mask of the joints that it names, shape ``(n_joints,)``.
    :param joints: Mask of these and the coupled joints that hold; it ends their commands.
    :param actuators: Mask of the actuators that move them, shape ``(n_actuators,)``.
    :param joint_command: Rows position, velocity, effort after the last waypoint, shape ``(3,
        n_joints)``; NaN: none. If it ends with positions, the other rows are NaN.
    :param actuator_command: Rows of the actuators, shape ``(3, n_actuators)``.
    :param start: Start time [s]; former commands hold until then.
    :param until: End time [s].
    :param spells: The spells in which it was sent; its numbers exist while they last.
    :param is_running: Whether it has started.
    """

    named: Mask
    joints: Mask
    actuators: Mask
    joint_command: Array
    actuator_command: Array
    start: float
    until: float
    spells: Array
    is_running: bool = False

    @classmethod
    def of_motion(cls, motion: Motion, spells: Array) -> SentTrajectory:
        """Return a trajectory that is about to be sent."""
        assert motion.trajectory is not None
        pattern, (record, filled, start) = motion.pattern, motion.trajectory
        finals = []
        for numbers in (motion.values, motion.sent):
            last = numbers[: len(FIELDS), -1].copy()
            if filled[POSITION, -1]:
                last[VELOCITY:] = np.nan
            elif not filled[VELOCITY, -1]:
                # Accelerations alone lead to an unknown velocity that has to end.
                last[VELOCITY] = np.where(np.isnan(numbers[ACCELERATION, -1]), np.nan, 0.0)
            finals.append(last)
        joints, sent = finals
        masks, until = (pattern.named, pattern.joints, pattern.actuators), start + record.duration
        return cls(*masks, joints, sent, start, until, spells)

    @property
    def event(self) -> float:
        """Time at which it starts, or, if it is running, ends [s]."""
        return self.until if self.is_running else self.start


class Trajectories:
    """
    The trajectories that were sent and have not ended.

    :param reached: Mask of the actuators of each joint, shape ``(n_joints, n_actuators)``.
    :ivar sent: All of them, in another tuple after each change; gate and rules read it.
    """

    def __init__(self, reached: Mask) -> None:
        self._reached = reached
        self.sent: tuple[SentTrajectory, ...] = ()

    def add_trajectory(self, new: SentTrajectory) -> None:
        """Add one; it replaces others of its joints that do the same, run or wait."""
        self.cancel_joints(new.joints, is_running=new.is_running)
        self.sent += (new,)

    def cancel_joints(self, joints: Mask, *, is_running: bool | None = None) -> None:
        """
        Remove joints.

        :param is_running: Only from those that run, or that have not started; ``None``: from all.
        """
        others = []
        for former in self.sent:
            is_concerned = is_running is None or former.is_running is is_running
            kept = former.joints & ~joints if is_concerned else former.joints
            if kept.any():
                actuators = former.actuators & self._reached[kept].any(axis=0)
                named = former.named & kept
                others.append(replace(former, named=named, joints=kept, actuators=actuators))
        self.sent = tuple(others)

    def convert_numbers(self, convert: Callable[[Array, Array], tuple[Array, Array]]) -> None:
        """Replace the numbers of joints and actuators after each of them."""
        converted = (convert(one.joint_command, one.actuator_command) for one in self.sent)
        self.sent = tuple(
            replace(one, joint_command=joints, actuator_command=actuators)
            for one, (joints, actuators) in zip(self.sent, converted, strict=True)
        )

    def take_due(self, now: float) -> Iterator[SentTrajectory]:
        """
        Remove and yield those that start or end until now [s], in the order of time.

        The caller adds one that starts again as running, before it takes the next.
        """
        while due := [one for one in self.sent if one.event <= now]:
            first = min(due, key=lambda one: one.event)
            self.sent = tuple(one for one in self.sent if one is not first)
            yield first

    def take_waiting_rates(self) -> list[SentTrajectory]:
        """Forget all; return those with velocities that have not started."""
        sent, self.sent = self.sent, ()
        waiting = (one for one in sent if not one.is_running)
        return [one for one in waiting if not np.isnan(one.joint_command[VELOCITY]).all()]

    def mask_left_actuators(self) -> Mask:
        """Return the actuators that move to a position, or will."""
        left: Mask = np.zeros(self._reached.shape[1], dtype=bool)
        for one in self.sent:
            left |= ~np.isnan(one.actuator_command[POSITION]) & one.actuators
        return left
