# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and effort of the whole robot, mapped in one call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.finite import FiniteCheck
from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import AffineMap, Array
from transmission_bridge.transmissions.interfaces import Direction

__all__ = ['StateMap']


class StateMap:
    """
    The three interfaces of a JointState stacked into one affine map.

    One call for all of them costs little more than a call for one. Position-dependent
    transmissions are called afterwards, where there are any.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :ivar is_bent: Whether a transmission has to be called, so that positions matter.
    """

    def __init__(self, robot: RobotTransmissions, direction: Direction) -> None:
        self._maps = tuple(robot.map_of(interface, direction) for interface in FIELDS)
        affine = AffineMap.stacked([each.affine for each in self._maps])
        self._run = affine.workspace().run
        self._direction: Direction = direction
        self.is_bent = not all(each.is_affine for each in self._maps)
        # A transmission that lacks one of the interfaces has to be called for each of the others.
        names = [[step.name for step in each.steps] for each in self._maps]
        self._maps_instants = all(each == names[0] for each in names)
        self._mapped: Array = np.empty((len(FIELDS), self._maps[0].affine.n_out))
        self._flat: Array = self._mapped.reshape(-1)
        self._check = FiniteCheck(self._flat.size)

    def __call__(
        self, values: Array, at: tuple[Array, Array, Array], guess: Array, report: MapReport
    ) -> Array:
        """
        Map rows position, velocity, effort.

        :param values: Shape ``(3, n_in)``, C-contiguous.
        :param at: For each row the positions in the input's space that its Jacobian is taken at.
        :param guess: Positions in the output's space near which a solution is sought.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(3, n_out)``; **overwritten by the next call**.
        """
        self._run(values.reshape(-1), self._flat)
        if self.is_bent:
            for row, each in enumerate(self._maps):
                each.bend(self._mapped[row], values[row], at[row], None, guess, report)
        return self._mapped

    def of_instant(self, values: Array, guess: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that belong together: Jacobians are those of row 0.

        A transmission that has to find its position finds it once.

        :param values: As in a call, and the same for the other parameters and the result.
        """
        if not self._maps_instants:
            at = values[0]
            return self(values, (at, at, at), guess, report)
        self._run(values.reshape(-1), self._flat)
        for step in self._maps[0].steps:
            step.call_state(self._direction, values, self._mapped, guess, report)
        return self._mapped

    def unanswered(self, values: Array) -> npt.NDArray[np.bool_]:
        """
        Return whose position is unknown in the last result though its transmission had everything.

        :param values: What was mapped.
        :returns: Shape ``(n_out,)``.
        """
        result = np.zeros(self._mapped.shape[1], dtype=np.bool_)
        for step in self._maps[0].steps:
            if np.isfinite(values[0, step.inputs]).all():
                result[step.outputs] = ~np.isfinite(self._mapped[0, step.outputs])
        return result

    @property
    def all_finite(self) -> bool:
        """Whether every number of the last result is known."""
        return self._check(self._flat)
