# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What every recording has: topics and messages, whatever the file around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

__all__ = [
    'JOINT_STATE',
    'BagInfo',
    'DamageError',
    'Message',
    'Schema',
    'Sink',
    'Source',
    'Topic',
    'UnusableFileError',
]

#: The type of the messages that can be converted.
JOINT_STATE = 'sensor_msgs/msg/JointState'


class UnusableFileError(Exception):
    """A file is no recording, or one that needs something that is not there."""


class DamageError(Exception):
    """A piece of a recording is cut off or damaged."""


@dataclass(frozen=True)
class Schema:
    """
    Definition of a message type.

    :param name: Name of the type.
    :param encoding: ``ros2msg``, ``ros2idl``, or anything else.
    :param data: The definition.
    """

    name: str
    encoding: str
    data: bytes


@dataclass(frozen=True, eq=False)
class Topic:
    """
    A connection of a recording; each is one object.

    :param name: Name of the topic.
    :param type: Name of the type.
    :param encoding: How messages are serialised, ``cdr`` in ROS 2.
    :param qos: Offered QoS profiles as YAML text.
    :param type_hash: Type description hash (``RIHS01_...``), empty where not recorded.
    :param schema: Definition of the type, ``None`` where not recorded.
    :param metadata: All metadata of an MCAP channel, ``None`` where it was not one.
    """

    name: str
    type: str
    encoding: str = 'cdr'
    qos: str = ''
    type_hash: str = ''
    schema: Schema | None = None
    metadata: tuple[tuple[str, str], ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What two connections that look alike have in common."""
        return (
            self.name, self.type, self.encoding, self.qos, self.type_hash, self.schema,
            self.metadata,
        )  # fmt: skip


class Message(NamedTuple):
    """
    A message.

    :param topic: Where it was sent.
    :param time: When it was received [ns].
    :param published: When it was sent [ns], as far as known.
    :param sequence: Number given by the recorder, 0 where there is none.
    :param data: Its bytes.
    """

    topic: Topic
    time: int
    published: int
    sequence: int
    data: bytes


@dataclass(frozen=True)
class BagInfo:
    """
    What a recording says about itself.

    :param version: Version of rosbag2's metadata, ``None`` where it has none.
    :param distro: ROS distribution.
    :param custom: Entries that the user made.
    """

    version: int | None = None
    distro: str = ''
    custom: tuple[tuple[str, str], ...] = field(default=())


class Source(Protocol):
    """A recording that is read."""

    info: BagInfo

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics known so far."""

    @property
    def lists_topics(self) -> bool:
        """Whether these are all of them before anything has been read."""

    @property
    def storage(self) -> str:
        """Storage format of rosbag2, ``mcap`` or ``sqlite3``, empty where it is neither."""

    @property
    def compression(self) -> str:
        """Compression of MCAP chunks, empty where there is none."""

    @property
    def progress(self) -> float:
        """How much has been read, from 0 to 1."""

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """
        Yield the messages in the order of receipt, some at a time.

        :param damaged: Called with what is wrong where something cannot be read: when the
            messages before that have been given, and before any that are behind it.
        """

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """
        Yield what MCAP files hold beside messages: attachments and metadata.

        :param damaged: Called with what is wrong with one that cannot be read.
        """

    def close(self) -> None:
        """Let go of the file."""


class Sink(Protocol):
    """A recording that is written."""

    def add(self, topic: Topic) -> None:
        """Make a topic known that may have no message."""

    def write(self, messages: Sequence[Message]) -> None:
        """Append messages."""

    def add_extra(self, record: Any) -> None:
        """Append an attachment or metadata, in a format that can hold them."""

    def close(self) -> None:
        """Complete the file."""

    def abort(self) -> None:
        """Let go of the file as it is."""
