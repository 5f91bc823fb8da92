# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and effort of a robot, one instant after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.status import count_status
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot_function import RobotFunction


class RobotMap:
    """
    The three interfaces of a JointState, for a stream.

    The affine part of the robot is one map of all three. Where there are mechanisms, it is
    compiled together with them into one function. Solutions begin at the last one.

    Not to be shared between threads.

    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    """

    def __init__(self, robot: Robot, direction: Direction) -> None:
        self._robot = robot
        self._direction: Direction = direction
        self._affine = AffineMap.stacked([robot.affine(direction, name) for name in FIELDS])
        self._run = self._affine.workspace().run
        self._mapped: Array = np.empty((len(FIELDS), self._affine.n_out // len(FIELDS)))
        self._functions: dict[bool, RobotFunction] = {}
        self._is_linear = not robot.mechanisms(direction)
        if not self._is_linear:
            self._function(False)

    def _function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            from transmission_bridge.transmissions.robot_function import RobotFunction

            self._functions[commands] = RobotFunction(
                self._affine,
                self._robot.mechanisms(self._direction),
                self._direction,
                commands=commands,
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
        if self._is_linear:
            return self._map_linear(values)
        return _called(self._functions[False], values, report)

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that are commanded, NaN where they are not.

        Velocity is mapped where the commanded position is, else the measured one; effort at the
        measured position.

        :param measured: Positions, shape ``(n_in,)``, NaN where unknown.
        """
        if self._is_linear:
            return self._map_linear(values)
        function = self._function(True)
        function.places[0] = np.where(np.isnan(values[0]), measured, values[0])
        function.places[1] = measured
        return _called(function, values, report)

    def _map_linear(self, values: Array) -> Array:
        self._run(values.reshape(-1), self._mapped.reshape(-1))
        return self._mapped


def _called(function: RobotFunction, values: Array, report: MapReport) -> Array:
    if function(values):
        for binding, status in zip(function.bindings, function.status.tolist(), strict=True):
            if status:
                part = report.of(binding.spec.name)
                try:
                    binding.transmission.raise_error()  # type: ignore[attr-defined]
                    count_status(status, part)
                except (Exception, SystemExit):  # whatever a third party raises
                    part.add_exception()
    return function.mapped
