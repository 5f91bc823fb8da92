# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot from a file for the page, without ROS: sliders move its actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import time

import numpy as np

from transmission_bridge.bridge.options import strip_prefixes
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.model import NotPossible, TuneModel
from transmission_bridge.tools.units import joint_unit
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

#: Tolerance of a joint position that a slider requests [rad or m].
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class RobotState:
    """
    State of a robot, in the order of the names of its maps.

    :param actuators: Positions, velocities, efforts at the motors in SI, shape
        ``(3, n_actuators)``, NaN if unknown. A velocity that the driver does not send is that of
        the positions.
    :param joints: Positions, velocities, efforts of the joints, shape ``(3, n_joints)``.
    :param actuator_ages: Seconds since the last message of each actuator, infinite for never.
    :param joint_ages: Seconds since the last message of each joint.
    :param commanded: Mask of the joints that are commanded now, shape ``(n_joints,)``.
    :param target: Commanded joint positions, shape ``(n_joints,)``, NaN for none.
    """

    actuators: Array
    joints: Array
    actuator_ages: Array
    joint_ages: Array
    commanded: Mask
    target: Array


#: Lower and upper position limit, infinite if absent, and their unit.
Limits = tuple[float, float, str]

#: Receives the reason if a change was rejected, else an empty text.
Done = Callable[[str], None]


def list_limits(robot: RobotTransmissions) -> dict[str, Limits]:
    """Return the position limits of each joint."""
    units = (joint_unit(robot.description, name) for name in robot.joint_names)
    limits = robot.joint_limits[:, 0].T.tolist()
    return {
        name: (low, high, unit)
        for name, (low, high), unit in zip(robot.joint_names, limits, units, strict=True)
    }


def compute_start_position(robot: RobotTransmissions) -> Array:
    """
    Return the actuator positions at the motors [rad or m] with the joints at zero.

    If the limits of a joint exclude zero, the nearest limit is used.
    """
    with np.errstate(all='ignore'):
        nearest = np.clip(0.0, *robot.joint_limits[:, 0])
        position = robot.joint_to_actuator('position', nearest)
    return np.nan_to_num(position, posinf=0.0, neginf=0.0)


class FileRobot:
    """
    A robot from a file; :class:`~.live.BridgeRobot` has the same members.

    :param description: The file.
    :param robot: Its maps.
    :param numbers: Initial values by parameter.
    :ivar model: The numbers; replaced for another robot, ``None`` if no robot is known.
    :ivar visuals: The text of the description.
    :ivar n_starts: Number of times that all numbers were read.
    :ivar bridge: Empty: no bridge has these numbers.
    :ivar stops: Empty: no stops are measured.
    """

    n_starts = 1
    bridge = ''
    stops: Mapping[str, tuple[float, float]] = {}

    def __init__(
        self,
        description: bytes,
        robot: RobotTransmissions,
        numbers: Mapping[str, float],
    ) -> None:
        self._model = TuneModel(description, robot)
        self._model.accept_values(numbers)
        self.model: TuneModel | None = self._model
        self.visuals = description
        self._position = compute_start_position(robot)

    def spin_for(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def read_state(self) -> RobotState:
        """Return the state that the sliders define."""
        n = len(self._model.robot.joint_names)
        actuators, joints = (np.full((3, each), np.nan) for each in (len(self._position), n))
        actuators[0], joints[0] = self._position, self._compute_joints(self._position)
        actuators[1] = 0.0  # a drawn robot is at rest
        ages = np.zeros_like(self._position), np.zeros(n)
        return RobotState(actuators, joints, *ages, np.zeros(n, dtype=bool), np.full(n, np.nan))

    def _compute_joints(self, position: Array) -> Array:
        with np.errstate(all='ignore'):
            return self._model.robot.actuator_to_joint('position', position)

    def describe_problem(self) -> str:
        """Return an empty text: a robot from a file is always present."""
        return ''

    def list_warnings(self) -> tuple[str, ...]:
        """Return no warnings."""
        return ()

    def apply_values(self, values: Mapping[str, float], done: Done) -> None:
        """Call ``done`` with the maps' error if they reject the numbers."""
        try:
            self._model.robot.with_parameters(strip_prefixes(values))
        except TransmissionBridgeError as error:
            done(str(error))
        else:
            done('')

    def move_actuator(self, actuator: int, position: float) -> None:
        """Move an actuator [rad or m]; a position that is not finite is ignored."""
        if math.isfinite(position):
            self._position[actuator] = position

    def move_joint(self, joint: int, position: float) -> None:
        """
        Move a joint [rad or m] by the actuators of its transmission, without its other joints.

        :raises NotPossible: If no actuator position reaches the joint position.
        """
        robot = self._model.robot
        wanted = self._compute_joints(self._position)
        wanted[joint] = position
        (binding,) = (binding for binding in robot.bindings if joint in binding.joints)
        with np.errstate(all='ignore'):
            actuators = robot.joint_to_actuator('position', wanted)[list(binding.actuators)]
        moved = self._position.copy()
        moved[list(binding.actuators)] = actuators
        if not abs(self._compute_joints(moved)[joint] - position) <= _TOLERANCE:
            name = robot.joint_names[joint]
            raise NotPossible(f'no position of the motors reaches this position of {name}')
        self._position = moved

    def close(self) -> None:
        """Do nothing."""
