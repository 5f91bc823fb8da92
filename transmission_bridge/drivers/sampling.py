# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The active commands of a driver at a time: the last ones, and trajectories between waypoints.

The host of a driver is the only caller and writer, and holds its lock. Users rely on the rules by
which commands and trajectories replace each other, and on the interpolation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import TrajectoryRecord
from transmission_bridge.types import Array, Index, Mask


class SampledCommands:
    """
    The last command of each actuator, and the trajectories that replace it.

    A command replaces all numbers of its actuators, and takes them out of every trajectory. A
    trajectory takes its actuators at its start; until then they keep their command or trajectory.
    It cancels trajectories of its actuators that have not started.

    :param count: Number of actuators, ``n``.
    :param zero_effort: Whether efforts end at zero, as velocities do.
    :ivar rows: Rows position, velocity, effort, shape ``(3, n)``; NaN: none.
    """

    def __init__(self, count: int, zero_effort: bool) -> None:
        self.rows: Array = np.full((len(FIELDS), count), np.nan)
        self._zero_effort = zero_effort
        self._trajectories: list[_Trajectory] = []

    def set_commands(self, rows: Array, actuators: Any) -> None:
        """Command ``actuators``; a column of NaN changes nothing."""
        chosen = np.arange(self.rows.shape[1])[actuators]
        given = ~np.isnan(rows).all(axis=0)
        self.rows[:, chosen[given]] = rows[:, given]
        self._take_out(chosen[given], self._trajectories)

    def add_trajectory(
        self, record: TrajectoryRecord, actuators: list[int], start: float, now: float
    ) -> bool:
        """Execute a trajectory; return whether one of its waypoints is still in the future."""
        trajectory = _Trajectory(record, np.array(actuators, dtype=np.intp), start)
        if not len(trajectory.times) or start + trajectory.times[-1] < now:
            return False
        self._take_out(trajectory.actuators, [x for x in self._trajectories if x.start > now])
        self._trajectories.append(trajectory)
        return True

    def sample(self, now: float, measured: Array) -> None:
        """
        Compute :attr:`rows` at a time.

        :param measured: Positions and velocities from which trajectories start, shape ``(2, n)``;
            NaN: unknown. An actuator in an unknown position does not follow a trajectory.
        """
        for number, trajectory in enumerate(self._trajectories):
            if trajectory.start <= now:
                if not trajectory.is_running:
                    trajectory.start_from(measured, now)
                    self._take_out(trajectory.actuators, self._trajectories[:number])
                self.rows[:, trajectory.actuators] = trajectory.sample(now)
        self._trajectories = [
            trajectory
            for trajectory in self._trajectories
            if len(trajectory.actuators) and trajectory.start + trajectory.times[-1] > now
        ]

    def end_rates(self) -> bool:
        """
        Set velocities to zero, and efforts with ``zero_effort``; end trajectories at once.

        :returns: Whether a rate was not zero.
        """
        self._trajectories = []
        rates = self.rows[1 : 3 if self._zero_effort else 2]
        ended = bool(np.nan_to_num(rates).any())
        rates[~np.isnan(rates)] = 0.0
        return ended

    def forget(self, actuators: Mask) -> Mask:
        """
        Forget positions and efforts; a velocity becomes zero, and so does an effort if it ends.

        :returns: The actuators that had a command other than zero rates.
        """
        position, velocity, effort = self.rows
        positioned = ~np.isnan(position)
        has_rate = (np.nan_to_num(velocity) != 0.0) | (np.nan_to_num(effort) != 0.0)
        lost: Mask = actuators & (positioned | has_rate)
        for trajectory in self._trajectories:
            lost[trajectory.actuators] |= actuators[trajectory.actuators]
        ends = np.array([~positioned & ~np.isnan(row) for row in self.rows]) & actuators
        ends[2] &= self._zero_effort
        self.rows[:, actuators] = np.nan
        self.rows[ends] = 0.0
        self._take_out(np.flatnonzero(actuators), self._trajectories)
        return lost

    @staticmethod
    def _take_out(actuators: Index, trajectories: list[_Trajectory]) -> None:
        for trajectory in trajectories:
            trajectory.select(~np.isin(trajectory.actuators, actuators))


class _Trajectory:
    """
    Waypoints of some actuators: cubic between two velocities, otherwise linear.

    Without positions the velocities are linear. Accelerations and efforts are not used.

    :ivar actuators: Indices in the hardware; commands and other trajectories take them out.
    :ivar times: Of the waypoints, after ``start`` [s].
    :ivar is_running: Whether :meth:`start_from` was called, which precedes :meth:`sample`.
    """

    def __init__(self, record: TrajectoryRecord, actuators: Index, start: float) -> None:
        self.actuators, self.start, self.is_running = actuators, start, False
        points = [point for point in record.points if len(point.positions)] or [
            point for point in record.points if len(point.velocities)
        ]
        none = np.full(len(actuators), np.nan)
        self.times: Array = np.array([point.time[0] + point.time[1] * 1e-9 for point in points])
        # Rows position and velocity of each waypoint.
        self._knots: Array = np.array(
            [
                [point.positions if len(point.positions) else none for point in points],
                [point.velocities if len(point.velocities) else none for point in points],
            ]
        )

    def select(self, kept: Mask) -> None:
        """Keep only these of its actuators."""
        self.actuators, self._knots = self.actuators[kept], self._knots[..., kept]

    def start_from(self, measured: Array, now: float) -> None:
        """Begin at the measured state, and leave out waypoints of the past."""
        self.is_running = True
        first = measured[:, self.actuators]
        first[1] = np.nan_to_num(first[1])
        if np.isnan(self._knots[0]).any():
            first[0] = np.nan
        else:  # from an unknown position the first waypoint could be far
            self.select(~np.isnan(first[0]))
            first = first[:, ~np.isnan(first[0])]
        elapsed = now - self.start
        ahead = self.times > elapsed
        ahead[-1] = True
        self.times = np.concatenate([[elapsed], np.maximum(self.times[ahead], elapsed)])
        self._knots = np.concatenate([first[:, np.newaxis], self._knots[:, ahead]], axis=1)

    def sample(self, now: float) -> Array:
        """Return rows position, velocity, effort, shape ``(3, k)``."""
        t, rows = now - self.start, np.full((len(FIELDS), len(self.actuators)), np.nan)
        if t >= self.times[-1]:
            rows[:2] = self._knots[:, -1]
            rows[1, ~np.isnan(rows[0])] = np.nan  # it holds
            return rows
        k = int(np.searchsorted(self.times, t, side='right'))
        h = self.times[k] - self.times[k - 1]
        s = (t - self.times[k - 1]) / h
        (x0, x1), (v0, v1) = self._knots[:, k - 1 : k + 1]
        if np.isnan(self._knots[0]).any():
            rows[1] = v0 + s * (v1 - v0)
            return rows
        d = x1 - x0
        is_cubic = ~np.isnan(v0) & ~np.isnan(v1)
        w0, w1 = np.where(is_cubic, v0 * h, d), np.where(is_cubic, v1 * h, d)
        a, b = 3 * d - 2 * w0 - w1, w0 + w1 - 2 * d
        rows[0] = x0 + s * (w0 + s * (a + s * b))
        rows[1] = (w0 + s * (2 * a + 3 * s * b)) / h
        return rows
