# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and effort of the whole robot, mapped in one call."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.finite import FiniteCheck
from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import AffineMap, Array
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.step import Step
from transmission_bridge.transmissions.stream_step import StreamStep

__all__ = ['StateMap']


class StateMap:
    """
    The three interfaces of a JointState stacked into one affine map.

    One call for all of them costs little more than a call for one. Position-dependent
    transmissions are called afterwards, where there are any; they begin at the last solution.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    """

    def __init__(self, robot: RobotTransmissions, direction: Direction) -> None:
        maps = [robot.map_of(interface, direction) for interface in FIELDS]
        affine = AffineMap.stacked([each.affine for each in maps])
        self._run = affine.workspace().run
        self._mapped: Array = np.empty((len(FIELDS), maps[0].affine.n_out))
        self._flat: Array = self._mapped.reshape(-1)
        self._check = FiniteCheck(self._flat.size)
        # A transmission that lacks an interface is called for the others.
        called: dict[str, tuple[Step, dict[int, str]]] = {}
        for row, each in enumerate(maps):
            for step in each.steps:
                called.setdefault(step.name, (step, {}))[1][row] = each.interface
        #: The steps, and where their inputs stand among those of all of them.
        self._steps: list[tuple[StreamStep, slice]] = []
        inputs: list[int] = []
        for step, interfaces in called.values():
            part = slice(len(inputs), len(inputs) + len(step.inputs))
            self._steps.append((StreamStep(step, direction, interfaces, self._mapped), part))
            inputs += step.inputs.tolist()
        self._inputs = np.array(inputs, dtype=np.intp)

    def forget(self) -> None:
        """Forget the last solutions."""
        for step, _ in self._steps:
            step.forget()

    def of_instant(self, values: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that belong together: Jacobians are those of row 0.

        A transmission that has to find its position finds it once.

        :param values: Shape ``(3, n_in)``, C-contiguous.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(3, n_out)``; **overwritten by the next call**.
        """
        self._run(values.reshape(-1), self._flat)
        if self._steps:
            position, velocity, effort = values.take(self._inputs, axis=1).tolist()
            for step, part in self._steps:
                step.map_instant(position[part], velocity[part], effort[part], values, report)
        return self._mapped

    def of_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that are commanded, NaN where they are not.

        Velocity is mapped where the commanded position is, else the measured one; effort at the
        measured position.

        :param measured: Positions, shape ``(n_in,)``, NaN where unknown.
        """
        self._run(values.reshape(-1), self._flat)
        if self._steps:
            at = np.where(np.isnan(values[0]), measured, values[0])
            places = (at, at, measured)
            rows = values.take(self._inputs, axis=1).tolist()
            rows += [at.take(self._inputs).tolist(), measured.take(self._inputs).tolist()]
            for step, part in self._steps:
                step.map_command([row[part] for row in rows], values, places, report)
        return self._mapped

    @property
    def all_finite(self) -> bool:
        """Whether every number of the last result is known."""
        return self._check(self._flat)
