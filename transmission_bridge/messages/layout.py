# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What stays the same from one JointState to the next: names and array lengths.

Whatever depends on names is looked up once per :class:`Layout`, never once per message.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import sys

from transmission_bridge.errors import MessageError, shortened

__all__ = ['Layout', 'LayoutTable', 'ragged']

#: Bytes of a layout besides its names, and besides the text of each: its place in the tuple, and
#: what is compiled for the layout (four numbers for each of three arrays).
_FRAME, _NAME = 4096, 8 + 4 * 3 * 8

#: Bytes that the layouts of a table may take together, and one of them: elsewhere the one in use
#: may be held beside the table.
_MOST, _MOST_EACH = 3 << 19, 1 << 19


@dataclass(frozen=True, eq=False)
class Layout:
    """
    Names and array lengths of a JointState; compared and hashed by identity.

    A layout can be weakly referenced, so that a ``WeakKeyDictionary`` of things compiled for
    layouts stays as small as the table that the layouts come from.

    :param names: Joint names in message order; may be empty, may repeat.
    :param lengths: Lengths of position, velocity and effort.
    :param weight: Bytes that it takes at most, with what is compiled for it.
    """

    names: tuple[str, ...]
    lengths: tuple[int, int, int]
    weight: int = 0

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[int, int, int]]:
        """What two layouts that look alike have in common."""
        return self.names, self.lengths

    @property
    def is_kept(self) -> bool:
        """Whether anything may hold it beyond its message; one that is too heavy goes with it."""
        return self.weight <= _MOST_EACH

    @property
    def is_ragged(self) -> bool:
        """Whether an array is neither empty nor as long as ``names``."""
        return any(length not in (0, len(self.names)) for length in self.lengths)


def ragged(
    names: Sequence[str], lengths: Mapping[str, int], *, otherwise: str = ''
) -> MessageError:
    """
    Return the refusal of a message with an array that is neither empty nor as long as its names.

    :param lengths: By ``position``, ``velocity`` and ``effort``.
    :param otherwise: What else would have been right, in words.
    """
    wrong = [
        f'{length} {_plural(field) if length > 1 else field}'
        for field, length in lengths.items()
        if length not in (0, len(names))
    ]
    count = f'{len(names)} name{"" if len(names) == 1 else "s"}'
    return MessageError(
        'ragged',
        f'{" and ".join(wrong)} for {count}{f" ({shortened(names)})" if names else ""}: '
        f'give one per name, or none{otherwise}',
    )


def _plural(field: str) -> str:
    return 'velocities' if field == 'velocity' else f'{field}s'


class LayoutTable:
    """
    One :class:`Layout` object per names and lengths, bounded by dropping the oldest used.

    Bounded in number and in bytes: names are whatever a sender makes them.

    Several readers, and the typed path beside them, may share a table: alike messages then have
    the same layout object. A layout that was dropped and comes again is a new object, and one
    that is too heavy to be kept is a new object each time.

    :param limit: Number of layouts kept, at least one.
    """

    def __init__(self, limit: int = 64) -> None:
        if limit < 1:
            raise ValueError(f'limit: expected at least 1, found {limit}')
        self._limit = limit
        self._weight = 0
        self._layouts: OrderedDict[tuple[tuple[str, ...], tuple[int, int, int]], Layout] = (
            OrderedDict()
        )

    def __len__(self) -> int:
        """Return the number of layouts kept."""
        return len(self._layouts)

    def get(self, names: Iterable[str], lengths: tuple[int, int, int]) -> Layout:
        """
        Return the layout of these names and lengths, a new one where none is kept.

        :param names: Joint names in message order.
        :param lengths: Lengths of position, velocity and effort.
        """
        key = (tuple(names), lengths)
        layout = self._layouts.get(key)
        if layout is not None:
            self._layouts.move_to_end(key)
            return layout
        weight = _FRAME + _NAME * len(key[0]) + sum(map(sys.getsizeof, key[0]))
        layout = Layout(*key, weight)
        if layout.is_kept:
            self._layouts[key] = layout
            self._weight += weight
            while len(self._layouts) > self._limit or self._weight > _MOST:
                self._weight -= self._layouts.popitem(last=False)[1].weight
        return layout
