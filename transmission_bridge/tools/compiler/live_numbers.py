# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How the numbers of a robot's compiled functions depend on its live numbers.

Each number of a function is constant, or a live number, or a product of a constant with live
numbers and their reciprocals, as the transmissions declare. A live number that is not declared is
not live in C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    FIELDS,
    INTERFACES,
)
from transmission_bridge.transmissions import (
    Binding,
    LinearTransmission,
    list_paths,
    ParameterPath,
    Tunable,
)
from transmission_bridge.transmissions.robot import AffineMap, iterate_parts, Robot, ROWS
from transmission_bridge.types import Array


class LiveRule(NamedTuple):
    """
    How a number depends on live numbers, which have their full names.

    :param itself: The live number that it is, empty without one.
    :param factors: Live numbers that it is a product of, with exponent 1 or -1.
    """

    itself: str = ''
    factors: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class LiveNumbers:
    """
    The live numbers of a robot, and the numbers of its functions, which depend on them.

    Numbers and tables of both directions stand one after the other.

    :param values: All of them with the values of the description.
    :param counts: How many numbers each direction has.
    :param tables: Begin and end of the tables of the mechanisms of each direction. Both directions
        of a mechanism often have one table.
    :param rules: The rule of each number that depends on a live number, by index.
    :param tunables: The live numbers.
    :param fixed: Names of those that no transmission declares.
    :param reshaping: Live numbers with unknown bounds after a change, and the values of these
        bounds.
    """

    values: Array
    counts: Mapping[Direction, int]
    tables: Mapping[Direction, tuple[range, ...]]
    rules: Mapping[int, LiveRule]
    tunables: tuple[Tunable, ...]
    fixed: tuple[str, ...]
    reshaping: Mapping[int, Mapping[int, float]]

    @classmethod
    def collect(cls, robot: Robot) -> LiveNumbers:
        """Return the live numbers of a robot that C can change."""
        values: list[float] = []
        counts: dict[Direction, int] = {}
        rules: dict[int, LiveRule] = {}
        unknown: dict[str, dict[int, float]] = {}
        for direction in DIRECTIONS:
            begin, affine = len(values), robot.stack_fields(direction)
            rules |= {begin + k: rule for k, rule in _affine_rules(robot, direction, affine)}
            values += affine.numbers.tolist()
            for binding, part in iterate_parts(robot.mechanisms(direction), direction):
                first = len(values)
                for place, path in part.live.items():
                    rules[first + place] = LiveRule(_name(robot, binding, path))
                    # In bare coordinates the bounds do not depend on reductions and offsets.
                    if place >= len(part.numbers) - part.solver.corrector.counts[-1]:
                        bounds = unknown.setdefault(rules[first + place].itself, {})
                        bounds |= {first + k: x for k, x in part.unknown_bounds.items()}
                values += part.numbers
            counts[direction] = len(values) - begin
        known = {b'': range(0)}
        tables: dict[Direction, tuple[range, ...]] = {}
        for direction in DIRECTIONS:
            found = []
            for _, part in iterate_parts(robot.mechanisms(direction), direction):
                # Without a warm start nothing is searched for.
                key = part.table.tobytes() if part.solver.n_start else b''
                if key not in known:
                    known[key] = range(len(values), len(values) + len(part.table))
                    values += part.table.tolist()
                found.append(known[key])
            tables[direction] = tuple(found)
        used = {x for rule in rules.values() for x in (rule.itself, *dict(rule.factors))}
        able = [parameter for parameter in robot.parameters.values() if parameter.is_of_map]
        live = tuple(each for each in able if each.name in used)
        fixed = tuple(each.name for each in able if each.name not in used)
        found_bounds = enumerate(unknown.get(each.name) for each in live)
        reshaping = {k: each for k, each in found_bounds if each}
        return cls(np.array(values), counts, tables, rules, live, fixed, reshaping)

    def evaluate_rules(self, values: Sequence[float]) -> Array:
        """
        Return the numbers of the functions for values of the live numbers.

        The operations are those of the C code, in their order.
        """
        result = self.values.copy()
        now = {each.name: value for each, value in zip(self.tunables, values, strict=True)}
        ratios = {each.name: now[each.name] / each.value for each in self.tunables if each.value}
        for place, rule in self.rules.items():
            if rule.itself:
                result[place] = now[rule.itself]
            for name, exponent in rule.factors:
                number, ratio = result[place], ratios[name]
                result[place] = number * ratio if exponent > 0 else number / ratio
        for which, bounds in self.reshaping.items():
            if values[which] != self.tunables[which].value:
                for place, value in bounds.items():
                    result[place] = value
        return result


def _affine_rules(
    robot: Robot, direction: Direction, affine: AffineMap
) -> Iterator[tuple[int, LiveRule]]:
    """Yield the rules of the coefficients and of the offsets, by index."""
    offsets = len(affine.parts[0]) + (affine.n_in if direction == ACTUATOR_TO_JOINT else 0)
    for binding in robot.bindings:
        if not isinstance(binding.transmission, LinearTransmission):
            continue
        inputs, outputs, selected = (index.tolist() for index in binding.member_indices(direction))
        for row, field in enumerate(FIELDS):
            factors = binding.transmission.list_factors(direction, INTERFACES[field])
            for k in selected:
                for place, number in affine.sums[row * affine.n_out // ROWS + outputs[k]]:
                    found = factors[k][inputs.index(place - row * affine.n_in // ROWS)]
                    names = ((_name(robot, binding, path), e) for path, e in found)
                    yield number, LiveRule('', tuple(name for name in names if name[0]))
        for k, path in list_paths(binding.transmission.joint_offset).items():
            yield offsets + binding.joints[k], LiveRule(_name(robot, binding, path))


def _name(robot: Robot, binding: Binding, path: ParameterPath) -> str:
    """Return the full name of a live number; an ambiguous one has none."""
    name = '.'.join((binding.spec.name, *path))
    return name if name in robot.parameters else ''


def is_reversible(robot: Robot, tunable: Tunable) -> bool:
    """Return whether a live number may change its sign; the range of a mechanism would reverse."""
    mechanisms = {mechanism.spec.name for mechanism in robot.mechanisms(ACTUATOR_TO_JOINT)}
    return not (tunable.nonzero and tunable.transmission in mechanisms)
