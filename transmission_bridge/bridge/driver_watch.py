# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Whether drivers are alive and give every actuator, from a look once a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
import math

import numpy as np

from transmission_bridge.bridge.diagnostics import ERROR, Trouble, WARN, Window
from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.errors import shortened, shown
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

# -- Drivers -------------------------------------------------------------------------------------


#: Seconds from activation until a driver should have been heard.
GRACE = 2.0

#: Periods of a regular driver that may pass in silence, and the least of them [s].
_PERIODS, _LEAST = 5.0, 1.0

#: Looks with one period after which a driver counts as regular: if its numbers stay the same, if
#: they repeat now and then, and if they change with each message, as those of a driver that
#: publishes on change do.
_LOOKS_STANDING, _LOOKS, _LOOKS_CHANGING = 2, 5, 8

#: Ratio of the longest to the shortest period of an even driver, at most.
_RATIO = 2.0


class Rhythm:
    """
    Detects that a driver that publishes regularly has fallen silent.

    Its period is the mean between two looks. A driver that publishes on change seems regular while
    the robot moves and is silent when it stands. So a driver whose numbers never repeat is judged
    only until its first pause.

    :ivar silence: Seconds since the look that found the newest message.
    """

    def __init__(self) -> None:
        self._received = 0
        self._numbers: Array = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Forget the driver, because another one has come or may come."""
        self._heard = -math.inf
        self.silence = 0.0
        self._looks = 0
        self._periods: deque[float] = deque(maxlen=_LOOKS_CHANGING)
        self._repeats: deque[bool] = deque(maxlen=_LOOKS)
        self._longest = 0.0

    def look(self, received: int, heard: float, elapsed: float, numbers: Array) -> None:
        """
        Record what was received.

        :param received: Number of messages so far.
        :param heard: Time of receipt of the newest [s].
        :param elapsed: Seconds since the last look, without pauses of the clock.
        :param numbers: The newest numbers of the driver.
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
        """Seconds between messages, ``None`` while the driver does not count as regular."""
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
        # A driver whose numbers repeat may have pauses, because it was kept from running.
        no_pause = self._longest <= _limit(period)
        return period if no_pause and (repeats or is_even) else None

    @property
    def is_silent(self) -> bool:
        """Whether a regular driver has sent nothing for five periods, at least one second."""
        period = self.period
        # Two looks: messages wait while this process is kept from running.
        return self._looks >= 2 and period is not None and self.silence > _limit(period)


def _limit(period: float) -> float:
    return max(_LEAST, _PERIODS * period)


class DriverWatch:
    """
    Finds what is wrong with the driver of a topic.

    :param topic: The topic with its namespace.
    :param timeout_of: Returns the seconds after which it is stale; infinite: never.
    """

    def __init__(self, topic: str, timeout_of: Callable[[], float]) -> None:
        self._topic = topic
        self._timeout_of = timeout_of
        self._rhythm = Rhythm()
        self._window = Window()
        # When each publisher was first seen.
        self._publishers: dict[Hashable, float] = {}
        self._appeared = 0.0

    def look(
        self,
        statistics: TopicStatistics,
        numbers: Array,
        *,
        now: float,
        elapsed: float,
        open_for: float,
        publishers: Mapping[Hashable, str],
        others: Sequence[str],
    ) -> list[Trouble]:
        """
        Return the troubles.

        :param numbers: The newest numbers of the driver.
        :param now: Time of the clock that gave the times of receipt [s].
        :param elapsed: Seconds since the last look, without pauses of the clock.
        :param open_for: Seconds since the node was activated, likewise.
        :param publishers: Publishers of the topic in words, by an identifier.
        :param others: Other JointState topics that may be the driver's.
        """
        rhythm = self._rhythm
        before = self._publishers
        if not publishers.keys() <= before.keys():
            rhythm.restart()
            self._appeared = open_for
        self._publishers = {each: before.get(each, now) for each in publishers}
        rhythm.look(statistics.received, statistics.heard, elapsed, numbers)
        is_quiet = rhythm.silence > 0.0
        is_gone = self._window.settled('gone', is_quiet and not publishers) and is_quiet
        senders = tuple(publishers.values())
        if statistics.used == -math.inf:
            return self._never_used(statistics, open_for, senders, others)
        age = now - statistics.used
        # A negative age is from before time went backwards.
        timeout = self._timeout_of()
        is_late = timeout != math.inf and not 0.0 <= age <= timeout
        # Robots and grippers may share a topic: what is refused is the driver's own only if none
        # of the publishers was there when a message was used.
        since = min(self._publishers.values(), default=math.inf)
        is_other = statistics.used < since <= now - GRACE
        kind = 'silent'
        if is_gone:
            words = (
                f'the driver is gone, {self._topic} has 0 publishers: start it again '
                f'(last message {max(age, 0.0):.0f} s ago)'
            )
        elif rhythm.is_silent:
            words = (
                f'silent for {rhythm.silence:.0f} s, after a message every {rhythm.period:.2g} s '
                f'(from {shortened(senders, show=str)}): check whether the driver hangs'
            )
        elif statistics.heard > statistics.used and (is_late or is_other):
            words = (
                f'every message (from {shortened(senders, show=str)}) has been refused for '
                f'{age:.0f} s: {statistics.refusal}'
            )
            kind = 'refused'
        elif is_late:
            words = f'{self._topic} has {_count(senders)}: check whether the driver publishes'
        else:
            return []
        if is_late:
            words = f'stale: no usable message within {timeout:.3g} s; {words}'
        return [Trouble(ERROR if is_late else WARN, words, kind)]

    def _never_used(
        self,
        statistics: TopicStatistics,
        open_for: float,
        senders: Sequence[str],
        others: Sequence[str],
    ) -> list[Trouble]:
        # A publisher that has just been discovered is not connected yet.
        if open_for - (self._appeared if senders else 0.0) <= GRACE:
            return []
        level = ERROR if self._timeout_of() < open_for else WARN
        if statistics.heard > -math.inf:
            # Logged where the messages were refused.
            words = f'every message is refused: {statistics.refusal}'
            return [Trouble(level, f'no usable actuator state yet: {words}')]
        words = f'no actuator state yet: {self._topic} has {_count(senders)}'
        if senders:
            words += ', but no message was received: check whether the driver publishes'
        else:
            if others:
                words += f'; other JointState topics: {shortened(others)}'
            words += (
                f'; start the driver{_namespace(self._topic, others)}, or name its topic, with '
                'its namespace, in the parameter actuator_state_topics'
            )
        return [Trouble(level, words, 'silent')]


def _namespace(topic: str, others: Sequence[str]) -> str:
    """
    Return the advice for a driver whose topic differs by its namespace only.

    The parameter moves the state topic only, the node's namespace the command topic as well.
    """
    name = topic.rpartition('/')[2]
    found = [other.rpartition('/')[0] for other in others if other.rpartition('/')[2] == name]
    if len(found) != 1:
        return ''
    return f", or the bridge in the driver's namespace (-r __ns:={shown(found[0] or '/')})"


def _count(senders: Sequence[str]) -> str:
    if not senders:
        return '0 publishers'
    noun = 'publisher' if len(senders) == 1 else 'publishers'
    return f'{len(senders)} {noun} ({shortened(senders, show=str)})'


# -- Single actuators ----------------------------------------------------------------------------


class ActuatorWatch:
    """
    Finds actuators that are missing from messages, or given by two drivers.

    :param robot: Its actuators of transmissions have to be given; a joint that passes through may
        have no motor.
    :param resolved: Returns the full name of a topic after remapping.
    """

    def __init__(self, robot: RobotTransmissions, resolved: Callable[[str], str]) -> None:
        self._resolved = resolved
        self._names = robot.actuator_names
        self._needed = np.zeros(len(self._names), dtype=bool)
        for binding in robot.bindings:
            self._needed[list(binding.actuators)] = not binding.is_identity
        self._newest = np.full(len(self._names), -np.inf)
        self._quiet = np.zeros(len(self._names), dtype=int)
        self._counts = self._publishers = np.zeros(len(self._names), dtype=int)

    def look(
        self,
        merged: StateBuffer,
        window: Window,
        *,
        open_for: float,
        publishers: Mapping[str, Sequence[str]],
    ) -> list[Trouble]:
        """
        Return the troubles.

        :param open_for: Seconds since the node was activated.
        :param publishers: Publishers of each topic, in words.
        """
        troubles = []
        newest = merged.newest()
        never = np.isneginf(newest)
        missing = self._shown(never & self._needed)
        if missing and not never.all() and open_for > GRACE:
            words = f'never heard of {missing}: check whether a driver is missing'
            if merged.unknown_names:
                found = shortened(tuple(merged.unknown_names), show=str)
                words += f' or uses other names (unknown: {found}), see actuator_names'
            troubles.append(Trouble(WARN, words, 'never heard'))
        gone = self._shown(self._gone(merged, newest, publishers))
        if gone:
            words = (
                f'no longer heard of {gone}, whose topic has lost a publisher: '
                'start that driver again'
            )
            troubles.append(Trouble(WARN, words, 'gone'))
        if window.lately('contests', merged.contests):
            words = '; '.join(
                f'{shortened(actuators)} on '
                + ' and '.join(
                    f'{self._resolved(topic)} ({shortened(publishers.get(topic, ()), show=str)})'
                    for topic in topics
                )
                for topics, actuators in merged.rivals().items()
            )
            troubles.append(
                Trouble(
                    WARN,
                    f'given on two topics, the newer number is used: {words}; '
                    'let one driver give each actuator',
                    'contested',
                )
            )
        return troubles

    def _gone(
        self,
        merged: StateBuffer,
        newest: Array,
        publishers: Mapping[str, Sequence[str]],
    ) -> Mask:
        """Return which were not given in two looks, while others of their topic were."""
        is_new = newest != self._newest
        self._newest = newest
        self._quiet = np.where(is_new, 0, self._quiet + 1)
        givers = merged.givers()
        counts = np.array([len(publishers.get(giver, ())) for giver in givers])
        # A publisher that left may have given what was received since the last look.
        most = np.maximum(counts, self._counts)
        self._publishers = np.where(is_new, most, self._publishers)
        self._counts = counts
        heard = {giver for giver, quiet in zip(givers, self._quiet, strict=True) if quiet < 2}
        goes_on = np.array([giver in heard for giver in givers])
        gone: Mask = (
            (self._quiet >= 2) & np.isfinite(newest) & goes_on & (counts < self._publishers)
        )
        return gone

    def _shown(self, are: Mask) -> str:
        return ', '.join(name for name, is_one in zip(self._names, are, strict=True) if is_one)
