# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge export``: tuned numbers back into the robot description."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.robot_arguments import add_robot_arguments

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    parser.add_argument(
        '--params',
        required=True,
        metavar='YAML',
        help="ROS parameter file with the numbers, as 'ros2 param dump' or 'calibrate' write it",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument('--output', metavar='NEW', help='write the description to this file')
    where.add_argument('--in-place', action='store_true', help='write it to FILE itself')
    parser.add_argument('--force', action='store_true', help='replace NEW if it is there')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.export_job import run_job

    return run_job(options, console)


COMMAND = Command(
    summary='write tuned numbers back into a robot description',
    description='Write the numbers of a parameter file into a robot description, each where it\n'
    'stands or would stand; every other byte stays as it is. By default the new\n'
    'description is printed.\n\n'
    'exit code: 0 done, 1 FILE is not a robot description, 2 wrong usage, a number cannot\n'
    'be written, or a file cannot be read or written.',
    example='  ros2 param dump /transmission_bridge > tuned.yaml\n'
    '  transmission_bridge export robot.urdf --params tuned.yaml --output tuned.urdf\n'
    '  transmission_bridge export robot.urdf --params tuned.yaml --in-place',
    add_arguments=_add_arguments,
    run=_run,
)
