# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The map of one state of a whole robot as one compiled function: affine part and all mechanisms.

A call costs a quarter of a microsecond; with one function for the whole robot, a robot with
mechanisms is as fast as one without. The function is compiled once per structure. The numbers are
inputs: tuning does not compile.

There are two functions with the same arrays. The first one is a single expression that iterates
from the last solutions, without a search. If it leaves a mechanism unsolved, the second one is
called, which uses the full solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import math
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.system import Call, is_all_known, is_any_known, known_if
from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Rows of a state.
_ROWS = 3


class _MechanismStructure(NamedTuple):
    """
    The structure of a mechanism in a robot.

    ``near`` and ``step`` are the functions of ``Part``. ``inputs`` and ``outputs`` are indices in
    the robot's arrays; ``selected`` are the indices of these outputs in the mechanism. ``n_start``
    is the length of its warm start, ``n_table`` of its seed table.
    """

    near: Any
    step: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    selected: tuple[int, ...]
    n_numbers: int
    n_start: int
    n_table: int


class _AffineStructure(NamedTuple):
    """
    The structure of an affine map.

    ``terms`` are the inputs of each output; ``before`` and ``after`` state which inputs and
    outputs have a bias. ``numbers_of`` is for each output the output with the same coefficients:
    velocities share them with positions, so they are read once.
    """

    terms: tuple[tuple[int, ...], ...]
    before: tuple[bool, ...]
    after: tuple[bool, ...]
    numbers_of: tuple[int, ...]


class RobotFunction:
    """
    Position, velocity and effort of one state. Threads must not share it.

    ``affine`` has the three interfaces stacked; rows of the mechanisms ``bindings`` are
    overwritten. With ``commands``, velocities and efforts have positions and warm starts of their
    own.
    """

    def __init__(
        self,
        affine: AffineMap,
        bindings: Sequence[Binding],
        direction: Direction,
        *,
        commands: bool,
    ) -> None:
        mechanisms: list[_MechanismStructure] = []
        numbers, tables = [*affine.all_numbers], []
        #: The transmission of each mechanism, in the order of :attr:`status`.
        self.bindings: list[Binding] = []
        for binding in bindings:
            inputs, outputs, taken = (each.tolist() for each in binding.member_indices(direction))
            for part in binding.transmission.parts(direction):  # type: ignore[attr-defined]
                selected = tuple(k for k, place in enumerate(part.outputs) if place in taken)
                mechanisms.append(
                    _MechanismStructure(
                        part.near,
                        part.step,
                        inputs=tuple(inputs[place] for place in part.inputs),
                        outputs=tuple(outputs[part.outputs[k]] for k in selected),
                        selected=selected,
                        n_numbers=len(part.numbers),
                        n_start=part.n_start,
                        n_table=len(part.table),
                    )
                )
                self.bindings.append(binding)
                numbers += part.numbers
                tables.append(part.table)
        n_in, n_out = affine.n_in // _ROWS, affine.n_out // _ROWS
        structure = _affine_structure(affine)
        near, full = (
            _compile_robot(structure, n_in, n_out, tuple(mechanisms), commands, is_near)
            for is_near in (True, False)
        )
        given: Array = np.full((_ROWS, n_in), math.nan)
        #: Positions at which velocities and efforts of commands are mapped.
        self.places: Array = np.full((2, n_in), math.nan)
        #: Rows position, velocity and effort of the output space.
        self.mapped: Array = np.full((_ROWS, n_out), math.nan)
        #: Status bits of each mechanism; 0 means success.
        self.status: Array = np.zeros(len(mechanisms))
        start = np.full(near.numel_in(2), math.nan)
        inputs = dict(enumerate((given, self.places, start, np.array(numbers), *tables)))
        self._near = Call(near, inputs, {0: self.mapped, 1: self.status})
        self._look = Call(full, inputs, dict(enumerate(self._near.outputs)))
        self._start = start
        # A copy between buffers costs a third of a copy between arrays.
        self._values_memory, self._start_memory = given.reshape(-1).data, start.data
        self._next, self._doubt = (self._near.outputs[k].data for k in (2, 3))
        self._given, self._given_memory = given, self._values_memory

    def __call__(self, values: Array) -> bool:
        """Map rows position, velocity, effort to :attr:`mapped`; return if any status is set."""
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
        return self._doubt[0] != 0.0

    def forget_solutions(self) -> None:
        """Discard the last solutions."""
        self._start.fill(math.nan)


def _affine_structure(affine: AffineMap) -> _AffineStructure:
    """Return the structure; velocities share the coefficients of positions if these are equal."""
    terms, before, after = affine.structure
    numbers = affine.all_numbers
    begins = np.cumsum([0, *map(len, terms)]).tolist()
    rows = [numbers[begins[row] : begins[row + 1]] for row in range(affine.n_out)]
    n = affine.n_out // _ROWS
    numbers_of = tuple(
        row - n if n <= row < 2 * n and rows[row] == rows[row - n] else row
        for row in range(affine.n_out)
    )
    return _AffineStructure(terms, before, after, numbers_of)


@lru_cache(maxsize=64)
def _compile_robot(
    affine: _AffineStructure,
    n_in: int,
    n_out: int,
    mechanisms: tuple[_MechanismStructure, ...],
    commands: bool,
    is_near: bool,
) -> Any:
    """
    Return the function of a robot.

    It maps values, places, warm starts, numbers and the table of each mechanism to values, the
    status of each mechanism, the next warm starts, and the sum of the status. A negative sum
    requests the full solver.
    """
    functions = [(is_near and each.near) or each.step for each in mechanisms]
    # Functions with calls are called, all others are expanded.
    is_written_out = all(function.is_a('SXFunction') for function in functions)
    kind: Any = ca.SX if is_written_out else ca.MX
    copies = 1 + commands
    taken = sum(map(len, affine.terms)) + len(affine.before) + len(affine.after)
    values = kind.sym('values', _ROWS * n_in)
    places = kind.sym('places', 2 * n_in)
    start = kind.sym('start', copies * sum(each.n_start for each in mechanisms))
    numbers = kind.sym('numbers', taken + sum(each.n_numbers for each in mechanisms))
    tables = [kind.sym('table', each.n_table) for each in mechanisms]
    mapped = _affine_outputs(affine, values, numbers[:taken])
    status, following = [], []
    doubt, began = kind(0.0), 0
    for each, function, table in zip(mechanisms, functions, tables, strict=True):
        own = numbers[taken : taken + each.n_numbers]
        taken += each.n_numbers
        rows = [values[[row * n_in + place for place in each.inputs]] for row in range(_ROWS)]
        at = [places[[row * n_in + place for place in each.inputs]] for row in range(2)]
        begins = [
            start[began + k * each.n_start : began + (k + 1) * each.n_start] for k in range(copies)
        ]
        began += copies * each.n_start
        more = [own] if is_near and each.near is not None else [own, table]
        map_sample = _MechanismCall(function, more)
        found = map_sample.map_demand(rows, at, begins) if commands else map_sample(rows, *begins)
        *outputs, after, said, retry = found
        for row, vector in enumerate(outputs):
            for output, selected in zip(each.outputs, each.selected, strict=True):
                mapped[row * n_out + output] = vector[selected]
        status.append(said)
        following.append(after)
        doubt = doubt + ca.if_else(retry, -1e9, said)
    return ca.Function(
        'robot',
        [values, places, start, numbers, *tables],
        [
            ca.densify(ca.vertcat(*mapped)),
            ca.densify(ca.vertcat(*status)),
            ca.densify(ca.vertcat(*following)),
            ca.densify(doubt),
        ],
    )


class _MechanismCall:
    """The function of a mechanism with its numbers; returns next start, status and retry."""

    def __init__(self, function: Any, more: Sequence[Expression]) -> None:
        self._function, self._more = function, more

    def __call__(self, rows: Sequence[Expression], start: Expression) -> list[Expression]:
        """Map the three rows of one state."""
        found = [*self._function(*rows, start, *self._more)]
        return found if len(found) == 6 else [*found, type(start)(0.0)]

    def map_demand(
        self,
        rows: Sequence[Expression],
        at: Sequence[Expression],
        starts: Sequence[Expression],
    ) -> list[Expression]:
        """Map the rows of a command, with any of them unknown, each at its own position."""
        position, velocity, effort = rows
        nothing = type(position)(ca.DM.nan(position.numel()))
        one = self((at[0], velocity, nothing), starts[0])
        other = self((at[1], nothing, effort), starts[1])
        is_placed = is_all_known(position)
        is_moving = ca.logic_or(is_placed, is_any_known(velocity))
        is_pushed = is_any_known(effort)
        # A velocity is mapped at the measured position, but this position is not a warm start: it
        # may be far from the next command.
        following = ca.if_else(is_placed, one[3], starts[0]), other[3]
        return [
            known_if(is_placed, one[0]),
            one[1],
            other[2],
            ca.vertcat(*following),
            ca.fmax(ca.if_else(is_moving, one[4], 0.0), ca.if_else(is_pushed, other[4], 0.0)),
            ca.logic_or(ca.logic_and(is_moving, one[5]), ca.logic_and(is_pushed, other[5])),
        ]


def _affine_outputs(
    affine: _AffineStructure, values: Expression, numbers: Expression
) -> list[Expression]:
    """Return the outputs of the affine map, as one call if the robot's function has calls."""
    if isinstance(values, ca.SX):
        return _expand(affine, values, numbers)
    inside = ca.SX.sym('values', values.numel()), ca.SX.sym('numbers', numbers.numel())
    function = ca.Function('affine', inside, [ca.densify(ca.vertcat(*_expand(affine, *inside)))])
    return list(ca.vertsplit(function(values, numbers)))


def _expand(affine: _AffineStructure, values: Expression, numbers: Expression) -> list[Expression]:
    """Return the outputs, by the operations of :class:`AffineMap` in the same order."""
    at = sum(map(len, affine.terms))
    before = [
        numbers[at + place] if exists else None for place, exists in enumerate(affine.before)
    ]
    at += len(affine.before)
    inputs = [
        values[place] if bias is None else values[place] - bias
        for place, bias in enumerate(before)
    ]
    begins = np.cumsum([0, *map(len, affine.terms)]).tolist()
    mapped = []
    for row, terms in enumerate(affine.terms):
        total = None
        for number, place in enumerate(terms, begins[affine.numbers_of[row]]):
            term = inputs[place] * numbers[number]
            total = term if total is None else total + term
        if affine.after[row]:
            bias = numbers[at + row]
            total = bias if total is None else total + bias
        mapped.append(ca.SX(0.0) if total is None else total)
    return mapped
