# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders and torque sensors of the actuators, mapped to the joints."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options.options import BridgeOptions, RECORDED
from transmission_bridge.bridge.states.state_map import DriverIndex
from transmission_bridge.bridge.states.states import States
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, EMPTY


class SensorPath(States):
    """
    The latest numbers of absolute encoders or torque sensors of the actuators, and their map.

    Absolute positions are mapped like positions, torques like efforts. With
    ``ignore_absolute_encoder`` absolute positions pass to the joint of the same role.

    :param interface: ``absolute_position`` or ``torque``.
    :param field: The JointState field that contains it: ``position`` or ``effort``.
    :param options: By default numbers never time out.
    :param driver_names: Driver's name to URDF name on its topic, if they differ.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        interface: str,
        field: str,
        options: BridgeOptions = RECORDED,
        *,
        driver_names: Mapping[str, str] | None = None,
    ) -> None:
        self._interface, self._row = interface, FIELDS.index(field)
        self._driver_names, self._robot = driver_names or {}, robot
        self._index = self._make_index(robot)
        super().__init__(self._index, options)

    def _make_index(self, robot: RobotTransmissions) -> DriverIndex:
        names, lost = robot.actuator_names, robot.lost_actuators
        return DriverIndex(names, self._driver_names, lost, DriverUnits(robot))

    def replace_robot(self, robot: RobotTransmissions) -> None:
        """Replace the robot between two messages; joints and actuators must be the same."""
        before, self._robot, self._index = self._index, robot, self._make_index(robot)
        self.replace_index(before, self._index)

    def map_sensors(
        self,
        layout: Layout,
        data: JointStateRecord,
        actuator_position: Array,
        stamp: Stamp,
        now: float = 0.0,
        source: str = '',
    ) -> JointStateRecord | None:
        """
        Use a message, and return the latest values of all sensors at the joints.

        :meth:`States.merge_message` documents the other arguments and errors.

        :param actuator_position: Latest actuator positions in SI, shape ``(n_actuators,)``, NaN:
            unknown; position-dependent transmissions need them for torques.
        :returns: The known values, in the same field; ``None`` if no value is known.
        """
        self.merge_message(self._index, source, layout, data, stamp, now)
        values = self._map_to_joints(self.read_values(now)[self._row], actuator_position)
        is_known = np.isfinite(values)
        if not is_known.any():
            return None
        names = tuple(self._robot.joint_names[joint] for joint in np.flatnonzero(is_known))
        fields = [values[is_known] if row == self._row else EMPTY for row in range(len(FIELDS))]
        return JointStateRecord(stamp, '', names, *fields)

    def find_joint_values(self, actuator_position: Array, now: float, max_age: float) -> Array:
        """
        Return the latest values at the joints, shape ``(n_joints,)``, NaN: unknown.

        :param actuator_position: See :meth:`map_sensors`.
        :param now: Time [s].
        :param max_age: Largest age of a number [s].
        """
        return self._map_to_joints(self.find_actuator_values(now, max_age), actuator_position)

    def find_actuator_values(self, now: float = 0.0, max_age: float = math.inf) -> Array:
        """Return the latest values at the actuators in SI, ``(n_actuators,)``, NaN: unknown."""
        self.record_time(now)
        values = self.read_values(now)[self._row]
        is_fresh = self.compute_ages(now)[self._row] <= max_age
        fresh: Array = np.where(is_fresh, values, np.nan)
        return fresh

    def _map_to_joints(self, values: Array, at: Array) -> Array:
        return self._robot.actuator_to_joint(self._interface, values, at=at, report=self.report)
