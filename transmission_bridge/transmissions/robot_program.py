# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The map of one state of a whole robot as compiled functions: affine part and all mechanisms.

The functions are compiled once per structure. The numbers are inputs: tuning does not compile.

There are two functions with the same arguments. The first one is a single expression that iterates
from the last solutions, without a search. If it leaves a mechanism unsolved, the second one is
called, which uses the full solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.expressions import is_all_known, is_any_known, known_if
from transmission_bridge.transmissions.interfaces import Direction
from transmission_bridge.transmissions.mechanism_transmission import (
    CompiledPart,
    MechanismTransmission,
)
from transmission_bridge.types import Array

Expression: TypeAlias = Any

#: Rows of a state.
ROWS = 3


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


class RobotProgram(NamedTuple):
    """
    The functions of a robot in one direction, with their constant inputs.

    :param near: Maps values, places, warm starts, numbers and the table of each mechanism to
        values, the status of each mechanism, the next warm starts, and the sum of the status. A
        negative sum requests the full solver.
    :param full: The same with the full solver.
    :param n_in: Number of inputs of a row.
    :param n_out: Number of outputs of a row.
    :param numbers: Coefficients and biases of the affine part, then the numbers of each mechanism.
    :param tables: The seed table of each mechanism.
    :param bindings: The transmission of each mechanism.
    """

    near: Any
    full: Any
    n_in: int
    n_out: int
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
        biases: tuple[tuple[bool, ...], tuple[bool, ...]] | None = None,
        name: str = 'robot',
    ) -> RobotProgram:
        """
        Return the program of a robot.

        :param affine: The three interfaces stacked; rows of the mechanisms are overwritten.
        :param bindings: The mechanisms.
        :param commands: Whether velocities and efforts have positions and warm starts of their
            own.
        :param biases: Which inputs and outputs of the affine part have a bias; by default those
            with a bias that is not zero.
        :param name: Begin of the names of the functions.
        """
        mechanisms: list[_MechanismStructure] = []
        numbers, tables, owners = [*affine.all_numbers], [], []
        for binding, part in iterate_parts(bindings, direction):
            inputs, outputs, taken = (each.tolist() for each in binding.member_indices(direction))
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
            owners.append(binding)
            numbers += part.numbers
            tables.append(part.table)
        n_in, n_out = affine.n_in // ROWS, affine.n_out // ROWS
        structure = _affine_structure(affine)
        if biases is not None:
            structure = structure._replace(before=biases[0], after=biases[1])
        near, full = (
            _compile_robot(
                f'{name}_{kind}', structure, n_in, n_out, tuple(mechanisms), commands, kind
            )
            for kind in ('near', 'full')
        )
        return cls(near, full, n_in, n_out, tuple(numbers), tuple(tables), tuple(owners))


def iterate_parts(
    bindings: Sequence[Binding], direction: Direction
) -> Iterator[tuple[Binding, CompiledPart]]:
    """Yield each mechanism with its transmission, in the order of the status."""
    for binding in bindings:
        if isinstance(binding.transmission, MechanismTransmission):
            for part in binding.transmission.parts(direction):
                yield binding, part


def _affine_structure(affine: AffineMap) -> _AffineStructure:
    """Return the structure; velocities share the coefficients of positions if these are equal."""
    terms, before, after = affine.structure
    numbers = affine.all_numbers
    begins = np.cumsum([0, *map(len, terms)]).tolist()
    rows = [numbers[begins[row] : begins[row + 1]] for row in range(affine.n_out)]
    n = affine.n_out // ROWS
    numbers_of = tuple(
        row - n if n <= row < 2 * n and rows[row] == rows[row - n] else row
        for row in range(affine.n_out)
    )
    return _AffineStructure(terms, before, after, numbers_of)


@lru_cache(maxsize=64)
def _compile_robot(
    name: str,
    affine: _AffineStructure,
    n_in: int,
    n_out: int,
    mechanisms: tuple[_MechanismStructure, ...],
    commands: bool,
    kind_of_solver: str,
) -> Any:
    is_near = kind_of_solver == 'near'
    functions = [(is_near and each.near) or each.step for each in mechanisms]
    # Functions with calls are called, all others are expanded.
    is_written_out = all(function.is_a('SXFunction') for function in functions)
    kind: Any = ca.SX if is_written_out else ca.MX
    copies = 1 + commands
    taken = sum(map(len, affine.terms)) + len(affine.before) + len(affine.after)
    values = kind.sym('values', ROWS * n_in)
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
        rows = [values[[row * n_in + place for place in each.inputs]] for row in range(ROWS)]
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
        name,
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
