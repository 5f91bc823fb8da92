# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What remains of a trajectory when it is over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.transmissions.affine_map import Array

__all__ = ['TrajectoryEnd']

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryEnd:
    """
    Where a trajectory leaves the robot.

    :param named: The joints that it names, shape ``(n_joints,)``.
    :param joints: These and the coupled ones that hold meanwhile: their former commands are over.
    :param joint_position: Where they stay, NaN where that is not known.
    :param actuators: The actuators that move them, shape ``(n_actuators,)``.
    :param actuator_position: Where these stay, NaN where that is not known.
    :param start: When it starts [s]; former commands go on until then.
    :param until: When it is over [s].
    """

    named: Mask
    joints: Mask
    joint_position: Array
    actuators: Mask
    actuator_position: Array
    start: float
    until: float
