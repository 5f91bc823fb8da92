# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Calibration by a recording of both sides: a fit, its errors, and a test of the residuals.

The numbers ``theta`` of a transmission minimize ``sum((q - f(a; theta))**2)`` over the measured
positions ``a`` of the actuators and ``q`` of the joints
(:func:`~transmission_bridge.tools.calibration.numbers.fit_numbers`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import itertools
import math

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.errors import closest, counted, UnknownNameError
from transmission_bridge.tools.calibration.numbers import (
    Fit,
    fit_numbers,
    Known,
    list_reductions,
    NumberMap,
)
from transmission_bridge.tools.calibration.recording import (
    has_topic_column,
    pair_sides,
    Pairs,
    read_bag,
    read_csv,
    Recording,
)
from transmission_bridge.tools.calibration.report import (
    draw_residuals,
    JointResidual,
    list_entries,
    list_recorded_lines,
    POOR,
    Recorded,
    RecordedNumber,
)
from transmission_bridge.tools.calibration.residuals import (
    fit_columns,
    iterate_patterns,
    list_patterns,
    PatternFinding,
    ResidualPattern,
)
from transmission_bridge.tools.cli import Console, Exit, optional, printable, Result, UsageError
from transmission_bridge.tools.export import render_numbers
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.plot.figure import format_of
from transmission_bridge.tools.robot import bridge_setup, BridgeSetup, read_robot_file
from transmission_bridge.tools.units import actuator_unit, joint_unit
from transmission_bridge.transmissions import Binding, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

#: A change of a number by more than this factor is probably a mistake.
LARGE_CHANGE = 2.0

#: Error [rad or m] that a pattern may have where the recording does not exclude it.
USUAL_ERROR = 0.01

#: Share of a number's independent effect from which it is determined.
_DETERMINED = 1e-6

#: Least resolution as a share of the motion: of an encoder, and of interpolated positions.
_FINEST = 1e-6

#: Rounding of computed positions [rad or m].
_ROUNDING = 1e-12

#: Width of intervals, as a multiple of those of the noise alone, from which a note tells it.
_WIDE = 3.0

#: Half width, as a share of a reduction or a dimension, from which it is hardly determined.
_VAGUE = 0.5


def calibrate_recording(
    robot: RobotTransmissions,
    recording: Recording,
    only: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> tuple[Recorded, ...]:
    """
    Calibrate every transmission with actuators and joints in a recording.

    :param robot: The robot, with the initial numbers.
    :param only: Names of transmissions, all by default.
    :param fixed: Patterns of names (``wrist.*.offset``) of numbers to keep.
    :returns: One result per transmission, in the order of the robot.
    :raises UnknownNameError: If the robot has no such transmission.
    :raises UsageError: If a pattern matches no number of the robot.
    """
    for name in only:
        if name not in robot.transmissions:
            raise UnknownNameError('transmission', name, tuple(robot.transmissions))
    names = [name for name, tunable in robot.parameters.items() if not tunable.is_flag]
    for pattern in fixed:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(
                f"--fix '{pattern}' matches no number of a transmission{closest(pattern, names)}"
            )
    found = []
    for binding in robot.bindings:
        if only and binding.spec.name not in only:
            continue
        actuators = [member.name for member in binding.spec.actuators]
        joints = [member.name for member in binding.spec.joints]
        pairs = pair_sides(recording, actuators, joints)
        if len(pairs.time):
            # Numbers of absurd size overflow, which is reported as a bad fit.
            with np.errstate(all='ignore'):
                found.append(_calibrate_transmission(binding, robot.description, pairs, fixed))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Channel:
    """
    The measurements of one joint.

    :param slopes: Change of the mapped positions with each number, shape ``(rows, numbers)``.
    :param patterns: What its residuals may show.
    """

    joint: JointResidual
    slopes: Array
    patterns: tuple[ResidualPattern, ...]


def _calibrate_transmission(
    binding: Binding, robot: RobotDescription, pairs: Pairs, fixed: Sequence[str]
) -> Recorded:
    maps = NumberMap(binding, robot)
    known = _read_known(maps, pairs)
    tunables = [each for each in binding.tunables if each.shapes_map]
    kept = {each.path: 'fixed by --fix' for each in tunables
            if any(fnmatchcase(each.name, pattern) for pattern in fixed)}  # fmt: skip
    fit, free = _fit_determined(maps, known, [n.path for n in tunables if n.path not in kept])
    channels = tuple(_split_channels(binding, robot, pairs, fit, known))
    half_widths, notes = _compute_half_widths(channels, free)
    numbers = tuple(
        RecordedNumber(each.path, each.value, fit.values[each.path], half_widths[each.path])
        if each.path in free
        else RecordedNumber(
            each.path, each.value, each.value,
            kept=kept.get(each.path, 'not determined by this recording'),
        )
        for each in tunables
    )  # fmt: skip
    doubts = (*_list_outside(fit, known), *_list_doubts(numbers, channels, timed=pairs.timed))
    return Recorded(
        binding.spec.name, binding.spec.type, len(pairs.time), pairs.timed, numbers,
        tuple(channel.joint for channel in channels), doubts, () if doubts else notes,
    )  # fmt: skip


def _read_known(maps: NumberMap, pairs: Pairs) -> Known:
    """Return the measurements, with half a step of each encoder as slack at the joint."""
    guess = np.nan_to_num(pairs.joints)
    mapped = maps.map_positions({}, pairs.actuators, guess)
    slack = np.tile([_compute_step(column) / 2.0 for column in pairs.joints.T], (len(mapped), 1))
    for place, column in enumerate(pairs.actuators.T):
        moved = pairs.actuators.copy()
        moved[:, place] += _compute_step(column) / 2.0
        slack += np.nan_to_num(np.abs(maps.map_positions({}, moved, guess) - mapped))
    return Known(pairs.actuators, pairs.joints, slack)


def _compute_step(readings: Array) -> float:
    """Return the smallest step between readings: of an encoder its resolution, or less."""
    values = np.unique(readings[np.isfinite(readings)])
    steps = np.diff(values)
    # Sums and products of equal readings differ by rounding.
    steps = steps[steps > 1e-9 * np.abs(values).max(initial=0.0)]
    return float(steps.min(initial=math.inf)) if len(steps) else 0.0


# -- fit ------------------------------------------------------------------------------------------


def _fit_determined(
    maps: NumberMap, known: Known, paths: Sequence[ParameterPath]
) -> tuple[Fit, tuple[ParameterPath, ...]]:
    """Return the fit of the numbers that the measurements determine, and these numbers."""
    free = tuple(paths)
    while free:
        fit = _fit_signs(maps, known, free)
        determined = tuple(_choose_determined(free, fit.slopes))
        if len(determined) == len(free):
            return fit, free
        free = determined
    mapped = maps.map_positions({}, known.actuators, np.nan_to_num(known.joints))
    slopes = np.zeros((int(np.isfinite(known.joints).sum()), 0))
    return Fit({}, (), known.joints - mapped, mapped, {}, slopes), ()


def _fit_signs(maps: NumberMap, known: Known, free: Sequence[ParameterPath]) -> Fit:
    """Return the fit; if it leaves much of the motion, with the signs that leave the least."""
    fits = [fit_numbers(maps, known, free)]
    left, motion = (np.ma.masked_invalid(each).std(axis=0)
                    for each in (fits[0].residuals, known.joints))  # fmt: skip
    is_poor = bool((left > POOR * motion).any())
    reductions = [path for path in list_reductions(maps.binding) if path in free]
    signs = itertools.product((1.0, -1.0), repeat=len(reductions))
    for chosen in itertools.islice(signs, 1, None) if is_poor else ():
        pairs = zip(reductions, chosen, strict=True)
        start = {path: sign * maps.numbers[path] for path, sign in pairs}
        fits.append(fit_numbers(maps, known, free, start))
    return min(fits, key=_compute_cost)


def _compute_cost(fit: Fit) -> tuple[int, float]:
    return int(np.isnan(fit.mapped).sum()), float(np.nansum(np.square(fit.residuals)))


def _choose_determined(paths: Sequence[ParameterPath], slopes: Array) -> Iterator[ParameterPath]:
    """Yield the numbers with an effect of their own: offsets first, those of actuators last."""

    def rank(place: int) -> tuple[bool, bool, int]:
        path = paths[place]
        is_actuator = path[0] == 'actuators'
        return is_actuator, path[-1] != 'offset', -place if is_actuator else place

    chosen: list[int] = []
    for place in sorted(range(len(paths)), key=rank):
        size = float(np.linalg.norm(slopes[:, place]))
        left, _ = fit_columns(slopes[:, place], slopes[:, chosen])
        if size > 0.0 and left > (_DETERMINED * size) ** 2:
            chosen.append(place)
    yield from (paths[place] for place in sorted(chosen))


# -- errors ---------------------------------------------------------------------------------------


def _split_channels(
    binding: Binding, robot: RobotDescription, pairs: Pairs, fit: Fit, known: Known
) -> Iterator[_Channel]:
    """Yield the measurements of each joint within the domain."""
    measured, joints = np.nonzero(np.isfinite(pairs.joints))
    unit_of_actuators = actuator_unit(robot, binding)
    for place, member in enumerate(binding.spec.joints):
        chosen = (joints == place) & np.isfinite(fit.mapped[measured, place])
        rows = measured[chosen]
        if not len(rows):
            continue
        position, residual = fit.mapped[rows, place], fit.residuals[rows, place]
        # Rounding leaves no residual that is larger than half a step.
        slack = min(float(np.median(known.slack[rows, place])), float(np.abs(residual).max()))
        slack = max(slack, _FINEST * float(np.ptp(pairs.joints[rows, place])), _ROUNDING)
        unit = joint_unit(robot, member.name)
        joint = JointResidual(member.name, unit, slack, pairs.time[rows], position, residual)
        turning = [(member.name, position)] if unit != 'm' else []
        for actuator, column in zip(binding.spec.actuators, pairs.actuators[rows].T, strict=True):
            # A linear drive moves by less than 2 pi metres.
            if unit_of_actuators == 'rad' or np.ptp(column) > 2.0 * math.pi:
                turning.append((actuator.name, column))
        patterns = list_patterns(position, turning, joint.time if pairs.timed else None)
        yield _Channel(joint, fit.slopes[chosen], tuple(patterns))


def _compute_half_widths(
    channels: Sequence[_Channel], free: Sequence[ParameterPath]
) -> tuple[dict[ParameterPath, float], tuple[str, ...]]:
    """
    Return half widths of 95 % confidence intervals, and notes about them.

    They are Student's, and allow for a pattern of :data:`USUAL_ERROR` as far as the measurements
    do not exclude it, for the resolution of the encoders, and for noise of the actuators.
    """
    slopes = np.concatenate([each.slopes for each in channels] or [np.zeros((0, len(free)))])
    spare = len(slopes) - len(free)
    if spare < 2 or not free:
        return dict.fromkeys(free, math.inf), ()
    size = np.maximum(np.linalg.norm(slopes, axis=0), 1e-300)
    lengths = [len(each.slopes) for each in channels]
    noise = [math.sqrt(len(slopes) / spare) * each.joint.rms for each in channels]
    quantile = float(optional('scipy.stats', 'calibrate').t.ppf(0.975, spare))

    def compute_errors(columns: Array, weight: float) -> Array:
        n_columns = columns.shape[1]
        held = np.column_stack([np.zeros((n_columns, len(free))), weight * np.eye(n_columns)])
        whole = np.concatenate([np.column_stack([slopes / size, columns]), held])
        errors = [np.repeat(noise, lengths), np.full(n_columns, weight * USUAL_ERROR)]
        found = np.linalg.pinv(whole)[: len(free)] * np.concatenate(errors)
        half: Array = quantile * np.linalg.norm(found, axis=1) / size
        return half

    plain = compute_errors(np.zeros((len(slopes), 0)), 0.0)
    widths, widest, name = plain, _WIDE, ''
    for channel, level, end in zip(channels, noise, np.cumsum(lengths), strict=True):
        for pattern in filter(lambda each: each.hides, channel.patterns):
            columns = np.zeros((len(slopes), pattern.columns.shape[1]))
            columns[end - len(channel.slopes) : end] = pattern.columns
            errors = compute_errors(columns, level / USUAL_ERROR)
            widths = np.maximum(widths, errors)
            ratio = float(np.max(errors / np.maximum(plain, 1e-300)))
            widest, name = max((widest, name), (ratio, pattern.name))
    inverse = np.linalg.pinv(slopes / size) / size[:, np.newaxis]
    reach = np.abs(inverse) @ np.repeat([each.joint.resolution for each in channels], lengths)
    # Noise of the actuators makes the fitted motion smaller, at most by the share of the noise.
    reach += np.abs(inverse @ np.concatenate([each.joint.lost_motion for each in channels]))
    found = np.maximum(widths, reach).tolist()
    note = (
        f'the intervals allow for an error of {USUAL_ERROR:g} {name} that this motion does not '
        f'exclude, and are up to {widest:.2g} times as wide: move further, or more often'
    )
    return dict(zip(free, found, strict=True)), (note,) if name else ()


# -- doubts ---------------------------------------------------------------------------------------


def _list_outside(fit: Fit, known: Known) -> Iterator[str]:
    count = int((np.isnan(fit.mapped) & np.isfinite(known.joints)).any(axis=1).sum())
    if count:
        yield (
            f'outside the domain of the transmission: {count} of '
            f'{counted(len(fit.mapped), "row")}; correct its dimensions, limits or other numbers'
        )


def _list_doubts(
    numbers: Sequence[RecordedNumber], channels: Sequence[_Channel], *, timed: bool
) -> Iterator[str]:
    found = [
        (each.joint, [*iterate_patterns(each.joint, each.slopes, each.patterns, timed=timed)])
        for each in channels
    ]
    lost = [joint.name for joint, findings in found if findings and joint.is_lost]
    for name in lost:
        yield (
            f"'{name}': the residual is as large as the motion: are names, columns and wiring "
            'right, did the joint follow, does an encoder start again after a turn?'
        )
    if lost:
        return
    for number in numbers:
        yield from _list_changes(number)
    for joint, findings in found:
        if findings:
            yield _describe_findings(joint, findings)


def _list_changes(number: RecordedNumber) -> Iterator[str]:
    """Yield a doubt about a reduction or a dimension of another sign or size."""
    half, described = number.half_width, number.described
    if half is None or not described or number.path[-1] == 'offset':
        return
    factor, text = number.value / described, ''
    if _VAGUE * abs(described) < half < math.inf:
        text = f'hardly determined (± {half:.2g}): keep it by --fix, or move further'
    elif factor < 0.0:
        text = 'of the opposite sign than described: does an encoder count backwards?'
    elif not 1.0 / LARGE_CHANGE < factor < LARGE_CHANGE:
        text = (
            f'{factor:.3g} times that of the description: is it the right column, unit and gear?'
        )
    if text:
        yield f'{number.name} is {text}'


def _describe_findings(joint: JointResidual, findings: Sequence[PatternFinding]) -> str:
    most = max(findings, key=lambda each: each.share)
    others = dict.fromkeys(each.name for each in findings if each.name != most.name)
    part = f'{most.share:.0%} of it repeats ' if most.share else ''
    return (
        f"'{joint.name}': the residual ({joint.rms:.2g} {joint.unit}) is more than noise and "
        f'the resolution of the encoders: {part}{most.name} ({most.cause})'
        + (f'; also {", ".join(others)}' if others else '')
    )


# -- command --------------------------------------------------------------------------------------


def run_recorded(options: argparse.Namespace, console: Console) -> Exit:
    """
    Calibrate by the recording ``options.data``, print the result, and write the files.

    :raises UsageError: If an option or a file cannot be used.
    """
    report_format = ''
    if options.report:
        report_format = format_of(options.report)
        optional('matplotlib', 'plot')
    for name in filter(None, (options.output, options.report)):
        check_output(name, force=options.force)
    optional('scipy.optimize', 'calibrate')
    setup = bridge_setup(options, [options.actuators])
    data = read_robot_file(options.file)
    robot, remarks = setup.robot(data, is_recorded=True)
    recording, notes = _read_recording(options, setup, robot)
    for note in (*remarks, *notes):
        console.err.line(printable(note))
    results = calibrate_recording(robot, recording, options.transmission, options.fix)
    found = [result.transmission for result in results]
    missing = [f"transmission '{name}'" for name in options.transmission if name not in found]
    if missing or not found:
        raise UsageError(
            f"'{options.data}' has no positions of all actuators and of a joint of "
            f'{[*missing, "any transmission"][0]} at the same time'
        )
    Result(
        (line for result in results for line in list_recorded_lines(result, console.out.width)),
        {'transmissions': [result.as_json() for result in results]},
    ).show(console, as_json=options.json)
    if options.report:
        picture = draw_residuals(results, report_format)
        write_output(options.report, picture, force=options.force)
        console.err.line(f'written to {printable(options.report)}: the residuals')
    count = sum(len(result.fitted_numbers) for result in results)
    if not count or any(result.doubts for result in results):
        console.err.line(printable(_describe_refusal(results, options)))
        return Exit.ERRORS
    if options.output:
        content = render_numbers(
            options.output,
            data,
            [(result.transmission, list_entries(result)) for result in results],
            'Found by "transmission_bridge calibrate"; half widths of 95 % confidence intervals.\n'
            'ros2 run transmission_bridge bridge_node --ros-args --params-file THIS_FILE',
            setup.numbers,
        )
        write_output(options.output, content, force=options.force)
        console.err.line(f'written to {printable(options.output)}: {counted(count, "number")}')
    return Exit.OK


def _describe_refusal(results: Sequence[Recorded], options: argparse.Namespace) -> str:
    doubted = [each.transmission for each in results if each.doubts]
    if not doubted:
        return 'this recording determines no number; no file is written'
    text = f'in doubt: {", ".join(doubted)}; no file is written'
    others = [each.transmission for each in results if not each.doubts]
    if options.output and others:
        text += f' (for the others: --transmission {" --transmission ".join(others)})'
    return text + ('' if options.report else '; --report FILE.svg draws the residuals')


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
