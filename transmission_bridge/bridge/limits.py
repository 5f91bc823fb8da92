# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Limits of joints, motion beyond a position limit, and limits of actuators, checked in this order.

Each check clamps, rejects or accepts a command.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from transmission_bridge.bridge.command_plan import list_underactuated
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import CommandCounts, JointRejection
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Index, Mask

_POSITION, _VELOCITY, _EFFORT = range(len(FIELDS))

#: Time at the velocity limit that a step may take in addition to the available time [s].
_STEP_TIME = 0.05

#: Largest absolute and relative rounding error of a mapped value.
_ROUNDING = 1e-9


class LimitEffects:
    """
    The changes that limits made to a command; counted after it is accepted.

    :param counts: Counts of its source; ``None``: it ends commands and is never rejected.
    :ivar shares: Scale of the effort of each joint that was scaled down.
    """

    __slots__ = ('_changed', '_counts', 'shares')

    def __init__(self, counts: CommandCounts | None = None) -> None:
        self._counts = counts
        self._changed: set[tuple[str, str]] = set()
        self.shares: dict[str, float] = {}

    @property
    def may_reject(self) -> bool:
        """Whether limits may reject the command."""
        return self._counts is not None

    def add_change(self, kind: str, joints: Iterable[str]) -> None:
        """Record a change to joints; ``kind`` is a name of :class:`CommandCounts`."""
        self._changed.update((kind, joint) for joint in joints)

    def count_rejected(self, joints: Iterable[str]) -> None:
        """Count the joints that cause a rejection."""
        if self._counts is not None:
            self._counts.limited.update(joints)

    def count_changes(self) -> None:
        """Count the recorded changes."""
        assert self._counts is not None
        for kind, joint in self._changed:
            getattr(self._counts, kind)[joint] += 1
        self._counts.shares.update(self.shares)


def find_outside(values: Array, lower: Array, upper: Array) -> Mask:
    """Return the mask of the numbers outside; NaN (no command) is not outside."""
    outside: Mask = (values < lower) | (values > upper)
    return outside


def find_beyond(values: Array, lower: Array, upper: Array) -> Mask:
    """Return the mask of the numbers outside by more than the rounding of a map."""
    return find_outside(
        values,
        lower - _ROUNDING * (1.0 + np.abs(lower)),
        upper + _ROUNDING * (1.0 + np.abs(upper)),
    )


def choose_names(names: tuple[str, ...], mask: Mask) -> tuple[str, ...]:
    """Return the names in a mask, shape ``(..., n)``."""
    some = mask.reshape(-1, mask.shape[-1]).any(axis=0)
    return tuple(names[place] for place in np.flatnonzero(some))


def describe_outside(
    names: tuple[str, ...], values: Array, outside: Mask, lower: Array, upper: Array
) -> str:
    """Return sentences about the numbers of joints outside their limits."""
    lower, upper = np.broadcast_to(lower, values.shape), np.broadcast_to(upper, values.shape)
    sentences = [
        f'{names[index[-1]]}: {values[tuple(index)]:g} is not in '
        f'[{lower[tuple(index)]:g}, {upper[tuple(index)]:g}]'
        for index in np.argwhere(outside)
    ]
    return shortened(sentences, show=str)


def find_joint_bounds(robot: RobotTransmissions) -> Array:
    """
    Return position bounds, and magnitudes of velocity and effort, of every joint.

    :returns: Lower and upper bounds, shape ``(2, 3, n_joints)``, rows position, velocity, effort;
        infinite: no bound.
    """
    limits = [effective_limits(robot.robot, name) for name in robot.joint_names]
    bounds: Array = np.array(
        [
            [[each.lower, -each.velocity, -each.effort] for each in limits],
            [[each.upper, each.velocity, each.effort] for each in limits],
        ]
    ).reshape(2, len(limits), len(FIELDS))
    return np.ascontiguousarray(bounds.transpose(0, 2, 1))


class CommandLimits:
    """
    Position bounds, velocity and effort magnitudes of every joint.

    :param options: ``limits``, ``zero_max_velocity`` and ``max_step`` are used.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._names = robot.joint_names
        self._policy, self._max_step = options.limits, options.max_step
        self._moving = options.zero_max_velocity
        self._lower: Array
        self._upper: Array
        self._lower, self._upper = find_joint_bounds(robot)
        # Joints of underactuated groups stop together.
        self._together = list_underactuated(robot)
        self._least_step: Array = self._upper[_VELOCITY] * _STEP_TIME
        self._step: Array = np.empty(len(self._names))

    def limit_joints(self, command: Array, effects: LimitEffects, row: int | None = None) -> None:
        """
        Clamp or reject a command, in place; NaN (no command) stays NaN.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, or values of
            one row, shape ``(..., n_joints)``.
        :param effects: Records changes.
        :param row: The row of the values; ``None``: all three.
        :raises MessageError: If a value is outside, and the policy is ``reject`` or the lower
            limit is above the upper one (``limit``).
        """
        if self._policy == 'off':
            return
        lower = self._lower if row is None else self._lower[row]
        upper = self._upper if row is None else self._upper[row]
        outside = find_outside(command, lower, upper)
        if not outside.any():
            return
        impossible = outside & (lower > upper)
        refused = outside if self._policy == 'reject' else impossible
        if refused.any():
            effects.count_rejected(choose_names(self._names, refused))
            where = describe_outside(self._names, command, refused, lower, upper)
            raise MessageError('limit', f'outside the limits: {where}')
        np.clip(command, lower, upper, out=command)
        effects.add_change('clamped', choose_names(self._names, outside))

    def zero_outward_rates(
        self,
        command: Array,
        position: Array,
        velocity: Array,
        effects: LimitEffects,
    ) -> None:
        """
        Set outward rates of joints measured beyond a position limit to zero, in place.

        Outward velocity becomes zero, also for joints that cannot move without this joint. Outward
        effort becomes zero while the joint moves outward; otherwise it passes, because it may hold
        a load.

        :param command: Rows position, velocity, effort, shape ``(3, ..., n_joints)``.
        :param position: Measured positions, shape ``(n_joints,)``; NaN changes nothing.
        :param velocity: Measured velocities, same shape.
        :param effects: Records changes.
        :raises MessageError: If a rate would change and the policy is ``reject`` (``limit``).
        """
        if self._policy == 'off':
            return
        above, below = position > self._upper[_POSITION], position < self._lower[_POSITION]
        if not (above | below).any():  # NaN is neither above nor below
            return
        sense = above.astype(float) - below
        outward = command[_VELOCITY:] * sense > 0.0
        if not outward.any():
            return
        passes = outward[1] & ~(velocity * sense > self._moving)
        outward[1] &= ~passes
        for joints in self._together:
            some = outward[0][..., joints].any(axis=-1, keepdims=True)
            outward[0][..., joints] = some & ~np.isnan(command[_VELOCITY][..., joints])
        if outward.any() and self._policy == 'reject' and effects.may_reject:
            effects.count_rejected(choose_names(self._names, outward))
            raise MessageError(
                'limit',
                'measured beyond a position limit and commanded further out: '
                f'{shortened(choose_names(self._names, outward))}',
            )
        command[_VELOCITY:][outward] = 0.0
        effects.add_change('stopped', choose_names(self._names, outward))
        effects.add_change('outward', choose_names(self._names, passes))

    def are_near(self, targets: Array, origin: Array, given: bytes) -> bool:
        """
        Return whether positions are near enough for any available time.

        :param targets: Commanded positions, shape ``(n_joints,)``, NaN: none.
        :param origin: Positions before, same shape, NaN: unknown.
        :param given: Mask of the commanded positions, as bytes.
        """
        step = np.abs(np.subtract(targets, origin, self._step), self._step)
        return bool((step <= self._least_step).tobytes() == given)

    def check_step_size(
        self, target: Array, origin: Array, seconds: Array | float, effects: LimitEffects
    ) -> None:
        """
        Compare the distance to commanded positions with the velocity limits.

        :param target: Commanded positions, shape ``(n_joints,)``, NaN: none.
        :param origin: Positions before, same shape, NaN: unknown.
        :param seconds: Available time; :data:`_STEP_TIME` is added.
        :param effects: Records steps that are too large.
        :raises JointRejection: If ``max_step`` is ``reject``, and a step is too large or its
            origin is unknown (``jumped``).
        """
        limits = self._upper[_VELOCITY]
        # NaN is not within.
        far = ~(np.abs(target - origin) <= limits * (seconds + _STEP_TIME) * (1.0 + _ROUNDING))
        far &= ~np.isnan(target) & np.isfinite(limits)
        if not far.any():
            return
        if self._max_step == 'warn':
            effects.add_change('jumped', choose_names(self._names, far & ~np.isnan(origin)))
        else:
            sentences = [
                f'{self._names[place]} from {origin[place]:g} to {target[place]:g}'
                if origin[place] == origin[place]
                else f'{self._names[place]} from an unknown position'
                for place in np.flatnonzero(far)
            ]
            raise JointRejection(
                'jumped',
                f'too far for the velocity limit: {shortened(sentences, show=str)} (max_step is '
                'reject)',
                far,
            )

    def check_mean_speed(self, times: Array, positions: Array) -> None:
        """
        Check the mean speed between waypoints.

        :param times: Increasing times [s], shape ``(n,)``.
        :param positions: Positions at these times, shape ``(n, n_joints)``, NaN: none.
        :raises MessageError: If a speed is above the velocity limit of its joint (``limit``).
        """
        _check_mean_speed('limit', times, positions, self._upper[_VELOCITY], self._names)


def _check_mean_speed(
    reason: str, times: Array, positions: Array, limits: Array, names: tuple[str, ...]
) -> None:
    speeds = np.abs(np.diff(positions, axis=0)) / np.diff(times)[:, np.newaxis]
    fast = speeds > limits * (1.0 + _ROUNDING)
    if fast.any():
        number, place = np.argwhere(fast)[0]
        raise MessageError(
            reason,
            f'{names[place]} would move at {speeds[number, place]:g} between {times[number]:g} s '
            f'and {times[number + 1]:g} s, expected at most {limits[place]:g}',
        )


# -- Limits of the actuators ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LimitedMotors:
    """The actuators that one transmission commands, if one of them has a limit."""

    binding: Binding
    joints: tuple[str, ...]
    actuators: Index

    @property
    def is_single(self) -> bool:
        """Whether one actuator moves one joint, so that its position can be clamped."""
        return len(self.joints) == len(self.binding.actuators) == 1


def find_motor_bounds(robot: RobotTransmissions) -> Array:
    """
    Return position bounds, and magnitudes of velocity and effort, of every actuator.

    If several transmissions use an actuator, the limits of all of them apply.

    :returns: Lower and upper bounds in SI at the motor, shape ``(2, 3, n_actuators)``, rows
        position, velocity, effort; infinite: no bound.
    """
    names = robot.actuator_names
    bounds: Array = np.full((2, len(FIELDS), len(names)), np.inf)
    bounds[0] = -np.inf
    for tunables in robot.tunables.values():
        for tunable in tunables:
            if tunable.is_actuator_limit:
                place, kind = names.index(tunable.path[1]), tunable.path[-1]
                lower, upper = bounds[:, :, place]
                _narrow_bounds(lower, upper, kind, tunable.value)
    return bounds


def _narrow_bounds(lower: Array, upper: Array, kind: str, value: float) -> None:
    if kind == 'lower':
        lower[_POSITION] = max(lower[_POSITION], value)
    elif kind == 'upper':
        upper[_POSITION] = min(upper[_POSITION], value)
    else:
        row = FIELDS.index(kind)
        upper[row] = min(upper[row], value)
        lower[row] = -upper[row]


class ActuatorLimits:
    """
    Position bounds, velocity and effort magnitudes of every actuator, in SI.

    The last check of a command. A position is clamped if one actuator moves one joint, else
    rejected. The velocities of the actuators of one transmission are scaled together to keep
    their direction in joint space, and so are their efforts.

    :ivar bounds: See :func:`find_motor_bounds`.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._names = robot.actuator_names
        self._texts, self._units = robot.units, DriverUnits(robot)
        self._policy = options.limits
        self.bounds = find_motor_bounds(robot)
        groups = []
        for binding in robot.bindings:
            owned = np.array(binding.actuators, dtype=np.intp)[list(binding.owned)]
            if np.isfinite(self.bounds[:, :, owned]).any():
                joints = tuple(robot.joint_names[joint] for joint in binding.joints)
                groups.append(_LimitedMotors(binding, joints, owned))
        self._groups = tuple(groups) if options.limits != 'off' else ()

    def limit_actuators(self, sent: Array, effects: LimitEffects) -> None:
        """
        Keep an actuator command within the limits, in place.

        :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, finite; NaN: no
            command.
        :param effects: Records changes. Ends of commands are scaled, never rejected.
        :raises MessageError: If the command is rejected (``actuator_limit``).
        """
        if not self._groups or not find_outside(sent, *self.bounds).any():
            return
        for row in range(len(FIELDS)):
            self.limit_row(sent[row], row, effects)

    def limit_row(self, sent: Array, row: int, effects: LimitEffects) -> None:
        """
        Keep values of one interface within the limits, in place.

        :param sent: Shape ``(..., n_actuators)``.
        :param row: 0: position, 1: velocity, 2: effort.
        """
        for group in self._groups:
            own = sent[..., group.actuators]
            lower, upper = self.bounds[:, row, group.actuators]
            outside = find_outside(own, lower, upper)
            if not outside.any():
                continue
            # Rounding of the map must not reject a value exactly at a joint's limit.
            beyond = find_beyond(own, lower, upper)
            if self._policy == 'reject' or (row == _POSITION and not group.is_single):
                refused = beyond & effects.may_reject
            else:
                refused = outside & (lower > upper)
            if refused.any():
                self._reject_actuators(group, row, own, refused)
            joints = group.joints if beyond.any() else ()
            if row == _POSITION:
                effects.add_change('clamped', joints)
            else:
                ratio = np.ones(own.shape)
                np.divide(upper, np.abs(own), out=ratio, where=outside)
                share = ratio.min(axis=-1, keepdims=True)
                own = own * share
                effects.add_change('scaled', joints)
                if row == _EFFORT:
                    effects.shares.update(dict.fromkeys(joints, float(share.min())))
            # Rounding must not exceed the limit.
            sent[..., group.actuators] = np.clip(own, lower, upper)

    def find_outside(self, values: Array, row: int, places: list[int]) -> Mask:
        """Return the mask of the numbers outside the limits of their actuators."""
        if self._policy == 'off':
            return np.zeros(len(places), dtype=bool)
        return find_outside(values, *self.bounds[:, row, places])

    def clip_values(self, values: Array, row: int, places: list[int]) -> Array:
        """Return velocities or efforts clipped to the limits of their actuators."""
        if self._policy == 'off':
            return values
        clipped: Array = np.clip(values, *self.bounds[:, row, places])
        return clipped

    def check_mean_speed(self, times: Array, positions: Array) -> None:
        """
        Check the mean speed of actuators; see :meth:`CommandLimits.check_mean_speed`.

        :raises MessageError: If a speed is above a velocity limit (``actuator_limit``).
        """
        upper = self.bounds[1, _VELOCITY]
        _check_mean_speed('actuator_limit', times, positions, upper, self._names)

    def _reject_actuators(
        self, group: _LimitedMotors, row: int, own: Array, outside: Mask
    ) -> None:
        # Report numbers in the units of the driver.
        own, lower, upper = (
            self._units.of_drivers(each, row, group.actuators)
            for each in (own, *self.bounds[:, row, group.actuators])
        )
        sentences = []
        for index in np.argwhere(outside):
            name = self._names[group.actuators[index[-1]]]
            unit = self._texts[name].all_units[row].text if name in self._texts else ''
            sentences.append(
                f'{name}: {own[tuple(index)]:g} is not in '
                f'[{lower[index[-1]]:g}, {upper[index[-1]]:g}]{f" {unit}" if unit else ""}'
            )
        raise MessageError(
            'actuator_limit',
            f'outside the {FIELDS[row]} limits of actuators of {group.binding.spec.name}: '
            f'{shortened(sentences, show=str)}',
        )
