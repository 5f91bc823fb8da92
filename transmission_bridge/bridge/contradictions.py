# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Measurements that contradict the limits of the joints, or each other: probably a wrong unit.

- **Limits**: a joint is measured beyond a limit of the URDF by more than 1 % of its range and
  0.001 rad or m.
- **Velocity**: over two seconds of steady motion the velocities of an actuator follow the changes
  of its position, but differ by a factor beyond 3.
- **Period**: the readings of an encoder use less than a tenth of its ``wrap_period``, and jump
  back over all of that range while the velocity continues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from transmission_bridge.description import effective_limits
from transmission_bridge.errors import shown
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: Tolerance of a measured position: share of the joint's range, and smallest value [rad or m].
_SHARE, _LEAST = 0.01, 1e-3

#: Largest factor between velocity and change of position, and smallest correlation of the two.
_FACTOR, _CORRELATION = 3.0, 0.9

#: Shortest time over which velocities are averaged, and longest time without a message [s].
_INTERVAL, _LONGEST = 0.1, 0.35

#: Largest number of averaged velocities, smallest number of intervals that are judged, and largest
#: share of one of them in their products: velocities between two samples are unknown, therefore
#: one interval does not decide.
_SAMPLES, _INTERVALS, _PART = 512, 16, 0.25

#: Smallest motion: a share of the joint's velocity limit, at most of 1 rad/s or 1 m/s.
_MOTION = 0.02

#: Largest share of ``wrap_period`` for an encoder with another period.
_USED = 0.1


def compute_measured_limits(robot: RobotTransmissions) -> Array:
    """
    Return lower and upper limits of measured positions, shape ``(2, n_joints)``.

    A command interface may narrow the limits for commands only, or disable them.
    """
    urdf, names = replace(robot.description, blocks=()), robot.joint_names
    both = [[effective_limits(each, name) for each in (urdf, robot.description)] for name in names]
    lower = [min(limits.lower for limits in each) for each in both]
    return np.array([lower, [max(limits.upper for limits in each) for each in both]])


def describe_joints_beyond(
    names: Sequence[str], positions: Array, limits: Array
) -> Mapping[str, str]:
    """Return a sentence for each joint that is measured beyond its limits, ``(2, n_joints)``."""
    lower, upper = limits
    extent = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    margin = np.maximum(_SHARE * extent, _LEAST)
    beyond = (positions < lower - margin) | (positions > upper + margin)
    return {
        f'position of {names[k]}': f'{shown(names[k])} is measured at {positions[k]:.4g}, beyond '
        f'its limits {lower[k]:.4g} to {upper[k]:.4g}: check position_unit, wrap_period, '
        'mechanical_reduction, offset and <limit>'
        for k in np.flatnonzero(beyond).tolist()
    }


class MotionWatch:
    """
    Compares the velocities of actuators with the changes of their positions.

    Velocities are averaged over intervals of 0.1 s or more, without gaps of more than 0.35 s. The
    factor is the ratio of root mean squares; it counts if the correlation exceeds 0.9, therefore
    noise, backlash and velocities that are always zero (not measured) are no contradiction. Motion
    that moves no joint at 2 % of its velocity limit, or 0.02 rad/s or m/s, is not judged, and
    neither are steps: one interval has more than a quarter of the correlated motion.

    :param periods: ``wrap_period`` of each actuator [rad or m], or of all; NaN: none.
    :ivar velocities: Velocities of all actuators since the last interval.
    :ivar due: End of the present interval [s].
    :ivar found: A sentence for each contradiction, until later motion refutes it.
    """

    def __init__(self, robot: RobotTransmissions, periods: Array | float) -> None:
        self._names = robot.actuator_names
        self._periods = np.broadcast_to(periods, len(self._names))
        self.velocities: deque[Array] = deque(maxlen=_SAMPLES)
        limits = [effective_limits(robot.description, name).velocity for name in robot.joint_names]
        # A velocity limit of zero means that it is not given.
        speeds = np.array([_MOTION * min(limit or 1.0, 1.0) for limit in limits])
        ratios = np.abs(robot.jacobian(np.zeros(len(self._names)))) / speeds[:, np.newaxis]
        most = np.where(np.isfinite(ratios), ratios, 0.0).max(axis=0, initial=0.0)
        self._slowest = 1.0 / np.where(most > 0.0, most, 1.0 / _MOTION)
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        self._since = self.due = -np.inf
        self.velocities.clear()
        self._at, self._product = np.full((2, len(self._periods)), np.nan)
        self._least, self._most = -self._at, self._at
        # Number of intervals, their time, squares of both motions, their products.
        self._sums: Array = np.zeros((5, len(self._periods)))
        self._largest: Array = np.zeros(len(self._periods))  # product of an interval
        self.found: dict[str, str] = {}

    def end_interval(self, positions: Array, now: float) -> None:
        """Use :attr:`velocities` and the present positions; called when it is :attr:`due`."""
        # Numbers of drivers may be of any size.
        with np.errstate(all='ignore'):
            self._add_interval(positions.copy(), now)

    def _add_interval(self, positions: Array, now: float) -> None:
        time, moved = now - self._since, positions - self._at
        # After a gap the motion is unknown.
        known = time if time <= _LONGEST else np.nan
        expected = np.mean(self.velocities, axis=0) * known
        product, before = moved * expected, self._product
        sums = np.broadcast_arrays(1.0, time, moved**2, expected**2, product)
        self._sums += np.where(np.isfinite(product), sums, 0.0)
        self._largest = np.fmax(self._largest, np.abs(product))
        self._least, self._most = np.fmin(self._least, positions), np.fmax(self._most, positions)
        self._since, self.due = now, now + _INTERVAL
        self.velocities.clear()
        self._at, self._product = positions, product
        used, jump = self._most - self._least, np.abs(moved - expected)
        is_period = (used < _USED * self._periods) & (jump > (1.0 - _SHARE) * used)
        is_motion = (np.abs(expected) > self._slowest * time) & (before > 0.0)
        is_back = (product < 0.0) & (np.abs(moved) > _FACTOR * np.abs(expected))
        for k in np.flatnonzero(is_period & is_motion & is_back).tolist():
            self.found[f'period of {self._names[k]}'] = (
                f'{shown(self._names[k])} jumped back by {jump[k]:.4g} while its velocity '
                f'continued, and its wrap_period is {self._periods[k]:.4g} (rad or m): check '
                'wrap_period and position_unit, and use ~/zero'
            )

    def judge_motion(self) -> None:
        """Update the contradictions; called once a second."""
        count, time, *squares, product = self._sums
        with np.errstate(all='ignore'):
            moved, expected = np.sqrt(squares * count) / time
            factor, follows = expected / moved, product * count / time**2 / moved / expected
        is_complete = count >= _INTERVALS
        is_judged = is_complete & (np.abs(follows) > _CORRELATION)
        is_judged &= np.maximum(moved, expected) > self._slowest
        is_judged &= self._largest <= _PART * np.abs(product)
        for k in np.flatnonzero(is_judged).tolist():
            key, ratio = f'velocity of {self._names[k]}', max(factor[k], 1.0 / factor[k])
            self.found.pop(key, None)
            if ratio > _FACTOR:
                self.found[key] = (
                    f'{shown(self._names[k])} moves at {moved[k]:.4g} by its positions, but at '
                    f'{expected[k]:.4g} by its velocities (rad/s or m/s, factor {ratio:.3g}): '
                    'check position_unit and velocity_unit'
                )
        self._sums[:, is_complete] = self._largest[is_complete] = 0.0
