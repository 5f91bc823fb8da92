# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of each transmission: of actuators from those of the joints, and the reverse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from transmission_bridge.bridge import compute_motor_bounds
from transmission_bridge.description import effective_limits, Finding
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.kinematics import compute_ratios, effort_box, Ratios, tight_box
from transmission_bridge.tools.units import actuator_unit, joint_unit, ratio_unit, units_of
from transmission_bridge.transmissions import Binding, RobotTransmissions, Transmission
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


class Region(NamedTuple):
    """
    Values ``x`` of coupled joints within limits of their actuators: ``lower <= A x <= upper``.

    :param interface: Interface of ``x``: ``position``, ``velocity`` or ``effort``.
    :param unit: Unit of the bounds, which are at the motor (without the offset of positions).
    :param joints: Names, one for each column of ``A``.
    :param actuators: Names, one for each row.
    :param matrix: ``A``.
    :param lower: Lower bounds, infinite if open.
    :param upper: Upper bounds, infinite if open.
    :param share: Scale of the joints' own limits if all joints are commanded at them together;
        ``None`` if a joint has no limit.
    """

    interface: str
    unit: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    matrix: Array
    lower: Array
    upper: Array
    share: float | None


class TransmissionLimits(NamedTuple):
    """
    The limits of the joints and actuators of a transmission, in role order.

    :param joints: Limits of the joints in the description.
    :param actuators: Limits of the actuators that result from the limits of the joints.
    :param ratios: Empty if the Jacobian is constant.
    :param lost: Share of the allowed positions at which the bridge maps no velocities, because
        they are near a dead centre. Ranges do not include them.
    :param own: Limits of the actuators in the description; empty without any.
    :param allowed: Limits of the joints that result from ``own``, for coupled joints the smallest
        box; empty without any.
    :param regions: Allowed regions of coupled joints, if the ratio is constant.
    :param failures: Errors of the plugin; the limits that need its maps are unknown.
    """

    joints: tuple[MemberLimits, ...]
    actuators: tuple[MemberLimits, ...]
    ratios: tuple[RatioRange, ...] = ()
    lost: float = 0.0
    own: tuple[MemberLimits, ...] = ()
    allowed: tuple[MemberLimits, ...] = ()
    regions: tuple[Region, ...] = ()
    failures: tuple[str, ...] = ()


def as_json(found: MemberLimits | RatioRange | Region) -> dict[str, Any]:
    """Return an object: ``null`` if open, ``varies`` if NaN, or the ends of a range."""
    document = {name: convert_to_json(value) for name, value in found._asdict().items()}
    if isinstance(found, MemberLimits):
        document['units'] = dict(zip(FIELDS, units_of(document.pop('unit')), strict=True))
    return document


def convert_to_json(value: Any) -> Any:
    """Return a number, an array or a range as in :func:`as_json`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
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
    :func:`~transmission_bridge.description.limits.effective_limits`. Limits of coupled
    actuators are the smallest box around the values that the joints allow together. If the
    Jacobian varies, limits are ranges, sampled over the positions within the domain and the limits
    of the joints. Limits of the joints from the actuators' own limits follow the same rules.
    """
    transmission, limits = binding.transmission, read_joint_limits(robot, binding)
    joints = [
        (each.name, joint_unit(robot.description, each.name)) for each in binding.spec.joints
    ]
    unit = actuator_unit(robot.description, binding)
    actuators = [(each.name, unit) for each in binding.spec.actuators]
    guard = _Guard(binding)
    boxes = guard.compute(_compute_actuator_box, transmission, limits)
    box, ratio, lost = boxes or (None, (), 0.0)
    ratios = tuple(
        RatioRange(actuator, joint, ratio_unit(unit, other), tuple(ends.tolist()))
        for (actuator, _), row in zip(actuators, ratio, strict=False)
        for (joint, other), ends in zip(joints, row, strict=True)
    )
    found = _pack_limits(joints, limits), _pack_limits(actuators, box), ratios, lost
    own = compute_motor_bounds(robot)[:, :, binding.actuators]
    if not np.isfinite(own).any():
        return TransmissionLimits(*found, failures=guard.failures)
    allowed = guard.compute(_compute_joint_box, transmission, limits, own)
    regions: list[Region] | None = []
    if transmission.is_constant and len(joints) > 1:
        regions = guard.compute(lambda: [*_list_regions(binding, unit, limits, own)])
    own_limits = _pack_limits(actuators, np.stack([*own[:, 0], own[1, 1], own[1, 2]]))
    allowed_limits = _pack_limits(joints, allowed)
    passed = own_limits, allowed_limits, tuple(regions or ())
    return TransmissionLimits(*found, *passed, guard.failures)


def read_joint_limits(robot: RobotTransmissions, binding: Binding) -> Array:
    """Return lower, upper, velocity and effort, shape ``(4, n)``."""
    limits = [effective_limits(robot.description, each.name) for each in binding.spec.joints]
    rows = [(each.lower, each.upper, each.velocity, each.effort) for each in limits]
    return np.array(rows).reshape(-1, 4).T


def _pack_limits(
    members: Sequence[tuple[str, str]], box: Array | None
) -> tuple[MemberLimits, ...]:
    """
    Return the limits of members.

    :param members: Names and units of position.
    :param box: Lower, upper, velocity and effort, shape ``(4, members)``, or ``(4, members, 2)``
        with the ends of each range; ``None``: unknown.
    """
    if box is None:
        box = np.full((4, len(members)), math.nan)
    if box.ndim == 2:
        box = np.stack([box, box], axis=-1)
    return tuple(
        MemberLimits(*member, lower, upper, tuple(velocity), tuple(effort))
        for member, ((lower, _), (_, upper), velocity, effort) in zip(
            members, box.swapaxes(0, 1).tolist(), strict=True
        )
    )


_T = TypeVar('_T')


class _Guard:
    """
    Computes by the maps of a plugin, which may raise anything.

    :ivar failures: A sentence for each different error.
    """

    def __init__(self, binding: Binding) -> None:
        self.failures: tuple[str, ...] = ()
        self._name = f"type '{binding.spec.type}' of transmission '{binding.spec.name}'"

    def compute(self, function: Callable[..., _T], *arguments: Any) -> _T | None:
        """Return a result, ``None`` after an error."""
        with np.errstate(all='ignore'):
            try:
                return function(*arguments)
            except (Exception, SystemExit) as error:
                failure = f'{self._name} raises {type(error).__name__}: {error}'
                self.failures = (*dict.fromkeys((*self.failures, failure)),)
                return None


def _compute_ends(samples: Any, shape: tuple[int, ...]) -> Array:
    """Return the minimum and maximum of samples, shape ``(*shape, 2)``."""
    values = samples if len(samples) else np.full((1, *shape), math.nan)
    return np.stack([np.min(values, axis=0), np.max(values, axis=0)], axis=-1).reshape(*shape, 2)


def _compute_actuator_box(
    transmission: Transmission, limits: Array
) -> tuple[Array, Sequence[Array], float]:
    """
    Return the limits of the actuators that result from the limits of the joints.

    :returns: Shape ``(4, m, 2)`` as for :func:`_pack_limits`; ratios of actuators to joints
        if they vary, a row of shape ``(n, 2)`` for each actuator, else empty; the share of
        positions without mapped velocities.
    """
    lower, upper, velocity, effort = limits
    m, n = transmission.n_actuators, transmission.n_joints
    ratio: Sequence[Array] = ()
    lost = 0.0
    if transmission.is_constant:
        jacobian, rest = _evaluate_constant(transmission)
        ends = tight_box(jacobian[0], lower - rest, upper - rest)
        position = _compute_ends(ends if (lower <= upper).all() else (), (m,))
    else:
        a = allowed_positions(transmission, lower, upper)
        jacobian, position = _select_jacobians(transmission, a), _compute_ends(a, (m,))
        lost = 1.0 - len(jacobian) / max(len(a), 1)
        ratio = [*_compute_ends(Ratios(jacobian).inverse, (m, n))]
    speed = _compute_ends([tight_box(each, -velocity, velocity)[1] for each in jacobian], (m,))
    force = _compute_ends([effort_box(each, effort) for each in jacobian], (m,))
    return np.stack([position, position, speed, force]), ratio, lost


def _compute_joint_box(transmission: Transmission, limits: Array, own: Array) -> Array:
    """
    Return the limits of the joints that result from the limits of the actuators.

    :param own: Shape ``(2, 4, m)``, as :func:`compute_motor_bounds`.
    :returns: Shape ``(4, n, 2)``.
    """
    (least, greatest), speed, effort = own[:, 0], own[1, 1], own[1, 2]
    n = (transmission.n_joints,)
    if transmission.is_constant:
        jacobian, rest = _evaluate_constant(transmission)
        low, high = _map_box(jacobian[0], least, greatest)
        position = np.stack([low + rest, high + rest], axis=-1)
    else:
        a = allowed_positions(transmission, *limits[:2])
        if n == (1,) == least.shape and len(a):
            # The ends of a single actuator are known exactly.
            least, greatest = np.maximum(least, a.min(axis=0)), np.minimum(greatest, a.max(axis=0))
            a = np.concatenate([a, [least, greatest]])
        a = a[((a >= least) & (a <= greatest)).all(axis=-1)]
        q = transmission.actuator_to_joint('position', a)[:, : n[0]]
        jacobian, position = _select_jacobians(transmission, a), _compute_ends(q, n)
    velocity, force = compute_joint_limits(Ratios(jacobian), speed, effort)
    return np.stack([position, position, _compute_ends(velocity, n), _compute_ends(force, n)])


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


def _evaluate_constant(transmission: Transmission) -> tuple[Array, Array]:
    """Return the Jacobian, shape ``(1, n, m)``, and the joint positions for actuators at zero."""
    zero = np.zeros((1, transmission.n_actuators))
    return transmission.jacobian(zero), transmission.actuator_to_joint('position', zero)[0]


def _select_jacobians(transmission: Transmission, a: Array) -> Array:
    """Return the Jacobians where velocities are mapped."""
    found = compute_ratios(transmission, a).jacobian
    return found[np.isfinite(found).all(axis=(-2, -1))]


def _list_regions(binding: Binding, unit: str, limits: Array, own: Array) -> Iterator[Region]:
    """Yield the region of each interface with a limit of an actuator."""
    transmission = binding.transmission
    inverse = transmission.joint_to_actuator('velocity', np.eye(transmission.n_joints)).T
    bias = transmission.joint_to_actuator('position', np.zeros(transmission.n_joints))
    transpose = _evaluate_constant(transmission)[0][0].T
    for row, matrix in enumerate((inverse, inverse, transpose)):
        lower, upper = own[:, row] - (bias if row == 0 else 0.0)
        rows = np.isfinite(lower) | np.isfinite(upper)
        if not rows.any() or not np.isfinite(matrix).all():
            continue
        share = None
        if row and np.isfinite(joints := limits[row + 1]).all():
            corner = image_box(np.abs(matrix[rows]), 0.0 * joints, joints)[1]
            share = float(np.fmin.reduce(upper[rows] / corner, initial=1.0))  # NaN: 0 of 0
        names = tuple(each.name for each in binding.spec.joints)
        motors = tuple(binding.spec.actuators[k].name for k in np.flatnonzero(rows))
        interface, bounds = (FIELDS[row], units_of(unit)[row]), (lower[rows], upper[rows])
        yield Region(*interface, names, motors, matrix[rows] + 0.0, *bounds, share)


# -- Findings ------------------------------------------------------------------------------------

#: Relative rounding of a limit.
_ROUNDING = 1e-9

#: A limit is reached if a position this close to it is reached, as a share of the range.
_INSET = 1e-6


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
    spec, guard = binding.spec, _Guard(binding)
    places: dict[str, Any] = {each.name: each for each in robot.description.joints}

    def warning(place: Any, text: str, **more: Any) -> Finding:
        return Finding(
            'warning', text, line=place.line, path=place.path, subject=spec.name, **more
        )

    if limits.lost:
        yield warning(
            spec,
            f"transmission '{spec.name}' maps no velocities at {limits.lost:.1%} of the "
            'positions that the limits of its joints allow: they are near a dead centre; narrow '
            'these limits',
        )
    share, ends = _compute_reach_share(guard, binding, read_joint_limits(robot, binding)[:2])
    reach: Any = ()
    if limits.allowed:
        reach = _compute_reach(guard, binding, read_joint_limits(robot, binding))
    for failure in dict.fromkeys((*limits.failures, *guard.failures)):
        yield replace(warning(spec, failure), severity='error')
    for joint, (low, high) in zip(limits.joints, ends, strict=True):
        if joint.lower < low or high < joint.upper:
            yield warning(
                places.get(joint.name, spec),
                f"the position limit of joint '{joint.name}' is wider than its mechanism reaches",
                expected=f'about {low:.4g} to {high:.4g} {joint.unit}',
                found=f'{joint.lower:.4g} to {joint.upper:.4g} {joint.unit}',
            )
    if share < 1.0:
        text = (
            f"no actuator position of transmission '{spec.name}' reaches {1.0 - share:.1%} of the"
        )
        yield replace(warning(spec, f'{text} positions within its joint limits'), severity='info')
    if not limits.allowed:
        return
    for joint, allowed, ends in zip(limits.joints, limits.allowed, reach, strict=True):
        for what, expected, found in _list_wide_limits(joint, allowed, *map(float, ends)):
            yield warning(
                places.get(joint.name, spec),
                f"the {what} limit of joint '{joint.name}' is wider than the limits of its "
                'actuators allow',
                expected=expected,
                found=found,
            )


def shared_limits(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each actuator with different limits in several transmissions."""
    first: dict[str, tuple[str, list[float]]] = {}
    for binding in robot.bindings:
        for member in binding.spec.actuators:
            values = [
                tunable.value
                for tunable in robot.tunables.get(binding.spec.name, ())
                if tunable.path[:-1] == ('actuators', member.name, 'limit')
            ]
            if not values:
                continue
            other, expected = first.setdefault(member.name, (binding.spec.name, values))
            if values != expected:
                yield Finding(
                    'warning',
                    f"transmissions give actuator '{member.name}' different limits, the "
                    'narrowest of each kind is used',
                    line=member.line,
                    path=member.path,
                    expected=f"the limits of transmission '{other}'",
                    found=f"other limits of '{binding.spec.name}'",
                    subject=binding.spec.name,
                )


def _compute_reach(guard: _Guard, binding: Binding, limits: Array) -> Array:
    """Return the positions of the joints within their own limits and the domain."""
    if binding.transmission.is_constant:
        return limits[:2].T
    unlimited = np.full((2, len(FIELDS), binding.transmission.n_actuators), np.inf)
    unlimited[0] = -np.inf
    box = guard.compute(_compute_joint_box, binding.transmission, limits, unlimited)
    return np.full((limits.shape[1], 2), math.nan) if box is None else box[0]


def _compute_reach_share(guard: _Guard, binding: Binding, box: Array) -> tuple[float, Array]:
    """Return the share of the joints' box that actuators reach, and its reached ends by joint."""
    transmission, (lower, upper), ends = binding.transmission, box, box.T
    if transmission.is_constant or not np.isfinite(box).all() or (lower >= upper).any():
        return 1.0, ends
    inset = _INSET * (upper - lower)
    q = sample_box(lower + inset, upper - inset)
    a = guard.compute(transmission.joint_to_actuator, 'position', q)
    found = q if a is None else q[np.isfinite(a).all(axis=-1)]
    if len(found) and np.ptp(found, axis=0).all():
        reached = np.stack([found.min(axis=0) - inset, found.max(axis=0) + inset], axis=-1)
        ends = np.where(np.abs(reached - ends) < inset[:, np.newaxis], ends, reached)
    return len(found) / len(q), ends


def _list_wide_limits(
    joint: MemberLimits, allowed: MemberLimits, lower: float, upper: float
) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of each limit that is too wide, its allowed range, and the limit."""
    units = units_of(joint.unit)
    slack = _ROUNDING * (1.0 + max(abs(allowed.lower), abs(allowed.upper)))
    # Comparisons with unknown limits and with open limits of the joint are false.
    below = allowed.lower - lower if math.isfinite(lower) else 0.0
    above = upper - allowed.upper if math.isfinite(upper) else 0.0
    if math.isnan(allowed.lower) and math.isfinite(upper - lower):
        yield 'position', 'an allowed position', 'no allowed position within it'
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
            times = f'{own / least:.4g} times as much' if least > 0.0 else 'with zero allowed'
            yield (
                FIELDS[row],
                f'at most {least:.6g} {units[row]}{where}',
                f'{own:.6g} {units[row]}, {times}',
            )
