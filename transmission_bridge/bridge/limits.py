# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Limits on commands: those of the joints, beyond a position limit, and those of the actuators.

A command goes through them in this order; each clamps, rejects, or lets pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import CommandCounts, JointError
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Index, Mask

_POSITION, _VELOCITY, _EFFORT = range(len(FIELDS))

#: Seconds at its velocity limit that a joint may step besides the time that it has.
_STEP_TIME = 0.05

#: What the rounding of a map may add to an actuator's value, and relative to it.
_ROUNDING = 1e-9


class LimitEffects:
    """
    What limits did to a command, to be counted once it is accepted.

    :param counts: Counts of its source; ``None``: it ends commands, so that it is never rejected.
    :ivar shares: What is left of the effort of joints that was scaled.
    """

    __slots__ = ('_changed', '_counts', 'shares')

    def __init__(self, counts: CommandCounts | None = None) -> None:
        self._counts = counts
        self._changed: set[tuple[str, str]] = set()
        self.shares: dict[str, float] = {}

    @property
    def may_reject(self) -> bool:
        """Whether the command is a new one."""
        return self._counts is not None

    def add(self, kind: str, joints: Iterable[str]) -> None:
        """Note what happened to joints, by a name of :class:`CommandCounts`."""
        self._changed.update((kind, joint) for joint in joints)

    def reject(self, joints: Iterable[str]) -> None:
        """Count joints for which the command is rejected."""
        if self._counts is not None:
            self._counts.limited.update(joints)

    def count(self) -> None:
        """Count what was noted."""
        assert self._counts is not None
        for kind, joint in self._changed:
            getattr(self._counts, kind)[joint] += 1
        self._counts.shares.update(self.shares)


def _outside(values: Array, lower: Array, upper: Array) -> Mask:
    """Return which numbers are outside; NaN compares false: no command is within every limit."""
    outside: Mask = (values < lower) | (values > upper)
    return outside


class CommandLimits:
    """
    Position bounds, velocity and effort magnitudes of every joint.

    :param robot: Gives the joints and, through its description, their limits.
    :param options: Of these ``limits``, ``zero_max_velocity`` and ``max_step`` count.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._names = robot.joint_names
        self._policy, self._max_step = options.limits, options.max_step
        self._moving = options.zero_max_velocity
        limits = [effective_limits(robot.robot, name) for name in robot.joint_names]
        bounds: Array = np.array(
            [
                [[each.lower, -each.velocity, -each.effort] for each in limits],
                [[each.upper, each.velocity, each.effort] for each in limits],
            ]
        ).reshape(2, len(limits), len(FIELDS))
        self._lower: Array
        self._upper: Array
        self._lower, self._upper = np.ascontiguousarray(bounds.transpose(0, 2, 1))
        #: Joints that fewer actuators drive, so that none stops without the others.
        self._together = [
            list(binding.joints)
            for binding in robot.bindings
            if len(binding.actuators) < len(binding.joints)
        ]
        self._least_step: Array = self._upper[_VELOCITY] * _STEP_TIME
        self._step: Array = np.empty(len(limits))

    def apply(self, command: Array, effects: LimitEffects, field: int | None = None) -> None:
        """
        Clamp or refuse a command, in place; NaN is no command and stays NaN.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, or values of
            one of them, shape ``(..., n_joints)``.
        :param effects: Takes up what changed.
        :param field: The row of the values; ``None``: all three.
        :raises MessageError: If a value is outside, and the policy is ``reject`` or the lower
            limit is above the upper one (``limit``).
        """
        if self._policy == 'off':
            return
        lower = self._lower if field is None else self._lower[field]
        upper = self._upper if field is None else self._upper[field]
        outside = _outside(command, lower, upper)
        if not outside.any():
            return
        impossible = outside & (lower > upper)
        refused = outside if self._policy == 'reject' else impossible
        if refused.any():
            effects.reject(self._named(refused))
            self._refuse(command, refused, np.broadcast_to(lower, command.shape), upper)
        np.clip(command, lower, upper, out=command)
        effects.add('clamped', self._named(outside))

    def _refuse(self, command: Array, refused: Mask, lower: Array, upper: Array) -> None:
        upper = np.broadcast_to(upper, command.shape)
        sentences = [
            f'{self._names[index[-1]]}: {command[tuple(index)]:g} is not in '
            f'[{lower[tuple(index)]:g}, {upper[tuple(index)]:g}]'
            for index in np.argwhere(refused)
        ]
        raise MessageError('limit', f'outside the limits: {shortened(sentences, show=str)}')

    def stop_outward(
        self,
        command: Array,
        position: Array,
        velocity: Array,
        effects: LimitEffects,
    ) -> None:
        """
        End what leads further out if a joint is measured beyond a position limit, in place.

        Outward velocity becomes zero, and that of joints that cannot move without this one.
        Outward effort becomes zero while the joint moves outward; otherwise it passes, because it
        may hold a load.

        :param command: Rows position, velocity, effort, shape ``(3, ..., n_joints)``.
        :param position: Measured, shape ``(n_joints,)``; nothing changes if it is NaN.
        :param velocity: Measured, likewise.
        :param effects: Takes up what changed.
        :raises MessageError: If the policy is ``reject`` and something would be changed
            (``limit``).
        """
        if self._policy == 'off':
            return
        above, below = position > self._upper[_POSITION], position < self._lower[_POSITION]
        if not (above | below).any():  # a NaN is neither
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
            effects.reject(self._named(outward))
            raise MessageError(
                'limit',
                'beyond a position limit, and commanded further out: '
                f'{shortened(tuple(self._named(outward)))}',
            )
        command[_VELOCITY:][outward] = 0.0
        effects.add('stopped', self._named(outward))
        effects.add('outward', self._named(passes))

    def are_near(self, targets: Array, origin: Array, given: bytes) -> bool:
        """
        Return whether positions are near enough whatever time they have.

        :param targets: Commanded positions, shape ``(n_joints,)``, NaN: none.
        :param origin: Where their ways start, likewise, NaN: unknown.
        :param given: Which positions there are, as the bytes of a boolean array.
        """
        step = np.abs(np.subtract(targets, origin, self._step), self._step)
        return bool((step <= self._least_step).tobytes() == given)

    def check_step(
        self, target: Array, origin: Array, seconds: Array | float, effects: LimitEffects
    ) -> None:
        """
        Compare the way to commanded positions with the velocity limits.

        :param target: Commanded positions, shape ``(n_joints,)``, NaN: none.
        :param origin: Where these ways start, likewise, NaN: unknown.
        :param seconds: The time that each has, to which :data:`_STEP_TIME` is added.
        :param effects: Takes up what is too far.
        :raises JointError: If ``max_step`` is ``reject``, and a position is too far or its origin
            is unknown (``jumped``).
        """
        limits = self._upper[_VELOCITY]
        # NaN is not within.
        far = ~(np.abs(target - origin) <= limits * (seconds + _STEP_TIME) * (1.0 + _ROUNDING))
        far &= ~np.isnan(target) & np.isfinite(limits)
        if not far.any():
            return
        if self._max_step == 'warn':
            effects.add('jumped', self._named(far & ~np.isnan(origin)))
        else:
            sentences = [
                f'{self._names[place]} from {origin[place]:g} to {target[place]:g}'
                if origin[place] == origin[place]
                else f'{self._names[place]}, whose position is unknown'
                for place in np.flatnonzero(far)
            ]
            raise JointError(
                'jumped',
                f'too far for the velocity limit: {shortened(sentences, show=str)} (max_step is '
                'reject)',
                far,
            )

    def check_mean_speed(self, times: Array, positions: Array) -> None:
        """
        Check the mean speed between waypoints.

        :param times: Increasing times [s], shape ``(n,)``.
        :param positions: Positions at these, shape ``(n, n_joints)``, NaN: none.
        :raises MessageError: If one is above the velocity limit of its joint (``limit``).
        """
        _check_mean_speed('limit', times, positions, self._upper[_VELOCITY], self._names)

    def _named(self, mask: Mask) -> Iterable[str]:
        some = mask.reshape(-1, mask.shape[-1]).any(axis=0)
        return (self._names[place] for place in np.flatnonzero(some))


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
class _Group:
    """The actuators of one transmission that are commanded through it, some with limits."""

    binding: Binding
    joints: tuple[str, ...]
    actuators: Index

    @property
    def is_single(self) -> bool:
        """Whether one actuator moves one joint, so that each position is another one's."""
        return len(self.joints) == len(self.binding.actuators) == 1


def motor_bounds(robot: RobotTransmissions) -> Array:
    """
    Return position bounds, and magnitudes of velocity and effort, of every actuator.

    An actuator that several transmissions read is one motor: limits of each of them count.

    :returns: Lower and upper bounds in SI at the motor, infinite where there is none, shape
        ``(2, 3, n_actuators)``, rows position, velocity, effort.
    """
    names = robot.actuator_names
    bounds: Array = np.full((2, len(FIELDS), len(names)), np.inf)
    bounds[0] = -np.inf
    for tunables in robot.tunables.values():
        for tunable in tunables:
            if tunable.is_actuator_limit:
                place, kind = names.index(tunable.path[1]), tunable.path[-1]
                lower, upper = bounds[:, :, place]
                _narrow(lower, upper, kind, tunable.value)
    return bounds


def _narrow(lower: Array, upper: Array, kind: str, value: float) -> None:
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

    The last stage of a command. A position is clamped where one actuator moves one joint, else
    refused. The velocities of the actuators of one transmission are scaled together, so that
    their direction in joint space stays, and so are the efforts.

    :param robot: Its transmissions give the limits.
    :param options: The choices of the user.
    :ivar bounds: As :func:`motor_bounds`.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._names = robot.actuator_names
        self._texts, self._units = robot.units, DriverUnits(robot)
        self._policy = options.limits
        self.bounds = motor_bounds(robot)
        groups = []
        for binding in robot.bindings:
            owned = np.array(binding.actuators, dtype=np.intp)[list(binding.owned)]
            if np.isfinite(self.bounds[:, :, owned]).any():
                joints = tuple(robot.joint_names[joint] for joint in binding.joints)
                groups.append(_Group(binding, joints, owned))
        self._groups = tuple(groups) if options.limits != 'off' else ()

    def apply(self, sent: Array, effects: LimitEffects) -> None:
        """
        Hold an actuator command within the limits, in place.

        :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, finite; NaN: no
            command.
        :param effects: Takes up what changed. What ends commands is never refused: velocity and
            effort are scaled.
        :raises MessageError: If the command is refused (``actuator_limit``).
        """
        if not self._groups or not _outside(sent, *self.bounds).any():
            return
        for row in range(len(FIELDS)):
            self.apply_row(sent[row], row, effects)

    def apply_row(self, sent: Array, row: int, effects: LimitEffects) -> None:
        """
        Do the same with one interface, of one sample or of many.

        :param sent: Shape ``(..., n_actuators)``.
        :param row: 0: position, 1: velocity, 2: effort.
        """
        for group in self._groups:
            own = sent[..., group.actuators]
            lower, upper = self.bounds[:, row, group.actuators]
            outside = _outside(own, lower, upper)
            if not outside.any():
                continue
            # What a joint's limit allows exactly must not be refused for the rounding of its map.
            beyond = (own < lower - _ROUNDING * (1.0 + np.abs(lower))) | (
                own > upper + _ROUNDING * (1.0 + np.abs(upper))
            )
            if self._policy == 'reject' or (row == _POSITION and not group.is_single):
                refused = beyond & effects.may_reject
            else:
                refused = outside & (lower > upper)
            if refused.any():
                self._refuse(group, row, own, refused)
            joints = group.joints if beyond.any() else ()
            if row == _POSITION:
                effects.add('clamped', joints)
            else:
                ratio = np.ones(own.shape)
                np.divide(upper, np.abs(own), out=ratio, where=outside)
                share = ratio.min(axis=-1, keepdims=True)
                own = own * share
                effects.add('scaled', joints)
                if row == _EFFORT:
                    effects.shares.update(dict.fromkeys(joints, float(share.min())))
            # Rounding must not leave the limit either.
            sent[..., group.actuators] = np.clip(own, lower, upper)

    def is_outside(self, values: Array, row: int, places: list[int]) -> Mask:
        """Return which numbers of actuators are outside their limits; NaN is not."""
        if self._policy == 'off':
            return np.zeros(len(places), dtype=bool)
        return _outside(values, *self.bounds[:, row, places])

    def clip(self, values: Array, row: int, places: list[int]) -> Array:
        """Return velocities or efforts of actuators within their limits."""
        if self._policy == 'off':
            return values
        clipped: Array = np.clip(values, *self.bounds[:, row, places])
        return clipped

    def check_mean_speed(self, times: Array, positions: Array) -> None:
        """
        Do the same as :meth:`CommandLimits.check_mean_speed` (``actuator_limit``).

        :param positions: Of the actuators, shape ``(n, n_actuators)``.
        """
        upper = self.bounds[1, _VELOCITY]
        _check_mean_speed('actuator_limit', times, positions, upper, self._names)

    def _refuse(self, group: _Group, row: int, own: Array, outside: Mask) -> None:
        # A user knows the driver's numbers.
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
