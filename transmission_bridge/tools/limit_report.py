# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The limits of each transmission: of actuators from those of the joints, and back.

``check`` prints them, cards and the page of ``tune`` read them. Functions keep no state, and their
samples are grids. Programs read the keys of the JSON and the words ``null`` and ``varies``;
sentences and numbers of digits are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from transmission_bridge.bridge import compute_motor_bounds
from transmission_bridge.description import Finding
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.kinematics import (
    bound_actuators,
    compute_gain_ratios,
    effort_box,
    GainRatios,
)
from transmission_bridge.tools.units import (
    list_report_units,
    report_actuator_unit,
    report_joint_unit,
    UNKNOWN_UNIT,
)
from transmission_bridge.transmissions import Binding, RobotTransmissions, Transmission
from transmission_bridge.transmissions.robot import image_box, sample_box, sample_mapped_positions
from transmission_bridge.types import Array

#: Names of the limits of a member: keys of the JSON and titles of ``check``, in the order of the
#: rows of limits here.
COLUMNS = ('lower', 'upper', 'velocity', 'effort')


class TransmissionLimitReport(NamedTuple):
    """
    The limits of the joints and actuators of a transmission, in role order.

    Limits have shape ``(3, members, 2)``: smallest and largest position, range of the largest
    speed and range of the largest effort over the allowed positions. They are infinite without a
    limit, and NaN if the limit is unknown, or the limits of a joint contradict each other.

    :param unit: Unit of position of the actuators: ``rad``, ``m``, or both if it is unknown.
    :param joints: Limits of the joints in the description.
    :param own: Limits of the actuators in the description.
    :param actuators: Limits of the actuators that result from the limits of the joints.
    :param ratios: Motion of actuators per motion of joints, shape ``(m, n, 2)`` with least and
        greatest over the allowed positions; empty if the Jacobian is constant.
    :param lost: Share of the allowed positions at which the bridge maps no velocities, because
        they are near a dead centre. Ranges do not include them.
    :param within: What the limits of the actuators leave of those of the joints: lower, upper,
        and velocity and effort at the worst position, shape ``(4, n)``; infinite without any.
    :param failure: Error of the plugin; the limits that need its maps are unknown.
    """

    unit: str
    joints: Array
    own: Array
    actuators: Array
    ratios: Array
    lost: float
    within: Array
    failure: str = ''


def describe_limits(
    robot: RobotTransmissions, binding: Binding, limits: TransmissionLimitReport
) -> dict[str, list[dict[str, Any]]]:
    """
    Return the JSON of limits, as keys of a transmission in ``check``.

    Numbers are as of :func:`describe_range`. Lists are in role order.

    :param limits: The report of this binding.
    """
    joints = [(x.name, report_joint_unit(robot.description, x.name)) for x in binding.spec.joints]
    actuators = [(actuator.name, limits.unit) for actuator in binding.spec.actuators]
    document: dict[str, list[dict[str, Any]]] = {}
    for key, members, box in (
        ('joint_limits', joints, limits.joints),
        ('actuator_limits', actuators, limits.actuators),
        ('own_actuator_limits', actuators, limits.own),
    ):
        document[key] = []
        for (name, unit), (ends, *rates) in zip(members, box.swapaxes(0, 1).tolist(), strict=True):
            values = ([end] for end in _clear_zeros(ends))
            numbers = zip(COLUMNS, map(describe_range, (*values, *rates)), strict=True)
            units = dict(zip(FIELDS, list_report_units(unit), strict=True))
            document[key].append({'name': name, **dict(numbers), 'units': units})
    document['ratios'] = [
        {
            'actuator': actuator,
            'joint': joint,
            # A ratio of equal units is a pure number.
            'unit': ''
            if limits.unit == unit != UNKNOWN_UNIT
            else '/'.join(f'({x})' if ' ' in x else x for x in (limits.unit, unit)),
            'ratio': describe_range(ends),
        }
        for (actuator, _), row in zip(actuators, limits.ratios.tolist(), strict=False)
        for (joint, unit), ends in zip(joints, row, strict=True)
    ]
    return document


def describe_range(ends: Sequence[float]) -> Any:
    """Return a number or a list of two for JSON: ``null`` if open, ``varies`` if NaN."""
    values = [
        'varies' if math.isnan(end) else end if math.isfinite(end) else None
        for end in _clear_zeros(ends)
    ]
    return values[0] if values[0] in (None, 'varies', values[-1]) else values


#: Relative size of numbers that are rounding beside larger ones.
_SMALLEST = 1e-12


def _clear_zeros(values: Sequence[float]) -> list[float]:
    """Return numbers, with zero in place of rounding beside the largest number."""
    size = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return [0.0 if abs(value) <= _SMALLEST * size else value for value in values]


def format_range(value: Any) -> str:
    """Return a number or a range of :func:`describe_range` as text, a range with fewer digits."""
    if value is None or value == 'varies':
        return '-' if value is None else '?'
    if not isinstance(value, list):
        return f'{value:.6g}'
    ends = (math.inf if end is None else end for end in value)
    return ' .. '.join(dict.fromkeys(f'{end:.4g}' for end in ends))


def report_transmission_limits(
    robot: RobotTransmissions, binding: Binding
) -> TransmissionLimitReport:
    """
    Return the limits of a transmission's joints and actuators.

    Limits of the joints are the
    :attr:`RobotTransmissions.joint_limits`. Limits of coupled
    actuators are the smallest box around the values that the joints allow together. If the
    Jacobian varies, limits are ranges, sampled over the positions within the domain and the limits
    of the joints.
    """
    limits, failure = read_reported_limits(robot, binding), ''
    bounds = _take_rows(compute_motor_bounds(robot), binding.actuators)
    with np.errstate(all='ignore'):
        try:
            actuators, ratios, lost, within = _compute_limits(binding.transmission, limits, bounds)
        except (Exception, SystemExit) as error:  # a plugin may raise anything
            failure = f"type '{binding.spec.type}' of transmission '{binding.spec.name}' raises "
            failure += f'{type(error).__name__}: {error}'
            actuators, ratios = np.full((3, bounds.shape[1], 2), math.nan), np.zeros((0, 0, 2))
            lost, within = 0.0, np.full_like(limits, math.nan)
    unit = report_actuator_unit(robot.description, binding)
    boxes = _make_box(limits), _make_box(bounds), actuators
    return TransmissionLimitReport(unit, *boxes, ratios, lost, within, failure)


def read_reported_limits(robot: RobotTransmissions, binding: Binding) -> Array:
    """Return the limits of a transmission's joints in the order of COLUMNS, shape ``(4, n)``."""
    return _take_rows(robot.joint_limits, binding.joints)


def _take_rows(bounds: Array, members: Any) -> Array:
    """
    Return the limits of members in the order of COLUMNS, shape ``(4, members)``.

    :param bounds: As :attr:`RobotTransmissions.joint_limits`, shape ``(2, 4, n)``.
    """
    limits = bounds[:, :, members]
    return np.stack([*limits[:, 0], *limits[1, 1:3]])


def _make_box(limits: Array) -> Array:
    """Return lower, upper, velocity and effort as in :class:`TransmissionLimitReport`."""
    return np.stack([limits[:2].T, *(np.stack([row, row], axis=-1) for row in limits[2:])])


def _compute_ends(samples: Any, shape: tuple[int, ...]) -> Array:
    """Return the minimum and maximum of samples, shape ``(*shape, 2)``."""
    values = samples if len(samples) else np.full((1, *shape), math.nan)
    return np.stack([np.min(values, axis=0), np.max(values, axis=0)], axis=-1).reshape(*shape, 2)


def _compute_limits(
    transmission: Transmission, limits: Array, bounds: Array
) -> tuple[Array, Array, float, Array]:
    """
    Return the limits that result for the other side.

    :param limits: Of the joints, shape ``(4, n)``.
    :param bounds: Of the actuators, shape ``(4, m)``.
    :returns: ``actuators``, ``ratios``, ``lost`` and ``within`` of
        :class:`TransmissionLimitReport`.
    """
    lower, upper, velocity, effort = limits
    m, n = transmission.n_actuators, transmission.n_joints
    ratio, lost = np.zeros((0, 0, 2)), 0.0
    if transmission.is_constant:
        zero = np.zeros((1, m))
        jacobian = transmission.jacobian(zero)
        rest = transmission.actuator_to_joint('position', zero)[0]
        ends = bound_actuators(jacobian[0], lower - rest, upper - rest)
        position = _compute_ends(ends if (lower <= upper).all() else (), (m,))
        left = np.stack(_map_box(jacobian[0], *bounds[:2])) + rest
    else:
        a = sample_mapped_positions(transmission, lower, upper)
        jacobian = compute_gain_ratios(transmission, a).jacobian
        jacobian = jacobian[np.isfinite(jacobian).all(axis=(-2, -1))]
        position, lost = _compute_ends(a, (m,)), 1.0 - len(jacobian) / len(a) if len(a) else 0.0
        ratio = _compute_ends(GainRatios(jacobian).per_joint, (m, n))
        a = a[((a >= bounds[0]) & (a <= bounds[1])).all(axis=-1)]
        left = _compute_ends(transmission.actuator_to_joint('position', a)[:, :n], (n,)).T
    speed = _compute_ends(bound_actuators(jacobian, -velocity, velocity)[1], (m,))
    force = _compute_ends(effort_box(jacobian, effort), (m,))
    within = np.outer([-math.inf, math.inf, math.inf, math.inf], np.ones(n))
    if np.isfinite(bounds).any():
        rates = report_joint_limits(GainRatios(jacobian), *bounds[2:])
        within = np.stack([*left, *(rate.min(axis=0, initial=math.inf) for rate in rates)])
    return np.stack([position, speed, force]), ratio, lost, within


def report_joint_limits(ratios: GainRatios, speed: Array, effort: Array) -> tuple[Array, Array]:
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
    velocity = [_map_box(jacobian, -speed, speed)[1] for jacobian in ratios.jacobian]
    force = [bound_actuators(jacobian.T, -effort, effort)[1] for jacobian in ratios.jacobian]
    return np.reshape(velocity, shape), np.reshape(force, shape)


def _map_box(jacobian: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the smallest box of joint values within bounds of the actuators."""
    n, m = jacobian.shape
    if m <= n:  # the actuators determine the joints
        return image_box(jacobian, lower, upper)
    return bound_actuators(np.asarray(np.linalg.pinv(jacobian), dtype=np.float64), lower, upper)


# -- Findings ------------------------------------------------------------------------------------

#: Relative rounding of a limit.
_ROUNDING = 1e-9

#: A limit is reached if a position this close to it is reached, as a share of the range.
_INSET = 1e-6

#: An end that is missed by this share of the larger limit is reached; numbers have four digits.
_ADVISED = 1e-3

#: Halvings between a position that is reached and a limit that is not.
_HALVINGS = 20


def warn_of_wide_limits(
    robot: RobotTransmissions, binding: Binding, limits: TransmissionLimitReport
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
    elements = {joint.name: joint for joint in robot.description.joints}
    if limits.failure:
        yield Finding.about(spec, 'error', limits.failure)
        return
    if limits.lost:
        text = (
            f"transmission '{name}' maps no velocities at {limits.lost:.1%} of the positions that "
            'the limits of its joints allow: they are near a dead centre; narrow these limits'
        )
        yield Finding.about(spec, 'warning', text)
    box = read_reported_limits(robot, binding)
    share, reach = _compute_reach(binding.transmission, box[:2])
    rows = zip(spec.joints, box.T.tolist(), reach.tolist(), limits.within.T.tolist(), strict=True)
    for joint, (lower, upper, *rates), (low, high), (least, greatest, *most) in rows:
        element: Any = elements.get(joint.name, spec)
        units = list_report_units(report_joint_unit(robot.description, joint.name))
        if lower < low or high < upper:
            text = (
                f"the position limit of joint '{joint.name}' is wider than its mechanism reaches"
            )
            ends = f'about {low:.4g} to {high:.4g} {units[0]}'
            found = f'{lower:.4g} to {upper:.4g} {units[0]}'
            yield Finding.about(element, 'warning', text, ends, found)
        # An open limit is not judged, and comparisons with unknown limits are false.
        slack = _ROUNDING * (1.0 + max(abs(least), abs(greatest)))
        too_wide = {}
        if -math.inf < low < least - slack or greatest + slack < high < math.inf:
            too_wide[0] = f'{least:.6g} to {greatest:.6g}', f'{low:.6g} to {high:.6g}'
        for row, (rate, limit) in enumerate(zip(rates, most, strict=True), 1):
            if limit * (1.0 + _ROUNDING) < rate < math.inf:
                too_wide[row] = f'at most {limit:.6g}', f'{rate:.6g}'
        for row, (allowed, stated) in too_wide.items():
            text = f"the {FIELDS[row]} limit of joint '{joint.name}' is wider than the limits of "
            numbers = f'{allowed} {units[row]}', f'{stated} {units[row]}'
            yield Finding.about(element, 'warning', f'{text}its actuators allow', *numbers)
    if share < 1.0:
        text = f"no actuator position of transmission '{name}' reaches {1.0 - share:.1%} of the"
        yield Finding.about(spec, 'info', f'{text} positions within its joint limits')


def warn_of_shared_limits(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each actuator with different limits in several transmissions."""
    first: dict[str, tuple[str, list[float]]] = {}
    for binding in robot.bindings:
        for member in binding.spec.actuators:
            path, name = ('actuators', member.name, 'limit'), binding.spec.name
            values = [tunable.value for tunable in binding.tunables if tunable.path[:-1] == path]
            other, expected = first.setdefault(member.name, (name, values)) if values else ('', [])
            if values != expected:
                text = f"transmissions give actuator '{member.name}' different limits, "
                numbers = f"the limits of transmission '{other}'", f"other limits of '{name}'"
                text += 'the narrowest of each kind is used'
                yield Finding.about(member, 'warning', text, *numbers)


def _compute_reach(transmission: Transmission, box: Array) -> tuple[float, Array]:
    """Return the share of the joints' box that actuators reach, and its reached ends by joint."""
    (lower, upper), ends = box, box.T
    if transmission.is_constant or not np.isfinite(box).all() or (lower >= upper).any():
        return 1.0, ends
    if transmission.n_actuators < len(lower):  # most positions in the box contradict each other
        a = sample_mapped_positions(transmission, lower, upper)
        share, samples = 1.0, transmission.actuator_to_joint('position', a)[:, : len(lower)]
        reached = np.stack([samples.min(axis=0), samples.max(axis=0)], axis=-1) if len(a) else ends
    else:
        inset = _INSET * (upper - lower)
        q = sample_box(lower + inset, upper - inset)
        samples = q[np.isfinite(transmission.joint_to_actuator('position', q)).all(axis=-1)]
        share, domain = len(samples) / len(q), getattr(transmission, 'domain', None)
        if share < 1.0 and domain is not None and domain.space == 'actuator':
            # The inverse may end before the mechanism does, on another branch.
            a = sample_box(np.array(domain.lower), np.array(domain.upper))
            moved = transmission.actuator_to_joint('position', a)[:, : len(lower)]
            inside = ((moved >= lower) & (moved <= upper)).all(axis=-1)
            samples = np.concatenate([samples, moved[inside]])
        reached = ends
        if len(samples) and np.ptp(samples, axis=0).all():
            reached = np.empty_like(ends)
            for joint, side in np.ndindex(ends.shape):
                end = float(ends[joint, side])
                reached[joint, side] = _follow_to_end(transmission, samples, joint, end)
    # An end as close as this has been advised, and its digits were rounded.
    is_reached = np.abs(reached - ends) < _ADVISED * np.abs(ends).max(axis=1, keepdims=True)
    return share, np.where(is_reached, ends, reached)


def _follow_to_end(transmission: Transmission, samples: Array, joint: int, end: float) -> float:
    """Return how far a joint moves towards a limit from the samples that are nearest to it."""
    apart = np.abs(samples[:, joint] - end)
    q = samples[apart <= apart.min() * (1.0 + _ROUNDING)]
    inside, outside = q[:, joint].copy(), np.full(len(q), end)
    for _ in range(_HALVINGS):
        q[:, joint] = 0.5 * (inside + outside)
        is_reached = np.isfinite(transmission.joint_to_actuator('position', q)).all(axis=-1)
        inside = np.where(is_reached, q[:, joint], inside)
        outside = np.where(is_reached, outside, q[:, joint])
    return float(inside[np.argmin(np.abs(inside - end))])
