# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Random positions of a transmission, with the data that the checks need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.mechanism_transmission import (
    LARGEST_MAX_GAIN,
    MechanismTransmission,
)
from transmission_bridge.transmissions.transmission import slope_of, Transmission
from transmission_bridge.types import Array

#: Positions per check.
COUNT = 10_000

#: Positions with a larger condition number are not used.
CONDITION = 1e3


def opposite_direction(direction: Direction) -> Direction:
    """Return the other direction."""
    return JOINT_TO_ACTUATOR if direction == ACTUATOR_TO_JOINT else ACTUATOR_TO_JOINT


@dataclass(frozen=True)
class Subject:
    """
    A transmission and the positions at which it is checked.

    ``x`` is the space in which positions are drawn, ``y`` the other space. ``along`` is the
    direction from ``x`` to ``y``.

    :param x: Positions, shape ``(n, n_x)``.
    :param y: The mapped positions, ``(n, n_y)``.
    :param slope: ``dy/dx``, ``(n, n_y, n_x)``, from the velocity map.
    :param condition: Condition number of each position, ``(n,)``: the largest singular value of
        ``slope`` over the smallest; if the Jacobian varies, the median over all positions is also
        included.
    :param domain: The domain of the drawn positions, ``None`` if it is unlimited.
    """

    transmission: Transmission
    along: Direction
    x: Array
    y: Array
    slope: Array
    condition: Array
    domain: Domain | None

    def input_positions(self, direction: Direction) -> Array:
        """Return the positions in the input space of a direction."""
        return self.x if direction == self.along else self.y

    def take_first(self, count: int) -> Subject:
        """Return the subject with its first positions only."""
        names = ('x', 'y', 'slope', 'condition')
        return replace(self, **{name: getattr(self, name)[:count] for name in names})

    def map(
        self, direction: Direction, interface: str, values: npt.ArrayLike, **options: Any
    ) -> Array:
        """Map values."""
        return self.transmission.map(direction, interface, values, **options)


def subject_of(transmission: Transmission, *, count: int = COUNT) -> Subject:
    """
    Draw positions, uniform over the domain (standard normal if the Jacobian is constant).

    If the Jacobian varies, the transmission is checked with the largest ``max_gain``, so the
    checks cover all positions that it maps.

    :param count: Number of positions to draw; unreachable ones and those beyond :data:`CONDITION`
        are left out.
    :returns: The positions, with the derivatives there.
    :raises ValueError: If fewer than a tenth of the positions can be used.
    """
    random, domain = np.random.default_rng(0), None
    if isinstance(transmission, MechanismTransmission):
        transmission = transmission.with_max_gain(LARGEST_MAX_GAIN)
        domain = transmission.domain
    if domain is None:
        along: Direction = ACTUATOR_TO_JOINT
        x = random.normal(size=(count, transmission.n_actuators))
    else:
        along = JOINT_TO_ACTUATOR if domain.space == 'joint' else ACTUATOR_TO_JOINT
        x = random.uniform(domain.lower, domain.upper, size=(count, len(domain.lower)))
    y = transmission.map(along, 'position', x)
    reachable = np.asarray(np.isfinite(y).all(axis=-1))
    x, y = x[reachable], y[reachable]
    slope = slope_of(transmission, along, x)
    exists = np.asarray(np.isfinite(slope).all(axis=(-2, -1)))
    values = np.linalg.svd(np.where(exists[:, None, None], slope, 0.0), compute_uv=False)
    typical = np.nan if transmission.is_constant else np.median(values[exists])
    largest = np.fmax(values[:, 0], typical)
    smallest = np.fmin(values[:, -1], typical)
    with np.errstate(divide='ignore', invalid='ignore'):
        condition = largest / smallest
    usable = exists if transmission.is_constant else exists & (condition <= CONDITION)
    if np.count_nonzero(usable) < 0.1 * count:
        raise ValueError(
            f'of {count} positions in {domain} only {np.count_nonzero(usable)} can be used'
        )
    return Subject(
        transmission, along, x[usable], y[usable], slope[usable], condition[usable], domain
    )
