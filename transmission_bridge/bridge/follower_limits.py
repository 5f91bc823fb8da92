# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints that fewer actuators move together, so that each follows the others."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.command_plan import CoupledJoints, find_coupled_joints
from transmission_bridge.bridge.limits import (
    choose_names,
    describe_outside,
    find_beyond,
    find_joint_bounds,
    LimitEffects,
)
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    FIELDS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.types import Array

_POSITION, _VELOCITY, _EFFORT = range(len(FIELDS))


class FollowerLimits:
    """
    The limits of all joints of underactuated groups, compared with the motion of the actuators.

    A command is replaced by the motion ``q = f(a)``, ``q̇ = J ȧ`` of the actuators for it: ``a``
    and ``ȧ`` are its least-squares solution. With ``limits: clamp`` one actuator with a constant
    ratio moves to the nearest position at which all joints are within their limits. Other
    positions beyond a limit are rejected. Velocities are scaled by one factor. An effort is not
    changed: a joint without a command has effort zero.

    :param options: ``limits`` is used; with ``off`` the command is only replaced.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._policy = options.limits
        bounds = find_joint_bounds(robot)
        if options.limits == 'off':
            bounds[0], bounds[1] = -np.inf, np.inf
        few = (each for each in find_coupled_joints(robot) if not each.can_hold)
        self._groups = [_Group(each, bounds) for each in few]

    def limit_motion(self, command: Array, measured: Array, effects: LimitEffects) -> None:
        """
        Replace positions and velocities by the motion of the actuators within limits, in place.

        Numbers that cannot be mapped become NaN, except velocity zero: the command is rejected,
        also if the stream could map them from its last solution.

        :param command: Rows position, velocity, effort of complete groups of joints, shape ``(3,
            ..., n_joints)``, NaN: no command.
        :param measured: Positions of the joints, shape ``(n_joints,)``, NaN: unknown.
        :param effects: Records changes.
        :raises MessageError: If a joint would be outside its limits (``limit``).
        """
        for group in self._groups:
            own = command[:_EFFORT, ..., group.joints]
            given = ~np.isnan(own)
            if not given.any():
                continue
            values = np.where(given[_POSITION], own[_POSITION], measured[group.joints])
            place = motors = None
            for row, (lower, upper) in enumerate(group.bounds):
                sent = group.map_joints(row, values, place)
                moved = group.map_actuators(row, sent, motors)
                beyond = find_beyond(moved, lower, upper) & given[row]
                if beyond.any() and self._policy == 'clamp':
                    effects.add_change('clamped', choose_names(group.names, beyond))
                    if row == _POSITION:
                        sent = np.clip(sent, *group.span)
                    else:
                        share = np.ones(moved.shape)
                        np.divide(upper, np.abs(moved), out=share, where=beyond)
                        sent = sent * share.min(axis=-1, keepdims=True)
                    moved = group.map_actuators(row, sent, motors)
                    beyond = find_beyond(moved, lower, upper) & given[row]
                if beyond.any() and effects.may_reject:
                    effects.count_rejected(choose_names(group.names, beyond))
                    where = describe_outside(group.names, moved, beyond, lower, upper)
                    raise MessageError(
                        'limit', f'outside the {FIELDS[row]} limits of joints that follow: {where}'
                    )
                is_zero = (own[row] == 0.0) & (row == _VELOCITY)
                own[row] = np.where(np.isfinite(moved), moved, np.where(is_zero, 0.0, np.nan))
                own[row][~given[row]] = np.nan
                if not given[_VELOCITY].any():
                    break
                values, place, motors = own[_VELOCITY], moved, sent
            command[:_EFFORT, ..., group.joints] = own


class _Group:
    """
    The joints that one transmission moves together.

    :ivar bounds: Bounds of positions and velocities, shape ``(2, 2, n)``.
    :ivar span: Position bounds of its actuator; infinite if it has several, or the ratio varies.
    """

    def __init__(self, coupled: CoupledJoints, bounds: Array) -> None:
        self.binding, self.names, self.joints = coupled.binding, coupled.names, coupled.joints
        self.bounds = bounds[:, :_EFFORT, self.joints].swapaxes(0, 1)
        self.span = np.array([-np.inf, np.inf])
        self._constant = coupled.underactuated  # a product is faster than the maps
        if self._constant is not None:
            jacobian, offset = self._constant
            self._inverse = np.linalg.pinv(jacobian).T
            if jacobian.shape[1] == 1:
                with np.errstate(divide='ignore', invalid='ignore'):  # a joint may stand still
                    ends = (self.bounds[_POSITION] - offset) / jacobian[:, 0]
                self.span[:] = np.fmax.reduce(np.fmin(*ends)), np.fmin.reduce(np.fmax(*ends))

    def map_joints(self, row: int, values: Array, at: Array | None) -> Array:
        """Return positions or velocities of the actuators."""
        if self._constant is None:
            return self.binding.map(JOINT_TO_ACTUATOR, FIELDS[row], values, at=at)
        mapped: Array = (values - self._constant[1] * (row == _POSITION)) @ self._inverse
        return mapped

    def map_actuators(self, row: int, values: Array, at: Array | None) -> Array:
        """Return positions or velocities of the joints."""
        if self._constant is None:
            found = self.binding.map(ACTUATOR_TO_JOINT, FIELDS[row], values, at=at)
            return found[..., : len(self.joints)]  # without passive joints
        mapped: Array = values @ self._constant[0].T + self._constant[1] * (row == _POSITION)
        return mapped
