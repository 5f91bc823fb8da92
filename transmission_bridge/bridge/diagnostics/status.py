# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
REP 107 diagnostics as plain data: statuses, their troubles, and the lines that are logged.

Counts are totals since the node was configured. Levels describe the present: an event, such as a
rejected message, is shown for 5 s.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
import math
import time
from typing import NamedTuple

from transmission_bridge.errors import clipped, shortened

OK, WARN, ERROR = 0, 1, 2

#: Largest length of the name of a status and of a key; received names may be of any length.
NAME_LENGTH = 256

#: Key of the units of an actuator, before the name that its driver uses.
UNITS_OF = 'units '

#: Seconds for which an event is shown.
SHOWN = 5.0

#: Seconds between two log lines of the same trouble.
_LOG_PERIOD = 5.0


class Trouble(NamedTuple):
    """
    A trouble of a part.

    :param name: Identifies it in the log while its sentence changes; empty: not logged here.
    :param level: ``WARN`` or ``ERROR``.
    :param sentence: The trouble, the finding and the remedy; empty: there is no trouble.
    """

    name: str
    level: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Status:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Name of the part, without the name of the node.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param values: Pairs of key and value.
    :param troubles: The causes of level and message.
    """

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...]
    troubles: tuple[Trouble, ...] = ()

    def __getitem__(self, key: str) -> str:
        """Return the value of a key."""
        return dict(self.values)[key]


def make_status(
    name: str,
    troubles: Iterable[Trouble],
    values: Mapping[str, object],
    fine: str = 'OK',
    *,
    state: str = '',
) -> Status:
    """
    Return a status with the level of the worst trouble and texts of limited length.

    :param troubles: Those without a sentence are left out.
    :param fine: The message without troubles.
    :param state: The first words of every message.
    """
    found = tuple(each for each in troubles if each.sentence)
    return _make_status(name, found, tuple(values.items()), fine, state)


@lru_cache(256)  # most parts are as they were a second ago
def _make_status(
    name: str,
    troubles: tuple[Trouble, ...],
    values: tuple[tuple[str, object], ...],
    fine: str,
    state: str,
) -> Status:
    found = sorted(troubles, key=lambda each: -each.level)
    words = [state, *(each.sentence for each in found)]
    return Status(
        clipped(name, NAME_LENGTH),
        found[0].level if found else OK,
        clipped('; '.join(filter(None, words)) or fine),
        tuple((clipped(key, NAME_LENGTH), clipped(str(value))) for key, value in values),
        tuple(found),
    )


class Recent:
    """
    What earlier looks have found.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._totals: dict[Hashable, int] = {}
        self._events: dict[Hashable, float] = {}
        self._begun: dict[Hashable, float] = {}

    def count_growth(self, key: Hashable, total: int) -> int:
        """
        Return the growth of a count, and store the count.

        :param total: The count; if it is smaller than before, it was reset.
        """
        before = self._totals.get(key, 0)
        self._totals[key] = total
        return total - before if total >= before else total

    def has_grown(self, key: Hashable, total: int) -> bool:
        """Return whether a count has grown in the last 5 s."""
        return self.was_true(key, self.count_growth(key, total) > 0)

    def list_grown(self, kind: tuple[str, str], counts: Mapping[str, int]) -> list[str]:
        """Return the keys of counts of one kind that have grown in the last 5 s."""
        return [key for key, count in counts.items() if self.has_grown((*kind, key), count)]

    def was_true(self, key: Hashable, is_so: bool) -> bool:
        """Return whether a fact is true at this look, or was true in the last 5 s."""
        now = self._time()
        if is_so:
            self._events[key] = now
        return now - self._events.get(key, -math.inf) < SHOWN

    def confirm(self, key: Hashable, words: str, seconds: float = 0.0) -> str:
        """
        Return words if the looks before have also found some, else an empty text.

        The graph of nodes is incomplete during discovery.

        :param seconds: Time since the first of these looks; 0: the last look is sufficient.
        """
        now = self._time()
        begun = self._begun.pop(key, math.nan)
        if words:
            self._begun[key] = now if math.isnan(begun) else begun
        return words if now - begun >= seconds else ''


class TroubleLog:
    """
    Log lines for statuses: each trouble at its start and at its end.

    A trouble is logged at most once per 5 s. Equal words about several parts become one line.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._said: dict[tuple[str, str], float] = {}
        # Logged troubles, with the times of their start and of their last presence.
        self._lasting: dict[tuple[str, str], tuple[Trouble, float, float]] = {}

    def list_log_lines(self, statuses: Iterable[Status]) -> list[tuple[int, str]]:
        """Return level and text of the lines to log; ``OK`` is information."""
        now = self._time()
        present = {
            (status.name, trouble.name): trouble
            for status in statuses
            # Keep the worst trouble of a kind.
            for trouble in sorted(status.troubles, key=lambda each: each.level)
            if trouble.name
        }
        lines: dict[tuple[int, str], list[str]] = {}
        for key, trouble in present.items():
            lasting, since, _ = self._lasting.get(key, (None, now, now))
            if lasting is None and not self._may_log(key, now):
                continue
            if lasting is None or trouble.level > lasting.level:
                lasting = trouble
                self._said[key] = now
                lines.setdefault((trouble.level, trouble.sentence), []).append(key[0])
            self._lasting[key] = lasting, since, now
        for key in [key for key in self._lasting if key not in present]:
            if self._may_log(key, now):
                trouble, since, until = self._lasting.pop(key)
                self._said[key] = now
                lasted = until - since
                length = f'{lasted:.0f} s' if lasted >= 1.0 else 'less than 1 s'
                words = f'ended after {length}: {trouble.sentence}'
                lines.setdefault((OK, words), []).append(key[0])
        return [
            (level, f'{shortened(names, show=str)}: {words}')
            for (level, words), names in lines.items()
        ]

    def _may_log(self, key: tuple[str, str], now: float) -> bool:
        return now - self._said.get(key, -math.inf) >= _LOG_PERIOD
