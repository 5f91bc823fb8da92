# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names, stamp and rows of numbers to JointState bytes, with the writers of the layouts in use."""

from __future__ import annotations

from collections import OrderedDict

from transmission_bridge.messages.cdr import JointStateWriter
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.types import Array

__all__ = ['JointStateEncoder']

#: Layouts whose writers are kept: more than the combinations a robot goes through in practice.
WRITERS = 32

#: Names, lengths of the arrays, and frame.
Key = tuple[tuple[str, ...], tuple[int, int, int], str]


class JointStateEncoder:
    """Encodes records; a layout that was seen before costs no look-up of names."""

    def __init__(self) -> None:
        self._writers: OrderedDict[Key, JointStateWriter] = OrderedDict()
        self._last_key: Key = ((), (0, 0, 0), '')
        self._last_writer = JointStateWriter(())

    def encode(self, record: JointStateRecord) -> bytes:
        """
        Return the serialised message.

        :raises MessageError: If the stamp does not fit.
        """
        if record.rows is not None and not record.frame_id:
            return self.encode_rows(record.names, record.stamp, record.rows)
        writer = self._writer((record.names, record.lengths, record.frame_id))
        writer.position[:] = record.position
        writer.velocity[:] = record.velocity
        writer.effort[:] = record.effort
        return writer.write(*record.stamp)

    def encode_rows(self, names: tuple[str, ...], stamp: tuple[int, int], rows: Array) -> bytes:
        """
        Return the serialised message without a frame; what :meth:`encode` does, in one copy.

        :param names: At least one.
        :param rows: Position, velocity and effort, shape ``(3, len(names))``.
        :raises MessageError: If the stamp does not fit.
        """
        n = len(names)
        writer = self._writer((names, (n, n, n), ''))
        assert writer.rows is not None
        writer.rows[...] = rows
        return writer.write(*stamp)

    def _writer(self, key: Key) -> JointStateWriter:
        # Comparing with the last finds the same tuple of names without hashing each of them.
        if key == self._last_key:
            return self._last_writer
        names, lengths, frame_id = key
        writer = self._writers.get(key)
        if writer is None:
            sent = (bool(lengths[0]), bool(lengths[1]), bool(lengths[2]))
            writer = self._writers[key] = JointStateWriter(names, frame_id, sent)
            if len(self._writers) > WRITERS:
                self._writers.popitem(last=False)
        self._last_key, self._last_writer = key, writer
        return writer
