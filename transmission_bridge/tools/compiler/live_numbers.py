# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
How the numbers of a robot's compiled functions depend on its live numbers.

Each number of a function is constant, or equal to a live number, or a product of a constant with
live numbers and their reciprocals plus at most one offset. The rule of each number is found by
changing one live number after the other. A live number with another effect is not live in C, nor
is one that Python rejects inside of its declared range, because of other numbers: C knows ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.errors import ParameterError
from transmission_bridge.transmissions.affine_map import AffineMap
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    FIELDS,
)
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.robot_program import iterate_parts
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.transmissions.tuning import RATIOS
from transmission_bridge.types import Array, Mask

#: Change of a live number that shows its effect, as a share of it.
_CHANGE = 2.0**-8

#: Random values of each live number that Python has to accept.
_DRAWS = 24

#: Largest relative errors of a rule, for numbers that are used directly and for bounds.
_EXACT, _CLOSE = 1e-12, 1e-6


class Rule(NamedTuple):
    """
    The rule of a number: ``(base - offset) * (value / base value) ** exponent ... + offset``.

    Indices are those of live numbers. A number without factors that has an offset with base zero
    is the live number itself.

    :param factors: Index and exponent, 1 or -1, of each live number of the product.
    :param offset: Index of the added live number, -1 without one.
    """

    factors: tuple[tuple[int, int], ...]
    offset: int


@dataclass(frozen=True)
class FunctionNumbers:
    """
    The numbers and tables of both directions one after the other.

    :param values: All of them.
    :param counts: How many numbers each direction has.
    :param tables: Begin and end of the tables of the mechanisms of each direction. Both directions
        of a mechanism often have one table.
    :param bounds: Which of them are bounds and typical sizes, which tests of each sample replace.
    :param unknown_bounds: Values of bounds that do not hold for other dimensions, by transmission.
    """

    values: Array
    counts: Mapping[Direction, int]
    tables: Mapping[Direction, tuple[range, ...]]
    bounds: Mask
    unknown_bounds: Mapping[str, Mapping[int, float]]

    @classmethod
    def collect(cls, robot: Robot) -> FunctionNumbers:
        """Return the numbers of a robot."""
        values: list[float] = []
        bounds: list[bool] = []
        counts: dict[Direction, int] = {}
        tables: dict[Direction, tuple[range, ...]] = {}
        unknown: dict[str, dict[int, float]] = {}
        for direction in DIRECTIONS:
            begin = len(values)
            values += stack_fields(robot, direction).all_numbers
            bounds += [False] * (len(values) - begin)
            for binding, part in iterate_parts(robot.mechanisms(direction), direction):
                for place, value in part.unknown_bounds.items():
                    unknown.setdefault(binding.spec.name, {})[len(values) + place] = value
                values += part.numbers
                bounds += [k in part.bounds for k in range(len(part.numbers))]
            counts[direction] = len(values) - begin
        known: dict[bytes, range] = {}
        for direction in DIRECTIONS:
            found = []
            for _, part in iterate_parts(robot.mechanisms(direction), direction):
                key = part.table.tobytes()
                if not part.n_start:  # nothing is searched for
                    key = b''
                    known[key] = range(0)
                elif key not in known:
                    known[key] = range(len(values), len(values) + len(part.table))
                    values += part.table.tolist()
                    bounds += [True] * len(part.table)
                found.append(known[key])
            tables[direction] = tuple(found)
        return cls(np.array(values), counts, tables, np.array(bounds, dtype=bool), unknown)


def stack_fields(robot: Robot, direction: Direction) -> AffineMap:
    """Return the affine part of a robot with the three interfaces stacked."""
    return AffineMap.from_maps([robot.affine(direction, name) for name in FIELDS])


@dataclass(frozen=True)
class LiveNumbers:
    """
    The live numbers of a robot, and the rules of the numbers that depend on them.

    :param tunables: The live numbers.
    :param fixed: Names of those that the rules cannot express.
    :param numbers: The numbers of the functions with the values of the description.
    :param rules: The rule of each number that depends on a live number, by index.
    :param reshaping: Live numbers with unknown bounds after a change, and these bounds.
    """

    tunables: tuple[Tunable, ...]
    fixed: tuple[str, ...]
    numbers: FunctionNumbers
    rules: Mapping[int, Rule]
    reshaping: Mapping[int, Mapping[int, float]]

    def evaluate_rules(self, values: Sequence[float]) -> Array:
        """
        Return the numbers of the functions for values of the live numbers.

        The operations are those of the C code, in their order.
        """
        result = self.numbers.values.copy()
        base = [each.value for each in self.tunables]
        for place, rule in self.rules.items():
            used = [which for which, _ in rule.factors] + [rule.offset] * (rule.offset >= 0)
            if all(values[which] == base[which] for which in used):
                continue
            number = result[place] - (base[rule.offset] if rule.offset >= 0 else 0.0)
            for which, exponent in rule.factors:
                ratio = values[which] / base[which]
                number = number * ratio if exponent > 0 else number / ratio
            result[place] = number + values[rule.offset] if rule.offset >= 0 else number
        for which, bounds in self.reshaping.items():
            if values[which] != base[which]:
                for place, value in bounds.items():
                    result[place] = value
        return result


def find_live_numbers(robot: Robot, retune: Callable[[Mapping[str, float]], Robot]) -> LiveNumbers:
    """
    Return the live numbers of a robot that C can change.

    :param robot: The robot.
    :param retune: Returns the robot with other live numbers.
    """
    base = FunctionNumbers.collect(robot)
    candidates = [
        each
        for each in robot.parameters.values()
        if not each.is_flag and not each.is_actuator_limit and not each.is_torque_constant
    ]
    changes: list[tuple[Tunable, float, Array]] = []
    fixed = []
    for tunable in candidates:
        found = _change_number(tunable, base, retune)
        if found is None:
            fixed.append(tunable.name)
        else:
            changes.append((tunable, *found))
    changes = [each for each in changes if _find_moved(base, each[2]).any()]
    independent = [_is_independent(robot, tunable, retune) for tunable, *_ in changes]
    fixed += [
        each[0].name for each, is_one in zip(changes, independent, strict=True) if not is_one
    ]
    changes = [each for each, is_one in zip(changes, independent, strict=True) if is_one]
    # Rules are simplest if no number is disturbed by a live number without a rule.
    while True:
        rules, unruled = _fit_rules(base, changes)
        if not unruled:
            break
        fixed += [changes[which][0].name for which in unruled]
        changes = [each for which, each in enumerate(changes) if which not in unruled]
    reshaping = {}
    for which, (tunable, _, changed) in enumerate(changes):
        moved = np.flatnonzero(_find_moved(base, changed) & base.bounds).tolist()
        if any(which not in _used(rules.get(place)) for place in moved):
            reshaping[which] = base.unknown_bounds.get(tunable.transmission, {})
    return LiveNumbers(
        tuple(tunable for tunable, *_ in changes), tuple(fixed), base, rules, reshaping
    )


def _used(rule: Rule | None) -> set[int]:
    return set() if rule is None else {rule.offset, *(which for which, _ in rule.factors)}


def _change_number(
    tunable: Tunable, base: FunctionNumbers, retune: Callable[[Mapping[str, float]], Robot]
) -> tuple[float, Array] | None:
    """Return another value of a live number with all numbers; ``None`` if there is none."""
    for share in (_CHANGE, -_CHANGE):
        value = tunable.value * (1.0 + share) if tunable.value else share
        try:
            found = FunctionNumbers.collect(retune({tunable.name: value}))
        except ParameterError:
            continue
        if (found.counts, found.tables) == (base.counts, base.tables):
            return value, found.values
    return None


def _is_independent(
    robot: Robot, tunable: Tunable, retune: Callable[[Mapping[str, float]], Robot]
) -> bool:
    """Return whether Python accepts every value in the range of a live number."""
    lower = -math.inf if tunable.minimum is None else tunable.minimum
    upper = math.inf if tunable.maximum is None else tunable.maximum
    random, (least, most) = np.random.default_rng(0), map(math.log10, RATIOS)
    values = random.choice((-1.0, 1.0), _DRAWS) * 10.0 ** random.uniform(least, most, _DRAWS)
    # Angles matter within a turn.
    values = np.append(values, random.uniform(-math.pi, math.pi, _DRAWS))
    if not is_reversible(robot, tunable):
        values = np.copysign(values, tunable.value)
    for value in values[(lower <= values) & (values <= upper)].tolist():
        try:
            retune({tunable.name: value})
        except ParameterError as error:
            if not error.parameter.endswith('.limit'):  # the maps in C have no limits
                return False
    return True


def _fit_rules(
    base: FunctionNumbers, changes: Sequence[tuple[Tunable, float, Array]]
) -> tuple[dict[int, Rule], set[int]]:
    """Return the rules, and the live numbers that some number depends on in another way."""
    n = len(base.values)
    tolerance = np.where(base.bounds, _CLOSE, _EXACT)
    offsets, rest = np.full(n, -1), base.values.copy()
    factors: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    moves = [_find_moved(base, changed) for *_, changed in changes]
    with np.errstate(all='ignore'):
        for which, (tunable, value, changed) in enumerate(changes):
            if not tunable.nonzero:
                step = value - tunable.value
                off = np.abs(changed - base.values - step)
                is_added = moves[which] & (off <= tolerance * np.abs(step))
                offsets[is_added], rest[is_added] = which, base.values[is_added] - tunable.value
                moves[which] &= ~is_added
        for which, (tunable, value, changed) in enumerate(changes):
            ratio = value / tunable.value if tunable.value else math.nan
            left = changed - (base.values - rest)
            for exponent, product in ((1, rest * ratio), (-1, rest / ratio)):
                off = np.abs(left - product)
                is_factor = moves[which] & (off <= tolerance * np.abs(rest))
                for place in np.flatnonzero(is_factor).tolist():
                    factors[place].append((which, exponent))
                moves[which] &= ~is_factor
    rules = {}
    for place in range(n):
        rule = Rule(tuple(factors[place]), int(offsets[place]))
        # The live number itself, without a rounding error.
        (which, exponent), *others = rule.factors or ((-1, 0),)
        is_itself = exponent == 1 and not others and rule.offset < 0
        if is_itself and base.values[place] == changes[which][0].value:
            rule = Rule((), which)
        if rule != Rule((), -1):
            rules[place] = rule
    unruled = {which for which, moved in enumerate(moves) if (moved & ~base.bounds).any()}
    return rules, unruled


def _find_moved(base: FunctionNumbers, changed: Array) -> Mask:
    """Return which numbers changed; rounding is no change."""
    tolerance = np.where(
        base.bounds, 1e-9 * np.abs(base.values) + 1e-12, 1e-14 * np.abs(base.values)
    )
    with np.errstate(all='ignore'):
        is_same = (changed == base.values) | (np.abs(changed - base.values) <= tolerance)
    moved: Mask = ~(is_same | (np.isnan(changed) & np.isnan(base.values)))
    return moved


def is_reversible(robot: Robot, tunable: Tunable) -> bool:
    """Return whether a live number may change its sign: the bounds of mechanisms have a side."""
    mechanisms = {each.spec.name for each in robot.mechanisms(ACTUATOR_TO_JOINT)}
    return not (tunable.nonzero and tunable.transmission in mechanisms)
