# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: the numbers of the transmissions from a recording."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from transmission_bridge.tools.command import Command, Exit, UsageError
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.robot_arguments import add_bridge_arguments

if TYPE_CHECKING:
    from transmission_bridge.tools.bridge_setup import BridgeSetup
    from transmission_bridge.tools.calibration.recording import Recording
    from transmission_bridge.tools.calibration.results import Calibration
    from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['COMMAND']


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'data',
        metavar='DATA',
        help='recording: a rosbag2 folder, .mcap, .db3, or a table .csv whose columns are time, '
        'actuators and joints by name (one row per pose will do)',
    )
    parser.add_argument(
        '--description', required=True, metavar='FILE', help='robot description as it is now'
    )
    parser.add_argument(
        '--alias',
        action='append',
        default=[],
        metavar='TYPE=TYPE',
        help='read a type in FILE as an installed type; may be repeated',
    )
    parser.add_argument(
        '--transmission',
        action='append',
        default=[],
        metavar='NAME',
        help='calibrate this one only; may be repeated',
    )
    for side, topic in (('actuators', 'actuator_states'), ('joints', 'joint_absolute_positions')):
        parser.add_argument(
            f'--{side}',
            default=topic,
            metavar='TOPIC',
            help=f'topic with the measured positions of {side}, in a bag (default: {topic})',
        )
    parser.add_argument(
        '--fix',
        action='append',
        default=[],
        metavar='PATTERN',
        help="keep numbers, for example 'wrist.joints.*.offset'; may be repeated",
    )
    parser.add_argument(
        '--noise',
        choices=('joint', 'actuator'),
        default='joint',
        help='the side whose measurements have the noise (default: joint)',
    )
    parser.add_argument(
        '--offset',
        choices=('longest', 'first', 'last'),
        default='longest',
        help='where a joint slipped: the offset of the longest time between slips, before the '
        'first, or after the last (default: longest)',
    )
    add_bridge_arguments(parser)
    parser.add_argument('--output', metavar='FILE.yaml', help='write a parameter file')
    parser.add_argument('--report', metavar='FILE.svg|png', help='draw the residuals')
    parser.add_argument('--force', action='store_true', help='replace files that are there')
    parser.add_argument('--json', action='store_true', help='print JSON')


def _run(options: argparse.Namespace, console: Console) -> Exit:
    from transmission_bridge.tools.extras import optional
    from transmission_bridge.tools.new_file import check_new_file, write_new_file
    from transmission_bridge.tools.plotting.figure import format_of

    report_format = ''
    if options.report:
        report_format = format_of(options.report)
        optional('matplotlib', 'plot')
    for name in filter(None, (options.output, options.report)):
        check_new_file(name, force=options.force)
    optional('scipy.optimize', 'calibrate')
    from transmission_bridge.tools.bridge_setup import bridge_setup
    from transmission_bridge.tools.calibration.calibrate import calibrate_robot
    from transmission_bridge.tools.robot_file import read_robot_file

    setup = bridge_setup(options, [options.actuators])
    robot, remarks = setup.robot(read_robot_file(options.description))
    _check_names(options.transmission, robot)
    recording, notes = _recording(options, setup, robot)
    for note in (*remarks, *notes):
        console.err.line(printable(note))
    results = calibrate_robot(
        robot,
        recording,
        only=options.transmission,
        noisy=options.noise,
        fixed=options.fix,
        offset_of=options.offset,
    )
    _check_results(options.transmission, results)
    if options.json:
        console.out.json({'transmissions': [result.as_json() for result in results]})
    else:
        _show(results, console)
    if not any(result.estimated for result in results):
        console.err.line('nothing is identifiable from this recording; nothing is written')
        return Exit.ERRORS
    if options.output:
        write_new_file(options.output, _parameters(results).encode(), force=options.force)
    if options.report:
        from transmission_bridge.tools.calibration.residual_plot import residual_plot

        picture = residual_plot(results, report_format)
        write_new_file(options.report, picture, force=options.force)
    return Exit.OK


def _check_names(names: Sequence[str], robot: RobotTransmissions) -> None:
    for name in names:
        if name not in robot.transmissions:
            known = ', '.join(robot.transmissions) or 'none'
            raise UsageError(f"unknown transmission '{name}', known: {known}")


def _recording(
    options: argparse.Namespace, setup: BridgeSetup, robot: RobotTransmissions
) -> tuple[Recording, Sequence[str]]:
    from transmission_bridge.tools.calibration.bag_recording import read_bag
    from transmission_bridge.tools.calibration.csv_recording import has_topics, read_csv

    names, periods = setup.names_of_driver(robot, options.actuators), setup.periods(robot)
    notes: list[str] = []
    if options.data.lower().endswith('.csv') and not has_topics(options.data):
        recording = read_csv(options.data, names, robot.joint_names)
        ignored = [name for name in recording.ignored if name]
        notes += [f'columns not used: {", ".join(ignored)}'] if ignored else []
    else:
        recording, remarks = read_bag(
            options.data, options.actuators, options.joints, names, robot.joint_names
        )
        notes += remarks
    if periods and recording.actuators.time is None:
        notes.append('wrap_period is not used: poses without times do not tell turns')
    else:
        actuators = recording.actuators.unwrapped(periods)
        recording = replace(recording, actuators=actuators)
    return recording, notes


def _check_results(names: Sequence[str], results: Sequence[Calibration]) -> None:
    found = [result.transmission for result in results]
    missing = [name for name in names if name not in found]
    if missing or not found:
        which = f"transmission '{missing[0]}'" if missing else 'any transmission'
        raise UsageError(
            f'the recording has no positions of all actuators and of a joint of {which} at the '
            'same time'
        )


def _show(results: Sequence[Calibration], console: Console) -> None:
    from transmission_bridge.tools.calibration.report_text import text_lines

    for result in results:
        for line in text_lines(result, console.out.width):
            console.out.line(line)


def _parameters(results: Sequence[Calibration]) -> str:
    from transmission_bridge.tools.parameters_yaml import parameters_yaml

    return parameters_yaml(
        [
            (
                result.transmission,
                [
                    (each.path, each.value, f'+- {each.half_width:.2g}, was {each.described:.9g}')
                    for each in result.estimated
                ],
            )
            for result in results
        ],
        'Found by "transmission_bridge calibrate"; half widths of 95 % confidence intervals.\n'
        'ros2 run transmission_bridge bridge_node --ros-args --params-file THIS_FILE',
    )


COMMAND = Command(
    summary='find reductions, offsets and dimensions from a recording of both sides',
    description='Find the numbers of the transmissions (reductions, offsets, dimensions) from a\n'
    'recording of actuator positions and of joint positions that were measured by other\n'
    'means: absolute encoders, or known poses. Robust against outliers and slips, with\n'
    '95 % confidence intervals. What the recording cannot tell keeps its value, with the\n'
    'reason.\n\n'
    'exit code: 0 something was found, 1 nothing is identifiable, or the description is\n'
    'none, 2 wrong usage or a file cannot be read or written.',
    example='  transmission_bridge calibrate poses.csv --description a.urdf --output tuned.yaml\n'
    '  transmission_bridge calibrate recording.mcap --description a.urdf \\\n'
    '      --joints /joint_encoders --transmission wrist --report residuals.svg',
    add_arguments=_add_arguments,
    run=_run,
)
