# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Absolute encoders and torque sensors: measurements that go from actuators to joints only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, EMPTY

__all__ = ['SensorPath']


class SensorPath:
    """
    Maps one field of the JointState messages of sensors at the actuators.

    Absolute positions map as positions do (or pass by role, where the transmission ignores its
    absolute encoders), torques as efforts do. Names, NaN and left-out fields mean what they mean
    for :class:`~transmission_bridge.bridge.merged_states.MergedStates`.

    :param robot: The maps; exchanged by :meth:`use`.
    :param interface: ``absolute_position`` or ``torque``.
    :param field: The field that holds it: ``position`` or ``effort``.
    :param actuator_names: Driver's name to URDF name, where they differ.
    :param timeout: Seconds after which a sensor that was not heard of is unknown; 0: never.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        interface: str,
        field: str,
        *,
        actuator_names: Mapping[str, str] | None = None,
        timeout: float = 0.0,
    ) -> None:
        self._interface = interface
        self._row = FIELDS.index(field)
        self._merged = MergedStates(
            robot.actuator_names,
            driver_names=actuator_names or {},
            wrap_period={},
            lost=robot.lost_actuators,
            timeout=timeout,
        )
        self.report = MapReport()
        self.use(robot)

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot

    def reset(self) -> None:
        """Forget everything that sensors have said."""
        self._merged.reset()

    def map(
        self,
        layout: Layout,
        data: JointStateData,
        actuator_position: Array,
        stamp: Stamp,
        now: float = 0.0,
        source: str = '',
    ) -> JointStateRecord | None:
        """
        Take over a message and return what all sensors say of the joints.

        :param layout: Names and lengths of the message.
        :param data: The message; copied from, not kept.
        :param actuator_position: Newest actuator positions, shape ``(n_actuators,)``, NaN where
            unknown; torques through a transmission whose ratio depends on them need them.
        :param stamp: Stamp of the message, never zero.
        :param now: Time of receipt [s].
        :param source: The driver, for example its topic.
        :returns: The joints whose value is known, in the same field; ``None`` if there are none.
        :raises MessageError: If the message cannot be used; then nothing has changed.
        """
        self._merged.update(source, layout, data, stamp, now)
        values = self._robot.actuator_to_joint(
            self._interface,
            self._merged.values(now)[self._row],
            at=actuator_position,
            report=self.report,
        )
        known = np.isfinite(values)
        if not known.any():
            return None
        names = tuple(self._robot.joint_names[place] for place in np.flatnonzero(known))
        fields = [values[known] if row == self._row else EMPTY for row in range(len(FIELDS))]
        return JointStateRecord(stamp, '', names, *fields)
