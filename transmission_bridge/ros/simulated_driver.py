# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulated_driver``, in place of a robot driver in actuator space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
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
from transmission_bridge.messages.joint_state import fill_message, record_from_message
from transmission_bridge.ros import description_source
from transmission_bridge.ros.channels import endpoint, overriding
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.parameters import declare, take_integers
from transmission_bridge.ros.requests import guard_requests
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import RELIABLE
from transmission_bridge.sim import Driver, DriverSettings
from transmission_bridge.sim.driver import parameter_name_of, range_of
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['SimulatedDriver', 'changed_settings', 'declare_actuators', 'declare_settings']


# -- Parameters, declared from the table of settings ---------------------------------------------


_FIELDS = {parameter_name_of(setting): setting for setting in fields(DriverSettings)}


def declare_settings(node: Node) -> DriverSettings:
    """
    Declare a parameter for every setting and return their values.

    :raises ParameterError: If the node was given a value that cannot be used.
    """
    values = {}
    for name, setting in _FIELDS.items():
        descriptor = ParameterDescriptor(description=setting.metadata['description'])
        span = range_of(setting)
        if span is not None and isinstance(setting.default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=span[0], to_value=span[1])
            ]
        elif span is not None:
            descriptor.integer_range = [IntegerRange(from_value=span[0], to_value=span[1], step=1)]
        declare(node, name, setting.default, descriptor)
        values[setting.name] = node.get_parameter(name).value
    return DriverSettings(**values)


def declare_actuators(node: Node) -> tuple[str, ...]:
    """
    Declare ``actuators`` and return its value; empty means all.

    :raises ParameterError: If the node was given something else than a list of texts.
    """
    descriptor = ParameterDescriptor(
        description='Actuators of the robot that this driver drives, all if empty: the others may '
        'have drivers of their own.',
        read_only=True,
    )
    declare(node, 'actuators', [], descriptor)
    return tuple(node.get_parameter('actuators').value)


def changed_settings(
    settings: DriverSettings, parameters: Sequence[Parameter[Any]]
) -> DriverSettings:
    """
    Return the settings with the values of these parameters; others are ignored.

    :raises ParameterError: If a value cannot be used.
    """
    return replace(
        settings,
        **{
            _FIELDS[parameter.name].name: parameter.value
            for parameter in parameters
            if parameter.name in _FIELDS
        },
    )


# -- The node ------------------------------------------------------------------------------------


class SimulatedDriver(Node):
    """
    Follows ``actuator_commands`` and publishes ``actuator_states`` at parameter ``rate``.

    The actuators are those of the robot description, from the parameter ``robot_description`` or
    else from the topic. The first usable description is kept. The plant runs by the steady clock;
    stamps are ROS time. Numbers are in the units that the description gives the actuators.

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
        self._actuators = declare_actuators(self)
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
        record = self._driver.sample(now=self._now()) if self._driver is not None else None
        if record is not None:
            message = JointState()
            stamp = self.get_clock().now().seconds_nanoseconds()
            fill_message(message, replace(record, stamp=stamp))
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
