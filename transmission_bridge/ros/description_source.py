# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the robot's description comes from: a parameter, else a latched topic."""

from __future__ import annotations

from collections.abc import Callable

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from std_msgs.msg import String

from transmission_bridge.description import load_description
from transmission_bridge.description.source import MAX_BYTES
from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import DescriptionError, MessageError
from transmission_bridge.ros.declaring import declare
from transmission_bridge.ros.joint_state_input import deserialized
from transmission_bridge.ros.qos import DESCRIPTION, overridable, overriding
from transmission_bridge.ros.throttled_log import ThrottledLog

__all__ = ['PARAMETER', 'DescriptionSource', 'read_description']

PARAMETER = 'robot_description'

#: Bytes of a message whose text is not too long for a description.
_LARGEST = MAX_BYTES + 64


def read_description(text: str) -> RobotDescription:
    """
    Read a description that came in as a parameter or a message.

    :raises DescriptionError: If it cannot be read. What could be the path of a file is refused:
        whoever can publish must not choose what is opened here.
    """
    if '<' not in text:
        raise DescriptionError(
            'this is not a robot description', expected='XML', found=repr(text[:40])
        )
    return load_description(text)


class DescriptionSource:
    """
    The newest description; the parameter wins over the topic while it is not empty.

    :param node: The node to declare the parameter on and to subscribe with.
    :param arrived: Called when another description has arrived on the topic.
    """

    def __init__(self, node: Node, arrived: Callable[[], None]) -> None:
        self._node = node
        self._arrived = arrived
        self._log = ThrottledLog(node)
        # As bytes: characters would take up to four times as many.
        self._received = ''
        declare(
            node,
            PARAMETER,
            '',
            ParameterDescriptor(
                description='URDF text of the robot. If empty, the topic robot_description is '
                'used. Can be set while the node is unconfigured.'
            ),
        )
        with overriding('robot_description'):
            self._subscription = node.create_subscription(
                String,
                'robot_description',
                self._on_description,
                raw=True,
                **overridable(DESCRIPTION),
            )

    @property
    def text(self) -> str:
        """The description, empty while there is none."""
        return str(self._node.get_parameter(PARAMETER).value) or self._received

    @property
    def place(self) -> str:
        """Where the description comes from, for a sentence."""
        if self._node.get_parameter(PARAMETER).value:
            return f'parameter {PARAMETER}'
        return f'topic {self._subscription.topic_name}'

    def _on_description(self, data: bytes) -> None:
        try:
            if len(data) > _LARGEST:
                raise MessageError('too_large', f'{len(data)} bytes, expected at most {_LARGEST}')
            received = deserialized(data, String).data
        except MessageError as error:
            self._log.warning(error.reason, f'{self.place}: {error}; message dropped')
            return
        before = self.text
        self._received = received
        if self.text != before:
            self._arrived()
