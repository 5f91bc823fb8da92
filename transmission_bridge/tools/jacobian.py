# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge jacobian``: how joints or actuators move a link."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from transmission_bridge.errors import counted
from transmission_bridge.kinematics import ActuatorDevice, JointDevice
from transmission_bridge.tools.cli import aligned, Console, named_values, Result, UsageError
from transmission_bridge.tools.robot import robot_of_command

#: The rows of the Jacobian.
_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')


def run(options: argparse.Namespace, console: Console) -> Result:
    """
    Run the command.

    The Jacobian has shape ``(6, n)``: linear velocity of the end's origin, then angular velocity,
    in the axes of the base, per unit of each joint or actuator.
    """
    robot = robot_of_command(options, console)
    device: JointDevice | ActuatorDevice
    device = JointDevice.from_description(robot.description, base=options.base, end=options.end)
    names = device.joint_names
    if options.space == 'actuator':
        device = ActuatorDevice(device, robot)
        names = device.actuator_names
    position = np.array(_read_positions(options.positions, names, options.space))
    with np.errstate(all='ignore'):
        jacobian, pose = device.base_j_end(position), device.base_t_end(position)
    if not (np.isfinite(jacobian).all() and np.isfinite(pose).all()):
        raise UsageError(f"the transmissions of '{options.file}' do not reach this position")
    rows = [('', *names), ('position', *(f'{value:.6g}' for value in position))]
    rows += [
        (name, *(f'{value:.6f}' for value in row))
        for name, row in zip(_ROWS, jacobian, strict=True)
    ]
    lines = [*aligned(rows, right=range(1, len(names) + 1)), '', 'pose of the end in the base']
    lines += aligned([[f'{value:.6f}' for value in row] for row in pose], right=range(4))
    document = {
        'names': list(names),
        'position': position.tolist(),
        'rows': list(_ROWS),
        'jacobian': jacobian.tolist(),
        'transform': pose.tolist(),
    }
    return Result(lines, document)


def _read_positions(values: Sequence[str], names: tuple[str, ...], space: str) -> list[float]:
    """
    Return positions [rad or m].

    :param values: Numbers in the order of the names, or texts ``name=value``, the others zero.
    :raises UsageError: If the values do not fit.
    """
    if not any('=' in value for value in values):
        if values and len(values) != len(names):
            raise UsageError(
                f'expected {counted(len(names), "position")} ({", ".join(names)}), '
                f'found {len(values)}'
            )
        values = [f'{name}={value}' for name, value in zip(names, values, strict=False)]
    given = named_values(values, names, space, {})
    return [given.get(name, 0.0) for name in names]
