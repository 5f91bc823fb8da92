# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot between its drivers and its controllers, without a node.

A session of the node owns it and calls it in the one thread of its executor; tests use it without
ROS. Its gate alone writes the ledger. Messages of drivers and sensors, and the services of
zeroing, write its states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.gate import Gate
from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.bridge.outlets import Outgoing
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.rules.tuning_guard import check_tuning
from transmission_bridge.bridge.states.states import States
from transmission_bridge.transmissions import RobotTransmissions

#: Time over which changes of numbers add up [s].
_WINDOW = 1.0


class Bridge:
    """
    The states and the commands of one robot, and its maps, which tuning replaces.

    All calls come from one thread, so that each is between two messages. States, gate and
    :meth:`guard_tuning` receive ``now`` [s] by one clock, which may go backwards: then states are
    forgotten and commands end.

    :param send: See :class:`Gate`.
    :param stamp_hold: See :class:`States`.
    :ivar states: What is known of the actuators.
    :ivar gate: The way of the commands, and the owner of the plan.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions,
        send: Callable[[Sequence[Outgoing]], object],
        stamp_hold: float = 0.0,
    ) -> None:
        plan = Plan(robot, options)
        #: Plans at the last checks, and the times of these [s]; :meth:`guard_tuning` writes it.
        self._former: dict[Plan, float] = {}
        self.states = States(plan.state_map, options, stamp_hold=stamp_hold)
        self.gate = Gate(plan, self.states, send)

    @property
    def plan(self) -> Plan:
        """What follows from the robot and the options."""
        return self.gate.plan

    def reset(self) -> None:
        """
        Forget every state and command, at each activation.

        Plans are immutable. Below a plan the warm starts of its maps are the only memory that can
        change a result, so they are also forgotten.
        """
        self.states.reset()
        self.plan.state_map.forget_solutions()
        self.gate.reset()

    def replace_robot(self, robot: RobotTransmissions) -> None:
        """
        Replace the maps; joints and actuators must be the same.

        While the bridge is active, the caller calls :meth:`guard_tuning` first: this method checks
        nothing. The warm starts of the former maps are lost.

        A joint that holds a position keeps the position of its actuators. Numbers that drivers
        were sent stay the same in their units.
        """
        before, after = self.plan, Plan(robot, self.plan.options)
        self.gate.replace_plan(after)
        self.states.replace_index(before.state_map, after.state_map)

    def guard_tuning(self, robot: RobotTransmissions, now: float) -> None:
        """
        Check new maps before :meth:`replace_robot` uses them.

        :param now: The time [s].
        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        present = self.plan
        if not present.options.tuning_guard:
            return
        ledger, after = self.gate.ledger, Plan(robot, present.options)
        _, sent = next(ledger.list_final_numbers())
        measured = self.states.read_values(now)[0]
        position = np.where(np.isnan(measured), sent[0], measured)
        live = ledger.mask_commanded_joints(now)
        # Several small changes in a short time are a large one.
        recent = {plan: at for plan, at in self._former.items() if abs(now - at) <= _WINDOW}
        self._former = {**recent, present: now}
        for before in self._former:
            check_tuning(before, after, position, live, ledger)
