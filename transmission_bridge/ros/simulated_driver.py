# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulated_driver``, in place of a robot driver in actuator space."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.errors import (
    clipped,
    DescriptionError,
    MessageError,
    shortened,
    TransmissionBridgeError,
    UnknownNameError,
)
from transmission_bridge.messages.joint_state import (
    fill_message,
    JointStateRecord,
    record_from_message,
)
from transmission_bridge.ros import description_source
from transmission_bridge.ros.channels import endpoint, overriding
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.parameters import declare, refuse_removed, take_integers
from transmission_bridge.ros.requests import guard_requests
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import RELIABLE
from transmission_bridge.sim.demo_motion import command_at, MOTIONS
from transmission_bridge.sim.driver import Driver, DriverSettings, range_of, REMOVED
from transmission_bridge.transmissions import RobotTransmissions

# -- Parameters, declared from the table of settings ---------------------------------------------


_FIELDS = {setting.name: setting for setting in fields(DriverSettings)}


def declare_settings(node: Node) -> DriverSettings:
    """
    Declare a parameter for every setting and return their values.

    :raises ParameterError: If the node was given a value that cannot be used, or a parameter that
        was removed.
    """
    refuse_removed(node, REMOVED)
    values = {}
    for name, setting in _FIELDS.items():
        least, most = range_of(setting)
        descriptor = ParameterDescriptor(
            description=setting.metadata['description'],
            floating_point_range=[FloatingPointRange(from_value=least, to_value=most)],
        )
        declare(node, name, setting.default, descriptor)
        values[name] = node.get_parameter(name).value
    return DriverSettings(**values)


def changed_settings(
    settings: DriverSettings, parameters: Sequence[Parameter[Any]]
) -> DriverSettings:
    """
    Return the settings with the values of these parameters; others are ignored.

    :raises ParameterError: If a value cannot be used.
    """
    return replace(
        settings, **{each.name: each.value for each in parameters if each.name in _FIELDS}
    )


# -- The mover of the demo -----------------------------------------------------------------------


#: Period of its commands [s], and how many of their stamps are remembered, because the bridge may
#: not have answered them yet.
_PERIOD, _REMEMBERED = 0.02, 500


class _Mover:
    """Commands the joints of the example arm until another node does."""

    def __init__(self, node: Node, steady: Clock) -> None:
        self._node, self._steady = node, steady
        self._timer: Any = None
        self._start: dict[str, float] = {}
        self._stamps: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._publisher = node.create_publisher(JointState, 'joint_commands', 10)
        node.create_subscription(JointState, 'joint_states', self._take_state, 10)

    def _take_state(self, message: JointState) -> None:
        """Start from the present positions, once those of all joints of the arm are known."""
        positions = dict(zip(message.name, message.position, strict=False))
        if self._timer is None and MOTIONS.keys() <= positions.keys():
            self._start = {name: positions[name] for name in MOTIONS}
            self._began = self._steady.now()
            self._timer = self._node.create_timer(_PERIOD, self._move, clock=self._steady)
            self._node.get_logger().info('moving the arm, until somebody else commands it')

    def _move(self) -> None:
        command = command_at((self._steady.now() - self._began).nanoseconds * 1e-9, self._start)
        message = JointState(name=list(MOTIONS))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.position = list(command['position'].values())
        message.velocity = list(command['velocity'].values())
        self._stamps.append(_stamp(message))
        self._publisher.publish(message)

    def look(self, command: JointState) -> None:
        """
        Stop when the bridge answers a command of another node, which it tells by the stamp.

        A subscription of joint_commands would mislead a node that publishes there once, as soon
        as there is a subscriber.
        """
        if self._timer is None or self._timer.is_canceled() or _stamp(command) in self._stamps:
            return
        self._timer.cancel()
        self._node.get_logger().info('somebody else commands the joints: moving no more')


def _stamp(message: JointState) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


# -- The node ------------------------------------------------------------------------------------


class SimulatedDriver(Node):
    """
    Follows ``actuator_commands`` and publishes ``actuator_states`` at parameter ``rate``.

    The actuators are those of the robot description, from the parameter ``robot_description`` or
    else from the topic. The first usable description is kept. The plant runs by the steady clock;
    stamps are ROS time. Numbers are in the units that the description gives the actuators. With
    the parameter ``move_demo`` it also commands the joints of the demo.

    :param kwargs: What :class:`rclpy.node.Node` takes.
    :raises TransmissionBridgeError: If the parameter ``robot_description`` or another value given
        to the node cannot be used.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('simulated_driver', **kwargs)
        self._log = ThrottledLog(self)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._driver: Driver | None = None
        self._timer: Any = None
        self._robot_actuators: frozenset[str] = frozenset()
        self._settings = declare_settings(self)
        self._actuators = tuple(
            self._fixed(
                'actuators',
                [],
                'Actuators of the robot that this driver drives, all if empty: the others may '
                'have drivers of their own.',
            )
        )
        moves = self._fixed(
            'move_demo',
            False,
            'Whether the joints of the example arm are moved, until another node commands them.',
        )
        self._mover = _Mover(self, self._steady) if moves else None
        with overriding(self, 'actuator_states'):
            self._states = self.create_publisher(**endpoint('actuator_states', quality=RELIABLE))
        with overriding(self, 'actuator_commands'):
            self._commands = self.create_subscription(
                callback=self._take_command, **endpoint('actuator_commands')
            )
        self._description = DescriptionSource(self, self._description_arrived)
        take_integers(self)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        guard_requests(self)
        if self._description.text:
            self._start(self._description.text)
        else:
            self.get_logger().info(f'waiting for a description on {self._description.place}')

    def _fixed(self, name: str, default: Any, description: str) -> Any:
        """Declare a parameter that stays as it was given, and return its value."""
        descriptor = ParameterDescriptor(description=description, read_only=True)
        declare(self, name, default, descriptor)
        return self.get_parameter(name).value

    # -- description -----------------------------------------------------------------------------

    def _description_arrived(self) -> None:
        if not self._description.text:
            return
        if self._driver is not None:
            self._log.warning(
                'description', 'another robot_description arrived; restart to use it'
            )
            return
        try:
            self._start(self._description.text)
        except TransmissionBridgeError as error:
            self.get_logger().error(f'{self._description.place}: {error}')

    def _start(self, text: str) -> None:
        transmissions, names = self._read(text)
        for finding in transmissions.findings:
            if finding.severity == 'error':
                self.get_logger().warning(clipped(str(finding)))
        self._robot_actuators = frozenset(transmissions.actuator_names)
        scales = DriverUnits(transmissions).scales
        if scales is not None:
            scales = scales[:, [transmissions.actuator_names.index(name) for name in names]]
        self._driver = Driver(names, self._settings, now=self._now(), scales=scales)
        self._restart_timer()
        self.get_logger().info(clipped(f'driving {len(names)} actuators: {", ".join(names)}'))

    def _read(self, text: str) -> tuple[RobotTransmissions, tuple[str, ...]]:
        """Return the robot, and the actuators to drive in its order."""
        transmissions = RobotTransmissions(description_source.read_description(text))
        names = transmissions.actuator_names
        if not names:
            raise DescriptionError('nothing to drive: the robot has no usable actuator')
        for name in self._actuators:
            if name not in names:
                raise UnknownNameError('actuator', name, names)
        wanted = self._actuators or names
        return transmissions, tuple(name for name in names if name in wanted)

    # -- messages --------------------------------------------------------------------------------

    def _take_command(self, message: JointState) -> None:
        if self._mover is not None:
            self._mover.look(message)
        if self._driver is None:
            return
        try:
            unknown = self._driver.command(record_from_message(message), now=self._now())
        except MessageError as error:
            self._log.warning(error.reason, f'actuator_commands: {error}; message refused')
            return
        strangers = [name for name in unknown if name not in self._robot_actuators]
        if strangers:
            self._log.warning(
                'unknown', f'actuator_commands: no actuators of this robot: {shortened(strangers)}'
            )

    def _publish(self) -> None:
        if self._driver is not None:
            self._send(self._driver.sample(now=self._now()))

    def _send(self, sample: JointStateRecord) -> None:
        message = JointState()
        stamp = self.get_clock().now().seconds_nanoseconds()
        fill_message(message, replace(sample, stamp=stamp))
        self._states.publish(message)

    def _now(self) -> float:
        return self._steady.now().nanoseconds * 1e-9

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
        # Not the node's clock: simulated time may stand still or jump, but a drive does not.
        self._timer = self.create_timer(
            1.0 / self._settings.rate, self._publish, clock=self._steady
        )

    # -- parameters ------------------------------------------------------------------------------

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        try:
            changed_settings(self._settings, parameters)
            for parameter in parameters:
                if parameter.name == description_source.PARAMETER:
                    self._check_description(parameter.value)
        except TransmissionBridgeError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check_description(self, text: str) -> None:
        if self._driver is not None:
            raise DescriptionError('the drive is running; restart it to use another description')
        if text:
            self._read(text)

    def _apply_parameters(self, parameters: Sequence[Parameter[Any]]) -> None:
        before = self._settings
        self._settings = changed_settings(before, parameters)
        if self._driver is not None and self._settings != before:
            self._driver.use(self._settings, now=self._now())
            if self._settings.rate != before.rate:
                self._restart_timer()
        if any(parameter.name == description_source.PARAMETER for parameter in parameters):
            self._description_arrived()
