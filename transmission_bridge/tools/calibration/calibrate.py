# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Calibrate the transmissions of a robot by a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
import itertools
import math

import numpy as np

from transmission_bridge.errors import closest
from transmission_bridge.tools.calibration.estimate import Estimate, estimate_numbers
from transmission_bridge.tools.calibration.fit import Term
from transmission_bridge.tools.calibration.identify import Kept
from transmission_bridge.tools.calibration.model import is_joint_offset, NoisySide, PLAUSIBLE
from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.tools.calibration.readings import (
    fits_roughly,
    list_other_columns,
    rearrange_pairs,
)
from transmission_bridge.tools.calibration.recording import pair_sides, Pairs, Recording
from transmission_bridge.tools.calibration.results import (
    CalibratedNumber,
    Calibration,
    ChannelResult,
    describe_times,
    Effect,
)
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.units import actuator_unit, joint_unit
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable
from transmission_bridge.types import Array

#: Correlation of two errors above which a note reports it.
CORRELATED = 0.95

#: A change of a number by more than this factor is probably a mistake.
LARGE_CHANGE = 2.0

#: Share of the prior from which an interval has no information.
VAGUE = 0.5

#: Share of measurements outside the domain from which the description is doubtful.
MANY_OUTSIDE = 0.1


def calibrate_robot(
    robot: RobotTransmissions,
    recording: Recording,
    *,
    only: Sequence[str] = (),
    noisy: NoisySide = 'joint',
    fixed: Sequence[str] = (),
) -> tuple[Calibration, ...]:
    """
    Calibrate every transmission with actuators and joints in the recording.

    :param robot: The robot, with the initial numbers.
    :param recording: Positions of actuators and joints.
    :param only: Names of transmissions, all by default.
    :param noisy: The side with the noise.
    :param fixed: Patterns of names (``wrist.*.offset``) of numbers to keep.
    :returns: One result per transmission, in the order of the robot.
    :raises UsageError: If a pattern matches no number of the robot.
    """
    chosen = [b for b in robot.bindings if b.spec.name in (only or robot.transmissions)]
    _check_patterns(fixed, robot)

    def is_fixed(transmission: str) -> Callable[[str], bool]:
        return lambda name: any(fnmatchcase(f'{transmission}.{name}', p) for p in fixed)

    found = []
    for binding in chosen:
        actuators = [member.name for member in binding.spec.actuators]
        joints = [member.name for member in binding.spec.joints]
        pairs = pair_sides(recording, actuators, joints)
        if not len(pairs.time):
            continue
        units = {name: joint_unit(robot.robot, name) for name in joints}
        units |= dict.fromkeys(actuators, actuator_unit(robot.robot, binding))
        result = calibrate_transmission(
            binding, pairs, noisy=noisy, is_fixed=is_fixed(binding.spec.name), units=units,
            numbers={each.path: each.value for each in robot.tunables[binding.spec.name]},
            others=lambda binding=binding: list_other_columns(recording, binding),  # type: ignore[misc]
        )  # fmt: skip
        found.append(result)
    return tuple(found)


def _check_patterns(fixed: Sequence[str], robot: RobotTransmissions) -> None:
    names = [name for name, tunable in robot.parameters.items() if not tunable.is_flag]
    for pattern in fixed:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(
                f"--fix '{pattern}' matches no number of a transmission{closest(pattern, names)}"
            )


def calibrate_transmission(
    binding: Binding,
    pairs: Pairs,
    *,
    noisy: NoisySide = 'joint',
    is_fixed: Callable[[str], bool] = lambda _: False,
    numbers: Mapping[ParameterPath, float] | None = None,
    units: Mapping[str, str] | None = None,
    others: Callable[[], Iterator[tuple[str, Pairs]]] = lambda: iter(()),
) -> Calibration:
    """
    Calibrate one transmission.

    :param binding: The transmission.
    :param pairs: Measurements, columns in role order.
    :param noisy: The side with the noise.
    :param is_fixed: Whether to keep a number, by its name below the transmission.
    :param numbers: Initial values instead of the described ones.
    :param units: Units of positions by names of joints and actuators, by default ``rad``.
    :param others: Other readings of the recording as sentences and pairs, if it does not fit the
        description.
    """
    names = [member.name for member in (*binding.spec.actuators, *binding.spec.joints)]
    known = dict.fromkeys(names, 'rad') | dict(units or {})
    # A linear drive moves by less than 2 pi metres.
    travel = zip(names, np.ptp(pairs.actuators, axis=0), strict=False)
    short = {name for name, way in travel if known[name] != 'rad' and way < 2.0 * math.pi}
    linear = frozenset(short | {name for name, unit in known.items() if unit == 'm'})

    def estimate_pairs(measurements: Pairs) -> Estimate:
        return estimate_numbers(
            binding, measurements, noisy=noisy, is_fixed=is_fixed, numbers=numbers, linear=linear
        )

    # Numbers of absurd size overflow, which is reported as a bad fit.
    with np.errstate(all='ignore'):
        found = estimate_pairs(pairs)
        doubts = [*found.misfits, *(sentence for _, sentence in _find_changed_numbers(found))]
        if doubts:
            better = []
            readings = itertools.chain(rearrange_pairs(binding, pairs), others())
            for meaning, measurements in readings:
                if not fits_roughly(binding, measurements):
                    continue
                other = estimate_pairs(measurements)
                if other.misfits or _find_changed_numbers(other) or not other.fitted.problem.free:
                    continue
                better.append((meaning, measurements, other))
            if better:
                doubts = [_describe_reading([meaning for meaning, *_ in better], found)]
                _, pairs, found = better[0]
        return _build_calibration(binding, pairs, noisy, known, found, doubts)


def _describe_reading(meanings: Sequence[str], found: Estimate) -> str:
    """Return a sentence about other readings of the recording that fit the description."""
    which = 'this reading' if len(meanings) == 1 else 'the first reading'
    text = (
        f'this recording fits the description if {", or if ".join(dict.fromkeys(meanings))}. Fix '
        f'that in the wiring, the recording or the description. The numbers here belong to '
        f'{which}'
    )
    if not found.misfits:
        names = [name for name, _ in _find_changed_numbers(found)]
        text += f'; unchanged, the recording fits with another sign or size of {", ".join(names)}'
    return text


# -- Report -------------------------------------------------------------------------------------


def _build_calibration(
    binding: Binding,
    pairs: Pairs,
    noisy: NoisySide,
    units: Mapping[str, str],
    found: Estimate,
    doubts: Sequence[str],
) -> Calibration:
    parameters = _build_parameters(found)
    channels = _build_channels(found, pairs, noisy, units)
    is_constant = binding.transmission.is_constant
    outside = [s for c in channels for s in _describe_outside(c, is_constant, timed=pairs.timed)]
    name = _name_terms(binding, noisy)
    sizes = [(len(c.unpredicted), len(c.time)) for c in channels]
    if any(out > MANY_OUTSIDE * (out + used) for out, used in sizes):
        doubts, outside = [*doubts, *outside], []
    return Calibration(
        binding.spec.name, binding.spec.type, len(pairs.time), pairs.timed, parameters, channels,
        _build_effects(name, units, found), tuple(doubts),
        (*outside, *_list_warnings(binding, found, parameters)),
        # Notes about intervals are irrelevant beside a doubt.
        () if doubts else tuple(_list_notes(name, found)),
    )  # fmt: skip


def _explain_kept(
    kept: Kept, place: int, tunables: Sequence[Tunable], motions: Sequence[Motion]
) -> tuple[str, bool]:
    """Return the reason to keep a number as a sentence, and whether it is a warning."""
    name = '.'.join(tunables[place].path)
    if kept.reason == 'fixed':
        return 'fixed by --fix', False
    if kept.reason == 'second order':
        return (
            'a small change of it has no effect here; the intervals of the others include a '
            f'plausible change ({PLAUSIBLE:.0%}). If it is known, --fix it',
            True,
        )
    if kept.reason == 'dependent':
        return _describe_combination(kept, name, tunables), True
    if Motion.STUCK in motions or Motion.UNKNOWN in motions:
        return 'the joints that depend on it did not move or were not measured', True
    return 'no effect on these positions', False


def _describe_combination(kept: Kept, name: str, tunables: Sequence[Tunable]) -> str:
    others = [('.'.join(tunables[other].path), power) for other, power in kept.partners]
    if not others:
        return 'it cannot be separated from the offset: its actuators did not move'
    if all(power in (-1, 1) for _, power in others):
        products = [
            f'{other} * {name}' if power == -1 else f'{other} / {name}' for other, power in others
        ]
        return f'only combinations are identifiable: {", ".join(products)}'
    return f'only its combination with {", ".join(other for other, _ in others)} is identifiable'


def _find_changed_numbers(found: Estimate) -> list[tuple[str, str]]:
    """Return the names of numbers of another sign or size than described, with sentences."""
    far = []
    numbers = zip(found.fitted.problem.free, found.fitted.x, found.known.half_widths, strict=False)
    for place, value, half in numbers:
        tunable = found.model.tunables[place]
        described = float(found.model.nominal[place])
        if not described or is_joint_offset(tunable):
            continue
        name = '.'.join(tunable.path)
        slack = float(half) / abs(described) if math.isfinite(half) else 0.0
        factor = value / described
        if factor + slack < 0.0:
            sentence = (
                f'{name} has the opposite sign of the description: an encoder counts backwards, '
                'or the description is wrong'
            )
        elif factor - slack > LARGE_CHANGE or abs(factor) + slack < 1.0 / LARGE_CHANGE:
            sentence = (
                f'{name} is {factor:.3g} times that of the description: is it the right column, '
                'unit and gear?'
            )
        else:
            continue
        far.append((name, f'{sentence}. Fix that, or accept the number with --doubtful'))
    return far


def _list_warnings(
    binding: Binding, found: Estimate, parameters: Sequence[CalibratedNumber]
) -> Iterator[str]:
    for member, motion in zip(binding.spec.joints, found.motions, strict=True):
        joint = member.name
        if motion is Motion.STUCK:
            yield (
                f"joint '{joint}' did not move, although its actuators did: its numbers are "
                'not estimated. Is the joint or its encoder stuck, or is it another column?'
            )
        elif motion is Motion.PARKED:
            yield (
                f"joint '{joint}' did not move: its ratios are not identifiable, its offset only "
                'for the kept ratios. Move it to estimate them'
            )
        elif motion is Motion.UNKNOWN:
            yield f"joint '{joint}' was not measured: its numbers are not estimated"
    for parameter in parameters:
        if parameter.warns and parameter.half_width is None:
            yield f'{parameter.name} keeps {parameter.described!r}: {parameter.kept}'
    vague = [parameter for parameter in parameters if parameter.warns and parameter.half_width]
    if vague:
        yield f'{", ".join(parameter.name for parameter in vague)}: {vague[0].kept}'
    for rival in found.rivals:
        own = [(parameters[place], float(rival[place])) for place in found.fitted.problem.free]
        if not any(
            abs(value - parameter.value) > (parameter.half_width or 0.0) and parameter not in vague
            for parameter, value in own
        ):
            continue  # differs only in vague numbers, or within the intervals
        values = ', '.join(f'{parameter.name} = {value:.6g}' for parameter, value in own)
        yield (
            f'other numbers fit equally: {values}. Those closer to the description are reported; '
            'if they may be wrong, measure one of them by hand and --fix it'
        )


def _describe_outside(channel: ChannelResult, is_constant: bool, *, timed: bool) -> list[str]:
    count = len(channel.unpredicted)
    if not count:
        return []
    rows = describe_times(channel.unpredicted, np.ones(count, dtype=bool), timed=timed)
    which = f"'{channel.name}': {count} measurements ({rows})"
    if is_constant:
        return [
            f'{which} cannot be computed with these numbers, which are too large or too small: '
            'fix the description'
        ]
    return [
        f'{which} are outside the domain of the transmission (its dead centres, or its limits in '
        'the description) and are not used. If the mechanism can reach them, fix its dimensions '
        'or limits'
    ]


def _build_parameters(found: Estimate) -> tuple[CalibratedNumber, ...]:
    free, numbers = found.fitted.problem.free, []
    vague = (
        f'hardly determined by the recording: the interval is mostly the {PLAUSIBLE:.0%} '
        'uncertainty of a described number. Measure it and --fix it: the intervals of the others '
        'then become smaller'
    )
    plausible = found.model.compute_plausible_errors(found.model.nominal)
    for place, tunable in enumerate(found.model.tunables):
        described = float(found.model.nominal[place])
        if place in free:
            own = free.index(place)
            half = float(found.known.half_widths[own])
            is_vague = half > VAGUE * 1.96 * plausible[place]
            text = vague if is_vague else ''
            value = float(found.fitted.x[own])
            numbers.append(CalibratedNumber(tunable.path, described, value, half, text, is_vague))
            continue
        kept = found.kept.get(place, Kept('no effect'))
        text, warns = _explain_kept(kept, place, found.model.tunables, found.motions)
        numbers.append(CalibratedNumber(tunable.path, described, described, None, text, warns))
    return tuple(numbers)


def _name_terms(binding: Binding, noisy: NoisySide) -> Callable[[Term], str]:
    """Return a function that names terms."""
    sides = [[m.name for m in binding.spec.actuators], [m.name for m in binding.spec.joints]]
    given, measured = sides if noisy == 'joint' else sides[::-1]
    late = 'joints' if noisy == 'joint' else 'actuators'

    def name_term(term: Term) -> str:
        if term.kind == 'delay':
            return f'a delay of the {late}'
        if term.kind == 'backlash':
            return f"a backlash of '{measured[term.place]}'"
        often = ('once', 'twice')[term.order - 1]
        cause = {
            (True, 1): 'eccentricity',
            (True, 2): 'a strain-wave gear, a universal joint, or an encoder that is not round',
            (False, 1): 'eccentricity, wind-up by a weight',
            (False, 2): 'a universal joint, or an encoder or wheel that is not round',
        }[term.given, term.order]
        side = given if term.given else measured
        return f"an error {often} per turn of '{side[term.place]}' ({cause})"

    return name_term


def _list_notes(name: Callable[[Term], str], found: Estimate) -> Iterator[str]:
    free = found.fitted.problem.free
    names = ['.'.join(found.model.tunables[place].path) for place in free]
    for group in _group_correlated(found.known.correlation[: len(free), : len(free)]):
        yield (
            f'{", ".join(names[place] for place in group)} have correlated errors: accept all of '
            'them, or measure one by hand and --fix it'
        )
    known = found.known
    if known.possible:
        narrow = [
            f'{each} ± {less:.2g}'
            for each, half, less in zip(names, known.half_widths, known.without, strict=False)
            if half > 2.0 * less
        ]
        yield (
            f'this motion does not exclude {", nor ".join(map(name, known.possible))}: the '
            f'intervals include it; without it: {", ".join(narrow)}. Record a longer motion'
        )


def _group_correlated(correlation: Array) -> list[set[int]]:
    """Return the groups of numbers with correlated errors."""
    groups: list[set[int]] = []
    for pair in np.argwhere(np.triu(np.abs(correlation) > CORRELATED, 1)).tolist():
        near = [group for group in groups if group & {*pair}]
        groups = [group for group in groups if group not in near]
        groups.append({*pair}.union(*near))
    return groups


def _build_effects(
    name: Callable[[Term], str], units: Mapping[str, str], found: Estimate
) -> tuple[Effect, ...]:
    effects = []
    for term in found.fitted.problem.terms:
        places = found.fitted.locate_columns(term)
        numbers, halves = found.fitted.x[places], found.known.half_widths[places]
        size = float(np.hypot.reduce(numbers)) if term.count > 1 else float(numbers[0])
        turns = term.count > 1 and size > 0.0
        half = float(np.hypot.reduce(halves * numbers) / size) if turns else float(halves[0])
        unit = 's' if term.kind == 'delay' else 'rad'
        if term.kind == 'backlash':
            unit = units[found.model.channels[term.place]]
        alike = tuple(name(other) for other in found.known.alike.get(term, ()))
        effects.append(Effect(name(term), unit, size, half, alike))
    return tuple(effects)


def _build_channels(
    found: Estimate, pairs: Pairs, noisy: NoisySide, units: Mapping[str, str]
) -> tuple[ChannelResult, ...]:
    problem = found.fitted.problem
    predicted = problem.predict_rows(found.fitted.x)
    weight = np.zeros(problem.mask.shape)
    weight[problem.mask] = found.fitted.weight
    channels = []
    for place, name in enumerate(found.model.channels):
        used, known = problem.mask[:, place], np.isfinite(predicted[:, place])
        rows = np.flatnonzero(used & known)
        channels.append(
            ChannelResult(
                name=name,
                motion=found.motions[place] if noisy == 'joint' else Motion.MOVES,
                noise=float(problem.scales[place]) if len(rows) else None,
                time=pairs.time[rows],
                position=predicted[rows, place],
                residual=found.model.measured[rows, place] - predicted[rows, place],
                outlier=weight[rows, place] == 0.0,
                unit=units[name],
                unpredicted=pairs.time[used & ~known],
            )
        )
    return tuple(channels)
