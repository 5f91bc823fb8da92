# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Index entries of the records beside the messages: attachments and metadata."""

from __future__ import annotations

from transmission_bridge.tools.bags.mcap_format import (
    Fields,
    Opcode,
    record,
    RECORD_HEAD,
    string_field,
    U64,
)

__all__ = ['extra_index']


def extra_index(head: bytes, offset: int, length: int) -> tuple[Opcode, bytes]:
    """
    Return the opcode and the whole record of the index entry of an attachment or metadata record.

    :param head: The record, or its first piece.
    :param offset: Where it is.
    :param length: How long it is.
    :raises DamageError: If its head cannot be read.
    """
    opcode, _ = RECORD_HEAD.unpack_from(head)
    fields = Fields(head[RECORD_HEAD.size :])
    place = U64.pack(offset) + U64.pack(length)
    if opcode == Opcode.METADATA:
        index = Opcode.METADATA_INDEX
        return index, record(index, place, string_field(fields.string()))
    times = U64.pack(fields.number(U64)) + U64.pack(fields.number(U64))
    name, media_type = fields.string(), fields.string()
    size = U64.pack(fields.number(U64))
    index = Opcode.ATTACHMENT_INDEX
    return index, record(index, place, times, size, string_field(name), string_field(media_type))
