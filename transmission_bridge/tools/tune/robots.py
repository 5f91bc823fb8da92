# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the page shows: a robot from a file, whose actuators the page moves, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import time

import numpy as np

from transmission_bridge.bridge.options import strip_prefixes
from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.model import NotPossible, TuneModel
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

__all__ = ['Done', 'FileRobot', 'Limits', 'RobotState', 'limits_of', 'start_position']

#: Rows of the arrays: position, velocity, effort.
_ROWS = 3

#: Distance from where a joint was to be moved at which it is there [rad or m].
_THERE = 1e-6


@dataclass(frozen=True, eq=False)
class RobotState:
    """
    Where a robot is, in the order of the names of its maps.

    :param actuators: Positions, velocities, efforts at the motors in SI, shape
        ``(3, n_actuators)``, NaN if unknown.
    :param joints: The same of the joints, shape ``(3, n_joints)``.
    :param actuator_ages: Seconds since each was heard, infinite: never.
    :param joint_ages: The same of the joints.
    :param commanded: Which joints are commanded at the moment, shape ``(n_joints,)``.
    :param target: Joint positions that are commanded, shape ``(n_joints,)``, NaN for none.
    """

    actuators: Array
    joints: Array
    actuator_ages: Array
    joint_ages: Array
    commanded: Mask
    target: Array


#: Least and greatest position, infinite if open, and their unit.
Limits = tuple[float, float, str]

#: Is called with the reason why a change was refused, empty where it was made.
Done = Callable[[str], None]


def limits_of(robot: RobotDescription) -> dict[str, Limits]:
    """Return the limits of position of each joint."""
    found = {}
    for joint in robot.joints:
        given = joint.limits
        low = -math.inf if given is None or given.lower is None else given.lower
        high = math.inf if given is None or given.upper is None else given.upper
        found[joint.name] = low, high, 'm' if joint.type == 'prismatic' else 'rad'
    return found


def start_position(robot: RobotTransmissions) -> Array:
    """
    Return actuator positions with the joints at zero, or where their limits are nearest it.

    They are at the motors, in SI.
    """
    limits = limits_of(robot.robot)
    ends = [limits.get(name, (0.0, 0.0, '')) for name in robot.joint_names]
    with np.errstate(all='ignore'):
        position = robot.joint_to_actuator('position', [min(max(0.0, a), b) for a, b, _ in ends])
    return np.nan_to_num(position, posinf=0.0, neginf=0.0)


class FileRobot:
    """
    A robot from a file; :class:`~.live.BridgeRobot` has the same members.

    :param description: The file.
    :param robot: Its maps.
    :param aliases: Types in the description to installed types.
    :param numbers: Those to begin with, by parameter.
    :ivar model: The numbers; another one for another robot, ``None`` while there is no robot.
    :ivar visuals: The text of the description.
    :ivar n_starts: How often the numbers were read from the beginning.
    """

    n_starts = 1

    def __init__(
        self,
        description: bytes,
        robot: RobotTransmissions,
        aliases: Mapping[str, str],
        numbers: Mapping[str, float],
    ) -> None:
        self._model = TuneModel(description, robot, aliases)
        self._model.accept(numbers)
        self.model: TuneModel | None = self._model
        self.visuals = description
        self._position = start_position(robot)

    def spin(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def state(self) -> RobotState:
        """Return where the sliders have moved it."""
        n = len(self._model.robot.joint_names)
        actuators, joints = (
            np.full((_ROWS, len(self._position)), np.nan),
            np.full((_ROWS, n), np.nan),
        )
        actuators[0], joints[0] = self._position, self._joints(self._position)
        ages = np.zeros_like(self._position), np.zeros(n)
        return RobotState(actuators, joints, *ages, np.zeros(n, dtype=bool), np.full(n, np.nan))

    def _joints(self, position: Array) -> Array:
        with np.errstate(all='ignore'):
            return self._model.robot.actuator_to_joint('position', position)

    def problem(self) -> str:
        """Return nothing: what is in a file is there."""
        return ''

    def sentences(self) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Accept numbers that the maps accept."""
        try:
            self._model.robot.with_parameters(strip_prefixes(values))
        except TransmissionBridgeError as error:
            done(str(error))
        else:
            done('')

    def move(self, actuator: int, position: float) -> None:
        """Move an actuator [rad or m]; a position that is no number is ignored."""
        if math.isfinite(position):
            self._position[actuator] = position

    def move_joint(self, joint: int, position: float) -> None:
        """
        Move a joint [rad or m] by the actuators of its transmission; its other joints stay.

        :raises NotPossible: If no position of the actuators has the joint there.
        """
        robot = self._model.robot
        wanted = self._joints(self._position)
        wanted[joint] = position
        (binding,) = (each for each in robot.bindings if joint in each.joints)
        with np.errstate(all='ignore'):
            found = robot.joint_to_actuator('position', wanted)[list(binding.actuators)]
        moved = self._position.copy()
        moved[list(binding.actuators)] = found
        if not abs(self._joints(moved)[joint] - position) <= _THERE:
            raise NotPossible(f'no position of the motors has {robot.joint_names[joint]} there')
        self._position = moved

    def close(self) -> None:
        """Do nothing."""
