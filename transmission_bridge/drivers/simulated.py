# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated drive as a driver."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import numpy as np

from transmission_bridge.drivers.driver import Command, Driver, Hardware
from transmission_bridge.sim import Drive, DriverSettings, Mode
from transmission_bridge.types import Array


class SimulatedDriver(Driver):
    """
    Motors of some hundred watts without load, each with a first-order response to commands.

    ``<hardware>``: ``rate`` [Hz], ``time_constant`` [s], ``inertia`` [kg m^2 or kg], ``damping``
    [N m s/rad or N s/m] of all motors, see :class:`~transmission_bridge.sim.DriverSettings`;
    ``noise``: standard deviation of the read positions. Actuators: ``start``, the position at the
    start (zero, or within the limits of the joints), and the stops ``stop_lower`` and
    ``stop_upper``. Positions are in the actuator's unit.
    """

    def configure(self, hardware: Hardware) -> None:
        """Stand still at the start."""
        default = DriverSettings()
        numbers = {
            name: hardware.read_number(name, getattr(default, name))
            for name in ('time_constant', 'inertia', 'damping')
        }
        self._scales = hardware.scales
        self._noise = hardware.read_number('noise', 0.0)
        self._random = np.random.default_rng(0)
        stops = ('stop_lower', -np.inf), ('start', np.nan), ('stop_upper', np.inf)
        self._lower, start, self._upper = (
            np.array(hardware.read_numbers(*parameter)) * hardware.scales[0] for parameter in stops
        )
        free = hardware.compute_start() * hardware.scales[0]
        start = np.where(np.isnan(start), free, start)
        self._drive = Drive.at_rest(start, DriverSettings(**numbers))
        self._time = monotonic()

    def activate(self) -> None:
        """Hold the present position."""
        self._drive = Drive.at_rest(self._drive.position, self._drive.dynamics)

    def read(self) -> Array:
        """Move until now."""
        now = monotonic()
        moved = self._drive.advanced(now - self._time)
        position = np.clip(moved.position, self._lower, self._upper)
        is_stopped = position != moved.position
        velocity = np.where(is_stopped, 0.0, moved.velocity)
        self._drive, self._time = replace(moved, position=position, velocity=velocity), now
        rows: Array = np.array([position, velocity, moved.effort]) / self._scales
        if self._noise:
            rows[0] += self._random.normal(0.0, self._noise, len(position))
        return rows

    def write(self, command: Command) -> None:
        """Follow the first of position, velocity and effort that is given."""
        rows = np.array(command) * self._scales
        given = ~np.isnan(rows)
        mode = np.where(given.any(axis=0), given.argmax(axis=0), Mode.NONE).astype(np.int8)
        target = rows[mode, np.arange(len(mode))]
        self._drive = self._drive.commanded(mode, target)
