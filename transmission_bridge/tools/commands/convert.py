# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge convert``: recordings from actuator space to joint space and back."""

from __future__ import annotations

import argparse

from transmission_bridge.tools.command import Command, Exit
from transmission_bridge.tools.console import Console
from transmission_bridge.tools.robot_arguments import add_bridge_arguments

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'input',
        metavar='IN',
        help='recording: a folder of rosbag2, or a file .mcap, .db3 or .csv',
    )
    parser.add_argument(
        'output',
        metavar='OUT',
        help='recording to write: .mcap, .db3, .csv, or any other name for a folder of rosbag2',
    )
    parser.add_argument(
        '--description',
        metavar='FILE',
        help="robot description; '-' reads standard input; by default the first message on "
        '/robot_description in IN',
    )
    parser.add_argument(
        '--to', choices=('joint', 'actuator'), default='joint', help='what to compute (joint)'
    )
    parser.add_argument(
        '--topic',
        action='extend',
        nargs='+',
        default=[],
        metavar='SOURCE:TARGET',
        help='convert SOURCE to TARGET; may be repeated, and sources with the same target are '
        'merged as drivers of one bridge (/actuator_states:/joint_states, or the reverse)',
    )
    parser.add_argument(
        '--keep', action='store_true', help='keep the topics that are converted as well'
    )
    parser.add_argument(
        '--storage',
        choices=('mcap', 'sqlite3'),
        help='storage of a folder (that of IN, mcap if it has none)',
    )
    parser.add_argument('--force', action='store_true', help='replace OUT if it is there')
    parser.add_argument(
        '--keep-readable',
        action='store_true',
        help='of a recording that is cut off or damaged, write what can be read, also behind the '
        'damage; without this nothing is written',
    )
    parser.add_argument(
        '--alias',
        action='append',
        default=[],
        metavar='TYPE=TYPE',
        help='read a type in the description as an installed type; may be repeated',
    )
    add_bridge_arguments(parser)


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.convert_job import run_job

    return run_job(options, console)


COMMAND = Command(
    summary='convert recorded actuator states to joint states, or the reverse',
    description='Convert recorded actuator states to joint states as the bridge would have,\n'
    'or the reverse. Everything else in the recording is copied as it is.\n\n'
    'OUT appears when it is complete, and is never replaced without --force.\n\n'
    'A line of a CSV file is a message, with the columns time and stamp [s], topic, and\n'
    'NAME.position, NAME.velocity, NAME.effort in SI units; stamp and topic may be absent.\n'
    'Only what is converted is written to a CSV file.\n\n'
    'With the parameter file of a bridge the result is what that one would have published.\n\n'
    'exit code: 0 done, 1 nothing was converted, IN is no recording, cut off or damaged, or\n'
    'the description is none, 2 wrong usage, or a file cannot be read or written.',
    example='  transmission_bridge convert drive.mcap drive_joints.mcap --description robot.urdf\n'
    '  transmission_bridge convert bag/ bag_joints/ --topic /left/states:/joint_states \\\n'
    '      /right/states:/joint_states\n'
    '  transmission_bridge convert drive.mcap drive.csv --description robot.urdf \\\n'
    '      --params-file bridge.yaml\n'
    '  transmission_bridge convert drive.mcap out.mcap --actuator-names M1=elbow_motor',
    add_arguments=_add_arguments,
    run=_run,
)
