# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Actuator positions that satisfy the limits of their joints, compared with their own limits.

The builder and tuning reject transmissions with disjoint ranges. Tools and kinematics compute
limits from the samples and boxes. Samples are grids, without randomness.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from transmission_bridge.description import collect_limits, RobotDescription
from transmission_bridge.errors import ParameterError, shortened
from transmission_bridge.transmissions.domain import make_grid
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.robot.table import Binding
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.types import Array

#: Rounding tolerance of a limit.
_ROUNDING = 1e-9

#: Samples per coordinate for a varying ratio, by the number of coordinates; for more of them. They
#: decide how close the rejected ranges are to exact.
_POINTS, _FEWEST = {1: 201, 2: 21, 3: 9, 4: 5}, 3


def find_disjoint_ranges(
    built: Sequence[Binding], robot: RobotDescription
) -> dict[str, ParameterError]:
    """
    Return an error for each transmission with an actuator that cannot satisfy all its limits.

    The limits are the actuator's own limits, from all transmissions, and the mapped limits of
    the joints. If they exclude each other, a position command could only reach the closer end of
    the actuator's own range.
    """
    motor_limits: dict[str, dict[str, list[float]]] = {}
    for item in built:
        for tunable in item.tunables:
            if tunable.is_actuator_limit:
                _, name, _, kind = tunable.path
                motor_limits.setdefault(name, {}).setdefault(kind, []).append(tunable.value)
    errors = {}
    for item in built:
        if motor_limits.keys().isdisjoint(member.name for member in item.spec.actuators):
            continue
        # The smallest and largest actuator positions within the limits of the joints.
        transmission = item.transmission
        n, m = transmission.n_joints, transmission.n_actuators
        of_joints = collect_limits(robot, [member.name for member in item.spec.joints])[:, 0]
        box = np.full(m, -np.inf), np.full(m, np.inf)
        with np.errstate(all='ignore'):
            if transmission.is_constant and (of_joints[0] <= of_joints[1]).all():
                origin, *moved = transmission.joint_to_actuator('position', np.eye(n + 1, n, -1))
                ends = image_box((np.array(moved) - origin).T, *of_joints)
                box = ends[0] + origin, ends[1] + origin
            elif len(samples := sample_mapped_positions(transmission, *of_joints)):
                ends = samples.min(axis=0), samples.max(axis=0)
                between = (ends[1] - ends[0]) / _POINTS.get(n, _FEWEST)
                box = ends[0] - between, ends[1] + between
        for member, least, greatest in zip(item.spec.actuators, *box, strict=True):
            limits = motor_limits.get(member.name, {'lower': [-math.inf], 'upper': [math.inf]})
            lower, upper = max(limits['lower']), min(limits['upper'])
            low, high = max(lower, least), min(upper, greatest)
            if low - high > _ROUNDING * (1.0 + abs(low) + abs(high)):
                joints = shortened([joint.name for joint in item.spec.joints])
                errors[item.spec.name] = ParameterError(
                    f"the position limits of actuator '{member.name}' and of {joints} exclude "
                    'each other; correct a <limit>, a reduction or an offset',
                    transmission=item.spec.name,
                    parameter=f'actuators.{member.name}.limit',
                    expected=f'positions in [{least:g}, {greatest:g}], the limits of {joints} '
                    'mapped to the motor',
                    found=f'[{lower:g}, {upper:g}]',
                )
    return errors


def sample_mapped_positions(transmission: Transmission, lower: Array, upper: Array) -> Array:
    """Return a grid of actuator positions within joint limits and domain."""
    n = transmission.n_joints
    if isinstance(transmission, MechanismTransmission):
        domain = transmission.domain
        ends = np.array([domain.lower, domain.upper])
        if domain.space == 'actuator':
            reached = np.stack([lower, upper])
            if transmission.members == (1, 1):
                reached = np.sort(transmission.actuator_to_joint('position', ends)[:, :1], axis=0)
            is_known = np.isfinite(reached).all() or np.isfinite([lower, upper]).all()
            if n != transmission.n_actuators or not is_known:
                # Within the limits of each joint that determines the actuators.
                for k in range(n if n > 1 else 0):
                    if (alone := transmission.select_joints([k])) is not None:
                        reached = np.sort(alone.actuator_to_joint('position', ends), axis=0)
                        limits = np.clip([[lower[k]], [upper[k]]], *reached)
                        ends = np.sort(alone.joint_to_actuator('position', limits), axis=0)
                a = sample_box(*ends)
                q = transmission.actuator_to_joint('position', a)[:, :n]
                slack = _ROUNDING * np.abs(q)
                return a[((q >= lower - slack) & (q <= upper + slack)).all(axis=-1)]
            ends = reached
        if np.isfinite(ends).all():
            lower, upper = np.maximum(lower, ends[0]), np.minimum(upper, ends[1])
    if not (np.isfinite([lower, upper]).all() and (lower <= upper).all()):
        return np.empty((0, transmission.n_actuators))
    a = transmission.joint_to_actuator('position', sample_box(lower, upper))
    return a[np.isfinite(a).all(axis=-1)]


def sample_box(lower: Array, upper: Array) -> Array:
    """Return a grid of positions within a box, ends included."""
    return make_grid(lower, upper, _POINTS.get(len(lower), _FEWEST))


def image_box(matrix: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the ends ``(..., n)`` of the smallest box around ``{M x : lower <= x <= upper}``.

    :param matrix: ``M``, shape ``(..., n, m)``.
    :param lower: Lower ends, shape ``(m,)``; infinite without a limit.
    :param upper: Upper ends.
    """
    with np.errstate(invalid='ignore'):  # zero times infinity: no dependence
        at_lower, at_upper = (np.where(matrix == 0.0, 0.0, matrix * x) for x in (lower, upper))
    is_rising = matrix > 0.0
    least = np.where(is_rising, at_lower, at_upper).sum(axis=-1)
    return least, np.where(is_rising, at_upper, at_lower).sum(axis=-1)
