# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The topics of an MCAP file: schemas and channels by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from transmission_bridge.tools.bags.mcap_format import Fields, Opcode, U16
from transmission_bridge.tools.bags.model import DamageError, Schema, Topic

__all__ = ['QOS', 'TYPE_HASH', 'TopicTable']

#: Keys of channel metadata that rosbag2 writes.
QOS, TYPE_HASH = 'offered_qos_profiles', 'topic_type_hash'


class TopicTable:
    """
    Topics by channel number; the same definition given again is the same object.

    :param same: Returns the object that stands for topics that look alike.
    :ivar by_channel: The topics.
    """

    def __init__(self, same: Callable[[Topic], Topic]) -> None:
        self._same = same
        self._schemas: dict[int, Schema] = {}
        self._contents: dict[int, bytes] = {}
        self._hashes: dict[str, str] = {}
        self.by_channel: dict[int, Topic] = {}

    def learn(self, opcode: int, content: bytes) -> None:
        """
        Take note of a schema or channel record.

        :raises DamageError: If it cannot be read, or names a schema that is not there.
        """
        fields = Fields(content)
        number = fields.number(U16)
        if opcode == Opcode.SCHEMA:
            self._schemas[number] = Schema(fields.string(), fields.string(), fields.raw())
        elif self._contents.get(number) != content:
            self.by_channel[number] = self._same(self._topic(fields))
            self._contents[number] = content

    def add_hashes(self, hashes: Mapping[str, str]) -> None:
        """Take over type hashes by topic, for channels that have none themselves."""
        self._hashes.update(hashes)
        for number, topic in self.by_channel.items():
            if not topic.type_hash and topic.name in hashes:
                known = replace(topic, type_hash=hashes[topic.name])
                self.by_channel[number] = self._same(known)

    def _topic(self, fields: Fields) -> Topic:
        schema_number = fields.number(U16)
        schema = self._schemas.get(schema_number)
        if schema is None and schema_number:
            raise DamageError(f'schema {schema_number} is missing')
        name, encoding, metadata = fields.string(), fields.string(), fields.map()
        known = dict(metadata)
        return Topic(
            name,
            schema.name if schema is not None else '',
            encoding,
            known.get(QOS, ''),
            known.get(TYPE_HASH) or self._hashes.get(name, ''),
            schema,
            metadata,
        )
