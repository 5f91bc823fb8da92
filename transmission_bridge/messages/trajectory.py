# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A trajectory_msgs/JointTrajectory as plain data, to and from the typed message.

Typed messages are duck-typed (``header``, ``joint_names``, ``points``); no message package is
imported. Values are not checked, and times stay integers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from transmission_bridge.types import Array

#: The arrays of a waypoint.
POINT_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


@dataclass(frozen=True, eq=False)
class Waypoint:
    """
    One point of a trajectory; an omitted array is empty. Arrays are one-dimensional.

    :param time: Time from the start: seconds and nanoseconds.
    :param positions: Positions [rad or m].
    :param velocities: Velocities [rad/s or m/s].
    :param accelerations: Accelerations [rad/s^2 or m/s^2].
    :param effort: Efforts [N m or N].
    """

    time: tuple[int, int]
    positions: Array
    velocities: Array
    accelerations: Array
    effort: Array


@dataclass(frozen=True, eq=False)
class TrajectoryRecord:
    """
    One JointTrajectory.

    :param stamp: Seconds and nanoseconds of the header; zero: start now.
    :param frame_id: Frame of the header.
    :param names: Names of joints or actuators.
    :param points: The waypoints.
    """

    stamp: tuple[int, int]
    frame_id: str
    names: tuple[str, ...]
    points: tuple[Waypoint, ...]

    @property
    def duration(self) -> float:
        """Time from the start to the last waypoint [s]; a waypoint is required."""
        seconds, nanoseconds = self.points[-1].time
        return seconds + nanoseconds * 1e-9


def trajectory_from_message(message: Any) -> TrajectoryRecord:
    """
    Return the record of a typed message; the arrays are copies.

    :param message: A trajectory_msgs/JointTrajectory or anything with its attributes.
    """
    stamp = message.header.stamp
    return TrajectoryRecord(
        (stamp.sec, stamp.nanosec),
        message.header.frame_id,
        tuple(message.joint_names),
        tuple(
            Waypoint(
                (point.time_from_start.sec, point.time_from_start.nanosec),
                *(np.array(getattr(point, field), dtype=np.float64) for field in POINT_FIELDS),
            )
            for point in message.points
        ),
    )


def fill_trajectory(message: Any, record: TrajectoryRecord, make_point: Callable[[], Any]) -> None:
    """
    Write every field of a record into a typed message.

    :param message: A trajectory_msgs/JointTrajectory or anything with its attributes; changed in
        place.
    :param record: The record; its arrays are copied.
    :param make_point: Makes an empty trajectory_msgs/JointTrajectoryPoint.
    """
    header = message.header
    header.stamp.sec, header.stamp.nanosec = record.stamp
    header.frame_id = record.frame_id
    message.joint_names = list(record.names)
    points = []
    for waypoint in record.points:
        point = make_point()
        point.time_from_start.sec, point.time_from_start.nanosec = waypoint.time
        for field in POINT_FIELDS:
            # rclpy accepts an array.array unchanged, but checks every element of a list.
            setattr(point, field, array('d', getattr(waypoint, field).tobytes()))
        points.append(point)
    message.points = points
