# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rejection of commands from before a stall of the process; they waited or are resent afterwards.

Only the source time of a command survives a stall, because the threads of the middleware also
stop. Clocks of machines differ, so each writer is compared with itself. The delay of a sample is
its time of receipt minus its source time. Its age is its delay minus the smallest delay of its
writer in the last minutes.

If a clock is set, all delays of a writer change at once and then stay equal. Delays of old samples
decrease: samples that waited, and the history that reliable DDS resends on request, arrive in a
burst. One sample in time shows that the clock was not set. Therefore old samples are accepted as
new ones only if they arrive with equal delays for longer than a usual history lasts, without a
sample in time between them. For old commands this happens only on a link that delays all of them
equally.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
import math
import time

from transmission_bridge.errors import MessageError

#: Time after a stall during which commands are checked, and during which commands without a known
#: writer are rejected [s].
_CHECKED, _BLIND = 10.0, 3.0

#: Length of each of the two windows for smallest delays [s], and number of writers remembered.
_WINDOW, _WRITERS = 120.0, 64

#: Samples of equal delay: smallest span of their source times [s], smallest number, and largest
#: difference of the delays from the first [s].
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

    def compute_smallest_delay(self, now: float) -> float:
        """Return the smallest delay of the last minutes."""
        if (passed := now - self.since) > _WINDOW:
            self.former = self.least if passed <= 2.0 * _WINDOW else math.inf
            self.least, self.since = math.inf, now
        return min(self.least, self.former)

    def accept_steady_delay(self, sent: float, delay: float) -> bool:
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
    Detects stalls of the process, and rejects commands sent before a stall.

    A timer and every command look for a stall; states need no look, because only commands are
    rejected.

    :param limit: Time between two calls that is a stall, and largest age of a command [s].
    :param time: Returns the time of the steady clock [s].
    :ivar period: Period for the timer that calls :meth:`notice_stall` [s].
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

    def notice_stall(self) -> float:
        """Detect a stall since the last call; return the time [s]."""
        now = self._time()
        gap, self._alive = now - self._alive, now
        if gap > self.limit:
            self._stalled, self._resumed = gap, now
            for writer in self._writers.values():
                writer.samples = 0
        return now

    def check_source_time(self, writer: Hashable | None, sent: float, received: float) -> None:
        """
        Check a command before it is used.

        :param writer: Identity of its writer; ``None``: unknown.
        :param sent: Its source time [s].
        :param received: The time now, by the clock that source times are taken from [s].
        :raises MessageError: If it may be from before a stall (``stalled``).
        """
        now = self.notice_stall()
        known = self._writers.pop(writer, None) or _Writer(now)
        if writer is not None:
            self._writers[writer] = known
        if len(self._writers) > _WRITERS:  # the first writer has the longest silence
            del self._writers[next(iter(self._writers))]
        delay = received - sent
        age = delay - known.compute_smallest_delay(now)
        checked = _BLIND if writer is None else _CHECKED
        if now - self._resumed >= checked or -math.inf < age <= self.limit:
            known.samples = 0
        elif not known.accept_steady_delay(sent, delay):
            when = f'{age:.2f} s' if age > 0.0 else 'an unknown time'
            raise MessageError(
                'stalled',
                f'the node was stalled for {self._stalled:.2f} s (a loaded or paused machine), '
                f'and the command was sent {when} ago, expected {self.limit:g} s at most',
            )
        known.least = min(known.least, delay)
