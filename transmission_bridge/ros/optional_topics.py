# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Create the optional topics: sensors, arrays, single interfaces and trajectories."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from transmission_bridge.bridge import DriverNames, Gate, Plan, SINGLE_TOPICS, Stamp
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import SensorPath
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import (
    count_waypoints,
    fill_trajectory,
    JointStateEncoder,
    JointStateRecord,
    Layout,
    LayoutTable,
    record_from_joint_command,
    trajectory_from_message,
    TrajectoryRecord,
)
from transmission_bridge.ros.channels import InputTopics, OutputTopics, TakeJointState
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

# -- Absolute encoders and torque sensors --------------------------------------------------------


_ABSOLUTE = 'actuator_absolute_positions'

#: Input topic, output topic, interface, and its field in the messages.
_KINDS = (
    (_ABSOLUTE, 'joint_absolute_positions', 'absolute_position', 'position'),
    ('actuator_torque_sensors', 'joint_torque_sensors', 'torque', 'effort'),
)


class SensorTopics:
    """
    Topics of absolute encoders and torque sensors; each driver has inputs in its namespace.

    :param drivers: Names and namespaces of the drivers.
    :param actuator_position: Returns the actuators' positions at a time [s].
    :param take_absolute: Called with the absolute positions of the actuators, at a time [s].
    """

    def __init__(
        self,
        inputs: InputTopics,
        outputs: OutputTopics,
        robot: RobotTransmissions,
        options: BridgeOptions,
        drivers: DriverNames,
        *,
        actuator_position: Callable[[float], Array],
        take_absolute: Callable[[Array, float], None],
    ) -> None:
        self._take_absolute = take_absolute
        self._actuator_position = actuator_position
        self._encoder = JointStateEncoder()
        self.paths: dict[str, SensorPath] = {}
        self._outputs = {}
        for source, target, interface, field in _KINDS:
            names = drivers.find_topic_entries(source)
            self.paths[source] = SensorPath(robot, interface, field, options, driver_names=names)
            self._outputs[source] = outputs.add_publisher(target)
            # Also without a namespace, because another node may read the sensors.
            for namespace in dict.fromkeys(('', *drivers.namespaces)):
                name = f'{namespace}{source}'
                take = partial(self._map_sensor, source)
                inputs.subscribe_joint_states(source, take, name=name)

    def replace_sensor_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages."""
        for path in self.paths.values():
            path.replace_robot(robot)

    def reset_sensors(self) -> None:
        """Forget every measurement."""
        for path in self.paths.values():
            path.reset()

    def record_time(self, now: float) -> None:
        """Forget every measurement if time went backwards."""
        for path in self.paths.values():
            path.record_time(now)

    def find_absolute_positions(self, now: float, max_age: float) -> Array:
        """Return absolute joint positions; see :meth:`SensorPath.find_joint_values`."""
        path = self.paths[_ABSOLUTE]
        return path.find_joint_values(self._actuator_position(now), now, max_age)

    def _map_sensor(
        self,
        source: str,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str,
    ) -> None:
        position = self._actuator_position(now)
        path = self.paths[source]
        joints = path.map_sensors(layout, data, position, stamp, now, topic)
        if source == _ABSOLUTE:
            absolute = path.find_actuator_values(now, max_age=0.0)
            self._take_absolute(absolute, now)
        if joints is not None:
            self._outputs[source].publish(self._encoder.encode_record(joints))


# -- Commands as plain arrays, as in forward_command_controller ----------------------------------


def subscribe_joint_arrays(
    inputs: InputTopics, joints: Sequence[str], take: Callable[[str, str, Array, float], None]
) -> tuple[str, ...]:
    """
    Subscribe to ``position_commands``, ``velocity_commands`` and ``effort_commands``.

    Only the data are used, because publishers fill the layout of the message differently.

    :param joints: Order of the values; if empty, the topics do not exist.
    :param take: Called with topic, interface, values and time of receipt; may raise
        :class:`MessageError`.
    :returns: The subscribed topics.
    """

    def receive_array(topic: str, interface: str, message: Float64MultiArray, now: float) -> None:
        take(topic, interface, np.array(message.data, dtype=np.float64), now)

    topics = {f'{interface}_commands': interface for interface in FIELDS} if joints else {}
    for topic, interface in topics.items():
        inputs.subscribe_commands(topic, partial(receive_array, topic, interface))
    return tuple(topics)


def subscribe_joint_commands(
    inputs: InputTopics,
    robot: RobotTransmissions,
    take: TakeJointState,
) -> tuple[tuple[str, ...], str]:
    """
    Subscribe to ``joint_commands/position``, ``joint_commands/velocity`` and so on.

    They exist if a hardware component of the robot publishes them and the message is installed.

    :param take: Called with each message.
    :returns: The subscribed topics, and a sentence with the package to install (empty if the
        message is installed).
    """
    plugins = [each.plugin for each in robot.description.blocks if each.publishes_joint_commands]
    if not plugins:
        return (), ''
    try:
        found = hasattr(import_module('control_msgs.msg'), 'JointCommand')
    except ImportError:
        found = False
    if not found:
        return (), (
            f'the commands of {plugins[0]} are not read: install the package control_msgs in '
            'a version that has the message JointCommand'
        )
    layouts = LayoutTable()

    def receive_single(topic: str, interface: str, message: Any, now: float) -> None:
        record = record_from_joint_command(message, interface)
        layout = layouts.find_layout(record.names, record.lengths)
        take(layout, record, inputs.replace_stamp(topic, record.stamp, now), now, topic)

    for topic, interface in SINGLE_TOPICS.items():
        inputs.subscribe_commands(topic, partial(receive_single, topic, interface))
    return tuple(SINGLE_TOPICS), ''


# -- Trajectories --------------------------------------------------------------------------------


TRAJECTORY_TOPIC = 'joint_trajectory'


def subscribe_trajectories(inputs: InputTopics, gate: Gate, ros_time: Callable[[], Stamp]) -> None:
    """
    Subscribe to joint trajectories.

    :param gate: Maps and sends the trajectories.
    :param ros_time: Returns the time of the clock of stamps.
    """

    def check_waypoints(data: bytes) -> None:
        # Checked before the decoding, which takes longer than the mapping.
        gate.plan.reader.check_waypoint_count(count_waypoints(data))

    def map_trajectory(message: JointTrajectory, now: float) -> None:
        trajectory = trajectory_from_message(message)
        delay = 0.0
        if trajectory.stamp != (0, 0):
            seconds, nanoseconds = (
                a - b for a, b in zip(trajectory.stamp, ros_time(), strict=True)
            )
            delay = seconds + nanoseconds * 1e-9
        gate.send_joint_trajectory(trajectory, now, now + delay)

    inputs.subscribe_commands(TRAJECTORY_TOPIC, map_trajectory, check_waypoints)


# -- Messages to the drivers ---------------------------------------------------------------------


def add_driver_senders(outputs: OutputTopics, plan: Plan) -> None:
    """Add publishers of the messages to the drivers."""
    makers: dict[str, Callable[[Any], Any]] = {'actuator_trajectory': _make_trajectory}
    makers |= dict.fromkeys((f'actuator_{each}_commands' for each in FIELDS), _make_array)
    for topic in ('actuator_commands', *makers):
        is_array = makers.get(topic) is _make_array
        namespaces = tuple(plan.orders) if is_array else plan.drivers.namespaces
        for namespace, publisher in outputs.add_driver_publishers(topic, namespaces).items():
            publish = publisher.publish
            if topic in makers:
                publish = partial(_publish_content, publish, makers[topic])
            outputs.senders[f'{namespace}{topic}'] = publish


def _publish_content(
    publish: Callable[[Any], object], make: Callable[[Any], Any], content: Any
) -> None:
    publish(make(content))


def _make_array(values: Array) -> Float64MultiArray:
    return Float64MultiArray(data=array('d', values.tobytes()))


def _make_trajectory(record: TrajectoryRecord) -> JointTrajectory:
    message = JointTrajectory()
    fill_trajectory(message, record, JointTrajectoryPoint)
    return message
