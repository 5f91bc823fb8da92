# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge calibrate``: estimate numbers of transmissions from a recording."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
import math
import textwrap
from typing import Any

import numpy as np

from transmission_bridge.errors import UnknownNameError
from transmission_bridge.tools.calibration import by_hand
from transmission_bridge.tools.calibration.calibrate import calibrate_robot
from transmission_bridge.tools.calibration.recording import (
    has_topic_column,
    read_bag,
    read_csv,
    Recording,
)
from transmission_bridge.tools.calibration.results import (
    CalibratedNumber,
    Calibration,
    ChannelResult,
    describe_times,
    Effect,
)
from transmission_bridge.tools.cli import (
    aligned,
    Console,
    Exit,
    optional,
    printable,
    Result,
    UsageError,
)
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.parameter_files import parameters_yaml
from transmission_bridge.tools.plot.figure import format_of, picture
from transmission_bridge.tools.robot import bridge_setup, BridgeSetup, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.linkage.tree import linkage_joints
from transmission_bridge.types import Array


def list_calibration_lines(result: Calibration, width: int | None) -> Iterator[str]:
    """
    Yield the lines about one transmission.

    :param width: Columns to wrap sentences at, ``None``: no wrapping.
    """
    rows = 'rows' if result.rows != 1 else 'row'
    yield f'{printable(result.transmission)}  {printable(result.type)}  ({result.rows} {rows})'
    heading = ('PARAMETER', 'DESCRIPTION', 'ESTIMATE', '95 % INTERVAL')
    table = [heading, *(_format_number_row(parameter) for parameter in result.parameters)]
    for line in aligned(table, right=(1, 2)):
        yield f'  {line}'
    for channel in result.channels:
        yield _wrap_sentence(_describe_channel(channel, timed=result.timed), width)
    groups = (('', map(_describe_effect, result.effects)), ('doubt: ', result.doubts),
            ('warning: ', result.warnings), ('note: ', result.notes))  # fmt: skip
    for kind, sentences in groups:
        for sentence in sentences:
            yield _wrap_sentence(kind + sentence, width)
    yield ''


def round_to_interval(value: float, half_width: float | None) -> str:
    """Return a number with two significant digits of its interval."""
    if half_width is None or not 0.0 < half_width < math.inf:
        return f'{value:.9g}'
    digits = max(0, min(12, 1 - math.floor(math.log10(half_width))))
    return f'{value:.{digits}f}'


def _format_number_row(parameter: CalibratedNumber) -> tuple[str, str, str, str]:
    described = f'{parameter.described:.9g}'
    if parameter.half_width is None:
        # A warning has a sentence of its own.
        return parameter.name, described, 'kept', '' if parameter.warns else parameter.kept
    if math.isinf(parameter.half_width):
        interval = 'unknown: no more measurements than numbers'
    else:
        interval = f'± {parameter.half_width:.2g}'
    value = round_to_interval(parameter.value, parameter.half_width)
    return parameter.name, described, value, interval


def _describe_channel(channel: ChannelResult, *, timed: bool) -> str:
    if channel.noise is None:
        return f'{channel.name}: {channel.motion.value}, not used'
    outliers = int(channel.outlier.sum())
    return (
        f'{channel.name}: noise {channel.noise:.2g}, {outliers} of {len(channel.outlier)} are '
        'outliers'
        + (f' ({describe_times(channel.time, channel.outlier, timed=timed)})' if outliers else '')
    )


def _describe_effect(effect: Effect) -> str:
    scale, unit = (1e3, 'ms') if effect.unit == 's' else (1.0, effect.unit)
    half = scale * effect.half_width
    text = (
        f'included in the model: {printable(effect.name)}: '
        f'{round_to_interval(scale * effect.size, half)} ± {half:.2g} {unit}'
    )
    if effect.alike:
        others = ' or '.join(map(printable, effect.alike))
        text += f'; this motion cannot separate it from {others}'
    return text


def _wrap_sentence(text: str, width: int | None) -> str:
    if width is None:
        return f'  {printable(text)}'
    return textwrap.fill(
        printable(text), width, initial_indent='  ', subsequent_indent='    ',
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def draw_residuals(results: Sequence[Calibration], file_format: str) -> bytes:
    """
    Draw the residuals of every used channel, one below the other.

    :param file_format: ``svg`` or ``png``.
    """
    rows = [
        (result, channel)
        for result in results
        for channel in result.channels
        if channel.noise is not None and len(channel.residual)
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots(max(len(rows), 1), 2, squeeze=False, sharey='row')
        if not rows:
            for axis in axes[0]:
                axis.set_axis_off()
            axes[0, 0].text(0.5, 0.5, 'no residuals', ha='center')
        for pair, (result, channel) in zip(axes, rows, strict=False):
            _draw_channel(pair[0], channel, channel.time, 'time [s]' if result.timed else 'row')
            _draw_channel(pair[1], channel, channel.position, f'position [{channel.unit}]')
            pair[0].set_ylabel(f'residual [{channel.unit}]', fontsize=8)
            title = f'{result.transmission}: {channel.name}'
            pair[0].set_title(title, fontsize=9, loc='left', parse_math=False)

    return picture(draw, (11.0, max(2.2 * len(rows), 2.0)), file_format)


def _draw_channel(axis: Any, channel: ChannelResult, x: Array, label: str) -> None:
    count = len(channel.residual)
    shown = np.unique(np.linspace(0, count - 1, min(count, 4000)).astype(np.intp))
    inside = shown[~channel.outlier[shown]]
    outside = np.flatnonzero(channel.outlier)
    axis.plot(x[inside], channel.residual[inside], '.', ms=2, color='#4878a8')
    # Distant outliers are drawn at the edge, or the other residuals would be a flat line.
    limit = 8.0 * (channel.noise or 0.0)
    clipped = np.clip(channel.residual[outside], -limit, limit)
    axis.plot(x[outside], clipped, 'x', ms=4, color='#c44e52')
    axis.axhline(0.0, color='black', lw=0.8)
    if limit > 0.0:
        axis.set_ylim(-1.05 * limit, 1.05 * limit)
    axis.set_xlabel(label, fontsize=8)
    axis.tick_params(labelsize=7)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    if options.data is None:
        return by_hand.run(options, console)
    report_format = ''
    if options.report:
        report_format = format_of(options.report)
        optional('matplotlib', 'plot')
    for name in filter(None, (options.output, options.report)):
        check_output(name, force=options.force)
    optional('scipy.optimize', 'calibrate')
    setup = bridge_setup(options, [options.actuators])
    robot, remarks = setup.robot(read_robot_file(options.file), is_recorded=True)
    chosen, refusals = _choose_names(options.transmission, robot)
    recording, notes = _read_recording(options, setup, robot)
    for note in (*remarks, *refusals, *notes):
        console.err.line(printable(note))
    results = calibrate_robot(
        robot, recording, only=chosen, noisy=options.noise, fixed=options.fix
    )
    _check_results(options, results)
    Result(
        (line for result in results for line in list_calibration_lines(result, console.out.width)),
        {'transmissions': [result.as_json() for result in results]},
    ).show(console, as_json=options.json)
    if options.report:
        data = draw_residuals(results, report_format)
        write_output(options.report, data, force=options.force)
        console.err.line(f'written to {printable(options.report)}: the residuals')
    if not any(result.estimated_numbers for result in results):
        console.err.line('nothing is identifiable from this recording; no file is written')
        return Exit.ERRORS
    doubted = [result.transmission for result in results if result.doubts]
    if options.output and (not doubted or options.doubtful):
        write_output(options.output, _build_parameter_file(results).encode(), force=options.force)
        count = sum(len(result.estimated_numbers) for result in results)
        console.err.line(f'written to {printable(options.output)}: {count} numbers')
    if doubted:
        _report_doubts(doubted, results, options, console)
        return Exit.ERRORS
    return Exit.OK


def _report_doubts(
    doubted: Sequence[str],
    results: Sequence[Calibration],
    options: argparse.Namespace,
    console: Console,
) -> None:
    text = f'in doubt: {", ".join(map(printable, doubted))}'
    if options.output and not options.doubtful:
        others = [r.transmission for r in results if r.transmission not in doubted]
        text += '; no file is written'
        if others:
            text += f' (for the others: --transmission {" --transmission ".join(others)})'
        text += '; --doubtful writes all numbers'
    if not options.report:
        text += '; --report FILE.svg draws the residuals'
    console.err.line(printable(text))


def _choose_names(names: Sequence[str], robot: RobotTransmissions) -> tuple[list[str], list[str]]:
    """
    Return the transmissions to calibrate, and a sentence about each rejected one.

    :raises UsageError: If a rejected one is named, or there is no other.
    """
    for name in names:
        if name not in robot.transmissions:
            raise UnknownNameError('transmission', name, tuple(robot.transmissions))
    refusals = {
        binding.spec.name: f"'{binding.spec.name}' is a linkage, which is not calibrated: ~/zero "
        'sets the offsets of its actuators from known positions'
        for binding in robot.bindings
        if linkage_joints(robot.robot, binding.spec)
    }
    others = [name for name in robot.transmissions if name not in refusals]
    for name in names or ([] if others else refusals):
        if name in refusals:
            raise UsageError(refusals[name])
    return ([*names], []) if names else (others, [*refusals.values()])


def _read_recording(
    options: argparse.Namespace, setup: BridgeSetup, robot: RobotTransmissions
) -> tuple[Recording, Sequence[str]]:
    names, periods = setup.names_of_driver(robot, options.actuators), setup.periods(robot)
    notes: list[str] = []
    if options.data.lower().endswith('.csv') and not has_topic_column(options.data):
        recording = read_csv(options.data, names, robot.joint_names)
        ignored = [name for name in recording.ignored if name]
        notes += [f'columns not used: {", ".join(ignored)}'] if ignored else []
    else:
        recording, remarks = read_bag(
            options.data, options.actuators, options.joints, names, robot.joint_names
        )
        notes += remarks
    if periods and recording.actuators.time is None:
        notes.append('wrap_period is not used: poses without times do not determine turns')
    else:
        actuators = recording.actuators.unwrap_turns(periods)
        recording = replace(recording, actuators=actuators)
    # Numbers of transmissions are at the motor.
    scales = {name: units.position.scale for name, units in robot.units.items()}
    return replace(recording, actuators=recording.actuators.convert_to_si(scales)), notes


def _check_results(options: argparse.Namespace, results: Sequence[Calibration]) -> None:
    found = [result.transmission for result in results]
    missing = [name for name in options.transmission if name not in found]
    if missing or not found:
        which = f"transmission '{missing[0]}'" if missing else 'any transmission'
        raise UsageError(
            f"'{options.data}' has no positions of all actuators and of a joint of {which} at "
            'the same time'
        )


def _build_parameter_file(results: Sequence[Calibration]) -> str:
    return parameters_yaml(
        [
            (
                result.transmission,
                [
                    (each.path, each.value, f'+- {each.half_width:.2g}, was {each.described:.9g}')
                    for each in result.estimated_numbers
                ],
            )
            for result in results
        ],
        'Found by "transmission_bridge calibrate"; half widths of 95 % confidence intervals.\n'
        'ros2 run transmission_bridge bridge_node --ros-args --params-file THIS_FILE',
    )
