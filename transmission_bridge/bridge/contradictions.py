# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Joints that are measured beyond their limits: probably a wrong unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transmission_bridge.errors import shown
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: Tolerance of a measured position: share of the joint's range, and smallest value [rad or m].
_SHARE, _LEAST = 0.01, 1e-3


def compute_measured_limits(robot: RobotTransmissions) -> Array:
    """
    Return lower and upper limits of measured positions, shape ``(2, n_joints)``.

    A command interface may narrow the limits for commands only, or disable them.
    """
    (lower, upper), (low, high) = robot.joint_limits[:, 0], robot.urdf_limits[:, 0]
    return np.array([np.minimum(lower, low), np.maximum(upper, high)])


def describe_joints_beyond(
    names: Sequence[str], positions: Array, limits: Array
) -> Mapping[str, str]:
    """Return a sentence for each joint that is measured beyond its limits, ``(2, n_joints)``."""
    lower, upper = limits
    extent = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    margin = np.maximum(_SHARE * extent, _LEAST)
    beyond = (positions < lower - margin) | (positions > upper + margin)
    return {
        f'position of {names[k]}': f'{shown(names[k])} is measured at {positions[k]:.4g}, beyond '
        f'its limits {lower[k]:.4g} to {upper[k]:.4g}: check position_unit, wrap_period, '
        'mechanical_reduction, offset and <limit>'
        for k in np.flatnonzero(beyond).tolist()
    }
