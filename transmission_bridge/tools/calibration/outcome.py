# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers that follow from motion by hand, their uncertainty, and why there are none.

``guide`` uses it for each change, ``calibrate`` and ``tune`` for what they write. It reads the
motion only, and stores nothing. Programs rely on the keys of :meth:`FitOutcome.as_json`; sentences
are free to change.

A stop can be missed on the inner side only. So if both stops are as far apart as the limits,
within ``d``, the offset is within ``d / 2``. That is the check of :func:`judge_calibration`. If
the ratio of a mechanism varies, an error of the zero has the least effect on the joint at one
stop, and the largest elsewhere: ``d`` is smaller by the quotient of these effects. If there is no
such check (one stop, or an unknown reduction), each stop is approached twice or more, and the
spread ``r`` of ``n`` approaches gives the uncertainty: if a hand misses a stop by any amount up to
some largest one with equal probability, the stop is beyond the farthest approach by less than
``r (20**(1 / (n - 1)) - 1)`` in 95 % of the cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.tools.calibration.hand import (
    HandMovedTransmission,
    SIDES,
    StopRange,
    TURN,
)
from transmission_bridge.tools.calibration.numbers import (
    CalibrationMap,
    fit_calibration,
    guess_zeros,
    KnownRows,
    list_fitted_reductions,
    NumberFit,
)
from transmission_bridge.transmissions import ParameterPath
from transmission_bridge.types import Array

#: Approaches to a stop whose position becomes a limit.
APPROACHES = 3

#: Share of its range by which a mechanism is extended, because trial numbers may be wrong.
_WIDER = 0.15

#: Share of the best determined combination of numbers below which one is not determined by hand.
_LEAST_RANK = 0.02


@dataclass(frozen=True)
class FitOutcome:
    """
    What is known of a transmission.

    :param values: New numbers by path.
    :param uncertainty: Largest error of each joint [rad or m], 95 %, by name.
    :param contradiction: Largest difference between known and mapped positions [rad or m].
    :param refusal: Why there are no numbers, or what is missing; empty otherwise.
    :param notes: Sentences about the numbers.
    :param is_guess: Whether the numbers are a guess.
    :param joint: The joint whose stops are refused, empty otherwise.
    """

    transmission: str
    values: Mapping[ParameterPath, float]
    uncertainty: Mapping[str, float]
    contradiction: float = 0.0
    refusal: str = ''
    notes: tuple[str, ...] = ()
    is_guess: bool = False
    joint: str = ''

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``calibrate --json``."""
        return {
            'name': self.transmission,
            'numbers': {'.'.join(path): value for path, value in self.values.items()},
            'uncertainty': {
                name: away if math.isfinite(away) else None
                for name, away in self.uncertainty.items()
            },
            'contradiction': self.contradiction,
            'refusal': self.refusal or None,
            'notes': list(self.notes),
            'guess': self.is_guess,
        }


class _NoNumbers(Exception):
    """
    Why there are no numbers, or which motion is missing.

    :param joint: The joint whose stops are refused.
    """

    def __init__(self, text: str, joint: str = '') -> None:
        super().__init__(text)
        self.joint = joint


def judge_calibration(
    moved: HandMovedTransmission, *, is_confirmed: bool | None = None
) -> FitOutcome:
    """
    Return the numbers that follow from the motion by hand, or why there are none.

    :param is_confirmed: Whether the user confirmed that the limits of the joints are the stops;
        ``None`` before an answer.
    """
    try:
        known = _list_known(moved, is_confirmed=is_confirmed)
        maps = CalibrationMap(moved.binding, moved.maps.robot, moved.signs, moved.zeros)
        maps = maps.widened(_WIDER)
        start = guess_zeros(maps, known, moved.middle)
        free = [zero.path for zero in moved.zeros]
        free += list_fitted_reductions(moved.binding) if moved.is_free else ()
        span = min(track.span for track in moved.tracks)
        fit = fit_calibration(maps, known, free, start, _LEAST_RANK, span)
        if fit.missing:
            names = ', '.join('.'.join(path) for path in fit.missing)
            advice = f'add another pose or stop of {moved.joined_names}'
            advice = 'use --stops' if moved.is_from_file else advice
            raise _NoNumbers(f'these positions do not determine {names}: {advice}')
        errors = _map_errors(maps, known, fit)
        # By how much farther a joint may be off than a known position of it shows.
        shown = np.where(np.isfinite(known.joints) & (errors[:-1] > 0.0), errors[:-1], np.inf)
        factors: Array = np.maximum(errors.max(axis=0) / shown.min(axis=0), 1.0)
        _check_contradictions(moved, fit, factors)
    except _NoNumbers as refusal:
        return FitOutcome(moved.name, {}, {}, refusal=str(refusal), joint=refusal.joint)
    rest = np.nan_to_num(np.abs(fit.residuals)).max(axis=0)
    away = np.maximum(errors.max(axis=0), rest * factors).tolist()
    flipped = ' and '.join(path[1] for path in moved.signs)
    return FitOutcome(
        moved.name,
        {**moved.signs, **fit.values, **_remove_turns(moved, fit)},
        {
            track.name: error + (track.resolution if math.isfinite(track.resolution) else 0.0)
            for track, error in zip(moved.tracks, away, strict=True)
        },
        fit.contradiction,
        notes=(f'the sign of the reduction of {flipped} changes',) if flipped else (),
        is_guess=moved.is_guess,
    )


def _list_known(moved: HandMovedTransmission, *, is_confirmed: bool | None) -> KnownRows:
    """Return the poses, else the stops if they are confirmed."""
    if moved.problem:
        raise _NoNumbers(moved.problem)
    if not moved.zeros:
        raise _NoNumbers(f'{moved.binding.spec.type} has no number for the zero of each actuator')
    if not moved.has_directions:
        missing = [track.name for n, track in enumerate(moved.tracks) if n not in moved.moves]
        raise _NoNumbers(f'move {" and ".join(missing)} towards positive first')
    if moved.poses:
        return KnownRows.join(moved.poses)
    if not is_confirmed:
        raise _NoNumbers('no pose yet, and the limits are not confirmed as stops')
    joints = range(len(moved.tracks))
    return KnownRows.join([row for joint in joints for row in _list_stops(moved, joint)])


def _list_stops(moved: HandMovedTransmission, joint: int) -> list[tuple[Array, Array, Array]]:
    """Return a row for each stop of a joint."""
    track = moved.tracks[joint]
    if not track.has_limits:
        raise _NoNumbers(f'{track.name} has no limits, so no stops: it needs a pose')
    low, high = track.seen
    if track.turns and high - low > max(TURN, track.span + track.tolerance):
        turns, most = (high - low) / TURN, track.span / TURN
        raise _NoNumbers(
            f'{track.name} was turned by {turns:.2f} turns, its limits allow {most:.2f}'
        )
    is_checked, rows = len(track.sides) == 2 and not moved.is_free, []
    stops = {side: track.find_stop(side) for side in track.sides}
    if None in stops.values():
        names = ' and '.join(SIDES[side] for side in track.sides)
        raise _NoNumbers(f'move {track.name} to its {names} stop')
    for side, stop in stops.items():
        assert stop is not None
        if not is_checked and stop.count < 2:
            raise _NoNumbers(f'move {track.name} to its {SIDES[side]} stop once more')
        joints, slack = np.full(len(moved.tracks), np.nan), np.zeros(len(moved.tracks))
        joints[joint] = track.limits.lower if side < 0 else track.limits.upper
        slack[joint] = 0.0 if is_checked else stop.uncertainty
        rows.append((stop.actuators, joints, slack))
    return rows


def _remove_turns(moved: HandMovedTransmission, fit: NumberFit) -> dict[ParameterPath, float]:
    """Return the zero without whole turns of an encoder that counts one turn only."""
    turn = moved.compute_turn()
    if not math.isfinite(turn):
        return {}
    zero = moved.zeros[0]
    if zero.place is not None:
        turn = moved.periods[0] / zero.factor
    # Of the two zeros at half a turn, the zero of a positive reading, whatever was rounded.
    shift = 1e-9 * turn
    return {zero.path: math.remainder(fit.values[zero.path] + shift, abs(turn)) - shift}


def _map_errors(maps: CalibrationMap, known: KnownRows, fit: NumberFit) -> Array:
    """
    Return how far errors of the known positions move each joint [rad or m].

    :returns: At the known positions and at the mean of their actuators, shape
        ``(rows + 1, n_joints)``.
    """
    actuators = np.vstack([known.actuators, known.actuators.mean(axis=0)])
    mapped: Array = maps.map_positions(fit.values, actuators)
    errors = np.zeros_like(mapped)
    for values in fit.errors:
        # Without those that leave the domain.
        errors += np.nan_to_num(np.abs(maps.map_positions(values, actuators) - mapped))
    return errors


def _check_contradictions(moved: HandMovedTransmission, fit: NumberFit, factors: Array) -> None:
    """Refuse known positions that contradict each other."""
    for joint, track in enumerate(moved.tracks):
        rest = fit.residuals[:, joint]
        rest = rest[np.isfinite(rest)]
        if len(rest) < 2 or np.abs(rest).max() * factors[joint] <= 0.5 * track.tolerance:
            continue
        away = track.format_way(float(np.ptp(rest)))
        if not moved.poses and len(rest) == 2:
            # The upper stop comes last: what is known minus what is mapped.
            which = 'closer together' if rest[1] > rest[0] else 'farther apart'
            raise _NoNumbers(
                f'the stops of {track.name} are {away} {which} than its limits: move it to both '
                'again; otherwise its limits are not the stops, or its reduction is wrong',
                track.name,
            )
        advice = 'its limits are not its stops' if moved.is_from_file else 'repeat them'
        raise _NoNumbers(f'the known positions of {track.name} differ by {away}: {advice}')


def measure_stops(moved: HandMovedTransmission, outcome: FitOutcome) -> dict[str, StopRange]:
    """
    Return the range between the stops of each joint [rad or m], by name.

    Only after a pose, because the offset is then known without stops, and from
    :data:`APPROACHES` to each stop. The range is smaller by the uncertainties at both stops.
    """
    ranges = {}
    for joint, track in enumerate(moved.tracks if moved.poses and not outcome.refusal else ()):
        limits = []
        for side in SIDES:
            stop = track.find_stop(side)
            if stop is not None and stop.count >= APPROACHES:
                at = float(moved.map_positions(outcome.values, stop.actuators)[joint])
                limits.append(at - side * (stop.uncertainty + outcome.uncertainty[track.name]))
        if len(limits) == len(SIDES) and limits[0] < limits[1]:
            # Rounded to the inside.
            lower, upper = math.ceil(limits[0] * 1e4), math.floor(limits[1] * 1e4)
            ranges[track.name] = StopRange(lower / 1e4, upper / 1e4)
    return ranges


def name_values(outcomes: Sequence[FitOutcome]) -> dict[str, float]:
    """Return numbers by the full names of their parameters."""
    return {
        PREFIX + '.'.join((outcome.transmission, *path)): value
        for outcome in outcomes
        for path, value in outcome.values.items()
    }
