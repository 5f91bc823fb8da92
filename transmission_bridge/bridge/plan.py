# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Everything that follows from a robot and the options of its bridge, and from nothing else.

A bridge makes one at its start, one for each change of numbers, and one for each check of a
change. Nothing sets its attributes later. Caches, warm starts of maps, and the working memory of
readers, outlets and state map change in the thread of the bridge; of these, only warm starts can
change a result.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from transmission_bridge.bridge.actuator_drivers import check_array_order, DriverNames
from transmission_bridge.bridge.motion import ARRAYS, Pattern
from transmission_bridge.bridge.options.options import BridgeOptions, split_option_pairs
from transmission_bridge.bridge.outlets import CommandOutlet, Outlets, TrajectoryOutlet
from transmission_bridge.bridge.readers import CommandReader
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.rules.actuator_rules import ACTUATOR_RULES
from transmission_bridge.bridge.rules.joint_rules import JOINT_RULES, OutwardRule
from transmission_bridge.bridge.states.state_map import StateMap
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Mask

#: The rules in the order of their application; some make none for a pattern.
RULES = (*JOINT_RULES, *ACTUATOR_RULES)

#: Number of cached patterns; controllers use fewer combinations in practice.
PATTERNS = 64


class Plan(RobotFacts):
    """
    Patterns, rules, readers and outlets of a bridge; nothing in it has to survive tuning.

    :ivar outward: The rule for active rates, which never rejects.
    :ivar drivers: The driver of each actuator.
    :ivar orders: Indices of the actuators in plain arrays, by the namespace of their driver.
    :ivar ending_rows: Mask of the rows that end after a timeout, shape ``(3, 1)``.
    :ivar state_map: Maps states.
    :ivar find_pattern: Returns the pattern of a kind of motion and a mask of its values as
        bytes.
    :ivar find_rules: Returns the rules of a pattern.
    :ivar find_outlets: Returns the outlets for a mask of numbers of actuators as bytes, and
        whether these are of a trajectory. With ``mixed_commands: nan`` actuators commanded in
        different modes share one message, and NaN means no command; otherwise each interface has
        a message.
    :ivar reader: Reads messages.
    :raises ParameterError: If an option does not fit the robot.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        super().__init__(robot, options)
        self.state_map = StateMap(robot, options)
        self.outward = OutwardRule(self, may_reject=False)
        entries = split_option_pairs('actuator_names', options.actuator_names)
        self.drivers = DriverNames(entries, robot.actuator_names)
        self.find_pattern = lru_cache(PATTERNS)(partial(Pattern, self))
        self.find_rules = lru_cache(PATTERNS)(
            lambda pattern: tuple(rule for kind in RULES for rule in kind.make(self, pattern))
        )
        self.find_outlets = lru_cache(PATTERNS)(self._make_outlets)
        self.reader = CommandReader(self, self.find_pattern)
        joints, motors = self.reader.names.commandable, robot.actuator_names
        order = options.command_actuators
        check_array_order('command_joints', options.command_joints, joints, robot.lost_joints)
        check_array_order('command_actuators', order, motors, robot.lost_actuators)
        receivers = self.drivers.divide_actuators(map(motors.index, order))
        self.orders = {receiver.namespace: receiver.places for receiver in receivers}
        self.ending_rows: Mask = np.array([[False], [True], [options.zero_effort]])

    def _make_outlets(self, key: bytes, is_trajectory: bool) -> Outlets:
        mask: Mask = np.frombuffer(key, dtype=bool)
        mask = mask.reshape(len(ARRAYS if is_trajectory else FIELDS), -1)
        if is_trajectory:
            recipients = self.drivers.divide_actuators(np.flatnonzero(mask.any(axis=0)).tolist())
            return tuple(TrajectoryOutlet(recipient, self.units) for recipient in recipients)
        modes, commanded = [mask], mask[:, mask.any(axis=0)]
        is_mixed = bool((commanded != commanded[:, :1]).any())
        if is_mixed and self.options.mixed_commands != 'nan':
            modes = [mask & row for row in np.eye(len(FIELDS), dtype=bool)[:, :, np.newaxis]]
        return tuple(
            CommandOutlet(driver, tuple(mode[:, driver.places].any(axis=1).tolist()), self.units)
            for mode in modes
            for driver in self.drivers.divide_actuators(np.flatnonzero(mode.any(axis=0)).tolist())
        )
