# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""When the joint states are published."""

from __future__ import annotations

from collections.abc import Iterable
import math

__all__ = ['Trigger']


class Trigger:
    """
    Decides after each message whether the joint states are due.

    Time going backwards forgets who has sent what.

    :param policy: ``on_any``: after every message; ``on_all``: when every source has sent one
        since the last time, leaving out those that timed out; ``rate``: never, a timer decides.
    :param sources: All sources.
    :param timeout: Seconds after which a source is left out; 0: never.
    """

    def __init__(self, policy: str, sources: Iterable[str], timeout: float = 0.0) -> None:
        self._policy = policy
        self._sources = frozenset(sources)
        self._timeout = timeout or math.inf
        self.reset()

    def reset(self) -> None:
        """Forget who has sent what."""
        self._heard = dict.fromkeys(self._sources, -math.inf)
        self._since: set[str] = set()
        self._latest = -math.inf

    def heard(self, source: str, now: float) -> bool:
        """
        Take note of a message and tell whether the joint states are due.

        :param source: Who sent it.
        :param now: Time of receipt [s].
        """
        if self._policy != 'on_all':
            return self._policy == 'on_any'
        if now < self._latest:
            self.reset()
        self._latest = self._heard[source] = now
        self._since.add(source)
        # With no timeout nobody is left out, not even who was never heard.
        missing = self._sources - self._since
        if any(now - self._heard[other] <= self._timeout for other in missing):
            return False
        self._since.clear()
        return True
