# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Rejection of commands that waited while the process stood still."""

from __future__ import annotations

from collections.abc import Callable
import math
import time

from transmission_bridge.errors import MessageError

#: Time after a stall during which commands are rejected [s].
BLIND = 0.3


class StallWatch:
    """
    Detects stalls of the process by a timer, and rejects commands just after them.

    Commands that waited in the middleware arrive at once when the process resumes.

    :param limit: Longest time between two ticks that is no stall [s].
    :param read_time: Returns the time of the steady clock [s].
    :ivar period: Period for the timer that calls :meth:`record_tick` [s].
    :ivar calm_until: Time until which no command can have waited [s].
    """

    def __init__(self, limit: float, read_time: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.period = limit, 0.25 * limit
        self.read_time = read_time
        self.reset()

    def reset(self) -> None:
        """Forget the last stall."""
        self._ticked, self._blind_until, self._stood = self.read_time(), -math.inf, 0.0
        self.calm_until = self._ticked + self.limit

    def record_tick(self) -> None:
        """Record that the process is alive."""
        self._find_stall(self.read_time())

    def check_receipt(self) -> None:
        """
        Check a command that is received later than :attr:`calm_until`, before it is used.

        :raises MessageError: If it may have waited during a stall (``stalled``).
        """
        now = self.read_time()
        if now - self._ticked > self.limit:
            self._find_stall(now)
        if now < self._blind_until:
            raise MessageError(
                'stalled',
                f'the node stood still for {self._stood:.2f} s (a loaded or paused machine); '
                f'commands are rejected for {BLIND:g} s afterwards',
            )

    def _find_stall(self, now: float) -> None:
        gap, self._ticked = now - self._ticked, now
        if gap > self.limit:
            self._stood, self._blind_until = gap, now + BLIND
        self.calm_until = now + self.limit if now >= self._blind_until else -math.inf
