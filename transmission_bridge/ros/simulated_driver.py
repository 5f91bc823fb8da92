# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulated_driver`` replaces a robot driver in actuator space."""

from __future__ import annotations

from collections import deque
from dataclasses import fields, replace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

from transmission_bridge.bridge import DriverUnits
from transmission_bridge.bridge.options import BridgeOptions, PREFIX
from transmission_bridge.errors import (
    clipped,
    counted,
    DescriptionError,
    MessageError,
    shortened,
    TransmissionBridgeError,
    UnknownNameError,
)
from transmission_bridge.messages import fill_message, JointStateRecord, record_from_message
from transmission_bridge.ros import description_source
from transmission_bridge.ros.channels import describe_endpoint, report_bad_override
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.parameters import (
    accept_integers,
    declare_parameter,
    describe_unmatched_overrides,
    Parameters,
)
from transmission_bridge.ros.requests import guard_requests
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import RELIABLE
from transmission_bridge.sim import command_at, Driver, DriverSettings, MOTIONS, range_of
from transmission_bridge.transmissions import RobotTransmissions

# -- Parameters, declared from the table of settings ---------------------------------------------


_FIELDS = {setting.name: setting for setting in fields(DriverSettings)}
_OF_THE_BRIDGE = frozenset(option.name for option in fields(BridgeOptions))


def declare_settings(node: Node) -> DriverSettings:
    """
    Declare a parameter for every setting and return their values.

    :raises ParameterError: If the node was given a value that cannot be used.
    """
    values = {}
    for name, setting in _FIELDS.items():
        least, most = range_of(setting)
        descriptor = ParameterDescriptor(
            description=setting.metadata['description'],
            floating_point_range=[FloatingPointRange(from_value=least, to_value=most)],
        )
        declare_parameter(node, name, setting.default, descriptor)
        values[name] = node.get_parameter(name).value
    return DriverSettings(**values)


def change_settings(settings: DriverSettings, parameters: Parameters) -> DriverSettings:
    """
    Return the settings with the values of these parameters; other parameters are ignored.

    :raises ParameterError: If a value cannot be used.
    """
    return replace(
        settings, **{each.name: each.value for each in parameters if each.name in _FIELDS}
    )


# -- The mover of the demo -----------------------------------------------------------------------


#: Period of its commands [s], and number of remembered stamps of commands that the bridge may not
#: have answered yet.
_PERIOD, _REMEMBERED = 0.02, 500


class _Mover:
    """Commands the joints of the example arm until another node does."""

    def __init__(self, node: Node, steady: Clock) -> None:
        self._node, self._steady = node, steady
        self._timer: Any = None
        self._initial: dict[str, float] = {}
        self._stamps: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._publisher = node.create_publisher(JointState, 'joint_commands', 10)
        node.create_subscription(JointState, 'joint_states', self._start_moving, 10)

    def _start_moving(self, message: JointState) -> None:
        """Start from the present positions as soon as all joints of the arm are known."""
        positions = dict(zip(message.name, message.position, strict=False))
        if self._timer is None and MOTIONS.keys() <= positions.keys():
            self._initial = {name: positions[name] for name in MOTIONS}
            self._began = self._steady.now()
            self._timer = self._node.create_timer(
                _PERIOD, self._publish_motion, clock=self._steady
            )
            self._node.get_logger().info('moving the arm until another node commands it')

    def _publish_motion(self) -> None:
        command = command_at((self._steady.now() - self._began).nanoseconds * 1e-9, self._initial)
        message = JointState(name=list(MOTIONS))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.position = list(command['position'].values())
        message.velocity = list(command['velocity'].values())
        self._stamps.append(_choose_stamp(message))
        self._publisher.publish(message)

    def stop_if_overridden(self, command: JointState) -> None:
        """
        Stop when the bridge answers a command of another node, which has another stamp.

        A subscription to joint_commands would mislead a node that publishes one message there as
        soon as it finds a subscriber.
        """
        if (
            self._timer is None
            or self._timer.is_canceled()
            or _choose_stamp(command) in self._stamps
        ):
            return
        self._timer.cancel()
        self._node.get_logger().info('another node commands the joints: stopped moving')


def _choose_stamp(message: JointState) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


# -- The node ------------------------------------------------------------------------------------


class SimulatedDriver(Node):
    """
    Follows ``actuator_commands`` and publishes ``actuator_states`` at parameter ``rate``.

    The robot description, from the parameter ``robot_description`` or else from the topic, defines
    the actuators. The first usable description is kept. The plant runs by the steady clock;
    stamps are ROS time. Numbers are in the units of the actuators in the description. With the
    parameter ``move_demo`` the node also commands the joints of the demo.

    :param kwargs: Arguments of :class:`rclpy.node.Node`.
    :raises TransmissionBridgeError: If the parameter ``robot_description`` or another given value
        cannot be used.
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
            self._declare_fixed(
                'actuators',
                [],
                'Actuators that this driver drives; empty: all. The others may have drivers of '
                'their own.',
            )
        )
        moves = self._declare_fixed(
            'move_demo',
            False,
            'Whether the joints of the example arm move until another node commands them.',
        )
        self._mover = _Mover(self, self._steady) if moves else None
        with report_bad_override(self, 'actuator_states'):
            self._states = self.create_publisher(
                **describe_endpoint('actuator_states', quality=RELIABLE)
            )
        with report_bad_override(self, 'actuator_commands'):
            self._commands = self.create_subscription(
                callback=self._receive_command, **describe_endpoint('actuator_commands')
            )
        self._description = DescriptionSource(self, self._use_description)
        accept_integers(self)
        self.add_on_set_parameters_callback(self._check_driver_parameters)
        self.add_post_set_parameters_callback(self._apply_driver_parameters)
        guard_requests(self)
        for name, sentence in describe_unmatched_overrides(self).items():
            # A parameter file for all nodes ('/**') also has those of the bridge.
            if name not in _OF_THE_BRIDGE and not name.startswith(PREFIX):
                self.get_logger().warning(sentence)
        if self._description.urdf:
            self._start_drive(self._description.urdf)
        else:
            self.get_logger().info(f'waiting for a description on {self._description.origin}')

    def _declare_fixed(self, name: str, default: Any, description: str) -> Any:
        """Declare a read-only parameter, and return its value."""
        descriptor = ParameterDescriptor(description=description, read_only=True)
        declare_parameter(self, name, default, descriptor)
        return self.get_parameter(name).value

    # -- description -----------------------------------------------------------------------------

    def _use_description(self) -> None:
        if not self._description.urdf:
            return
        if self._driver is not None:
            self._log.warning(
                'description', 'another robot_description arrived; restart to use it'
            )
            return
        try:
            self._start_drive(self._description.urdf)
        except TransmissionBridgeError as error:
            self.get_logger().error(f'{self._description.origin}: {error}')

    def _start_drive(self, text: str) -> None:
        transmissions, names = self._read_robot(text)
        for finding in transmissions.findings:
            if finding.severity == 'error':
                self.get_logger().warning(clipped(str(finding)))
        self._robot_actuators = frozenset(transmissions.actuator_names)
        scales = DriverUnits(transmissions).scales
        if scales is not None:
            scales = scales[:, [transmissions.actuator_names.index(name) for name in names]]
        self._driver = Driver(names, self._settings, now=self._read_clock(), scales=scales)
        self._restart_timer()
        self.get_logger().info(
            clipped(f'driving {counted(len(names), "actuator")}: {", ".join(names)}')
        )

    def _read_robot(self, text: str) -> tuple[RobotTransmissions, tuple[str, ...]]:
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

    def _receive_command(self, message: JointState) -> None:
        if self._mover is not None:
            self._mover.stop_if_overridden(message)
        if self._driver is None:
            return
        try:
            unknown = self._driver.command(record_from_message(message), now=self._read_clock())
        except MessageError as error:
            self._log.warning(error.reason, f'actuator_commands: {error}; message rejected')
            return
        strangers = [name for name in unknown if name not in self._robot_actuators]
        if strangers:
            self._log.warning(
                'unknown', f'actuator_commands: unknown actuators: {shortened(strangers)}'
            )

    def _publish_states(self) -> None:
        if self._driver is not None:
            self._send(self._driver.sample(now=self._read_clock()))

    def _send(self, sample: JointStateRecord) -> None:
        message = JointState()
        stamp = self.get_clock().now().seconds_nanoseconds()
        fill_message(message, replace(sample, stamp=stamp))
        self._states.publish(message)

    def _read_clock(self) -> float:
        return self._steady.now().nanoseconds * 1e-9

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
        # Not the node's clock: simulated time may stand still or jump, a drive does not.
        self._timer = self.create_timer(
            1.0 / self._settings.rate, self._publish_states, clock=self._steady
        )

    # -- parameters ------------------------------------------------------------------------------

    def _check_driver_parameters(self, parameters: Parameters) -> SetParametersResult:
        try:
            change_settings(self._settings, parameters)
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
            self._read_robot(text)

    def _apply_driver_parameters(self, parameters: Parameters) -> None:
        before = self._settings
        self._settings = change_settings(before, parameters)
        if self._driver is not None and self._settings != before:
            self._driver.use(self._settings, now=self._read_clock())
            if self._settings.rate != before.rate:
                self._restart_timer()
        if any(parameter.name == description_source.PARAMETER for parameter in parameters):
            self._use_description()
