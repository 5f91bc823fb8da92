# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``: what is in a robot description, and what is wrong with it."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.robot_arguments import add_robot_arguments, aliases_of

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument(
        '--limits',
        action='store_true',
        help='with --json: add limits of joints and actuators, their units, and ratios that vary',
    )
    parser.add_argument(
        '--strict',
        action='store_true',
        help='count warnings about data that nothing uses, or that ros2_control or URDF parsers '
        'refuse, as errors',
    )


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.check_report import check
    from transmission_bridge.tools.check_text import text_lines
    from transmission_bridge.tools.robot_file import read_robot_file

    aliases = aliases_of(options.alias)
    report = check(read_robot_file(options.file), strict=options.strict, aliases=aliases)
    if options.json:
        console.out.json(report.as_json(with_limits=options.limits))
    else:
        for line in text_lines(report, options.file, console.out.width):
            console.out.line(line)
    return Exit.ERRORS if report.has_errors else Exit.OK


COMMAND = Command(
    summary='show the transmissions of a robot description and what is wrong with it',
    description='Show the transmissions of a robot description with joints, actuators, roles,\n'
    'reductions and offsets, the limits of joints and actuators, the joints that pass\n'
    'through, and everything that is odd.\n\n'
    'exit code: 0 no errors (there may be warnings), 1 errors, also if FILE is not a robot\n'
    'description at all, 2 wrong usage or FILE cannot be read.',
    example='  transmission_bridge check robot.urdf\n'
    '  xacro robot.urdf.xacro | transmission_bridge check --strict -',
    add_arguments=_add_arguments,
    run=_run,
)
