# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""JointState messages that differ in stamp and numbers only, as blocks of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.places import Places
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.cdr_parser import (
    FRAME_ID_OFFSET,
    PADDING_COUNT,
    parse_joint_state,
)
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['InputForm', 'OutputForm', 'stamp_keys']

Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_ENCAPSULATION = slice(0, 2)
_OPTIONS = 3
_SECONDS, _NANOSECONDS = slice(4, 8), slice(8, 12)
_DOUBLE = np.dtype('<f8')


class InputForm:
    """
    What messages have in common with one that has been read.

    :param first: The message.
    :raises UnusualMessageError: If it is not in the plain form.
    """

    def __init__(self, first: bytes) -> None:
        form = parse_joint_state(first)
        self._first: Bytes = np.frombuffer(first, dtype=np.uint8)
        self._extents = form.arrays
        # Everything up to the positions' count is the same, but for the garbage in the padding.
        self._head = slice(FRAME_ID_OFFSET, self._extents[0].count_offset + 4)
        self._mask = np.full(self._head.stop - self._head.start, 0xFF, dtype=np.uint8)
        for start, end in form.gaps:
            self._mask[max(start - self._head.start, 0) : max(end - self._head.start, 0)] = 0

    def leading(self, messages: Sequence[bytes]) -> Bytes:
        """Return the messages up to the first that has another form, shape ``(n, size)``."""
        size = len(self._first)
        alike = list(takewhile(lambda message: len(message) == size, messages))
        block = np.frombuffer(b''.join(alike), dtype=np.uint8).reshape(len(alike), size)
        differs = ((block[:, self._head] ^ self._first[self._head]) & self._mask).any(axis=1)
        options = block[:, _OPTIONS] ^ self._first[_OPTIONS]
        differs |= (options & np.uint8(PADDING_COUNT)) != 0
        counts = [slice(extent.count_offset, extent.count_offset + 4) for extent in self._extents]
        for part in (_ENCAPSULATION, *counts[1:]):
            differs |= (block[:, part] != self._first[part]).any(axis=1)
        return block[: _first_true(differs)]

    def scatter(self, block: Bytes, values: Array, plan: Places) -> None:
        """
        Put the numbers of messages where they belong.

        :param values: Changed in place, shape ``(n, 3, n_in)``.
        :param plan: Where they belong.
        """
        for row, extent in enumerate(self._extents):
            if extent.length:
                raw = np.ascontiguousarray(block[:, extent.offset : extent.end])
                numbers = raw.view(_DOUBLE)
                values[:, row, plan.places] = (
                    numbers if plan.picks is None else numbers[:, plan.picks]
                )


class OutputForm:
    """
    Messages that differ from one that was written in stamp and numbers only.

    :param first: The message.
    :param record: What it says.
    :param names: Everything that can come out, in its order.
    """

    def __init__(self, first: bytes, record: JointStateRecord, names: tuple[str, ...]) -> None:
        self._first: Bytes = np.frombuffer(first, dtype=np.uint8)
        self._extents = parse_joint_state(first).arrays
        index = {name: place for place, name in enumerate(names)}
        self._places = np.array([index[name] for name in record.names], dtype=np.intp)

    def messages(self, mapped: Array, known: Mask, keys: Keys) -> list[bytes]:
        """
        Return the messages of states, up to the first in which other numbers are known.

        :param mapped: Shape ``(n, 3, n_out)``; the first is what the message given was made of.
        :param known: Which numbers are known, of the same shape.
        :param keys: Their stamps.
        """
        count = _first_true(keys < 0)
        count = min(count, _first_true((known != known[:1]).any(axis=(1, 2))))
        if not count:
            return []
        block = np.tile(self._first, (count, 1))
        keys = keys[:count]
        block[:, _SECONDS] = _raw((keys >> 32).astype('<i4'))
        block[:, _NANOSECONDS] = _raw((keys & 0xFFFFFFFF).astype('<u4'))
        for row, extent in enumerate(self._extents):
            if extent.length:
                block[:, extent.offset : extent.end] = _raw(
                    mapped[:count, row, self._places].astype(_DOUBLE)
                )
        whole, size = block.tobytes(), len(self._first)
        return [whole[start : start + size] for start in range(0, len(whole), size)]


def stamp_keys(block: Bytes, received: Sequence[int], others: Stamp | None) -> Keys:
    """
    Return the stamps of results as numbers that are ordered as stamps are.

    :param block: The messages; one without a possible stamp has the time of its receipt.
    :param received: That time [ns].
    :param others: Newest stamp of other drivers, which counts if it is newer.
    :returns: Seconds in the upper and nanoseconds in the lower 32 bits, minus one where these do
        not fit into a message.
    """
    seconds = np.ascontiguousarray(block[:, _SECONDS]).view('<i4')[:, 0].astype(np.int64)
    nanoseconds = np.ascontiguousarray(block[:, _NANOSECONDS]).view('<u4')[:, 0].astype(np.int64)
    keys: Keys = (seconds << 32) | nanoseconds
    for place in np.flatnonzero((keys <= 0) | (nanoseconds >= 10**9)).tolist():
        second, nanosecond = divmod(received[place], 10**9)
        keys[place] = second << 32 | nanosecond if 0 <= second < 2**31 else -1
    if others is not None:
        keys = np.where(keys < 0, -1, np.maximum(keys, others[0] << 32 | others[1]))
    return keys


def _raw(numbers: npt.NDArray[np.generic]) -> Bytes:
    """Return the bytes of each row of numbers."""
    contiguous = np.ascontiguousarray(numbers)
    return contiguous.view(np.uint8).reshape(len(contiguous), -1)


def _first_true(mask: npt.NDArray[np.bool_]) -> int:
    """Return the place of the first true element, the length where there is none."""
    return int(np.argmax(mask)) if mask.any() else len(mask)
