# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What every recording has: topics, messages, and rosbag2's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Any, NamedTuple, Protocol

from transmission_bridge.tools.yaml_text import dump_yaml, load_yaml, YamlError

__all__ = [
    'BAG_RECORD',
    'JOINT_STATE',
    'BagInfo',
    'BagMetadata',
    'DamageError',
    'Message',
    'Schema',
    'Sink',
    'Source',
    'Topic',
    'TopicCount',
    'UnusableFileError',
    'metadata_text',
    'parse_metadata',
]


#: The type of the messages that can be converted.
JOINT_STATE = 'sensor_msgs/msg/JointState'


class UnusableFileError(Exception):
    """A file is not a recording, or cannot be read here."""


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
    A connection of a recording; equal ones are one object.

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

    :param topic: Its topic.
    :param time: Time of receipt [ns].
    :param published: Time of publication [ns], if known.
    :param sequence: Sequence number of the recorder, else 0.
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
    Metadata of a recording.

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
        """Whether these are all topics, before messages are read."""

    @property
    def storage(self) -> str:
        """Storage format of rosbag2, ``mcap`` or ``sqlite3``, empty where it is neither."""

    @property
    def compression(self) -> str:
        """Compression of MCAP chunks, empty where there is none."""

    @property
    def progress(self) -> float:
        """Share that has been read, from 0 to 1."""

    def batches(self, damaged: Callable[[str], None]) -> Iterator[list[Message]]:
        """
        Yield the messages in the order of receipt, in batches.

        :param damaged: Called with the problem where something cannot be read: after the messages
            before it, and before those after it.
        """

    def extras(self, damaged: Callable[[str], None]) -> Iterator[Any]:
        """
        Yield the attachments and metadata of MCAP files.

        :param damaged: Called with the problem of one that cannot be read.
        """

    def close(self) -> None:
        """Close the file."""


class Sink(Protocol):
    """A recording that is written."""

    def add(self, topic: Topic) -> None:
        """Add a topic, which may have no messages."""

    def write(self, messages: Sequence[Message]) -> None:
        """Append messages."""

    def add_extra(self, record: Any) -> None:
        """Append an attachment or metadata, if the format supports them."""

    def close(self) -> None:
        """Complete the file."""

    def abort(self) -> None:
        """Close the file without completing it."""


# -- rosbag2's metadata: `metadata.yaml` in a folder, the same text inside of storage files ------


#: Name of the MCAP metadata record for them.
BAG_RECORD = 'rosbag2'
ROOT = 'rosbag2_bagfile_information'

#: The last version with QoS as text with numbers, and the first with words.
_NUMBERS, _WORDS = 8, 9
_NUMBERED_QOS = re.compile(r'\bhistory:\s*\d')


@dataclass(frozen=True)
class BagMetadata:
    """
    The metadata that are used.

    :param storage: ``mcap`` or ``sqlite3``.
    :param files: Names of the storage files, in their order.
    :param compression: Format, empty where there is none.
    :param mode: ``file`` or ``message``, whichever is compressed.
    :param hashes: Type description hash by topic.
    """

    info: BagInfo = field(default_factory=BagInfo)
    storage: str = ''
    files: tuple[str, ...] = ()
    compression: str = ''
    mode: str = ''
    hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicCount:
    """A topic and its number of messages."""

    topic: Topic
    count: int


def parse_metadata(text: str) -> BagMetadata:
    """
    Read metadata, with or without the outer key.

    :raises UnusableFileError: If the text is something else.
    :raises UsageError: If PyYAML is missing.
    """
    try:
        document = load_yaml(text)
        if ROOT in document:
            document = document[ROOT]
        topics = [entry['topic_metadata'] for entry in document['topics_with_message_count']]
        custom = document.get('custom_data') or {}
        return BagMetadata(
            BagInfo(
                int(document['version']),
                str(document.get('ros_distro') or ''),
                tuple((str(key), str(value)) for key, value in custom.items()),
            ),
            str(document['storage_identifier']),
            tuple(map(str, document['relative_file_paths'])),
            str(document.get('compression_format') or ''),
            str(document.get('compression_mode') or '').lower(),
            {topic['name']: str(topic.get('type_description_hash') or '') for topic in topics},
        )
    except (YamlError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnusableFileError(f'the metadata of the bag cannot be read: {error!r}') from None


def metadata_text(
    info: BagInfo,
    storage: str,
    file: str,
    topics: Sequence[TopicCount],
    times: tuple[int, int] | None,
) -> str:
    """
    Return the text of the metadata without the outer key.

    :param storage: ``mcap`` or ``sqlite3``.
    :param file: Name of the storage file.
    :param times: First and last time of receipt [ns], ``None`` where there is no message.
    :raises UsageError: If PyYAML is missing.
    """
    version = info.version or (
        _NUMBERS if any(_NUMBERED_QOS.search(each.topic.qos) for each in topics) else _WORDS
    )
    start, end = times or (0, 0)
    count = sum(each.count for each in topics)

    def times_of_all() -> dict[str, Any]:
        return {
            'duration': {'nanoseconds': end - start},
            'starting_time': {'nanoseconds_since_epoch': start},
            'message_count': count,
        }

    return dump_yaml(
        {
            'version': version,
            'storage_identifier': storage,
            **times_of_all(),
            'topics_with_message_count': [_topic(each, version) for each in topics],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': [file],
            'files': [{'path': file, **times_of_all()}],
            'custom_data': dict(info.custom) or None,
            'ros_distro': info.distro or 'transmission_bridge',
        }
    )


def _topic(each: TopicCount, version: int) -> dict[str, Any]:
    topic = each.topic
    return {
        'topic_metadata': {
            'name': topic.name,
            'type': topic.type,
            'serialization_format': topic.encoding,
            'offered_qos_profiles': topic.qos if version < _WORDS else _profiles(topic.qos),
            'type_description_hash': topic.type_hash,
        },
        'message_count': each.count,
    }


def _profiles(qos: str) -> list[Any]:
    """Return the QoS profiles in a text, empty if it is not a list."""
    try:
        profiles = load_yaml(qos)
    except YamlError:
        return []
    return profiles if isinstance(profiles, list) else []
