# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
REP 107 diagnostics as plain data: statuses, their facts, and the lines that are logged.

Counts are totals since the node was configured. Levels describe the present: an event, such as a
rejected message, is shown for 5 s. Inspections, the node's publisher and clients in tools use
these classes; only the two histories change, by one look per second of a steady clock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
import math
import time
from typing import NamedTuple

from transmission_bridge.errors import clipped, shortened

#: The levels of diagnostic_msgs/DiagnosticStatus; greater: worse.
OK, WARN, ERROR = 0, 1, 2

#: Largest length of the name of a status and of a key; received names may be of any length.
_NAME_LENGTH = 256

#: Keys before names: the units of an actuator by the name that its driver uses, and the reason why
#: an actuator or a joint is unknown. ``watch`` reads them.
UNITS_OF, UNKNOWN = 'units ', 'unknown '

#: First part of the names of this package's tools, which do not count as subscribers.
TOOLS = 'transmission_bridge_'

#: Seconds for which an event is shown.
SHOWN = 5.0

#: Seconds between two log lines of the same trouble.
_LOG_PERIOD = 5.0


class Fact(NamedTuple):
    """
    A fact about a part; a trouble if its level is not ``OK``.

    :param key: Its name, a public key of the status; also the first words of a trouble.
    :param value: Its value, and the remedy of a trouble. Empty: the fact does not exist.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param is_logged: Whether the trouble is logged here; others are logged when they happen.
    """

    key: str
    value: object
    level: int = OK
    is_logged: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Name of the part, without the name of the node.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param message: The troubles, the worst first.
    :param facts: Its keys and values.
    """

    name: str
    level: int
    message: str
    facts: tuple[Fact, ...]

    def __getitem__(self, key: str) -> str:
        """Return the value of a key, empty without such a key."""
        return next((str(fact.value) for fact in self.facts if fact.key == key), '')


def make_diagnostic(
    name: str, facts: Iterable[Fact], fine: str = 'OK', *, state: str = ''
) -> Diagnostic:
    """
    Return a status with the level of the worst trouble and texts of limited length.

    :param fine: The message without troubles.
    :param state: The first words of every message.
    """
    return _make_status(name, tuple(fact for fact in facts if fact.value != ''), fine, state)


@lru_cache(256)  # most parts are as they were a second ago
def _make_status(name: str, facts: tuple[Fact, ...], fine: str, state: str) -> Diagnostic:
    troubles = sorted((fact for fact in facts if fact.level), key=lambda fact: -fact.level)
    words = [state, *(f'{fact.key}: {fact.value}' for fact in troubles)]
    return Diagnostic(
        clipped(name, _NAME_LENGTH),
        troubles[0].level if troubles else OK,
        clipped('; '.join(filter(None, words)) or fine),
        tuple(
            fact._replace(key=clipped(fact.key, _NAME_LENGTH), value=clipped(str(fact.value)))
            for fact in facts
        ),
    )


class DiagnosticHistory:
    """
    Counts and facts of earlier looks.

    Each method stores its argument for the next look, so a caller uses a key once per look.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        # By key: last count, last time of an event, and first of the looks in turn with words [s].
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

    def list_grown(self, kind: Hashable, counts: Mapping[str, int]) -> list[str]:
        """Return the keys of counts of one kind that have grown in the last 5 s."""
        return [
            key
            for key, count in counts.items()
            if self.was_true((kind, key), self.count_growth((kind, key), count) > 0)
        ]

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


class DiagnosticLog:
    """
    Log lines for statuses: each trouble at its start and at its end.

    A trouble is logged at most once per 5 s. Equal words about several parts become one line. A
    caller passes all statuses of its parts at each look: a missing trouble has ended.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        # Time of the last line of a trouble, by names of status and key.
        self._logged_at: dict[tuple[str, str], float] = {}
        # Logged troubles, with the times of their start and of their last presence.
        self._lasting: dict[tuple[str, str], tuple[Fact, float, float]] = {}

    def list_log_lines(self, statuses: Iterable[Diagnostic]) -> list[tuple[int, str]]:
        """Return level and text of the lines to log; ``OK`` is information."""
        now = self._time()
        present = {
            (status.name, fact.key): fact
            for status in statuses
            for fact in status.facts
            if fact.level and fact.is_logged
        }
        lines: dict[tuple[int, str], list[str]] = {}
        for key, fact in present.items():
            lasting, since, _ = self._lasting.get(key, (None, now, now))
            if lasting is None and not self._may_log(key, now):
                continue
            if lasting is None or fact.level > lasting.level:
                lasting = fact
                self._logged_at[key] = now
                lines.setdefault((fact.level, f'{fact.key}: {fact.value}'), []).append(key[0])
            self._lasting[key] = lasting, since, now
        for key in [key for key in self._lasting if key not in present]:
            if self._may_log(key, now):
                fact, since, until = self._lasting.pop(key)
                self._logged_at[key] = now
                words = f'ended after {until - since:.1f} s: {fact.key}: {fact.value}'
                lines.setdefault((OK, words), []).append(key[0])
        return [
            (level, f'{shortened(names, show=str)}: {words}')
            for (level, words), names in lines.items()
        ]

    def _may_log(self, key: tuple[str, str], now: float) -> bool:
        return now - self._logged_at.get(key, -math.inf) >= _LOG_PERIOD
