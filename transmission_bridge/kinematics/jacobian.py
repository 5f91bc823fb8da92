# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The Jacobian of several frames at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transmission_bridge.kinematics.compiled_path import CompiledPath
from transmission_bridge.kinematics.path_kernel import path_jacobian
from transmission_bridge.kinematics.spatial import Array
from transmission_bridge.kinematics.state import as_configuration, Configuration

__all__ = ['JacobianCalculator']


class JacobianCalculator:
    """
    Jacobians of chosen frames seen from a device's base (RobWork's JacobianCalculator).

    Made by :meth:`JointDevice.jacobian_calculator`.

    :param frames: Names of the frames.
    :param joint_names: Names of the device's joints, in the order of its coordinates.
    :param paths: The compiled way from the base to each frame.
    """

    def __init__(
        self, frames: Sequence[str], joint_names: Sequence[str], paths: Sequence[CompiledPath]
    ) -> None:
        #: Names of the frames, in the order of the rows.
        self.frames = tuple(frames)
        self._joint_names = tuple(joint_names)
        self._paths = tuple(paths)

    def get(self, q: Configuration) -> Array:
        """
        Return the Jacobians, one below the other; calling the calculator does the same.

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6 m, n)``; rows ``6 k`` to ``6 k + 2`` are the linear velocity of
            the origin of frame ``k``, the next three its angular velocity, in the base's axes
            [m/rad or 1; rad/rad or 0].
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        values = as_configuration(q, self._joint_names)
        if not self._paths:
            return np.zeros((*values.shape[:-1], 0, values.shape[-1]))
        return np.concatenate([path_jacobian(path, values) for path in self._paths], axis=-2)

    def __call__(self, q: Configuration) -> Array:
        """Return :meth:`get` of the same argument."""
        return self.get(q)
