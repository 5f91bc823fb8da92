# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A simulated drive, and the driver of its motors.

``--simulate`` and users without motors name :class:`SimulatedDriver` as plugin, and spell its
parameters. Only the thread of its driver calls and changes it. A :class:`SimulatedDrive` is
immutable, and follows the equations below exactly, whatever the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
import math
from time import monotonic

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from transmission_bridge.drivers.driver import Command, Driver, Hardware
from transmission_bridge.errors import make_option_error, ShapeError
from transmission_bridge.types import Array

# -- Settings ------------------------------------------------------------------------------------


#: Range of each number; a field of :class:`DriverSettings`, and a ``<param>`` of ``<hardware>``.
RANGES = {'time_constant': (1e-4, 100.0), 'inertia': (1e-6, 1e6), 'damping': (1e-6, 1e6)}


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """
    The numbers of a simulated driver, the same for every actuator.

    The plant is by default a motor of some hundred watts with a gear: with a reduction of 100 the
    joint has 10,000 times its inertia and damping.

    :param time_constant: Of the response to a command [s].
    :param inertia: Inertia that the effort moves [kg m^2, or kg].
    :param damping: Viscous damping against the effort [N m s/rad, or N s/m].
    :raises ParameterError: If a number is outside its range, NaN included.
    """

    time_constant: float = 0.05
    inertia: float = 1e-4
    damping: float = 1e-3

    def __post_init__(self) -> None:
        """Check every number against its range."""
        for name, (least, most) in RANGES.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise make_option_error(name, f'a number in [{least:g}, {most:g}]', value)


class DriveMode(IntEnum):
    """
    The commanded quantity of an actuator; ``NONE`` in a command leaves it unchanged.

    The numbers from 0 are the rows of a :class:`Command`. Their order is the precedence within one
    message: a velocity or effort beside a position is a feed-forward hint of the same command, not
    another mode.
    """

    NONE = -1
    POSITION = 0
    VELOCITY = 1
    EFFORT = 2


# -- The plant -----------------------------------------------------------------------------------
#
# Each actuator has a position ``x``, a velocity ``v = x'`` and an effort ``tau``, which moves a
# damped inertia without gravity. With ``T`` the time constant, ``I`` the inertia, ``b`` the
# damping and ``*`` the target:
#
# ========== ===================================== ====================================
# mode       quantity that follows the target      other quantities
# ========== ===================================== ====================================
# position   ``x' = (x* - x) / T``                 ``v = x'``, ``tau = I v' + b v``
# velocity   ``v' = (v* - v) / T``                 ``x' = v``, ``tau = I v' + b v``
# effort     ``tau' = (tau* - tau) / T``           ``I v' = tau - b v``, ``x' = v``
# ========== ===================================== ====================================
#
# ``x' = v`` and ``I v' + b v = tau`` hold in every mode. Position is continuous. In a first-order
# response a position command makes the velocity jump to ``(x* - x) / T``, and a velocity command
# makes the effort jump. A drive without a command holds its position.
#
# Targets are constant between commands, so every step has a closed solution: the state after
# ``dt`` does not depend on the number of steps.


@dataclass(frozen=True, eq=False)
class SimulatedDrive:
    """
    The state of all actuators of a drive. Immutable; every method returns a new drive.

    Made by :meth:`at_rest`. Arrays have shape ``(n,)`` and must not be changed.

    :param dynamics: Time constant, inertia and damping.
    :param position: ``x`` [rad or m].
    :param velocity: ``v`` [rad/s or m/s].
    :param effort: ``tau`` [N m or N].
    :param mode: Mode of each actuator, values of :class:`DriveMode`.
    :param target: Target of each actuator, unit by mode.
    """

    dynamics: DriverSettings
    position: Array
    velocity: Array
    effort: Array
    mode: NDArray[np.int8]
    target: Array

    @classmethod
    def at_rest(
        cls, position: npt.ArrayLike, dynamics: DriverSettings | None = None
    ) -> SimulatedDrive:
        """
        Return a drive that holds a position.

        :param position: The position, shape ``(n,)`` [rad or m].
        :raises ShapeError: If ``position`` has another shape.
        """
        start = np.array(position, dtype=np.float64)
        if start.ndim != 1:
            raise ShapeError('position', expected='(n,)', found=start.shape)
        none, mode = np.zeros(len(start)), np.full(len(start), DriveMode.POSITION, dtype=np.int8)
        return cls(dynamics or DriverSettings(), start, none, none, mode, start)

    def commanded(self, mode: NDArray[np.int8], target: Array) -> SimulatedDrive:
        """
        Return the drive right after a command.

        :param mode: Values of :class:`DriveMode`, shape ``(n,)``; ``NONE``: the actuator keeps its
            own.
        :param target: Shape ``(n,)``, [rad or m], [rad/s or m/s] or [N m or N] by mode.
        """
        given = mode != DriveMode.NONE
        mode, target = np.where(given, mode, self.mode), np.where(given, target, self.target)
        return replace(self, mode=mode, target=target)._consistent()

    def advanced(self, dt: float) -> SimulatedDrive:
        """
        Return the drive ``dt`` later.

        In mode effort, with the rates ``p = 1/T`` and ``r = b/I``, ``e = tau* - tau(0)``::

            tau(t) = tau(0) + e (1 - exp(-p t))
            v(t)   = v(0) exp(-r t) + tau*/b (1 - exp(-r t)) - e/I D(t)
            D(t)   = (exp(-p t) - exp(-r t)) / (r - p)
            x(t)   = x(0) + (integral of tau - I (v(t) - v(0))) / b

        :param dt: [s], not negative.
        :raises ValueError: If ``dt`` is negative or not finite.
        """
        if not (math.isfinite(dt) and dt >= 0.0):
            raise ValueError(f'dt: expected a finite number of seconds from zero, found {dt!r}')
        d, target, velocity = self.dynamics, self.target, self.velocity
        time, p, r = d.time_constant, 1.0 / d.time_constant, d.damping / d.inertia
        gain = -math.expm1(-p * dt)
        error = target - self.effort
        # D = t exp(-min(p, r) t) (1 - exp(-z))/z with z = |p - r| t avoids 0/0 for equal rates.
        z = abs(p - r) * dt
        divided = dt * math.exp(-min(p, r) * dt) * (-math.expm1(-z) / z if z > 0.0 else 1.0)
        after = (
            velocity
            - math.expm1(-r * dt) * (target / d.damping - velocity)
            - error / d.inertia * divided
        )
        impulse = target * dt - error * time * gain
        missing = target - velocity
        moved = np.choose(
            self.mode,
            [
                gain * (target - self.position),
                target * dt - missing * time * gain,
                (impulse - d.inertia * (after - velocity)) / d.damping,
            ],
        )
        return replace(
            self,
            position=self.position + moved,
            velocity=np.choose(self.mode, [velocity, velocity + gain * missing, after]),
            effort=self.effort + gain * error,
        )._consistent()

    def _consistent(self) -> SimulatedDrive:
        """Return the drive with the velocities and efforts of its modes."""
        d = self.dynamics
        lag = (self.target - self.position) / d.time_constant
        velocity = np.where(self.mode == DriveMode.POSITION, lag, self.velocity)
        other = np.where(self.mode == DriveMode.POSITION, 0.0, self.target)
        followed = d.inertia * (other - velocity) / d.time_constant + d.damping * velocity
        effort = np.where(self.mode == DriveMode.EFFORT, self.effort, followed)
        return replace(self, velocity=velocity, effort=effort)


class SimulatedDriver(Driver):
    """
    Motors of some hundred watts without load, each with a first-order response to commands.

    ``<hardware>``: ``rate`` [Hz], ``time_constant`` [s], ``inertia`` [kg m^2 or kg], ``damping``
    [N m s/rad or N s/m] of all motors, see :class:`DriverSettings`;
    ``noise``: standard deviation of the read positions. Actuators: ``start``, the position at the
    start (zero, or within the limits of the joints), and the stops ``stop_lower`` and
    ``stop_upper``. Positions are in the actuator's unit.
    """

    def configure(self, hardware: Hardware) -> None:
        """Stand still at the start."""
        default = DriverSettings()
        numbers = {name: hardware.read_number(name, getattr(default, name)) for name in RANGES}
        self._scales = hardware.scales
        self._noise = hardware.read_number('noise', 0.0)
        self._random = np.random.default_rng(0)
        stops = ('stop_lower', -np.inf), ('start', np.nan), ('stop_upper', np.inf)
        self._lower, start, self._upper = (
            np.array(hardware.read_numbers(*parameter)) * hardware.scales[0] for parameter in stops
        )
        start = np.where(np.isnan(start), hardware.compute_start() * hardware.scales[0], start)
        self._drive = SimulatedDrive.at_rest(start, DriverSettings(**numbers))
        self._time = monotonic()

    def activate(self) -> None:
        """Hold the present position."""
        self._drive = SimulatedDrive.at_rest(self._drive.position, self._drive.dynamics)

    def read(self) -> Array:
        """Move until now."""
        now = monotonic()
        moved = self._drive.advanced(now - self._time)
        position = np.clip(moved.position, self._lower, self._upper)
        velocity = np.where(position != moved.position, 0.0, moved.velocity)
        self._drive, self._time = replace(moved, position=position, velocity=velocity), now
        rows: Array = np.array([position, velocity, moved.effort]) / self._scales
        if self._noise:
            rows[0] += self._random.normal(0.0, self._noise, len(position))
        return rows

    def write(self, command: Command) -> None:
        """Follow the first of position, velocity and effort that is given."""
        rows = np.array(command) * self._scales
        given = ~np.isnan(rows)
        mode = np.where(given.any(axis=0), given.argmax(axis=0), DriveMode.NONE).astype(np.int8)
        self._drive = self._drive.commanded(mode, rows[mode, np.arange(len(mode))])
