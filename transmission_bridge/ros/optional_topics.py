# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Create the optional topics: sensors, arrays, single interfaces and trajectories."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from transmission_bridge.bridge import Bridge, Gate, Plan, SINGLE_TOPICS, Stamp
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
from transmission_bridge.ros.channels import (
    check_separate_topics,
    InputTopics,
    OutputTopics,
    TakeJointState,
)
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

    :param bridge: Knows the positions of the actuators, and uses their absolute positions.
    """

    def __init__(
        self,
        inputs: InputTopics,
        outputs: OutputTopics,
        robot: RobotTransmissions,
        bridge: Bridge,
    ) -> None:
        self._bridge = bridge
        drivers, options = bridge.plan.drivers, bridge.plan.options
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
        return path.find_joint_values(self._bridge.states.read_values(now)[0], now, max_age)

    def _map_sensor(
        self,
        source: str,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str,
    ) -> None:
        states, path = self._bridge.states, self.paths[source]
        joints = path.map_sensors(layout, data, states.read_values(now)[0], stamp, now, topic)
        if source == _ABSOLUTE:
            absolute = path.find_actuator_values(now, max_age=0.0)
            states.use_absolute_positions(absolute, now)
        if joints is not None:
            self._outputs[source].publish(self._encoder.encode_record(joints))


# -- Commands as plain arrays, as in forward_command_controller ----------------------------------


def subscribe_joint_arrays(
    inputs: InputTopics, gate: Gate, ros_time: Callable[[], Stamp]
) -> tuple[str, ...]:
    """
    Subscribe to ``position_commands``, ``velocity_commands`` and ``effort_commands``.

    Only the data are used, because publishers fill the layout of the message differently.

    The topics do not exist without ``command_joints``, the order of the values.

    :param gate: Maps and sends the values.
    :param ros_time: Returns the time of the clock of stamps.
    :returns: The subscribed topics.
    """

    def receive_array(topic: str, interface: str, message: Float64MultiArray, now: float) -> None:
        values = np.array(message.data, dtype=np.float64)
        gate.send_interface_command(topic, interface, values, ros_time(), now)

    topics = {}
    if gate.plan.options.command_joints:
        topics = {f'{interface}_commands': interface for interface in FIELDS}
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
    plugins = [b.plugin for b in robot.description.blocks if b.publishes_joint_commands]
    if not plugins:
        return (), ''
    is_installed = False
    with suppress(ImportError):
        is_installed = hasattr(import_module('control_msgs.msg'), 'JointCommand')
    if not is_installed:
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
        gate.send_joint_trajectory(trajectory, now, now + compute_delay(trajectory, ros_time()))

    inputs.subscribe_commands(TRAJECTORY_TOPIC, map_trajectory, check_waypoints)


def compute_delay(trajectory: TrajectoryRecord, now: Stamp) -> float:
    """Return the time until a trajectory starts [s]: at its stamp, or at once without a stamp."""
    if trajectory.stamp == (0, 0):
        return 0.0
    return trajectory.stamp[0] - now[0] + (trajectory.stamp[1] - now[1]) * 1e-9


# -- Messages to the drivers ---------------------------------------------------------------------


def add_driver_senders(node: Node, outputs: OutputTopics, plan: Plan) -> None:
    """
    Add publishers of the messages to the drivers.

    :raises ParameterError: If two of the topics are one topic after remapping.
    """

    def publish_array(publish: Callable[[Any], object], values: Array) -> None:
        publish(Float64MultiArray(data=array('d', values.tobytes())))

    def publish_trajectory(publish: Callable[[Any], object], record: TrajectoryRecord) -> None:
        message = JointTrajectory()
        fill_trajectory(message, record, JointTrajectoryPoint)
        publish(message)

    own, ordered = plan.drivers.namespaces, tuple(plan.orders)
    for topic, namespaces, adapt in (
        ('actuator_commands', own, None),
        ('actuator_trajectory', own, publish_trajectory),
        *((f'actuator_{field}_commands', ordered, publish_array) for field in FIELDS),
    ):
        names = [f'{namespace}{topic}' for namespace in namespaces]
        check_separate_topics(node, names)
        for name in names:
            publish: Callable[[Any], object] = outputs.add_publisher(topic, name=name).publish
            outputs.senders[name] = publish if adapt is None else partial(adapt, publish)
