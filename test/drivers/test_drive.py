# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The drive of the simulated driver: its laws of motion, for random commands and dynamics."""

from itertools import pairwise

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from transmission_bridge.drivers.simulated import DriveMode, DriverSettings, RANGES, SimulatedDrive
from transmission_bridge.errors import ParameterError, ShapeError

MODES = [DriveMode.POSITION, DriveMode.VELOCITY, DriveMode.EFFORT]
values = st.floats(-10.0, 10.0)
durations = st.floats(0.0, 2.0)
dynamics = st.one_of(
    st.builds(
        DriverSettings,
        time_constant=st.floats(0.01, 1.0),
        inertia=st.floats(0.01, 1.0),
        damping=st.floats(0.01, 1.0),
    ),
    # Two equal rates: the velocity follows a critically damped second-order lag.
    st.floats(0.05, 1.0).map(
        lambda time: DriverSettings(time_constant=time, inertia=0.5 * time, damping=0.5)
    ),
)


def command(*told):
    """Return a command from pairs of mode and target."""
    modes, targets = zip(*told, strict=True)
    return np.array(modes, dtype=np.int8), np.array(targets, dtype=float)


@st.composite
def drives(draw):
    """Draw a drive in motion: it has followed some commands for some time."""
    drive = SimulatedDrive.at_rest([0.1, -0.2, 0.3], draw(dynamics))
    for _ in range(draw(st.integers(1, 3))):
        told = [(draw(st.sampled_from([DriveMode.NONE, *MODES])), draw(values)) for _ in range(3)]
        drive = drive.commanded(*command(*told)).advanced(draw(durations))
    return drive


def state(drive):
    """Return position, velocity and effort as rows."""
    return np.array([drive.position, drive.velocity, drive.effort])


def scale(drive):
    """
    Return, for each row of :func:`state`, the sum of the absolute terms that it is made of.

    Velocity and effort are quotients by the time constant and by the damping, so what is lost in
    a difference of positions or efforts comes back multiplied by them.
    """
    d = drive.dynamics
    reach = 1.0 + np.abs(drive.position) + np.abs(drive.target) + np.abs(drive.velocity) * 2.0
    reach = reach + (np.abs(drive.effort) + np.abs(drive.target)) / d.damping * 2.0
    rate = reach / min(d.time_constant, 1.0)
    return np.array([reach, rate, rate * (d.damping + d.inertia / d.time_constant)])


def integral(drive, dt, quantity):
    """Return the integral of a quantity over ``dt`` by Gauss-Legendre quadrature in pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = np.zeros(len(drive.position))
    for start, end in pairwise(np.linspace(0.0, dt, 60)):
        for node, weight in zip(nodes, weights, strict=True):
            time = (start + end) / 2 + (end - start) / 2 * node
            total += weight * (end - start) / 2 * getattr(drive.advanced(time), quantity)
    return total


@given(drives(), durations, durations)
def test_steps_compose(drive, first, second):
    """Two steps lead to the state that one step of their sum leads to; no time changes nothing."""
    once = drive.advanced(first + second)
    twice = drive.advanced(first).advanced(second)
    assert np.all(np.abs(state(once) - state(twice)) <= 1e-13 * scale(drive))
    np.testing.assert_array_equal(state(drive.advanced(0.0)), state(drive))


@settings(max_examples=20)
@given(drives(), st.floats(0.001, 1.0))
def test_velocity_is_the_derivative_of_position_and_effort_moves_a_damped_inertia(drive, dt):
    """Integrals of the velocity, and of the effort: what inertia and damping took up."""
    d, after = drive.dynamics, drive.advanced(dt)
    displacement = after.position - drive.position
    error = np.abs(displacement - integral(drive, dt, 'velocity'))
    assert np.all(error <= 1e-10 * scale(drive)[0])
    taken_up = d.inertia * (after.velocity - drive.velocity) + d.damping * displacement
    assert np.all(np.abs(taken_up - integral(drive, dt, 'effort')) <= 1e-10 * scale(drive)[2])


@pytest.mark.parametrize('mode', MODES)
@given(drives(), values, durations)
def test_first_order_response(mode, drive, target, dt):
    """The commanded quantity covers ``1 - exp(-dt / T)`` of the way; the position never jumps."""
    quantity = mode.name.lower()
    start = drive.commanded(*command(*[(mode, target)] * 3))
    np.testing.assert_array_equal(start.position, drive.position)
    way = target - getattr(start, quantity)
    expected = getattr(start, quantity) + way * (1.0 - np.exp(-dt / drive.dynamics.time_constant))
    error = np.abs(getattr(start.advanced(dt), quantity) - expected)
    assert np.all(error <= 1e-14 * (abs(target) + np.abs(getattr(start, quantity)) + np.abs(way)))


def test_newest_interface_decides_and_others_go_on():
    """An actuator without a command follows its old target, without any its first position."""
    none = (DriveMode.NONE, np.nan)
    drive = SimulatedDrive.at_rest([0.0, 0.0, 0.7])
    drive = drive.commanded(*command((DriveMode.POSITION, 1.0), (DriveMode.VELOCITY, 2.0), none))
    assert drive.velocity.tolist() == [1.0 / 0.05, 0.0, 0.0]
    drive = drive.commanded(*command((DriveMode.VELOCITY, 3.0), none, none)).advanced(10.0)
    np.testing.assert_allclose(drive.velocity, [3.0, 2.0, 0.0], rtol=1e-14)
    assert state(drive)[:, 2].tolist() == [0.7, 0.0, 0.0]


@pytest.mark.parametrize('name', RANGES)
def test_a_setting_keeps_its_range(name):
    """Its bounds are accepted, what lies beyond is refused."""
    least, most = RANGES[name]
    for value in (least, most, getattr(DriverSettings(), name)):
        assert getattr(DriverSettings(**{name: value}), name) == value
    for value in (least - 1.0, most * 2.0, float('nan')):
        with pytest.raises(ParameterError) as caught:
            DriverSettings(**{name: value})
        assert caught.value.parameter == name


@pytest.mark.parametrize('dt', [-1e-9, float('nan'), float('inf')])
def test_time_runs_forward(dt):
    """A step that is negative or not finite is refused, and a start that is not one row."""
    with pytest.raises(ValueError, match='dt'):
        SimulatedDrive.at_rest([0.0]).advanced(dt)
    with pytest.raises(ShapeError, match='position'):
        SimulatedDrive.at_rest([[1.0, 2.0]])
