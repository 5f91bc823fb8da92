# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission that a live stream has to call for every message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.one_sample import SampleMap
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.square import Numbers
from transmission_bridge.transmissions.step import Step

__all__ = ['StreamStep']


class StreamStep:
    """
    Maps position, velocity and effort of one message after the other.

    What is regular is mapped in plain numbers: a call of numpy costs more than the equations of a
    mechanism. Everything else goes through arrays, which count it. The last solution is kept, as
    the next one is sought near it.

    :param step: The transmission and its places.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param interfaces: The interfaces that it maps, by their row.
    :param outputs: The robot's outputs, shape ``(3, n_out)``; its own are overwritten.
    """

    def __init__(
        self, step: Step, direction: Direction, interfaces: Mapping[int, str], outputs: Array
    ) -> None:
        self._step = step
        self._direction: Direction = direction
        self._interfaces = interfaces
        self._outputs = outputs
        self._maps_instants = len(interfaces) == len(outputs)
        self._sample_map = step.sample_map if self._maps_instants else None
        # Through a view a number is written several times quicker than through the array.
        self._cells = outputs.reshape(-1).data
        places = [row * outputs.shape[1] + step.outputs for row in range(len(outputs))]
        self._rows = [
            tuple(zip(row.tolist(), step.selected.tolist(), strict=True)) for row in places
        ]
        self._unknown: Numbers = (math.nan,) * len(step.results)
        self.forget()

    def forget(self) -> None:
        """Forget the last solution: one of other numbers may lead astray."""
        self._start = self._unknown

    def map_instant(
        self,
        position: Numbers,
        velocity: Numbers,
        effort: Numbers,
        values: Array,
        report: MapReport,
    ) -> None:
        """
        Map position, velocity and effort that belong together: the Jacobian is there.

        :param position: Positions of its own inputs.
        :param velocity: Their velocities.
        :param effort: Their efforts.
        :param values: The robot's inputs, shape ``(3, n_in)``.
        """
        if self._sample_map is not None:
            try:
                found = self._sample_map(position, velocity, effort, self._start)
                if found is not None:
                    self._write(found)
                    self._start = found[0]
                    return
            except (Exception, SystemExit):  # a plugin's bug
                self._fail(report)
                return
        if self._maps_instants:
            start = np.array(self._start)
            rows = self._step.call_state(self._direction, values, start, report)
            self._outputs[:, self._step.outputs] = rows[:, self._step.selected]
            self._keep(position, rows[0].tolist())
        else:
            self._map_rows(position, values, (values[0],) * len(values), report)

    def map_command(
        self,
        numbers: Sequence[Numbers],
        values: Array,
        at: Sequence[Array],
        report: MapReport,
    ) -> None:
        """
        Map position, velocity and effort that need not be commanded, nor belong together.

        :param numbers: Its own inputs, row by row, NaN where nothing is commanded; then the
            positions that velocities are mapped at, which are the commanded ones where there are
            any, and those that efforts are mapped at.
        :param values: The robot's inputs, shape ``(3, n_in)``.
        :param at: For each row the robot's positions that its Jacobian is taken at.
        """
        if self._sample_map is not None:
            try:
                if self._map_command_sample(self._sample_map, *numbers):
                    return
            except (Exception, SystemExit):  # a plugin's bug
                self._fail(report)
                return
        self._map_rows(numbers[0], values, at, report)

    def _map_command_sample(
        self,
        sample_map: SampleMap,
        position: Numbers,
        velocity: Numbers,
        effort: Numbers,
        moving_at: Numbers,
        effort_at: Numbers,
    ) -> bool:
        """Map a command in plain numbers, if all of it can be."""
        places = speeds = forces = self._unknown
        if not (_is_unknown(position) and _is_unknown(velocity)):
            found = sample_map(moving_at, velocity, effort, self._start)
            if found is None:
                return False
            places, speeds, _ = found
        if not _is_unknown(effort):
            found = sample_map(effort_at, velocity, effort, self._start)
            if found is None:
                return False
            forces = found[2]
        if _is_unknown(position):
            places = self._unknown
        elif any(map(math.isnan, position)):
            return False
        else:
            self._start = places
        self._write((places, speeds, forces))
        return True

    def _map_rows(
        self, position: Numbers, values: Array, at: Sequence[Array], report: MapReport
    ) -> None:
        """Map each interface that there is, by arrays."""
        step, outputs = self._step, self._outputs
        guess = np.full(outputs.shape[1], math.nan)
        guess[step.results] = self._start
        for row, interface in self._interfaces.items():
            outputs[row, step.outputs] = step.call(
                interface, self._direction, values[row], at[row], None, guess, report
            )
        if len(step.outputs) == len(step.results):
            self._keep(position, outputs[0, step.outputs].tolist())

    def _write(self, found: Sequence[Numbers]) -> None:
        cells = self._cells
        for places, numbers in zip(self._rows, found, strict=True):
            for place, selected in places:
                cells[place] = numbers[selected]

    def _keep(self, position: Numbers, found: Numbers) -> None:
        """Keep a solution; where none was found though it was asked for, begin anew."""
        if all(map(math.isfinite, found)):
            self._start = found
        elif all(map(math.isfinite, position)):
            self.forget()

    def _fail(self, report: MapReport) -> None:
        report.add_exception(self._step.name)
        self._outputs[:, self._step.outputs] = math.nan
        self.forget()


def _is_unknown(numbers: Numbers) -> bool:
    return all(map(math.isnan, numbers))
