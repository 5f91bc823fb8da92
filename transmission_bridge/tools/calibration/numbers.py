# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of a transmission from known positions: one equation for poses and stops.

With the positions ``a`` of the actuators [rad or m at the motor], and joint ``j`` known to be at
``q``, the free numbers ``theta`` (offsets, on request reductions and dimensions) solve::

    f_j(a; theta) = q

by least squares. Each known position may be wrong by its slack. The search is free to change, its
solutions are not. ``hand``, ``outcome`` and ``servo_files`` use it; only :class:`CalibrationMap`
stores anything, the transmission that it built last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import itertools

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.cli import import_optional
from transmission_bridge.transmissions import (
    Binding,
    build_transmission,
    ParameterPath,
    Transmission,
)
from transmission_bridge.types import Array

#: Largest position [rad or m]; what is further off comes from a number of absurd size.
_LARGEST = 1e9

#: A difference that is worse than every other: of a position outside of the domain.
_OUTSIDE = 10.0

#: Step of a number for slopes, as a share of its size.
_STEP = 1e-5

#: Least error of a known position of which the effects are compared [rad or m].
_LEAST_ERROR = 1e-6

#: Share of a number in a combination that is not determined, from which neither is the number.
_PART = 0.1

_REDUCTION = 'mechanical_reduction'

#: Another joint moves by less than this share of the motion of the joint that is moved by hand.
_ASIDE = 0.6


@dataclass(frozen=True, eq=False)
class KnownRows:
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
    def join(cls, rows: Sequence[tuple[Array, Array, Array]]) -> KnownRows:
        """Return the table of rows of actuators, joints and slack."""
        actuators, joints, slack = (np.array(each) for each in zip(*rows, strict=True))
        return cls(actuators, joints, slack)


@dataclass(frozen=True, eq=False)
class NumberFit:
    """
    The numbers that fit known positions.

    :param values: The free numbers by path; those that are not determined keep their values.
    :param missing: The free numbers that the positions do not determine.
    :param residuals: Known minus mapped positions, shape ``(rows, n_joints)``, NaN if unknown.
    :param errors: Changes of the numbers if one of the known positions is wrong by its slack and
        its residual, at least by :data:`_LEAST_ERROR`.
    """

    values: Mapping[ParameterPath, float]
    missing: tuple[ParameterPath, ...]
    residuals: Array
    errors: tuple[Mapping[ParameterPath, float], ...]

    @property
    def contradiction(self) -> float:
        """The largest difference between a known and a mapped position [rad or m]."""
        known = np.abs(self.residuals[np.isfinite(self.residuals)])
        return float(known.max(initial=0.0))


def list_fitted_reductions(binding: Binding) -> tuple[ParameterPath, ...]:
    """Return the reductions of the side that states them, because only products are known."""
    members = [('actuators', member) for member in binding.spec.actuators]
    members += [('joints', member) for member in binding.spec.joints]
    stated = {(side, member.name) for side, member in members if _REDUCTION in member.given}
    paths = [tunable.path for tunable in binding.tunables if tunable.path[-1] == _REDUCTION]
    paths = [path for path in paths if path[0] in ('actuators', 'joints')]
    # The actuators, if they state one or the joints state none.
    sides = [path[0] for path in paths if path[:2] in stated] or [path[0] for path in paths]
    return tuple(path for path in paths if path[0] == min(sides))


class CalibrationMap:
    """
    The map of a transmission as a function of its numbers.

    :param binding: The transmission.
    :param robot: The description, which linkages read.
    :param numbers: Values instead of the present ones.
    :param zeros: Its zeros, if they are known: positions with other zeros are then found fast.
    """

    def __init__(
        self,
        binding: Binding,
        robot: RobotDescription,
        numbers: Mapping[ParameterPath, float] | None = None,
        zeros: Sequence[ZeroNumber] = (),
    ) -> None:
        self.zeros = zeros
        self.binding, self.robot = binding, robot
        present = {tunable.path: float(tunable.value) for tunable in binding.tunables}
        self.numbers: Mapping[ParameterPath, float] = {**present, **(numbers or {})}
        #: The last built transmission, and its numbers.
        self._built_for, self._built = present, binding.transmission

    def widened(self, share: float) -> CalibrationMap:
        """
        Return the map with a wider range of joints, if the mechanism has it.

        A position at the end of the range would be outside with numbers that are slightly wrong.

        :param share: Share of the range, at both ends.
        """
        uppers = {path: self.numbers.get((*path[:-1], 'upper'), 0.0) for path in self.numbers
                if path[-1] == 'lower'}  # fmt: skip
        numbers = dict(self.numbers)
        for path, upper in uppers.items():
            way = share * (upper - self.numbers[path])
            numbers |= {path: self.numbers[path] - way, (*path[:-1], 'upper'): upper + way}
        wider = CalibrationMap(self.binding, self.robot, numbers, self.zeros)
        try:
            wider.build({})
        except TransmissionBridgeError:
            return self
        return wider

    def build(self, values: Mapping[ParameterPath, float]) -> Transmission:
        """
        Return the transmission with other values of some numbers.

        :raises TransmissionBridgeError: If a value is invalid.
        """
        numbers = {**self.numbers, **values}
        if numbers != self._built_for:
            binding, _ = build_transmission(
                type(self.binding.transmission), self.binding.spec, numbers, self.robot
            )
            self._built_for, self._built = numbers, binding.transmission
        return self._built

    def map_positions(
        self, values: Mapping[ParameterPath, float], actuators: Array, guess: Array | None = None
    ) -> Array:
        """Return positions of the joints, NaN outside of the domain and for invalid numbers."""
        n_joints = len(self.binding.spec.joints)
        shifts = {zero.path: zero for zero in self.zeros if zero.place is not None}
        if values.keys() <= shifts.keys():  # no other transmission has to be built
            way = np.zeros(np.shape(actuators)[-1])
            for path, value in values.items():
                zero = shifts[path]
                way[zero.place] += zero.factor * (value - self.numbers[path])
            values, actuators = {}, actuators + way
        with np.errstate(all='ignore'):
            try:
                joints = self.build(values).actuator_to_joint('position', actuators, guess=guess)
            except TransmissionBridgeError:
                return np.full((len(actuators), n_joints), np.nan)
        joints = np.asarray(joints)[:, :n_joints]
        return np.where(np.abs(joints) <= _LARGEST, joints, np.nan)

    def slopes(self, values: Mapping[ParameterPath, float], middle: Array) -> Array:
        """
        Return the motion of each joint per motion of each actuator.

        :param middle: Positions of the joints: the middle of their ranges [rad or m].
        :returns: Shape ``(n_joints, n_actuators)``.
        """
        transmission, n_joints = self.build(values), len(middle)
        at = transmission.joint_to_actuator('position', middle)
        unit = np.eye(len(self.binding.spec.actuators))
        slopes = transmission.actuator_to_joint(
            'velocity', unit, at=np.broadcast_to(at, unit.shape)
        )
        return np.asarray(slopes)[:, :n_joints].T


def fit_calibration(
    maps: CalibrationMap,
    known: KnownRows,
    free: Sequence[ParameterPath],
    start: Mapping[ParameterPath, float] | None = None,
    least: float = 1e-6,
    span: float = 1.0,
) -> NumberFit:
    """
    Return the free numbers that fit known positions best.

    The inverse of a reduction is fitted, because a constant map is linear in it, and whether it is
    determined is judged by motion from the mean: the distance to the motor's zero does not count.

    :param free: Paths of the numbers; the others keep their values.
    :param start: First values instead of the present ones.
    :param least: Share of the largest singular value below which a combination of numbers is not
        determined.
    :param span: Motion of a joint that determines a reduction well [rad or m].
    """
    least_squares = import_optional('scipy.optimize', 'calibrate').least_squares
    is_known = np.isfinite(known.joints)
    guess = np.where(is_known, known.joints, 0.0)
    first = np.array([{**maps.numbers, **(start or {})}[path] for path in free])
    is_offset = np.array([path[-1] == 'offset' for path in free], dtype=bool)
    sizes = np.where(is_offset, 1.0, np.maximum(np.abs(first), 1e-9))
    is_inverse = np.array([path[-1] == _REDUCTION for path in free], dtype=bool)

    def name_values(x: Array) -> dict[ParameterPath, float]:
        with np.errstate(all='ignore'):
            values = np.where(is_inverse, first / x, first + (x - 1.0) * sizes)
        return dict(zip(free, values.tolist(), strict=True))

    def compare(x: Array) -> Array:
        residuals = known.joints - maps.map_positions(name_values(x), known.actuators, guess)
        return np.where(np.isfinite(residuals), residuals, _OUTSIDE)[is_known]

    def find_slopes(x: Array) -> Array:
        # A solved position is exact to 1e-10 only, so small steps have no slope, also not near 0.
        here, steps = compare(x), _STEP * np.eye(len(x))
        return np.stack([compare(x + step) - here for step in steps], axis=1) / _STEP

    # Not at zero: the first step of the search has the size of this vector.
    begin = np.ones(len(free))
    solved = least_squares(
        compare, begin, find_slopes, ftol=1e-12, xtol=1e-10, gtol=1e-12, max_nfev=50
    )
    centred = np.array(solved.jac)
    others = centred[:, ~is_inverse]
    centred[:, is_inverse] -= others @ np.linalg.pinv(others) @ centred[:, is_inverse]
    centred[:, is_inverse] *= solved.x[is_inverse] / span
    _, singular, rows = np.linalg.svd(centred, full_matrices=True)
    singular = np.pad(singular, (0, len(free) - len(singular)))
    is_lost = singular <= least * singular.max(initial=1e-300)
    lost = np.abs(rows[is_lost]).max(axis=0, initial=0.0) > _PART
    missing = tuple(path for path, each in zip(free, lost, strict=True) if each)
    best = np.where(lost, begin, solved.x)
    values = name_values(best)
    errors = np.maximum(known.slack[is_known] + np.abs(solved.fun), _LEAST_ERROR)
    changes = np.linalg.pinv(solved.jac) * errors
    return NumberFit(
        values,
        missing,
        known.joints - maps.map_positions(values, known.actuators, guess),
        tuple(name_values(best + each) for each in changes.T),
    )


# -- Zeros ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ZeroNumber:
    """
    A number that shifts the zero of a joint, or of an actuator.

    :param path: The number.
    :param place: The actuator, ``None`` for a joint's offset.
    :param factor: Motion of the actuator with the effect of a change of the number by one.
    """

    path: ParameterPath
    place: int | None = None
    factor: float = 1.0


def list_fitted_zeros(maps: CalibrationMap, middle: Array, reach: Array) -> tuple[ZeroNumber, ...]:
    """
    Return the numbers that shift the zeros of the encoders.

    If a ratio varies, only a number with the effect of a motion of an actuator does so: the
    ``offset`` of an actuator of a linkage, the ``crank_angle`` of an ankle. Without one for each
    actuator there are no zeros: offsets of joints would be right at a few positions only. If the
    ratios are constant, the zeros are the offsets of the joints.

    :param middle: The middle of the range of each joint [rad or m].
    :param reach: Half of the range of each joint.
    """
    transmission = maps.build({})
    if not transmission.is_constant:
        shares = np.array([[-0.5, 0.4], [0.3, -0.6], [0.6, 0.5], [-0.2, -0.3]])
        shares = np.resize(shares, (4, len(middle)))
        with np.errstate(all='ignore'):
            at = transmission.joint_to_actuator('position', middle + shares * reach)
            at = at[np.isfinite(at).all(axis=1)]
            unit = np.eye(at.shape[1])[:, np.newaxis] * np.ones((1, len(at), 1))
            where = np.broadcast_to(at, unit.shape)
            slopes = transmission.actuator_to_joint('velocity', unit, at=where)
        slopes = slopes[..., : len(middle)].reshape(len(unit), -1)
        zeros = {
            zero.place: zero for path in maps.numbers for zero in _match(maps, path, at, slopes)
        }
        return tuple(zeros.values()) if len(zeros) == len(unit) else ()
    paths = [tunable.path for tunable in maps.binding.tunables]
    return tuple(
        ZeroNumber(path) for path in paths if path[0] == 'joints' and path[-1] == 'offset'
    )


def _match(
    maps: CalibrationMap, path: ParameterPath, at: Array, slopes: Array
) -> Iterator[ZeroNumber]:
    """Yield the actuator whose motion has the effect of a number."""
    mapped = [
        maps.map_positions({path: maps.numbers[path] + change}, at) for change in (-_STEP, _STEP)
    ]
    slope = ((mapped[1] - mapped[0]) / (2.0 * _STEP)).ravel()
    if not np.isfinite(slope).all() or not np.abs(slope).max(initial=0.0) > 1e-6:
        return
    for place, own in enumerate(slopes):
        factor = float(own @ slope / (own @ own))
        if np.abs(slope - factor * own).max() <= 1e-4 * np.abs(slope).max():
            yield ZeroNumber(path, place, factor)


def guess_zeros(
    maps: CalibrationMap, known: KnownRows, middle: Array
) -> dict[ParameterPath, float]:
    """
    Return first values of the zeros of actuators: the best of those that follow from a row.

    :param middle: The middle of the range of each joint [rad or m], where a joint is unknown.
    """
    moved = [zero for zero in maps.zeros if zero.place is not None]
    if not moved:
        return {}
    places = np.where(np.isfinite(known.joints), known.joints, middle)
    with np.errstate(all='ignore'):
        wanted = maps.build({}).joint_to_actuator('position', places)
        shifts = wanted - known.actuators
        shifts = shifts[np.isfinite(shifts).all(axis=1)]
    rows = [np.zeros(shifts.shape[1]), *shifts, *(shifts.mean(axis=0, keepdims=True))]
    guesses = [
        {each.path: maps.numbers[each.path] + float(row[each.place]) / each.factor
         for each in moved}
        for row in rows
    ]  # fmt: skip

    def compute_distance(values: Mapping[ParameterPath, float]) -> float:
        away = known.joints - maps.map_positions(values, known.actuators, places)
        away = np.where(np.isfinite(away), away, _OUTSIDE)[np.isfinite(known.joints)]
        return float(np.square(away).sum())

    return min(guesses, key=compute_distance)


# -- Directions -----------------------------------------------------------------------------------


def compute_hand_signs(
    maps: CalibrationMap, moves: Mapping[int, Array], middle: Array
) -> tuple[Mapping[ParameterPath, float] | None, str]:
    """
    Return the signs of reductions for which each move is positive at its joint.

    The joints that were not moved by hand stay behind. Without a solution, the motion with
    exchanged actuators is tried, to say what is wrong.

    :param moves: The motion of the actuators by the place of each joint that was moved by hand
        towards positive, all joints of the transmission.
    :param middle: The middle of the range of each joint [rad or m].
    :returns: Reductions with another sign than now, as few as possible, ``None`` if no signs
        explain the motion; then also what is wrong and where to change it.
    """
    names = [member.name for member in maps.binding.spec.actuators]
    for order in itertools.permutations(range(len(names))):  # first as they are
        values = _find_signs(maps, {joint: way[[*order]] for joint, way in moves.items()}, middle)
        swapped = [names[place] for place, other in enumerate(order) if place != other]
        if values is not None and swapped:
            return None, (
                f'the motion fits if {" and ".join(swapped)} are exchanged: exchange their names '
                'in the <transmission>, or their wires or numbers in the driver'
            )
        if values is not None:
            return values, ''
    return None, (
        f"no signs of the reductions of '{maps.binding.spec.name}' explain this motion: "
        f'reverse the count of {" or ".join(names)} in the driver, or check the mechanism'
    )


def _find_signs(
    maps: CalibrationMap, moves: Mapping[int, Array], middle: Array
) -> dict[ParameterPath, float] | None:
    """Return the fewest changes of signs that the type accepts and that explain the moves."""
    paths = list_fitted_reductions(maps.binding)
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(paths, count) for count in range(len(paths) + 1)
    ):
        values = {path: -maps.numbers[path] for path in chosen}
        try:
            slopes = maps.slopes(values, middle)
        except TransmissionBridgeError:
            continue
        ways = [(joint, slopes @ way) for joint, way in moves.items()]
        if all(
            way[joint] > 0.0 and (np.abs(np.delete(way, joint)) <= _ASIDE * way[joint]).all()
            for joint, way in ways
        ):
            return values
    return None
