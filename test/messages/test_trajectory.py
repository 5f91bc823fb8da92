# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Trajectories as plain data, to and from a typed message."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from transmission_bridge.messages.trajectory import (
    fill_trajectory,
    POINT_FIELDS,
    trajectory_from_message,
    TrajectoryRecord,
    Waypoint,
)

SECONDS, NANOSECONDS = st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)
ARRAYS = st.lists(st.floats(width=64), max_size=4).map(
    lambda values: np.array(values, dtype=float)
)
POINTS = st.builds(Waypoint, st.tuples(SECONDS, NANOSECONDS), ARRAYS, ARRAYS, ARRAYS, ARRAYS)
TRAJECTORIES = st.builds(
    TrajectoryRecord,
    st.tuples(SECONDS, NANOSECONDS),
    st.text(max_size=5),
    st.lists(st.text(max_size=5), max_size=4).map(tuple),
    st.lists(POINTS, max_size=4).map(tuple),
)


def make_time():
    """Return what has the attributes of a Time or a Duration."""
    return SimpleNamespace(sec=0, nanosec=0)


def make_point():
    """Return what has the attributes of a JointTrajectoryPoint."""
    return SimpleNamespace(time_from_start=make_time())


@given(TRAJECTORIES)
def test_round_trip(record):
    """Whatever is written is read back, bit for bit, times as the integers that they are."""
    message = SimpleNamespace(header=SimpleNamespace(stamp=make_time(), frame_id='?'))
    fill_trajectory(message, record, make_point)
    found = trajectory_from_message(message)
    assert (found.stamp, found.frame_id, found.names) == (
        record.stamp,
        record.frame_id,
        record.names,
    )
    assert len(found.points) == len(record.points)
    for before, after in zip(record.points, found.points, strict=True):
        assert after.time == before.time
        for field in POINT_FIELDS:
            assert getattr(after, field).tobytes() == getattr(before, field).tobytes()
            assert getattr(after, field).dtype == np.float64


def test_record_is_a_copy():
    """A record does not change with the message that it came from."""
    point = SimpleNamespace(
        time_from_start=make_time(), positions=[1.0], velocities=[], accelerations=[], effort=[]
    )
    message = SimpleNamespace(
        header=SimpleNamespace(stamp=make_time(), frame_id=''), joint_names=['a'], points=[point]
    )
    record = trajectory_from_message(message)
    point.positions[0] = 2.0
    assert record.points[0].positions.tolist() == [1.0]
