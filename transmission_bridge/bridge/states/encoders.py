# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the robot and the options determine about the turns of single-turn encoders.

A state map makes and owns them; turns, services of the node and ``tune`` read them. Nothing writes
them after their construction; tuning makes others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.options.options import (
    BridgeOptions,
    split_option_pairs,
    WRAP_PERIOD,
)
from transmission_bridge.bridge.robot_facts import compute_motor_bounds
from transmission_bridge.errors import make_option_error, UnknownNameError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Index, Mask

#: Largest number of candidates: turns, or combinations of the turns of two actuators.
MOST_CANDIDATES = 4096

#: Points at which a ratio that varies is evaluated.
_POINTS = 400

#: Share of a period. It limits the difference between an absolute position and a reading, the
#: motion between the two, and how far a joint may be beyond its limits before its turn is lost.
AGREEMENT = 0.25

#: Share of a period that an actuator may move beyond its velocity limit.
SPREAD = 0.1

#: Largest delay of a message, and largest time between an absolute position and a reading if the
#: speed has no limit [s].
AT_ONCE = 0.05

#: Tolerances of equal positions: angles of continuous joints, because periods are given rounded,
#: and other positions, because of rounding errors.
_SAME_ANGLE, _SAME = 1e-3, 1e-9

#: Largest speed of a joint relative to its velocity limit, if the ratio is constant or varies.
_HASTE, _HASTE_VARYING = 1.2, 2.0


def list_wrap_periods(robot: RobotTransmissions, options: BridgeOptions) -> dict[str, float]:
    """
    Return checked periods by actuator, in the units of the drivers.

    Actuators of rejected transmissions are left out.

    :raises UnknownNameError: If the robot has no such actuator.
    :raises ParameterError: If a period is not a number in its range.
    """
    periods = {}
    names, lost = robot.actuator_names, robot.lost_actuators
    for name, text in split_option_pairs('wrap_period', options.wrap_period).items():
        if name not in names and name not in lost:
            raise UnknownNameError('actuator', name, (*names, *lost), parameter='wrap_period')
        try:
            period = float(text)
        except ValueError:
            period = math.nan
        if period not in WRAP_PERIOD:
            expected = f"a positive number, {WRAP_PERIOD}, in the driver's unit of position"
            raise make_option_error('wrap_period', expected, text, f"period of '{name}'")
        if name in names:
            periods[name] = period
    return periods


class CoupledWrappedEncoders(NamedTuple):
    """
    Transmissions that share actuators, of which one at least is wrapped.

    :param actuators: Indices of their actuators.
    :param joints: Indices of their joints.
    :param ratios: Motion of the joints for a period of each actuator, ``(n_joints, n_actuators)``;
        ``None``: limits do not determine turns.
    """

    actuators: Index
    joints: Index
    ratios: Array | None


class WrappedEncoders:
    """
    What the robot and the options determine about turns; positions are in SI.

    :param resolves: Whether the first readings are in an unknown turn; otherwise turns are counted
        from them.
    :ivar periods: Period of each actuator, NaN: not wrapped; ``wraps`` is the mask.
    :ivar groups: Transmissions with wrapped actuators; none if turns are counted from the first
        readings.
    :ivar limits: Limits of the joints as measured, without those for commands only, shape
        ``(2, n_joints)``.
    :ivar travels: Largest motion of each joint while all wrapped actuators move by a period.
    :ivar bounds: Positions of the joints beyond which a turn was lost, shape ``(2, n_joints)``.
    :ivar speeds: Largest speed of each actuator [periods/s].
    :ivar usual: Largest step of each actuator that needs no check of the gap [periods].
    :ivar close: Largest time between an absolute position and a reading to compare [s].
    :ivar far: Largest distance of a reading from zero: a driver may count turns from its position
        at power-up.
    """

    def __init__(
        self, robot: RobotTransmissions, options: BridgeOptions, *, resolves: bool = True
    ) -> None:
        by_name = list_wrap_periods(robot, options)
        self.robot, self.names = robot, robot.actuator_names
        self.units = DriverUnits(robot)
        periods = np.array([by_name.get(name, np.nan) for name in self.names])
        self.periods: Array = self.units.in_si(periods, 0)
        self.wraps: Mask = np.isfinite(self.periods)
        self.resolves = resolves
        self.limits: Array = robot.urdf_limits[:, 0]
        # A velocity limit of zero means that it is not given.
        speeds = robot.urdf_limits[1, FIELDS.index('velocity')]
        self._velocity = np.where(speeds > 0.0, speeds, np.inf)
        types = {joint.name: joint.type for joint in robot.description.joints}
        kinds = [types.get(name) for name in robot.joint_names]
        self._is_continuous: Mask = np.array([kind == 'continuous' for kind in kinds])
        self.travels: Array = np.full(len(speeds), np.inf)
        most = compute_motor_bounds(robot)[1, FIELDS.index('velocity')]
        self.speeds: Array = _HASTE * most / self.periods
        self.far: Array = np.full(len(self.names), np.inf)
        labels = np.arange(len(self.names))
        for binding in robot.bindings:
            members = labels[list(binding.actuators)]
            labels[np.isin(labels, members)] = members[0]
        wrapped = np.unique(labels[self.wraps]) if self.resolves else ()
        self.groups = tuple(self._make_group(np.flatnonzero(labels == k)) for k in wrapped)
        self.bounds = self.limits + AGREEMENT * np.array([-self.travels, self.travels])
        self.usual = SPREAD + AT_ONCE * self.speeds
        self.close = np.where(np.isinf(self.speeds), AT_ONCE, AGREEMENT / self.speeds)

    def _make_group(self, motors: Index) -> CoupledWrappedEncoders:
        """Return the transmissions of these actuators; write their speeds, far and travels."""
        bindings = [binding for binding in self.robot.bindings if binding.actuators[0] in motors]
        joints = np.unique([joint for binding in bindings for joint in binding.joints])
        is_constant = all(binding.transmission.is_constant for binding in bindings)
        points = np.zeros((1, len(self.names)))
        if not is_constant:
            # A third of the positions of each joint are at the ends of its range.
            ends = np.where(self._is_continuous, [[-math.pi], [math.pi]], self.limits)
            lower, upper = ends[:, joints]
            dice = np.random.default_rng(0).uniform(-0.25, 1.25, (_POINTS, len(joints)))
            samples = np.full((_POINTS, len(self.travels)), np.nan)
            samples[:, joints] = lower + np.clip(dice, 0.0, 1.0) * (upper - lower)
            points = self.robot.joint_to_actuator('position', samples)
        # Motions of joints for motions of actuators, shape (n, n_joints, n_actuators).
        rates = self.robot.jacobian(points)[:, joints][:, :, motors]
        rates = rates[np.isfinite(rates).all(axis=(1, 2))]
        periods = np.where(self.wraps[motors], self.periods[motors], 1.0)
        shares = np.abs(np.linalg.pinv(rates)) / periods[:, np.newaxis]
        shares[shares < 1e-9 * shares.max(initial=0.0)] = 0.0
        lower, upper = self.limits[:, joints]
        haste = _HASTE if is_constant else _HASTE_VARYING
        amounts = np.array([haste * self._velocity[joints], upper - lower])[:, None, None]
        parts = np.zeros((2, *shares.shape))
        np.multiply(shares, amounts, out=parts, where=shares > 0.0)
        most = parts.sum(axis=3).max(axis=1, initial=0.0)
        # An actuator that moves no joint has no limit.
        speeds, reach = np.where(most > 0.0, most, np.inf)
        self.speeds[motors] = np.minimum(self.speeds[motors], speeds)
        self.far[motors] = (1.0 + AGREEMENT + reach) * self.periods[motors]
        ratios = rates * np.where(self.wraps[motors], periods, 0.0)
        travels = np.abs(ratios).sum(axis=2).max(axis=0, initial=0.0)
        self.travels[joints] = np.where(travels > 0.0, travels, np.inf)
        is_simple = is_constant and len(bindings) == 1 and len(motors) <= min(2, len(joints))
        return CoupledWrappedEncoders(motors, joints, ratios[0] if is_simple else None)

    def compute_candidates(
        self, group: CoupledWrappedEncoders, covered: Array, is_open: Mask
    ) -> Array | None:
        """
        Return the turns to add to a group that keep its joints within limits.

        :param covered: Lowest and highest position of each joint in the counted turn, shape
            ``(2, n_joints)``, NaN: none.
        :param is_open: Mask of its actuators in an unknown turn.
        :returns: Shape ``(n, n_open)``, the nearest first, without those that lead to the same
            positions; ``None``: too many, or not determined by limits.
        """
        if group.ratios is None or np.isnan(covered).any():
            return None
        # A few turns lead to all different angles of a continuous joint.
        most = math.pi + 4.0 * self.travels[group.joints]
        is_continuous = self._is_continuous[group.joints]
        free = np.clip(self.limits[:, group.joints] - covered, -1e12, 1e12)
        low, high = np.where(is_continuous, [-most, most], free)
        ratios = group.ratios[:, is_open]
        inverse = np.linalg.pinv(ratios)
        center, half = inverse @ (low + high) / 2.0, np.abs(inverse) @ (high - low) / 2.0
        first, last = np.ceil(center - half - _SAME), np.floor(center + half + _SAME)
        if np.maximum(last - first + 1.0, 0.0).prod() > MOST_CANDIDATES:
            return None
        turns: Array = np.stack(np.meshgrid(*map(np.arange, first, last + 1.0)), axis=-1)
        turns = turns.reshape(-1, len(first))
        turns = turns[np.argsort(np.square(turns).sum(axis=1), kind='stable')]
        moved = turns @ ratios.T
        fits = ((moved >= low) & (moved <= high)).all(axis=1)
        turns, moved = turns[fits], moved[fits]
        if is_continuous.any():
            away = moved - moved[:1]
            steps = np.where(is_continuous, np.exp(1j * away) / _SAME_ANGLE, away / _SAME)
            turns = turns[np.sort(np.unique(np.rint(steps), axis=0, return_index=True)[1])]
        return turns

    def compute_gap_reach(self, timeouts: Array, gap: Array) -> Array:
        """Return the largest possible motion in a gap [s], in periods; infinite for a gap < 0."""
        # Without a speed limit, readings within the timeout are counted.
        is_timed = np.isinf(self.speeds) | np.isinf(timeouts)
        return np.where(gap < 0.0, np.inf, np.where(is_timed, 1.0 / timeouts, self.speeds) * gap)
