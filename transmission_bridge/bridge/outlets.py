# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The messages to the drivers, from the numbers of actuators in SI.

A plan makes them once for each pattern, and the gate calls them for each message, in one thread.
Drivers rely on topics, names, units and NaN. A template of bytes is the only memory of an outlet.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits, Recipient
from transmission_bridge.bridge.inputs import as_slice, Stamp
from transmission_bridge.bridge.motion import ACCELERATION, EFFORT, Motion, POSITION, VELOCITY
from transmission_bridge.messages import JointStateWriter, TrajectoryRecord, Waypoint
from transmission_bridge.types import Array, EMPTY

#: A message to a driver: its topic with the driver's namespace, and its content, which is
#: serialised, a trajectory, or the numbers of a plain array.
Outgoing: TypeAlias = tuple[str, bytes | TrajectoryRecord | Array]


class CommandOutlet:
    """
    Makes JointState messages to one driver.

    :param rows: Whether position, velocity, effort are sent; other arrays are empty.
    :ivar namespace: Namespace of the driver.
    """

    def __init__(
        self, recipient: Recipient, rows: tuple[bool, bool, bool], units: DriverUnits
    ) -> None:
        self.namespace = recipient.namespace
        self._topic = f'{self.namespace}actuator_commands'
        self._places = as_slice(recipient.places)
        self._scales = None if units.scales is None else units.scales[:, self._places]
        writer = self._writer = JointStateWriter(recipient.names, '', rows)
        self._arrays: list[tuple[int | slice, Array]] = [
            (row, numbers)
            for row, numbers in enumerate((writer.position, writer.velocity, writer.effort))
            if len(numbers)
        ]
        if writer.rows is not None:
            self._arrays = [(slice(None), writer.rows)]

    def make_message(self, motion: Motion, shift: Array | None, stamp: Stamp) -> Outgoing:
        """
        Return the message, serialised.

        :param shift: To subtract from positions for the turns of the drivers; ``None``: zero.
        """
        numbers = motion.sent[:, self._places]
        if shift is not None:
            numbers = numbers.copy()
            numbers[POSITION] -= shift[self._places]
        if self._scales is not None:
            numbers = numbers / self._scales
        for row, array in self._arrays:
            array[...] = numbers[row]
        return self._topic, self._writer.write_message(*stamp)


class TrajectoryOutlet:
    """
    Makes trajectories to one driver.

    :ivar namespace: Namespace of the driver.
    """

    def __init__(self, recipient: Recipient, units: DriverUnits) -> None:
        self.namespace, self._names, self._places = recipient
        self._topic = f'{self.namespace}actuator_trajectory'
        self._scales: Array | float = 1.0
        if units.scales is not None:
            rows = [POSITION, VELOCITY, EFFORT, VELOCITY]
            self._scales = units.scales[rows][:, np.newaxis, self._places]

    def make_message(self, motion: Motion, shift: Array | None, stamp: Stamp) -> Outgoing:
        """Return the trajectory, with the header and the times of the joints."""
        assert motion.trajectory is not None
        # A copy of the numbers, because the indices are a list.
        (record, filled, _), numbers = motion.trajectory, motion.sent[..., self._places]
        if shift is not None:
            numbers[POSITION] -= shift[self._places]
        numbers /= self._scales
        points = tuple(
            Waypoint(
                point.time,
                *(
                    numbers[row, number] if filled[row, number] else EMPTY
                    for row in (POSITION, VELOCITY, ACCELERATION, EFFORT)
                ),
            )
            for number, point in enumerate(record.points)
        )
        return self._topic, TrajectoryRecord(record.stamp, record.frame_id, self._names, points)


#: Makers of the messages to all drivers.
Outlets: TypeAlias = tuple[CommandOutlet | TrajectoryOutlet, ...]
