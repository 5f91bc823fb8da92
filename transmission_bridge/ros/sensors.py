# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Topics of absolute encoders and torque sensors, as ROS 1's transmission_interface has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sensor_msgs.msg import JointState

from transmission_bridge.bridge.driver_names import DriverNames
from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.sensors import SensorPath
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateData
from transmission_bridge.messages.layout import Layout
from transmission_bridge.ros.inputs import Inputs
from transmission_bridge.ros.outputs import Outputs
from transmission_bridge.ros.qos import STATE_INPUT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['Sensors']

#: Input topic, output topic, interface, and the field of the messages that holds it.
_KINDS = (
    ('actuator_absolute_positions', 'joint_absolute_positions', 'absolute_position', 'position'),
    ('actuator_torque_sensors', 'joint_torque_sensors', 'torque', 'effort'),
)


class Sensors:
    """
    The topics around the two :class:`SensorPath`; the inputs in the namespace of each driver.

    :param drivers: Tells their names and namespaces.
    :param actuator_position: Gives the actuators' positions at a time [s].
    :param stamp: Gives the stamp that counts, as :meth:`StampJudge.judge` does.
    """

    def __init__(
        self,
        inputs: Inputs,
        outputs: Outputs,
        robot: RobotTransmissions,
        options: BridgeOptions,
        drivers: DriverNames,
        *,
        actuator_position: Callable[[float], Array],
        stamp: Callable[[str, Stamp, float], Stamp],
    ) -> None:
        self._actuator_position = actuator_position
        self._stamp = stamp
        self._encoder = JointStateEncoder()
        self.paths: dict[str, SensorPath] = {}
        self._outputs = {}
        for source, target, interface, field in _KINDS:
            self.paths[source] = SensorPath(
                robot,
                interface,
                field,
                actuator_names=drivers.on_topic(source),
                timeout=options.state_timeout,
            )
            self._outputs[source] = outputs.add(JointState, target)
            # That of the bridge in any case: sensors may be read by somebody else than drives.
            for namespace in dict.fromkeys(('', *drivers.namespaces)):
                topic = f'{namespace}{source}'
                inputs.joint_state(topic, STATE_INPUT, partial(self._take, source, topic))

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages."""
        for path in self.paths.values():
            path.use(robot)

    def reset(self) -> None:
        """Forget everything that sensors have said."""
        for path in self.paths.values():
            path.reset()

    def _take(
        self, source: str, topic: str, layout: Layout, data: JointStateData, now: float
    ) -> None:
        stamp = self._stamp(topic, data.stamp, now)
        position = self._actuator_position(now)
        joints = self.paths[source].map(layout, data, position, stamp, now, topic)
        if joints is not None:
            self._outputs[source].publish(self._encoder.encode(joints))
