# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Other readings of a recording: exchanged columns, and encoders with counted turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import itertools
import math

import numpy as np

from transmission_bridge.tools.calibration.recording import pair_sides, Pairs, Recording
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.types import Array

#: Periods of single-turn encoders: a turn in radians, in degrees, and in turns.
PERIODS = (2.0 * math.pi, 360.0, 1.0)

#: Most columns of other transmissions to try.
MOST_OTHERS = 24

#: Largest residual of a line, as a share of the motion, to fit a reading.
ROUGHLY, ROUGHLY_BENT = 0.3, 0.6


def fits_roughly(binding: Binding, pairs: Pairs) -> bool:
    """Whether lines explain most of the joints' motion."""
    limit = ROUGHLY if binding.transmission.is_constant else ROUGHLY_BENT
    for joint in pairs.joints.T:
        known = np.isfinite(joint)
        y = joint[known]
        if len(y) < 3 or not np.ptp(y) > 0.0:
            continue
        x = np.column_stack([pairs.actuators[known], np.ones(len(y))])
        rest = y - x @ np.linalg.lstsq(x, y, rcond=1e-12)[0]
        if np.std(rest) > limit * np.std(y):
            return False
    return len(pairs.time) >= 3


def rearrange_pairs(binding: Binding, pairs: Pairs) -> Iterator[tuple[str, Pairs]]:
    """Yield readings as sentences, and their pairs with exchanged or unwrapped columns."""
    sides = (
        ('actuators', binding.spec.actuators, pairs.actuators),
        ('joints', binding.spec.joints, pairs.joints),
    )
    for kind, members, values in sides:
        for one, other in itertools.combinations(range(len(members)), 2):
            columns = values.copy()
            columns[:, [one, other]] = values[:, [other, one]]
            meaning = f"the {kind} '{members[one].name}' and '{members[other].name}' are exchanged"
            yield meaning, _replace_side(pairs, kind, columns)
    map_of = binding.transmission
    expected = {
        'actuators': map_of.joint_to_actuator('position', pairs.joints, guess=pairs.actuators),
        'joints': map_of.actuator_to_joint('position', pairs.actuators, guess=pairs.joints),
    }
    for kind, members, values in sides:
        for period in PERIODS:
            wrapped = [n for n, column in enumerate(values.T) if _is_wrapped(column, period)]
            if wrapped:
                columns = values.copy()
                for n in wrapped:
                    columns[:, n] = _unwrap_near(values[:, n], expected[kind][:, n], period)
                names = [members[n].name for n in wrapped]
                yield _describe_wrapping(kind, names, period), _replace_side(pairs, kind, columns)
                break


def _replace_side(pairs: Pairs, kind: str, columns: Array) -> Pairs:
    is_actuator = kind == 'actuators'
    return replace(pairs, actuators=columns) if is_actuator else replace(pairs, joints=columns)


def _describe_wrapping(kind: str, names: list[str], period: float) -> str:
    which = ' and '.join(map(repr, names))
    what = f'encoders of {which} start' if len(names) > 1 else f'encoder of {which} starts'
    entries = ', '.join(f'{name}={period:.12g}' for name in names)
    do = (
        f'set wrap_period: [{entries}] in a file for --params-file'
        if kind == 'actuators'
        else 'unwrap it in the recording'
    )
    return f'the {what} again after {period:.6g}: {do}. The offset is then one of many, by turns'


def _is_wrapped(values: Array, period: float) -> bool:
    known = values[np.isfinite(values)]
    if len(known) < 10:
        return False
    jumps = np.count_nonzero(np.abs(np.diff(known)) > 0.5 * period)
    return bool(jumps and 0.7 * period < np.ptp(known) <= 1.001 * period)


def _unwrap_near(values: Array, expected: Array, period: float) -> Array:
    """
    Return values with the turns that are closest to the expected values, row by row.

    A motor may turn more than once between two rows, which the values alone do not show.
    """
    found: Array = values.copy()
    known = np.isfinite(values)
    near = np.nan_to_num(expected[known])
    away: Array = np.unwrap(values[known] - near, period=period)
    found[known] = near + away - period * np.round(np.median(away) / period)
    return found


def list_other_columns(recording: Recording, binding: Binding) -> Iterator[tuple[str, Pairs]]:
    """Yield readings as sentences, and pairs unwrapped before pairing or of other columns."""
    actuators = [member.name for member in binding.spec.actuators]
    joints = [member.name for member in binding.spec.joints]
    drives = recording.actuators
    if drives.time is not None and not recording.in_rows:
        for period in PERIODS:
            columns = zip(drives.names, drives.values.T, strict=True)
            wrapped = [n for n, c in columns if n in actuators and _is_wrapped(c, period)]
            if wrapped:
                unwrapped = drives.unwrap_turns(dict.fromkeys(wrapped, period))
                reading = replace(recording, actuators=unwrapped)
                text = _describe_wrapping('actuators', wrapped, period)
                yield text, pair_sides(reading, actuators, joints)
                break
    for kind, own, series in (
        ('actuator', actuators, drives), ('joint', joints, recording.joints)
    ):  # fmt: skip
        if len(own) != 1:
            continue
        for name in [n for n in series.names if n not in own][:MOST_OTHERS]:
            exchange = {name: own[0], own[0]: name}
            named = replace(series, names=tuple(exchange.get(n, n) for n in series.names))
            reading = (
                replace(recording, actuators=named)
                if kind == 'actuator'
                else replace(recording, joints=named)
            )
            yield (
                f"'{name}' is taken as the {kind} '{own[0]}'",
                pair_sides(reading, actuators, joints),
            )
