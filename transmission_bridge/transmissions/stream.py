# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and effort of a robot, one instant after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.status import count_status
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.types import Array, Index

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot_function import RobotFunction


@dataclass(frozen=True, slots=True)
class Step:
    """
    Where the values of one transmission come from and where they go.

    :param name: Name of the transmission.
    :param inputs: Places of its inputs in the robot's array.
    :param outputs: Places in the robot's array of the outputs that the robot takes.
    :param selected: Which of the transmission's outputs these are.
    :param results: Places of all of its outputs, taken or not.
    """

    name: str
    transmission: Transmission
    inputs: Index
    outputs: Index
    selected: Index
    results: Index

    def call(
        self,
        interface: str,
        direction: Direction,
        values: Array,
        at: Array | None,
        rate: Array | None,
        guess: Array | None,
        report: MapReport | None,
    ) -> Array:
        """
        Map one interface.

        :param values: The robot's inputs, shape ``(..., n_in)``; ``at``, ``rate`` as they are.
        :param guess: The transmission's outputs, taken or not, shape ``(..., n_results)``.
        :returns: All outputs of the transmission; NaN if it raises.
        """
        part = (report or MapReport()).of(self.name)
        try:
            return self.transmission.map(
                direction,
                interface,
                values[..., self.inputs],
                at=None if at is None else at[..., self.inputs],
                rate=None if rate is None else rate[..., self.inputs],
                guess=guess,
                report=part,
            )
        except (Exception, SystemExit):  # whatever a third party raises
            part.add_exception()
            return np.full((*values.shape[:-1], len(self.results)), np.nan)


class Stream:
    """
    The three interfaces of a JointState, for a stream.

    The affine part of the robot is one map of all three. Where there are mechanisms, it is
    compiled together with them into one function. Solutions begin at the last one.

    Not to be shared between threads.

    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param affine: Position, velocity and effort of what is linear.
    :param mechanisms: What is not.
    """

    def __init__(
        self, direction: Direction, affine: Sequence[AffineMap], mechanisms: Sequence[Step]
    ) -> None:
        self._direction: Direction = direction
        self._affine = AffineMap.stacked(affine)
        self._run = self._affine.workspace().run
        self._mapped: Array = np.empty((len(FIELDS), affine[0].n_out))
        self._check = FiniteCheck(self._mapped.size)
        self._mechanisms = mechanisms
        self._functions: dict[bool, RobotFunction] = {}
        if mechanisms:
            self._function(False)
        self._last = self._mapped

    def _function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            from transmission_bridge.transmissions.robot_function import RobotFunction

            self._functions[commands] = RobotFunction(
                self._affine, self._mechanisms, self._direction, commands
            )
        return self._functions[commands]

    def forget(self) -> None:
        """Forget the last solutions: those of other numbers may lead astray."""
        for function in self._functions.values():
            function.forget()

    def map_state(self, values: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that belong together: Jacobians are those of row 0.

        :param values: Shape ``(3, n_in)``, C-contiguous.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(3, n_out)``; **overwritten by the next call**.
        """
        if not self._mechanisms:
            return self._of_linear(values)
        return self._called(self._functions[False], values, report)

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that are commanded, NaN where they are not.

        Velocity is mapped where the commanded position is, else the measured one; effort at the
        measured position.

        :param measured: Positions, shape ``(n_in,)``, NaN where unknown.
        """
        if not self._mechanisms:
            return self._of_linear(values)
        function = self._function(True)
        function.places[0] = np.where(np.isnan(values[0]), measured, values[0])
        function.places[1] = measured
        return self._called(function, values, report)

    def _called(self, function: RobotFunction, values: Array, report: MapReport) -> Array:
        if function(values):
            _count(function, report)
        self._last = function.mapped
        return self._last

    def _of_linear(self, values: Array) -> Array:
        self._run(values.reshape(-1), self._mapped.reshape(-1))
        self._last = self._mapped
        return self._mapped

    @property
    def all_finite(self) -> bool:
        """Whether every number of the last result is known."""
        return self._check(self._last.reshape(-1))


def _count(function: RobotFunction, report: MapReport) -> None:
    for step, status in zip(function.steps, function.status.tolist(), strict=True):
        if status:
            part = report.of(step.name)
            try:
                step.transmission.raise_error()  # type: ignore[attr-defined]
                count_status(status, part)
            except (Exception, SystemExit):  # whatever a third party raises
                part.add_exception()


class FiniteCheck:
    """
    Whether all of an array is finite, at a third of the price of ``np.isfinite(x).all()``.

    :param size: Number of elements of the arrays that will be asked about.
    """

    def __init__(self, size: int) -> None:
        self._mask = np.empty(size, dtype=np.bool_)
        self._all = np.ones(size, dtype=np.bool_).tobytes()

    def __call__(self, values: Array) -> bool:
        """Return whether every element of ``values``, shape ``(size,)``, is finite."""
        np.isfinite(values, self._mask)
        return self._mask.tobytes() == self._all
