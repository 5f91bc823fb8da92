# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
JointState bytes from arrays: a template made once, stamp and numbers filled in.

The bytes are those of rclpy's own serialisation with zeros for its padding (see
:mod:`transmission_bridge.messages.cdr_parser` for the format). Nothing received goes into them.
"""

from __future__ import annotations

from collections.abc import Iterable
import struct

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.errors import MessageError, shown
from transmission_bridge.messages.cdr_parser import aligned
from transmission_bridge.messages.joint_rows import joined_rows

__all__ = ['JointStateWriter']

_ENCAPSULATION = b'\x00\x01\x00\x00'
_STAMP = struct.Struct('<iI')


class JointStateWriter:
    """
    Writer for JointState messages with these names.

    Fill ``position``, ``velocity`` and ``effort`` in place, then :meth:`write`. They keep their
    values from one message to the next and begin as zeros.

    :param names: Joint names in message order.
    :param frame_id: Frame of the header.
    :param fields: Whether position, velocity and effort are sent; one that is not is an empty
        array.
    :ivar names: The names.
    :ivar frame_id: The frame.
    :ivar position: Positions [rad or m], shape ``(n,)`` for n names, or ``(0,)``.
    :ivar velocity: Velocities [rad/s or m/s], likewise.
    :ivar effort: Efforts [N m or N], likewise.
    :ivar rows: The three as one array, shape ``(3, n)``, where all are sent, else ``None``.
    :raises MessageError: If a name or the frame cannot be a string of a message: it holds a NUL
        or is not Unicode (reason ``string``).
    """

    __slots__ = (
        '_message',
        '_words',
        'effort',
        'frame_id',
        'names',
        'position',
        'rows',
        'velocity',
    )

    def __init__(
        self,
        names: Iterable[str],
        frame_id: str = '',
        fields: tuple[bool, bool, bool] = (True, True, True),
    ) -> None:
        self.names = tuple(names)
        self.frame_id = frame_id
        template = bytearray(_ENCAPSULATION + bytes(_STAMP.size))
        _append_string(template, frame_id)
        _append_u32(template, len(self.names))
        for name in self.names:
            _append_string(template, name)
        offsets = [_append_doubles(template, len(self.names) if sent else 0) for sent in fields]

        # The encapsulation ends on a word, and with it every array begins on one. One more word
        # makes the arrays rows of equal length.
        self._words = np.zeros(2 + len(template) // 8, dtype=np.uint64)
        self._message = self._words.data.cast('B')[4 : 4 + len(template)]
        self._message[:] = template
        doubles: NDArray[np.float64] = self._words.view(np.float64)
        starts = [(4 + offset) // 8 for offset in offsets]
        self.position, self.velocity, self.effort = (
            doubles[start : start + (len(self.names) if sent else 0)]
            for start, sent in zip(starts, fields, strict=True)
        )
        lengths = (len(self.position), len(self.velocity), len(self.effort))
        self.rows = joined_rows(doubles[starts[0] :], lengths)

    def write(self, sec: int, nanosec: int) -> bytes:
        """
        Return the message with this stamp and the present contents of the arrays.

        :param sec: Seconds, int32.
        :param nanosec: Nanoseconds, uint32.
        :raises MessageError: If the stamp does not fit (reason ``stamp``).
        """
        try:
            _STAMP.pack_into(self._message, len(_ENCAPSULATION), sec, nanosec)
        except struct.error as error:
            raise MessageError('stamp', f'the stamp ({sec}, {nanosec}) does not fit') from error
        return self._message.tobytes()


def _append_u32(message: bytearray, value: int) -> None:
    message += bytes(aligned(len(message), 4) - len(message))
    message += value.to_bytes(4, 'little')


def _append_string(message: bytearray, text: str) -> None:
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise MessageError('string', f'{shown(text)} is not Unicode') from error
    if b'\0' in raw:
        raise MessageError('string', f'{shown(text)} holds a NUL')
    _append_u32(message, len(raw) + 1)
    message += raw + b'\0'


def _append_doubles(message: bytearray, count: int) -> int:
    """Append an array of zeros, and return where its numbers begin."""
    _append_u32(message, count)
    if count:
        message += bytes(aligned(len(message), 8) - len(message))
    start = len(message)
    message += bytes(8 * count)
    return start
