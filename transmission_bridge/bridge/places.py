# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the entries of a message go: names to places, once per layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import MessageError, shortened, shown
from transmission_bridge.messages.joint_state import Layout, ragged
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['MOST_UNKNOWN', 'Places', 'PlanCache', 'as_slice', 'find_places']

#: Unknown names that are shown of a message, and counted each by itself.
MOST_UNKNOWN = 64

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
    :param unknown: The first of the names that the robot does not have, as they are shown: a
        message may hold any number, of any length.
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
        raise ragged(layout.names, dict(zip(FIELDS, layout.lengths, strict=True)))
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
    unknown = (name for name in layout.names if name not in index)
    return Places(
        as_slice(places),
        None if everything else np.array(picks, dtype=np.intp),
        len(places),
        tuple(shown(name) for name in islice(unknown, MOST_UNKNOWN)),
    )


def as_slice(places: list[int]) -> npt.NDArray[np.intp] | slice:
    """Return places as a slice, which is cheaper, where they follow each other."""
    if places and places == list(range(places[0], places[0] + len(places))):
        return slice(places[0], places[0] + len(places))
    return np.array(places, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What a :class:`MessageError` says; kept itself, it would keep the frames it went through."""

    reason: str
    message: str
    about: str


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
        if layout is self._last_layout:
            plan = self._last
        else:
            plan = self._plans.get(layout)
            if plan is None:
                try:
                    plan = self._make(layout)
                except MessageError as error:
                    plan = _Refusal(error.reason, str(error), error.about)
                self._plans[layout] = plan
            if layout.is_kept:
                self._last_layout, self._last = layout, plan
        if isinstance(plan, _Refusal):
            raise MessageError(plan.reason, plan.message, about=plan.about)
        assert plan is not None
        return plan
