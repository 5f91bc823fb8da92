# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One instant of a whole robot as one compiled function: its affine part and all of its equations.

A call costs a quarter of a microsecond, so that one function for the robot is what makes a robot
with equations as quick as one without. It is compiled once for each structure; the numbers are
inputs, and tuning compiles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import math
from typing import Any, NamedTuple, Protocol, runtime_checkable, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equations import all_of, Equations, is_known, known_if
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.stream import DOUBTFUL, OUTSIDE, SINGULAR, Step
from transmission_bridge.types import Array

__all__ = ['RobotFunction']

Expression: TypeAlias = Any


@runtime_checkable
class Compilable(Protocol):
    """A transmission whose samples are equations."""

    equations: Equations
    domain: Domain
    #: Whether the numbers depend on the position, as the pieces of a table do.
    numbers_vary: bool

    def numbers_at(self, along: bool, position: float) -> Sequence[float]:
        """Return what is watched, and the numbers, at a position of the input's space."""


#: Rows of a state.
_ROWS = 3


class _Mechanism(NamedTuple):
    """The structure of a mechanism in a robot."""

    equations: Equations
    along: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    selected: tuple[int, ...]
    #: How often its numbers stand among those of the robot.
    copies: int
    #: How many scales its inputs and its outputs have, none where they are SI.
    scales_in: int
    scales_out: int

    @property
    def width(self) -> int:
        """How many numbers it has, each time."""
        return int(self.equations.watch.numel() + self.equations.numbers.numel())


class _Affine(NamedTuple):
    """
    The structure of an affine map.

    :param terms: For each output its inputs.
    :param before: Which inputs have a bias.
    :param after: Which outputs have one.
    :param numbers_of: For each output the output whose coefficients it has; velocities those of
        positions, so that they are read once.
    """

    terms: tuple[tuple[int, ...], ...]
    before: tuple[bool, ...]
    after: tuple[bool, ...]
    numbers_of: tuple[int, ...]


class RobotFunction:
    """
    Position, velocity and effort of one instant.

    It owns the arrays that the compiled function reads and writes: a pointer to any other would
    outlive it. Not to be shared between threads.

    :param affine: The three interfaces stacked; rows of the mechanisms are overwritten.
    :param steps: The mechanisms, all of them of equations.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param commands: Whether velocities and efforts have positions of their own.
    """

    def __init__(
        self, affine: AffineMap, steps: Sequence[Step], direction: Direction, commands: bool
    ) -> None:
        mechanisms, numbers, starts = [], [*affine.numbers], 0
        #: For each step where the start of its solution stands; empty where it has none.
        self._starts: list[slice] = []
        #: Tables: each position has numbers of its own.
        self._pieces: list[tuple[Compilable, bool, int, float, int, slice]] = []
        for step in steps:
            transmission = step.transmission
            assert isinstance(transmission, Compilable)
            equations = transmission.equations
            along = (transmission.domain.space == 'joint') != (direction == ACTUATOR_TO_JOINT)
            copies = 1 + (commands and transmission.numbers_vary)
            mechanism = _Mechanism(
                equations,
                along,
                tuple(step.inputs.tolist()),
                tuple(step.outputs.tolist()),
                tuple(step.selected.tolist()),
                copies,
                0 if step.scale_in is None else step.scale_in.size,
                0 if step.scale_out is None else step.scale_out.size,
            )
            mechanisms.append(mechanism)
            unit = 1.0 if step.scale_in is None else float(step.scale_in[0, 0])
            for copy in range(copies):
                if transmission.numbers_vary:
                    part = slice(len(numbers), len(numbers) + mechanism.width)
                    place = int(step.inputs[0])
                    self._pieces.append((transmission, along, place, unit, copy, part))
                numbers += transmission.numbers_at(along, math.nan)
            for scale in (step.scale_in, step.scale_out):
                numbers += [] if scale is None else scale.reshape(-1).tolist()
            count = equations.starts(along)
            self._starts.append(slice(starts, starts + count))
            starts += count
        n_in, n_out = affine.n_in // _ROWS, affine.n_out // _ROWS
        structure = _affine_structure(affine)
        function = _compiled(structure, n_in, n_out, tuple(mechanisms), commands)
        given: Array = np.full((_ROWS, n_in), math.nan)
        self._given: Array = given
        self._given_memory = self._values_memory = given.reshape(-1).data
        #: Positions that velocities and efforts are mapped at, where they have their own.
        self.places: Array = np.full((2, n_in), math.nan)
        #: Rows position, velocity and effort of the other space.
        self.mapped: Array = np.full((_ROWS, n_out), math.nan)
        #: What is said of each mechanism, 0 where all is well.
        self.said: Array = np.zeros(max(len(steps), 1))
        self._start: Array = np.full(max(starts, 1), math.nan)
        #: The same memory, which is copied to at a third of the price.
        self._begin = self._start.data
        self._next: Array = np.full(max(starts, 1), math.nan)
        self._numbers: Array = np.array([*numbers, 0.0])
        self._doubt: Array = np.zeros(1)
        self._solves = starts > 0
        self._commands = commands
        self._buffer, self._run = function.buffer()
        inputs = (given, self.places, self._start, self._numbers)
        outputs = (self.mapped, self.said, self._next, self._doubt)
        sizes = [function.numel_in(place) for place in range(len(inputs))]
        sizes += [function.numel_out(place) for place in range(len(outputs))]
        # The function would read and write beyond an array that is too short.
        assert sizes == [array.size for array in (*inputs, *outputs)], sizes
        for place, array in enumerate(inputs):
            self._buffer.set_arg(place, array.reshape(-1).data)
        for place, array in enumerate(outputs):
            self._buffer.set_res(place, array.reshape(-1).data)
        self._doubtful = self._doubt.data

    def __call__(self, values: Array) -> bool:
        """
        Map to :attr:`mapped`, and return whether there is anything to say.

        :param values: Rows position, velocity, effort, shape ``(3, n_in)``, C-contiguous.
        """
        if values is not self._given:
            # A stream gives the same array each time; memory is copied at a third of the price.
            assert values.flags.c_contiguous  # else it would be a copy that nobody writes to
            self._given, self._given_memory = values, values.reshape(-1).data
        self._values_memory[:] = self._given_memory
        for transmission, along, place, unit, copy, part in self._pieces:
            at = self.places[copy, place] if self._commands else values[0, place]
            if not math.isnan(at):  # of what is unknown, any numbers make NaN
                self._numbers[part] = transmission.numbers_at(along, float(at) * unit)
        self._run()
        if self._solves:
            if self._doubtful[0] != 0.0:
                self._step_on()
            self._begin[:] = self._next.data
        return self._doubtful[0] != 0.0

    def _step_on(self) -> None:
        """What changed much takes more steps, from where the first ones led."""
        for part, said in zip(self._starts, self.said, strict=False):
            if said == DOUBTFUL:
                self._start[part] = self._next[part]
        self._run()

    def start(self, place: int) -> Array:
        """Return where the solution of a mechanism begins, to be read and written."""
        return self._start[self._starts[place]]

    def forget(self) -> None:
        """Forget the last solutions."""
        self._start.fill(math.nan)


def _affine_structure(affine: AffineMap) -> _Affine:
    """Return the structure, with velocities by the coefficients of positions if they are those."""
    terms, before, after = affine.structure
    numbers = affine.numbers
    begins = np.cumsum([0, *map(len, terms)]).tolist()
    rows = [numbers[begins[row] : begins[row + 1]] for row in range(affine.n_out)]
    n = affine.n_out // _ROWS
    numbers_of = tuple(
        row - n if n <= row < 2 * n and rows[row] == rows[row - n] else row
        for row in range(affine.n_out)
    )
    return _Affine(terms, before, after, numbers_of)


@lru_cache(maxsize=64)
def _compiled(
    affine: _Affine,
    n_in: int,
    n_out: int,
    mechanisms: tuple[_Mechanism, ...],
    commands: bool,
) -> Any:
    values = ca.SX.sym('values', _ROWS * n_in)
    places = ca.SX.sym('places', 2 * n_in)
    counts = [each.equations.starts(each.along) for each in mechanisms]
    start = ca.SX.sym('start', max(sum(counts), 1))
    taken = sum(map(len, affine.terms)) + len(affine.before) + len(affine.after)
    # One more, as an array of the function has an element.
    widths = [each.copies * each.width + each.scales_in + each.scales_out for each in mechanisms]
    n_numbers = taken + sum(widths) + 1
    numbers = ca.SX.sym('numbers', n_numbers)
    mapped = _affine(affine, values, numbers)
    said, following = [], []
    began = 0
    for each, count in zip(mechanisms, counts, strict=True):
        own = [
            numbers[taken + copy * each.width : taken + (copy + 1) * each.width]
            for copy in range(each.copies)
        ]
        taken += each.copies * each.width
        scales_in = ca.vertsplit(numbers[taken : taken + each.scales_in])
        taken += each.scales_in
        scales_out = ca.vertsplit(numbers[taken : taken + each.scales_out])
        taken += each.scales_out
        own_start = start[began : began + count]
        began += count
        picks = list(each.inputs)
        rows = [
            _scaled(values[[row * n_in + place for place in picks]], scales_in, row)
            for row in range(_ROWS)
        ]
        sample = each.equations.sample(each.along)
        if commands:
            at = [
                _scaled(places[[row * n_in + place for place in picks]], scales_in, 0)
                for row in range(2)
            ]
            found, doubt, after = _commanded(sample, rows, at, own_start, own)
        else:
            found, doubt, after = _instant(sample, rows, own_start, own[0])
        for row, vector in enumerate(found):
            width = each.scales_out // _ROWS
            for output, selected in zip(each.outputs, each.selected, strict=True):
                value = vector[selected]
                if width:
                    value = value / scales_out[row * width + selected]
                mapped[row * n_out + output] = value
        said.append(doubt)
        if count:
            following.append(after)
    doubts = ca.vertcat(*said) if said else ca.SX(0.0)
    return ca.Function(
        'robot',
        [values, places, start, numbers],
        [
            ca.densify(ca.vertcat(*mapped)),
            ca.densify(doubts),
            ca.densify(ca.vertcat(*following)) if following else start,
            ca.densify(ca.sum1(doubts)),
        ],
    )


def _scaled(values: Expression, scales: Sequence[Expression], row: int) -> Expression:
    """Return inputs in SI."""
    n = len(scales) // _ROWS
    return values * ca.vertcat(*scales[row * n : (row + 1) * n]) if n else values


def _affine(affine: _Affine, values: Expression, numbers: Expression) -> list[Expression]:
    """Return the outputs, by the operations of :class:`AffineMap` in their order."""
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


def _instant(
    sample: Any, rows: Sequence[Expression], start: Expression, numbers: Expression
) -> tuple[list[Expression], Expression, Expression]:
    """Return three rows, what is said, and where the next solution begins."""
    *found, known, inside, slow, weak, fine, nearing, following = sample(*rows, start, numbers)
    good = all_of((known, inside, fine))
    lost = ca.logic_and(good, ca.logic_or(slow, weak))
    said = _said(known, inside, good) + _either(lost, SINGULAR, 0.0)
    after = _after(rows[0].numel(), start, following, ca.logic_or(good, nearing), said)
    return [known_if(good, row) for row in found], said, after


def _commanded(
    sample: Any,
    rows: Sequence[Expression],
    at: Sequence[Expression],
    start: Expression,
    numbers: Sequence[Expression],
) -> tuple[list[Expression], Expression, Expression]:
    """Return the same of a command, of which everything may be unknown."""
    position, velocity, effort = rows
    one, other = (
        sample(place, velocity, effort, start, own)
        for place, own in zip(at, (numbers[0], numbers[-1]), strict=True)
    )
    places, speeds, _, known, inside, slow, _, fine, nearing, following = one
    _, _, forces, there, within, _, weak, usable, _, _ = other
    good, holds = all_of((known, inside, fine)), all_of((there, within, usable))
    is_placed = all_of(is_known(each) for each in ca.vertsplit(position))
    is_moving = ca.sum1(ca.vertcat(*(is_known(each) for each in ca.vertsplit(velocity))))
    is_pushed = ca.sum1(ca.vertcat(*(is_known(each) for each in ca.vertsplit(effort))))
    found = [
        known_if(ca.logic_and(good, is_placed), places),
        known_if(good, speeds),
        known_if(holds, forces),
    ]
    first = _either(ca.logic_or(is_placed, is_moving), _said(known, inside, good), 0.0)
    second = _either(is_pushed, _said(there, within, holds), 0.0)
    after = _after(rows[0].numel(), start, following, ca.logic_or(good, nearing), first)
    # Where one of two positions is outside, the other may still have to be looked at.
    is_doubtful = ca.logic_or(first == DOUBTFUL, second == DOUBTFUL)
    lost = ca.logic_or(all_of((good, slow, is_moving)), all_of((holds, weak, is_pushed)))
    decided = ca.fmax(first, second) + _either(lost, SINGULAR, 0.0)
    said = _either(is_doubtful, DOUBTFUL, decided)
    return found, said, _either(is_placed, after, start)


def _after(
    n: int, start: Expression, following: Expression, is_nearer: Expression, said: Expression
) -> Expression:
    """Return where the next solution begins: anew after a position that was outside."""
    if not start.numel():
        return start
    # Solution and position stay while nothing is known; of their derivative nothing is then.
    kept = 2 * n
    stays = known_if(said != OUTSIDE, _either(is_nearer, following[:kept], start[:kept]))
    return ca.vertcat(stays, following[kept:])


def _either(condition: Expression, one: Expression, other: Expression) -> Expression:
    return ca.if_else(condition, one, other)


def _said(known: Expression, inside: Expression, good: Expression) -> Expression:
    doubt = _either(inside, DOUBTFUL, OUTSIDE)
    return _either(known, _either(good, 0.0, doubt), 0.0)
