# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot description that was recorded along."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from transmission_bridge.tools.bags.model import DamageError, Message, Source

__all__ = ['DESCRIPTION_TOPIC', 'description_of', 'descriptions_in', 'find_description']

DESCRIPTION_TOPIC = '/robot_description'
_STRING = 'std_msgs/msg/String'

_ORIGIN = 4
#: Byte orders by the second byte of the encapsulation, of plain CDR and XCDR2.
_BYTE_ORDERS: dict[int, Literal['big', 'little']] = {0: 'big', 1: 'little', 6: 'big', 7: 'little'}


def description_of(data: bytes) -> bytes | None:
    """
    Return the text in a serialised std_msgs/String, ``None`` if this is none.

    :param data: The message, encapsulation included.
    """
    if len(data) < _ORIGIN + 4 or data[0] or data[1] not in _BYTE_ORDERS:
        return None
    length = int.from_bytes(data[_ORIGIN : _ORIGIN + 4], _BYTE_ORDERS[data[1]])
    text = data[_ORIGIN + 4 : _ORIGIN + 4 + length]
    if len(text) != length or not text.endswith(b'\0'):
        return None
    return text[:-1]


def find_description(source: Source) -> bytes | None:
    """
    Return the first description in a recording, ``None`` where there is none.

    :param source: The recording; read as far as needed.
    :raises DamageError: If there is none in what can be read of a damaged recording.
    """
    if source.lists_topics and not any(topic.name == DESCRIPTION_TOPIC for topic in source.topics):
        return None
    problems: list[str] = []
    for batch in source.batches(problems.append):
        found = descriptions_in(batch)
        if found:
            return found[0]
    if problems:
        raise DamageError(problems[0])
    return None


def descriptions_in(messages: Iterable[Message]) -> list[bytes]:
    """Return the descriptions among messages."""
    texts = (
        description_of(message.data)
        for message in messages
        if message.topic.name == DESCRIPTION_TOPIC and message.topic.type == _STRING
    )
    return [text for text in texts if text is not None]
