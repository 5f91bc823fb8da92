# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the page shows: a robot from a file, whose actuators the page moves, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import time
from typing import Protocol

import numpy as np

from transmission_bridge.bridge.options import strip_prefixes
from transmission_bridge.description.specs import JointLimits
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

__all__ = ['FileRobot', 'Robot', 'RobotState', 'start_position']

#: Rows of the arrays: position, velocity, effort.
_ROWS = 3


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


#: Is called with the reason why a change was refused, empty where it was made.
Done = Callable[[str], None]


class Robot(Protocol):
    """
    A robot that is tuned.

    :ivar model: Its numbers, ``None`` while there is no robot yet.
    :ivar generation: Grows when the model is another one.
    :ivar is_live: Whether it is one behind a bridge.
    :ivar visuals: The text of its description.
    """

    model: TuneModel | None
    generation: int
    is_live: bool
    visuals: bytes

    def spin(self, seconds: float) -> None:
        """Wait, and take what arrives meanwhile."""

    def state(self) -> RobotState:
        """Return where it is; only where there is a model."""

    def sentences(self) -> tuple[str, ...]:
        """Return what is missing or wrong, in words; also while there is no model."""

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Set parameters, all or none; ``done`` is called later or at once."""

    def move(self, actuator: int, position: float) -> None:
        """Move an actuator, where the page may."""


def start_position(robot: RobotTransmissions) -> Array:
    """
    Return actuator positions with the joints at zero, or where their limits are nearest it.

    They are at the motors, in SI.
    """
    limits = {joint.name: joint.limits for joint in robot.robot.joints}
    wanted = [_nearest_zero(limits.get(name)) for name in robot.joint_names]
    with np.errstate(all='ignore'):
        position = robot.joint_to_actuator('position', wanted)
    return np.nan_to_num(position, posinf=0.0, neginf=0.0)


def _nearest_zero(limits: JointLimits | None) -> float:
    if limits is None:
        return 0.0
    lower = -math.inf if limits.lower is None else limits.lower
    upper = math.inf if limits.upper is None else limits.upper
    return min(max(0.0, lower), upper)


class FileRobot:
    """
    A robot from a file.

    :param description: The file.
    :param robot: Its maps.
    :param aliases: Types in the description to installed types.
    :param numbers: Those to begin with, by parameter.
    """

    is_live = False

    def __init__(
        self,
        description: bytes,
        robot: RobotTransmissions,
        aliases: Mapping[str, str],
        numbers: Mapping[str, float],
    ) -> None:
        self.model: TuneModel | None = TuneModel(description, robot, aliases)
        self.model.accept(numbers)
        self.generation = 1
        self.visuals = description
        self._position = start_position(robot)

    def spin(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def state(self) -> RobotState:
        """Return where the sliders have moved it."""
        assert self.model is not None
        robot = self.model.robot
        actuators = np.full((_ROWS, len(self._position)), np.nan)
        actuators[0] = self._position
        joints = np.full((_ROWS, len(robot.joint_names)), np.nan)
        with np.errstate(all='ignore'):
            joints[0] = robot.actuator_to_joint('position', self._position)
        return RobotState(
            actuators,
            joints,
            np.zeros(len(self._position)),
            np.zeros(len(robot.joint_names)),
            np.zeros(len(robot.joint_names), dtype=bool),
            np.full(len(robot.joint_names), np.nan),
        )

    def sentences(self) -> tuple[str, ...]:
        """Return nothing: what is in a file is there."""
        return ()

    def apply(self, values: Mapping[str, float], done: Done) -> None:
        """Accept numbers that the maps accept."""
        assert self.model is not None
        try:
            self.model.robot.with_parameters(strip_prefixes(values))
        except TransmissionBridgeError as error:
            done(str(error))
        else:
            done('')

    def move(self, actuator: int, position: float) -> None:
        """Move an actuator."""
        self._position[actuator] = position
