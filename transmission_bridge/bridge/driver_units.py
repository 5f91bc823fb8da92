# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The units of drivers: conversion of received and sent numbers. Everything inside is SI."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Index

Places: TypeAlias = Index | list[int] | slice | int


class DriverUnits:
    """
    Conversion between the units of the drivers and SI at the motors.

    The number in SI is the driver's number times its scale. Rows are position, velocity (and
    acceleration), effort.

    :ivar scales: Shape ``(3, n_actuators)``; ``None`` if all units are SI.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._texts = robot.units
        scales = np.ones((len(FIELDS), len(robot.actuator_names)))
        for name, units in robot.units.items():
            place = robot.actuator_names.index(name)
            scales[:, place] = [unit.scale for unit in units.all_units]
        self.scales: Array | None = None if (scales == 1.0).all() else scales

    def in_si(self, values: Array, *at: Places) -> Array:
        """
        Return numbers of drivers in SI; the same array if all units are SI.

        :param values: Shape ``(3, n_actuators)``; with a row ``(..., n_actuators)``.
        :param at: The row of the numbers, and the actuators of their last axis; by default all.
        """
        return values if self.scales is None else values * self.scales[at]

    def of_drivers(self, values: Array, *at: Places) -> Array:
        """Return numbers in SI in the units of the drivers; arguments as :meth:`in_si`."""
        return values if self.scales is None else values / self.scales[at]

    def find_text(self, actuator: str, row: int) -> str:
        """Return the unit of an actuator after a space, empty if it is SI."""
        units = self._texts.get(actuator)
        return f' {units.all_units[row].text}'.rstrip() if units else ''
