# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""When each joint was commanded last, and whether that was too long ago."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array

__all__ = ['CommandAges']

Mask = npt.NDArray[np.bool_]

#: Time of a command that is not there, and of one from before time went backwards.
_NONE, _BEFORE = np.inf, -np.inf


class CommandAges:
    """
    The watchdog of commands; with time going backwards all of them are too old.

    :param n_joints: Number of joints.
    :param timeout: Seconds; 0: commands never grow too old by themselves.
    """

    def __init__(self, n_joints: int, timeout: float) -> None:
        self._n_joints = n_joints
        self._timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._received: Array = np.full(self._n_joints, _NONE)
        self._latest = -np.inf

    @property
    def matter(self) -> bool:
        """Whether commands grow too old at all."""
        return self._timeout > 0.0

    def went_back(self, now: float) -> bool:
        """Take note of the time [s]; return whether it is earlier than it was."""
        is_earlier = now < self._latest
        if is_earlier:
            self._received[np.isfinite(self._received)] = _BEFORE
        self._latest = now
        return is_earlier

    def renew(self, joints: npt.NDArray[np.intp] | Mask, time: float) -> None:
        """Take note of a command; ``time`` may be to come, as the end of a trajectory is."""
        self._received[joints] = time

    def take_old(self, now: float) -> Mask:
        """Return which joints' commands are too old, shape ``(n_joints,)``; each is told once."""
        old: Mask = now - self._received > self._timeout
        self._received[old] = _NONE
        return old

    def is_any_alive(self, joints: npt.NDArray[np.intp]) -> bool:
        """Return whether one of these joints has a command that is not over."""
        return not bool((self._received[joints] == _NONE).all())
