# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of each transmission: of actuators from those of the joints, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.bridge import compute_motor_bounds
from transmission_bridge.description import Finding
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.kinematics import compute_ratios, effort_box, Ratios, tight_box
from transmission_bridge.tools.units import actuator_unit, joint_unit, ratio_unit, units_of
from transmission_bridge.transmissions import (
    Binding,
    RobotTransmissions,
    Transmission,
)
from transmission_bridge.transmissions.robot import allowed_positions, image_box, sample_box
from transmission_bridge.types import Array

#: Smallest and largest value; they are equal if the value does not depend on position.
Range = tuple[float, float]


class MemberLimits(NamedTuple):
    """
    The limits of a joint, or of an actuator from the limits of its joints.

    Infinite without a limit; NaN if the limit is unknown, or the limits of a joint contradict each
    other.

    :param unit: Unit of position: ``rad``, ``m``, or both if it is unknown.
    :param lower: Smallest position.
    :param upper: Largest position.
    :param velocity: Largest speed, over the allowed positions.
    :param effort: Largest effort, over the allowed positions.
    """

    name: str
    unit: str
    lower: float
    upper: float
    velocity: Range
    effort: Range


class RatioRange(NamedTuple):
    """
    Motion of an actuator per motion of a joint, if it depends on position.

    :param unit: Empty for a pure number.
    :param ratio: Range over the allowed positions.
    """

    actuator: str
    joint: str
    unit: str
    ratio: Range


class TransmissionLimits(NamedTuple):
    """
    The limits of the joints and actuators of a transmission, in role order.

    :param joints: Limits of the joints in the description.
    :param actuators: Limits of the actuators that result from the limits of the joints.
    :param own: Limits of the actuators in the description.
    :param ratios: Empty if the Jacobian is constant.
    :param lost: Share of the allowed positions at which the bridge maps no velocities, because
        they are near a dead centre. Ranges do not include them.
    :param within: What the limits of the actuators leave of those of the joints: lower, upper,
        and velocity and effort at the worst position, shape ``(4, n)``; ``None`` without any.
    :param failure: Error of the plugin; the limits that need its maps are unknown.
    """

    joints: tuple[MemberLimits, ...]
    actuators: tuple[MemberLimits, ...]
    own: tuple[MemberLimits, ...]
    ratios: tuple[RatioRange, ...] = ()
    lost: float = 0.0
    within: Array | None = None
    failure: str = ''


def as_json(found: MemberLimits | RatioRange) -> dict[str, Any]:
    """Return an object: ``null`` if open, ``varies`` if NaN, or the ends of a range."""
    document = {name: convert_to_json(value) for name, value in found._asdict().items()}
    if isinstance(found, MemberLimits):
        document['units'] = dict(zip(FIELDS, units_of(document.pop('unit')), strict=True))
    return document


def convert_to_json(value: Any) -> Any:
    """Return a number or a range as in :func:`as_json`."""
    if isinstance(value, float):
        return 'varies' if math.isnan(value) else value if math.isfinite(value) else None
    if not isinstance(value, tuple | list):
        return value
    values = [convert_to_json(each) for each in value]
    is_range = isinstance(value, tuple) and isinstance(value[0], float)
    return values[0] if is_range and (values[0] in (None, 'varies', values[1])) else values


#: Relative size of numbers that are rounding beside larger ones.
_SMALLEST = 1e-12


def clear_zeros(values: Sequence[Any]) -> list[Any]:
    """Return numbers, with zero in place of rounding beside the largest number."""
    size = max((abs(value) for value in values if isinstance(value, float)), default=0.0)
    return [
        0.0 if isinstance(value, float) and abs(value) <= _SMALLEST * size else value
        for value in values
    ]


def format_range(value: Any) -> str:
    """Return one number, or a sampled range with fewer digits."""
    if value is None or value == 'varies':
        return '-' if value is None else '?'
    if not isinstance(value, list):
        return f'{value:.6g}'
    ends = (math.inf if end is None else end for end in clear_zeros(value))
    return ' .. '.join(dict.fromkeys(f'{end:.4g}' for end in ends))


def transmission_limits(robot: RobotTransmissions, binding: Binding) -> TransmissionLimits:
    """
    Return the limits of a transmission's joints and actuators.

    Limits of the joints are the
    :attr:`RobotTransmissions.joint_limits`. Limits of coupled
    actuators are the smallest box around the values that the joints allow together. If the
    Jacobian varies, limits are ranges, sampled over the positions within the domain and the limits
    of the joints.
    """
    spec, limits = binding.spec, read_joint_limits(robot, binding)
    joints = [(joint.name, joint_unit(robot.description, joint.name)) for joint in spec.joints]
    unit = actuator_unit(robot.description, binding)
    actuators = [(actuator.name, unit) for actuator in spec.actuators]
    bounds = compute_motor_bounds(robot)[:, :, binding.actuators]
    own = np.stack([*bounds[:, 0], *bounds[1, 1:3]])
    members = _pack_limits(joints, limits), _pack_limits(actuators, own)
    with np.errstate(all='ignore'):
        try:
            box, ratio, lost, within = _compute_limits(binding.transmission, limits, own)
        except (Exception, SystemExit) as error:  # a plugin may raise anything
            failure = f"type '{spec.type}' of transmission '{spec.name}' raises "
            failure += f'{type(error).__name__}: {error}'
            unknown = _pack_limits(actuators, np.full_like(own, math.nan))
            return TransmissionLimits(members[0], unknown, members[1], failure=failure)
    ratios = tuple(
        RatioRange(actuator, joint, ratio_unit(unit, other), tuple(ends.tolist()))
        for (actuator, _), row in zip(actuators, ratio, strict=False)
        for (joint, other), ends in zip(joints, row, strict=True)
    )
    mapped = _pack_limits(actuators, box)
    return TransmissionLimits(members[0], mapped, members[1], ratios, lost, within)


def read_joint_limits(robot: RobotTransmissions, binding: Binding) -> Array:
    """Return lower, upper, velocity and effort, shape ``(4, n)``."""
    limits = robot.joint_limits[:, :, binding.joints]
    return np.stack([*limits[:, 0], *limits[1, 1:3]])


def _pack_limits(members: Sequence[tuple[str, str]], box: Array) -> tuple[MemberLimits, ...]:
    """
    Return the limits of members.

    :param members: Names and units of position.
    :param box: Lower, upper, velocity and effort, shape ``(4, members)``, or ``(4, members, 2)``
        with the ends of each range.
    """
    if box.ndim == 2:
        box = np.stack([box, box], axis=-1)
    return tuple(
        MemberLimits(*member, lower, upper, tuple(velocity), tuple(effort))
        for member, ((lower, _), (_, upper), velocity, effort) in zip(
            members, box.swapaxes(0, 1).tolist(), strict=True
        )
    )


def _compute_ends(samples: Any, shape: tuple[int, ...]) -> Array:
    """Return the minimum and maximum of samples, shape ``(*shape, 2)``."""
    values = samples if len(samples) else np.full((1, *shape), math.nan)
    return np.stack([np.min(values, axis=0), np.max(values, axis=0)], axis=-1).reshape(*shape, 2)


def _compute_limits(
    transmission: Transmission, limits: Array, own: Array
) -> tuple[Array, Any, float, Array | None]:
    """
    Return the limits that result for the other side.

    :param limits: Of the joints, shape ``(4, n)``.
    :param own: Of the actuators, shape ``(4, m)``.
    :returns: Limits of the actuators, shape ``(4, m, 2)`` as for :func:`_pack_limits`; ratios of
        actuators to joints if they vary, shape ``(m, n, 2)``, else empty; the share of positions
        without mapped velocities; :attr:`TransmissionLimits.within`.
    """
    lower, upper, velocity, effort = limits
    m, n = transmission.n_actuators, transmission.n_joints
    ratio: Any = ()
    lost = 0.0
    if transmission.is_constant:
        zero = np.zeros((1, m))
        jacobian = transmission.jacobian(zero)
        rest = transmission.actuator_to_joint('position', zero)[0]
        ends = tight_box(jacobian[0], lower - rest, upper - rest)
        position = _compute_ends(ends if (lower <= upper).all() else (), (m,))
        left = np.stack(_map_box(jacobian[0], *own[:2])) + rest
    else:
        a = allowed_positions(transmission, lower, upper)
        jacobian = compute_ratios(transmission, a).jacobian
        jacobian = jacobian[np.isfinite(jacobian).all(axis=(-2, -1))]
        position, lost = _compute_ends(a, (m,)), 1.0 - len(jacobian) / len(a) if len(a) else 0.0
        ratio = _compute_ends(Ratios(jacobian).per_joint, (m, n))
        a = a[((a >= own[0]) & (a <= own[1])).all(axis=-1)]
        left = _compute_ends(transmission.actuator_to_joint('position', a)[:, :n], (n,)).T
    speed = _compute_ends(tight_box(jacobian, -velocity, velocity)[1], (m,))
    force = _compute_ends(effort_box(jacobian, effort), (m,))
    within = None
    if np.isfinite(own).any():
        rates = compute_joint_limits(Ratios(jacobian), *own[2:])
        within = np.stack([*left, *(rate.min(axis=0, initial=math.inf) for rate in rates)])
    return np.stack([position, position, speed, force]), ratio, lost, within


def compute_joint_limits(ratios: Ratios, speed: Array, effort: Array) -> tuple[Array, Array]:
    """
    Return the largest speeds and efforts of joints, each for the best motion of the others.

    They are the smallest box around ``{J ȧ : |ȧ| <= speed}``, and around
    ``{τ_q : |Jᵀ τ_q| <= effort}`` by conservation of power.

    :param ratios: Of ``k`` positions, finite.
    :param speed: Largest speeds of the actuators, shape ``(m,)`` [rad/s or m/s].
    :param effort: Largest efforts, shape ``(m,)`` [N m or N].
    :returns: Both with shape ``(k, n)``.
    """
    shape = ratios.jacobian.shape[:2]
    velocity = [_map_box(each, -speed, speed)[1] for each in ratios.jacobian]
    force = [tight_box(each.T, -effort, effort)[1] for each in ratios.jacobian]
    return np.reshape(velocity, shape), np.reshape(force, shape)


def _map_box(jacobian: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the smallest box of joint values within bounds of the actuators."""
    n, m = jacobian.shape
    if m <= n:  # the actuators determine the joints
        return image_box(jacobian, lower, upper)
    return tight_box(np.asarray(np.linalg.pinv(jacobian), dtype=np.float64), lower, upper)


# -- Findings ------------------------------------------------------------------------------------

#: Relative rounding of a limit.
_ROUNDING = 1e-9

#: A limit is reached if a position this close to it is reached, as a share of the range.
_INSET = 1e-6

#: An end that is missed by this share of the larger limit is reached; numbers have four digits.
_ADVISED = 1e-3

#: Halvings between a position that is reached and a limit that is not.
_HALVINGS = 20


def limit_findings(
    robot: RobotTransmissions, binding: Binding, limits: TransmissionLimits
) -> Iterator[Finding]:
    """
    Yield a warning for each limit of a joint that is wider than its actuators allow.

    Limits that allow positions near a dead centre are another warning, and a limit that the
    mechanism does not reach. The share of positions that it does not reach is information. What
    the plugin raises is an error.

    A joint without a limit has no warning. A limit of coupled joints has one if no command of
    their partners reaches it; a limit with a varying ratio, if some position does not reach it.
    """
    spec, name = binding.spec, binding.spec.name
    places: dict[str, Any] = {joint.name: joint for joint in robot.description.joints}
    if limits.failure:
        yield Finding.about(spec, 'error', limits.failure)
        return
    if limits.lost:
        text = f"transmission '{name}' maps no velocities at {limits.lost:.1%} of the positions "
        text += 'that the limits of its joints allow: they are near a dead centre; narrow these '
        yield Finding.about(spec, 'warning', text + 'limits')
    share, ends = _compute_reach(binding.transmission, read_joint_limits(robot, binding)[:2])
    for joint, (low, high) in zip(limits.joints, ends, strict=True):
        if joint.lower < low or high < joint.upper:
            yield Finding.about(
                places.get(joint.name, spec),
                'warning',
                f"the position limit of joint '{joint.name}' is wider than its mechanism reaches",
                f'about {low:.4g} to {high:.4g} {joint.unit}',
                f'{joint.lower:.4g} to {joint.upper:.4g} {joint.unit}',
            )
    if share < 1.0:
        text = f"no actuator position of transmission '{name}' reaches {1.0 - share:.1%} of the"
        yield Finding.about(spec, 'info', f'{text} positions within its joint limits')
    allowed = () if limits.within is None else limits.within.T
    for joint, reached, within in zip(limits.joints, ends, allowed, strict=False):
        units = dict(zip(FIELDS, units_of(joint.unit), strict=True))
        for field, expected, found in _list_too_wide(joint, reached, within):
            yield Finding.about(
                places.get(joint.name, spec),
                'warning',
                f"the {field} limit of joint '{joint.name}' is wider than the limits of its "
                'actuators allow',
                f'{expected} {units[field]}',
                f'{found} {units[field]}',
            )


def _list_too_wide(
    joint: MemberLimits, reached: Array, within: Array
) -> Iterator[tuple[str, str, str]]:
    """
    Yield quantity, allowed and given limit of a joint for each limit that is too wide.

    An open limit is not judged, and comparisons with unknown limits are false.

    :param reached: The position limits that its mechanism reaches.
    :param within: The column of the joint in :attr:`TransmissionLimits.within`.
    """
    (low, high), (least, greatest, *most) = reached, within
    slack = _ROUNDING * (1.0 + max(abs(least), abs(greatest)))
    is_low = math.isfinite(low) and low < least - slack
    if is_low or (math.isfinite(high) and high > greatest + slack):
        yield FIELDS[0], f'{least:.6g} to {greatest:.6g}', f'{low:.6g} to {high:.6g}'
    for field, (value, _), limit in zip(FIELDS[1:], joint[-2:], most, strict=True):
        if math.isfinite(value) and value > limit * (1.0 + _ROUNDING):
            yield field, f'at most {limit:.6g}', f'{value:.6g}'


def shared_limits(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each actuator with different limits in several transmissions."""
    first: dict[str, tuple[str, list[float]]] = {}
    for binding in robot.bindings:
        for member in binding.spec.actuators:
            path, name = ('actuators', member.name, 'limit'), binding.spec.name
            values = [tunable.value for tunable in binding.tunables if tunable.path[:-1] == path]
            other, expected = first.setdefault(member.name, (name, values)) if values else ('', [])
            if values != expected:
                text = f"transmissions give actuator '{member.name}' different limits, the "
                text += 'narrowest of each kind is used'
                expectation = f"the limits of transmission '{other}'"
                found = f"other limits of '{name}'"
                yield Finding.about(member, 'warning', text, expectation, found)


def _compute_reach(transmission: Transmission, box: Array) -> tuple[float, Array]:
    """Return the share of the joints' box that actuators reach, and its reached ends by joint."""
    (lower, upper), ends = box, box.T
    if transmission.is_constant or not np.isfinite(box).all() or (lower >= upper).any():
        return 1.0, ends
    if transmission.n_actuators < len(lower):  # most positions in the box contradict each other
        a = allowed_positions(transmission, lower, upper)
        share, found = 1.0, transmission.actuator_to_joint('position', a)[:, : len(lower)]
        reached = np.stack([found.min(axis=0), found.max(axis=0)], axis=-1) if len(a) else ends
    else:
        inset = _INSET * (upper - lower)
        q = sample_box(lower + inset, upper - inset)
        found = q[np.isfinite(transmission.joint_to_actuator('position', q)).all(axis=-1)]
        share, domain = len(found) / len(q), getattr(transmission, 'domain', None)
        if share < 1.0 and domain is not None and domain.space == 'actuator':
            # The inverse may end before the mechanism does, on another branch.
            a = sample_box(np.array(domain.lower), np.array(domain.upper))
            moved = transmission.actuator_to_joint('position', a)[:, : len(lower)]
            inside = ((moved >= lower) & (moved <= upper)).all(axis=-1)
            found = np.concatenate([found, moved[inside]])
        reached = ends
        if len(found) and np.ptp(found, axis=0).all():
            reached = np.array(
                [
                    [_follow_to_end(transmission, found, k, end) for end in ends[k]]
                    for k in range(len(lower))
                ]
            )
    # An end as close as this has been advised, and its digits were rounded.
    is_reached = np.abs(reached - ends) < _ADVISED * np.abs(ends).max(axis=1, keepdims=True)
    return share, np.where(is_reached, ends, reached)


def _follow_to_end(transmission: Transmission, found: Array, place: int, end: float) -> float:
    """Return how far a joint moves towards a limit from the samples that are nearest to it."""
    apart = np.abs(found[:, place] - end)
    q = found[apart <= apart.min() * (1.0 + _ROUNDING)]
    inside, outside = q[:, place].copy(), np.full(len(q), end)
    for _ in range(_HALVINGS):
        q[:, place] = 0.5 * (inside + outside)
        is_reached = np.isfinite(transmission.joint_to_actuator('position', q)).all(axis=-1)
        inside = np.where(is_reached, q[:, place], inside)
        outside = np.where(is_reached, outside, q[:, place])
    return float(inside[np.argmin(np.abs(inside - end))])
