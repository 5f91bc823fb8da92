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

#: Seconds between two questions to a bridge that has not answered, and until an answer is lost.
_PERIOD, _PATIENCE = 1.0, 3.0

#: Seconds for which a command counts as live, as for the guard of the bridge.
_LIVE = 0.5

#: Options of the bridge that decide what its maps and the names of its drivers are.
_OPTIONS = (
    'actuator_state_topics',
    'actuator_names',
    'plugin_aliases',
    'pass_through',
    'passive_joints',
    'wrap_period',
    'actuator_units',
    'calibration_offsets',
    'unknown_turn',
    'state_timeout',
)

_DESCRIPTION = 'robot_description'
_COMMANDS = 'actuator_commands'


class BridgeRobot(BridgeClient):
    """
    The robot of a bridge.

    It asks the bridge for its description and parameters, follows changes by
    ``/parameter_events``, and asks again when the bridge comes back.

    :param namespace: Namespace of the bridge and of the topics.
    :param node: Name of the bridge.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    is_live = True

    def __init__(self, namespace: str, node: str) -> None:
        super().__init__('transmission_bridge_tune', f'{namespace}/{node}')
        self.model: TuneModel | None = None
        self.generation = 0
        self.visuals = b''
        self._described = ''
        self._problem = ''
        self._options: BridgeOptions | None = None
        self._asked = -_PERIOD
        self._step = 'absent'
        self._values: dict[str, float] = {}
        qos = importlib.import_module('rclpy.qos')
        latched = qos.QoSProfile(
            depth=1,
            reliability=qos.ReliabilityPolicy.RELIABLE,
            durability=qos.DurabilityPolicy.TRANSIENT_LOCAL,
        )
        text = importlib.import_module('std_msgs.msg').String
        self.node.create_subscription(text, _DESCRIPTION, self._describe, latched)
        self.follow_parameters(self._parameters_changed)

    # -- what arrives ----------------------------------------------------------------------------

    def _describe(self, message: Any) -> None:
        if message.data and len(message.data) <= MAX_BYTES:
            self._described = message.data

    def _parameters_changed(self, values: Mapping[str, Any], others: Sequence[str]) -> None:
        if self.model is None:
            return
        if any(name.startswith(PREFIX) for name in others):
            # Configured anew: maybe with another description.
            self._step, self._asked = 'absent', time.monotonic()
            return
        try:
            self.model.accept(_numbers(values))
        except TransmissionBridgeError:
            # Not the robot that we know: ask again.
            self._step = 'absent'

    # -- asking the bridge -----------------------------------------------------------------------

    def spin(self, seconds: float) -> None:
        """Handle callbacks for some time, and ask the bridge where that is due."""
        self.spin_for(seconds)
        now = time.monotonic()
        if not self.is_present:
            self._step = 'absent'
        elif self._step == 'absent' and now - self._asked > _PERIOD:
            self._step, self._asked = 'asked', now
            self.get_parameters([_DESCRIPTION, *_OPTIONS], self._learned, prefix=PREFIX)

    def _learned(self, values: Mapping[str, Any], reason: str) -> None:
        """Make the model from the parameters of the bridge."""
        text = str(values.get(_DESCRIPTION) or self._described)
        numbers = _numbers(values)
        if reason or not text or (not numbers and self._watch_state() != ACTIVE):
            self._step, self._asked = 'absent', time.monotonic()
            return
        named: dict[str, Any] = {
            option.name: tuple(value) if isinstance(option.default, tuple) else value
            for option in fields(BridgeOptions)
            if option.name in _OPTIONS and (value := values.get(option.name)) is not None
        }
        try:
            options = BridgeOptions(**named)
            data = text.encode()
            robot, _ = robot_of(load_description(data), options)
            model = TuneModel(data, robot, pairs('plugin_aliases', options.plugin_aliases))
            self._buffers = _Buffers(robot, options)
            model.accept(numbers)
        except TransmissionBridgeError as error:
            self._problem = f'the robot of the bridge cannot be read here: {error}'
            self._step, self._asked = 'absent', time.monotonic() + _PATIENCE
            return
        self._problem = ''
        self._step = 'known'
        if self.model is not None and (self.visuals, self._options) == (data, options):
            # The same robot: what was done can still be undone.
            self.model.accept(numbers)
        else:
            self.model, self.visuals, self._options = model, data, options
            self.generation += 1
        self._buffers.use(self.model.robot)
        self._follow_topics(options)

    def _watch_state(self) -> str:
        return '' if self.report is None else self.report.state

    def _follow_topics(self, options: BridgeOptions) -> None:
        """Subscribe to the topics of joints and drivers."""
        names = pairs('actuator_names', options.actuator_names)
        wanted: dict[str, tuple[str, str]] = {'joint_states': ('joints', '')}
        for topic in options.actuator_state_topics:
            wanted[topic] = ('actuators', topic)
            own = any(name.startswith(f'{topic}:') for name in names)
            namespace = topic.rpartition('/')[0]
            commands = f'{namespace}/{_COMMANDS}' if own and namespace else _COMMANDS
            wanted.setdefault(commands, ('commands', topic if own else ''))
        self.follow({topic: self._receiver(*each) for topic, each in wanted.items()})

    def _receiver(self, kind: str, source: str) -> Received:
        def take(message: JointStateRecord, layout: Layout, now: float) -> None:
            with suppress(MessageError):  # the bridge says so in its diagnostics
                self._buffers.of[kind].update(source, layout, message, message.stamp, now)

        return take

    # -- what the page asks ----------------------------------------------------------------------

    def state(self) -> RobotState:
        """Return where the robot is."""
        assert self.model is not None
        now, robot = time.monotonic(), self.model.robot
        actuators, joints, commands = (self._buffers.of[kind] for kind in _KINDS)
        newest = commands.newest()
        target = np.full(len(robot.joint_names), np.nan)
        if np.isfinite(newest).any():
            with np.errstate(all='ignore'):
                sent = commands.values(now)[0]
                # A driver is commanded in the turns that it reads.
                shift = None if actuators.turns is None else actuators.turns.shift
                target = robot.actuator_to_joint(
                    'position', sent if shift is None else sent + shift
                )
        return RobotState(
            actuators.values(now),
            joints.values(now),
            now - actuators.newest(),
            now - joints.newest(),
            robot.joints_of(now - newest < _LIVE),
            target,
        )

    def sentences(self) -> tuple[str, ...]:
        """Return what is missing, also while there is no model."""
        return tuple(self._sentences())

    def _sentences(self) -> list[str]:
        if self.report is None or not self.is_present:
            return [f'the bridge {self.bridge} is not there; waiting for it']
        if self._problem:
            return [self._problem]
        if self._step != 'known':
            return [f'asking {self.bridge} for its parameters; it has to be configured']
        state = self.report.state
        found = [f'{self.bridge} is {state}, not active'] if state != ACTIVE else []
        name = f'{self.report.name}: '
        return found + [
            f'{status.name.removeprefix(name)}: {status.message}'
            for status in self.report.troubles
        ]

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Set parameters by ``set_parameters_atomically``."""
        self.set_parameters(values, done)

    def move(self, actuator: int, position: float) -> None:
        """Do nothing: it publishes no command."""


_KINDS = ('actuators', 'joints', 'commands')


class _Buffers:
    """The newest numbers of actuators, joints and commands."""

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        drivers: dict[str, Any] = {
            'driver_names': pairs('actuator_names', options.actuator_names),
            'units': DriverUnits(robot),
            'lost': robot.lost_actuators,
        }
        turns = TurnCounter(robot, options) if wrap_periods(robot, options) else None
        self.of = {
            'actuators': StateBuffer(robot.actuator_names, options, turns=turns, **drivers),
            'joints': StateBuffer(robot.joint_names, options),
            'commands': StateBuffer(robot.actuator_names, RECORDED, **drivers),
        }

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the units of the drivers."""
        for kind in ('actuators', 'commands'):
            self.of[kind].use(DriverUnits(robot))


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of transmissions among values of parameters."""
    return {
        name: value
        for name, value in values.items()
        if name.startswith(PREFIX) and isinstance(value, float)
    }
