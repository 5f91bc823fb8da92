# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The condition under which services change numbers: the joints are known to be at rest."""

from __future__ import annotations

from collections.abc import Collection
import math

from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

#: Largest age of a state of which services use the numbers [s].
MAX_AGE = 5.0


def check_at_rest(
    robot: RobotTransmissions,
    joints: Collection[str],
    actuators: Array,
    *,
    held: Mask,
    max_velocity: float,
) -> None:
    """
    Check that no joint, and no joint coupled to it, holds a position command or moves.

    :param joints: Names.
    :param actuators: Present positions, velocities, efforts of the actuators in SI, shape
        ``(3, n_actuators)``, NaN if unknown or stale.
    :param held: Mask of the joints that hold a position command, shape ``(n_joints,)``.
    :param max_velocity: Speed above which a joint is moving [rad/s or m/s]. If the velocity of a
        joint is unknown, the velocities of its actuators are compared.
    :raises MessageError: If one holds a position command (``held``) or is moving (``moving``).
    """
    velocity = robot.actuator_to_joint('velocity', actuators[1], at=actuators[0])
    bindings = {robot.joint_names[index]: each for each in robot.bindings for index in each.joints}
    for wanted, index in [(name, index) for name in joints for index in bindings[name].joints]:
        name = robot.joint_names[index]
        about = name if name == wanted else f'{name}, coupled to {wanted},'
        if held[index]:
            raise MessageError(
                'held',
                f'{about} is holding a position command; changing its numbers would move it',
            )
        speeds = [(about, velocity[index])]
        if math.isnan(velocity[index]):
            about = f'the velocity of {about} is unknown, and its actuator'
            speeds = [
                (f'{about} {robot.actuator_names[actuator]}', actuators[1, actuator])
                for actuator in bindings[wanted].actuators
            ]
        for what, speed in speeds:
            if math.isnan(speed):
                raise MessageError('moving', f'{what} may be moving: its speed is unknown')
            if abs(speed) > max_velocity:
                raise MessageError(
                    'moving',
                    f'{what} is moving at {speed:g}, more than zero_max_velocity '
                    f'({max_velocity:g})',
                )
