# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Everything that follows from a robot and the options of its bridge, and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from transmission_bridge.bridge.acceleration_rule import Acceleration
from transmission_bridge.bridge.actuator_rules import ACTUATOR_RULES, find_motor_bounds
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.joint_rules import JOINT_RULES, Outward
from transmission_bridge.bridge.motion import COMMAND, END, TRAJECTORY, VELOCITY
from transmission_bridge.bridge.options import AUTO, BridgeOptions, COMMAND_TIMEOUT, split_pairs
from transmission_bridge.bridge.outlets import (
    check_array_order,
    CommandOutlet,
    DriverNames,
    Outlets,
    TrajectoryOutlet,
)
from transmission_bridge.bridge.readers import CommandReader, find_command_names
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.types import Array, Index, Mask

#: The rules in the order of their application; some make none for a pattern.
RULES = (*JOINT_RULES, Acceleration, *ACTUATOR_RULES)

#: Number of cached patterns; controllers use fewer combinations in practice.
PATTERNS = 64


class Plan:
    """
    What follows from robot and options; tuning makes a new one. Nothing in it has to survive that.

    :ivar names: The joint names that commands may use.
    :ivar divides: Whether the joints of a transmission may be rejected alone.
    :ivar chooses: Whether one of several interfaces of a joint is chosen.
    :ivar timeouts: Command timeout of each joint [s]; 0: never.
    :ivar joint_speeds: Velocity limits of the joints [rad/s or m/s], infinite: none.
    :ivar joint_bounds: Lower and upper limits of the joints, shape ``(2, 4, n_joints)``; infinite
        if ``limits`` is ``off``.
    :ivar motor_bounds: Limits of the actuators in SI, shape ``(2, 4, n_actuators)``, the same.
    :ivar groups: The joints that one transmission moves together.
    :ivar together: Indices of the joints that stop together because of too few actuators.
    :ivar outward: The rule for active rates, which never rejects.
    :ivar stream: Maps commands.
    :ivar orders: Indices of the actuators in plain arrays, by the namespace of their driver.
    :ivar ending_rows: Mask of the rows that end after a timeout, shape ``(3, 1)``.
    :ivar nothing: A motion of no joint, all NaN, shape ``(3, n_joints)``; must not be changed.
    :ivar find_pattern: Returns the pattern of a kind of motion and a mask of its given values as
        bytes.
    :ivar find_outlets: Returns the outlets for a mask of numbers of actuators as bytes. With
        ``mixed_commands: nan`` actuators commanded in different modes share one message, and NaN
        means no command; otherwise each interface has a message.
    :raises ParameterError: If an option does not fit the robot.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self.robot, self.options = robot, options
        self.names = find_command_names(robot)
        self.divides = options.rejects == 'transmission' or (
            options.rejects == 'auto' and any(b.takes_joint_states for b in robot.robot.blocks)
        )
        self.chooses = options.several_interfaces != 'together'
        self.timeouts = find_command_timeouts(robot, options.command_timeout)
        self.units = DriverUnits(robot)
        self.joint_bounds = _find_joint_bounds(robot)
        self.motor_bounds = find_motor_bounds(robot)
        self.joint_speeds: Array = self.joint_bounds[1, VELOCITY].copy()
        if options.limits == 'off':
            self.joint_bounds[:] = self.motor_bounds[:] = [[[-np.inf]], [[np.inf]]]
        self.groups = find_coupled_joints(robot)
        self.together = [group.joints for group in self.groups if not group.can_hold]
        self.outward = Outward(self, may_reject=False)
        self.stream = robot.stream(JOINT_TO_ACTUATOR)
        self.drivers = DriverNames(
            split_pairs('actuator_names', options.actuator_names), robot.actuator_names
        )
        joints, names = self.names.commandable, robot.actuator_names
        order = options.command_actuators
        check_array_order('command_joints', options.command_joints, joints, robot.lost_joints)
        check_array_order('command_actuators', order, names, robot.lost_actuators)
        self.orders: dict[str, list[int]] = {}
        for name in order:
            self.orders.setdefault(self.drivers.find_namespace(name), []).append(names.index(name))
        self.ending_rows: Mask = np.array([[False], [True], [options.zero_effort]])
        self.nothing: Array = np.full((len(FIELDS), len(robot.joint_names)), np.nan)
        self.find_pattern = lru_cache(PATTERNS)(partial(Pattern, self))
        self.find_outlets = lru_cache(PATTERNS)(self._make_outlets)
        self.reader = CommandReader(self)

    def make_mask(self, joints: Index) -> Mask:
        """Return the mask of some joints."""
        mask: Mask = np.zeros(len(self.robot.joint_names), dtype=bool)
        mask[joints] = True
        return mask

    def _make_outlets(self, key: bytes) -> Outlets:
        given: Mask = np.frombuffer(key, dtype=bool).reshape(len(FIELDS), -1)
        modes = [given]
        if self.options.mixed_commands != 'nan' and is_mixed(given):
            modes = [given & row for row in np.eye(len(FIELDS), dtype=bool)[:, :, np.newaxis]]
        return tuple(
            CommandOutlet(share, tuple(mode[:, share.places].any(axis=1).tolist()), self.units)
            for mode in modes
            for share in self.drivers.divide_actuators(mode.any(axis=0))
        )


class Pattern:
    """
    The structure of a motion, which follows from the values that its message gives.

    Controllers repeat messages with the same structure.

    :ivar mask: Mask of these values, shape ``(3, n_joints)``, in a trajectory ``(4, n_joints)``.
    :ivar complete: The same with the partners of these joints.
    :ivar named: Mask of the joints that the message commands.
    :ivar given: Their indices.
    :ivar following: Indices of joints that follow those because of too few actuators, or ``None``.
    :ivar moved: Mask of the joints that may make a step: named ones and followers.
    :ivar joints: Mask of the commanded joints after completion.
    :ivar actuators: Mask of the commanded actuators.
    :ivar result: Mask of the numbers of actuators that have to be finite, as bytes.
    :ivar outlets: Make the messages.
    :ivar rules: The rules that apply.
    """

    def __init__(self, plan: Plan, kind: str, key: bytes) -> None:
        self.kind, self.is_command = kind, kind == COMMAND
        self.is_trajectory, self.is_end = kind == TRAJECTORY, kind == END
        self.mask: Mask = np.frombuffer(key, dtype=bool).reshape(-1, len(plan.robot.joint_names))
        self.is_mixed = is_mixed(self.mask)
        self.complete: Mask = self.mask.copy()
        self.named: Mask = self.mask.any(axis=0)
        self.moved: Mask = self.named.copy()
        for group in plan.groups:
            rows = self.mask[:, group.joints].any(axis=1)
            self.complete[rows[:, np.newaxis] & plan.make_mask(group.joints)] = True
            self.moved[group.joints] |= rows.any() and not group.can_hold
        self.given: Index = np.flatnonzero(self.named)
        self.joints: Mask = self.complete.any(axis=0)
        following = np.flatnonzero(self.moved & ~self.named)
        self.following: Index | None = following if len(following) else None
        result = plan.robot.actuators_of(self.complete)
        self.result = result.tobytes()
        self.actuators: Mask = result.any(axis=0)
        self.outlets: Outlets
        if self.is_trajectory:
            shares = plan.drivers.divide_actuators(self.actuators)
            self.outlets = tuple(TrajectoryOutlet(share, plan.units) for share in shares)
        else:
            self.outlets = plan.find_outlets(self.result)
        self.rules = tuple(rule for each in RULES for rule in each.make(plan, self))

    def commands(self, binding: Binding) -> bool:
        """Return whether the message names a joint of a transmission."""
        return bool(self.named[list(binding.joints)].any())

    def cut_rows(self, numbers: Array) -> Array:
        """Return numbers for four rows, shape ``(..., 4, n)``, for the rows of these motions."""
        return (
            numbers[..., np.newaxis, :]
            if self.is_trajectory
            else np.ascontiguousarray(numbers[..., : len(FIELDS), :])
        )


def is_mixed(given: Mask) -> bool:
    """Return whether a command, shape ``(rows, n)``, has more than one mode."""
    modes = given[:, given.any(axis=0)]
    return not bool((modes == modes[:, :1]).all())


def find_command_timeouts(robot: RobotTransmissions, timeout: float) -> list[float]:
    """
    Return the command timeout of each joint [s]; 0: never.

    :param timeout: For all joints; -1: 0.5 s, and 0 for joints of a topic-based component that is
        silent at its target.
    """
    if timeout != AUTO:
        return [timeout] * len(robot.joint_names)
    silent = {
        component.name
        for block in robot.robot.blocks
        if block.is_silent_at_target
        for component in block.components
    }
    return [0.0 if name in silent else COMMAND_TIMEOUT for name in robot.joint_names]


def _find_joint_bounds(robot: RobotTransmissions) -> Array:
    limits = [effective_limits(robot.robot, name) for name in robot.joint_names]
    upper = [[each.upper, each.velocity, each.effort, np.inf] for each in limits]
    lower = [[each.lower, -each.velocity, -each.effort, -np.inf] for each in limits]
    return np.array([lower, upper]).reshape(2, len(limits), 4).swapaxes(1, 2).copy()


@dataclass(frozen=True, slots=True, eq=False)
class CoupledJoints:
    """
    Joints that share actuators, so that no joint can be commanded without the others.

    :param joints: Their indices.
    :param can_hold: Whether there are enough actuators for one joint to hold while another moves.
    :param constants: ``J`` and joint offset if the ratio is constant, else ``None``.
    """

    binding: Binding
    joints: Index
    names: tuple[str, ...]
    can_hold: bool
    constants: tuple[Array, Array] | None

    @property
    def transmission(self) -> str:
        """Name of the transmission."""
        return self.binding.spec.name


def find_coupled_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
    """Return the groups of joints that one transmission moves together."""
    zeros = np.zeros(len(robot.actuator_names))
    # The robot's own methods catch the errors of plugins.
    jacobian = robot.jacobian(zeros)
    offset = robot.actuator_to_joint('position', zeros)
    groups = []
    for binding in robot.bindings:
        joints = np.array(binding.joints, dtype=np.intp)
        constants = jacobian[np.ix_(joints, binding.actuators)], offset[joints]
        is_constant = binding.transmission.is_constant
        is_constant &= all(np.isfinite(each).all() for each in constants)
        names = tuple(member.name for member in binding.spec.joints)
        can_hold = len(binding.actuators) >= len(joints)
        if len(joints) > 1:
            groups.append(
                CoupledJoints(binding, joints, names, can_hold, constants if is_constant else None)
            )
    return tuple(groups)
