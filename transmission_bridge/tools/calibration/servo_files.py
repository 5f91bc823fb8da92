# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the calibration files of servo drivers have in common: names, numbers, and two stops."""

from __future__ import annotations

from collections.abc import Callable, Collection
import math
import reprlib
from typing import Any, TypeAlias

import numpy as np

from transmission_bridge.errors import closest
from transmission_bridge.tools.calibration.moved import SLIDING_TOLERANCE, TOLERANCE
from transmission_bridge.tools.calibration.numbers import Known
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.robot import joint_unit
from transmission_bridge.transmissions import Binding, RobotTransmissions

#: How far a joint at a stop may be from there, as a share of its range: a soft stop, play, and a
#: limit in whole degrees.
STOP_SLACK = 0.01


def match_names(
    robot: RobotTransmissions, names: Collection[str]
) -> tuple[dict[str, Binding], list[str]]:
    """
    Return the transmission of each name in a file, and a sentence for each other name.

    A name is that of the actuator, else that of the joint, of a transmission that has one of each.

    :raises UsageError: If two names mean one transmission.
    """
    single = [
        binding
        for binding in robot.bindings
        if not binding.is_identity and len(binding.spec.joints) == len(binding.spec.actuators) == 1
    ]
    known = {each.spec.joints[0].name: each for each in single}
    known |= {each.spec.actuators[0].name: each for each in single}
    matched = {name: known[name] for name in names if name in known}
    used: dict[str, str] = {}
    for name, binding in matched.items():
        if (other := used.setdefault(binding.spec.name, name)) != name:
            raise UsageError(f"'{other}' and '{name}' are one transmission, which has one motor")
    expected = 'expected the joint or the actuator of a transmission with one of each'
    return matched, [
        f"'{name}' is not used: {expected}{closest(name, known)}"
        for name in names
        if name not in known
    ]


def map_range(binding: Binding, lower: float, upper: float) -> tuple[float, float]:
    """
    Return the positions of the actuator [rad or m] with the joint at two positions.

    :raises UsageError: If they are infinite, unreachable or equal.
    """
    joint = binding.spec.joints[0].name
    positions = np.array([[lower], [upper]])
    if not np.isfinite(positions).all() or lower >= upper:
        raise UsageError(
            f"joint '{joint}': expected a lower and a higher limit of its position, "
            f'found {lower:.6g} and {upper:.6g}'
        )
    with np.errstate(all='ignore'):
        low, high = binding.transmission.joint_to_actuator('position', positions)[:, 0].tolist()
    if not np.isfinite([low, high]).all() or low == high:
        raise UsageError(
            f"joint '{joint}': expected limits that '{binding.spec.name}' reaches, "
            f'found {lower:.6g} and {upper:.6g}, with its actuator at {low:.6g} and {high:.6g}'
        )
    return low, high


#: Positions of an actuator at the stops of a joint, and of the joint there, the lower one first.
Stops: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


def list_known(
    robot: RobotTransmissions,
    names: Collection[str],
    find_stops: Callable[[str, Binding], Stops],
    *,
    is_confirmed: bool,
    is_free: bool = False,
) -> tuple[dict[str, Known], list[str]]:
    """
    Return known positions by transmission, and sentences about what is not known or a guess.

    :param names: The names in a file.
    :param find_stops: Returns the stops of a name, or raises UsageError with the reason.
    :param is_confirmed: Whether the joints were at these stops: two rows. Otherwise, and if the
        ranges differ by more than 1 degree or 1 %, one, a guess: the middle of the actuator's
        positions is the middle of the joint's, wrong by half the difference of the two ranges.
    :param is_free: Whether the reductions are unknown, and the ranges may differ.
    :raises UsageError: If two names mean one transmission.
    """
    matched, notes = match_names(robot, names)
    rows: dict[str, Known] = {}
    for name, binding in matched.items():
        try:
            actuators, joints = find_stops(name, binding)
            extent = joints[1] - joints[0]
            slack, away, difference = STOP_SLACK * extent, 0.0, ''
            unit = joint_unit(robot.description, binding.spec.joints[0].name)
            if not is_free:
                low, high = map_range(binding, *joints)
                share = abs((actuators[1] - actuators[0]) / (high - low))
                away, size = abs(share - 1.0) * extent, 1e3 if unit == 'm' else math.degrees(1.0)
                difference = f'is {share * extent * size:.1f} and its limits {extent * size:.1f} '
                difference += 'mm' if unit == 'm' else 'degrees'
            is_known = away <= (SLIDING_TOLERANCE * extent if unit == 'm' else TOLERANCE)
            is_known &= is_confirmed
            if not is_known:
                if not binding.transmission.is_constant:
                    raise UsageError(f'it {difference}, and its ratio varies')
                slack = max(slack, away / 2.0)
                notes.append(
                    f"'{name}' is a guess: its range in the file {difference}; the middles of "
                    f'both are taken as equal, +- {slack:.2g} {unit}'
                )
        except UsageError as error:
            notes.append(f"'{name}' is not known from its range: {error}")
            continue
        table = np.array([actuators, joints]).T[:, :, np.newaxis]
        table = table if is_known else table.mean(axis=0, keepdims=True)
        rows[binding.spec.name] = Known(table[:, 0], table[:, 1], np.full_like(table[:, 1], slack))
    return rows, notes


def refuse(where: str, expected: str, found: Any) -> UsageError:
    """Return the error of a place in a file, to be raised."""
    return UsageError(f'{where}: expected {expected}, found {reprlib.repr(found)}')
