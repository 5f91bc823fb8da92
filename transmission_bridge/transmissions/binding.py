# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission of a robot with its live numbers and the indices of its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transmission_bridge.description import TransmissionSpec
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.domain import MapReport
from transmission_bridge.transmissions.robot.units import ActuatorUnits
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array, Index


@dataclass(frozen=True, slots=True)
class Binding:
    """
    A transmission and the indices of its members in the robot's arrays, both in role order.

    ``tunables`` are its live numbers. ``units`` are the driver units by actuator name, if it sets
    any. ``by_role`` are the interfaces that pass from actuator to joint by role, unmapped.
    ``owned`` states for each actuator whether commands to it come from this transmission: several
    transmissions may read an actuator, only one commands it. ``passive`` are the joints that it
    moves but that cannot be commanded.
    """

    spec: TransmissionSpec
    transmission: Transmission
    tunables: tuple[Tunable, ...] = ()
    units: Mapping[str, ActuatorUnits] = field(default_factory=dict)
    by_role: frozenset[str] = frozenset()
    joints: tuple[int, ...] = ()
    actuators: tuple[int, ...] = ()
    owned: tuple[bool, ...] = ()
    passive: tuple[int, ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether it passes a joint without a transmission through."""
        return not self.spec.type

    @property
    def all_joints(self) -> tuple[int, ...]:
        """Indices of all joints that it moves: in role order, then the passive joints."""
        return (*self.joints, *self.passive)

    def member_indices(self, direction: Direction) -> tuple[Index, Index, Index]:
        """Return the indices of its inputs and outputs, and which outputs the robot uses."""
        inputs, outputs, selected = self.joints, self.actuators, np.flatnonzero(self.owned)
        if direction == ACTUATOR_TO_JOINT:
            inputs, outputs = self.actuators, self.all_joints
            selected = np.arange(len(outputs))
        return np.array(inputs, dtype=np.intp), np.array(outputs, dtype=np.intp), selected

    def map(
        self,
        direction: Direction,
        interface: str,
        values: Array,
        report: MapReport | None = None,
        **where: Any,
    ) -> Array:
        """Map values of its members; ``where`` holds ``at``, ``rate`` and ``guess``."""
        part = (report or MapReport()).for_transmission(self.spec.name)
        return self.transmission.map(direction, interface, values, report=part, **where)
