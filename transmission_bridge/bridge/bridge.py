# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot between its drivers and its controllers, without a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.contradictions import MotionWatch
from transmission_bridge.bridge.gate import Gate, Outgoing
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options import BridgeOptions, split_pairs
from transmission_bridge.bridge.outputs import DriverNames
from transmission_bridge.bridge.state_plan import StatePlan
from transmission_bridge.bridge.states import KnownState, States
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.bridge.tuning_guard import check_tuning
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.messages.trajectory import TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array


class Plan(NamedTuple):
    """What follows from robot and options."""

    states: StatePlan


class Bridge:
    """
    The state path and the command path of one robot.

    Times ``now`` [s] are of any clock, the same one for all methods.

    :param send: Receives the messages to the drivers; see :class:`Gate`.
    :param stamp_hold: See :class:`States`.
    :ivar plan: What follows from robot and options; tuning replaces it.
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
        self.plan = Plan(StatePlan(robot, options))
        plan = self.plan.states
        motion = MotionWatch(robot, np.nan if plan.turns is None else plan.turns.periods)
        self.states = States(plan, options, motion=motion, stamp_hold=stamp_hold)
        names = split_pairs('actuator_names', options.actuator_names)
        drivers = DriverNames(names, robot.actuator_names)
        self.gate = Gate(robot, options, drivers=drivers, send=send)
        self._commands = CommandPath(robot, self.gate, options)
        self.trajectories = TrajectoryPath(robot, self.gate, options)

    def reset(self) -> None:
        """Forget every state and command."""
        self.states.reset(self.plan.states)
        self.plan.states.forget_solutions()
        self.gate.reset()
        self._commands.reset()

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self.robot = robot
        before, self.plan = self.plan, Plan(StatePlan(robot, self._options))
        self.states.replace_plan(before.states, self.plan.states)
        self.gate.replace_maps(robot)

    def guard_tuning(self, robot: RobotTransmissions, now: float) -> None:
        """
        Check new maps before they are used.

        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        if not self._options.tuning_guard:
            return
        ledger = self.gate.ledger
        measured = self.states.read_values(now)[0]
        position = np.where(np.isnan(measured), ledger.actuators[0], measured)
        live = ledger.find_commanded_joints(now)
        check_tuning(self.robot, robot, position, live, ledger.joints, self._options)

    def _find_known_state(self, now: float) -> KnownState:
        return self.states.find_known_state(self.plan.states, now)

    # -- commands: CommandPath and TrajectoryPath document results and errors --------------------

    def send_joint_command(
        self,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str = 'joint_commands',
    ) -> list[JointStateRecord]:
        """Map a joint command and send the result."""
        return self._commands.send_message(
            layout, data, self._find_known_state(now), stamp, source=topic
        )

    def send_interface_command(
        self, topic: str, interface: str, values: Array, stamp: Stamp, now: float
    ) -> list[JointStateRecord]:
        """Map a plain array for ``command_joints`` and send the result."""
        names, known = self._options.command_joints, self._find_known_state(now)
        return self._commands.send_array(interface, names, values, known, stamp, source=topic)

    def send_joint_trajectory(
        self, trajectory: TrajectoryRecord, now: float, start: float | None = None
    ) -> TrajectoryRecord:
        """Map a joint trajectory and send the result."""
        return self.trajectories.send_message(trajectory, self._find_known_state(now), start=start)

    def end_expired_commands(self, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """End the commands that have expired; to be called regularly."""
        known = self._find_known_state(now)
        self.gate.update_ledger(known)
        return self.gate.end_expired_commands(known, stamp)

    def send_stop(self, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """Send the messages of ``on_stop``, and forget every command."""
        known = self._find_known_state(now)
        self.gate.update_ledger(known)
        return self.gate.send_stop(known, stamp)
