# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What was commanded last, to joints and to actuators, and what trajectories will command."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.arrivals import Arrivals
from transmission_bridge.bridge.command_shape import CommandShape
from transmission_bridge.bridge.trajectory_end import TrajectoryEnd
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['HeldCommands']

Mask = npt.NDArray[np.bool_]


class HeldCommands:
    """
    The memory of the command path; a new command replaces all modes of its joint.

    :param n_joints: Number of joints.
    :param n_actuators: Number of actuators.
    :ivar joints: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN where there is
        none. Of a joint that a trajectory moves it is where that leads.
    :ivar actuators: What was sent for these, shape ``(3, n_actuators)``.
    :ivar upcoming: Trajectories that are to start.
    """

    def __init__(self, n_joints: int, n_actuators: int) -> None:
        self.joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self.actuators: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self.upcoming: list[TrajectoryEnd] = []
        self._arrivals = Arrivals(n_joints)

    @property
    def positions(self) -> Mask:
        """Which joints hold a position command, or will by a trajectory, shape ``(n_joints,)``."""
        held: Mask = ~np.isnan(self.joints[0])
        for end in self.upcoming:
            held |= end.joints
        return held

    def at(self, now: float) -> Array:
        """
        Return the commands of joints, but for the positions they are still on their way to.

        Where such a joint is at a time is known to nobody but the driver.

        :param now: Time [s].
        :returns: As :attr:`joints`; not to be changed.
        """
        if not self._arrivals.are_there:
            return self.joints
        held: Array = self.joints.copy()
        held[0, self._arrivals.under_way(now)] = np.nan
        return held

    def replace(self, command: Array, sent: Array, shape: CommandShape) -> None:
        """
        Hold a command from now on; it counts instead of trajectories that are to start.

        :param command: Shape ``(3, n_joints)``; may be kept.
        :param sent: Shape ``(3, n_actuators)``; is copied.
        :param shape: Which joints and actuators it is for.
        """
        if self._arrivals.are_there:
            self._arrivals.cancel(shape.joints)
        if self.upcoming:
            self._call_off(shape.joints)
        if shape.is_full:
            self.joints, self.actuators[...] = command, sent
        else:
            np.copyto(self.joints, command, where=shape.joints)
            np.copyto(self.actuators, sent, where=shape.actuators)

    def await_start(self, end: TrajectoryEnd) -> None:
        """Take a trajectory that is to start instead of others for one of its joints."""
        self._call_off(end.joints)
        self.upcoming.append(end)

    def start_trajectories(self, now: float) -> list[TrajectoryEnd]:
        """Hold where trajectories lead whose start [s] has come, and return these."""
        started = [end for end in self.upcoming if end.start <= now]
        for end in started:
            self.upcoming.remove(end)
            self._adopt(end)
        return started

    def _call_off(self, joints: Mask) -> None:
        """Forget trajectories that are to start, where they are for one of these joints."""
        self.upcoming = [end for end in self.upcoming if not (end.joints & joints).any()]

    def _adopt(self, end: TrajectoryEnd) -> None:
        """Hold where a trajectory leads that starts now, once it is over."""
        self.joints[:, end.joints] = np.nan
        self.joints[0, end.joints] = end.joint_position[end.joints]
        self.actuators[:, end.actuators] = np.nan
        self.actuators[0, end.actuators] = end.actuator_position[end.actuators]
        self._arrivals.expect(end.joints, end.until)

    def forget(self, joints: Mask | npt.NDArray[np.intp]) -> None:
        """Hold no command of these joints; what was sent for them is still known."""
        self.joints[:, joints] = np.nan

    def forget_positions(self, *, rates: bool) -> None:
        """Hold no position of any joint, nor where it was to go, nor rates if asked."""
        self.joints[: len(FIELDS) if rates else 1] = np.nan
        self._arrivals.cancel_all()
        self.upcoming = []
