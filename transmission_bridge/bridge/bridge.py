# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot between its drivers and its controllers, without a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.gate import Gate, Outgoing
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.outputs import DriverNames
from transmission_bridge.bridge.states import StatePath
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.bridge.tuning_guard import check_tuning
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.messages.trajectory import TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array


class Bridge:
    """
    The way of the states and the way of the commands of one robot.

    Every method that takes a time ``now`` [s] may be given any clock that is the same for all.

    :param robot: The maps; replaced by :meth:`use`.
    :param options: The choices of the user.
    :param send: Receives the messages to the drivers; see :class:`Gate`.
    :param stamp_hold: See :class:`StatePath`.
    :ivar robot: The maps in use.
    :ivar states: The states.
    :ivar gate: What is sent to the drivers.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions,
        send: Callable[[Sequence[Outgoing]], object],
        stamp_hold: float = 0.0,
    ) -> None:
        self.robot = robot
        self._options = options
        self.states = StatePath(robot, options, stamp_hold=stamp_hold)
        names = pairs('actuator_names', options.actuator_names)
        drivers = DriverNames(names, robot.actuator_names)
        self.gate = Gate(robot, options, drivers=drivers, send=send)
        self._commands = CommandPath(robot, self.gate, options)
        self.trajectories = TrajectoryPath(robot, self.gate, options)

    def reset(self) -> None:
        """Forget every state and command."""
        self.states.reset()
        self.gate.reset()
        self._commands.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self.robot = robot
        self.states.use(robot)
        self.gate.use(robot)

    def check_tuning(self, robot: RobotTransmissions, now: float) -> None:
        """
        Check maps that are to be used.

        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        if not self._options.tuning_guard:
            return
        ledger = self.gate.ledger
        measured = self.states.merged.values(now)[0]
        position = np.where(np.isnan(measured), ledger.actuators[0], measured)
        live = ledger.commanded_joints(now)
        check_tuning(self.robot, robot, position, live, ledger.joints, self._options)

    # -- commands: for what they raise and return see CommandPath and TrajectoryPath -------------

    def command(
        self,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str = 'joint_commands',
    ) -> list[JointStateRecord]:
        """Send what a joint command means."""
        return self._commands.command(layout, data, self.states.known(now), stamp, source=topic)

    def command_interface(
        self, topic: str, interface: str, values: Array, stamp: Stamp, now: float
    ) -> list[JointStateRecord]:
        """Send what a plain array for ``command_joints`` means."""
        names, known = self._options.command_joints, self.states.known(now)
        return self._commands.command_interface(
            interface, names, values, known, stamp, source=topic
        )

    def command_trajectory(
        self, trajectory: TrajectoryRecord, now: float, start: float | None = None
    ) -> TrajectoryRecord:
        """Send what a joint trajectory means."""
        return self.trajectories.map(trajectory, self.states.known(now), start=start)

    def end_expired(self, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """End the commands whose time is over; to be called regularly."""
        known = self.states.known(now)
        self.gate.look(known)
        return self.gate.end_expired(known, stamp)

    def stop(self, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """Send what ``on_stop`` says, and forget every command."""
        known = self.states.known(now)
        self.gate.look(known)
        return self.gate.stop(known, stamp)
