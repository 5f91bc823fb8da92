# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The choice between several command interfaces of a joint."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.motion import Motion
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.readers import SINGLE_TOPICS
from transmission_bridge.bridge.rule import list_names, Verdict
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Time that an interface may stay constant while another one of its joint changes [s].
_PERIOD = 0.5

#: A constant effort is still a command.
_MAY_BE_LEFT_OUT = np.array([[True], [True], [False]])


class InterfaceHistory:
    """
    The times at which the command interfaces of each joint changed.

    ros2_control never clears an interface that its controller released: an old position remains
    beside the velocity of the next controller.

    With ``latest`` an interface is
    ignored if it has not changed for 0.5 s while another one of its joint changed. With ``reject``
    a joint may have one interface.
    """

    def __init__(self, options: BridgeOptions, names: tuple[str, ...]) -> None:
        self._policy = options.several_interfaces
        self._names = names
        self.reset()

    def reset(self) -> None:
        """Forget all commands."""
        shape = (len(FIELDS), len(self._names))
        self._now = -np.inf
        self._last: Array = np.full(shape, np.nan)
        self._changed: Array = np.full(shape, -np.inf)
        self._since: Array = np.full(shape[1], np.nan)
        self._heard: Array = np.full(shape, np.nan)
        self._heard_others: Array = np.full(shape[1], np.nan)

    def choose_interfaces(self, motion: Motion, now: float) -> Verdict | None:
        """
        Record the changes of a command, and remove constant interfaces from it in place.

        :param now: The time [s]; if it goes backwards, everything is forgotten.
        :returns: The rejection of joints with several interfaces if ``several_interfaces`` is
            ``reject``, or if it is not known yet which interface changes.
        """
        if self._policy == 'latest':
            self._record_changes(motion.values, now, motion.route in SINGLE_TOPICS)
        command = motion.values
        given = ~np.isnan(command)
        active = given | ~np.isnan(self._last)
        several: Mask = given.any(axis=0) & (active.sum(axis=0) > 1)
        if not several.any():
            return None
        newest = np.where(active, self._changed, -np.inf).max(axis=0)
        if self._policy == 'latest':
            several &= (newest == self._since) | (now - self._since < _PERIOD)
            stands = (self._changed < newest) & (now - self._changed >= _PERIOD) & ~several
            command[stands & given & _MAY_BE_LEFT_OUT] = np.nan
        if not several.any():
            return None
        why = 'and it is not known which one changes ' if self._policy == 'latest' else ''
        return Verdict(
            'several_interfaces',
            f'{shortened(list_names(self._names, several))} commanded by several interfaces {why}'
            f'(several_interfaces is {self._policy})',
            several,
        )

    def _record_changes(self, command: Array, now: float, is_single: bool) -> None:
        """
        Record the changes of a command.

        :param is_single: Whether the message has one interface and leaves the others unchanged.
        """
        if now < self._now:
            self.reset()
        self._now = now
        given = ~np.isnan(command)
        named = given.any(axis=0)
        noted = given if is_single else named & np.ones_like(given)
        is_same = (command == self._last) | (~given & np.isnan(self._last))
        is_new = np.isinf(self._changed) & (now - self._since < _PERIOD)
        if is_single:
            # A silent topic holds nothing if another topic of the joint continues.
            is_late = named & ~given & (now - self._heard >= 2.0 * _PERIOD)
            self._last[is_late & (self._heard_others - self._heard >= _PERIOD)] = np.nan
        self._heard[noted] = self._heard_others[named] = now
        self._changed[noted & ~is_same] = now
        self._since[named & np.isnan(self._since)] = now
        if is_single:
            # The first messages on several topics arrive in any order and are no change.
            np.copyto(self._changed, self._since, where=noted & is_new)
        np.copyto(self._last, command, where=noted)
