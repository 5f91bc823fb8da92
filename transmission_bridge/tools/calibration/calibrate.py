# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From a recording of a robot to what is known about each of its transmissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
import itertools

import numpy as np

from transmission_bridge.tools.calibration.estimate import Estimate, estimate, OffsetOf
from transmission_bridge.tools.calibration.identify import Kept
from transmission_bridge.tools.calibration.model import NoisySide
from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.tools.calibration.recording import paired, Pairs, Recording
from transmission_bridge.tools.calibration.results import Calibration, Channel, Parameter, Slip
from transmission_bridge.tools.calibration.robust import BIWEIGHT
from transmission_bridge.tools.calibration.slips import MOST_SLIPS
from transmission_bridge.tools.calibration.uncertainty import Uncertainty, uncertainty
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable
from transmission_bridge.types import Array

__all__ = [
    'MOST_BENT_ROWS',
    'MOST_ROWS',
    'calibrate_robot',
    'calibrate_transmission',
    'correlations',
    'kept_text',
    'warnings_of',
]

#: Errors of two numbers that depend on each other more than this are told.
CORRELATED = 0.95

#: Share of rows without influence from which a user should look at the residuals.
MANY_OUTLIERS = 0.1

#: A ratio that changes by more than this factor is likely a mistake on one of the sides.
LARGE_CHANGE = 2.0


def correlations(
    parameters: Sequence[Parameter], free: Sequence[int], known: Uncertainty
) -> tuple[tuple[str, str, float], ...]:
    """Return the pairs of estimated numbers whose errors are nearly the same."""
    pairs = []
    for (one, first), (other, second) in itertools.combinations(enumerate(free), 2):
        value = known.correlation(one, other)
        if abs(value) > CORRELATED:
            pairs.append((parameters[first].name, parameters[second].name, value))
    return tuple(pairs)


def kept_text(
    kept: Kept, place: int, tunables: Sequence[Tunable], motions: Sequence[Motion]
) -> tuple[str, bool]:
    """Return why a number was kept, and whether that is more than was to be expected."""
    name = '.'.join(tunables[place].path)
    if kept.reason == 'fixed':
        return 'fixed by --fix', False
    if kept.reason == 'weak':
        return 'its effect is smaller than the noise', True
    if kept.reason == 'dependent':
        return _combination(kept, name, tunables), True
    if Motion.STUCK in motions or Motion.UNKNOWN in motions:
        return 'the joints that would show it did not move or were not measured', True
    return 'no effect on these positions', False


def _combination(kept: Kept, name: str, tunables: Sequence[Tunable]) -> str:
    others = [('.'.join(tunables[other].path), power) for other, power in kept.partners]
    if not others:
        return 'it cannot be told from the offset: its actuators did not move'
    if all(power in (-1, 1) for _, power in others):
        products = [
            f'{other} * {name}' if power == -1 else f'{other} / {name}' for other, power in others
        ]
        return f'only combinations are identifiable: {", ".join(products)}'
    return f'only its combination with {", ".join(other for other, _ in others)} is identifiable'


def warnings_of(
    joints: Sequence[str],
    motions: Sequence[Motion],
    parameters: Sequence[Parameter],
    channels: Sequence[Channel],
    correlated: Sequence[tuple[str, str, float]],
    offset_of: OffsetOf,
) -> tuple[str, ...]:
    """Return the sentences, the gravest first."""
    sentences = []
    for joint, motion in zip(joints, motions, strict=True):
        if motion is Motion.STUCK:
            sentences.append(
                f"joint '{joint}' did not move, though its actuators did: it is not identifiable"
            )
        elif motion is Motion.PARKED:
            sentences.append(
                f"joint '{joint}' did not move: its ratios are not identifiable, its offset only "
                'for the ratios that are kept'
            )
        elif motion is Motion.UNKNOWN:
            sentences.append(f"joint '{joint}' was not measured: it is not identifiable")
    for parameter in parameters:
        if parameter.warns:
            sentences.append(f'{parameter.name} keeps {parameter.described!r}: {parameter.kept}')
        elif parameter.half_width is not None:
            sentences += _doubts(parameter)
    sentences += [
        f'{first} and {second} are known together better than apart (correlation {value:.3f})'
        for first, second, value in correlated
    ]
    for channel in channels:
        sentences += _odd(channel, offset_of)
    return tuple(sentences)


def _doubts(parameter: Parameter) -> list[str]:
    if parameter.path[-1] != 'mechanical_reduction' or not parameter.value:
        return []
    factor = parameter.value / parameter.described
    if factor < 0.0:
        return [f'{parameter.name} has the other sign than in the description']
    if not 1.0 / LARGE_CHANGE <= factor <= LARGE_CHANGE:
        return [f'{parameter.name} is {factor:.3g} times that of the description']
    return []


def _odd(channel: Channel, offset_of: OffsetOf) -> list[str]:
    sentences = []
    if len(channel.slips) >= MOST_SLIPS:
        sentences.append(
            f"'{channel.name}' has {len(channel.slips)} slips: rather, the model does not fit; "
            'look at its residuals (--report)'
        )
    elif channel.slips and offset_of != 'last' and channel.level[-1] != 0.0:
        sentences.append(
            f"'{channel.name}' has slipped: at the end of the recording it stands "
            f'{channel.level[-1]:+.6g} from where the offset given here would have it; '
            '--offset last gives the offset of the end'
        )
    outliers = int(channel.outlier.sum())
    if outliers > MANY_OUTLIERS * len(channel.outlier):
        sentences.append(
            f"'{channel.name}': {outliers} of {len(channel.outlier)} measurements do not fit"
        )
    if channel.unpredicted:
        sentences.append(
            f"'{channel.name}': {channel.unpredicted} measurements are where the mechanism cannot "
            'be, by its description'
        )
    return sentences


#: Rows that are fitted; a longer recording is thinned evenly. Where the ratio varies a row costs
#: much more.
MOST_ROWS, MOST_BENT_ROWS = 20_000, 4_000


def calibrate_robot(
    robot: RobotTransmissions,
    recording: Recording,
    *,
    only: Sequence[str] = (),
    noisy: NoisySide = 'joint',
    fixed: Sequence[str] = (),
    offset_of: OffsetOf = 'longest',
) -> tuple[Calibration, ...]:
    """
    Calibrate every transmission that the recording has actuators and joints of.

    :param robot: The robot, with the numbers to begin with.
    :param recording: Positions of actuators and joints.
    :param only: Names of transmissions, all by default.
    :param noisy: Whose measurements have the noise.
    :param fixed: Patterns of names (``wrist.*.offset``) of numbers to keep.
    :param offset_of: Which segment's offset is the offset where there are slips.
    :returns: One result per transmission, in the order of the robot.
    """

    def is_fixed(transmission: str) -> Callable[[str], bool]:
        return lambda name: any(fnmatchcase(f'{transmission}.{name}', p) for p in fixed)

    found = []
    for binding in robot.bindings:
        if only and binding.spec.name not in only:
            continue
        actuators = [member.name for member in binding.spec.actuators]
        joints = [member.name for member in binding.spec.joints]
        most = MOST_ROWS if binding.transmission.is_constant else MOST_BENT_ROWS
        pairs = paired(recording, actuators, joints).thinned(most)
        if len(pairs.time):
            found.append(
                calibrate_transmission(
                    binding,
                    pairs,
                    noisy=noisy,
                    is_fixed=is_fixed(binding.spec.name),
                    offset_of=offset_of,
                    numbers={each.path: each.value for each in robot.tunables[binding.spec.name]},
                )
            )
    return tuple(found)


def calibrate_transmission(
    binding: Binding,
    pairs: Pairs,
    *,
    noisy: NoisySide = 'joint',
    is_fixed: Callable[[str], bool] = lambda _: False,
    offset_of: OffsetOf = 'longest',
    numbers: Mapping[ParameterPath, float] | None = None,
) -> Calibration:
    """
    Calibrate one transmission.

    :param binding: The transmission.
    :param pairs: Measurements, columns in role order.
    :param noisy: Whose measurements have the noise.
    :param is_fixed: Whether a number is to be kept, by its name below the transmission.
    :param offset_of: Which segment's offset is the offset where there are slips.
    :param numbers: Values to begin with instead of those of the description.
    """
    # Numbers of absurd size overflow on the way. That is a bad fit to report, no line of its own.
    with np.errstate(all='ignore'):
        found = estimate(
            binding, pairs, noisy=noisy, is_fixed=is_fixed, offset_of=offset_of, numbers=numbers
        )
        residuals = found.problem.residuals(found.solution)
        slopes = found.problem.slopes(found.solution.values)
        known = uncertainty(residuals, slopes, found.problem.mask)
        return _reported(binding, pairs, noisy, offset_of, found, known)


def _reported(
    binding: Binding,
    pairs: Pairs,
    noisy: NoisySide,
    offset_of: OffsetOf,
    found: Estimate,
    known: Uncertainty,
) -> Calibration:
    """Return the result of a fit for its readers."""
    parameters = _parameters(found, known)
    channels = _channels(found, known, pairs, noisy)
    correlated = correlations(parameters, found.problem.free, known)
    joints = [member.name for member in binding.spec.joints]
    return Calibration(
        transmission=binding.spec.name,
        type=binding.spec.type,
        rows=len(pairs.time),
        timed=pairs.timed,
        parameters=parameters,
        channels=channels,
        correlated=correlated,
        warnings=warnings_of(joints, found.motions, parameters, channels, correlated, offset_of),
    )


def _parameters(found: Estimate, known: Uncertainty) -> tuple[Parameter, ...]:
    free = found.problem.free
    size = len(free) + len(found.problem.levels.fitted)
    parameters = []
    for place, tunable in enumerate(found.model.tunables):
        described = tunable.value
        if place in free:
            unit = np.zeros(size)
            unit[free.index(place)] = 1.0
            value = float(found.solution.values[place])
            parameters.append(Parameter(tunable.path, described, value, known.half_width(unit)))
            continue
        kept = found.kept.get(place, Kept('no effect'))
        text, warns = kept_text(kept, place, found.model.tunables, found.motions)
        parameters.append(Parameter(tunable.path, described, described, None, text, warns))
    return tuple(parameters)


def _channels(
    found: Estimate, known: Uncertainty, pairs: Pairs, noisy: NoisySide
) -> tuple[Channel, ...]:
    problem, levels = found.problem, found.problem.levels
    level = levels.added(found.solution.levels)
    whole = found.model.measured - found.model.predicted(found.solution.values)
    channels = []
    for place, name in enumerate(found.model.channels):
        used = problem.mask[:, place]
        rows = np.flatnonzero(used & np.isfinite(whole[:, place]))
        residual = whole[rows, place]
        scale = float(problem.scales[place])
        unit = (residual - level[rows, place]) / scale
        stops = found.stops[place] if place < len(found.stops) else ()
        channels.append(
            Channel(
                name=name,
                motion=found.motions[place] if noisy == 'joint' else Motion.MOVES,
                noise=scale if len(rows) else None,
                slips=_slips(found, known, place, stops, pairs.time),
                time=pairs.time[rows],
                residual=residual,
                level=level[rows, place],
                outlier=np.abs(unit) > BIWEIGHT,
                unpredicted=int(used.sum()) - len(rows),
            )
        )
    return tuple(channels)


def _slips(
    found: Estimate, known: Uncertainty, channel: int, stops: Sequence[int], time: Array
) -> tuple[Slip, ...]:
    levels = found.problem.levels
    size = len(found.problem.free) + len(levels.fitted)
    slips = []
    for stop in stops:
        combination = np.zeros(size)
        change = 0.0
        for row, sign in ((stop, 1.0), (stop - 1, -1.0)):
            label = int(levels.labels[row, channel])
            if label:
                column = levels.fitted.index((channel, label))
                combination[len(found.problem.free) + column] += sign
                change += sign * float(found.solution.levels[column])
        slips.append(Slip(float(time[stop]), change, known.half_width(combination)))
    return tuple(slips)
