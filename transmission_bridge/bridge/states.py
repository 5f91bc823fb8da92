# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From the states of one or several drivers to the states of the joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.merged_states import MergedStates, Stamp
from transmission_bridge.bridge.mimic import mimic_joints
from transmission_bridge.bridge.state_interfaces import undeclared_interfaces
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['StatePath']

_EMPTY: Array = np.empty(0)
_EMPTY.setflags(write=False)


class StatePath:
    """
    Merges actuator states by name and maps them to joint states.

    Every number is the newest that a driver gave for it; NaN and inf mean unknown. A message is
    taken whole or, if it cannot be used, not at all. See
    :class:`~transmission_bridge.bridge.options.BridgeOptions` for the choices.

    :param robot: The maps; exchanged by :meth:`use`.
    :param unknown_joints: ``omit`` or ``nan``.
    :param unknown_rates: ``nan`` or ``zero``.
    :param undeclared: ``auto``, ``publish`` or ``hide``.
    :param actuator_names: Driver's name to URDF name, where they differ.
    :param wrap_period: Period of single-turn encoders [rad or m] by actuator.
    :param timeout: Seconds after which an actuator that was not heard of is unknown; 0: never.
    :ivar merged: What the drivers have said.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        *,
        unknown_joints: str = 'omit',
        unknown_rates: str = 'nan',
        undeclared: str = 'auto',
        actuator_names: Mapping[str, str] | None = None,
        wrap_period: Mapping[str, float] | None = None,
        timeout: float = 0.0,
    ) -> None:
        self._omit = unknown_joints == 'omit'
        self._fill = unknown_rates == 'zero'
        self.merged = MergedStates(
            robot.actuator_names,
            driver_names=actuator_names or {},
            wrap_period=wrap_period or {},
            timeout=timeout,
        )
        self._mimic = mimic_joints(robot)
        followers = self._mimic.names if self._mimic is not None else ()
        self._names = (*robot.joint_names, *followers)
        self._hidden = undeclared_interfaces(robot.robot, self._names, undeclared)
        self.report = MapReport()
        self.use(robot)
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot

    def reset(self) -> None:
        """Forget everything that drivers have said."""
        self.merged.reset()
        self._solution: Array = np.full(len(self._robot.joint_names), np.nan)

    def update(
        self, source: str, layout: Layout, data: JointStateData, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Take over the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; copied from, not kept.
        :param stamp: Its stamp, never zero.
        :param now: Time of receipt [s].
        :raises MessageError: If it cannot be used; then nothing has changed.
        """
        self.merged.update(source, layout, data, stamp, now)

    def joint_position(self, now: float = 0.0) -> Array:
        """Return the joints' positions, shape ``(n_joints,)``, NaN where unknown or stale."""
        return self._position(self.merged.values(now)[0])

    def joint_state(self, now: float = 0.0) -> JointStateRecord | None:
        """
        Return the state of every joint that is known, stamped with the newest input's stamp.

        An interface unknown for all of these joints is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp
        if stamp is None:
            return None
        joints = self._map(self.merged.values(now))
        if self._mimic is not None:
            joints = self._mimic.extend(joints)
        names = self._names
        if self._omit:
            known = np.isfinite(joints[0])
            if not known.all():
                names = tuple(np.array(names, dtype=object)[known])
                joints = joints[:, known]
                hidden = None if self._hidden is None else self._hidden[:, known]
            else:
                hidden = self._hidden
        else:
            hidden = self._hidden
        return self._record(stamp, names, joints, hidden)

    def _record(
        self,
        stamp: Stamp,
        names: tuple[str, ...],
        joints: Array,
        hidden: npt.NDArray[np.bool_] | None,
    ) -> JointStateRecord | None:
        if not np.isfinite(joints).any():
            return None
        if self._fill:
            joints[1:] = np.where(np.isnan(joints[1:]), 0.0, joints[1:])
        if hidden is not None:
            joints[hidden] = np.nan
        position, velocity, effort = (
            _EMPTY if np.isnan(values).all() else values for values in joints
        )
        return JointStateRecord(stamp, '', names, position, velocity, effort)

    def _map(self, actuators: Array) -> Array:
        joints = np.full((3, len(self._robot.joint_names)), np.nan)
        joints[0] = self._position(actuators[0])
        for row, interface in ((1, 'velocity'), (2, 'effort')):
            if self.merged.given[row]:
                joints[row] = self._robot.actuator_to_joint(
                    interface, actuators[row], at=actuators[0], report=self.report
                )
        return joints

    def _position(self, actuators: Array) -> Array:
        """Map positions, beginning an iterative solution at the last one found."""
        position = self._robot.actuator_to_joint(
            'position', actuators, guess=self._solution, report=self.report
        )
        np.copyto(self._solution, position, where=np.isfinite(position))
        return position
