# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which coordinate of a device moves which joint of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.errors import DescriptionError

__all__ = ['Drive', 'drives', 'owner']


class Drive(NamedTuple):
    """
    A joint position as a function of a device's coordinates, ``multiplier * q[column] + offset``.

    :param column: Index of the coordinate.
    :param multiplier: Joint motion per motion of the coordinate.
    :param offset: Joint position at zero [rad or m].
    """

    column: int
    multiplier: float = 1.0
    offset: float = 0.0


def drives(robot: RobotDescription, names: Sequence[str]) -> dict[str, Drive]:
    """
    Return how every joint that a device moves follows its coordinates.

    A joint that the device names has its own coordinate, even if it has a ``<mimic>``: what a
    device is told to command is independent. Every other joint with a ``<mimic>``, directly or
    through further mimics, of a joint of the device follows it.

    :param robot: The robot.
    :param names: The joints of the device, in the order of its coordinates.
    :returns: The drive of each joint that moves; joints that do not move are absent.
    :raises DescriptionError: If mimics form a loop.
    """
    specs = {joint.name: joint for joint in robot.joints}
    columns = {name: column for column, name in enumerate(names)}
    found = {spec.name: _drive(spec, specs, columns) for spec in robot.joints}
    return {name: drive for name, drive in found.items() if drive is not None}


def owner(robot: RobotDescription, name: str) -> str:
    """
    Return the joint that a joint follows in the end; itself if it has no ``<mimic>``.

    :param robot: The robot.
    :param name: Name of a joint.
    :returns: Name of the joint that moves it.
    :raises UnknownNameError: If the joint, or one that it follows, does not exist.
    :raises DescriptionError: If mimics form a loop.
    """
    spec = robot.joint(name)
    for _ in robot.joints:
        if spec.mimic is None:
            return spec.name
        spec = robot.joint(spec.mimic.joint)
    raise _loop(spec)


def _drive(
    spec: JointSpec, specs: Mapping[str, JointSpec], columns: Mapping[str, int]
) -> Drive | None:
    multiplier, offset = 1.0, 0.0
    current: JointSpec | None = spec
    for _ in range(len(specs) + 1):
        if current is None:
            return None
        if current.name in columns:
            return Drive(columns[current.name], multiplier, offset)
        if current.mimic is None:
            return None
        # q = m (m' q' + o') + o
        offset += multiplier * current.mimic.offset
        multiplier *= current.mimic.multiplier
        current = specs.get(current.mimic.joint)
    raise _loop(spec)


def _loop(spec: JointSpec) -> DescriptionError:
    return DescriptionError(
        f"joint '{spec.name}' mimics itself through other joints", line=spec.line, path=spec.path
    )
