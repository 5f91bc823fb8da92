# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The record of what every joint was commanded and every actuator was sent, and until when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from transmission_bridge.bridge.command_plan import CommandPattern
from transmission_bridge.bridge.inputs import CommandCounts
from transmission_bridge.bridge.options import COMMAND_TIMEOUT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Index, Mask

_POSITION, _VELOCITY, _EFFORT = range(len(FIELDS))

#: Time of a command that does not exist, and of one that ends at once.
_NONE, _NOW = np.inf, -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryEnd:
    """
    The commands that a trajectory leaves behind.

    :param named: The joints that it names, shape ``(n_joints,)``.
    :param joints: These and the coupled ones that hold meanwhile: it ends their former commands.
    :param joint_command: Rows position, velocity, effort after the last waypoint, shape ``(3,
        n_joints)``; NaN: none. A trajectory that ends with positions leaves only these.
    :param actuators: The actuators that move them, shape ``(n_actuators,)``.
    :param actuator_command: Rows of the actuators, shape ``(3, n_actuators)``.
    :param start: When it starts [s]; former commands hold until then.
    :param until: When it ends [s].
    """

    named: Mask
    joints: Mask
    joint_command: Array
    actuators: Mask
    actuator_command: Array
    start: float
    until: float


class Ledger:
    """
    What was commanded last, by which route, until when, and what of it is still active.

    A new command replaces all modes of its joints. An entry is closed by :meth:`close`, after its
    end was sent, or by :meth:`reset`.

    :param robot: Gives joints and actuators.
    :param timeouts: Seconds after which the command of each joint ends; 0: never.
    :ivar joints: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN: none. A velocity
        that has ended is zero. For a joint that executes a trajectory, the commands at its end.
    :ivar actuators: What was sent and is still active, shape ``(3, n_actuators)``.
    :ivar last_effort: The effort that each actuator was sent last, zero if it has ended.
    :ivar upcoming: Trajectories that were sent and have not started.
    :ivar counts: Counts of the commands of each route.
    """

    def __init__(self, robot: RobotTransmissions, timeouts: Sequence[float]) -> None:
        self._names = robot.joint_names
        self._n_actuators = len(robot.actuator_names)
        given = np.asarray(timeouts, dtype=float)
        self._timeouts: Array = np.where(given > 0.0, given, np.inf)
        #: Members stay when numbers change.
        self._robot = robot
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget every command; the counts stay."""
        n_joints = len(self._names)
        self.joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self.actuators: Array = np.full((len(FIELDS), self._n_actuators), np.nan)
        self.last_effort: Array = np.zeros(self._n_actuators)
        self.upcoming: list[TrajectoryEnd] = []
        self._is_astray: Mask = np.zeros(n_joints, dtype=bool)
        self._has_astray = False
        self._renewed: Array = np.full(n_joints, _NONE)
        self._arrival: Array = np.full(self._n_actuators, -np.inf)
        self._has_trajectories = False
        self._keeps_effort: Mask = np.zeros(n_joints, dtype=bool)
        self._has_kept = False
        self._latest = -np.inf
        self._routes = [''] * n_joints
        self._last_joints: Index | None = None
        self._last_route = ''

    # -- what is active --------------------------------------------------------------------------

    def under_way(self, now: float) -> Mask:
        """Return the actuators that execute a trajectory at a time [s]."""
        under_way: Mask = self._arrival > now
        return under_way

    def held(self, now: float) -> Array:
        """
        Return the joint commands without those of joints that execute a trajectory.

        Only the driver knows where such a joint is meant to be. Must not be changed.
        """
        if not self._has_trajectories:
            return self.joints
        moving = self._robot.joints_of(self.under_way(now))
        return np.where(moving, np.nan, self.joints)

    def step_origin(self, known: Array, now: float) -> Array:
        """
        Return where the next position command of each joint starts.

        That is where the last one ended; if there is none, after a rejection, and during a
        trajectory where the joint is measured.

        :param known: Joint positions, shape ``(n_joints,)``, NaN: unknown.
        """
        held = self.held(now)[_POSITION]
        is_measured = np.isnan(held)
        if self._has_astray:
            is_measured |= self._is_astray
        return np.where(is_measured, known, held)

    def time_since(self, now: float) -> Array:
        """Return the seconds since the last accepted command of each joint; infinite: none."""
        # Those that are over have a time of infinity, in either sense.
        return np.abs(now - self._renewed)

    def note_rejection(self, joints: Mask | Index) -> None:
        """Note that a command to joints was rejected, so that they are not where it led."""
        self._is_astray[joints] = self._has_astray = True

    def position_joints(self) -> Mask:
        """Return the joints that hold a position command or have a trajectory."""
        held: Mask = ~np.isnan(self.joints[_POSITION])
        for end in self.upcoming:
            held |= end.joints
        return held

    def commanded_joints(self, now: float) -> Mask:
        """
        Return the joints that are commanded at a time [s].

        Their command is not older than their timeout (0.5 s if they have none), or they have an
        active velocity or a trajectory.
        """
        periods = np.where(np.isinf(self._timeouts), COMMAND_TIMEOUT, self._timeouts)
        commanded: Mask = (self._renewed != _NONE) & (now - self._renewed <= periods)
        commanded |= np.nan_to_num(self.joints[_VELOCITY]) != 0.0
        for end in self.upcoming:
            commanded |= end.joints
        return commanded

    @property
    def kept_efforts(self) -> tuple[str, ...]:
        """Joints that keep their last effort though their timeout is over."""
        return tuple(self._names[joint] for joint in np.flatnonzero(self._keeps_effort))

    @property
    def endless(self) -> tuple[str, ...]:
        """Joints without a timeout: their velocities never end by themselves."""
        return tuple(self._names[joint] for joint in np.flatnonzero(np.isinf(self._timeouts)))

    # -- new commands ----------------------------------------------------------------------------

    def update_clock(self, now: float) -> None:
        """End every command if time [s] went backwards, and start trajectories that are due."""
        if now < self._latest:
            # Drivers may start trajectories of rates nevertheless: they have to end.
            for end in self.upcoming:
                if not np.isnan(end.joint_command[_VELOCITY]).all():
                    self._start_trajectory(end)
            self.upcoming = []
            self._renewed[np.isfinite(self._renewed)] = _NOW
            self.forget_positions(slice(None), slice(None))
        self._latest = now
        if self.upcoming:
            self._start_trajectories(now)

    def record(
        self, command: Array, sent: Array, pattern: CommandPattern, route: str, now: float
    ) -> None:
        """
        Record a command that is about to be sent; it cancels trajectories of its joints.

        :param command: Shape ``(3, n_joints)``; may be kept.
        :param sent: Shape ``(3, n_actuators)``; is copied.
        :param pattern: Which joints and actuators it is for.
        """
        if self._has_trajectories:
            self._arrival[pattern.actuators] = -np.inf
            self._cancel_upcoming(pattern.joints)
        np.copyto(self.joints, command, where=pattern.joints)
        np.copyto(self.actuators, sent, where=pattern.actuators)
        self._renewed[pattern.given] = now
        # Joints that fewer actuators drive follow the newest command, whoever had one before.
        if pattern.following is not None:
            self._renewed[pattern.following] = _NONE
        if self._has_kept:
            self._keeps_effort[pattern.given] = False
        if self._has_astray:
            self._is_astray[pattern.given] = False
            self._has_astray = bool(self._is_astray.any())
        self._record_route(pattern.given, route)

    def record_trajectory(self, end: TrajectoryEnd, route: str, now: float) -> None:
        """Record a trajectory that is about to be sent; it replaces commands when it starts."""
        self._has_trajectories = True
        self._cancel_upcoming(end.joints)
        self.upcoming.append(end)
        self._is_astray &= ~end.named
        self._keeps_effort &= ~end.named
        self._record_route(np.flatnonzero(end.named), route)
        self._start_trajectories(now)

    def _start_trajectories(self, now: float) -> None:
        for end in [each for each in self.upcoming if each.start <= now]:
            self.upcoming.remove(end)
            self._start_trajectory(end)

    def _start_trajectory(self, end: TrajectoryEnd) -> None:
        np.copyto(self.joints, end.joint_command, where=end.joints)
        np.copyto(self.actuators, end.actuator_command, where=end.actuators)
        self._arrival[end.actuators] = end.until
        self._renewed[end.joints] = _NONE
        self._renewed[end.named] = end.until

    def _cancel_upcoming(self, joints: Mask) -> None:
        """Leave trajectories that have not started to the other joints."""
        upcoming = []
        for end in self.upcoming:
            kept = end.joints & ~joints
            actuators = end.actuators & self._robot.actuators_of(kept)
            if kept.any():
                named = end.named & kept
                upcoming.append(replace(end, named=named, joints=kept, actuators=actuators))
        self.upcoming = upcoming

    def _record_route(self, joints: Index, route: str) -> None:
        # The same array again, as in a controller's stream, has nothing new.
        if joints is self._last_joints and route == self._last_route:
            return
        self._last_joints, self._last_route = joints, route
        for joint in joints:
            if self._routes[joint] not in ('', route):
                self.counts[route].contested[self._names[joint]] += 1
            self._routes[joint] = route

    def note_efforts(self, sent: Array) -> None:
        """Note the efforts that were sent, shape ``(n_actuators,)``, for arrays."""
        np.copyto(self.last_effort, sent, where=~np.isnan(sent))

    # -- ends ------------------------------------------------------------------------------------

    def due_joints(self, now: float) -> Mask:
        """Return the joints whose command has expired, shape ``(n_joints,)``."""
        due: Mask = (now - self._renewed > self._timeouts) | (self._renewed == _NOW)
        return due

    def cancel(self, joints: Mask) -> None:
        """Let active velocities and efforts of joints expire at once, whatever their timeout."""
        active = joints & (self._renewed != _NONE)
        self._renewed[active & ~np.isnan(self.joints[_VELOCITY:]).all(axis=0)] = _NOW

    def close(self, joints: Mask, ending: Array, sent: Array) -> None:
        """
        Close entries after their ends were sent.

        :param joints: Joints whose commands have ended; a position stays held.
        :param ending: Rows that were sent, zero or the command of a partner, shape ``(3,
            n_joints)``; NaN: none.
        :param sent: The same of the actuators; an entry that was sent zero is closed.
        """
        np.copyto(self.joints, ending, where=~np.isnan(ending))
        np.copyto(self.actuators, np.where(sent == 0.0, np.nan, sent), where=~np.isnan(sent))
        self._keeps_effort |= joints & ~np.isnan(self.joints[_EFFORT]) & np.isnan(ending[_EFFORT])
        self._has_kept = bool(self._keeps_effort.any())
        self._renewed[joints] = _NONE

    def forget_positions(self, joints: Mask | slice, actuators: Mask | slice) -> None:
        """Forget positions and trajectories, for example because somebody may have moved it."""
        self.joints[_POSITION, joints] = np.nan
        self.actuators[_POSITION, actuators] = np.nan
        self._arrival[actuators] = -np.inf
        for end in self.upcoming:
            end.joint_command[_POSITION, joints] = np.nan
            end.actuator_command[_POSITION, actuators] = np.nan

    def keep_actuators(self, robot: RobotTransmissions) -> None:
        """Hold joints at the positions that their actuators have by new maps."""
        places = [(self.joints, self.actuators)]
        places += [(end.joint_command, end.actuator_command) for end in self.upcoming]
        for command, sent in places:
            found = robot.actuator_to_joint('position', sent[_POSITION])
            is_held = np.isfinite(command[_POSITION]) & np.isfinite(found)
            np.copyto(command[_POSITION], found, where=is_held)
