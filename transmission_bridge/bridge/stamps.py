# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which stamps of messages count."""

from __future__ import annotations

from collections.abc import Callable
import math

__all__ = ['Stamp', 'StampJudge', 'is_possible']

#: Seconds and nanoseconds, as in a message header.
Stamp = tuple[int, int]

_BILLION = 10**9
_NONE: Stamp = (0, 0)
_LAST: Stamp = (2**31 - 1, _BILLION - 1)

#: How far ahead of the node's clock a stamp may be [ns]. Clocks that are kept by NTP agree better.
_TOLERANCE = _BILLION // 2

#: Seconds for which one reading of the node's clock serves.
_VALIDITY = 0.5


def is_possible(stamp: Stamp) -> bool:
    """Tell whether a stamp is a time: seconds not negative, nanoseconds below one second."""
    return stamp[0] >= 0 and 0 <= stamp[1] < _BILLION


class StampJudge:
    """
    Decides which stamp counts as the time of a message: its own, or the time of receipt.

    The time of receipt counts where the stamp is zero, impossible (``bad_stamp``) or more than
    0.5 s ahead of the node's clock (``future_stamp``). To ask that clock costs as much as mapping
    a message, so that one reading serves for half a second of the clock that gives times of
    receipt. A clock that says zero has no time yet: nothing is ahead of it.

    :param clock: The node's clock.
    :param note: Called with topic, reason and a sentence for every stamp that did not count,
        unless it was zero.
    :param set_anew: Called where that clock was set back, or has a time at last: what was not
        ahead of it before may be now.
    """

    def __init__(
        self,
        clock: Callable[[], Stamp],
        note: Callable[[str, str, str], None],
        set_anew: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._note = note
        self._set_anew = set_anew
        self._time = _NONE
        self._seconds, self._nanoseconds = _NONE
        self._since = self._until = -math.inf

    def judge(self, topic: str, stamp: Stamp, now: float) -> Stamp:
        """
        Return the stamp that counts.

        :param topic: Where the message came from.
        :param stamp: The message's own.
        :param now: Time of receipt [s].
        """
        # Whole numbers, as tuples cost twice as much to compare.
        seconds, nanoseconds = stamp
        if (
            0 < seconds <= self._seconds
            and nanoseconds <= (self._nanoseconds if seconds == self._seconds else _LAST[1])
            and self._since <= now <= self._until
        ):
            return stamp
        return self._judged(topic, stamp, now)

    def _judged(self, topic: str, stamp: Stamp, now: float) -> Stamp:
        before, time = self._time, self._clock()
        self._time = time
        if time < before or before == _NONE != time:
            self._set_anew()
        limit = self._seconds, self._nanoseconds = _limit_at(time)
        self._since = now
        # The first time of a clock that had none may come at any moment.
        self._until = now + _VALIDITY if time != _NONE else now
        if stamp == _NONE:
            return time
        if not is_possible(stamp):
            self._note(
                topic,
                'bad_stamp',
                f'header.stamp is impossible: expected seconds >= 0 and nanoseconds < {_BILLION}, '
                f'found {stamp[0]} s and {stamp[1]} ns; the time of receipt counts instead. Fill '
                'header.stamp from the clock of the node that sends',
            )
            return time
        if stamp > limit:
            ahead = _nanoseconds(stamp) - _nanoseconds(time)
            self._note(
                topic,
                'future_stamp',
                f"header.stamp is {ahead / _BILLION:.3f} s ahead of this node's clock, expected "
                f'{_TOLERANCE / _BILLION:g} s at most; the time of receipt counts instead. '
                'Synchronise the clocks, and give both nodes the same use_sim_time',
            )
            return time
        return stamp


def _limit_at(time: Stamp) -> Stamp:
    """Return the latest stamp that is not too far ahead at a time."""
    if time == _NONE:
        return _LAST
    seconds, nanoseconds = divmod(_nanoseconds(time) + _TOLERANCE, _BILLION)
    return seconds, nanoseconds


def _nanoseconds(stamp: Stamp) -> int:
    return stamp[0] * _BILLION + stamp[1]
