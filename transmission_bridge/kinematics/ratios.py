# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Ratios of a transmission at positions, and matrices of motors and joints through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transmission_bridge.transmissions import Transmission
from transmission_bridge.types import Array

#: Relative rounding of an inverse.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Ratios:
    """
    The ratios at one position or several; NaN where they do not exist.

    Stiffness, damping and inertia are forms of motion: ``ȧᵀ M_a ȧ = q̇ᵀ M_q q̇``, ``q̇ = J ȧ``.

    :param jacobian: ``J = ∂q/∂a``, shape ``(..., n, m)``.
    """

    jacobian: Array

    @property
    def inverse(self) -> Array:
        """``J^-1``, motion of each actuator per unit of each joint, shape ``(..., m, n)``."""
        inverse = np.full(np.swapaxes(self.jacobian, -2, -1).shape, np.nan)
        is_known = np.isfinite(self.jacobian).all(axis=(-2, -1))
        found = np.linalg.pinv(self.jacobian[is_known])
        size = np.abs(found)
        most = size.max(axis=(-2, -1), keepdims=True, initial=0.0)
        inverse[is_known] = np.where(size <= _ROUNDING * most, 0.0, found)
        return inverse

    @property
    def per_joint(self) -> Array:
        """As :attr:`inverse`, same shape, but ``1 / J`` if one actuator moves several joints."""
        n, m = self.jacobian.shape[-2:]
        if m != 1 or n == 1:
            return self.inverse
        jacobian = np.swapaxes(self.jacobian, -2, -1)
        with np.errstate(divide='ignore'):
            return np.where(jacobian == 0.0, np.nan, 1.0 / jacobian)

    def map_to_joints(self, matrix: Array) -> Array:
        """
        Return ``J^-T M J^-1``, shape ``(..., n, n)``: inertia, damping or stiffness at the joints.

        :param matrix: ``M`` at the actuators [kg m², N m s/rad, N m/rad], ``(..., m, m)``.
        """
        inverse = self.inverse
        return np.asarray(np.swapaxes(inverse, -2, -1) @ matrix @ inverse)

    def map_to_actuators(self, matrix: Array) -> Array:
        """
        Return ``Jᵀ M J``, shape ``(..., m, m)``: inertia, damping or stiffness at the actuators.

        :param matrix: ``M`` at the joints [kg m², N m s/rad, N m/rad], ``(..., n, n)``.
        """
        return np.asarray(np.swapaxes(self.jacobian, -2, -1) @ matrix @ self.jacobian)


def compute_ratios(transmission: Transmission, a: Array) -> Ratios:
    """
    Return the ratios of the commanded joints where the bridge maps velocities.

    They are NaN near a dead centre, where a gain exceeds ``max_gain`` times its median over ``a``.

    :param transmission: The transmission.
    :param a: Positions of the actuators [rad or m], shape ``(k, m)``.
    """
    found = transmission.jacobian(a)[:, : transmission.n_joints]
    is_known = np.isfinite(found).all(axis=(-2, -1))
    if is_known.any():
        smallest = np.linalg.svd(found[is_known], compute_uv=False)[:, -1]
        most = getattr(transmission, 'max_gain', np.inf)
        is_known[is_known] = smallest * most > np.median(smallest)
    found[~is_known] = np.nan
    return Ratios(found)


def compute_lost_share(matrix: Array) -> Array:
    """
    Return the share beside the diagonal, ``‖M − diag M‖ / ‖M‖`` (Frobenius norm).

    :param matrix: Shape ``(..., n, n)``.
    :returns: Shape ``(...)``, without unit, zero for a zero matrix.
    """
    diagonal = np.eye(matrix.shape[-1]) * matrix
    beside, whole = (np.linalg.norm(each, axis=(-2, -1)) for each in (matrix - diagonal, matrix))
    return np.asarray(np.where(whole == 0.0, 0.0, beside / np.where(whole == 0.0, 1.0, whole)))
