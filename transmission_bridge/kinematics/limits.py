# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Limits of a device's joints, and the resulting limits of its actuators.

With ``q = f(a)`` and ``J = ∂q/∂a`` (``n`` joints, ``m`` actuators): positions satisfy
``l <= f(a) <= u``, rates ``|J ȧ| <= v``, both a polytope of actuator values. Efforts with
``|τ_q| <= e`` map to the zonotope ``τ_a = Jᵀ τ_q``. Boxes are the smallest around them. ``J`` has
full rank; limits may be infinite.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from transmission_bridge.description import compute_limits, RobotDescription
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR
from transmission_bridge.kinematics.joint import Joint, JointError, LARGEST
from transmission_bridge.transmissions.robot import image_box, Robot
from transmission_bridge.types import Array


@dataclass(frozen=True, eq=False)
class DeviceLimits:
    """
    Bounds per coordinate and magnitudes per degree of freedom, infinite if there is no limit.

    Shapes are ``(n,)`` for ``lower`` and ``upper`` [rad or m] and ``(m,)`` for ``velocity``,
    ``acceleration`` and ``effort`` [rad/s, rad/s², N m or m/s, m/s², N].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            values = np.array(given, dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @classmethod
    def from_joints(cls, joints: Sequence[Joint]) -> DeviceLimits:
        """Return the enabled limits of joints; joints have no acceleration limits."""
        bounds: list[tuple[float, float]] = []
        magnitudes: list[tuple[float, float, float]] = []
        for joint in joints:
            limits, infinite = joint.limits, (np.inf,) * joint.n_dofs
            least = limits.lower if limits.has_position else (-np.inf,) * joint.n_positions
            greatest = limits.upper if limits.has_position else (np.inf,) * joint.n_positions
            bounds += zip(least, greatest, strict=True)
            velocity = limits.velocity if limits.has_velocity else infinite
            effort = limits.effort if limits.has_effort else infinite
            magnitudes += zip(velocity, infinite, effort, strict=True)
        lower, upper = np.reshape(bounds, (-1, 2)).T
        lower = np.where(lower <= -LARGEST, -np.inf, lower)
        upper = np.where(upper >= LARGEST, np.inf, upper)
        return cls(lower, upper, *np.reshape(magnitudes, (-1, 3)).T)

    def require_valid(self, name: str, kinds: Collection[str]) -> None:
        """
        Raise :class:`JointError` if bounds of these kinds are crossed or magnitudes invalid.

        Limits of a description are not checked here: its findings report them.
        """
        if {'lower', 'upper'} & set(kinds) and not np.all(self.lower <= self.upper):
            raise JointError(name, f'bounds {self.lower} and {self.upper} are not in order')
        for kind in ('velocity', 'acceleration', 'effort'):
            if kind in kinds and not np.all(getattr(self, kind) >= 0.0):
                raise JointError(name, f'{kind} limits {getattr(self, kind)} are not magnitudes')


def limits_from_description(robot: RobotDescription, joints: Sequence[Joint]) -> DeviceLimits:
    """
    Return the limits of joints in the description, infinite if not given.

    A joint with one coordinate has its
    :func:`~transmission_bridge.description.specs.compute_limits`, as in the rest of the
    package: ``<limit>`` narrowed by ``min`` and ``max`` of the command interfaces in
    ``<ros2_control>``. The smaller of acceleration and deceleration limits both. Crossed bounds
    are kept. Joints with several degrees of freedom have no limits, because URDF does not assign
    them.
    """
    bounds: list[tuple[float, float]] = []
    magnitudes: list[tuple[float, float, float]] = []
    limits = compute_limits(robot, [joint.name if joint.is_scalar else '' for joint in joints])
    for joint, (lower, upper) in zip(joints, limits.transpose(2, 0, 1).tolist(), strict=True):
        bounds += [(lower[0], upper[0])] * joint.n_positions
        magnitudes += [(upper[1], min(upper[3], -lower[3]), upper[2])] * joint.n_dofs
    return DeviceLimits(*np.reshape(bounds, (-1, 2)).T, *np.reshape(magnitudes, (-1, 3)).T)


def tight_box(jacobian: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the smallest box ``(..., m)`` twice around ``{a : lower <= J a <= upper}``.

    By duality, the largest ``a_i`` is the minimum over all sets of ``m`` independent joints of the
    largest value that the set alone allows, ``a = J_B^-1 q_B``. With more actuators than joints, a
    direction that moves no joint is unbounded.

    :param jacobian: ``J``, shape ``(..., n, m)``.
    :param lower: Smallest motion of each joint [rad or m, or per second], shape ``(n,)``.
    :param upper: Largest motion of each joint, shape ``(n,)``.
    """
    *batch, n, m = jacobian.shape
    least, greatest = np.full((*batch, m), -np.inf), np.full((*batch, m), np.inf)
    for rows in map(list, combinations(range(n), min(n, m))):
        chosen = jacobian[..., rows, :]
        is_lost = np.linalg.matrix_rank(chosen) < len(rows)
        chosen = np.where(is_lost[..., np.newaxis, np.newaxis], np.eye(len(rows), m), chosen)
        inverse = np.linalg.inv(chosen) if len(rows) == m else np.linalg.pinv(chosen)
        size = np.abs(inverse)
        # Remove entries within rounding errors.
        rounding = 8.0 * np.finfo(float).eps * (size @ np.abs(chosen) @ size)
        inverse = np.where(size <= rounding, 0.0, inverse)
        low, high = image_box(inverse, lower[rows], upper[rows])
        # Joints bound only the actuators that they determine.
        is_free = np.abs(inverse @ chosen - np.eye(m)).max(axis=-1) > 1e-9
        is_free |= is_lost[..., np.newaxis]
        low[is_free], high[is_free] = -np.inf, np.inf
        least, greatest = np.maximum(least, low), np.minimum(greatest, high)
    return least, greatest


def effort_box(jacobian: Array, effort: Array) -> Array:
    """
    Return the largest ``|Jᵀ τ|`` over ``|τ| <= effort``: ``Σ_j |J_ji| e_j``, shape ``(..., m)``.

    :param jacobian: ``J``, shape ``(..., n, m)``.
    :param effort: Largest effort of each joint [N m or N], shape ``(n,)``.
    """
    return image_box(np.abs(jacobian.swapaxes(-1, -2)), np.zeros(len(effort)), effort)[1]


def compute_position_bounds(robot: Robot, lower: Array, upper: Array) -> tuple[Array, Array]:
    """
    Return the smallest box ``(m,), (m,)`` around the actuator positions within joint bounds.

    It is exact for transmissions with a constant Jacobian, and for single joints with any ratio.
    The bounds of coupled position-dependent mechanisms are NaN, because they are not a polytope.
    """
    size = len(robot.actuator_names)
    least, greatest = np.full(size, -np.inf), np.full(size, np.inf)
    for binding in robot.bindings:
        joints, actuators = list(binding.joints), list(binding.actuators)
        bounds = np.array([lower[joints], upper[joints]])
        low = high = np.full(len(actuators), np.nan)
        if binding.transmission.is_constant:
            zero = np.zeros(len(actuators))
            bounds = bounds - binding.map(ACTUATOR_TO_JOINT, 'position', zero)
            low, high = tight_box(binding.transmission.jacobian(zero), *bounds)
        elif len(actuators) == len(joints) == 1:
            # The sign of the ratio is constant even if the ratio varies.
            is_given = np.isfinite(bounds[:, 0])
            a = binding.map(JOINT_TO_ACTUATOR, 'position', bounds)
            slope = binding.transmission.jacobian(a)[:, 0, 0]
            if np.isfinite(slope[is_given]).all():  # the mechanism reaches the bounds
                is_greatest = (slope > 0.0) == [False, True]
                low = a[is_given & ~is_greatest].max(axis=0, initial=-np.inf)
                high = a[is_given & is_greatest].min(axis=0, initial=np.inf)
        least[actuators] = np.maximum(least[actuators], low)
        greatest[actuators] = np.minimum(greatest[actuators], high)
    return least, greatest


def compute_limits_at(robot: Robot, limits: Array, a: Array, *, is_effort: bool) -> Array:
    """
    Return the largest actuator speeds ``(m,)`` at ``a`` with ``|J ȧ| <= limits``.

    The same equation holds for accelerations at standstill. Efforts are the largest ``|Jᵀ τ|`` for
    ``|τ| <= limits``. Limits of passive joints do not apply to commands.
    """
    greatest = np.full(len(robot.actuator_names), 0.0 if is_effort else np.inf)
    for binding in robot.bindings:
        actuators, joints = list(binding.actuators), list(binding.joints)
        jacobian, most = binding.transmission.jacobian(a[actuators])[: len(joints)], limits[joints]
        if not np.isfinite(jacobian).all():
            greatest[actuators] = np.nan
        elif is_effort:
            greatest[actuators] += effort_box(jacobian, most)
        else:
            high = tight_box(jacobian, -most, most)[1]
            greatest[actuators] = np.minimum(greatest[actuators], high)
    return greatest
