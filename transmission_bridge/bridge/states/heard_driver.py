# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is remembered of the messages of one driver."""

from __future__ import annotations

import math

from transmission_bridge.bridge.inputs import Entries, Stamp
from transmission_bridge.bridge.options.options import AUTO
from transmission_bridge.messages import Layout
from transmission_bridge.types import Array

#: Automatic timeout of a driver: smallest and largest value [s], and number of periods.
_LEAST_TIMEOUT, _MOST_TIMEOUT, _PERIODS = 1.0, 5.0, 5.0


class HeardDriver:
    """
    One driver.

    :param number: Its number in the order of the first messages.
    :param entries: Indices and scales of its last message.
    :param state_timeout: The option.
    :ivar timeout: Time after which its numbers are too old [s]; infinite: never.
    :ivar usual: Largest gap between messages that changes nothing [s].
    :ivar stamp: Stamp of its last message, ``None``: forgotten.
    :ivar heard: Time of receipt of its last message [s].
    :ivar layout: Layout of its last message, if the next one needs no look-up.
    :ivar target: The numbers of its messages, if they are a block; else ``None``.
    :ivar has_blanks: Whether a position in its last message was not a number.
    """

    def __init__(self, number: int, entries: Entries, state_timeout: float) -> None:
        self.number, self.entries = number, entries
        self._is_auto, self._period = state_timeout == AUTO, 0.0
        self.timeout = _LEAST_TIMEOUT if self._is_auto else state_timeout or math.inf
        self.usual = -1.0 if self._is_auto else self.timeout
        self.stamp: Stamp | None = None
        self.heard = -math.inf
        self.layout: Layout | None = None
        self.target: Array | None = None
        self.has_blanks = False

    def measure_period(self, gap: float) -> bool:
        """
        Measure its period, which may determine its timeout.

        :param gap: Time since its last message [s], infinite before the first one.
        :returns: Whether its timeout has changed.
        """
        if not self._is_auto or gap == math.inf:
            return False
        # Silence is no period: one message after it would not become too old for a long time.
        gap = min(gap, self.timeout)
        # The first gap is the period; later gaps are averaged.
        period = gap if not self._period else 0.9 * self._period + 0.1 * gap
        self._period = max(period, _LEAST_TIMEOUT / _PERIODS)
        before = self.timeout
        self.timeout = min(max(_LEAST_TIMEOUT, _PERIODS * self._period), _MOST_TIMEOUT)
        # Shorter gaps do not change the least timeout.
        self.usual = self._period if self.timeout == _LEAST_TIMEOUT else -1.0
        return self.timeout != before
