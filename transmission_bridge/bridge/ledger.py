# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The record of every joint's command and every actuator's message, and of their ends.

Memory ends with knowledge: a number that was sent exists while the spell in which it was sent
lasts (:class:`~.states.knowledge.KnowledgeSpells`). A number that does not exist is not repeated,
held or counted from, in any row and message. That its end is due outlives the number.

The gate alone calls methods that write, :meth:`Ledger.update_clock` first for each message. Rules,
arrays, diagnostics, services of the node and the guard of tuning read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from transmission_bridge.bridge.inputs import CommandCounts, MOST_UNKNOWN
from transmission_bridge.bridge.motion import (
    EFFORT,
    Motion,
    POSITION,
    SentTrajectory,
    Trajectories,
    VELOCITY,
)
from transmission_bridge.bridge.options.options import COMMAND_TIMEOUT
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import MapReport
from transmission_bridge.types import Array, Index, Mask

#: Times of an absent command and of one that expires at once.
_NONE, _NOW = np.inf, -np.inf

#: Mask of the rows position and effort.
_NOT_VELOCITY = np.array([[True], [False], [True]])


class Ledger:
    """
    The last commands, their routes and expiry times, and the numbers that are still active.

    A new command replaces all modes of its joints. An entry is closed by :meth:`close_entries`
    after its end was sent, or by :meth:`reset`. The numbers of a trajectory do not exist before it
    has ended. Public arrays are read-only views; only methods change them. Times [s] are by the
    clock of the gate.

    :param facts: Names, members and timeouts, which tuning does not change.
    :ivar joints: Numbers of the joints that exist, rows position, velocity, effort, NaN: none,
        shape ``(3, n_joints)``.
    :ivar actuators: The same of the actuators, shape ``(3, n_actuators)``.
    :ivar array_numbers: Numbers of each actuator in the last plain arrays to its driver, zero:
        none or unknown, same shape.
    :ivar trajectories: Trajectories that were sent and have not ended.
    :ivar has_rejected: Whether the next step of a joint starts as measured after a rejection.
    :ivar counts: Counts of the commands of each route.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    """

    def __init__(self, facts: RobotFacts) -> None:
        self._names = facts.robot.joint_names
        self._reached = facts.robot.reached_actuators
        self._together = facts.together
        timeouts = np.array(facts.timeouts)
        self._timeouts: Array = np.where(timeouts > 0.0, timeouts, np.inf)
        self.report = MapReport()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget every command; the counts stay."""
        n_joints, n_actuators = self._reached.shape
        # Numbers that were told, NaN: none, and those of them that exist; the former have to end.
        self._of_joints: Array = np.full((2, len(FIELDS), n_joints), np.nan)
        self._of_actuators: Array = np.full((2, len(FIELDS), n_actuators), np.nan)
        self._told_joints: Array = self._of_joints[0]
        self._told_actuators: Array = self._of_actuators[0]
        self._joints, self._actuators = self._of_joints[1], self._of_actuators[1]
        # Numbers of the last plain arrays, see array_numbers.
        self._array: Array = np.zeros_like(self._actuators)
        views = [numbers.view() for numbers in (self._joints, self._actuators, self._array)]
        for view in views:
            view.flags.writeable = False
        self.joints, self.actuators, self.array_numbers = views
        self.trajectories = Trajectories(self._reached)
        # Joints with a next step that starts as measured, see compute_step_origins.
        self._was_rejected: Mask = np.zeros(n_joints, dtype=bool)
        self.has_rejected = False
        # The present spells, and the mask of the numbers that are unknown now, if any.
        self._spells: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self._unknown: Mask | None = None
        # Time of the last accepted command of each joint [s], from which its timeout counts.
        self._renewed: Array = np.full(n_joints, _NONE)
        self._keeps_effort: Mask = np.zeros(n_joints, dtype=bool)
        # The time at the last message [s].
        self._latest = -np.inf
        # Route of the last command to each joint; joints and route of the last command.
        self._routes = [''] * n_joints
        self._last_joints: Index | None = None
        self._last_route = ''

    # -- what is active --------------------------------------------------------------------------

    def mask_active_joints(self) -> Mask:
        """Return the mask of the numbers of joints that may have to end, ``(3, n_joints)``."""
        return ~np.isnan(self._told_joints)

    def mask_active_actuators(self) -> Mask:
        """Return the mask for actuators, without trajectories that have not started."""
        return ~np.isnan(self._told_actuators)

    def mask_last_numbers(self) -> Mask:
        """Return the mask for actuators, with all trajectories."""
        active = self.mask_active_actuators()
        for trajectory in self.trajectories.sent:
            active |= ~np.isnan(trajectory.actuator_command) & trajectory.actuators
        return active

    def list_final_numbers(self) -> Iterator[tuple[Array, Array]]:
        """Yield numbers of joints and actuators: those told, and those after each trajectory."""
        yield self._told_joints.copy(), self._told_actuators.copy()
        for trajectory in self.trajectories.sent:
            yield (
                np.where(trajectory.joints, trajectory.joint_command, self._told_joints),
                np.where(trajectory.actuators, trajectory.actuator_command, self._told_actuators),
            )

    def compute_step_origins(self, state: KnownState) -> Array:
        """
        Return the position of each joint from which its next step counts.

        It is the last commanded position that exists. Without one, after a rejection, and during a
        trajectory it is the measured position.
        """
        held = self._joints[POSITION]
        return np.where(np.isnan(held) | self._was_rejected, state.position, held)

    def compute_command_ages(self, now: float) -> Array:
        """
        Return the seconds since the last accepted command of each joint; infinite: none.

        A command to one joint of an underactuated group counts for all.
        """
        # Times of absent and expired commands are infinite, of either sign.
        ages: Array = np.abs(now - self._renewed)
        for joints in self._together:
            ages[joints] = ages[joints].min()
        return ages

    def mask_position_joints(self) -> Mask:
        """Return the joints that hold a position command or have a trajectory."""
        held: Mask = ~np.isnan(self._joints[POSITION])
        for trajectory in self.trajectories.sent:
            has_rates = trajectory.is_running & np.isnan(trajectory.joint_command[POSITION])
            held |= trajectory.joints & ~has_rates
        return held

    def mask_commanded_joints(self, now: float) -> Mask:
        """
        Return the mask of the joints that are commanded at a time [s].

        Their command is not older than their timeout (0.5 s if they have none), or they have an
        active velocity, keep an effort, or have a trajectory.
        """
        periods = np.where(np.isinf(self._timeouts), COMMAND_TIMEOUT, self._timeouts)
        commanded: Mask = (self._renewed != _NONE) & (now - self._renewed <= periods)
        commanded |= (np.nan_to_num(self._told_joints[VELOCITY]) != 0.0) | self._keeps_effort
        for trajectory in self.trajectories.sent:
            commanded |= trajectory.joints
        return commanded

    @property
    def kept_efforts(self) -> tuple[str, ...]:
        """Joints that keep their last effort after their timeout."""
        return tuple(self._names[joint] for joint in np.flatnonzero(self._keeps_effort))

    @property
    def endless_joints(self) -> tuple[str, ...]:
        """Joints without a timeout: their velocities never expire."""
        return tuple(self._names[joint] for joint in np.flatnonzero(np.isinf(self._timeouts)))

    # -- time and knowledge ----------------------------------------------------------------------

    def update_clock(self, state: KnownState) -> None:
        """
        Let time pass; the gate calls it first for each message and each look at timeouts.

        Every command ends if time went backwards; trajectories start and end. Numbers of spells
        that have ended do not exist any more.
        """
        if state.now < self._latest:
            # Drivers may still start trajectories of rates: they have to end.
            for trajectory in self.trajectories.take_waiting_rates():
                self._start_trajectory(trajectory)
            self._renewed[np.isfinite(self._renewed)] = _NOW
        self._latest = state.now
        if state.spells is not self._spells:
            is_over = state.spells != self._spells  # also NaN, which is no spell
            unknown = np.isnan(state.spells)
            self._spells, self._unknown = state.spells, unknown if unknown.any() else None
            self._lose_numbers(is_over)
        if self.trajectories.sent:
            self._advance_trajectories(state.now)

    def _lose_numbers(self, is_over: Mask) -> None:
        """Let numbers of actuators, and of the joints that they reach, not exist any more."""
        joints = (is_over[:, np.newaxis] & self._reached).any(axis=2)
        # A velocity of zero moves nothing and always exists.
        self._joints[joints & (_NOT_VELOCITY | (self._joints != 0.0))] = np.nan
        self._actuators[is_over & (_NOT_VELOCITY | (self._actuators != 0.0))] = np.nan
        self._array[EFFORT, is_over[EFFORT]] = 0.0

    def _write_numbers(self, numbers: Array, sent: Array, joints: Mask, actuators: Mask) -> None:
        """Write numbers that are told; they exist."""
        np.copyto(self._of_joints, numbers, where=joints)
        np.copyto(self._of_actuators, sent, where=actuators)

    def _advance_trajectories(self, now: float) -> None:
        for trajectory in self.trajectories.take_due(now):
            if not trajectory.is_running:
                self._start_trajectory(trajectory)
                self.trajectories.add_trajectory(replace(trajectory, is_running=True))
                continue
            self._write_last_numbers(trajectory)
            self._lose_numbers((trajectory.spells != self._spells) & trajectory.actuators)

    def _start_trajectory(self, trajectory: SentTrajectory) -> None:
        """Record that a driver has numbers of which only the last ones are known."""
        self._write_last_numbers(trajectory)
        self._joints[:, trajectory.joints] = self._actuators[:, trajectory.actuators] = np.nan
        self._array[VELOCITY, trajectory.actuators] = 0.0
        self._renewed[trajectory.joints] = _NONE
        self._renewed[trajectory.named] = trajectory.until

    def _write_last_numbers(self, trajectory: SentTrajectory) -> None:
        numbers = trajectory.joint_command, trajectory.actuator_command
        self._write_numbers(*numbers, trajectory.joints, trajectory.actuators)
        self._was_rejected &= ~trajectory.joints

    # -- new commands ----------------------------------------------------------------------------

    def record_command(self, motion: Motion, now: float) -> None:
        """Record a command that is about to be sent; it cancels trajectories of its joints."""
        pattern = motion.pattern
        if self.trajectories.sent:
            self.trajectories.cancel_joints(pattern.joints)
        self._write_numbers(motion.values, motion.sent, pattern.joints, pattern.actuators)
        if self.has_rejected:
            self._was_rejected[pattern.joints] = False
            self.has_rejected = bool(self._was_rejected.any())
        if self._unknown is not None:
            self._lose_numbers(self._unknown & pattern.actuators)
        self._renewed[pattern.indices] = now
        # Joints of underactuated groups follow the latest command, and lose their own.
        if pattern.following is not None:
            self._renewed[pattern.following] = _NONE
        self._keeps_effort[pattern.indices] = False
        # A controller's stream repeats the same pattern.
        if pattern.indices is not self._last_joints or motion.route != self._last_route:
            self._record_route(pattern.indices, motion.route)

    def record_trajectory(self, motion: Motion, now: float) -> None:
        """Record a trajectory that is about to be sent; it replaces commands when it starts."""
        trajectory = SentTrajectory.of_motion(motion, self._spells)
        self.trajectories.add_trajectory(trajectory)
        self._was_rejected &= ~trajectory.named
        self._keeps_effort &= ~trajectory.named
        self._record_route(motion.pattern.indices, motion.route)
        self._advance_trajectories(now)

    def record_sent_array(self, row: int, places: list[int], numbers: Array) -> None:
        """Record the numbers of a plain array in SI after it was sent."""
        self._array[VELOCITY, places] = 0.0
        self._array[row, places] = numbers

    def record_rejection(self, joints: Mask | Index) -> None:
        """Record that a command to joints was rejected: their next step starts as measured."""
        self._was_rejected[joints] = self.has_rejected = True
        for group in self._together:
            self._was_rejected[group] |= self._was_rejected[group].any()

    def count_changes(
        self, route: str, changes: set[tuple[str, str]], shares: Mapping[str, float] | None = None
    ) -> None:
        """
        Count what rules changed or rejected in a command.

        :param changes: Count of :class:`CommandCounts` and its key.
        :param shares: Remaining share of the effort of joints.
        """
        of_route = self.counts[route]
        for kind, key in changes:
            counts = getattr(of_route, kind)
            # Senders choose the names of unknown joints.
            if key in counts or len(counts) < MOST_UNKNOWN or '(unknown_joint)' not in key:
                counts[key] += 1
        of_route.shares.update(shares or {})

    def _record_route(self, joints: Index, route: str) -> None:
        self._last_joints, self._last_route = joints, route
        for joint in joints:
            if self._routes[joint] not in ('', route):
                self.counts[route].contested[self._names[joint]] += 1
            self._routes[joint] = route

    # -- ends ------------------------------------------------------------------------------------

    def mask_expired_joints(self, now: float) -> Mask:
        """Return the mask of the joints with an expired command, shape ``(n_joints,)``."""
        due: Mask = (now - self._renewed > self._timeouts) | (self._renewed == _NOW)
        return due

    def list_replaced_velocities(self) -> list[int]:
        """
        Return actuators with a velocity in the last array that other modes replaced.

        A driver that receives only arrays would keep them. A trajectory that started since then
        reached the driver, which holds its end.
        """
        kept = (self._array[VELOCITY] != 0.0) & np.isnan(self._told_actuators[VELOCITY])
        actuators: list[int] = np.flatnonzero(kept).tolist()
        return actuators

    def expire_rates(self, joints: Mask) -> None:
        """Let active velocities and efforts of joints expire at once."""
        active = joints & (self._renewed != _NONE)
        self._renewed[active & self.mask_active_joints()[VELOCITY:].any(axis=0)] = _NOW

    def close_entries(self, motion: Motion) -> None:
        """
        Close entries after their ends were sent; positions are held.

        Zeros of actuators close their numbers; others are those of partners.
        """
        ending, sent, due = motion.values, motion.sent, motion.due
        assert due is not None
        had_effort, is_sent = self.mask_active_joints()[EFFORT], ~np.isnan(sent)
        left = np.where(sent == 0.0, np.nan, sent)
        self._write_numbers(ending, left, ~np.isnan(ending), is_sent)
        self.trajectories.cancel_joints(due, is_running=True)
        if self._unknown is not None:
            self._lose_numbers(self._unknown & is_sent)
        self._keeps_effort |= due & had_effort & np.isnan(ending[EFFORT])
        self._renewed[due] = _NONE

    def replace_facts(self, before: RobotFacts, after: RobotFacts) -> None:
        """
        Keep the numbers that the drivers were sent, and hold joints at these positions.

        :param before: The robot that had these numbers.
        :param after: The robot to use, with the same joints and actuators.
        """

        def convert(joints: Array, actuators: Array) -> tuple[Array, Array]:
            sent = after.units.in_si(before.units.of_drivers(actuators))
            position = after.robot.actuator_to_joint('position', sent[POSITION])
            is_held = np.isfinite(joints[POSITION]) & np.isfinite(position)
            return np.vstack([np.where(is_held, position, joints[POSITION]), joints[1:]]), sent

        for joints, actuators in zip(self._of_joints, self._of_actuators, strict=True):
            joints[:], actuators[:] = convert(joints, actuators)
        self.trajectories.convert_numbers(convert)
        self._array[:] = after.units.in_si(before.units.of_drivers(self._array))
