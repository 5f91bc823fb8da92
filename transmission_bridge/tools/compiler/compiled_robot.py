# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The maps of a robot as they become C, and a model of the C code that computes its test data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.tools.compiler.live_numbers import LiveNumbers, stack_fields
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
)
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.robot_function import RobotFunction
from transmission_bridge.transmissions.robot_program import iterate_parts, RobotProgram
from transmission_bridge.types import Array

#: Status bits beside those of mechanisms: a coupled transmission with known and unknown inputs; a
#: velocity or an effort of a mechanism at an unknown position.
PARTIAL, NO_POSITION = 16, 32


class Members(NamedTuple):
    """Indices of the inputs and outputs of a transmission in one direction."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


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
    def build(cls, name: str, robot: Robot, live: LiveNumbers) -> CompiledRobot:
        """Compile the functions of a robot."""
        programs, begin = {}, 0
        for direction, letter in zip(DIRECTIONS, 'ja', strict=True):
            affine = stack_fields(robot, direction)
            n_terms = len(affine.all_numbers) - affine.n_in - affine.n_out
            # An offset that is zero now has to be a term of the function.
            is_biased = [
                live.numbers.values[begin + place] != 0.0 or begin + place in live.rules
                for place in range(n_terms, len(affine.all_numbers))
            ]
            programs[direction] = RobotProgram.build(
                affine,
                robot.mechanisms(direction),
                direction,
                commands=direction != ACTUATOR_TO_JOINT,
                biases=(tuple(is_biased[: affine.n_in]), tuple(is_biased[affine.n_in :])),
                name=f'{name}_{letter}',
            )
            begin += live.numbers.counts[direction]
        return cls(name, robot, live, programs)

    def members(self, direction: Direction) -> tuple[Members, ...]:
        """Return the members of each transmission, in the order of the robot."""
        found = []
        for binding in self.robot.bindings:
            inputs, outputs, selected = binding.member_indices(direction)
            found.append(Members(tuple(inputs.tolist()), tuple(outputs[selected].tolist())))
        return tuple(found)

    def owners(self, direction: Direction) -> tuple[int, ...]:
        """Return the index of the transmission of each mechanism."""
        names = [each.spec.name for each in self.robot.bindings]
        parts = iterate_parts(self.robot.mechanisms(direction), direction)
        return tuple(names.index(binding.spec.name) for binding, _ in parts)


class StateModel:
    """The state of the C code: it computes what C does, with the functions of Python."""

    def __init__(self, compiled: CompiledRobot) -> None:
        self._compiled = compiled
        self._values = [each.value for each in compiled.live.tunables]
        self._load()

    def _load(self) -> None:
        live, begin = self._compiled.live, 0
        numbers = live.evaluate_rules(self._values)
        self._functions = {}
        for direction, program in self._compiled.programs.items():
            end = begin + live.numbers.counts[direction]
            tables = tuple(
                numbers[table.start : table.stop] if len(table) else np.zeros(len(given))
                for table, given in zip(
                    live.numbers.tables[direction], program.tables, strict=True
                )
            )
            self._functions[direction] = RobotFunction(
                program._replace(numbers=tuple(numbers[begin:end].tolist()), tables=tables)
            )
            begin = end

    def set_number(self, which: int, value: float) -> None:
        """Change a live number; the next samples start without the last solutions."""
        self._values[which] = value
        self._load()

    def map_rows(
        self, direction: Direction, rows: Array, measured: Array | None = None
    ) -> tuple[Array, tuple[int, ...]]:
        """Return the mapped rows, and the status of each transmission."""
        function = self._functions[direction]
        given = np.where(np.isfinite(rows), rows, math.nan)
        if measured is not None:
            known = np.where(np.isfinite(measured), measured, math.nan)
            function.places[0] = np.where(np.isnan(given[0]), known, given[0])
            function.places[1] = known
        function(given)
        mapped = function.mapped.copy()
        status = [0] * len(self._compiled.robot.bindings)
        owners = self._compiled.owners(direction)
        for owner, bits in zip(owners, function.status.tolist(), strict=True):
            status[owner] |= int(bits)
        places = np.broadcast_to(given[0], (2, given.shape[1]))
        if measured is not None:
            places = function.places
        for owner, (inputs, outputs) in enumerate(self._compiled.members(direction)):
            known_of = np.isfinite(given[:, inputs])
            for row in np.flatnonzero(known_of.any(axis=1) & ~known_of.all(axis=1)):
                mapped[row, outputs] = math.nan
                status[owner] |= PARTIAL
            is_lost = np.isnan(places[:, inputs]).any(axis=1)
            if owner in owners and (known_of[1:].all(axis=1) & is_lost).any():
                status[owner] |= NO_POSITION
        return mapped, tuple(status)


class Step(NamedTuple):
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


def iterate_steps(compiled: CompiledRobot, count: int, seed: int = 1) -> Iterator[Step]:
    """
    Yield steps of a random walk through the ranges of the robot.

    Every tenth sample has unknown values, every twentieth is far away, and live numbers change in
    between.
    """
    random, model = np.random.default_rng(seed), StateModel(compiled)
    centres, widths = _find_ranges(compiled)
    phase = random.uniform(0.0, 2.0 * math.pi, len(centres))
    speed = random.uniform(0.5, 1.5, len(centres))
    robot, tunables = compiled.robot, compiled.live.tunables
    joints = np.full(len(robot.joint_names), math.nan)
    for number in range(count):
        if tunables and number % 50 == 25:
            which = int(random.integers(len(tunables)))
            value = tunables[which].value * (1.0 + random.uniform(-0.02, 0.02))
            if number % 100 == 75:
                value = tunables[which].value
            model.set_number(which, value)
            yield Step(which, value, ACTUATOR_TO_JOINT, *(np.zeros(0),) * 2, 0)
        angle = 0.05 * number * speed + phase
        position = centres + 0.5 * widths * np.sin(angle)
        velocity, effort = widths * np.cos(angle), random.normal(size=len(centres))
        rows = _disturb(np.stack([position, velocity, effort]), number, random)
        mapped, status = model.map_rows(ACTUATOR_TO_JOINT, rows)
        yield Step(-1, 0.0, ACTUATOR_TO_JOINT, rows, mapped, _join_bits(status))
        joints = np.where(np.isfinite(mapped[0]), mapped[0], joints)
        command = joints + random.normal(scale=1e-3, size=len(joints))
        wanted = np.stack([command, *random.normal(size=(2, len(joints)))])
        wanted = _disturb(wanted, number + 3, random)
        back, status = model.map_rows(DIRECTIONS[1], wanted, joints)
        yield Step(-1, 0.0, DIRECTIONS[1], np.vstack([wanted, joints]), back, _join_bits(status))


def _join_bits(status: tuple[int, ...]) -> int:
    joined = 0
    for bits in status:
        joined |= bits
    return joined


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
