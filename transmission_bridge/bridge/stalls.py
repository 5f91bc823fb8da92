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
    :param time: Returns the time of the steady clock [s].
    :ivar period: Period for the timer that calls :meth:`record_tick` [s].
    """

    def __init__(self, limit: float, time: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.period = limit, 0.25 * limit
        self._time = time
        self.reset()

    def reset(self) -> None:
        """Forget the last stall."""
        self._ticked, self._blind_until, self._stood = self._time(), -math.inf, 0.0

    def record_tick(self) -> None:
        """Record that the process is alive."""
        self._find_stall(self._time())

    def check_receipt(self, received: float) -> None:
        """
        Check a command before it is used.

        :param received: Its time of receipt by the steady clock [s].
        :raises MessageError: If it may have waited during a stall (``stalled``).
        """
        if received - self._ticked > self.limit:
            self._find_stall(received)
        if received < self._blind_until:
            raise MessageError(
                'stalled',
                f'the node stood still for {self._stood:.2f} s (a loaded or paused machine); '
                f'commands are rejected for {BLIND:g} s afterwards',
            )

    def _find_stall(self, now: float) -> None:
        gap, self._ticked = now - self._ticked, now
        if gap > self.limit:
            self._stood, self._blind_until = gap, now + BLIND
