# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands from before a stall: the process stood still, and they waited or are resent afterwards.

Only the time at which a command was sent survives a stall; times of receipt begin afterwards, also
those of the middleware. Clocks of machines differ, so each writer is compared with itself: the
delay of a sample is its time of receipt less its source time, and its age is its delay less the
smallest delay of this writer in the last minutes.

A clock that was set changes all delays of a writer at once and for good. Old samples do not look
like that: those that waited, and the history that reliable DDS resends on request, come in a
burst, so that each has a smaller delay than the one before. Equal delays of old samples for longer
than a history lasts would need a link that delays steadily. One sample in time ends such a row, so
that resends between live samples never form one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
import math
import time

from transmission_bridge.errors import MessageError

__all__ = ['StallWatch']

#: Seconds after a stall in which commands are checked; without a known writer all are rejected.
_CHECKED, _BLIND = 10.0, 3.0

#: Seconds of each of the two windows that smallest delays are kept for.
_WINDOW = 120.0

#: Writers that are remembered.
_WRITERS = 64

#: Source time that samples of equal delay must span [s], their number, and how far their delays
#: may differ [s].
_STEADY, _SAMPLES, _JITTER = 0.5, 5, 0.05


@dataclass(slots=True)
class _Writer:
    """Delays of one writer [s]; infinite: unknown."""

    heard: float
    since: float
    least: float = math.inf
    former: float = math.inf
    # The last samples that were old and had equal delays.
    samples: int = 0
    first: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def smallest(self, now: float) -> float:
        """Return the smallest delay of the last minutes."""
        if now - self.since > _WINDOW:
            self.former = self.least if now - self.since <= 2.0 * _WINDOW else math.inf
            self.least, self.since = math.inf, now
        self.heard = now
        return min(self.least, self.former)

    def is_steady(self, sent: float, delay: float) -> bool:
        """Return whether the delay is a new smallest one, because the clock was set."""
        self.low, self.high = min(self.low, delay), max(self.high, delay)
        if not self.samples or self.high - self.low > _JITTER:
            self.samples, self.first, self.low, self.high = 0, sent, delay, delay
        self.samples += 1
        if self.samples < _SAMPLES or sent - self.first < _STEADY:
            return False
        self.least, self.former = self.low, math.inf
        return True


class StallWatch:
    """
    Notices that the process stood still, and then rejects commands from before.

    :param limit: Seconds without a look that are a stall, and the age of a command from before.
    :param time: Returns the time of the steady clock [s].
    """

    def __init__(self, limit: float, time: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self._time = time
        self._writers: dict[Hashable, _Writer] = {}
        self.reset()

    @property
    def period(self) -> float:
        """Seconds between two looks of a timer: enough that only a stall is late."""
        return 0.25 * self.limit

    def reset(self) -> None:
        """Forget the last stall."""
        self._alive = self._time()
        self._resumed = -math.inf
        self._stalled = 0.0

    def look(self) -> float:
        """Look whether the node stood still since the last look; return the time [s]."""
        now = self._time()
        gap, self._alive = now - self._alive, now
        if gap > self.limit:
            self._stalled, self._resumed = gap, now
        return now

    def check(self, writer: Hashable | None, sent: float, received: float) -> None:
        """
        Look before a command.

        :param writer: Identity of its writer; ``None``: unknown.
        :param sent: Its source time [s].
        :param received: The time now, by the clock that source times are taken from [s].
        :raises MessageError: If it may be from before a stall (``stalled``).
        """
        now = self.look()
        since = now - self._resumed
        if writer is None:
            if since < _BLIND:
                raise self._error(
                    'it is unknown which publisher sent this: commands are accepted again '
                    f'{_BLIND:g} s after the stall'
                )
            return
        known = self._writers.get(writer) or self._added(writer, now)
        delay = received - sent
        age = delay - known.smallest(now)
        if since < _CHECKED and not -math.inf < age <= self.limit:
            if not known.is_steady(sent, delay):
                raise self._error(
                    f'this was sent {age:.2f} s ago, expected {self.limit:g} s at most'
                    if age > 0.0
                    else 'it is unknown when this was sent: its publisher was not known before'
                )
        else:
            known.samples = 0
        known.least = min(known.least, delay)

    def _added(self, writer: Hashable, now: float) -> _Writer:
        if len(self._writers) >= _WRITERS:
            del self._writers[min(self._writers, key=lambda each: self._writers[each].heard)]
        known = self._writers[writer] = _Writer(now, now)
        return known

    def _error(self, reason: str) -> MessageError:
        return MessageError(
            'stalled',
            f'the node stood still for {self._stalled:.2f} s (a loaded or paused machine), and '
            f'{reason}',
        )
