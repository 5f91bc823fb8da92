# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Joint limits seen from the actuators, transmission by transmission.

With ``q = f(a)`` and ``J = ∂q/∂a``: positions keep ``l <= f(a) <= u``, rates ``|J ȧ| <= v``,
efforts are ``τ_a = Jᵀ τ_q`` with ``|τ_q| <= e``. Boxes are tight, half-spaces exact.
"""

from __future__ import annotations

import numpy as np

from transmission_bridge.kinematics.actuator_map import ActuatorMap, Block
from transmission_bridge.kinematics.polytope import (
    effort_box,
    effort_half_spaces,
    half_spaces,
    tight_box,
)
from transmission_bridge.kinematics.spatial import Array

__all__ = [
    'effort_limits',
    'effort_region',
    'position_bounds',
    'position_region',
    'rate_limits',
    'rate_region',
]


def position_bounds(actuator_map: ActuatorMap, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the least box of actuator positions around those that joint bounds allow.

    Exact for transmissions with a constant Jacobian, and for single joints whatever their ratio;
    a coupled mechanism whose ratio depends on position has no polytope, its bounds are NaN.

    :param actuator_map: From actuators to joints.
    :param lower: Least joint positions [rad or m], shape ``(n,)``, infinite where open.
    :param upper: Greatest joint positions [rad or m], shape ``(n,)``, infinite where open.
    :returns: Least and greatest actuator positions [rad or m], each of shape ``(m,)``.
    """
    size = len(actuator_map.actuator_names)
    least, greatest = np.full(size, -np.inf), np.full(size, np.inf)
    for block in actuator_map.blocks:
        low, high = _block_bounds(block, lower[block.joints], upper[block.joints])
        places = block.actuators
        least[places] = np.maximum(least[places], low)
        greatest[places] = np.minimum(greatest[places], high)
    return least, greatest


def rate_limits(actuator_map: ActuatorMap, limits: Array, a: Array) -> Array:
    """
    Return the greatest speeds of actuators that joint speeds allow, ``|J ȧ| <= limits``.

    Accelerations are alike where the actuators do not move.

    :param actuator_map: From actuators to joints.
    :param limits: Greatest joint rates, shape ``(n,)``, infinite where open.
    :param a: Actuator positions [rad or m], shape ``(m,)``.
    :returns: Shape ``(m,)``, actuator unit per second (squared).
    """
    greatest = np.full(len(actuator_map.actuator_names), np.inf)
    for block, jacobian in _jacobians(actuator_map, a):
        rates = limits[block.joints]
        high = tight_box(jacobian, -rates, rates)[1] if _is_known(jacobian) else np.nan
        greatest[block.actuators] = np.minimum(greatest[block.actuators], high)
    return greatest


def effort_limits(actuator_map: ActuatorMap, limits: Array, a: Array) -> Array:
    """
    Return the greatest efforts of actuators that joint efforts ask for, ``Jᵀ τ_q``.

    :param actuator_map: From actuators to joints.
    :param limits: Greatest joint efforts [N m or N], shape ``(n,)``, infinite where open.
    :param a: Actuator positions [rad or m], shape ``(m,)``.
    :returns: Shape ``(m,)`` [N m or N].
    """
    greatest = np.zeros(len(actuator_map.actuator_names))
    for block, jacobian in _jacobians(actuator_map, a):
        reach = effort_box(jacobian, limits[block.joints]) if _is_known(jacobian) else np.nan
        greatest[block.actuators] += reach
    return greatest


def position_region(actuator_map: ActuatorMap, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the actuator positions that joint bounds allow as half-spaces ``A a <= b``.

    :param actuator_map: From actuators to joints, with a constant Jacobian.
    :param lower: Least joint positions [rad or m], shape ``(n,)``, infinite where open.
    :param upper: Greatest joint positions [rad or m], shape ``(n,)``, infinite where open.
    :returns: ``A`` of shape ``(k, m)``, ``b`` of shape ``(k,)``, units of the joints.
    """
    zero = np.zeros(len(actuator_map.actuator_names))
    offset = actuator_map.joint_positions(zero)
    return half_spaces(actuator_map.jacobian(zero), lower - offset, upper - offset)


def rate_region(actuator_map: ActuatorMap, limits: Array, a: Array) -> tuple[Array, Array]:
    """
    Return the actuator rates that joint rates allow as half-spaces ``A ȧ <= b``.

    :param actuator_map: From actuators to joints.
    :param limits: Greatest joint rates, shape ``(n,)``, infinite where open.
    :param a: Actuator positions [rad or m], shape ``(m,)``.
    :returns: ``A`` of shape ``(k, m)``, ``b`` of shape ``(k,)``, units of the joints.
    """
    return half_spaces(actuator_map.jacobian(a), -limits, limits)


def effort_region(actuator_map: ActuatorMap, limits: Array, a: Array) -> tuple[Array, Array]:
    """
    Return the actuator efforts that balance joint efforts as half-spaces ``A τ_a <= b``.

    :param actuator_map: From actuators to joints.
    :param limits: Greatest joint efforts [N m or N], shape ``(n,)``, infinite where open.
    :param a: Actuator positions [rad or m], shape ``(m,)``.
    :returns: ``A`` of shape ``(k, m)``, ``b`` of shape ``(k,)`` [N m or N].
    """
    size = len(actuator_map.actuator_names)
    rows, bounds = [np.zeros((0, size))], [np.zeros(0)]
    for block, jacobian in _jacobians(actuator_map, a):
        matrix, bound = effort_half_spaces(jacobian, limits[block.joints])
        wide = np.zeros((len(matrix), size))
        wide[:, block.actuators] = matrix
        rows.append(wide)
        bounds.append(bound)
    return np.concatenate(rows), np.concatenate(bounds)


def _is_known(jacobian: Array) -> bool:
    return bool(np.isfinite(jacobian).all())


def _jacobians(actuator_map: ActuatorMap, a: Array) -> list[tuple[Block, Array]]:
    return [(block, block.jacobian(a[block.actuators])) for block in actuator_map.blocks]


def _block_bounds(block: Block, lower: Array, upper: Array) -> tuple[Array, Array]:
    size = len(block.actuators)
    if block.is_constant:
        zero = np.zeros(size)
        offset = block.joint_positions(zero)
        return tight_box(block.jacobian(zero), lower - offset, upper - offset)
    if size == 1 and len(block.joints) == 1:
        return _single_bounds(block, lower, upper)
    return np.full(size, np.nan), np.full(size, np.nan)


def _single_bounds(block: Block, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the bounds of one actuator through a ratio that varies but does not change sign."""
    least, greatest = np.array([-np.inf]), np.array([np.inf])
    for bound, is_upper in ((lower, False), (upper, True)):
        if not np.isfinite(bound[0]):
            continue
        a = block.actuator_positions(bound)
        slope = block.jacobian(a)[0, 0]
        if not np.isfinite(slope):
            return np.full(1, np.nan), np.full(1, np.nan)  # the mechanism does not reach it
        if is_upper == (slope > 0.0):
            greatest = a
        else:
            least = a
    return least, greatest
