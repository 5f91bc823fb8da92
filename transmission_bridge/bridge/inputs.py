# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Steps common to all received messages: name look-up, stamp, counts; stalls of the process.

Readers, states, channels and the session call these in one thread. Channels write the statistics
of topics, the ledger writes the counts of commands, and diagnostics read both: reasons and names
of counts are keys of diagnostics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
import math
import time
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from transmission_bridge.errors import MessageError, shortened, shown
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import Layout, make_ragged_error
from transmission_bridge.types import Array, Index

# -- Names to indices, once per layout -----------------------------------------------------------


#: Largest number of unknown names that are reported and counted separately.
MOST_UNKNOWN = 64

Value = TypeVar('Value')


@dataclass(frozen=True, slots=True)
class MessageEntries:
    """
    The indices of the entries of a message.

    :param places: Index into the robot's array for each used entry; a slice, which is faster, if
        they are consecutive.
    :param picks: Index into the message for each used entry; ``None``: all, in order.
    :param count: Number of used entries.
    :param unknown: The first unknown names, shortened, because a message may contain any number of
        names of any length.
    :param scales: Scales of these entries to SI, rows position, velocity, effort; ``None``: SI.
    :param rows: The rows with numbers.
    """

    places: Index | slice
    picks: Index | None
    count: int
    unknown: tuple[str, ...]
    scales: Array | None
    rows: tuple[int, ...] = ()


def find_message_entries(
    layout: Layout, index: Mapping[str, int], scales: Array | None = None
) -> MessageEntries:
    """
    Look up the names of a layout.

    :param layout: Names and array lengths of a message.
    :param index: Index of every known name.
    :param scales: Scale to SI by index; ``None``: all numbers are SI.
    :raises MessageError: If an array is neither empty nor as long as the names (``ragged``), or
        two entries have the same index (``duplicate_name``).
    """
    if layout.is_ragged:
        raise make_ragged_error(layout.names, dict(zip(FIELDS, layout.lengths, strict=True)))
    picks = [pick for pick, name in enumerate(layout.names) if name in index]
    places = [index[layout.names[pick]] for pick in picks]
    if len(set(places)) < len(places):
        counts = Counter(places)
        repeated = [name for name in layout.names if counts[index.get(name, -1)] > 1]
        raise MessageError('duplicate_name', f'names given more than once: {shortened(repeated)}')
    everything = len(picks) == len(layout.names)
    unknown = (name for name in layout.names if name not in index)
    return MessageEntries(
        as_slice(places),
        None if everything else np.array(picks, dtype=np.intp),
        len(places),
        tuple(shown(name) for name in islice(unknown, MOST_UNKNOWN)),
        None if scales is None else np.ascontiguousarray(scales[:, places]),
        tuple(row for row, length in enumerate(layout.lengths) if length),
    )


def as_slice(places: list[int]) -> Index | slice:
    """Return consecutive indices as a slice, which is faster, others as an array."""
    if places and places == list(range(places[0], places[0] + len(places))):
        return slice(places[0], places[0] + len(places))
    return np.array(places, dtype=np.intp)


class LayoutCache(Generic[Value]):
    """
    A value for each layout, or the error that rejects its messages.

    It keeps a value as long as the layout exists, which the reader of the messages decides.

    :param make: Makes a value; a :class:`MessageError` is also remembered.
    """

    def __init__(self, make: Callable[[Layout], Value]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[Layout, Value | MessageError] = WeakKeyDictionary()

    def look_up(self, layout: Layout) -> Value:
        """
        Return the value of a layout.

        :raises MessageError: If messages of this layout are rejected.
        """
        value = self._values.get(layout)
        if value is None:
            try:
                value = self._make(layout)
            except MessageError as error:
                # A traceback would keep the message alive.
                value = error.with_traceback(None)
            self._values[layout] = value
        if isinstance(value, MessageError):
            raise MessageError(value.reason, str(value), about=value.about)
        return value


# -- Valid stamps --------------------------------------------------------------------------------


#: Seconds and nanoseconds, as in a message header.
Stamp = tuple[int, int]

BILLION = 10**9
NO_STAMP: Stamp = (0, 0)
LAST_STAMP: Stamp = (2**31 - 1, BILLION - 1)

#: Largest lead of a stamp over the node's clock [ns]; NTP keeps clocks closer.
STAMP_TOLERANCE = BILLION // 2


def is_valid_stamp(stamp: Stamp) -> bool:
    """Return whether seconds are not negative, and nanoseconds below one second."""
    return stamp[0] >= 0 and 0 <= stamp[1] < BILLION


#: Seconds for which one reading of the node's clock is used.
_VALIDITY = 0.5


class StampFilter:
    """
    Replaces unusable stamps by the time of receipt.

    A stamp is replaced if it is zero, impossible (``bad_stamp``) or more than 0.5 s ahead of the
    node's clock (``future_stamp``). Reading the clock takes as long as mapping a message, so one
    reading is used for half a second. A clock at zero has no time yet: no stamp is ahead of it.

    :param clock: Returns the time of the node's clock.
    :param note: Called with topic, reason and a sentence for every replaced stamp except zero.
    :param set_anew: Called if the clock was set back or gets its first time, because earlier
        stamps may be ahead of it.
    """

    def __init__(
        self,
        clock: Callable[[], Stamp],
        note: Callable[[str, str, str], None],
        set_anew: Callable[[], None],
    ) -> None:
        self._clock, self._note, self._set_anew = clock, note, set_anew
        # The last reading of the clock, the latest stamp that it allows, and the times of receipt
        # for which it is used [s]; _check_stamp writes them.
        self._time = NO_STAMP
        self._seconds, self._nanoseconds = NO_STAMP
        self._since = self._until = -math.inf

    def replace_stamp(self, topic: str, stamp: Stamp, now: float) -> Stamp:
        """
        Return the stamp of the message, or the time of receipt that replaces it.

        :param topic: Topic of the message.
        :param stamp: Its stamp.
        :param now: Time of receipt [s], by a clock that need not be the node's.
        """
        # Comparing integers takes half the time of comparing tuples.
        seconds, nanoseconds = stamp
        if (
            0 < seconds <= self._seconds
            and nanoseconds <= (self._nanoseconds if seconds == self._seconds else LAST_STAMP[1])
            and self._since <= now <= self._until
        ):
            return stamp
        return self._check_stamp(topic, stamp, now)

    def _check_stamp(self, topic: str, stamp: Stamp, now: float) -> Stamp:
        before, present = self._time, self._clock()
        self._time = present
        if present < before or before == NO_STAMP != present:
            self._set_anew()
        latest = divmod(present[0] * BILLION + present[1] + STAMP_TOLERANCE, BILLION)
        limit = self._seconds, self._nanoseconds = LAST_STAMP if present == NO_STAMP else latest
        self._since = now
        # A clock without a time may get one at any moment.
        self._until = now + _VALIDITY if present != NO_STAMP else now
        if stamp == NO_STAMP:
            return present
        if not is_valid_stamp(stamp):
            reason, advice = 'bad_stamp', 'Fill header.stamp from the clock of the sending node'
            what = f'is impossible: expected seconds >= 0 and nanoseconds < {BILLION}, found '
            what += f'{stamp[0]} s and {stamp[1]} ns'
        elif stamp > limit:
            reason, advice = (
                'future_stamp',
                'Synchronise the clocks, and give both nodes the same ',
            )
            advice += 'use_sim_time'
            lead = stamp[0] - present[0] + (stamp[1] - present[1]) / BILLION
            what = f"is {lead:.3f} s ahead of this node's clock, expected "
            what += f'{STAMP_TOLERANCE / BILLION:g} s at most'
        else:
            return stamp
        used = 'the time of receipt is used instead'
        self._note(topic, reason, f'header.stamp {what}; {used}. {advice}')
        return present


# -- Counts --------------------------------------------------------------------------------------


class TopicStatistics:
    """
    Counts of one input topic since the node was configured.

    The input topics in channels write them, and reset the two times when they open.

    :param topic: Name of the topic before remapping.
    :ivar received: Messages received while active.
    :ivar rejected: Rejected messages, by reason.
    :ivar refusal: Sentence of the latest rejection; empty before the first.
    :ivar replaced_stamps: Stamps replaced by the time of receipt, by reason (``bad_stamp``,
        ``future_stamp``); their messages are used.
    :ivar heard: Time of receipt of the latest message since activation [s], minus infinity before
        the first.
    :ivar used: Time of receipt of the latest accepted message [s], as ``heard``.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.received = 0
        self.rejected: Counter[str] = Counter()
        self.refusal = ''
        self.replaced_stamps: Counter[str] = Counter()
        self.heard = -math.inf
        self.used = -math.inf

    @property
    def accepted(self) -> int:
        """Number of messages that were used."""
        return self.received - sum(self.rejected.values())

    def needs_attention(self, reason: str) -> bool:
        """
        Return whether rejections for this reason need attention.

        Robots and grippers may share a topic. Therefore messages about other actuators need
        attention only if no message was ever accepted.
        """
        return reason != 'foreign' or self.used == -math.inf


@dataclass(frozen=True, slots=True)
class CommandCounts:
    """
    Counts of the commands of one source, by joint.

    A rule names a field in its verdict, and diagnostics use the names of the fields as keys, so
    they are fixed. Each field except ``shares`` is a counter; a new one needs no registration.

    :param clamped: Commands clamped to the limits.
    :param limited: Commands rejected because of the limits.
    :param contested: Commands to a joint that another source had commanded before.
    :param stopped: Outward velocities and efforts beyond a position limit that were set to zero.
    :param outward: Outward efforts that passed, because the joint does not move outward.
    :param scaled: Commands with a velocity or effort scaled down for an actuator's limit.
    :param shares: Remaining share of the last scaled effort of each joint.
    :param jumped: Positions further away than ``max_step`` allows.
    :param rejected: Commands to some joints that were rejected while the others were sent, by
        joint and reason.
    """

    clamped: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    contested: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    outward: Counter[str] = field(default_factory=Counter)
    scaled: Counter[str] = field(default_factory=Counter)
    shares: dict[str, float] = field(default_factory=dict)
    jumped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


#: Time after a stall during which commands are rejected [s].
BLIND = 0.3


class StallWatch:
    """
    Detects stalls of the process by a timer, and rejects commands just after them.

    Commands that waited in the middleware arrive at once when the process resumes. The session
    resets it when it opens, and records ticks by a timer. Receivers of commands first compare
    ``read_time`` with :attr:`calm_until`, which is faster than :meth:`check_receipt`.

    :param limit: Longest time between two ticks that is no stall [s].
    :param read_time: Returns the time of the steady clock [s], not of the clock of times of
        receipt.
    :ivar period: Period for the timer that calls :meth:`record_tick` [s].
    :ivar calm_until: Time until which no command can have waited [s].
    """

    def __init__(self, limit: float, read_time: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.period = limit, 0.25 * limit
        self.read_time = read_time
        self.reset()

    def reset(self) -> None:
        """Forget the last stall."""
        # Time of the last sign of life, end of the rejections, and length of the last stall [s].
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
