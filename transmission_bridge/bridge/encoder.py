# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names, stamp and rows of numbers to JointState bytes, with the writers of the layouts in use."""

from __future__ import annotations

from collections import OrderedDict

from transmission_bridge.messages.cdr_writer import JointStateWriter
from transmission_bridge.messages.joint_state import JointStateRecord

__all__ = ['JointStateEncoder']

#: Layouts whose writers are kept: more than the combinations a robot goes through in practice.
WRITERS = 32


class JointStateEncoder:
    """Encodes records; a layout that was seen before costs no look-up of names."""

    def __init__(self) -> None:
        self._writers: OrderedDict[
            tuple[tuple[str, ...], tuple[int, int, int], str], JointStateWriter
        ] = OrderedDict()

    def encode(self, record: JointStateRecord) -> bytes:
        """
        Return the serialised message.

        :raises MessageError: If the stamp does not fit.
        """
        key = (record.names, record.lengths, record.frame_id)
        writer = self._writers.get(key)
        if writer is None:
            sent = (bool(record.lengths[0]), bool(record.lengths[1]), bool(record.lengths[2]))
            writer = self._writers[key] = JointStateWriter(record.names, record.frame_id, sent)
            if len(self._writers) > WRITERS:
                self._writers.popitem(last=False)
        writer.position[:] = record.position
        writer.velocity[:] = record.velocity
        writer.effort[:] = record.effort
        return writer.write(*record.stamp)
