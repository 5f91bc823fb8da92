# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How well actuators are known: spells without a gap, paces, and the messages of their drivers.

States own and write these objects in one thread, and a session restarts spells. The ledger
compares the numbers of spells. Every time [s] is by the clock of times of receipt.
"""

from __future__ import annotations

import math

import numpy as np

from transmission_bridge.bridge.inputs import MessageEntries, Stamp
from transmission_bridge.bridge.motion import POSITION, VELOCITY
from transmission_bridge.bridge.options.options import AUTO
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import Layout
from transmission_bridge.types import Array, Mask

#: Automatic timeout of a driver: smallest and largest value [s], and number of periods.
_LEAST_TIMEOUT, _MOST_TIMEOUT, _PERIODS = 1.0, 5.0, 5.0


class DriverReception:
    """
    The last message of one driver, and its timeout.

    States write the attributes; :meth:`measure_period` alone writes timeout and usual gap.

    :param number: Its number in the order of the first messages.
    :param entries: Indices and scales of its last message.
    :param state_timeout: The option.
    :ivar timeout: Time after which its numbers are too old [s]; infinite: never.
    :ivar usual: Largest gap between messages that changes nothing [s].
    :ivar stamp: Stamp of its last message, ``None``: forgotten.
    :ivar heard: Time of receipt of its last message [s].
    :ivar layout: Layout of its last message, if the next one needs no look-up.
    :ivar target: View of the numbers in the states that its messages replace, if they are a block;
        else ``None``.
    :ivar has_blanks: Whether a position in its last message was not a number.
    """

    def __init__(self, number: int, entries: MessageEntries, state_timeout: float) -> None:
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


#: Longest time for which positions may be NaN or withdrawn [s].
_PATIENCE = 1.0


class KnowledgeSpells:
    """
    Numbers the spells for which each actuator is known without a gap.

    States call :meth:`begin_unheard` first, and :meth:`end_spells` before :meth:`begin_spells`, so
    that a gap before a message ends a spell.

    A spell ends if no position is received within the timeout, if positions are NaN or withdrawn
    for longer than that (at most 1 s), and, in the row of positions, if the turn is lost. A driver
    without positions is known by its other numbers. The time before the first reading is one
    spell.

    :param count: Number of actuators.
    :ivar numbers: Number of the present spell, rows position, velocity, effort, shape ``(3, n)``;
        NaN: not known now. Each change makes another array.
    :ivar until: Time before which no spell ends [s].
    """

    def __init__(self, count: int) -> None:
        # The last number of a spell: numbers never repeat, also after a reset.
        self._shape, self._last = (len(FIELDS), count), 0.0

    def begin_unheard(self, is_open: Mask | None) -> None:
        """
        Begin a spell that lasts until the first reading.

        :param is_open: Actuators in an unknown turn.
        """
        self._last += 1.0
        self._unheard, self.numbers = self._last, np.full(self._shape, self._last)
        if is_open is not None:
            self.numbers[POSITION, is_open] = np.nan
        # Time of the first position that was NaN or withdrawn, NaN: the last one is a number.
        self._blank: Array = np.full(self._shape[1], np.nan)
        self.until = -np.inf

    def note_blank(self, is_blank: Mask, now: float) -> None:
        """Record that positions are NaN or withdrawn, shape ``(n,)``."""
        is_new = is_blank & np.isnan(self._blank)
        if is_new.any():
            self._blank[is_new], self.until = now, -np.inf

    def end_spells(self, now: float, receipts: Array, timeouts: Array, counted: Array) -> None:
        """
        End the spells of actuators that are not known any more.

        :param receipts: Time of receipt of each number [s], minus infinity: never.
        :param timeouts: Timeout of each number [s]; infinite: never.
        :param counted: Time at which the turn of each actuator becomes unknown, shape ``(n,)``;
            NaN: never.
        """
        has_position = receipts[POSITION] > -np.inf
        heard = np.where(has_position, receipts[POSITION], receipts.max(axis=0))
        timeout = np.where(has_position, timeouts[POSITION], timeouts.min(axis=0))
        until = np.where(heard > -np.inf, heard, np.inf) + timeout
        until = np.fmin(until, self._blank + np.minimum(timeout, _PATIENCE))
        ends = np.array([np.fmin(until, counted), until, until])
        is_over = now > ends
        if (is_over & ~np.isnan(self.numbers)).any():
            self.numbers = np.where(is_over, np.nan, self.numbers)
        self.until = float(ends[~is_over].min(initial=np.inf))

    def begin_spells(self, is_read: Mask, is_open: Mask | None) -> None:
        """
        Begin the spells of actuators that a message makes known.

        :param is_read: Actuators with a reading in the message, shape ``(n,)``.
        :param is_open: Actuators in an unknown turn; ``None``: no actuator.
        """
        self._blank[is_read] = np.nan
        begins = is_read & (np.isnan(self.numbers) | (self.numbers == self._unheard))
        if is_open is not None:
            begins[POSITION] &= ~is_open
        if begins.any():
            self._last += 1.0
            self.numbers = np.where(begins, self._last, self.numbers)
            # The next look finds the next end.
            self.until = -np.inf

    def restart_spells(self, actuators: Mask) -> None:
        """Begin other spells of known actuators, shape ``(n,)``, whose driver forgot commands."""
        self._last += 1.0
        # NaN, which is no spell, is not larger.
        is_known = self.numbers > self._unheard
        self.numbers = np.where(actuators & is_known, self._last, self.numbers)

    def follow_turns(self, has_changed: Mask, is_open: Mask) -> None:
        """End the spells of turns that were lost, and begin those of turns that were found."""
        self._last += 1.0
        self.numbers = self.numbers.copy()
        is_heard = self.numbers[VELOCITY] > self._unheard
        number = np.where(is_heard & ~is_open, self._last, np.nan)
        np.copyto(self.numbers[POSITION], number, where=has_changed)
        self.until = -np.inf


#: Time over which speeds are computed [s]: twice the time in which one tick of an encoder of 4096
#: ticks is as fast as the default of ``zero_max_velocity``, 0.01 rad/s.
_SPAN = 0.3

#: Shortest time between positions, and longest time for which they are remembered [s].
_STEP, _KEPT = 0.05, 1.0


class StatePace:
    """
    Remembers the positions of a short time, for speeds of drivers that send none.

    States record positions when they are due; services of the node and ``tune`` read speeds.

    :ivar due: Time of the next positions to remember [s].
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self._samples: list[tuple[float, Array]] = []
        self.due = -np.inf

    def record_positions(self, positions: Array, now: float) -> None:
        """Remember positions, shape ``(n,)``, NaN: unknown; they must not change afterwards."""
        kept = [sample for sample in self._samples if 0.0 <= now - sample[0] <= _KEPT]
        self._samples, self.due = [*kept, (now, positions)], now + _STEP

    def estimate_speeds(self, now: float) -> Array | float:
        """
        Return the largest distance from the last positions over the time, shape ``(n,)``.

        :returns: With the sign of the motion [rad/s or m/s]; NaN: unknown.
        """
        last, there = self._samples[-1] if self._samples else (-np.inf, np.empty(0))
        old = [time for time, _ in self._samples if last - time >= _SPAN]
        if not (old and 0.0 <= now - last <= _KEPT):
            return np.nan
        away = np.array([there - at for time, at in self._samples if time >= old[-1]])
        # argmax finds NaN first.
        far = np.take_along_axis(away, np.abs(away).argmax(axis=0)[np.newaxis], axis=0)[0]
        speeds: Array = far / (last - old[-1])
        return speeds
