# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From a recording of a robot to what is known about each of its transmissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from transmission_bridge.tools.calibration.estimate import Estimate, estimate, OffsetOf
from transmission_bridge.tools.calibration.identify import Kept
from transmission_bridge.tools.calibration.model import NoisySide
from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.tools.calibration.recording import paired, Pairs, Recording
from transmission_bridge.tools.calibration.results import Calibration, Channel, Parameter, Slip
from transmission_bridge.tools.calibration.robust import BIWEIGHT
from transmission_bridge.tools.calibration.uncertainty import Uncertainty, uncertainty
from transmission_bridge.tools.calibration.warnings import correlations, kept_text, warnings_of
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath

__all__ = ['MOST_BENT_ROWS', 'MOST_ROWS', 'calibrate_robot', 'calibrate_transmission']

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
