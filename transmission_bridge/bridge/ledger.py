# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The record of every joint's command and every actuator's message, and of their ends.

Memory ends with knowledge: a number that was sent exists while the spell in which it was sent
lasts (:class:`~.states.spells.Spells`). A number that does not exist is not repeated, held or
counted from, in any row and message. That its end is due outlives the number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transmission_bridge.bridge.inputs import CommandCounts
from transmission_bridge.bridge.motion import EFFORT, Motion, POSITION, VELOCITY
from transmission_bridge.bridge.options.options import COMMAND_TIMEOUT
from transmission_bridge.bridge.robot_plan import RobotPlan
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.bridge.trajectories import Trajectories, TrajectoryEnd
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
    has ended.

    :param plan: Names, members and timeouts, which tuning does not change.
    :ivar trajectories: Trajectories that were sent and have not ended.
    :ivar has_astray: Whether the next step of a joint starts as measured after a rejection.
    :ivar counts: Counts of the commands of each route.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    """

    def __init__(self, plan: RobotPlan) -> None:
        self._names = plan.robot.joint_names
        self._reached = plan.robot.reached_actuators
        self._together = plan.together
        timeouts = np.array(plan.timeouts)
        self._timeouts: Array = np.where(timeouts > 0.0, timeouts, np.inf)
        self.report = MapReport()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget every command; the counts stay."""
        n_joints, n_actuators = self._reached.shape
        # Numbers that were told, rows position, velocity, effort, NaN: none; and which are lost.
        self._joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self._actuators: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self._lost_joints: Mask = np.zeros(self._joints.shape, dtype=bool)
        self._lost: Mask = np.zeros(self._actuators.shape, dtype=bool)
        self._has_lost = False
        self.trajectories = Trajectories(self._reached)
        self._is_astray: Mask = np.zeros(n_joints, dtype=bool)
        self.has_astray = False
        # Numbers of each actuator in the last plain arrays to its driver, zero: none.
        self._array: Array = np.zeros((len(FIELDS), n_actuators))
        # The present spells, and the mask of the numbers that are unknown now, if any.
        self._spells: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self._unknown: Mask | None = None
        self._renewed: Array = np.full(n_joints, _NONE)
        self._keeps_effort: Mask = np.zeros(n_joints, dtype=bool)
        self._latest = -np.inf
        self._routes = [''] * n_joints
        self._last_joints: Index | None = None
        self._last_route = ''

    # -- what is active --------------------------------------------------------------------------

    @property
    def joints(self) -> Array:
        """Numbers of the joints that exist, rows position, velocity, effort, ``(3, n_joints)``."""
        return (
            np.where(self._lost_joints, np.nan, self._joints) if self._has_lost else self._joints
        )

    @property
    def actuators(self) -> Array:
        """The same of the actuators, shape ``(3, n_actuators)``."""
        return np.where(self._lost, np.nan, self._actuators) if self._has_lost else self._actuators

    @property
    def array_numbers(self) -> Array:
        """Numbers in the last plain arrays, zero: none or unknown, shape ``(3, n_actuators)``."""
        return self._array

    def mask_active_joints(self) -> Mask:
        """Return the mask of the numbers of joints that may have to end, ``(3, n_joints)``."""
        return ~np.isnan(self._joints)

    def mask_active_actuators(self) -> Mask:
        """Return the same of actuators, without trajectories that have not started."""
        return ~np.isnan(self._actuators)

    def mask_last_numbers(self) -> Mask:
        """Return the same of actuators, with all trajectories."""
        active = self.mask_active_actuators()
        for end in self.trajectories.ends:
            active |= ~np.isnan(end.actuator_command) & end.actuators
        return active

    def list_final_numbers(self) -> Iterator[tuple[Array, Array]]:
        """Yield numbers of joints and actuators: those told, and those after each trajectory."""
        yield self._joints.copy(), self._actuators.copy()
        for end in self.trajectories.ends:
            yield (
                np.where(end.joints, end.joint_command, self._joints),
                np.where(end.actuators, end.actuator_command, self._actuators),
            )

    def compute_step_origins(self, known: KnownState) -> Array:
        """
        Return the position of each joint from which its next step counts.

        It is the last commanded position that exists. Without one, after a rejection, and during a
        trajectory it is the measured position.
        """
        held = self.joints[POSITION]
        return np.where(np.isnan(held) | self._is_astray, known.position, held)

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

    def record_rejection(self, joints: Mask | Index) -> None:
        """Record that a command to joints was rejected: their next step starts as measured."""
        self._is_astray[joints] = self.has_astray = True
        for group in self._together:
            self._is_astray[group] |= self._is_astray[group].any()

    def mask_position_joints(self) -> Mask:
        """Return the joints that hold a position command or have a trajectory."""
        held: Mask = ~np.isnan(self.joints[POSITION])
        for end in self.trajectories.ends:
            held |= end.joints & ~(end.is_running & np.isnan(end.joint_command[POSITION]))
        return held

    def mask_commanded_joints(self, now: float) -> Mask:
        """
        Return the mask of the joints that are commanded at a time [s].

        Their command is not older than their timeout (0.5 s if they have none), or they have an
        active velocity, keep an effort, or have a trajectory.
        """
        periods = np.where(np.isinf(self._timeouts), COMMAND_TIMEOUT, self._timeouts)
        commanded: Mask = (self._renewed != _NONE) & (now - self._renewed <= periods)
        commanded |= (np.nan_to_num(self._joints[VELOCITY]) != 0.0) | self._keeps_effort
        for end in self.trajectories.ends:
            commanded |= end.joints
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

    def update_clock(self, known: KnownState) -> None:
        """
        Let time pass; call it first for each message.

        Every command ends if time went backwards; trajectories start and end. Numbers of spells
        that have ended do not exist any more.
        """
        if known.now < self._latest:
            # Drivers may still start trajectories of rates: they have to end.
            for end in self.trajectories.take_waiting_rates():
                self._start_trajectory(end)
            self._renewed[np.isfinite(self._renewed)] = _NOW
        self._latest = known.now
        if known.spells is not self._spells:
            is_over = known.spells != self._spells  # also NaN, which is no spell
            unknown = np.isnan(known.spells)
            self._spells, self._unknown = known.spells, unknown if unknown.any() else None
            self._lose_numbers(is_over)
        if self.trajectories.ends:
            self._advance_trajectories(known.now)

    def _lose_numbers(self, is_over: Mask) -> None:
        """Let numbers of actuators, and of the joints that they reach, not exist any more."""
        joints = (is_over[:, np.newaxis] & self._reached).any(axis=2)
        # A velocity of zero moves nothing and always exists.
        joints &= _NOT_VELOCITY | (self._joints != 0.0)
        self._mark_lost(joints, is_over & (_NOT_VELOCITY | (self._actuators != 0.0)))
        self._array[EFFORT, is_over[EFFORT]] = 0.0

    def _mark_lost(self, joints: Mask, actuators: Mask) -> None:
        self._lost_joints |= joints & ~np.isnan(self._joints)
        self._lost |= actuators & ~np.isnan(self._actuators)
        self._has_lost = bool(self._lost_joints.any() or self._lost.any())

    def _write_numbers(self, numbers: Array, sent: Array, joints: Mask, actuators: Mask) -> None:
        """Write numbers that are told; they exist, and steps count from them."""
        np.copyto(self._joints, numbers, where=joints)
        np.copyto(self._actuators, sent, where=actuators)
        if self._has_lost:
            np.copyto(self._lost_joints, False, where=joints)
            np.copyto(self._lost, False, where=actuators)
            self._mark_lost(self._lost_joints, self._lost)

    def _advance_trajectories(self, now: float) -> None:
        for end in self.trajectories.take_due(now):
            if not end.is_running:
                self._start_trajectory(end)
                self.trajectories.add_trajectory(replace(end, is_running=True))
                continue
            self._write_end(end)
            self._lose_numbers((end.spells != self._spells) & end.actuators)

    def _start_trajectory(self, end: TrajectoryEnd) -> None:
        """Record that a driver has numbers of which only the last ones are known."""
        self._write_end(end)
        self._mark_lost(end.joints, end.actuators)
        self._array[VELOCITY, end.actuators] = 0.0
        self._renewed[end.joints] = _NONE
        self._renewed[end.named] = end.until

    def _write_end(self, end: TrajectoryEnd) -> None:
        numbers = end.joint_command, end.actuator_command
        self._write_numbers(*numbers, end.joints, end.actuators)
        self._is_astray &= ~end.joints

    # -- new commands ----------------------------------------------------------------------------

    def record_command(self, motion: Motion, now: float) -> None:
        """Record a command that is about to be sent; it cancels trajectories of its joints."""
        pattern = motion.pattern
        if self.trajectories.ends:
            self.trajectories.cancel_joints(pattern.joints)
        self._write_numbers(motion.values, motion.sent, pattern.joints, pattern.actuators)
        if self.has_astray:
            self._is_astray[pattern.joints] = False
            self.has_astray = bool(self._is_astray.any())
        if self._unknown is not None:
            self._lose_numbers(self._unknown & pattern.actuators)
        self._renewed[pattern.given] = now
        # Joints of underactuated groups follow the latest command, and lose their own.
        if pattern.following is not None:
            self._renewed[pattern.following] = _NONE
        self._keeps_effort[pattern.given] = False
        # A controller's stream repeats the same pattern.
        if pattern.given is not self._last_joints or motion.route != self._last_route:
            self._record_route(pattern.given, motion.route)

    def record_trajectory(self, motion: Motion, now: float) -> None:
        """Record a trajectory that is about to be sent; it replaces commands when it starts."""
        end = TrajectoryEnd.of_motion(motion, self._spells)
        self.trajectories.add_trajectory(end)
        self._is_astray &= ~end.named
        self._keeps_effort &= ~end.named
        self._record_route(motion.pattern.given, motion.route)
        self._advance_trajectories(now)

    def record_array(self, row: int, places: list[int], numbers: Array) -> None:
        """Record the numbers of a plain array in SI after it was sent."""
        self._array[VELOCITY, places] = 0.0
        self._array[row, places] = numbers

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
        kept = (self._array[VELOCITY] != 0.0) & np.isnan(self._actuators[VELOCITY])
        found: list[int] = np.flatnonzero(kept).tolist()
        return found

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

    def replace_plan(self, before: RobotPlan, after: RobotPlan) -> None:
        """Keep the numbers that the drivers were sent, and hold joints at these positions."""
        places = [(self._joints, self._actuators)]
        places += [(end.joint_command, end.actuator_command) for end in self.trajectories.ends]
        for command, sent in places:
            sent[:] = after.units.in_si(before.units.of_drivers(sent))
            found = after.robot.actuator_to_joint('position', sent[POSITION])
            is_held = np.isfinite(command[POSITION]) & np.isfinite(found)
            np.copyto(command[POSITION], found, where=is_held)
        self._array = after.units.in_si(before.units.of_drivers(self._array))
