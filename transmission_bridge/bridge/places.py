# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the entries of a message go: names to places, once per layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import MessageError
from transmission_bridge.messages.layout import Layout

__all__ = ['FIELDS', 'Places', 'PlanCache', 'as_slice', 'find_places', 'shortened']

#: The arrays of a JointState, in the order in which every array of this room holds them.
FIELDS = ('position', 'velocity', 'effort')

Plan = TypeVar('Plan')


@dataclass(frozen=True, slots=True)
class Places:
    """
    Where the entries of one layout go.

    :param places: Index into the robot's array for each entry taken; a slice, which is cheaper,
        where they follow each other.
    :param picks: Index into the message for each entry taken; ``None`` where all are taken in
        order.
    :param count: Number of entries taken.
    :param unknown: Names that the robot does not have.
    """

    places: npt.NDArray[np.intp] | slice
    picks: npt.NDArray[np.intp] | None
    count: int
    unknown: tuple[str, ...]


def find_places(layout: Layout, index: Mapping[str, int]) -> Places:
    """
    Look up the names of a layout.

    :param layout: Names and array lengths of a message.
    :param index: Place of every name that the robot knows.
    :raises MessageError: If an array is neither empty nor as long as the names (``ragged``), or
        two entries mean the same place (``duplicate_name``).
    """
    if layout.is_ragged:
        lengths = ', '.join(
            f'{length} {field}' for field, length in zip(FIELDS, layout.lengths, strict=True)
        )
        raise MessageError(
            'ragged',
            f'expected every array empty or as long as name ({len(layout.names)}), '
            f'found {lengths}',
        )
    picks = [pick for pick, name in enumerate(layout.names) if name in index]
    places = [index[layout.names[pick]] for pick in picks]
    if len(set(places)) < len(places):
        times = Counter(places)
        repeated = tuple(
            layout.names[pick]
            for pick, place in zip(picks, places, strict=True)
            if times[place] > 1
        )
        raise MessageError('duplicate_name', f'names given more than once: {shortened(repeated)}')
    everything = len(picks) == len(layout.names)
    return Places(
        as_slice(places),
        None if everything else np.array(picks, dtype=np.intp),
        len(places),
        tuple(name for name in layout.names if name not in index),
    )


def as_slice(places: list[int]) -> npt.NDArray[np.intp] | slice:
    """Return places as a slice, which is cheaper, where they follow each other."""
    if places and places == list(range(places[0], places[0] + len(places))):
        return slice(places[0], places[0] + len(places))
    return np.array(places, dtype=np.intp)


def shortened(names: Sequence[str], most: int = 5) -> str:
    """Return the first names as a list for a sentence; a message may hold thousands."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What a :class:`MessageError` says; kept itself, it would keep the frames it went through."""

    reason: str
    message: str


class PlanCache(Generic[Plan]):
    """
    What was worked out for a layout, or why it cannot be used.

    :param make: Works it out; may raise :class:`MessageError`, which is remembered too.
    """

    def __init__(self, make: Callable[[Layout], Plan]) -> None:
        self._make = make
        self._plans: WeakKeyDictionary[Layout, Plan | _Refusal] = WeakKeyDictionary()
        self._last_layout: Layout | None = None
        self._last: Plan | _Refusal | None = None

    def get(self, layout: Layout) -> Plan:
        """
        Return the plan of a layout.

        :raises MessageError: If messages of this layout cannot be used.
        """
        if layout is not self._last_layout:
            plan = self._plans.get(layout)
            if plan is None:
                try:
                    plan = self._make(layout)
                except MessageError as error:
                    plan = _Refusal(error.reason, str(error))
                self._plans[layout] = plan
            self._last_layout, self._last = layout, plan
        if isinstance(self._last, _Refusal):
            raise MessageError(self._last.reason, self._last.message)
        assert self._last is not None
        return self._last
