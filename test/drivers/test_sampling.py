# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Trajectories between their waypoints, and how commands and trajectories replace each other."""

import numpy as np
import pytest

from transmission_bridge.drivers.sampling import SampledCommands
from transmission_bridge.messages import TrajectoryRecord, Waypoint

NAN = float('nan')
NONE = np.empty(0)


def trajectory(*points):
    """Return a record of (time, positions, velocities)."""
    waypoints = [
        Waypoint((int(t), round(t % 1 * 1e9)), np.array(x, float), np.array(v, float), NONE, NONE)
        for t, x, v in points
    ]
    return TrajectoryRecord((0, 0), '', (), tuple(waypoints))


def start(*points, count=1, actuators=None, at=0.0, delay=0.0):
    """Return commands that execute a trajectory since time 0, and the measured state."""
    active, measured = SampledCommands(count, False), np.full((2, count), NAN)
    measured[0] = at
    assert active.add_trajectory(trajectory(*points), actuators or [*range(count)], delay, 0.0)
    active.sample(0.0, measured)
    return active, measured


def sample(active, measured, now):
    """Return position and velocity of the first actuator."""
    active.sample(now, measured)
    return active.rows[:2, 0].tolist()


def test_between_velocities_it_is_the_cubic_of_both_ends():
    """A cubic polynomial with its derivatives is reproduced, and so is its velocity."""
    cubic = np.polynomial.Polynomial([0.0, 0.0, 2.0, -0.7])
    active, measured = start(*[(t, [cubic(t)], [cubic.deriv()(t)]) for t in [0.5, 1.25, 2.0]])
    for now in np.linspace(0.0, 1.999, 40):
        found = sample(active, measured, now)
        np.testing.assert_allclose(found, [cubic(now), cubic.deriv()(now)], atol=1e-12)
    x, v = sample(active, measured, 2.0)
    assert (x, np.isnan(v)) == (pytest.approx(cubic(2.0)), True)


def test_without_velocities_it_is_linear_from_the_measured_position():
    """It starts at the measured position, not at the first waypoint, and holds the last one."""
    active, measured = start((1.0, [1.0], []), (2.0, [0.0], []), at=0.5)
    assert active.rows[:2, 0].tolist() == pytest.approx([0.5, 0.5])
    assert sample(active, measured, 0.5) == pytest.approx([0.75, 0.5])
    assert sample(active, measured, 1.75) == pytest.approx([0.25, -1.0])
    assert sample(active, measured, 9.0) == pytest.approx([0.0, NAN], nan_ok=True)
    assert sample(active, measured, 10.0) == pytest.approx([0.0, NAN], nan_ok=True)


def test_a_first_waypoint_at_time_zero_and_waypoints_of_the_past_cause_no_jump():
    """Waypoints that have passed at the start are left out."""
    points = (0.0, [9.0], []), (1.0, [1.0], []), (2.0, [2.0], [])
    active, measured = start(*points, at=0.0, delay=-1.5)
    assert active.rows[:2, 0].tolist() == pytest.approx([0.0, 4.0])
    assert sample(active, measured, 0.25) == pytest.approx([1.0, 4.0])
    active, measured = start((0.0, [9.0], []))
    assert sample(active, measured, 0.01)[0] == 9.0
    assert not active.add_trajectory(trajectory(*points), [0], -3.0, 0.0)


def test_velocities_without_positions_are_linear_from_the_measured_velocity():
    """The last one stays, until the gate ends it."""
    active, measured = start((1.0, [], [2.0]), (2.0, [], [0.5]))
    assert sample(active, measured, 0.5) == pytest.approx([NAN, 1.0], nan_ok=True)
    assert sample(active, measured, 1.5) == pytest.approx([NAN, 1.25], nan_ok=True)
    assert sample(active, measured, 3.0) == pytest.approx([NAN, 0.5], nan_ok=True)


def test_an_actuator_in_an_unknown_position_does_not_follow():
    """Only the others move."""
    active, measured = start((1.0, [1.0, 1.0], []), count=2, at=[NAN, 0.0])
    active.sample(0.5, measured)
    np.testing.assert_array_equal(active.rows[0], [NAN, 0.5])


def test_a_trajectory_replaces_another_at_its_own_start():
    """The first continues until then, also for the actuators that the second has not."""
    active, measured = start((4.0, [4.0, 4.0], []), count=2)
    active.sample(0.5, measured)
    active.add_trajectory(trajectory((1.0, [0.0], [])), [1], 1.0, 0.5)
    active.sample(0.9, measured)
    np.testing.assert_allclose(active.rows[0], [0.9, 0.9])
    measured[0] = 1.1
    active.sample(1.0, measured)
    active.sample(1.5, measured)
    np.testing.assert_allclose(active.rows[0], [1.5, 0.55])
    for now in (2.0, 2.1, 3.0):
        active.sample(now, measured)
    np.testing.assert_allclose(active.rows[0], [3.0, 0.0])


def test_a_later_trajectory_cancels_one_that_has_not_started():
    """Of two that wait, the last one received counts."""
    active, measured = start((1.0, [1.0], []), delay=5.0)
    active.add_trajectory(trajectory((1.0, [-1.0], [])), [0], 6.0, 0.0)
    found = [sample(active, measured, now)[0] for now in (5.5, 6.0, 6.5)]
    assert found == pytest.approx([NAN, 0.0, -0.5], nan_ok=True)


def test_a_command_takes_its_actuators_out_of_every_trajectory():
    """Those that run and those that wait; the others continue."""
    active, measured = start((2.0, [2.0, 2.0], []), count=2)
    active.sample(0.5, measured)
    active.add_trajectory(trajectory((1.0, [9.0], [])), [0], 1.2, 0.5)
    active.set_commands(np.array([[0.1], [NAN], [NAN]]), [0])
    for now in (1.0, 1.5):
        active.sample(now, measured)
        np.testing.assert_allclose(active.rows[0], [0.1, now])


def test_what_is_forgotten_follows_nothing_and_its_rates_are_zero():
    """A position or a trajectory leaves nothing; a velocity leaves zero, reported once."""
    active, measured = start((2.0, [2.0], []), count=5, actuators=[0])
    active.sample(0.5, measured)
    given = [[1.0, NAN, NAN, NAN], [0.3, 2.0, 0.0, NAN], [NAN, NAN, NAN, 4.0]]
    active.set_commands(np.array(given), [1, 2, 3, 4])
    everyone = np.ones(5, dtype=bool)
    assert active.forget(everyone).tolist() == [True, True, True, False, True]
    active.sample(1.0, measured)
    assert np.isnan(active.rows[[0, 2]]).all()
    np.testing.assert_array_equal(active.rows[1], [NAN, NAN, 0.0, 0.0, NAN])
    assert not active.forget(everyone).any()
