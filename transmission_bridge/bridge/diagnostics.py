# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What REP 107 diagnostics say of topics and of sources of commands, as plain data.

Counts are totals since the node was configured. Levels are about the time since the last look, so
that a trouble that is over does not stay on the screen.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
import math

from transmission_bridge.bridge.statistics import CommandCounts, TopicStatistics
from transmission_bridge.errors import clipped, shortened

__all__ = [
    'ERROR',
    'NAME_LENGTH',
    'OK',
    'WARN',
    'Status',
    'Window',
    'command_status',
    'input_status',
    'judged',
    'output_status',
]

OK, WARN, ERROR = 0, 1, 2

#: Characters of the name of a status, and of a key: robots have long names, and hostile ones.
NAME_LENGTH = 256

#: Reasons of refusal that blame the form of a message and not what it asks for.
_MALFORMED = (
    *('too_large', 'undecodable', 'ragged', 'duplicate_name', 'size', 'not_finite', 'infinite'),
    *('no_names', 'no_points', 'empty_point', 'times', 'bad_stamp'),
)


@dataclass(frozen=True, slots=True)
class Status:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Of the part, without the node's.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param message: The level in words.
    :param values: Key and value.
    """

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...]

    def __getitem__(self, key: str) -> str:
        """Return the value of a key."""
        return dict(self.values)[key]


class Window:
    """How much counts have grown since they were last looked at."""

    def __init__(self) -> None:
        self._totals: dict[Hashable, int] = {}

    def grown(self, key: Hashable, total: int) -> int:
        """
        Return the growth of a count, and remember it.

        :param key: Which count.
        :param total: Its value; one that is smaller than before has begun anew.
        """
        before = self._totals.get(key, 0)
        self._totals[key] = total
        return total - before if total >= before else total


def judged(
    name: str,
    troubles: Iterable[tuple[int, str]],
    values: Mapping[str, object],
    fine: str = 'OK',
) -> Status:
    """
    Return a status whose level is that of the worst trouble, every text of it bounded.

    :param troubles: Level and words of each.
    :param fine: The words where there is none.
    """
    found = sorted(troubles, key=lambda trouble: -trouble[0])
    return Status(
        clipped(name, NAME_LENGTH),
        max((level for level, _ in found), default=OK),
        clipped('; '.join(words for _, words in found) or fine),
        tuple((clipped(key, NAME_LENGTH), clipped(str(value))) for key, value in values.items()),
    )


def input_status(
    statistics: TopicStatistics,
    window: Window,
    *,
    now: float,
    period: float,
    incompatible: Sequence[str],
    timeout: float = 0.0,
) -> Status:
    """
    Return the status of a topic that is listened to.

    :param now: Time of the clock that gave the times of receipt [s].
    :param period: Seconds since the last look.
    :param incompatible: Publishers whose quality of service does not fit, in words.
    :param timeout: Seconds after which the topic is stale; 0: never.
    """
    topic = statistics.topic
    age = max(now - statistics.heard, 0.0)
    troubles = _incompatibilities(incompatible)
    # A time of receipt to come was before time went back.
    if timeout and not 0.0 <= now - statistics.used <= timeout:
        troubles.append((ERROR, f'stale: no usable message within {timeout:g} s'))
    troubles += _rejections(statistics, window, 'input')
    replaced = [
        reason
        for reason, count in statistics.replaced_stamps.items()
        if window.grown(('stamp', topic, reason), count)
    ]
    if replaced:
        troubles.append((WARN, f'stamps replaced by the time of receipt: {", ".join(replaced)}'))
    rate = window.grown(('received', topic), statistics.received) / period if period else 0.0
    return judged(
        topic,
        troubles,
        {
            'rate [Hz]': f'{rate:.1f}',
            'age [s]': f'{age:.3f}' if math.isfinite(age) else 'never heard',
            'received': statistics.received,
            'accepted': statistics.accepted,
            'malformed': sum(
                count for reason, count in statistics.rejected.items() if reason in _MALFORMED
            ),
            **_by('rejected', statistics.rejected),
            **_by('replaced stamps', statistics.replaced_stamps),
            'incompatible': shortened(incompatible, show=str),
        },
        'receiving' if rate else 'silent',
    )


def output_status(topic: str, incompatible: Sequence[str]) -> Status:
    """
    Return the status of a topic that is published.

    :param incompatible: Subscribers whose quality of service does not fit, in words.
    """
    return judged(
        topic,
        _incompatibilities(incompatible),
        {'incompatible': shortened(incompatible, show=str)},
    )


def _incompatibilities(peers: Sequence[str]) -> list[tuple[int, str]]:
    if not peers:
        return []
    return [(WARN, f'incompatible quality of service: {shortened(peers, show=str)}')]


def command_status(statistics: TopicStatistics, counts: CommandCounts, window: Window) -> Status:
    """Return what became of the commands of one source."""
    topic = statistics.topic
    troubles = _rejections(statistics, window, 'commands')
    for kind, words, by_joint in (
        ('clamped', 'brought inside the limits', counts.clamped),
        ('contested', 'commanded by another source too', counts.contested),
    ):
        grown = [
            joint for joint, count in by_joint.items() if window.grown((kind, topic, joint), count)
        ]
        if grown:
            troubles.append((WARN, f'{words}: {", ".join(grown)}'))
    return judged(
        f'commands of {topic}',
        troubles,
        {
            'accepted': statistics.accepted,
            **_by('rejected', statistics.rejected),
            **_by('clamped', counts.clamped),
            **_by('outside limits', counts.limited),
            **_by('contested', counts.contested),
        },
    )


def _rejections(statistics: TopicStatistics, window: Window, view: str) -> list[tuple[int, str]]:
    grown = [
        reason
        for reason, count in statistics.rejected.items()
        if statistics.is_trouble(reason) and window.grown((view, statistics.topic, reason), count)
    ]
    return [(WARN, f'messages rejected: {", ".join(grown)}')] if grown else []


def _by(kind: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the total, then each count under its own key."""
    return {kind: sum(counts.values())} | {f'{kind} {key}': counts[key] for key in sorted(counts)}
