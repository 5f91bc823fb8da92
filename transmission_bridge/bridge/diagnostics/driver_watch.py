# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The driver of a topic: whether its messages arrive, and are usable."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.diagnostics.status import ERROR, OK, Recent, Trouble, WARN
from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.errors import shortened, shown
from transmission_bridge.types import Array

#: Seconds after activation until a driver should have sent a message.
GRACE = 2.0

#: Longest silence of a regular driver: number of periods, and smallest value [s].
_PERIODS, _LEAST = 5.0, 1.0

#: Number of looks with the same period after which a driver is regular: if its numbers stay the
#: same, if they sometimes repeat, and if they change with each message, as for a driver that
#: publishes on change.
_LOOKS_STANDING, _LOOKS, _LOOKS_CHANGING = 2, 5, 8

#: Largest ratio of the longest to the shortest period of a regular driver.
_RATIO = 2.0


class Look(NamedTuple):
    """
    The time of a look, once a second.

    :param now: Time by the clock of the times of receipt [s].
    :param period: Seconds since the last look.
    :param elapsed: Seconds since the last look, without pauses of the clock.
    :param open_for: Seconds since activation, without pauses of the clock.
    :param is_open: Whether the node is active.
    """

    now: float
    period: float = 0.0
    elapsed: float = 0.0
    open_for: float = 0.0
    is_open: bool = True


class Peers(NamedTuple):
    """
    Other nodes on a topic, as text.

    :param place: Full name of the topic after remapping.
    :param incompatible: Nodes with another message type or incompatible quality of service.
    :param publishers: Publishers by an identifier.
    :param elsewhere: Other JointState topics, on which a missing driver may publish, or to which
        the drivers subscribe.
    :param rivals: Other publishers of an output, or other bridges that receive a command or the
        states of a driver.
    :param is_heard: Whether the topic has a subscriber.
    """

    place: str
    incompatible: str = ''
    publishers: Mapping[Hashable, str] = {}
    elsewhere: Sequence[str] = ()
    rivals: str = ''
    is_heard: bool = False

    @property
    def senders(self) -> str:
        """The publishers in one text."""
        return shortened(tuple(self.publishers.values()), show=str)

    @property
    def description(self) -> str:
        """The number of publishers, and who they are, in one text."""
        number = len(self.publishers)
        senders = f' ({self.senders})' if number else ''
        return f'{self.place} has {number} publisher{"s" * (number != 1)}{senders}'


class DriverRhythm:
    """
    Detects silence of a driver that published regularly.

    Its period is the mean between two looks. A driver that publishes on change seems regular
    while the robot moves, and is silent while the robot stands. Therefore a driver with numbers
    that never repeat is checked only until its first pause.

    :ivar silence: Seconds since the look that found the latest message.
    """

    def __init__(self) -> None:
        self._received = 0
        self._numbers: Array = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Forget the driver, because another one may have replaced it."""
        self._heard = -math.inf
        self.silence = 0.0
        self._looks = 0
        self._periods: deque[float] = deque(maxlen=_LOOKS_CHANGING)
        self._repeats: deque[bool] = deque(maxlen=_LOOKS)
        self._longest = 0.0

    def record_messages(self, received: int, heard: float, elapsed: float, numbers: Array) -> None:
        """
        Record the messages since the last look.

        :param received: Number of messages so far.
        :param heard: Time of receipt of the latest message [s].
        :param elapsed: Seconds since the last look, without pauses of the clock.
        :param numbers: The latest numbers of the driver.
        """
        count, self._received = received - self._received, received
        if count <= 0:
            self.silence += elapsed
            self._looks += 1
            return
        self._longest = max(self._longest, self.silence)
        self.silence, self._looks = 0.0, 0
        if math.isfinite(self._heard) and heard > self._heard:
            self._periods.append((heard - self._heard) / count)
            self._repeats.append(np.array_equal(numbers, self._numbers, equal_nan=True))
        else:
            self._periods.clear()
            self._repeats.clear()
        self._heard, self._numbers = heard, numbers

    @property
    def period(self) -> float | None:
        """Seconds between messages, ``None`` while the driver is not regular."""
        repeats = any(self._repeats)
        stands = all(list(self._repeats)[-_LOOKS_STANDING:])
        looks = _LOOKS_STANDING if stands else _LOOKS if repeats else _LOOKS_CHANGING
        recent = list(self._periods)[-looks:]
        if len(recent) < looks:
            return None
        period = max(recent)
        is_even = period <= _RATIO * min(recent)
        if repeats and is_even:
            return period
        # A driver with repeating numbers may have pauses, because its process had to wait.
        no_pause = self._longest <= _compute_silence_limit(period)
        return period if no_pause and (repeats or is_even) else None

    @property
    def is_silent(self) -> bool:
        """Whether a regular driver has been silent for five periods and at least one second."""
        period = self.period
        # Two looks, because messages wait while this process has to wait.
        return (
            self._looks >= 2
            and period is not None
            and self.silence > _compute_silence_limit(period)
        )


def _compute_silence_limit(period: float) -> float:
    return max(_LEAST, _PERIODS * period)


class DriverWatch:
    """
    The driver of a topic.

    :param statistics: Counts of the topic.
    :ivar is_fine: Whether its messages were usable at the last look.
    """

    def __init__(self, statistics: TopicStatistics) -> None:
        self._statistics = statistics
        self._rhythm = DriverRhythm()
        self._recent = Recent()
        # Time of discovery of each publisher.
        self._publishers: dict[Hashable, float] = {}
        self._appeared = 0.0
        self.is_fine = True

    # fmt: off
    def collect_troubles(
        self, peers: Peers, numbers: Array, timeout: float, look: Look
    ) -> list[Trouble]:
        """
        Return the troubles; called once a second.

        :param numbers: The latest numbers of the driver.
        :param timeout: Seconds after which they are stale; infinite: never.
        """
        statistics, rhythm, recent = self._statistics, self._rhythm, self._recent
        place, publishers = peers.place, peers.publishers
        if not publishers.keys() <= self._publishers.keys():
            rhythm.restart()
            self._appeared = look.open_for
        self._publishers = {each: self._publishers.get(each, look.now) for each in publishers}
        rhythm.record_messages(statistics.received, statistics.heard, look.elapsed, numbers)
        if statistics.used == -math.inf:
            trouble = self._describe_trouble_at_start(peers, timeout, look.open_for)
        else:
            trouble = self._describe_trouble(peers, timeout, look.now)
        self.is_fine = not trouble.sentence
        shared = (f'{peers.description}: stop one of them if both publish the same actuator'
                  if len(publishers) > 1 else '')
        bridges = peers.rivals and (
            f'another bridge ({peers.rivals}) also uses the states on {place}: if its robot is '
            'another one, name the topic of the driver of each robot in actuator_state_topics')
        return [
            trouble,
            Trouble('shared', WARN, recent.confirm('shared', shared)),
            Trouble('other bridges', WARN, recent.confirm('bridges', bridges)),
        ]

    def _describe_trouble_at_start(self, peers: Peers, timeout: float, open_for: float) -> Trouble:
        """Return the trouble of a driver without a usable message."""
        statistics, level = self._statistics, ERROR if timeout < open_for else WARN
        # A newly discovered publisher is not connected yet.
        if open_for - (self._appeared if peers.publishers else 0.0) <= GRACE:
            return Trouble('', OK, '')
        if statistics.heard == -math.inf:
            return Trouble('silent', level, f'no actuator state yet: {peers.description}'
                           + _advise_start(statistics.topic, peers))
        # The rejection is logged.
        return Trouble('', level, 'no usable actuator state yet: every message is rejected: '
                       + statistics.refusal)

    def _describe_trouble(self, peers: Peers, timeout: float, now: float) -> Trouble:
        """Return the trouble of a driver that has sent usable messages."""
        statistics, is_silent = self._statistics, self._rhythm.is_silent
        heard, used, age = statistics.heard, statistics.used, now - statistics.used
        # The age is negative after time went backwards.
        is_late = timeout != math.inf and not 0.0 <= age <= timeout
        # Robots and grippers may share a topic: rejected messages are the driver's own only if all
        # publishers appeared after the last usable message.
        is_other = used < min(self._publishers.values(), default=math.inf) <= now - GRACE
        is_gone = self._rhythm.silence > 0.0 and not peers.publishers
        gone = self._recent.confirm(
            'gone',
            f'the driver is gone, {peers.description}: start it again '
            f'(last message {max(age, 0.0):.0f} s ago)' if is_gone else '',
        )
        name, words = 'silent', gone
        if not gone and heard > used and (is_late or is_other) and not is_silent:
            name = 'refused'
            words = (f'every message (from {peers.senders}) has been rejected for {age:.0f} s: '
                     + statistics.refusal)
        elif not gone and (is_late or is_silent):
            words = (f'no message for {max(now - heard, 0.0):.0f} s, {peers.description}: check '
                     'whether the driver publishes')
        stale = f'stale: no usable message within {timeout:.3g} s; ' if is_late else ''
        return Trouble(name, ERROR if is_late else WARN, words and stale + words)
    # fmt: on


def _advise_start(topic: str, peers: Peers) -> str:
    """
    Return the remedy for a driver that has sent no message.

    The parameter changes the state topic only; the node's namespace changes the command topic too.
    """
    if peers.publishers:
        return (
            ', but no message was received: check whether the driver publishes; with use_sim_time '
            'it waits for /clock'
        )
    place, elsewhere = peers.place, peers.elsewhere
    last = place.rpartition('/')[2]
    found = [each.rpartition('/')[0] for each in elsewhere if each.rpartition('/')[2] == last]
    words = f'; other JointState topics: {shortened(elsewhere)}' if elsewhere else ''
    words += '; start the driver with the ROS_DOMAIN_ID of the bridge'
    if len(found) == 1 and place != f'{found[0]}/{topic}':
        words += f", or the bridge in the driver's namespace (-r __ns:={shown(found[0] or '/')})"
    return (
        f'{words}, or name its topic, with its namespace, in the parameter actuator_state_topics'
    )
