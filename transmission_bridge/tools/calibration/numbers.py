# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of a transmission from known positions: one equation for poses, stops and recordings.

With the positions ``a`` of the actuators [rad or m at the motor], and joint ``j`` known to be at
``q``, the free numbers ``theta`` (offsets, on request reductions and dimensions) solve::

    f_j(a; theta) = q

by least squares. Each known position may be wrong by its slack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
import itertools
import math

import numpy as np

from transmission_bridge.description.specs import RobotDescription, TransmissionEnd
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.cli import optional
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.builder import build_transmission
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.types import Array

#: A difference that is worse than every other: of a position outside of the domain.
_OUTSIDE = 10.0

#: Largest position [rad or m]; what is further off comes from a number of absurd size.
_LARGEST = 1e9

#: Share of the largest singular value below which a combination of numbers is not determined, and
#: share of a number in such a combination from which the number is not determined.
_RANK, _PART = 1e-6, 0.1

#: Another joint moves by less than this share of the motion of the joint that is moved by hand.
_ASIDE = 0.6


@dataclass(frozen=True, eq=False)
class Known:
    """
    Rows of actuator positions at which positions of joints are known.

    :param actuators: Shape ``(rows, n_actuators)`` [rad or m at the motor].
    :param joints: Shape ``(rows, n_joints)`` [rad or m], NaN: unknown.
    :param slack: How far a joint may have been from there, same shape.
    """

    actuators: Array
    joints: Array
    slack: Array

    @classmethod
    def join(cls, rows: Sequence[tuple[Array, Array, Array]]) -> Known:
        """Return the table of rows of actuators, joints and slack."""
        actuators, joints, slack = (np.array(each) for each in zip(*rows, strict=True))
        return cls(actuators, joints, slack)


@dataclass(frozen=True, eq=False)
class Fit:
    """
    The numbers that fit known positions.

    :param values: The free numbers by path; those that are not determined keep their values.
    :param missing: The free numbers that the positions do not determine.
    :param residuals: Known minus mapped positions, shape ``(rows, n_joints)``, NaN if unknown.
    :param mapped: Mapped positions, same shape.
    :param reach: Largest error of each number if each position is wrong by its slack.
    :param errors: Standard error of each number from the residuals; infinite without more
        positions than numbers.
    :param slopes: Change of the known joints' mapped positions with each number, row by row, shape
        ``(known positions, numbers)``.
    """

    values: Mapping[ParameterPath, float]
    missing: tuple[ParameterPath, ...]
    residuals: Array
    mapped: Array
    reach: Mapping[ParameterPath, float]
    errors: Mapping[ParameterPath, float]
    slopes: Array

    @property
    def contradiction(self) -> float:
        """The largest difference between a known and a mapped position [rad or m]."""
        known = np.abs(self.residuals[np.isfinite(self.residuals)])
        return float(known.max(initial=0.0))


def list_offsets(binding: Binding) -> tuple[ParameterPath, ...]:
    """Return the offsets of the joints, or of the actuators of a mechanism without the former."""
    paths = [each.path for each in binding.tunables if each.path[-1] == 'offset']
    joints = [path for path in paths if path[0] == 'joints']
    return tuple(joints or (path for path in paths if path[0] == 'actuators'))


def list_reductions(binding: Binding) -> tuple[ParameterPath, ...]:
    """Return the reductions of the side that states them, because only products are known."""
    found: dict[str, list[ParameterPath]] = {'actuators': [], 'joints': []}
    members = {'actuators': binding.spec.actuators, 'joints': binding.spec.joints}
    given = dict.fromkeys(members, False)
    for side, ends in members.items():
        for each in binding.tunables:
            if each.path[0] == side and each.path[-1] == 'mechanical_reduction':
                found[side].append(each.path)
                given[side] |= _is_given(ends, each.path[1])
    side = 'joints' if not found['actuators'] or given['joints'] > given['actuators'] else ''
    return tuple(found[side or 'actuators'])


def _is_given(ends: Sequence[TransmissionEnd], name: str) -> bool:
    return any(end.name == name and 'mechanical_reduction' in end.given for end in ends)


class NumberMap:
    """
    The map of a transmission as a function of its numbers.

    :param binding: The transmission.
    :param robot: The description, which linkages read.
    """

    def __init__(self, binding: Binding, robot: RobotDescription) -> None:
        self.binding, self._robot = binding, robot
        self._type = type(binding.transmission)
        self.numbers = {each.path: float(each.value) for each in binding.tunables}
        self._newest: tuple[Mapping[ParameterPath, float], Transmission] = (
            self.numbers,
            binding.transmission,
        )

    def build(self, values: Mapping[ParameterPath, float]) -> Transmission:
        """
        Return the transmission with other values of some numbers.

        :raises TransmissionBridgeError: If a value is invalid.
        """
        numbers = {**self.numbers, **values}
        if numbers != self._newest[0]:
            binding, _ = build_transmission(self._type, self.binding.spec, numbers, self._robot)
            self._newest = numbers, binding.transmission
        return self._newest[1]

    def map_positions(
        self, values: Mapping[ParameterPath, float], actuators: Array, guess: Array | None = None
    ) -> Array:
        """Return positions of the joints, NaN outside of the domain and for invalid numbers."""
        n_joints = len(self.binding.spec.joints)
        with np.errstate(all='ignore'):
            try:
                found = self.build(values).actuator_to_joint('position', actuators, guess=guess)
            except TransmissionBridgeError:
                return np.full((len(actuators), n_joints), np.nan)
        found = np.asarray(found)[:, :n_joints]
        return np.where(np.abs(found) <= _LARGEST, found, np.nan)


def fit_numbers(
    maps: NumberMap,
    known: Known,
    free: Sequence[ParameterPath],
    start: Mapping[ParameterPath, float] | None = None,
) -> Fit:
    """
    Return the free numbers that fit known positions best.

    :param free: Paths of the numbers; the others keep their values.
    :param start: First values instead of the present ones.
    """
    least_squares = optional('scipy.optimize', 'calibrate').least_squares
    is_known = np.isfinite(known.joints)
    guess = np.where(is_known, known.joints, 0.0)
    first = np.array([{**maps.numbers, **(start or {})}[path] for path in free])
    sizes = np.array([
        1.0 if path[-1] == 'offset' else max(abs(x), 1e-9)
        for path, x in zip(free, first, strict=True)
    ])  # fmt: skip

    def name_values(x: Array) -> dict[ParameterPath, float]:
        return dict(zip(free, (x * sizes).tolist(), strict=True))

    def compare(x: Array) -> Array:
        found = known.joints - maps.map_positions(name_values(x), known.actuators, guess)
        return np.where(np.isfinite(found), found, _OUTSIDE)[is_known]

    solved = least_squares(
        compare, first / sizes, method='trf', ftol=1e-14, xtol=1e-14, gtol=1e-14, max_nfev=100
    )
    _, singular, rows = np.linalg.svd(solved.jac, full_matrices=True)
    singular = np.pad(singular, (0, len(free) - len(singular)))
    is_lost = singular <= _RANK * singular.max(initial=1e-300)
    lost = np.abs(rows[is_lost]).max(axis=0, initial=0.0) > _PART
    missing = tuple(path for path, each in zip(free, lost, strict=True) if each)
    values = name_values(np.where(lost, first / sizes, solved.x))
    mapped = maps.map_positions(values, known.actuators, guess)
    inverse = np.linalg.pinv(solved.jac, rcond=_RANK) * sizes[:, np.newaxis]
    reach = np.abs(inverse) @ known.slack[is_known]
    spare = int(is_known.sum()) - len(free)
    square = float(np.square(solved.fun).sum()) / spare if spare > 0 else math.inf
    errors = np.sqrt(np.square(inverse).sum(axis=1) * square)
    return Fit(
        values,
        missing,
        np.where(is_known, known.joints - mapped, np.nan),
        mapped,
        dict(zip(free, reach.tolist(), strict=True)),
        dict(zip(free, errors.tolist(), strict=True)),
        -solved.jac / sizes,
    )


def guess_offsets(maps: NumberMap, known: Known) -> dict[ParameterPath, float]:
    """
    Return first values of offsets of actuators, with joints at zero where they are unknown.

    ``a = n (d - offset)``, so ``a`` of the inverse map and the measured ``a`` give the offset.
    """
    transmission, values = maps.binding.transmission, {}
    with np.errstate(all='ignore'):
        wanted = transmission.joint_to_actuator('position', np.nan_to_num(known.joints))
        shift = np.nanmedian(wanted - known.actuators, axis=0)
    names = [member.name for member in maps.binding.spec.actuators]
    for path in list_offsets(maps.binding):
        if path[0] == 'actuators' and np.isfinite(shift[names.index(path[1])]):
            place = names.index(path[1])
            reduction = transmission.actuator_reduction[place]
            values[path] = maps.numbers[path] + float(shift[place]) / reduction
    return values


# -- Directions -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Move:
    """A joint was moved by hand towards positive, from the first to the second positions."""

    joint: int
    before: Array
    after: Array


@dataclass(frozen=True)
class Signs:
    """
    Signs of reductions that explain how joints were moved.

    :param values: Reductions with another sign than now; ``None`` if no signs explain the motion.
    :param problem: What is wrong and where to change it, or which motion is missing.
    """

    values: Mapping[ParameterPath, float] | None
    problem: str = ''


def find_signs(maps: NumberMap, moves: Sequence[Move]) -> Signs:
    """
    Return the signs of reductions for which each move is positive at its joint.

    The joints that were not moved by hand stay behind. Without a solution, the motion with
    exchanged actuators is tried, to say what is wrong.
    """
    joints = [member.name for member in maps.binding.spec.joints]
    moved = {move.joint for move in moves}
    if missing := [name for place, name in enumerate(joints) if place not in moved]:
        return Signs(None, f'move {" and ".join(missing)} towards positive')
    straight = range(len(maps.binding.spec.actuators))
    if fitting := _list_fitting(maps, moves, straight):
        values = min(fitting, key=len)
        return Signs(values)
    names = [member.name for member in maps.binding.spec.actuators]
    for order in itertools.permutations(straight):
        if list(order) != list(straight) and _list_fitting(maps, moves, order):
            swapped = [names[place] for place, other in enumerate(order) if place != other]
            return Signs(
                None,
                f'the motion fits if the actuators {" and ".join(swapped)} are exchanged: '
                'exchange their names in the <transmission>, or their wires or numbers in the '
                'driver',
            )
    return Signs(
        None,
        f"'{maps.binding.spec.name}' cannot move its joints so with any signs of its reductions: "
        f'reverse the count of {" or ".join(names)} in the driver, or check the mechanism',
    )


def _list_fitting(
    maps: NumberMap, moves: Sequence[Move], order: Sequence[int]
) -> list[dict[ParameterPath, float]]:
    return [
        values
        for values in _list_sign_changes(maps)
        if all(_is_positive(lambda a, v=values: maps.map_positions(v, a), move, order)  # type: ignore[misc]
               for move in moves)
    ]  # fmt: skip


def _list_sign_changes(maps: NumberMap) -> Iterator[dict[ParameterPath, float]]:
    """Yield each choice of signs, the present one first, that the type accepts."""
    paths = list_reductions(maps.binding)
    for count in range(len(paths) + 1):
        for chosen in itertools.combinations(paths, count):
            values = {path: -maps.numbers[path] for path in chosen}
            try:
                maps.build(values)
            except TransmissionBridgeError:
                continue
            yield values


def _is_positive(mapped: Callable[[Array], Array], move: Move, order: Sequence[int]) -> bool:
    ends = np.array([move.before, move.after])[:, list(order)]
    before, after = mapped(ends)
    way = after - before
    aside = np.abs(np.delete(way, move.joint))
    own = float(way[move.joint])
    return own > 0.0 and bool((aside <= _ASIDE * own).all())
