# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot behind a running bridge: what it publishes, and its parameters. Commands nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
import time
from typing import Any

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.options import BridgeOptions, PREFIX, RECORDED, split_pairs
from transmission_bridge.bridge.robot import make_robot_maps
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.bridge.turns import find_wrap_periods, TurnCounter
from transmission_bridge.description import load_description
from transmission_bridge.description.source import MAX_BYTES
from transmission_bridge.errors import MessageError, TransmissionBridgeError
from transmission_bridge.messages.cdr import JointStateReader, UnusualMessageError
from transmission_bridge.messages.joint_state import LayoutTable, record_from_message
from transmission_bridge.tools.ros_client import ros_module, RosClient, statuses_of
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.tools.tune.robots import Done, RobotState
from transmission_bridge.tools.watch_state import ACTIVE, JOINT_STATES, WatchState
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


class BridgeRobot(RosClient):
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
        super().__init__('transmission_bridge_tune', namespace)
        self.model: TuneModel | None = None
        self.generation = 0
        self.visuals = b''
        self._bridge = f'{self.node.get_namespace().rstrip("/")}/{node}'
        self._watch = WatchState(namespace)
        self._described = ''
        self._problem = ''
        self._options: BridgeOptions | None = None
        self._services = _Services(self.node, self._bridge)
        self._topics: dict[str, Any] = {}
        self._layouts = LayoutTable()
        self._asked = -_PERIOD
        self._step = 'absent'
        self._pending: list[tuple[dict[str, float], Done]] = []
        self._busy_until = 0.0
        self._values: dict[str, float] = {}
        self._listen()

    # -- what arrives ----------------------------------------------------------------------------

    def _listen(self) -> None:
        qos = ros_module('rclpy.qos')
        self._joint_state = ros_module('sensor_msgs.msg').JointState
        self._deserialize = ros_module('rclpy.serialization').deserialize_message
        self._profile = qos.QoSProfile(depth=50, reliability=qos.ReliabilityPolicy.BEST_EFFORT)
        latched = qos.QoSProfile(
            depth=1,
            reliability=qos.ReliabilityPolicy.RELIABLE,
            durability=qos.DurabilityPolicy.TRANSIENT_LOCAL,
        )
        create = self.node.create_subscription
        create(ros_module('std_msgs.msg').String, _DESCRIPTION, self._describe, latched)
        create(
            ros_module('diagnostic_msgs.msg').DiagnosticArray,
            '/diagnostics',
            self._diagnosed,
            self._profile,
        )
        create(
            ros_module('rcl_interfaces.msg').ParameterEvent,
            '/parameter_events',
            self._parameters_changed,
            qos.QoSProfile(depth=1000),
        )

    def _describe(self, message: Any) -> None:
        if message.data and len(message.data) <= MAX_BYTES:
            self._described = message.data

    def _diagnosed(self, message: Any) -> None:
        self._watch.take_diagnostics(statuses_of(message), time.monotonic())

    def _parameters_changed(self, event: Any) -> None:
        if event.node != self._bridge or self.model is None:
            return
        if any(
            each.name.startswith(PREFIX)
            for each in (*event.new_parameters, *event.deleted_parameters)
        ):
            # Configured anew: maybe with another description.
            self._step, self._asked = 'absent', time.monotonic()
            return
        self._take_values({each.name: each.value for each in event.changed_parameters})

    def _take_values(self, values: Mapping[str, Any]) -> None:
        double = 3
        found = {
            name: value.double_value
            for name, value in values.items()
            if name.startswith(PREFIX) and value.type == double
        }
        assert self.model is not None
        try:
            self.model.accept(found)
        except TransmissionBridgeError:
            # Not the robot that we know: ask again.
            self._step = 'absent'

    # -- asking the bridge -----------------------------------------------------------------------

    def spin(self, seconds: float) -> None:
        """Handle callbacks for some time, and ask the bridge where that is due."""
        self.spin_for(seconds)
        now = time.monotonic()
        if not self._services.is_ready:
            self._step = 'absent'
            self._refuse_pending('the bridge has gone')
        elif self._step == 'absent' and now - self._asked > _PERIOD:
            self._step, self._asked = 'asked', now
            self._services.ask_all(self._learned)
        elif self._step == 'asked' and now - self._asked > _PATIENCE:
            self._step = 'absent'
        if self._busy_until and now > self._busy_until:
            self._refuse_pending('the bridge does not answer')

    def _learned(self, values: Mapping[str, Any]) -> None:
        """Make the model from the parameters of the bridge."""
        text = str(values.pop(_DESCRIPTION, '') or self._described)  # type: ignore[attr-defined]
        numbers = {
            name: value
            for name, value in values.items()
            if name.startswith(PREFIX) and isinstance(value, float)
        }
        if not text or (not numbers and self._watch_state() != ACTIVE):
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
            robot, _ = make_robot_maps(load_description(data), options)
            model = TuneModel(data, robot, split_pairs('plugin_aliases', options.plugin_aliases))
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
        self._follow(options)

    def _watch_state(self) -> str:
        name = self._bridge.strip('/')
        return next((each.state for each in self._watch.bridges if each.name == name), '')

    def _follow(self, options: BridgeOptions) -> None:
        """Subscribe to the topics of joints and drivers."""
        names = split_pairs('actuator_names', options.actuator_names)
        wanted: dict[str, tuple[str, str]] = {JOINT_STATES: ('joints', '')}
        for topic in options.actuator_state_topics:
            wanted[topic] = ('actuators', topic)
            own = any(name.startswith(f'{topic}:') for name in names)
            namespace = topic.rpartition('/')[0]
            commands = f'{namespace}/{_COMMANDS}' if own and namespace else _COMMANDS
            wanted.setdefault(commands, ('commands', topic if own else ''))
        for topic in self._topics.keys() - wanted.keys():
            self.node.destroy_subscription(self._topics.pop(topic))
        for topic, (kind, source) in wanted.items():
            if topic not in self._topics:
                self._topics[topic] = self.node.create_subscription(
                    self._joint_state,
                    topic,
                    self._listener(topic, kind, source),
                    self._profile,
                    raw=True,
                )

    def _listener(self, topic: str, kind: str, source: str) -> Callable[[bytes], None]:
        reader = JointStateReader(self._layouts)

        def take(data: bytes) -> None:
            now = time.monotonic()
            try:
                view: Any = reader.read_message(data)
                layout = view.layout
            except UnusualMessageError:
                try:
                    view = record_from_message(self._deserialize(data, self._joint_state))
                except Exception:  # not a message of this type
                    return
                layout = self._layouts.find_layout(view.names, view.lengths)
            self._watch.take(topic, (), {}, now)
            try:
                self._buffers.of[kind].merge_message(source, layout, view, view.stamp, now)
            except MessageError:
                return  # the bridge says so in its diagnostics

        return take

    # -- what the page asks ----------------------------------------------------------------------

    def state(self) -> RobotState:
        """Return where the robot is."""
        assert self.model is not None
        now, robot = time.monotonic(), self.model.robot
        actuators, joints, commands = (self._buffers.of[kind] for kind in _KINDS)
        newest = commands.find_receipt_times()
        target = np.full(len(robot.joint_names), np.nan)
        if np.isfinite(newest).any():
            with np.errstate(all='ignore'):
                sent = commands.read_values(now)[0]
                # A driver is commanded in the turns that it reads.
                shift = None if actuators.turns is None else actuators.turns.driver_shift
                target = robot.actuator_to_joint(
                    'position', sent if shift is None else sent + shift
                )
        return RobotState(
            actuators.read_values(now),
            joints.read_values(now),
            now - actuators.find_receipt_times(),
            now - joints.find_receipt_times(),
            robot.joints_of(now - newest < _LIVE),
            target,
        )

    def sentences(self) -> tuple[str, ...]:
        """Return what is missing, also while there is no model."""
        return tuple(self._sentences(time.monotonic()))

    def _sentences(self, now: float) -> list[str]:
        if not self._services.is_ready:
            return [f'the bridge {self._bridge} is not there; waiting for it']
        if self._problem:
            return [self._problem]
        if self._step != 'known':
            return [f'asking {self._bridge} for its parameters; it has to be configured']
        state = self._watch_state()
        found = [f'{self._bridge} is {state}, not active'] if state not in (ACTIVE, '') else []
        name = self._bridge.strip('/')
        return found + [
            f'{status.name.removeprefix(name + ": ")}: {status.message}'
            for status in self._watch.troubles()
            if status.name.startswith(name)
        ]

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Set parameters by ``set_parameters_atomically``, one request after the other."""
        if not self._services.is_ready:
            done('the bridge has gone')
            return
        self._pending.append((dict(values), done))
        self._send()

    def _send(self) -> None:
        if self._busy_until or not self._pending:
            return
        self._busy_until = time.monotonic() + _PATIENCE
        request = self._pending[0]
        self._services.set_all(request[0], lambda reason: self._answered(request, reason))

    def _answered(self, request: tuple[dict[str, float], Done], reason: str) -> None:
        if not self._pending or self._pending[0] is not request:
            return  # given up meanwhile
        self._pending.pop(0)
        self._busy_until = 0.0
        request[1](reason)
        self._send()

    def _refuse_pending(self, reason: str) -> None:
        pending, self._pending, self._busy_until = self._pending, [], 0.0
        for _, done in pending:
            done(reason)

    def move(self, actuator: int, position: float) -> None:
        """Do nothing: it publishes no command."""


_KINDS = ('actuators', 'joints', 'commands')


class _Buffers:
    """The newest numbers of actuators, joints and commands."""

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        drivers: dict[str, Any] = {
            'driver_names': split_pairs('actuator_names', options.actuator_names),
            'units': DriverUnits(robot),
            'lost': robot.lost_actuators,
        }
        turns = TurnCounter(robot, options) if find_wrap_periods(robot, options) else None
        self.of = {
            'actuators': StateBuffer(robot.actuator_names, options, turns=turns, **drivers),
            'joints': StateBuffer(robot.joint_names, options),
            'commands': StateBuffer(robot.actuator_names, RECORDED, **drivers),
        }

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the units of the drivers."""
        for kind in ('actuators', 'commands'):
            self.of[kind].replace_units(DriverUnits(robot))


class _Services:
    """The parameter services of a node, asked without waiting."""

    def __init__(self, node: Any, name: str) -> None:
        services = ros_module('rcl_interfaces.srv')
        self._messages = ros_module('rcl_interfaces.msg')
        self._to_python = ros_module('rclpy.parameter').parameter_value_to_python
        self._list, self._get, self._set = (
            (kind, node.create_client(kind, f'{name}/{service}'))
            for kind, service in (
                (services.ListParameters, 'list_parameters'),
                (services.GetParameters, 'get_parameters'),
                (services.SetParametersAtomically, 'set_parameters_atomically'),
            )
        )

    @property
    def is_ready(self) -> bool:
        """Whether the node is there."""
        return all(client.service_is_ready() for _, client in (self._list, self._get, self._set))

    def ask_all(self, done: Callable[[dict[str, Any]], None]) -> None:
        """Ask for the numbers, the description and the options."""

        def listed(response: Any) -> None:
            found = [name for name in response.result.names if name.startswith(PREFIX)]
            names = [*found, _DESCRIPTION, *_OPTIONS]
            self._ask(
                self._get,
                {'names': names},
                lambda answer: done(
                    dict(zip(names, map(self._to_python, answer.values), strict=False))
                ),
            )

        self._ask(self._list, {}, listed)

    def set_all(self, values: Mapping[str, float], done: Done) -> None:
        """Set numbers, all or none."""
        parameters = [
            self._messages.Parameter(
                name=name,
                value=self._messages.ParameterValue(
                    type=self._messages.ParameterType.PARAMETER_DOUBLE, double_value=value
                ),
            )
            for name, value in values.items()
        ]

        def answered(response: Any) -> None:
            result = response.result
            done('' if result.successful else result.reason or 'refused without a reason')

        self._ask(self._set, {'parameters': parameters}, answered)

    def _ask(
        self,
        service: tuple[Any, Any],
        arguments: Mapping[str, Any],
        done: Callable[[Any], None],
    ) -> None:
        kind, client = service
        future = client.call_async(kind.Request(**arguments))
        future.add_done_callback(lambda each: done(each.result()))
