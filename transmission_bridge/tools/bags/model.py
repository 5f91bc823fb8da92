# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Topics and messages of recordings in any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

#: The type of the messages that can be converted.
JOINT_STATE = 'sensor_msgs/msg/JointState'


class UnusableFileError(Exception):
    """A file is not a recording, or cannot be read here."""


@dataclass(frozen=True, eq=False)
class RecordedTopic:
    """
    A topic of a recording; topics are compared by identity.

    :param name: Its name.
    :param type: Name of the message type.
    :param encoding: Serialisation of messages, ``cdr`` in ROS 2.
    :param definition: Definition of the type, empty if it was not recorded.
    :param type_hash: Type description hash (``RIHS01_...``), empty if it was not recorded.
    :param qos: Offered QoS profiles, in the form of rosbags.
    """

    name: str
    type: str
    encoding: str = 'cdr'
    definition: str = ''
    type_hash: str = ''
    qos: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.name


class Message(NamedTuple):
    """
    A message.

    :param topic: Its topic.
    :param time: Time of receipt [ns].
    :param data: Its bytes.
    """

    topic: RecordedTopic
    time: int
    data: bytes
