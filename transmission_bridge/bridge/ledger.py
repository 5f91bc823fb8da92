# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The record of every joint's command and every actuator's message, and of their ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from transmission_bridge.bridge.inputs import CommandCounts
from transmission_bridge.bridge.motion import ACCELERATION, EFFORT, Motion, POSITION, VELOCITY
from transmission_bridge.bridge.options.options import COMMAND_TIMEOUT
from transmission_bridge.bridge.robot_plan import RobotPlan
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import MapReport
from transmission_bridge.types import Array, Index, Mask

#: Times of an absent command and of one that expires at once.
_NONE, _NOW = np.inf, -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryEnd:
    """
    The commands that are active after a trajectory.

    :param named: Mask of the joints that it names, shape ``(n_joints,)``.
    :param joints: Mask of these and the coupled joints that hold; it ends their commands.
    :param actuators: Mask of the actuators that move them, shape ``(n_actuators,)``.
    :param joint_command: Rows position, velocity, effort after the last waypoint, shape ``(3,
        n_joints)``; NaN: none. If it ends with positions, the other rows are NaN.
    :param actuator_command: Rows of the actuators, shape ``(3, n_actuators)``.
    :param start: Start time [s]; former commands hold until then.
    :param until: End time [s].
    """

    named: Mask
    joints: Mask
    actuators: Mask
    joint_command: Array
    actuator_command: Array
    start: float
    until: float


class Ledger:
    """
    The last commands, their routes and expiry times, and the numbers that are still active.

    A new command replaces all modes of its joints. An entry is closed by :meth:`close_entries`
    after its end was sent, or by :meth:`reset`.

    :param plan: Names, members and timeouts, which tuning does not change.
    :ivar joints: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN: none. An expired
        velocity is zero. For a joint that executes a trajectory, the command at its end.
    :ivar actuators: Active numbers, shape ``(3, n_actuators)``, NaN: none.
    :ivar last_effort: Last effort sent to each actuator, zero if it has ended; for plain arrays.
    :ivar upcoming: Trajectories that were sent and have not started.
    :ivar on_trajectory: Mask of the actuators with a trajectory that started after the last plain
        array to their driver.
    :ivar has_trajectories: Whether a trajectory was sent.
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
        self.joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self.actuators: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self.last_effort: Array = np.zeros(n_actuators)
        self.upcoming: list[TrajectoryEnd] = []
        self._is_astray: Mask = np.zeros(n_joints, dtype=bool)
        self.has_astray = False
        self._renewed: Array = np.full(n_joints, _NONE)
        self._arrival: Array = np.full(n_actuators, -np.inf)
        self.on_trajectory: Mask = np.zeros(n_actuators, dtype=bool)
        self.has_trajectories = False
        self._keeps_effort: Mask = np.zeros(n_joints, dtype=bool)
        self._latest = -np.inf
        self._routes = [''] * n_joints
        self._last_joints: Index | None = None
        self._last_route = ''

    # -- what is active --------------------------------------------------------------------------

    def mask_moving_actuators(self, now: float) -> Mask:
        """Return the mask of the actuators that execute a trajectory at a time [s]."""
        return self._arrival > now

    def read_held_commands(self, now: float) -> Array:
        """
        Return the joint commands, NaN for joints that execute a trajectory.

        Only the driver knows the target of such a joint. The result must not be changed.
        """
        if not self.has_trajectories:
            return self.joints
        moving = self._reached[:, self.mask_moving_actuators(now)].any(axis=1)
        return np.where(moving, np.nan, self.joints)

    def compute_step_origins(self, known: KnownState) -> Array:
        """
        Return the position of each joint before its next position command.

        It is the last commanded position. Without one, after a rejection, and during a trajectory
        it is the measured position.
        """
        held = self.read_held_commands(known.now)[POSITION]
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
        for end in self.upcoming:
            held |= end.joints
        return held

    def mask_commanded_joints(self, now: float) -> Mask:
        """
        Return the mask of the joints that are commanded at a time [s].

        Their command is not older than their timeout (0.5 s if they have none), or they have an
        active velocity or a trajectory.
        """
        periods = np.where(np.isinf(self._timeouts), COMMAND_TIMEOUT, self._timeouts)
        commanded: Mask = (self._renewed != _NONE) & (now - self._renewed <= periods)
        commanded |= np.nan_to_num(self.joints[VELOCITY]) != 0.0
        for end in self.upcoming:
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

    # -- new commands ----------------------------------------------------------------------------

    def update_clock(self, known: KnownState) -> None:
        """
        Let time pass; call it first for each message.

        Every command ends if time went backwards, and trajectories that are due start. Positions
        are forgotten if their driver was silent.
        """
        if known.now < self._latest:
            # Drivers may still start trajectories of rates: they have to end.
            for end in self.upcoming:
                if not np.isnan(end.joint_command[VELOCITY]).all():
                    self._start_trajectory(end)
            self.upcoming = []
            self._renewed[np.isfinite(self._renewed)] = _NOW
            self._forget_positions(slice(None), slice(None))
        self._latest = known.now
        if self.upcoming:
            self._start_trajectories(known.now)
        if known.returned is not None:
            joints = self._reached[:, known.returned].any(axis=1)
            self._forget_positions(joints, known.returned)

    def record_command(self, motion: Motion, now: float) -> None:
        """Record a command that is about to be sent; it cancels trajectories of its joints."""
        pattern = motion.pattern
        if self.has_trajectories:
            self._arrival[pattern.actuators] = -np.inf
            self._cancel_upcoming(pattern.joints)
        np.copyto(self.joints, motion.values, where=pattern.joints)
        np.copyto(self.actuators, motion.sent, where=pattern.actuators)
        self._renewed[pattern.given] = now
        # Joints of underactuated groups follow the latest command, and lose their own.
        if pattern.following is not None:
            self._renewed[pattern.following] = _NONE
        self._keeps_effort[pattern.given] = False
        if self.has_astray:
            self._is_astray[pattern.moved] = False
            self.has_astray = bool(self._is_astray.any())
        # A controller's stream repeats the same pattern.
        if pattern.given is not self._last_joints or motion.route != self._last_route:
            self._record_route(pattern.given, motion.route)

    def record_trajectory(self, motion: Motion, now: float) -> None:
        """Record a trajectory that is about to be sent; it replaces commands when it starts."""
        assert motion.trajectory is not None
        pattern, (record, given, start) = motion.pattern, motion.trajectory
        joint_command = _compute_final_command(motion.values, given)
        actuator_command = _compute_final_command(motion.sent, given)
        masks, until = (pattern.named, pattern.joints, pattern.actuators), start + record.duration
        end = TrajectoryEnd(*masks, joint_command, actuator_command, start, until)
        self.has_trajectories = True
        self._cancel_upcoming(end.joints)
        self.upcoming.append(end)
        self._is_astray &= ~end.named
        self._keeps_effort &= ~end.named
        self._record_route(pattern.given, motion.route)
        self._start_trajectories(now)

    def record_efforts(self, motion: Motion) -> None:
        """Record the efforts of a command or an end after they were sent."""
        efforts = motion.sent[EFFORT]
        np.copyto(self.last_effort, efforts, where=~np.isnan(efforts))

    def _start_trajectories(self, now: float) -> None:
        for end in [each for each in self.upcoming if each.start <= now]:
            self.upcoming.remove(end)
            self._start_trajectory(end)

    def _start_trajectory(self, end: TrajectoryEnd) -> None:
        np.copyto(self.joints, end.joint_command, where=end.joints)
        np.copyto(self.actuators, end.actuator_command, where=end.actuators)
        self._arrival[end.actuators] = end.until
        self.on_trajectory |= end.actuators
        self._renewed[end.joints] = _NONE
        self._renewed[end.named] = end.until

    def _cancel_upcoming(self, joints: Mask) -> None:
        """Remove joints from the trajectories that have not started."""
        upcoming = []
        for end in self.upcoming:
            kept = end.joints & ~joints
            actuators = end.actuators & self._reached[kept].any(axis=0)
            if kept.any():
                named = end.named & kept
                upcoming.append(replace(end, named=named, joints=kept, actuators=actuators))
        self.upcoming = upcoming

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

    def expire_rates(self, joints: Mask) -> None:
        """Let active velocities and efforts of joints expire at once."""
        active = joints & (self._renewed != _NONE)
        self._renewed[active & ~np.isnan(self.joints[VELOCITY:]).all(axis=0)] = _NOW

    def close_entries(self, motion: Motion) -> None:
        """
        Close entries after their ends were sent; positions are held.

        Zeros of actuators close their numbers; others are those of partners.
        """
        ending, sent = motion.values, motion.sent
        np.copyto(self.joints, ending, where=~np.isnan(ending))
        np.copyto(self.actuators, np.where(sent == 0.0, np.nan, sent), where=~np.isnan(sent))
        assert motion.due is not None
        self._keeps_effort |= (
            motion.due & ~np.isnan(self.joints[EFFORT]) & np.isnan(ending[EFFORT])
        )
        self._renewed[motion.due] = _NONE

    def _forget_positions(self, joints: Mask | slice, actuators: Mask | slice) -> None:
        """Forget positions and trajectories, for example after a driver was silent."""
        self.joints[POSITION, joints] = np.nan
        self.actuators[POSITION, actuators] = np.nan
        self._arrival[actuators] = -np.inf
        for end in self.upcoming:
            end.joint_command[POSITION, joints] = np.nan
            end.actuator_command[POSITION, actuators] = np.nan

    def replace_plan(self, before: RobotPlan, after: RobotPlan) -> None:
        """Keep the numbers that the drivers were sent, and hold joints at these positions."""
        places = [(self.joints, self.actuators)]
        places += [(end.joint_command, end.actuator_command) for end in self.upcoming]
        for command, sent in places:
            sent[:] = after.units.in_si(before.units.of_drivers(sent))
            found = after.robot.actuator_to_joint('position', sent[POSITION])
            is_held = np.isfinite(command[POSITION]) & np.isfinite(found)
            np.copyto(command[POSITION], found, where=is_held)
        efforts = before.units.of_drivers(self.last_effort, EFFORT)
        self.last_effort = after.units.in_si(efforts, EFFORT)


def _compute_final_command(values: Array, given: Mask) -> Array:
    """Return the command after a trajectory: its last positions, or rates without positions."""
    last = values[: len(FIELDS), -1].copy()
    if given[POSITION, -1]:
        last[VELOCITY:] = np.nan
    elif not given[VELOCITY, -1]:
        # Accelerations alone lead to an unknown velocity that has to end.
        last[VELOCITY] = np.where(np.isnan(values[ACCELERATION, -1]), np.nan, 0.0)
    return last
