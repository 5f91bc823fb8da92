# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The spells of time for which each actuator is known without a gap."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.motion import POSITION, VELOCITY
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Longest time for which positions may be NaN or withdrawn [s].
_PATIENCE = 1.0


class Spells:
    """
    Numbers the spells for which each actuator is known without a gap.

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
        """Begin other spells of known actuators, shape ``(n,)``, whose commands are forgotten."""
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
