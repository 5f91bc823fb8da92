# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot between its drivers and its controllers, without a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.gate import Gate
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.bridge.outlets import Outgoing
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.rules.rule import list_names
from transmission_bridge.bridge.rules.tuning_guard import check_tuning
from transmission_bridge.bridge.states.states import KnownState, States
from transmission_bridge.messages import JointStateRecord, Layout, TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

#: Time over which changes of numbers add up [s].
_MEMORY = 1.0


class Bridge:
    """
    The states and the commands of one robot.

    Times ``now`` [s] are of any clock, the same one for all methods. A command that is rejected
    changes nothing, except that joints rejected alone and joints that cannot be mapped end their
    active velocities and efforts.

    :param send: Receives the messages of one motion; if it raises an error, an end is repeated.
    :param stamp_hold: See :class:`States`.
    :ivar plan: What follows from the robot and the options.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions,
        send: Callable[[Sequence[Outgoing]], object],
        stamp_hold: float = 0.0,
    ) -> None:
        self.plan = Plan(robot, options)
        # Plans before the last changes, and the last time of their use [s].
        self._former: list[tuple[float, Plan]] = []
        self.states = States(self.plan.states, options, stamp_hold=stamp_hold)
        self.gate = Gate(self.plan, send)

    def reset(self) -> None:
        """Forget every state and command."""
        self.states.reset(self.plan.states)
        self.plan.states.forget_solutions()
        self.gate.reset()
        self.plan.stream.forget_solutions()

    def replace_robot(self, robot: RobotTransmissions) -> None:
        """
        Replace the maps between two messages; joints and actuators must be the same.

        A joint that holds a position keeps the position of its actuators. Numbers that drivers
        were sent stay the same in their units.
        """
        before, self.plan = self.plan, Plan(robot, self.plan.options)
        self.gate.ledger.replace_plan(before, self.plan)
        self.states.replace_plan(before.states, self.plan.states)

    def guard_tuning(self, robot: RobotTransmissions, now: float) -> None:
        """
        Check new maps before they are used.

        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        if not self.plan.options.tuning_guard:
            return
        ledger, after = self.gate.ledger, Plan(robot, self.plan.options)
        _, told = next(ledger.list_final_numbers())
        measured = self.states.read_values(now)[0]
        position = np.where(np.isnan(measured), told[0], measured)
        live = ledger.mask_commanded_joints(now)
        # Several small changes in a short time are a large one.
        former = [each for each in self._former if abs(now - each[0]) <= _MEMORY]
        self._former = [each for each in former if each[1] is not self.plan] + [(now, self.plan)]
        for _, before in self._former:
            check_tuning(before, after, position, live, ledger)

    # -- commands: CommandReader documents errors of messages, the rules other rejections --------

    def send_joint_command(
        self,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str = 'joint_commands',
    ) -> None:
        """
        Map a joint command and send the result.

        :raises MessageError: If it is rejected.
        """
        known = self._look(now)
        motion = self.plan.reader.read_command(layout, data, topic)
        self.gate.send_motion(self.plan, motion, known, stamp)

    def send_interface_command(
        self, topic: str, interface: str, values: Array, stamp: Stamp, now: float
    ) -> None:
        """
        Map a plain array for ``command_joints`` and send the result.

        :raises MessageError: If it is rejected.
        """
        known, names = self._look(now), self.plan.options.command_joints
        motion = self.plan.reader.read_array(interface, names, values, topic)
        self.gate.send_motion(self.plan, motion, known, stamp)

    def send_joint_trajectory(
        self, trajectory: TrajectoryRecord, now: float, start: float | None = None
    ) -> None:
        """
        Map a joint trajectory and send the result; header and times are copied.

        Waypoints that were due before now are left out.

        :param start: Start time [s]; ``None``: now.
        :raises MessageError: If it is rejected.
        """
        known, start = self._look(now), now if start is None else start
        motion = self.plan.reader.read_trajectory(trajectory, start, now, 'joint_trajectory')
        self.gate.send_motion(self.plan, motion, known, trajectory.stamp)

    def end_expired_commands(self, stamp: Stamp, now: float) -> tuple[str, ...]:
        """End the commands that have expired; see :meth:`Gate.end_expired_commands`."""
        return self.gate.end_expired_commands(self.plan, self._look(now), stamp)

    def send_stop(self, stamp: Stamp, now: float) -> tuple[str, ...]:
        """Send the messages of ``on_stop``, and forget every command."""
        ended = self.gate.send_stop(self.plan, self._look(now), stamp)
        self.plan.stream.forget_solutions()
        return ended

    def forget_commands(self, actuators: Mask) -> None:
        """End what actuators were sent, because their driver has forgotten it."""
        self.states.spells.restart_spells(actuators)

    def list_left_trajectories(self, now: float) -> tuple[str, ...]:
        """Return the actuators with a trajectory of positions, started or not."""
        self._look(now)
        left = self.gate.ledger.trajectories.mask_left_actuators()
        return list_names(self.plan.robot.actuator_names, left)

    def _look(self, now: float) -> KnownState:
        """Return the known state, and let the ledger note the time."""
        known = self.states.compute_known_state(self.plan.states, now)
        self.gate.ledger.update_clock(known)
        return known
