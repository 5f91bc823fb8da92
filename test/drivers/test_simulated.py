# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver: the drive of ``sim`` by the contract of drivers."""

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.drivers import DriverActuator, Hardware, simulated

NAN = float('nan')


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets, ``clock[0]``."""
    now = [100.0]
    monkeypatch.setattr(simulated, 'monotonic', lambda: now[0])
    return now


def make_driver(of_actuators=({}, {}), scales=None, **parameters):
    """Return an active driver of two motors."""
    actuators = tuple(
        DriverActuator(name, '', each)
        for name, each in zip(('left', 'right'), of_actuators, strict=True)
    )
    scales = np.ones((3, 2)) if scales is None else scales
    hardware = Hardware('arm', parameters, actuators, 100.0, scales)
    driver = simulated.SimulatedDriver()
    driver.configure(hardware)
    driver.activate()
    return driver


def command(position=(NAN, NAN), velocity=(NAN, NAN), effort=(NAN, NAN)):
    """Return commands."""
    return tb.Command(*np.array([position, velocity, effort]))


def test_each_motor_follows_the_first_number_that_is_given(clock):
    """A position with its time constant, a velocity in spite of an effort beside it."""
    driver = make_driver(time_constant='0.1')
    driver.read()
    driver.write(command(position=[1.0, NAN], velocity=[9.0, 2.0], effort=[9.0, 9.0]))
    clock[0] += 0.1
    assert driver.read()[0, 0] == pytest.approx(1.0 - np.exp(-1.0))
    clock[0] += 9.9
    np.testing.assert_allclose(driver.read()[:2], [[1.0, 2.0 * 9.9], [0.0, 2.0]], atol=1e-9)


def test_commands_and_states_are_in_the_units_of_the_actuators(clock):
    """The drive is in SI; a scale of 2 halves positions and doubles the effect of commands."""
    driver = make_driver(scales=np.array([[2.0, 1.0], [4.0, 1.0], [8.0, 1.0]]), damping='0.5')
    driver.write(command(effort=[1.0, 8.0]))
    clock[0] += 50.0
    rows = driver.read()
    np.testing.assert_allclose(rows[2], [1.0, 8.0])
    np.testing.assert_allclose(rows[1], [16.0 / 4.0, 16.0])
    assert rows[0, 0] * 2.0 == pytest.approx(rows[0, 1])


def test_it_starts_and_stops_where_it_is_told(clock):
    """A motor at its stop stands still, pushed or commanded beyond it, and comes back."""
    stops = {'start': '0.5', 'stop_lower': '-1', 'stop_upper': '1'}
    driver = make_driver((stops, {'start': '3'}))
    assert driver.read()[0].tolist() == [0.5, 3.0]
    for beyond in (command(position=[5.0, NAN]), command(effort=[0.1, NAN])):
        driver.write(beyond)
        clock[0] += 10.0
        assert driver.read()[:2, 0].tolist() == [1.0, 0.0]
    driver.write(command(position=[0.0, NAN]))
    clock[0] += 10.0
    np.testing.assert_allclose(driver.read()[:2, 0], [0.0, 0.0], atol=1e-12)


def test_noise_is_of_the_positions_and_activation_stops_all_motion(clock):
    """The parameter is the standard deviation; the drive itself stands still."""
    driver = make_driver(noise='0.01')
    driver.write(command(velocity=[1.0, 1.0]))
    driver.activate()
    clock[0] += 5.0
    rows = np.array([driver.read() for _ in range(500)])
    assert rows[:, 0].std() == pytest.approx(0.01, rel=0.1)
    assert abs(rows[:, 0].mean()) < 0.002
    assert not rows[:, 1].any()


def test_numbers_out_of_range_are_refused():
    """The drive has the ranges."""
    with pytest.raises(tb.ParameterError, match='inertia'):
        make_driver(inertia='0')
