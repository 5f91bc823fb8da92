# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of each transmission: of actuators from those of the joints, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.bridge.limits import motor_bounds
from transmission_bridge.description import Finding
from transmission_bridge.description.effective_limits import effective_limits, EffectiveLimits
from transmission_bridge.kinematics.limits import (
    effort_box,
    effort_limits,
    half_spaces,
    position_bounds,
    rate_limits,
    tight_box,
    vertices,
)
from transmission_bridge.tools.units import actuator_unit, joint_unit, ratio_unit, units_of
from transmission_bridge.transmissions import RobotTransmissions, Transmission
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.transmissions.ranges import allowed_positions, image_box
from transmission_bridge.types import Array

__all__ = [
    'MemberLimits',
    'Range',
    'Ratio',
    'Region',
    'TransmissionLimits',
    'limit_findings',
    'shared_limits',
    'transmission_limits',
]

#: Least and greatest value, the same where it does not depend on position.
Range = tuple[float, float]

_UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class MemberLimits:
    """
    The limits of a joint, or of an actuator from the limits of its joints.

    Infinite where there is no limit; NaN where it is unknown, or the limits of a joint contradict
    each other.

    :param unit: Unit of position: ``rad``, ``m``, or both where it is unknown.
    :param lower: Least position.
    :param upper: Greatest position.
    :param velocity: Greatest speed, over the allowed positions.
    :param effort: Greatest effort, over the allowed positions.
    """

    name: str
    unit: str
    lower: float
    upper: float
    velocity: Range
    effort: Range

    @property
    def says_something(self) -> bool:
        """Whether anything is limited."""
        return not all(map(math.isinf, (self.lower, self.upper, *self.velocity, *self.effort)))

    def as_json(self) -> dict[str, Any]:
        """Return an object: ``null`` where open, ``varies`` where NaN, least and greatest."""
        return {
            'name': self.name,
            'lower': _as_json((self.lower, self.lower)),
            'upper': _as_json((self.upper, self.upper)),
            'velocity': _as_json(self.velocity),
            'effort': _as_json(self.effort),
            'units': dict(
                zip(('position', 'velocity', 'effort'), units_of(self.unit), strict=True)
            ),
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """
    Motion of an actuator per motion of a joint, where it depends on position.

    :param unit: Empty for a pure number.
    :param least: Over the positions that are allowed.
    :param greatest: Over the positions that are allowed.
    """

    actuator: str
    joint: str
    unit: str
    least: float
    greatest: float

    def as_json(self) -> dict[str, Any]:
        """Return an object."""
        names = {'actuator': self.actuator, 'joint': self.joint, 'unit': self.unit}
        return {**names, 'ratio': _as_json((self.least, self.greatest))}


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """
    What coupled actuators allow their joints together, ``lower <= A x <= upper``.

    :param interface: ``position``, ``velocity`` or ``effort``, which ``x`` is of the joints.
    :param unit: Of each bound, which is one at the motor (of a position less its offset).
    :param joints: Names, one for each column of ``A``.
    :param actuators: Names, one for each row.
    :param matrix: ``A``.
    :param lower: Infinite where open.
    :param upper: Infinite where open.
    :param corners: Of two joints, shape ``(corners, 2)``; none where it is not bounded.
    :param share: What is left of the joints' own limits where all of them are commanded at once;
        ``None`` where one has none.
    """

    interface: str
    unit: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    matrix: Array
    lower: Array
    upper: Array
    corners: Array
    share: float | None

    def as_json(self) -> dict[str, Any]:
        """Return an object: ``null`` where open."""
        return {
            'interface': self.interface,
            'unit': self.unit,
            'joints': list(self.joints),
            'actuators': list(self.actuators),
            'matrix': self.matrix.tolist(),
            'lower': [_as_json((bound, bound)) for bound in self.lower.tolist()],
            'upper': [_as_json((bound, bound)) for bound in self.upper.tolist()],
            'corners': self.corners.tolist(),
            'share': self.share,
        }


@dataclass(frozen=True, slots=True)
class TransmissionLimits:
    """
    The limits of the joints and actuators of a transmission, in role order.

    :param joints: Those of the description.
    :param actuators: From those of the joints.
    :param ratios: Empty where the Jacobian is constant.
    :param lost: Share of the allowed positions at which the bridge maps no velocities, because
        they are near a dead centre. They have no part in ranges.
    :param own: Those of the actuators in the description; empty where there is none.
    :param allowed: What these allow the joints: of coupled ones the least box. Likewise.
    :param regions: What they allow coupled joints together, where the ratio is constant.
    """

    joints: tuple[MemberLimits, ...]
    actuators: tuple[MemberLimits, ...]
    ratios: tuple[Ratio, ...] = ()
    lost: float = 0.0
    own: tuple[MemberLimits, ...] = ()
    allowed: tuple[MemberLimits, ...] = ()
    regions: tuple[Region, ...] = ()


def transmission_limits(robot: RobotTransmissions, binding: Binding) -> TransmissionLimits:
    """
    Return the limits of a transmission's joints and actuators.

    Those of the joints are the
    :func:`~transmission_bridge.description.effective_limits.effective_limits`. Those of the
    actuators of a coupled transmission are the least box around the values that the joints allow
    together. Where the Jacobian varies they are ranges, sampled over the positions that the domain
    and the limits of the joints allow. What the actuators' own limits allow the joints likewise.
    """
    names = [member.name for member in binding.spec.joints]
    limits = [effective_limits(robot.robot, name) for name in names]
    ratios: tuple[Ratio, ...] = ()
    lost = 0.0
    with np.errstate(all='ignore'):
        try:
            if binding.transmission.is_constant:
                actuators = _constant(robot, binding, names)
            else:
                actuators, ratios, lost = _varying(robot, binding, limits)
        except (Exception, SystemExit):  # an error in a plugin affects its own numbers only
            actuators = tuple(
                MemberLimits(
                    member.name,
                    actuator_unit(robot.robot, binding),
                    *(math.nan, math.nan),
                    *(_UNKNOWN, _UNKNOWN),
                )
                for member in binding.spec.actuators
            )
    own = motor_bounds(robot)[:, :, binding.actuators]
    return TransmissionLimits(
        tuple(
            MemberLimits(
                name,
                joint_unit(robot.robot, name),
                each.lower,
                each.upper,
                (each.velocity, each.velocity),
                (each.effort, each.effort),
            )
            for name, each in zip(names, limits, strict=True)
        ),
        actuators,
        ratios,
        lost,
        *(_from_actuators(robot, binding, limits, own) if np.isfinite(own).any() else ()),
    )


def _constant(
    robot: RobotTransmissions, binding: Binding, names: Sequence[str]
) -> tuple[MemberLimits, ...]:
    moving = robot.part(names)
    joints = [effective_limits(robot.robot, name) for name in moving.joint_names]
    lower, upper, velocity, effort = _columns(joints)
    anywhere = np.zeros(len(moving.actuator_names))
    if np.all(lower <= upper):
        least, greatest = position_bounds(moving, lower, upper)
    else:
        least = greatest = np.full(len(anywhere), np.nan)
    speed = rate_limits(moving, velocity, anywhere)
    force = effort_limits(moving, effort, anywhere)
    places = {name: place for place, name in enumerate(moving.actuator_names)}
    return tuple(
        MemberLimits(
            name,
            actuator_unit(robot.robot, binding),
            float(least[places[name]]),
            float(greatest[places[name]]),
            (float(speed[places[name]]),) * 2,
            (float(force[places[name]]),) * 2,
        )
        for name in (member.name for member in binding.spec.actuators)
    )


def _varying(
    robot: RobotTransmissions, binding: Binding, limits: Sequence[EffectiveLimits]
) -> tuple[tuple[MemberLimits, ...], tuple[Ratio, ...], float]:
    transmission = binding.transmission
    lower, upper, velocity, effort = _columns(limits)
    a = allowed_positions(transmission, lower, upper)
    jacobian = _jacobians(transmission, a)
    lost = 1.0 - len(jacobian) / max(len(a), 1)
    m, n = transmission.n_actuators, transmission.n_joints
    speed = np.array([tight_box(each, -velocity, velocity)[1] for each in jacobian])
    force = np.array([effort_box(each, effort) for each in jacobian])
    ratio = np.array([np.linalg.pinv(each) for each in jacobian], dtype=np.float64)
    # What an inverse has by rounding is no ratio.
    ratio[np.abs(ratio) <= _ROUNDING * np.abs(ratio).max(axis=(-2, -1), keepdims=True)] = 0.0
    unit = actuator_unit(robot.robot, binding)
    joint_units = [joint_unit(robot.robot, member.name) for member in binding.spec.joints]
    actuators = tuple(
        MemberLimits(
            member.name,
            unit,
            *_range(a[:, place]),
            _range(speed.reshape(-1, m)[:, place]),
            _range(force.reshape(-1, m)[:, place]),
        )
        for place, member in enumerate(binding.spec.actuators)
    )
    ratios = tuple(
        Ratio(
            actuator.name,
            joint.name,
            ratio_unit(unit, other),
            *_range(ratio.reshape(-1, m, n)[:, place, column]),
        )
        for place, actuator in enumerate(binding.spec.actuators)
        for column, (joint, other) in enumerate(zip(binding.spec.joints, joint_units, strict=True))
    )
    return actuators, ratios, lost


def _jacobians(transmission: Transmission, a: Array) -> Array:
    """Return those of the commanded joints at which velocities are mapped, by ``max_gain``."""
    found = transmission.jacobian(a)[:, : transmission.n_joints]
    found = found[np.isfinite(found).all(axis=(-2, -1))]
    if not len(found):
        return found
    smallest = np.linalg.svd(found, compute_uv=False)[:, -1]
    kept: Array = found[smallest * getattr(transmission, 'max_gain', np.inf) > np.median(smallest)]
    return kept


def _columns(limits: Sequence[EffectiveLimits]) -> Array:
    """Return lower, upper, velocity and effort, shape ``(4, n)``."""
    rows = [(each.lower, each.upper, each.velocity, each.effort) for each in limits]
    columns: Array = np.array(rows).reshape(-1, 4).T
    return columns


# -- From the limits of actuators to those of joints ---------------------------------------------


def _from_actuators(
    robot: RobotTransmissions, binding: Binding, limits: Sequence[EffectiveLimits], own: Array
) -> tuple[tuple[MemberLimits, ...], tuple[MemberLimits, ...], tuple[Region, ...]]:
    """
    Return the limits of the actuators, and what they allow the joints.

    :param own: Shape ``(2, 3, m)``, as :func:`motor_bounds`.
    """
    names = [member.name for member in binding.spec.joints]
    unit = actuator_unit(robot.robot, binding)
    actuators = tuple(
        MemberLimits(
            member.name,
            unit,
            *own[:, 0, place].tolist(),
            *((float(own[1, row, place]),) * 2 for row in (1, 2)),
        )
        for place, member in enumerate(binding.spec.actuators)
    )
    regions: tuple[Region, ...] = ()
    with np.errstate(all='ignore'):
        try:
            if binding.transmission.is_constant:
                box, maps = _constant_box(binding.transmission, own)
                if len(names) > 1:
                    regions = tuple(_regions(binding, unit, limits, own, maps))
            else:
                box = _varying_box(binding.transmission, limits, own)
        except (Exception, SystemExit):  # an error in a plugin affects its own numbers only
            box = np.full((4, len(names), 2), math.nan)
    joints = tuple(
        MemberLimits(
            name,
            joint_unit(robot.robot, name),
            float(box[0, place, 0]),
            float(box[1, place, 1]),
            *((float(least), float(greatest)) for least, greatest in box[2:, place]),
        )
        for place, name in enumerate(names)
    )
    return actuators, joints, regions


def _constant_box(transmission: Transmission, own: Array) -> tuple[Array, list[Array]]:
    """
    Return the box around what actuators allow, and ``A`` and ``b`` of ``a = A q + b``, and ``Jᵀ``.

    :returns: Lower and upper positions, speeds and efforts, each least and greatest, shape
        ``(4, n, 2)``; and the maps.
    """
    n, m = transmission.n_joints, transmission.n_actuators
    inverse = transmission.joint_to_actuator('velocity', np.eye(n)).T
    bias = transmission.joint_to_actuator('position', np.zeros(n))
    jacobian = transmission.jacobian(np.zeros(m))
    (lower, upper), (_, speed) = own[:, 0] - bias, own[:, 1]
    if m >= n:
        position = tight_box(inverse, lower, upper)
        velocity = tight_box(inverse, -speed, speed)[1]
    else:  # these joints cannot be anywhere else
        offset = transmission.actuator_to_joint('position', bias)
        position = image_box(jacobian, lower, upper)
        position = position[0] + offset, position[1] + offset
        velocity = image_box(jacobian, -speed, speed)[1]
    effort = tight_box(jacobian.T, *own[:, 2])[1]
    box = np.stack([*position, velocity, effort])
    return np.stack([box, box], axis=-1), [inverse, bias, jacobian.T]


def _regions(
    binding: Binding,
    unit: str,
    limits: Sequence[EffectiveLimits],
    own: Array,
    maps: Sequence[Array],
) -> Iterator[Region]:
    """Yield the region of each interface of which an actuator has a limit."""
    inverse, bias, transpose = maps
    _, _, velocity, effort = _columns(limits)
    for row, (matrix, joints) in enumerate(
        ((inverse, None), (inverse, velocity), (transpose, effort))
    ):
        lower, upper = own[:, row] - (bias if row == 0 else 0.0)
        rows = np.isfinite(lower) | np.isfinite(upper)
        if not rows.any() or not np.isfinite(matrix).all():
            continue
        matrix, lower, upper = matrix[rows], lower[rows], upper[rows]
        corners = np.empty((0, 2))
        is_plane = len(limits) == 2 and np.linalg.matrix_rank(matrix) == 2
        if is_plane and np.isfinite(tight_box(matrix, lower, upper)).all():
            corners = vertices(half_spaces(matrix, lower, upper))
        share = None
        if joints is not None and np.isfinite(joints).all():
            corner = image_box(np.abs(matrix), 0.0 * joints, joints)[1]
            share = float(np.fmin.reduce(upper / corner, initial=1.0))  # NaN: 0 of 0
        yield Region(
            FIELDS[row],
            units_of(unit)[row],
            tuple(member.name for member in binding.spec.joints),
            tuple(
                member.name
                for member, is_given in zip(binding.spec.actuators, rows, strict=True)
                if is_given
            ),
            matrix + 0.0,
            lower,
            upper,
            corners,
            share,
        )


def _varying_box(
    transmission: Transmission, limits: Sequence[EffectiveLimits], own: Array
) -> Array:
    """Return the same where the ratio varies: ranges over what is left of the positions."""
    lower, upper, _, _ = _columns(limits)
    a = allowed_positions(transmission, lower, upper)
    (least, greatest), speed, effort = own[:, 0], own[1, 1], own[1, 2]
    box = np.full((4, len(limits), 2), math.nan)
    if transmission.n_joints == transmission.n_actuators == 1 and len(a):
        # Of one actuator the ends are known exactly.
        least, greatest = np.maximum(least, a.min(axis=0)), np.minimum(greatest, a.max(axis=0))
        a = np.concatenate([a, np.stack([least, greatest])])
    a = a[((a >= least) & (a <= greatest)).all(axis=-1)]
    if not len(a):
        return box
    q = transmission.actuator_to_joint('position', a)[:, : transmission.n_joints]
    box[0], box[1] = q.min(axis=0)[:, np.newaxis], q.max(axis=0)[:, np.newaxis]
    jacobian = _jacobians(transmission, a)
    for row, samples in (
        (2, [_rate_box(each, speed) for each in jacobian]),
        (3, [tight_box(each.T, -effort, effort)[1] for each in jacobian]),
    ):
        if samples:
            box[row] = np.stack([np.min(samples, axis=0), np.max(samples, axis=0)], axis=-1)
    return box


def _rate_box(jacobian: Array, speed: Array) -> Array:
    n, m = jacobian.shape
    if m > n:
        inverse = np.asarray(np.linalg.pinv(jacobian), dtype=np.float64)
        return tight_box(inverse, -speed, speed)[1]
    return image_box(jacobian, -speed, speed)[1]


# -- Findings ------------------------------------------------------------------------------------

#: What rounding may add to a limit.
_ROUNDING = 1e-9


def limit_findings(
    robot: RobotTransmissions, binding: Binding, limits: TransmissionLimits
) -> Iterator[Finding]:
    """
    Yield a warning for each limit of a joint that promises more than its actuators allow.

    Another one for limits that allow positions near a dead centre.

    A joint promises nothing where it has no limit. Of coupled joints partners may help: what is
    warned of can be reached nowhere; where the ratio varies, not at every position.
    """
    places = {each.name: each for each in robot.robot.joints}
    if limits.lost:
        yield Finding(
            'warning',
            f"transmission '{binding.spec.name}' maps no velocities at {limits.lost:.1%} of the "
            'positions that the limits of its joints allow: they are near a dead centre; narrow '
            'these limits',
            line=binding.spec.line,
            path=binding.spec.path,
            subject=binding.spec.name,
        )
    for joint, allowed in zip(limits.joints, limits.allowed, strict=False):
        place = places.get(joint.name, binding.spec)
        for what, expected, found in _promises(joint, allowed, _reach(robot, binding, joint.name)):
            yield Finding(
                'warning',
                f"the {what} limit of joint '{joint.name}' promises more than the limits of its "
                'actuators allow',
                line=place.line,
                path=place.path,
                expected=expected,
                found=found,
                subject=binding.spec.name,
            )


def shared_limits(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each actuator to which transmissions give different limits."""
    found: dict[str, dict[str, list[float]]] = {}
    for binding in robot.bindings:
        for member in binding.spec.actuators:
            values = [
                tunable.value
                for tunable in robot.tunables.get(binding.spec.name, ())
                if tunable.path[:-1] == ('actuators', member.name, 'limit')
            ]
            if values:
                found.setdefault(member.name, {})[binding.spec.name] = values
                first, *others = found[member.name]
                if any(found[member.name][other] != found[member.name][first] for other in others):
                    yield Finding(
                        'warning',
                        f"transmissions give actuator '{member.name}' different limits, the "
                        'narrowest of each kind counts',
                        line=member.line,
                        path=member.path,
                        expected=f"those of transmission '{first}'",
                        found=f"those of '{binding.spec.name}'",
                        subject=binding.spec.name,
                    )


def _reach(robot: RobotTransmissions, binding: Binding, joint: str) -> Range:
    """Return the positions of a joint within its own limits and the domain."""
    names = [member.name for member in binding.spec.joints]
    limits = [effective_limits(robot.robot, name) for name in names]
    place = names.index(joint)
    if binding.transmission.is_constant:
        return limits[place].lower, limits[place].upper
    unlimited = np.full((2, len(FIELDS), binding.transmission.n_actuators), np.inf)
    unlimited[0] = -np.inf
    with np.errstate(all='ignore'):
        try:
            box = _varying_box(binding.transmission, limits, unlimited)
        except (Exception, SystemExit):
            return _UNKNOWN
    return float(box[0, place, 0]), float(box[1, place, 1])


def _promises(
    joint: MemberLimits, allowed: MemberLimits, reach: Range
) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of each limit that is too wide, what is allowed, and what is promised."""
    units = units_of(joint.unit)
    lower, upper = reach
    slack = _ROUNDING * (1.0 + max(abs(allowed.lower), abs(allowed.upper)))
    # Unknown compares false; so does what is open at the joint.
    below = allowed.lower - lower if math.isfinite(lower) else 0.0
    above = upper - allowed.upper if math.isfinite(upper) else 0.0
    if math.isnan(allowed.lower) and math.isfinite(upper - lower):
        yield 'position', 'a position that they allow', 'none within it'
    elif below > slack or above > slack:
        excess = [
            f'{value:.4g} {units[0]} too {side}'
            for value, side in ((below, 'low'), (above, 'high'))
            if value > slack
        ]
        yield (
            'position',
            f'{allowed.lower:.6g} to {allowed.upper:.6g} {units[0]}',
            f'{lower:.6g} to {upper:.6g} {units[0]}, {" and ".join(excess)}',
        )
    for row, (own, (least, greatest)) in enumerate(
        ((joint.velocity[0], allowed.velocity), (joint.effort[0], allowed.effort)), start=1
    ):
        if math.isfinite(own) and own > least * (1.0 + _ROUNDING):
            where = '' if least == greatest else f', {greatest:.6g} {units[row]} elsewhere'
            times = f'{own / least:.4g} times as much' if least > 0.0 else 'where it is zero'
            yield (
                FIELDS[row],
                f'at most {least:.6g} {units[row]}{where}',
                f'{own:.6g} {units[row]}, {times}',
            )


def _range(samples: Array) -> Range:
    return (float(samples.min()), float(samples.max())) if len(samples) else _UNKNOWN


def _as_json(values: Range) -> Any:
    least, greatest = values
    if math.isnan(least):
        return 'varies'
    if math.isinf(least):
        return None
    return least if least == greatest else [least, greatest if math.isfinite(greatest) else None]
