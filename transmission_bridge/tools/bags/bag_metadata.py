# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""rosbag2's metadata: ``metadata.yaml`` in a folder, the same text inside of storage files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Any

from transmission_bridge.tools.bags.model import BagInfo, Topic, UnusableFileError
from transmission_bridge.tools.yaml_text import dump_yaml, load_yaml, YamlError

__all__ = ['BAG_RECORD', 'BagMetadata', 'TopicCount', 'metadata_text', 'parse_metadata']

#: Name of the MCAP metadata record that holds them.
BAG_RECORD = 'rosbag2'
ROOT = 'rosbag2_bagfile_information'

#: The last version that writes QoS as text with numbers, and the first that uses words.
_NUMBERS, _WORDS = 8, 9
_NUMBERED_QOS = re.compile(r'\bhistory:\s*\d')


@dataclass(frozen=True)
class BagMetadata:
    """
    What is read of the metadata.

    :param storage: ``mcap`` or ``sqlite3``.
    :param files: Names of the storage files, in their order.
    :param compression: Format, empty where there is none.
    :param mode: What is compressed, ``file`` or ``message`` in lower case.
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
    """A topic and how many messages it has."""

    topic: Topic
    count: int


def parse_metadata(text: str) -> BagMetadata:
    """
    Read metadata, with the key around them or without.

    :raises UnusableFileError: If this is something else.
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
    Return the text of the metadata without the key around them.

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
    """Return QoS profiles, none where the text does not hold a list of them."""
    try:
        profiles = load_yaml(qos)
    except YamlError:
        return []
    return profiles if isinstance(profiles, list) else []
