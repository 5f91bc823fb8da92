# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which of several command interfaces of a joint count."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.inputs import JointError
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Seconds for which an interface may stand still while another one of its joint changes.
_PERIOD = 0.5

#: An effort is a command while it is constant, too.
_MAY_BE_LEFT_OUT = np.array([[True], [True], [False]])


class InterfaceHistory:
    """
    When each command interface of each joint changed.

    ros2_control never clears an interface that its controller released, so that a position stays
    beside the velocity of the next controller.

    With ``several_interfaces: together`` all count; with ``latest`` one that has not changed for
    0.5 s, while another one of its joint changed, does not; with ``reject`` joints have one.

    :param options: The choices of the user.
    :param names: The joints.
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

    def note(self, command: Array, now: float, *, is_single: bool = False) -> None:
        """
        Note what changed.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN: none.
        :param now: The time [s]; if it went backwards, all is forgotten.
        :param is_single: Whether it is of one interface, so that the others stay as they are.
        """
        if self._policy != 'latest':
            return
        if now < self._now:
            self.reset()
        self._now = now
        given = ~np.isnan(command)
        named = given.any(axis=0)
        noted = given if is_single else named & np.ones_like(given)
        is_same = (command == self._last) | (~given & np.isnan(self._last))
        is_new = np.isinf(self._changed) & (now - self._since < _PERIOD)
        if is_single:
            # A topic that ended while another one of the joint goes on holds nothing any more.
            is_late = named & ~given & (now - self._heard >= 2.0 * _PERIOD)
            self._last[is_late & (self._heard_others - self._heard >= _PERIOD)] = np.nan
        self._heard[noted] = self._heard_others[named] = now
        self._changed[noted & ~is_same] = now
        self._since[named & np.isnan(self._since)] = now
        if is_single:
            # The order of the first messages on several topics is chance, not a change.
            np.copyto(self._changed, self._since, where=noted & is_new)
        np.copyto(self._last, command, where=noted)

    def choose(self, command: Array) -> None:
        """
        Leave out, in place, what does not count in the command that was noted last.

        :raises JointError: If a joint has several interfaces though it may not, or it is not known
            yet which count (``several_interfaces``).
        """
        if self._policy == 'together':
            return
        given = ~np.isnan(command)
        active = given | ~np.isnan(self._last)
        several: Mask = given.any(axis=0) & (active.sum(axis=0) > 1)
        if not several.any():
            return
        newest = np.where(active, self._changed, -np.inf).max(axis=0)
        if self._policy == 'latest':
            several &= (newest == self._since) | (self._now - self._since < _PERIOD)
        if several.any():
            names = [self._names[joint] for joint in np.flatnonzero(several)]
            why = 'and it is not known which one changes ' if self._policy == 'latest' else ''
            raise JointError(
                'several_interfaces',
                f'{shortened(names)} commanded by several interfaces {why}'
                f'(several_interfaces is {self._policy})',
                several,
            )
        stands = (self._changed < newest) & (self._now - self._changed >= _PERIOD)
        command[stands & given & _MAY_BE_LEFT_OUT] = np.nan
