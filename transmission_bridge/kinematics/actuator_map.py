# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The part of a robot's transmissions that moves the joints of a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import UnknownNameError
from transmission_bridge.kinematics.spatial import Array
from transmission_bridge.transmissions import RobotTransmissions, Transmission

__all__ = ['ActuatorMap', 'Coupling']

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Coupling:
    """
    Joints and actuators that one transmission connects.

    :param transmission: The transmission, or ``None`` for a joint that passes through.
    :param joints: Places among the joints of the map, in role order.
    :param actuators: Places among the actuators of the map, in role order.
    :param gives: Per actuator, whether its position comes from this transmission on the way back.
    """

    transmission: Transmission | None
    joints: Index
    actuators: Index
    gives: npt.NDArray[np.bool_]

    @property
    def is_constant(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return self.transmission is None or self.transmission.is_constant

    def joint_positions(self, a: Array) -> Array:
        """
        Return ``q = f(a)``.

        :param a: Positions of its actuators [rad or m], shape ``(..., m)``.
        :returns: Positions of its joints [rad or m], shape ``(..., n)``.
        """
        if self.transmission is None:
            return np.array(a)
        return self.transmission.actuator_to_joint('position', a)

    def actuator_positions(self, q: Array, guess: Array | None = None) -> Array:
        """
        Return ``a = f^-1(q)``.

        :param q: Positions of its joints [rad or m], shape ``(..., n)``.
        :param guess: Actuator positions near which a solution is sought, shape ``(..., m)``.
        :returns: Positions of its actuators [rad or m], shape ``(..., m)``.
        """
        if self.transmission is None:
            return np.array(q)
        return self.transmission.joint_to_actuator('position', q, guess=guess)

    def jacobian(self, a: Array) -> Array:
        """
        Return ``∂q/∂a``.

        :param a: Positions of its actuators [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., n, m)``, unit of a joint per unit of an actuator.
        """
        if self.transmission is None:
            return np.ones((*a.shape[:-1], 1, 1))
        return self.transmission.jacobian(a)


class _Part(NamedTuple):
    """A transmission or a joint that passes through, with its places in the whole robot."""

    transmission: Transmission | None
    joints: tuple[int, ...]
    actuators: tuple[int, ...]
    owned: tuple[bool, ...]


def _parts(transmissions: RobotTransmissions) -> Iterator[_Part]:
    for binding in transmissions.bindings:
        yield _Part(binding.transmission, binding.joints, binding.actuators, binding.owned)
    for name in transmissions.pass_through:
        joint = transmissions.joint_names.index(name)
        actuator = transmissions.actuator_names.index(name)
        yield _Part(None, (joint,), (actuator,), (True,))


class ActuatorMap:
    """
    From the actuators that move given joints to these joints.

    A transmission that moves one of the joints is taken whole: all its actuators count, and its
    other joints are companions, joints of the map that the device does not have.

    :param transmissions: The robot's transmissions.
    :param joint_names: The joints of the device.
    :raises UnknownNameError: If a joint is moved by no transmission and does not pass through.
    """

    def __init__(self, transmissions: RobotTransmissions, joint_names: Sequence[str]) -> None:
        known = transmissions.joint_names
        for name in joint_names:
            if name not in known:
                raise UnknownNameError('joint', name, known)
        wanted = {known.index(name) for name in joint_names}
        parts = [part for part in _parts(transmissions) if wanted & set(part.joints)]
        joints = dict.fromkeys(place for part in parts for place in part.joints)
        rows = [known.index(name) for name in joint_names]
        rows += [place for place in joints if place not in wanted]
        columns = sorted({place for part in parts for place in part.actuators})
        # Several transmissions may read an actuator: the one that commands it gives its position,
        # or the first of those here.
        givers: dict[int, _Part] = {}
        for part in parts:
            for place, is_owned in zip(part.actuators, part.owned, strict=True):
                if is_owned or place not in givers:
                    givers[place] = part
        #: The joints of the device, in its order, then the companions.
        self.joint_names: tuple[str, ...] = tuple(known[place] for place in rows)
        #: The companions.
        self.companions: tuple[str, ...] = self.joint_names[len(joint_names) :]
        #: The actuators, in the order of the robot's transmissions.
        self.actuator_names: tuple[str, ...] = tuple(
            transmissions.actuator_names[place] for place in columns
        )
        #: The transmissions and the joints that pass through.
        self.couplings: tuple[Coupling, ...] = tuple(
            Coupling(
                part.transmission,
                np.array([rows.index(place) for place in part.joints], dtype=np.intp),
                np.array([columns.index(place) for place in part.actuators], dtype=np.intp),
                np.array([givers[place] is part for place in part.actuators], dtype=np.bool_),
            )
            for part in parts
        )

    @property
    def is_constant(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return all(coupling.is_constant for coupling in self.couplings)

    def joint_positions(self, a: Array) -> Array:
        """
        Return joint positions, companions last.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., n)`` [rad or m].
        """
        q = np.empty((*a.shape[:-1], len(self.joint_names)))
        for coupling in self.couplings:
            q[..., coupling.joints] = coupling.joint_positions(a[..., coupling.actuators])
        return q

    def actuator_positions(self, q: Array, guess: Array | None = None) -> Array:
        """
        Return actuator positions.

        :param q: Positions of all joints of the map [rad or m], shape ``(..., n)``.
        :param guess: Actuator positions near which solutions are sought, shape ``(..., m)``.
        :returns: Shape ``(..., m)`` [rad or m]; NaN where no solution was found.
        """
        a = np.full((*q.shape[:-1], len(self.actuator_names)), np.nan)
        for coupling in self.couplings:
            near = None if guess is None else guess[..., coupling.actuators]
            found = coupling.actuator_positions(q[..., coupling.joints], near)
            a[..., coupling.actuators[coupling.gives]] = found[..., coupling.gives]
        return a

    def jacobian(self, a: Array) -> Array:
        """
        Return ``∂q/∂a``, companions last.

        :param a: Actuator positions [rad or m], shape ``(..., m)``.
        :returns: Shape ``(..., n, m)``, unit of a joint per unit of an actuator.
        """
        jacobian = np.zeros((*a.shape[:-1], len(self.joint_names), len(self.actuator_names)))
        for coupling in self.couplings:
            rows = coupling.joints[:, np.newaxis]
            jacobian[..., rows, coupling.actuators] = coupling.jacobian(a[..., coupling.actuators])
        return jacobian
