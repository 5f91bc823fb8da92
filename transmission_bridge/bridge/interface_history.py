# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The choice between several command interfaces of a joint."""

from __future__ import annotations

import numpy as np

from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Time without a message after which a topic expires if another one of its joint continues [s].
_EXPIRY = 1.0

#: A constant effort is still a command.
_MAY_BE_LEFT_OUT = np.array([[True], [True], [False]])


class InterfaceHistory:
    """
    The interface of each joint that changed last (``several_interfaces: latest``).

    ros2_control never clears an interface that its controller released: an old position remains
    beside the velocity of the next controller. The interface that changed last counts. It is
    unknown if several interfaces changed in one message, also in the first one, and if a topic of
    one interface begins beside another one, because first messages arrive in any order.
    """

    def __init__(self, n_joints: int) -> None:
        self._shape = len(FIELDS), n_joints
        self.reset()

    def reset(self) -> None:
        """Forget all commands."""
        self._now = -np.inf
        self._last, self._heard = np.full((2, *self._shape), np.nan)
        self._named: Array = np.full(self._shape[1], np.nan)
        # No row of a joint: unknown.
        self._latest: Mask = np.zeros(self._shape, dtype=bool)

    def choose_interfaces(
        self, command: Array, now: float, *, is_single: bool = False
    ) -> Mask | None:
        """
        Record a command, and remove positions and velocities that are not the latest, in place.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN: none.
        :param now: The time [s]; if it goes backwards, everything is forgotten.
        :param is_single: Whether the message has one interface and leaves the others unchanged.
        :returns: Joints with several interfaces of which the latest is unknown, shape
            ``(n_joints,)``; they are not changed. ``None``: no joint.
        """
        if now < self._now:
            self.reset()
        self._now = now
        given = ~np.isnan(command)
        named = given.any(axis=0)
        noted = given
        if is_single:
            self._last[named & ~given & (self._named - self._heard >= _EXPIRY)] = np.nan
        else:
            noted = np.broadcast_to(named, given.shape)
        changed = given & (command != self._last)
        is_known = changed.sum(axis=0) == 1
        if is_single:
            begins = changed & np.isnan(self._last)
            is_known &= ~begins.any(axis=0) | np.isnan(self._last).all(axis=0)
        np.copyto(self._latest, changed & is_known, where=changed.any(axis=0))
        np.copyto(self._last, command, where=noted)
        self._heard[noted] = now
        self._named[named] = now
        active = ~np.isnan(self._last)
        several = named & (active.sum(axis=0) > 1)
        if not several.any():
            return None
        is_lost: Mask = several & ~(active & self._latest).any(axis=0)
        command[several & ~is_lost & ~self._latest & _MAY_BE_LEFT_OUT] = np.nan
        return is_lost if is_lost.any() else None
