# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot behind a running bridge: what it publishes, and its parameters. Commands nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
import importlib
import time
from typing import Any

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.options import BridgeOptions, pairs, PREFIX, RECORDED
from transmission_bridge.bridge.robot import robot_of
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.bridge.turns import TurnCounter, wrap_periods
from transmission_bridge.description import load_description
from transmission_bridge.description.source import MAX_BYTES
from transmission_bridge.errors import MessageError, TransmissionBridgeError
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import ACTIVE, BridgeClient, Received
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.tools.tune.robots import Done, RobotState
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['BridgeRobot']

#: Seconds between two questions to a bridge that has not answered.
_PERIOD = 1.0

#: Seconds for which a command counts as live, as for the guard of the bridge.
_LIVE = 0.5

_DESCRIPTION = 'robot_description'
_COMMANDS = 'actuator_commands'


class BridgeRobot(BridgeClient):
    """
    The robot of a bridge.

    It asks the bridge for its description and parameters, follows changes by
    ``/parameter_events``, and asks again when the bridge comes back.

    :param namespace: Namespace of the bridge and of the topics.
    :param node: Name of the bridge.
    :ivar model: The numbers; another one for another robot, ``None`` while there is no robot.
    :ivar visuals: The text of the description.
    :ivar n_starts: How often the numbers were read from the beginning.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, namespace: str, node: str) -> None:
        super().__init__('transmission_bridge_tune', f'{namespace}/{node}')
        self.model: TuneModel | None = None
        self.visuals = b''
        self.n_starts = 0
        self._described = ''
        self._cannot_be_read = ''
        #: Whether the numbers are those of the bridge as it runs now, when it was last asked for
        #: them, and which start of it this was.
        self._is_known, self._asked = False, -_PERIOD
        self._start: int | None = None
        qos = importlib.import_module('rclpy.qos')
        latched = qos.QoSProfile(depth=1, durability=qos.DurabilityPolicy.TRANSIENT_LOCAL)
        text = importlib.import_module('std_msgs.msg').String
        self.node.create_subscription(text, _DESCRIPTION, self._describe, latched)
        self.follow_parameters(self._parameters_changed)

    def _describe(self, message: Any) -> None:
        if len(message.data) <= MAX_BYTES:
            self._described = message.data

    def _parameters_changed(self, values: Mapping[str, Any], others: Sequence[str]) -> None:
        if any(name.startswith(PREFIX) for name in others):
            # Configured anew: maybe with another description.
            self._is_known = False
        elif self.model is not None:
            try:
                self.model.accept(_numbers(values))
            except TransmissionBridgeError:  # not the robot that we know
                self._is_known = False

    # -- asking the bridge -----------------------------------------------------------------------

    def spin(self, seconds: float) -> None:
        """Handle callbacks for some time, and ask the bridge where that is due."""
        self.spin_for(seconds)
        now, start = time.monotonic(), None if self.report is None else self.report.start
        if not self.is_present or start != self._start:
            self._is_known, self._start = False, start
        elif not self._is_known and now - self._asked > _PERIOD:
            self._asked = now
            names = [_DESCRIPTION, *(option.name for option in fields(BridgeOptions))]
            self.get_parameters(names, self._learned, prefix=PREFIX)

    def _learned(self, values: Mapping[str, Any], reason: str) -> None:
        """Make the model from the parameters of the bridge."""
        data = str(values.get(_DESCRIPTION) or self._described).encode()
        numbers = _numbers(values)
        is_configured = bool(numbers) or (self.report is not None and self.report.state == ACTIVE)
        if reason or not data or not is_configured:
            return
        named: dict[str, Any] = {
            option.name: tuple(value) if isinstance(option.default, tuple) else value
            for option in fields(BridgeOptions)
            if (value := values.get(option.name)) is not None
        }
        try:
            options = BridgeOptions(**named)
            robot, _ = robot_of(load_description(data), options)
            known = None if self.model is None else self.model.original
            if self.model and self.visuals == data and _shape(known) == _shape(robot):
                # What was done can still be undone, and what was lost be set again.
                self.model.restart(numbers)
            else:
                model = TuneModel(data, robot, pairs('plugin_aliases', options.plugin_aliases))
                model.accept(numbers)
                self.model, self.visuals = model, data
        except TransmissionBridgeError as error:
            self._cannot_be_read = f'the robot of the bridge cannot be read here: {error}'
            return
        self._is_known, self._cannot_be_read = True, ''
        self.n_starts += 1
        self._follow_topics(self.model.robot, options)

    def _follow_topics(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        """Keep the newest messages of joints and drivers."""
        names = pairs('actuator_names', options.actuator_names)
        drivers: dict[str, Any] = {
            'driver_names': names,
            'units': DriverUnits(robot),
            'lost': robot.lost_actuators,
        }
        turns = TurnCounter(robot, options) if wrap_periods(robot, options) else None
        self._actuators = StateBuffer(robot.actuator_names, options, turns=turns, **drivers)
        self._joints = StateBuffer(robot.joint_names, options)
        self._commands = StateBuffer(robot.actuator_names, RECORDED, **drivers)
        topics = {'joint_states': _receiver(self._joints, '')}
        for topic in options.actuator_state_topics:
            topics[topic] = _receiver(self._actuators, topic)
            own = any(name.startswith(f'{topic}:') for name in names)
            namespace = topic.rpartition('/')[0]
            commands = f'{namespace}/{_COMMANDS}' if own and namespace else _COMMANDS
            topics.setdefault(commands, _receiver(self._commands, topic if own else ''))
        self.follow(topics)

    # -- what the page asks ----------------------------------------------------------------------

    def state(self) -> RobotState:
        """Return where the robot is; unknown while the bridge is not there."""
        assert self.model is not None
        now, robot = time.monotonic(), self.model.robot
        units = DriverUnits(robot)
        for buffer in (self._actuators, self._commands):
            buffer.use(units)
        newest, turns = self._commands.newest(), self._actuators.turns
        shift = None if turns is None else turns.shift
        with np.errstate(all='ignore'):
            # A driver is commanded in the turns that it reads.
            sent = self._commands.values(now)[0] + (0.0 if shift is None else shift)
            target = robot.actuator_to_joint('position', sent)
        joints = self._joints.values(now)
        return RobotState(
            self._actuators.values(now),
            np.full_like(joints, np.nan) if self.problem() else joints,
            now - self._actuators.newest(),
            now - self._joints.newest(),
            robot.joints_of(now - newest < _LIVE),
            target,
        )

    def problem(self) -> str:
        """Return why what is shown is not the present robot, empty if it is."""
        if not self.is_present:
            return f'the bridge {self.bridge} is not there; waiting for it'
        asking = f'asking {self.bridge} for its parameters; it has to be configured'
        return '' if self._is_known else self._cannot_be_read or asking

    def sentences(self) -> tuple[str, ...]:
        """Return what else is wrong: what the bridge says of itself."""
        if self.report is None or self.problem():
            return ()
        state, name = self.report.state, f'{self.report.name}: '
        found = [f'{self.bridge} is {state}, not active'] if state != ACTIVE else []
        return (
            *found,
            *(f'{e.name.removeprefix(name)}: {e.message}' for e in self.report.troubles),
        )

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Set parameters by ``set_parameters_atomically``."""
        self.set_parameters(values, done)


def _receiver(buffer: StateBuffer, source: str) -> Received:
    def take(message: JointStateRecord, layout: Layout, now: float) -> None:
        with suppress(MessageError):  # the bridge says so in its diagnostics
            buffer.update(source, layout, message, message.stamp, now)

    return take


def _shape(robot: RobotTransmissions | None) -> object:
    """Return what must be equal of two robots for numbers of one to be those of the other."""
    return robot and (robot.joint_names, robot.actuator_names, robot.tunables)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of transmissions among values of parameters."""
    return {k: v for k, v in values.items() if k.startswith(PREFIX) and isinstance(v, float)}
