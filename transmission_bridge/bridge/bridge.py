# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot between its drivers and its controllers, without a node.

A session of the node owns it and calls it from one thread; tests use it without ROS. Its gate
alone writes the ledger, and messages of drivers alone write its states.
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
_MEMORY = 1.0


class Bridge:
    """
    The states and the commands of one robot, and its maps, which tuning replaces.

    :param send: See :class:`Gate`.
    :param stamp_hold: See :class:`States`.
    :ivar states: What is known of the actuators.
    :ivar gate: The way of the commands.
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
        # Plans before the last changes, and the last time of their use [s].
        self._former: list[tuple[float, Plan]] = []
        self.states = States(plan.state_map, options, stamp_hold=stamp_hold)
        self.gate = Gate(plan, self.states, send)

    @property
    def plan(self) -> Plan:
        """What follows from the robot and the options."""
        return self.gate.plan

    def reset(self) -> None:
        """Forget every state and command."""
        self.states.reset()
        self.plan.state_map.forget_solutions()
        self.gate.reset()

    def replace_robot(self, robot: RobotTransmissions) -> None:
        """
        Replace the maps between two messages; joints and actuators must be the same.

        A joint that holds a position keeps the position of its actuators. Numbers that drivers
        were sent stay the same in their units.
        """
        before, after = self.plan, Plan(robot, self.plan.options)
        self.gate.replace_plan(after)
        self.states.replace_index(before.state_map, after.state_map)

    def guard_tuning(self, robot: RobotTransmissions, now: float) -> None:
        """
        Check new maps before they are used.

        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        present = self.plan
        if not present.options.tuning_guard:
            return
        ledger, after = self.gate.ledger, Plan(robot, present.options)
        _, told = next(ledger.list_final_numbers())
        measured = self.states.read_values(now)[0]
        position = np.where(np.isnan(measured), told[0], measured)
        live = ledger.mask_commanded_joints(now)
        # Several small changes in a short time are a large one.
        recent = [used for used in self._former if abs(now - used[0]) <= _MEMORY]
        self._former = [used for used in recent if used[1] is not present] + [(now, present)]
        for _, before in self._former:
            check_tuning(before, after, position, live, ledger)
