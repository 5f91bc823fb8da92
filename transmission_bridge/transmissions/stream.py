# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and effort of a robot, one instant after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from transmission_bridge.errors import ShapeError
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.interfaces import Direction, FIELDS
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.transmissions.units import row_of
from transmission_bridge.types import Array, Index

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot_function import Piece, RobotFunction

__all__ = ['DOUBTFUL', 'OUTSIDE', 'SINGULAR', 'FiniteCheck', 'Step', 'Stream']


#: What a robot's function says of a mechanism: somebody has to look closely; or the sum of that it
#: is known to be outside, and that what needs a vanished lever is lost.
DOUBTFUL, OUTSIDE, SINGULAR = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Step:
    """
    Where the values of one transmission come from and where they go.

    :param name: Name of the transmission.
    :param inputs: Places of its inputs in the robot's array.
    :param outputs: Places in the robot's array of the outputs that the robot takes.
    :param selected: Which of the transmission's outputs these are.
    :param results: Places of all of its outputs, taken or not.
    :param scale_in: From the numbers of drivers to those of the transmission, where its inputs are
        actuators with units: rows position, velocity, effort, shape ``(3, n_inputs)``.
    :param scale_out: The same where its outputs are, shape ``(3, n_results)``.
    """

    name: str
    transmission: Transmission
    inputs: Index
    outputs: Index
    selected: Index
    results: Index
    scale_in: Array | None = None
    scale_out: Array | None = None

    def inputs_of(self, values: Array, row: int) -> Array:
        """Return its inputs among the robot's, in SI; ``row`` as of the scales."""
        own = values[..., self.inputs]
        return own if self.scale_in is None else own * self.scale_in[row]

    def rows_of(self, rows: Array) -> Array:
        """Return its inputs of rows position, velocity and effort, in SI."""
        own: Array = rows[:, self.inputs]
        return own if self.scale_in is None else own * self.scale_in

    def guess_of(self, guess: Array | None) -> Array | None:
        """Return positions near its outputs, in SI."""
        if guess is None or self.scale_out is None:
            return guess
        scaled: Array = guess * self.scale_out[0]
        return scaled

    @property
    def is_equation(self) -> bool:
        """Whether it is mapped by nothing but its equations, one sample at a time."""
        return bool(getattr(self.transmission, 'can_be_compiled', False))

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
        row = row_of(interface)

        def map_values(part: MapReport) -> tuple[Array, ...]:
            return (
                self.transmission.map(
                    direction,
                    interface,
                    self.inputs_of(values, row),
                    at=None if at is None else self.inputs_of(at, 0),
                    rate=None if rate is None else self.inputs_of(rate, 1),
                    guess=self.guess_of(guess),
                    report=part,
                ),
            )

        found = self.guarded(map_values, values.shape[:-1], 1, report)[0]
        return found if self.scale_out is None else found / self.scale_out[row]

    def call_state(
        self, direction: Direction, rows: Array, guess: Array, report: MapReport
    ) -> Array:
        """
        Map position, velocity and effort of one instant.

        :param rows: The robot's inputs, shape ``(3, n_in)``.
        :param guess: Where a solution is sought, shape ``(n_results,)``.
        :returns: All outputs of the transmission, shape ``(3, n_results)``; NaN if it raises.
        """
        arrays, near = self.rows_of(rows), self.guess_of(guess)

        def map_rows(part: MapReport) -> tuple[Array, ...]:
            return self.transmission.map_state(direction, *arrays, guess=near, report=part)

        return self.in_units(self.guarded(map_rows, (), len(rows), report))

    def in_units(self, rows: Sequence[Array]) -> Array:
        """Return rows of its outputs in the numbers of drivers."""
        found = np.array(rows)
        return found if self.scale_out is None else found / self.scale_out

    def guarded(
        self,
        function: Callable[[MapReport], tuple[Array, ...]],
        shape: tuple[int, ...],
        count: int,
        report: MapReport | None,
    ) -> tuple[Array, ...]:
        """Return checked results; a plugin's bug costs its own joints only."""
        part = (report or MapReport()).of(self.name)
        try:
            results = tuple(
                as_values('result', result, len(self.results)) for result in function(part)
            )
            for result in results:
                if result.shape[:-1] != shape:
                    raise ShapeError('result', expected=str(shape), found=result.shape)
            if len(results) != count:
                raise ShapeError('result', expected=f'{count} arrays', found=(len(results),))
        except (Exception, SystemExit):  # whatever a third party raises
            part.add_exception()
            unknown = np.full((*shape, len(self.results)), np.nan)
            return (unknown,) * count
        return results


class Stream:
    """
    The three interfaces of a JointState, for a stream.

    The affine part of the robot is one map of all three. Where there are equations, it is compiled
    together with them into one function; what that leaves open, and what other transmissions
    there are, is called afterwards. Solutions begin at the last one.

    Not to be shared between threads.

    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param maps: Of position, velocity and effort what is linear, and what has to be called.
    """

    def __init__(
        self, direction: Direction, maps: Sequence[tuple[AffineMap, Sequence[Step]]]
    ) -> None:
        self._direction: Direction = direction
        self._affine = AffineMap.stacked([affine for affine, _ in maps])
        self._run = self._affine.workspace().run
        self._mapped: Array = np.empty((len(FIELDS), maps[0][0].n_out))
        self._check = FiniteCheck(self._mapped.size)
        # A transmission that lacks an interface is called for the others.
        called: dict[str, tuple[Step, dict[int, str]]] = {}
        for row, (interface, (_, steps)) in enumerate(zip(FIELDS, maps, strict=True)):
            for step in steps:
                called.setdefault(step.name, (step, {}))[1][row] = interface
        self._compiled = [
            step
            for step, interfaces in called.values()
            if step.is_equation and len(interfaces) == len(FIELDS)
        ]
        self._called = [
            _Called(step, direction, interfaces)
            for step, interfaces in called.values()
            if step not in self._compiled
        ]
        self._functions: dict[bool, RobotFunction] = {}
        if self._compiled:
            self._function(False)
        self._last = self._mapped

    def _function(self, commands: bool) -> RobotFunction:
        if commands not in self._functions:
            from transmission_bridge.transmissions.robot_function import RobotFunction

            self._functions[commands] = RobotFunction(
                self._affine, self._compiled, self._direction, commands
            )
        return self._functions[commands]

    def forget(self) -> None:
        """Forget the last solutions: those of other numbers may lead astray."""
        for function in self._functions.values():
            function.forget()
        for called in self._called:
            called.forget()

    def map_state(self, values: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that belong together: Jacobians are those of row 0.

        A transmission that has to find its position finds it once.

        :param values: Shape ``(3, n_in)``, C-contiguous.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(3, n_out)``; **overwritten by the next call**.
        """
        if not self._compiled:
            mapped = self._of_linear(values)
        else:
            function = self._functions[False]
            mapped = function.mapped
            if function(values):
                self._look_closely(function, values, None, report)
        for called in self._called:
            called.map_instant(values, mapped, report)
        self._last = mapped
        return mapped

    def map_command(self, values: Array, measured: Array, report: MapReport) -> Array:
        """
        Map rows position, velocity, effort that are commanded, NaN where they are not.

        Velocity is mapped where the commanded position is, else the measured one; effort at the
        measured position.

        :param measured: Positions, shape ``(n_in,)``, NaN where unknown.
        """
        if not (self._compiled or self._called):
            self._last = self._of_linear(values)
            return self._last
        at = np.where(np.isnan(values[0]), measured, values[0])
        places = (at, at, measured)
        if not self._compiled:
            mapped = self._of_linear(values)
        else:
            function = self._function(True)
            mapped = function.mapped
            function.places[0] = at
            function.places[1] = measured
            if function(values):
                self._look_closely(function, values, places, report)
        for called in self._called:
            called.map_command(values, places, mapped, report)
        self._last = mapped
        return mapped

    def _of_linear(self, values: Array) -> Array:
        self._run(values.reshape(-1), self._mapped.reshape(-1))
        return self._mapped

    def _look_closely(
        self,
        function: RobotFunction,
        values: Array,
        places: Sequence[Array] | None,
        report: MapReport,
    ) -> None:
        """
        Map by arrays what the function leaves open; count what it knows to be outside.

        :param places: Positions that each row is mapped at; ``None``: those of the first row.
        """
        for piece, said in zip(function.pieces, function.said.tolist(), strict=True):
            step = piece.step
            if said != DOUBTFUL:
                for reason, sign in (('domain', OUTSIDE), ('singular', SINGULAR)):
                    if int(said) & sign:
                        report.of(step.name).count(reason)
                continue
            start = function.start(piece)
            if piece.part is not None:
                self._follow_closely(piece, start, function.mapped, values, places, report)
                continue
            n = len(step.results)
            guess = start[:n].copy() if start.size else np.full(n, math.nan)
            if step.scale_out is not None:  # the function's own numbers are SI
                guess /= step.scale_out[0]
            if places is None:
                rows = step.call_state(self._direction, values, guess, report)
            else:
                rows = _rows(step, self._direction, FIELDS, values, places, guess, report)
            function.mapped[:, step.outputs] = rows[:, step.selected]
            # Where no position is asked for, none is found.
            if start.size and np.isfinite(values[0, step.inputs]).all():
                start[:] = 0.0  # and nothing is known of where the solution leads
                found = step.guess_of(rows[0])
                start[: 2 * n] = np.concatenate([found, step.inputs_of(values[0], 0)])

    def _follow_closely(
        self,
        piece: Piece,
        start: Array,
        mapped: Array,
        values: Array,
        places: Sequence[Array] | None,
        report: MapReport,
    ) -> None:
        """Map a part of a linkage from its last solution, and keep the new one."""
        step, part = piece.step, piece.part
        assert part is not None
        inputs = list(part.inputs)
        given = step.rows_of(values)[:, inputs]
        rows = np.full((len(FIELDS), len(step.results)), math.nan)

        def map_rows(own: MapReport) -> tuple[Array, ...]:
            if places is None:
                found = part.stream.map_state(given, start, own)
            else:
                at = [step.inputs_of(place, 0)[inputs] for place in places]
                found = part.stream.map_command(given, at, start, own)
            rows[:, part.outputs] = found
            return tuple(rows)

        found = step.in_units(step.guarded(map_rows, (), len(FIELDS), report))
        taken = np.isin(step.selected, part.outputs)
        mapped[:, step.outputs[taken]] = found[:, step.selected[taken]]

    @property
    def all_finite(self) -> bool:
        """Whether every number of the last result is known."""
        return self._check(self._last.reshape(-1))


class _Called:
    """A transmission that is called for every message."""

    def __init__(self, step: Step, direction: Direction, interfaces: dict[int, str]) -> None:
        self._step = step
        self._direction: Direction = direction
        self._interfaces = [interfaces.get(row) for row in range(len(FIELDS))]
        self._is_whole = len(interfaces) == len(FIELDS)
        self.forget()

    def forget(self) -> None:
        """Forget the last solution."""
        self._start: Array = np.full(len(self._step.results), math.nan)

    def map_instant(self, values: Array, mapped: Array, report: MapReport) -> None:
        """Overwrite its rows of position, velocity and effort that belong together."""
        step = self._step
        if not self._is_whole:
            self.map_command(values, (values[0],) * len(values), mapped, report)
            return
        if np.isnan(values[0, step.inputs]).all():
            # Nothing follows from nothing, which need not be asked.
            mapped[:, step.outputs] = math.nan
            return
        rows = step.call_state(self._direction, values, self._start, report)
        mapped[:, step.outputs] = rows[:, step.selected]
        self._keep(values, rows)

    def map_command(
        self, values: Array, places: Sequence[Array], mapped: Array, report: MapReport
    ) -> None:
        """Overwrite the rows that are mapped of position, velocity and effort."""
        step = self._step
        rows = _rows(step, self._direction, self._interfaces, values, places, self._start, report)
        for row, interface in enumerate(self._interfaces):
            if interface is not None:
                mapped[row, step.outputs] = rows[row, step.selected]
        self._keep(values, rows)

    def _keep(self, values: Array, rows: Array) -> None:
        """Keep a solution; where none was found though it was asked for, begin anew."""
        if np.isfinite(rows[0]).all():
            self._start = rows[0]
        elif np.isfinite(values[0, self._step.inputs]).all():
            self.forget()


def _rows(
    step: Step,
    direction: Direction,
    interfaces: Sequence[str | None],
    values: Array,
    places: Sequence[Array],
    guess: Array,
    report: MapReport,
) -> Array:
    """Map each interface that there is by itself."""
    rows = np.full((len(values), len(step.results)), math.nan)
    for row, interface in enumerate(interfaces):
        if interface is not None and not np.isnan(values[row, step.inputs]).all():
            rows[row] = step.call(
                interface, direction, values[row], places[row], None, guess, report
            )
    return rows


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
