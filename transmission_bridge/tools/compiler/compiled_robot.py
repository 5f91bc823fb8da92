# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps of a robot as they become C, and a model of the C code that computes its test data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
import math
from operator import or_
import re
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, DIRECTIONS
from transmission_bridge.tools.compiler.live_numbers import LiveNumbers
from transmission_bridge.transmissions.robot import Robot, RobotFunction, RobotProgram, ROWS
from transmission_bridge.types import Array

#: Status bits beside those of mechanisms: a coupled transmission with known and unknown inputs; a
#: velocity or an effort of a mechanism at an unknown position.
PARTIAL, NO_POSITION = 16, 32


@dataclass(frozen=True)
class CompiledRobot:
    """
    The functions of a robot, and their numbers.

    :param name: Its name in C.
    :param robot: The robot.
    :param live: Its live numbers.
    :param programs: The functions of each direction.
    """

    name: str
    robot: Robot
    live: LiveNumbers
    programs: dict[Direction, RobotProgram]

    @classmethod
    def build(cls, name: str, robot: Robot) -> CompiledRobot:
        """Compile the functions of a robot."""
        live, programs, begin = LiveNumbers.collect(robot), {}, 0
        for direction, letter in zip(DIRECTIONS, 'ja', strict=True):
            programs[direction] = RobotProgram.build(
                robot.stack_fields(direction),
                robot.mechanisms(direction),
                direction,
                commands=direction != ACTUATOR_TO_JOINT,
                # An offset that is zero now has to be a term of the function.
                live={rule - begin for rule in live.rules},
                name=f'{name}_{letter}',
                shares=True,
            )
            begin += live.counts[direction]
        return cls(name, robot, live, programs)

    @cached_property
    def functions(self) -> str:
        """The functions of CasADi in C."""
        options: dict[str, Any] = {'casadi_int': 'int', 'with_export': False, 'with_header': False}
        generator = ca.CodeGenerator(f'{self.name}_map.c', options)
        for program in self.programs.values():
            generator.add(program.near)
            generator.add(program.full)
        # The zeros of CasADi are as long as the longest input, a table. They are read for null
        # pointers only, which are empty inputs and tables without a search.
        longest = 1
        for direction, program in self.programs.items():
            kept = self.live.tables[direction]
            for table, numbers in zip(program.tables, kept, strict=True):
                longest = max(longest, 0 if len(numbers) else len(table))
        return re.sub(r'(casadi_zeros)\[\d+\]', rf'\1[{longest}]', generator.dump())

    def members(self, direction: Direction) -> list[tuple[list[int], list[int]]]:
        """Return the indices of inputs and outputs of each transmission, in their order."""
        indices = (binding.member_indices(direction) for binding in self.robot.bindings)
        return [(inputs.tolist(), outputs[own].tolist()) for inputs, outputs, own in indices]

    def owners(self, direction: Direction) -> tuple[int, ...]:
        """Return the index of the transmission of each mechanism."""
        names = [binding.spec.name for binding in self.robot.bindings]
        return tuple(names.index(each.spec.name) for each in self.programs[direction].bindings)


class StateModel:
    """
    The state of the C code: it computes what C does, with the functions of Python.

    ``values`` are of the live numbers. A change of one needs a new state: C also discards the last
    solutions.
    """

    def __init__(self, compiled: CompiledRobot, values: Sequence[float]) -> None:
        self._compiled, self._functions = compiled, dict[Direction, RobotFunction]()
        live, begin = compiled.live, 0
        numbers = live.evaluate_rules(values)
        for direction, program in compiled.programs.items():
            end = begin + live.counts[direction]
            tables = tuple(
                numbers[table.start : table.stop] if len(table) else np.zeros(len(given))
                for table, given in zip(live.tables[direction], program.tables, strict=True)
            )
            self._functions[direction] = RobotFunction(
                program._replace(numbers=tuple(numbers[begin:end].tolist()), tables=tables)
            )
            begin = end

    def map_rows(self, direction: Direction, rows: Array) -> tuple[Array, int]:
        """Return the mapped rows and the status; a fourth row has the measured positions."""
        function = self._functions[direction]
        known = np.where(np.isfinite(rows), rows, math.nan)
        given, measured = known[:ROWS], known[-1] if len(known) > ROWS else known[0]
        function.places[...] = np.where(np.isnan(given[0]), measured, given[0]), measured
        mapped = function.map_rows(given).copy()
        status = reduce(or_, map(int, function.status.tolist()), 0)
        owners = self._compiled.owners(direction)
        for owner, (inputs, outputs) in enumerate(self._compiled.members(direction)):
            known_of = np.isfinite(given[:, inputs])
            for row in np.flatnonzero(known_of.any(axis=1) & ~known_of.all(axis=1)):
                mapped[row, outputs] = math.nan
                status |= PARTIAL
            is_lost = np.isnan(function.places[:, inputs]).any(axis=1)
            if owner in owners and (known_of[1:].all(axis=1) & is_lost).any():
                status |= NO_POSITION
        return mapped, status


class PartStep(NamedTuple):
    """
    A step of the test: a live number is set, or a sample is mapped in one direction.

    :param which: Index of the live number, -1 without one.
    :param value: Its value.
    :param direction: The direction.
    :param rows: The three input rows, and measured positions for actuators.
    :param mapped: The three output rows.
    :param status: The bits of all transmissions.
    """

    which: int
    value: float
    direction: Direction
    rows: Array
    mapped: Array
    status: int


def iterate_steps(compiled: CompiledRobot, count: int, seed: int = 1) -> Iterator[PartStep]:
    """
    Yield steps of a random walk through the ranges of the robot.

    Every tenth sample has unknown values, every twentieth is far away, and live numbers change in
    between.
    """
    random, tunables = np.random.default_rng(seed), compiled.live.tunables
    values = [tunable.value for tunable in tunables]
    model = StateModel(compiled, values)
    centres, widths = _find_ranges(compiled)
    phase = random.uniform(0.0, 2.0 * math.pi, len(centres))
    speed = random.uniform(0.5, 1.5, len(centres))
    joints = np.full(len(compiled.robot.joint_names), math.nan)
    for number in range(count):
        if tunables and number % 50 == 25:
            which = int(random.integers(len(tunables)))
            value = tunables[which].value * (1.0 + random.uniform(-0.02, 0.02))
            if number % 100 == 75:
                value = tunables[which].value
            values[which] = value
            model = StateModel(compiled, values)
            yield PartStep(which, value, ACTUATOR_TO_JOINT, *(np.zeros(0),) * 2, 0)
        angle = 0.05 * number * speed + phase
        position = centres + 0.5 * widths * np.sin(angle)
        velocity, effort = widths * np.cos(angle), random.normal(size=len(centres))
        rows = _disturb(np.stack([position, velocity, effort]), number, random)
        mapped, status = model.map_rows(ACTUATOR_TO_JOINT, rows)
        yield PartStep(-1, 0.0, ACTUATOR_TO_JOINT, rows, mapped, status)
        joints = np.where(np.isfinite(mapped[0]), mapped[0], joints)
        command = joints + random.normal(scale=1e-3, size=len(joints))
        wanted = np.stack([command, *random.normal(size=(2, len(joints)))])
        wanted = np.vstack([_disturb(wanted, number + 3, random), joints])
        back, status = model.map_rows(DIRECTIONS[1], wanted)
        yield PartStep(-1, 0.0, DIRECTIONS[1], wanted, back, status)


def _disturb(rows: Array, number: int, random: np.random.Generator) -> Array:
    """Return rows with unknown values or far values now and then."""
    result = rows.copy()
    if number % 10 == 7:
        result[random.uniform(size=rows.shape) < 0.3] = math.nan
    if number % 20 == 13:
        result[0] += 3.0
    return result


def _find_ranges(compiled: CompiledRobot) -> tuple[Array, Array]:
    """Return the middle and the width of the ranges of the actuators."""
    count = len(compiled.robot.actuator_names)
    centres, widths = np.zeros(count), np.ones(count)
    for binding in compiled.robot.bindings:
        domain = getattr(binding.transmission, 'domain', None)
        if domain is None:
            continue
        low, high = np.array(domain.lower), np.array(domain.upper)
        if domain.space == 'joint':
            # The range of the actuators, from a grid of joint positions.
            mapped = binding.map(DIRECTIONS[1], 'position', domain.grid(9))
            low, high = np.nanmin(mapped, axis=0), np.nanmax(mapped, axis=0)
        places = list(binding.actuators)
        centres[places], widths[places] = (low + high) / 2, high - low
    return centres, np.where(np.isfinite(widths), widths, 1.0)
