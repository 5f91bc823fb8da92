# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Coupled joints: completing a command to some of them, or refusing it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['CoupledJoints', 'coupled_joints']


@dataclass(frozen=True, slots=True)
class CoupledJoints:
    """Joints that share actuators, so that none can be commanded without the others."""

    transmission: str
    joints: npt.NDArray[np.intp]
    names: tuple[str, ...]

    def complete(
        self, command: Array, held: Array, measured_position: Array, *, hold: bool
    ) -> None:
        """
        Fill in what a partial command leaves out, in place.

        A joint that was not commanded holds its last command; for position, where it has none,
        its measured position. A command to none or to all of the joints is left as it is.

        :param command: The command, shape ``(3, n_joints)``, NaN: no command.
        :param held: Last commands, same shape, NaN where there is none or another mode came since.
        :param measured_position: Shape ``(n_joints,)``, NaN where unknown.
        :param hold: Whether partial commands are completed at all.
        :raises MessageError: If the command is partial and cannot be completed (``partial``), or
            commands the joints in different modes (``mixed_coupled``).
        """
        mine = command[:, self.joints]
        given = ~np.isnan(mine)
        commanded = given.any(axis=0)
        if not commanded.any() or given.all():
            return
        modes = given[:, commanded]
        if not (modes == modes[:, :1]).all():
            raise MessageError(
                'mixed_coupled',
                f'{", ".join(self.names)} are coupled by {self.transmission} and were commanded '
                'in different modes; command them in the same',
            )
        missing = ~commanded
        if not missing.any():
            return
        names = ', '.join(self.names[place] for place in np.flatnonzero(missing))
        if not hold:
            raise MessageError(
                'partial',
                f'no command for {names}, coupled by {self.transmission} to a joint that was '
                'commanded (partial_commands is reject)',
            )
        for field in np.flatnonzero(modes[:, 0]):
            filler = held[field, self.joints]
            if field == 0:
                filler = np.where(np.isnan(filler), measured_position[self.joints], filler)
            if np.isnan(filler[missing]).any():
                raise MessageError(
                    'partial',
                    f'no {FIELDS[field]} command for {names}, coupled by {self.transmission} to '
                    'a joint that was commanded, and nothing to hold',
                )
            command[field, self.joints[missing]] = filler[missing]


def coupled_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
    """Return the groups of joints that one transmission moves together."""
    return tuple(
        CoupledJoints(
            binding.spec.name,
            np.array(binding.joints, dtype=np.intp),
            tuple(member.name for member in binding.spec.joints),
        )
        for binding in robot.bindings
        if len(binding.joints) > 1
    )
