# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Maps of position, velocity and effort of a robot for a stream of states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.calls import Call
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot.table import Robot
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot.program import RobotProgram


class RobotMap:
    """
    Maps the three interfaces of a JointState for a stream. Threads must not share it.

    The affine part of the robot is one map of all three interfaces. All mechanisms are compiled
    into one function together with it. The last solution is the warm start of the next one.
    """

    def __init__(self, robot: Robot, direction: Direction) -> None:
        self._robot = robot
        self._direction: Direction = direction
        self._affine = robot.stack_fields(direction)
        self._functions: dict[bool, RobotFunction] = {}
        self._get_function(False)

    def _get_function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            from transmission_bridge.transmissions.robot.program import RobotProgram

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
        return self._functions[False].map_rows(values, report)

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
        return function.map_rows(values, report)


class RobotFunction:
    """
    A robot's compiled map of one state after the other, with the last solutions as warm starts.

    A call costs a quarter of a microsecond; with one function for the whole robot, a robot with
    mechanisms is as fast as one without. Threads must not share it.
    """

    def __init__(self, program: RobotProgram) -> None:
        #: The transmission of each mechanism, in the order of :attr:`status`.
        self.bindings = program.bindings
        near, full = program.near, program.full
        given: Array = np.full(near.numel_in(0), np.nan).reshape(len(FIELDS), -1)
        #: Positions at which velocities and efforts of commands are mapped.
        self.places: Array = np.full_like(given[:2], np.nan)
        #: Rows position, velocity and effort of the output space.
        self.mapped: Array = np.full(near.numel_out(0), np.nan).reshape(len(FIELDS), -1)
        #: Status bits of each mechanism; 0 means success.
        self.status: Array = np.zeros(len(program.bindings))
        start = np.full(near.numel_in(2), np.nan)
        numbers = np.array(program.numbers)
        inputs = dict(enumerate((given, self.places, start, numbers, *program.tables)))
        self._near = Call(near, inputs, {0: self.mapped, 1: self.status})
        self._look = Call(full, inputs, dict(enumerate(self._near.outputs)))
        self._start = start
        # A copy between buffers costs a third of a copy between arrays.
        self._values_memory, self._start_memory = given.reshape(-1).data, start.data
        self._next, self._doubt = (self._near.outputs[k].data for k in (2, 3))
        self._given, self._given_memory = given, self._values_memory

    def map_rows(self, values: Array, report: MapReport | None = None) -> Array:
        """Map rows position, velocity, effort to :attr:`mapped`; see :attr:`status`."""
        if values is not self._given:
            # A stream passes the same array each time.
            assert values.flags.c_contiguous  # otherwise reshape would make a detached copy
            self._given, self._given_memory = values, values.reshape(-1).data
        self._values_memory[:] = self._given_memory
        self._near.run()
        if self._doubt[0] < 0.0:
            self._look.run()
        if len(self._start):
            self._start_memory[:] = self._next
        if self._doubt[0] != 0.0 and report is not None:
            for binding, status in zip(self.bindings, self.status.tolist(), strict=True):
                if status:
                    report.for_transmission(binding.spec.name).count(status)
        return self.mapped

    def forget_solutions(self) -> None:
        """Discard the last solutions."""
        self._start.fill(np.nan)
