# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Commands from before a stall: the process stood still, and they waited or are resent afterwards.

Only the time at which a command was sent survives a stall: the threads of the middleware stand
still as well. Clocks of machines differ, so each writer is compared with itself. The delay of a
sample is its time of receipt minus its source time. Its age is its delay minus the smallest delay
of its writer in the last minutes.

If a clock is set, all delays of a writer change at once and then stay equal. Delays of old samples
do not: samples that waited, and the history that reliable DDS resends on request, come in a burst,
so that each has a smaller delay than the one before. One sample in time shows that the clock was
not set. So old samples count as new ones only if they come with equal delays for longer than a
usual history lasts, without a sample in time between them. That happens to old commands only on a
link that delays all of them equally.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
import math
import time

from transmission_bridge.errors import MessageError

#: Seconds after a stall in which commands are checked; without a known writer all are rejected.
_CHECKED, _BLIND = 10.0, 3.0

#: Seconds of each of the two windows that smallest delays are kept for, and writers remembered.
_WINDOW, _WRITERS = 120.0, 64

#: Source time that samples of equal delay must span [s], their number, and how far their delays
#: may differ from the first [s].
_STEADY, _SAMPLES, _JITTER = 0.5, 5, 0.05


@dataclass(slots=True)
class _Writer:
    """Smallest delays of a writer [s], infinite if unknown, and its last samples if old."""

    since: float
    least: float = math.inf
    former: float = math.inf
    samples: int = 0
    first_sent: float = 0.0
    first_delay: float = 0.0

    def smallest(self, now: float) -> float:
        """Return the smallest delay of the last minutes."""
        if (passed := now - self.since) > _WINDOW:
            self.former = self.least if passed <= 2.0 * _WINDOW else math.inf
            self.least, self.since = math.inf, now
        return min(self.least, self.former)

    def is_steady(self, sent: float, delay: float) -> bool:
        """Return whether the delay is a new smallest one, because a clock was set."""
        if not self.samples or abs(delay - self.first_delay) > _JITTER:
            self.samples, self.first_sent, self.first_delay = 0, sent, delay
        self.samples += 1
        if self.samples < _SAMPLES or sent - self.first_sent < _STEADY:
            return False
        self.least, self.former = self.first_delay, math.inf
        return True


class StallWatch:
    """
    Notices that the process stood still, and then rejects commands from before.

    :param limit: Seconds without a look that are a stall, and the age of a command from before.
    :param time: Returns the time of the steady clock [s].
    :ivar period: Seconds between two looks of a timer: enough that only a stall is late.
    """

    def __init__(self, limit: float, time: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.period = limit, 0.25 * limit
        self._time = time
        self._writers: dict[Hashable, _Writer] = {}
        self.reset()

    def reset(self) -> None:
        """Forget the last stall."""
        self._alive = self._time()
        self._resumed, self._stalled = -math.inf, 0.0

    def look(self) -> float:
        """Look whether the node stood still since the last look; return the time [s]."""
        now = self._time()
        gap, self._alive = now - self._alive, now
        if gap > self.limit:
            self._stalled, self._resumed = gap, now
            for writer in self._writers.values():
                writer.samples = 0
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
        known = self._writers.pop(writer, None) or _Writer(now)
        if writer is not None:
            self._writers[writer] = known
        if len(self._writers) > _WRITERS:  # the first one was silent for the longest
            del self._writers[next(iter(self._writers))]
        delay = received - sent
        age = delay - known.smallest(now)
        checked = _BLIND if writer is None else _CHECKED
        if now - self._resumed >= checked or -math.inf < age <= self.limit:
            known.samples = 0
        elif not known.is_steady(sent, delay):
            when = f'{age:.2f} s' if age > 0.0 else 'an unknown time'
            raise MessageError(
                'stalled',
                f'the node stood still for {self._stalled:.2f} s (a loaded or paused machine), '
                f'and this was sent {when} ago, expected {self.limit:g} s at most',
            )
        known.least = min(known.least, delay)
