# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated drive: how every actuator follows its command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
import math

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from transmission_bridge.errors import MessageError, ParameterError, ShapeError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, ragged
from transmission_bridge.types import Array

__all__ = ['Command', 'Drive', 'Dynamics', 'Mode', 'read_command']


# -- Commands: one mode and one target per actuator ----------------------------------------------


class Mode(IntEnum):
    """
    The quantity that an actuator follows; ``NONE`` in a command leaves it as it is.

    The order is the precedence within one message: a velocity or effort beside a position is a
    feed-forward hint of the same command and not a mode of its own.
    """

    NONE = -1
    POSITION = 0
    VELOCITY = 1
    EFFORT = 2


@dataclass(frozen=True, eq=False)
class Command:
    """
    The command of each actuator of a drive, in the order of its names.

    :param mode: Values of :class:`Mode`, shape ``(n,)``; ``NONE``: no command for this one.
    :param target: Shape ``(n,)``, [rad or m], [rad/s or m/s] or [N m or N] by mode; meaningless
        where the mode is ``NONE``.
    :param unknown: Names in the message that the drive does not have.
    """

    mode: NDArray[np.int8]
    target: Array
    unknown: tuple[str, ...] = ()


def read_command(message: JointStateData, names: Sequence[str]) -> Command:
    """
    Read a command message for the actuators ``names``.

    An empty array is an interface that is not commanded, a value that is not finite is no command
    for that actuator. Of several finite values the first of position, velocity, effort is used.

    :param message: Any subset of actuators, in any order; may name actuators of other drives.
    :param names: The drive's actuators, distinct.
    :raises MessageError: ``ragged`` if an array is neither empty nor as long as the names,
        ``duplicate_name`` if a name is repeated. Such a message is ignored.
    """
    given = tuple(message.names)
    if len(set(given)) != len(given):
        twice = sorted({name for name in given if given.count(name) > 1})
        raise MessageError('duplicate_name', f'named more than once: {", ".join(twice)}')
    fields = {
        Mode.POSITION: message.position,
        Mode.VELOCITY: message.velocity,
        Mode.EFFORT: message.effort,
    }
    lengths = {mode.name.lower(): len(values) for mode, values in fields.items()}
    if not {0, len(given)}.issuperset(lengths.values()):
        raise ragged(given, lengths)
    place_of = {name: place for place, name in enumerate(names)}
    known = [place for place, name in enumerate(given) if name in place_of]
    places = [place_of[given[place]] for place in known]
    modes = np.full(len(names), Mode.NONE, dtype=np.int8)
    targets = np.full(len(names), np.nan)
    # The field that takes precedence is written last.
    for mode in sorted(fields, reverse=True):
        if len(fields[mode]):
            values = np.full(len(names), np.nan)
            values[places] = np.asarray(fields[mode], dtype=np.float64)[known]
            finite = np.isfinite(values)
            modes[finite] = mode
            targets[finite] = values[finite]
    return Command(modes, targets, tuple(name for name in given if name not in place_of))


# -- The plant -----------------------------------------------------------------------------------
#
# Each actuator has a position ``x``, a velocity ``v = x'`` and an effort ``tau``, which moves a
# damped inertia without gravity. With ``T`` the time constant, ``I`` the inertia, ``b`` the
# damping and ``*`` the target:
#
# ========== ===================================== ====================================
# mode       what follows the target               the rest
# ========== ===================================== ====================================
# position   ``x' = (x* - x) / T``                 ``v = x'``, ``tau = I v' + b v``
# velocity   ``v' = (v* - v) / T``                 ``x' = v``, ``tau = I v' + b v``
# effort     ``tau' = (tau* - tau) / T``           ``I v' = tau - b v``, ``x' = v``
# ========== ===================================== ====================================
#
# So ``x' = v`` and ``I v' + b v = tau`` hold in every mode. Position is continuous throughout. A
# position command makes the velocity jump to ``(x* - x) / T``, a velocity command makes the effort
# jump, as a first-order response demands. A drive that was never commanded holds its position.
#
# Targets are constant between commands, so every step has a closed solution: the state after
# ``dt`` does not depend on the number of steps that lead there.


@dataclass(frozen=True, slots=True)
class Dynamics:
    """
    The numbers of the plant, the same for every actuator of a drive.

    The defaults are those of a motor of some hundred watts with a gear: with a reduction of 100
    the joint has 10,000 times its inertia and damping.

    :param time_constant: ``T`` [s].
    :param inertia: ``I`` [kg m^2, or kg for a linear drive].
    :param damping: ``b`` [N m s/rad, or N s/m].
    :raises ParameterError: If one of them is not finite and greater than zero.
    """

    time_constant: float = 0.05
    inertia: float = 1e-4
    damping: float = 1e-3

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ParameterError(
                    f'{name} cannot be accepted',
                    parameter=name,
                    expected='a finite number greater than zero',
                    found=repr(value),
                )


@dataclass(frozen=True, eq=False)
class Drive:
    """
    The state of all actuators of a drive. Immutable; every method returns a new drive.

    Made by :meth:`at_rest`. Arrays have shape ``(n,)`` in the order of ``names`` and must not be
    changed.

    :param names: The actuators, distinct.
    :param position: ``x`` [rad or m].
    :param velocity: ``v`` [rad/s or m/s].
    :param effort: ``tau`` [N m or N].
    :param mode: Mode of each actuator, values of :class:`Mode`.
    :param target: Target of each actuator, unit by mode.
    """

    names: tuple[str, ...]
    dynamics: Dynamics
    position: Array
    velocity: Array
    effort: Array
    mode: NDArray[np.int8]
    target: Array

    @classmethod
    def at_rest(
        cls,
        names: Sequence[str],
        *,
        dynamics: Dynamics | None = None,
        position: npt.ArrayLike | None = None,
    ) -> Drive:
        """
        Return a drive that holds a position.

        :param position: The position, shape ``(n,)`` [rad or m]; zero by default.
        :raises ShapeError: If ``position`` has another shape.
        """
        n = len(names)
        start = np.zeros(n) if position is None else np.array(position, dtype=np.float64)
        if start.shape != (n,):
            raise ShapeError('position', expected=f'({n},)', found=start.shape)
        return cls(
            names=tuple(names),
            dynamics=dynamics or Dynamics(),
            position=start,
            velocity=np.zeros(n),
            effort=np.zeros(n),
            mode=np.full(n, Mode.POSITION, dtype=np.int8),
            target=start,
        )

    def commanded(self, command: Command) -> Drive:
        """Return the drive right after a command; actuators without one keep theirs."""
        given = command.mode != Mode.NONE
        return replace(
            self,
            mode=np.where(given, command.mode, self.mode),
            target=np.where(given, command.target, self.target),
        )._consistent()

    def with_dynamics(self, dynamics: Dynamics) -> Drive:
        """Return the drive with other dynamics and the same targets."""
        return replace(self, dynamics=dynamics)._consistent()

    def advanced(self, dt: float) -> Drive:
        """
        Return the drive ``dt`` later.

        :param dt: [s], not negative.
        :raises ValueError: If ``dt`` is negative or not finite.
        """
        if not (math.isfinite(dt) and dt >= 0.0):
            raise ValueError(f'dt: expected a finite number of seconds from zero, found {dt!r}')
        position, velocity, effort = self.position.copy(), self.velocity.copy(), self.effort.copy()
        gain = -math.expm1(-dt / self.dynamics.time_constant)

        chosen = self.mode == Mode.POSITION
        position[chosen] += gain * (self.target - position)[chosen]

        chosen = self.mode == Mode.VELOCITY
        missing = (self.target - velocity)[chosen]
        position[chosen] += self.target[chosen] * dt - missing * self.dynamics.time_constant * gain
        velocity[chosen] += missing * gain

        chosen = self.mode == Mode.EFFORT
        moved = _move_by_effort(velocity[chosen], effort[chosen], self.target[chosen], dt, self)
        position[chosen] += moved[0]
        velocity[chosen] = moved[1]
        effort[chosen] = moved[2]
        return replace(self, position=position, velocity=velocity, effort=effort)._consistent()

    def sample(self) -> JointStateRecord:
        """Return the state of every actuator, with stamp zero."""
        return JointStateRecord((0, 0), '', self.names, self.position, self.velocity, self.effort)

    def _consistent(self) -> Drive:
        """Return the drive with velocities and efforts that follow from its modes."""
        d = self.dynamics
        lag = (self.target - self.position) / d.time_constant
        velocity = np.where(self.mode == Mode.POSITION, lag, self.velocity)
        acceleration = np.where(
            self.mode == Mode.POSITION,
            -velocity / d.time_constant,
            (self.target - velocity) / d.time_constant,
        )
        effort = np.where(
            self.mode == Mode.EFFORT, self.effort, d.inertia * acceleration + d.damping * velocity
        )
        return replace(self, velocity=velocity, effort=effort)


def _move_by_effort(
    velocity: Array, effort: Array, target: Array, dt: float, drive: Drive
) -> tuple[Array, Array, Array]:
    """
    Solve ``tau' = (tau* - tau)/T``, ``I v' = tau - b v``, ``x' = v`` over ``dt``.

    With the rates ``p = 1/T`` and ``r = b/I``, ``e = tau* - tau(0)``::

        tau(t) = tau(0) + e (1 - exp(-p t))
        v(t)   = v(0) exp(-r t) + tau*/b (1 - exp(-r t)) - e/I D(t)
        D(t)   = (exp(-p t) - exp(-r t)) / (r - p)
        x(t)   = x(0) + (integral of tau - I (v(t) - v(0))) / b

    :returns: Displacement, velocity and effort.
    """
    d = drive.dynamics
    p, r = 1.0 / d.time_constant, d.damping / d.inertia
    error = target - effort
    # D as t exp(-min(p, r) t) (1 - exp(-z))/z with z = |p - r| t: no 0/0 where the rates meet.
    z = abs(p - r) * dt
    divided = dt * math.exp(-min(p, r) * dt) * (-math.expm1(-z) / z if z > 0.0 else 1.0)
    after = (
        velocity
        - math.expm1(-r * dt) * (target / d.damping - velocity)
        - error / d.inertia * divided
    )
    impulse = target * dt + error * d.time_constant * math.expm1(-p * dt)
    displacement = (impulse - d.inertia * (after - velocity)) / d.damping
    return displacement, after, effort - error * math.expm1(-p * dt)
