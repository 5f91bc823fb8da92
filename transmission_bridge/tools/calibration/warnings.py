# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the user should know besides the numbers, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
import itertools

from transmission_bridge.tools.calibration.estimate import OffsetOf
from transmission_bridge.tools.calibration.identify import Kept
from transmission_bridge.tools.calibration.motion import Motion
from transmission_bridge.tools.calibration.results import Channel, Parameter
from transmission_bridge.tools.calibration.slips import MOST_SLIPS
from transmission_bridge.tools.calibration.uncertainty import Uncertainty
from transmission_bridge.transmissions.tunable import Tunable

__all__ = ['correlations', 'kept_text', 'warnings_of']

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
