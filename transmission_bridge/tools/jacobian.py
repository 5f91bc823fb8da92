# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge jacobian``: how joints or actuators move a link."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transmission_bridge.kinematics import ActuatorDevice, JointDevice
from transmission_bridge.tools.cli import aligned, Console, named_values, Result, UsageError
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

__all__ = ['ROWS', 'JacobianValues', 'jacobian_values', 'run']

#: The rows of the Jacobian.
ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')


@dataclass(frozen=True, eq=False)
class JacobianValues:
    """
    The result.

    :param names: The coordinates, one per column.
    :param position: Position of each [rad or m].
    :param jacobian: Shape ``(6, n)``: linear velocity of the end's origin, then angular velocity,
        in the axes of the base.
    :param transform: Shape ``(4, 4)``, the end in the base.
    """

    names: tuple[str, ...]
    position: Array
    jacobian: Array
    transform: Array

    @property
    def is_known(self) -> bool:
        """Whether the transmissions reach the position, so that everything is finite."""
        return bool(np.isfinite(self.jacobian).all() and np.isfinite(self.transform).all())

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``jacobian --json``."""
        return {
            'names': list(self.names),
            'position': self.position.tolist(),
            'rows': list(ROWS),
            'jacobian': self.jacobian.tolist(),
            'transform': self.transform.tolist(),
        }


def jacobian_values(
    robot: RobotTransmissions,
    values: Sequence[str],
    *,
    base: str,
    end: str,
    space: str,
) -> JacobianValues:
    """
    Compute a Jacobian.

    :param robot: Its maps.
    :param values: Numbers in the order of the coordinates, or texts ``name=value``, the others
        being zero.
    :param space: ``joint`` or ``actuator``.
    :raises DescriptionError: If the description cannot be used.
    :raises UnknownNameError: If there is no such link, or a joint has no actuators.
    :raises JointError: If the joints between the links are not a device.
    :raises UsageError: If the values do not fit.
    """
    device: JointDevice | ActuatorDevice
    device = JointDevice.from_description(robot.robot, base=base, end=end)
    names = device.joint_names
    if space == 'actuator':
        device = ActuatorDevice(device, robot)
        names = device.actuator_names
    position = np.array(_positions(values, names, space))
    with np.errstate(all='ignore'):
        return JacobianValues(
            names, position, device.base_j_end(position), device.base_t_end(position)
        )


def _positions(values: Sequence[str], names: tuple[str, ...], space: str) -> list[float]:
    if not any('=' in value for value in values):
        if values and len(values) != len(names):
            raise UsageError(
                f'expected {len(names)} positions ({", ".join(names)}), found {len(values)}'
            )
        values = [f'{name}={value}' for name, value in zip(names, values, strict=False)]
    given = named_values(values, names, space, {})
    return [given.get(name, 0.0) for name in names]


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    found = jacobian_values(
        robot_of_command(options, console),
        options.positions,
        base=options.base,
        end=options.end,
        space=options.space,
    )
    if not found.is_known:
        raise UsageError(f"the transmissions of '{options.file}' do not reach this position")
    return Result(_lines(found), found.as_json())


def _lines(found: JacobianValues) -> Iterator[str]:
    rows = [('', *found.names), ('position', *(f'{value:.6g}' for value in found.position))]
    rows += [
        (name, *(f'{value:.6f}' for value in row))
        for name, row in zip(ROWS, found.jacobian, strict=True)
    ]
    yield from aligned(rows, right=range(1, len(found.names) + 1))
    yield from ('', 'pose of the end in the base')
    pose = [[f'{value:.6f}' for value in row] for row in found.transform]
    yield from aligned(pose, right=range(4))
