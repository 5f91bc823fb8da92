# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver without a node: the drive, the time it stands at, and its faults."""

from __future__ import annotations

from collections.abc import Sequence

from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.sim.commands import read_command
from transmission_bridge.sim.drive import Drive
from transmission_bridge.sim.faults import inject
from transmission_bridge.sim.settings import DriverSettings

__all__ = ['Driver']


class Driver:
    """
    Takes commands and gives samples at times that its owner tells.

    The same calls give the same samples: there is no clock inside, and the faults are seeded.

    :param names: The actuators, distinct.
    :param now: The time at which the drive stands at rest [s], of a clock that never goes back.
    """

    def __init__(self, names: Sequence[str], settings: DriverSettings, *, now: float) -> None:
        self._drive = Drive.at_rest(names, dynamics=settings.dynamics)
        self._settings = settings
        self._now = now
        self._held: JointStateRecord | None = None
        self._samples = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The actuators."""
        return self._drive.names

    def use(self, settings: DriverSettings, *, now: float) -> None:
        """Go on with other settings from now."""
        self._advance(now)
        self._drive = self._drive.with_dynamics(settings.dynamics)
        self._settings = settings

    def command(self, message: JointStateData, *, now: float) -> tuple[str, ...]:
        """
        Follow a command from now.

        :returns: The names in it that are none of ours.
        :raises MessageError: If the message is refused; nothing has changed then.
        """
        command = read_command(message, self.names)
        self._advance(now)
        self._drive = self._drive.commanded(command)
        return command.unknown

    def sample(self, *, now: float) -> JointStateRecord | None:
        """Return what is sent now, faults included, without a stamp; ``None``: nothing is."""
        self._advance(now)
        truth = self._drive.sample()
        if not self._settings.freeze:
            self._held = None
        elif self._held is None:
            self._held = truth
        self._samples += 1
        return inject(
            truth,
            self._settings.faults(self._held or truth),
            seed=self._settings.seed,
            number=self._samples,
        )

    def _advance(self, now: float) -> None:
        self._drive = self._drive.advanced(now - self._now)
        self._now = now
