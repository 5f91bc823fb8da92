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
from typing import Any, NamedTuple, Protocol, runtime_checkable, TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np

from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equations import all_of, Equations, is_known, known_if
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.stream import DOUBTFUL, OUTSIDE, SINGULAR, Step
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.linkage.live import LivePart, PartSample

__all__ = ['Piece', 'RobotFunction']

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


@runtime_checkable
class InParts(Protocol):
    """A transmission whose parts are mapped each by itself, as a linkage."""

    def live_parts(self, direction: Direction) -> Sequence[LivePart]:
        """Return the parts."""


#: Rows of a state.
_ROWS = 3


class Piece(NamedTuple):
    """
    What is compiled: a transmission or a part of one.

    :param step: The transmission.
    :param start: Where the start of its solution stands; empty where it has none.
    :param part: The part, if it is one.
    """

    step: Step
    start: slice
    part: LivePart | None


class _Mechanism(NamedTuple):
    """
    The structure of a mechanism in a robot.

    :param equations: What gives its samples.
    :param along: Whether from the space of its domain.
    :param inputs: Places of its inputs in the robot's array.
    :param outputs: Places of its outputs that the robot takes.
    :param selected: Which of its outputs these are.
    :param width: How many numbers it has.
    :param copies: How often these stand among those of the robot.
    :param begins: How many starts it has.
    :param scales_in: How many scales its inputs have, none where they are SI.
    :param scales_out: How many its outputs have.
    """

    equations: Equations | PartSample
    along: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    selected: tuple[int, ...]
    width: int
    copies: int
    begins: int
    scales_in: int
    scales_out: int


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
        mechanisms: list[_Mechanism] = []
        numbers, starts = [*affine.numbers], 0
        #: The mechanisms in the order of :attr:`said`.
        self.pieces: list[Piece] = []
        #: Tables: each position has numbers of its own.
        self._tables: list[tuple[Compilable, bool, int, float, int, slice]] = []
        for step in steps:
            for mechanism, part, own, scales in _mechanisms(step, direction, commands):
                mechanisms.append(mechanism)
                unit = 1.0 if step.scale_in is None else float(step.scale_in[0, 0])
                for copy in range(mechanism.copies):
                    if part is None and step.transmission.numbers_vary:  # type: ignore[attr-defined]
                        where = slice(len(numbers), len(numbers) + mechanism.width)
                        table = step.transmission, mechanism.along, mechanism.inputs[0], unit
                        self._tables.append((*table, copy, where))  # type: ignore[arg-type]
                    numbers += own
                numbers += scales
                count = mechanism.begins * mechanism.equations.starts(mechanism.along)
                self.pieces.append(Piece(step, slice(starts, starts + count), part))
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
        self.said: Array = np.zeros(max(len(mechanisms), 1))
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
        for transmission, along, place, unit, copy, part in self._tables:
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
        for piece, said in zip(self.pieces, self.said, strict=False):
            if said == DOUBTFUL:
                self._start[piece.start] = self._next[piece.start]
        self._run()

    def start(self, piece: Piece) -> Array:
        """Return where the solution of a mechanism begins, to be read and written."""
        return self._start[piece.start]

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


def _mechanisms(
    step: Step, direction: Direction, commands: bool
) -> list[tuple[_Mechanism, LivePart | None, list[float], list[float]]]:
    """Return the mechanisms of a transmission, the parts that they are, numbers and scales."""
    transmission = step.transmission
    robot_outputs = dict(zip(step.selected.tolist(), step.outputs.tolist(), strict=True))
    found: list[tuple[_Mechanism, LivePart | None, list[float], list[float]]] = []
    for part in (
        transmission.live_parts(direction) if isinstance(transmission, InParts) else [None]
    ):
        if part is None:
            assert isinstance(transmission, Compilable)
            equations: Equations | PartSample = transmission.equations
            along = (transmission.domain.space == 'joint') != (direction == ACTUATOR_TO_JOINT)
            inputs, outputs = list(range(len(step.inputs))), list(range(len(step.results)))
            numbers = list(transmission.numbers_at(along, math.nan))
            copies = 1 + (commands and transmission.numbers_vary)
        else:
            equations, along = part.sample, part.along
            inputs, outputs = list(part.inputs), list(part.outputs)
            numbers, copies = list(part.numbers), 1
        taken = [k for k, place in enumerate(outputs) if place in robot_outputs]
        scales = [
            [] if scale is None else scale[:, places].reshape(-1).tolist()
            for scale, places in ((step.scale_in, inputs), (step.scale_out, outputs))
        ]
        mechanism = _Mechanism(
            equations,
            along,
            inputs=tuple(step.inputs[inputs].tolist()),
            outputs=tuple(robot_outputs[outputs[k]] for k in taken),
            selected=tuple(taken),
            width=len(numbers),
            copies=copies,
            begins=1 + (commands and equations.keeps_starts),
            scales_in=len(scales[0]),
            scales_out=len(scales[1]),
        )
        found.append((mechanism, part, numbers, [*scales[0], *scales[1]]))
    return found


@lru_cache(maxsize=64)
def _compiled(
    affine: _Affine,
    n_in: int,
    n_out: int,
    mechanisms: tuple[_Mechanism, ...],
    commands: bool,
) -> Any:
    samples = [each.equations.sample(each.along) for each in mechanisms]
    # What has a factorisation is a call, the rest is written out.
    is_written_out = all(sample.is_a('SXFunction') for sample in samples)
    kind: Any = ca.SX if is_written_out else ca.MX
    values = kind.sym('values', _ROWS * n_in)
    places = kind.sym('places', 2 * n_in)
    counts = [each.begins * each.equations.starts(each.along) for each in mechanisms]
    start = kind.sym('start', max(sum(counts), 1))
    taken = sum(map(len, affine.terms)) + len(affine.before) + len(affine.after)
    # One more, as an array of the function has an element.
    widths = [each.copies * each.width + each.scales_in + each.scales_out for each in mechanisms]
    numbers = kind.sym('numbers', taken + sum(widths) + 1)
    mapped = _linear(affine, values, numbers[:taken])
    said, following = [], []
    began = 0
    for each, sample, count in zip(mechanisms, samples, counts, strict=True):
        own = [
            numbers[taken + copy * each.width : taken + (copy + 1) * each.width]
            for copy in range(each.copies)
        ]
        taken += each.copies * each.width
        scales_in = ca.vertsplit(numbers[taken : taken + each.scales_in])
        taken += each.scales_in
        scales_out = ca.vertsplit(numbers[taken : taken + each.scales_out])
        taken += each.scales_out
        starts = [
            start[began + k * count // each.begins : began + (k + 1) * count // each.begins]
            for k in range(each.begins)
        ]
        began += count
        picks = list(each.inputs)
        rows = [
            _scaled(values[[row * n_in + place for place in picks]], scales_in, row)
            for row in range(_ROWS)
        ]
        # Of an equation, solution and position stay while nothing is known; of their derivative
        # nothing is then.
        kept = None if each.equations.keeps_starts else 2 * len(picks)
        if commands:
            at = [
                _scaled(places[[row * n_in + place for place in picks]], scales_in, 0)
                for row in range(2)
            ]
            found, doubt, after = _commanded(sample, rows, at, starts, own, kept)
        else:
            found, doubt, after = _instant(sample, rows, starts[0], own[0], kept)
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
    doubts = ca.vertcat(*said) if said else kind(0.0)
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


def _linear(affine: _Affine, values: Expression, numbers: Expression) -> list[Expression]:
    """Return the outputs of the affine map, as one call where there are calls."""
    if isinstance(values, ca.SX):
        return _affine(affine, values, numbers)
    inside = ca.SX.sym('values', values.numel()), ca.SX.sym('numbers', numbers.numel())
    function = ca.Function('affine', inside, [ca.densify(ca.vertcat(*_affine(affine, *inside)))])
    return list(ca.vertsplit(function(values, numbers)))


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
    sample: Any,
    rows: Sequence[Expression],
    start: Expression,
    numbers: Expression,
    kept: int | None,
) -> tuple[list[Expression], Expression, Expression]:
    """Return three rows, what is said, and where the next solution begins."""
    *found, known, inside, slow, weak, fine, nearing, following = sample(*rows, start, numbers)
    good = all_of((known, inside, fine))
    lost = ca.logic_and(good, ca.logic_or(slow, weak))
    said = _said(known, inside, good) + _either(lost, SINGULAR, 0.0)
    after = _after(kept, start, following, ca.logic_or(good, nearing), said)
    return [known_if(good, row) for row in found], said, after


def _commanded(
    sample: Any,
    rows: Sequence[Expression],
    at: Sequence[Expression],
    starts: Sequence[Expression],
    numbers: Sequence[Expression],
    kept: int | None,
) -> tuple[list[Expression], Expression, Expression]:
    """Return the same of a command, of which everything may be unknown."""
    position, velocity, effort = rows
    one, other = (
        sample(place, velocity, effort, start, own)
        for place, start, own in zip(
            at, (starts[0], starts[-1]), (numbers[0], numbers[-1]), strict=True
        )
    )
    places, speeds, _, known, inside, slow, _, fine, nearing, following = one
    _, _, forces, there, within, _, weak, usable, closing, onward = other
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
    # A measured position is where a velocity is mapped, but no solution to begin at: it may be
    # far from what is commanded next.
    start = starts[0]
    after = _after(kept, start, following, ca.logic_or(good, nearing), first)
    after = _either(is_placed, after, start)
    if len(starts) > 1:
        last = _after(kept, starts[1], onward, ca.logic_or(holds, closing), second)
        after = ca.vertcat(after, last)
    # Where one of two positions is outside, the other may still have to be looked at.
    is_doubtful = ca.logic_or(first == DOUBTFUL, second == DOUBTFUL)
    lost = ca.logic_or(all_of((good, slow, is_moving)), all_of((holds, weak, is_pushed)))
    decided = ca.fmax(first, second) + _either(lost, SINGULAR, 0.0)
    said = _either(is_doubtful, DOUBTFUL, decided)
    return found, said, after


def _after(
    kept: int | None,
    start: Expression,
    following: Expression,
    is_nearer: Expression,
    said: Expression,
) -> Expression:
    """
    Return where the next solution begins: anew after a position that was outside.

    :param kept: How much of a start stays where no solution follows; ``None``: all, always.
    """
    if not start.numel():
        return start
    if kept is None:
        return _either(is_nearer, following, start)
    stays = known_if(said != OUTSIDE, _either(is_nearer, following[:kept], start[:kept]))
    return ca.vertcat(stays, following[kept:])


def _either(condition: Expression, one: Expression, other: Expression) -> Expression:
    return ca.if_else(condition, one, other)


def _said(known: Expression, inside: Expression, good: Expression) -> Expression:
    doubt = _either(inside, DOUBTFUL, OUTSIDE)
    return _either(known, _either(good, 0.0, doubt), 0.0)
