# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The node ``driver_node``: a driver in Python on topics, for a bridge in another process.

``driver_node`` in ``ros.main`` makes it. Its parameters and topics are public. The driver runs in
a thread of its own, all callbacks in the one thread of the executor.
"""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from transmission_bridge.bridge.options import COMMAND_TIMEOUT
from transmission_bridge.drivers import DriverError
from transmission_bridge.errors import MessageError, shortened, shown, TransmissionBridgeError
from transmission_bridge.ros import description_source
from transmission_bridge.ros.channels import (
    describe_ros_endpoint,
    report_bad_qos_override,
    subscribe_bytes,
)
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.hosting import COMMANDS, find_chosen_drivers, HostedDrivers, STATES
from transmission_bridge.ros.parameters import declare_parameter
from transmission_bridge.ros.requests import guard_service_requests
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import RELIABLE
from transmission_bridge.transmissions import RobotTransmissions


class DriverNode(Node):
    """
    Runs the driver of a block on ``actuator_states`` and ``actuator_commands``.

    The driver is configured and activated when there is a description, and deactivated at the end.
    Trajectories are for hosted drivers only.

    :param kwargs: Arguments of :class:`rclpy.node.Node`.
    :raises TransmissionBridgeError: If the description that is given cannot be used, or the driver
        cannot be configured or activated.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('driver_node', **kwargs)
        self._log = ThrottledLog(self)
        text = 'Name of the <ros2_control> block; empty: the only one with a driver in Python.'
        declare_parameter(self, 'block', '', text, read_only=True)
        text = 'Driver to use instead of the hardware plugin in the URDF.'
        declare_parameter(self, 'plugin', '', text, read_only=True)
        text = 'Seconds after the last message of commands at which velocities end.'
        declare_parameter(self, 'command_timeout', COMMAND_TIMEOUT, text, read_only=True)
        #: The active driver; ``None`` until there is a usable description.
        self._hosted: HostedDrivers | None = None
        with report_bad_qos_override(self, STATES):
            self._states = self.create_publisher(**describe_ros_endpoint(STATES, quality=RELIABLE))
        subscribe_bytes(self, COMMANDS, self._receive_command)
        self._description = DescriptionSource(self, self._start_safely)
        guard_service_requests(self)
        if self._description.urdf:
            self._start_driver(self._description.urdf)
        else:
            self.get_logger().info(f'waiting for a description on {self._description.origin}')

    # -- life ------------------------------------------------------------------------------------

    def _start_safely(self) -> None:
        if self._hosted is not None or not self._description.urdf:
            return
        try:
            self._start_driver(self._description.urdf)
        except TransmissionBridgeError as error:
            self._log.error('description', f'{error}; waiting for another description')

    def _start_driver(self, urdf: str) -> None:
        robot = RobotTransmissions(description_source.read_description_text(urdf))
        parameters = self.get_parameters(['block', 'plugin', 'command_timeout'])
        block, plugin, limit = (parameter.value for parameter in parameters)
        drivers = find_chosen_drivers(robot, {block or '*': plugin} if plugin else {})
        chosen = [(STATES, *driver) for name, driver in drivers.items() if block in ('', name)]
        if not chosen:
            raise DriverError(
                f'block {shown(block)}: expected a block with a driver in Python, found '
                f'{shortened(list(drivers)) or "none"}'
            )
        hosted = HostedDrivers(self, self._log, chosen, command_timeout=limit)
        try:
            hosted.start('configure')
            hosted.start('activate')
        except BaseException:
            hosted.end()
            raise
        for driver in hosted:
            driver.copies = {STATES: self._states}
        self._hosted = hosted
        names = [name for driver in hosted for name in driver.host.names]
        self.get_logger().info(f'the driver is active: {shortened(names)}')

    def shut_down(self) -> None:
        """Deactivate and clean up the driver; the program calls it at its end."""
        if self._hosted is not None:
            self._hosted.end()

    # -- messages --------------------------------------------------------------------------------

    def _receive_command(self, data: bytes) -> None:
        try:
            for driver in self._hosted or ():
                driver.send_command(data)
        except MessageError as error:
            self._log.warning(error.reason, f'{COMMANDS}: {error}; message dropped')
