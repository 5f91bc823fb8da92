# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Coupled joints: completing a command to some of them, or refusing it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['CoupledJoints', 'coupled_joints']

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CoupledJoints:
    """
    Joints that share actuators, so that none can be commanded without the others.

    :param joints: Their places.
    :param underactuated: ``J`` and joint offset where fewer actuators than joints drive them (a
        finger): the joints cannot hold while another moves, they follow.
    :param can_hold: Whether there are actuators enough for one to hold while another moves.
    """

    transmission: str
    joints: npt.NDArray[np.intp]
    names: tuple[str, ...]
    underactuated: tuple[Array, Array] | None = None
    can_hold: bool = True

    def complete(
        self, command: Array, held: Array, measured_position: Array, *, hold: bool
    ) -> None:
        """
        Fill in what a partial command leaves out, in place.

        A joint that was not commanded holds its last command; for position, where it has none,
        its measured position. Where there are fewer actuators than joints it follows instead:
        the commanded joints are solved for alone; where the ratio varies as well they are not, and
        the command is refused. A command to none or to all of the joints is left as it is.

        :param command: The command, shape ``(3, n_joints)``, NaN: no command.
        :param held: Last commands, same shape, NaN where there is none or another mode came since.
        :param measured_position: Shape ``(n_joints,)``, NaN where unknown.
        :param hold: Whether partial commands are completed at all.
        :raises MessageError: If the command is partial and cannot be completed (``partial``), or
            commands the joints in different modes (``mixed_coupled``).
        """
        mine = command[:, self.joints]
        given = ~np.isnan(mine)
        commanded: Mask = np.any(given, axis=0)
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
        if self.underactuated is not None:
            for field in np.flatnonzero(modes[:, 0]).tolist():
                command[field, self.joints] = self._followed(
                    field, mine[field], commanded, *self.underactuated
                )
            return
        names = ', '.join(self.names[place] for place in np.flatnonzero(missing))
        if not hold:
            raise MessageError(
                'partial',
                f'no command for {names}, coupled by {self.transmission} to a joint that was '
                'commanded (partial_commands is reject)',
            )
        if not self.can_hold:
            raise MessageError(
                'partial',
                f'no command for {names}, coupled by {self.transmission} to a joint that was '
                'commanded, and it has too few actuators to hold them',
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

    def keep_partners(self, ending: Array, held: Array) -> None:
        """
        Let the partners of joints whose rates end go on as commanded, in place.

        A partner without a command of that mode stands still: its own has ended before. So do all
        where the actuators are too few for one to go on alone.

        :param ending: The zeros that end rates, shape ``(3, n_joints)``, NaN elsewhere.
        :param held: Commands held, same shape.
        """
        if self.underactuated is not None:
            return
        mine = ending[:, self.joints]
        for field in np.flatnonzero(~np.isnan(mine).all(axis=1)):
            going_on = np.nan_to_num(held[field, self.joints]) * self.can_hold
            ending[field, self.joints] = np.where(np.isnan(mine[field]), going_on, mine[field])

    def _followed(
        self, field: int, values: Array, commanded: Mask, jacobian: Array, offset: Array
    ) -> Array:
        """
        Return what all joints do when the commanded ones are solved for alone.

        ``a = J_S^+ (q_S - off_S)``, so ``q = J a + off`` for all; likewise for velocity without
        the offset. Effort of a joint that was not commanded is zero: ``tau_a = J_S^T tau_S``.
        """
        if FIELDS[field] == 'effort':
            return np.where(commanded, values, 0.0)
        bias = offset if FIELDS[field] == 'position' else np.zeros(len(offset))
        actuators = np.linalg.pinv(jacobian[commanded]) @ (values - bias)[commanded]
        followed: Array = jacobian @ actuators + bias
        return followed


def coupled_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
    """Return the groups of joints that one transmission moves together."""
    zeros = np.zeros(len(robot.actuator_names))
    # By way of the robot, in whose maps a plugin may fail.
    jacobian, offset = robot.jacobian(zeros), robot.actuator_to_joint('position', zeros)
    return tuple(
        CoupledJoints(
            binding.spec.name,
            np.array(binding.joints, dtype=np.intp),
            tuple(member.name for member in binding.spec.joints),
            _underactuated(binding, jacobian, offset),
            len(binding.actuators) >= len(binding.joints),
        )
        for binding in robot.bindings
        if len(binding.joints) > 1
    )


def _underactuated(binding: Binding, jacobian: Array, offset: Array) -> tuple[Array, Array] | None:
    if len(binding.actuators) >= len(binding.joints) or not binding.transmission.is_constant:
        return None
    own = jacobian[np.ix_(binding.joints, binding.actuators)], offset[list(binding.joints)]
    return own if all(np.isfinite(each).all() for each in own) else None
