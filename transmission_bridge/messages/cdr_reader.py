# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
JointState bytes to arrays, in about a microsecond for a layout that was seen before.

From one message to the next of a publisher only the stamp, the numbers and the garbage in the
padding change. A :class:`JointStateView` knows one form of message. Bytes are compared with the
last that it took, then under a mask without padding and frame; if both fail the message is parsed
in full and becomes a view of its own.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from transmission_bridge.messages.cdr_parser import (
    decode_string,
    Extent,
    FRAME_ID_OFFSET,
    LITTLE_ENDIAN,
    PADDING_COUNT,
    parse_joint_state,
    WireForm,
)
from transmission_bridge.messages.joint_rows import joined_rows
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.layout import Layout, LayoutTable

__all__ = ['JointStateReader', 'JointStateView']

#: Bytes of a view besides its message and its layout, and those that all views of a reader may
#: take together.
_FRAME, _MOST = 4096, 3 << 19


class JointStateView:
    """
    The message read last, as arrays; **valid until its reader reads again**.

    The arrays are read-only and the same objects in every message of this form. What is to be
    kept must be copied, see :meth:`record`.

    :ivar layout: Names and lengths; the same object for every message that has these.
    :ivar names: ``layout.names``.
    :ivar stamp: Seconds and nanoseconds of the header.
    :ivar frame_id: Frame of the header.
    :ivar position: Positions [rad or m].
    :ivar velocity: Velocities [rad/s or m/s].
    :ivar effort: Efforts [N m or N].
    :ivar rows: The three as one array, shape ``(3, n)``, where none is empty and all are equally
        long, else ``None``.
    :ivar weight: Bytes that it takes, with its layout, at most.
    """

    __slots__ = (
        '_effort_count',
        '_expected',
        '_frame_text',
        '_mask',
        '_masked',
        '_numbers',
        '_numbers_offset',
        '_prefix',
        '_prefix_bytes',
        '_prefix_end',
        '_prefix_words',
        '_size',
        '_unpack_head',
        '_velocity_count',
        'effort',
        'frame_id',
        'layout',
        'names',
        'position',
        'rows',
        'stamp',
        'velocity',
        'weight',
    )

    def __init__(self, form: WireForm, layout: Layout, data: bytes) -> None:
        position, velocity, effort = form.arrays
        self.layout = layout
        self.names = layout.names
        self.stamp = form.stamp
        self.frame_id = form.frame_id

        # The prefix reaches from the frame's length to the positions' count. The other two counts
        # lie between the numbers: one unpacking call fetches them along with the stamp.
        self._velocity_count = velocity.length
        self._effort_count = effort.length
        self._unpack_head = struct.Struct(
            f'<HxBiI{velocity.count_offset - FRAME_ID_OFFSET}xI'
            f'{effort.count_offset - velocity.count_offset - 4}xI'
        ).unpack_from
        self._prefix_end = position.count_offset + 4
        self._size = effort.end
        self._prefix = data[FRAME_ID_OFFSET : self._prefix_end]
        self._frame_text = slice(4, form.frame_end - FRAME_ID_OFFSET)

        self._prefix_words, self._prefix_bytes = _words(len(self._prefix))
        self._mask, mask_bytes = _words(len(self._prefix))
        mask_bytes[:] = b'\xff' * len(mask_bytes)
        for start, end in (*form.gaps, (FRAME_ID_OFFSET + 4, form.frame_end)):
            mask_bytes[start - FRAME_ID_OFFSET : end - FRAME_ID_OFFSET] = bytes(end - start)
        self._masked = np.empty_like(self._mask)
        self._expected = self._without_padding(self._prefix)

        # Arrays that are not empty lie a multiple of eight bytes apart.
        self._numbers_offset = min(
            (extent.offset for extent in form.arrays if extent.length), default=self._size
        )
        words, self._numbers = _words(self._size - self._numbers_offset)
        doubles = words.view(np.float64)
        doubles.flags.writeable = False
        self.rows = joined_rows(doubles, layout.lengths)
        self.position, self.velocity, self.effort = (
            self._slice(doubles, extent) for extent in form.arrays
        )
        self._numbers[:] = data[self._numbers_offset : self._size]
        # The prefix is kept five times. Its frame, as a text, takes up to four times its bytes.
        self.weight = _FRAME + 9 * len(self._prefix) + len(self._numbers) + layout.weight

    def record(self) -> JointStateRecord:
        """Return a copy that stays."""
        return JointStateRecord(
            self.stamp,
            self.frame_id,
            self.names,
            self.position.copy(),
            self.velocity.copy(),
            self.effort.copy(),
        )

    def _slice(self, doubles: NDArray[np.float64], extent: Extent) -> NDArray[np.float64]:
        start = (extent.offset - self._numbers_offset) // 8 if extent.length else 0
        return doubles[start : start + extent.length]

    def _load(self, data: bytes) -> bool:
        """Take the message if it has this form; otherwise change nothing."""
        size = self._size
        if len(data) < size:
            return False
        encapsulation, options, sec, nanosec, velocities, efforts = self._unpack_head(data)
        if (
            encapsulation != LITTLE_ENDIAN
            or velocities != self._velocity_count
            or efforts != self._effort_count
            or len(data) - (options & PADDING_COUNT) < size
        ):
            return False
        if not data.startswith(self._prefix, FRAME_ID_OFFSET) and not self._load_prefix(
            data[FRAME_ID_OFFSET : self._prefix_end]
        ):
            return False
        self._numbers[:] = data[self._numbers_offset : size]
        self.stamp = (sec, nanosec)
        return True

    def _load_prefix(self, prefix: bytes) -> bool:
        if self._without_padding(prefix) != self._expected:
            return False
        # What the frame says is not part of the form, only how long it is.
        frame = prefix[self._frame_text]
        if frame != self._prefix[self._frame_text]:
            self.frame_id = decode_string(frame)
        self._prefix = prefix
        return True

    def _without_padding(self, prefix: bytes) -> bytes:
        self._prefix_bytes[:] = prefix
        return np.bitwise_and(self._prefix_words, self._mask, self._masked).tobytes()


class JointStateReader:
    """
    Reader for the JointState bytes of one topic.

    :param layouts: Table that the layouts come from, to be shared with other readers and with
        the typed path; one of its own if not given.
    :param limit: Number of message forms (layout and length of the frame) remembered, fewer where
        they are large. One that is larger than all may be is not remembered.
    """

    def __init__(self, layouts: LayoutTable | None = None, limit: int = 16) -> None:
        if limit < 1:
            raise ValueError(f'limit: expected at least 1, found {limit}')
        self.layouts = LayoutTable() if layouts is None else layouts
        self._limit = limit
        # Most recently used first.
        self._views: list[JointStateView] = []
        self._weight = 0

    def read(self, data: bytes) -> JointStateView:
        """
        Return a view of the message, valid until the next call.

        :param data: The serialised message, encapsulation included; junk behind its end is
            ignored.
        :raises UnusualMessageError: If the bytes need the typed path.
        """
        views = self._views
        if views and views[0]._load(data):
            return views[0]
        for index in range(1, len(views)):
            if views[index]._load(data):
                view = views.pop(index)
                break
        else:
            form = parse_joint_state(data)
            position, velocity, effort = form.arrays
            lengths = (position.length, velocity.length, effort.length)
            view = JointStateView(form, self.layouts.get(form.names, lengths), data)
            if view.weight > _MOST or not view.layout.is_kept:
                return view
            self._weight += view.weight
            while len(views) >= self._limit or self._weight > _MOST:
                self._weight -= views.pop().weight
        views.insert(0, view)
        return view


def _words(size: int) -> tuple[NDArray[np.uint64], memoryview]:
    """Return zeroed 8-byte words, one more than needed, and the first ``size`` bytes of them."""
    words = np.zeros(1 + -(-size // 8), dtype=np.uint64)
    return words, words.data.cast('B')[:size]
