# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``joint_trajectory`` to ``actuator_trajectory``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from transmission_bridge.bridge.driver_names import DriverNames
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.messages.trajectory import fill_trajectory, trajectory_from_message
from transmission_bridge.ros.inputs import Inputs
from transmission_bridge.ros.outputs import Outputs
from transmission_bridge.ros.qos import COMMAND_INPUT
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['TOPIC', 'Trajectories']

TOPIC = 'joint_trajectory'


class Trajectories:
    """
    The topics around a :class:`TrajectoryPath`.

    :param path: Maps them.
    :param joint_position: Gives the joints' positions at a time [s].
    :param ros_time: Gives the time that stamps are of.
    :param sent: Called with the actuators and where they end, empty where that is not told; by
        keyword, with the time of receipt and that of the end [s], ``now`` and ``until``.
    :param drivers: Divides what is sent among the drivers.
    """

    def __init__(
        self,
        inputs: Inputs,
        outputs: Outputs,
        path: TrajectoryPath,
        joint_position: Callable[[float], Array],
        ros_time: Callable[[], Stamp],
        sent: Callable[..., Any],
        drivers: DriverNames,
    ) -> None:
        self._path = path
        self._joint_position = joint_position
        self._ros_time = ros_time
        self._sent = sent
        self._drivers = drivers
        self._publishers = outputs.add_for_drivers(
            JointTrajectory, 'actuator_trajectory', drivers.namespaces
        )
        inputs.typed(JointTrajectory, TOPIC, COMMAND_INPUT, self._take)

    def _take(self, message: JointTrajectory, now: float) -> None:
        trajectory = trajectory_from_message(message)
        start = now + self._delay(trajectory.stamp)
        mapped = self._path.map(
            trajectory,
            self._joint_position(now),
            source=TOPIC,
            now=now,
            start=start,
        )
        for namespace, part in self._drivers.trajectories(mapped):
            answer = JointTrajectory()
            fill_trajectory(answer, part, JointTrajectoryPoint)
            self._publishers[namespace].publish(answer)
        self._sent(
            mapped.names, mapped.points[-1].positions, now=now, until=start + mapped.duration
        )

    def _delay(self, stamp: Stamp) -> float:
        """
        Return how long it is until a stamp [s]; a stamp of zero is now, and so is one gone by.

        A trajectory that began before this is over sooner than is believed here: until then its
        joints are held where they are measured, which is where it took them.
        """
        if stamp == (0, 0):
            return 0.0
        seconds, nanoseconds = self._ros_time()
        return max(0.0, (stamp[0] - seconds) + (stamp[1] - nanoseconds) * 1e-9)
