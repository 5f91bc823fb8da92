# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``: the drive of a robot as a picture."""

from __future__ import annotations

import argparse
import re

from transmission_bridge.tools.command import Command, Exit, UsageError
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.robot_arguments import add_robot_arguments, aliases_of

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    parser.add_argument(
        '--output',
        metavar='FILE.svg|png',
        help="where to write (default: the robot's name with .svg, in this folder)",
    )
    parser.add_argument(
        '--transmission',
        action='append',
        default=[],
        metavar='NAME',
        help='draw this one only; may be repeated',
    )
    parser.add_argument('--force', action='store_true', help='replace a file that is there')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.extras import optional
    from transmission_bridge.tools.new_file import check_new_file, write_new_file
    from transmission_bridge.tools.plotting.figure import format_of

    if options.output:
        format_of(options.output)
        check_new_file(options.output, force=options.force)
    optional('matplotlib.figure', 'plot')
    from transmission_bridge.description import load_description
    from transmission_bridge.tools.plotting.blocks import blocks_of
    from transmission_bridge.tools.plotting.diagram import diagram
    from transmission_bridge.tools.robot_file import read_robot_file
    from transmission_bridge.transmissions import RobotTransmissions

    robot = RobotTransmissions(
        load_description(read_robot_file(options.file)), aliases=aliases_of(options.alias)
    )
    names = tuple(robot.transmissions)
    for name in options.transmission:
        if name not in names:
            raise UsageError(f"unknown transmission '{name}', known: {', '.join(names) or 'none'}")
    output = options.output or _file_name(robot.robot.name)
    check_new_file(output, force=options.force)
    blocks = blocks_of(robot, options.transmission or names)
    passed = () if options.transmission else robot.pass_through
    picture = diagram(robot.robot.name, blocks, passed, format_of(output))
    write_new_file(output, picture, force=options.force)
    console.out.line(f'written to {printable(output)}')
    lost = len(robot.robot.transmissions) + len(robot.robot.rejected) - len(names)
    if lost:
        console.err.line(
            f'{lost} of the transmissions cannot be used and are not drawn: see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    return Exit.ERRORS if lost else Exit.OK


def _file_name(robot: str) -> str:
    """Return a file name for a robot's name, whatever characters that has."""
    return (re.sub(r'[^\w.-]+', '_', robot).strip('._')[:100] or 'robot') + '.svg'


COMMAND = Command(
    summary='draw the drive of a robot: actuators, transmissions, joints, curves',
    description='Draw the drive of a robot: actuators left, transmissions with their ratios in\n'
    'the middle, joints right. Below that, for each transmission whose ratio depends on\n'
    'position, position and ratio over its domain with the limits of the joints marked.\n'
    'The same description gives the same file.\n\n'
    'exit code: 0 all is drawn, 1 transmissions with errors are missing, or FILE is not a\n'
    'robot description, 2 wrong usage or a file cannot be read or written.',
    example='  transmission_bridge plot robot.urdf --output drive.svg\n'
    '  transmission_bridge plot robot.urdf --transmission ankle --output ankle.png',
    add_arguments=_add_arguments,
    run=_run,
)
