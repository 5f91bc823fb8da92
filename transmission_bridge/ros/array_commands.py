# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands as plain arrays: to joints as forward_command_controller has them, and to actuators."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from std_msgs.msg import Float64MultiArray

from transmission_bridge.bridge.actuator_arrays import ActuatorArrays, check_order
from transmission_bridge.bridge.command_plan import command_names
from transmission_bridge.bridge.driver_names import DriverNames
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.ros.inputs import Inputs
from transmission_bridge.ros.outputs import Outputs
from transmission_bridge.ros.qos import COMMAND_INPUT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['ActuatorArrayOutputs', 'JointArrayInputs']


class JointArrayInputs:
    """
    ``position_commands``, ``velocity_commands`` and ``effort_commands``.

    Only the numbers count: nobody agrees on what the layout of the message says.

    :param joints: Their order; without any there are no such topics.
    :param take: Called with topic, interface, values and time of receipt; may raise
        :class:`MessageError`.
    :ivar topics: The topics that there are.
    :raises ParameterError: If a joint may not be commanded or stands there twice.
    """

    def __init__(
        self,
        inputs: Inputs,
        robot: RobotTransmissions,
        joints: Sequence[str],
        take: Callable[[str, str, Array, float], None],
    ) -> None:
        commandable = tuple(command_names(robot).commandable)
        kind = 'joint that may be commanded'
        check_order('command_joints', joints, commandable, kind, robot.lost_joints)
        self._take = take
        topics = {f'{interface}_commands': interface for interface in FIELDS} if joints else {}
        self.topics = tuple(topics)
        for topic, interface in topics.items():
            receive = partial(self._receive, topic, interface)
            inputs.typed(Float64MultiArray, topic, COMMAND_INPUT, receive)

    def _receive(self, topic: str, interface: str, message: Float64MultiArray, now: float) -> None:
        self._take(topic, interface, np.array(message.data, dtype=np.float64), now)


class ActuatorArrayOutputs:
    """
    ``actuator_position_commands``, and the same of velocity and effort, for each driver.

    :param actuators: Their order; a driver without any of them has no such topics.
    :param drivers: Tells whose they are.
    :raises ParameterError: If an actuator is not there or stands there twice.
    """

    def __init__(
        self,
        outputs: Outputs,
        robot: RobotTransmissions,
        actuators: Sequence[str],
        drivers: DriverNames,
    ) -> None:
        known, kind = robot.actuator_names, 'actuator of the robot'
        check_order('command_actuators', actuators, known, kind, robot.lost_actuators)
        orders: dict[str, list[str]] = {}
        for actuator in actuators:
            orders.setdefault(drivers.namespace(actuator), []).append(actuator)
        publishers = {
            interface: outputs.add_for_drivers(
                Float64MultiArray, f'actuator_{interface}_commands', orders
            )
            for interface in FIELDS
        }
        self._arrays = [
            (ActuatorArrays(order), {field: publishers[field][namespace] for field in FIELDS})
            for namespace, order in orders.items()
        ]

    def reset(self) -> None:
        """Forget every command."""
        for arrays, _ in self._arrays:
            arrays.reset()

    def send(self, messages: Sequence[JointStateRecord], now: float) -> None:
        """Publish the arrays that go with the messages of one command of a time [s]."""
        for arrays, publishers in self._arrays:
            for interface, values in arrays.update(messages, now):
                data = array('d', values.tobytes())
                publishers[interface].publish(Float64MultiArray(data=data))

    def end_at(
        self, actuators: Sequence[str], position: Array, *, now: float, until: float
    ) -> None:
        """Take note of where a trajectory ends; see :meth:`ActuatorArrays.end_at`."""
        for arrays, _ in self._arrays:
            arrays.end_at(actuators, position, now=now, until=until)
