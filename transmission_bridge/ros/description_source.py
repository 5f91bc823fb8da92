# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot description: from a parameter, else from a latched topic."""

from __future__ import annotations

from collections.abc import Callable
import re

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from std_msgs.msg import String

from transmission_bridge.description import load_description
from transmission_bridge.description.source import MAX_BYTES
from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import clipped, DescriptionError, MessageError, shortened
from transmission_bridge.ros.channels import deserialized, endpoint, overriding
from transmission_bridge.ros.parameters import declare
from transmission_bridge.ros.peers import Graph, incompatible_publishers
from transmission_bridge.ros.throttled_log import ThrottledLog

PARAMETER = 'robot_description'

_TYPE = 'std_msgs/msg/String'

#: Largest message [bytes]: the longest description and its header.
_LARGEST = MAX_BYTES + 64

#: A text that names a file, or was meant to.
_PATH = re.compile(r'([/~.]|file:|package:).*|.*\.(urdf|xacro|xml|sdf)', re.IGNORECASE)
_LONGEST_PATH, _LONGEST_SHOWN = 4096, 200


def read_description(text: str) -> RobotDescription:
    """
    Read a description that came as a parameter or a message.

    :raises DescriptionError: If it cannot be read. A text that could be the path of a file is
        refused: a publisher must not choose which files are opened.
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
    The newest description; the parameter wins over the topic while it is not empty.

    :param node: The node to declare the parameter on and to subscribe with.
    :param arrived: Called when another description has arrived on the topic.
    """

    def __init__(self, node: Node, arrived: Callable[[], None]) -> None:
        self._node = node
        self._arrived = arrived
        self._log = ThrottledLog(node)
        self._received = ''
        self._is_empty = False
        declare(
            node,
            PARAMETER,
            '',
            ParameterDescriptor(
                description='URDF text of the robot. If empty, the topic robot_description is '
                'used. Can be set while the node is unconfigured.'
            ),
        )
        with overriding(node, 'robot_description'):
            self._subscription = node.create_subscription(
                callback=self._on_description, raw=True, **endpoint('robot_description')
            )

    @property
    def text(self) -> str:
        """The description, empty if there is none yet."""
        return str(self._node.get_parameter(PARAMETER).value) or self._received

    @property
    def place(self) -> str:
        """Where the description comes from, as part of a sentence."""
        if self._node.get_parameter(PARAMETER).value:
            return f'parameter {PARAMETER}'
        return f'topic {self._subscription.topic_name}'

    @property
    def absence(self) -> str:
        """A sentence on why there is no description, and how to provide one."""
        topic = self._subscription.topic_name
        publishers = Graph(self._node).publishers(PARAMETER)
        found = f'topic {topic} has {_count(len(publishers), "publisher")}'
        unheard = incompatible_publishers(publishers, self._subscription.qos_profile)
        if unheard:
            found += f' of an incompatible quality of service: {shortened(unheard, show=str)}'
        elif self._is_empty:
            found = f'what came on topic {topic} is empty'
        others = [
            name
            for name, types in self._node.get_topic_names_and_types()
            if name.rpartition('/')[2] == PARAMETER and name != topic and _TYPE in types
        ]
        if others:
            found += f'; other topics: {shortened(others, show=str)}'
        return (
            f'no {PARAMETER} yet: {found}; publish it there (robot_state_publisher does), or give '
            '--urdf FILE (node), robot_description_file:=FILE (launch files) or the '
            f'parameter {PARAMETER}'
        )

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
        self._is_empty = not received
        if not received:
            self._log.warning('empty', f'{self.place}: the {PARAMETER} that came is empty')
        if self.text != before:
            self._arrived()


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')
