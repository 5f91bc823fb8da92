# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Maps of position, velocity and effort of a robot for a stream of states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap, AffineStream
from transmission_bridge.transmissions.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot_function import RobotFunction


def make_stream(robot: Robot, direction: Direction) -> RobotMap | AffineStream:
    """Return a map of position, velocity and effort for a stream of states."""
    if robot.mechanisms(direction):
        return RobotMap(robot, direction)
    return AffineStream(_join_interfaces(robot, direction))


def _join_interfaces(robot: Robot, direction: Direction) -> AffineMap:
    return AffineMap.from_maps([robot.affine(direction, name) for name in FIELDS])


class RobotMap:
    """
    Maps the three interfaces of a JointState for a stream. Threads must not share it.

    The affine part of the robot is one map of all three interfaces. All mechanisms are compiled
    into one function together with it. The last solution is the warm start of the next one.
    """

    def __init__(self, robot: Robot, direction: Direction) -> None:
        self._robot = robot
        self._direction: Direction = direction
        self._affine = _join_interfaces(robot, direction)
        self._functions: dict[bool, RobotFunction] = {}
        self._get_function(False)

    def _get_function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            from transmission_bridge.transmissions.robot_function import RobotFunction
            from transmission_bridge.transmissions.robot_program import RobotProgram

            mechanisms = self._robot.mechanisms(self._direction)
            self._functions[commands] = RobotFunction(
                RobotProgram.build(self._affine, mechanisms, self._direction, commands=commands)
            )
        return self._functions[commands]

    def forget_solutions(self) -> None:
        """Discard the last solutions: they are misleading after a change of the numbers."""
        for function in self._functions.values():
            function.forget_solutions()

    def map_state(self, values: Array, report: MapReport | None = None) -> Array:
        """
        Map rows position, velocity, effort of one state; Jacobians are evaluated at row 0.

        :param values: Shape ``(3, n_in)``, C-contiguous.
        :param report: Collects failures, if it is given.
        :returns: Shape ``(3, n_out)``; **overwritten by the next call**.
        """
        return _call_function(self._functions[False], values, report)

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort of a command; NaN means not commanded.

        Velocity is mapped at the commanded position, or at the measured one if no position is
        commanded; effort is mapped at the measured position.

        :param measured: Positions, shape ``(n_in,)``, NaN if unknown.
        """
        function = self._get_function(True)
        function.places[0] = np.where(np.isnan(values[0]), measured, values[0])
        function.places[1] = measured
        return _call_function(function, values, report)


def _call_function(function: RobotFunction, values: Array, report: MapReport | None) -> Array:
    if function(values):
        report = MapReport() if report is None else report
        for binding, status in zip(function.bindings, function.status.tolist(), strict=True):
            if status:
                report.for_transmission(binding.spec.name).count(status)
    return function.mapped
