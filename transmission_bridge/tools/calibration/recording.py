# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What was recorded: positions of actuators and of joints, each with its own times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.bridge.unwrap import Unwrapper
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['Pairs', 'Recording', 'Series', 'paired']

#: Rows further apart than this many typical distances are not interpolated between.
MAX_GAP = 5.0


@dataclass(frozen=True, eq=False)
class Series:
    """
    Positions over time.

    :param names: One per column.
    :param values: Shape ``(rows, names)`` [rad or m], NaN where there is none.
    :param time: Shape ``(rows,)`` [s], ``None`` for poses without times.
    """

    names: tuple[str, ...]
    values: Array
    time: Array | None = None

    def columns(self, names: Sequence[str]) -> Array:
        """Return the columns of these names, NaN for one that is not there."""
        rows = len(self.values)
        missing = np.full(rows, np.nan)
        places = {name: place for place, name in enumerate(self.names)}
        picked = [self.values[:, places[n]] if n in places else missing for n in names]
        return np.stack(picked, axis=1) if picked else np.empty((rows, 0))

    def unwrapped(self, periods: Mapping[str, float]) -> Series:
        """
        Return the series with the turns of single-turn encoders, as the bridge counts them.

        :param periods: By name [rad or m].
        """
        wrapped = [(n, periods[name]) for n, name in enumerate(self.names) if name in periods]
        values = self.values.copy()
        if wrapped:
            places, lengths = zip(*wrapped, strict=True)
            unwrap = Unwrapper(places, lengths)
            for row in values:
                unwrap(row)
        return Series(self.names, values, self.time)


@dataclass(frozen=True, eq=False)
class Recording:
    """
    Both sides of a robot.

    :param in_rows: Whether row ``k`` of both was measured at once (a table).
    :param ignored: Columns that are neither.
    """

    actuators: Series
    joints: Series
    in_rows: bool
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Pairs:
    """
    What belongs together.

    :param actuators: Shape ``(rows, n_actuators)``, all finite.
    :param joints: Shape ``(rows, n_joints)``, NaN where a joint was not measured.
    :param time: Shape ``(rows,)`` [s]; row numbers where the recording has no times.
    :param timed: Whether ``time`` is in seconds.
    """

    actuators: Array
    joints: Array
    time: Array
    timed: bool

    def thinned(self, most: int) -> Pairs:
        """Return at most this many rows, evenly spread."""
        rows = len(self.time)
        if rows <= most:
            return self
        chosen = np.linspace(0, rows - 1, most).astype(np.intp)
        return Pairs(self.actuators[chosen], self.joints[chosen], self.time[chosen], self.timed)


def paired(
    recording: Recording, actuator_names: Sequence[str], joint_names: Sequence[str]
) -> Pairs:
    """
    Bring the positions of some actuators and joints together.

    Rows of a table that have both are taken as they are. Where they are measured at different
    times, the actuators are interpolated linearly at the times of the joints, not outside their
    times and not over gaps of more than ``MAX_GAP`` times the median distance.

    :param actuator_names: Columns of the result; all have to be known at once.
    :param joint_names: Columns of the result; one of them known will do.
    :raises ValueError: If what was not measured in rows has no times.
    """
    a = recording.actuators.columns(actuator_names)
    q = recording.joints.columns(joint_names)
    time_a, time_q = recording.actuators.time, recording.joints.time
    known_a, known_q = np.isfinite(a).all(axis=1), np.isfinite(q).any(axis=1)
    if recording.in_rows:
        both = known_a & known_q
        if time_a is None or 2 * np.count_nonzero(both) >= np.count_nonzero(known_q):
            time = np.arange(1.0, len(a) + 1.0) if time_a is None else time_a
            return Pairs(a[both], q[both], time[both], time_a is not None)
    if time_a is None or time_q is None:
        raise ValueError('series that are not in rows need times')
    time_a, a = _sorted(time_a[known_a], a[known_a])
    time_q, q = _sorted(time_q[known_q], q[known_q])
    inside = _between(time_a, time_q)
    time_q, q = time_q[inside], q[inside]
    positions = np.empty((len(time_q), a.shape[1]))
    if len(time_q):
        for column, values in enumerate(a.T):
            positions[:, column] = np.interp(time_q, time_a, values)
    return Pairs(positions, q, time_q, True)


def _sorted(time: Array, values: Array) -> tuple[Array, Array]:
    finite = np.flatnonzero(np.isfinite(time))
    order = finite[np.argsort(time[finite], kind='stable')]
    return time[order], values[order]


def _between(known: Array, asked: Array) -> Array:
    """Return which times have a neighbour on both sides that is near."""
    if len(known) == 0:
        return np.zeros(len(asked), dtype=bool)
    right = np.searchsorted(known, asked, side='left').clip(0, len(known) - 1)
    exact = known[right] == asked
    if len(known) == 1:
        return np.asarray(exact)
    left = (right - 1).clip(0)
    gap = known[right] - known[left]
    near = (gap > 0.0) & (gap <= MAX_GAP * np.median(np.diff(known)))
    outside = (asked < known[0]) | (asked > known[-1])
    return np.asarray(exact | (near & ~outside))
