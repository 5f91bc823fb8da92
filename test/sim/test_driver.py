# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The simulated driver without a node, and its settings."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.sim.driver import Driver, DriverSettings, range_of

NAMES = ('left', 'right')
EMPTY = np.empty(0)


def moving(settings=None):
    """Return a driver with velocity commands since time 10."""
    driver = Driver(NAMES, settings or DriverSettings(), now=10.0)
    command = JointStateRecord((0, 0), '', NAMES, EMPTY, np.array([1.0, -2.0]), EMPTY)
    assert driver.command(command, now=10.0) == ()
    return driver


def test_samples_depend_on_time_and_not_on_their_number():
    """However often the driver is asked in between, the sample at a time is the same."""
    often, seldom = moving(), moving()
    for now in np.arange(10.0, 11.0, 0.01):
        often.sample(now=now)
    a, b = often.sample(now=11.0), seldom.sample(now=11.0)
    np.testing.assert_allclose(a.position, b.position, rtol=1e-13)
    np.testing.assert_allclose(a.position, np.array([1.0, -2.0]) * (1.0 - 0.05), rtol=1e-8)


def test_sample_reports_every_actuator():
    """A sample holds the names and all three interfaces, without a stamp."""
    sample = moving().sample(now=10.3)
    assert (sample.names, sample.stamp, sample.lengths) == (NAMES, (0, 0), (2, 2, 2))


def test_command_counts_from_its_own_time():
    """A command takes effect when it comes, not at the sample after it."""
    driver = moving()
    stop = JointStateRecord((0, 0), '', ('left',), EMPTY, np.array([0.0]), EMPTY)
    driver.command(stop, now=12.0)
    sample = driver.sample(now=20.0)
    # Both ramps are delayed by one time constant, so the delays cancel.
    np.testing.assert_allclose(sample.position, [2.0, -2.0 * (10.0 - 0.05)], rtol=1e-13)


def test_refused_command_changes_nothing():
    """A message that is refused leaves every actuator following what it followed."""
    driver, undisturbed = moving(), moving()
    ragged = JointStateRecord((0, 0), '', NAMES, np.array([5.0]), EMPTY, EMPTY)
    with pytest.raises(MessageError):
        driver.command(ragged, now=10.5)
    a, b = driver.sample(now=11.0), undisturbed.sample(now=11.0)
    np.testing.assert_array_equal(a.position, b.position)


def test_names_of_others_are_reported():
    """A command returns its names that are not the driver's."""
    command = JointStateRecord((0, 0), '', ('x', 'left'), EMPTY, np.array([1.0, 1.0]), EMPTY)
    assert moving().command(command, now=10.0) == ('x',)


@pytest.mark.parametrize('setting', fields(DriverSettings), ids=lambda setting: setting.name)
def test_setting_explains_itself_and_keeps_its_range(setting):
    """Every setting has a description; its bounds are accepted, what lies beyond is refused."""
    assert setting.metadata['description'].endswith('.')
    span = range_of(setting)
    for value in (*span, setting.default):
        assert getattr(replace(DriverSettings(), **{setting.name: value}), setting.name) == value
    for value in (span[0] - 1.0, span[1] * 2.0, float('nan')):
        with pytest.raises(ParameterError) as caught:
            DriverSettings(**{setting.name: value})
        assert caught.value.parameter == setting.name


def test_numbers_of_a_driver_with_units_are_scaled():
    """Commands and samples are what they are in SI, divided by the scales."""
    scales = np.array([[2.0 * np.pi, 1.0], [2.0 * np.pi / 60.0, 1.0], [0.1, 1.0]])
    rows = {
        'position': [[0.5, 1.0], EMPTY, EMPTY],
        'velocity': [EMPTY, [1.0, -2.0], EMPTY],
        'effort': [EMPTY, EMPTY, [1e-3, 2e-3]],
    }
    for row, values in enumerate(rows.values()):
        drivers = [
            Driver(NAMES, DriverSettings(), now=0.0, scales=given) for given in (None, scales)
        ]
        for driver, scale in zip(drivers, (1.0, scales[row]), strict=True):
            arrays = [np.asarray(each, float) for each in values]
            arrays[row] = arrays[row] / scale
            driver.command(JointStateRecord((0, 0), '', NAMES, *arrays), now=0.0)
        plain, scaled = (driver.sample(now=0.3) for driver in drivers)
        for place, field in enumerate(('position', 'velocity', 'effort')):
            found = getattr(scaled, field) * scales[place]
            np.testing.assert_allclose(found, getattr(plain, field), rtol=1e-12)
