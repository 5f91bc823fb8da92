# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The maps of a robot by options, and what the rules need to know of both.

A plan is these facts with more; rules, readers and the ledger need no more. Nothing sets them
after their construction; the rule that maps commands writes the warm starts of ``stream``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.options.options import (
    AUTO,
    BridgeOptions,
    COMMAND_TIMEOUT,
    split_option_pairs,
)
from transmission_bridge.description import RobotDescription
from transmission_bridge.interfaces import FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.transmissions import Binding, RobotTransmissions, Transmission
from transmission_bridge.types import Array, Index, Mask


def load_untuned_maps(description: RobotDescription, options: BridgeOptions) -> RobotTransmissions:
    """
    Return the maps of a robot with the numbers of its description, before any tuning.

    The bridge's node and the tools that read its parameters call it, so that options mean the
    same.

    :raises ParameterError: If an option cannot be used with this robot.
    :raises UnknownNameError: If an option contains a name that this robot does not have.
    """
    return RobotTransmissions(
        description,
        pass_through=options.pass_through,
        passive_joints=options.passive_joints,
        actuator_units=split_option_pairs('actuator_units', options.actuator_units),
    )


@dataclass(frozen=True, slots=True, eq=False)
class CoupledJoints:
    """
    Joints that share actuators, so that no joint can be commanded without the others.

    :param joints: Their indices.
    :param can_hold: Whether there are enough actuators for one joint to hold while another moves.
    :param constants: ``J`` and joint offset if the ratio is constant, else ``None``.
    :param alone: The map of each joint alone, empty if a joint cannot be mapped alone.
    """

    binding: Binding
    joints: Index
    names: tuple[str, ...]
    can_hold: bool
    constants: tuple[Array, Array] | None
    alone: tuple[Transmission, ...]


class RobotFacts:
    """
    Names, limits, units and coupled joints of a robot.

    :ivar robot: The maps; ``options``: the options.
    :ivar units: Units of the drivers.
    :ivar divides: Whether the joints of a transmission may be rejected alone, because a
        topic-based hardware component sends one message for the whole robot.
    :ivar chooses: Whether one of several interfaces of a joint is chosen.
    :ivar timeouts: Command timeout of each joint [s]; 0: never.
    :ivar joint_speeds: Velocity limits of the joints [rad/s or m/s], infinite: none; also if
        ``limits`` is ``off``.
    :ivar joint_bounds: Lower and upper limits of the joints, shape ``(2, 4, n_joints)``; infinite
        if ``limits`` is ``off``.
    :ivar motor_bounds: Limits of the actuators in SI, shape ``(2, 4, n_actuators)``, the same.
    :ivar groups: The joints that one transmission moves together.
    :ivar together: Indices of the joints that stop together because of too few actuators.
    :ivar stream: Maps commands; its last solution is the warm start of the next one.
    :ivar nothing: A command to no joint, all NaN, shape ``(3, n_joints)``; must not be changed.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self.robot, self.options = robot, options
        self.divides = any(block.takes_joint_states for block in robot.description.blocks)
        self.chooses = options.several_interfaces != 'together'
        self.timeouts = list_command_timeouts(robot, options.command_timeout)
        self.units = DriverUnits(robot)
        self.joint_bounds = robot.joint_limits.copy()
        # Controllers and planners limit accelerations.
        self.joint_bounds[:, -1] = [[-np.inf], [np.inf]]
        self.motor_bounds = compute_motor_bounds(robot)
        self.joint_speeds: Array = self.joint_bounds[1, FIELDS.index('velocity')].copy()
        if options.limits == 'off':
            self.joint_bounds[:] = self.motor_bounds[:] = [[[-np.inf]], [[np.inf]]]
        self.groups = group_commanded_joints(robot)
        self.together = [group.joints for group in self.groups if not group.can_hold]
        self.stream = robot.stream(JOINT_TO_ACTUATOR)
        self.nothing: Array = np.full((len(FIELDS), len(robot.joint_names)), np.nan)

    def make_mask(self, joints: Index) -> Mask:
        """Return the mask of some joints."""
        mask: Mask = np.zeros(len(self.robot.joint_names), dtype=bool)
        mask[joints] = True
        return mask


def list_command_timeouts(robot: RobotTransmissions, timeout: float) -> list[float]:
    """
    Return the command timeout of each joint [s]; 0: never.

    :param timeout: For all joints; -1: 0.5 s, and 0 for joints of a topic-based component that is
        silent at its target.
    """
    if timeout != AUTO:
        return [timeout] * len(robot.joint_names)
    silent = {
        component.name
        for block in robot.description.blocks
        if block.is_silent_at_target
        for component in block.components
    }
    return [0.0 if name in silent else COMMAND_TIMEOUT for name in robot.joint_names]


def compute_motor_bounds(robot: RobotTransmissions) -> Array:
    """
    Return position bounds, and magnitudes of velocity and effort, of every actuator.

    If several transmissions use an actuator, the limits of all of them apply.

    :returns: Lower and upper bounds in SI at the motor, shape ``(2, 4, n_actuators)``, rows
        position, velocity, effort, acceleration; infinite: no bound.
    """
    names = robot.actuator_names
    bounds: Array = np.full((2, 4, len(names)), np.inf)
    bounds[0] = -np.inf
    for tunable in chain.from_iterable(robot.tunables.values()):
        if not tunable.is_actuator_limit:
            continue
        lower, upper = bounds[:, :, names.index(tunable.path[1])]
        kind, value = tunable.path[-1], tunable.value
        if kind == 'lower':
            lower[0] = max(lower[0], value)
        else:
            row = 0 if kind == 'upper' else FIELDS.index(kind)
            upper[row] = min(upper[row], value)
            if row:
                lower[row] = -upper[row]
    return bounds


def group_commanded_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
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
        is_constant &= all(np.isfinite(numbers).all() for numbers in constants)
        names = tuple(member.name for member in binding.spec.joints)
        can_hold = len(binding.actuators) >= len(joints)
        if len(joints) > 1:
            # Built here, because the first command must not wait for it.
            maps = [binding.transmission.select_joints([k]) for k in range(len(joints))]
            alone = tuple(one for one in maps if one is not None and None not in maps)
            fixed = constants if is_constant else None
            groups.append(CoupledJoints(binding, joints, names, can_hold, fixed, alone))
    return tuple(groups)
