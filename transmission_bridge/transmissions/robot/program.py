# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The map of one state of a whole robot as compiled functions: affine part and all mechanisms.

The functions are compiled once per structure. The numbers are inputs: tuning does not compile.

There are two functions with the same arguments. The first one is a single expression that iterates
from the last solutions, without a search. If it leaves a mechanism unsolved, the second one is
called, which uses the full solver. A stream keeps the last solutions; the C export compiles the
same functions, so their inputs, outputs and order of numbers are fixed together with its C code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.compiled import (
    CasadiCall,
    Expression,
    is_all_known,
    is_any_known,
    known_if,
)
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.mechanism.part import MechanismPart
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.robot.affine_map import AffineMap, AffineTerms
from transmission_bridge.transmissions.robot.table import Binding, RobotTable
from transmission_bridge.types import Array

#: Rows of a state: position, velocity and effort.
ROWS = 3


class _MechanismStructure(NamedTuple):
    """
    The structure of a mechanism in a robot.

    ``near`` and ``step`` are the functions of its :class:`~.mechanism.solver.Solver` without and
    with the full solver. ``inputs`` and ``outputs`` are indices in the robot's arrays;
    ``selected`` are the indices of these outputs in the mechanism. It is a key of the cache of
    compiled functions.
    """

    near: Any
    step: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    selected: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """Length of its warm start, of its numbers and of its seed table."""
        return [self.step.numel_in(k) for k in (3, 4, 5)]


class RobotProgram(NamedTuple):
    """
    The functions of a robot in one direction, with their constant inputs.

    :param near: Maps values, places, warm starts, numbers and the table of each mechanism to
        values, the status of each mechanism, the next warm starts, and the sum of the status. A
        negative sum requests the full solver.
    :param full: The same with the full solver.
    :param numbers: Coefficients and biases of the affine part, then the numbers of each mechanism.
    :param tables: The seed table of each mechanism.
    :param bindings: The transmission of each mechanism.
    """

    near: Any
    full: Any
    numbers: tuple[float, ...]
    tables: tuple[Array, ...]
    bindings: tuple[Binding, ...]

    @classmethod
    def build(
        cls,
        affine: AffineMap,
        bindings: Sequence[Binding],
        direction: Direction,
        *,
        commands: bool,
        live: Collection[int] = (),
        name: str = 'robot',
        shares: bool = False,
    ) -> RobotProgram:
        """
        Return the program of a robot.

        :param affine: The three interfaces stacked; rows of the mechanisms are overwritten.
        :param bindings: The mechanisms.
        :param commands: Whether velocities and efforts have positions and warm starts of their
            own.
        :param live: Indices of numbers of the affine part that may become other than zero.
        :param name: Begin of the names of the functions.
        :param shares: Whether functions of a mechanism that call others stay calls in the first
            function, so that the C code has each of them once.
        """
        parts = [*iterate_mechanisms(bindings, direction)]
        mechanisms, numbers = [], affine.numbers.tolist()
        for binding, part in parts:
            inputs, outputs, taken = (each.tolist() for each in binding.member_indices(direction))
            selected = tuple(k for k, index in enumerate(part.outputs) if index in taken)
            mechanisms.append(
                _MechanismStructure(
                    # Functions with calls are called, all others are expanded.
                    part.solver.sample_function if shares else part.solver.expanded_function,
                    part.solver.function,
                    inputs=tuple(inputs[index] for index in part.inputs),
                    outputs=tuple(outputs[part.outputs[k]] for k in selected),
                    selected=selected,
                )
            )
            numbers += part.numbers
        structure = affine.list_terms(live), tuple(mechanisms), commands
        return cls(
            _compile_robot(f'{name}_near', True, *structure),
            _compile_robot(f'{name}_full', False, *structure),
            tuple(numbers),
            tuple(part.table for _, part in parts),
            tuple(owner for owner, _ in parts),
        )


def iterate_mechanisms(
    bindings: Sequence[Binding], direction: Direction
) -> Iterator[tuple[Binding, MechanismPart]]:
    """Yield each mechanism with its transmission, in the order of the status."""
    for binding in bindings:
        if isinstance(binding.transmission, MechanismTransmission):
            for part in binding.transmission.parts(direction):
                yield binding, part


@lru_cache(maxsize=64)
def _compile_robot(
    name: str,
    is_near: bool,
    affine: AffineTerms,
    mechanisms: tuple[_MechanismStructure, ...],
    commands: bool,
) -> Any:
    n_in, n_out = len(affine.before) // ROWS, len(affine.after) // ROWS
    functions = [mechanism.near if is_near else mechanism.step for mechanism in mechanisms]
    is_written_out = all(function.is_a('SXFunction') for function in functions)
    kind: Any = ca.SX if is_written_out else ca.MX
    copies = 1 + commands
    taken = affine.n_numbers
    values = kind.sym('values', ROWS * n_in)
    places = kind.sym('places', 2 * n_in)
    sizes = [mechanism.sizes for mechanism in mechanisms]
    start = kind.sym('start', copies * sum(n_start for n_start, _, _ in sizes))
    numbers = kind.sym('numbers', taken + sum(n_numbers for _, n_numbers, _ in sizes))
    tables = [kind.sym('table', n_table) for _, _, n_table in sizes]
    mapped = _affine_outputs(affine, values, numbers[:taken])
    status, following = [], []
    doubt, began = kind(0.0), 0
    for mechanism, function, table in zip(mechanisms, functions, tables, strict=True):
        n_start, n_numbers, _ = mechanism.sizes
        own_numbers = numbers[taken : taken + n_numbers]
        taken += n_numbers
        rows = [values[[row * n_in + place for place in mechanism.inputs]] for row in range(ROWS)]
        at = [places[[row * n_in + place for place in mechanism.inputs]] for row in range(2)]
        begins = [start[began + k * n_start : began + (k + 1) * n_start] for k in range(copies)]
        began += copies * n_start
        more = [own_numbers] if is_near else [own_numbers, table]
        map_state = partial(_map_state, function, more)
        mapped_state = (
            _map_demand(map_state, rows, at, begins) if commands else map_state(rows, *begins)
        )
        *outputs, after, said, retry = mapped_state
        for row, vector in enumerate(outputs):
            for output, selected in zip(mechanism.outputs, mechanism.selected, strict=True):
                mapped[row * n_out + output] = vector[selected]
        status.append(said)
        following.append(after)
        doubt = doubt + ca.if_else(retry, -1e9, said)
    return ca.Function(
        name,
        [values, places, start, numbers, *tables],
        [
            ca.densify(ca.vertcat(*mapped)),
            ca.densify(ca.vertcat(*status)),
            ca.densify(ca.vertcat(*following)),
            ca.densify(doubt),
        ],
    )


def _map_state(
    function: Any, more: Sequence[Expression], rows: Sequence[Expression], start: Expression
) -> list[Expression]:
    """Map the three rows of one state; return also next start, status and retry."""
    outputs = [*function(*rows, start, *more)]
    return outputs if len(outputs) == 6 else [*outputs, type(start)(0.0)]


def _map_demand(
    map_state: Callable[..., list[Expression]],
    rows: Sequence[Expression],
    at: Sequence[Expression],
    starts: Sequence[Expression],
) -> list[Expression]:
    """Map the rows of a command, with any of them unknown, each at its own position."""
    position, velocity, effort = rows
    nothing = type(position)(ca.DM.nan(position.numel()))
    one = map_state((at[0], velocity, nothing), starts[0])
    other = map_state((at[1], nothing, effort), starts[1])
    is_placed = is_all_known(position)
    is_moving = ca.logic_or(is_placed, is_any_known(velocity))
    is_pushed = is_any_known(effort)
    # A velocity is mapped at the measured position, but this position is not a warm start: it
    # may be far from the next command. Without an effort nothing was searched for.
    following = [
        ca.if_else(is_placed, one[3], starts[0]),
        ca.if_else(is_pushed, other[3], starts[1]),
    ]
    return [
        known_if(is_placed, one[0]),
        one[1],
        other[2],
        ca.vertcat(*following),
        ca.fmax(ca.if_else(is_moving, one[4], 0.0), ca.if_else(is_pushed, other[4], 0.0)),
        ca.logic_or(ca.logic_and(is_moving, one[5]), ca.logic_and(is_pushed, other[5])),
    ]


def _affine_outputs(
    affine: AffineTerms, values: Expression, numbers: Expression
) -> list[Expression]:
    """Return the outputs of the affine map, as one call if the robot's function has calls."""
    if isinstance(values, ca.SX):
        return [ca.SX(each) for each in affine.expand(values, numbers)]
    inside = ca.SX.sym('values', values.numel()), ca.SX.sym('numbers', numbers.numel())
    outputs = ca.densify(ca.vertcat(*_affine_outputs(affine, *inside)))
    return list(ca.vertsplit(ca.Function('affine', inside, [outputs])(values, numbers)))


# -- a stream -------------------------------------------------------------------------------------


class RobotMap:
    """
    Maps the three interfaces of a JointState for a stream. Threads must not share it.

    The affine part of the robot is one map of all three interfaces. All mechanisms are compiled
    into one function together with it. The last solution is the warm start of the next one. The
    bridge and recordings call it through :meth:`RobotTransmissions.stream`.
    """

    def __init__(self, robot: RobotTable, direction: Direction) -> None:
        self._robot = robot
        self._direction: Direction = direction
        self._affine = robot.stack_fields(direction)
        self._functions: dict[bool, RobotFunction] = {}
        self._get_function(False)

    def _get_function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            mechanisms = self._robot.mechanisms(self._direction)
            self._functions[commands] = RobotFunction(
                RobotProgram.build(self._affine, mechanisms, self._direction, commands=commands)
            )
        return self._functions[commands]

    def forget_solutions(self) -> None:
        """Discard the last solutions; the bridge does it when it forgets states and commands."""
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
    mechanisms is as fast as one without. :class:`RobotMap` and the compiler, to compute what its C
    code must return, call it. Threads must not share it.
    """

    def __init__(self, program: RobotProgram) -> None:
        #: The transmission of each mechanism, in the order of :attr:`status`.
        self.bindings = program.bindings
        near, full = program.near, program.full
        given: Array = np.full(near.numel_in(0), np.nan).reshape(len(FIELDS), -1)
        #: Positions at which velocities and efforts of commands are mapped; the caller writes into
        #: it before :meth:`map_rows`.
        self.places: Array = np.full_like(given[:2], np.nan)
        #: Rows position, velocity and effort of the output space; each call overwrites them.
        self.mapped: Array = np.full(near.numel_out(0), np.nan).reshape(len(FIELDS), -1)
        #: Status bits of each mechanism in the last call; 0 means success.
        self.status: Array = np.zeros(len(program.bindings))
        start = np.full(near.numel_in(2), np.nan)
        numbers = np.array(program.numbers)
        inputs = dict(enumerate((given, self.places, start, numbers, *program.tables)))
        self._near = CasadiCall(near, inputs, {0: self.mapped, 1: self.status})
        self._full = CasadiCall(full, inputs, dict(enumerate(self._near.outputs)))
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
            self._full.run()
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
