# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The maps of a robot as they become C: their live numbers, their model, and their operations.

The writers and the fingerprint read it. The order of its numbers and the operations on them are
those of ``templates/source.c``: a change of one is a change of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
import math
from operator import or_
import re
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    FIELDS,
    INTERFACES,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions import (
    Binding,
    LinearTransmission,
    list_paths,
    ParameterPath,
    Tunable,
)
from transmission_bridge.transmissions.robot import (
    AffineMap,
    iterate_mechanisms,
    RobotFunction,
    RobotProgram,
    RobotTable,
    ROWS,
)
from transmission_bridge.types import Array


class NumberRule(NamedTuple):
    """
    How a number depends on live numbers, which have their full names.

    :param itself: The live number that it is, empty without one.
    :param factors: Live numbers that it is a product of, with exponent 1 or -1.
    """

    itself: str = ''
    factors: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class CompiledLiveNumbers:
    """
    The live numbers of a robot, and the numbers of its functions, which depend on them.

    Numbers and tables of both directions stand one after the other.

    :param values: All of them with the values of the description.
    :param places: Begin and end of the numbers of each direction.
    :param tables: Begin and end of the tables of the mechanisms of each direction. Both directions
        of a mechanism often have one table.
    :param rules: The rule of each number that depends on a live number, by index.
    :param tunables: The live numbers.
    :param fixed: Names of those that no transmission declares.
    :param reshaping: Live numbers with unknown bounds after a change, and the values of these
        bounds.
    """

    values: Array
    places: Mapping[Direction, slice]
    tables: Mapping[Direction, tuple[range, ...]]
    rules: Mapping[int, NumberRule]
    tunables: tuple[Tunable, ...]
    fixed: tuple[str, ...]
    reshaping: Mapping[int, Mapping[int, float]]

    @classmethod
    def collect(cls, robot: RobotTable) -> CompiledLiveNumbers:
        """Return the live numbers of a robot that C can change."""
        values: list[float] = []
        places: dict[Direction, slice] = {}
        rules: dict[int, NumberRule] = {}
        unknown: dict[str, dict[int, float]] = {}
        for direction in DIRECTIONS:
            begin, affine = len(values), robot.stack_fields(direction)
            rules |= {begin + k: rule for k, rule in _affine_rules(robot, direction, affine)}
            values += affine.numbers.tolist()
            for binding, part in iterate_mechanisms(robot.mechanisms(direction), direction):
                first = len(values)
                for index, path in part.live.items():
                    rules[first + index] = NumberRule(_name(robot, binding, path))
                    # In bare coordinates the bounds do not depend on reductions and offsets.
                    if index >= len(part.numbers) - part.solver.corrector.counts[-1]:
                        bounds = unknown.setdefault(rules[first + index].itself, {})
                        bounds |= {first + k: x for k, x in part.unknown_bounds.items()}
                values += part.numbers
            places[direction] = slice(begin, len(values))
        ranges = {b'': range(0)}
        tables: dict[Direction, tuple[range, ...]] = {}
        for direction in DIRECTIONS:
            kept = []
            for _, part in iterate_mechanisms(robot.mechanisms(direction), direction):
                # Without a warm start nothing is searched for.
                key = part.table.tobytes() if part.solver.n_start else b''
                if key not in ranges:
                    ranges[key] = range(len(values), len(values) + len(part.table))
                    values += part.table.tolist()
                kept.append(ranges[key])
            tables[direction] = tuple(kept)
        used = {x for rule in rules.values() for x in (rule.itself, *dict(rule.factors))}
        able = [parameter for parameter in robot.parameters.values() if parameter.is_of_map]
        live = tuple(tunable for tunable in able if tunable.name in used)
        fixed = tuple(tunable.name for tunable in able if tunable.name not in used)
        reshaping = {k: unknown[x.name] for k, x in enumerate(live) if x.name in unknown}
        return cls(np.array(values), places, tables, rules, live, fixed, reshaping)

    def evaluate_rules(self, values: Sequence[float]) -> Array:
        """
        Return the numbers of the functions for values of the live numbers.

        They are computed by the operations of the C code, in their order.
        """
        result = self.values.copy()
        now = dict(zip((tunable.name for tunable in self.tunables), values, strict=True))
        ratios = {x.name: now[x.name] / x.value for x in self.tunables if x.value}
        for index, rule in self.rules.items():
            if rule.itself:
                result[index] = now[rule.itself]
            for name, exponent in rule.factors:
                number, ratio = result[index], ratios[name]
                result[index] = number * ratio if exponent > 0 else number / ratio
        for which, bounds in self.reshaping.items():
            if values[which] != self.tunables[which].value:
                for index, value in bounds.items():
                    result[index] = value
        return result


def _affine_rules(
    robot: RobotTable, direction: Direction, affine: AffineMap
) -> Iterator[tuple[int, NumberRule]]:
    """Yield the rules of the coefficients and of the offsets, by index."""
    offsets = len(affine.parts[0]) + (affine.n_in if direction == ACTUATOR_TO_JOINT else 0)
    for binding in robot.bindings:
        if not isinstance(binding.transmission, LinearTransmission):
            continue
        inputs, outputs, selected = (index.tolist() for index in binding.member_indices(direction))
        for row, field in enumerate(FIELDS):
            factors = binding.transmission.list_factors(direction, INTERFACES[field])
            for k in selected:
                for index, number in affine.sums[row * affine.n_out // ROWS + outputs[k]]:
                    powers = factors[k][inputs.index(index - row * affine.n_in // ROWS)]
                    names = ((_name(robot, binding, path), power) for path, power in powers)
                    yield number, NumberRule('', tuple(name for name in names if name[0]))
        for k, path in list_paths(binding.transmission.joint_offset).items():
            yield offsets + binding.joints[k], NumberRule(_name(robot, binding, path))


def _name(robot: RobotTable, binding: Binding, path: ParameterPath) -> str:
    """Return the full name of a live number; an ambiguous one has none."""
    name = '.'.join((binding.spec.name, *path))
    return name if name in robot.parameters else ''


def can_number_reverse(robot: RobotTable, tunable: Tunable) -> bool:
    """Return whether a live number may change its sign; the range of a mechanism would reverse."""
    mechanisms = {mechanism.spec.name for mechanism in robot.mechanisms(ACTUATOR_TO_JOINT)}
    return not (tunable.nonzero and tunable.transmission in mechanisms)


#: Status bits beside those of mechanisms: a coupled transmission with known and unknown inputs; a
#: velocity or an effort of a mechanism at an unknown position.
PARTIAL, NO_POSITION = 16, 32


@dataclass(frozen=True)
class CompiledRobot:
    """
    The functions of a robot, and their numbers; immutable, except for caches.

    :param name: Its name in C.
    :param robot: The robot.
    :param live: Its live numbers.
    :param programs: The functions of each direction.
    """

    name: str
    robot: RobotTable
    live: CompiledLiveNumbers
    programs: dict[Direction, RobotProgram]

    @classmethod
    def build(cls, name: str, robot: RobotTable) -> CompiledRobot:
        """Compile the functions of a robot."""
        live, programs = CompiledLiveNumbers.collect(robot), {}
        for direction, letter in zip(DIRECTIONS, 'ja', strict=True):
            programs[direction] = RobotProgram.build(
                robot.stack_fields(direction),
                robot.mechanisms(direction),
                direction,
                commands=direction != ACTUATOR_TO_JOINT,
                # An offset that is zero now has to be a term of the function.
                live={index - live.places[direction].start for index in live.rules},
                name=f'{name}_{letter}',
                shares=True,
            )
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

    @cached_property
    def members(self) -> dict[Direction, list[tuple[list[int], list[int]]]]:
        """Indices of inputs and outputs of each transmission by direction, in their order."""
        return {
            direction: [
                (inputs.tolist(), outputs[mapped].tolist())
                for binding in self.robot.bindings
                for inputs, outputs, mapped in [binding.member_indices(direction)]
            ]
            for direction in DIRECTIONS
        }

    @cached_property
    def owners(self) -> dict[Direction, list[int]]:
        """Index of the transmission of each mechanism, by direction."""
        names = [binding.spec.name for binding in self.robot.bindings]
        return {
            direction: [names.index(each.spec.name) for each in program.bindings]
            for direction, program in self.programs.items()
        }


class CompiledStateModel:
    """
    The state of the C code: it computes what C does, with the functions of Python.

    ``values`` are of the live numbers. A change of one needs a new state: C also discards the last
    solutions. Each call of :meth:`map_rows` starts from the solutions of the last one, as in C.
    """

    def __init__(self, compiled: CompiledRobot, values: Sequence[float]) -> None:
        self._compiled, self._functions = compiled, dict[Direction, RobotFunction]()
        #: Whether an input belongs to a transmission, shape ``(n_in, transmissions)``.
        self._uses: dict[Direction, Array] = {}
        live, numbers = compiled.live, compiled.live.evaluate_rules(values)
        for direction, program in compiled.programs.items():
            own = tuple(numbers[live.places[direction]].tolist())
            tables = tuple(
                numbers[table.start : table.stop] if len(table) else np.zeros(len(given))
                for table, given in zip(live.tables[direction], program.tables, strict=True)
            )
            program = program._replace(numbers=own, tables=tables)
            self._functions[direction] = RobotFunction(program)
            members = compiled.members[direction]
            uses = np.zeros((program.near.numel_in(0) // ROWS, len(members)))
            for owner, (inputs, _) in enumerate(members):
                uses[inputs, owner] = 1.0
            self._uses[direction] = uses

    def map_rows(self, direction: Direction, rows: Array) -> tuple[Array, int]:
        """Return the mapped rows and the status; a fourth row has the measured positions."""
        function, uses = self._functions[direction], self._uses[direction]
        finite = np.where(np.isfinite(rows), rows, math.nan)
        given, measured = finite[:ROWS], finite[-1] if len(finite) > ROWS else finite[0]
        function.places[...] = np.where(np.isnan(given[0]), measured, given[0]), measured
        mapped = function.map_rows(given).copy()
        status = reduce(or_, map(int, function.status.tolist()), 0)
        unknown, lost = np.isnan(given) @ uses, np.isnan(function.places) @ uses
        for row, owner in np.argwhere((unknown > 0.0) & (unknown < uses.sum(axis=0))):
            mapped[row, self._compiled.members[direction][owner][1]] = math.nan
            status |= PARTIAL
        is_lost = (unknown[1:] == 0.0) & (lost > 0.0)
        if is_lost[:, self._compiled.owners[direction]].any():
            status |= NO_POSITION
        return mapped, status


class CompileCheckStep(NamedTuple):
    """
    A step of the test: a live number is set, or a sample is mapped in one direction.

    :param which: Index of the live number, -1 without one.
    :param direction: The direction.
    :param rows: The value of the live number, or the three input rows, and measured positions for
        actuators.
    :param mapped: The three output rows.
    :param status: The bits of all transmissions.
    """

    which: int
    direction: Direction
    rows: Array
    mapped: Array
    status: int


def iterate_check_steps(
    compiled: CompiledRobot, count: int, seed: int = 1
) -> Iterator[CompileCheckStep]:
    """
    Yield steps of a random walk through the ranges of the robot.

    Every tenth sample has unknown values, every twentieth is far away, and live numbers change in
    between. The test of the folder repeats the steps in their order and compares the results.

    :param count: Number of samples in each direction.
    """
    random, tunables = np.random.default_rng(seed), compiled.live.tunables
    values = [tunable.value for tunable in tunables]
    model = CompiledStateModel(compiled, values)
    centres, widths = np.zeros((2, len(compiled.robot.actuator_names)))
    widths += 1.0
    for binding in compiled.robot.bindings:
        domain = getattr(binding.transmission, 'domain', None)
        if domain is None:
            continue
        low, high = np.array(domain.lower), np.array(domain.upper)
        if domain.space == 'joint':
            # The range of the actuators, from a grid of joint positions.
            mapped = binding.map(JOINT_TO_ACTUATOR, 'position', domain.grid(9))
            low, high = np.nanmin(mapped, axis=0), np.nanmax(mapped, axis=0)
        actuators = list(binding.actuators)
        centres[actuators], widths[actuators] = (low + high) / 2, high - low
    widths[~np.isfinite(widths)] = 1.0
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
            model = CompiledStateModel(compiled, values)
            yield CompileCheckStep(which, ACTUATOR_TO_JOINT, np.array([value]), np.zeros(0), 0)
        angle = 0.05 * number * speed + phase
        position = centres + 0.5 * widths * np.sin(angle)
        velocity, effort = widths * np.cos(angle), random.normal(size=len(centres))
        rows = _disturb(np.stack([position, velocity, effort]), number, random)
        mapped, status = model.map_rows(ACTUATOR_TO_JOINT, rows)
        yield CompileCheckStep(-1, ACTUATOR_TO_JOINT, rows, mapped, status)
        joints = np.where(np.isfinite(mapped[0]), mapped[0], joints)
        command = joints + random.normal(scale=1e-3, size=len(joints))
        wanted = np.stack([command, *random.normal(size=(2, len(joints)))])
        wanted = np.vstack([_disturb(wanted, number + 3, random), joints])
        back, status = model.map_rows(JOINT_TO_ACTUATOR, wanted)
        yield CompileCheckStep(-1, JOINT_TO_ACTUATOR, wanted, back, status)


def _disturb(rows: Array, number: int, random: np.random.Generator) -> Array:
    """Return rows with unknown values or far values now and then."""
    result = rows.copy()
    if number % 10 == 7:
        result[random.uniform(size=rows.shape) < 0.3] = math.nan
    if number % 20 == 13:
        result[0] += 3.0
    return result


def count_operations(function: Any, counts: dict[int, int] | None = None) -> int:
    """
    Return how many numbers a call of a function computes at most.

    Of two branches the longer one counts; a term of a product of matrices counts as one operation.

    :param function: A function of CasADi.
    :param counts: Counts that are known, by hash: CasADi returns a new object for one function
        each time.
    """
    counts = {} if counts is None else counts
    count = counts.get(hash(function), 0)
    if count:
        return count
    if function.is_a('SXFunction'):
        count = int(function.n_instructions())
    elif not function.is_a('MXFunction'):
        branches = function.info()  # of a switch
        count = max(count_operations(x, counts) for x in (*branches['f'], branches['f_def']))
    else:
        for index in range(function.n_instructions()):
            kind = function.instruction_id(index)
            if kind in (ca.OP_INPUT, ca.OP_OUTPUT):
                continue
            node = function.instruction_MX(index)
            if kind == ca.OP_CALL:
                count += count_operations(node.which_function(), counts)
            else:
                # A product is the second factor times the third, added to the first one.
                count += int(node.nnz() * (node.dep(1).shape[1] if kind == ca.OP_MTIMES else 1))
    counts[hash(function)] = count
    return count
