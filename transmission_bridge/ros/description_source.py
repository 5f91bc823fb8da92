# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Receive the robot description: from a parameter, else from a latched topic.

Each node owns one, and reads the text when it is configured or starts its driver. Parameter and
topic are public, as in robot_state_publisher; the last message is the only memory.
"""

from __future__ import annotations

from collections.abc import Callable
import re

from rclpy.node import Node
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from transmission_bridge.description import load_description, RobotDescription
from transmission_bridge.description.document import MAX_BYTES
from transmission_bridge.errors import clipped, counted, DescriptionError, MessageError, shortened
from transmission_bridge.ros.channels import (
    describe_ros_endpoint,
    deserialize_bytes,
    subscribe_bytes,
)
from transmission_bridge.ros.parameters import declare_parameter
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import describe_incompatible_peers, list_publishers

PARAMETER = 'robot_description'

_TYPE = 'std_msgs/msg/String'

#: Maximum size of a message [bytes]: the longest description and its header.
_LARGEST = MAX_BYTES + 64

#: A text that is the path of a file.
_PATH = re.compile(r'([/~.]|file:|package:).*|.*\.(urdf|xacro|xml|sdf)', re.IGNORECASE)
_LONGEST_PATH, _LONGEST_SHOWN = 4096, 200


def read_description_text(text: str) -> RobotDescription:
    """
    Read a description from a parameter or a message.

    :raises DescriptionError: If it cannot be read. A text that could be the path of a file is
        rejected: a publisher must not choose which files are opened.
    """
    if '<' not in text and (words := text.strip()):
        if len(words) < _LONGEST_PATH and _PATH.fullmatch(words):
            raise DescriptionError(
                'this is a path, not a robot description: use --urdf FILE (nodes) or '
                'robot_description_file:=FILE (launch files)',
                expected='XML',
                found=clipped(repr(words), _LONGEST_SHOWN),
            )
        raise DescriptionError(
            'this is not a robot description', expected='XML', found=repr(text[:40])
        )
    return load_description(text)


class DescriptionSource:
    """
    The latest description; the topic is used while the parameter is empty.

    The bridge's node handles changes of the parameter itself.

    :param node: The node of the parameter and the subscription.
    :param arrived: Called when the topic has another description.
    """

    def __init__(self, node: Node, arrived: Callable[[], None]) -> None:
        self._node = node
        self._arrived = arrived
        self._log = ThrottledLog(node)
        # Text of the last message, and whether it was received and empty.
        self._received = ''
        self._is_empty = False
        text = 'URDF text of the robot. If empty, the topic robot_description is used. Can be set '
        text += 'while the node is unconfigured.'
        declare_parameter(node, PARAMETER, '', text)
        self._subscription = subscribe_bytes(node, PARAMETER, self._receive_message)

    def wait_for_message(self, seconds: float) -> None:
        """
        Wait for a description on the topic: a latched one may not have arrived yet.

        Other callbacks of the node wait as well; only the configuration calls it.
        """
        qos = describe_ros_endpoint(PARAMETER)['qos_profile']
        has_come, message = wait_for_message(
            String, self._node, PARAMETER, qos_profile=qos, time_to_wait=seconds
        )
        if has_come and message is not None and len(message.data) <= _LARGEST:
            self._received = message.data

    @property
    def urdf(self) -> str:
        """The description, empty before the first one."""
        return str(self._node.get_parameter(PARAMETER).value) or self._received

    @property
    def origin(self) -> str:
        """The parameter or the topic of the description, for a sentence."""
        if self._node.get_parameter(PARAMETER).value:
            return f'parameter {PARAMETER}'
        return f'topic {self._subscription.topic_name}'

    @property
    def absence(self) -> str:
        """A sentence on the reason for a missing description, and how to provide one."""
        topic = self._subscription.topic_name
        publishers = list_publishers(self._node, PARAMETER)
        state = f'topic {topic} has {counted(len(publishers), "publisher")}'
        unheard = describe_incompatible_peers(publishers, self._subscription)
        if unheard:
            state += f', incompatible: {shortened(unheard, show=str)}'
        elif self._is_empty:
            state = f'the message on topic {topic} is empty'
        others = [
            name
            for name, types in self._node.get_topic_names_and_types()
            if name.rpartition('/')[2] == PARAMETER and name != topic and _TYPE in types
        ]
        if others:
            state += f'; other topics: {shortened(others, show=str)}'
        return (
            f'no {PARAMETER} yet: {state}; publish it there (robot_state_publisher does), or give '
            '--urdf FILE (node), robot_description_file:=FILE (launch files) or the '
            f'parameter {PARAMETER}'
        )

    def _receive_message(self, data: bytes) -> None:
        try:
            if len(data) > _LARGEST:
                raise MessageError('too_large', f'{len(data)} bytes, expected at most {_LARGEST}')
            received = deserialize_bytes(data, String).data
        except MessageError as error:
            self._log.warning(error.reason, f'{self.origin}: {error}; message dropped')
            return
        before = self.urdf
        self._received = received
        self._is_empty = not received
        if not received:
            self._log.warning('empty', f'{self.origin}: the received {PARAMETER} is empty')
        if self.urdf != before:
            self._arrived()
