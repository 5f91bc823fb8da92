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

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import casadi as ca

from transmission_bridge.interfaces import Direction
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.expressions import (
    Expression,
    is_all_known,
    is_any_known,
    known_if,
)
from transmission_bridge.transmissions.mechanism.part import CompiledPart
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.robot.affine_map import AffineMap, Terms
from transmission_bridge.types import Array

#: Rows of a state.
ROWS = 3


class _MechanismStructure(NamedTuple):
    """
    The structure of a mechanism in a robot.

    ``near`` and ``step`` are the functions of ``Part``. ``inputs`` and ``outputs`` are indices in
    the robot's arrays; ``selected`` are the indices of these outputs in the mechanism.
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
        parts = [*iterate_parts(bindings, direction)]
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
        near, full = (
            _compile_robot(f'{name}_{kind}', kind == 'near', *structure)
            for kind in ('near', 'full')
        )
        tables = tuple(part.table for _, part in parts)
        return cls(near, full, tuple(numbers), tables, tuple(owner for owner, _ in parts))


def iterate_parts(
    bindings: Sequence[Binding], direction: Direction
) -> Iterator[tuple[Binding, CompiledPart]]:
    """Yield each mechanism with its transmission, in the order of the status."""
    for binding in bindings:
        if isinstance(binding.transmission, MechanismTransmission):
            for part in binding.transmission.parts(direction):
                yield binding, part


@lru_cache(maxsize=64)
def _compile_robot(
    name: str,
    is_near: bool,
    affine: Terms,
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


def _affine_outputs(affine: Terms, values: Expression, numbers: Expression) -> list[Expression]:
    """Return the outputs of the affine map, as one call if the robot's function has calls."""
    if isinstance(values, ca.SX):
        return [ca.SX(each) for each in affine.expand(values, numbers)]
    inside = ca.SX.sym('values', values.numel()), ca.SX.sym('numbers', numbers.numel())
    outputs = ca.densify(ca.vertcat(*_affine_outputs(affine, *inside)))
    return list(ca.vertsplit(ca.Function('affine', inside, [outputs])(values, numbers)))
