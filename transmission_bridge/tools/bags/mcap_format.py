# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The records of MCAP files.

Source: the MCAP specification, https://mcap.dev/spec. A record is an opcode, the length of its
content in 8 bytes, and the content; all integers are little endian, strings and maps are preceded
by their length in 4 bytes.
"""

from __future__ import annotations

from enum import IntEnum
import struct

from transmission_bridge.tools.bags.model import DamageError

__all__ = [
    'MAGIC', 'MESSAGE_HEAD', 'RECORD_HEAD', 'U16', 'U32', 'U64', 'Fields', 'Opcode', 'bytes_field',
    'map_field', 'record', 'string_field',
]  # fmt: skip

MAGIC = b'\x89MCAP0\r\n'

#: Opcode and length.
RECORD_HEAD = struct.Struct('<BQ')
#: A whole message record but its data: channel, sequence, time of receipt, time of publication.
MESSAGE_HEAD = struct.Struct('<BQHIQQ')
U16 = struct.Struct('<H')
U32 = struct.Struct('<I')
U64 = struct.Struct('<Q')


class Opcode(IntEnum):
    """What a record is."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


class Fields:
    """
    The fields of a record, one after the other.

    :param data: Content of the record, or as much of it as the fields need.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def number(self, kind: struct.Struct) -> int:
        """
        Return the next integer.

        :raises DamageError: If the record is too short.
        """
        if self.at + kind.size > len(self._data):
            raise DamageError('a record is too short')
        value: int = kind.unpack_from(self._data, self.at)[0]
        self.at += kind.size
        return value

    def raw(self) -> bytes:
        """
        Return the next bytes that are preceded by their length.

        :raises DamageError: If the record is too short.
        """
        end = self.number(U32) + self.at
        if end > len(self._data):
            raise DamageError('a record is too short')
        value = self._data[self.at : end]
        self.at = end
        return value

    def string(self) -> str:
        """
        Return the next string.

        :raises DamageError: If the record is too short, or this is not UTF-8.
        """
        try:
            return self.raw().decode()
        except UnicodeDecodeError:
            raise DamageError('a string in a record is not UTF-8') from None

    def map(self) -> tuple[tuple[str, str], ...]:
        """
        Return the next map of strings, in its order.

        :raises DamageError: If the record is too short, or a string is not UTF-8.
        """
        inner = Fields(self.raw())
        pairs = []
        while inner.at < len(inner._data):
            pairs.append((inner.string(), inner.string()))
        return tuple(pairs)


def bytes_field(value: bytes) -> bytes:
    """Return bytes preceded by their length."""
    return U32.pack(len(value)) + value


def string_field(value: str) -> bytes:
    """Return a string as a field."""
    return bytes_field(value.encode())


def map_field(pairs: tuple[tuple[str, str], ...]) -> bytes:
    """Return a map of strings as a field."""
    return bytes_field(b''.join(string_field(key) + string_field(value) for key, value in pairs))


def record(opcode: Opcode, *fields: bytes) -> bytes:
    """Return a whole record."""
    content = b''.join(fields)
    return RECORD_HEAD.pack(opcode, len(content)) + content
