# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The waypoints of a joint trajectory as arrays, checked as joint_trajectory_controller checks them.

Every waypoint has, each for all joints named or not at all, positions, velocities, accelerations
and effort, and at least one of the first three. Times from the start increase strictly. Every
number is finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.command_plan import CommandNames, refuse_unknown
from transmission_bridge.bridge.stamps import is_possible
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['TrajectoryValues', 'read_trajectory']

Mask = npt.NDArray[np.bool_]

_MOTION = ('positions', 'velocities', 'accelerations')


@dataclass(frozen=True, slots=True)
class TrajectoryValues:
    """
    All waypoints in the order of the robot's joints.

    :param named: The joints that the trajectory names, shape ``(n_joints,)``.
    :param values: Positions, velocities, accelerations, effort: shape ``(4, n_points,
        n_joints)``, NaN where there is none.
    :param given: Which waypoints have them, shape ``(4, n_points)``.
    """

    named: Mask
    values: Array
    given: Mask


def read_trajectory(
    record: TrajectoryRecord, known: CommandNames, n_joints: int
) -> TrajectoryValues:
    """
    Check a trajectory and stack its waypoints.

    :param known: What the robot knows of names in commands.
    :raises MessageError: If the stamp is impossible (``bad_stamp``), there are no names
        (``no_names``) or waypoints (``no_points``), a name is unknown (``unknown_joint``), given
        twice (``duplicate_name``) or of a joint that may not be commanded (``not_commandable``),
        an array has the wrong length (``size``), a waypoint has no motion (``empty_point``),
        times do not increase (``times``), or a number is not finite (``not_finite``).
    """
    if not is_possible(record.stamp):
        raise MessageError(
            'bad_stamp',
            'header.stamp is when the trajectory starts: expected zero (now), or seconds >= 0 and '
            f'nanoseconds < 10^9, found {record.stamp[0]} s and {record.stamp[1]} ns',
        )
    places = _places(record.names, known)
    _check_times(record)
    shape = (len(POINT_FIELDS), len(record.points))
    values = np.full((*shape, n_joints), np.nan)
    given = np.zeros(shape, dtype=bool)
    for row, field in enumerate(POINT_FIELDS):
        arrays = [getattr(point, field) for point in record.points]
        for number, numbers in enumerate(arrays):
            if len(numbers) not in (0, len(places)):
                raise MessageError(
                    'size',
                    f'waypoint {number} has {len(numbers)} {field}, expected {len(places)} or '
                    'none',
                )
        given[row] = [len(numbers) > 0 for numbers in arrays]
        if given[row].any():
            stacked = np.array([numbers for numbers in arrays if len(numbers)])
            wrong = ~np.isfinite(stacked)
            if wrong.any():
                names = [record.names[place] for place in np.flatnonzero(wrong.any(axis=0))]
                raise MessageError('not_finite', f'{field} not finite: {shortened(names)}')
            values[row][np.ix_(given[row], places)] = stacked
    still = ~given[: len(_MOTION)].any(axis=0)
    if still.any():
        raise MessageError(
            'empty_point',
            f'waypoint {int(np.argmax(still))} has none of {", ".join(_MOTION)}',
        )
    named = np.zeros(n_joints, dtype=bool)
    named[places] = True
    return TrajectoryValues(named, values, given)


def _places(names: tuple[str, ...], known: CommandNames) -> list[int]:
    if not names:
        raise MessageError('no_names', 'a trajectory without joint names')
    refuse_unknown(names, known)
    if len(set(names)) < len(names):
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise MessageError('duplicate_name', f'given more than once: {shortened(repeated)}')
    barred = [f'{name} ({known.barred[name]})' for name in names if name in known.barred]
    if barred:
        raise MessageError('not_commandable', f'trajectory for {shortened(barred, show=str)}')
    return [known.commandable[name] for name in names]


def _check_times(record: TrajectoryRecord) -> None:
    if not record.points:
        raise MessageError('no_points', 'a trajectory without waypoints')
    times = [
        seconds * 10**9 + nanoseconds
        for seconds, nanoseconds in (point.time for point in record.points)
    ]
    for number, (before, after) in enumerate(pairwise(times), start=1):
        if after <= before:
            raise MessageError('times', f'waypoint {number} is not later than the one before it')
