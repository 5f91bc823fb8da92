# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge jacobian``: how joints or actuators move a link."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from transmission_bridge.tools.command import Command, Exit, UsageError
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.robot_arguments import add_robot_arguments, aliases_of

if TYPE_CHECKING:
    from transmission_bridge.tools.jacobian_values import JacobianValues

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    parser.add_argument(
        'positions',
        nargs='*',
        metavar='q',
        help='positions in the order of the coordinates, or NAME=VALUE with the others at zero; '
        'all zero by default',
    )
    parser.add_argument('--base', required=True, metavar='LINK', help='link that is the reference')
    parser.add_argument('--end', required=True, metavar='LINK', help='link that is moved')
    parser.add_argument(
        '--space',
        choices=('joint', 'actuator'),
        default='joint',
        help='whose positions and motions (default: joint)',
    )
    parser.add_argument('--json', action='store_true', help='print JSON')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.jacobian_values import jacobian_values
    from transmission_bridge.tools.robot_file import read_robot_file

    found = jacobian_values(
        read_robot_file(options.file),
        options.positions,
        base=options.base,
        end=options.end,
        space=options.space,
        aliases=aliases_of(options.alias),
    )
    if not found.is_known:
        raise UsageError('the transmissions do not reach this position')
    if options.json:
        console.out.json(found.as_json())
    else:
        _show(found, console)
    return Exit.OK


def _show(found: JacobianValues, console: Console) -> None:
    from transmission_bridge.tools.jacobian_values import ROWS
    from transmission_bridge.tools.table import aligned

    columns = range(1, len(found.names) + 1)
    rows = [('', *found.names), ('position', *(f'{value:.6g}' for value in found.position))]
    rows += [
        (name, *(f'{value:.6f}' for value in row))
        for name, row in zip(ROWS, found.jacobian, strict=True)
    ]
    for line in aligned(rows, right=columns):
        console.out.line(line)
    console.out.line()
    console.out.line('pose of the end in the base')
    pose = [[f'{value:.6f}' for value in row] for row in found.transform]
    for line in aligned(pose, right=range(4)):
        console.out.line(line)


COMMAND = Command(
    summary='compute the Jacobian of a link, in joint or in actuator coordinates',
    description='Compute the Jacobian of a link and its pose. Rows vx vy vz are the velocity of\n'
    "the end's origin, wx wy wz its angular velocity, in the axes of the base, per unit of\n"
    'each joint or actuator.\n\n'
    'exit code: 0 done, 1 FILE is not a robot description, or no joints lead from base to\n'
    'end, 2 wrong usage, FILE cannot be read, or the position cannot be reached.',
    example='  transmission_bridge jacobian robot.urdf --base base_link --end tool 0.1 -0.2 0.3\n'
    '  transmission_bridge jacobian robot.urdf --base base_link --end tool \\\n'
    '      --space actuator shoulder_motor=12.5',
    add_arguments=_add_arguments,
    run=_run,
)
